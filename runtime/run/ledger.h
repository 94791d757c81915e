/* ledger.h - the ledger's rows. Each function is one or two statements inside
 * the transaction that the caller has open. */
#ifndef LRUN_RUN_LEDGER_H
#define LRUN_RUN_LEDGER_H

#include "run/run.h"

#define LR_LEDGER_VERSION 1

/* A ledger table, under the ledger's schema. */
lr_table lr_ledger_table(const lr_session *s, const char *name);

/* "@lrun_runs" in the text is the ledger's table, under its schema. */
void lr_ledger_sql(const lr_session *s, const char *text, lr_sql *q);

/* The clock as the ledger writes it. */
const char *lr_ledger_now(lr_arena *a);

/* Is there a ledger, and can this program read it? *exists is set. */
int lr_ledger_check(lr_session *s, int *exists, lr_err *e);
int lr_ledger_create(lr_run *run, lr_err *e);
/* Make the tables that a ledger of 0.1.0 lacks. */
int lr_ledger_complete(lr_run *run, lr_err *e);

/* `running` rows of this job whose process is gone become `interrupted`. */
int lr_ledger_sweep(lr_run *run, lr_err *e);
int lr_ledger_insert(lr_run *run, const char *status, lr_err *e);
int lr_ledger_finish(lr_run *run, const char *status, const char *error, lr_err *e);
int lr_ledger_delete(lr_run *run, lr_err *e);

/* Take the lock on the run's job, and on a table before it is written, where the
 * engine does not lock all at once. A wait that ended in another's commit gives
 * SQLSTATE 40001: begin again. */
int lr_ledger_lock_job(lr_run *run, lr_err *e);
int lr_ledger_lock_target(lr_run *run, const char *target, lr_err *e);

/* Where e says that a lock was waited for in vain, let it say who holds it: the
 * lock on the run's job, or on a target. Always -1. */
int lr_ledger_busy(lr_run *run, const char *target, lr_err *e);

int lr_ledger_add_write(lr_run *run, const char *target, const char *primitive, const lr_counts *c, lr_err *e);
typedef struct lr_read {
    const char *table, *column, *start, *stop;
    struct lr_read *before;
} lr_read;
int lr_ledger_add_window(lr_run *run, const lr_read *r, lr_err *e);
typedef struct lr_check {
    const char *target, *metric, *group, *source, *warehouse, *start, *stop;
    int equal;
    struct lr_check *before;
} lr_check;
int lr_ledger_add_check(lr_run *run, const lr_check *check, lr_err *e);

/* The saved watermark, in the run's arena; NULL where there is none. Refused
 * where it was saved with other parameters. */
int lr_ledger_watermark(lr_run *run, const char *name, const char **value, lr_err *e);
/* Another job that has a watermark of this name, or NULL: a mark of a table may be one's only. */
int lr_ledger_other_job(lr_run *run, const char *name, const char **job, lr_err *e);
int lr_ledger_save_watermark(lr_run *run, const char *name, const char *value, lr_err *e);

#endif
