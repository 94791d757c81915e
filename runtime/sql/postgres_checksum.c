/* Checksums of rows in PostgreSQL, by its own hash functions. No value becomes
 * text but where it is text: that takes longer than all the rest. */
#include "sql/checksum.h"
#include "sql/postgres.h"

/* numeric's hash leaves the sign out, and tells NaN from no infinity. */
static void decimal(lr_sql *q, const char *cast, const lr_hashed *c)
{
    lr_sqlf(q, "hash_numeric_extended(%I%s, CASE WHEN %I%s < 0 THEN -%d WHEN %I%s = 'NaN' THEN %d ELSE %d END)", c->name, cast, c->name,
            cast, c->seed, c->name, cast, c->seed + LR_NAN_SEED, c->seed);
}

static void date(lr_sql *q, const lr_hashed *c)
{
    lr_sqlf(q, "hashint4extended(%d, CASE WHEN isfinite(%I) THEN (%I - '2000-01-01'::date)::int8 WHEN %I > '2000-01-01'::date "
               "THEN 9223372036854775807 WHEN %I < '2000-01-01'::date THEN -9223372036854775807 - 1 END)", c->seed, c->name, c->name, c->name, c->name);
}

static void text(lr_sql *q, const lr_hashed *c)
{
    int trimmed = c->form == LR_FORM_TRIMMED || c->form == LR_FORM_TRIMMED_RECODED;
    int recoded = c->form == LR_FORM_TEXT_RECODED || c->form == LR_FORM_TRIMMED_RECODED;
    lr_sqlf(q, "hashtextextended(%s%s", recoded ? "encode(convert_to(" : "", trimmed ? "rtrim(" : "");
    /* a type's text as it is copied: inet's cast to text adds "/32" */
    if (c->type.kind == LR_KIND_TEXT) lr_sqlf(q, "%I", c->name);
    else if (c->type.kind == LR_KIND_PADDED) lr_sqlf(q, "%I::text", c->name);
    else lr_sqlf(q, "(CASE WHEN %I IS NOT NULL THEN concat(%I) END)", c->name, c->name);
    lr_sqlf(q, "%s%s COLLATE \"C\", %d)", trimmed ? ", ' ')" : "", recoded ? ", 'UTF8'), 'hex')" : "", c->seed);
}

static void zoned(lr_sql *q, const lr_hashed *c)
{
    lr_sql local = lr_sql_new(q->arena), column = lr_sql_column(q->arena, NULL, c->name);
    lr_sqlf(&local, lr_kind_is_text(c->type.kind) ? "%I::text" : "%I::timestamp", c->name);
    lr_sql at = c->type.kind == LR_KIND_INSTANT       ? column
                : lr_kind_is_text(c->type.kind) ? lr_postgres_text_instant(&local, c->zone) : lr_postgres_instant(&local, c->zone);
    lr_sqlf(q, "timestamp_hash_extended(%Q AT TIME ZONE 'UTC', %d)", &at, c->seed);
}

