/* reconcile: the source's side against the warehouse's, inside the transaction. */
#include "base/decimal.h"
#include "primitive/target.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const lr_option options[] = {
    {"with", LR_ARG_STRING, 1, NULL, "the table at the warehouse"},
    {"sum", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 0, NULL, "columns to add up, or { source_column = \"target_column\" }"},
    {"rows", LR_ARG_BOOL, 0, "true", "compare the number of rows"},
    {"by", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 0, NULL, "compare for each group of these columns"},
    {"tolerance", LR_ARG_STRING | LR_ARG_INT | LR_ARG_REAL, 0, "0", "difference of a total that is let pass, as \"0.01\""},
    {"key", LR_ARG_STRING | LR_ARG_LIST, 0, "as the write's", "rows whose key has moved on past the window in the source are left out"},
    {"column", LR_ARG_STRING, 0, "as the write's", "the target's time column"},
    {"partition", LR_ARG_MAP, 0, "as the write's", "narrows the target: { region = \"EU\" }"},
    {"fail", LR_ARG_BOOL, 0, "true", "false only reports"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_reconcile = {
    .name = "reconcile",
    .summary = "compare count and exact totals of the rows' window with the warehouse; a difference fails the run",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .returns = "{ equal, lines = { { metric, group, source, warehouse, difference, equal } } }",
    .refuses = "a difference: NULL is not 22.00, and NULL is not 0",
    .example = "reconcile { orders, with = \"dw_orders\", sum = \"amount\" }",
    .call = call,
};

#define MAX_SUMS 32

typedef struct sum_pair {
    const char *source, *target;
    int scale;
} sum_pair;

typedef struct side {
    const char **group; /* texts, NULL entries for NULL */
    const char *values[2 * MAX_SUMS + 1]; /* rows, the sums, and how many values are not NULL */
} side;

typedef struct plan {
    lr_run *run;
    lr_rowset *rs;
    lr_relation target;
    const char *name;
    sum_pair sums[MAX_SUMS];
    int nsums;
    sum_pair *by;
    int nby;
    int count_rows;
    const char *tolerance;
    lr_sql inside; /* the target's condition */
    int64_t moved;
    const lr_place *home; /* where the source's side is read */
    lr_result *out;
    lr_buf differences;
} plan;

static int read_pairs(lr_run *run, const lr_arg *a, sum_pair *out, int room, int *n, const char *option, lr_err *e)
{
    *n = a->type == LR_ARG_NONE ? 0 : a->type == LR_ARG_STRING ? 1 : a->n;
    if (*n > room) return lr_fail(e, LR_FAILED, "reconcile: %s names more than %d columns", option, room);
    for (int i = 0; i < *n; i++) {
        const lr_arg *item = a->type == LR_ARG_STRING ? a : &a->items[i];
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "reconcile: %s holds something that is no column", option);
        out[i].target = lr_dup(&run->arena, item->value.s.p);
        const char *name = a->type == LR_ARG_MAP ? a->names[i] : NULL;
        out[i].source = name != NULL ? lr_dup(&run->arena, name) : out[i].target;
    }
    return 0;
}

static int check_pairs(plan *p, sum_pair *pairs, int n, lr_err *e)
{
    const lr_dialect *d = p->run->session->warehouse->dialect;
    const lr_dialect *from = lr_rowset_extract(p->rs)->place->dialect;
    for (int i = 0; i < n; i++) {
        int s = lr_rowset_field(p->run, p->rs, pairs[i].source, e), t = lr_field_find(d, &p->target, pairs[i].target);
        if (s < 0) return -1;
        if (t < 0) {
            lr_fail(e, LR_FAILED, "%s has no column \"%s\"", p->name, pairs[i].target);
            return lr_hint(e, "write { %s = \"its name there\" }", pairs[i].source);
        }
        int a = from->scale(p->rs->fields[s].decl), b = d->scale(p->target.fields[t].decl);
        pairs[i].scale = a > b ? a : b;
    }
    return 0;
}

