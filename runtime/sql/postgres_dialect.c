/* The SQL of PostgreSQL. */
#include "sql/copy.h"
#include "sql/epochs.h"
#include "sql/postgres.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void placeholder(int i, char out[16])
{
    snprintf(out, 16, "$%d", i);
}

static int is_instant(const lr_type *t)
{
    return t != NULL && t->kind == LR_KIND_INSTANT;
}

static int is_naive(const lr_type *t)
{
    return t != NULL && (t->kind == LR_KIND_DATE || t->kind == LR_KIND_TIMESTAMP);
}

static int is_text(const lr_type *t)
{
    return t != NULL && lr_kind_is_text(t->kind);
}

/* A row's xmax is the transaction that changes it. Engines that have no such
 * thing answer with an error, and the question is left. */
static void row_holder(lr_sql *q, const lr_table *t, const char *key, const lr_value *v)
{
    lr_sqlf(q, "SELECT a.pid, extract(epoch FROM clock_timestamp() - a.xact_start)::int8, a.application_name FROM %T AS r "
               "JOIN pg_catalog.pg_stat_activity AS a ON a.backend_xid = r.xmax WHERE r.%I = %V", t, key, v);
}

static void create_table(lr_sql *q, const lr_table *t, const lr_field *fields, int n, const char **key, int nkey, int temporary)
{
    if (temporary == 1) lr_sqlf(q, "CREATE TEMP TABLE %I (", t->name);
    else lr_sqlf(q, temporary == 2 ? "CREATE UNLOGGED TABLE %T (" : "CREATE TABLE %T (", t);
    for (int i = 0; i < n; i++) lr_sqlf(q, "%s%I %s", i > 0 ? ", " : "", fields[i].name, fields[i].type.native);
    for (int i = 0; i < nkey; i++) lr_sqlf(q, i == 0 ? ", PRIMARY KEY (%I" : ", %I", key[i]);
    lr_sqlf(q, "%s)%s", nkey > 0 ? ")" : "", temporary == 1 ? " ON COMMIT DROP" : "");
}

static void keep(lr_sql *q, const lr_table *t, const lr_sql *select, int temporary)
{
    if (temporary == 1) lr_sqlf(q, "CREATE TEMP TABLE %I ON COMMIT DROP AS %Q", t->name, select);
    else lr_sqlf(q, "CREATE UNLOGGED TABLE %T AS %Q", t, select);
}

/* A join: NOT IN may not fit into memory, and sharded engines refuse NOT EXISTS
 * over a temporary table. */
static void unmatched(lr_sql *q, const char *a, const lr_sql *rows, const char *b, const char **key, int nkey)
{
    lr_sqlf(q, " LEFT JOIN (%Q) AS %I ON ", rows, b);
    for (int i = 0; i < nkey; i++) lr_sqlf(q, i == 0 ? "%I.%I = %I.%I" : " AND %I.%I = %I.%I", a, key[i], b, key[i]);
    lr_sqlf(q, " WHERE %I.%I IS NULL", b, key[0]);
}

static void delete_keys(lr_sql *q, const lr_table *t, const lr_sql *where, const lr_table *keys, const char **key, int nkey)
{
    /* the condition names the target's columns plainly, so the keys have other names */
    lr_sqlf(q, "DELETE FROM %T AS \"target\" USING (SELECT ", t);
    for (int i = 0; i < nkey; i++) lr_sqlf(q, i == 0 ? "%I AS \"lrun_key_%d\"" : ", %I AS \"lrun_key_%d\"", key[i], i + 1);
    lr_sqlf(q, " FROM %T) AS \"keys\" WHERE %Q", keys, where);
    for (int i = 0; i < nkey; i++) lr_sqlf(q, " AND \"target\".%I = \"keys\".\"lrun_key_%d\"", key[i], i + 1);
}

static void create_index(lr_sql *q, const lr_table *t, const char *column)
{
    lr_sqlf(q, "CREATE INDEX ON %T (%I)", t, column);
}

static void add_column(lr_sql *q, const lr_table *t, const lr_field *field)
{
    lr_sqlf(q, "ALTER TABLE %T ADD COLUMN %I %s", t, field->name, field->type.native);
}

static void edge(lr_arena *a, lr_edge *edge, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    char text[40];
    if (edge->exact || !edge->set) return;
    if (mode != LR_ISO)
        edge->value = lr_epoch_edge(a, mode, edge->us, edge->above, z);
    else if (is_instant(type))
        edge->value = lr_text(lr_printf(a, "%s+00", lr_format_instant(lr_zone_utc(), edge->us, text)));
    else
        edge->value = lr_text(lr_dup(a, lr_format_short(lr_zone_utc(), lr_zone_reading(z, edge->us), text)));
}

