/* calendar.c - civil arithmetic, and times read from and written as ISO text. */
#include "calendar.h"

#include <stdio.h>
#include <string.h>

#define LONGEST_OFFSET (16 * 3600)

static int64_t floor_div(int64_t a, int64_t b)
{
    int64_t q = a / b;
    return q * b > a ? q - 1 : q;
}

static int is_leap(int year)
{
    return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

int lr_days_in_month(int year, int month)
{
    static const signed char days[] = { 31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
    return month == 2 && is_leap(year) ? 29 : days[month - 1];
}

/* Years begin in March here, so that the leap day is the last of its year. */
int64_t lr_days_from_civil(int year, int month, int day)
{
    int64_t y = (int64_t)year - (month <= 2);
    int64_t era = floor_div(y, 400);
    int year_of_era = (int)(y - era * 400);
    int day_of_year = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1;
    int day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    return era * 146097 + day_of_era - 719468;
}

void lr_civil_from_days(int64_t days, int *year, int *month, int *day)
{
    int64_t shifted = days + 719468;
    int64_t era = floor_div(shifted, 146097);
    int doe = (int)(shifted - era * 146097);
    int yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = doe - (365 * yoe + yoe / 4 - yoe / 100);
    int mp = (5 * doy + 2) / 153;
    *day = doy - (153 * mp + 2) / 5 + 1;
    *month = mp < 10 ? mp + 3 : mp - 9;
    *year = (int)(yoe + era * 400 + (*month <= 2));
}

int64_t lr_civil_to_us(const lr_civil *c)
{
    int64_t days = lr_days_from_civil(c->year, c->month, c->day);
    int64_t seconds = (days * 24 + c->hour) * 3600 + c->minute * 60 + c->second;
    return seconds * LR_US_PER_SECOND + c->micro;
}

lr_civil lr_civil_from_us(int64_t us)
{
    lr_civil c;
    int64_t days = floor_div(us, LR_US_PER_DAY);
    int64_t rest = us - days * LR_US_PER_DAY;
    int seconds = (int)(rest / LR_US_PER_SECOND);
    lr_civil_from_days(days, &c.year, &c.month, &c.day);
    c.micro = (int)(rest % LR_US_PER_SECOND);
    c.hour = seconds / 3600;
    c.minute = seconds / 60 % 60;
    c.second = seconds % 60;
    return c;
}

int lr_weekday(int64_t days)
{
    int64_t since_monday = days + 3; /* 1970-01-01 was a Thursday */
    return (int)(since_monday - floor_div(since_monday, 7) * 7);
}

/* ---- reading ---- */

static inline int digit(char c)
{
    unsigned d = (unsigned char)c - (unsigned)'0';
    return d <= 9 ? (int)d : -1;
}

/* Two digits; a negative number if one of them is none. */
static inline int two(const char *p)
{
    int a = digit(p[0]), b = digit(p[1]);
    return (a | b) < 0 ? -1 : a * 10 + b;
}

/* "+02", "+0200", "+02:00" and, of times before the zones, "+00:53:28". */
static int read_offset(const char *p, size_t n, int *seconds)
{
    if (n < 3 || (p[0] != '+' && p[0] != '-')) return -1;
    int h = two(p + 1), m = 0, s = 0;
    if (n == 5) {
        m = two(p + 3);
    } else if (n == 6 || n == 9) {
        if (p[3] != ':') return -1;
        m = two(p + 4);
        if (n == 9) {
            if (p[6] != ':') return -1;
            s = two(p + 7);
        }
    } else if (n != 3) {
        return -1;
    }
    if (h < 0 || m < 0 || m > 59 || s < 0 || s > 59) return -1;
    int total = h * 3600 + m * 60 + s;
    if (total >= LONGEST_OFFSET) return -1;
    *seconds = p[0] == '-' ? -total : total;
    return 0;
}

/* Digits after the point, as picoseconds; returns how many, 0 for none. */
static size_t read_fraction(const char *p, size_t n, int64_t *pico)
{
    size_t i = 0;
    int64_t value = 0;
    for (; i < n && digit(p[i]) >= 0; i++)
        if (i < 12) value = value * 10 + digit(p[i]);
    for (size_t k = i; k < 12; k++) value *= 10;
    *pico = value;
    return i;
}

int lr_time_parse(const char *p, size_t n, const lr_zone *z, lr_time *out)
{
    if (n < 10 || p[4] != '-' || p[7] != '-') return -1;
    int century = two(p), year = two(p + 2), month = two(p + 5), day = two(p + 8);
    if ((century | year) < 0) return -1;
    year += century * 100;
    if (year < 1 || month < 1 || month > 12 || day < 1) return -1;
    if (day > 28 && day > lr_days_in_month(year, month)) return -1;

    int64_t us = lr_days_from_civil(year, month, day) * LR_US_PER_DAY;
    int doubled = 0;
    *out = (lr_time){ 0 };
    if (n == 10) {
        /* a date names a day, which begins once, even where 00:00 occurs twice */
        out->date_only = 1;
        out->us = lr_zone_is_utc(z) ? us : lr_zone_instant(z, us, NULL);
        return 0;
    }

    if (n < 16 || (p[10] != ' ' && p[10] != 'T') || p[13] != ':') return -1;
    out->has_t = p[10] == 'T';
    int hour = two(p + 11), minute = two(p + 14), second = 0;
    if (hour < 0 || hour > 23 || minute < 0 || minute > 59) return -1;
    size_t at = 16;
    if (at < n && p[at] == ':') {
        if (n < 19) return -1;
        second = two(p + 17);
        if (second < 0 || second > 59) return -1;
        at = 19;
    }
    us += (int64_t)(hour * 3600 + minute * 60 + second) * LR_US_PER_SECOND;
    if (at == 19 && at < n && p[at] == '.') {
        int64_t pico;
        size_t digits = read_fraction(p + 20, n - 20, &pico);
        if (!digits) return -1;
        at = 20 + digits;
        us += pico / 1000000;
        out->sub = (int32_t)(pico % 1000000);
    }
    if (at < n) {
        int offset = 0;
        if (p[at] == ' ') at++;
        if (at + 1 == n && p[at] == 'Z') offset = 0;
        else if (read_offset(p + at, n - at, &offset)) return -1;
        out->has_offset = 1;
        out->us = us - offset * LR_US_PER_SECOND;
        return 0;
    }
    if (lr_zone_is_utc(z)) {
        out->us = us;
    } else {
        out->us = lr_zone_instant(z, us, &doubled);
        out->doubled = doubled != 0;
    }
    return 0;
}

/* ---- writing ---- */

static char *put_two(char *p, int v)
{
    p[0] = (char)('0' + v / 10);
    p[1] = (char)('0' + v % 10);
    return p + 2;
}

static char *put_date(char *p, const lr_civil *c)
{
    if (c->year >= 0 && c->year <= 9999) p = put_two(put_two(p, c->year / 100), c->year % 100);
    else p += snprintf(p, 12, "%05d", c->year);
    *p++ = '-';
    p = put_two(p, c->month);
    *p++ = '-';
    p = put_two(p, c->day);
    *p = 0;
    return p;
}

static char *put_instant(char *p, int64_t local)
{
    lr_civil c = lr_civil_from_us(local);
    p = put_date(p, &c);
    *p++ = ' ';
    p = put_two(p, c.hour);
    *p++ = ':';
    p = put_two(p, c.minute);
    *p++ = ':';
    p = put_two(p, c.second);
    if (c.micro) {
        *p++ = '.';
        p = put_two(p, c.micro / 10000);
        p = put_two(p, c.micro / 100 % 100);
        p = put_two(p, c.micro % 100);
    }
    *p = 0;
    return p;
}

char *lr_format_date(const lr_zone *z, int64_t us, char *out)
{
    lr_civil c = lr_civil_from_us(lr_zone_local(z, us));
    put_date(out, &c);
    return out;
}

char *lr_format_instant(const lr_zone *z, int64_t us, char *out)
{
    put_instant(out, lr_zone_local(z, us));
    return out;
}

char *lr_format_offset(const lr_zone *z, int64_t us, char *out)
{
    int offset = lr_zone_offset(z, us);
    char *p = put_instant(out, us + offset * LR_US_PER_SECOND);
    if (lr_zone_is_utc(z)) return out;
    *p++ = offset < 0 ? '-' : '+';
    if (offset < 0) offset = -offset;
    p = put_two(p, offset / 3600);
    *p++ = ':';
    p = put_two(p, offset / 60 % 60);
    if (offset % 60) {
        *p++ = ':';
        p = put_two(p, offset % 60);
    }
    *p = 0;
    return out;
}

int lr_is_midnight(const lr_zone *z, int64_t us)
{
    if (lr_zone_is_utc(z)) return us % LR_US_PER_DAY == 0;
    return lr_grain_floor(z, LR_DAY, us) == us;
}

char *lr_format_short(const lr_zone *z, int64_t us, char *out)
{
    return lr_is_midnight(z, us) ? lr_format_date(z, us, out) : lr_format_instant(z, us, out);
}
