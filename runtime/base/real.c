/* real.c - doubles as the decimals they were written as. */
#include "decimal.h"

#include "mem.h"

#include <float.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A decimal of up to 15 digits is the only one of its length that reads as its
 * double, so one that reads back is the shortest form. */
#define SURE_DIGITS 15
#define SURE 1e15
#define MOST_PLACES 8

static const double tens[MOST_PLACES + 1] = { 1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8 };

/* A job may set a locale with a decimal comma; numbers stay as they are. */
static double read_real(const char *text)
{
    static locale_t c;
    if (!c) c = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    return c ? strtod_l(text, NULL, c) : strtod(text, NULL);
}

static inline int has_places(double v, int places, int64_t *n)
{
    double x = v * tens[places];
    if (!(fabs(x) < SURE)) return 0;
    *n = (int64_t)(x + copysign(0.5, x));
    return (double)*n / tens[places] == v; /* one rounding, as in reading text */
}

static int reads_back(int64_t n, int exponent, double v)
{
    char text[48];
    snprintf(text, sizeof text, "%llde%d", (long long)n, exponent);
    return read_real(text) == v;
}

/* The digits of v, rounded to count of them; whatever the decimal point is. */
static int64_t rounded(double v, int count, int *exponent)
{
    char text[64];
    int64_t n = 0;
    char *p = text;
    snprintf(text, sizeof text, "%.*e", count - 1, v);
    for (; *p && *p != 'e'; p++)
        if (*p >= '0' && *p <= '9') n = n * 10 + (*p - '0');
    *exponent = atoi(p + 1) - (count - 1);
    return n;
}

static void search(double v, int64_t *n, int *scale)
{
    int parts, exponent = 0;
    int64_t found = 0;
    /* above a power of two the doubles lie twice as far apart as below it, so
     * a decimal that is not the nearest may read back as well */
    int lopsided = frexp(v, &parts) == 0.5;
    for (int count = v < DBL_MIN ? 1 : SURE_DIGITS; count <= 17; count++) {
        found = rounded(v, count, &exponent);
        if (reads_back(found, exponent, v)) break;
        if (lopsided && reads_back(found + 1, exponent, v)) {
            found++;
            break;
        }
    }
    while (found && found % 10 == 0) {
        found /= 10;
        exponent++;
    }
    *n = found;
    *scale = -exponent;
}

void lr_real_shortest(double v, int64_t *n, int *scale)
{
    for (int places = 0; places <= MOST_PLACES; places++) {
        if (has_places(v, places, n)) {
            *scale = places;
            return;
        }
    }
    search(fabs(v), n, scale);
    if (v < 0) *n = -*n;
}

size_t lr_real_plain(double v, char *out, size_t size)
{
    int64_t n;
    int scale, count = 0;
    char digits[24], *p = out;
    if (!isfinite(v)) return 0;
    lr_real_shortest(fabs(v), &n, &scale);
    for (; n > 0; n /= 10) digits[count++] = (char)('0' + n % 10); /* the last first */
    int whole = count - scale;
    if ((size_t)((whole > 0 ? whole : 1) + (scale > 0 ? scale : 0)) + sizeof "-." > size) return 0;
    if (v < 0 && count > 0) *p++ = '-';
    if (count == 0 || whole <= 0) *p++ = '0';
    for (int i = 0; i < whole; i++) *p++ = i < count ? digits[count - 1 - i] : '0';
    if (scale > 0) {
        *p++ = '.';
        for (int i = scale; i > 0; i--) *p++ = i > count ? '0' : digits[i - 1];
    }
    *p = 0;
    return (size_t)(p - out);
}

int lr_sum_real(lr_sum *s, double v, int sign)
{
    int64_t n;
    int scale = s->scale;
    if (!isfinite(v)) return -1;
    /* values of one column mostly have the same number of places */
    if (scale > MOST_PLACES || !has_places(v, scale, &n)) lr_real_shortest(v, &n, &scale);
    lr_sum_scaled(s, n, scale, sign);
    return 0;
}

/* ---- as text ---- */

static void put_plain(char *p, const char *digits, int count, int exponent)
{
    int whole = exponent + 1; /* digits before the point */
    if (whole <= 0) {
        *p++ = '0';
        *p++ = '.';
        for (int i = whole; i < 0; i++) *p++ = '0';
        memcpy(p, digits, (size_t)count);
        p[count] = 0;
        return;
    }
    for (int i = 0; i < whole; i++) *p++ = i < count ? digits[i] : '0';
    *p++ = '.';
    if (count <= whole) *p++ = '0';
    else for (int i = whole; i < count; i++) *p++ = digits[i];
    *p = 0;
}

char *lr_format_real(double v, char *out)
{
    if (!isfinite(v)) return strcpy(out, isnan(v) ? "NaN" : v < 0 ? "-Infinity" : "Infinity");
    char *p = out;
    if (signbit(v)) *p++ = '-';
    if (v == 0) {
        strcpy(p, "0.0");
        return out;
    }
    int64_t n;
    int scale;
    char digits[24];
    lr_real_shortest(fabs(v), &n, &scale);
    int count = snprintf(digits, sizeof digits, "%lld", (long long)n);
    int exponent = count - 1 - scale; /* of the first digit */
    while (count > 1 && digits[count - 1] == '0') count--;

    if (exponent < -4 || exponent >= SURE_DIGITS) {
        int plain = exponent < 0     ? 1 - exponent + count
                    : count > exponent + 1 ? count + 1
                                           : exponent + 3;
        int power = count + (count > 1) + (exponent <= -100 || exponent >= 100 ? 5 : 4);
        if (power < plain) {
            *p++ = digits[0];
            if (count > 1) {
                *p++ = '.';
                memcpy(p, digits + 1, (size_t)count - 1);
                p += count - 1;
            }
            sprintf(p, "e%+03d", exponent);
            return out;
        }
    }
    put_plain(p, digits, count, exponent);
    return out;
}

/* Up to 15 digits survive any double that is not near the ends of the range. */
static int is_short(const char *p, size_t n)
{
    int count = 0;
    if (n > 40) return 0;
    for (size_t i = 0; i < n; i++) {
        if (p[i] == 'e' || p[i] == 'E') return 0;
        if (p[i] >= '0' && p[i] <= '9' && (count || p[i] != '0')) count++;
    }
    return count <= SURE_DIGITS;
}

int lr_decimal_survives_real(const char *p, size_t n)
{
    if (!lr_is_decimal(p, n)) return 0;
    if (is_short(p, n)) return 1;
    char room[128];
    char *text = n < sizeof room ? room : lr_malloc(n + 1);
    memcpy(text, p, n);
    text[n] = 0;
    double v = read_real(text);
    if (text != room) free(text);

    lr_sum s = { 0 };
    lr_sum_text(&s, p, n, 1);
    int survives = lr_sum_real(&s, v, -1) == 0 && lr_sum_sign(&s) == 0;
    lr_sum_free(&s);
    return survives;
}
