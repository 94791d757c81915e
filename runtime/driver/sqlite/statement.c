/* Statements of the SQLite driver: a cache, binding, cursors and sinks. */
#include "base/decimal.h"
#include "base/moment.h"
#include "driver/sqlite/internal.h"
#include "driver/sqlite/sqlite.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* SQLite looks at the values bound to a statement to plan it, and plans it anew
 * where they change. stable: it does not, see lr_sqlite_take. */
static int prepare(lr_conn *c, const char *sql, int keep, int stable, sqlite3_stmt **out, lr_err *e)
{
    const char *tail = NULL;
    if (stable) sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_QPSG, 1, NULL);
    int rc = sqlite3_prepare_v3(c->db, sql, -1, keep ? SQLITE_PREPARE_PERSISTENT : 0, out, &tail);
    if (stable) sqlite3_db_config(c->db, SQLITE_DBCONFIG_ENABLE_QPSG, 0, NULL);
    if (rc != SQLITE_OK) return lr_sqlite_error(c, rc, sql, e);
    return *out == NULL ? lr_fail(e, LR_FAILED, "the statement is empty") : 0;
}

/* A statement that comes again will come often, as on each date of a backfill:
 * planning it took longer than running it. From its second time on its plan stays. */
static int settle(lr_conn *c, lr_cached *k, lr_err *e)
{
    sqlite3_stmt *stmt = NULL;
    if (k->stable) return 0;
    if (prepare(c, k->sql, 1, 1, &stmt, e) != 0) return -1;
    sqlite3_finalize(k->stmt);
    k->stmt = stmt;
    k->stable = 1;
    return 0;
}

int lr_sqlite_take(lr_conn *c, const char *sql, sqlite3_stmt **out, lr_err *e)
{
    *out = NULL;
    int slot = -1;
    for (int i = 0; i < LR_CACHED_STATEMENTS; i++) {
        lr_cached *k = &c->cache[i];
        if (k->busy) continue;
        if (k->sql != NULL && strcmp(k->sql, sql) == 0) {
            if (settle(c, k, e) != 0) return -1;
            k->busy = 1;
            k->used = ++c->clock;
            *out = k->stmt;
            return 0;
        }
        if (slot < 0 || k->used < c->cache[slot].used) slot = i;
    }
    sqlite3_stmt *stmt = NULL;
    if (prepare(c, sql, slot >= 0, 0, &stmt, e) != 0) return -1;
    if (slot >= 0) {
        lr_cached *k = &c->cache[slot];
        sqlite3_finalize(k->stmt);
        free(k->sql);
        *k = (lr_cached){.sql = lr_strdup(sql), .stmt = stmt, .busy = 1, .used = ++c->clock};
    }
    *out = stmt;
    return 0;
}

void lr_sqlite_give(lr_conn *c, sqlite3_stmt *stmt)
{
    if (stmt == NULL) return;
    sqlite3_reset(stmt);
    sqlite3_clear_bindings(stmt);
    for (int i = 0; i < LR_CACHED_STATEMENTS; i++) {
        if (c->cache[i].stmt != stmt) continue;
        c->cache[i].busy = 0;
        return;
    }
    sqlite3_finalize(stmt);
}

void lr_sqlite_cache_clear(lr_conn *c)
{
    for (int i = 0; i < LR_CACHED_STATEMENTS; i++) {
        sqlite3_finalize(c->cache[i].stmt);
        free(c->cache[i].sql);
    }
    memset(c->cache, 0, sizeof c->cache);
}

/* A date or time as it is kept; returns its length, 0 where the form has no text for it. */
static size_t time_text(const lr_value *v, const lr_time_form *form, const lr_zone *z, char out[40])
{
    if (v->type == LR_DATE) return strlen(lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, out));
    if (v->type == LR_TIMESTAMPTZ) return lr_format_form(z, v->i, form, out);
    return strlen(lr_format_instant(lr_zone_utc(), v->i, out));
}

static int bind_one(sqlite3_stmt *stmt, int at, const lr_value *v)
{
    char text[40];
    switch (v->type) {
    case LR_NULL:
        return sqlite3_bind_null(stmt, at);
    case LR_INT:
    case LR_BOOL:
        return sqlite3_bind_int64(stmt, at, v->i);
    case LR_REAL:
        return sqlite3_bind_double(stmt, at, v->r);
    case LR_TEXT:
    case LR_DECIMAL:
        return sqlite3_bind_text64(stmt, at, v->s.p, v->s.n, SQLITE_TRANSIENT, SQLITE_UTF8);
    case LR_BLOB:
        if (v->s.n == 0) return sqlite3_bind_zeroblob(stmt, at, 0);
        return sqlite3_bind_blob64(stmt, at, v->s.p, v->s.n, SQLITE_TRANSIENT);
    case LR_DATE:
    case LR_TIMESTAMP:
    case LR_TIMESTAMPTZ:
        return sqlite3_bind_text64(stmt, at, text, time_text(v, &(lr_time_form){0}, lr_zone_utc(), text), SQLITE_TRANSIENT, SQLITE_UTF8);
    }
    return SQLITE_MISUSE;
}

