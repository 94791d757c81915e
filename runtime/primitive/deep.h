/* deep.h - rows compared one by one: both sides are cut into segments by a hash
 * of the key, whose counts and sums of row hashes are compared; those that differ
 * are cut again until few rows are left, and only these are read. */
#ifndef LRUN_PRIMITIVE_DEEP_H
#define LRUN_PRIMITIVE_DEEP_H

#include "primitive/reconcile.h"

typedef struct lr_segment {
    int64_t number, rows;
    const char *sum;
} lr_segment;

typedef struct lr_segments {
    lr_segment *list; /* sorted by number */
    int n;
    int64_t rows;
    uint64_t sum;
} lr_segments;

/* One side: 0 the source, 1 the warehouse. */
typedef struct lr_deep_side {
    const lr_place *place;
    lr_hashed *columns; /* the key's first */
    lr_sql folds[2];    /* of the key, of the others */
    lr_segments all;    /* the first look */
} lr_deep_side;

typedef struct lr_deep {
    lr_deep_side sides[2];
    int n, nkey, nfolds;
    int64_t limit, fetched;
} lr_deep;

typedef enum lr_row_fault { LR_ROW_MISSING, LR_ROW_EXTRA, LR_ROW_DIFFERENT } lr_row_fault;

/* A row that is not the same on both sides. */
typedef struct lr_odd_row {
    lr_row_fault fault;
    int64_t key, row[2];   /* hashes */
    const char *text;      /* the key */
    int64_t number;        /* the key, where it is a single number */
    unsigned char *differs; /* for each column, of a different one */
    const char **values[2]; /* of those columns */
} lr_odd_row;

/* Rows of segments whose hashes differ, at most limit; more: there are others. */
int lr_deep_find(lr_comparison *p, const lr_sql *rows, const lr_sql *stored, lr_odd_row **out, int *n, int *more, lr_err *e);

/* " FROM (rows) AS rows", and where nsegments > 0 only those of these segments. */
void lr_deep_from(const lr_comparison *p, int side, const lr_sql *rows, int64_t mask, const lr_segment *segments, int nsegments, lr_sql *q);

int lr_segments_read(lr_comparison *p, const lr_sql q[2], lr_segments out[2], lr_err *e);
/* The segments that are not the same; rows is the larger side's. */
lr_segment *lr_segments_differ(lr_arena *a, const lr_segments *x, const lr_segments *y, int *n);

#define LR_FIRST_MASK INT64_C(1023)

#endif
