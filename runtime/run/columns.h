/* columns.h - what the ledger remembers of the columns that a job wrote, for
 * each of its writes: the target, the table that the rows came from, and the
 * place among the job's writes of that table into that target. */
#ifndef LRUN_RUN_COLUMNS_H
#define LRUN_RUN_COLUMNS_H

#include "run/run.h"

typedef struct lr_memory {
    const char *target, *source;
    int64_t place;          /* from 1 */
    int first;              /* into its target in this run */
    const char *before;     /* the columns of an earlier run, or NULL */
    const char *sha256;     /* of the job file that wrote them */
    const char *old_source; /* whose row `before` is, where the job has another source now */
    int64_t old_place;
    struct lr_memory *next;
} lr_memory;

/* Columns are lines "name<tab>type<tab>n"; n is lr_said of the field. A line of
 * 0.1.0 ends after the type. */

/* The next write of a source into a target in this run. What the same run wrote
 * is no earlier run. */
int lr_memory_find(lr_run *run, const char *target, const char *source, lr_memory **out, lr_err *e);

/* Remember the columns where they, or the job file, are not the same as before. */
int lr_memory_save(lr_run *run, const lr_memory *m, const char *now, lr_err *e);

/* For lrun accept: in a transaction of its own, under the job's lock. */
typedef struct lr_accepted {
    const lr_memory *memory; /* next is not used */
    const char *now;
} lr_accepted;
int lr_memory_accept(lr_run *run, const lr_accepted *list, int n, lr_err *e);

#endif
