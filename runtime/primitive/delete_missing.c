/* delete_missing: rows that the source has deleted, found by their keys alone. */
#include "base/decimal.h"
#include "primitive/guard.h"
#include <stdlib.h>
#include <string.h>

static const lr_option options[] = {
    {"from", LR_ARG_STRING, 1, NULL, "the target table at the warehouse"},
    {"key", LR_ARG_STRING | LR_ARG_LIST, 1, NULL, "column or columns that identify a row; of the source no other column is read"},
    {"at_most", LR_ARG_STRING | LR_ARG_INT | LR_ARG_REAL, 0, "no limit",
     "how many rows may go: a number, or \"10%\" of the target's rows in the window"},
    {"column", LR_ARG_STRING, 0, "the rows' time column", "the target's time column, where it is named otherwise"},
    {"partition", LR_ARG_MAP | LR_ARG_LIST, 0, NULL,
     "only these rows of the target may go: { region = \"EU\" }; {} if the rows are all that the target holds. Required without a "
     "window where the rows are a part of their table (where, sql, filter, unmatched = \"drop\")"},
    {"allow_empty", LR_ARG_BOOL, 0, "false", "let an empty extract delete all of the target's rows in the window"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_delete_missing = {
    .name = "delete_missing",
    .summary = "delete the target's rows whose key is not among the rows, in the rows' window or, without one, in the whole table",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }; skipped are rows whose key the source has past the window by now "
               "(moved on): they stay",
    .refuses = "an empty extract that would delete rows, unless allow_empty = true; more rows than at_most (nothing is deleted "
               "then); NULL in a key; a part of a table without a window and without partition",
    .example = "delete_missing { orders, from = \"dw_orders\", key = \"order_id\", at_most = \"10%\" }",
    .idea = "the soft half of a full sync; keys are small, so they can be compared often",
    .call = call,
};

/* The most rows that may be deleted; -1 without a limit. */
static int read_limit(lr_run *run, const lr_arg *a, int64_t there, int64_t *out, lr_err *e)
{
    *out = -1;
    if (a->type == LR_ARG_NONE) return 0;
    char *text = lr_dup(&run->arena, lr_value_text(&run->arena, &a->value));
    size_t n = strlen(text);
    int percent = n > 0 && text[n - 1] == '%';
    if (percent) text[--n] = 0;
    if (n == 0 || !lr_is_decimal(text, n) || text[0] == '-' || (!percent && strspn(text, "0123456789") != n)) {
        lr_fail(e, LR_FAILED, "at_most must be a number of rows or a share such as \"10%%\"");
        return lr_hint(e, "write at_most = 100 or at_most = \"10%%\"");
    }
    double number = strtod(text, NULL);
    *out = (int64_t)(percent ? (double)there * number / 100 + 1e-9 : number);
    return 0;
}

static const char *pick_column(lr_run *run, const lr_args *args, lr_err *e)
{
    const lr_rowset *rs = args->first.p;
    const lr_rowset *x = lr_rowset_extract((lr_rowset *)rs);
    const char *column = lr_arg_text(lr_arg_of(&lr_primitive_delete_missing, args, "column"), rs->time_name);
    /* the rows need not carry their time: the window has chosen them already */
    if (column == NULL) column = x->by;
    if (column == NULL) lr_fail(e, LR_FAILED, "the rows of %s have a window but no time column", rs->title);
    return lr_dup(&run->arena, column);
}

static int window_sql(lr_run *run, lr_target *t, const char *column, lr_sql *inside, lr_err *e)
{
    if (column == NULL) {
        lr_sqlf(inside, "1=1");
        return 0;
    }
    int at = lr_field_find(run->session->warehouse->dialect, &t->rel, column);
    if (at < 0) {
        lr_fail(e, LR_FAILED, "%s has no column \"%s\" to find the window's rows by", t->name, column);
        return lr_hint(e, "pass column = with the target's time column");
    }
    lr_sqlf(inside, "(");
    if (lr_target_inside(run, t, t->rel.fields[at].name, inside, e) != 0) return -1;
    if (lr_rowset_extract(t->source)->nulls == LR_NULLS_INCLUDE) lr_sqlf(inside, " OR %I IS NULL", column);
    lr_sqlf(inside, ")");
    return 0;
}

static int refuse_target_nulls(lr_run *run, const lr_target *t, const lr_sql *inside, lr_err *e)
{
    for (int i = 0; i < t->nkey; i++) {
        int at = lr_field_find(run->session->warehouse->dialect, &t->rel, t->key[i]), any;
        if (t->rel.fields[at].not_null || run->mode == LR_MODE_PLAN) continue;
        lr_sql q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "SELECT 1 FROM %T WHERE %Q AND %I IS NULL", &t->rel.table, inside, t->key[i]);
        if (lr_any_row(run, run->session->warehouse, &q, &any, e) != 0) return -1;
        if (!any) continue;
        lr_fail(e, LR_FAILED, "%s has rows with NULL in the key column %s, which no key can match", t->name, t->key[i]);
        return lr_hint(e, "give them a key or delete them, or use another key");
    }
    return 0;
}

