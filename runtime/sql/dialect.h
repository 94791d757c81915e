/* dialect.h - all that differs between engines, in one table per engine.
 *
 * Above this header nobody asks which database it is. Every function that
 * writes SQL appends to an lr_sql; none runs it, but for reading the schema.
 */
#ifndef LRUN_SQL_DIALECT_H
#define LRUN_SQL_DIALECT_H

#include "base/epoch.h"
#include "base/moment.h"
#include "base/position.h"
#include "sql/checksum.h"

/* ---- what a table is ---- */

/* Why a row set has a column. */
typedef enum lr_said {
    LR_SAID_SOURCE, /* the source has it, and the job takes all */
    LR_SAID_NAME,   /* the job names it */
    LR_SAID_VALUE   /* the job says its value too: an expression, an aggregate, a declared type */
} lr_said;

typedef struct lr_field {
    const char *name;
    lr_type type;
    int not_null;      /* cannot hold NULL, also by being the row's identity */
    int primary;       /* position in the primary key from 1, 0 not in it */
    int generated;     /* computed by the engine: never written */
    int has_default;
    lr_said said;      /* of a row set's field: whose word it is */
    int loose;         /* "=" takes different values for the same, or there is none: compared as text; of SQLite: times that are equal in other forms too */
} lr_field;

typedef struct lr_key {
    const char **columns;
    const char **collations; /* NULL entry: plain bytes */
    int n;
} lr_key;

typedef struct lr_relation {
    lr_table table;
    int exists;
    int is_view;
    lr_field *fields;
    int nfields;
    lr_key *keys; /* unique, whole (no partial, no expression) */
    int nkeys;
    int drops_rows;  /* ON CONFLICT REPLACE or IGNORE in its definition would lose rows in silence */
    int referenced;  /* a foreign key points at it; only where that matters to the engine's copies */
    const char *cascaded_from; /* a table whose foreign key would follow a delete, or NULL */
    int numbered;  /* its rows carry a number that grows with each insert */
    const char **pinned; /* columns that an UPDATE would change without moving the row to where it belongs */
    int npinned;         /* a NULL entry: any column */
    int distributed;     /* its rows are at other servers, which a table of another name would not be */
    int policies;        /* row level security stands before each row: no rows go straight in */
} lr_relation;

/* ---- windows on a column ---- */

typedef struct lr_edge {
    int set;        /* 0: unbounded */
    int inclusive;  /* the edge itself is inside */
    int above;      /* values at the instant are below it: a start that is open, a stop that is closed */
    int exact;      /* value is kept digit for digit, not formatted from us */
    lr_value value; /* as compared with the column; of a form of numbers (base/epoch.h) an exact number, for every column */
    int64_t us;     /* the instant, where it is a time */
} lr_edge;

typedef struct lr_bounds {
    lr_edge start, stop;
    lr_time_mode mode;
    const lr_zone *zone;
    const lr_type *type; /* of the column; NULL: not known */
    int indexed;    /* an index finds its values */
    int by_instant; /* the column's forms do not sort as time: compare instants */
} lr_bounds;

/* ---- a write by key ---- */

typedef struct lr_merge {
    const lr_relation *target;
    const lr_sql *rows;    /* a SELECT that gives the columns, by their names */
    const char **columns;  /* to be written, in order */
    int n;
    const char **key;
    int nkey;
    const lr_key *unique;  /* the constraint over exactly the key, or NULL */
    const char *newest;    /* the later wins, or NULL */
    lr_position position;  /* how it is ordered */
    const lr_zone *zone;
    const char *stamp;     /* column set where a row is inserted or changed, or NULL */
    lr_value stamp_value;
    int by_row;            /* VALUES of placeholders in place of rows; without newest and stamp */
    int insert_only;       /* leave rows that are there alone */
    lr_table scratch;      /* a table's name that is free, to set rows aside in */
    int stages;            /* 2: it is no temporary one */
} lr_merge;

/* What the number of rows that a statement changed means. */
typedef enum lr_effect {
    LR_INSERTS,
    LR_UPDATES,
    LR_UPSERTS, /* both, and which of them has to be found out */
    LR_KEEPS,   /* rows set aside, to be deleted and written again */
    LR_DELETES  /* as many as were set aside */
} lr_effect;

#define LR_MERGE_STEPS 4

typedef struct lr_step_sql {
    lr_sql sql;
    lr_effect effect;
} lr_step_sql;

typedef struct lr_copier lr_copier; /* see copy.h */

