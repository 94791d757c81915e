/* The order of a stream of changes, and its mark. */
#include "base/decimal.h"
#include "primitive/changes.h"
#include <stdlib.h>
#include <string.h>

#define BETWEEN " | " /* the parts of a mark */

/* "rank, raw, rank, raw", each with a suffix. */
void lr_changes_order(const lr_changes *w, const char *suffix, lr_sql *q)
{
    for (int i = 0; i < w->norders; i++) lr_sqlf(q, i == 0 ? "%Q%s, %Q%s" : ", %Q%s, %Q%s", &w->orders[i].rank, suffix, &w->orders[i].raw, suffix);
}

int lr_changes_mark(lr_changes *w, lr_err *e)
{
    const char *other;
    if (lr_ledger_watermark(w->run, w->mark, &w->saved, e) != 0 || lr_ledger_other_job(w->run, w->mark, &other, e) != 0) return -1;
    if (other != NULL) {
        lr_fail(e, LR_FAILED, "the mark \"%s\" is that of job %s: the changes of one stream are applied by one job", w->mark, other);
        return lr_hint(e, "use that job, pass mark = \"...\" for a stream of its own, or forget it: lrun watermark %s %s --clear", other, w->mark);
    }
    return 0;
}

int lr_changes_types(lr_changes *w, lr_err *e)
{
    const lr_place *house = w->run->session->warehouse;
    const lr_inspection *seen;
    lr_sql q = lr_sql_new(&w->run->arena);
    for (int i = 0; i < w->norders; i++) w->orders[i].type = lr_type_none();
    if (w->run->mode == LR_MODE_PLAN) return 0;
    for (int i = 0; i < w->norders; i++) lr_sqlf(&q, i == 0 ? "SELECT %I" : ", %I", w->orders[i].column);
    lr_sqlf(&q, " FROM (%Q) AS \"rows\"", &w->t.rows);
    if (house->driver->inspect(house->conn, lr_sql_text(&q, house->dialect), &seen, e) != 0) return -1;
    for (int i = 0; i < w->norders && i < seen->ncolumns; i++) w->orders[i].type = lr_keep_type(&w->run->arena, &seen->columns[i].type);
    return 0;
}

/* A log position is its numbers, however they are written. */
static void compare_sql(lr_changes *w, const lr_change_order *o, const lr_sql *value, lr_sql *rank, lr_sql *raw)
{
    *raw = lr_sql_new(&w->run->arena);
    *rank = lr_sql_new(&w->run->arena);
    if (o->form != LR_POSITION_PLAIN) {
        w->run->session->warehouse->dialect->position(rank, value, o->form);
        w->run->session->warehouse->dialect->position(raw, value, o->form);
        return;
    }
    w->run->session->warehouse->dialect->bytewise(raw, value, &o->type);
    w->run->session->warehouse->dialect->order(rank, raw, &o->type, w->run->job->zone);
}

/* The parts of the mark: of fewer columns, what there is. */
void lr_changes_split(lr_changes *w)
{
    char *rest = w->saved != NULL ? lr_dup(&w->run->arena, w->saved) : NULL;
    for (int i = 0; i < w->norders && rest != NULL; i++) {
        char *next = i + 1 < w->norders ? strstr(rest, BETWEEN) : NULL;
        if (next != NULL) *next = 0;
        w->orders[i].saved = rest;
        rest = next != NULL ? next + strlen(BETWEEN) : NULL;
    }
}

/* By any of its values: where some are text, they have no order. */
static int holds_numbers(lr_changes *w, const lr_change_order *o, int *is, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    lr_value v;
    lr_sqlf(&q, "SELECT %I FROM (%Q) AS \"rows\" LIMIT 1", o->column, &w->t.rows);
    if (lr_query_value(w->run, w->run->session->warehouse, &q, &w->run->arena, &v, NULL, e) != 0) return -1;
    *is = v.type == LR_INT || v.type == LR_REAL;
    return 0;
}