int lr_sqlite_bind(lr_conn *c, sqlite3_stmt *stmt, const lr_value *params, int n,
                   const char *sql, lr_err *e)
{
    int want = sqlite3_bind_parameter_count(stmt);
    if (want != n)
        return lr_fail(e, LR_FAILED, "the statement has %d parameters, %d values were given", want, n);
    for (int i = 0; i < n; i++) {
        int rc = bind_one(stmt, i + 1, &params[i]);
        if (rc != SQLITE_OK) return lr_sqlite_error(c, rc, sql, e);
    }
    return 0;
}

/* Anything but what surely does not. */
static int may_change_schema(const char *sql)
{
    static const char *const other[] = {"INSERT", "UPDATE", "DELETE", "PRAGMA", "BEGIN", "COMMIT", "DROP ", "CREATE TEMP ", "CREATE INDEX"};
    for (size_t i = 0; i < sizeof other / sizeof other[0]; i++)
        if (strncmp(sql, other[i], strlen(other[i])) == 0) return 0;
    return 1;
}

int lr_sqlite_exec(lr_conn *c, const char *sql, const lr_value *params, int n,
                   int64_t *changed, lr_err *e)
{
    if (lr_sqlite_still_open(c, e) != 0) return -1;
    sqlite3_stmt *stmt;
    if (lr_sqlite_take(c, sql, &stmt, e) != 0) return -1;
    int failed = lr_sqlite_bind(c, stmt, params, n, sql, e);
    c->touched = 0;
    if (failed == 0) {
        int rc;
        while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {}
        if (rc != SQLITE_DONE) failed = lr_sqlite_error(c, rc, sql, e);
        else if (changed != NULL) *changed = sqlite3_changes64(c->db);
    }
    lr_sqlite_give(c, stmt);
    if (failed == 0 && c->in_transaction && may_change_schema(sql)) failed = lr_sqlite_defer_keys(c, 1, e);
    return failed;
}

struct lr_cursor {
    lr_conn *conn;
    sqlite3_stmt *stmt;
    int n;
    lr_column *columns;
    lr_value *row;
    char *sql;
};

int lr_sqlite_query(lr_conn *c, const char *sql, const lr_value *params, int n,
                    lr_cursor **out, lr_err *e)
{
    *out = NULL;
    if (lr_sqlite_still_open(c, e) != 0) return -1;
    sqlite3_stmt *stmt;
    if (lr_sqlite_take(c, sql, &stmt, e) != 0) return -1;
    if (lr_sqlite_bind(c, stmt, params, n, sql, e) != 0) {
        lr_sqlite_give(c, stmt);
        return -1;
    }
    lr_cursor *k = lr_malloc(sizeof *k);
    k->conn = c;
    k->stmt = stmt;
    k->n = sqlite3_column_count(stmt);
    k->columns = lr_malloc((size_t)(k->n + 1) * sizeof *k->columns);
    k->row = lr_malloc((size_t)(k->n + 1) * sizeof *k->row);
    k->sql = lr_strdup(sql);
    for (int i = 0; i < k->n; i++) {
        k->columns[i].name = sqlite3_column_name(stmt, i);
        k->columns[i].type = lr_sqlite_type(sqlite3_column_decltype(stmt, i));
        k->columns[i].table = sqlite3_column_table_name(stmt, i);
        k->columns[i].origin = sqlite3_column_origin_name(stmt, i);
    }
    *out = k;
    return 0;
}

const lr_column *lr_sqlite_columns(lr_cursor *k, int *n)
{
    *n = k->n;
    return k->columns;
}

