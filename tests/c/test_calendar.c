/* test_calendar.c - civil time, zones, text, spans, grains, logical dates. */
#include "check.h"

#include "../../runtime/base/calendar.h"
#include "../../runtime/base/tzfile.h"

#define ZONES (sizeof zone_names / sizeof *zone_names)
#define HOUR LR_US_PER_HOUR
#define DAY LR_US_PER_DAY

static const char *const zone_names[] = {
    "UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Australia/Lord_Howe",
    "America/Sao_Paulo", "Africa/Monrovia", "America/St_Johns", "America/Havana", "Pacific/Apia",
    "Africa/Casablanca", "Europe/Dublin", "America/Juneau", "Etc/GMT+5",
};

static const lr_zone *zone(const char *name)
{
    const lr_zone *z = lr_zone_utc();
    lr_err e = { 0 };
    if (!CHECK(lr_zone_get(name, &z, &e) == 0)) fprintf(stderr, "  %s\n", e.message);
    return z;
}

static int64_t at(const char *text)
{
    lr_time t = { 0 };
    if (!CHECK(lr_time_parse(text, strlen(text), lr_zone_utc(), &t) == 0))
        fprintf(stderr, "  %s\n", text);
    return t.us;
}

static void civil(void)
{
    int64_t day = lr_days_from_civil(1, 1, 1);
    CHECK_INT(day, -719162);
    CHECK_INT(lr_days_from_civil(1970, 1, 1), 0);
    CHECK_INT(lr_weekday(0), 3);
    CHECK_INT(lr_weekday(day), 0);
    for (int y = 1; y <= 9999; y++) {
        for (int m = 1; m <= 12; m++) {
            int last = lr_days_in_month(y, m), yy, mm, dd;
            CHECK_INT(lr_days_from_civil(y, m, 1), day);
            CHECK_INT(lr_weekday(day), (day + 719162) % 7);
            lr_civil_from_days(day + last - 1, &yy, &mm, &dd);
            CHECK(yy == y && mm == m && dd == last);
            day += last;
        }
    }
    CHECK_INT(day, lr_days_from_civil(10000, 1, 1));
    for (int i = 0; i < 100000; i++) {
        int64_t us = check_between(-62135596800, 253402300800) * 1000000 + check_between(0, 1000000);
        lr_civil c = lr_civil_from_us(us);
        CHECK_INT(lr_civil_to_us(&c), us);
    }
}

static void refused(const char *p, size_t n)
{
    lr_time t;
    if (!CHECK(lr_time_parse(p, n, lr_zone_utc(), &t) == -1)) fprintf(stderr, "  %.*s\n", (int)n, p);
}

