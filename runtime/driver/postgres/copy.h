/* copy.h - values in the binary form of COPY. */
#ifndef LRUN_DRIVER_POSTGRES_COPY_H
#define LRUN_DRIVER_POSTGRES_COPY_H

#include "driver/postgres/internal.h"

typedef enum kind {
    K_OTHER, K_INT2, K_INT4, K_INT8, K_NUMERIC, K_REAL, K_REAL4, K_TEXT, K_BYTEA, K_BOOL, K_DATE, K_TIMESTAMP, K_TIMESTAMPTZ
} kind;

typedef struct target {
    char *name;
    char *decl;
    kind kind;
    int scale; /* of numeric(p, s), -1 for none */
    int whole; /* digits before its point, p - s; of varchar(n) its letters; -1 for any number */
} target;

/* Append a value with its length. 0, and maybe some bytes, where the value has
 * no binary form here or would be changed by it: text says why. */
int lr_pg_encode(lr_buf *b, const lr_value *v, const target *t);

void lr_pg_put16(lr_buf *b, int v);
void lr_pg_numeric(const char *decl, int *scale, int *whole);

/* Does a float of four bytes stand for the same number? */
int lr_pg_fits_float(double d);

int lr_pg_valid_utf8(const char *p, size_t n);

#endif
