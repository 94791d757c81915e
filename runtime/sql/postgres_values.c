/* Values on their way into a column of another type, in the SQL of PostgreSQL:
 * which of them the column does not keep, and what the others are in it. */
#include "sql/postgres.h"
#include <string.h>

/* Numbers that are none: kept by floats and by numeric. */
#define SPECIAL "('NaN', 'Infinity', '-Infinity')"

static const char iso_time[] = "^[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
                               "([ T]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.][0-9]+)?)?( ?(Z|[+-][0-9]{2}(:?[0-9]{2}(:[0-9]{2})?)?))?)?$";
static const char offset_end[] = "(Z|[+-][0-9]{2}(:?[0-9]{2}(:[0-9]{2})?)?)$";

/* ---- text that is a time ---- */

/* The regular expression lets through 31 days for each month. */
void lr_postgres_no_time(lr_sql *q, const lr_sql *text)
{
    lr_sqlf(q, "(CASE WHEN %Q !~ '%s' THEN true ELSE substr(%Q, 9, 2)::int > extract(day FROM (substr(%Q, 1, 7) || '-01')::date + "
               "interval '1 month' - interval '1 day') OR substr(%Q, 1, 4) = '0000' END)", text, iso_time, text, text, text);
}

static void has_offset(lr_sql *q, const lr_sql *text)
{
    lr_sqlf(q, "(length(%Q) > 10 AND substr(%Q, 11) ~ '%s')", text, text, offset_end);
}

lr_sql lr_postgres_text_instant(const lr_sql *text, const lr_zone *z)
{
    lr_sql naive = lr_sql_new(text->arena), out = lr_sql_new(text->arena), offset = lr_sql_new(text->arena);
    lr_sqlf(&naive, "%Q::timestamp", text);
    lr_sql read = lr_postgres_instant(&naive, z);
    has_offset(&offset, text);
    lr_sqlf(&out, "(CASE WHEN %Q THEN %Q::timestamptz ELSE %Q END)", &offset, text, &read);
    return out;
}

/* ---- the value in the column's kind, with all digits ---- */

static lr_sql as_text(const lr_sql *expr)
{
    lr_sql out = lr_sql_new(expr->arena);
    lr_sqlf(&out, "%Q::text", expr);
    return out;
}

/* A number as numeric: a float by its shortest text. */
static lr_sql as_numeric(const lr_sql *expr, const lr_type *from)
{
    lr_sql out = lr_sql_new(expr->arena);
    if (from->kind == LR_KIND_DECIMAL) return *expr;
    if (from->kind == LR_KIND_BOOL) lr_sqlf(&out, "%Q::int::numeric", expr);
    else if (from->kind == LR_KIND_REAL || lr_kind_is_text(from->kind)) lr_sqlf(&out, "%Q::text::numeric", expr);
    else lr_sqlf(&out, "%Q::numeric", expr);
    return out;
}

static lr_sql as_timestamp(const lr_sql *expr)
{
    lr_sql out = lr_sql_new(expr->arena);
    lr_sqlf(&out, "%Q::timestamp", expr);
    return out;
}

/* A time of any kind as one of the kind; text is known to be a time. */
static lr_sql as_time(const lr_sql *expr, const lr_type *from, lr_kind to, const lr_zone *z)
{
    lr_sql text = as_text(expr), out = lr_sql_new(expr->arena);
    if (!lr_kind_is_time(from->kind)) {
        lr_sql instant = lr_postgres_text_instant(&text, z), local = lr_postgres_local(&instant, z), offset = lr_sql_new(expr->arena);
        if (to == LR_KIND_INSTANT) return instant;
        has_offset(&offset, &text);
        lr_sqlf(&out, "(CASE WHEN %Q THEN %Q ELSE %Q::timestamp END)", &offset, &local, &text);
        return out;
    }
    if ((from->kind == LR_KIND_INSTANT) == (to == LR_KIND_INSTANT)) {
        lr_sql plain = as_timestamp(expr);
        return to == LR_KIND_INSTANT || from->kind == to ? *expr : plain;
    }
    if (from->kind == LR_KIND_INSTANT) return lr_postgres_local(expr, z);
    lr_sql naive = as_timestamp(expr);
    return lr_postgres_instant(&naive, z);
}

