/* calendar.h - instants, local zones, spans, grains, and ISO text.
 *
 * An instant is microseconds since 1970-01-01 00:00:00 UTC (int64_t).
 * "Local" microseconds are the same count for the wall clock of a zone, as if
 * the wall clock were UTC. Calendar: proleptic Gregorian, years 1 to 9999.
 */
#ifndef LRUN_BASE_CALENDAR_H
#define LRUN_BASE_CALENDAR_H

#include "lrun/err.h"
#include <stdint.h>

#define LR_US_PER_SECOND INT64_C(1000000)
#define LR_US_PER_HOUR (INT64_C(3600) * LR_US_PER_SECOND)
#define LR_US_PER_DAY (INT64_C(86400) * LR_US_PER_SECOND)

typedef struct lr_civil {
    int year, month, day, hour, minute, second, micro;
} lr_civil;

int64_t lr_days_from_civil(int year, int month, int day); /* days since 1970-01-01 */
void lr_civil_from_days(int64_t days, int *year, int *month, int *day);
int64_t lr_civil_to_us(const lr_civil *c); /* fields as if UTC */
lr_civil lr_civil_from_us(int64_t us);
int lr_weekday(int64_t days); /* 0 Monday .. 6 Sunday */
int lr_days_in_month(int year, int month);

/* ---- zones: names of the tz database, "UTC" is built in ---- */

typedef struct lr_zone lr_zone;

/* Load a zone. *out is owned by a cache that lives as long as the process.
 * An unknown name fails with LR_USAGE and names it; names are checked so that
 * no path outside the tz database is read. */
int lr_zone_get(const char *name, const lr_zone **out, lr_err *e);
const lr_zone *lr_zone_utc(void);
const char *lr_zone_name(const lr_zone *z);
int lr_zone_is_utc(const lr_zone *z);

/* Seconds east of UTC at an instant. */
int lr_zone_offset(const lr_zone *z, int64_t us);

/* The same, and the stretch of that offset: [*from, *until), INT64_MIN and
 * INT64_MAX where the zone knows no change. */
int lr_zone_stretch(const lr_zone *z, int64_t us, int64_t *from, int64_t *until);

/* Local microseconds of an instant. */
int64_t lr_zone_local(const lr_zone *z, int64_t us);

/* The instant of a local wall clock reading. A reading that occurs twice
 * (clocks set back) gives the first; one that does not occur (clocks set
 * forward) gives the first instant after the gap. *doubled, if not NULL, is set
 * to 1 where the reading occurs twice. */
int64_t lr_zone_instant(const lr_zone *z, int64_t local_us, int *doubled);

/* The least local reading whose instant (lr_zone_instant) is not before us: how
 * a bound is compared with times that have no zone. */
int64_t lr_zone_reading(const lr_zone *z, int64_t us);

/* By how much the zone ever sets its clocks back: the different amounts, at most
 * room of them; returns how many there are. */
int lr_zone_shifts_back(const lr_zone *z, int64_t *out, int room);

/* ---- text ---- */

/* How a time text was written, so that callers can compare forms. */
typedef struct lr_time {
    int64_t us;       /* the instant; without an offset read in the given zone */
    int32_t sub;      /* digits 7..12 of the fraction, as picoseconds */
    unsigned date_only : 1;
    unsigned has_offset : 1; /* "Z", "+02", "+0200", "+02:00" or "+00:53:28" */
    unsigned has_t : 1;      /* 'T' between date and time */
    unsigned doubled : 1;    /* a time without offset whose local reading occurs
                              * twice; never a date, whose day begins once */
} lr_time;

/* Parse "YYYY-MM-DD", or that and "HH:MM[:SS[.fraction]]" after a space or a
 * 'T', with an optional offset (a space may stand before it). All of the n
 * bytes must be used; fields are range checked (2026-02-29 and 2026-1-5 are
 * refused; 24:00 is refused; second 60 is refused). Any number of fraction
 * digits; beyond 12 they are cut. Returns 0, or -1 without a message.
 * No allocation and no locale: it runs once per row in SQL functions, so the
 * common forms in UTC must be fast (tens of nanoseconds). */
