/* decimal.c - exact decimal sums, and what is made of them. */
#include "decimal.h"

#include "mem.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

#define BASE 1000000000u
#define BASE_DIGITS 9
#define SMALL_DIGITS 38 /* 10^38 is the largest power of ten in 128 bits */
#define MOST_EXPONENT 1000
#define MOST_TEXT (INT_MAX / 4)

typedef unsigned __int128 u128;

/* Digits without a point: value = digits * 10^-scale. */
typedef struct digits {
    const char *p;
    size_t n;
    int scale;
    int negative;
} digits;

static const int64_t small_power[19] = {
    1, 10, 100, 1000, 10000, 100000, 1000000, 10000000, 100000000, 1000000000,
    INT64_C(10000000000), INT64_C(100000000000), INT64_C(1000000000000),
    INT64_C(10000000000000), INT64_C(100000000000000), INT64_C(1000000000000000),
    INT64_C(10000000000000000), INT64_C(100000000000000000), INT64_C(1000000000000000000),
};

static __int128 power(int n)
{
    if (n <= 18) return small_power[n];
    if (n <= 36) return (__int128)small_power[18] * small_power[n - 18];
    return (__int128)small_power[18] * small_power[18] * small_power[n - 36];
}

void lr_sum_free(lr_sum *s)
{
    free(s->big);
    *s = (lr_sum){ 0 };
}

/* ---- sums that fit 128 bits ---- */

/* -1, and nothing done, if the sum does not fit. */
static int add_small(lr_sum *s, __int128 m, int scale)
{
    __int128 have = s->small;
    int common = s->scale;
    if (scale != common) {
        if (scale < 0 || scale > SMALL_DIGITS) return -1;
        if (scale > common) {
            if (have && __builtin_mul_overflow(have, power(scale - common), &have)) return -1;
            common = scale;
        } else if (__builtin_mul_overflow(m, power(common - scale), &m)) {
            return -1;
        }
    }
    if (__builtin_add_overflow(have, m, &have)) return -1;
    s->small = have;
    s->scale = common;
    return 0;
}

/* Decimal digits of a magnitude, ending before end; at least one. */
static char *put_magnitude(u128 v, char *end)
{
    do {
        *--end = (char)('0' + (int)(v % 10));
        v /= 10;
    } while (v);
    return end;
}

static u128 magnitude_of(__int128 v)
{
    return v < 0 ? 0 - (u128)v : (u128)v;
}

/* ---- sums of any size: the scale is a multiple of BASE_DIGITS here ---- */

static void need_limbs(lr_sum *s, size_t n)
{
    if (n > s->capbig) {
        size_t cap = n + n / 2 + 4;
        s->big = lr_realloc(s->big, cap * sizeof *s->big);
        s->capbig = cap;
    }
    while (s->nbig < n) s->big[s->nbig++] = 0;
}

static void raise_scale(lr_sum *s, int scale)
{
    size_t limbs = (size_t)(scale - s->scale) / BASE_DIGITS, had = s->nbig;
    if (!limbs) return;
    need_limbs(s, had + limbs);
    memmove(s->big + limbs, s->big, had * sizeof *s->big);
    memset(s->big, 0, limbs * sizeof *s->big);
    s->scale = scale;
}

static void add_limb(lr_sum *s, size_t i, uint32_t v)
{
    while (v) {
        need_limbs(s, i + 1);
        uint32_t sum = s->big[i] + v;
        v = sum >= BASE;
        s->big[i++] = v ? sum - BASE : sum;
    }
}

/* -1 if the magnitude fell below zero: it then is that much below a power of BASE. */
static int subtract_limb(lr_sum *s, size_t i, uint32_t v)
{
    while (v) {
        if (i == s->nbig) return -1;
        uint32_t have = s->big[i];
        s->big[i++] = have >= v ? have - v : have + BASE - v;
        v = have < v;
    }
    return 0;
}

static void turn_sign(lr_sum *s)
{
    uint32_t borrow = 0;
    for (size_t i = 0; i < s->nbig; i++) {
        uint32_t take = s->big[i] + borrow;
        borrow = take > 0;
        s->big[i] = take ? BASE - take : 0;
    }
    s->bigneg = !s->bigneg;
}

static int round_up(int scale)
{
    return scale <= 0 ? 0 : (scale + BASE_DIGITS - 1) / BASE_DIGITS * BASE_DIGITS;
}

