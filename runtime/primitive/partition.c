/* The rows of a target that a write is about: those in the window of the rows,
 * and in a partition; and the keys that have moved on out of it. */
#include "primitive/guard.h"
#include "sql/epochs.h"
#include <string.h>

/* Bounds in the form of the target's column. */
static int target_bounds(lr_run *run, const lr_target *t, const char *column, lr_bounds *b, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_rowset *x = lr_rowset_extract(t->source);
    int at = lr_field_find(w->dialect, &t->rel, column);
    lr_time_column c = {.place = w, .table = t->name, .column = column, .type = &t->rel.fields[at].type, .mode = x->time};
    c.expr = lr_sql_column(&run->arena, NULL, column);
    if (t->source->window->newest) {
        b->start = t->source->window->start;
        b->stop = t->source->window->stop;
        b->mode = t->source->window->mode;
        b->zone = run->job->zone;
        b->type = c.type;
        lr_bounds_edges(w->dialect, &run->arena, b);
        return 0;
    }
    return lr_window_bounds(run, t->source->window, &c, b, e);
}

int lr_target_inside(lr_run *run, const lr_target *t, const char *column, lr_sql *inside, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_bounds bounds = {0};
    lr_sql expr = lr_sql_column(&run->arena, NULL, column), from = lr_sql_new(&run->arena);
    if (target_bounds(run, t, column, &bounds, e) != 0) return -1;
    lr_sqlf(&from, " FROM %T WHERE 1=1", &t->rel.table);
    /* forms that do not sort as time may be in the rows, or in the target */
    bounds.by_instant = lr_rowset_extract(t->source)->bounds.by_instant;
    if (!t->created && lr_check_times(run, w, &t->rel.table, t->name, column, &from, &expr, &bounds, e) != 0) return -1;
    w->dialect->within(inside, &expr, &bounds);
    return 0;
}

int lr_partition_sql(lr_run *run, const lr_relation *rel, const lr_arg *partition, lr_sql *q, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    if (partition->type == LR_ARG_LIST && partition->n > 0) {
        lr_fail(e, LR_FAILED, "partition must name columns of %s, not a list of values", rel->table.name);
        return lr_hint(e, "write partition = { region = \"EU\" }");
    }
    for (int i = 0; partition->type == LR_ARG_MAP && i < partition->n; i++) {
        const char *name = partition->names[i];
        const lr_arg *v = &partition->items[i];
        int at = name != NULL ? lr_field_find(d, rel, name) : -1;
        if (at < 0) {
            lr_fail(e, LR_FAILED, "partition: %s has no column \"%s\"", rel->table.name, name != NULL ? name : "?");
            return lr_hint(e, "write partition = { region = \"EU\" } with a column of the target");
        }
        if (v->type == LR_ARG_NULL) lr_sqlf(q, " AND %I IS NULL", rel->fields[at].name);
        else if (v->type == LR_ARG_LIST || v->type == LR_ARG_MAP) return lr_fail(e, LR_FAILED, "partition: %s must be one value", name);
        else lr_sqlf(q, " AND %I = %V", rel->fields[at].name, &v->value);
    }
    return 0;
}

int lr_moved_on(lr_run *run, lr_rowset *rows, const lr_relation *target, const char **key, int nkey, lr_sql *out, int *possible, lr_err *e)
{
    lr_rowset *x = lr_rowset_extract(rows);
    *possible = nkey > 0 && x->relation.exists && x->window != NULL && x->bounds.stop.set;
    lr_rowset *later = lr_alloc(&run->arena, sizeof *later);
    later->kind = LR_ROWS_EXTRACT;
    later->place = x->place;
    later->title = x->title;
    later->like = rows->like;
    later->prepared = 1;
    later->fields = lr_alloc(&run->arena, (size_t)(nkey + 1) * sizeof *later->fields);
    later->select = lr_sql_new(&run->arena);
    later->from = lr_sql_new(&run->arena);
    for (int i = 0; *possible && i < nkey; i++) {
        const char *origin = NULL;
        for (int f = 0; f < x->n; f++)
            if (strcmp(x->fields[f].name, key[i]) == 0) {
                origin = x->origins[f];
                later->fields[i] = x->fields[f];
            }
        if (origin == NULL) *possible = 0;
        else lr_sqlf(&later->select, i == 0 ? "SELECT %I AS %I" : ", %I AS %I", origin, key[i]);
        later->n++;
    }
    if (!*possible) return 0;
    lr_bounds after = x->bounds;
    lr_sql by = lr_extract_time(run, x);
    after.start = x->bounds.stop;
    after.start.inclusive = !x->bounds.stop.inclusive;
    after.stop.set = 0;
    lr_sqlf(&later->from, " FROM %T WHERE ", &x->relation.table);
    x->place->dialect->within(&later->from, &by, &after);
    if (lr_rowset_sql(run, later, out, e) != 0) return -1;
    return lr_guard_keys(run, later, target, key, nkey, 0, out, e);
}
