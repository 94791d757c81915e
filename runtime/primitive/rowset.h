/* rowset.h - rows that are described, not read: a tree of extract, scd2_join,
 * group and map, which becomes one SELECT at the warehouse when it is used.
 * Row sets live in the run's arena. */
#ifndef LRUN_PRIMITIVE_ROWSET_H
#define LRUN_PRIMITIVE_ROWSET_H

#include "primitive/args.h"
#include "run/window.h"

typedef enum lr_rows_kind { LR_ROWS_EXTRACT, LR_ROWS_JOIN, LR_ROWS_GROUP, LR_ROWS_MAP } lr_rows_kind;
typedef enum lr_nulls { LR_NULLS_ERROR, LR_NULLS_INCLUDE, LR_NULLS_SKIP } lr_nulls;

enum { LR_CONSUMED = 1, LR_EXCUSED };

struct lr_rowset;

/* Rows in and rows out for a function that maps them: next gives 1 for a row, 0
 * at the end, -1 on error; put takes a row of the row set's fields. Neither
 * raises, so the function may. */
typedef struct lr_feed {
    const struct lr_rowset *rs;
    int (*next)(struct lr_feed *feed, const lr_value **row, lr_err *e);
    int (*put)(struct lr_feed *feed, const lr_value *row, lr_err *e);
    const lr_driver *source, *into;
    lr_cursor *cursor;
    lr_sink *sink;
    lr_value *given; /* room for a row, where a function gives instants or decimals back as text; or NULL */
} lr_feed;

typedef int (*lr_map_fn)(void *arg, lr_feed *feed, lr_err *e);

typedef struct lr_rowset {
    lr_rows_kind kind;
    const char *where;        /* the job line that made it */
    const char *title;        /* "orders", for messages */
    struct lr_rowset *input;  /* NULL for an extract */
    lr_field *fields;
    int n;

    /* extract */
    const lr_place *place;
    lr_relation relation;     /* of `from`; not existing for sql = */
    const char **origins;     /* for each field the plain source column, or NULL */
    const char **texts;       /* else the job's SQL for it */
    lr_sql select;            /* "SELECT ..." without FROM; for sql = all of it */
    lr_sql from;              /* " FROM t WHERE (...)" */
    int is_sql;
    int narrowed;             /* it has a where */
    int user_sql;             /* the job wrote SQL for it: sql, where, or an expression */
    int collides;             /* user_sql: the warehouse has a table of a name in it */
    lr_sql alone_select, alone_from; /* select and from, where the place's database is the only one */
    lr_table *reads;          /* tables that it reads, for "is also written" */
    int nreads;
    const char *by;
    const char *by_text;      /* it is a column that the job's SQL makes, this; or NULL */
    lr_time_mode time;
    lr_nulls nulls;
    lr_bounds bounds;

    /* every kind: the window of the rows, and the column that carries its time */
    lr_window *window;
    const char *time_name;
    int time_made;            /* that column is an expression: it may lie outside */

    /* join: what to check before its rows are used */
    struct lr_join *join;
    int carries;              /* its columns come through from the input as they are */
    int drop_unmatched, keep_unmatched;
    const char *dimension;

    /* map */
    lr_map_fn map;
    void *map_arg;
    int filters;              /* the function only says which rows stay */
    int64_t dropped;          /* rows for which it gave nothing; known once they are staged */

    const lr_relation *like;  /* the target that staged rows are for, or NULL */
    int prepared;
    int consumed;             /* an extract: a write has taken its rows, or only looked at their keys */
    const lr_table *staged;   /* the table that holds the rows */
    const lr_type *staged_types; /* of its columns */
    int64_t skipped;
} lr_rowset;

/* Check the rows as far as that is possible before they are used: windows are
 * fixed, times that cannot be told apart and NULL times are refused. */
int lr_rowset_prepare(lr_run *run, lr_rowset *rs, lr_err *e);

/* Append a SELECT of the rows at the warehouse, by their field names. Rows that
 * are elsewhere or pass through a function are staged first. */
int lr_rowset_sql(lr_run *run, lr_rowset *rs, lr_sql *q, lr_err *e);

/* As lr_rowset_sql, of some columns: no other is read from where the rows are.
 * *from has their types (lr_rowset_type). */
int lr_rowset_only(lr_run *run, lr_rowset *rs, const char **columns, int n, lr_sql *q, const lr_rowset **from, lr_err *e);