static void add_big(lr_sum *s, const digits *d)
{
    int scale = round_up(d->scale);
    if (scale > s->scale) raise_scale(s, scale);
    size_t low = (size_t)(s->scale - d->scale); /* where the last digit stands */
    size_t i = low / BASE_DIGITS, weight = low % BASE_DIGITS;
    int subtract = d->negative != s->bigneg, below = 0;
    need_limbs(s, (low + d->n) / BASE_DIGITS + 1);

    for (size_t left = d->n; left; i++, weight = 0) {
        uint32_t limb = 0;
        size_t take = BASE_DIGITS - weight < left ? BASE_DIGITS - weight : left;
        for (size_t k = left - take; k < left; k++) limb = limb * 10 + (uint32_t)(d->p[k] - '0');
        left -= take;
        limb *= (uint32_t)small_power[weight];
        if (!subtract) add_limb(s, i, limb);
        else if (subtract_limb(s, i, limb)) below = 1;
    }
    if (below) turn_sign(s);
    while (s->nbig && !s->big[s->nbig - 1]) s->nbig--;
    if (!s->nbig) s->bigneg = 0;
}

static void make_big(lr_sum *s)
{
    char room[40];
    char *end = room + sizeof room, *p = put_magnitude(magnitude_of(s->small), end);
    digits d = { p, (size_t)(end - p), s->scale, s->small < 0 };
    s->small = 0;
    s->scale = 0;
    need_limbs(s, 1);
    add_big(s, &d);
}

/* ---- adding ---- */

static void add_digits(lr_sum *s, const digits *d)
{
    if (!s->big && d->n <= SMALL_DIGITS) {
        __int128 m = 0;
        for (size_t i = 0; i < d->n; i++) m = m * 10 + (d->p[i] - '0');
        if (!add_small(s, d->negative ? -m : m, d->scale)) return;
    }
    if (!s->big) make_big(s);
    add_big(s, d);
}

void lr_sum_scaled(lr_sum *s, int64_t n, int scale, int sign)
{
    __int128 m = sign < 0 ? -(__int128)n : n;
    if (!m) return;
    if (!s->big) {
        int places = scale;
        __int128 value = m;
        if (places < 0 && places >= -18) {
            value *= small_power[-places];
            places = 0;
        }
        if (!add_small(s, value, places)) return;
    }
    char room[40];
    char *end = room + sizeof room, *p = put_magnitude(magnitude_of(m), end);
    digits d = { p, (size_t)(end - p), scale, m < 0 };
    if (!s->big) make_big(s);
    add_big(s, &d);
}

void lr_sum_int(lr_sum *s, int64_t v, int sign)
{
    lr_sum_scaled(s, v, 0, sign);
}

/* ---- text ---- */

/* The shape of a decimal text: where its digits are and what they are worth. */
typedef struct shape {
    int negative;
    size_t first, whole, fraction; /* digits before and after the point */
    int has_point, exponent;
} shape;

static int is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int read_shape(const char *p, size_t n, shape *f)
{
    size_t i = 0;
    *f = (shape){ 0 };
    if (n > MOST_TEXT) return -1;
    if (i < n && (p[i] == '+' || p[i] == '-')) f->negative = p[i++] == '-';
    f->first = i;
    while (i < n && is_digit(p[i])) i++;
    f->whole = i - f->first;
    if (i < n && p[i] == '.') {
        f->has_point = 1;
        size_t from = ++i;
        while (i < n && is_digit(p[i])) i++;
        f->fraction = i - from;
    }
    if (!f->whole && !f->fraction) return -1;
    if (i < n && (p[i] == 'e' || p[i] == 'E')) {
        int sign = 1;
        i++;
        if (i < n && (p[i] == '+' || p[i] == '-')) sign = p[i++] == '-' ? -1 : 1;
        if (i == n) return -1;
        for (; i < n && is_digit(p[i]); i++) {
            f->exponent = f->exponent * 10 + (p[i] - '0');
            if (f->exponent > MOST_EXPONENT) return -1;
        }
        if (!is_digit(p[i - 1])) return -1;
        f->exponent *= sign;
    }
    return i == n ? 0 : -1;
}

int lr_is_decimal(const char *p, size_t n)
{
    shape f;
    return read_shape(p, n, &f) == 0;
}

