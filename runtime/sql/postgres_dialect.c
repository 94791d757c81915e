/* The SQL of PostgreSQL. */
#include "sql/copy.h"
#include "sql/postgres.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static void placeholder(int i, char out[16])
{
    snprintf(out, 16, "$%d", i);
}

static int is(const char *decl, const char *start)
{
    return decl != NULL && strncasecmp(decl, start, strlen(start)) == 0 && strstr(decl, "[]") == NULL;
}

static int is_instant(const char *decl)
{
    return is(decl, "timestamp") && strstr(decl, "with time zone") != NULL;
}

static int is_naive(const char *decl)
{
    return is(decl, "date") || (is(decl, "timestamp") && !is_instant(decl));
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
    for (int i = 0; i < n; i++) lr_sqlf(q, "%s%I %s", i > 0 ? ", " : "", fields[i].name, fields[i].decl);
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
    lr_sqlf(q, "ALTER TABLE %T ADD COLUMN %I %s", t, field->name, field->decl);
}

static void edge(lr_arena *a, lr_edge *edge, lr_time_mode mode, const lr_zone *z, const char *decl)
{
    char text[40];
    if (edge->exact || !edge->set) return;
    int64_t unit = mode == LR_UNIX ? LR_US_PER_SECOND : 1000;
    if (mode != LR_ISO)
        edge->value = edge->us % unit == 0 ? lr_int(edge->us / unit) : lr_real((double)edge->us / (double)unit);
    else if (is_instant(decl))
        edge->value = lr_text(lr_printf(a, "%s+00", lr_format_instant(lr_zone_utc(), edge->us, text)));
    else
        edge->value = lr_text(lr_dup(a, lr_format_short(lr_zone_utc(), lr_zone_reading(z, edge->us), text)));
}

/* ISO text compares by its bytes, whatever the database's collation. */
static void compared(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    int text = b->mode == LR_ISO && b->decl != NULL && (is(b->decl, "text") || is(b->decl, "character"));
    lr_sqlf(q, text ? "%Q COLLATE \"C\"" : "%Q", column);
}

static void within(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    if (!b->start.set && !b->stop.set) lr_sqlf(q, "1=1");
    if (b->start.set) {
        compared(q, column, b);
        lr_sqlf(q, b->start.inclusive ? " >= %V" : " > %V", &b->start.value);
    }
    if (b->start.set && b->stop.set) lr_sqlf(q, " AND ");
    if (b->stop.set) {
        compared(q, column, b);
        lr_sqlf(q, b->stop.inclusive ? " <= %V" : " < %V", &b->stop.value);
    }
}

/* Only text can be no time. Its forms must be such that bytes sort as time. */
static int misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    if (b->mode != LR_ISO || b->decl == NULL || !(is(b->decl, "text") || is(b->decl, "character"))) return 0;
    lr_sqlf(q, "SELECT 'text', %Q, 0%Q AND %Q !~ '^[0-9]{4}-[0-9]{2}-[0-9]{2}([ T][0-9]{2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?)?$' LIMIT 1",
            column, from, column);
    return 1;
}

static void newest(lr_sql *q, const lr_sql *from, const lr_sql *column, lr_time_mode mode, const lr_zone *z,
                   const char *decl, const int64_t *limit_us)
{
    lr_sqlf(q, "SELECT %Q%Q AND %Q IS NOT NULL", column, from, column);
    if (limit_us != NULL) {
        lr_edge limit = {.set = 1, .us = *limit_us};
        edge(q->arena, &limit, mode, z, decl);
        lr_sqlf(q, " AND %Q <= %V", column, &limit.value);
    }
    lr_sqlf(q, " ORDER BY %Q DESC LIMIT 1", column);
}

static void instant(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const char *decl)
{
    lr_value zone = lr_text(lr_zone_name(z));
    if (mode == LR_UNIX) lr_sqlf(q, "to_timestamp(%Q)", expr);
    else if (mode == LR_UNIX_MS) lr_sqlf(q, "to_timestamp(%Q / 1000.0)", expr);
    else if (is_instant(decl)) lr_sqlf(q, "%Q", expr);
    else if (is_naive(decl)) lr_sqlf(q, "(%Q::timestamp AT TIME ZONE %V)", expr, &zone);
    else lr_sqlf(q, "(%Q::text::timestamp AT TIME ZONE %V)", expr, &zone);
}

/* Text says its own offset, if any; what has a zone loses it in the job's. */
static void moment(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const char *from_decl, const char *to_decl)
{
    lr_sql at = lr_sql_new(q->arena);
    lr_value zone = lr_text(lr_zone_name(z));
    int same = mode == LR_ISO && (is_instant(from_decl) == is_instant(to_decl) || !(is_instant(from_decl) || is_naive(from_decl)));
    if (same) lr_sqlf(q, "CAST(%Q AS %s)", expr, to_decl);
    if (same) return;
    instant(&at, expr, mode, z, from_decl);
    if (is_instant(to_decl)) lr_sqlf(q, "%Q", &at);
    else lr_sqlf(q, "CAST(%Q AT TIME ZONE %V AS %s)", &at, &zone, to_decl);
}

static void distinct(lr_sql *q, const lr_sql *a, const lr_sql *b, int loose)
{
    const char *as = loose ? "::text COLLATE \"C\"" : "";
    lr_sqlf(q, "%Q%s IS DISTINCT FROM %Q%s", a, as, b, as);
}