/* A SELECT of the rows where they are read best: an extract at its own
 * connection, so that nothing is moved only to be looked at; else at the
 * warehouse. */
int lr_rowset_home(lr_run *run, lr_rowset *rs, const lr_place **place, lr_sql *q, lr_err *e);

/* The same, but rows that were staged are read again at their source: a copy
 * cannot tell what was lost while it was made. */
int lr_rowset_origin(lr_run *run, lr_rowset *rs, const lr_place **place, lr_sql *q, lr_err *e);

/* How many rows. */
int lr_rowset_count(lr_run *run, lr_rowset *rs, int64_t *out, lr_err *e);

/* A field's index by name; -1 and e lists what there is. */
int lr_rowset_field(const lr_run *run, const lr_rowset *rs, const char *name, lr_err *e);
int lr_rowset_has(const lr_run *run, const lr_rowset *rs, const char *name);

/* The type that a field is staged in: as the target's column, where one is known
 * and takes all that the source's may hold. */
lr_type lr_stage_type(lr_run *run, const lr_rowset *rs, int field);

/* Staged for a target, values are checked against its columns as they come: of
 * these rows, and of those whose columns come through from below. */
void lr_rowset_like(lr_rowset *rs, const lr_relation *target, lr_arena *a);

/* A field's type where the rows are used: at the warehouse. */
lr_type lr_rowset_type(lr_run *run, const lr_rowset *rs, int field);

/* A type whose texts live as long as the arena. */
lr_type lr_keep_type(lr_arena *a, const lr_type *t);

/* The extract at the bottom. */
lr_rowset *lr_rowset_extract(lr_rowset *rs);

/* Can the rows go straight into a table, without a copy in between? */
int lr_rowset_direct(const lr_run *run, const lr_rowset *rs);

/* Read the rows into a table (quoted): at[i] is the field of its column i, or -1
 * for the constant. by: a statement for each row, or NULL. */
int lr_rowset_pour(lr_run *run, lr_rowset *rs, const char *table, const char *by, const lr_column *columns, const int *at, int n,
                   const lr_value *constant, int64_t *rows, lr_err *e);

/* A free name for a table that only this run sees, temporary or not as
 * session->stages says then; and that it was made, to be dropped at the end. */
int lr_stage_name(lr_run *run, lr_table *t, lr_err *e);
void lr_stage_made(lr_run *run, const lr_table *t);

/* Read the rows into a temporary table. */
int lr_rowset_stage(lr_run *run, lr_rowset *rs, lr_err *e);

/* Rows through a function: fields are those of the input and the declared. */
int lr_rowset_map(lr_run *run, lr_rowset *input, const char *where, const lr_field *declared, int n,
                  lr_map_fn fn, void *arg, lr_rowset **out, lr_err *e);

/* Cursor over the rows, of *driver. */
int lr_rowset_open(lr_run *run, lr_rowset *rs, const lr_driver **driver, lr_cursor **out, lr_err *e);

/* A string that names a field is that field, else it is SQL of its own. */
void lr_rowset_expr(const lr_run *run, const lr_rowset *rs, const char *qualifier, const char *text, lr_sql *q);

int lr_extract_prepare(lr_run *run, lr_rowset *rs, lr_err *e);
/* Let the joins find facts without a version while their rows are read for the
 * next time, not before it; whether any does; and name those facts when that use
 * has failed: -1 and e says which, 0 where it was not for them. */
void lr_join_defer(const lr_run *run, lr_rowset *rs);
int lr_join_guarded(const lr_rowset *rs);
int lr_join_explain(lr_run *run, lr_rowset *rs, lr_err *e);
int lr_join_prepare(lr_run *run, lr_rowset *rs, lr_err *e);
/* The time column, or the expression that it is; and its type. */
lr_sql lr_extract_time(lr_run *run, const lr_rowset *x);
lr_type lr_extract_time_type(const lr_run *run, const lr_rowset *x);
int lr_extract_sql(lr_run *run, lr_rowset *rs, lr_sql *q, lr_err *e);

/* SQL of the job for an attached database is read through a connection of its own
 * where the warehouse's would take it for something else. */
int lr_extract_alone(lr_run *run, lr_rowset *rs, lr_err *e);
/* Does the SQL speak of the catalog, of which each connection has its own first? */
int lr_sql_reads_catalog(const char *text);
/* Before each use: the warehouse may have got a table of such a name meanwhile. */
int lr_extract_settle(lr_run *run, lr_rowset *rs, lr_err *e);

#endif
