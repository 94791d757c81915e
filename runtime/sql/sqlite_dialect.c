/* The SQL of SQLite: windows on text, exact totals, tables. */
#include "driver/sqlite/sqlite.h"
#include "sql/copy.h"
#include "sql/epochs.h"
#include "sql/sqlite.h"
#include <string.h>
#include <strings.h>

/* Without a number: SQLite looks numbered ones up one by one. */
static void placeholder(int i, char out[16])
{
    (void)i;
    strcpy(out, "?");
}

/* A staged column has no type: each value stays what it is. */
static lr_type stage_type(lr_arena *a, const lr_type *from)
{
    (void)a;
    (void)from;
    return lr_sqlite_type("");
}

static void field_sql(lr_sql *q, const lr_field *f, int not_null, int temporary)
{
    lr_sqlf(q, "%I %s%s", f->name, temporary ? "" : f->type.native, not_null ? " NOT NULL" : "");
}

static int in_key(const char *name, const char **key, int nkey)
{
    for (int i = 0; i < nkey; i++)
        if (strcasecmp(key[i], name) == 0) return 1;
    return 0;
}

static void create_table(lr_sql *q, const lr_table *t, const lr_field *fields, int n, const char **key,
                         int nkey, int temporary)
{
    lr_sqlf(q, temporary ? "CREATE TEMP TABLE %I (" : "CREATE TABLE %T (",
            temporary ? (const void *)t->name : (const void *)t);
    for (int i = 0; i < n; i++) {
        if (i > 0) lr_sqlf(q, ", ");
        field_sql(q, &fields[i], in_key(fields[i].name, key, nkey), temporary);
    }
    for (int i = 0; i < nkey; i++) lr_sqlf(q, i == 0 ? ", PRIMARY KEY (%I" : ", %I", key[i]);
    lr_sqlf(q, nkey > 0 ? "))" : ")");
}

static void keep(lr_sql *q, const lr_table *t, const lr_sql *select, int temporary)
{
    (void)temporary;
    lr_sqlf(q, "CREATE TEMP TABLE %I AS %Q", t->name, select);
}

/* NOT EXISTS would read all of the rows for each of a's, and so does a join with
 * columns that have no type; IN keeps them in an index, whatever they are. A NULL
 * on either side matches nothing. */
static void unmatched(lr_sql *q, const char *a, const lr_sql *rows, const char *b, const char **key, int nkey)
{
    lr_sql left = lr_sql_new(q->arena), list = lr_sql_new(q->arena);
    for (int i = 0; i < nkey; i++) {
        lr_sqlf(&left, i == 0 ? "%I.%I" : ", %I.%I", a, key[i]);
        lr_sqlf(&list, i == 0 ? "%I" : ", %I", key[i]);
    }
    lr_sqlf(q, " WHERE (%Q) NOT IN (SELECT %Q FROM (%Q) AS %I) IS NOT FALSE", &left, &list, rows, b);
}

/* IN reads the keys once; a correlated EXISTS would index them for each row. */
static void delete_keys(lr_sql *q, const lr_table *t, const lr_sql *where, const lr_table *keys, const char **key, int nkey)
{
    lr_sql list = lr_sql_new(q->arena);
    for (int i = 0; i < nkey; i++) lr_sqlf(&list, i == 0 ? "%I" : ", %I", key[i]);
    lr_sqlf(q, "DELETE FROM %T WHERE %Q AND (%Q) IN (SELECT %Q FROM %T)", t, where, &list, &list, keys);
}

static void create_index(lr_sql *q, const lr_table *t, const char *column)
{
    const char *name = lr_printf(q->arena, "lrun_%s_%s", t->name, column);
    lr_table index = {t->schema, name};
    lr_sqlf(q, "CREATE INDEX IF NOT EXISTS %T ON %I (%I)", &index, t->name, column);
}

static void add_column(lr_sql *q, const lr_table *t, const lr_field *field)
{
    lr_sqlf(q, "ALTER TABLE %T ADD COLUMN ", t);
    field_sql(q, field, 0, 0);
}

/* Midnights are written as bare dates: "2026-01-20" sorts before every form of
 * a time of that day, and after every form of the day before. */
static void edge(lr_arena *a, lr_edge *edge, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    char text[40];
    (void)type;
    if (edge->exact || !edge->set) return;
    edge->value = mode == LR_ISO ? lr_text(lr_dup(a, lr_format_short(z, edge->us, text))) : lr_epoch_edge(a, mode, edge->us, edge->above, z);
}

