/* postgres.h - what the files of the PostgreSQL dialect share. */
#ifndef LRUN_SQL_POSTGRES_H
#define LRUN_SQL_POSTGRES_H

#include "sql/dialect.h"

int lr_postgres_relation(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                         lr_relation *out, lr_err *e);
int lr_postgres_resolve(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                        lr_table *out, lr_err *e);
int lr_postgres_policies(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e);
int lr_postgres_pinned(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e);
int lr_postgres_placed(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, int shards, int chunks, lr_relation *out, lr_err *e);
int lr_postgres_warehouse(const lr_driver *d, lr_conn *c, lr_err *e);
lr_type lr_postgres_type_for(lr_arena *a, const lr_type *from);
lr_type lr_postgres_stage_type(lr_arena *a, const lr_type *from);
/* ---- times, see postgres_zone.c and postgres_values.c ---- */

/* The local reading of an instant, and the first instant of a local reading. */
lr_sql lr_postgres_local(const lr_sql *instant, const lr_zone *z);
lr_sql lr_postgres_instant(const lr_sql *local, const lr_zone *z);
/* A condition: the local reading does not occur, or occurs twice. */
void lr_postgres_inexact_local(lr_sql *q, const lr_sql *local, const lr_zone *z);
/* A condition: the text is no ISO date or time. */
void lr_postgres_no_time(lr_sql *q, const lr_sql *text);
/* The instant that a text says, by its offset or in the zone. */
lr_sql lr_postgres_text_instant(const lr_sql *text, const lr_zone *z);

int lr_postgres_convert(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, const lr_time_form *form, const lr_zone *z);
int lr_postgres_lossy(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, unsigned why, const lr_zone *z);
int lr_postgres_shape(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z);
void lr_postgres_position(lr_sql *q, const lr_sql *expr, lr_position form);
int lr_postgres_merge(lr_arena *a, const lr_merge *m, int strategy, lr_step_sql out[LR_MERGE_STEPS], const char **why);
int lr_postgres_refuses(const lr_err *e);
void lr_postgres_tally(lr_sql *q, const lr_relation *t);
extern const char *const lr_postgres_strategies[];
extern const char *const lr_postgres_ledger[];

int lr_postgres_temporary(const lr_driver *d, lr_conn *c, lr_err *e);

#endif
