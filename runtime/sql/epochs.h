/* epochs.h - the SQL of times that are numbers (base/epoch.h), for both engines. */
#ifndef LRUN_SQL_EPOCHS_H
#define LRUN_SQL_EPOCHS_H

#include "sql/dialect.h"

/* "n < low OR n >= limit OR ...": the number is none of the form. Of dates of
 * eight digits only what their range says. */
void lr_epoch_outside(lr_sql *q, const lr_sql *n, lr_time_mode m);

/* A condition for the largest value of a column of seconds: all of them would be
 * in the first months of 1970, and look like dates or julian days. */
void lr_epoch_not_seconds(lr_sql *q, const lr_sql *n);

/* The edges of bounds from their instants. */
void lr_bounds_edges(const lr_dialect *d, lr_arena *a, lr_bounds *b);

void lr_sqlite_epoch_within(lr_sql *q, const lr_sql *column, const lr_bounds *b);
void lr_sqlite_epoch_misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b);
void lr_sqlite_epoch_newest(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *limit);

void lr_postgres_epoch_within(lr_sql *q, const lr_sql *column, const lr_bounds *b);
void lr_postgres_epoch_misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b);
void lr_postgres_epoch_newest(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *limit);
void lr_postgres_epoch_instant(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_zone *z, const lr_type *type);
/* The local reading in the zone, a timestamp. */
void lr_postgres_epoch_local(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_zone *z, const lr_type *type);

#endif
