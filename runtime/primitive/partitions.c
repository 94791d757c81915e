/* partitions: the rows of each day, source against warehouse. */
#include "base/decimal.h"
#include "primitive/look.h"
#include "primitive/reconcile.h"
#include <stdlib.h>
#include <string.h>

static const lr_option options[] = {
    {"by", LR_ARG_STRING | LR_ARG_MAP, 1, NULL, "the time column, or another to group by; { source_column = \"target_column\" }"},
    {"from", LR_ARG_STRING, 0, NULL, "the source's table, to stand beside"},
    {"sum", LR_ARG_STRING | LR_ARG_MAP, 0, NULL, "a column to add up, or { source_column = \"target_column\" }"},
    {"grain", LR_ARG_STRING, 0, "the job's", "\"hour\", \"day\", \"week\", \"month\" or \"year\""},
    {"window", LR_ARG_WINDOW, 0, NULL, "only these times"},
    {"time", LR_ARG_STRING, 0, "iso", "form of the time column: " LR_TIME_FORMS},
    {"connection", LR_ARG_STRING, 0, "source", "the source's connection"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_partitions = {
    .name = "partitions",
    .summary = "how many rows each day has, and with from, source against warehouse side by side; at the prompt on a terminal "
               "the days are drawn as a calendar too",
    .first_name = "the table at the warehouse",
    .first_accepts = LR_ARG_STRING,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .returns = "a list of { partition, rows, sum }; with from of { partition, source_rows, warehouse_rows, source_sum, warehouse_sum, "
               "state }, state being equal, differs, missing (not at the warehouse) or extra (only there)",
    .refuses = "a table or column that is not there; numbers that cannot be of the declared form",
    .example = "partitions { \"dw_orders\", by = \"order_date\", from = \"orders\", sum = \"amount\" }",
    .call = call,
};

/* The rows of one piece of time; NULL for rows without a time. */
typedef struct part {
    const char *name, *sum;
    int64_t rows;
} part;

typedef struct parts {
    part *list;
    int n, scale;
} parts;

static int by_name(const void *x, const void *y)
{
    const part *a = x, *b = y;
    if (a->name == NULL || b->name == NULL) return (a->name != NULL) - (b->name != NULL);
    return strcmp(a->name, b->name);
}

static int read_parts(lr_run *run, const lr_look *l, const char *by, const char *sum, lr_grain g, lr_window *w, parts *out, lr_err *e)
{
    const lr_dialect *d = l->place->dialect;
    lr_arena *a = &run->arena;
    lr_sql q = lr_sql_new(a), column = lr_sql_column(a, NULL, by);
    const lr_type none = lr_type_none(), *type, *of = sum != NULL ? lr_look_column(l, sum, e) : &none;
    lr_cursor *k;
    const lr_value *row;
    int got, room = 0;
    memset(out, 0, sizeof *out);
    if (lr_look_time(run, l, by, &type, e) != 0 || of == NULL) return -1;
    out->scale = of->kind == LR_KIND_DECIMAL ? of->scale : -1;
    lr_sqlf(&q, "SELECT ");
    d->piece(&q, &column, g, l->mode, run->job->zone, type);
    lr_sqlf(&q, ", count(*)");
    if (sum != NULL) {
        lr_sql value = lr_sql_column(a, NULL, sum);
        lr_sqlf(&q, ", ");
        d->total(&q, &value, of);
    }
    if (lr_look_from(run, l, by, w, &q, e) != 0) return -1;
    lr_sqlf(&q, " GROUP BY 1");
    if (lr_query(run, l->place, &q, &k, e) != 0) return -1;
    while ((got = l->place->driver->next(k, &row, e)) == 1) {
        out->list = lr_grow(a, out->list, out->n, &room, sizeof *out->list);
        out->list[out->n++] = (part){lr_value_text(a, &row[0]), sum != NULL ? lr_value_text(a, &row[2]) : NULL, row[1].i};
    }
    l->place->driver->finish(k);
    if (out->n > 1) qsort(out->list, (size_t)out->n, sizeof *out->list, by_name);
    return got;
}

static lr_value shown_sum(lr_arena *a, const char *text, int scale)
{
    if (text == NULL || !lr_is_decimal(text, strlen(text))) return lr_text(text);
    char *scaled = scale < 0 ? lr_decimal_minus(text, "0") : lr_decimal_scaled(text, scale);
    lr_value out = lr_text(lr_dup(a, scaled));
    free(scaled);
    return out;
}

static int same_sum(const char *a, const char *b)
{
    if (a == NULL || b == NULL) return a == b;
    if (!lr_is_decimal(a, strlen(a)) || !lr_is_decimal(b, strlen(b))) return strcmp(a, b) == 0;
    return lr_decimal_compare(a, b) == 0;
}

static void one_side(lr_arena *a, const parts *p, int sums, lr_result *out)
{
    static const char *const columns[] = {"partition", "rows", "sum"};
    int n = sums ? 3 : 2;
    lr_value *cells = lr_alloc(a, (size_t)(p->n * n + 1) * sizeof *cells);
    for (int i = 0; i < p->n; i++) {
        cells[i * n] = lr_text(p->list[i].name);
        cells[i * n + 1] = lr_int(p->list[i].rows);
        if (sums) cells[i * n + 2] = shown_sum(a, p->list[i].sum, p->scale);
    }
    out->columns = columns;
    out->ncolumns = n;
    out->cells = cells;
    out->nrows = p->n;
}

static void two_sides(lr_arena *a, const parts *x, const parts *y, int sums, lr_result *out)
{
    static const char *const counted[] = {"partition", "source_rows", "warehouse_rows", "state"},
                             *const summed[] = {"partition", "source_rows", "warehouse_rows", "source_sum", "warehouse_sum", "state"};
    int n = sums ? 6 : 4, scale = x->scale > y->scale ? x->scale : y->scale;
    lr_value *cells = lr_alloc(a, (size_t)((x->n + y->n) * n + 1) * sizeof *cells), *cell = cells;
    out->nrows = 0;
    for (int i = 0, j = 0; i < x->n || j < y->n; out->nrows++) {
        int c = i == x->n ? 1 : j == y->n ? -1 : by_name(&x->list[i], &y->list[j]);
        const part *s = c <= 0 ? &x->list[i++] : NULL, *t = c >= 0 ? &y->list[j++] : NULL;
        const char *state = s == NULL ? "extra" : t == NULL ? "missing" : s->rows != t->rows || !same_sum(s->sum, t->sum) ? "differs" : "equal";
        *cell++ = lr_text(s == NULL ? t->name : s->name);
        *cell++ = lr_int(s != NULL ? s->rows : 0);
        *cell++ = lr_int(t != NULL ? t->rows : 0);
        if (sums) {
            *cell++ = s != NULL ? shown_sum(a, s->sum, scale) : lr_null();
            *cell++ = t != NULL ? shown_sum(a, t->sum, scale) : lr_null();
        }
        *cell++ = lr_text(state);
    }
    out->columns = sums ? summed : counted;
    out->ncolumns = n;
    out->cells = cells;
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *me = &lr_primitive_partitions;
    const char *from = lr_arg_text(lr_arg_of(me, args, "from"), NULL);
    const char *grain = lr_arg_text(lr_arg_of(me, args, "grain"), NULL), *time = lr_arg_text(lr_arg_of(me, args, "time"), "iso");
    lr_window *w = (lr_window *)lr_arg_of(me, args, "window")->p;
    lr_sum_pair by, sum = {0};
    lr_grain g = run->job->grain;
    lr_look source, house;
    parts x, y;
    int nby, sums;
    if (lr_read_pairs(run, lr_arg_of(me, args, "by"), &by, 1, &nby, "by", e) != 0 ||
        lr_read_pairs(run, lr_arg_of(me, args, "sum"), &sum, 1, &sums, "sum", e) != 0)
        return -1;
    if (nby == 0) return lr_fail(e, LR_FAILED, "by names no column");
    if (grain != NULL && lr_grain_parse(grain, &g) != 0) {
        lr_fail(e, LR_FAILED, "grain \"%s\" is not known", grain);
        return lr_hint(e, "write hour, day, week, month or year");
    }
    out->kind = LR_RESULT_TABLE;
    out->drawing = g == LR_DAY ? "calendar" : NULL;
    if (lr_look_open(run, "warehouse", args->first.value.s.p, time, &house, e) != 0 ||
        read_parts(run, &house, by.target, sum.target, g, w, &y, e) != 0)
        return -1;
    if (from == NULL) {
        one_side(&run->arena, &y, sums, out);
        return 0;
    }
    if (lr_look_open(run, lr_arg_text(lr_arg_of(me, args, "connection"), "source"), from, time, &source, e) != 0 ||
        read_parts(run, &source, by.source, sum.source, g, w, &x, e) != 0)
        return -1;
    two_sides(&run->arena, &x, &y, sums, out);
    return 0;
}
