/* look.h - a table that is only looked at: its time column, a window on it. */
#ifndef LRUN_PRIMITIVE_LOOK_H
#define LRUN_PRIMITIVE_LOOK_H

#include "primitive/extract.h"

typedef struct lr_look {
    const lr_place *place;
    lr_relation rel;
    const char *name; /* for messages */
    lr_time_mode mode;
} lr_look;

int lr_look_open(lr_run *run, const char *connection, const char *table, const char *time, lr_look *out, lr_err *e);

/* The column's type; NULL and e where there is no such column. */
const lr_type *lr_look_column(const lr_look *l, const char *column, lr_err *e);

/* The type of a column of times; a value that cannot be of the declared form is
 * refused. */
int lr_look_time(lr_run *run, const lr_look *l, const char *column, const lr_type **type, lr_err *e);

/* " FROM t WHERE ..." with the window on the column, NULL: all rows. */
int lr_look_from(lr_run *run, const lr_look *l, const char *column, lr_window *w, lr_sql *q, lr_err *e);

#endif