/* ---- losses ---- */

static void lossy_integer(lr_sql *q, const lr_sql *n, const lr_type *to)
{
    const char *most = to->bits == 64 ? "9223372036854775807" : to->bits == 32 ? "2147483647" : "32767";
    lr_sqlf(q, "(%Q <> trunc(%Q) OR %Q > %s OR %Q < -%s - 1)", n, n, n, most, n, most);
}

static void lossy_decimal(lr_sql *q, const lr_sql *n, const lr_type *to)
{
    lr_sqlf(q, "(%Q::text <> 'NaN' AND (%Q <> round(%Q, %d) OR abs(%Q) >= '1e%d'::numeric))", n, n, n, to->scale, n, to->precision - to->scale);
}

/* Out of the range of a float, the cast itself would be an error. */
static void lossy_real(lr_sql *q, const lr_sql *n, const lr_type *to)
{
    const char *most = to->bits == 64 ? "1.7976931348623157e308" : "3.4028235e38", *least = to->bits == 64 ? "1e-307" : "1.2e-38";
    lr_sqlf(q, "(CASE WHEN %Q::text IN " SPECIAL " THEN false WHEN abs(%Q) > '%s'::numeric OR (%Q <> 0 AND abs(%Q) < '%s'::numeric) THEN true "
               "ELSE %Q::%s::text::numeric <> %Q END)", n, n, most, n, n, least, n, to->bits == 64 ? "float8" : "float4", n);
}

/* Every integer has its own text, so what comes back says it. At the end of the
 * range the way back would be an error. */
static void lossy_integer_real(lr_sql *q, const lr_sql *expr, const lr_type *to)
{
    lr_sqlf(q, "(CASE WHEN %Q = -9223372036854775808 THEN false WHEN %Q NOT BETWEEN -9223371000000000000 AND 9223371000000000000 THEN true "
               "ELSE %Q::%s::float8::bigint <> %Q END)", expr, expr, expr, to->bits == 64 ? "float8" : "float4", expr);
}

static void lossy_number(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to)
{
    lr_sql n = as_numeric(expr, from);
    if (to->kind == LR_KIND_INTEGER) lossy_integer(q, &n, to);
    else if (to->kind == LR_KIND_REAL && from->kind == LR_KIND_INTEGER) lossy_integer_real(q, expr, to);
    else if (to->kind == LR_KIND_REAL) lossy_real(q, &n, to);
    else lossy_decimal(q, &n, to);
}

/* A day is kept where the first moment of it is what was given. */
static void lossy_day(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_zone *z)
{
    lr_sql local = as_time(expr, from, LR_KIND_TIMESTAMP, z), day = lr_sql_new(q->arena), offset = lr_sql_new(q->arena), text = as_text(expr);
    lr_sqlf(&day, "date_trunc('day', %Q)", &local);
    lr_sql instant = lr_postgres_instant(&day, z), given = as_time(expr, from, LR_KIND_INSTANT, z);
    if (from->kind == LR_KIND_TIMESTAMP) lr_sqlf(q, "%Q <> %Q", &local, &day);
    else if (from->kind == LR_KIND_INSTANT) lr_sqlf(q, "%Q <> %Q", &given, &instant);
    else {
        has_offset(&offset, &text);
        lr_sqlf(q, "(CASE WHEN %Q THEN %Q <> %Q ELSE %Q <> %Q END)", &offset, &given, &instant, &local, &day);
    }
}

/* A local time that does not occur, or occurs twice, on the way to or from an instant. */
static void lossy_zone(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, const lr_zone *z)
{
    int known = lr_kind_is_time(from->kind);
    lr_sql text = as_text(expr), local = known ? as_time(expr, from, LR_KIND_TIMESTAMP, z) : as_timestamp(&text), offset = lr_sql_new(q->arena);
    if (known && from->kind == LR_KIND_DATE) {
        lr_sql instant = lr_postgres_instant(&local, z), back = lr_postgres_local(&instant, z);
        lr_sqlf(q, "(isfinite(%Q) AND %Q::date <> %Q)", expr, &back, expr);
        return;
    }
    if (known) {
        lr_postgres_inexact_local(q, &local, z);
        return;
    }
    /* only text of the other kind is converted; a bare date begins its day */
    has_offset(&offset, &text);
    lr_sql reading = as_time(expr, from, LR_KIND_TIMESTAMP, z);
    lr_sqlf(q, to->kind == LR_KIND_INSTANT ? "(length(%Q) > 10 AND NOT %Q AND " : "(length(%Q) > 10 AND %Q AND ", &text, &offset);
    lr_postgres_inexact_local(q, &reading, z);
    lr_sqlf(q, ")");
}

