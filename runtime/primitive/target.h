/* target.h - the table that a primitive writes: found or made, its columns
 * matched with the rows', everything refused that would bend or lose a value.
 * All refusals come before the first write. */
#ifndef LRUN_PRIMITIVE_TARGET_H
#define LRUN_PRIMITIVE_TARGET_H

#include "primitive/extract.h"

/* The options that every writing primitive has; put first in its table. */
#define LR_WRITE_OPTIONS                                                                                      \
    {"into", LR_ARG_STRING, 1, NULL, "the target table at the warehouse"},                                     \
    {"create", LR_ARG_BOOL, 0, "true", "make a target that does not exist from the rows' columns"},            \
    {"new_columns", LR_ARG_STRING, 0, "error",                                                                 \
     "columns that the target lacks: \"error\", \"add\" (as nullable) or \"ignore\" (leave out)"},             \
    {"missing_columns", LR_ARG_STRING, 0, "error",                                                             \
     "columns of the target that the source has dropped or renamed since the last run: \"error\", \"keep\" (rows that are "   \
     "there keep the value, new ones get the column's default or NULL; not where each row is written anew: full_load, swap, " \
     "overwrite_partition) or \"null\" (NULL in every row that the rows write; scd2_merge: in new versions, the history stays). " \
     "lrun accept JOB says once that the column is not written any more"},                                      \
    {"changed_columns", LR_ARG_STRING, 0, "error",                                                             \
     "columns that the source has given another type since the last run: \"error\" or \"accept\"; lrun accept JOB does it once"}, \
    {"stamp", LR_ARG_STRING, 0, NULL, "a column set to run_start where a row is inserted or changed"}

typedef struct lr_target {
    const lr_primitive *primitive;
    lr_rowset *source;
    lr_relation rel;
    const char *name;      /* as in the ledger and in messages */
    const char **columns;  /* written, by the target's names; the rows have the same */
    int n;
    const char **key;
    int nkey;
    const char **omit;     /* columns of the rows that a target without them need not have */
    int nomit;
    const char *stamp;     /* or NULL */
    lr_value stamp_value;
    int created;
    int planned;           /* how many of the last fields of rel a plan only adds in thought */
    lr_sql rows;           /* the SELECT of the rows at the warehouse, see lr_target_rows */
    int direct;            /* they are not there, and need not be */
    int once;              /* the caller reads the rows once, and explains a failure */
    int savepoint;         /* one is set for that */
    int converted;         /* rows gives values of the target's types that the source's are not */
    lr_time_form *forms;   /* how each written column writes instants; NULL: as a new one does */
    struct lr_memory *memory; /* the columns that an earlier run wrote */
    int keeps_missing, nulls_missing, accepts_types; /* missing_columns and changed_columns */
    const char **missing;  /* columns that the rows lack since an earlier run */
    int nmissing;
    const char *missing_lines; /* the same, as the ledger keeps them */
    int loads_nothing;     /* the write only takes rows away: no watermark moves for it */
} lr_target;

/* index_column: where the target is made, the column to put an index on.
 * may_be_direct: the caller only fills the target, it does not look at rows. */
int lr_target_open(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey,
                   const char *index_column, int may_be_direct, lr_target *out, lr_err *e);

/* The same where the caller has set out->omit or out->once; the rest of *out is zero. */
int lr_target_open_without(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey,
                           const char *index_column, int may_be_direct, lr_target *out, lr_err *e);

/* No NULL in the key, and no key twice; unique is the target's constraint. */
int lr_check_keys(lr_run *run, const lr_target *t, const lr_key *unique, int check_twice, lr_err *e);

/* "order_id, line" of the target's key; with unique, as that constraint compares them. */
void lr_key_list(const lr_run *run, const lr_target *t, const lr_key *unique, lr_sql *q);

/* "left.order_id = right.order_id AND ..." of two names in a SELECT. */
void lr_same_key(const char *left, const char *right, const char *const *key, int nkey, lr_sql *q);

/* The rows are a table's, and a constraint there lets each key (that is not NULL) be there once. */
int lr_rows_unique(const lr_rowset *rs, const char *const *key, int nkey);

/* The source's own constraints say so of its rows: nobody need look. */
int lr_keys_proven(const lr_target *t, const lr_key *unique);

/* From their connection by the sink, column by column of the target. by: a
 * statement that writes a row of them, or NULL. rows: how many were read. */
