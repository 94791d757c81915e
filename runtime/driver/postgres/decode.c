/* Values out of binary results, for the types whose binary form is plain. */
#include "base/calendar.h"
#include "driver/postgres/internal.h"
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_DAYS 10957 /* 2000-01-01 in days since 1970 */
#define US_PER_DAY INT64_C(86400000000)

int lr_pg_has_binary(Oid type)
{
    static const Oid known[] = {PG_BOOL, PG_BYTEA, PG_INT8, PG_INT2, PG_INT4, PG_TEXT, PG_FLOAT4, PG_FLOAT8, PG_BPCHAR, PG_VARCHAR,
                                PG_DATE, PG_TIMESTAMP, PG_TIMESTAMPTZ, PG_NUMERIC, PG_JSON};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == type) return 1;
    return 0;
}

static int read16(const char *p)
{
    uint16_t x;
    memcpy(&x, p, 2);
    return (int16_t)be16toh(x);
}

static int32_t read32(const char *p)
{
    uint32_t x;
    memcpy(&x, p, 4);
    return (int32_t)be32toh(x);
}

static int64_t read64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
    return (int64_t)be64toh(x);
}

/* The digits of a group of four; where it is the first, without zeros. */
static size_t put_group(char *out, int value, int first)
{
    size_t n = 0;
    if (!first || value >= 1000) out[n++] = (char)('0' + value / 1000 % 10);
    if (!first || value >= 100) out[n++] = (char)('0' + value / 100 % 10);
    if (!first || value >= 10) out[n++] = (char)('0' + value / 10 % 10);
    out[n++] = (char)('0' + value % 10);
    return n;
}

/* Groups of four digits, the weight of the first, sign, and digits shown. */
static int read_numeric(const char *p, size_t n, lr_buf *b)
{
    if (n < 8) return -1;
    int groups = read16(p), weight = read16(p + 2), sign = read16(p + 4) & 0xFFFF, scale = read16(p + 6) & 0x3FFF;
    char text[4];
    if (groups < 0 || (size_t)groups * 2 + 8 != n) return -1;
    for (int g = 0; g < groups; g++)
        if (read16(p + 8 + 2 * g) < 0 || read16(p + 8 + 2 * g) > 9999) return -1;
    if (sign != 0 && sign != 0x4000) {
        lr_buf_puts(b, sign == 0xC000 ? "NaN" : sign == 0xD000 ? "Infinity" : "-Infinity");
        return 0;
    }
    if (sign == 0x4000) lr_buf_putc(b, '-');
    if (weight < 0) lr_buf_putc(b, '0');
    for (int g = 0; g <= weight; g++) lr_buf_add(b, text, put_group(text, g < groups ? read16(p + 8 + 2 * g) : 0, g == 0));
    if (scale > 0) lr_buf_putc(b, '.');
    for (int shown = 0, g = weight + 1; shown < scale; g++) {
        put_group(text, g >= 0 && g < groups ? read16(p + 8 + 2 * g) : 0, 0);
        for (int i = 0; i < 4 && shown < scale; i++, shown++) lr_buf_putc(b, text[i]);
    }
    return 0;
}

/* A float of four bytes as the number that its shortest text says. */
static double read_float4(const char *p)
{
    union {
        float f;
        int32_t i;
    } x;
    char text[40];
    x.i = read32(p);
    if (x.f != x.f || x.f > 3.4e38f || x.f < -3.4e38f) return (double)x.f;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(text, sizeof text, "%.*g", digits, (double)x.f);
        if (strtof(text, NULL) == x.f) break;
    }
    return strtod(text, NULL);
}

/* Years 1 to 9999 have the engine-neutral form. */
static int plain_day(int64_t days)
{
    return days >= -719162 && days <= 2932896;
}

/* A shorter field is no value of the type. */
static size_t least_bytes(Oid type)
{
    switch (type) {
    case PG_BOOL:
        return 1;
    case PG_INT2:
        return 2;
    case PG_INT4:
    case PG_FLOAT4:
    case PG_DATE:
        return 4;
    case PG_INT8:
    case PG_FLOAT8:
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ:
        return 8;
    default:
        return 0;
    }
}