static void text_forms(void)
{
    static const char *const bad[] = {
        "", "2026", "2026-02-29", "2026-1-5", "2026-01-5", "2026-13-01", "2026-00-01", "2026-01-00",
        "2026-04-31", "0000-01-01", "2026-01-01 ", "2026-01-01T", "2026-01-01 24:00",
        "2026-01-01 24:00:00", "2026-01-01 23:60", "2026-01-01 23:59:60", "2026-01-01 23:59:",
        "2026-01-01 23:59:59.", "2026-01-01 23:59.5", "2026-01-01 3:00", "2026-01-01t03:00",
        "2026-01-01  03:00", "2026-01-01 03:00 ", "2026-01-01 03:00z", "2026-01-01 03:00ZZ",
        "2026-01-01 03:00+1", "2026-01-01 03:00+1:00", "2026-01-01 03:00+01:60",
        "2026-01-01 03:00+01:0", "2026-01-01 03:00+010", "2026-01-01 03:00  +01",
        "2026-01-01 03:00+16:00", "2026-01-01Z", "2026-01-01+01:00", "2026-01-01 03:00:00x",
        "2026/01/01", " 2026-01-01", "-026-01-01", "+026-01-01", "2026-+1-01", "12026-01-01",
        "infinity", "2026-01-01 BC", "2026-01-01 03:00:00.5,", "2026-01-01 03:00:00 5",
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) refused(bad[i], strlen(bad[i]));
    refused("2026-01-01\0", 11);
    refused("2026-01-\0001", 10);
    refused("2026-01-01 03:00\0", 17);
    refused("2026-01-01 03:00:00.5\0", 22);
    refused("1900-02-29", 10);
    CHECK_INT(at("2000-02-29"), INT64_C(951782400) * 1000000);
    CHECK_INT(at("1970-01-01"), 0);
    CHECK_INT(at("1969-12-31 23:59:59.999999"), -1);
    CHECK_INT(at("1970-01-01T00:00:01Z"), 1000000);
    CHECK_INT(at("1970-01-01 01:00+01"), 0);
    CHECK_INT(at("1970-01-01 01:00:00 +01:00"), 0);
    CHECK_INT(at("1969-12-31 19:00:00-0500"), 0);
    CHECK_INT(at("1970-01-01 00:53:28+00:53:28"), 0);
    CHECK_INT(at("1970-01-01 00:00:00.1234567890123 Z"), 123456);

    lr_time t;
    CHECK_INT(lr_time_parse("2026-01-01 03:00:00.1234567", 27, lr_zone_utc(), &t), 0);
    CHECK(t.sub == 700000 && !t.has_t && !t.has_offset && !t.date_only && !t.doubled);
    CHECK_INT(lr_time_parse("2026-01-01T03:00:00.0000009999994Z", 34, lr_zone_utc(), &t), 0);
    CHECK(t.sub == 999999 && t.has_t && t.has_offset);
    CHECK_INT(lr_time_parse("2026-01-01xyz", 10, lr_zone_utc(), &t), 0);
    CHECK(t.date_only && t.sub == 0);
    for (int i = 0; i < 200000; i++) { /* no text of these bytes reads outside its length */
        static const char bytes[] = "0123456789--::T Z+.2026-01-01 0";
        size_t n = (size_t)check_between(0, 36);
        char *p = malloc(n ? n : 1);
        memcpy(p, "2026-01-20 05:06:07.125 +01:00+01:00", n);
        for (int k = 0; k < 2 && n; k++)
            p[check_between(0, (int64_t)n)] = bytes[check_between(0, sizeof bytes - 1)];
        CHECK(lr_time_parse(p, n, lr_zone_utc(), &t) <= 0);
        free(p);
    }
}

static void formats(void)
{
    char out[40];
    const lr_zone *utc = lr_zone_utc(), *berlin = zone("Europe/Berlin");
    int64_t noon = at("2026-01-20 12:00");
    CHECK_STR(lr_format_date(utc, noon, out), "2026-01-20");
    CHECK_STR(lr_format_instant(utc, noon, out), "2026-01-20 12:00:00");
    CHECK_STR(lr_format_instant(utc, noon + 1, out), "2026-01-20 12:00:00.000001");
    CHECK_STR(lr_format_instant(utc, noon + 500000, out), "2026-01-20 12:00:00.500000");
    CHECK_STR(lr_format_offset(utc, noon, out), "2026-01-20 12:00:00");
    CHECK_STR(lr_format_offset(berlin, noon, out), "2026-01-20 13:00:00+01:00");
    CHECK_STR(lr_format_offset(berlin, at("1800-01-01"), out), "1800-01-01 00:53:28+00:53:28");
    CHECK_STR(lr_format_offset(zone("America/New_York"), noon, out), "2026-01-20 07:00:00-05:00");
    CHECK_STR(lr_format_offset(zone("Etc/UTC"), noon, out), "2026-01-20 12:00:00");
    CHECK_STR(lr_format_short(berlin, at("2026-01-19 23:00"), out), "2026-01-20");
    CHECK_STR(lr_format_short(berlin, at("2026-01-20"), out), "2026-01-20 01:00:00");
    CHECK_STR(lr_format_short(zone("America/Sao_Paulo"), at("2018-11-04 03:00"), out), "2018-11-04");
    CHECK_STR(lr_format_date(utc, at("0001-01-01"), out), "0001-01-01");
    CHECK_STR(lr_format_instant(utc, at("9999-12-31 23:59:59.999999"), out),
              "9999-12-31 23:59:59.999999");
    for (size_t i = 0; i < ZONES; i++) {
        const lr_zone *z = zone(zone_names[i]);
        for (int k = 0; k < 20000; k++) {
            lr_time t;
            int64_t us = check_between(-62000000000, 253000000000) * 1000000;
            if (k & 1) us = check_between(0, 2000000000) * 1000000;
            if (k & 2) us += check_between(0, 1000000);
            lr_format_offset(z, us, out);
            CHECK(strlen(out) < 40 && lr_time_parse(out, strlen(out), z, &t) == 0);
            CHECK_INT(t.us, us);
            lr_format_instant(z, us, out);
            CHECK(strlen(out) < 32 && lr_time_parse(out, strlen(out), z, &t) == 0);
            CHECK(t.us == us || (t.doubled && t.us < us && t.us > us - 25 * HOUR));
            lr_format_date(z, us, out);
            CHECK(strlen(out) == 10 && lr_time_parse(out, 10, z, &t) == 0);
            CHECK(t.us <= us && us < t.us + 49 * HOUR);
        }
    }
}