static void edge_args(lr_sql *q, const lr_edge *edge, const lr_zone *z, int flag)
{
    lr_value form = edge->set ? edge->value : lr_null(), instant = form;
    char text[40];
    /* a local reading may occur twice: the instant says which is meant */
    if (edge->set && !edge->exact && form.type == LR_TEXT) instant = lr_text(lr_format_offset(z, edge->us, text));
    lr_sqlf(q, ", %V, %V, %d", &form, &instant, flag);
}

static void instants(lr_sql *q, const char *function, const lr_sql *column, const lr_bounds *b)
{
    lr_value mode = lr_text(lr_time_mode_name(b->mode)), zone = lr_text(lr_zone_name(b->zone));
    lr_sqlf(q, "%s(%Q, %V, %V", function, column, &mode, &zone);
    edge_args(q, &b->start, b->zone, !b->start.inclusive);
    edge_args(q, &b->stop, b->zone, b->stop.inclusive);
    lr_sqlf(q, ")");
}

/* Whole days around the edges: an offset moves a time by less than a day, and
 * every form of a time begins with its day. */
static lr_value day_text(lr_arena *a, int64_t us, int days)
{
    char text[40];
    return lr_text(lr_dup(a, lr_format_date(lr_zone_utc(), us + days * LR_US_PER_DAY, text)));
}

static void within_instants(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    if (b->start.set) {
        lr_value low = day_text(q->arena, b->start.us, -2);
        lr_sqlf(q, "%Q >= %V AND ", column, &low);
    }
    if (b->stop.set) {
        lr_value high = day_text(q->arena, b->stop.us, 3);
        lr_sqlf(q, "%Q < %V AND ", column, &high);
    }
    instants(q, "lrun_within", column, b);
}

static void within(lr_sql *q, const lr_sql *column, const lr_bounds *b)
{
    if (b->by_instant && (b->start.set || b->stop.set)) {
        within_instants(q, column, b);
        return;
    }
    if (lr_is_epoch(b->mode)) {
        lr_sqlite_epoch_within(q, column, b);
        return;
    }
    if (!b->start.set && !b->stop.set) lr_sqlf(q, "1=1");
    if (b->start.set) lr_sqlf(q, b->start.inclusive ? "%Q >= %V" : "%Q > %V", column, &b->start.value);
    if (b->start.set && b->stop.set) lr_sqlf(q, " AND ");
    if (b->stop.set) lr_sqlf(q, b->stop.inclusive ? "%Q <= %V" : "%Q < %V", column, &b->stop.value);
}

static void iso_text(char out[40], int64_t us, char between)
{
    lr_format_instant(lr_zone_utc(), us, out);
    out[10] = between;
    out[19] = 0;
}

/* Text inside the bounds and near them: the edges' whole days, and as far as an
 * offset can move a time. */
static void around(const lr_bounds *b, lr_value *from, lr_value *to, lr_arena *a)
{
    char low[40] = "0", high[40] = ":", day[40];
    if (b->start.set) {
        iso_text(low, b->start.us - 12 * LR_US_PER_HOUR, ' ');
        lr_format_date(b->zone, b->start.us, day);
        if (strcmp(day, low) < 0) strcpy(low, day);
    }
    if (b->stop.set) {
        iso_text(high, b->stop.us + 14 * LR_US_PER_HOUR, 'T');
        lr_format_date(b->zone, lr_grain_next(b->zone, LR_DAY, b->stop.us), day);
        if (strcmp(day, high) > 0) strcpy(high, day);
    }
    *from = lr_text(lr_dup(a, low));
    *to = lr_text(lr_dup(a, high));
}

#define ISO_MONTH "[0-9][0-9][0-9][0-9]-[0-9][0-9]-*"

/* Text that begins with a digit and is no date, anywhere in the column: with an
 * index one look for each month, else one scan. */
static int strange(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    if (b->mode != LR_ISO) return 0;
    if (!b->indexed) {
        lr_sqlf(q, "SELECT typeof(%Q), %Q, 0%Q AND %Q >= '0' AND %Q < ':' AND %Q NOT GLOB '" ISO_MONTH "' LIMIT 1", column, column, from,
                column, column, column);
        return 1;
    }
    lr_sqlf(q, "WITH RECURSIVE \"m\"(\"v\") AS (SELECT min(%Q)%Q AND %Q >= '0' AND %Q < ':' UNION ALL SELECT (SELECT min(%Q)%Q AND "
               "%Q >= substr(\"m\".\"v\", 1, 7) || '.' AND %Q < ':') FROM \"m\" WHERE \"m\".\"v\" GLOB '" ISO_MONTH "') "
               "SELECT typeof(\"v\"), \"v\", 0 FROM \"m\" WHERE \"v\" NOT GLOB '" ISO_MONTH "' LIMIT 1",
            column, from, column, column, column, from, column, column);
    return 1;
}

