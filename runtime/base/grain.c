/* grain.c - spans, grains, and the logical dates that name them. */
#include "calendar.h"

#include <stdio.h>
#include <string.h>

static int64_t floor_to(int64_t us, int64_t unit)
{
    int64_t rest = us % unit;
    return us - (rest < 0 ? rest + unit : rest);
}

static int in_range(int64_t local_us)
{
    static const int64_t first = INT64_C(-62135596800) * LR_US_PER_SECOND; /* 0001-01-01 */
    static const int64_t stop = INT64_C(253402300800) * LR_US_PER_SECOND;  /* 10000-01-01 */
    return local_us >= first && local_us < stop;
}

/* ---- spans ---- */

#define MOST_MONTHS (10000 * 12)
#define MOST_DAYS (10000 * 366)

static int add_months(int64_t *local, int64_t months)
{
    if (months < -MOST_MONTHS || months > MOST_MONTHS) return -1;
    lr_civil c = lr_civil_from_us(*local);
    int64_t total = (int64_t)c.year * 12 + (c.month - 1) + months;
    if (total < 12 || total >= 10000 * 12) return -1;
    c.year = (int)(total / 12);
    c.month = (int)(total % 12) + 1;
    int last = lr_days_in_month(c.year, c.month);
    if (c.day > last) c.day = last;
    *local = lr_civil_to_us(&c);
    return 0;
}

/* The wall clock at an instant, or the midnight that was skipped just before. */
static int64_t wall_clock(const lr_zone *z, int64_t us)
{
    int64_t local = lr_zone_local(z, us);
    int64_t midnight = floor_to(local, LR_US_PER_DAY);
    return lr_is_midnight(z, us) ? midnight : local;
}

static int add_calendar(const lr_zone *z, int64_t *us, int64_t months, int64_t days)
{
    if (days < -MOST_DAYS || days > MOST_DAYS) return -1;
    int64_t local = wall_clock(z, *us);
    if (months && add_months(&local, months)) return -1;
    local += days * LR_US_PER_DAY;
    if (!in_range(local)) return -1;
    *us = lr_zone_instant(z, local, NULL);
    return 0;
}

static int multiply(int64_t value, int sign, int64_t *out)
{
    return __builtin_mul_overflow(value, (int64_t)sign, out) ? -1 : 0;
}

int lr_span_add(const lr_zone *z, int64_t us, const lr_span *s, int sign, int64_t *out, lr_err *e)
{
    int64_t months, days, exact, result = us;
    int bad = multiply(s->months, sign, &months) || multiply(s->days, sign, &days) ||
              multiply(s->us, sign, &exact);
    /* a whole day of hours may be doubled: without months or days keep the instant */
    if (!bad && (months || days)) bad = add_calendar(z, &result, months, days);
    if (!bad) bad = __builtin_add_overflow(result, exact, &result);
    if (!bad) bad = result > INT64_MAX / 2 || result < INT64_MIN / 2;
    if (!bad) bad = !in_range(lr_zone_local(z, result));
    if (bad) {
        char date[40], span[96];
        return lr_fail(e, LR_USAGE, "%s %c %s is outside the years 1 to 9999",
                       lr_format_short(z, us, date), sign < 0 ? '-' : '+',
                       lr_span_format(s, span));
    }
    *out = result;
    return 0;
}

static char *put_part(char *p, const char *out, int64_t n, const char *unit)
{
    if (p != out) *p++ = ' ';
    return p + sprintf(p, "%lld %s%s", (long long)n, unit, n == 1 || n == -1 ? "" : "s");
}

char *lr_span_format(const lr_span *s, char *out)
{
    char *p = out;
    int64_t minute = 60 * LR_US_PER_SECOND;
    *p = 0;
    if (s->months) p = put_part(p, out, s->months, "month");
    if (s->days) p = put_part(p, out, s->days, "day");
    if (!s->us) {
        if (p == out) strcpy(out, "0 days");
    } else if (s->us % LR_US_PER_HOUR == 0) {
        put_part(p, out, s->us / LR_US_PER_HOUR, "hour");
    } else if (s->us % minute == 0) {
        put_part(p, out, s->us / minute, "minute");
    } else if (s->us % LR_US_PER_SECOND == 0) {
        put_part(p, out, s->us / LR_US_PER_SECOND, "second");
    } else {
        uint64_t magnitude = s->us < 0 ? 0 - (uint64_t)s->us : (uint64_t)s->us;
        sprintf(p, "%s%s%llu.%06llu seconds", p != out ? " " : "", s->us < 0 ? "-" : "",
                (unsigned long long)(magnitude / 1000000),
                (unsigned long long)(magnitude % 1000000));
    }
    return out;
}

