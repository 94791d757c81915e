/* The time column of rows: its form, its expression, and values that are no
 * times of the form. */
#include "primitive/extract.h"
#include <string.h>

int lr_read_form(const char *text, lr_time_mode *out, lr_err *e)
{
    *out = LR_ISO;
    if (text == NULL || lr_time_mode_parse(text, out) == 0) return 0;
    lr_fail(e, LR_FAILED, "time = \"%s\" is not known", text);
    return lr_hint(e, "use one of: " LR_TIME_FORMS);
}

lr_sql lr_extract_time(lr_run *run, const lr_rowset *x)
{
    lr_sql q = lr_sql_new(&run->arena);
    if (x->by_text == NULL) return lr_sql_column(&run->arena, NULL, x->by);
    lr_sqlf(&q, "(%s\n)", x->by_text);
    return q;
}

lr_type lr_extract_time_type(const lr_run *run, const lr_rowset *x)
{
    const lr_dialect *d = x->place->dialect;
    int at = x->by_text == NULL && !x->is_sql ? lr_field_find(d, &x->relation, x->by) : -1;
    (void)run;
    if (at >= 0) return x->relation.fields[at].type;
    for (int i = 0; i < x->n; i++)
        if (lr_name_equal(d, x->fields[i].name, x->by)) return x->fields[i].type;
    return lr_type_none();
}

int lr_made_time(lr_run *run, lr_rowset *rs, const lr_arg *columns)
{
    for (int i = 0; columns->type == LR_ARG_MAP && i < columns->n; i++) {
        if (columns->names[i] == NULL || columns->items[i].type != LR_ARG_STRING || strcmp(columns->names[i], rs->by) != 0) continue;
        const char *text = lr_dup(&run->arena, columns->items[i].value.s.p);
        if (lr_field_find(rs->place->dialect, &rs->relation, text) >= 0) rs->by = text;
        else rs->by_text = text;
        return 1;
    }
    return 0;
}

/* A column of timestamps holds no numbers. */
static int check_type(const char *table, const char *column, const lr_bounds *b, lr_err *e)
{
    const lr_type *t = b->type;
    if (t == NULL || t->dynamic || t->kind == LR_KIND_ANY || lr_kind_is_number(t->kind) || lr_kind_is_text(t->kind)) return 0;
    lr_fail(e, LR_FAILED, "%s.%s has the type %s, which holds no %s (time = \"%s\")", table, column, t->native, lr_epoch_unit(b->mode),
            lr_time_mode_name(b->mode));
    if (lr_kind_is_time(t->kind)) return lr_hint(e, "leave time out: the column says its times itself");
    return lr_hint(e, "use another column, or make a number of it: columns = { at = \"...\" }, by = \"at\"");
}

/* 1 found (and refused in e, or *is_time), 0 none, -1 error. */
static int find_time(lr_run *run, const lr_place *place, const lr_sql *q, const char *table, const char *column,
                     const lr_bounds *bounds, int *is_time, lr_err *e)
{
    lr_cursor *k;
    const lr_value *row;
    *is_time = 0;
    if (lr_query(run, place, q, &k, e) != 0) return -1;
    int got = place->driver->next(k, &row, e), iso = bounds->mode == LR_ISO;
    if (got == 1) {
        const char *class = lr_value_text(&run->arena, &row[0]), *value = lr_value_text(&run->arena, &row[1]);
        *is_time = iso && row[2].i != 0;
        if (!*is_time) {
            const char *guess = lr_epoch_guess(value);
            lr_fail(e, LR_FAILED, iso ? "%s.%s: the %s value '%s' is no ISO date or time"
                                      : "%s.%s: the %s value '%s' is no time in the declared form, %s (time = \"%s\")",
                    table, column, class, value, lr_epoch_unit(bounds->mode), lr_time_mode_name(bounds->mode));
            if (guess != NULL && (!iso || strcmp(class, "text") != 0) && bounds->mode != LR_NUMBER) lr_hint(e, "it looks like %s", guess);
            else lr_hint(e, "fix the value, leave it out with where, or convert the column: columns = { at = \"...\" }, by = \"at\"");
            got = -1;
        }
    }
    place->driver->finish(k);
    return got;
}

int lr_check_times(lr_run *run, const lr_place *place, const lr_table *t, const char *table, const char *column, const lr_sql *from,
                   const lr_sql *expr, lr_bounds *bounds, lr_err *e)
{
    const lr_dialect *d = place->dialect;
    lr_sql q = lr_sql_new(&run->arena), odd = lr_sql_new(&run->arena);
    int is_time;
    if (lr_is_epoch(bounds->mode) && check_type(table, column, bounds, e) != 0) return -1;
    if (bounds->mode == LR_ISO && d->strange != NULL && !bounds->by_instant) {
        int indexed = d->indexed(place->driver, place->conn, t, column, e);
        if (indexed < 0) return -1;
        bounds->indexed = indexed;
        if (d->strange(&odd, from, expr, bounds) && find_time(run, place, &odd, table, column, bounds, &is_time, e) != 0) return -1;
    }
    if (!d->misplaced(&q, from, expr, bounds)) return 0;
    int found = find_time(run, place, &q, table, column, bounds, &is_time, e);
    if (found <= 0 || !is_time) return found;
    bounds->by_instant = 1;
    return lr_check_times(run, place, t, table, column, from, expr, bounds, e);
}

int lr_check_form(lr_run *run, const lr_place *place, const char *table, const char *column, const lr_type *type, const lr_sql *from,
                  const lr_sql *expr, lr_time_mode mode, lr_err *e)
{
    lr_bounds b = {.mode = mode, .zone = run->job->zone, .type = type};
    return lr_is_epoch(mode) ? lr_check_times(run, place, NULL, table, column, from, expr, &b, e) : 0;
}
