/* Times that are numbers, in the SQL of SQLite. A column of a numeric affinity
 * compares as it is, and an index serves; text is compared as the number that it
 * is, and dates of eight digits in a column of text as text. */
#include "driver/sqlite/sqlite.h"
#include "sql/epochs.h"
#include "base/decimal.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Does the affinity make numbers of text? */
static int numeric(const lr_type *t)
{
    const char *affinity = t != NULL && t->native != NULL ? lr_sqlite_affinity(t->native) : "BLOB";
    return strcmp(affinity, "TEXT") != 0 && strcmp(affinity, "BLOB") != 0;
}

static int digits(const lr_bounds *b)
{
    return b->mode == LR_YYYYMMDD && b->type != NULL && b->type->native != NULL && strcmp(lr_sqlite_affinity(b->type->native), "TEXT") == 0;
}

static lr_sql compared(const lr_sql *column, const lr_bounds *b)
{
    lr_sql out = lr_sql_new(column->arena);
    if (numeric(b->type)) return *column;
    lr_sqlf(&out, digits(b) ? "%Q COLLATE BINARY" : "CAST(%Q AS NUMERIC)", column);
    return out;
}

static lr_value bound(lr_arena *a, const lr_edge *edge, const lr_bounds *b)
{
    if (digits(b) && edge->value.type == LR_INT) return lr_text(lr_printf(a, "%08" PRId64, edge->value.i));
    return edge->value.type == LR_TEXT ? lr_real(strtod(edge->value.s.p, NULL)) : edge->value;
}

void lr_sqlite_epoch_within(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    lr_sql at = compared(column, b);
    lr_value start = bound(q->arena, &b->start, b), stop = bound(q->arena, &b->stop, b);
    if (!b->start.set && !b->stop.set) lr_sqlf(q, "1=1");
    if (b->start.set) lr_sqlf(q, b->start.inclusive ? "%Q >= %V" : "%Q > %V", &at, &start);
    if (b->start.set && b->stop.set) lr_sqlf(q, " AND ");
    if (b->stop.set) lr_sqlf(q, b->stop.inclusive ? "%Q <= %V" : "%Q < %V", &at, &stop);
}

/* Without a cast text and blobs sort after every number, whatever they say. */
void lr_sqlite_epoch_misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    lr_value mode = lr_text(lr_time_mode_name(b->mode));
    lr_sqlf(q, "SELECT * FROM (SELECT typeof(%Q), %Q, 0%Q AND ", column, column, from);
    if (b->mode == LR_YYYYMMDD || !numeric(b->type)) {
        lr_sqlf(q, "lrun_no_time(%Q, %V)", column, &mode);
    } else {
        lr_sqlf(q, "(");
        lr_epoch_outside(q, column, b->mode);
        lr_sqlf(q, " OR %Q >= '')", column);
    }
    lr_sqlf(q, " LIMIT 1)");
    if (b->mode != LR_UNIX) return;
    lr_sql at = compared(column, b), v = lr_sql_column(q->arena, NULL, "v");
    lr_sqlf(q, " UNION ALL SELECT typeof(\"v\"), \"v\", 0 FROM (SELECT max(%Q) AS \"v\"%Q) WHERE ", &at, from);
    lr_epoch_not_seconds(q, &v);
}

void lr_sqlite_epoch_newest(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *limit)
{
    lr_sql at = compared(column, limit);
    lr_sqlf(q, "SELECT %Q%Q AND %Q IS NOT NULL AND ", column, from, column);
    lr_sqlite_epoch_within(q, column, limit);
    lr_sqlf(q, " ORDER BY %Q DESC LIMIT 1", &at);
}
