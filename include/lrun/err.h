/* err.h - the one error struct, from the drivers up.
 *
 * A function that can fail returns 0 on success and -1 on failure, and fills
 * the lr_err that it was given. It is filled once, where the facts are known;
 * a layer above may add a field that is still empty. main() prints it once.
 */
#ifndef LRUN_ERR_H
#define LRUN_ERR_H

#include <stddef.h>

/* What a failure means for the caller; the values are lrun's exit statuses. */
typedef enum lr_status {
    LR_OK = 0,
    LR_FAILED = 1,      /* an error in the job or from a database; rolled back */
    LR_USAGE = 2,       /* options, dates, connections file, a job that does not parse */
    LR_DIFFERS = 3,     /* reconcile found a difference; rolled back */
    LR_BUSY = 4,        /* another run holds the lock, or the lock timeout passed */
    LR_UNREACHABLE = 5, /* a database cannot be reached or refused the login */
    LR_UNKNOWN = 6,     /* the outcome of COMMIT could not be learned */
    LR_UNREPORTED = 7,  /* committed, but the report could not be written */
    LR_SIGINT = 130,
    LR_SIGTERM = 143
} lr_status;

#define LR_RETRY_FREE 2

typedef struct lr_err {
    lr_status status;     /* LR_OK: no error */
    int retry;            /* nothing was kept and running again may succeed; LR_RETRY_FREE: as often as it takes */
    char sqlstate[8];     /* SQLSTATE, or "" */
    int code;             /* the engine's own extended code, or 0 */
    char where[256];      /* job file and line, "jobs/orders.lua:7" */
    char step[160];       /* what was being done, "merge into dw_orders" */
    char message[1024];   /* what went wrong, one line */
    char hint[512];       /* what to do next, one line */
    char statement[1024]; /* the SQL text, cut if longer */
    int position;         /* byte in the statement, from 1; 0 unknown */
    /* A row that the engine refused out of many: its number from 1 (0: none), the
     * column, and how the value begins. Who knows the rows says which it is. */
    long long row;
    char column[64];
    char value[96];
} lr_err;

/* Set status and message unless an error is already held; always returns -1. */
int lr_fail(lr_err *e, lr_status status, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

/* Add the hint if it is empty; always returns -1. */
int lr_hint(lr_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Add the step if it is empty; always returns -1. */
int lr_step(lr_err *e, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* Say which row it was that the engine refused, and take its number away. decl:
 * the column's type; name and key: the column and value by which the row is known. */
void lr_err_refused(lr_err *e, const char *decl, const char *name, const char *key);

void lr_err_clear(lr_err *e);

/* A text of somebody else's, as it may go to a terminal: control characters but
 * line break and tab are written as their bytes, \x1b. What is visible stays as it
 * is, so a text may pass twice. Returns the length needed. */
size_t lr_visible(const char *text, size_t n, char *out, size_t size);

/* "where: step: message" and, on a line of its own, "  hint: ...", visible.
 * Never contains a line break inside a field. Returns the length needed. */
size_t lr_err_format(const lr_err *e, char *out, size_t size);

#endif
