/* Times that comparing their stored form would misplace, found before a window is used. */
#include "primitive/extract.h"
#include <string.h>

/* 1 found (and refused in e, or *is_time), 0 none, -1 error. */
static int find_time(lr_run *run, const lr_place *place, const lr_sql *q, const char *table, const char *column,
                     const lr_bounds *bounds, int *is_time, lr_err *e);

int lr_check_times(lr_run *run, const lr_place *place, const lr_table *t, const char *table, const char *column, const lr_sql *from,
                   const lr_sql *expr, lr_bounds *bounds, lr_err *e)
{
    const lr_dialect *d = place->dialect;
    lr_sql q = lr_sql_new(&run->arena), odd = lr_sql_new(&run->arena);
    int is_time;
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

static int find_time(lr_run *run, const lr_place *place, const lr_sql *q, const char *table, const char *column,
                     const lr_bounds *bounds, int *is_time, lr_err *e)
{
    lr_cursor *k;
    const lr_value *row;
    *is_time = 0;
    if (lr_query(run, place, q, &k, e) != 0) return -1;
    int got = place->driver->next(k, &row, e);
    if (got == 1) {
        const char *class = lr_value_text(&run->arena, &row[0]), *value = lr_value_text(&run->arena, &row[1]);
        *is_time = bounds->mode == LR_ISO && row[2].i != 0;
        if (!*is_time) {
            lr_fail(e, LR_FAILED, "%s.%s: the %s value '%s' is no %s", table, column, class, value,
                    bounds->mode == LR_ISO ? "ISO date or time" : "time in the declared form");
            lr_hint(e, "%s", bounds->mode == LR_ISO && strcmp(class, "integer") == 0
                                 ? "declare the form with time = \"unix\" or time = \"unix_ms\", or fix the source"
                                 : "fix the value, leave it out with where, or convert the column with sql = [[...]]");
            got = -1;
        }
    }
    place->driver->finish(k);
    return got;
}
