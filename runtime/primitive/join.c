/* scd2_join: each fact with the dimension's version that was true at its time. */
#include "base/timestyle.h"
#include "primitive/target.h"
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

/* What is joined by what. plain: the times compare as they are stored. */
typedef struct lr_join {
    lr_relation dim;
    pair *keys;
    int nkeys;
    const char *at, *from, *to;
    lr_type at_type, from_type, to_type;
    lr_time_mode mode;
    int plain;
    int defer;   /* the next use fails at a fact without a version by itself */
    int guarded; /* its SQL does */
} lr_join;

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

static void keys_of(const lr_join *j, lr_sql *q, const char *side)
{
    for (int i = 0; i < j->nkeys; i++) lr_sqlf(q, i == 0 ? "%I.%I" : ", %I.%I", side, strcmp(side, "fact") == 0 ? j->keys[i].fact : j->keys[i].dim);
}

/* A time as it compares. */
static void moment(lr_run *run, const lr_join *j, const char *side, const char *column, lr_time_mode mode, const lr_type *type, lr_sql *q)
{
    lr_sql plain = lr_sql_column(&run->arena, side, column);
    if (j->plain) lr_sqlf(q, "%Q", &plain);
    else run->session->warehouse->dialect->instant(q, &plain, mode, run->job->zone, type);
}

/* Equality of the keys, and the version's half-open interval around the fact. */
static void matches(lr_run *run, const lr_join *j, lr_sql *q)
{
    lr_sql high = lr_sql_column(&run->arena, "dim", j->to);
    for (int i = 0; i < j->nkeys; i++)
        lr_sqlf(q, i == 0 ? "\"fact\".%I = \"dim\".%I" : " AND \"fact\".%I = \"dim\".%I", j->keys[i].fact, j->keys[i].dim);
    lr_sqlf(q, " AND ");
    moment(run, j, "fact", j->at, j->mode, &j->at_type, q);
    lr_sqlf(q, " >= ");
    moment(run, j, "dim", j->from, LR_ISO, &j->from_type, q);
    lr_sqlf(q, j->plain ? " AND (%Q IS NULL OR " : " AND (%Q IS NULL OR %Q >= '9999-12-31' OR ", &high, &high);
    moment(run, j, "fact", j->at, j->mode, &j->at_type, q);
    lr_sqlf(q, " < ");
    moment(run, j, "dim", j->to, LR_ISO, &j->to_type, q);
    lr_sqlf(q, ")");
}

/* The first moment after a version of the dimension under a name. */
static lr_sql stop_of(lr_run *run, const lr_join *j, const char *side)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_sql high = lr_sql_column(&run->arena, side, j->to), stop = lr_sql_new(&run->arena);
    lr_sqlf(&stop, "CASE WHEN %Q IS NULL OR %Q >= '9999-12-31' THEN ", &high, &high);
    if (j->plain) d->last(&stop, &j->to_type);
    else d->forever(&stop);
    lr_sqlf(&stop, " ELSE ");
    moment(run, j, side, j->to, LR_ISO, &j->to_type, &stop);
    lr_sqlf(&stop, " END");
    return stop;
}

/* Neighbours of one key, by their start: the earlier must end where or before
 * the later begins. */
static void overlaps(lr_run *run, const lr_join *j, lr_sql *q)
{
    lr_sql low = lr_sql_column(&run->arena, "dim", j->from), start = lr_sql_new(&run->arena), list = lr_sql_new(&run->arena);
    lr_sql stop = stop_of(run, j, "dim");
    moment(run, j, "dim", j->from, LR_ISO, &j->from_type, &start);
    keys_of(j, &list, "dim");
    lr_sqlf(q, "SELECT \"v\".* FROM (SELECT %Q, %Q AS \"first\", %Q AS \"after\", "
               "lead(%Q) OVER (PARTITION BY %Q ORDER BY %Q) AS \"next\" FROM %T AS \"dim\" WHERE %Q < %Q) AS \"v\" "
               "WHERE \"v\".\"next\" < \"v\".\"after\"", &list, &low, &stop, &start, &list, &start, &j->dim.table, &start, &stop);
}