/* The C library reads the same files with code of its own. */
static void like_libc(const char *name, const lr_zone *z)
{
    setenv("TZ", name, 1);
    tzset();
    for (int k = 0; k < 30000; k++) {
        time_t s = k % 3 ? check_between(-4000000000, 5000000000)
                         : check_between(-62000000000, 253000000000);
        struct tm tm;
        localtime_r(&s, &tm);
        CHECK_INT(lr_zone_offset(z, s * 1000000 + check_between(0, 1000000)), tm.tm_gmtoff);
    }
}

static void zones(void)
{
    static const char *const bad[] = {
        "", "Nowhere", "Europe/berlin_", "../../etc/passwd", "/etc/localtime", "Europe/../Europe/Berlin",
        "Europe//Berlin", "Europe/", "/Europe", "Europe", "zone.tab", "zone1970.tab", "localtime",
        "tzdata.zi", ".", "..", "Europe/Berlin ", "Europe/Berlin\n", "CET-1CEST", ":UTC", "right/UTC",
    };
    const lr_zone *z = NULL, *again = NULL;
    lr_err e;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        lr_err_clear(&e);
        CHECK_INT(lr_zone_get(bad[i], &z, &e), -1);
        CHECK(e.status == LR_USAGE && e.hint[0] && strstr(e.message, bad[i]));
    }
    lr_err_clear(&e);
    CHECK(lr_zone_get("UTC", &z, &e) == 0 && z == lr_zone_utc() && lr_zone_is_utc(z));
    z = zone("Europe/Berlin");
    CHECK(lr_zone_get("Europe/Berlin", &again, &e) == 0 && again == z && !lr_zone_is_utc(z));
    CHECK_STR(lr_zone_name(z), "Europe/Berlin");
    CHECK(lr_zone_is_utc(zone("Etc/UTC")));
    CHECK_INT(lr_zone_offset(z, at("9999-07-01")), 7200);
    CHECK_INT(lr_zone_offset(z, at("9999-01-01")), 3600);
    CHECK_INT(lr_zone_offset(zone("Africa/Monrovia"), at("1971-06-01")), -2670);

    char *was = getenv("TZDIR");
    setenv("TZDIR", "no/such/folder", 1);
    CHECK_INT(lr_zone_get("Asia/Tokyo", &z, &e), -1);
    CHECK(e.status == LR_USAGE && strstr(e.hint, "tzdata"));
    if (was) setenv("TZDIR", was, 1);
    else unsetenv("TZDIR");

    int doubled;
    z = zone("Europe/Berlin");
    CHECK_INT(lr_zone_instant(z, at("2026-10-25 02:30"), &doubled), at("2026-10-25 00:30"));
    CHECK_INT(doubled, 1);
    CHECK_INT(lr_zone_instant(z, at("2026-10-25 03:00"), &doubled), at("2026-10-25 02:00"));
    CHECK_INT(doubled, 0);
    CHECK_INT(lr_zone_instant(z, at("2026-03-29 02:30"), &doubled), at("2026-03-29 01:00"));
    CHECK_INT(doubled, 0);
    CHECK_INT(lr_zone_instant(z, at("2026-03-29 03:00"), NULL), at("2026-03-29 01:00"));
    lr_time t;
    CHECK(lr_time_parse("2026-10-25 02:00", 16, z, &t) == 0 && t.doubled);
    CHECK(lr_time_parse("2026-10-25 02:00+01", 19, z, &t) == 0 && !t.doubled);
    CHECK(lr_time_parse("2024-11-03", 10, zone("America/Havana"), &t) == 0 && !t.doubled);
    for (size_t i = 0; i < ZONES; i++) like_libc(zone_names[i], zone(zone_names[i]));
}

