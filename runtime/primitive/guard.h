/* guard.h - what every write looks at before it writes: values that the target
 * would change are refused, the others are written as its columns write them. */
#ifndef LRUN_PRIMITIVE_GUARD_H
#define LRUN_PRIMITIVE_GUARD_H

#include "base/moment.h"
#include "primitive/target.h"

/* t->rows is the SELECT of the rows at the warehouse. A value that its column
 * does not keep is refused, named by table, column and key; then t->rows gives
 * each value in the target's type. A plan reads no row and refuses none. */
int lr_guard_rows(lr_run *run, lr_target *t, lr_err *e);

/* The same for a SELECT of the key's columns alone, which keys is and becomes:
 * what they are compared with decides when two of them are the same. refuse: a
 * key that the target cannot hold is an error. */
int lr_guard_keys(lr_run *run, const lr_rowset *rows, const lr_relation *rel, const char **key, int nkey, int refuse, lr_sql *keys, lr_err *e);

/* In a plan: notes on columns of which the run would refuse every value. */
void lr_guard_foresee(lr_run *run, const lr_target *t);

/* How the target's columns write instants, where the engine keeps them as text. */
int lr_guard_forms(lr_run *run, lr_target *t, lr_err *e);

/* May the stamp's column hold run_start? */
int lr_guard_stamp(lr_run *run, lr_target *t, lr_err *e);

#endif
