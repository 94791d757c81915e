/* Rows into a table by COPY. Rows gather in a buffer and go in whole COPY
 * statements, so that other statements may run between them. A value that the
 * column would change or cut is refused here, by its column and row. */
#include "base/calendar.h"
#include "base/decimal.h"
#include "driver/postgres/copy.h"
#include <inttypes.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define FLUSH_BYTES ((size_t)1 << 20)
#define STREAM_BYTES ((size_t)1 << 16)

struct lr_sink {
    lr_conn *conn;
    char *copy;
    target *columns;
    int n;
    int64_t rows;
    int64_t held;   /* of them in a buffer */
    int64_t before; /* of them in earlier COPY statements */
    int binary;   /* every column has a binary form of ours */
    int streams;  /* one COPY for all rows: the connection is ours until the end */
    int copying;  /* 0 no COPY is open, 1 in text, 2 in binary */
    lr_buf buf;   /* rows in text */
    lr_buf bytes; /* rows in binary */
};

static kind kind_of(const char *decl)
{
    static const struct {
        const char *start;
        kind kind;
    } known[] = {{"smallint", K_INT2}, {"bigint", K_INT8}, {"integer", K_INT4}, {"numeric", K_NUMERIC}, {"decimal", K_NUMERIC},
                 {"double precision", K_REAL}, {"real", K_REAL4}, {"text", K_TEXT}, {"character", K_TEXT}, {"varchar", K_TEXT},
                 {"bytea", K_BYTEA}, {"boolean", K_BOOL}, {"date", K_DATE}, {"timestamp with time zone", K_TIMESTAMPTZ},
                 {"timestamp", K_TIMESTAMP}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strncasecmp(decl, known[i].start, strlen(known[i].start)) == 0 && strstr(decl, "[]") == NULL) {
            if (known[i].kind == K_TIMESTAMP && strstr(decl, "with time zone") != NULL) return K_TIMESTAMPTZ;
            return known[i].kind;
        }
    return K_OTHER;
}

int lr_pg_sink(lr_conn *c, const char *table, const lr_column *columns, int n, int streams, lr_sink **out, lr_err *e)
{
    *out = NULL;
    int binary = lr_pg_binary_copy(c, e);
    if (binary < 0) return -1;
    lr_sink *s = lr_malloc(sizeof *s);
    memset(s, 0, sizeof *s);
    s->conn = c;
    s->n = n;
    s->columns = lr_malloc((size_t)(n + 1) * sizeof *s->columns);
    for (int i = 0; i < n; i++)
        s->columns[i] = (target){lr_strdup(columns[i].name), lr_strdup(columns[i].decl), kind_of(columns[i].decl), -1, -1};
    s->streams = streams;
    s->binary = binary;
    for (int i = 0; i < n; i++) {
        lr_pg_numeric(columns[i].decl, &s->columns[i].scale, &s->columns[i].whole);
        if (s->columns[i].kind == K_OTHER) s->binary = 0;
        const char *open = strchr(columns[i].decl, '(');
        if (s->columns[i].kind == K_TEXT && open != NULL) s->columns[i].whole = atoi(open + 1);
    }
    s->copy = lr_strdup(table);
    *out = s;
    return 0;
}

static int close_copy(lr_sink *s, const char *why, lr_err *e);

void lr_pg_abort(lr_sink *s)
{
    if (s == NULL) return;
    lr_err ignored = {0};
    if (!s->conn->lost) close_copy(s, "not all rows could be sent", &ignored);
    for (int i = 0; i < s->n; i++) {
        free(s->columns[i].name);
        free(s->columns[i].decl);
    }
    free(s->columns);
    free(s->copy);
    lr_buf_free(&s->buf);
    lr_buf_free(&s->bytes);
    free(s);
}

static int open_copy(lr_sink *s, int binary, lr_err *e)
{
    static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";
    lr_buf sql = {0};
    lr_buf_printf(&sql, "COPY %s FROM STDIN%s", s->copy, binary ? " (FORMAT binary)" : "");
    PGresult *r = lr_pg_run(s->conn, sql.data, NULL, 0, e);
    int failed = r != NULL ? 0 : -1;
    PQclear(r);
    if (failed == 0) s->copying = binary ? 2 : 1;
    if (failed == 0 && binary && PQputCopyData(s->conn->pg, head, 19) != 1) failed = lr_pg_error(s->conn, NULL, sql.data, e);
    lr_buf_free(&sql);
    return failed;
}

