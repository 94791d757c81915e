/* reconcile.h - what the files of reconcile share: one comparison, its totals
 * and, row by row, its checksums. */
#ifndef LRUN_PRIMITIVE_RECONCILE_H
#define LRUN_PRIMITIVE_RECONCILE_H

#include "primitive/target.h"

#define LR_MAX_SUMS 32
#define LR_EXTRA_NAMED 5 /* rows that only the target has, in the message */

typedef struct lr_sum_pair {
    const char *source, *target;
    int scale;
} lr_sum_pair;

typedef struct lr_totals {
    const char **group; /* texts, NULL entries for NULL */
    const char *values[2 * LR_MAX_SUMS + 1]; /* rows, the sums, and how many values are not NULL */
} lr_totals;

struct lr_deep;

typedef struct lr_comparison {
    lr_run *run;
    lr_rowset *rs;
    lr_relation target;
    const char *name;
    lr_sum_pair sums[LR_MAX_SUMS];
    int nsums;
    lr_sum_pair *by;
    int nby;
    int count_rows;
    const char *tolerance;
    const char **key;
    int nkey;
    lr_sql inside; /* the target's condition */
    const char *column;    /* the target's time column, where it is not named as the rows' */
    const char *primitive; /* what wrote the target in this run, or NULL */
    int64_t moved;
    const lr_place *home; /* where the source's side is read */
    struct lr_deep *deep; /* or NULL */
    int64_t extra;            /* rows that a deep comparison found only in the target, */
    const char *extra_names;  /* and the keys of the first few */
    lr_result *out;
    int room;             /* of out->lines */
    lr_buf differences;
} lr_comparison;

/* A line of the report, for the ledger and the events too. text says it for
 * people where "label source = warehouse" does not. */
int lr_compare_line(lr_comparison *p, const lr_report_line *line, const char *label, const char *text, lr_err *e);
int lr_compare_numbers(lr_comparison *p, const char *group, const char *metric, const char *label, const char *a, const char *b,
                       const char *tolerance, int scale, lr_err *e);

/* "amount", { "amount" } or { source_column = "target_column" } of an option. */
int lr_read_pairs(lr_run *run, const lr_arg *a, lr_sum_pair *out, int room, int *n, const char *option, lr_err *e);

/* Fail for a difference: name the rows that only the target has, of stored, and
 * how to mend it. more_stored: the target has more rows. Always -1. */
int lr_differs(lr_comparison *p, const lr_sql *stored, const char *primitive, int more_stored, lr_err *e);

/* ---- totals ---- */

/* rows as in lr_rowset_home; source: they are the source's. */
lr_sql lr_totals_sql(const lr_comparison *p, const lr_sql *rows, int source);
int lr_totals_read(const lr_comparison *p, const lr_place *w, const lr_sql *q, lr_totals **out, int *n, lr_err *e);
int lr_totals_equal(const lr_comparison *p, const lr_totals *a, int na, const lr_totals *b, int nb);
int lr_totals_report(lr_comparison *p, const lr_totals *a, int na, const lr_totals *b, int nb, lr_err *e);

/* ---- row by row ---- */

/* Which columns, and how both sides hash them. */
int lr_deep_open(lr_comparison *p, const lr_arg *columns, int64_t limit, lr_err *e);
/* The first look, both sides at once: one pass over each. */
int lr_deep_read(lr_comparison *p, const lr_sql *rows, const lr_sql *stored, lr_err *e);
int lr_deep_equal(const lr_comparison *p);
/* Find the rows that differ, and report; count: the number of rows too. */
int lr_deep_report(lr_comparison *p, const lr_sql *rows, const lr_sql *stored, int count, lr_err *e);
int64_t lr_deep_fetched(const lr_comparison *p); /* rows that were read for it */
lr_sql lr_deep_sql(const lr_comparison *p, const lr_sql *rows, int source);

#endif
