/* driver.h - the contract that a database driver fulfils.
 *
 * A driver moves statements and rows; it knows no job, no ledger and no Lua.
 * The host asks a driver what it can do through this table only, so a driver
 * for another database is one shared object exporting `lrun_driver`.
 *
 * Rules: a function that can fail returns 0 (or a count) or -1 with lr_err
 * filled. Functions that close are void, take NULL and cannot fail. A row
 * returned by next is borrowed until the next call on the same cursor. The
 * struct grows only at its end; `size` and `abi` say what a driver was built
 * for. Statements carry `?` placeholders already in the engine's own form.
 */
#ifndef LRUN_DRIVER_H
#define LRUN_DRIVER_H

#include "lrun/err.h"
#include "lrun/type.h"
#include "lrun/value.h"
#include <stdint.h>

#define LRUN_DRIVER_ABI 2u

typedef struct lr_conn lr_conn;     /* an open connection; the driver's own */
typedef struct lr_cursor lr_cursor; /* an open result */
typedef struct lr_sink lr_sink;     /* rows on their way into a table */
struct lr_zone;                     /* a time zone of the host's */

/* How a column of text writes instants. All zero: "2026-01-20 10:00:00+00:00",
 * with six digits of a second where it is not whole. */
typedef struct lr_time_form {
    char between;         /* 'T' between date and time; 0 is a blank */
    unsigned char digits; /* so many digits of a second where they suffice */
    char zone;            /* 'Z'; 's' for "+00"; 'n' for a local time without an offset; 0 is "+00:00" */
} lr_time_form;

/* One column of a result, or of a sink. Strings live as long as the cursor or inspection. */
typedef struct lr_column {
    const char *name;
    lr_type type;       /* native is "" for an expression whose type the engine does not know */
    const char *table;  /* the table the value comes from, or NULL */
    const char *origin; /* that table's column, or NULL */
    lr_time_form form;  /* of a sink, where the engine keeps instants as text */
} lr_column;

/* A table that a statement reads or writes. */
typedef struct lr_touch {
    const char *schema; /* as the engine names it: "main", "temp", an alias */
    const char *table;
    int write;
} lr_touch;

/* What a statement would do, found without running it. */
typedef struct lr_inspection {
    const lr_column *columns;
    int ncolumns;
    const lr_touch *touches;
    int ntouches;
    int readonly;
    const char *forbidden; /* the kind of statement a job may not run, or NULL */
    int control;           /* it is forbidden since it begins or ends a transaction */
    int parameters;        /* how many placeholders */
    int several;           /* more than one statement in the text */
} lr_inspection;

typedef struct lr_open {
    const char *url;     /* "sqlite:path", "postgresql://..." */
    int readonly;        /* refuse every write */
    int create;          /* a missing database may be made */
    int lock_timeout_ms; /* how long to wait for another's lock */
    /* Called often while a statement runs or waits; non-zero stops it. */
    int (*poll)(void *arg);
    /* How a stop by poll is to be reported; fills e and returns -1. */
    int (*stopped)(void *arg, lr_err *e);
    void *arg;
    int temporary;       /* readonly, but temporary tables may be made */
    const char *name;    /* of the connection, for hints; may be NULL */
    int is_open;         /* this process has it open already: closing another descriptor of a file drops its locks (POSIX) */
    int row_security;    /* the role may see a part of a table: the user says so */
} lr_open;