/* "SELECT groups, count(*), totals, counts FROM (rows) GROUP BY groups". */
static lr_sql aggregate(const plan *p, const lr_sql *rows, int source)
{
    const lr_dialect *d = source ? p->home->dialect : p->run->session->warehouse->dialect;
    lr_arena *a = &p->run->arena;
    lr_sql q = lr_sql_new(a);
    lr_sqlf(&q, "SELECT ");
    for (int i = 0; i < p->nby; i++) lr_sqlf(&q, "%I, ", source ? p->by[i].source : p->by[i].target);
    lr_sqlf(&q, "count(*)");
    for (int i = 0; i < p->nsums; i++) {
        lr_sql column = lr_sql_column(a, NULL, source ? p->sums[i].source : p->sums[i].target);
        lr_sqlf(&q, ", ");
        const char *name = source ? p->sums[i].source : p->sums[i].target, *decl = "";
        for (int f = 0; source && f < p->rs->n; f++)
            if (lr_name_equal(d, p->rs->fields[f].name, name)) decl = p->rs->fields[f].decl;
        if (!source) decl = p->target.fields[lr_field_find(d, &p->target, name)].decl;
        d->total(&q, &column, decl);
    }
    for (int i = 0; i < p->nsums; i++) lr_sqlf(&q, ", count(%I)", source ? p->sums[i].source : p->sums[i].target);
    lr_sqlf(&q, " FROM (%Q) AS \"rows\"", rows);
    for (int i = 0; i < p->nby; i++) lr_sqlf(&q, i == 0 ? " GROUP BY %I" : ", %I", source ? p->by[i].source : p->by[i].target);
    return q;
}

/* Engines write the same truth, number or moment in different ways. */
static const char *group_key(lr_arena *a, lr_value v)
{
    lr_time t;
    char moment[40];
    if (v.type == LR_BOOL) v.type = LR_INT;
    const char *text = lr_value_text(a, &v);
    if (v.type == LR_TEXT && lr_time_parse(v.s.p, v.s.n, lr_zone_utc(), &t) == 0 && !t.date_only && t.sub == 0)
        return lr_dup(a, lr_format_instant(lr_zone_utc(), t.us, moment));
    if ((v.type != LR_DECIMAL && v.type != LR_REAL) || !lr_is_decimal(text, strlen(text))) return text;
    char *shortest = lr_decimal_minus(text, "0");
    text = lr_dup(a, shortest);
    free(shortest);
    return text;
}