static void lossy_time(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, unsigned why, const lr_zone *z)
{
    int first = 1, is_text = !lr_kind_is_time(from->kind);
    lr_sql text = as_text(expr);
    if (is_text) {
        lr_sql odd = lr_sql_new(q->arena);
        lr_postgres_no_time(&odd, &text);
        lr_sqlf(q, "(CASE WHEN %Q THEN true ELSE %Q ~ '[.][0-9]{6}[0-9]*[1-9]'", &odd, &text);
        first = 0;
    } else lr_sqlf(q, "(");
    if (why & LR_LOSES_FRACTION) {
        lr_sql exact = as_time(expr, from, to->kind, z);
        lr_sqlf(q, "%s%Q::%s <> %Q", first ? "" : " OR ", &exact, to->native, &exact);
        first = 0;
    }
    if (why & LR_LOSES_DAY) {
        lr_sqlf(q, "%s", first ? "" : " OR ");
        lossy_day(q, expr, from, z);
        first = 0;
    }
    /* to a date the first moment of the day says all */
    if ((why & LR_LOSES_ZONE || is_text) && to->kind != LR_KIND_DATE && !lr_zone_is_utc(z)) {
        lr_sqlf(q, "%s", first ? "" : " OR ");
        lossy_zone(q, expr, from, to, z);
        first = 0;
    }
    if (first) lr_sqlf(q, "false");
    lr_sqlf(q, is_text ? " END)" : ")");
}

/* Numbers of the engine's own: others would be words that a column of numbers reads. */
static void lossy_own_number(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to)
{
    lr_sql n = as_numeric(expr, from), text = as_text(expr);
    if (strcmp(from->native, "money") == 0 && to->kind == LR_KIND_DECIMAL) {
        if (to->precision >= 0) lossy_decimal(q, &n, to);
        else lr_sqlf(q, "false");
    } else if (strcmp(from->native, "oid") == 0) {
        lr_sql number = lr_sql_new(q->arena), plain = lr_sql_new(q->arena);
        lr_sqlf(&number, "%Q::numeric", &text);
        lr_sqlf(&plain, "%Q::bigint", expr);
        if (to->kind == LR_KIND_INTEGER) lossy_integer(q, &number, to);
        else if (to->kind == LR_KIND_DECIMAL && to->precision < 0) lr_sqlf(q, "false");
        else if (to->kind == LR_KIND_DECIMAL) lossy_decimal(q, &number, to);
        else lossy_integer_real(q, &plain, to);
    } else lr_sqlf(q, "%Q IS NOT NULL", expr);
}

/* Of the engine's own: text is parsed by it, other types are known by their text. */
static void lossy_form(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to)
{
    lr_sql text = as_text(expr);
    if (lr_kind_is_number(to->kind)) {
        lossy_own_number(q, expr, from, to);
        return;
    }
    if (lr_kind_is_number(from->kind) && strcmp(to->native, "money") == 0) {
        lr_sql n = as_numeric(expr, from);
        lr_sqlf(q, "(%Q <> round(%Q, 2) OR abs(%Q) >= 92233720368547758)", &n, &n, &n);
        return;
    }
    if (!lr_kind_is_text(from->kind)) {
        lr_sqlf(q, "CAST(%Q AS %s)::text IS DISTINCT FROM %Q", &text, to->native, &text);
        return;
    }
    int digits = to->fraction >= 0 ? to->fraction : to->scale;
    const char *zone = strstr(to->native, "with time zone") != NULL ? "([+-][0-9:]+|Z)?" : "";
    if (to->clock) lr_sqlf(q, "(%Q !~ '^[0-9]{1,2}:[0-9]{2}(:[0-9]{2}([.][0-9]+)?)?%s$' OR %Q ~ '[.][0-9]{%d}[0-9]*[1-9]')", &text, zone, &text, digits);
    /* only intervals keep some fields; what has a length has its text word for word */
    else if (to->cuts) lr_sqlf(q, "CAST(%Q AS interval)::text IS DISTINCT FROM CAST(CAST(%Q AS interval) AS %s)::text", &text, &text, to->native);
    else if (to->length >= 0) lr_sqlf(q, "CAST(%Q AS %s)::text IS DISTINCT FROM %Q", &text, to->native, &text);
    /* read here, where an error of it has the column's name */
    else if (digits >= 0) lr_sqlf(q, "(%Q IS NOT NULL AND (%Q ~ '[.][0-9]{%d}[0-9]*[1-9]' OR CAST(%Q AS %s) IS NULL))", expr, &text, digits, &text, to->native);
    else lr_sqlf(q, "(%Q IS NOT NULL AND CAST(%Q AS %s) IS NULL)", expr, &text, to->native);
}

