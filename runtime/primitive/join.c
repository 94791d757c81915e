/* scd2_join: each fact with the dimension's version that was true at its time. */
#include "primitive/rowset.h"
#include <stdio.h>
#include <string.h>

static const lr_option options[] = {
    {"dim", LR_ARG_STRING, 1, NULL, "the type 2 dimension at the warehouse: one row for each version"},
    {"key", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 1, NULL, "column or columns of both, or { fact_column = \"dim_column\" }"},
    {"at", LR_ARG_STRING, 1, NULL, "the fact's time column"},
    {"take", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 1, NULL, "columns of the dimension, or { new_name = \"dim_column\" }"},
    {"from", LR_ARG_STRING, 0, "valid_from", "the version's first moment (included)"},
    {"to", LR_ARG_STRING, 0, "valid_to", "the first moment after it (excluded); NULL or 9999-12-31 is open"},
    {"unmatched", LR_ARG_STRING, 0, "error", "a fact without a version: \"error\", \"null\" or \"drop\" (counted)"},
};

typedef struct pair {
    const char *fact, *dim;
} pair;

/* The time columns and their declared types. */
typedef struct times {
    const char *from, *to, *at_decl, *from_decl, *to_decl;
} times;

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_scd2_join = {
    .name = "scd2_join",
    .summary = "give each fact the dimension row that was true at its time: valid_from <= at < valid_to",
    .first_name = "the facts",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .returns = "rows: the facts' columns and the taken ones; one fact in, one fact out",
    .refuses = "overlapping versions of a key that the facts use (named); facts without a version (up to 5 named)",
    .example = "scd2_join { orders, dim = \"dim_customer\", key = \"customer_id\", at = \"order_date\", take = \"country\" }",
    .idea = "Kimball's type 2 slowly changing dimension",
    .call = call,
};

/* Columns as pairs (left name, right name) from a string, a list or a map. */
static int read_pairs(lr_run *run, const lr_arg *a, pair **out, int *n, lr_err *e)
{
    int single = a->type == LR_ARG_STRING;
    *n = single ? 1 : a->n;
    *out = lr_alloc(&run->arena, (size_t)(*n + 1) * sizeof **out);
    for (int i = 0; i < *n; i++) {
        const lr_arg *item = single ? a : &a->items[i];
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "scd2_join: column names must be strings");
        (*out)[i].dim = lr_dup(&run->arena, item->value.s.p);
        const char *name = a->type == LR_ARG_MAP ? a->names[i] : NULL;
        (*out)[i].fact = name != NULL ? lr_dup(&run->arena, name) : (*out)[i].dim;
    }
    if (*n == 0) return lr_fail(e, LR_FAILED, "scd2_join: the list of columns is empty");
    return 0;
}

static int dim_column(const lr_run *run, const lr_relation *dim, const char *name, lr_err *e)
{
    int at = lr_field_find(run->session->warehouse->dialect, dim, name);
    if (at >= 0) return at;
    lr_fail(e, LR_FAILED, "%s has no column \"%s\"", dim->table.name, name);
    return lr_hint(e, "name the column with key, take, from or to");
}

/* Equality of the keys, and the version's half-open interval around the fact. */
static void matches(lr_run *run, lr_sql *q, const pair *keys, int nkeys, const char *at, lr_time_mode mode,
                    const times *t)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    const lr_zone *z = run->job->zone;
    const char *from = t->from, *to = t->to;
    lr_sql fact = lr_sql_column(&run->arena, "fact", at);
    lr_sql low = lr_sql_column(&run->arena, "dim", from), high = lr_sql_column(&run->arena, "dim", to);
    for (int i = 0; i < nkeys; i++)
        lr_sqlf(q, i == 0 ? "\"fact\".%I = \"dim\".%I" : " AND \"fact\".%I = \"dim\".%I", keys[i].fact, keys[i].dim);
    lr_sqlf(q, " AND ");
    d->instant(q, &fact, mode, z, t->at_decl);
    lr_sqlf(q, " >= ");
    d->instant(q, &low, LR_ISO, z, t->from_decl);
    lr_sqlf(q, " AND (%Q IS NULL OR %Q >= '9999-12-31' OR ", &high, &high);
    d->instant(q, &fact, mode, z, t->at_decl);
    lr_sqlf(q, " < ");
    d->instant(q, &high, LR_ISO, z, t->to_decl);
    lr_sqlf(q, ")");
}