/* Those of the keys that the source has past the window live on. */
static int spare_moved(lr_run *run, const lr_target *t, lr_table *missing, int64_t *n, int64_t *moved, lr_err *e)
{
    lr_sql later = lr_sql_new(&run->arena), left = lr_sql_new(&run->arena);
    int possible = 0;
    int64_t before = *n;
    lr_table stage;
    if (*n == 0 || lr_moved_on(run, t->source, &t->rel, t->key, t->nkey, &later, &possible, e) != 0) return *n == 0 ? 0 : -1;
    if (!possible) return 0;
    for (int i = 0; i < t->nkey; i++) lr_sqlf(&left, i == 0 ? "SELECT \"missing\".%I" : ", \"missing\".%I", t->key[i]);
    lr_sqlf(&left, " FROM %T AS \"missing\"", missing);
    run->session->warehouse->dialect->unmatched(&left, "missing", &later, "later", t->key, t->nkey);
    if (lr_stage_rows(run, &left, &stage, n, e) != 0) return -1;
    *missing = stage;
    *moved = before - *n;
    if (*moved > 0)
        lr_note(run, "moved on: %lld row%s of %s, whose key the source has past the window now, stay%s", (long long)*moved,
                *moved == 1 ? "" : "s", t->name, *moved == 1 ? "s" : "");
    return 0;
}

static int guard(lr_run *run, const lr_args *args, const lr_target *t, const lr_sql *inside, int64_t missing, int64_t keys, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_delete_missing;
    int64_t there, limit;
    lr_sql all = lr_sql_new(&run->arena);
    lr_sqlf(&all, "SELECT 1 FROM %T WHERE %Q", &t->rel.table, inside);
    const lr_arg *most = lr_arg_of(p, args, "at_most");
    if (most->type == LR_ARG_NONE && (keys > 0 || missing == 0)) return 0;
    if (lr_count_rows(run, &all, &there, e) != 0 || read_limit(run, most, there, &limit, e) != 0) return -1;
    const char *window = t->source->window != NULL ? lr_printf(&run->arena, " in %s", lr_window_text(run, t->source->window)) : "";
    if (keys == 0 && missing > 0 && !lr_arg_bool(lr_arg_of(p, args, "allow_empty"), 0)) {
        lr_fail(e, LR_FAILED, "the extract is empty, and %lld row%s of %s%s would be deleted", (long long)missing,
                missing == 1 ? "" : "s", t->name, window);
        return lr_hint(e, "look why the source has no rows there, or pass allow_empty = true");
    }
    if (limit < 0 || missing <= limit) return 0;
    lr_fail(e, LR_FAILED, "%lld of %lld rows of %s%s are missing from the source, and at_most = %s allows %lld to be deleted",
            (long long)missing, (long long)there, t->name, window, lr_value_text(&run->arena, &most->value), (long long)limit);
    return lr_hint(e, "look whether the source is whole; if those rows are gone for good, raise at_most for this run");
}

static int delete_rows(lr_run *run, const lr_args *args, lr_target *t, const lr_sql *inside, lr_counts *c, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_sql keys = lr_sql_new(&run->arena), gone = lr_sql_new(&run->arena), delete = lr_sql_new(&run->arena);
    lr_table missing = {NULL, "lrun_stage"};
    const lr_rowset *from;
    int64_t n = 0;
    if (lr_rowset_only(run, t->source, t->key, t->nkey, &keys, &from, e) != 0) return -1;
    if (lr_guard_keys(run, from, &t->rel, t->key, t->nkey, 1, &keys, e) != 0) return -1;
    t->rows = keys;
    if (lr_check_keys(run, t, NULL, 0, e) != 0 || refuse_target_nulls(run, t, inside, e) != 0) return -1;
    lr_sqlf(&gone, "SELECT ");
    for (int i = 0; i < t->nkey; i++) lr_sqlf(&gone, i == 0 ? "\"target\".%I" : ", \"target\".%I", t->key[i]);
    lr_sqlf(&gone, " FROM (SELECT * FROM %T WHERE %Q) AS \"target\"", &t->rel.table, inside);
    d->unmatched(&gone, "target", &keys, "rows", t->key, t->nkey);
    if (run->mode == LR_MODE_PLAN) {
        lr_sql q = lr_sql_new(&run->arena);
        d->keep(&q, &missing, &gone, 1);
        d->delete_keys(&delete, &t->rel.table, inside, &missing, t->key, t->nkey);
        return lr_write(run, &q, NULL, e) != 0 ? -1 : lr_write(run, &delete, NULL, e);
    }
    if (lr_count_rows(run, &keys, &c->read, e) != 0 || lr_stage_rows(run, &gone, &missing, &n, e) != 0) return -1;
    if (spare_moved(run, t, &missing, &n, &c->skipped, e) != 0) return -1;
    if (guard(run, args, t, inside, n, c->read, e) != 0) return -1;
    d->delete_keys(&delete, &t->rel.table, inside, &missing, t->key, t->nkey);
    return n == 0 ? 0 : lr_write(run, &delete, &c->deleted, e);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_delete_missing;
    const lr_rowset *rs = args->first.p;
    const char **key, *column = NULL;
    int nkey;
    lr_target t;
    lr_counts c = {0};
    int64_t ignored;
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (nkey == 0) return lr_fail(e, LR_FAILED, "key is empty");
    if (read_limit(run, lr_arg_of(p, args, "at_most"), 0, &ignored, e) != 0) return -1;
    if (rs->window != NULL && (column = pick_column(run, args, e)) == NULL) return -1;
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, column, out, e);
    if (lr_target_find(run, p, args, "from", key, nkey, &t, e) != 0) return -1;
    t.loads_nothing = 1;
    lr_sql *more = lr_alloc(&run->arena, sizeof *more), inside = lr_sql_new(&run->arena);
    *more = lr_sql_new(&run->arena);
    if (lr_partition_sql(run, &t.rel, lr_arg_of(p, args, "partition"), more, e) != 0) return -1;
    if (lr_refuse_part(run, &t, lr_arg_of(p, args, "partition"), "rows outside it would be deleted", e) != 0) return -1;
    if (window_sql(run, &t, column, &inside, e) != 0) return -1;
    lr_sqlf(&inside, "%Q", more);
    if (delete_rows(run, args, &t, &inside, &c, e) != 0) return -1;
    return lr_target_done(run, &t, &c, column, more, out, e);
}