/* why: NULL ends it well, else the server drops the rows of this COPY. */
static int close_copy(lr_sink *s, const char *why, lr_err *e)
{
    lr_conn *c = s->conn;
    PGresult *r;
    if (s->copying == 0) return 0;
    int ok = why != NULL || s->copying == 1 || PQputCopyData(c->pg, "\377\377", 2) == 1;
    s->copying = 0;
    int failed = ok && PQputCopyEnd(c->pg, why) == 1 ? lr_pg_wait(c, e) : lr_pg_error(c, NULL, s->copy, e);
    while (!c->lost && (r = PQgetResult(c->pg)) != NULL) {
        if (failed == 0 && PQresultStatus(r) != PGRES_COMMAND_OK) failed = lr_pg_error(c, r, s->copy, e);
        PQclear(r);
    }
    if (failed != 0 && e->row > 0) e->row += s->before;
    s->before = s->rows - s->held;
    return failed;
}

/* The row of this number in the buffer, by its first column. */
static void name_row(const lr_sink *s, int64_t number, lr_err *e)
{
    const char *p = s->buf.data, *decl = "";
    while (p != NULL && --number > 0) {
        p = strchr(p, '\n');
        if (p != NULL) p++;
    }
    if (p == NULL || *p == 0) return;
    for (int i = 0; i < s->n; i++)
        if (strcmp(s->columns[i].name, e->column) == 0) decl = s->columns[i].decl;
    char key[128];
    snprintf(key, sizeof key, "%.*s", (int)strcspn(p, "\t\n"), p);
    lr_err_refused(e, decl, s->columns[0].name, key);
}

/* Rows keep their order: at most one of the two buffers holds any. */
static int flush(lr_sink *s, lr_err *e)
{
    lr_conn *c = s->conn;
    int binary = s->bytes.len > 0, failed = 0;
    lr_buf *rows = binary ? &s->bytes : &s->buf;
    if (rows->len == 0) return 0;
    if (s->copying != 0 && s->copying != (binary ? 2 : 1)) failed = close_copy(s, NULL, e);
    if (failed == 0 && s->copying == 0) failed = open_copy(s, binary, e);
    if (failed == 0 && PQputCopyData(c->pg, rows->data, (int)rows->len) != 1) failed = lr_pg_error(c, NULL, s->copy, e);
    int64_t before = s->before;
    s->held = 0;
    /* A server that answers in the middle has refused a row or is going away:
     * what it says is fetched now, not after the last row. */
    struct pollfd answer = {PQsocket(c->pg), POLLIN, 0};
    if (failed == 0 && s->streams && poll(&answer, 1, 0) > 0) failed = close_copy(s, NULL, e);
    if (failed == 0 && c->how.poll != NULL && c->how.poll(c->how.arg)) {
        failed = c->how.stopped(c->how.arg, e);
        lr_err after = {0};
        close_copy(s, "stopped", &after);
    }
    if (failed == 0 && !s->streams) failed = close_copy(s, NULL, e);
    if (failed != 0 && !s->streams && !binary && e->row > before) name_row(s, e->row - before, e);
    lr_buf_clear(rows);
    return failed;
}

int lr_pg_end(lr_sink *s, int64_t *rows, lr_err *e)
{
    int failed = flush(s, e);
    if (failed == 0) failed = close_copy(s, NULL, e);
    if (rows != NULL) *rows = s->rows;
    lr_pg_abort(s);
    return failed;
}

