/* Statements of a run: counted, shown with -v, listed in a plan. */
#include "base/decimal.h"
#include "run/run.h"
#include "run/stop.h"
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

void lr_report(lr_run *run, const lr_event *ev)
{
    if (run->report != NULL) run->report(run->report_arg, ev);
}

void lr_note(lr_run *run, const char *fmt, ...)
{
    lr_buf b = {0};
    va_list ap;
    va_start(ap, fmt);
    lr_buf_vprintf(&b, fmt, ap);
    va_end(ap);
    lr_event ev = {.name = "note"};
    lr_event_text(&ev, "message", b.data);
    lr_report(run, &ev);
    lr_buf_free(&b);
}

int lr_doom(lr_run *run, const lr_err *e)
{
    if (!run->doomed) {
        run->doomed = 1;
        run->first = *e;
    }
    return -1;
}

static void show(lr_run *run, const lr_place *p, const lr_sql *q, const char *event, int64_t rows, int64_t us)
{
    lr_event ev = {.name = event};
    lr_event_text(&ev, "connection", p->name);
    lr_event_text(&ev, "sql", lr_sql_show(q, p->dialect));
    if (us >= 0) {
        if (rows >= 0) lr_event_int(&ev, "rows", rows);
        lr_event_value(&ev, "ms", &(lr_value){.type = LR_REAL, .r = (double)us / 1000});
    }
    lr_report(run, &ev);
}

/* Told before it runs: where the callback fails, the statement is not run. */
static int before(lr_run *run, const lr_place *p, const lr_sql *q, lr_err *e)
{
    if (!run->trace) return 0;
    show(run, p, q, "before", -1, -1);
    if (!run->doomed) return 0;
    *e = run->first;
    return -1;
}

int lr_exec(lr_run *run, const lr_place *p, const lr_sql *q, int64_t *changed, lr_err *e)
{
    int64_t rows = 0, from = run->verbose ? lr_ticks_us() : 0;
    if (before(run, p, q, e) != 0) return -1;
    run->statements++;
    int failed = p->driver->exec(p->conn, lr_sql_text(q, p->dialect), q->params, q->n, &rows, e);
    if (run->verbose) show(run, p, q, "sql", rows, lr_ticks_us() - from);
    if (changed != NULL) *changed = rows;
    return failed;
}

int lr_write(lr_run *run, const lr_sql *q, int64_t *changed, lr_err *e)
{
    if (changed != NULL) *changed = 0;
    if (run->mode == LR_MODE_PLAN || run->mode == LR_MODE_RECONCILE) {
        if (run->mode == LR_MODE_PLAN) show(run, run->session->warehouse, q, "statement", -1, -1);
        return 0;
    }
    if (lr_run_open(run, e) != 0) return -1;
    return lr_exec(run, run->session->warehouse, q, changed, e);
}

int lr_query(lr_run *run, const lr_place *p, const lr_sql *q, lr_cursor **out, lr_err *e)
{
    int64_t from = run->verbose ? lr_ticks_us() : 0;
    if (before(run, p, q, e) != 0) return -1;
    run->statements++;
    int failed = p->driver->query(p->conn, lr_sql_text(q, p->dialect), q->params, q->n, out, e);
    if (run->verbose) show(run, p, q, "sql", -1, lr_ticks_us() - from);
    return failed;
}

int lr_ask(lr_run *run, const lr_place *p, const lr_sql *q, lr_err *e)
{
    (void)run;
    if (p->driver->size < offsetof(lr_driver, ask) + sizeof p->driver->ask || p->driver->ask == NULL) return 0;
    return p->driver->ask(p->conn, lr_sql_text(q, p->dialect), q->params, q->n, e);
}

/* Text and whole numbers have the same literals everywhere; others do not. */
static int plain_literals(const lr_sql *q)
{
    for (int i = 0; i < q->n; i++)
        if (q->params[i].type != LR_TEXT && q->params[i].type != LR_INT) return 0;
    return 1;
}

int lr_scan(lr_run *run, const lr_place *p, const lr_sql *q, int streams, lr_cursor **out, lr_err *e)
{
    int64_t from = run->verbose ? lr_ticks_us() : 0;
    if (before(run, p, q, e) != 0) return -1;
    run->statements++;
    int literal = streams && p->driver->streams_literals && plain_literals(q);
    const char *sql = literal ? lr_sql_show(q, p->dialect) : lr_sql_text(q, p->dialect);
    int failed = p->driver->scan(p->conn, sql, q->params, literal ? 0 : q->n, streams, out, e);
    if (run->verbose) show(run, p, q, "sql", -1, lr_ticks_us() - from);
    return failed;
}