static void head(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_value *zone)
{
    lr_sqlf(q, "SELECT typeof(%Q), %Q, lrun_try_us(%Q, %V) IS NOT NULL%Q AND ", column, column, column, zone, from);
}

/* The values near the bounds of a column of dates, each once: there are few, and
 * one look into the index goes from one to the next. */
static void few_values(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b, const lr_value *low, const lr_value *high)
{
    lr_value zone = lr_text(lr_zone_name(b->zone));
    lr_sql v = lr_sql_column(q->arena, NULL, "v");
    lr_sqlf(q, "SELECT * FROM (WITH RECURSIVE \"d\"(\"v\") AS (SELECT (SELECT %Q%Q AND %Q >= %V AND %Q < %V ORDER BY %Q COLLATE BINARY "
               "LIMIT 1) UNION ALL SELECT (SELECT %Q%Q AND %Q COLLATE BINARY > \"d\".\"v\" AND %Q < %V ORDER BY %Q COLLATE BINARY LIMIT 1) "
               "FROM \"d\" WHERE \"d\".\"v\" IS NOT NULL) SELECT typeof(\"v\"), \"v\", lrun_try_us(\"v\", %V) IS NOT NULL FROM \"d\" "
               "WHERE \"v\" IS NOT NULL AND ",
            column, from, column, low, column, high, column, column, from, column, column, high, column, &zone);
    instants(q, "lrun_misplaced", &v, b);
    lr_sqlf(q, ")");
}

/* Numbers, text that starts with no digit, blobs, and text near the bounds: one
 * SELECT for each range of an index, which then answers alone. With OR each row
 * would be looked up in the table too, and without an index read three times. */
static void misplaced_text(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    lr_value zone = lr_text(lr_zone_name(b->zone)), low, high;
    if (b->by_instant) {
        low = b->start.set ? day_text(q->arena, b->start.us, -2) : lr_text("0");
        high = b->stop.set ? day_text(q->arena, b->stop.us, 3) : lr_text(":");
    } else {
        around(b, &low, &high, q->arena);
    }
    for (int range = 0; range < (b->indexed ? 3 : 1); range++) {
        if (range > 0) lr_sqlf(q, " UNION ALL ");
        if (range == 2 && !b->by_instant && b->type != NULL && b->type->kind == LR_KIND_DATE) {
            few_values(q, from, column, b, &low, &high);
            break;
        }
        head(q, from, column, &zone);
        if (!b->indexed) lr_sqlf(q, "(%Q < '0' OR %Q >= ':' OR (%Q >= %V AND %Q < %V))", column, column, column, &low, column, &high);
        else if (range == 0) lr_sqlf(q, "%Q < '0'", column);
        else if (range == 1) lr_sqlf(q, "%Q >= ':'", column);
        else lr_sqlf(q, "%Q >= %V AND %Q < %V", column, &low, column, &high);
        if (b->by_instant) lr_sqlf(q, " AND lrun_try_us(%Q, %V) IS NULL", column, &zone);
        if (b->by_instant) continue;
        lr_sqlf(q, " AND ");
        instants(q, "lrun_misplaced", column, b);
    }
    lr_sqlf(q, " LIMIT 1");
}

static int misplaced(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_bounds *b)
{
    lr_value zone = lr_text(lr_zone_name(b->zone));
    if (b->mode == LR_ISO) {
        misplaced_text(q, from, column, b);
        return 1;
    }
    if (lr_is_epoch(b->mode)) {
        lr_sqlite_epoch_misplaced(q, from, column, b);
        return 1;
    }
    /* Text and blobs sort after every number, whatever they say. */
    head(q, from, column, &zone);
    lr_sqlf(q, "%Q >= '' LIMIT 1", column);
    return 1;
}

static void instant(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    (void)type;
    lr_value name = lr_text(lr_time_mode_name(mode)), zone = lr_text(lr_zone_name(z));
    lr_sqlf(q, "lrun_us(%Q, %V, %V)", expr, &name, &zone);
}

static void moment(lr_sql *q, const lr_sql *expr, lr_time_mode mode, const lr_zone *z, const lr_type *from, const lr_type *to)
{
    lr_value name = lr_text(lr_time_mode_name(mode)), zone = lr_text(lr_zone_name(z));
    (void)from;
    int cut = to->kind == LR_KIND_DATE;
    lr_sqlf(q, cut ? "substr(lrun_moment(%Q, %V, %V), 1, 10)" : "lrun_moment(%Q, %V, %V)", expr, &name, &zone);
}