static void value_text(const lr_value *v, char *out, size_t size)
{
    char text[48];
    switch (v->type) {
    case LR_INT:
    case LR_BOOL:
        snprintf(out, size, "%" PRId64, v->i);
        break;
    case LR_REAL:
        snprintf(out, size, "%s", lr_format_real(v->r, text));
        break;
    case LR_TEXT:
    case LR_DECIMAL:
        snprintf(out, size, "'%.*s'", (int)(v->s.n < 60 ? v->s.n : 60), v->s.p);
        break;
    case LR_BLOB:
        snprintf(out, size, "of %zu bytes", v->s.n);
        break;
    case LR_DATE:
        snprintf(out, size, "%s", lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        break;
    case LR_TIMESTAMP:
    case LR_TIMESTAMPTZ:
        snprintf(out, size, "%s", lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    default:
        snprintf(out, size, "NULL");
    }
}

static int refuse(const lr_sink *s, const lr_value *row, int at, const char *why, lr_err *e)
{
    static const char *const classes[] = {"null", "integer", "real", "text", "blob", "boolean", "numeric", "date", "timestamp", "timestamptz"};
    char value[128], key[128];
    value_text(&row[at], value, sizeof value);
    value_text(&row[0], key, sizeof key);
    lr_fail(e, LR_FAILED, "column %s (%s) cannot keep the %s value %s%s, at %s %s", s->columns[at].name, s->columns[at].decl,
            classes[row[at].type], value, why, s->columns[0].name, key);
    return lr_hint(e, "give the target's column a type that keeps it, leave the row out with where, or convert it in columns");
}

static void put_escaped(lr_buf *b, const char *p, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i], code = c == '\\' ? '\\' : c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : 0;
        if (code == 0) continue;
        lr_buf_add(b, p + from, i - from);
        lr_buf_putc(b, '\\');
        lr_buf_putc(b, code);
        from = i + 1;
    }
    lr_buf_add(b, p + from, n - from);
}

static int put_text(lr_sink *s, const lr_value *row, int at, lr_err *e)
{
    const lr_value *v = &row[at];
    if (memchr(v->s.p, 0, v->s.n) != NULL) return refuse(s, row, at, ", which holds a NUL byte", e);
    if (!lr_pg_valid_utf8(v->s.p, v->s.n)) return refuse(s, row, at, ", which is no UTF-8", e);
    size_t letters = 0;
    for (size_t i = 0; i < v->s.n; i++) letters += ((unsigned char)v->s.p[i] & 0xC0) != 0x80;
    if (s->columns[at].whole >= 0 && letters > (size_t)s->columns[at].whole) return refuse(s, row, at, ", which is longer", e);
    put_escaped(&s->buf, v->s.p, v->s.n);
    return 0;
}

static int put_int(lr_sink *s, const lr_value *row, int at, kind k, lr_err *e)
{
    const lr_value *v = &row[at];
    int64_t i = v->i;
    if (v->type == LR_DECIMAL) {
        lr_sum sum = {0};
        int whole = lr_sum_text(&sum, v->s.p, v->s.n, 1) == 0 && lr_sum_is_int64(&sum, &i);
        lr_sum_free(&sum);
        if (!whole) return refuse(s, row, at, "", e);
    } else if (v->type != LR_INT && v->type != LR_BOOL) {
        return refuse(s, row, at, "", e);
    }
    int64_t limit = k == K_INT2 ? INT16_MAX : k == K_INT4 ? INT32_MAX : INT64_MAX;
    if (i > limit || i < -limit - 1) return refuse(s, row, at, "", e);
    lr_buf_printf(&s->buf, "%" PRId64, i);
    return 0;
}

/* Digits after the point that numeric(p, scale) would round away. */
static int finer(const char *p, size_t n, int scale)
{
    const char *point = memchr(p, '.', n);
    if (point == NULL) return 0;
    const char *end = p + n;
    while (end > point && end[-1] == '0') end--;
    return end - point - 1 > scale;
}

static int too_fine(const char *text, int scale)
{
    return scale >= 0 && strchr(text, 'e') == NULL && finer(text, strlen(text), scale);
}

/* More digits before the point than numeric(p, scale) holds. */
static int too_large(const char *p, size_t n, int whole)
{
    if (n > 0 && *p == '-') {
        p++;
        n--;
    }
    while (n > 0 && *p == '0') {
        p++;
        n--;
    }
    size_t digits = 0;
    while (digits < n && p[digits] >= '0' && p[digits] <= '9') digits++;
    return whole >= 0 && digits > (size_t)whole;
}

