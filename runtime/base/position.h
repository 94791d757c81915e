/* position.h - text that says where in a stream something stands: log positions,
 * whose numbers count and not their bytes, and text of one width. */
#ifndef LRUN_BASE_POSITION_H
#define LRUN_BASE_POSITION_H

#include "base/calendar.h"
#include "base/mem.h"

/* How text is ordered: by time or bytes, or by the numbers of a log position. */
typedef enum lr_position {
    LR_POSITION_PLAIN,
    LR_POSITION_LSN,    /* PostgreSQL, "0/1A2B3C": two hexadecimal numbers */
    LR_POSITION_BINLOG, /* MySQL, "mysql-bin.000003:998": file and offset */
    LR_POSITION_NUMBER, /* a decimal that the engine keeps as text */
    LR_POSITION_GTID    /* MySQL, "3e11fa47-71ca-11e1-9e33-c80aa9429562:23": one transaction */
} lr_position;

/* Values of one shape have an order: "time", "lsn", "binlog:BASE", "gtid:SERVER", "signed",
 * and for other text "text:LETTERS:SKELETON". LETTERS are n none, l and u hexadecimal
 * ones of one case, b of both, y, Y and x the same of others; the skeleton has x for
 * each letter and digit. */
void lr_position_shape(const char *p, size_t n, const lr_zone *z, lr_buf *out);

/* A position as text whose bytes order it; other text as it is. */
void lr_position_key(const char *p, size_t n, lr_buf *out);

/* The same of a decimal, "-1.50"; other text as it is. */
void lr_position_number(const char *p, size_t n, lr_buf *out);

#endif