struct lr_dialect {
    const char *name;
    const lr_copier *copier;
    int fold_case;   /* names compare without case */
    int has_schemas; /* tables live in schemas */
    int has_row_security; /* policies may hide rows from a role */
    int merges_by_row; /* a statement by key for each row is as fast as one for all */
    int seeks;       /* looking neighbours up in an index is faster than a window over all rows */
    int checks_rows; /* its sink refuses what a column would bend, so rows may go straight in */
    size_t longest_name; /* bytes; 0: no limit. Longer ones are refused, not cut */
    int keeps_any;   /* a column takes values of any class, whatever it declares */
    int keeps_stages; /* temporary tables outlive their transaction */
    int row_locks;   /* a run locks its job's row; else beginning to write locks all */

    /* A SELECT of (process, seconds in its transaction, program) of whoever
     * changes the row in a transaction that is still open. May be NULL. */
    void (*row_holder)(lr_sql *q, const lr_table *t, const char *key, const lr_value *v);

    void (*placeholder)(int i, char out[16]);

    /* Read a table; exists is 0 where there is none (no error). schema NULL is
     * the default. all: keys and foreign keys too. */
    int (*relation)(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                    lr_relation *out, lr_err *e);

    /* Split a name as users write it, "schema.table", into its parts. */
    int (*resolve)(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                   lr_table *out, lr_err *e);

    /* The type of a new column that keeps what a column of a type declares; and
     * of a staged one, which holds every value that such a column may have. */
    lr_type (*type_for)(lr_arena *a, const lr_type *from);
    lr_type (*stage_type)(lr_arena *a, const lr_type *from);

    /* May this connection make temporary tables? 1, 0, or -1. NULL: always. */
    int (*temporary)(const lr_driver *d, lr_conn *c, lr_err *e);
    /* temporary: 0 a table that stays, 1 one of this session that ends with the
     * transaction, 2 one that the transaction makes and drops again */
    void (*create_table)(lr_sql *q, const lr_table *t, const lr_field *fields, int n, const char **key,
                         int nkey, int temporary);
    /* A table of a SELECT's rows, temporary as above. */
    void (*keep)(lr_sql *q, const lr_table *t, const lr_sql *select, int temporary);
    /* After "FROM ... AS a": only rows of a whose key is not among the rows' (the
     * name b for them is the engine's to use or not); more conditions may follow. */
    void (*unmatched)(lr_sql *q, const char *a, const lr_sql *rows, const char *b, const char **key, int nkey);
    /* Delete the rows whose key is among the keys, where the condition holds. */
    void (*delete_keys)(lr_sql *q, const lr_table *t, const lr_sql *where, const lr_table *keys, const char **key, int nkey);
    void (*create_index)(lr_sql *q, const lr_table *t, const char *column);
    void (*add_column)(lr_sql *q, const lr_table *t, const lr_field *field);

    /* Refuse a database that cannot be a warehouse. May be NULL. */
    int (*warehouse)(const lr_driver *d, lr_conn *c, lr_err *e);

    /* A SELECT of a number that changes when another connection has committed to an
     * attached database. NULL: none can be attached. */
    void (*commits)(lr_sql *q, const char *schema);

    /* Fill edge->value from edge->us, as a column of the type is compared. */
    void (*edge)(lr_arena *a, lr_edge *edge, lr_time_mode mode, const lr_zone *z, const lr_type *type);
    /* "column >= start AND column < stop", or "1=1" where both are open. */
    void (*within)(lr_sql *q, const lr_sql *column, const lr_bounds *b);

    /* A SELECT of (class, value, is a time) of the first row whose time the
     * bounds would put on the wrong side, or no rows. With by_instant only what
     * is no time is found. 0: this engine needs no such check. */
    int (*misplaced)(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b);

    /* As misplaced, for text anywhere that sorts among times and is none. May be
     * NULL; indexed says whether an index begins with the column. */
    int (*strange)(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b);
    int (*indexed)(const lr_driver *d, lr_conn *c, const lr_table *t, const char *column, lr_err *e);

    /* The largest value of the column not later than limit (NULL: any). */
    void (*newest)(lr_sql *q, const lr_sql *from, const lr_sql *column, lr_time_mode mode,
                   const lr_zone *z, const lr_type *type, const int64_t *limit_us);