/* The mark is text; it is compared as what the stream holds. */
static int mark_sql(lr_changes *w, lr_change_order *o, lr_sql *out, lr_err *e)
{
    size_t n = strlen(o->saved);
    int digits = n > 0 && strspn(o->saved + (o->saved[0] == '-'), "0123456789") == n - (o->saved[0] == '-');
    lr_value last = lr_text(o->saved);
    int is_number;
    if (holds_numbers(w, o, &is_number, e) != 0) return -1;
    if (is_number) {
        if (digits && n < 19) last = lr_int(strtoll(o->saved, NULL, 10));
        else if (lr_is_decimal(o->saved, n)) last = lr_real(strtod(o->saved, NULL));
        else {
            lr_fail(e, LR_FAILED, "the mark \"%s\" is '%s', and %s holds numbers now", w->mark, w->saved, o->column);
            return lr_hint(e, "lrun watermark %s %s --clear forgets it, --set changes it", w->run->job->name, w->mark);
        }
    }
    w->run->session->warehouse->dialect->typed(out, &last, &o->type);
    return 0;
}

int lr_changes_ordered(lr_changes *w, lr_err *e)
{
    lr_run *run = w->run;
    for (int i = 0; i < w->norders; i++) {
        lr_change_order *o = &w->orders[i];
        lr_sql column = lr_sql_column(&run->arena, NULL, o->column), mark = lr_sql_new(&run->arena), values = lr_sql_new(&run->arena);
        lr_sqlf(&values, "SELECT %I AS \"v\" FROM (%Q) AS \"rows\"", o->column, &w->t.rows);
        if (o->saved != NULL) {
            if (mark_sql(w, o, &mark, e) != 0) return -1;
            lr_sqlf(&values, " UNION ALL SELECT %Q", &mark);
        }
        if (lr_find_position(run, w->t.source, &values, &o->type, o->column, &o->form, e) != 0) return -1;
        compare_sql(w, o, &column, &o->rank, &o->raw);
        if (o->saved != NULL) compare_sql(w, o, &mark, &o->mark_rank, &o->mark_raw);
    }
    return 0;
}

/* Above the mark, column by column; at: or equal to it. */
void lr_changes_above(const lr_changes *w, int i, int at, lr_sql *q)
{
    const lr_change_order *o = &w->orders[i];
    if (i == w->norders || o->saved == NULL) {
        lr_sqlf(q, at || (i < w->norders && i > 0) ? "1=1" : "1=0");
        return;
    }
    lr_sqlf(q, "(%Q > %Q OR (%Q = %Q AND (%Q > %Q OR (%Q = %Q AND ", &o->rank, &o->mark_rank, &o->rank, &o->mark_rank, &o->raw, &o->mark_raw, &o->raw, &o->mark_raw);
    lr_changes_above(w, i + 1, at, q);
    lr_sqlf(q, "))))");
}

int lr_changes_save(lr_changes *w, lr_err *e)
{
    lr_run *run = w->run;
    const lr_place *house = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    /* at the prompt no watermark moves: what is applied again gives the same */
    if (run->mode != LR_MODE_RUN) return 0;
    lr_sqlf(&q, "SELECT ");
    for (int i = 0; i < w->norders; i++) lr_sqlf(&q, i == 0 ? "%I" : ", %I", w->orders[i].column);
    lr_sqlf(&q, " FROM (%Q) AS \"rows\" WHERE %Q ORDER BY ", &w->t.rows, &w->after);
    lr_changes_order(w, " DESC", &q);
    lr_sqlf(&q, " LIMIT 1");
    if (lr_query(run, house, &q, &k, e) != 0) return -1;
    int got = house->driver->next(k, &row, e);
    lr_buf mark = {0};
    for (int i = 0; got == 1 && i < w->norders; i++) lr_buf_printf(&mark, "%s%s", i > 0 ? BETWEEN : "", lr_value_text(&run->arena, &row[i]));
    house->driver->finish(k);
    const char *text = lr_dup(&run->arena, mark.data != NULL ? mark.data : "");
    lr_buf_free(&mark);
    if (got != 1) return got;
    if (lr_ledger_save_watermark(run, w->mark, text, e) != 0) return -1;
    lr_event ev = {.name = "watermark"};
    lr_event_text(&ev, "name", w->mark);
    lr_event_text(&ev, "value", text);
    lr_event_text(&ev, "before", w->saved);
    lr_report(run, &ev);
    return 0;
}
