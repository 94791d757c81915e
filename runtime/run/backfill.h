/* backfill.h - a range of logical dates that is run one after another, and the
 * ledger's row that lets the same command go on where it stopped.
 *
 * A backfill is known by job, params, grain, zone and range. It belongs to the
 * process that claimed it; each date's transaction checks that this is still so.
 */
#ifndef LRUN_RUN_BACKFILL_H
#define LRUN_RUN_BACKFILL_H

#include "run/run.h"

typedef struct lr_backfill {
    int64_t id;           /* 0: the ledger knows none */
    const char *first, *last;
    const char *status;   /* as the ledger has it */
    const char *sha256;   /* of the job file when it was claimed last */
    const char *host, *started_at, *owner_started;
    int64_t pid;
    int alive;            /* its owner may still be at work */
    int elsewhere;        /* the owner is another host's: nobody can ask it */
} lr_backfill;

typedef struct lr_claim {
    const char *first, *last;
    int again;         /* all of it once more */
    int accept_change; /* go on though the job file is another one by now */
    int take_over;     /* the owner on another host is gone */
} lr_claim;

/* The latest backfill of the run's job over this range. */
int lr_backfill_find(lr_run *run, const char *first, const char *last, lr_backfill *out, lr_err *e);

/* Make it this process's, new or to go on with. out->status "succeeded": there
 * is nothing to do, and nothing was written. LR_BUSY where another owner lives. */
int lr_backfill_claim(lr_run *run, const lr_claim *claim, lr_backfill *out, lr_err *e);

/* Inside a date's transaction: is it still ours? */
int lr_backfill_own(lr_run *run, const lr_backfill *b, lr_err *e);

/* The finished dates, in no order; in the run's arena. */
typedef struct lr_finished {
    const char *date;
    int64_t run_id;
    struct lr_finished *next;
} lr_finished;
int lr_backfill_done(lr_run *run, const lr_backfill *b, lr_finished **out, lr_err *e);

/* How it ended: succeeded, failed, differs or interrupted. */
int lr_backfill_finish(lr_run *run, const lr_backfill *b, const char *status, lr_err *e);

#endif
