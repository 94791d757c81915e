/* changes.h - what apply_changes holds while it works. */
#ifndef LRUN_PRIMITIVE_CHANGES_H
#define LRUN_PRIMITIVE_CHANGES_H

#include "primitive/position.h"

#define LR_CHANGE_ORDERS 8

/* One column of the order: how changes compare, by time where they are times, then
 * by bytes; and the mark's part likewise. */
typedef struct lr_change_order {
    const char *column;
    lr_type type;
    lr_position form;
    lr_sql rank, raw, mark_rank, mark_raw;
    const char *saved; /* or NULL */
} lr_change_order;

typedef struct lr_changes {
    lr_run *run;
    const lr_primitive *p;
    lr_target t;
    const char *op, *order, *mark; /* order: the first of the columns */
    lr_change_order orders[LR_CHANGE_ORDERS];
    int norders;
    int no_gaps;
    lr_sql after;            /* the condition of being above the mark; "1=1" without one */
    lr_sql due;              /* the same, or at it: a change of another key may come later */
    const char *saved;       /* the mark, or NULL */
    lr_counts c;
} lr_changes;

/* "rank, raw, rank, raw" of the columns, each with a suffix. */
void lr_changes_order(const lr_changes *w, const char *suffix, lr_sql *q);

int lr_changes_types(lr_changes *w, lr_err *e);
int lr_changes_mark(lr_changes *w, lr_err *e);  /* read it */
void lr_changes_split(lr_changes *w);           /* into its columns' parts */
int lr_changes_save(lr_changes *w, lr_err *e);

/* How each column compares, with the mark; text without an order is refused. */
int lr_changes_ordered(lr_changes *w, lr_err *e);
/* The condition of being above the mark from column i on; at: or equal to it. */
void lr_changes_above(const lr_changes *w, int i, int at, lr_sql *q);

#endif