static int read_side(const plan *p, const lr_place *w, const lr_sql *q, side **out, int *n, lr_err *e)
{
    lr_arena *a = &p->run->arena;
    lr_cursor *k;
    const lr_value *row;
    int got, room = 0;
    *n = 0;
    *out = NULL;
    if (lr_query(p->run, w, q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        if (*n == room) {
            room = room == 0 ? 1 : room * 2;
            side *more = lr_alloc(a, (size_t)room * sizeof *more);
            if (*n > 0) memcpy(more, *out, (size_t)*n * sizeof *more);
            *out = more;
        }
        side *s = &(*out)[(*n)++];
        s->group = lr_alloc(a, (size_t)(p->nby + 1) * sizeof *s->group);
        for (int i = 0; i < p->nby; i++) {
            s->group[i] = group_key(a, row[i]);
        }
        for (int i = 0; i <= 2 * p->nsums; i++) s->values[i] = lr_value_text(a, &row[p->nby + i]);
        for (int i = 0; i < p->nsums; i++) {
            const char *text = s->values[i + 1];
            if (text == NULL || !lr_is_decimal(text, strlen(text))) continue;
            /* without a declared scale the shortest form, whatever the engine prints */
            char *scaled = p->sums[i].scale < 0 ? lr_decimal_minus(text, "0") : lr_decimal_scaled(text, p->sums[i].scale);
            s->values[i + 1] = lr_dup(a, scaled);
            free(scaled);
        }
    }
    w->driver->finish(k);
    return got;
}

static int by_width; /* of the groups that qsort compares; set just before */

static int compare_groups(const void *x, const void *y)
{
    const side *a = x, *b = y;
    for (int i = 0; i < by_width; i++) {
        const char *s = a->group[i], *t = b->group[i];
        if (s == NULL || t == NULL) {
            if (s != t) return s == NULL ? -1 : 1;
            continue;
        }
        int c = strcmp(s, t);
        if (c != 0) return c;
    }
    return 0;
}

static int equal_totals(const char *a, const char *b, const char *tolerance)
{
    if (a == NULL || b == NULL) return a == b;
    if (!lr_is_decimal(a, strlen(a)) || !lr_is_decimal(b, strlen(b))) return strcmp(a, b) == 0;
    return lr_decimal_close(a, b, tolerance);
}

static const char *group_text(const plan *p, const side *s)
{
    if (p->nby == 0) return NULL;
    lr_buf b = {0};
    for (int i = 0; i < p->nby; i++) lr_buf_printf(&b, "%s%s", i > 0 ? ", " : "", s->group[i] != NULL ? s->group[i] : "NULL");
    const char *out = lr_dup(&p->run->arena, b.data);
    lr_buf_free(&b);
    return out;
}

static int compare_one(plan *p, const char *group, const char *metric, const char *label, const char *a, const char *b,
                       const char *tolerance, int scale, lr_err *e)
{
    lr_run *run = p->run;
    int equal = equal_totals(a, b, tolerance);
    const char *difference = NULL;
    if (!equal && a != NULL && b != NULL && lr_is_decimal(a, strlen(a)) && lr_is_decimal(b, strlen(b))) {
        char *text = lr_decimal_minus(a, b), *scaled = lr_decimal_scaled(text, scale > 0 ? scale : 0);
        difference = lr_dup(&run->arena, scaled);
        free(text);
        free(scaled);
    }
    lr_report_line *line = &p->out->lines[p->out->nlines++];
    *line = (lr_report_line){metric, group, a, b, difference, equal};
    if (!equal) {
        p->out->equal = 0;
        lr_buf_printf(&p->differences, "%s%s%s%s%s %s <> %s", p->differences.len > 0 ? ", " : "", group != NULL ? "[" : "",
                      group != NULL ? group : "", group != NULL ? "] " : "", label, a != NULL ? a : "NULL", b != NULL ? b : "NULL");
        if (difference != NULL) lr_buf_printf(&p->differences, " (difference %s)", difference);
    }
    const lr_window *w = p->rs->window;
    lr_check *c = lr_alloc(&run->arena, sizeof *c);
    *c = (lr_check){p->name, metric, group, a, b, w != NULL ? lr_edge_text(run, &w->start) : NULL,
                    w != NULL ? lr_edge_text(run, &w->stop) : NULL, equal, run->checked};
    run->checked = c;
    lr_event ev = {.name = "check"};
    lr_event_text(&ev, "target", p->name);
    lr_event_text(&ev, "metric", metric);
    lr_event_text(&ev, "label", label);
    lr_event_text(&ev, "group_value", group);
    lr_event_text(&ev, "source_value", a);
    lr_event_text(&ev, "warehouse_value", b);
    lr_event_text(&ev, "difference", difference);
    lr_event_bool(&ev, "equal", equal);
    lr_event_text(&ev, "window_start", c->start);
    lr_event_text(&ev, "window_stop", c->stop);
    lr_report(run, &ev);
    return run->mode == LR_MODE_RUN ? lr_ledger_add_check(run, c, e) : 0;
}

static int compare_sides(plan *p, const side *a, const side *b, lr_err *e)
{
    static const side nothing;
    const char *group = group_text(p, a != NULL ? a : b);
    side none = nothing;
    none.values[0] = "0"; /* a group that is not there has no rows; its totals are NULL */
    if (a == NULL) a = &none;
    if (b == NULL) b = &none;
    if (p->count_rows && compare_one(p, group, "rows", "rows", a->values[0], b->values[0], "0", 0, e) != 0) return -1;
    for (int i = 0; i < p->nsums; i++) {
        const char *metric = lr_printf(&p->run->arena, "sum(%s)", p->sums[i].source);
        if (compare_one(p, group, metric, p->sums[i].source, a->values[i + 1], b->values[i + 1], p->tolerance, p->sums[i].scale, e) != 0)
            return -1;
        /* 1, NULL and 1, 0 have the same total: with the rows, the values that
         * are there are counted too, and told where they differ. */
        const char *x = a->values[p->nsums + i + 1], *y = b->values[p->nsums + i + 1];
        if (!p->count_rows || x == NULL || y == NULL || strcmp(x, y) == 0) continue;
        metric = lr_printf(&p->run->arena, "count(%s)", p->sums[i].source);
        const char *label = lr_printf(&p->run->arena, "values of %s", p->sums[i].source);
        if (compare_one(p, group, metric, label, x, y, "0", 0, e) != 0) return -1;
    }
    return 0;
}

static int all_equal(const plan *p, const side *a, int na, const side *b, int nb)
{
    if (na != nb) return 0;
    for (int i = 0; i < na; i++) {
        if (compare_groups(&a[i], &b[i]) != 0) return 0;
        if (p->count_rows && strcmp(a[i].values[0], b[i].values[0]) != 0) return 0;
        for (int j = 1; j <= p->nsums; j++) {
            if (!equal_totals(a[i].values[j], b[i].values[j], p->tolerance)) return 0;
            if (p->count_rows && strcmp(a[i].values[p->nsums + j], b[i].values[p->nsums + j]) != 0) return 0;
        }
    }
    return 1;
}

/* Rows of the target in the partition; without those that moved on where keys
 * are given. */
static int warehouse_rows(plan *p, const lr_sql *moved, const char **key, int nkey, lr_sql *q)
{
    lr_sqlf(q, "SELECT * FROM %T AS \"target\" WHERE %Q", &p->target.table, &p->inside);
    if (moved == NULL) return 0;
    lr_sqlf(q, " AND NOT EXISTS (SELECT 1 FROM (%Q) AS \"later\" WHERE ", moved);
    for (int i = 0; i < nkey; i++)
        lr_sqlf(q, i == 0 ? "\"later\".%I = \"target\".%I" : " AND \"later\".%I = \"target\".%I", key[i], key[i]);
    lr_sqlf(q, ")");
    return 0;
}

static int condition(plan *p, const lr_args *args, const lr_written *w, const lr_arg *partition, lr_err *e)
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
        lr_time_column c = {.place = house, .table = p->name, .column = column, .decl = p->target.fields[at].decl, .mode = x->time};
        c.expr = lr_sql_column(&run->arena, NULL, column);
        if (p->rs->window->newest) {
            b = x->bounds;
            b.decl = c.decl;
        } else if (lr_window_bounds(run, p->rs->window, &c, &b, e) != 0) return -1;
        b.by_instant = x->bounds.by_instant;
        lr_sql from = lr_sql_new(&run->arena);
        lr_sqlf(&from, " FROM %T WHERE 1=1", &p->target.table);
        if (lr_check_times(run, house, &p->target.table, p->name, column, &from, &c.expr, &b, e) != 0) return -1;
        lr_sqlf(&p->inside, "(");
        house->dialect->within(&p->inside, &c.expr, &b);
        if (x->nulls == LR_NULLS_INCLUDE) lr_sqlf(&p->inside, " OR %Q IS NULL", &c.expr);
        lr_sqlf(&p->inside, ")");
    }
    if (partition->type == LR_ARG_NONE && w != NULL && w->partition != NULL) lr_sqlf(&p->inside, "%Q", w->partition);
    return lr_partition_sql(run, &p->target, partition, &p->inside, e);
}