int lr_sqlite_next(lr_cursor *k, const lr_value **row, lr_err *e)
{
    int rc = sqlite3_step(k->stmt);
    if (rc == SQLITE_DONE) return 0;
    if (rc != SQLITE_ROW) return lr_sqlite_error(k->conn, rc, k->sql, e);
    for (int i = 0; i < k->n; i++) {
        lr_value *v = &k->row[i];
        /* The connection is used by one thread and has no mutex, so a column's
         * value may be asked directly: each sqlite3_column_ call checks anew. */
        sqlite3_value *x = sqlite3_column_value(k->stmt, i);
        switch (sqlite3_value_type(x)) {
        case SQLITE_INTEGER:
            *v = lr_int(sqlite3_value_int64(x));
            break;
        case SQLITE_FLOAT:
            *v = lr_real(sqlite3_value_double(x));
            break;
        case SQLITE_TEXT: {
            const char *p = (const char *)sqlite3_value_text(x);
            if (p == NULL) return lr_sqlite_error(k->conn, SQLITE_NOMEM, k->sql, e);
            *v = lr_textn(p, (size_t)sqlite3_value_bytes(x));
            break;
        }
        case SQLITE_BLOB: {
            const char *p = sqlite3_value_blob(x);
            *v = lr_blobn(p != NULL ? p : "", (size_t)sqlite3_value_bytes(x));
            break;
        }
        default:
            *v = lr_null();
        }
    }
    *row = k->row;
    return 1;
}

void lr_sqlite_finish(lr_cursor *k)
{
    if (k == NULL) return;
    lr_sqlite_give(k->conn, k->stmt);
    free(k->columns);
    free(k->row);
    free(k->sql);
    free(k);
}

struct lr_sink {
    lr_conn *conn;
    sqlite3_stmt *stmt;
    char *sql;
    int n;
    int64_t rows;
    char **names, **decls;
    char *affinities; /* first letters */
    lr_time_form *forms;
    const lr_zone *zone;
    char (*texts)[40]; /* a time's text for each column, until the row is in */
    int64_t *days;     /* the day whose text it is, where it is a date */
};

int lr_sqlite_sink_by(lr_conn *c, const char *sql, const lr_column *columns, int n, const lr_zone *zone, lr_sink **out, lr_err *e)
{
    sqlite3_stmt *stmt;
    *out = NULL;
    if (lr_sqlite_still_open(c, e) != 0 || lr_sqlite_take(c, sql, &stmt, e) != 0) return -1;
    lr_sink *s = lr_malloc(sizeof *s);
    s->conn = c;
    s->stmt = stmt;
    s->sql = lr_strdup(sql);
    s->n = n;
    s->names = lr_malloc((size_t)(n + 1) * sizeof *s->names);
    s->decls = lr_malloc((size_t)(n + 1) * sizeof *s->decls);
    s->affinities = lr_malloc((size_t)n + 1);
    s->forms = lr_malloc((size_t)(n + 1) * sizeof *s->forms);
    s->zone = zone != NULL ? zone : lr_zone_utc();
    s->texts = lr_malloc((size_t)(n + 1) * sizeof *s->texts);
    s->days = lr_malloc((size_t)(n + 1) * sizeof *s->days);
    for (int i = 0; i < n; i++) {
        s->names[i] = lr_strdup(columns[i].name);
        s->decls[i] = lr_strdup(columns[i].type.native);
        s->affinities[i] = lr_sqlite_affinity(s->decls[i])[0];
        s->days[i] = INT64_MIN;
        s->forms[i] = columns[i].form;
    }
    s->rows = 0;
    *out = s;
    return 0;
}

int lr_sqlite_sink(lr_conn *c, const char *table, const lr_column *columns, int n, const lr_zone *zone, int streams, lr_sink **out, lr_err *e)
{
    lr_buf insert = {0};
    (void)streams;
    lr_buf_printf(&insert, "INSERT INTO %s VALUES (", table);
    for (int i = 0; i < n; i++) lr_buf_puts(&insert, i == 0 ? "?" : ", ?");
    lr_buf_putc(&insert, ')');
    int failed = lr_sqlite_sink_by(c, insert.data, columns, n, zone, out, e);
    lr_buf_free(&insert);
    return failed;
}

static void value_text(const lr_value *v, char *out, size_t size)
{
    char text[40];
    if (v->type == LR_INT || v->type == LR_BOOL) snprintf(out, size, "%lld", (long long)v->i);
    else if (v->type == LR_REAL) snprintf(out, size, "%s", lr_format_real(v->r, text));
    else if (v->type == LR_TEXT || v->type == LR_DECIMAL) snprintf(out, size, "'%.*s'", (int)(v->s.n < 60 ? v->s.n : 60), v->s.p);
    else if (v->type == LR_DATE || v->type == LR_TIMESTAMP || v->type == LR_TIMESTAMPTZ) {
        time_text(v, &(lr_time_form){0}, lr_zone_utc(), text);
        snprintf(out, size, "%s", text);
    } else snprintf(out, size, "%s", v->type == LR_NULL ? "NULL" : "a blob");
}

