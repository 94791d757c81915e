/* merge and insert_new: writing by key. */
#include "primitive/position.h"
#include <string.h>

static const lr_option merge_options[] = {
    LR_WRITE_OPTIONS,
    {"key", LR_ARG_STRING | LR_ARG_LIST, 1, NULL, "column or columns that identify a row; need not be a constraint of the target"},
    {"newest", LR_ARG_STRING, 0, NULL, "a column: of rows with one key the latest wins, also against the target (equal or later). Text is ordered as an ISO time, as a log "
     "position (LSN, MySQL file:offset) or by its bytes where all values have one width and one alphabet (ULID, zero-padded numbers); other text is refused"},
};

static const lr_option insert_options[] = {
    LR_WRITE_OPTIONS,
    {"key", LR_ARG_STRING | LR_ARG_LIST, 1, NULL, "column or columns that identify a row"},
};

static int call_merge(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);
static int call_insert(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_merge = {
    .name = "merge",
    .summary = "update where the key matches and a value differs, insert where not; other columns of the target keep their value",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = merge_options,
    .noptions = sizeof merge_options / sizeof merge_options[0],
    .writes = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }; rows that are there unchanged are not written",
    .refuses = "NULL in a key; the same key twice without newest (named); the same newest with different values; a column "
               "that the target lacks",
    .example = "merge { changed, into = \"dw_orders\", key = \"order_id\" }",
    .idea = "SQL:2003 MERGE; comparing first writes no row version for what a lookback reads again",
    .call = call_merge,
};

const lr_primitive lr_primitive_insert_new = {
    .name = "insert_new",
    .summary = "insert where the key is not there; rows that are there stay as they are",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = insert_options,
    .noptions = sizeof insert_options / sizeof insert_options[0],
    .writes = 1,
    .appends = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }",
    .refuses = "NULL in a key; the same key twice (named)",
    .example = "insert_new { events, into = \"dw_events\", key = \"event_id\" }",
    .call = call_insert,
};

/* A name that no column of the rows has. */
static const char *rank_name(lr_run *run, const lr_target *t)
{
    const char *name = "lrun_rank";
    while (lr_rowset_has(run, t->source, name)) name = lr_printf(&run->arena, "%s_", name);
    return name;
}

/* The type that the column has in t->rows: the target's where it is written. */
static lr_type newest_type(lr_run *run, const lr_target *t, const char *newest)
{
    int at = lr_field_find(run->session->warehouse->dialect, &t->rel, newest), field = 0;
    if (at >= 0) return t->rel.fields[at].type;
    while (!lr_name_equal(run->session->warehouse->dialect, t->source->fields[field].name, newest)) field++;
    return lr_rowset_type(run, t->source, field);
}

static void ranked(lr_run *run, const lr_target *t, const char *newest, lr_position form, const char *function, lr_sql *q)
{
    lr_sql column = lr_sql_column(&run->arena, "rows", newest), keys = lr_sql_new(&run->arena);
    lr_type type = newest_type(run, t, newest);
    lr_key_list(run, t, NULL, &keys);
    lr_sqlf(q, "SELECT \"rows\".*, %s() OVER (PARTITION BY %Q ORDER BY ", function, &keys);
    lr_ordered(run->session->warehouse->dialect, q, &column, form, &type, run->job->zone);
    lr_sqlf(q, " DESC NULLS LAST) AS %I FROM (%Q) AS \"rows\"", rank_name(run, t), &t->rows);
}

/* Text that is no time sorts after every time, and would be the newest of all. */
static int refuse_no_time(lr_run *run, lr_target *t, const char *newest, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_type type = newest_type(run, t, newest);
    lr_sql column = lr_sql_column(&run->arena, NULL, newest), time = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    if (!w->dialect->is_time(&time, &column, &type, run->job->zone)) return 0;
    lr_sqlf(&q, "SELECT %I, %Q FROM (%Q) AS \"rows\" WHERE %Q IS NOT NULL AND NOT %Q AND (EXISTS (SELECT 1 FROM %T WHERE %Q) OR "
                "EXISTS (SELECT 1 FROM (%Q) AS \"others\" WHERE %Q)) LIMIT 1",
            t->key[0], &column, &t->rows, &column, &time, &t->rel.table, &time, &t->rows, &time);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    if (got == 1) {
        lr_fail(e, LR_FAILED, "newest = \"%s\": '%s' of %s %s is no time, and other rows have times", newest,
                lr_value_text(&run->arena, &row[1]), t->key[0], lr_value_text(&run->arena, &row[0]));
        lr_hint(e, "correct the row in the source, or leave it out with where");
    }
    w->driver->finish(k);
    return got == 0 ? 0 : -1;
}

/* How the rows are ordered among themselves and against those of the target that
 * they may replace. */
static int find_order(lr_run *run, lr_target *t, const char *newest, lr_position *form, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_type type = newest_type(run, t, newest);
    lr_sql values = lr_sql_new(&run->arena);
    lr_sqlf(&values, "SELECT %I AS \"v\" FROM (%Q) AS \"rows\"", newest, &t->rows);
    int at = lr_field_find(d, &t->rel, newest);
    if (!t->created && at >= 0 && at < t->rel.nfields - t->planned) {
        lr_sqlf(&values, " UNION ALL SELECT \"target\".%I FROM %T AS \"target\" JOIN (%Q) AS \"rows\" ON ", newest, &t->rel.table, &t->rows);
        lr_same_key("target", "rows", t->key, t->nkey, &values);
    }
    return lr_find_position(run, t->source, &values, &type, newest, form, e);
}

