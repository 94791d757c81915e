/* Times that are numbers, in the SQL of PostgreSQL. Integers and doubles are
 * compared as they are, so that an index serves; text by the number that it is. */
#include "sql/epochs.h"
#include "sql/postgres.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define A_NUMBER "^[+-]?[0-9]+([.][0-9]+)?$"
#define A_DATE "^[0-9]{8}$"

static int is_kind(const lr_type *t, lr_kind k)
{
    return t != NULL && t->kind == k;
}

static int is_number(const lr_type *t)
{
    return t != NULL && lr_kind_is_number(t->kind);
}

static int is_double(const lr_type *t)
{
    return is_kind(t, LR_KIND_REAL) && t->bits == 64;
}

static lr_sql as_text(const lr_sql *expr)
{
    lr_sql out = lr_sql_new(expr->arena);
    lr_sqlf(&out, "%Q::text", expr);
    return out;
}

/* The exact number: of a float its shortest text; NULL for text that is none. */
static lr_sql number(const lr_sql *expr, const lr_type *type)
{
    lr_sql out = lr_sql_new(expr->arena), text = as_text(expr);
    if (is_kind(type, LR_KIND_INTEGER) || is_kind(type, LR_KIND_DECIMAL)) return *expr;
    if (is_kind(type, LR_KIND_REAL)) lr_sqlf(&out, "%Q::numeric", &text);
    else lr_sqlf(&out, "(CASE WHEN %Q ~ '" A_NUMBER "' THEN %Q::numeric END)", &text, &text);
    return out;
}

/* ---- windows ---- */

/* "column >= 5": of a column of integers the edge is a whole number. */
static void against(lr_sql *q, const lr_sql *column, const lr_edge *edge, int lower, const lr_bounds *b)
{
    const char *op = lower ? (edge->inclusive ? ">=" : ">") : (edge->inclusive ? "<=" : "<");
    const lr_value *v = &edge->value;
    if (b->mode == LR_YYYYMMDD && !is_number(b->type) && v->type == LR_INT) {
        lr_value day = lr_text(lr_printf(q->arena, "%08" PRId64, v->i));
        lr_sqlf(q, "%Q::text COLLATE \"C\" %s CAST(%V AS text)", column, op, &day);
    } else if (v->type == LR_INT && is_kind(b->type, LR_KIND_INTEGER)) {
        lr_sqlf(q, "%Q %s CAST(%V AS int8)", column, op, v);
    } else if (is_double(b->type)) {
        lr_sqlf(q, "%Q %s CAST(%V AS float8)", column, op, v);
    } else {
        lr_sql n = number(column, b->type);
        lr_sqlf(q, "%Q %s ", &n, op);
        /* ceil and floor of it, as an integer that an index finds */
        if (is_kind(b->type, LR_KIND_INTEGER) && v->type == LR_TEXT && strchr(v->s.p, '.') != NULL)
            lr_sqlf(q, "CAST(%s(CAST(%V AS numeric)) AS int8)", (edge->inclusive != 0) == (lower != 0) ? "ceil" : "floor", v);
        else lr_sqlf(q, "CAST(%V AS numeric)", v);
    }
}

void lr_postgres_epoch_within(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    if (!b->start.set && !b->stop.set) lr_sqlf(q, "1=1");
    if (b->start.set) against(q, column, &b->start, 1, b);
    if (b->start.set && b->stop.set) lr_sqlf(q, " AND ");
    if (b->stop.set) against(q, column, &b->stop, 0, b);
}

/* ---- values of another form ---- */

/* 2026-02-30 is in the range and no date. */
static void no_date(lr_sql *q, const lr_sql *n)
{
    lr_sql i = lr_sql_new(q->arena);
    lr_sqlf(&i, "%Q::int", n);
    lr_sqlf(q, "(CASE WHEN %Q <> trunc(%Q) OR ", n, n);
    lr_epoch_outside(q, n, LR_YYYYMMDD);
    lr_sqlf(q, " THEN true WHEN %Q / 100 %% 100 NOT BETWEEN 1 AND 12 OR %Q %% 100 = 0 THEN true ELSE %Q %% 100 > extract(day FROM "
               "make_date(%Q / 10000, %Q / 100 %% 100, 1) + interval '1 month' - interval '1 day') END)", &i, &i, &i, &i, &i);
}

