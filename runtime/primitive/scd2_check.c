/* What scd2_merge refuses of its sightings. */
#include "primitive/scd2_work.h"

/* "(7, 2026-01-20), (8, ...)" of a SELECT; "" where it has no rows. */
static int rows_text(lr_scd2_work *w, const lr_sql *q, lr_buf *b, lr_err *e)
{
    const lr_place *house = w->run->session->warehouse;
    lr_cursor *k;
    const lr_value *row;
    int n, got;
    if (lr_query(w->run, house, q, &k, e) != 0) return -1;
    house->driver->columns(k, &n);
    while ((got = house->driver->next(k, &row, e)) == 1)
        lr_buf_printf(b, "%s(%s)", b->len > 0 ? ", " : "", lr_row_text(&w->run->arena, row, n));
    house->driver->finish(k);
    return got;
}

int lr_scd2_refuse_rows(lr_scd2_work *w, const lr_sql *q, const char *message, const char *hint, lr_err *e)
{
    lr_buf b = {0};
    int failed = rows_text(w, q, &b, e);
    if (failed == 0 && b.len > 0) {
        lr_fail(e, LR_FAILED, message, b.data);
        failed = lr_hint(e, "%s", hint);
    }
    lr_buf_free(&b);
    return failed;
}

/* A time of a change that valid_from does not keep: more digits of a second, or
 * a local time that occurs twice. */
static int check_bounds(lr_scd2_work *w, lr_err *e)
{
    lr_run *run = w->run;
    const lr_type at = lr_rowset_type(run, w->rows->input, lr_rowset_field(run, w->rows->input, w->at, e)), *to = w->s.from_type;
    lr_sql column = lr_sql_column(&run->arena, "rows", w->at), lost = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena), inner = lr_sql_new(&run->arena);
    unsigned why;
    if (to->dynamic || to->kind == LR_KIND_DATE || lr_scd2_time(w) != LR_ISO || lr_type_loss(&at, to, &why) != LR_LOSS_VALUE) return 0;
    if (!w->s.d->lossy(&lost, &column, &at, to, why, run->job->zone) || lr_rowset_sql(run, w->rows->input, &inner, e) != 0) return e->status != LR_OK ? -1 : 0;
    lr_sqlf(&q, "SELECT ");
    for (int i = 0; i < w->s.nkey; i++) lr_sqlf(&q, "\"rows\".%I, ", w->s.key[i]);
    lr_sqlf(&q, "%Q FROM (%Q) AS \"rows\" WHERE %Q LIMIT 5", &column, &inner, &lost);
    const char *message = lr_printf(&run->arena, "column %s (%s) of %s cannot keep these times of a change exactly: %%s", w->s.from, to->native, w->t.name);
    return lr_scd2_refuse_rows(w, &q, message, "give valid_from and valid_to the type timestamp with time zone, with all digits of a second", e);
}

/* Nanoseconds, of which valid_from keeps microseconds. */
static int check_nanoseconds(lr_scd2_work *w, lr_err *e)
{
    lr_sql column = lr_sql_column(&w->run->arena, "rows", w->at), q = lr_sql_new(&w->run->arena), inner = lr_sql_new(&w->run->arena);
    if (lr_scd2_time(w) != LR_UNIX_NS) return 0;
    if (lr_rowset_sql(w->run, w->rows->input, &inner, e) != 0) return -1;
    lr_sqlf(&q, "SELECT ");
    for (int i = 0; i < w->s.nkey; i++) lr_sqlf(&q, "\"rows\".%I, ", w->s.key[i]);
    lr_sqlf(&q, "%Q FROM (%Q) AS \"rows\" WHERE CAST(%Q AS numeric) %% 1000 <> 0 LIMIT 5", &column, &inner, &column);
    const char *message = lr_printf(&w->run->arena, "column %s of %s holds microseconds, and these changes have times in nanoseconds: %%s", w->s.from, w->t.name);
    return lr_scd2_refuse_rows(w, &q, message, "cut them in the extract: columns = { at = \"at / 1000\", ... }, by = \"at\", time = \"unix_us\"", e);
}

int lr_scd2_check(lr_scd2_work *w, int allow_empty, lr_err *e)
{
    lr_run *run = w->run;
    const lr_dialect *d = w->s.d;
    for (int i = 0; i <= w->s.nkey; i++) {
        const char *name = i < w->s.nkey ? w->s.key[i] : w->s.from;
        lr_sql q = lr_sql_new(&run->arena);
        lr_value n;
        lr_sqlf(&q, "SELECT count(*) FROM %T WHERE %I IS NULL", &w->s.sightings, name);
        if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &n, NULL, e) != 0) return -1;
        if (n.i == 0) continue;
        lr_fail(e, LR_FAILED, "%s is NULL in %lld row%s of the extract", i < w->s.nkey ? name : w->at, (long long)n.i, n.i == 1 ? "" : "s");
        return lr_hint(e, "leave such rows out with where, or correct them in the source");
    }
    if (w->at != NULL && w->s.from_type->kind == LR_KIND_DATE) {
        lr_sql at = lr_sql_column(&run->arena, NULL, w->at), q = lr_sql_new(&run->arena), day = lr_sql_new(&run->arena), inner = lr_sql_new(&run->arena);
        const lr_type own = lr_rowset_type(run, w->rows->input, lr_rowset_field(run, w->rows->input, w->at, e)), *type = &own;
        if (lr_rowset_sql(run, w->rows->input, &inner, e) != 0) return -1;
        d->moment(&day, &at, lr_scd2_time(w), run->job->zone, type, w->s.from_type);
        lr_sqlf(&q, "SELECT ");
        for (int i = 0; i < w->s.nkey; i++) lr_sqlf(&q, "%I, ", w->s.key[i]);
        lr_sqlf(&q, "%I FROM (%Q) AS \"rows\" WHERE ", w->at, &inner);
        d->instant(&q, &at, lr_scd2_time(w), run->job->zone, type);
        lr_sqlf(&q, " <> ");
        d->instant(&q, &day, LR_ISO, run->job->zone, w->s.from_type);
        lr_sqlf(&q, " LIMIT 5");
        if (type->kind != LR_KIND_DATE && lr_scd2_refuse_rows(w, &q, "the times of these changes are finer than the dates of the dimension: %s",
                                             "give valid_from and valid_to a type with a time, or at a column of dates", e) != 0)
            return -1;
    }
    if (w->at != NULL && (check_bounds(w, e) != 0 || check_nanoseconds(w, e) != 0)) return -1;
    if (!w->close || w->c.read > 0 || allow_empty) return 0;
    int any;
    lr_sql all = lr_sql_new(&run->arena);
    lr_sqlf(&all, "SELECT 1 FROM %T WHERE 1=1%Q", &w->s.dim->table, &w->inside);
    if (lr_any_row(run, run->session->warehouse, &all, &any, e) != 0) return -1;
    if (!any) return 0;
    lr_fail(e, LR_FAILED, "the extract is empty, and absent = \"close\" would end every key of %s", w->t.name);
    return lr_hint(e, "look why the source is empty, or pass allow_empty = true");
}