/* Neighbours of one key, by their start: the earlier must end where or before
 * the later begins. Only keys that the facts use are looked at. */
static void find_overlaps(lr_run *run, lr_rowset *rs, const lr_relation *dim, const pair *keys, int nkeys,
                          const times *t)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    const lr_zone *z = run->job->zone;
    lr_sql low = lr_sql_column(&run->arena, "dim", t->from), high = lr_sql_column(&run->arena, "dim", t->to);
    lr_sql start = lr_sql_new(&run->arena), stop = lr_sql_new(&run->arena), list = lr_sql_new(&run->arena);
    d->instant(&start, &low, LR_ISO, z, t->from_decl);
    lr_sqlf(&stop, "CASE WHEN %Q IS NULL OR %Q >= '9999-12-31' THEN ", &high, &high);
    d->forever(&stop);
    lr_sqlf(&stop, " ELSE ");
    d->instant(&stop, &high, LR_ISO, z, t->to_decl);
    lr_sqlf(&stop, " END");
    for (int i = 0; i < nkeys; i++) lr_sqlf(&list, i == 0 ? "\"dim\".%I" : ", \"dim\".%I", keys[i].dim);
    lr_sql *q = &rs->overlaps;
    *q = lr_sql_new(&run->arena);
    lr_sqlf(q, "SELECT \"v\".* FROM (SELECT %Q, %Q AS \"first\", %Q AS \"after\", "
               "lead(%Q) OVER (PARTITION BY %Q ORDER BY %Q) AS \"next\" FROM %T AS \"dim\" WHERE %Q < %Q) AS \"v\" "
               "WHERE \"v\".\"next\" < \"v\".\"after\" AND EXISTS (SELECT 1 FROM (",
            &list, &low, &stop, &start, &list, &start, &dim->table, &start, &stop);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_scd2_join;
    const lr_place *w = run->session->warehouse;
    lr_rowset *facts = (lr_rowset *)args->first.p;
    pair *keys, *take;
    int nkeys, ntake;
    lr_table t;
    lr_relation dim;
    const char *name = lr_arg_text(lr_arg_of(p, args, "dim"), NULL);
    if (read_pairs(run, lr_arg_of(p, args, "key"), &keys, &nkeys, e) != 0) return -1;
    if (read_pairs(run, lr_arg_of(p, args, "take"), &take, &ntake, e) != 0) return -1;
    if (w->dialect->resolve(w->driver, w->conn, &run->arena, w->schema, name, &t, e) != 0) return -1;
    if (w->dialect->relation(w->driver, w->conn, &run->arena, &t, 0, &dim, e) != 0) return -1;
    if (!dim.exists) {
        lr_fail(e, LR_FAILED, "there is no dimension %s at the warehouse", name);
        return lr_hint(e, "correct dim, or load it first");
    }
    const char *at = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "at"), NULL));
    const char *from = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "from"), "valid_from"));
    const char *to = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "to"), "valid_to"));
    const char *unmatched = lr_arg_text(lr_arg_of(p, args, "unmatched"), "error");
    if (lr_rowset_field(run, facts, at, e) < 0) return -1;
    if (dim_column(run, &dim, from, e) < 0 || dim_column(run, &dim, to, e) < 0) return -1;
    const times when = {from, to, facts->fields[lr_rowset_field(run, facts, at, e)].decl,
                        dim.fields[dim_column(run, &dim, from, e)].decl, dim.fields[dim_column(run, &dim, to, e)].decl};
    for (int i = 0; i < nkeys; i++)
        if (lr_rowset_field(run, facts, keys[i].fact, e) < 0 || dim_column(run, &dim, keys[i].dim, e) < 0) return -1;
    lr_rowset *rs = lr_alloc(&run->arena, sizeof *rs);
    rs->kind = LR_ROWS_JOIN;
    rs->where = lr_dup(&run->arena, args->where);
    rs->title = facts->title;
    rs->dimension = lr_dup(&run->arena, name);
    rs->input = facts;
    rs->window = facts->window;
    rs->time_name = facts->time_name;
    rs->time_made = facts->time_made;
    rs->keep_unmatched = strcmp(unmatched, "null") == 0;
    rs->drop_unmatched = strcmp(unmatched, "drop") == 0;
    if (!rs->keep_unmatched && !rs->drop_unmatched && strcmp(unmatched, "error") != 0) {
        lr_fail(e, LR_FAILED, "scd2_join: unmatched = \"%s\" is not known", unmatched);
        return lr_hint(e, "use \"error\", \"null\" or \"drop\"");
    }
    rs->fields = lr_alloc(&run->arena, (size_t)(facts->n + ntake) * sizeof *rs->fields);
    rs->select = lr_sql_new(&run->arena);
    rs->from = lr_sql_new(&run->arena);
    lr_sqlf(&rs->select, "SELECT ");
    for (int i = 0; i < facts->n; i++) {
        lr_sqlf(&rs->select, i == 0 ? "\"fact\".%I" : ", \"fact\".%I", facts->fields[i].name);
        rs->fields[rs->n++] = facts->fields[i];
    }
    for (int i = 0; i < ntake; i++) {
        int d = dim_column(run, &dim, take[i].dim, e);
        if (d < 0) return -1;
        if (lr_rowset_has(run, rs, take[i].fact)) {
            lr_fail(e, LR_FAILED, "scd2_join: the facts have a column \"%s\" already", take[i].fact);
            return lr_hint(e, "give it another name: take = { dim_%s = \"%s\" }", take[i].fact, take[i].dim);
        }
        lr_sqlf(&rs->select, ", \"dim\".%I AS %I", dim.fields[d].name, take[i].fact);
        rs->fields[rs->n].name = take[i].fact;
        rs->fields[rs->n++].decl = dim.fields[d].decl;
    }
    lr_rowset *extract = lr_rowset_extract(facts);
    lr_time_mode mode = extract->time_name != NULL && lr_name_equal(w->dialect, extract->time_name, at)
                            ? extract->time : LR_ISO;
    lr_sqlf(&rs->select, " FROM (");
    lr_sqlf(&rs->from, ") AS \"fact\" %s JOIN %T AS \"dim\" ON ", rs->drop_unmatched ? "INNER" : "LEFT", &dim.table);
    matches(run, &rs->from, keys, nkeys, at, mode, &when);
    find_overlaps(run, rs, &dim, keys, nkeys, &when);
    lr_sql tail = lr_sql_new(&run->arena);
    for (int i = 0; i < nkeys; i++)
        lr_sqlf(&tail, i == 0 ? "\"fact\".%I = \"v\".%I" : " AND \"fact\".%I = \"v\".%I", keys[i].fact, keys[i].dim);
    lr_sql *u = &rs->unmatched;
    *u = lr_sql_new(&run->arena);
    for (int i = 0; i < nkeys; i++) lr_sqlf(u, i == 0 ? "\"fact\".%I" : ", \"fact\".%I", keys[i].fact);
    lr_sqlf(u, ", \"fact\".%I FROM (", at);
    lr_sql *ends = rs->check_ends;
    ends[0] = lr_sql_new(&run->arena);
    lr_sqlf(&ends[0], ") AS \"fact\" WHERE %Q) LIMIT 1", &tail);
    ends[1] = lr_sql_new(&run->arena);
    lr_sqlf(&ends[1], ") AS \"fact\" WHERE NOT EXISTS (SELECT 1 FROM %T AS \"dim\" WHERE ", &dim.table);
    matches(run, &ends[1], keys, nkeys, at, mode, &when);
    lr_sqlf(&ends[1], ")");
    out->kind = LR_RESULT_ROWS;
    out->rows = rs;
    return 0;
}

