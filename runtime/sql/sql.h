/* sql.h - SQL text with its values: identifiers quoted, values bound.
 *
 * lr_sqlf is the only way SQL is put together:
 *   %s  raw SQL of ours        %d  an int
 *   %I  identifier, quoted     %T  const lr_table *, quoted and qualified
 *   %V  const lr_value *, bound as a parameter (copied into the arena)
 *   %Q  const lr_sql *, its text and its values
 *   %%  a percent sign
 * Nothing is freed one by one: text and values live in the arena.
 */
#ifndef LRUN_SQL_SQL_H
#define LRUN_SQL_SQL_H

#include "base/mem.h"
#include "lrun/driver.h"

typedef struct lr_table {
    const char *schema; /* NULL: the connection's default */
    const char *name;
} lr_table;

typedef struct lr_sql {
    lr_arena *arena;
    char *text; /* LR_SQL_PARAMETER stands for each value */
    size_t len, cap;
    lr_value *params;
    int n, room;
} lr_sql;

#define LR_SQL_PARAMETER '\001'

typedef struct lr_dialect lr_dialect;

lr_sql lr_sql_new(lr_arena *a);
void lr_sqlf(lr_sql *q, const char *fmt, ...);

/* User SQL with :name parameters. lookup returns the value or NULL. Text in
 * quotes and comments, and PostgreSQL's a::b, are left alone. Where the text's
 * database is seen under another name, main_schema (else NULL), "main." means it. */
typedef const lr_value *(*lr_sql_lookup)(void *arg, const char *name);
int lr_sql_user(lr_sql *q, const char *text, const char *main_schema, lr_sql_lookup lookup, void *arg, lr_err *e);

/* A piece of SQL that stands inside a clause must end where it began: closed
 * quotes, comments and parentheses, no semicolon; without list, no comma of its
 * own. what names it in the message. */
int lr_sql_piece(const char *text, int list, const char *what, lr_err *e);

/* The text for the engine, in the arena of q. */
const char *lr_sql_text(const lr_sql *q, const lr_dialect *d);

/* The text with the values written in, to be read by people. */
const char *lr_sql_show(const lr_sql *q, const lr_dialect *d);

/* A value as a literal, appended to b; shortens nothing. */
void lr_sql_literal(lr_buf *b, const lr_value *v);

/* "schema.name" or "name" for messages. */
const char *lr_table_name(lr_arena *a, const lr_table *t);

#endif