/* A file without a table, whose one type is UTC and whose rule is the given one. */
static lr_tz_stretch *from_rule(const char *rule, size_t *count)
{
    unsigned char file[512] = { 0 };
    size_t n = 0;
    const char *why;
    for (int block = 0; block < 2; block++) {
        memcpy(file + n, "TZif2", 5);
        file[n + 39] = 1; /* one type */
        file[n + 43] = 4; /* the bytes of its name */
        memcpy(file + n + 50, "UTC", 3);
        n += 54;
    }
    n += (size_t)sprintf((char *)file + n, "\n%s\n", rule);
    return lr_tzfile_parse(file, n, count, &why);
}

static void rules(void)
{
    static const char *const good[] = {
        "CET-1CEST,M3.5.0,M10.5.0/3", "EST5EDT,M3.2.0,M11.1.0", "XXX3YYY,J59,J300/25",
        "XXX3YYY,J60/0,J61/3", "XXX-3:30YYY-4:45:10,59,300", "XXX3YYY,60/-1,364/5",
        "<-03>3<-02>,M3.5.0/-2,M10.5.0/-1", "IST-1GMT0,M10.5.0,M3.5.0/1", "XXX-10YYY-11,M10.1.0,M4.1.6/3",
    };
    static const char *const bad[] = {
        "X3", "XXX", "XXX3YYY", "XXX3YYY,M13.1.0,M3.1.0", "XXX3YYY,M3.6.0,M4.1.0", "XXX25",
        "XXX3YYY,M3.1.7,M4.1.0", "XXX3YYY,J0,J3", "XXX3YYY,366,3", "XXX3YYY,M3.1.0/168,M4.1.0",
        "XXX3YYY,M3.1.0,M4.1.0x", "<XX3", "XXX3x", "XXX3:60",
    };
    size_t count = 0;
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) CHECK(!from_rule(bad[i], &count));
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        lr_tz_stretch *s = from_rule(good[i], &count);
        if (!CHECK(s && count > 19000)) continue;
        setenv("TZ", good[i], 1);
        tzset();
        for (size_t k = 1; k < count; k++) { /* either side of each change */
            if (s[k].from < at("1971-01-01")) continue; /* libc applies rules from 1970 on */
            time_t before = s[k].from / 1000000 - 1, after = before + 1;
            struct tm tm;
            localtime_r(&before, &tm);
            CHECK_INT(s[k - 1].offset / 1000000, tm.tm_gmtoff);
            localtime_r(&after, &tm);
            CHECK_INT(s[k].offset / 1000000, tm.tm_gmtoff);
        }
        free(s);
    }
}

static void tile(const lr_zone *z, lr_grain g, int64_t from, int64_t until)
{
    int64_t t = lr_grain_floor(z, g, from);
    CHECK(t <= from);
    while (t < until) {
        int64_t next = lr_grain_next(z, g, t), parsed = 0, some;
        char name[40];
        lr_err e = { 0 };
        if (!CHECK(next > t)) return;
        some = check_between(t, next);
        CHECK_INT(lr_grain_floor(z, g, t), t);
        CHECK_INT(lr_grain_floor(z, g, next - 1), t);
        CHECK_INT(lr_grain_floor(z, g, next), next);
        CHECK_INT(lr_grain_floor(z, g, some), t);
        CHECK_INT(lr_grain_next(z, g, some), next);
        lr_grain_format(z, g, t, name);
        int bad = lr_grain_date(z, g, name, &parsed, &e);
        if (!CHECK(!bad && parsed == t))
            fprintf(stderr, "  %s %s %s: %s\n", lr_zone_name(z), lr_grain_name(g), name, e.message);
        if (g != LR_HOUR) CHECK_INT(lr_grain_floor(z, LR_HOUR, t), t);
        if (g > LR_DAY) CHECK(lr_is_midnight(z, t));
        t = next;
    }
}

