/* overwrite_partition and full_load: what is there goes, the rows come. */
#include "primitive/target.h"
#include <string.h>

static const lr_option overwrite_options[] = {
    LR_WRITE_OPTIONS,
    {"column", LR_ARG_STRING, 0, "the rows' time column", "the target's time column, where it is named otherwise"},
    {"partition", LR_ARG_MAP, 0, NULL, "narrows the partition: { region = \"EU\" }; else rows that where leaves out of the extract are deleted too"},
    {"key", LR_ARG_STRING | LR_ARG_LIST, 0, NULL, "refuse a duplicate key, and one that also lives outside the partition; primary key of a new target"},
    {"allow_empty", LR_ARG_BOOL, 0, "true", "false refuses an extract without rows"},
};

static const lr_option load_options[] = {
    LR_WRITE_OPTIONS,
    {"key", LR_ARG_STRING | LR_ARG_LIST, 0, NULL, "primary key of a new target"},
    {"allow_empty", LR_ARG_BOOL, 0, "false", "let an empty extract empty a target that has rows"},
};

static int call_overwrite(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);
static int call_load(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_overwrite_partition = {
    .name = "overwrite_partition",
    .summary = "delete the target's rows in the window that the rows were extracted by, and insert the rows",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = overwrite_options,
    .noptions = sizeof overwrite_options / sizeof overwrite_options[0],
    .writes = 1,
    .renews = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }",
    .refuses = "rows without a window; a row outside the partition (named); a target that a foreign key with CASCADE or SET "
               "NULL points at",
    .example = "overwrite_partition { orders, into = \"dw_orders\" }",
    .idea = "INSERT OVERWRITE PARTITION of Hive, replaceWhere of Delta Lake",
    .call = call_overwrite,
};

const lr_primitive lr_primitive_full_load = {
    .name = "full_load",
    .summary = "empty the target and fill it",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = load_options,
    .noptions = sizeof load_options / sizeof load_options[0],
    .writes = 1,
    .renews = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }",
    .refuses = "an empty extract over a target with rows, unless allow_empty = true",
    .example = "full_load { extract { from = \"orders\" }, into = \"dw_orders\" }",
    .call = call_load,
};

int lr_refuse_cascade(const lr_target *t, lr_err *e)
{
    if (t->rel.cascaded_from == NULL) return 0;
    lr_fail(e, LR_FAILED, "a foreign key of %s with CASCADE or SET NULL points at %s: deleting the old rows would change it",
            t->rel.cascaded_from, t->name);
    return lr_hint(e, "use merge, or take the ON DELETE action off the foreign key");
}

/* The same key in another partition, or a constraint that says so. */
static int explain_constraint(const lr_target *t, lr_err *e)
{
    if (t->primitive != &lr_primitive_overwrite_partition) return -1;
    if (strcmp(e->sqlstate, "23505") != 0) return -1;
    e->hint[0] = 0;
    lr_hint(e, "a key of these rows is also in the target outside the partition: its row has moved; overwrite that "
                   "partition too, or use merge");
    return -1;
}

static int empty(lr_run *run, const lr_target *t, int *is_empty, lr_err *e)
{
    int any;
    *is_empty = 0;
    if (run->mode == LR_MODE_PLAN && t->source->kind == LR_ROWS_MAP) return 0;
    const lr_place *place;
    lr_sql q = lr_sql_new(&run->arena);
    if (lr_rowset_home(run, t->source, &place, &q, e) != 0 || lr_any_row(run, place, &q, &any, e) != 0) return -1;
    *is_empty = !any;
    return 0;
}

int lr_refuse_empty(lr_run *run, const lr_target *t, int allowed, lr_err *e)
{
    lr_sql all = lr_sql_new(&run->arena);
    int is_empty, any = 0;
    if (allowed || t->created) return 0;
    lr_sqlf(&all, "SELECT 1 FROM %T", &t->rel.table);
    if (empty(run, t, &is_empty, e) != 0) return -1;
    if (is_empty && lr_any_row(run, run->session->warehouse, &all, &any, e) != 0) return -1;
    if (!any) return 0;
    lr_fail(e, LR_FAILED, "the extract is empty and %s has rows", t->name);
    return lr_hint(e, "look why the source is empty, or pass allow_empty = true");
}

