/* The binary form of COPY for the common types. What it cannot say exactly is
 * left to the text form, which refuses by name. */
#include "base/decimal.h"
#include "base/moment.h"
#include "driver/postgres/copy.h"
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EPOCH_DAYS 10957 /* 2000-01-01 */

void lr_pg_put16(lr_buf *b, int v)
{
    uint16_t x = htobe16((uint16_t)v);
    lr_buf_add(b, &x, 2);
}

static void put32(lr_buf *b, int32_t v)
{
    uint32_t x = htobe32((uint32_t)v);
    lr_buf_add(b, &x, 4);
}

/* A field of four or eight bytes, its length in front. */
static void put_four(lr_buf *b, int32_t v)
{
    uint32_t x[2] = {htobe32(4), htobe32((uint32_t)v)};
    lr_buf_add(b, x, sizeof x);
}

static void put_eight(lr_buf *b, int64_t v)
{
    uint32_t x[3] = {htobe32(8), htobe32((uint32_t)((uint64_t)v >> 32)), htobe32((uint32_t)v)};
    lr_buf_add(b, x, sizeof x);
}

int lr_pg_fits_float(double d)
{
    float f = (float)d;
    char text[40], shorter[40];
    if (!isfinite(d) || (double)f == d) return 1;
    if (!isfinite(f)) return 0;
    for (int digits = 6; digits <= 9; digits++) {
        snprintf(shorter, sizeof shorter, "%.*g", digits, (double)f);
        if (strtof(shorter, NULL) == f) break;
    }
    return lr_decimal_compare(lr_format_real(d, text), shorter) == 0;
}

int lr_pg_valid_utf8(const char *p, size_t n)
{
    for (size_t i = 0; i < n;) {
        uint64_t word;
        while (i + 8 <= n && (memcpy(&word, p + i, 8), (word & UINT64_C(0x8080808080808080)) == 0)) i += 8;
        if (i == n) break;
        unsigned char c = (unsigned char)p[i];
        size_t len = c < 0x80 ? 1 : c >= 0xC2 && c < 0xE0 ? 2 : (c & 0xF0) == 0xE0 ? 3 : c >= 0xF0 && c < 0xF5 ? 4 : 0;
        if (len == 0 || i + len > n) return 0;
        for (size_t j = 1; j < len; j++)
            if (((unsigned char)p[i + j] & 0xC0) != 0x80) return 0;
        unsigned char d = len > 1 ? (unsigned char)p[i + 1] : 0;
        if ((c == 0xE0 && d < 0xA0) || (c == 0xED && d > 0x9F) || (c == 0xF0 && d < 0x90) || (c == 0xF4 && d > 0x8F)) return 0;
        i += len;
    }
    return 1;
}


static int encode_int(lr_buf *b, const lr_value *v, kind k)
{
    if (v->type != LR_INT) return 0;
    if (k == K_INT8) {
        put_eight(b, v->i);
    } else if (k == K_INT4 && v->i >= INT32_MIN && v->i <= INT32_MAX) {
        put_four(b, (int32_t)v->i);
    } else if (k == K_INT2 && v->i >= INT16_MIN && v->i <= INT16_MAX) {
        put32(b, 2);
        lr_pg_put16(b, (int)v->i);
    } else {
        return 0;
    }
    return 1;
}

static int encode_real(lr_buf *b, const lr_value *v, kind k)
{
    union {
        double d;
        int64_t i;
    } wide;
    union {
        float f;
        int32_t i;
    } narrow;
    if (v->type != LR_REAL) return 0;
    if (k == K_REAL4) {
        if (!lr_pg_fits_float(v->r)) return 0;
        narrow.f = (float)v->r;
        put_four(b, narrow.i);
    } else {
        wide.d = v->r;
        put_eight(b, wide.i);
    }
    return 1;
}