typedef struct lr_driver {
    uint32_t size; /* sizeof(lr_driver) */
    uint32_t abi;  /* LRUN_DRIVER_ABI */
    const char *name;

    int (*open)(const lr_open *how, lr_conn **out, lr_err *e);
    void (*close)(lr_conn *c);

    /* write: take the lock that lets one run write at a time. */
    int (*begin)(lr_conn *c, int write, lr_err *e);
    int (*commit)(lr_conn *c, lr_err *e);
    void (*rollback)(lr_conn *c);
    void (*cancel)(lr_conn *c); /* from a signal-safe place: stop the statement */

    /* Run one statement without a result. *changed: rows written, may be NULL. */
    int (*exec)(lr_conn *c, const char *sql, const lr_value *params, int n,
                int64_t *changed, lr_err *e);

    /* Statements with a result. next: 1 a row, 0 the end, -1 an error. */
    int (*query)(lr_conn *c, const char *sql, const lr_value *params, int n,
                 lr_cursor **out, lr_err *e);
    /* As query, for rows that may be many: memory does not grow with them.
     * Unless it streams, other statements may run while it is open. */
    int (*scan)(lr_conn *c, const char *sql, const lr_value *params, int n, int streams,
                lr_cursor **out, lr_err *e);
    int streams_literals; /* a scan that streams takes values in the text only */
    int (*next)(lr_cursor *k, const lr_value **row, lr_err *e);
    const lr_column *(*columns)(lr_cursor *k, int *n);
    void (*finish)(lr_cursor *k);

    /* Look at a statement without running it; valid until the next inspect. */
    int (*inspect)(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e);

    /* Rows into a table (its name quoted), in the order of its columns, whose
     * types are given. A value that the column would change is refused. A time
     * without a zone is one of the zone (NULL: UTC). end reports how many; abort
     * takes NULL and drops what was not ended. Unless it streams, other
     * statements may run between two puts. */
    int (*sink)(lr_conn *c, const char *table, const lr_column *columns, int n, const struct lr_zone *zone, int streams, lr_sink **out, lr_err *e);
    int (*put)(lr_sink *s, const lr_value *row, lr_err *e);
    int (*end)(lr_sink *s, int64_t *rows, lr_err *e);
    void (*abort)(lr_sink *s);

    /* Make another database readable through this connection under a schema
     * name, so that no row leaves the engine. 1 done, 0 not possible for this
     * pair (a cursor and a sink are used then), -1 it should be but failed. */
    int (*reach)(lr_conn *c, const lr_open *other, const char *schema, lr_err *e);

    /* Do a connection and a URL mean the same database? 1, 0, or -1. */
    int (*same)(lr_conn *c, const char *url, lr_err *e);

    /* Is there a database at the URL? 1 yes, 0 it is missing or empty, -1 it
     * cannot be reached or is none. Opens nothing for writing. */
    int (*probe)(const char *url, lr_err *e);

    /* Rows inserted and updated in one table by the statements run since the
     * last call with the table's name; table NULL stops counting. 0 if the
     * driver counted, 1 if it cannot for this table. */
    int (*count)(lr_conn *c, const char *table, int64_t *inserted, int64_t *updated);

    /* What SQL's own clock ('now', CURRENT_TIMESTAMP) answers from now on, in
     * microseconds since 1970; 0: the machine's clock. */
    void (*clock)(lr_conn *c, int64_t us);

    /* Does reading the database, seen under a schema name, make its writers wait? */
    int (*blocks)(lr_conn *c, const char *schema);

    /* Rows written by the statement that runs now, for progress. */
    int64_t (*progress)(lr_conn *c);

    /* May be NULL. Rows of a SELECT without values at one connection into a table
     * at another of this driver, as sink takes it: bytes as they are, nothing is
     * read or checked on the way. 1 done, 0 the columns' types are not the same
     * (a cursor and a sink are used then), -1 an error. */
    int (*pipe)(lr_conn *from, const char *sql, lr_conn *into, const char *table, const lr_column *columns, int n,
                int64_t *rows, lr_err *e);

    /* May be NULL. As sink, but each row is bound to the n placeholders of a
     * statement that writes one row. end reports how many were put. */
    int (*sink_by)(lr_conn *c, const char *sql, const lr_column *columns, int n, const struct lr_zone *zone, lr_sink **out, lr_err *e);

    /* May be NULL. Begin a query whose rows a query with the same text takes
     * next, so that two databases work at once. Until then only a rollback may come. */
    int (*ask)(lr_conn *c, const char *sql, const lr_value *params, int n, lr_err *e);

    /* A column's type from what the engine's catalog says of it: the type in
     * words, which *out keeps, its number and its modifier (0 and -1 where the
     * engine has none). */
    void (*type)(const char *native, int64_t number, int modifier, lr_type *out);
} lr_driver;

/* A shared object exports this. */
typedef const lr_driver *(*lr_driver_entry)(void);
#define LRUN_DRIVER_SYMBOL "lrun_driver"

#endif
