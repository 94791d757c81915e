/* reconcile: the source's side against the warehouse's, inside the transaction. */
#include "base/decimal.h"
#include "primitive/reconcile.h"
#include <stdlib.h>
#include <string.h>

static const lr_option options[] = {
    {"with", LR_ARG_STRING, 1, NULL, "the table at the warehouse"},
    {"sum", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 0, NULL, "columns to add up, or { source_column = \"target_column\" }"},
    {"rows", LR_ARG_BOOL, 0, "true", "compare the number of rows"},
    {"by", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 0, NULL, "compare for each group of these columns"},
    {"tolerance", LR_ARG_STRING | LR_ARG_INT | LR_ARG_REAL, 0, "0", "difference of a total that is let pass, as \"0.01\""},
    {"key", LR_ARG_STRING | LR_ARG_LIST, 0, "as the write's", "rows whose key has moved on past the window in the source are left out; deep: it tells rows apart (else the table's primary key)"},
    {"column", LR_ARG_STRING, 0, "as the write's", "the target's time column"},
    {"partition", LR_ARG_MAP, 0, "as the write's", "narrows the target: { region = \"EU\" }"},
    {"deep", LR_ARG_BOOL, 0, "false", "compare every row, by checksums that the databases compute, and name those that differ by key"},
    {"columns", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 0, "all that both have", "deep: what is compared beside the key; { source_column = \"target_column\" }"},
    {"limit", LR_ARG_INT, 0, "10", "deep: how many keys are named"},
    {"fail", LR_ARG_BOOL, 0, "true", "false only reports"},
};

#define DEFAULT_LIMIT 10
#define MOST_LIMIT 1000

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_reconcile = {
    .name = "reconcile",
    .summary = "compare count, exact totals and, with deep, each row of the rows' window with the warehouse; a difference fails the run",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .returns = "{ equal, lines = { { metric, group, source, warehouse, difference, equal } } }; a row that differs has its key as group",
    .refuses = "a difference: NULL is not 22.00, and NULL is not 0. Rows that only the target has are named by the write's key",
    .example = "reconcile { orders, with = \"dw_orders\", sum = \"amount\" }",
    .call = call,
};

int lr_read_pairs(lr_run *run, const lr_arg *a, lr_sum_pair *out, int room, int *n, const char *option, lr_err *e)
{
    *n = a->type == LR_ARG_NONE ? 0 : a->type == LR_ARG_STRING ? 1 : a->n;
    if (*n > room) return lr_fail(e, LR_FAILED, "%s names more than %s", option, room == 1 ? "one column" : lr_printf(&run->arena, "%d columns", room));
    for (int i = 0; i < *n; i++) {
        const lr_arg *item = a->type == LR_ARG_STRING ? a : &a->items[i];
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "%s holds something that is no column", option);
        out[i].target = lr_dup(&run->arena, item->value.s.p);
        const char *name = a->type == LR_ARG_MAP ? a->names[i] : NULL;
        out[i].source = name != NULL ? lr_dup(&run->arena, name) : out[i].target;
    }
    return 0;
}

/* Digits after the point that a total is shown with; -1: its shortest form. */
static int scale_of(const lr_type *t)
{
    return t->kind == LR_KIND_DECIMAL ? t->scale : -1;
}

static int check_pairs(lr_comparison *p, lr_sum_pair *pairs, int n, lr_err *e)
{
    const lr_dialect *d = p->run->session->warehouse->dialect;
    for (int i = 0; i < n; i++) {
        int s = lr_rowset_field(p->run, p->rs, pairs[i].source, e), t = lr_field_find(d, &p->target, pairs[i].target);
        if (s < 0) return -1;
        if (t < 0) {
            lr_fail(e, LR_FAILED, "%s has no column \"%s\"", p->name, pairs[i].target);
            return lr_hint(e, "write { %s = \"its name there\" }", pairs[i].source);
        }
        int a = scale_of(&p->rs->fields[s].type), b = scale_of(&p->target.fields[t].type);
        pairs[i].scale = a > b ? a : b;
    }
    return 0;
}