int lr_pipe(lr_run *run, const lr_place *p, const lr_sql *q, const lr_place *into, const char *table,
            const lr_column *columns, int n, int64_t *rows, lr_err *e)
{
    int64_t from = run->verbose ? lr_ticks_us() : 0, moved = 0;
    if (p->driver != into->driver || p->driver->size < offsetof(lr_driver, pipe) + sizeof p->driver->pipe ||
        p->driver->pipe == NULL || !plain_literals(q))
        return 0;
    if (before(run, p, q, e) != 0) return -1;
    int done = p->driver->pipe(p->conn, lr_sql_show(q, p->dialect), into->conn, table, columns, n, &moved, e);
    if (done != 0) run->statements++;
    if (done != 0 && run->verbose) show(run, p, q, "sql", moved, lr_ticks_us() - from);
    if (rows != NULL) *rows = moved;
    return done;
}

int lr_query_value(lr_run *run, const lr_place *p, const lr_sql *q, lr_arena *a, lr_value *out,
                   int *found, lr_err *e)
{
    lr_cursor *k;
    const lr_value *row;
    *out = lr_null();
    if (found != NULL) *found = 0;
    if (lr_query(run, p, q, &k, e) != 0) return -1;
    int got = p->driver->next(k, &row, e);
    if (got == 1) {
        *out = row[0];
        if (out->type == LR_TEXT || out->type == LR_BLOB || out->type == LR_DECIMAL)
            out->s.p = lr_dupn(a, row[0].s.p, row[0].s.n);
        if (found != NULL) *found = 1;
        /* An INSERT ... RETURNING is done only when it has been read to its end. */
        got = p->driver->next(k, &row, e);
    }
    p->driver->finish(k);
    return got < 0 ? -1 : 0;
}

void lr_plain_text(char *text)
{
    for (unsigned char *p = (unsigned char *)text; *p != 0;) {
        int len = *p < 0x80 ? 1 : *p >= 0xC2 && *p < 0xE0 ? 2 : (*p & 0xF0) == 0xE0 ? 3 : *p >= 0xF0 && *p < 0xF5 ? 4 : 0;
        int good = len > 0;
        for (int i = 1; good && i < len; i++) good = (p[i] & 0xC0) == 0x80;
        /* surrogates, overlong forms and what lies past the last character */
        if (good && len > 1)
            good = !((*p == 0xE0 && p[1] < 0xA0) || (*p == 0xED && p[1] > 0x9F) || (*p == 0xF0 && p[1] < 0x90) || (*p == 0xF4 && p[1] > 0x8F));
        if (!good) *p = '?';
        p += good ? len : 1;
    }
}

const char *lr_value_text(lr_arena *a, const lr_value *v)
{
    char text[48];
    switch (v->type) {
    case LR_NULL:
        return NULL;
    case LR_INT:
        return lr_printf(a, "%" PRId64, v->i);
    case LR_BOOL:
        return v->i != 0 ? "true" : "false";
    case LR_REAL:
        return lr_dup(a, lr_format_real(v->r, text));
    case LR_TEXT:
    case LR_DECIMAL:
        return lr_dupn(a, v->s.p, v->s.n);
    case LR_BLOB: {
        lr_buf b = {0};
        lr_sql_literal(&b, v);
        const char *out = lr_dup(a, b.data);
        lr_buf_free(&b);
        return out;
    }
    case LR_DATE:
        return lr_dup(a, lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
    case LR_TIMESTAMP:
        return lr_dup(a, lr_format_instant(lr_zone_utc(), v->i, text));
    case LR_TIMESTAMPTZ:
        return lr_printf(a, "%s+00", lr_format_instant(lr_zone_utc(), v->i, text));
    }
    return NULL;
}

static const char *joined(lr_arena *a, lr_buf *b)
{
    const char *out = lr_dup(a, b->data != NULL ? b->data : "");
    lr_buf_free(b);
    return out;
}

const char *lr_row_text(lr_arena *a, const lr_value *row, int n)
{
    lr_buf b = {0};
    for (int i = 0; i < n; i++) {
        const char *text = lr_value_text(a, &row[i]);
        lr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", text != NULL ? text : "NULL");
    }
    return joined(a, &b);
}

const char *lr_list_text(lr_arena *a, const char *const *texts, int n)
{
    lr_buf b = {0};
    for (int i = 0; i < n; i++) lr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", texts[i] != NULL ? texts[i] : "NULL");
    return joined(a, &b);
}
