/* internal.h - what the files of the PostgreSQL driver share. */
#ifndef LRUN_DRIVER_POSTGRES_INTERNAL_H
#define LRUN_DRIVER_POSTGRES_INTERNAL_H

#include "base/mem.h"
#include "lrun/driver.h"
#include <libpq-fe.h>

/* Type numbers that PostgreSQL never changes. */
enum {
    PG_BOOL = 16, PG_BYTEA = 17, PG_INT8 = 20, PG_INT2 = 21, PG_INT4 = 23, PG_TEXT = 25, PG_OID = 26,
    PG_JSON = 114, PG_FLOAT4 = 700, PG_FLOAT8 = 701, PG_BPCHAR = 1042, PG_VARCHAR = 1043, PG_DATE = 1082,
    PG_TIMESTAMP = 1114, PG_TIMESTAMPTZ = 1184, PG_NUMERIC = 1700, PG_UUID = 2950, PG_JSONB = 3802,
    PG_CHAR = 18, PG_NAME = 19, PG_MONEY = 790, PG_TIME = 1083, PG_TIMETZ = 1266, PG_INTERVAL = 1186,
    PG_BIT = 1560, PG_VARBIT = 1562
};

typedef struct lr_typename {
    Oid oid;
    int mod;
    char *name;
} lr_typename;

struct lr_conn {
    PGconn *pg;
    lr_open how;
    char *url;
    int in_transaction;
    int stopped;
    int lost;        /* the connection broke */
    int shared;      /* other connections of the run are the same database */
    int committing;
    char *settings;  /* what SET LOCAL takes, for every transaction */
    unsigned cursors;
    lr_arena inspected;
    lr_inspection inspection;
    lr_typename *types;
    int ntypes;
    char *asked; /* a query whose rows have not been taken, or NULL */
    int binary; /* does the server do COPY in binary? 0 not asked, 1 yes, -1 no */
};

/* Fill e from a result (may be NULL) and the connection. Always -1. */
int lr_pg_error(lr_conn *c, const PGresult *r, const char *sql, lr_err *e);

/* libpq's text on one line, without its "ERROR:  ". */
void lr_pg_one_line(const char *text, char *out, size_t size);

int lr_pg_open(const lr_open *how, lr_conn **out, lr_err *e);
void lr_pg_close(lr_conn *c);

/* Begin with the connection's settings; then: more statements, "; SELECT 1". */
int lr_pg_start(lr_conn *c, const char *begin, const char *then, lr_err *e);

/* Outside a transaction, a small one that only reads, around what must not be
 * spread over two server processes. *entered says whether there is one to leave. */
int lr_pg_enter(lr_conn *c, int *entered, lr_err *e);
void lr_pg_leave(lr_conn *c, int entered);

/* Several statements in one message, without parameters; the last result. */
PGresult *lr_pg_script(lr_conn *c, const char *sql, lr_err *e);

/* Run one statement to its end, polling for a stop. NULL and e on failure. */
PGresult *lr_pg_run(lr_conn *c, const char *sql, const lr_value *params, int n, lr_err *e);
PGresult *lr_pg_run_format(lr_conn *c, const char *sql, const lr_value *params, int n, int binary, lr_err *e);

/* A hint for "permission denied": what the role lacks, and the GRANT. */
void lr_pg_privilege_hint(lr_conn *c, const char *message, const char *sql, lr_err *e);

/* A hint for what row level security refused. 1, or 0 where it is something else. */
int lr_pg_policy_hint(lr_conn *c, const PGresult *r, const char *message, lr_err *e);

/* Ask the server to end what it does for this connection. */
void lr_pg_cancel(lr_conn *c);

/* Wait until a result is complete. -1 where the connection broke. */
int lr_pg_wait(lr_conn *c, lr_err *e);

/* "numeric(10,2)" of a type. Lives as long as the connection. */
const char *lr_pg_type_name(lr_conn *c, Oid oid, int mod, lr_err *e);

/* A type by its number and modifier; native is kept. */
void lr_pg_type(const char *native, int64_t number, int modifier, lr_type *out);

/* One field of a text result. The text is borrowed from the result; *held is
 * for bytes that had to be decoded, freed by the caller. */
int lr_pg_decode(const PGresult *r, int row, int column, lr_value *out, unsigned char **held);

/* Is the type's binary form read here? */
int lr_pg_has_binary(Oid type);

/* One binary field; p NULL is NULL. -1 where it is broken. scratch keeps what
 * has to be written out: numerics, infinity, years before 1 and after 9999. */
int lr_pg_decode_binary(const char *p, size_t n, Oid type, lr_value *out, lr_buf *scratch);

/* Ask the server, once, whether it does COPY in binary; behind a savepoint, since
 * a refusal would end the transaction. 1, 0, or -1 and e. */
int lr_pg_binary_copy(lr_conn *c, lr_err *e);

/* A statement's columns, without running it. NULL and e on failure. */
PGresult *lr_pg_describe(lr_conn *c, const char *sql, lr_err *e);

/* COPY (sql) TO STDOUT, its lines, and its end before all were read. A line's
 * length; -1 the end, to be asked for its result; -2 lost; -3 stopped, in e. */
int lr_pg_copy_out(lr_conn *c, const char *sql, int binary, lr_err *e);
int lr_pg_copy_line(lr_conn *c, char **line, lr_err *e);
int lr_pg_copy_result(lr_conn *c, int line, lr_err *e);
void lr_pg_copy_stop(lr_conn *c);

int lr_pg_pipe(lr_conn *from, const char *sql, lr_conn *into, const char *table, const lr_column *columns, int n, int64_t *rows, lr_err *e);
int lr_pg_exec(lr_conn *c, const char *sql, const lr_value *params, int n, int64_t *changed, lr_err *e);
int lr_pg_query(lr_conn *c, const char *sql, const lr_value *params, int n, lr_cursor **out, lr_err *e);
int lr_pg_ask(lr_conn *c, const char *sql, const lr_value *params, int n, lr_err *e);
int lr_pg_scan(lr_conn *c, const char *sql, const lr_value *params, int n, int streams, lr_cursor **out, lr_err *e);
int lr_pg_next(lr_cursor *k, const lr_value **row, lr_err *e);
const lr_column *lr_pg_columns(lr_cursor *k, int *n);
void lr_pg_finish(lr_cursor *k);
int lr_pg_inspect(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e);
int lr_pg_sink(lr_conn *c, const char *table, const lr_column *columns, int n, const struct lr_zone *zone, int streams, lr_sink **out, lr_err *e);
int lr_pg_put(lr_sink *s, const lr_value *row, lr_err *e);
int lr_pg_end(lr_sink *s, int64_t *rows, lr_err *e);
void lr_pg_abort(lr_sink *s);

#endif