/* Other days and moments as PostgreSQL writes them. us < 0: a date alone. */
static void far_text(int64_t days, int64_t us, lr_buf *b)
{
    int year, month, day;
    lr_civil_from_days(days, &year, &month, &day);
    int bc = year <= 0;
    lr_buf_printf(b, "%04d-%02d-%02d", bc ? 1 - year : year, month, day);
    if (us >= 0) {
        int64_t s = us / 1000000;
        lr_buf_printf(b, " %02d:%02d:%02d", (int)(s / 3600), (int)(s / 60 % 60), (int)(s % 60));
        if (us % 1000000 != 0) {
            lr_buf_printf(b, ".%06d", (int)(us % 1000000));
            while (b->data[b->len - 1] == '0') b->data[--b->len] = 0;
        }
    }
    if (bc) lr_buf_puts(b, " BC");
}

static lr_value held_text(const lr_buf *b)
{
    return lr_textn(b->data != NULL ? b->data : "", b->len);
}

static void decode_date(int32_t raw, lr_value *out, lr_buf *scratch)
{
    int64_t days = (int64_t)raw + EPOCH_DAYS;
    *out = (lr_value){.type = LR_DATE, .i = days};
    if (plain_day(days)) return;
    if (raw == INT32_MAX || raw == INT32_MIN) lr_buf_puts(scratch, raw > 0 ? "infinity" : "-infinity");
    else far_text(days, -1, scratch);
    *out = held_text(scratch);
}

static void decode_time(int64_t us, int zoned, lr_value *out, lr_buf *scratch)
{
    if (us == INT64_MAX || us == INT64_MIN) {
        lr_buf_puts(scratch, us > 0 ? "infinity" : "-infinity");
        *out = held_text(scratch);
        return;
    }
    int64_t days = us / US_PER_DAY - (us % US_PER_DAY < 0) + EPOCH_DAYS;
    int64_t rest = (us % US_PER_DAY + US_PER_DAY) % US_PER_DAY;
    if (plain_day(days)) {
        *out = (lr_value){.type = zoned ? LR_TIMESTAMPTZ : LR_TIMESTAMP, .i = us + EPOCH_DAYS * US_PER_DAY};
        return;
    }
    far_text(days, rest, scratch);
    if (zoned) {
        /* the offset stands before BC */
        int bc = scratch->len > 3 && strcmp(scratch->data + scratch->len - 3, " BC") == 0;
        if (bc) scratch->len -= 3;
        lr_buf_puts(scratch, bc ? "+00 BC" : "+00");
    }
    *out = held_text(scratch);
}

int lr_pg_decode_binary(const char *p, size_t n, Oid type, lr_value *out, lr_buf *scratch)
{
    if (p == NULL) {
        *out = lr_null();
        return 0;
    }
    lr_buf_clear(scratch);
    if (n < least_bytes(type)) return -1;
    union {
        double d;
        int64_t i;
    } wide;
    switch (type) {
    case PG_BOOL:
        *out = (lr_value){.type = LR_BOOL, .i = p[0] != 0};
        return 0;
    case PG_INT2:
        *out = lr_int(read16(p));
        return 0;
    case PG_INT4:
        *out = lr_int(read32(p));
        return 0;
    case PG_INT8:
        *out = lr_int(read64(p));
        return 0;
    case PG_FLOAT4:
        *out = lr_real(read_float4(p));
        return 0;
    case PG_FLOAT8:
        wide.i = read64(p);
        *out = lr_real(wide.d);
        return 0;
    case PG_BYTEA:
        *out = lr_blobn(p, n);
        return 0;
    case PG_NUMERIC:
        if (read_numeric(p, n, scratch) != 0) return -1;
        *out = (lr_value){.type = LR_DECIMAL, .s = {scratch->data, scratch->len}};
        return 0;
    case PG_DATE:
        decode_date(read32(p), out, scratch);
        return 0;
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ:
        decode_time(read64(p), type == PG_TIMESTAMPTZ, out, scratch);
        return 0;
    default:
        *out = lr_textn(p, n);
        return 0;
    }
}