int lr_time_parse(const char *p, size_t n, const lr_zone *z, lr_time *out);

/* "YYYY-MM-DD" of the local day. out needs 16 bytes. */
char *lr_format_date(const lr_zone *z, int64_t us, char *out);

/* "YYYY-MM-DD HH:MM:SS" of the local time, and ".ffffff" where the fraction is
 * not zero (six digits, none trimmed). out needs 32 bytes. */
char *lr_format_instant(const lr_zone *z, int64_t us, char *out);

/* As above, and the offset "+01:00" ("+00:53:28" where it has seconds) unless
 * the zone is UTC. out needs 40. */
char *lr_format_offset(const lr_zone *z, int64_t us, char *out);

/* Date where the instant is the first of its local day, else lr_format_instant. */
char *lr_format_short(const lr_zone *z, int64_t us, char *out);

/* The first instant of its local day? */
int lr_is_midnight(const lr_zone *z, int64_t us);

/* ---- spans: calendar parts apply to the wall clock, then exact time ---- */

typedef struct lr_span {
    int64_t months; /* months(n) */
    int64_t days;   /* days(n), weeks(n) as 7 days */
    int64_t us;     /* hours(n), minutes(n) */
} lr_span;

/* instant + sign * span. Months keep the day of month, or the month's last day
 * where there is none (2026-01-31 + months(1) is 2026-02-28); months first,
 * then days, then exact time. A day whose midnight the clocks skip counts as
 * beginning at midnight, so that dates and days(n) give dates. Fails with
 * LR_USAGE outside years 1 to 9999. */
int lr_span_add(const lr_zone *z, int64_t us, const lr_span *s, int sign,
                int64_t *out, lr_err *e);

/* "2 days", "1 month 2 days 3 hours", "90 minutes", "0 days". out needs 96. */
char *lr_span_format(const lr_span *s, char *out);

/* ---- grains: the pieces into which a zone's time is cut ---- */

typedef enum lr_grain { LR_HOUR, LR_DAY, LR_WEEK, LR_MONTH, LR_YEAR } lr_grain;

int lr_grain_parse(const char *name, lr_grain *out); /* "hour" ..; -1 unknown */
const char *lr_grain_name(lr_grain g);

/* The first instant of the grain that holds us, and of the one after it. Days,
 * weeks (from Monday), months and years are local and begin where their first
 * midnight occurs first. Hours are the hours of the local wall clock: one begins
 * wherever the clock reads a full hour or jumps over it, so a doubled hour makes
 * two, and each lasts 60 minutes of real time unless the offset changes inside. For every zone: floor(us) <= us < next(us),
 * floor(floor(us)) == floor(us), next(us) == floor(next(us)): they tile. */
int64_t lr_grain_floor(const lr_zone *z, lr_grain g, int64_t us);
int64_t lr_grain_next(const lr_zone *z, lr_grain g, int64_t us);

/* A logical date of a grain, as typed: "2026-01-20" (day, week from its Monday,
 * hour 00, month or year from its first), "2026-01" (month, year), "2026"
 * (year), "2026-01-20T05" or "2026-01-20 05" or with ":00" (hour), with an
 * offset where the hour is doubled ("2026-10-25T02+01:00"; without it a doubled
 * hour is refused and both forms are named). A date that is not the grain's
 * first is refused, and the right one is named in the hint. LR_USAGE. */
int lr_grain_date(const lr_zone *z, lr_grain g, const char *text, int64_t *start, lr_err *e);

/* The logical date as text: "2026-01-20", week and month and year its first
 * day, hour "2026-01-20T05" and the offset where the hour is doubled. out 40. */
char *lr_grain_format(const lr_zone *z, lr_grain g, int64_t start, char *out);

#endif
