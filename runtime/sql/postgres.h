/* postgres.h - what the files of the PostgreSQL dialect share. */
#ifndef LRUN_SQL_POSTGRES_H
#define LRUN_SQL_POSTGRES_H

#include "sql/dialect.h"

int lr_postgres_relation(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                         lr_relation *out, lr_err *e);
int lr_postgres_resolve(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                        lr_table *out, lr_err *e);
const char *lr_postgres_type_for(lr_arena *a, const lr_dialect *from, const char *decl);
const char *lr_postgres_stage_type(lr_arena *a, const lr_dialect *from, const char *decl);
int lr_postgres_is_date(const char *decl);
int lr_postgres_scale(const char *decl);
int lr_postgres_merge(lr_arena *a, const lr_merge *m, int strategy, lr_step_sql out[LR_MERGE_STEPS], const char **why);
int lr_postgres_refuses(const lr_err *e);
void lr_postgres_tally(lr_sql *q, const lr_relation *t);
extern const char *const lr_postgres_strategies[];
extern const char *const lr_postgres_ledger[];

int lr_postgres_temporary(const lr_driver *d, lr_conn *c, lr_err *e);

#endif