/* ---- grains ---- */

static const char *const grain_names[] = { "hour", "day", "week", "month", "year" };

int lr_grain_parse(const char *name, lr_grain *out)
{
    for (int i = 0; i < 5; i++) {
        if (strcmp(name, grain_names[i]) == 0) {
            *out = (lr_grain)i;
            return 0;
        }
    }
    return -1;
}

const char *lr_grain_name(lr_grain g)
{
    return grain_names[g];
}

/* The first reading of the grain on the wall clock, steps grains further. */
static int64_t local_floor(lr_grain g, int64_t local, int steps)
{
    if (g == LR_HOUR) return floor_to(local, LR_US_PER_HOUR) + steps * LR_US_PER_HOUR;
    int64_t midnight = floor_to(local, LR_US_PER_DAY);
    int64_t days = midnight / LR_US_PER_DAY;
    if (g == LR_DAY) return midnight + steps * LR_US_PER_DAY;
    if (g == LR_WEEK) return (days - lr_weekday(days) + 7 * steps) * LR_US_PER_DAY;

    int year, month, day;
    lr_civil_from_days(days, &year, &month, &day);
    if (g == LR_YEAR) return lr_days_from_civil(year + steps, 1, 1) * LR_US_PER_DAY;
    int total = year * 12 + month - 1 + steps;
    int first_year = total >= 0 ? total / 12 : -((11 - total) / 12);
    return lr_days_from_civil(first_year, total - first_year * 12 + 1, 1) * LR_US_PER_DAY;
}

/* Does an hour begin at this change of the offset? */
static int hour_begins(const lr_zone *z, int64_t change, int64_t offset)
{
    int64_t after = change + offset;
    int64_t full = floor_to(after, LR_US_PER_HOUR);
    if (full == after) return 1;
    int64_t before = change + lr_zone_offset(z, change - 1) * LR_US_PER_SECOND;
    return before <= full;
}

static int64_t hour_floor(const lr_zone *z, int64_t us)
{
    for (;;) {
        int64_t from, until;
        int64_t offset = lr_zone_stretch(z, us, &from, &until) * LR_US_PER_SECOND;
        int64_t start = floor_to(us + offset, LR_US_PER_HOUR) - offset;
        if (start >= from) return start;
        if (hour_begins(z, from, offset)) return from;
        us = from - 1;
    }
}

static int64_t hour_next(const lr_zone *z, int64_t us)
{
    for (;;) {
        int64_t from, until;
        int64_t offset = lr_zone_stretch(z, us, &from, &until) * LR_US_PER_SECOND;
        int64_t next = floor_to(us + offset, LR_US_PER_HOUR) + LR_US_PER_HOUR - offset;
        if (next < until) return next;
        offset = lr_zone_offset(z, until) * LR_US_PER_SECOND;
        if (hour_begins(z, until, offset)) return until;
        us = until;
    }
}

/* Clocks set back over midnight show the old day again after the new one has
 * begun, and a zone that changes sides of the date line has no such day at all;
 * so look for the last beginning that is not after us. */
static int64_t around(const lr_zone *z, lr_grain g, int64_t us, int64_t *next)
{
    int64_t first = local_floor(g, lr_zone_local(z, us), 0);
    int64_t start = lr_zone_instant(z, first, NULL);
    while (start > us) {
        first = local_floor(g, first, -1);
        start = lr_zone_instant(z, first, NULL);
    }
    for (;;) {
        first = local_floor(g, first, 1);
        *next = lr_zone_instant(z, first, NULL);
        if (*next > us) return start;
        start = *next;
    }
}

int64_t lr_grain_floor(const lr_zone *z, lr_grain g, int64_t us)
{
    int64_t next;
    if (lr_zone_is_utc(z)) return local_floor(g, us, 0);
    return g == LR_HOUR ? hour_floor(z, us) : around(z, g, us, &next);
}

int64_t lr_grain_next(const lr_zone *z, lr_grain g, int64_t us)
{
    int64_t next;
    if (lr_zone_is_utc(z)) return local_floor(g, us, 1);
    if (g == LR_HOUR) return hour_next(z, us);
    around(z, g, us, &next);
    return next;
}

/* ---- logical dates ---- */

typedef enum precision { TO_YEAR, TO_MONTH, TO_DAY, TO_HOUR } precision;

typedef struct typed {
    precision to;
    int64_t local;
    int has_offset;
    int64_t instant; /* with an offset */
} typed;

