/* Rows into a table by COPY. Rows gather in a buffer and go in whole COPY
 * statements, so that other statements may run between them. A value that the
 * column would change or cut is refused here, by its column and row. */
#include "driver/postgres/copy.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FLUSH_BYTES ((size_t)1 << 20)
#define STREAM_BYTES ((size_t)1 << 16)

static kind kind_of(const lr_type *t)
{
    switch (t->kind) {
    case LR_KIND_INTEGER:
        return t->bits == 16 ? K_INT2 : t->bits == 32 ? K_INT4 : K_INT8;
    case LR_KIND_DECIMAL:
        return K_NUMERIC;
    case LR_KIND_REAL:
        return t->bits == 32 ? K_REAL4 : K_REAL;
    case LR_KIND_TEXT:
    case LR_KIND_PADDED:
        return K_TEXT;
    case LR_KIND_BYTES:
        return K_BYTEA;
    case LR_KIND_BOOL:
        return K_BOOL;
    case LR_KIND_DATE:
        return K_DATE;
    case LR_KIND_TIMESTAMP:
        return K_TIMESTAMP;
    case LR_KIND_INSTANT:
        return K_TIMESTAMPTZ;
    default:
        return K_OTHER;
    }
}

int lr_pg_sink(lr_conn *c, const char *table, const lr_column *columns, int n, const lr_zone *zone, int streams, lr_sink **out, lr_err *e)
{
    *out = NULL;
    int binary = lr_pg_binary_copy(c, e);
    if (binary < 0) return -1;
    lr_sink *s = lr_malloc(sizeof *s);
    memset(s, 0, sizeof *s);
    s->conn = c;
    s->n = n;
    s->columns = lr_malloc((size_t)(n + 1) * sizeof *s->columns);
    s->zone = zone != NULL ? zone : lr_zone_utc();
    s->streams = streams;
    s->binary = binary;
    for (int i = 0; i < n; i++) {
        s->columns[i] = (target){lr_strdup(columns[i].name), lr_strdup(columns[i].type.native), kind_of(&columns[i].type), columns[i].type};
        s->columns[i].type.native = s->columns[i].native;
        if (s->columns[i].kind == K_OTHER) s->binary = 0;
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
        free(s->columns[i].native);
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
        if (strcmp(s->columns[i].name, e->column) == 0) decl = s->columns[i].native;
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

/* 1 where the row went in binary, 0 where a value has no binary form of ours. */
static int put_binary(lr_sink *s, const lr_value *row)
{
    size_t from = s->bytes.len;
    lr_pg_put16(&s->bytes, s->n);
    for (int i = 0; i < s->n; i++)
        if (!lr_pg_encode(&s->bytes, &row[i], &s->columns[i], s->zone)) {
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
        else if (lr_pg_put_text(s, row, i, e) != 0) return -1;
    }
    lr_buf_putc(&s->buf, '\n');
    taken(s);
    return s->binary || s->buf.len >= FLUSH_BYTES ? flush(s, e) : 0;
}
