/* sqlite.h - what the files of the SQLite dialect share. */
#ifndef LRUN_SQL_SQLITE_H
#define LRUN_SQL_SQLITE_H

#include "sql/dialect.h"

int lr_sqlite_relation(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                       lr_relation *out, lr_err *e);
void lr_sqlite_commits(lr_sql *q, const char *schema);
int lr_sqlite_resolve(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                      lr_table *out, lr_err *e);
int lr_sqlite_indexed(const lr_driver *d, lr_conn *c, const lr_table *t, const char *column, lr_err *e);
lr_type lr_sqlite_aggregate(lr_arena *a, const char *text, const lr_field *fields, int n, const char **as);
lr_type lr_sqlite_type_for(lr_arena *a, const lr_type *from);
int lr_sqlite_merge(lr_arena *a, const lr_merge *m, int strategy, lr_step_sql out[LR_MERGE_STEPS], const char **why);
extern const char *const lr_sqlite_ledger[];
int lr_sqlite_shape(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z);
void lr_sqlite_position(lr_sql *q, const lr_sql *expr, lr_position form);

#endif