static int put_number(lr_sink *s, const lr_value *row, int at, kind k, lr_err *e)
{
    const lr_value *v = &row[at];
    char text[48];
    /* what a function gave back untouched */
    static const char *const special[] = {"NaN", "Infinity", "-Infinity"};
    for (int i = 0; v->type == LR_TEXT && i < 3; i++)
        if (v->s.n == strlen(special[i]) && memcmp(v->s.p, special[i], v->s.n) == 0) {
            lr_buf_add(&s->buf, v->s.p, v->s.n);
            return 0;
        }
    if (k == K_NUMERIC && (v->type == LR_INT || v->type == LR_REAL || v->type == LR_TEXT || v->type == LR_DECIMAL)) {
        char shown[48];
        const char *p = v->type == LR_INT ? shown : v->type == LR_REAL ? lr_format_real(v->r, shown) : v->s.p;
        if (v->type == LR_INT) snprintf(shown, sizeof shown, "%" PRId64, v->i);
        size_t n = v->type == LR_INT || v->type == LR_REAL ? strlen(p) : v->s.n;
        if (too_large(p, n, s->columns[at].whole)) return refuse(s, row, at, "", e);
    }
    if (v->type == LR_INT) {
        int64_t i = v->i;
        if (k != K_NUMERIC && (i > (INT64_C(1) << 53) || i < -(INT64_C(1) << 53)) && (int64_t)(double)i != i) return refuse(s, row, at, "", e);
        lr_buf_printf(&s->buf, "%" PRId64, i);
    } else if (v->type == LR_REAL) {
        if (k == K_REAL4 && !lr_pg_fits_float(v->r)) return refuse(s, row, at, "", e);
        if (k == K_NUMERIC && too_fine(lr_format_real(v->r, text), s->columns[at].scale)) return refuse(s, row, at, ", which has more digits", e);
        lr_buf_puts(&s->buf, lr_format_real(v->r, text));
    } else if ((v->type == LR_DECIMAL || v->type == LR_TEXT) &&
               (lr_is_decimal(v->s.p, v->s.n) || (v->type == LR_DECIMAL && v->s.n > 0))) {
        if (k != K_NUMERIC && !lr_decimal_survives_real(v->s.p, v->s.n)) return refuse(s, row, at, "", e);
        if (k == K_NUMERIC && s->columns[at].scale >= 0 && finer(v->s.p, v->s.n, s->columns[at].scale))
            return refuse(s, row, at, ", which has more digits", e);
        lr_buf_add(&s->buf, v->s.p, v->s.n);
    } else {
        return refuse(s, row, at, "", e);
    }
    return 0;
}

