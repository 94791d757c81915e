/* decimal.h - exact decimals of any length: parse, add, compare, format.
 *
 * A decimal is sign, digits and scale; sums never pass through a double.
 */
#ifndef LRUN_BASE_DECIMAL_H
#define LRUN_BASE_DECIMAL_H

#include <stddef.h>
#include <stdint.h>

/* An exact running sum. Zero-initialise; free with lr_sum_free. Small values
 * (scaled into 128 bits) take a fast path without allocation; larger ones move
 * to digits of base 10^9 on the heap. */
typedef struct lr_sum {
    __int128 small;   /* value * 10^scale while big is NULL */
    int scale;
    uint32_t *big;    /* magnitude, base 10^9, least first, times 10^-scale */
    size_t nbig, capbig;
    int bigneg;
} lr_sum;

void lr_sum_free(lr_sum *s);
void lr_sum_int(lr_sum *s, int64_t v, int sign);   /* s += sign * v */

/* s += sign * n * 10^-scale; a scale below zero adds zeros. */
void lr_sum_scaled(lr_sum *s, int64_t n, int scale, int sign);
int lr_sum_sign(const lr_sum *s); /* -1, 0, 1 */

/* The double counts as the decimal of its shortest form that reads back the
 * same. Returns -1 for NaN and infinities. Money-like doubles are fast. */
int lr_sum_real(lr_sum *s, double v, int sign);

/* Text: optional sign, digits with at most one point, optional exponent (at
 * most 1000 in size), nothing else. Returns -1 if it is no such number. */
int lr_sum_text(lr_sum *s, const char *p, size_t n, int sign);

/* Shortest decimal text of the sum: no exponent, no trailing zeros after the
 * point, "0" for zero, never "-0". Allocated with lr_malloc; free() it. */
char *lr_sum_format(const lr_sum *s);

int lr_sum_is_int64(const lr_sum *s, int64_t *out); /* a whole number that fits */

/* A finite double as *n * 10^-*scale, of its shortest form; 0 has scale 0. */
void lr_real_shortest(double v, int64_t *n, int *scale);

/* The same as plain digits, the text of a sum of it alone: "12.5", "12", never
 * an exponent. Returns its length, or 0 where v is not finite or it takes more
 * than size bytes. */
size_t lr_real_plain(double v, char *out, size_t size);

/* Shortest text of a double that reads back the same, by strtod: "0.1",
 * "1e+300" style only below 1e-4 or from 1e+15 on and where shorter than
 * digits; integral values print as "5.0", negative zero as "-0.0". NaN, Infinity, -Infinity by those names. out needs 40 bytes. */
char *lr_format_real(double v, char *out);

/* 1 if text is a plain decimal (as lr_sum_text). */
int lr_is_decimal(const char *p, size_t n);

/* Compare two plain decimals by value: -1, 0, 1. */
int lr_decimal_compare(const char *a, const char *b);

/* |a - b| <= tolerance, all plain decimals. */
int lr_decimal_close(const char *a, const char *b, const char *tolerance);

/* a - b, as lr_sum_format. free() it. */
char *lr_decimal_minus(const char *a, const char *b);

/* The decimal with at least scale digits after the point ("22" and 2 give
 * "22.00"); more digits are kept, never rounded. free() it. */
char *lr_decimal_scaled(const char *text, int scale);

/* Does the decimal survive a double: lr_format_real(strtod(text)) equal by
 * value? (What a SQLite column of NUMERIC or REAL affinity does to it.) */
int lr_decimal_survives_real(const char *p, size_t n);

#endif