/* One row of each key: the latest. Two that are the latest must be equal. */
static int keep_newest(lr_run *run, lr_target *t, const char *newest, lr_position form, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_sql all = lr_sql_new(&run->arena), values = lr_sql_new(&run->arena), columns = lr_sql_new(&run->arena), keys = lr_sql_new(&run->arena);
    lr_sql q = lr_sql_new(&run->arena);
    lr_key_list(run, t, NULL, &keys);
    for (int i = 0; i < t->source->n; i++) lr_sqlf(&columns, i == 0 ? "%I" : ", %I", t->source->fields[i].name);
    for (int i = 0; t->nulls_missing && i < t->nmissing; i++) lr_sqlf(&columns, ", %I", t->missing[i]);
    for (int i = 0; i < t->n; i++) {
        int at = lr_field_find(w->dialect, &t->rel, t->columns[i]);
        int is_key = 0;
        for (int j = 0; j < t->nkey; j++) is_key |= strcmp(t->key[j], t->columns[i]) == 0;
        lr_sqlf(&values, i == 0 ? "" : ", ");
        lr_sqlf(&values, at >= 0 && t->rel.fields[at].loose && !is_key ? "CAST(%I AS text)" : "%I", t->columns[i]);
    }
    ranked(run, t, newest, form, "rank", &all);
    lr_sqlf(&q, "SELECT %Q FROM (SELECT DISTINCT %Q FROM (%Q) AS \"r\" WHERE %I = 1) AS \"d\" GROUP BY %Q "
                "HAVING count(*) > 1 LIMIT 1", &keys, &values, &all, rank_name(run, t), &keys);
    lr_cursor *k;
    const lr_value *row;
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    if (got == 1) {
        lr_fail(e, LR_FAILED, "key %s (%s) has several rows with the same latest %s and different values",
                lr_list_text(&run->arena, t->key, t->nkey), lr_row_text(&run->arena, row, t->nkey), newest);
        lr_hint(e, "nothing says which of them is right: use a finer column for newest, or fix the source");
    }
    w->driver->finish(k);
    if (got != 0) return -1;
    lr_sql one = lr_sql_new(&run->arena), rank = lr_sql_new(&run->arena);
    ranked(run, t, newest, form, "row_number", &rank);
    lr_sqlf(&one, "SELECT %Q FROM (%Q) AS \"r\" WHERE %I = 1", &columns, &rank, rank_name(run, t));
    t->rows = one;
    return 0;
}

/* Rows that need no look before they are written go into the target one by one
 * as they are read; staged first, they would be written twice. */
static int may_pour(lr_run *run, const lr_target *t, const lr_merge *m)
{
    const lr_place *w = run->session->warehouse;
    int able = m->newest == NULL && m->stamp == NULL && w->dialect->merges_by_row && lr_keys_proven(t, m->unique);
    if (!able || w->driver->count(w->conn, t->rel.table.name, NULL, NULL) == 0) return able;
    w->driver->count(w->conn, NULL, NULL, NULL);
    return 0;
}

static int pour(lr_run *run, const lr_target *t, lr_merge *m, lr_counts *c, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_step_sql steps[LR_MERGE_STEPS];
    const char *why = NULL;
    m->by_row = 1;
    w->dialect->merge(&run->arena, m, 0, steps, &why);
    int failed = lr_target_pour(run, t, lr_sql_text(&steps[0].sql, w->dialect), &c->read, e);
    w->driver->count(w->conn, NULL, &c->inserted, &c->updated);
    return failed;
}

static int write_by_key(lr_run *run, const lr_primitive *p, const lr_args *args, const char *newest, lr_result *out, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_target t;
    const char **key;
    int nkey;
    lr_counts c = {0};
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (nkey == 0) return lr_fail(e, LR_FAILED, "key is empty");
    newest = lr_dup(&run->arena, newest);
    if (newest != NULL && lr_rowset_field(run, (lr_rowset *)args->first.p, newest, e) < 0) return -1;
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, NULL, out, e);
    if (lr_target_open(run, p, args, key, nkey, NULL, newest == NULL && d->merges_by_row, &t, e) != 0) return -1;
    const lr_key *unique = lr_unique_key(d, &t.rel, key, nkey);
    lr_merge m = {.target = &t.rel, .rows = &t.rows, .columns = t.columns, .n = t.n, .key = key, .nkey = nkey,
                  .unique = unique, .newest = newest, .zone = run->job->zone, .stamp = t.stamp,
                  .stamp_value = t.stamp_value, .insert_only = p == &lr_primitive_insert_new};
    if (t.direct && may_pour(run, &t, &m))
        return pour(run, &t, &m, &c, e) != 0 ? -1 : lr_target_done(run, &t, &c, NULL, NULL, out, e);
    if (t.direct && lr_target_rows(run, &t, e) != 0) return -1;
    if (lr_check_keys(run, &t, unique, newest == NULL, e) != 0) return -1;
    int plan = run->mode == LR_MODE_PLAN;
    if (!plan && lr_count_rows(run, &t.rows, &c.read, e) != 0) return -1;
    if (newest != NULL && !plan && lr_field_find(d, &t.rel, newest) >= 0 && refuse_no_time(run, &t, newest, e) != 0) return -1;
    if (newest != NULL && find_order(run, &t, newest, &m.position, e) != 0) return -1;
    if (newest != NULL && !(plan && t.source->kind == LR_ROWS_MAP) && keep_newest(run, &t, newest, m.position, e) != 0) return -1;
    if (lr_merge_rows(run, &t, &m, &c, e) != 0) return -1;
    return lr_target_done(run, &t, &c, NULL, NULL, out, e);
}

static int call_merge(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_merge;
    return write_by_key(run, p, args, lr_arg_text(lr_arg_of(p, args, "newest"), NULL), out, e);
}

static int call_insert(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    return write_by_key(run, &lr_primitive_insert_new, args, NULL, out, e);
}