int lr_compare_line(lr_comparison *p, const lr_report_line *given, const char *label, const char *text, lr_err *e)
{
    lr_run *run = p->run;
    p->out->lines = lr_grow(&run->arena, p->out->lines, p->out->nlines, &p->room, sizeof *p->out->lines);
    p->out->lines[p->out->nlines++] = *given;
    if (!given->equal) p->out->equal = 0;
    const lr_window *w = p->rs->window;
    lr_check *c = lr_alloc(&run->arena, sizeof *c);
    *c = (lr_check){p->name, given->metric, given->group, given->source, given->warehouse,
                    w != NULL ? lr_edge_text(run, &w->start) : NULL, w != NULL ? lr_edge_text(run, &w->stop) : NULL, given->equal,
                    run->checked};
    run->checked = c;
    lr_event ev = {.name = "check"};
    lr_event_text(&ev, "target", p->name);
    lr_event_text(&ev, "metric", given->metric);
    lr_event_text(&ev, "label", label);
    lr_event_text(&ev, "group_value", given->group);
    lr_event_text(&ev, "source_value", given->source);
    lr_event_text(&ev, "warehouse_value", given->warehouse);
    lr_event_text(&ev, "difference", given->difference);
    lr_event_bool(&ev, "equal", given->equal);
    lr_event_text(&ev, "window_start", c->start);
    lr_event_text(&ev, "window_stop", c->stop);
    if (text != NULL) lr_event_text(&ev, "text", text);
    lr_report(run, &ev);
    return run->mode == LR_MODE_RUN ? lr_ledger_add_check(run, c, e) : 0;
}

/* Rows of the target in the partition; without those whose keys moved on, or NULL. */
static void warehouse_rows(const lr_comparison *p, const lr_sql *moved, lr_sql *q)
{
    lr_sql all = lr_sql_new(q->arena);
    lr_sqlf(&all, "SELECT * FROM %T AS \"target\" WHERE %Q", &p->target.table, &p->inside);
    if (moved == NULL) {
        lr_sqlf(q, "%Q", &all);
        return;
    }
    lr_sqlf(q, "SELECT \"target\".* FROM (%Q) AS \"target\"", &all);
    p->run->session->warehouse->dialect->unmatched(q, "target", moved, "later", p->key, p->nkey);
}

static int condition(lr_comparison *p, const lr_args *args, const lr_written *w, const lr_arg *partition, lr_err *e)
{
    const lr_primitive *me = &lr_primitive_reconcile;
    lr_run *run = p->run;
    const lr_place *house = run->session->warehouse;
    const char *column = lr_arg_text(lr_arg_of(me, args, "column"), w != NULL && w->column != NULL ? w->column : p->rs->time_name);
    p->inside = lr_sql_new(&run->arena);
    if (p->rs->window == NULL) {
        lr_sqlf(&p->inside, "1=1");
    } else {
        int at = column != NULL ? lr_field_find(house->dialect, &p->target, column) : -1;
        if (at < 0) {
            lr_fail(e, LR_FAILED, "%s has no column \"%s\" to find the window's rows by", p->name, column != NULL ? column : "?");
            return lr_hint(e, "pass column = with the target's time column");
        }
        lr_rowset *x = lr_rowset_extract(p->rs);
        lr_bounds b = {0};
        lr_time_column c = {.place = house, .table = p->name, .column = column, .type = &p->target.fields[at].type, .mode = x->time};
        c.expr = lr_sql_column(&run->arena, NULL, column);
        if (p->rs->window->newest) {
            b = x->bounds;
            b.type = c.type;
        } else if (lr_window_bounds(run, p->rs->window, &c, &b, e) != 0) return -1;
        b.by_instant = x->bounds.by_instant;
        lr_sql from = lr_sql_new(&run->arena);
        lr_sqlf(&from, " FROM %T WHERE 1=1", &p->target.table);
        if (lr_check_times(run, house, &p->target.table, p->name, column, &from, &c.expr, &b, e) != 0) return -1;
        if (p->rs->time_name == NULL || !lr_name_equal(house->dialect, column, p->rs->time_name)) p->column = column;
        lr_sqlf(&p->inside, "(");
        house->dialect->within(&p->inside, &c.expr, &b);
        if (x->nulls == LR_NULLS_INCLUDE) lr_sqlf(&p->inside, " OR %Q IS NULL", &c.expr);
        lr_sqlf(&p->inside, ")");
    }
    if (partition->type == LR_ARG_NONE && w != NULL && w->partition != NULL) lr_sqlf(&p->inside, "%Q", w->partition);
    return lr_partition_sql(run, &p->target, partition, &p->inside, e);
}

/* Has the target more rows, of a group or in all? */
static int more_stored(const lr_comparison *p)
{
    for (int i = 0; i < p->out->nlines; i++) {
        const lr_report_line *line = &p->out->lines[i];
        if (!line->equal && strcmp(line->metric, "rows") == 0 && line->difference != NULL && line->difference[0] == '-') return 1;
    }
    return 0;
}