static void hash(lr_sql *q, const lr_hashed *c)
{
    int real = c->type.kind == LR_KIND_REAL, shorter = real && c->type.bits == 32, beside = c->beside.kind == LR_KIND_REAL && c->beside.bits == 32;
    switch (c->form) {
    case LR_FORM_INT:
    case LR_FORM_BOOL:
        /* the value is the seed, whose 64 bits all count; as a value they would
         * be folded into 32 */
        lr_sqlf(q, c->type.kind == LR_KIND_BOOL ? "hashint4extended(%d, %I::int4::int8)" : "hashint4extended(%d, %I::int8)", c->seed, c->name);
        break;
    case LR_FORM_DECIMAL:
        decimal(q, c->as != NULL ? "::text::numeric" : real ? "::text::numeric" : c->type.kind == LR_KIND_BOOL ? "::int4::numeric" : "::numeric", c);
        break;
    case LR_FORM_REAL:
        /* 0.1 of 4 bytes is copied as 0.1, not as its exact value */
        lr_sqlf(q, shorter && !beside ? "hashfloat8extended(%I::text::float8, %d)"
                                                                                      : "hashfloat8extended(%I::float8, %d)",
                c->name, c->seed);
        break;
    case LR_FORM_DATE:
        date(q, c);
        break;
    case LR_FORM_MOMENT:
        lr_sqlf(q, c->type.kind == LR_KIND_INSTANT ? "timestamp_hash_extended(%I AT TIME ZONE 'UTC', %d)"
                                                : "timestamp_hash_extended(%I::timestamp, %d)",
                c->name, c->seed);
        break;
    case LR_FORM_ZONED:
        zoned(q, c);
        break;
    case LR_FORM_UUID:
        lr_sqlf(q, "hashtextextended(lower(regexp_replace(%I::text, '[^0-9A-Fa-f]', '', 'g')) COLLATE \"C\", %d)", c->name, c->seed);
        break;
    case LR_FORM_NETWORK:
        lr_sqlf(q, "hashtextextended(CASE WHEN %I IS NOT NULL THEN regexp_replace(regexp_replace(concat(%I), '^([0-9.]+)/32$', '\\1'), "
                   "'^([0-9a-f.]*:[0-9a-f:.]*)/128$', '\\1') END COLLATE \"C\", %d)", c->name, c->name, c->seed);
        break;
    case LR_FORM_FOLDED:
        lr_sqlf(q, "hashtextextended(lower(%I::text COLLATE \"C\"), %d)", c->name, c->seed);
        break;
    case LR_FORM_BYTES:
        lr_sqlf(q, "hashtextextended(encode(%I, 'hex') COLLATE \"C\", %d)", c->name, c->seed);
        break;
    default:
        text(q, c);
    }
}

static void fold(lr_sql *q, const lr_hashed *columns, int n)
{
    lr_sqlf(q, "(0::int8");
    for (int i = 0; i < n; i++) {
        lr_value none = lr_int(LR_NULL_HASH - columns[i].seed);
        lr_sqlf(q, " # coalesce(");
        hash(q, &columns[i]);
        lr_sqlf(q, ", %V)", &none);
    }
    lr_sqlf(q, ")");
}

static void mix(lr_sql *q, int round, const lr_sql *folds, int n)
{
    lr_sqlf(q, "hashint4extended(%d, ", round);
    for (int i = 0; i < n; i++) lr_sqlf(q, i == 0 ? "%Q" : " # %Q", &folds[i]);
    lr_sqlf(q, ")");
}

/* The planner takes as many groups as there are keys, and then no second process.
 * Of the columns of a subquery that it cannot take apart it knows nothing, and takes
 * 200: a clock keeps it from that, and is as good in a parallel worker. */
static void segments(lr_sql *q, const lr_sql *rows, const lr_sql *folds, int n, int64_t mask)
{
    lr_value bits = lr_int(mask);
    lr_sqlf(q, "SELECT \"segment\", count(*), sum(\"hash\") FROM (SELECT ");
    mix(q, LR_KEY_ROUND, folds, 1);
    lr_sqlf(q, " & %V::int8 AS \"segment\", ", &bits);
    mix(q, LR_ROW_ROUND, folds, n);
    lr_sqlf(q, " AS \"hash\", clock_timestamp()%Q) AS \"hashed\" GROUP BY 1", rows);
}

static void probe(lr_sql *q)
{
    lr_sqlf(q, "SELECT pg_catalog.current_setting('server_encoding') = 'UTF8', hashtextextended('lrun checks rows by hash' COLLATE \"C\", 7), "
               "hashint4extended(3, 5000000000), hash_numeric_extended(-12345678.9012345, 9), hashfloat8extended(0.1::float8, 2), "
               "timestamp_hash_extended('2026-01-20 10:00:00.000001', 4)");
}

const lr_checksum lr_postgres_checksum = {.fold = fold, .mix = mix, .segments = segments, .probe = probe};