/* ISO text compares by its bytes, whatever the database's collation. */
static void compared(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    int text = b->mode == LR_ISO && is_text(b->type);
    lr_sqlf(q, text ? "%Q COLLATE \"C\"" : "%Q", column);
}

/* Text of which each value says its own offset, or none. */
static lr_sql text_moment(const lr_sql *column, const lr_zone *z)
{
    lr_sql text = lr_sql_new(column->arena), odd = lr_sql_new(column->arena), out = lr_sql_new(column->arena);
    lr_sqlf(&text, "%Q::text", column);
    lr_postgres_no_time(&odd, &text);
    lr_sql instant = lr_postgres_text_instant(&text, z);
    lr_sqlf(&out, "(CASE WHEN NOT %Q THEN %Q END)", &odd, &instant);
    return out;
}

static void instant_edge(lr_sql *q, const lr_sql *at, const lr_edge *edge, const char *open, const char *closed)
{
    char text[40];
    lr_value v = lr_text(lr_printf(q->arena, "%s+00", lr_format_instant(lr_zone_utc(), edge->us, text)));
    lr_sqlf(q, "%Q %s CAST(%V AS timestamptz)", at, edge->inclusive ? closed : open, &v);
}

static void within(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    int instants = b->by_instant && b->mode == LR_ISO && is_text(b->type);
    if (lr_is_epoch(b->mode)) {
        lr_postgres_epoch_within(q, column, b);
        return;
    }
    lr_sql at = instants ? text_moment(column, b->zone) : *column;
    if (!b->start.set && !b->stop.set) lr_sqlf(q, "1=1");
    if (b->start.set && instants) instant_edge(q, &at, &b->start, ">", ">=");
    else if (b->start.set) {
        compared(q, column, b);
        lr_sqlf(q, b->start.inclusive ? " >= %V" : " > %V", &b->start.value);
    }
    if (b->start.set && b->stop.set) lr_sqlf(q, " AND ");
    if (b->stop.set && instants) instant_edge(q, &at, &b->stop, "<", "<=");
    else if (b->stop.set) {
        compared(q, column, b);
        lr_sqlf(q, b->stop.inclusive ? " <= %V" : " < %V", &b->stop.value);
    }
}

/* Text of the edge's day that bytes and instants put on different sides of it: a T
 * for the space, fewer digits. Digits below a microsecond are left to the bytes. */
static void other_side(lr_sql *q, const lr_sql *column, const lr_edge *edge, const lr_zone *z, const char *open, const char *closed)
{
    const lr_value *v = &edge->value;
    if (!edge->set || v->type != LR_TEXT || v->s.n <= 10 || v->s.n > 26) return;
    lr_sql at = text_moment(column, z);
    lr_value day = lr_text(lr_dupn(q->arena, v->s.p, 10));
    lr_sqlf(q, " OR (left(%Q::text, 10) = %V AND %Q::text !~ '[.][0-9]{7}' AND (%Q::text COLLATE \"C\" %s %V) <> (", column, &day, column, column,
            edge->inclusive ? closed : open, v);
    instant_edge(q, &at, edge, open, closed);
    lr_sqlf(q, "))");
}

/* Only text can be no time. Of some forms bytes sort as time, so that an index
 * serves; where others are among them, instants are compared. */
static int misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    if (lr_is_epoch(b->mode)) {
        lr_postgres_epoch_misplaced(q, from, column, b);
        return 1;
    }
    if (b->mode != LR_ISO || !is_text(b->type)) return 0;
    lr_sql odd = lr_sql_new(q->arena), text = lr_sql_new(q->arena);
    lr_sqlf(&text, "%Q::text", column);
    lr_postgres_no_time(&odd, &text);
    if (b->by_instant) lr_sqlf(q, "SELECT 'text', %Q, 0%Q AND %Q LIMIT 1", column, from, &odd);
    else {
        lr_sqlf(q, "SELECT 'text', %Q, CASE WHEN %Q THEN 0 ELSE 1 END%Q AND (%Q !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}"
                   "([.][0-9]+)?)?)?$' OR %Q",
                column, &odd, from, column, &odd);
        other_side(q, column, &b->start, b->zone, ">", ">=");
        other_side(q, column, &b->stop, b->zone, "<", "<=");
        lr_sqlf(q, ") LIMIT 1");
    }
    return 1;
}

/* Text of any form orders by its instant, and by its bytes where that is the same. */
static void order_text(lr_sql *q, const lr_sql *expr, const lr_zone *z)
{
    lr_sql at = text_moment(expr, z);
    lr_sqlf(q, "(coalesce(to_char(%Q AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS.US'), %Q::text) COLLATE \"C\")", &at, expr);
}