/* Are there any? Where a constraint lets a version be found by key and start, each
 * looks whether another begins inside it. */
static void any_overlap(lr_run *run, const lr_join *j, lr_sql *q)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    const char **version = lr_alloc(&run->arena, (size_t)(j->nkeys + 1) * sizeof *version);
    for (int i = 0; i < j->nkeys; i++) version[i] = j->keys[i].dim;
    version[j->nkeys] = j->from;
    if (!d->seeks || !j->plain || lr_unique_key(d, &j->dim, version, j->nkeys + 1) == NULL) {
        overlaps(run, j, q);
        return;
    }
    lr_sql stop = stop_of(run, j, "dim"), other = stop_of(run, j, "other");
    lr_sqlf(q, "SELECT 1 FROM %T AS \"dim\" JOIN %T AS \"other\" ON \"other\".%I > \"dim\".%I AND \"other\".%I < %Q", &j->dim.table,
            &j->dim.table, j->from, j->from, j->from, &stop);
    for (int i = 0; i < j->nkeys; i++) lr_sqlf(q, " AND \"other\".%I = \"dim\".%I", j->keys[i].dim, j->keys[i].dim);
    lr_sqlf(q, " WHERE \"dim\".%I < %Q AND \"other\".%I < %Q", j->from, &stop, j->from, &other);
}

/* The facts without a version: their keys and times. */
static void strays(lr_run *run, const lr_join *j, const lr_sql *inner, lr_sql *q)
{
    lr_sqlf(q, "SELECT ");
    keys_of(j, q, "fact");
    lr_sqlf(q, ", \"fact\".%I FROM (%Q) AS \"fact\" LEFT JOIN %T AS \"dim\" ON ", j->at, inner, &j->dim.table);
    matches(run, j, q);
    lr_sqlf(q, " WHERE \"dim\".%I IS NULL", j->from);
}

static void build(lr_run *run, lr_rowset *rs)
{
    rs->from = lr_sql_new(&run->arena);
    lr_sqlf(&rs->from, ") AS \"fact\" %s JOIN %T AS \"dim\" ON ", rs->drop_unmatched ? "INNER" : "LEFT", &rs->join->dim.table);
    matches(run, rs->join, &rs->from);
    if (!rs->join->guarded) return;
    lr_sql start = lr_sql_column(&run->arena, "dim", rs->join->from);
    lr_sqlf(&rs->from, " WHERE ");
    run->session->warehouse->dialect->never_null(&rs->from, &start);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_scd2_join;
    const lr_place *w = run->session->warehouse;
    lr_rowset *facts = (lr_rowset *)args->first.p;
    pair *keys, *take;
    int nkeys, ntake;
    lr_relation dim;
    const char *name = lr_arg_text(lr_arg_of(p, args, "dim"), NULL);
    if (read_pairs(run, lr_arg_of(p, args, "key"), &keys, &nkeys, e) != 0) return -1;
    if (read_pairs(run, lr_arg_of(p, args, "take"), &take, &ntake, e) != 0) return -1;
    if (lr_place_relation(w, &run->arena, name, 1, &dim, e) != 0) return -1;
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
    lr_join *j = lr_alloc(&run->arena, sizeof *j);
    *j = (lr_join){dim, keys, nkeys, at, from, to, lr_rowset_type(run, facts, lr_rowset_field(run, facts, at, e)),
                   dim.fields[dim_column(run, &dim, from, e)].type, dim.fields[dim_column(run, &dim, to, e)].type, LR_ISO, 0, 0, 0};
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
    rs->origins = lr_alloc(&run->arena, (size_t)(facts->n + ntake) * sizeof *rs->origins);
    rs->select = lr_sql_new(&run->arena);
    lr_sqlf(&rs->select, "SELECT ");
    for (int i = 0; i < facts->n; i++) {
        lr_sqlf(&rs->select, i == 0 ? "\"fact\".%I" : ", \"fact\".%I", facts->fields[i].name);
        rs->origins[rs->n] = facts->fields[i].name;
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
        rs->fields[rs->n].said = LR_SAID_NAME;
        rs->fields[rs->n++].type = dim.fields[d].type;
    }
    lr_rowset *extract = lr_rowset_extract(facts);
    if (extract->time_name != NULL && lr_name_equal(w->dialect, extract->time_name, at)) j->mode = extract->time;
    lr_sqlf(&rs->select, " FROM (");
    rs->join = j;
    build(run, rs);
    out->kind = LR_RESULT_ROWS;
    out->rows = rs;
    return 0;
}