    /* Instants that compare across forms: for joins on time. */
    void (*instant)(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *type);
    /* Do a column's times compare with those of another as they are stored, the
     * other side being a version's bounds? By the types alone: 1 or 0; 2 where
     * the values have to be looked at, and q is a SELECT of the styles
     * (base/timestyle.h) that all of them have. */
    int (*plain_times)(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_type *type, const lr_type *other, const lr_zone *z);
    /* A condition that is an error where the column is NULL, and whether an error
     * is that one. */
    void (*never_null)(lr_sql *q, const lr_sql *column);
    int (*was_null)(const lr_err *e);
    /* Text compares by its bytes, whatever the column's collation. */
    void (*bytewise)(lr_sql *q, const lr_sql *expr, const lr_type *type);
    void (*forever)(lr_sql *q); /* an instant after every other */
    void (*last)(lr_sql *q, const lr_type *type); /* a time of the type after every other */
    /* A time as a column of the type `to` holds it; naive ones read in the zone. */
    void (*moment)(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *from, const lr_type *to);
    /* Not the same value, NULL being one; loose as in lr_field. */
    void (*distinct)(lr_sql *q, const lr_sql *a, const lr_sql *b, int loose);
    /* A value of any type as it may stand in a column of values of several. */
    void (*shown)(lr_sql *q, const lr_sql *expr);
    /* Where instants are kept as text: a SELECT of the newest that a column holds. */
    void (*newest_text)(lr_sql *q, const lr_relation *t, const lr_sql *column, int indexed);
    const char *quote; /* the function that writes a text as a literal */
    /* Is a value a time? 0 and nothing appended where the column's type says so of
     * all its values. */
    int (*is_time)(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z);
    /* The shape of a text (base/position.h), "number" or "blob"; as is_time. */
    int (*shape)(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z);
    /* A log position as text whose bytes order it. */
    void (*position)(lr_sql *q, const lr_sql *expr, lr_position form);
    /* A value that orders as time where it is a time, else as itself. */
    void (*order)(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z);

    /* The first of the grain that a time is in, as a logical date; what is no
     * time is its own text. */
    void (*piece)(lr_sql *q, const lr_sql *expr, lr_grain g, lr_time_mode mode, const lr_zone *z, const lr_type *type);
    /* Microseconds from an instant to a later one. */
    void (*elapsed)(lr_sql *q, const lr_sql *from, const lr_sql *to);

    /* Exact total as decimal text. */
    void (*total)(lr_sql *q, const lr_sql *expr, const lr_type *type);
    /* Rows compared by checksum. */
    const lr_checksum *checksum;
    /* A value where the engine would not know its type. */
    void (*typed)(lr_sql *q, const lr_value *v, const lr_type *type);

    /* May be NULL: the engine knows the types of expressions. The type of an
     * aggregate, "SUM(amount)", over some fields; *as is set where it is to be
     * computed by another text, so that decimals add up exactly. */
    lr_type (*aggregate)(lr_arena *a, const char *text, const lr_field *fields, int n, const char **as);

    /* A condition that finds a value which a column of the type `to` does not
     * keep, for the reasons of lr_type_loss; 0 and nothing appended where the
     * engine keeps all. from is the expression's own type. */
    int (*lossy)(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, unsigned why, const lr_zone *z);
    /* The expression as a value of the column's type, exact for what is not
     * lossy. 0 and nothing appended where it is one as it stands. */
    int (*convert)(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, const lr_time_form *form, const lr_zone *z);

    /* Ways to write by key, the best first, and the environment variable that
     * forces one. NULL: there is one way, and it always works. */
    const char *const *strategies;
    const char *strategy_variable;
    /* The statements of a way; returns how many. 0 and *why where it is not for
     * this target. */
    int (*merge)(lr_arena *a, const lr_merge *m, int strategy, lr_step_sql out[LR_MERGE_STEPS], const char **why);
    /* Does the error say that the engine does not do such a statement? */
    int (*refuses)(const lr_err *e);
    /* A SELECT of (rows can be told apart, inserted, deleted) in the table by this
     * transaction so far, for LR_UPSERTS. NULL: the driver counts. */
    void (*tally)(lr_sql *q, const lr_relation *t);

    /* Between the column list and SELECT of an INSERT. */
    const char *overriding;
    /* A SELECT of the tables and views that a plain name finds: name, type. */
    const char *tables;

    /* The ledger's tables, each created if it is missing; "@name" is a table
     * under the ledger's schema. */
    const char *const *ledger;
};

const lr_dialect *lr_dialect_of(const lr_driver *d);
extern const lr_dialect lr_sqlite_dialect, lr_postgres_dialect;

/* The field of that name, by the engine's rule for case; -1 none. */
int lr_field_find(const lr_dialect *d, const lr_relation *r, const char *name);
/* The value as it is ordered: a log position by its numbers, else as d->order. */
void lr_ordered(const lr_dialect *d, lr_sql *q, const lr_sql *expr, lr_position form, const lr_type *type, const lr_zone *z);
int lr_name_equal(const lr_dialect *d, const char *a, const char *b);

/* The unique key over exactly these columns, in any order, or NULL. */
const lr_key *lr_unique_key(const lr_dialect *d, const lr_relation *r, const char **columns, int n);

/* A single column as SQL. */
lr_sql lr_sql_column(lr_arena *a, const char *qualifier, const char *name);

#endif