static void no_time(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_type *type)
{
    lr_sql n = lr_sql_new(q->arena), text = as_text(expr);
    if (is_number(type)) n = *expr;
    else lr_sqlf(&n, "%Q::numeric", &text);
    if (!is_number(type)) lr_sqlf(q, "(CASE WHEN %Q !~ '%s' THEN true ELSE ", &text, m == LR_YYYYMMDD ? A_DATE : A_NUMBER);
    if (m == LR_YYYYMMDD) no_date(q, &n);
    else lr_epoch_outside(q, &n, m);
    if (!is_number(type)) lr_sqlf(q, " END)");
}

void lr_postgres_epoch_misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    const char *class = is_kind(b->type, LR_KIND_INTEGER) ? "integer" : is_kind(b->type, LR_KIND_DECIMAL) ? "numeric"
                        : is_kind(b->type, LR_KIND_REAL) ? "real" : "text";
    lr_sqlf(q, "SELECT * FROM (SELECT '%s'::text, %Q::text, 0%Q AND ", class, column, from);
    no_time(q, column, b->mode, b->type);
    lr_sqlf(q, " LIMIT 1) AS \"odd\"");
    if (b->mode != LR_UNIX) return;
    lr_sql n = number(column, b->type), v = lr_sql_column(q->arena, NULL, "v");
    lr_sqlf(q, " UNION ALL SELECT '%s', \"v\"::text, 0 FROM (SELECT max(%Q) AS \"v\"%Q) AS \"newest\" WHERE ", class, &n, from);
    lr_epoch_not_seconds(q, &v);
}

void lr_postgres_epoch_newest(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *limit)
{
    lr_sql n = is_double(limit->type) ? *column : number(column, limit->type);
    lr_sqlf(q, "SELECT %Q%s%Q AND %Q IS NOT NULL AND ", column, is_number(limit->type) ? "" : "::text", from, column);
    lr_postgres_epoch_within(q, column, limit);
    lr_sqlf(q, " ORDER BY %Q DESC LIMIT 1", &n);
}

/* ---- instants ---- */

/* Whole microseconds, cut; nothing passes through a double. */
static void microseconds(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_type *type)
{
    lr_sql n = number(expr, type);
    int whole = is_kind(type, LR_KIND_INTEGER);
    if (m == LR_JULIAN) lr_sqlf(q, "(floor((%Q - 2440587.5) * 86400000 + 0.5)::int8 * 1000)", &n);
    else if (m == LR_UNIX_NS) lr_sqlf(q, whole ? "floor(%Q::numeric * 0.001)::int8" : "floor(%Q * 0.001)::int8", &n);
    else if (m == LR_UNIX_US) lr_sqlf(q, whole ? "%Q::int8" : "floor(%Q)::int8", &n);
    else lr_sqlf(q, whole ? "(%Q::int8 * %s)" : "floor(%Q * %s)::int8", &n, m == LR_UNIX ? "1000000" : "1000");
}

/* The date, a timestamp; NULL where it is none. */
static lr_sql day(const lr_sql *expr, const lr_type *type)
{
    lr_sql n = number(expr, type), i = lr_sql_new(expr->arena), out = lr_sql_new(expr->arena), odd = lr_sql_new(expr->arena);
    lr_sqlf(&i, "%Q::int", &n);
    no_time(&odd, expr, LR_YYYYMMDD, type);
    lr_sqlf(&out, "(CASE WHEN NOT %Q THEN make_date(%Q / 10000, %Q / 100 %% 100, %Q %% 100)::timestamp END)", &odd, &i, &i, &i);
    return out;
}

void lr_postgres_epoch_instant(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_zone *z, const lr_type *type)
{
    lr_sql us = lr_sql_new(q->arena), odd = lr_sql_new(q->arena);
    if (m == LR_YYYYMMDD) {
        lr_sql local = day(expr, type), at = lr_postgres_instant(&local, z);
        lr_sqlf(q, "%Q", &at);
        return;
    }
    microseconds(&us, expr, m, type);
    no_time(&odd, expr, m, type);
    /* an interval is multiplied by a double: seconds and what is left of one are exact in it */
    lr_sqlf(q, "(CASE WHEN NOT %Q THEN 'epoch'::timestamptz + (%Q / 1000000) * interval '1 second' + (%Q %% 1000000) * "
               "interval '1 microsecond' END)", &odd, &us, &us);
}

void lr_postgres_epoch_local(lr_sql *q, const lr_sql *expr, lr_time_mode m, const lr_zone *z, const lr_type *type)
{
    lr_sql at = lr_sql_new(q->arena);
    if (m == LR_YYYYMMDD) {
        lr_sql local = day(expr, type);
        lr_sqlf(q, "%Q", &local);
        return;
    }
    lr_postgres_epoch_instant(&at, expr, m, z, type);
    at = lr_postgres_local(&at, z);
    lr_sqlf(q, "%Q", &at);
}