static void grains(void)
{
    static const int years[] = { 1, 1883, 1919, 1972, 1986, 2007, 2011, 2018, 2024, 2026, 2087, 2100, 9998 };
    for (size_t i = 0; i < ZONES; i++) {
        const lr_zone *z = zone(zone_names[i]);
        for (size_t k = 0; k < sizeof years / sizeof *years; k++) {
            int64_t from = lr_days_from_civil(years[k], 1, 2) * DAY + check_between(0, DAY);
            for (int g = LR_HOUR; g <= LR_YEAR; g++) tile(z, (lr_grain)g, from, from + 366 * DAY);
        }
    }
    const lr_zone *ny = zone("America/New_York");
    int64_t d = at("2024-11-03 04:00");
    CHECK_INT(lr_grain_next(ny, LR_DAY, d) - lr_grain_floor(ny, LR_DAY, d), 25 * HOUR);
    d = at("2024-03-10 05:00");
    CHECK_INT(lr_grain_next(ny, LR_DAY, d) - lr_grain_floor(ny, LR_DAY, d), 23 * HOUR);
    const lr_zone *howe = zone("Australia/Lord_Howe");
    d = lr_grain_floor(howe, LR_HOUR, at("2026-04-04 15:20")); /* 01:50 for the second time */
    CHECK_INT(d, at("2026-04-04 14:00"));
    CHECK_INT(lr_grain_next(howe, LR_HOUR, d) - d, 90 * 60 * LR_US_PER_SECOND);
    d = at("2018-11-04 03:00"); /* Sao Paulo has no midnight that day */
    CHECK_INT(lr_grain_floor(zone("America/Sao_Paulo"), LR_DAY, d + 5), d);
}

/* Two days around every change of every zone that the database lists. */
static void every_zone(void)
{
    char line[512], name[128], path[512];
    const char *dir = getenv("TZDIR");
    snprintf(path, sizeof path, "%s/zone1970.tab", dir ? dir : "/usr/share/zoneinfo");
    FILE *f = fopen(path, "r");
    if (!f) return;
    while (fgets(line, sizeof line, f)) {
        if (line[0] == '#' || sscanf(line, "%*s %*s %127s", name) != 1) continue;
        const lr_zone *z = zone(name);
        int64_t from, until = at("1800-01-01");
        while (until < at("2040-01-01")) {
            lr_zone_stretch(z, until, &from, &until);
            if (from < at("1800-01-01")) continue;
            tile(z, LR_HOUR, from - DAY, from + DAY);
            tile(z, LR_DAY, from - 2 * DAY, from + 2 * DAY);
        }
    }
    fclose(f);
}

static void date_is(const lr_zone *z, lr_grain g, const char *text, const char *want)
{
    int64_t us = 0;
    lr_err e = { 0 };
    if (!CHECK(lr_grain_date(z, g, text, &us, &e) == 0)) fprintf(stderr, "  %s\n", e.message);
    CHECK_INT(us, at(want));
}

static void date_fails(const lr_zone *z, lr_grain g, const char *text, const char *hint)
{
    int64_t us = 0;
    lr_err e = { 0 };
    CHECK_INT(lr_grain_date(z, g, text, &us, &e), -1);
    CHECK(e.status == LR_USAGE && strstr(e.message, text));
    if (!CHECK(strstr(e.hint, hint) != NULL)) fprintf(stderr, "  %s: %s; %s\n", text, e.message, e.hint);
}