static int is_time(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    lr_sql at = lr_sql_new(q->arena);
    if (!is_text(type)) return 0;
    at = text_moment(expr, z);
    lr_sqlf(q, "(%Q IS NOT NULL)", &at);
    return 1;
}

static void newest(lr_sql *q, const lr_sql *from, const lr_sql *column, lr_time_mode mode, const lr_zone *z,
                   const lr_type *type, const int64_t *limit_us)
{
    if (limit_us != NULL && lr_is_epoch(mode)) {
        lr_bounds b = {.stop = {.set = 1, .inclusive = 1, .above = 1, .us = *limit_us}, .mode = mode, .zone = z, .type = type};
        edge(q->arena, &b.stop, mode, z, type);
        lr_postgres_epoch_newest(q, from, column, &b);
        return;
    }
    lr_sqlf(q, "SELECT %Q%Q AND %Q IS NOT NULL", column, from, column);
    if (limit_us != NULL && mode == LR_ISO && is_text(type)) {
        lr_sql at = text_moment(column, z);
        lr_edge stop = {.set = 1, .us = *limit_us, .inclusive = 1};
        lr_sqlf(q, " AND ");
        instant_edge(q, &at, &stop, "<", "<=");
        lr_sqlf(q, " ORDER BY %Q DESC, %Q COLLATE \"C\" DESC LIMIT 1", &at, column);
        return;
    }
    if (limit_us != NULL) {
        lr_edge limit = {.set = 1, .us = *limit_us};
        edge(q->arena, &limit, mode, z, type);
        lr_sqlf(q, " AND %Q <= %V", column, &limit.value);
    }
    lr_sqlf(q, " ORDER BY %Q DESC LIMIT 1", column);
}

static void instant(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    if (lr_is_epoch(mode)) lr_postgres_epoch_instant(q, expr, mode, z, type);
    else if (is_instant(type)) lr_sqlf(q, "%Q", expr);
    else {
        lr_sql given = lr_sql_new(q->arena), at;
        lr_sqlf(&given, is_naive(type) ? "%Q::timestamp" : "%Q::text", expr);
        at = is_naive(type) ? lr_postgres_instant(&given, z) : lr_postgres_text_instant(&given, z);
        lr_sqlf(q, "%Q", &at);
    }
}

/* What has a zone becomes a local time of the job's, and the other way round. */
static void moment(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *from, const lr_type *to)
{
    lr_sql at = lr_sql_new(q->arena);
    lr_value zone = lr_text(lr_zone_name(z));
    int same = mode == LR_ISO && (is_instant(from) || is_naive(from)) && is_instant(from) == is_instant(to);
    if (same) lr_sqlf(q, "CAST(%Q AS %s)", expr, to->native);
    if (same) return;
    if (lr_is_epoch(mode) && !is_instant(to)) {
        lr_postgres_epoch_local(&at, expr, mode, z, from);
        lr_sqlf(q, "CAST(%Q AS %s)", &at, to->native);
        return;
    }
    instant(&at, expr, mode, z, from);
    if (is_instant(to)) lr_sqlf(q, "%Q", &at);
    else lr_sqlf(q, "CAST(%Q AT TIME ZONE %V AS %s)", &at, &zone, to->native);
}

static void distinct(lr_sql *q, const lr_sql *a, const lr_sql *b, int loose)
{
    const char *as = loose ? "::text COLLATE \"C\"" : "";
    lr_sqlf(q, "%Q%s IS DISTINCT FROM %Q%s", a, as, b, as);
}

static void bytewise(lr_sql *q, const lr_sql *expr, const lr_type *type)
{
    lr_sqlf(q, is_text(type) ? "%Q COLLATE \"C\"" : "%Q", expr);
}

static void piece(lr_sql *q, const lr_sql *expr, lr_grain g, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    lr_value zone = lr_text(lr_zone_name(z));
    const char *form = g == LR_HOUR ? "YYYY-MM-DD\"T\"HH24" : "YYYY-MM-DD";
    if (mode == LR_ISO && !is_instant(type) && !is_naive(type)) {
        /* a time by its offset or in the zone; what is no time is itself */
        lr_sql at = text_moment(expr, z), local = lr_postgres_local(&at, z);
        lr_sqlf(q, "coalesce(to_char(date_trunc('%s', %Q), '%s'), %Q::text)", lr_grain_name(g), &local, form, expr);
        return;
    }
    if (lr_is_epoch(mode)) {
        lr_sql local = lr_sql_new(q->arena);
        lr_postgres_epoch_local(&local, expr, mode, z, type);
        lr_sqlf(q, "coalesce(to_char(date_trunc('%s', %Q), '%s'), %Q::text)", lr_grain_name(g), &local, form, expr);
        return;
    }
    lr_sqlf(q, "to_char(date_trunc('%s', ", lr_grain_name(g));
    if (is_naive(type)) lr_sqlf(q, "%Q::timestamp", expr);
    else lr_sqlf(q, "%Q AT TIME ZONE %V", expr, &zone);
    lr_sqlf(q, "), '%s')", form);
}

