/* Values out of binary results, for the types whose binary form is plain. */
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

/* Groups of four digits, the weight of the first, sign, and digits shown. */
static int read_numeric(const char *p, size_t n, lr_buf *b)
{
    if (n < 8) return -1;
    int groups = read16(p), weight = read16(p + 2), sign = read16(p + 4) & 0xFFFF, scale = read16(p + 6) & 0x3FFF;
    char text[8];
    if (groups < 0 || (size_t)groups * 2 + 8 != n) return -1;
    if (sign != 0 && sign != 0x4000) {
        lr_buf_puts(b, sign == 0xC000 ? "NaN" : sign == 0xD000 ? "Infinity" : "-Infinity");
        return 0;
    }
    if (sign == 0x4000) lr_buf_putc(b, '-');
    if (weight < 0) lr_buf_putc(b, '0');
    for (int g = 0; g <= weight; g++) {
        snprintf(text, sizeof text, g == 0 ? "%d" : "%04d", g < groups ? read16(p + 8 + 2 * g) : 0);
        lr_buf_puts(b, text);
    }
    if (scale > 0) lr_buf_putc(b, '.');
    for (int shown = 0, g = weight + 1; shown < scale; g++) {
        snprintf(text, sizeof text, "%04d", g >= 0 && g < groups ? read16(p + 8 + 2 * g) : 0);
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

/* Years 1 to 9999 have the engine-neutral form; 0 asks for text. */
static int plain_day(int64_t days)
{
    return days >= -719162 && days <= 2932896;
}

int lr_pg_decode_binary(const PGresult *r, int row, int column, lr_value *out, lr_buf *scratch)
{
    if (PQgetisnull(r, row, column)) {
        *out = lr_null();
        return 1;
    }
    const char *p = PQgetvalue(r, row, column);
    size_t n = (size_t)PQgetlength(r, row, column);
    union {
        double d;
        int64_t i;
    } wide;
    int64_t us, days;
    Oid type = PQftype(r, column);
    switch (type) {
    case PG_BOOL:
        *out = (lr_value){.type = LR_BOOL, .i = p[0] != 0};
        return 1;
    case PG_INT2:
        *out = lr_int(read16(p));
        return 1;
    case PG_INT4:
        *out = lr_int(read32(p));
        return 1;
    case PG_INT8:
        *out = lr_int(read64(p));
        return 1;
    case PG_FLOAT4:
        *out = lr_real(read_float4(p));
        return 1;
    case PG_FLOAT8:
        wide.i = read64(p);
        *out = lr_real(wide.d);
        return 1;
    case PG_BYTEA:
        *out = lr_blobn(p, n);
        return 1;
    case PG_NUMERIC:
        lr_buf_clear(scratch);
        if (read_numeric(p, n, scratch) != 0) return -1;
        *out = (lr_value){.type = LR_DECIMAL, .s = {scratch->data, scratch->len}};
        return 1;
    case PG_DATE:
        days = (int64_t)read32(p) + EPOCH_DAYS;
        if (!plain_day(days)) return 0;
        *out = (lr_value){.type = LR_DATE, .i = days};
        return 1;
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ:
        us = read64(p);
        days = us / US_PER_DAY + EPOCH_DAYS;
        if (us == INT64_MAX || us == INT64_MIN || !plain_day(days - 1) || !plain_day(days)) return 0;
        *out = (lr_value){.type = type == PG_TIMESTAMP ? LR_TIMESTAMP : LR_TIMESTAMPTZ, .i = us + EPOCH_DAYS * US_PER_DAY};
        return 1;
    default:
        *out = lr_textn(p, n);
        return 1;
    }
}
