/* scd2_pieces.h - pieces that the statements of scd2_merge share. */
#ifndef LRUN_SQL_SCD2_PIECES_H
#define LRUN_SQL_SCD2_PIECES_H

#include "sql/scd2.h"

/* A time column of the dimension or of a stage like it, as an instant. */
void lr_scd2_instant(const lr_scd2 *s, lr_sql *q, const char *qualifier, const char *name, const lr_type *type);
lr_sql lr_scd2_sighting_instant(const lr_scd2 *s, lr_sql *q, const char *qualifier); /* of valid_from */
lr_sql lr_scd2_absent_instant(const lr_scd2 *s, lr_sql *q);

/* "q.a, q.b"; key and tracked columns; a.key = b.key of each. */
void lr_scd2_list(lr_sql *q, const char *qualifier, const char **names, int n);
void lr_scd2_columns(const lr_scd2 *s, lr_sql *q, const char *qualifier);
void lr_scd2_same_key(const lr_scd2 *s, lr_sql *q, const char *a, const char *b);

/* The version named "dim" is open; it holds the moment. */
void lr_scd2_open_end(const lr_scd2 *s, lr_sql *q, const char *qualifier);
void lr_scd2_covers(const lr_scd2 *s, lr_sql *q, const lr_sql *moment);

int lr_scd2_is_loose(const lr_scd2 *s, const char *name);

/* " AND" what is remembered, "seen", is not before the moment. Its text sorts as
 * time but for the hour that comes twice. */
void lr_scd2_seen_from(const lr_scd2 *s, lr_sql *q, const char *qualifier);
lr_sql lr_scd2_seen_instant(const lr_scd2 *s, lr_sql *q);

/* A key as the text of lrun_scd2_seen. */
void lr_scd2_key_text(const lr_scd2 *s, lr_sql *q, const char *qualifier);

/* The rows under a name whose key is not in the table; comes after their FROM. */
void lr_scd2_without(const lr_scd2 *s, lr_sql *q, const char *of, const lr_table *t, const char *name);

#endif
