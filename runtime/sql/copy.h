/* copy.h - a private table that is built like another, and what it takes to put
 * it into the other's place. Reads the schema; writes no SQL of its own. */
#ifndef LRUN_SQL_COPY_H
#define LRUN_SQL_COPY_H

#include "sql/dialect.h"

typedef struct lr_statements {
    lr_sql *sql;
    int n, room;
} lr_statements;

/* rename: the copy is to take the table's place by name, so it needs all that
 * the table has; else only what its rows must fulfil. */
typedef struct lr_copy {
    const lr_driver *driver;
    lr_conn *conn;
    lr_arena *arena;
    lr_table table, copy;
    int rename;
} lr_copy;

struct lr_copier {
    /* What would not follow the table to another of its name: "the view v", or
     * NULL where nothing depends on it. */
    int (*blocker)(const lr_copy *c, const char **what, lr_err *e);
    /* Make the copy, still empty. */
    int (*make)(const lr_copy *c, lr_statements *out, lr_err *e);
    /* When it has been filled: what is better made then. */
    int (*finish)(const lr_copy *c, lr_statements *out, lr_err *e);
    /* Drop the table, and give the copy its name. */
    int (*replace)(const lr_copy *c, lr_statements *out, lr_err *e);
};

extern const lr_copier lr_sqlite_copier, lr_postgres_copier;

/* A new statement at the end, to be written by lr_sqlf. */
lr_sql *lr_statement(const lr_copy *c, lr_statements *s);

/* For each row of a query call fn with the texts of its columns, NULL for NULL. */
int lr_each_text(const lr_copy *c, const char *sql, const lr_value *params, int n,
                 int (*fn)(void *arg, const char **row, lr_err *e), void *arg, lr_err *e);

#endif