int lr_target_pour(lr_run *run, const lr_target *t, const char *by, int64_t *rows, lr_err *e);

/* Insert the rows: straight from their connection where they can be, else by
 * "INSERT INTO target (columns) SELECT columns FROM (rows)". */
int lr_target_fill(lr_run *run, const lr_target *t, int64_t *inserted, lr_err *e);

/* The SELECT of the rows at the warehouse; they are brought there if need be. */
int lr_target_rows(lr_run *run, lr_target *t, lr_err *e);

/* The options missing_columns and changed_columns of a write. */
int lr_drift_options(lr_target *t, const lr_args *args, lr_err *e);

/* Columns that an earlier run wrote, that the target has, and that the rows now
 * lack or have with another type: refused, unless the job names its columns or
 * its options say otherwise. lacks (may be NULL): what the target lacks, for the
 * message. */
int lr_drift_check(lr_run *run, lr_target *t, const char *lacks, lr_err *e);

/* missing_columns = "null": t->rows and the columns that are written get them. */
void lr_drift_nulls(lr_run *run, lr_target *t);
int lr_drift_remember(lr_run *run, const lr_target *t, lr_err *e);

/* The write decides whether a window on the newest value includes its start. */
int lr_target_take(lr_run *run, const lr_target *t, lr_err *e);

/* Do the rows come from a watermark that has been saved before? */
int lr_unwritten_mark(lr_run *run, lr_rowset *rs);

/* Run a write by key in the best way that the engine does for the target, or in
 * the one that the environment forces, and count what it wrote. */
int lr_merge_rows(lr_run *run, lr_target *t, lr_merge *m, lr_counts *c, lr_err *e);

/* How many rows a SELECT at the warehouse has. */
int lr_count_rows(lr_run *run, const lr_sql *select, int64_t *out, lr_err *e);

/* Set the rows of a SELECT at the warehouse aside, and count them. */
int lr_stage_rows(lr_run *run, const lr_sql *select, lr_table *stage, int64_t *n, lr_err *e);

/* Is there a row? */
int lr_any_row(lr_run *run, const lr_place *place, const lr_sql *select, int *any, lr_err *e);

/* Count, tell and remember the write. column and partition for reconcile. */
int lr_target_done(lr_run *run, const lr_target *t, const lr_counts *c, const char *column,
                   const lr_sql *partition, lr_result *out, lr_err *e);

/* Where only reconcile acts: what the write would have gone to, and no row is
 * moved. column NULL: the target has no time column of interest. */
int lr_target_noted(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey, const char *column,
                    lr_result *out, lr_err *e);

/* As lr_target_open, for a write that only takes rows away: the target must be
 * there, and only the key's columns are looked at. option names it. */
int lr_target_find(lr_run *run, const lr_primitive *p, const lr_args *args, const char *option, const char **key, int nkey,
                   lr_target *out, lr_err *e);

/* For a write that empties the target: a foreign key that would follow, and an
 * empty extract over rows. */
int lr_refuse_cascade(const lr_target *t, lr_err *e);
int lr_refuse_empty(lr_run *run, const lr_target *t, int allowed, lr_err *e);

/* A write with `once` has ended: where it failed for what a join found while it
 * was read, say what. Returns failed. */
int lr_target_close(lr_run *run, lr_target *t, int failed, lr_err *e);

/* The condition that the target's rows in the window of the source fulfil. */
int lr_target_inside(lr_run *run, const lr_target *t, const char *column, lr_sql *inside, lr_err *e);

/* A SELECT of the keys that the source's snapshot has past the window by now; not
 * possible where the rows are no table's, or have no window that ends. */
int lr_moved_on(lr_run *run, lr_rowset *rows, const lr_relation *target, const char **key, int nkey, lr_sql *out, int *possible, lr_err *e);

/* Rows that are a part of their table, for a write that takes the keys they lack
 * for gone: refused without a partition; with a window only noted. loss says what
 * the write would do to the others. */
int lr_refuse_part(lr_run *run, const lr_target *t, const lr_arg *partition, const char *loss, lr_err *e);

/* " AND region = 'EU'" from { region = "EU" }, for the target. */
int lr_partition_sql(lr_run *run, const lr_relation *rel, const lr_arg *partition, lr_sql *q, lr_err *e);

#endif
