/* SQL functions that SQLite lacks: times as instants, and what a column keeps.
 *
 *   lrun_us(value, mode, zone)      microseconds since 1970 UTC; NULL for NULL;
 *                                   an error where the value is no time
 *   lrun_moment(value, mode, zone)  the instant as text of the zone's clock, a bare
 *                                   date at midnight, with its offset in an hour
 *                                   that comes twice
 *   lrun_try_us(value, zone)        as lrun_us for ISO text, else NULL
 *   lrun_no_time(value, mode)       1 where the value is none of the form
 *   lrun_misplaced(value, mode, zone, start, its instant, start_open, stop, its instant, stop_closed)
 *                                   1 where comparing the stored form with the
 *                                   bounds puts the value on another side than
 *                                   its instant, or it is no time at all
 *   lrun_within(the same)
 *                                   1 where the instant is inside the bounds
 *   lrun_piece(value, mode, zone, grain)
 *                                   the logical date that the time belongs to;
 *                                   what is no time is itself
 *   lrun_styles(value)              an aggregate: the styles (base/timestyle.h) that
 *                                   all values are written in
 *   lrun_stop()                     an error of that name
 *   lrun_form(value, between, digits, zone form, zone)
 *                                   an instant's text in another form (lr_time_form);
 *                                   NULL where that has none, other text as it is
 *   lrun_same_time(a, b)            1 where both are times with an offset, and equal
 *   lrun_keeps(value, affinity)     1 where a column of that affinity keeps the
 *                                   value exactly
 *
 * mode is a form of base/epoch.h: 'iso', 'unix' (seconds), ...
 */
#include "base/decimal.h"
#include "base/epoch.h"
#include "base/moment.h"
#include "base/timestyle.h"
#include "driver/sqlite/internal.h"
#include <stdlib.h>
#include <string.h>

static const lr_zone *zone_arg(sqlite3_context *ctx, sqlite3_value *v, int at)
{
    const lr_zone *z = sqlite3_get_auxdata(ctx, at);
    if (z != NULL) return z;
    lr_err e = {0};
    const char *name = (const char *)sqlite3_value_text(v);
    if (lr_zone_get(name != NULL ? name : "UTC", &z, &e) != 0) return lr_zone_utc();
    sqlite3_set_auxdata(ctx, at, (void *)z, NULL);
    return z;
}

typedef struct instant {
    int64_t us;
    int32_t sub;
} instant;

/* 0, or -1 where the value is no time in this mode. */
static int to_instant(sqlite3_value *v, const char *mode, const lr_zone *z, instant *out)
{
    out->sub = 0;
    int class = sqlite3_value_type(v);
    if (mode[0] == 'i') {
        if (class != SQLITE_TEXT) return -1;
        lr_time t;
        const char *p = (const char *)sqlite3_value_text(v);
        if (p == NULL || lr_time_parse(p, (size_t)sqlite3_value_bytes(v), z, &t) != 0) return -1;
        out->us = t.us;
        out->sub = t.sub;
        return 0;
    }
    char text[400];
    lr_time_mode m;
    size_t n;
    if (lr_time_mode_parse(mode, &m) != 0) return -1;
    switch (class) {
    case SQLITE_INTEGER:
        return lr_epoch_int(m, sqlite3_value_int64(v), z, &out->us);
    case SQLITE_FLOAT:
        n = lr_real_plain(sqlite3_value_double(v), text, sizeof text);
        return n > 0 ? lr_epoch_text(m, text, n, z, &out->us) : -1;
    case SQLITE_TEXT: /* of a column of text: its bounds are compared as numbers, or, of dates, as eight digits */
        n = (size_t)sqlite3_value_bytes(v);
        if (m == LR_YYYYMMDD && n != 8) return -1;
        return lr_epoch_text(m, (const char *)sqlite3_value_text(v), n, z, &out->us);
    default:
        return -1;
    }
}

static void describe_value(sqlite3_context *ctx, sqlite3_value *v, const char *what)
{
    char *text = sqlite3_mprintf("'%.60q' %s", (const char *)sqlite3_value_text(v), what);
    sqlite3_result_error(ctx, text != NULL ? text : "out of memory", -1);
    sqlite3_free(text);
}

static void fn_us(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    const char *mode = (const char *)sqlite3_value_text(v[1]);
    instant t;
    if (to_instant(v[0], mode, zone_arg(ctx, v[2], 2), &t) != 0)
        describe_value(ctx, v[0], "is no time that lrun can read");
    else
        sqlite3_result_int64(ctx, t.us);
}

static void fn_no_time(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    instant t;
    if (sqlite3_value_type(v[0]) != SQLITE_NULL)
        sqlite3_result_int(ctx, to_instant(v[0], (const char *)sqlite3_value_text(v[1]), lr_zone_utc(), &t) != 0);
}