int lr_postgres_lossy(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, unsigned why, const lr_zone *z)
{
    lr_sql text = as_text(expr);
    if (why & LR_LOSES_FORM) lossy_form(q, expr, from, to);
    else if (lr_kind_is_time(to->kind)) lossy_time(q, expr, from, to, why, z);
    else if (to->kind == LR_KIND_BOOL) lr_sqlf(q, "%Q NOT IN (0, 1)", expr);
    else if (why & LR_LOSES_LENGTH) lr_sqlf(q, "length(%Q) > %d", &text, to->length);
    else if (why & LR_LOSES_CLASS) {
        lr_sql n = as_numeric(expr, from);
        lr_sqlf(q, "(CASE WHEN %Q IN " SPECIAL " THEN false WHEN %Q !~ '^[+-]?([0-9]+([.][0-9]*)?|[.][0-9]+)([eE][+-]?[0-9]+)?$' THEN true ELSE ", &text, &text);
        if (to->precision >= 0) lossy_decimal(q, &n, to);
        else lr_sqlf(q, "false");
        lr_sqlf(q, " END)");
    } else lossy_number(q, expr, from, to);
    return 1;
}

/* ---- conversions ---- */

int lr_postgres_convert(lr_sql *q, const lr_sql *expr, const lr_type *from, const lr_type *to, const lr_time_form *form, const lr_zone *z)
{
    (void)form;
    if (strcmp(from->native, to->native) == 0 || to->native[0] == 0) return 0;
    if (lr_kind_is_time(to->kind)) {
        lr_sql exact = as_time(expr, from, to->kind, z);
        lr_sqlf(q, "CAST(%Q AS %s)", &exact, to->native);
    } else if (to->kind == LR_KIND_BOOL && from->kind == LR_KIND_INTEGER) {
        lr_sqlf(q, "CAST(%Q <> 0 AS %s)", expr, to->native);
    } else if (from->kind == LR_KIND_BOOL && lr_kind_is_number(to->kind)) {
        lr_sqlf(q, "CAST(%Q::int AS %s)", expr, to->native);
    } else if (from->kind == LR_KIND_REAL && lr_kind_is_number(to->kind)) {
        lr_sqlf(q, to->kind == LR_KIND_REAL ? "CAST(%Q AS %s)" : "CAST(%Q::text::numeric AS %s)", expr, to->native);
    } else if (from->kind == LR_KIND_BOOL && from->dynamic && lr_kind_is_text(to->kind)) {
        lr_sqlf(q, "CAST(%Q::int AS %s)", expr, to->native);
    } else if (strcmp(from->native, "oid") == 0 && lr_kind_is_number(to->kind)) {
        lr_sqlf(q, "CAST(%Q::bigint AS %s)", expr, to->native);
    } else if (lr_kind_is_number(from->kind) && strcmp(to->native, "money") == 0) {
        lr_sql n = as_numeric(expr, from);
        lr_sqlf(q, "CAST(%Q AS money)", &n);
    } else if (to->kind == LR_KIND_OTHER || to->kind == LR_KIND_UUID || to->kind == LR_KIND_JSON) {
        /* every type is known by its text, but few are cast to each other */
        lr_sqlf(q, "CAST(%Q::text AS %s)", expr, to->native);
    } else lr_sqlf(q, "CAST(%Q AS %s)", expr, to->native);
    return 1;
}