static void distinct(lr_sql *q, const lr_sql *a, const lr_sql *b, int loose)
{
    if (loose) lr_sqlf(q, "(%Q COLLATE BINARY IS NOT %Q AND NOT lrun_same_time(%Q, %Q))", a, b, a, b);
    else lr_sqlf(q, "%Q COLLATE BINARY IS NOT %Q", a, b);
}

static void piece(lr_sql *q, const lr_sql *expr, lr_grain g, lr_time_mode mode, const lr_zone *z, const lr_type *type)
{
    (void)type;
    lr_value name = lr_text(lr_time_mode_name(mode)), zone = lr_text(lr_zone_name(z)), grain = lr_text(lr_grain_name(g));
    lr_sqlf(q, "lrun_piece(%Q, %V, %V, %V)", expr, &name, &zone, &grain);
}

static void elapsed(lr_sql *q, const lr_sql *from, const lr_sql *to)
{
    lr_sqlf(q, "(%Q - %Q)", to, from);
}

static void newest(lr_sql *q, const lr_sql *from, const lr_sql *column, lr_time_mode mode,
                   const lr_zone *z, const lr_type *type, const int64_t *limit_us)
{
    if (limit_us != NULL && lr_is_epoch(mode)) {
        lr_bounds b = {.stop = {.set = 1, .inclusive = 1, .above = 1, .us = *limit_us}, .mode = mode, .zone = z, .type = type};
        edge(q->arena, &b.stop, mode, z, type);
        lr_sqlite_epoch_newest(q, from, column, &b);
        return;
    }
    lr_sqlf(q, "SELECT %Q%Q AND %Q IS NOT NULL", column, from, column);
    if (limit_us != NULL && mode == LR_ISO) {
        /* From the end of the index backwards, and then among the last days by
         * the instant, since there the forms may mix. */
        lr_value after = day_text(q->arena, *limit_us, 3), zone = lr_text(lr_zone_name(z)), limit = lr_int(*limit_us);
        lr_sqlf(q, " AND %Q < %V AND lrun_us(%Q, 'iso', %V) <= %V AND %Q >= (SELECT date(substr(max(\"m\"), 1, 10), '-2 days') "
                   "FROM (SELECT %Q AS \"m\"%Q AND %Q < %V AND lrun_us(%Q, 'iso', %V) <= %V ORDER BY %Q DESC LIMIT 1))",
                column, &after, column, &zone, &limit, column, column, from, column, &after, column, &zone, &limit, column);
        lr_sqlf(q, " ORDER BY lrun_us(%Q, 'iso', %V) DESC, %Q DESC LIMIT 1", column, &zone, column);
        return;
    }
    lr_sqlf(q, " ORDER BY %Q DESC LIMIT 1", column);
}

static int is_time(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    lr_value zone = lr_text(lr_zone_name(z));
    (void)type;
    lr_sqlf(q, "(lrun_try_us(%Q, %V) IS NOT NULL)", expr, &zone);
    return 1;
}

static void order(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    (void)type;
    lr_value zone = lr_text(lr_zone_name(z));
    lr_sqlf(q, "coalesce(lrun_try_us(%Q, %V), %Q)", expr, &zone, expr);
}

/* By bytes, whatever collation the column has. */
static void bytewise(lr_sql *q, const lr_sql *expr, const lr_type *type)
{
    (void)type;
    lr_sqlf(q, "%Q COLLATE BINARY", expr);
}

static int plain_times(lr_sql *q, const lr_sql *from, const lr_sql *column, const lr_type *type, const lr_type *other, const lr_zone *z)
{
    (void)type;
    (void)other;
    if (!lr_zone_is_utc(z)) return 0;
    lr_sqlf(q, "SELECT lrun_styles(%Q)%Q", column, from);
    return 2;
}

static void never_null(lr_sql *q, const lr_sql *column)
{
    lr_sqlf(q, "CASE WHEN %Q IS NULL THEN lrun_stop() ELSE 1 END", column);
}

static int was_null(const lr_err *e)
{
    return strstr(e->message, "lrun_stop") != NULL;
}

static void forever(lr_sql *q)
{
    lr_sqlf(q, "9223372036854775807");
}

static void typed(lr_sql *q, const lr_value *v, const lr_type *type)
{
    (void)type;
    lr_sqlf(q, "%V", v);
}

static void total(lr_sql *q, const lr_sql *expr, const lr_type *type)
{
    (void)type;
    lr_sqlf(q, "lrun_sum(%Q)", expr);
}