static void fn_moment(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    const char *mode = (const char *)sqlite3_value_text(v[1]);
    const lr_zone *z = zone_arg(ctx, v[2], 2);
    char text[40];
    instant t;
    if (to_instant(v[0], mode, z, &t) != 0)
        describe_value(ctx, v[0], "is no time that lrun can read");
    else
        sqlite3_result_text(ctx, lr_format_reading(z, t.us, text), -1, SQLITE_TRANSIENT);
}

static void fn_try_us(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    instant t;
    if (to_instant(v[0], "iso", zone_arg(ctx, v[1], 1), &t) == 0) sqlite3_result_int64(ctx, t.us);
}

static void fn_form(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    lr_time t;
    char text[40];
    const char *p = (const char *)sqlite3_value_text(v[0]), *between = (const char *)sqlite3_value_text(v[1]), *zone = (const char *)sqlite3_value_text(v[3]);
    if (sqlite3_value_type(v[0]) != SQLITE_TEXT || p == NULL || between == NULL || zone == NULL ||
        lr_time_parse(p, (size_t)sqlite3_value_bytes(v[0]), lr_zone_utc(), &t) != 0 || !t.has_offset) {
        sqlite3_result_value(ctx, v[0]);
        return;
    }
    lr_time_form form = {between[0] == 'T' ? 'T' : 0, (unsigned char)sqlite3_value_int(v[2]), zone[0]};
    size_t size = lr_format_form(zone_arg(ctx, v[4], 4), t.us, &form, text);
    if (size > 0) sqlite3_result_text(ctx, text, (int)size, SQLITE_TRANSIENT);
}

static void fn_same_time(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    lr_time t[2];
    int same = 1;
    for (int i = 0; same && i < 2; i++) {
        const char *p = sqlite3_value_type(v[i]) == SQLITE_TEXT ? (const char *)sqlite3_value_text(v[i]) : NULL;
        same = p != NULL && lr_time_parse(p, (size_t)sqlite3_value_bytes(v[i]), lr_zone_utc(), &t[i]) == 0 && t[i].has_offset;
    }
    sqlite3_result_int(ctx, same && t[0].us == t[1].us && t[0].sub == t[1].sub);
}

static void fn_stop(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    (void)v;
    sqlite3_result_error(ctx, "lrun_stop", -1);
}

