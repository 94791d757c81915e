/* Times that are numbers. */
#include "base/epoch.h"
#include "base/decimal.h"
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Values are computed as trillionths, so that nothing of them is rounded. */
#define TRILLION ((__int128)1000000000000)
#define PLACES 12

#define MS_PER_DAY INT64_C(86400000)
#define EPOCH_JULIAN_MS INT64_C(210866760000000) /* 2440587.5 days */

/* Limits as text for SQL, and in halves of the unit (a julian day begins at noon). */
#define HALVES(n) ((__int128)2 * (n))

static const struct form {
    const char *name, *unit;
    lr_epoch_range range;
    __int128 low, limit, floor;
} forms[] = {
    [LR_ISO] = {.name = "iso", .unit = "ISO text"},
    /* 0001-01-01 and 10000-01-01; the floors are in March 1973 */
    [LR_UNIX] = {"unix", "seconds", {"-62135596800", "253402300800", NULL}, HALVES(-62135596800), HALVES(253402300800), 0},
    [LR_UNIX_MS] = {"unix_ms", "milliseconds", {"-62135596800000", "253402300800000", "100000000000"},
                    HALVES(-62135596800000), HALVES(253402300800000), HALVES(100000000000)},
    [LR_UNIX_US] = {"unix_us", "microseconds", {"-62135596800000000", "253402300800000000", "100000000000000"},
                    HALVES(-62135596800000000), HALVES(253402300800000000), HALVES(100000000000000)},
    [LR_UNIX_NS] = {"unix_ns", "nanoseconds", {"-9223372036854775808", "9223372036854775808", "100000000000000000"},
                    HALVES(INT64_MIN), -HALVES(INT64_MIN), HALVES(100000000000000000)},
    [LR_JULIAN] = {"julian", "julian days", {"1721425.5", "5373484.5", NULL}, 3442851, 10746969, 0},
    [LR_YYYYMMDD] = {"yyyymmdd", "dates of eight digits", {"10101", "99991232", NULL}, HALVES(10101), HALVES(99991232), 0},
    [LR_NUMBER] = {.name = "number", .unit = "numbers"},
};

const char *lr_time_mode_name(lr_time_mode m)
{
    return forms[m].name;
}

int lr_time_mode_parse(const char *name, lr_time_mode *out)
{
    for (int m = LR_ISO; m < LR_NUMBER; m++)
        if (strcmp(name, forms[m].name) == 0) {
            *out = (lr_time_mode)m;
            return 0;
        }
    return -1;
}

int lr_is_epoch(lr_time_mode m)
{
    return m != LR_ISO && m != LR_NUMBER;
}

const char *lr_epoch_unit(lr_time_mode m)
{
    return forms[m].unit;
}

lr_epoch_range lr_epoch_limits(lr_time_mode m)
{
    return forms[m].range;
}

static __int128 floor_div(__int128 a, __int128 b)
{
    return a / b - (a % b != 0 && a < 0);
}

/* 0, or -1 where it is no number, or one of too many digits. */
static int to_trillionths(const char *p, size_t n, __int128 *out)
{
    lr_sum s = {0};
    int failed = lr_sum_text(&s, p, n, 1) != 0 || s.big != NULL;
    *out = s.small;
    for (int scale = s.scale; !failed && scale < PLACES; scale++) failed = __builtin_mul_overflow(*out, (__int128)10, out);
    for (int scale = s.scale; !failed && scale > PLACES; scale--) *out = floor_div(*out, 10);
    lr_sum_free(&s);
    return failed ? -1 : 0;
}

static int in_range(lr_time_mode m, __int128 v)
{
    const struct form *f = &forms[m];
    const __int128 half = TRILLION / 2;
    if (v < f->low * half || v >= f->limit * half) return 0;
    return v == 0 || v >= f->floor * half || v <= -f->floor * half;
}

static int date_us(__int128 v, const lr_zone *z, int64_t *us)
{
    if (v % TRILLION != 0) return -1;
    int n = (int)(v / TRILLION), year = n / 10000, month = n / 100 % 100, day = n % 100;
    if (month < 1 || month > 12 || day < 1 || day > lr_days_in_month(year, month)) return -1;
    *us = lr_zone_instant(z, lr_days_from_civil(year, month, day) * LR_US_PER_DAY, NULL);
    return 0;
}

