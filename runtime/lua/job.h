/* job.h - running a job file: learn its name, check dates, open databases, run
 * it in a state of its own inside one transaction, commit or roll back. */
#ifndef LRUN_LUA_JOB_H
#define LRUN_LUA_JOB_H

#include "lua/box.h"
#include "run/backfill.h"

typedef struct lr_param {
    const char *name, *value;
} lr_param;

typedef struct lr_execution_config {
    const char *path;          /* the job file; NULL at a prompt without one */
    const char *logical_date;  /* text, or NULL */
    const char *run_start;     /* text, or NULL: the clock */
    int allow_open;            /* a logical date whose window has not ended */
    const lr_param *params;    /* sorted by name */
    int nparams;
    lr_mode mode;
    int verbose;
    size_t max_memory;
    int must_compare;          /* a run without a reconcile fails */
    int by_rows;               /* each reconcile compares row by row */
    int accepting;             /* a plan: changed columns are told, not refused */
    int trace;                 /* statements are told before they run too */
    int sandbox;               /* the job reaches nothing but its databases; see sandbox.h */
    int64_t max_instructions;  /* of the job's Lua; 0: no limit */
    double max_seconds;        /* of this run; 0: no limit of its own */
    lr_session_config session;
    void (*report)(void *arg, const lr_event *ev);
    void *report_arg;
} lr_execution_config;

typedef struct lr_execution {
    lr_arena arena;
    lr_job job;
    lr_session session;
    lr_run run;
    lr_vm *vm;
    char *text;               /* the file's bytes */
    size_t size;
    int *param_read;          /* for each parameter: the job asked for it */
    int declared;             /* the file begins with job { ... } */
    const lr_execution_config *config;
    const lr_backfill *backfill; /* the runs are dates of it; or NULL */
    int committed;
    int64_t run_id;           /* kept when the run has been freed */
    lr_counts counts;
    int checks, differs, attempts;
} lr_execution;

/* Zeroed before. Free it whatever happened. */
void lr_execution_free(lr_execution *x);

/* Read the file and learn name, grain and zone; nothing is opened. */
int lr_execution_describe(lr_execution *x, const lr_execution_config *cfg, lr_err *e);

/* describe, dates, connections, the run. e->status tells how it ended. */
int lr_execution_run(lr_execution *x, const lr_execution_config *cfg, lr_err *e);

/* Many runs over the same connections: the file is read once, the databases are
 * opened once. last: no date is later; it is checked before anything is opened. */
int lr_execution_series(lr_execution *x, const lr_execution_config *cfg, const char *last, lr_err *e);
int lr_execution_date(lr_execution *x, const char *logical_date, lr_err *e);

/* For the prompt: everything but the job's chunk. */
int lr_execution_open(lr_execution *x, const lr_execution_config *cfg, lr_err *e);

#endif
