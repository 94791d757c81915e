/* checksum.h - rows compared by checksum: one form for each pair of columns,
 * and the SQL that hashes rows where they are. */
#ifndef LRUN_SQL_CHECKSUM_H
#define LRUN_SQL_CHECKSUM_H

#include "base/checksum.h"
#include "base/calendar.h"
#include "sql/sql.h"

typedef struct lr_hashed {
    const char *name;
    lr_type type, beside; /* of this column, and of the other side's */
    enum lr_form form;
    int seed;
    const lr_zone *zone; /* of LR_FORM_ZONED */
    const char *as;      /* the engine's type that text is read as, or NULL */
} lr_hashed;

typedef struct lr_checksum {
    /* An expression: one hash of the columns. */
    void (*fold)(lr_sql *q, const lr_hashed *columns, int n);
    /* An expression: the hash of some folds. */
    void (*mix)(lr_sql *q, int round, const lr_sql *folds, int n);
    /* A SELECT of (segment, rows, sum of row hashes) of rows, a list of FROM and
     * conditions. The first fold is the key's, mask the bits of its hash that tell
     * segments apart. */
    void (*segments)(lr_sql *q, const lr_sql *rows, const lr_sql *folds, int n, int64_t mask);
    /* May be NULL. A SELECT of one row: is text UTF-8 here, and what the engine's
     * functions make of known values: lr_checksum_known. */
    void (*probe)(lr_sql *q);
} lr_checksum;

#define LR_CHECKSUM_PROBES 5
void lr_checksum_known(int64_t out[LR_CHECKSUM_PROBES]);

/* The form in which two columns' values are the same on both sides. */
enum lr_form lr_checksum_form(const lr_type *a, const lr_type *b);

extern const lr_checksum lr_sqlite_checksum, lr_postgres_checksum;

#endif