static int from_trillionths(lr_time_mode m, __int128 v, const lr_zone *z, int64_t *us)
{
    switch (m) {
    case LR_UNIX:
        *us = (int64_t)floor_div(v, TRILLION / 1000000);
        return 0;
    case LR_UNIX_MS:
        *us = (int64_t)floor_div(v, TRILLION / 1000);
        return 0;
    case LR_UNIX_US:
        *us = (int64_t)floor_div(v, TRILLION);
        return 0;
    case LR_UNIX_NS:
        *us = (int64_t)floor_div(v, TRILLION * 1000);
        return 0;
    case LR_JULIAN: /* half a millisecond more, cut: the nearest one */
        *us = 1000 * ((int64_t)floor_div(v * MS_PER_DAY * 2 + TRILLION, TRILLION * 2) - EPOCH_JULIAN_MS);
        return 0;
    case LR_YYYYMMDD:
        return date_us(v, z, us);
    case LR_ISO:
    case LR_NUMBER:
        break;
    }
    return -1;
}

int lr_epoch_int(lr_time_mode m, int64_t v, const lr_zone *z, int64_t *us)
{
    __int128 exact = v * TRILLION;
    return lr_is_epoch(m) && in_range(m, exact) ? from_trillionths(m, exact, z, us) : -1;
}

int lr_epoch_text(lr_time_mode m, const char *p, size_t n, const lr_zone *z, int64_t *us)
{
    __int128 v;
    if (!lr_is_epoch(m) || to_trillionths(p, n, &v) != 0 || !in_range(m, v)) return -1;
    return from_trillionths(m, v, z, us);
}

static lr_value whole(__int128 n, lr_arena *a)
{
    if (n >= INT64_MIN && n <= INT64_MAX) return lr_int((int64_t)n);
    /* nanoseconds beyond 64 bits: later or earlier than every value */
    return lr_text(lr_printf(a, "%" PRId64 "000", (int64_t)(n / 1000)));
}

/* unit is how many microseconds one is; the value has all digits of us. */
static lr_value fraction(lr_arena *a, int64_t us, int64_t unit, int places)
{
    if (us % unit == 0) return lr_int(us / unit);
    uint64_t size = us < 0 ? -(uint64_t)us : (uint64_t)us;
    return lr_text(lr_printf(a, "%s%" PRIu64 ".%0*" PRIu64, us < 0 ? "-" : "", size / (uint64_t)unit, places, size % (uint64_t)unit));
}

lr_value lr_epoch_edge(lr_arena *a, lr_time_mode m, int64_t us, int above, const lr_zone *z)
{
    char day[40];
    int64_t ms;
    switch (m) {
    case LR_UNIX:
        return fraction(a, us, LR_US_PER_SECOND, 6);
    case LR_UNIX_MS:
        return fraction(a, us, 1000, 3);
    case LR_UNIX_US:
        return lr_int(us);
    case LR_UNIX_NS:
        return whole((__int128)us * 1000, a);
    case LR_JULIAN:
        /* half a millisecond before the first value that is not before us, or
         * after the last that is not after it: in even parts of a double */
        ms = (int64_t)floor_div((__int128)us + (above ? 0 : 999), 1000) + EPOCH_JULIAN_MS;
        return lr_real((double)(2 * ms + (above ? 1 : -1)) / (double)(2 * MS_PER_DAY));
    case LR_YYYYMMDD:
        lr_format_date(z, us, day);
        return lr_int(strtoll(day, NULL, 10) * 10000 + strtoll(day + 5, NULL, 10) * 100 + strtoll(day + 8, NULL, 10));
    case LR_ISO:
    case LR_NUMBER:
        break;
    }
    return lr_null();
}

#define GUESS(text, name) text ": time = \"" name "\""

const char *lr_epoch_guess(const char *text)
{
    lr_time t;
    int64_t us;
    char *end;
    double size = fabs(strtod(text, &end));
    if (lr_time_parse(text, strlen(text), lr_zone_utc(), &t) == 0) return GUESS("ISO text", "iso");
    if (end == text || *end != 0) return NULL;
    if (size > 19000000 && size < 22010000 && lr_epoch_text(LR_YYYYMMDD, text, strlen(text), lr_zone_utc(), &us) == 0)
        return GUESS("dates of eight digits", "yyyymmdd");
    if (size >= 2400000 && size < 2500000) return GUESS("julian days", "julian");
    if (size >= 1e8 && size < 1e11) return GUESS("seconds", "unix");
    if (size >= 1e11 && size < 1e14) return GUESS("milliseconds", "unix_ms");
    if (size >= 1e14 && size < 1e17) return GUESS("microseconds", "unix_us");
    if (size >= 1e17 && size < 9.3e18) return GUESS("nanoseconds", "unix_ns");
    return NULL;
}