/* A value that the column would change; SQLite makes NULL of NaN. */
static int refuse(const lr_sink *s, const lr_value *row, int i, lr_err *e)
{
    static const char *const classes[] = {"null", "integer", "real", "text", "blob", "boolean", "numeric", "date", "timestamp", "timestamptz"};
    char value[80], key[80];
    value_text(&row[i], value, sizeof value);
    value_text(&row[0], key, sizeof key);
    lr_fail(e, LR_FAILED, "column %s%s%s%s cannot keep the %s value %s exactly, at %s %s", s->names[i], s->decls[i][0] != 0 ? " (" : "",
            s->decls[i], s->decls[i][0] != 0 ? ")" : "", classes[row[i].type], value, s->names[0], key);
    return lr_hint(e, "give the target's column a type that keeps it, such as TEXT, or leave the row out with where");
}

/* The number that a numeric column makes of a decimal of up to 15 digits, whose
 * double is the nearest to it and reads back as it. 0 where it is no such one. */
static int short_number(const lr_value *v, lr_value *out)
{
    static const double tens[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15};
    const char *p = v->s.p, *end = p + v->s.n;
    int negative = p < end && *p == '-';
    int64_t n = 0;
    p += negative;
    if (end - p < 1 || end - p > 16 || (p[0] == '0' && end - p > 1 && p[1] != '.')) return 0;
    const char *point = NULL, *first = p;
    for (; p < end; p++) {
        if (*p == '.' && point == NULL && p > first && p + 1 < end) point = p;
        else if (*p < '0' || *p > '9') return 0;
        else n = n * 10 + (*p - '0');
    }
    if (end - first - (point != NULL) > 15 || (negative && n == 0)) return 0;
    if (negative) n = -n;
    double d = (double)n / tens[point != NULL ? end - point - 1 : 0];
    int64_t whole = (int64_t)d;
    *out = (double)whole == d ? lr_int(whole) : lr_real(d);
    return 1;
}

/* Times are written once, beside the row, and not copied again. */
static int bind_time(lr_sink *s, int at, const lr_value *v)
{
    char *text = s->texts[at];
    int64_t day = v->type == LR_DATE ? v->i : INT64_MIN;
    size_t n = day != INT64_MIN && day == s->days[at] ? strlen(text) : time_text(v, &s->forms[at], s->zone, text);
    s->days[at] = day;
    if (n == 0) return SQLITE_MISMATCH; /* refused by the caller */
    return sqlite3_bind_text64(s->stmt, at + 1, text, n, SQLITE_STATIC, SQLITE_UTF8);
}

int lr_sqlite_put(lr_sink *s, const lr_value *row, lr_err *e)
{
    for (int i = 0; i < s->n; i++) {
        const lr_value *v = &row[i];
        lr_value number;
        int rc, is_text = v->type == LR_TEXT || v->type == LR_DECIMAL;
        if (is_text && s->affinities[i] != 'T' && s->affinities[i] != 'B' && short_number(v, &number)) {
            v = &number;
            is_text = 0;
        }
        if (v->type == LR_REAL && !isfinite(v->r) && s->affinities[i] == 'T') {
            number = lr_text(isnan(v->r) ? "NaN" : v->r > 0 ? "Infinity" : "-Infinity");
            v = &number;
            is_text = 1;
        }
        if ((v->type == LR_REAL && !isfinite(v->r)) || !lr_sqlite_keeps(v, s->affinities[i])) return refuse(s, row, i, e);
        /* The row lives until the step below, so no copy is needed. */
        if (is_text) rc = sqlite3_bind_text64(s->stmt, i + 1, v->s.p, v->s.n, SQLITE_STATIC, SQLITE_UTF8);
        else if (v->type == LR_DATE || v->type == LR_TIMESTAMP || v->type == LR_TIMESTAMPTZ) rc = bind_time(s, i, v);
        else
            rc = bind_one(s->stmt, i + 1, v);
        if (rc == SQLITE_MISMATCH) return refuse(s, row, i, e);
        if (rc != SQLITE_OK) return lr_sqlite_error(s->conn, rc, s->sql, e);
    }
    int rc = sqlite3_step(s->stmt);
    if (rc != SQLITE_DONE) return lr_sqlite_error(s->conn, rc, s->sql, e);
    sqlite3_reset(s->stmt);
    s->rows++;
    return 0;
}

int lr_sqlite_end(lr_sink *s, int64_t *rows, lr_err *e)
{
    if (rows != NULL) *rows = s->rows;
    int failed = lr_sqlite_still_open(s->conn, e);
    lr_sqlite_abort(s);
    return failed;
}

void lr_sqlite_abort(lr_sink *s)
{
    if (s == NULL) return;
    lr_sqlite_give(s->conn, s->stmt);
    for (int i = 0; i < s->n; i++) {
        free(s->names[i]);
        free(s->decls[i]);
    }
    free(s->decls);
    free(s->affinities);
    free(s->forms);
    free(s->texts);
    free(s->days);
    free(s->names);
    free(s->sql);
    free(s);
}