static int report(plan *p, const lr_args *args, lr_err *e)
{
    lr_run *run = p->run;
    lr_event ev = {.name = "checked"};
    lr_event_text(&ev, "target", p->name);
    lr_event_text(&ev, "window", p->rs->window != NULL ? lr_window_text(run, p->rs->window) : NULL);
    lr_event_bool(&ev, "equal", p->out->equal);
    lr_event_int(&ev, "moved_on", p->moved);
    lr_report(run, &ev);
    run->checks++;
    if (p->out->equal) return 0;
    run->differs++;
    if (run->mode != LR_MODE_RECONCILE && lr_arg_bool(lr_arg_of(&lr_primitive_reconcile, args, "fail"), 1)) {
        lr_fail(e, LR_DIFFERS, "source and warehouse differ: %s", p->differences.data);
        lr_hint(e, "the run was rolled back; look for what changed the rows on the way, such as a trigger on %s", p->name);
        return -1;
    }
    return 0;
}

static int compare(plan *p, const lr_args *args, const lr_written *w, lr_err *e)
{
    const lr_primitive *me = &lr_primitive_reconcile;
    lr_run *run = p->run;
    lr_sql rows = lr_sql_new(&run->arena), stored = lr_sql_new(&run->arena), later = lr_sql_new(&run->arena);
    side *a, *b;
    int na, nb, nkey, possible = 0;
    const char **key;
    if (lr_arg_names(&run->arena, lr_arg_of(me, args, "key"), &key, &nkey, e) != 0) return -1;
    if (nkey == 0 && w != NULL && w->nkey > 0) {
        key = w->key;
        nkey = w->nkey;
    }
    for (int i = 0; i < nkey; i++)
        if (lr_field_find(run->session->warehouse->dialect, &p->target, key[i]) < 0)
            return lr_fail(e, LR_FAILED, "%s has no column \"%s\"", p->name, key[i]);
    if (lr_rowset_home(run, p->rs, &p->home, &rows, e) != 0) return -1;
    warehouse_rows(p, NULL, NULL, 0, &stored);
    lr_sql qa = aggregate(p, &rows, 1), qb = aggregate(p, &stored, 0);
    if (run->mode == LR_MODE_PLAN) {
        lr_event ev = {.name = "step"};
        lr_event_text(&ev, "primitive", "reconcile");
        lr_event_text(&ev, "target", p->name);
        lr_report(run, &ev);
        if (lr_write(run, &qa, NULL, e) != 0 || lr_write(run, &qb, NULL, e) != 0) return -1;
        return 0;
    }
    const lr_place *house = run->session->warehouse;
    if (read_side(p, p->home, &qa, &a, &na, e) != 0 || read_side(p, house, &qb, &b, &nb, e) != 0) return -1;
    by_width = p->nby;
    if (na > 1) qsort(a, (size_t)na, sizeof *a, compare_groups);
    if (nb > 1) qsort(b, (size_t)nb, sizeof *b, compare_groups);
    /* Where both agree no row can have moved on. */
    if (!all_equal(p, a, na, b, nb)) {
        if (lr_moved_on(run, p->rs, key, nkey, &later, &possible, e) != 0) return -1;
        if (possible) {
            lr_sql without = lr_sql_new(&run->arena), count = lr_sql_new(&run->arena);
            lr_value before, after;
            warehouse_rows(p, &later, key, nkey, &without);
            lr_sqlf(&count, "SELECT count(*) FROM (%Q) AS \"rows\"", &stored);
            if (lr_query_value(run, run->session->warehouse, &count, &run->arena, &before, NULL, e) != 0) return -1;
            count = lr_sql_new(&run->arena);
            lr_sqlf(&count, "SELECT count(*) FROM (%Q) AS \"rows\"", &without);
            if (lr_query_value(run, run->session->warehouse, &count, &run->arena, &after, NULL, e) != 0) return -1;
            p->moved = before.i - after.i;
            qb = aggregate(p, &without, 0);
            if (p->moved > 0 && read_side(p, house, &qb, &b, &nb, e) != 0) return -1;
            if (nb > 1) qsort(b, (size_t)nb, sizeof *b, compare_groups);
        }
    }
    p->out->lines = lr_alloc(&run->arena, (size_t)(na + nb + 1) * (size_t)(2 * p->nsums + 1) * sizeof *p->out->lines);
    for (int i = 0, j = 0; i < na || j < nb;) {
        int c = i == na ? 1 : j == nb ? -1 : compare_groups(&a[i], &b[j]);
        if (compare_sides(p, c <= 0 ? &a[i] : NULL, c >= 0 ? &b[j] : NULL, e) != 0) return -1;
        i += c <= 0;
        j += c >= 0;
    }
    return report(p, args, e);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *me = &lr_primitive_reconcile;
    const lr_place *house = run->session->warehouse;
    plan p = {.run = run, .rs = (lr_rowset *)args->first.p, .out = out};
    lr_table t;
    const lr_arg *tolerance = lr_arg_of(me, args, "tolerance");
    const char *with = lr_arg_text(lr_arg_of(me, args, "with"), NULL);
    out->kind = LR_RESULT_REPORT;
    out->equal = 1;
    out->unknown = run->mode == LR_MODE_PLAN;
    p.count_rows = lr_arg_bool(lr_arg_of(me, args, "rows"), 1);
    p.tolerance = tolerance->type == LR_ARG_NONE ? "0" : lr_value_text(&run->arena, &tolerance->value);
    if (!lr_is_decimal(p.tolerance, strlen(p.tolerance)) || p.tolerance[0] == '-')
        return lr_fail(e, LR_FAILED, "tolerance must be a positive number such as \"0.01\"");
    if (house->dialect->resolve(house->driver, house->conn, &run->arena, house->schema, with, &t, e) != 0) return -1;
    if (house->dialect->relation(house->driver, house->conn, &run->arena, &t, 0, &p.target, e) != 0) return -1;
    p.name = lr_dup(&run->arena, p.target.exists ? p.target.table.name : with);
    if (!p.target.exists) {
        if (run->mode == LR_MODE_PLAN) return 0; /* it would be made by then */
        lr_fail(e, LR_FAILED, "there is no table %s at the warehouse", with);
        return lr_hint(e, "write into it before it is compared, or correct with");
    }
    p.by = lr_alloc(&run->arena, MAX_SUMS * sizeof *p.by);
    if (read_pairs(run, lr_arg_of(me, args, "sum"), p.sums, MAX_SUMS, &p.nsums, "sum", e) != 0 ||
        read_pairs(run, lr_arg_of(me, args, "by"), p.by, MAX_SUMS, &p.nby, "by", e) != 0 ||
        check_pairs(&p, p.sums, p.nsums, e) != 0 || check_pairs(&p, p.by, p.nby, e) != 0)
        return -1;
    if (!p.count_rows && p.nsums == 0) {
        lr_fail(e, LR_FAILED, "reconcile has nothing to compare");
        return lr_hint(e, "pass sum = \"amount\", or leave rows = false out");
    }
    if (lr_rowset_prepare(run, p.rs, e) != 0) return -1;
    const lr_written *best = NULL;
    for (const lr_written *w = run->written; w != NULL; w = w->next) {
        if (!lr_name_equal(house->dialect, w->target, p.name)) continue;
        if (best == NULL || (w->rows == p.rs && best->rows != p.rs)) best = w;
    }
    if (condition(&p, args, best, lr_arg_of(me, args, "partition"), e) != 0) return -1;
    int failed = compare(&p, args, best, e);
    lr_buf_free(&p.differences);
    return failed;
}
