/* reconcile's totals: both sides' counts and exact sums, group by group. */
#include "base/decimal.h"
#include "primitive/reconcile.h"
#include <stdlib.h>
#include <string.h>

/* "SELECT groups, count(*), totals, counts FROM (rows) GROUP BY groups". */
lr_sql lr_totals_sql(const lr_comparison *p, const lr_sql *rows, int source)
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
        const char *name = source ? p->sums[i].source : p->sums[i].target;
        const lr_type none = lr_type_none(), *type = &none;
        for (int f = 0; source && f < p->rs->n; f++)
            if (lr_name_equal(d, p->rs->fields[f].name, name)) type = &p->rs->fields[f].type;
        if (!source) type = &p->target.fields[lr_field_find(d, &p->target, name)].type;
        d->total(&q, &column, type);
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

static int by_width; /* of the groups that qsort compares; set just before */

static int compare_groups(const void *x, const void *y)
{
    const lr_totals *a = x, *b = y;
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

int lr_totals_read(const lr_comparison *p, const lr_place *w, const lr_sql *q, lr_totals **out, int *n, lr_err *e)
{
    lr_arena *a = &p->run->arena;
    lr_cursor *k;
    const lr_value *row;
    int got, room = 0;
    *n = 0;
    *out = NULL;
    if (lr_query(p->run, w, q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        *out = lr_grow(a, *out, *n, &room, sizeof **out);
        lr_totals *s = &(*out)[(*n)++];
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
    by_width = p->nby;
    if (*n > 1) qsort(*out, (size_t)*n, sizeof **out, compare_groups);
    return got;
}

static int equal_totals(const char *a, const char *b, const char *tolerance)
{
    if (a == NULL || b == NULL) return a == b;
    if (!lr_is_decimal(a, strlen(a)) || !lr_is_decimal(b, strlen(b))) return strcmp(a, b) == 0;
    return lr_decimal_close(a, b, tolerance);
}

static const char *group_text(const lr_comparison *p, const lr_totals *s)
{
    return p->nby > 0 ? lr_list_text(&p->run->arena, s->group, p->nby) : NULL;
}

int lr_compare_numbers(lr_comparison *p, const char *group, const char *metric, const char *label, const char *a, const char *b,
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
    if (!equal) {
        lr_buf_printf(&p->differences, "%s%s%s%s%s %s <> %s", p->differences.len > 0 ? ", " : "", group != NULL ? "[" : "",
                      group != NULL ? group : "", group != NULL ? "] " : "", label, a != NULL ? a : "NULL", b != NULL ? b : "NULL");
        if (difference != NULL) lr_buf_printf(&p->differences, " (difference %s)", difference);
    }
    return lr_compare_line(p, &(lr_report_line){metric, group, a, b, difference, equal}, label, NULL, e);
}

static int compare_sides(lr_comparison *p, const lr_totals *a, const lr_totals *b, lr_err *e)
{
    static const lr_totals nothing;
    const char *group = group_text(p, a != NULL ? a : b);
    lr_totals none = nothing;
    none.values[0] = "0"; /* a group that is not there has no rows; its totals are NULL */
    if (a == NULL) a = &none;
    if (b == NULL) b = &none;
    if (p->count_rows && lr_compare_numbers(p, group, "rows", "rows", a->values[0], b->values[0], "0", 0, e) != 0) return -1;
    for (int i = 0; i < p->nsums; i++) {
        const char *metric = lr_printf(&p->run->arena, "sum(%s)", p->sums[i].source);
        if (lr_compare_numbers(p, group, metric, p->sums[i].source, a->values[i + 1], b->values[i + 1], p->tolerance, p->sums[i].scale, e) != 0)
            return -1;
        /* 1, NULL and 1, 0 have the same total: with the rows, the values that
         * are there are counted too, and told where they differ. */
        const char *x = a->values[p->nsums + i + 1], *y = b->values[p->nsums + i + 1];
        if (!p->count_rows || x == NULL || y == NULL || strcmp(x, y) == 0) continue;
        metric = lr_printf(&p->run->arena, "count(%s)", p->sums[i].source);
        const char *label = lr_printf(&p->run->arena, "values of %s", p->sums[i].source);
        if (lr_compare_numbers(p, group, metric, label, x, y, "0", 0, e) != 0) return -1;
    }
    return 0;
}

int lr_totals_equal(const lr_comparison *p, const lr_totals *a, int na, const lr_totals *b, int nb)
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

int lr_totals_report(lr_comparison *p, const lr_totals *a, int na, const lr_totals *b, int nb, lr_err *e)
{
    for (int i = 0, j = 0; i < na || j < nb;) {
        int c = i == na ? 1 : j == nb ? -1 : compare_groups(&a[i], &b[j]);
        if (compare_sides(p, c <= 0 ? &a[i] : NULL, c >= 0 ? &b[j] : NULL, e) != 0) return -1;
        i += c <= 0;
        j += c >= 0;
    }
    return 0;
}