/* Values that SQL or a function made may lie outside; the time column that an
 * extract read by its window cannot. */
static int certainly_inside(const lr_target *t, const char *column, const lr_arg *partition)
{
    const lr_rowset *x = lr_rowset_extract(t->source);
    for (const lr_rowset *rs = t->source; rs != NULL; rs = rs->input)
        if (rs->kind == LR_ROWS_MAP || rs->time_made) return 0;
    return !x->is_sql && x->nulls != LR_NULLS_INCLUDE && partition->type == LR_ARG_NONE && t->source->time_name != NULL &&
           strcmp(t->source->time_name, column) == 0;
}

static int check_inside(lr_run *run, lr_target *t, const char *column, const lr_sql *inside, const lr_arg *partition, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    /* rows that could lie outside are looked at where they can be compared */
    if (!certainly_inside(t, column, partition) && t->direct && lr_target_rows(run, t, e) != 0) return -1;
    if (certainly_inside(t, column, partition) || (run->mode == LR_MODE_PLAN && t->source->kind == LR_ROWS_MAP)) return 0;
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT * FROM (%Q) AS \"rows\" WHERE (CASE WHEN %Q THEN 1 ELSE 0 END) = 0 LIMIT 1", &t->rows, inside);
    lr_cursor *k;
    const lr_value *row;
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e), n;
    const lr_column *columns = w->driver->columns(k, &n);
    if (got == 1) {
        lr_buf b = {0};
        for (int i = 0; i < n && i < 8; i++) {
            const char *text = lr_value_text(&run->arena, &row[i]);
            lr_buf_printf(&b, "%s%s = %s", i > 0 ? ", " : "", columns[i].name, text != NULL ? text : "NULL");
        }
        lr_fail(e, LR_FAILED, "a row lies outside the partition %s%s: %s", lr_window_text(run, t->source->window),
                partition->type == LR_ARG_NONE ? "" : " and its narrower values", b.data);
        lr_hint(e, "it would be left over when the partition is written again: extract by %s, or correct the row", column);
        lr_buf_free(&b);
    }
    w->driver->finish(k);
    return got == 0 ? 0 : -1;
}

static int check_moved(lr_run *run, const lr_target *t, const lr_sql *inside, lr_err *e)
{
    if (t->nkey == 0) return 0;
    lr_sql q = lr_sql_new(&run->arena);
    lr_value v;
    int found;
    /* joined: sharded engines refuse EXISTS over a temporary table */
    lr_sqlf(&q, "SELECT \"target\".%I FROM (SELECT * FROM %T WHERE (CASE WHEN %Q THEN 1 ELSE 0 END) = 0) AS \"target\" "
                "JOIN (%Q) AS \"rows\" ON ", t->key[0], &t->rel.table, inside, &t->rows);
    lr_same_key("rows", "target", t->key, t->nkey, &q);
    lr_sqlf(&q, " LIMIT 1");
    if (run->mode == LR_MODE_PLAN && t->created) return 0;
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &v, &found, e) != 0) return -1;
    if (!found) return 0;
    lr_fail(e, LR_FAILED, "key %s is also in the target outside the partition: its row has moved", lr_value_text(&run->arena, &v));
    return lr_hint(e, "overwrite the partition where it was too, or use merge");
}

static int delete_and_insert(lr_run *run, const lr_target *t, const lr_sql *delete, lr_counts *c, lr_err *e)
{
    if (!t->created && lr_write(run, delete, &c->deleted, e) != 0) return -1;
    if (lr_target_fill(run, t, &c->inserted, e) != 0) return explain_constraint(t, e);
    c->read = c->inserted;
    return 0;
}

/* SQL of the user may read what is about to be deleted. */
static int stage_sql(lr_run *run, lr_target *t, lr_err *e)
{
    lr_rowset *x = lr_rowset_extract(t->source);
    if (!x->is_sql || run->mode == LR_MODE_PLAN) return 0;
    if (lr_rowset_stage(run, x, e) != 0) return -1;
    return lr_target_rows(run, t, e);
}

