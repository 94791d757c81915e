/* window.h - half-open windows, and the watermarks that open them. */
#ifndef LRUN_RUN_WINDOW_H
#define LRUN_RUN_WINDOW_H

#include "run/run.h"

/* Is the saved value inside a window on the newest value? A row that comes later
 * with the same value is lost where it is not. */
typedef enum lr_start_rule {
    LR_START_BY_WRITE, /* yes, unless the first write leaves rows that are there alone */
    LR_START_CLOSED,
    LR_START_OPEN
} lr_start_rule;

typedef struct lr_window {
    lr_edge start, stop;  /* us; value once bound to a column */
    const char *mark;     /* the watermark that it reads, or NULL */
    int newest;           /* advance = "newest": up to the largest value there is */
    int has_lookback;
    lr_span lookback;
    int64_t lookback_number; /* of a watermark that is a plain number */
    int lookback_is_number;
    lr_start_rule rule;   /* newest, without a lookback */
    const char *writer;   /* the first primitive that takes its rows, or NULL */
    int appends;          /* that leaves rows that are there alone */
    const char *first;    /* watermark { start = }, or NULL: no window starts before it */
    const char *saved;    /* the watermark's value, or NULL on a first run */
    const char *save;     /* value for the ledger at commit, or NULL */
    const char *bound_to; /* newest: "table.column", fixed at the first extract */
    lr_time_mode mode;    /* newest: of that column */
    int uses, consumed;   /* extracts made with it; of them, those that were written */
    struct lr_window *next;
} lr_window;

/* watermark { ... } as an option of window. */
typedef struct lr_mark {
    const char *name;  /* "default" */
    int newest;
    const char *start; /* where a first run begins, and no later one before; or NULL */
    lr_start_rule rule;
} lr_mark;

/* The logical date's grain. An error without a logical date. */
int lr_window_logical(lr_run *run, lr_window **out, lr_err *e);
int lr_window_range(lr_run *run, int64_t start, int64_t stop, lr_window **out, lr_err *e);

/* From a saved watermark on; the logical date's own window where there is one. */
int lr_window_since(lr_run *run, const lr_mark *mark, const lr_span *lookback, const int64_t *number,
                    lr_window **out, lr_err *e);

/* What a column is compared with. from: " FROM t WHERE ..." of the extract. */
typedef struct lr_time_column {
    const lr_place *place;
    const char *table;  /* for messages */
    const char *column;
    const lr_type *type; /* NULL: not known */
    lr_sql expr;        /* the column */
    lr_sql from;
    lr_time_mode mode;  /* as declared by the extract */
} lr_time_column;

/* Bounds of the window on a column, in its own forms. A window on the newest
 * value is fixed here. Checks no row. */
int lr_window_bounds(lr_run *run, lr_window *w, const lr_time_column *c, lr_bounds *out, lr_err *e);

/* A primitive is about to write the window's rows: the first one decides about
 * the start of a window on the newest value; one of the other kind is refused. */
int lr_window_take(lr_run *run, lr_window *w, const char *primitive, int appends, lr_err *e);

/* The extract that the window was made for has been written. */
void lr_window_consume(lr_run *run, lr_window *w);

/* Save the watermarks of windows whose rows were written. */
int lr_windows_save(lr_run *run, lr_err *e);

/* "[2026-01-20, 2026-01-21)". In the run's arena. */
const char *lr_window_text(lr_run *run, const lr_window *w);
/* One edge as text, NULL where unbounded. */
const char *lr_edge_text(lr_run *run, const lr_edge *edge);

#endif