static int check_overlaps(lr_run *run, lr_rowset *rs, const lr_sql *inner, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_join *j = rs->join;
    lr_sql q = lr_sql_new(&run->arena), all = lr_sql_new(&run->arena);
    int any;
    any_overlap(run, j, &q);
    if (lr_any_row(run, w, &q, &any, e) != 0) return -1;
    if (!any) return 0;
    q = lr_sql_new(&run->arena);
    overlaps(run, j, &all);
    /* only keys that the facts use matter */
    lr_sqlf(&q, "SELECT \"v\".* FROM (%Q) AS \"v\" JOIN (%Q) AS \"fact\" ON ", &all, inner);
    for (int i = 0; i < j->nkeys; i++)
        lr_sqlf(&q, i == 0 ? "\"fact\".%I = \"v\".%I" : " AND \"fact\".%I = \"v\".%I", j->keys[i].fact, j->keys[i].dim);
    lr_sqlf(&q, " LIMIT 1");
    lr_cursor *k;
    const lr_value *row;
    int n;
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    w->driver->columns(k, &n);
    if (got == 1) {
        lr_fail(e, LR_FAILED, "%s has overlapping versions of key (%s) from %s on", rs->dimension,
                lr_row_text(&run->arena, row, n - 3), lr_row_text(&run->arena, row + n - 3, 1));
        lr_hint(e, "each key may have one version at a time: correct valid_from and valid_to");
    }
    w->driver->finish(k);
    return got == 0 ? 0 : -1;
}

static int check_unmatched(lr_run *run, lr_rowset *rs, const lr_sql *inner, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_value count;
    lr_sql q = lr_sql_new(&run->arena), found = lr_sql_new(&run->arena);
    strays(run, rs->join, inner, &found);
    lr_sqlf(&q, "SELECT count(*) FROM (%Q) AS \"u\"", &found);
    if (lr_query_value(run, w, &q, &run->arena, &count, NULL, e) != 0) return -1;
    if (count.i == 0) return 0;
    if (rs->drop_unmatched || rs->keep_unmatched) {
        if (!rs->prepared) lr_note(run, "%lld facts of %s have no version in %s: %s", (long long)count.i, rs->title,
                                   rs->dimension, rs->drop_unmatched ? "dropped" : "kept with NULL");
        if (!rs->prepared && rs->drop_unmatched) run->counts.skipped += count.i;
        return 0;
    }
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "%Q LIMIT 5", &found);
    lr_cursor *k;
    const lr_value *row;
    int n, got;
    lr_buf names = {0};
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    w->driver->columns(k, &n);
    while ((got = w->driver->next(k, &row, e)) == 1)
        lr_buf_printf(&names, "%s(%s)", names.len > 0 ? ", " : "", lr_row_text(&run->arena, row, n));
    w->driver->finish(k);
    if (got == 0) {
        lr_fail(e, LR_FAILED, "%lld fact(s) without a version in %s: %s", (long long)count.i, rs->dimension, names.data);
        lr_hint(e, "add the missing versions, or pass unmatched = \"null\" or \"drop\"");
    }
    lr_buf_free(&names);
    return -1;
}

/* Where all times are of forms that sort as time, the engine compares them as
 * they are, and an index over a key and its versions serves. */
