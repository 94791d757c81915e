/* epoch.h - times that are numbers: seconds, milliseconds, microseconds and
 * nanoseconds since 1970, julian days, and dates of eight digits.
 *
 * A number of one unit read as another is a time long ago or far away, which no
 * window holds: such values are refused, by the limits below. */
#ifndef LRUN_BASE_EPOCH_H
#define LRUN_BASE_EPOCH_H

#include "base/calendar.h"
#include "base/mem.h"
#include "lrun/value.h"

typedef enum lr_time_mode {
    LR_ISO,      /* ISO text, or the engine's own date and timestamp types */
    LR_UNIX,     /* seconds since 1970 */
    LR_UNIX_MS,  /* milliseconds */
    LR_UNIX_US,  /* microseconds */
    LR_UNIX_NS,  /* nanoseconds */
    LR_JULIAN,   /* julian days, read to the nearest millisecond, as SQLite's own functions do */
    LR_YYYYMMDD, /* 20260120: a date of the job's zone */
    LR_NUMBER    /* a growing number, no time at all */
} lr_time_mode;

/* What the option time takes, for help and hints. */
#define LR_TIME_FORMS "\"iso\", \"unix\" (seconds), \"unix_ms\", \"unix_us\", \"unix_ns\", \"julian\" (days), \"yyyymmdd\""

const char *lr_time_mode_name(lr_time_mode m);
int lr_time_mode_parse(const char *name, lr_time_mode *out); /* -1: no such form */
int lr_is_epoch(lr_time_mode m); /* a time that is a number */
const char *lr_epoch_unit(lr_time_mode m); /* "microseconds" */

/* Values below low or from limit on are none of the form; neither are those
 * nearer to 0 than floor, but for 0 itself. NULL: no such limit. */
typedef struct lr_epoch_range {
    const char *low, *limit, *floor;
} lr_epoch_range;
lr_epoch_range lr_epoch_limits(lr_time_mode m);

/* The instant of a value, to the microsecond before it; -1 where it is none of
 * the form. */
int lr_epoch_int(lr_time_mode m, int64_t v, const lr_zone *z, int64_t *us);
int lr_epoch_text(lr_time_mode m, const char *p, size_t n, const lr_zone *z, int64_t *us);

/* An edge at an instant as values are compared with it: an integer where it is a
 * whole number, else an exact decimal as text; of julian days the double between
 * two milliseconds. above: values at the instant are below the edge. */
lr_value lr_epoch_edge(lr_arena *a, lr_time_mode m, int64_t us, int above, const lr_zone *z);

/* "microseconds: time = \"unix_us\"": the form that a value looks like, or NULL. */
const char *lr_epoch_guess(const char *text);

#endif
