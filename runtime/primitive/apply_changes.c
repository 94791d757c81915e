/* apply_changes: a stream of inserts, updates and deletes. Of each key the last
 * change counts, so the whole stream is one delete and one write by key; the
 * last order that was applied is kept as the table's mark, with the rows. */
#include "primitive/changes.h"
#include <stdlib.h>
#include <string.h>

static const lr_option options[] = {
    LR_WRITE_OPTIONS,
    {"key", LR_ARG_STRING | LR_ARG_LIST, 1, NULL, "column or columns that identify a row"},
    {"op", LR_ARG_STRING, 0, "op", "the column that says what was done: insert, update or delete"},
    {"order", LR_ARG_STRING | LR_ARG_LIST, 0, "seq",
     "the column by which changes follow each other: a number, a time, a log position (LSN, MySQL file:offset or GTID of one server), or text "
     "of one width; or several, { \"lsn\", \"seq\" }, where changes of one key share a position"},
    {"gaps", LR_ARG_STRING, 0, "allow", "\"refuse\": order counts 1, 2, 3, and a missing number stops the run"},
    {"mark", LR_ARG_STRING, 0, "TARGET.ORDER", "the mark's name, where several streams with orders of their own go into one table"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_apply_changes = {
    .name = "apply_changes",
    .summary = "apply a stream of changes in order: an insert or update writes the row by key, a delete deletes it",
    .first_name = "the changes",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }; skipped are changes at or below the mark (a change of another key at "
               "the mark itself is applied), and deletes of rows that "
               "are not there. The mark is the last order applied (lrun status shows it; lrun watermark JOB NAME --clear forgets it). "
               "Operations in any case: insert, i, c, r, create, read; update, u; delete, d",
    .refuses = "an unknown operation (named with its key); NULL in op, order or key; two changes of one key and order that differ; text that its bytes do not order; with "
               "gaps = \"refuse\" a number that is missing",
    .example = "apply_changes { changes, into = \"dw_orders\", key = \"order_id\", op = \"op\", order = \"seq\" }",
    .idea = "change data capture: the streams of Debezium, AWS DMS, or a trigger's log table",
    .call = call,
};

#define DELETES "'delete', 'd'"
#define WRITES "'insert', 'i', 'c', 'r', 'create', 'read', 'update', 'u'"

/* The rows of a query: "7, 9", or with further columns "x (1, 2), y (3, 4)". NULL
 * where there is none. */
static int some_texts(lr_changes *w, const lr_sql *q, const char **out, lr_err *e)
{
    const lr_place *house = w->run->session->warehouse;
    lr_cursor *k;
    const lr_value *row;
    lr_buf b = {0};
    int got, n = 0;
    if (lr_query(w->run, house, q, &k, e) != 0) return -1;
    house->driver->columns(k, &n);
    while ((got = house->driver->next(k, &row, e)) == 1) {
        lr_buf_printf(&b, "%s%s", b.len > 0 ? ", " : "", lr_row_text(&w->run->arena, row, 1));
        if (n > 1) lr_buf_printf(&b, " (%s)", lr_row_text(&w->run->arena, row + 1, n - 1));
    }
    house->driver->finish(k);
    *out = b.data != NULL ? lr_dup(&w->run->arena, b.data) : NULL;
    lr_buf_free(&b);
    return got;
}

/* ---- what is refused ---- */

static int check_ops(lr_changes *w, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    const char *found;
    lr_sqlf(&q, "SELECT %I, ", w->op);
    lr_key_list(w->run, &w->t, NULL, &q);
    lr_sqlf(&q, " FROM (%Q) AS \"rows\" WHERE lower(CAST(%I AS text)) NOT IN (" WRITES ", " DELETES ") LIMIT 5", &w->t.rows, w->op);
    if (some_texts(w, &q, &found, e) != 0) return -1;
    if (found == NULL) return 0;
    lr_fail(e, LR_FAILED, "%s holds an operation that is not known: %s", w->op, found);
    return lr_hint(e, "known are insert, i, c, r, update, u, delete, d; map others to them: columns = { op = \"CASE ... END\" }");
}

static int check_nulls(lr_changes *w, const lr_value *n, lr_err *e)
{
    for (int i = 0; i <= w->norders; i++) {
        const char *name = i == 0 ? w->op : w->orders[i - 1].column;
        if (n[i + 1].i == n[0].i) continue;
        long long nulls = (long long)(n[0].i - n[i + 1].i);
        lr_fail(e, LR_FAILED, "%s is NULL in %lld change%s", name, nulls, nulls == 1 ? "" : "s");
        return lr_hint(e, "without it nobody knows %s: leave such rows out with where, or fix the source",
                       i == 0 ? "what was done" : "what came first");
    }
    return 0;
}

/* One change delivered again is equal to itself; two of one key that share an
 * order are not. Those of different keys may. */
static int check_twice(lr_changes *w, lr_err *e)
{
    const lr_dialect *d = w->run->session->warehouse->dialect;
    lr_sql places = lr_sql_new(&w->run->arena), twice = lr_sql_new(&w->run->arena), all = lr_sql_new(&w->run->arena), q = lr_sql_new(&w->run->arena);
    lr_sql groups = lr_sql_new(&w->run->arena), keys = lr_sql_new(&w->run->arena), columns = lr_sql_new(&w->run->arena);
    const char *found;
    int any;
    lr_key_list(w->run, &w->t, NULL, &keys);
    lr_changes_order(w, "", &groups);
    for (int i = 0; i < w->norders; i++) lr_sqlf(&columns, i == 0 ? "%I" : ", %I", w->orders[i].column);
    lr_sqlf(&twice, "SELECT 1 FROM (%Q) AS \"rows\" GROUP BY %Q, %Q HAVING count(*) > 1", &w->t.rows, &keys, &groups);
    if (lr_any_row(w->run, w->run->session->warehouse, &twice, &any, e) != 0) return -1;
    if (!any) return 0;
    for (int i = 0; i < w->t.source->n; i++) {
        const char *name = w->t.source->fields[i].name;
        int at = lr_field_find(d, &w->t.rel, name), is_key = 0;
        for (int j = 0; j < w->t.nkey; j++) is_key |= lr_name_equal(d, name, w->t.key[j]);
        int loose = at >= 0 && !is_key ? w->t.rel.fields[at].loose : 0;
        lr_sqlf(&all, i == 0 ? "" : ", ");
        lr_sqlf(&all, loose ? "CAST(%I AS text) AS %I" : "%I AS %I", name, name);
    }
    for (int i = 0; i < w->norders; i++)
        lr_sqlf(&places, ", %Q AS \"lrun_rank_%d\", %Q AS \"lrun_raw_%d\"", &w->orders[i].rank, i, &w->orders[i].raw, i);
    lr_sql by = lr_sql_new(&w->run->arena);
    for (int i = 0; i < w->norders; i++) lr_sqlf(&by, ", \"lrun_rank_%d\", \"lrun_raw_%d\"", i, i);
    lr_sqlf(&q, "SELECT min(%I), %Q FROM (SELECT DISTINCT %Q%Q FROM (%Q) AS \"rows\") AS \"d\" GROUP BY %Q%Q HAVING count(*) > 1 ORDER BY 1 LIMIT 5",
            w->order, &keys, &all, &places, &w->t.rows, &keys, &by);
    if (some_texts(w, &q, &found, e) != 0) return -1;
    if (found == NULL) return 0;
    lr_fail(e, LR_FAILED, "two changes of one key with the same %s differ: %s", columns.text, found);
    return lr_hint(e, "nothing says which came first: give a second column, order = { \"%s\", \"...\" }, or fix the source", w->order);
}

/* The numbers that are missing from the mark on, in the order of the stream. */
static int check_gaps(lr_changes *w, lr_err *e)
{
    lr_run *run = w->run;
    const lr_place *house = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    lr_buf missing = {0};
    int got, n = 0, known = w->saved != NULL;
    int64_t before = known ? strtoll(w->saved, NULL, 10) : 0;
    char *end;
    lr_sqlf(&q, "SELECT DISTINCT %I FROM (%Q) AS \"rows\" WHERE %Q ORDER BY 1", w->order, &w->t.rows, &w->after);
    if (lr_scan(run, house, &q, 0, &k, e) != 0) return -1;
    while ((got = house->driver->next(k, &row, e)) == 1) {
        char text[32] = "";
        if (row->type == LR_DECIMAL && row->s.n < sizeof text) memcpy(text, row->s.p, row->s.n);
        int64_t now = row->type == LR_INT ? row->i : strtoll(text, &end, 10);
        if (row->type != LR_INT && (text[0] == 0 || *end != 0)) {
            lr_fail(e, LR_FAILED, "gaps = \"refuse\" needs whole numbers in %s", w->order);
            lr_hint(e, "a time or a text has no next one: drop gaps");
            got = -1;
            break;
        }
        if (known && now - before > 1 && n++ < 5) {
            lr_buf_printf(&missing, "%s%lld", missing.len > 0 ? ", " : "", (long long)before + 1);
            if (now - before > 2) lr_buf_printf(&missing, " to %lld", (long long)now - 1);
        }
        known = 1;
        before = now;
    }
    house->driver->finish(k);
    if (got == 0 && n > 0) {
        lr_fail(e, LR_FAILED, "%s has %s: missing %s%s%s%s", w->order, n == 1 ? "a gap" : "gaps", missing.data, n > 5 ? ", ..." : "",
                w->saved != NULL ? "; the mark is " : "", w->saved != NULL ? w->saved : "");
        lr_hint(e, "wait for the missing changes; if they were never made, pass gaps = \"allow\" for this run");
        got = -1;
    }
    lr_buf_free(&missing);
    return got;
}

/* Look at the stream as a whole, and find what lies above the mark. */
static int look(lr_changes *w, lr_err *e)
{
    lr_run *run = w->run;
    const lr_place *house = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena);
    lr_value n[LR_CHANGE_ORDERS + 2] = {{0}};
    lr_cursor *k;
    const lr_value *row;
    w->after = lr_sql_new(&run->arena);
    w->due = lr_sql_new(&run->arena);
    if (lr_changes_types(w, e) != 0) return -1;
    lr_sqlf(&q, "SELECT count(*), count(%I)", w->op);
    for (int i = 0; i < w->norders; i++) lr_sqlf(&q, ", count(%I)", w->orders[i].column);
    lr_sqlf(&q, " FROM (%Q) AS \"rows\"", &w->t.rows);
    int got = 1, plan = run->mode == LR_MODE_PLAN;
    if (!plan) {
        if (lr_query(run, house, &q, &k, e) != 0) return -1;
        got = house->driver->next(k, &row, e);
        for (int i = 0; got == 1 && i < w->norders + 2; i++) n[i] = row[i];
        house->driver->finish(k);
        if (got != 1) return -1;
        w->c.read = n[0].i;
        if (n[0].i > 0 && check_nulls(w, n, e) != 0) return -1;
    }
    lr_changes_split(w);
    if ((plan || n[0].i > 0) && lr_changes_ordered(w, e) != 0) return -1;
    if (plan || w->saved == NULL || n[0].i == 0) {
        lr_sqlf(&w->after, "1=1");
        lr_sqlf(&w->due, "1=1");
    } else {
        lr_changes_above(w, 0, 0, &w->after);
        lr_changes_above(w, 0, 1, &w->due);
    }
    if (plan || n[0].i == 0) return 0;
    if (check_ops(w, e) != 0 || check_twice(w, e) != 0) return -1;
    return w->no_gaps ? check_gaps(w, e) : 0;
}

/* ---- applying ---- */

#define GONE "lrun_gone"
#define RANK "lrun_rank"
#define LATER "lrun_later"

/* The last change of each key from the mark on, with whether it deletes and
 * whether it is above the mark: those at it are counted as skipped. */
static void last_changes(lr_changes *w, const lr_key *unique, lr_sql *q)
{
    lr_sqlf(q, "SELECT ");
    for (int i = 0; i < w->t.n; i++) lr_sqlf(q, "%I, ", w->t.columns[i]);
    lr_sqlf(q, "CASE WHEN lower(CAST(" GONE " AS text)) IN (" DELETES ") THEN 1 ELSE 0 END AS " GONE ", " LATER " FROM (SELECT ");
    for (int i = 0; i < w->t.n; i++) lr_sqlf(q, "%I, ", w->t.columns[i]);
    if (w->saved != NULL) lr_sqlf(q, "CASE WHEN %Q THEN 1 ELSE 0 END AS " LATER ", ", &w->after);
    else lr_sqlf(q, "1 AS " LATER ", ");
    lr_sqlf(q, "%I AS " GONE ", row_number() OVER (PARTITION BY ", w->op);
    lr_key_list(w->run, &w->t, unique, q);
    lr_sqlf(q, " ORDER BY ");
    lr_changes_order(w, " DESC", q);
    lr_sqlf(q, ") AS " RANK " FROM (%Q) AS \"rows\" WHERE %Q) AS \"ranked\" WHERE " RANK " = 1", &w->t.rows, &w->due);
}

static int skip_old(lr_changes *w, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    int64_t above = 0;
    if (w->saved == NULL) return 0;
    lr_sqlf(&q, "SELECT 1 FROM (%Q) AS \"rows\" WHERE %Q", &w->t.rows, &w->after);
    if (lr_count_rows(w->run, &q, &above, e) != 0) return -1;
    w->c.skipped = w->c.read - above;
    return 0;
}

/* Deletes above the mark of rows that are not there. */
static int skip_deletes(lr_changes *w, const lr_table *stage, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    int64_t later = 0;
    lr_sqlf(&q, "SELECT 1 FROM %T WHERE " GONE " = 1 AND " LATER " = 1", stage);
    if (lr_count_rows(w->run, &q, &later, e) != 0) return -1;
    if (later > w->c.deleted) w->c.skipped += later - w->c.deleted;
    return 0;
}

static int apply(lr_changes *w, lr_err *e)
{
    lr_run *run = w->run;
    const lr_dialect *d = w->run->session->warehouse->dialect;
    const lr_key *unique = lr_unique_key(d, &w->t.rel, w->t.key, w->t.nkey);
    int plan = run->mode == LR_MODE_PLAN;
    lr_sql last = lr_sql_new(&run->arena), keys = lr_sql_new(&run->arena), delete = lr_sql_new(&run->arena), all = lr_sql_new(&run->arena);
    lr_sql rows = lr_sql_new(&run->arena);
    lr_table stage = {NULL, "lrun_changes"}, gone = {NULL, "lrun_deleted"};
    int64_t changes = 1, deletes = 1;
    last_changes(w, unique, &last);
    lr_sqlf(&keys, "SELECT ");
    lr_sqlf(&all, "1=1");
    if (plan) {
        lr_sql q = lr_sql_new(&run->arena);
        d->keep(&q, &stage, &last, 1);
        if (lr_write(run, &q, NULL, e) != 0) return -1;
    } else if (lr_stage_rows(run, &last, &stage, &changes, e) != 0) return -1;
    lr_key_list(w->run, &w->t, NULL, &keys);
    lr_sqlf(&keys, " FROM %T WHERE " GONE " = 1", &stage);
    if (!plan && lr_stage_rows(run, &keys, &gone, &deletes, e) != 0) return -1;
    if (deletes > 0) {
        d->delete_keys(&delete, &w->t.rel.table, &all, &gone, w->t.key, w->t.nkey);
        if (lr_write(run, &delete, &w->c.deleted, e) != 0) return -1;
        if (!plan && deletes > w->c.deleted && skip_deletes(w, &stage, e) != 0) return -1;
    }
    if (changes == deletes && !plan) return 0;
    for (int i = 0; i < w->t.n; i++) lr_sqlf(&rows, i == 0 ? "SELECT %I" : ", %I", w->t.columns[i]);
    lr_sqlf(&rows, " FROM %T WHERE " GONE " = 0", &stage);
    lr_merge m = {.target = &w->t.rel, .rows = &rows, .columns = w->t.columns, .n = w->t.n, .key = w->t.key, .nkey = w->t.nkey,
                  .unique = unique, .zone = run->job->zone, .stamp = w->t.stamp, .stamp_value = w->t.stamp_value};
    return lr_merge_rows(run, &w->t, &m, &w->c, e);
}

static int refuse_new(lr_changes *w, const lr_args *args, lr_err *e)
{
    const lr_place *house = w->run->session->warehouse;
    const char *into = lr_arg_text(lr_arg_of(w->p, args, "into"), NULL);
    lr_relation rel;
    if (lr_place_relation(house, &w->run->arena, into, 0, &rel, e) != 0) return -1;
    w->mark = lr_dup(&w->run->arena, lr_arg_text(lr_arg_of(w->p, args, "mark"), NULL));
    if (w->mark == NULL) w->mark = lr_printf(&w->run->arena, "%s.%s", rel.table.name, w->order);
    if (lr_changes_mark(w, e) != 0) return -1;
    if (rel.exists || w->saved == NULL) return 0;
    lr_fail(e, LR_FAILED, "%s does not exist, and the mark \"%s\" says that changes were applied to it up to %s", into, w->mark, w->saved);
    return lr_hint(e, "bring the table back, or start again with lrun watermark %s %s --clear", w->run->job->name, w->mark);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_apply_changes;
    lr_rowset *rs = (lr_rowset *)args->first.p;
    const char *gaps = lr_arg_text(lr_arg_of(p, args, "gaps"), "allow");
    const char **key;
    int nkey;
    lr_changes w = {.run = run, .p = p};
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (nkey == 0) return lr_fail(e, LR_FAILED, "key is empty");
    w.op = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "op"), "op"));
    w.no_gaps = strcmp(gaps, "refuse") == 0;
    if (!w.no_gaps && strcmp(gaps, "allow") != 0) {
        lr_fail(e, LR_FAILED, "gaps = \"%s\" is not known", gaps);
        return lr_hint(e, "use \"allow\" or \"refuse\"");
    }
    const char **orders;
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "order"), &orders, &w.norders, e) != 0) return -1;
    if (w.norders == 0) orders[w.norders++] = "seq";
    if (w.norders > LR_CHANGE_ORDERS) return lr_fail(e, LR_FAILED, "order has more than %d columns", LR_CHANGE_ORDERS);
    if (w.no_gaps && w.norders > 1) {
        lr_fail(e, LR_FAILED, "gaps = \"refuse\" needs an order of one column");
        return lr_hint(e, "drop gaps, or name the column that counts 1, 2, 3");
    }
    const char **omit = lr_alloc(&run->arena, (size_t)(w.norders + 1) * sizeof *omit);
    for (int i = 0; i <= w.norders; i++) {
        int at = lr_rowset_field(run, rs, i == 0 ? w.op : orders[i - 1], e);
        if (at < 0) return -1;
        omit[i] = rs->fields[at].name;
        if (i > 0) w.orders[i - 1].column = omit[i];
    }
    w.op = omit[0];
    w.order = omit[1];
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, NULL, out, e);
    if (refuse_new(&w, args, e) != 0) return -1;
    w.t.omit = omit;
    w.t.nomit = w.norders + 1;
    if (lr_target_open_without(run, p, args, key, nkey, NULL, 0, &w.t, e) != 0) return -1;
    if (lr_check_keys(run, &w.t, NULL, 0, e) != 0 || look(&w, e) != 0) return -1;
    if (run->mode == LR_MODE_PLAN || w.c.read > 0)
        if (skip_old(&w, e) != 0 || apply(&w, e) != 0) return -1;
    if (w.c.read > 0 && lr_changes_save(&w, e) != 0) return -1;
    return lr_target_done(run, &w.t, &w.c, NULL, NULL, out, e);
}