static int time_column(lr_run *run, const lr_args *args, const char **out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_overwrite_partition;
    const lr_rowset *rs = args->first.p;
    const char *column = lr_arg_text(lr_arg_of(p, args, "column"), rs->time_name);
    if (rs->window == NULL) {
        lr_fail(e, LR_FAILED, "the rows of %s have no window, so there is no partition to overwrite", rs->title);
        return lr_hint(e, "extract with by = \"order_date\", window = window(), or use full_load");
    }
    if (column == NULL) {
        lr_fail(e, LR_FAILED, "the rows of %s do not carry their time column %s", rs->title, lr_rowset_extract((lr_rowset *)rs)->by != NULL ? lr_rowset_extract((lr_rowset *)rs)->by : "");
        return lr_hint(e, "keep it in columns or by, or pass column = \"...\"");
    }
    *out = lr_dup(&run->arena, column);
    return 0;
}

static int overwrite(lr_run *run, const lr_args *args, lr_target *t, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_overwrite_partition;
    const lr_dialect *d = run->session->warehouse->dialect;
    const lr_arg *partition = lr_arg_of(p, args, "partition");
    const char **key, *column = NULL;
    int nkey, is_empty;
    lr_counts c = {0};
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (time_column(run, args, &column, e) != 0) return -1;
    if (!lr_rowset_has(run, args->first.p, column)) {
        lr_fail(e, LR_FAILED, "the rows do not carry the column \"%s\" that the partition is cut by", column);
        return lr_hint(e, "name it in columns, or pass column = with a column of the rows");
    }
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, column, out, e);
    if (lr_target_open_without(run, p, args, key, nkey, column, nkey == 0, t, e) != 0) return -1;
    if (lr_refuse_cascade(t, e) != 0) return -1;
    if (lr_field_find(d, &t->rel, column) < 0) {
        lr_fail(e, LR_FAILED, "%s has no column \"%s\" to cut the partition by", t->name, column);
        return lr_hint(e, "pass column = with the target's time column");
    }
    lr_sql *more = lr_alloc(&run->arena, sizeof *more), inside = lr_sql_new(&run->arena), delete = lr_sql_new(&run->arena);
    *more = lr_sql_new(&run->arena);
    if (stage_sql(run, t, e) != 0 || lr_target_inside(run, t, column, &inside, e) != 0) return -1;
    if (lr_partition_sql(run, &t->rel, partition, more, e) != 0) return -1;
    lr_sqlf(&inside, "%Q", more);
    if (check_inside(run, t, column, &inside, partition, e) != 0) return -1;
    if (nkey > 0 && lr_check_keys(run, t, lr_unique_key(d, &t->rel, key, nkey), 1, e) != 0) return -1;
    if (check_moved(run, t, &inside, e) != 0) return -1;
    if (!lr_arg_bool(lr_arg_of(p, args, "allow_empty"), 1)) {
        if (empty(run, t, &is_empty, e) != 0) return -1;
        if (is_empty) {
            lr_fail(e, LR_FAILED, "the extract is empty, and allow_empty = false");
            return lr_hint(e, "look why the source has no rows in %s", lr_window_text(run, t->source->window));
        }
    }
    lr_sqlf(&delete, "DELETE FROM %T WHERE %Q", &t->rel.table, &inside);
    if (delete_and_insert(run, t, &delete, &c, e) != 0) return -1;
    return lr_target_done(run, t, &c, column, more, out, e);
}

static int load(lr_run *run, const lr_args *args, lr_target *t, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_full_load;
    const char **key;
    int nkey;
    lr_counts c = {0};
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, NULL, out, e);
    if (lr_target_open_without(run, p, args, key, nkey, NULL, 1, t, e) != 0) return -1;
    if (lr_refuse_cascade(t, e) != 0 || stage_sql(run, t, e) != 0) return -1;
    if (lr_refuse_empty(run, t, lr_arg_bool(lr_arg_of(p, args, "allow_empty"), 0), e) != 0) return -1;
    lr_sql delete = lr_sql_new(&run->arena);
    lr_sqlf(&delete, "DELETE FROM %T", &t->rel.table);
    if (delete_and_insert(run, t, &delete, &c, e) != 0) return -1;
    return lr_target_done(run, t, &c, NULL, NULL, out, e);
}

static int call_overwrite(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    lr_target t = {.once = 1};
    return lr_target_close(run, &t, overwrite(run, args, &t, out, e), e);
}

static int call_load(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    lr_target t = {.once = 1};
    return lr_target_close(run, &t, load(run, args, &t, out, e), e);
}