static int report(lr_comparison *p, const lr_args *args, const lr_sql *stored, lr_err *e)
{
    lr_run *run = p->run;
    lr_event ev = {.name = "checked"};
    lr_event_text(&ev, "target", p->name);
    lr_event_text(&ev, "window", p->rs->window != NULL ? lr_window_text(run, p->rs->window) : NULL);
    lr_event_bool(&ev, "equal", p->out->equal);
    lr_event_int(&ev, "moved_on", p->moved);
    if (p->deep != NULL) lr_event_int(&ev, "rows_fetched", lr_deep_fetched(p));
    lr_report(run, &ev);
    run->checks++;
    if (p->out->equal) return 0;
    run->differs++;
    if (run->mode != LR_MODE_RECONCILE && lr_arg_bool(lr_arg_of(&lr_primitive_reconcile, args, "fail"), 1))
        return lr_differs(p, stored, p->primitive, more_stored(p), e);
    return 0;
}

/* The job's key, else the write's, else, to compare row by row, the table's. */
static int find_key(lr_comparison *p, const lr_args *args, const lr_written *w, int by_rows, lr_err *e)
{
    lr_run *run = p->run;
    if (lr_arg_names(&run->arena, lr_arg_of(&lr_primitive_reconcile, args, "key"), &p->key, &p->nkey, e) != 0) return -1;
    if (p->nkey == 0 && w != NULL && w->nkey > 0) {
        p->key = w->key;
        p->nkey = w->nkey;
    }
    if (p->nkey == 0 && by_rows) {
        p->key = lr_alloc(&run->arena, (size_t)(p->target.nfields + 1) * sizeof *p->key);
        for (int place = 1; place <= p->target.nfields; place++)
            for (int i = 0; i < p->target.nfields; i++)
                if (p->target.fields[i].primary == place) p->key[p->nkey++] = p->target.fields[i].name;
        if (p->nkey == 0) {
            lr_fail(e, LR_FAILED, "rows cannot be told apart: neither the write nor %s has a key", p->name);
            return lr_hint(e, "pass key = \"...\" to reconcile");
        }
    }
    for (int i = 0; i < p->nkey; i++)
        if (lr_field_find(run->session->warehouse->dialect, &p->target, p->key[i]) < 0)
            return lr_fail(e, LR_FAILED, "%s has no column \"%s\"", p->name, p->key[i]);
    return 0;
}

/* How many of the stored rows have moved on; without: the others. */
static int leave_moved(lr_comparison *p, const lr_sql *stored, lr_sql *without, lr_err *e)
{
    lr_run *run = p->run;
    lr_sql later = lr_sql_new(&run->arena);
    int64_t all, left;
    int possible = 0;
    if (lr_moved_on(run, p->rs, &p->target, p->key, p->nkey, &later, &possible, e) != 0) return -1;
    if (!possible) return 0;
    *without = lr_sql_new(&run->arena);
    warehouse_rows(p, &later, without);
    if (lr_count_rows(run, stored, &all, e) != 0 || lr_count_rows(run, without, &left, e) != 0) return -1;
    p->moved = all - left;
    return 0;
}

static int list_statements(lr_comparison *p, const lr_sql *rows, const lr_sql *stored, int totals, lr_err *e)
{
    lr_event ev = {.name = "step"};
    lr_event_text(&ev, "primitive", "reconcile");
    lr_event_text(&ev, "target", p->name);
    lr_report(p->run, &ev);
    for (int source = 1; source >= 0; source--) {
        const lr_sql *from = source ? rows : stored;
        lr_sql total = totals ? lr_totals_sql(p, from, source) : lr_sql_new(&p->run->arena);
        lr_sql deep = p->deep != NULL ? lr_deep_sql(p, from, source) : lr_sql_new(&p->run->arena);
        if (totals && lr_write(p->run, &total, NULL, e) != 0) return -1;
        if (p->deep != NULL && lr_write(p->run, &deep, NULL, e) != 0) return -1;
    }
    return 0;
}