/* The complement, so that no value at all leaves every style. */
static void step_styles(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    int *missing = sqlite3_aggregate_context(ctx, sizeof *missing), class = sqlite3_value_type(v[0]);
    if (missing == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (class == SQLITE_NULL) return;
    const char *text = class == SQLITE_TEXT ? (const char *)sqlite3_value_text(v[0]) : NULL;
    *missing |= ~(text != NULL ? lr_time_styles(text, (size_t)sqlite3_value_bytes(v[0])) : 0);
}

static void final_styles(sqlite3_context *ctx)
{
    const int *missing = sqlite3_aggregate_context(ctx, 0);
    sqlite3_result_int(ctx, missing == NULL ? LR_STYLE_ANY : LR_STYLE_ANY & ~*missing);
}

static int order(const instant *a, const instant *b)
{
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    return (a->sub > b->sub) - (a->sub < b->sub);
}

static int bytes_order(sqlite3_value *a, sqlite3_value *b)
{
    const char *p = (const char *)sqlite3_value_text(a), *q = (const char *)sqlite3_value_text(b);
    size_t n = (size_t)sqlite3_value_bytes(a), m = (size_t)sqlite3_value_bytes(b);
    int c = memcmp(p, q, n < m ? n : m);
    return c != 0 ? c : (n > m) - (n < m);
}

/* What a statement's calls share: all arguments but the first are the same in
 * each of them. Rows come in the order of an index, so the value before is
 * often the value again, and so is the answer. */
typedef struct placing {
    int known[2]; /* start and stop are set, and their instants */
    instant bound[2];
    int last_size, last_wrong; /* bytes of the last value, -1: none */
    char last[40];
} placing;

/* NULL where there is no memory. */
static placing *placing_of(sqlite3_context *ctx, sqlite3_value **v)
{
    placing *p = sqlite3_get_auxdata(ctx, 1);
    if (p != NULL) return p;
    p = sqlite3_malloc(sizeof *p);
    if (p == NULL) return NULL;
    const char *mode = (const char *)sqlite3_value_text(v[1]);
    const lr_zone *z = zone_arg(ctx, v[2], 2);
    for (int i = 0; i < 2; i++)
        p->known[i] = sqlite3_value_type(v[3 + 3 * i]) != SQLITE_NULL && to_instant(v[4 + 3 * i], mode, z, &p->bound[i]) == 0;
    p->last_size = -1;
    sqlite3_set_auxdata(ctx, 1, p, sqlite3_free);
    return sqlite3_get_auxdata(ctx, 1);
}

static void fn_within(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    placing *p = placing_of(ctx, v);
    if (p == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    instant t;
    int inside = to_instant(v[0], (const char *)sqlite3_value_text(v[1]), zone_arg(ctx, v[2], 2), &t) == 0;
    if (inside && p->known[0]) inside = order(&t, &p->bound[0]) >= (sqlite3_value_int(v[5]) ? 1 : 0);
    if (inside && p->known[1]) inside = order(&t, &p->bound[1]) <= (sqlite3_value_int(v[8]) ? 0 : -1);
    sqlite3_result_int(ctx, inside);
}

/* Is the value inside, seen by its instant and seen by its stored form? */
static int sides_differ(sqlite3_value *v, const instant *t, sqlite3_value *bound, const instant *b,
                        int lower, int inclusive)
{
    int by_time = order(t, b), by_form = bytes_order(v, bound);
    int in_time = lower ? (inclusive ? by_time >= 0 : by_time > 0) : (inclusive ? by_time <= 0 : by_time < 0);
    int in_form = lower ? (inclusive ? by_form >= 0 : by_form > 0) : (inclusive ? by_form <= 0 : by_form < 0);
    return in_time != in_form;
}

static void fn_misplaced(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) {
        sqlite3_result_int(ctx, 0);
        return;
    }
    placing *p = placing_of(ctx, v);
    if (p == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    const char *mode = (const char *)sqlite3_value_text(v[1]);
    int is_text = sqlite3_value_type(v[0]) == SQLITE_TEXT;
    const char *text = is_text ? (const char *)sqlite3_value_text(v[0]) : NULL;
    int size = is_text ? sqlite3_value_bytes(v[0]) : 0;
    if (text != NULL && size == p->last_size && memcmp(text, p->last, (size_t)size) == 0) {
        sqlite3_result_int(ctx, p->last_wrong);
        return;
    }
    instant t;
    int wrong = to_instant(v[0], mode, zone_arg(ctx, v[2], 2), &t) != 0;
    /* Numbers compare as numbers: only text can be on the wrong side. */
    if (mode[0] == 'i') {
        if (!wrong && p->known[0]) wrong = sides_differ(v[0], &t, v[3], &p->bound[0], 1, !sqlite3_value_int(v[5]));
        if (!wrong && p->known[1]) wrong = sides_differ(v[0], &t, v[6], &p->bound[1], 0, sqlite3_value_int(v[8]));
    }
    if (text != NULL && size <= (int)sizeof p->last) {
        memcpy(p->last, text, (size_t)size);
        p->last_size = size;
        p->last_wrong = wrong;
    }
    sqlite3_result_int(ctx, wrong);
}

static void fn_piece(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    char text[48];
    instant t;
    lr_grain g;
    const lr_zone *z = zone_arg(ctx, v[2], 2);
    if (sqlite3_value_type(v[0]) == SQLITE_NULL) return;
    if (lr_grain_parse((const char *)sqlite3_value_text(v[3]), &g) != 0 ||
        to_instant(v[0], (const char *)sqlite3_value_text(v[1]), z, &t) != 0)
        sqlite3_result_value(ctx, v[0]);
    else
        sqlite3_result_text(ctx, lr_grain_format(z, g, lr_grain_floor(z, g, t.us), text), -1, SQLITE_TRANSIENT);
}

static void fn_keeps(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    const char *p;
    lr_value value;
    switch (sqlite3_value_type(v[0])) {
    case SQLITE_INTEGER:
        value = lr_int(sqlite3_value_int64(v[0]));
        break;
    case SQLITE_FLOAT:
        value = lr_real(sqlite3_value_double(v[0]));
        break;
    case SQLITE_TEXT:
        p = (const char *)sqlite3_value_text(v[0]);
        value = lr_textn(p != NULL ? p : "", (size_t)sqlite3_value_bytes(v[0]));
        break;
    default:
        value = lr_null();
    }
    sqlite3_result_int(ctx, lr_sqlite_keeps(&value, ((const char *)sqlite3_value_text(v[1]))[0]));
}

int lr_sqlite_register_functions(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    if (sqlite3_create_function(db, "lrun_us", 3, flags, NULL, fn_us, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_moment", 3, flags, NULL, fn_moment, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_try_us", 2, flags, NULL, fn_try_us, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_no_time", 2, flags, NULL, fn_no_time, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_form", 5, flags, NULL, fn_form, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_same_time", 2, flags, NULL, fn_same_time, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_stop", 0, SQLITE_UTF8, NULL, fn_stop, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_styles", 1, flags, NULL, NULL, step_styles, final_styles) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_misplaced", 9, flags, NULL, fn_misplaced, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_within", 9, flags, NULL, fn_within, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_piece", 4, flags, NULL, fn_piece, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_keeps", 2, flags, NULL, fn_keeps, NULL, NULL) != SQLITE_OK)
        return -1;
    return 0;
}