static void bytewise(lr_sql *q, const lr_sql *expr, const char *decl)
{
    lr_sqlf(q, is(decl, "text") || is(decl, "character") ? "%Q COLLATE \"C\"" : "%Q", expr);
}

static void piece(lr_sql *q, const lr_sql *expr, lr_grain g, lr_time_mode mode, const lr_zone *z, const char *decl)
{
    lr_value zone = lr_text(lr_zone_name(z));
    const char *form = g == LR_HOUR ? "YYYY-MM-DD\"T\"HH24" : "YYYY-MM-DD";
    if (mode == LR_ISO && !is_instant(decl) && !is_naive(decl)) {
        lr_sqlf(q, "%Q::text", expr);
        return;
    }
    lr_sqlf(q, "to_char(date_trunc('%s', ", lr_grain_name(g));
    if (mode == LR_ISO && is_naive(decl)) lr_sqlf(q, "%Q::timestamp", expr);
    else if (mode == LR_ISO) lr_sqlf(q, "%Q AT TIME ZONE %V", expr, &zone);
    else lr_sqlf(q, mode == LR_UNIX ? "to_timestamp(%Q) AT TIME ZONE %V" : "to_timestamp(%Q / 1000.0) AT TIME ZONE %V", expr, &zone);
    lr_sqlf(q, "), '%s')", form);
}

static void elapsed(lr_sql *q, const lr_sql *from, const lr_sql *to)
{
    lr_sqlf(q, "(extract(epoch FROM %Q - %Q) * 1000000)::int8", to, from);
}

static int plain_times(lr_sql *q, const lr_sql *from, const lr_sql *column, const char *decl, const char *other, const lr_zone *z)
{
    (void)q;
    (void)from;
    (void)column;
    (void)z;
    return (is_instant(decl) && is_instant(other)) || (is_naive(decl) && is_naive(other));
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

static void order(lr_sql *q, const lr_sql *expr, const lr_zone *z)
{
    (void)z;
    lr_sqlf(q, "%Q", expr);
}

/* A float counts as its shortest text; the others add up exactly. */
static void total(lr_sql *q, const lr_sql *expr, const char *decl)
{
    int exact = is(decl, "numeric") || is(decl, "bigint") || is(decl, "integer") || is(decl, "smallint");
    lr_sqlf(q, exact ? "sum(%Q)::text" : "sum(%Q::text::numeric)::text", expr);
}

static void typed(lr_sql *q, const lr_value *v, const char *decl)
{
    lr_sqlf(q, "CAST(%V AS %s)", v, decl != NULL && decl[0] != 0 ? decl : "text");
}

static int is_number(const char *decl)
{
    return is(decl, "numeric") || is(decl, "bigint") || is(decl, "integer") || is(decl, "smallint") || is(decl, "real") ||
           is(decl, "double");
}

static void last(lr_sql *q, const char *decl)
{
    lr_sqlf(q, "CAST('infinity' AS %s)", decl);
}

static int bends(lr_sql *q, const lr_sql *expr, const char *from_decl, const char *to_decl)
{
    if (from_decl != NULL && strcasecmp(from_decl, to_decl) == 0) return 0;
    const char *open = strchr(to_decl, '(');
    if (is(to_decl, "numeric") && open != NULL && is_number(from_decl)) {
        int precision = atoi(open + 1);
        const char *comma = strchr(open, ',');
        int scale = comma != NULL ? atoi(comma + 1) : 0;
        lr_sqlf(q, "(%Q::text::numeric <> round(%Q::text::numeric, %d) OR abs(%Q::text::numeric) >= 10::numeric ^ %d)", expr, expr, scale, expr, precision - scale);
        return 1;
    }
    if (is(to_decl, "character") && open != NULL) {
        lr_sqlf(q, "length(%Q::text) > %d", expr, atoi(open + 1));
        return 1;
    }
    if ((is(to_decl, "bigint") || is(to_decl, "integer") || is(to_decl, "smallint")) && is_number(from_decl)) {
        const char *limit = is(to_decl, "bigint") ? "9223372036854775807" : is(to_decl, "integer") ? "2147483647" : "32767";
        lr_sqlf(q, "(%Q::text::numeric <> trunc(%Q::text::numeric) OR %Q::text::numeric > %s OR %Q::text::numeric < -%s - 1)", expr, expr, expr, limit, expr, limit);
        return 1;
    }
    if ((is(to_decl, "double") || is(to_decl, "real")) && is_number(from_decl)) {
        lr_sqlf(q, "%Q::%s::text::numeric <> %Q::text::numeric", expr, to_decl, expr);
        return 1;
    }
    if (is(to_decl, "date") && is(from_decl, "timestamp")) {
        lr_sqlf(q, "%Q <> date_trunc('day', %Q)", expr, expr);
        return 1;
    }
    return 0;
}

const lr_dialect lr_postgres_dialect = {
    .copier = &lr_postgres_copier,
    .name = "postgresql",
    .has_schemas = 1,
    .longest_name = 63,
    .row_locks = 1,
    .row_holder = row_holder,
    .checks_rows = 1,
    .placeholder = placeholder,
    .relation = lr_postgres_relation,
    .resolve = lr_postgres_resolve,
    .type_for = lr_postgres_type_for,
    .stage_type = lr_postgres_stage_type,
    .is_date = lr_postgres_is_date,
    .scale = lr_postgres_scale,
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
    .piece = piece,
    .elapsed = elapsed,
    .total = total,
    .holds = lr_postgres_holds,
    .checksum = &lr_postgres_checksum,
    .typed = typed,
    .bends = bends,
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
