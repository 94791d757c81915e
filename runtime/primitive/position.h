/* position.h - whether and how a column's text is ordered, by what it holds. */
#ifndef LRUN_PRIMITIVE_POSITION_H
#define LRUN_PRIMITIVE_POSITION_H

#include "primitive/target.h"

/* values: a SELECT at the warehouse of one column "v" of the type: all that is
 * to be compared. Text without an order is refused by name. */
int lr_find_position(lr_run *run, const lr_rowset *rs, const lr_sql *values, const lr_type *type, const char *column, lr_position *out, lr_err *e);

#endif
