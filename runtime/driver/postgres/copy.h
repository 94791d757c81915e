/* copy.h - rows on their way into a table, and values in the two forms of COPY. */
#ifndef LRUN_DRIVER_POSTGRES_COPY_H
#define LRUN_DRIVER_POSTGRES_COPY_H

#include "base/calendar.h"
#include "driver/postgres/internal.h"

typedef enum kind {
    K_OTHER, K_INT2, K_INT4, K_INT8, K_NUMERIC, K_REAL, K_REAL4, K_TEXT, K_BYTEA, K_BOOL, K_DATE, K_TIMESTAMP, K_TIMESTAMPTZ
} kind;

typedef struct target {
    char *name;
    char *native; /* as type.native */
    kind kind;
    lr_type type;
} target;

struct lr_sink {
    lr_conn *conn;
    char *copy;
    target *columns;
    int n;
    int64_t rows;
    int64_t held;   /* of them in a buffer */
    int64_t before; /* of them in earlier COPY statements */
    const lr_zone *zone; /* of times without one */
    int binary;   /* every column has a binary form of ours */
    int streams;  /* one COPY for all rows: the connection is ours until the end */
    int copying;  /* 0 no COPY is open, 1 in text, 2 in binary */
    lr_buf buf;   /* rows in text */
    lr_buf bytes; /* rows in binary */
};

/* Append a value with its length. 0, and maybe some bytes, where the value has
 * no binary form here or would be changed by it: text says why. */
int lr_pg_encode(lr_buf *b, const lr_value *v, const target *t, const lr_zone *z);

/* Append a row's value in the text form, or refuse it by name. */
int lr_pg_put_text(lr_sink *s, const lr_value *row, int at, lr_err *e);

void lr_pg_put16(lr_buf *b, int v);

/* Does a float of four bytes stand for the same number? */
int lr_pg_fits_float(double d);

/* Why a type of PostgreSQL's own does not keep a value; NULL where the server says. */
const char *lr_pg_own_refuses(const lr_value *v, const lr_type *t);

int lr_pg_valid_utf8(const char *p, size_t n);

#endif