static void last(lr_sql *q, const lr_type *type)
{
    (void)type;
    lr_sqlf(q, "'9999-12-31'");
}

static int lossy(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, unsigned why, const lr_zone *z)
{
    const char *affinity = lr_sqlite_affinity(to->native);
    (void)why;
    (void)z;
    if (strcmp(affinity, "BLOB") == 0) return 0;
    /* Values that already live under the same affinity are what it made them. */
    if (from->dynamic && from->native[0] != 0 && strcmp(lr_sqlite_affinity(from->native), affinity) == 0) return 0;
    lr_value name = lr_text(affinity);
    lr_sqlf(q, "NOT lrun_keeps(%Q, %V)", expr, &name);
    return 1;
}

static void shown(lr_sql *q, const lr_sql *expr)
{
    lr_sqlf(q, "%Q", expr);
}

/* Without an index the rows that came last are as good, and few. */
static void newest_text(lr_sql *q, const lr_relation *t, const lr_sql *column, int indexed)
{
    if (indexed || !t->numbered) lr_sqlf(q, "SELECT max(%Q) FROM %T WHERE %Q >= '0' AND %Q < ':'", column, &t->table, column, column);
    else lr_sqlf(q, "SELECT max(\"v\") FROM (SELECT %Q AS \"v\" FROM %T ORDER BY rowid DESC LIMIT 1000) AS \"last\" WHERE \"v\" >= '0' AND \"v\" < ':'", column, &t->table);
}

/* Instants of another engine are written in a form of the column's own, numbers as
 * the column compares them: every other value is what it is. */
static int convert(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, const lr_time_form *form, const lr_zone *z)
{
    int number = (lr_kind_is_number(from->kind) || from->kind == LR_KIND_BOOL || from->kind == LR_KIND_OTHER) && !from->dynamic;
    /* a staged column makes nothing of a number, and the target's makes text of it */
    if (number && strcmp(lr_sqlite_affinity(to->native), "TEXT") == 0) {
        lr_sqlf(q, "CASE WHEN typeof(%Q) IN ('integer', 'real') THEN CAST(%Q AS TEXT) ELSE %Q END", expr, expr, expr);
        return 1;
    }
    if (form->between == 0 && form->digits == 0 && form->zone == 0) return 0;
    lr_value between = lr_textn(form->between != 0 ? &form->between : " ", 1), digits = lr_int(form->digits), suffix = lr_textn(&form->zone, form->zone != 0);
    lr_value zone = lr_text(lr_zone_name(z));
    lr_sqlf(q, "lrun_form(%Q, %V, %V, %V, %V)", expr, &between, &digits, &suffix, &zone);
    return 1;
}

const lr_dialect lr_sqlite_dialect = {
    .copier = &lr_sqlite_copier,
    .name = "sqlite",
    .fold_case = 1,
    .checks_rows = 1,
    .merges_by_row = 1,
    .seeks = 1,
    .keeps_any = 1,
    .keeps_stages = 1,
    .placeholder = placeholder,
    .relation = lr_sqlite_relation,
    .resolve = lr_sqlite_resolve,
    .commits = lr_sqlite_commits,
    .type_for = lr_sqlite_type_for,
    .stage_type = stage_type,
    .create_table = create_table,
    .edge = edge,
    .keep = keep,
    .unmatched = unmatched,
    .delete_keys = delete_keys,
    .create_index = create_index,
    .add_column = add_column,
    .within = within,
    .misplaced = misplaced,
    .strange = strange,
    .indexed = lr_sqlite_indexed,
    .newest = newest,
    .instant = instant,
    .moment = moment,
    .distinct = distinct,
    .quote = "quote",
    .is_time = is_time,
    .order = order,
    .shape = lr_sqlite_shape,
    .position = lr_sqlite_position,
    .plain_times = plain_times,
    .never_null = never_null,
    .was_null = was_null,
    .bytewise = bytewise,
    .forever = forever,
    .last = last,
    .piece = piece,
    .elapsed = elapsed,
    .total = total,
    .checksum = &lr_sqlite_checksum,
    .typed = typed,
    .overriding = "",
    .tables = "SELECT name, type FROM sqlite_schema WHERE type IN ('table', 'view') AND name NOT LIKE 'sqlite_%' ORDER BY name",
    .lossy = lossy,
    .convert = convert,
    .aggregate = lr_sqlite_aggregate,
    .shown = shown,
    .newest_text = newest_text,
    .merge = lr_sqlite_merge,
    .ledger = lr_sqlite_ledger,
};
