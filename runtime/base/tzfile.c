/* tzfile.c - TZif files (RFC 8536) and the POSIX rule at their end. */
#include "tzfile.h"

#include "calendar.h"
#include "mem.h"

#include <stdlib.h>
#include <string.h>

#define LAST_YEAR 10001
#define LONGEST_OFFSET (26 * 3600)

/* ---- the rule ---- */

typedef struct rule_day {
    char kind; /* 'M' month, week, day; 'J' day 1..365 without 29 February; 'D' day 0..365 */
    int month, week, day;
    int seconds; /* of the wall clock, may be negative or past a day */
} rule_day;

typedef struct rule {
    int std, dst; /* seconds east of UTC */
    int has_dst;
    rule_day start, end;
} rule;

static int rule_name(const char **p)
{
    const char *s = *p;
    if (*s == '<') {
        while (*s && *s != '>') s++;
        if (*s != '>' || s - *p < 4) return -1;
        *p = s + 1;
        return 0;
    }
    while ((*s >= 'A' && *s <= 'Z') || (*s >= 'a' && *s <= 'z')) s++;
    if (s - *p < 3) return -1;
    *p = s;
    return 0;
}

static int rule_number(const char **p, int low, int high, int *out)
{
    const char *s = *p;
    int value = 0;
    if (*s < '0' || *s > '9') return -1;
    for (; *s >= '0' && *s <= '9'; s++) {
        value = value * 10 + (*s - '0');
        if (value > high) return -1;
    }
    if (value < low) return -1;
    *p = s;
    *out = value;
    return 0;
}

static int rule_time(const char **p, int most_hours, int *seconds)
{
    int sign = 1, h, m = 0, s = 0;
    if (**p == '+' || **p == '-') sign = *(*p)++ == '-' ? -1 : 1;
    if (rule_number(p, 0, most_hours, &h)) return -1;
    if (**p == ':') {
        ++*p;
        if (rule_number(p, 0, 59, &m)) return -1;
        if (**p == ':') {
            ++*p;
            if (rule_number(p, 0, 59, &s)) return -1;
        }
    }
    *seconds = sign * (h * 3600 + m * 60 + s);
    return 0;
}

static int rule_day_parse(const char **p, rule_day *d)
{
    if (**p != ',') return -1;
    ++*p;
    if (**p == 'M') {
        ++*p;
        d->kind = 'M';
        if (rule_number(p, 1, 12, &d->month) || *(*p)++ != '.') return -1;
        if (rule_number(p, 1, 5, &d->week) || *(*p)++ != '.') return -1;
        if (rule_number(p, 0, 6, &d->day)) return -1;
    } else if (**p == 'J') {
        ++*p;
        d->kind = 'J';
        if (rule_number(p, 1, 365, &d->day)) return -1;
    } else {
        d->kind = 'D';
        if (rule_number(p, 0, 365, &d->day)) return -1;
    }
    d->seconds = 2 * 3600;
    if (**p == '/') {
        ++*p;
        if (rule_time(p, 167, &d->seconds)) return -1;
    }
    return 0;
}

/* "CET-1CEST,M3.5.0,M10.5.0/3": offsets here are west of UTC. */
static int rule_parse(const char *text, rule *r)
{
    const char *p = text;
    memset(r, 0, sizeof *r);
    if (rule_name(&p) || rule_time(&p, 24, &r->std)) return -1;
    r->std = -r->std;
    if (!*p) return 0;
    r->has_dst = 1;
    r->dst = r->std + 3600;
    if (rule_name(&p)) return -1;
    if (*p != ',') {
        if (rule_time(&p, 24, &r->dst)) return -1;
        r->dst = -r->dst;
    }
    if (rule_day_parse(&p, &r->start) || rule_day_parse(&p, &r->end)) return -1;
    return *p ? -1 : 0;
}

static int64_t rule_day_of(const rule_day *d, int year)
{
    int64_t january = lr_days_from_civil(year, 1, 1);
    if (d->kind == 'D') return january + d->day;
    if (d->kind == 'J')
        return january + d->day - 1 + (d->day >= 60 && lr_days_in_month(year, 2) == 29);
    int64_t first = lr_days_from_civil(year, d->month, 1);
    int sunday_based = (lr_weekday(first) + 1) % 7;
    int day = (d->day - sunday_based + 7) % 7 + (d->week - 1) * 7;
    while (day >= lr_days_in_month(year, d->month)) day -= 7;
    return first + day;
}

static int64_t rule_instant(const rule_day *d, int year, int offset)
{
    return rule_day_of(d, year) * 86400 + d->seconds - offset;
}

/* ---- the table ---- */

typedef struct block {
    uint64_t times, types, leaps;
    const unsigned char *time, *index, *type;
    size_t time_size, length;
} block;