static void elapsed(lr_sql *q, const lr_sql *from, const lr_sql *to)
{
    lr_sqlf(q, "(extract(epoch FROM %Q - %Q) * 1000000)::int8", to, from);
}

static int plain_times(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_type *type, const lr_type *other, const lr_zone *z)
{
    (void)q;
    (void)from;
    (void)column;
    (void)z;
    return (is_instant(type) && is_instant(other)) || (is_naive(type) && is_naive(other));
}

/* PostgreSQL has no function that only raises: division by zero does. */
static void never_null(lr_sql *q, const lr_sql *column)
{
    lr_sqlf(q, "1 / (CASE WHEN %Q IS NULL THEN 0 ELSE 1 END) = 1", column);
}

static int was_null(const lr_err *e)
{
    return strcmp(e->sqlstate, "22012") == 0;
}

static void forever(lr_sql *q)
{
    lr_sqlf(q, "'infinity'::timestamptz");
}

static void order(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    if (is_text(type)) order_text(q, expr, z);
    else lr_sqlf(q, "%Q", expr);
}

/* A float counts as its shortest text; the others add up exactly. */
static void total(lr_sql *q, const lr_sql *expr, const lr_type *type)
{
    int exact = type->kind == LR_KIND_DECIMAL || type->kind == LR_KIND_INTEGER;
    lr_sqlf(q, exact ? "sum(%Q)::text" : "sum(%Q::text::numeric)::text", expr);
}

static void typed(lr_sql *q, const lr_value *v, const lr_type *type)
{
    lr_sqlf(q, "CAST(%V AS %s)", v, type != NULL && type->native[0] != 0 ? type->native : "text");
}

static void shown(lr_sql *q, const lr_sql *expr)
{
    lr_sqlf(q, "%Q::text", expr);
}

static void last(lr_sql *q, const lr_type *type)
{
    lr_sqlf(q, "CAST('infinity' AS %s)", type->native);
}

const lr_dialect lr_postgres_dialect = {
    .copier = &lr_postgres_copier,
    .name = "postgresql",
    .has_schemas = 1,
    .has_row_security = 1,
    .warehouse = lr_postgres_warehouse,
    .longest_name = 63,
    .row_locks = 1,
    .row_holder = row_holder,
    .checks_rows = 1,
    .placeholder = placeholder,
    .relation = lr_postgres_relation,
    .resolve = lr_postgres_resolve,
    .type_for = lr_postgres_type_for,
    .stage_type = lr_postgres_stage_type,
    .temporary = lr_postgres_temporary,
    .create_table = create_table,
    .keep = keep,
    .unmatched = unmatched,
    .delete_keys = delete_keys,
    .create_index = create_index,
    .add_column = add_column,
    .edge = edge,
    .within = within,
    .misplaced = misplaced,
    .newest = newest,
    .instant = instant,
    .moment = moment,
    .distinct = distinct,
    .quote = "quote_literal",
    .plain_times = plain_times,
    .never_null = never_null,
    .was_null = was_null,
    .bytewise = bytewise,
    .forever = forever,
    .last = last,
    .order = order,
    .shape = lr_postgres_shape,
    .position = lr_postgres_position,
    .is_time = is_time,
    .piece = piece,
    .elapsed = elapsed,
    .total = total,
    .checksum = &lr_postgres_checksum,
    .typed = typed,
    .lossy = lr_postgres_lossy,
    .convert = lr_postgres_convert,
    .shown = shown,
    .strategies = lr_postgres_strategies,
    .strategy_variable = "LRUN_PG_MERGE",
    .merge = lr_postgres_merge,
    .refuses = lr_postgres_refuses,
    .tally = lr_postgres_tally,
    .overriding = " OVERRIDING SYSTEM VALUE",
    .tables = "SELECT c.relname::text AS name, CASE WHEN c.relkind IN ('v', 'm') THEN 'view' ELSE 'table' END AS type "
              "FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
              "WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm') AND pg_catalog.pg_table_is_visible(c.oid) "
              "AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema' ORDER BY c.relname",
    .ledger = lr_postgres_ledger,
};