/* The columns of a row as "1, 2026-01-20". */
static const char *row_text(lr_run *run, const lr_value *row, int n)
{
    lr_buf b = {0};
    for (int i = 0; i < n; i++) {
        const char *text = lr_value_text(&run->arena, &row[i]);
        lr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", text != NULL ? text : "NULL");
    }
    const char *out = lr_dup(&run->arena, b.data);
    lr_buf_free(&b);
    return out;
}

static int check_overlaps(lr_run *run, lr_rowset *rs, const lr_sql *inner, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_sql *ends = rs->check_ends;
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "%Q%Q%Q", &rs->overlaps, inner, &ends[0]);
    lr_cursor *k;
    const lr_value *row;
    int n;
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    w->driver->columns(k, &n);
    if (got == 1) {
        lr_fail(e, LR_FAILED, "%s has overlapping versions of key (%s) from %s on", rs->dimension,
                row_text(run, row, n - 3), row_text(run, row + n - 3, 1));
        lr_hint(e, "each key may have one version at a time: correct valid_from and valid_to");
    }
    w->driver->finish(k);
    return got == 0 ? 0 : -1;
}

static int check_unmatched(lr_run *run, lr_rowset *rs, const lr_sql *inner, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_sql *ends = rs->check_ends;
    lr_value count;
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT count(*) FROM (SELECT %Q%Q%Q) AS \"u\"", &rs->unmatched, inner, &ends[1]);
    if (lr_query_value(run, w, &q, &run->arena, &count, NULL, e) != 0) return -1;
    if (count.i == 0) return 0;
    if (rs->drop_unmatched || rs->keep_unmatched) {
        if (!rs->prepared) lr_note(run, "%lld facts of %s have no version in %s: %s", (long long)count.i, rs->title,
                                   rs->dimension, rs->drop_unmatched ? "dropped" : "kept with NULL");
        if (!rs->prepared && rs->drop_unmatched) run->counts.skipped += count.i;
        return 0;
    }
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT %Q%Q%Q LIMIT 5", &rs->unmatched, inner, &ends[1]);
    lr_cursor *k;
    const lr_value *row;
    int n, got;
    lr_buf names = {0};
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    w->driver->columns(k, &n);
    while ((got = w->driver->next(k, &row, e)) == 1)
        lr_buf_printf(&names, "%s(%s)", names.len > 0 ? ", " : "", row_text(run, row, n));
    w->driver->finish(k);
    if (got == 0) {
        lr_fail(e, LR_FAILED, "%lld fact(s) without a version in %s: %s", (long long)count.i, rs->dimension, names.data);
        lr_hint(e, "add the missing versions, or pass unmatched = \"null\" or \"drop\"");
    }
    lr_buf_free(&names);
    return -1;
}

int lr_join_prepare(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_sql inner = lr_sql_new(&run->arena);
    if (run->mode == LR_MODE_PLAN && lr_rowset_extract(rs)->place->conn != run->session->warehouse->conn) return 0;
    if (lr_rowset_sql(run, rs->input, &inner, e) != 0) return -1;
    if (check_overlaps(run, rs, &inner, e) != 0 || check_unmatched(run, rs, &inner, e) != 0) {
        if (e->where[0] == 0) snprintf(e->where, sizeof e->where, "%s", rs->where);
        return lr_step(e, "scd2_join with %s", rs->dimension);
    }
    rs->prepared = 1;
    return 0;
}
