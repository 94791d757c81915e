/* extract.h - what extract shares with the writes and with group. */
#ifndef LRUN_PRIMITIVE_EXTRACT_H
#define LRUN_PRIMITIVE_EXTRACT_H

#include "primitive/rowset.h"
#include "run/ledger.h"

extern const lr_primitive lr_primitive_extract;

/* Look for times that comparing the stored form would misplace: where they are
 * times all the same, bounds compare instants from now on; what is no time is
 * refused by its value. from is " FROM t WHERE ...". */
int lr_check_times(lr_run *run, const lr_place *place, const lr_table *t, const char *table, const char *column, const lr_sql *from,
                   const lr_sql *expr, lr_bounds *bounds, lr_err *e);

/* The option time: -1 where there is no such form. */
int lr_read_form(const char *text, lr_time_mode *out, lr_err *e);

/* Does by name a column that columns makes of the table's: another name for one,
 * or an expression? Then it is the time column. */
int lr_made_time(lr_run *run, lr_rowset *rs, const lr_arg *columns);

/* Of a form that is a number: refuse the values that cannot be of it, whatever
 * the window. */
int lr_check_form(lr_run *run, const lr_place *place, const char *table, const char *column, const lr_type *type, const lr_sql *from,
                  const lr_sql *expr, lr_time_mode mode, lr_err *e);

/* Look at the SELECT of an extract: fill its fields, and refuse what it would read
 * from another database than its own; a name that both have sets collides. */
int lr_inspect_rows(lr_run *run, lr_rowset *rs, const lr_sql *q, lr_err *e);

/* A statement that a job wrote, looked at by the rules for its connection:
 * names resolve in that database only. collides: as above, -1 where only another
 * database has a name; NULL: such names are refused. */
int lr_inspect_names(lr_run *run, const lr_place *place, const lr_inspection *seen, int *collides, lr_err *e);

/* lr_inspect_rows of all that the extract selects; where SQL of the job for an
 * attached database would not mean its tables as they are, it is read alone from here on. */
int lr_inspect_extract(lr_run *run, lr_rowset *rs, lr_err *e);

int lr_params_used(const lr_arg *params, const char *text, lr_err *e);

/* The value of :name in a map of params, or NULL. */
const lr_value *lr_params_find(const lr_arg *params, const char *name);

#endif