static int put_time(lr_sink *s, const lr_value *row, int at, kind k, lr_err *e)
{
    const lr_value *v = &row[at];
    char text[48];
    if (v->type == LR_DATE && k == K_DATE) {
        lr_buf_puts(&s->buf, lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        return 0;
    }
    if (v->type == LR_DATE || v->type == LR_TIMESTAMP || v->type == LR_TIMESTAMPTZ) {
        int64_t us = v->type == LR_DATE ? v->i * LR_US_PER_DAY : v->i;
        if (k == K_DATE && us % LR_US_PER_DAY != 0) return refuse(s, row, at, "", e);
        if (v->type == LR_TIMESTAMPTZ && k == K_TIMESTAMP) return refuse(s, row, at, ", an instant", e);
        if (k == K_DATE) lr_buf_puts(&s->buf, lr_format_date(lr_zone_utc(), us, text));
        else lr_buf_printf(&s->buf, "%s%s", lr_format_instant(lr_zone_utc(), us, text), k == K_TIMESTAMPTZ ? "+00" : "");
        return 0;
    }
    lr_time t;
    if (v->type != LR_TEXT) return refuse(s, row, at, "", e);
    if (lr_time_parse(v->s.p, v->s.n, lr_zone_utc(), &t) != 0) {
        /* infinity, BC and years past 9999 are PostgreSQL's own forms */
        static const char *const own[] = {"infinity", "-infinity"};
        int known = v->s.n > 3 && strncmp(v->s.p + v->s.n - 3, " BC", 3) == 0;
        for (int i = 0; i < 2; i++) known |= v->s.n == strlen(own[i]) && strncmp(v->s.p, own[i], v->s.n) == 0;
        size_t digits = 0;
        while (digits < v->s.n && v->s.p[digits] >= '0' && v->s.p[digits] <= '9') digits++;
        if (!known && digits < 5) return refuse(s, row, at, "", e);
        put_escaped(&s->buf, v->s.p, v->s.n);
        return 0;
    }
    if (t.sub != 0) return refuse(s, row, at, ", finer than a microsecond", e);
    if (k == K_DATE && (!t.date_only && t.us % LR_US_PER_DAY != 0)) return refuse(s, row, at, ", which has a time of day", e);
    if (k == K_TIMESTAMP && t.has_offset && t.us != 0) {
        lr_buf_puts(&s->buf, lr_format_instant(lr_zone_utc(), t.us, text));
        return 0;
    }
    if (k == K_DATE) lr_buf_puts(&s->buf, lr_format_date(lr_zone_utc(), t.us, text));
    else lr_buf_printf(&s->buf, "%s%s", lr_format_instant(lr_zone_utc(), t.us, text), k == K_TIMESTAMPTZ ? "+00" : "");
    return 0;
}

static int put_value(lr_sink *s, const lr_value *row, int at, lr_err *e)
{
    const lr_value *v = &row[at];
    kind k = s->columns[at].kind;
    char text[64];
    switch (k) {
    case K_INT2:
    case K_INT4:
    case K_INT8:
        return put_int(s, row, at, k, e);
    case K_NUMERIC:
    case K_REAL:
    case K_REAL4:
        return put_number(s, row, at, k, e);
    case K_BOOL:
        if ((v->type != LR_BOOL && v->type != LR_INT) || (v->i != 0 && v->i != 1)) return refuse(s, row, at, "", e);
        lr_buf_putc(&s->buf, v->i != 0 ? 't' : 'f');
        return 0;
    case K_BYTEA:
        if (v->type != LR_BLOB) return refuse(s, row, at, "", e);
        lr_buf_puts(&s->buf, "\\\\x");
        for (size_t i = 0; i < v->s.n; i++) lr_buf_printf(&s->buf, "%02x", (unsigned char)v->s.p[i]);
        return 0;
    case K_DATE:
    case K_TIMESTAMP:
    case K_TIMESTAMPTZ:
        return put_time(s, row, at, k, e);
    case K_TEXT:
    case K_OTHER:
        if (v->type == LR_TEXT || v->type == LR_DECIMAL) return put_text(s, row, at, e);
        if (v->type == LR_BLOB) return refuse(s, row, at, "", e);
        if (v->type == LR_BOOL && k == K_OTHER) lr_buf_putc(&s->buf, v->i != 0 ? 't' : 'f');
        else if (v->type == LR_INT || v->type == LR_BOOL) lr_buf_printf(&s->buf, "%" PRId64, v->i);
        else if (v->type == LR_REAL) lr_buf_puts(&s->buf, lr_format_real(v->r, text));
        else {
            value_text(v, text, sizeof text);
            lr_buf_printf(&s->buf, "%s%s", text, v->type == LR_TIMESTAMPTZ ? "+00" : "");
        }
        return 0;
    }
    return 0;
}

/* 1 where the row went in binary, 0 where a value has no binary form of ours. */
static int put_binary(lr_sink *s, const lr_value *row)
{
    size_t from = s->bytes.len;
    lr_pg_put16(&s->bytes, s->n);
    for (int i = 0; i < s->n; i++)
        if (!lr_pg_encode(&s->bytes, &row[i], &s->columns[i])) {
            s->bytes.len = from;
            return 0;
        }
    return 1;
}

static void taken(lr_sink *s)
{
    s->rows++;
    s->held++;
}

int lr_pg_put(lr_sink *s, const lr_value *row, lr_err *e)
{
    if (s->binary && s->buf.len == 0 && put_binary(s, row)) {
        taken(s);
        return s->bytes.len >= (s->streams ? STREAM_BYTES : FLUSH_BYTES) ? flush(s, e) : 0;
    }
    /* in text, which refuses by name what does not fit */
    if (s->bytes.len > 0 && flush(s, e) != 0) return -1;
    for (int i = 0; i < s->n; i++) {
        if (i > 0) lr_buf_putc(&s->buf, '\t');
        if (row[i].type == LR_NULL) lr_buf_puts(&s->buf, "\\N");
        else if (put_value(s, row, i, e) != 0) return -1;
    }
    lr_buf_putc(&s->buf, '\n');
    taken(s);
    return s->binary || s->buf.len >= FLUSH_BYTES ? flush(s, e) : 0;
}