static int compare(lr_comparison *p, const lr_args *args, lr_err *e)
{
    lr_run *run = p->run;
    const lr_place *house = run->session->warehouse;
    lr_sql rows = lr_sql_new(&run->arena), stored = lr_sql_new(&run->arena), without;
    lr_totals *a = NULL, *b = NULL;
    int na = 0, nb = 0;
    /* rows that are compared one by one are counted on the way */
    int totals = p->deep == NULL || p->nsums > 0 || p->nby > 0;
    warehouse_rows(p, NULL, &stored);
    if (lr_rowset_origin(run, p->rs, &p->home, &rows, e) != 0) return -1;
    if (run->mode == LR_MODE_PLAN) return list_statements(p, &rows, &stored, totals, e);
    lr_sql qa = lr_totals_sql(p, &rows, 1), qb = lr_totals_sql(p, &stored, 0);
    if (totals && (lr_totals_read(p, p->home, &qa, &a, &na, e) != 0 || lr_totals_read(p, house, &qb, &b, &nb, e) != 0)) return -1;
    if (p->deep != NULL && lr_deep_read(p, &rows, &stored, e) != 0) return -1;
    /* Where both agree no row can have moved on. */
    if (!lr_totals_equal(p, a, na, b, nb) || (p->deep != NULL && !lr_deep_equal(p))) {
        if (leave_moved(p, &stored, &without, e) != 0) return -1;
        if (p->moved > 0) {
            stored = without;
            qb = lr_totals_sql(p, &stored, 0);
            if (totals && lr_totals_read(p, house, &qb, &b, &nb, e) != 0) return -1;
            if (p->deep != NULL && lr_deep_read(p, &rows, &stored, e) != 0) return -1;
        }
    }
    if (totals && lr_totals_report(p, a, na, b, nb, e) != 0) return -1;
    if (p->deep != NULL && lr_deep_report(p, &rows, &stored, !totals && p->count_rows, e) != 0) return -1;
    return report(p, args, &stored, e);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *me = &lr_primitive_reconcile;
    const lr_place *house = run->session->warehouse;
    lr_comparison p = {.run = run, .rs = (lr_rowset *)args->first.p, .out = out};
    const lr_arg *tolerance = lr_arg_of(me, args, "tolerance");
    const char *with = lr_arg_text(lr_arg_of(me, args, "with"), NULL);
    const lr_arg *limit = lr_arg_of(me, args, "limit");
    int by_rows = run->by_rows || lr_arg_bool(lr_arg_of(me, args, "deep"), 0);
    out->kind = LR_RESULT_REPORT;
    out->equal = 1;
    out->unknown = run->mode == LR_MODE_PLAN;
    p.count_rows = lr_arg_bool(lr_arg_of(me, args, "rows"), 1);
    p.tolerance = tolerance->type == LR_ARG_NONE ? "0" : lr_value_text(&run->arena, &tolerance->value);
    if (limit->type == LR_ARG_INT && (limit->value.i < 1 || limit->value.i > MOST_LIMIT))
        return lr_fail(e, LR_FAILED, "limit must be from 1 to %d", MOST_LIMIT);
    if (!lr_is_decimal(p.tolerance, strlen(p.tolerance)) || p.tolerance[0] == '-')
        return lr_fail(e, LR_FAILED, "tolerance must be a positive number such as \"0.01\"");
    if (lr_place_relation(house, &run->arena, with, 0, &p.target, e) != 0) return -1;
    p.name = lr_dup(&run->arena, p.target.exists ? p.target.table.name : with);
    if (!p.target.exists) {
        if (run->mode == LR_MODE_PLAN) return 0; /* it would be made by then */
        lr_fail(e, LR_FAILED, "there is no table %s at the warehouse", with);
        return lr_hint(e, "write into it before it is compared, or correct with");
    }
    p.by = lr_alloc(&run->arena, LR_MAX_SUMS * sizeof *p.by);
    if (lr_read_pairs(run, lr_arg_of(me, args, "sum"), p.sums, LR_MAX_SUMS, &p.nsums, "sum", e) != 0 ||
        lr_read_pairs(run, lr_arg_of(me, args, "by"), p.by, LR_MAX_SUMS, &p.nby, "by", e) != 0 ||
        check_pairs(&p, p.sums, p.nsums, e) != 0 || check_pairs(&p, p.by, p.nby, e) != 0)
        return -1;
    if (!p.count_rows && p.nsums == 0 && !by_rows) {
        lr_fail(e, LR_FAILED, "reconcile has nothing to compare");
        return lr_hint(e, "pass sum = \"amount\", or leave rows = false out");
    }
    if (lr_rowset_prepare(run, p.rs, e) != 0) return -1;
    const lr_written *best = NULL;
    for (const lr_written *w = run->written; w != NULL; w = w->next) {
        if (!lr_name_equal(house->dialect, w->target, p.name)) continue;
        if (best == NULL || (w->rows == p.rs && best->rows != p.rs)) best = w;
    }
    p.primitive = best != NULL ? best->primitive : NULL;
    if (condition(&p, args, best, lr_arg_of(me, args, "partition"), e) != 0 || find_key(&p, args, best, by_rows, e) != 0) return -1;
    if (by_rows && lr_deep_open(&p, lr_arg_of(me, args, "columns"), limit->type == LR_ARG_INT ? limit->value.i : DEFAULT_LIMIT, e) != 0)
        return -1;
    int failed = compare(&p, args, e);
    lr_buf_free(&p.differences);
    return failed;
}