static int find_plain(lr_run *run, const lr_rowset *rs, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_join *j = rs->join;
    /* looked for where the facts come from: another join only adds columns */
    lr_rowset *base = rs->input;
    while (base->kind == LR_ROWS_JOIN && lr_rowset_has(run, base->input, j->at)) base = base->input;
    lr_sql inner = lr_sql_new(&run->arena);
    if (lr_rowset_sql(run, base, &inner, e) != 0) return -1;
    lr_sql facts = lr_sql_new(&run->arena), versions = lr_sql_new(&run->arena), ended = lr_sql_new(&run->arena);
    const struct {
        const char *column;
        const lr_type *type, *other;
        const lr_sql *from;
    } sides[] = {{j->from, &j->from_type, &j->at_type, &versions}, {j->to, &j->to_type, &j->at_type, &ended}, {j->at, &j->at_type, &j->from_type, &facts}};
    lr_sql end = lr_sql_column(&run->arena, "dim", j->to);
    lr_sqlf(&versions, " FROM %T AS \"dim\"", &j->dim.table);
    lr_sqlf(&ended, "%Q WHERE %Q < '9999-12-31'", &versions, &end);
    lr_sqlf(&facts, " FROM (%Q) AS \"fact\"", &inner);
    int styles[] = {LR_STYLE_ANY, LR_STYLE_ANY}, seen = 0; /* of the bounds, of the facts */
    if (j->mode != LR_ISO) return 0;
    for (int i = 0; i < 3; i++) {
        lr_sql q = lr_sql_new(&run->arena), column = lr_sql_column(&run->arena, i < 2 ? "dim" : "fact", sides[i].column);
        lr_value v;
        int how = w->dialect->plain_times(&q, sides[i].from, &column, sides[i].type, sides[i].other, run->job->zone);
        if (how == 0) return 0;
        if (how == 1) continue;
        if (lr_query_value(run, w, &q, &run->arena, &v, NULL, e) != 0) return -1;
        styles[i / 2] &= (int)v.i;
        seen = 1;
        if (styles[i / 2] == 0) return 0;
    }
    if (seen && !lr_styles_sort(styles[0], styles[1])) return 0;
    j->plain = 1;
    return 0;
}

int lr_join_prepare(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_sql inner = lr_sql_new(&run->arena);
    if (run->mode == LR_MODE_PLAN && lr_rowset_extract(rs)->place->conn != run->session->warehouse->conn) return 0;
    if (lr_rowset_sql(run, rs->input, &inner, e) != 0) return -1;
    rs->join->at_type = lr_rowset_type(run, rs->input, lr_rowset_field(run, rs->input, rs->join->at, e));
    if (find_plain(run, rs, e) != 0) return -1;
    rs->join->guarded = rs->join->defer;
    rs->join->defer = 0;
    build(run, rs);
    if (check_overlaps(run, rs, &inner, e) != 0 || (!rs->join->guarded && check_unmatched(run, rs, &inner, e) != 0)) {
        if (e->where[0] == 0) snprintf(e->where, sizeof e->where, "%s", rs->where);
        return lr_step(e, "scd2_join with %s", rs->dimension);
    }
    rs->prepared = 1;
    return 0;
}

void lr_join_defer(const lr_run *run, lr_rowset *rs)
{
    if (run->mode == LR_MODE_PLAN) return;
    for (; rs != NULL && rs->kind != LR_ROWS_MAP; rs = rs->input)
        if (rs->kind == LR_ROWS_JOIN && !rs->keep_unmatched && !rs->drop_unmatched) rs->join->defer = 1;
}

int lr_join_guarded(const lr_rowset *rs)
{
    for (; rs != NULL && rs->kind != LR_ROWS_MAP; rs = rs->input)
        if (rs->kind == LR_ROWS_JOIN && rs->join->guarded) return 1;
    return 0;
}

int lr_join_explain(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_sql inner = lr_sql_new(&run->arena);
    if (rs == NULL || rs->kind == LR_ROWS_MAP) return 0;
    if (lr_join_explain(run, rs->input, e) != 0) return -1;
    if (rs->kind != LR_ROWS_JOIN || !rs->join->guarded) return 0;
    if (lr_rowset_sql(run, rs->input, &inner, e) != 0) return -1;
    if (check_unmatched(run, rs, &inner, e) == 0) return 0;
    if (e->where[0] == 0) snprintf(e->where, sizeof e->where, "%s", rs->where);
    return lr_step(e, "scd2_join with %s", rs->dimension);
}
