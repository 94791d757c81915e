/* moment.h - a time on its way from one kind of column into another.
 *
 * A time without a zone is a time of the job's zone, in every direction. What a
 * kind cannot hold exactly is refused: a local time that a change of the clock
 * skips or repeats, a time of day in a date, a fraction that is too fine.
 */
#ifndef LRUN_BASE_MOMENT_H
#define LRUN_BASE_MOMENT_H

#include "base/calendar.h"
#include "lrun/driver.h"

typedef enum lr_convert {
    LR_CONVERTED,
    LR_NO_TIME, /* the value is no time that has an ISO form */
    LR_INEXACT  /* *why says what would be lost, ", which has a time of day" */
} lr_convert;

/* v as a value of the kind DATE, TIMESTAMP or INSTANT, in microseconds: of a
 * date its midnight, of a date and a timestamp as if the zone were UTC.
 * fraction: digits of a second that the column keeps, -1 for any. */
lr_convert lr_convert_time(const lr_value *v, lr_kind to, int fraction, const lr_zone *z, int64_t *us, const char **why);

/* The instant of a local reading: 0, or -1 where it is skipped or repeated. */
int lr_exact_instant(const lr_zone *z, int64_t local_us, int64_t *us);

/* The local reading of an instant: 0, or -1 where another instant has the same. */
int lr_exact_reading(const lr_zone *z, int64_t us, int64_t *local_us);

/* As lr_format_short, but with the offset where the local reading occurs twice:
 * only that tells the two apart. out needs 40 bytes. */
char *lr_format_reading(const lr_zone *z, int64_t us, char *out);

/* An instant in a form, 40 bytes; its length, or 0 where the form has no text
 * for it: a local time that occurs twice. */
size_t lr_format_form(const lr_zone *z, int64_t us, const lr_time_form *form, char out[40]);

/* The form of a text; all zero where it is no time with a time of day. */
lr_time_form lr_form_of(const char *p, size_t n);

#endif
