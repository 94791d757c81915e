/* run.h - one run: a job, one warehouse transaction, its ledger rows.
 *
 * Begin takes the lock and opens the transaction; commit is the only way out
 * that keeps anything. Everything that a run owns lives in its arena.
 */
#ifndef LRUN_RUN_RUN_H
#define LRUN_RUN_RUN_H

#include "run/event.h"
#include "run/session.h"

typedef enum lr_mode {
    LR_MODE_RUN,
    LR_MODE_PLAN,      /* reads are real, writes are listed */
    LR_MODE_PROMPT,    /* the transaction lasts until commit or rollback is typed */
    LR_MODE_RECONCILE  /* only reconcile acts; nothing is written */
} lr_mode;

/* What is known of a job before any database is opened. */
typedef struct lr_job {
    const char *path;
    const char *name;
    char sha256[65];
    const char *params; /* canonical JSON */
    const lr_zone *zone;
    lr_grain grain;
    int names_grain;      /* job { grain = ... } was given */
    int manual;           /* job { transaction = "manual" }: each statement commits by itself */
    int reaches;          /* its plain SQL reads a source's table by its name, where that is in reach; in the sandbox */
    int has_logical;
    int64_t logical_start, logical_stop; /* instants */
    char logical_date[48];
    int64_t clock;        /* when the run began, or --run-start */
    int64_t run_start;
} lr_job;

typedef struct lr_counts {
    int64_t read, inserted, updated, deleted, skipped;
} lr_counts;

/* A write of this run, for reconcile's defaults. */
typedef struct lr_written {
    const void *rows;       /* the row set */
    const char *target;     /* as resolved */
    const char *primitive;  /* that wrote it */
    const char *column;     /* the target's time column, or NULL */
    const lr_sql *partition; /* more conditions on the target, or NULL */
    const char **key;
    int nkey;
    struct lr_written *next; /* the one before */
} lr_written;

/* A staging table that is no temporary one: dropped before the commit. */
typedef struct lr_staged {
    lr_table table;
    struct lr_staged *next;
} lr_staged;

struct lr_window;
struct lr_strategy;
struct lr_check;
struct lr_read;

#define LR_STAGE_NAME "lrun_stage_%lld"

typedef struct lr_run {
    lr_session *session;
    const lr_job *job;
    lr_mode mode;
    lr_arena arena;
    int64_t run_id;
    int attempt;
    const struct lr_backfill *backfill; /* the run is a date of it; or NULL */
    int must_compare;    /* without a reconcile nothing is kept */
    int by_rows;         /* each reconcile compares row by row */
    lr_counts counts;
    lr_written *written;
    struct lr_window *windows;
    int64_t statements;  /* issued by this run */
    int64_t staged;      /* staging tables made */
    int64_t swaps;       /* copies made by swap */
    lr_staged *stages;   /* those to be dropped before the commit */
    struct lr_strategy *strategies; /* the way found for each target that was written by key */
    int checks, differs;
    struct lr_check *checked; /* every comparison, the latest first */
    struct lr_memory *memories; /* the writes whose columns were looked at, the latest first */
    int accepting;       /* a plan for lrun accept: changed columns are told, not refused */
    struct lr_read *reads;    /* every window read, the latest first */
    int open;            /* the transaction is open */
    int doomed;          /* something failed: it can only be rolled back */
    lr_err first;        /* what doomed it */
    int verbose;
    int trace;           /* each statement is told before it runs too; a callback that fails stops the run there */
    int64_t started_at;
    void (*report)(void *arg, const lr_event *ev);
    void *report_arg;
} lr_run;

/* Take the lock, write the `running` row, open the transaction. */
int lr_run_begin(lr_run *run, lr_err *e);

/* A transaction of its own under the job's lock, with the ledger made where it
 * is missing. work may run more than once: a lost race begins again. */
typedef int (*lr_small)(lr_run *run, void *arg, lr_err *e);
int lr_run_small(lr_run *run, lr_small work, void *arg, lr_err *e);

/* Save watermarks and the `succeeded` row, and commit. */
int lr_run_commit(lr_run *run, lr_err *e);

/* Roll back and write how it ended, in a transaction of its own. why->status
 * says whether it failed, differs, was interrupted, or never got the lock. */
void lr_run_abandon(lr_run *run, const lr_err *why);

void lr_run_free(lr_run *run); /* rolls back what is still open */

/* Before the next run over the same connections: drop what was staged. */
int lr_run_unstage(lr_run *run, lr_err *e);

/* Open the transaction where it is not: the prompt does so at its first write. */
int lr_run_open(lr_run *run, lr_err *e);

/* The prompt goes on after commit or rollback as if nothing had been. */
void lr_run_forget(lr_run *run);

/* ---- statements ---- */

/* Run a statement at a place. A write in a plan is reported, not run. */
int lr_exec(lr_run *run, const lr_place *p, const lr_sql *q, int64_t *changed, lr_err *e);
int lr_write(lr_run *run, const lr_sql *q, int64_t *changed, lr_err *e);
int lr_query(lr_run *run, const lr_place *p, const lr_sql *q, lr_cursor **out, lr_err *e);
/* Let the place begin the query that lr_query is to be called with next. */
int lr_ask(lr_run *run, const lr_place *p, const lr_sql *q, lr_err *e);
/* For rows that may be many. streams: nothing else runs at the place meanwhile. */
int lr_scan(lr_run *run, const lr_place *p, const lr_sql *q, int streams, lr_cursor **out, lr_err *e);

/* Rows of a SELECT at a place into a table of another without looking at them;
 * see pipe in driver.h. */
int lr_pipe(lr_run *run, const lr_place *p, const lr_sql *q, const lr_place *into, const char *table,
            const lr_column *columns, int n, int64_t *rows, lr_err *e);

/* The first value of the first row, copied into a; NULL where there is no row.
 * *found (may be NULL) tells the two apart. */
int lr_query_value(lr_run *run, const lr_place *p, const lr_sql *q, lr_arena *a, lr_value *out,
                   int *found, lr_err *e);

/* Doom the run: whatever happens next, it cannot commit. Returns -1. */
int lr_doom(lr_run *run, const lr_err *e);

void lr_report(lr_run *run, const lr_event *ev);
void lr_note(lr_run *run, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Bytes that are no UTF-8 become '?', so that any engine keeps the text. */
void lr_plain_text(char *text);

/* A value as text, in the arena: numbers in digits, NULL as NULL pointer. */
const char *lr_value_text(lr_arena *a, const lr_value *v);

/* Values of a row for a message, "1, 2026-01-20, NULL", and texts likewise. */
const char *lr_row_text(lr_arena *a, const lr_value *row, int n);
const char *lr_list_text(lr_arena *a, const char *const *texts, int n);

#endif
