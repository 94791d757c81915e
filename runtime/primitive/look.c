/* Looking at a table: partitions and lateness. */
#include "primitive/look.h"
#include <string.h>

int lr_look_open(lr_run *run, const char *connection, const char *table, const char *time, lr_look *out, lr_err *e)
{
    lr_place *place;
    if (lr_session_place(run->session, connection, &place, e) != 0) return -1;
    memset(out, 0, sizeof *out);
    out->place = place;
    if (lr_read_form(time, &out->mode, e) != 0) return -1;
    if (lr_place_relation(place, &run->arena, table, 0, &out->rel, e) != 0) return -1;
    out->name = lr_dup(&run->arena, table);
    if (out->rel.exists) return 0;
    lr_fail(e, LR_FAILED, "there is no table %s at the connection \"%s\"", table, place->name);
    return lr_hint(e, "check the name; lrun repl lists the warehouse's with: tables");
}

const lr_type *lr_look_column(const lr_look *l, const char *column, lr_err *e)
{
    int at = lr_field_find(l->place->dialect, &l->rel, column);
    if (at >= 0) return &l->rel.fields[at].type;
    lr_buf known = {0};
    for (int i = 0; i < l->rel.nfields; i++) lr_buf_printf(&known, "%s%s", i > 0 ? ", " : "", l->rel.fields[i].name);
    lr_fail(e, LR_FAILED, "%s has no column \"%s\"", l->name, column);
    lr_hint(e, "it has: %s", known.data != NULL ? known.data : "none");
    lr_buf_free(&known);
    return NULL;
}

int lr_look_time(lr_run *run, const lr_look *l, const char *column, const lr_type **type, lr_err *e)
{
    lr_sql expr = lr_sql_column(&run->arena, NULL, column), from = lr_sql_new(&run->arena);
    *type = lr_look_column(l, column, e);
    if (*type == NULL) return -1;
    lr_sqlf(&from, " FROM %T WHERE 1=1", &l->rel.table);
    return lr_check_form(run, l->place, l->name, column, *type, &from, &expr, l->mode, e);
}

int lr_look_from(lr_run *run, const lr_look *l, const char *column, lr_window *w, lr_sql *q, lr_err *e)
{
    lr_bounds b = {0};
    lr_sqlf(q, " FROM %T WHERE ", &l->rel.table);
    if (w == NULL) {
        lr_sqlf(q, "1=1");
        return 0;
    }
    lr_time_column c = {.place = l->place, .table = l->name, .column = column, .mode = l->mode};
    c.type = lr_look_column(l, column, e);
    if (c.type == NULL) return -1;
    c.expr = lr_sql_column(&run->arena, NULL, column);
    c.from = lr_sql_new(&run->arena);
    lr_sqlf(&c.from, " FROM %T WHERE 1=1", &l->rel.table);
    if (lr_window_bounds(run, w, &c, &b, e) != 0) return -1;
    b.by_instant = l->mode == LR_ISO; /* whatever forms its times have */
    l->place->dialect->within(q, &c.expr, &b);
    return 0;
}