static void logical_dates(void)
{
    const lr_zone *utc = lr_zone_utc(), *berlin = zone("Europe/Berlin");
    lr_grain g;
    CHECK(lr_grain_parse("week", &g) == 0 && g == LR_WEEK && lr_grain_parse("Week", &g) == -1);
    date_is(utc, LR_DAY, "2026-01-20", "2026-01-20");
    date_is(berlin, LR_DAY, "2026-01-20", "2026-01-19 23:00");
    date_is(utc, LR_WEEK, "2026-01-19", "2026-01-19");
    date_is(utc, LR_MONTH, "2026-01", "2026-01-01");
    date_is(utc, LR_MONTH, "2026-01-01", "2026-01-01");
    date_is(utc, LR_YEAR, "2026", "2026-01-01");
    date_is(utc, LR_YEAR, "2026-01", "2026-01-01");
    date_is(utc, LR_HOUR, "2026-01-20", "2026-01-20");
    date_is(utc, LR_HOUR, "2026-01-20T05", "2026-01-20 05:00");
    date_is(utc, LR_HOUR, "2026-01-20 05:00", "2026-01-20 05:00");
    date_is(utc, LR_HOUR, "2026-01-20T05:00:00Z", "2026-01-20 05:00");
    date_is(berlin, LR_HOUR, "2026-10-25T02+01:00", "2026-10-25 01:00");
    date_is(berlin, LR_HOUR, "2026-10-25T02:00+02:00", "2026-10-25 00:00");
    date_is(berlin, LR_HOUR, "2026-10-25T03", "2026-10-25 02:00");
    date_fails(utc, LR_WEEK, "2026-01-20", "2026-01-19");
    date_fails(utc, LR_MONTH, "2026-01-20", "2026-01-01");
    date_fails(utc, LR_YEAR, "2026-02", "2026-01-01");
    date_fails(utc, LR_HOUR, "2026-01-20T05:30", "2026-01-20T05");
    date_fails(utc, LR_DAY, "2026-01", "2026-01-20");
    date_fails(utc, LR_DAY, "2026-01-20T05", "2026-01-20");
    date_fails(utc, LR_DAY, "2026-02-29", "2026-01-20");
    date_fails(utc, LR_HOUR, "2026-01-20T05:00:00.0000001", "2026-01-20T05");
    date_fails(utc, LR_DAY, "", "2026-01-20");
    date_fails(berlin, LR_HOUR, "2026-03-29T02", "2026-03-29T03");
    date_fails(berlin, LR_HOUR, "2026-10-25T02", "2026-10-25T02+02:00 or 2026-10-25T02+01:00");
    date_fails(zone("Pacific/Apia"), LR_DAY, "2011-12-30", "2011-12-31");
    date_fails(zone("Australia/Lord_Howe"), LR_HOUR, "2026-04-05T01:30+10:30", "2026-04-05T01");
}

static void span_is(const lr_zone *z, const char *from, lr_span s, int sign, const char *want)
{
    int64_t us = 0;
    lr_err e = { 0 };
    CHECK_INT(lr_span_add(z, at(from), &s, sign, &us, &e), 0);
    CHECK_INT(us, at(want));
}

