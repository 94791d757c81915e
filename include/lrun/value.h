/* value.h - one database value on its way, with its type.
 *
 * Text and blobs are borrowed: they live until the cursor's next step, or as
 * long as their owner says. Times are whole microseconds, so that no value
 * passes through a double.
 */
#ifndef LRUN_VALUE_H
#define LRUN_VALUE_H

#include <stddef.h>
#include <stdint.h>

typedef enum lr_class {
    LR_NULL = 0,
    LR_INT,        /* i */
    LR_REAL,       /* r */
    LR_TEXT,       /* s, any bytes */
    LR_BLOB,       /* s, any bytes */
    LR_BOOL,       /* i: 0 or 1 */
    LR_DECIMAL,    /* s: exact decimal text */
    LR_DATE,       /* i: days since 1970-01-01 */
    LR_TIMESTAMP,  /* i: microseconds since 1970-01-01 00:00:00, no zone */
    LR_TIMESTAMPTZ /* i: microseconds since 1970-01-01 00:00:00 UTC */
} lr_class;

typedef struct lr_bytes {
    const char *p;
    size_t n;
} lr_bytes;

typedef struct lr_value {
    lr_class type;
    union {
        int64_t i;
        double r;
        lr_bytes s;
    };
} lr_value;

lr_value lr_null(void);
lr_value lr_int(int64_t i);
lr_value lr_real(double r);
lr_value lr_text(const char *z); /* NULL pointer gives a NULL value */
lr_value lr_textn(const char *p, size_t n);
lr_value lr_blobn(const char *p, size_t n);

#endif