/* numeric: groups of four decimal digits around the point. */
static int encode_numeric(lr_buf *b, const lr_value *v, const target *t)
{
    const int scale = t->type.scale, precision = t->type.precision;
    char text[48];
    const char *p;
    size_t n;
    if (v->type == LR_INT) {
        n = (size_t)snprintf(text, sizeof text, "%lld", (long long)v->i);
        p = text;
    } else if (v->type == LR_REAL) {
        n = lr_real_plain(v->r, text, sizeof text);
        p = text;
    } else if (v->type == LR_DECIMAL || v->type == LR_TEXT) {
        p = v->s.p;
        n = v->s.n;
    } else {
        return 0;
    }
    int negative = n > 0 && p[0] == '-';
    size_t at = (size_t)negative, point = n, end = n;
    if (at == n || n > 60) return 0;
    for (size_t i = at; i < n; i++) {
        if (p[i] == '.' && point == n) point = i;
        else if (p[i] < '0' || p[i] > '9') return 0;
    }
    if (point == at || (point < n && point + 1 == n)) return 0;
    /* 5.0 of a double is 5: a zero after the point is not part of the value */
    if (v->type == LR_REAL) while (end > point + 1 && p[end - 1] == '0') end--;
    if (end == point + 1) end = point;
    int digits_after = end > point ? (int)(end - point - 1) : 0, shown = digits_after;
    if (precision >= 0 && scale < 0) return 0; /* rounds before the point: rare, and text looks at it */
    if (precision >= 0) {
        int significant = digits_after;
        while (significant > 0 && p[point + (size_t)significant] == '0') significant--;
        if (significant > scale) return 0;
        shown = scale;
    }
    size_t zeros = 0;
    while (at + zeros < point && p[at + zeros] == '0') zeros++;
    if (precision >= 0 && (int)(point - at - zeros) > precision - scale) return 0;
    int16_t groups[40];
    int ngroups = 0, before = (int)(point - at), weight = (before + 3) / 4 - 1;
    for (int g = 0; g <= weight; g++) {
        int value = 0;
        for (int i = 0; i < 4; i++) {
            int position = before - (weight - g + 1) * 4 + i;
            value = value * 10 + (position >= 0 ? p[at + (size_t)position] - '0' : 0);
        }
        groups[ngroups++] = (int16_t)value;
    }
    for (int g = 0; g * 4 < digits_after; g++) {
        int value = 0;
        for (int i = 0; i < 4; i++) {
            int position = g * 4 + i;
            value = value * 10 + (position < digits_after ? p[point + 1 + (size_t)position] - '0' : 0);
        }
        groups[ngroups++] = (int16_t)value;
    }
    int first = 0;
    while (first < ngroups && groups[first] == 0) {
        first++;
        weight--;
    }
    while (ngroups > first && groups[ngroups - 1] == 0) ngroups--;
    if (first == ngroups) weight = 0;
    int count = ngroups - first, at_word = 2;
    uint16_t words[6 + sizeof groups / sizeof groups[0]] = {0}; /* the length is the first two */
    const int head[] = {count, weight, negative && count > 0 ? 0x4000 : 0, shown};
    words[1] = htobe16((uint16_t)(8 + 2 * count));
    for (int i = 0; i < 4; i++) words[at_word++] = htobe16((uint16_t)head[i]);
    for (int g = first; g < ngroups; g++) words[at_word++] = htobe16((uint16_t)groups[g]);
    lr_buf_add(b, words, (size_t)at_word * sizeof words[0]);
    return 1;
}

static int encode_time(lr_buf *b, const lr_value *v, const lr_type *t, const lr_zone *z)
{
    const char *why;
    int64_t us;
    if (lr_convert_time(v, t->kind, t->fraction, z, &us, &why) != LR_CONVERTED) return 0;
    if (t->kind == LR_KIND_DATE) put_four(b, (int32_t)(us / LR_US_PER_DAY - (us % LR_US_PER_DAY < 0) - EPOCH_DAYS));
    else put_eight(b, us - EPOCH_DAYS * LR_US_PER_DAY);
    return 1;
}

int lr_pg_encode(lr_buf *b, const lr_value *v, const target *t, const lr_zone *z)
{
    const kind k = t->kind;
    if (v->type == LR_NULL) {
        put32(b, -1);
        return 1;
    }
    switch (k) {
    case K_INT2:
    case K_INT4:
    case K_INT8:
        return encode_int(b, v, k);
    case K_REAL:
    case K_REAL4:
        return encode_real(b, v, k);
    case K_NUMERIC:
        return encode_numeric(b, v, t);
    case K_BOOL:
        if ((v->type != LR_BOOL && v->type != LR_INT) || (v->i != 0 && v->i != 1)) return 0;
        put32(b, 1);
        lr_buf_putc(b, (char)v->i);
        return 1;
    case K_TEXT:
        if ((v->type != LR_TEXT && v->type != LR_DECIMAL) || memchr(v->s.p, 0, v->s.n) != NULL || !lr_pg_valid_utf8(v->s.p, v->s.n))
            return 0;
        if (t->type.length >= 0 && v->s.n > (size_t)t->type.length) return 0; /* counted in letters, by text */
        put32(b, (int32_t)v->s.n);
        lr_buf_add(b, v->s.p, v->s.n);
        return 1;
    case K_BYTEA:
        if (v->type != LR_BLOB) return 0;
        put32(b, (int32_t)v->s.n);
        lr_buf_add(b, v->s.p, v->s.n);
        return 1;
    case K_DATE:
    case K_TIMESTAMP:
    case K_TIMESTAMPTZ:
        return encode_time(b, v, &t->type, z);
    case K_OTHER:
        return 0;
    }
    return 0;
}