static uint32_t be32(const unsigned char *p)
{
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int64_t read_time(const block *b, uint64_t i)
{
    const unsigned char *p = b->time + i * b->time_size;
    if (b->time_size == 4) return (int32_t)be32(p);
    return (int64_t)((uint64_t)be32(p) << 32 | be32(p + 4));
}

/* The header and the data behind it; 0 if they are whole. */
static int read_block(const unsigned char *p, size_t n, size_t time_size, block *b)
{
    if (n < 44 || memcmp(p, "TZif", 4) != 0) return -1;
    uint64_t utc = be32(p + 20), std = be32(p + 24), chars = be32(p + 40);
    b->leaps = be32(p + 28);
    b->times = be32(p + 32);
    b->types = be32(p + 36);
    b->time_size = time_size;
    uint64_t length = 44 + b->times * (time_size + 1) + b->types * 6 + chars +
                      b->leaps * (time_size + 4) + std + utc;
    if (length > n || !b->types || b->types > 256) return -1;
    b->length = (size_t)length;
    b->time = p + 44;
    b->index = b->time + b->times * time_size;
    b->type = b->index + b->times;
    for (uint64_t i = 0; i < b->times; i++) {
        if (b->index[i] >= b->types) return -1;
        if (i && read_time(b, i) <= read_time(b, i - 1)) return -1;
    }
    for (uint64_t i = 0; i < b->types; i++) {
        int32_t offset = (int32_t)be32(b->type + i * 6);
        if (offset < -LONGEST_OFFSET || offset > LONGEST_OFFSET) return -1;
    }
    return 0;
}

static int32_t type_offset(const block *b, unsigned type)
{
    return (int32_t)be32(b->type + type * 6);
}

/* ---- both together ---- */

typedef struct list {
    lr_tz_stretch *v;
    size_t n, cap;
} list;

static void append(list *l, int64_t seconds, int offset)
{
    const int64_t far = INT64_C(1) << 40; /* before and after every year that counts */
    if (l->n == l->cap) {
        l->cap = l->cap ? l->cap * 2 : 256;
        l->v = lr_realloc(l->v, l->cap * sizeof *l->v);
    }
    if (seconds < -far) seconds = -far;
    if (seconds > far) seconds = far;
    l->v[l->n++] = (lr_tz_stretch){ seconds * LR_US_PER_SECOND, offset * LR_US_PER_SECOND };
}

typedef struct change {
    int64_t at;
    int dst;
} change;

/* Where summer time ends as the next begins, it does not end: dst sorts last. */
static int by_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->at != y->at) return x->at < y->at ? -1 : 1;
    return x->dst - y->dst;
}

static void append_rule(list *l, const rule *r, int has_table, int64_t last)
{
    int first_year = 0;
    if (has_table && last >= lr_days_from_civil(LAST_YEAR, 1, 1) * 86400) return;
    if (has_table && last > 0) {
        int month, day;
        lr_civil_from_days(last / 86400, &first_year, &month, &day);
        first_year--;
    }
    size_t n = 0, years = (size_t)(LAST_YEAR - first_year + 1);
    change *c = lr_malloc(2 * years * sizeof *c);
    for (int year = first_year; year <= LAST_YEAR; year++) {
        c[n++] = (change){ rule_instant(&r->start, year, r->std), 1 };
        c[n++] = (change){ rule_instant(&r->end, year, r->dst), 0 };
    }
    qsort(c, n, sizeof *c, by_time);
    for (size_t i = 0; i < n; i++)
        if (!has_table || c[i].at > last) append(l, c[i].at, c[i].dst ? r->dst : r->std);
    free(c);
}

/* Changes of the name alone are none, and of two at one instant the later holds. */
static void merge_equal(list *l)
{
    size_t n = 0;
    for (size_t i = 0; i < l->n; i++) {
        if (n && l->v[n - 1].from == l->v[i].from) n--;
        if (n && l->v[n - 1].offset == l->v[i].offset) continue;
        l->v[n++] = l->v[i];
    }
    l->n = n;
    l->v[0].from = INT64_MIN;
}

lr_tz_stretch *lr_tzfile_parse(const unsigned char *p, size_t n, size_t *count, const char **why)
{
    block b;
    rule r = { 0 };
    list l = { 0 };
    char footer[256] = "";

    *why = "is no time zone file";
    if (read_block(p, n, 4, &b)) return NULL;
    if (p[4] >= '2') {
        size_t skip = b.length;
        if (read_block(p + skip, n - skip, 8, &b)) return NULL;
        const unsigned char *rest = p + skip + b.length;
        size_t left = n - skip - b.length;
        const unsigned char *end = left > 1 ? memchr(rest + 1, '\n', left - 1) : NULL;
        if (!end || rest[0] != '\n' || (size_t)(end - rest) > sizeof footer) return NULL;
        memcpy(footer, rest + 1, (size_t)(end - rest - 1));
    }
    if (b.leaps) {
        *why = "counts leap seconds, which databases do not";
        return NULL;
    }
    if (footer[0] && rule_parse(footer, &r)) return NULL;

    append(&l, INT64_MIN, type_offset(&b, 0));
    int64_t last = INT64_MIN;
    for (uint64_t i = 0; i < b.times; i++) {
        last = read_time(&b, i);
        append(&l, last, type_offset(&b, b.index[i]));
    }
    if (r.has_dst) append_rule(&l, &r, b.times > 0, last);
    merge_equal(&l);
    *count = l.n;
    return l.v;
}