static void spans(void)
{
    const lr_zone *utc = lr_zone_utc(), *berlin = zone("Europe/Berlin");
    span_is(utc, "2026-01-31", (lr_span){ 1, 0, 0 }, 1, "2026-02-28");
    span_is(utc, "2024-01-31", (lr_span){ 1, 0, 0 }, 1, "2024-02-29");
    span_is(utc, "2026-01-31", (lr_span){ 1, 1, 0 }, 1, "2026-03-01");
    span_is(utc, "2026-03-31", (lr_span){ 1, 0, 0 }, -1, "2026-02-28");
    span_is(utc, "2026-01-15 10:00", (lr_span){ 13, 2, HOUR }, -1, "2024-12-13 09:00");
    span_is(berlin, "2026-03-28 11:00", (lr_span){ 0, 1, 0 }, 1, "2026-03-29 10:00");
    span_is(berlin, "2026-03-28 11:00", (lr_span){ 0, 0, 24 * HOUR }, 1, "2026-03-29 11:00");
    span_is(berlin, "2026-10-25 01:30", (lr_span){ 0, 0, 0 }, 1, "2026-10-25 01:30");
    span_is(berlin, "2026-10-25 00:30", (lr_span){ 0, 0, HOUR }, 1, "2026-10-25 01:30");
    span_is(zone("America/Sao_Paulo"), "2018-11-03 03:00", (lr_span){ 0, 1, 0 }, 1, "2018-11-04 03:00");
    span_is(zone("America/Sao_Paulo"), "2018-11-04 03:00", (lr_span){ 0, 1, 0 }, 1, "2018-11-05 02:00");
    for (size_t i = 0; i < ZONES; i++) { /* days(1) goes from day to day */
        const lr_zone *z = zone(zone_names[i]);
        if (strcmp(zone_names[i], "Pacific/Apia") == 0) continue; /* lost 2011-12-30 */
        int64_t day = lr_grain_floor(z, LR_DAY, at("2004-06-01")), next = 0;
        for (int k = 0; k < 9000; k++) {
            lr_span one = { 0, 1, 0 };
            lr_err e = { 0 };
            CHECK_INT(lr_span_add(z, day, &one, 1, &next, &e), 0);
            CHECK_INT(next, lr_grain_next(z, LR_DAY, day));
            int64_t back = 0;
            CHECK_INT(lr_span_add(z, next, &one, -1, &back, &e), 0);
            CHECK_INT(back, day);
            day = next;
        }
    }
    static const lr_span far[] = {
        { 12 * 9000, 0, 0 }, { 0, 4000000, 0 }, { 0, 0, INT64_MAX }, { INT64_MAX, 0, 0 },
        { 0, INT64_MIN, 0 }, { INT64_MIN, 0, 0 }, { 0, 0, INT64_MIN }, { 0, 3000000, 0 },
    };
    for (size_t i = 0; i < sizeof far / sizeof *far; i++) {
        for (int sign = -1; sign <= 1; sign += 2) {
            int64_t us;
            lr_err e = { 0 };
            CHECK_INT(lr_span_add(berlin, at("2026-01-20"), &far[i], sign, &us, &e), -1);
            CHECK(e.status == LR_USAGE && strstr(e.message, "9999"));
        }
    }
    char out[96];
    int64_t minute = 60 * LR_US_PER_SECOND;
    CHECK_STR(lr_span_format(&(lr_span){ 0, 0, 0 }, out), "0 days");
    CHECK_STR(lr_span_format(&(lr_span){ 0, 2, 0 }, out), "2 days");
    CHECK_STR(lr_span_format(&(lr_span){ 1, 2, 3 * HOUR }, out), "1 month 2 days 3 hours");
    CHECK_STR(lr_span_format(&(lr_span){ 0, 0, 90 * minute }, out), "90 minutes");
    CHECK_STR(lr_span_format(&(lr_span){ 0, -1, 0 }, out), "-1 day");
    CHECK_STR(lr_span_format(&(lr_span){ 2, 0, -1500000 }, out), "2 months -1.500000 seconds");
    lr_span_format(&(lr_span){ INT64_MIN, INT64_MIN, INT64_MIN }, out);
    CHECK(strlen(out) < sizeof out);
}

/* The least reading whose instant is not before the moment. */
static void readings(void)
{
    const lr_zone *berlin = zone("Europe/Berlin");
    CHECK_INT(lr_zone_reading(berlin, at("2026-03-29 01:00")), lr_zone_reading(berlin, at("2026-03-29 00:59:59.999999")) + 1);
    CHECK_INT(lr_zone_reading(berlin, at("2026-10-25 01:00")), lr_zone_reading(berlin, at("2026-10-25 01:59")));
    for (size_t i = 0; i < ZONES; i++) {
        const lr_zone *z = zone(zone_names[i]);
        for (int64_t hour = at("1999-12-01"); hour < at("2031-01-01"); hour += HOUR / 2) {
            int64_t us = hour + check_between(-2, 3), reading = lr_zone_reading(z, us);
            CHECK(lr_zone_instant(z, reading, NULL) >= us);
            CHECK(lr_zone_instant(z, reading - 1, NULL) < us);
        }
    }
}

int main(void)
{
    check_seed();
    readings();
    civil();
    text_forms();
    formats();
    zones();
    rules();
    grains();
    every_zone();
    logical_dates();
    spans();
    return check_done();
}
