/* Times from one kind of column into another. */
#include "base/moment.h"
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define REPEATED ", a local time that occurs twice (clocks set back)"
#define SKIPPED ", a local time that does not occur (clocks set forward)"

int lr_exact_instant(const lr_zone *z, int64_t local_us, int64_t *us)
{
    int doubled = 0;
    *us = lr_zone_instant(z, local_us, &doubled);
    return doubled || lr_zone_local(z, *us) != local_us ? -1 : 0;
}

int lr_exact_reading(const lr_zone *z, int64_t us, int64_t *local_us)
{
    int64_t back;
    *local_us = lr_zone_local(z, us);
    return lr_exact_instant(z, *local_us, &back) != 0 || back != us ? -1 : 0;
}

static int64_t floor_day(int64_t us)
{
    int64_t rest = us % LR_US_PER_DAY;
    return us - (rest < 0 ? rest + LR_US_PER_DAY : rest);
}

/* The first instant of a local day; -1 where the zone left the day out. */
static int first_instant(const lr_zone *z, int64_t midnight, int64_t *us)
{
    *us = lr_zone_instant(z, midnight, NULL);
    return floor_day(lr_zone_local(z, *us)) == midnight ? 0 : -1;
}

static lr_convert inexact(const char **why, const char *text)
{
    *why = text;
    return LR_INEXACT;
}

static int is_finer(int64_t us, int fraction)
{
    static const int64_t units[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    return fraction >= 0 && fraction < 6 && us % units[fraction] != 0;
}

static lr_convert from_date(int64_t midnight, lr_kind to, const lr_zone *z, int64_t *us, const char **why)
{
    *us = midnight;
    if (to != LR_KIND_INSTANT) return LR_CONVERTED;
    return first_instant(z, midnight, us) == 0 ? LR_CONVERTED : inexact(why, ", a local day that does not occur (clocks set forward)");
}

static lr_convert from_naive(int64_t local, lr_kind to, const lr_zone *z, int64_t *us, const char **why)
{
    *us = local;
    if (to == LR_KIND_DATE && floor_day(local) != local) return inexact(why, ", which has a time of day");
    if (to != LR_KIND_INSTANT || lr_exact_instant(z, local, us) == 0) return LR_CONVERTED;
    return inexact(why, lr_zone_local(z, *us) == local ? REPEATED : SKIPPED);
}

static lr_convert from_instant(int64_t at, lr_kind to, const lr_zone *z, int64_t *us, const char **why)
{
    *us = at;
    if (to == LR_KIND_INSTANT) return LR_CONVERTED;
    if (to == LR_KIND_DATE) {
        *us = floor_day(lr_zone_local(z, at));
        return lr_is_midnight(z, at) ? LR_CONVERTED : inexact(why, ", which is not the first moment of a local day");
    }
    return lr_exact_reading(z, at, us) == 0 ? LR_CONVERTED : inexact(why, REPEATED);
}

lr_convert lr_convert_time(const lr_value *v, lr_kind to, int fraction, const lr_zone *z, int64_t *us, const char **why)
{
    lr_time t;
    lr_convert got;
    *why = "";
    switch (v->type) {
    case LR_DATE:
        got = from_date(v->i * LR_US_PER_DAY, to, z, us, why);
        break;
    case LR_TIMESTAMP:
        got = from_naive(v->i, to, z, us, why);
        break;
    case LR_TIMESTAMPTZ:
        got = from_instant(v->i, to, z, us, why);
        break;
    case LR_TEXT:
        if (lr_time_parse(v->s.p, v->s.n, lr_zone_utc(), &t) != 0) return LR_NO_TIME;
        if (t.sub != 0) return inexact(why, ", finer than a microsecond");
        if (t.date_only) got = from_date(t.us, to, z, us, why);
        else got = t.has_offset ? from_instant(t.us, to, z, us, why) : from_naive(t.us, to, z, us, why);
        break;
    default:
        return LR_NO_TIME;
    }
    if (got == LR_CONVERTED && to != LR_KIND_DATE && is_finer(*us, fraction)) return inexact(why, ", which has more digits of a second");
    return got;
}

/* ---- instants as text ---- */

char *lr_format_reading(const lr_zone *z, int64_t us, char *out)
{
    int64_t local;
    if (lr_is_midnight(z, us) || lr_exact_reading(z, us, &local) == 0) return lr_format_short(z, us, out);
    return lr_format_offset(z, us, out);
}

/* Digits of a second that are shown: none or six, unless the form has its own number and that suffices. */
static int shown_digits(int micro, int wanted)
{
    static const int units[] = {1000000, 100000, 10000, 1000, 100, 10, 1};
    if (wanted > 0 && wanted <= 6 && micro % units[wanted] == 0) return wanted;
    return micro != 0 ? 6 : 0;
}

size_t lr_format_form(const lr_zone *z, int64_t us, const lr_time_form *form, char out[40])
{
    int64_t shown = us;
    if (form->zone == 'n' && lr_exact_reading(z, us, &shown) != 0) return 0;
    lr_civil c = lr_civil_from_us(shown);
    int n = snprintf(out, 40, "%04d-%02d-%02d%c%02d:%02d:%02d", c.year, c.month, c.day, form->between != 0 ? form->between : ' ', c.hour,
                     c.minute, c.second);
    int digits = shown_digits(c.micro, form->digits);
    if (digits > 0) n += snprintf(out + n, 40 - (size_t)n, ".%06d", c.micro) - (6 - digits);
    if (form->zone == 'n') out[n] = 0;
    else n += snprintf(out + n, 40 - (size_t)n, "%s", form->zone == 'Z' ? "Z" : form->zone == 's' ? "+00" : "+00:00");
    return (size_t)n;
}

lr_time_form lr_form_of(const char *p, size_t n)
{
    lr_time_form f = {0};
    lr_time t;
    if (lr_time_parse(p, n, lr_zone_utc(), &t) != 0 || t.date_only) return f;
    f.between = t.has_t ? 'T' : 0;
    const char *end = p + n, *point = memchr(p, '.', n), *zone = p + 10;
    if (!t.has_offset) f.zone = 'n';
    else if (end[-1] == 'Z' || end[-1] == 'z') f.zone = 'Z';
    else {
        while (zone < end && *zone != '+' && *zone != '-') zone++;
        f.zone = end - zone == 3 ? 's' : 0;
    }
    if (point == NULL) return f;
    size_t digits = strspn(point + 1, "0123456789");
    if (digits < 6 || (digits == 6 && strncmp(point + 1, "000000", 6) == 0)) f.digits = (unsigned char)digits;
    return f;
}