int lr_sum_text(lr_sum *s, const char *p, size_t n, int sign)
{
    shape f;
    if (read_shape(p, n, &f)) return -1;
    const char *whole = p + f.first, *fraction = whole + f.whole + f.has_point;
    while (f.fraction && fraction[f.fraction - 1] == '0') f.fraction--;
    while (f.whole && *whole == '0') {
        whole++;
        f.whole--;
    }
    size_t count = f.whole + f.fraction;
    int scale = (int)f.fraction - f.exponent;
    if (count <= 18) {
        int64_t m = 0;
        for (size_t i = 0; i < f.whole; i++) m = m * 10 + (whole[i] - '0');
        for (size_t i = 0; i < f.fraction; i++) m = m * 10 + (fraction[i] - '0');
        lr_sum_scaled(s, f.negative ? -m : m, scale, sign);
        return 0;
    }
    char room[256];
    char *all = count <= sizeof room ? room : lr_malloc(count);
    memcpy(all, whole, f.whole);
    if (f.fraction) memcpy(all + f.whole, fraction, f.fraction);
    digits d = { all, count, scale, f.negative != (sign < 0) };
    add_digits(s, &d);
    if (all != room) free(all);
    return 0;
}

static char *to_text(const lr_sum *s, size_t least_fraction)
{
    size_t room = s->big ? (s->nbig + 1) * BASE_DIGITS : 40;
    char *all = lr_malloc(room), *end = all + room, *p = end;
    if (s->big) {
        for (size_t i = 0; i < s->nbig; i++) {
            uint32_t limb = s->big[i];
            for (int k = 0; k < BASE_DIGITS; k++, limb /= 10) *--p = (char)('0' + limb % 10);
        }
    } else {
        p = put_magnitude(magnitude_of(s->small), end);
    }
    size_t scale = (size_t)s->scale;
    while (p < end && *p == '0') p++;
    while (scale && end > p && end[-1] == '0') {
        end--;
        scale--;
    }
    size_t count = (size_t)(end - p);
    if (!count) scale = 0;
    size_t whole = count > scale ? count - scale : 0;

    lr_buf out = { 0 };
    if (count && lr_sum_sign(s) < 0) lr_buf_putc(&out, '-');
    if (whole) lr_buf_add(&out, p, whole);
    else lr_buf_putc(&out, '0');
    if (scale || least_fraction) lr_buf_putc(&out, '.');
    for (size_t i = count - whole; i < scale; i++) lr_buf_putc(&out, '0');
    lr_buf_add(&out, p + whole, count - whole);
    for (size_t i = scale; i < least_fraction; i++) lr_buf_putc(&out, '0');
    free(all);
    return out.data;
}

char *lr_sum_format(const lr_sum *s)
{
    return to_text(s, 0);
}

/* ---- questions ---- */

int lr_sum_sign(const lr_sum *s)
{
    if (s->big) return s->nbig ? (s->bigneg ? -1 : 1) : 0;
    return (s->small > 0) - (s->small < 0);
}

int lr_sum_is_int64(const lr_sum *s, int64_t *out)
{
    char *text = lr_sum_format(s);
    int negative = text[0] == '-', fits = 1;
    int64_t v = 0;
    for (const char *p = text + negative; *p && fits; p++) {
        if (!is_digit(*p) || __builtin_mul_overflow(v, (int64_t)10, &v) ||
            __builtin_add_overflow(v, (int64_t)(negative ? '0' - *p : *p - '0'), &v))
            fits = 0;
    }
    free(text);
    if (fits) *out = v;
    return fits;
}

static void difference(lr_sum *s, const char *a, const char *b)
{
    lr_sum_text(s, a, strlen(a), 1);
    lr_sum_text(s, b, strlen(b), -1);
}

int lr_decimal_compare(const char *a, const char *b)
{
    lr_sum s = { 0 };
    difference(&s, a, b);
    int sign = lr_sum_sign(&s);
    lr_sum_free(&s);
    return sign;
}

int lr_decimal_close(const char *a, const char *b, const char *tolerance)
{
    lr_sum s = { 0 };
    difference(&s, a, b);
    int sign = lr_sum_sign(&s);
    lr_sum_text(&s, tolerance, strlen(tolerance), sign < 0 ? 1 : -1);
    int beyond = lr_sum_sign(&s);
    lr_sum_free(&s);
    return sign < 0 ? beyond >= 0 : beyond <= 0;
}

char *lr_decimal_minus(const char *a, const char *b)
{
    lr_sum s = { 0 };
    difference(&s, a, b);
    char *text = lr_sum_format(&s);
    lr_sum_free(&s);
    return text;
}

char *lr_decimal_scaled(const char *text, int scale)
{
    lr_sum s = { 0 };
    lr_sum_text(&s, text, strlen(text), 1);
    char *out = to_text(&s, scale > 0 ? (size_t)scale : 0);
    lr_sum_free(&s);
    return out;
}