/* An hour in one of its short forms is completed to one that lr_time_parse takes. */
static int read_typed(const char *text, typed *t)
{
    char full[48];
    size_t n = strlen(text);
    if (n > 35) return -1;
    t->to = n == 4 ? TO_YEAR : n == 7 ? TO_MONTH : n == 10 ? TO_DAY : TO_HOUR;
    if (t->to == TO_YEAR) sprintf(full, "%s-01-01", text);
    else if (t->to == TO_MONTH) sprintf(full, "%s-01", text);
    else if (n >= 13 && text[13] != ':') sprintf(full, "%.13s:00%s", text, text + 13);
    else strcpy(full, text);

    lr_time time;
    if (lr_time_parse(full, strlen(full), lr_zone_utc(), &time) || time.sub) return -1;
    t->instant = time.us;
    t->has_offset = time.has_offset;
    if (t->has_offset) {
        /* the wall clock is what stands before the offset */
        size_t date_and_time = strcspn(full + 11, "+-Z ") + 11;
        if (lr_time_parse(full, date_and_time, lr_zone_utc(), &time)) return -1;
    }
    t->local = time.us;
    return 0;
}

static int takes(lr_grain g, precision to)
{
    if (to == TO_YEAR) return g == LR_YEAR;
    if (to == TO_MONTH) return g == LR_MONTH || g == LR_YEAR;
    return to == TO_DAY || g == LR_HOUR;
}

static int bad_form(lr_grain g, const char *text, lr_err *e)
{
    static const char *const forms[] = {
        "2026-01-20T05", "2026-01-20", "2026-01-19, the Monday of the week",
        "2026-01, or its first day 2026-01-01", "2026, or its first day 2026-01-01",
    };
    lr_fail(e, LR_USAGE, "\"%.60s\" is not the logical date of %s %s", text,
            g == LR_HOUR ? "an" : "a", grain_names[g]);
    return lr_hint(e, "write it as %s", forms[g]);
}

static int not_first(const lr_zone *z, lr_grain g, const char *text, int64_t right, lr_err *e)
{
    char name[40];
    lr_fail(e, LR_USAGE, "logical date %s is not the %s of its %s", text,
            g == LR_HOUR ? "start" : "first day", grain_names[g]);
    return lr_hint(e, "pass %s", lr_grain_format(z, g, right, name));
}

/* Where the same wall clock reading comes again after us. */
static int64_t second_reading(const lr_zone *z, int64_t us, int64_t local)
{
    int64_t from, until;
    lr_zone_stretch(z, us, &from, &until);
    for (;;) {
        int64_t offset = lr_zone_stretch(z, until, &from, &until) * LR_US_PER_SECOND;
        if (local - offset >= from && local - offset < until) return local - offset;
        if (until == INT64_MAX) return us;
    }
}

int lr_grain_date(const lr_zone *z, lr_grain g, const char *text, int64_t *start, lr_err *e)
{
    typed t;
    int doubled;
    char name[40], other[40];
    if (read_typed(text, &t) || !takes(g, t.to)) return bad_form(g, text, e);

    if (t.has_offset) {
        int64_t right = lr_grain_floor(z, g, t.instant);
        if (right != t.instant) return not_first(z, g, text, right, e);
        *start = t.instant;
        return 0;
    }
    int64_t first = local_floor(g, t.local, 0);
    int64_t us = lr_zone_instant(z, first, &doubled);
    if (first != t.local) return not_first(z, g, text, us, e);
    if (local_floor(g, lr_zone_local(z, us), 0) != first) {
        lr_fail(e, LR_USAGE, "logical date %s does not exist in %s: the clocks skip it", text,
                lr_zone_name(z));
        return lr_hint(e, "the next %s is %s", grain_names[g], lr_grain_format(z, g, us, name));
    }
    if (g == LR_HOUR && doubled) {
        lr_fail(e, LR_USAGE, "logical date %s occurs twice in %s", text, lr_zone_name(z));
        return lr_hint(e, "pass %s or %s", lr_grain_format(z, g, us, name),
                       lr_grain_format(z, g, second_reading(z, us, first), other));
    }
    *start = us;
    return 0;
}

char *lr_grain_format(const lr_zone *z, lr_grain g, int64_t start, char *out)
{
    if (g != LR_HOUR) return lr_format_date(z, start, out);

    char full[40];
    int doubled;
    int64_t hour = floor_to(lr_zone_local(z, start), LR_US_PER_HOUR);
    lr_zone_instant(z, hour, &doubled);
    lr_format_offset(z, start, full);
    /* "2026-10-25 02:00:00+01:00": the hour, and with it the offset if needed */
    char *offset = strpbrk(full + 11, "+-");
    sprintf(out, "%.10sT%.2s%s", full, full + 11, doubled && offset ? offset : "");
    return out;
}
