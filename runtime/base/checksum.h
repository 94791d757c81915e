/* checksum.h - hashes that PostgreSQL computes too, bit for bit.
 *
 * They are its own hash functions for hash partitions (Bob Jenkins' lookup3), so
 * each side of a comparison can hash its rows where they are. A seed tells
 * columns apart.
 */
#ifndef LRUN_BASE_CHECKSUM_H
#define LRUN_BASE_CHECKSUM_H

#include <stddef.h>
#include <stdint.h>

int64_t lr_hash_bytes(const void *p, size_t n, int64_t seed);   /* hashtextextended */
int64_t lr_hash_word(int32_t word, int64_t seed);               /* hashint4extended */
int64_t lr_hash_moment(int64_t us, int64_t seed);               /* timestamp_hash_extended; since 1970 */
int64_t lr_hash_real(double v, int64_t seed);                   /* hashfloat8extended */

/* hash_numeric_extended, which leaves the sign out: |n| * 10^-scale; or a plain
 * decimal text (as lr_sum_format), whose sign is skipped. */
int64_t lr_hash_decimal(int64_t n, int scale, int64_t seed);
int64_t lr_hash_decimal_text(const char *text, int64_t seed);

/* How a column's values are hashed, so that both engines have the same. */
enum lr_form {
    LR_FORM_ANY = 'a',     /* by the value's own kind: both sides are SQLite */
    LR_FORM_INT = 'i',
    LR_FORM_DECIMAL = 'n', /* 1.50 is 1.5 */
    LR_FORM_REAL = 'r',
    LR_FORM_BOOL = 'b',
    LR_FORM_DATE = 'd',
    LR_FORM_MOMENT = 'm',  /* to the microsecond; without an offset UTC */
    LR_FORM_BYTES = 'x',   /* as hexadecimal digits */
    LR_FORM_TEXT = 't',    /* byte for byte */
    LR_FORM_TRIMMED = 'c', /* without blanks at the end: character(n) */
    LR_FORM_TEXT_RECODED = 'u', /* the two as bytes: the other side's text is no UTF-8 */
    LR_FORM_TRIMMED_RECODED = 'v',
    LR_FORM_FOLDED = 'f',  /* ASCII letters without their case: a key that compares so */
    LR_FORM_UUID = 'g',    /* hexadecimal digits, however they are written */
    LR_FORM_NETWORK = 'k', /* an address; the full length of its prefix means nothing */
    LR_FORM_ZONED = 'z'    /* a moment; without an offset in the job's zone */
};

/* A row's hash is the xor of its columns' hashes, mixed once more: the sum of a
 * segment's rows would not change where two of its rows swap values, were it
 * linear in them. */
#define LR_KEY_ROUND 0
#define LR_ROW_ROUND 1
#define LR_NULL_HASH INT64_C(8029876523417651009) /* minus the seed */
#define LR_NAN_SEED 1000003
#define LR_MISFIT_SEED 2000003

#endif
