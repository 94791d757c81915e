/* Reading the schema of a PostgreSQL database, and the types of new columns. */
#include "sql/postgres.h"
#include <string.h>

/* PostgreSQL cuts longer names without a word. */
#define NAME_BYTES 63

static const char *copy(lr_arena *a, const lr_value *v)
{
    return v->type == LR_TEXT || v->type == LR_DECIMAL ? lr_dupn(a, v->s.p, v->s.n) : "";
}

static int check_name(const char *name, lr_err *e)
{
    if (name == NULL || strlen(name) <= NAME_BYTES) return 0;
    lr_fail(e, LR_FAILED, "the name \"%s\" is longer than PostgreSQL's %d bytes", name, NAME_BYTES);
    return lr_hint(e, "give it a shorter one: columns = { short = \"...\" }");
}

/* The schema in which a name is found; "" where it is not. */
static int find(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name, const char **out, lr_err *e)
{
    lr_value args[2] = {lr_text(name), lr_text(schema)};
    lr_cursor *k;
    const lr_value *row;
    const char *sql = schema == NULL
        ? "SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
          "WHERE c.relname = $1 AND c.relkind IN ('r','p','v','m','f') AND pg_catalog.pg_table_is_visible(c.oid)"
        : "SELECT n.nspname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
          "WHERE c.relname = $1 AND n.nspname = $2 AND c.relkind IN ('r','p','v','m','f')";
    *out = "";
    if (d->query(c, sql, args, schema == NULL ? 1 : 2, &k, e) != 0) return -1;
    int got = d->next(k, &row, e);
    if (got == 1) *out = copy(a, &row[0]);
    d->finish(k);
    return got < 0 ? -1 : 0;
}

/* A part of a name in double quotes, or up to the dot. */
static const char *name_part(lr_arena *a, const char **p)
{
    lr_buf b = {0};
    if (**p == '"') {
        for ((*p)++; **p != 0; (*p)++) {
            if (**p == '"' && (*p)[1] != '"') break;
            if (**p == '"') (*p)++;
            lr_buf_putc(&b, **p);
        }
        if (**p == '"') (*p)++;
    } else {
        size_t n = strcspn(*p, ".");
        lr_buf_add(&b, *p, n);
        *p += n;
    }
    const char *out = lr_dup(a, b.data != NULL ? b.data : "");
    lr_buf_free(&b);
    return out;
}

int lr_postgres_resolve(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                        lr_table *out, lr_err *e)
{
    const char *where;
    out->schema = schema;
    out->name = lr_dup(a, name);
    if (name[0] != '"') {
        if (find(d, c, a, schema, name, &where, e) != 0) return -1;
        if (where[0] != 0) {
            out->schema = where;
            return check_name(name, e);
        }
    }
    const char *p = name, *first = name_part(a, &p);
    if (*p == '.') {
        p++;
        out->schema = first;
        out->name = name[0] == '"' ? name_part(a, &p) : lr_dup(a, p);
    } else if (name[0] == '"') {
        out->name = first;
        if (find(d, c, a, schema, first, &where, e) != 0) return -1;
        if (where[0] != 0) out->schema = where;
    }
    return check_name(out->schema, e) != 0 ? -1 : check_name(out->name, e);
}

/* Types whose "=" means the same value: boolean, bytea, integers, floats, numeric,
 * text and its kin, dates and times, uuid, jsonb, addresses, bits. Not interval (a
 * month is 30 days), citext, json and what has no "=", and types of the user. */
#define EXACT_TYPES \
    "'{16,17,18,19,20,21,23,25,26,700,701,1042,1043,1082,1083,1114,1184,1266,1700,2950,3802,650,869,774,829,1560,1562}'::oid[]"

/* A domain is known by the type that it is made from, whose modifier it may set. */
#define BASE_TYPE                                                                                                     \
    "WITH RECURSIVE base(number, modifier, depth) AS (SELECT a.atttypid, a.atttypmod, 0 UNION ALL SELECT t.typbasetype, " \
    "CASE WHEN base.modifier >= 0 THEN base.modifier ELSE t.typtypmod END, base.depth + 1 FROM base JOIN pg_catalog.pg_type t " \
    "ON t.oid = base.number AND t.typtype = 'd') SELECT number, modifier FROM base ORDER BY depth DESC LIMIT 1"

static int read_fields(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    int cap = 0, got;
    if (d->query(c, "SELECT a.attname, pg_catalog.format_type(a.atttypid, a.atttypmod), a.attnotnull, a.attgenerated::text, "
                    "a.atthasdef, coalesce((SELECT x.ord FROM pg_catalog.pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY x(att, ord) "
                    "WHERE i.indrelid = a.attrelid AND i.indisprimary AND x.att = a.attnum), 0)::int4, "
                    "b.number <> ALL (" EXACT_TYPES ") OR EXISTS (SELECT 1 FROM pg_catalog.pg_collation l "
                    "WHERE l.oid = a.attcollation AND NOT l.collisdeterministic), b.number::int8, b.modifier, "
                    "(SELECT l.collname FROM pg_catalog.pg_collation l WHERE l.oid = a.attcollation AND NOT l.collisdeterministic), "
                    "y.typname FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_type y ON y.oid = a.atttypid CROSS JOIN LATERAL (" BASE_TYPE ") b "
                    "WHERE a.attrelid = $1::oid AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum",
                 oid, 1, &k, e) != 0)
        return -1;
    while ((got = d->next(k, &v, e)) == 1) {
        if (out->nfields == cap) {
            cap = cap == 0 ? 16 : cap * 2;
            lr_field *more = lr_alloc(a, (size_t)cap * sizeof *more);
            if (out->nfields > 0) memcpy(more, out->fields, (size_t)out->nfields * sizeof *more);
            out->fields = more;
        }
        lr_field *f = &out->fields[out->nfields++];
        f->name = copy(a, &v[0]);
        d->type(copy(a, &v[1]), v[7].i, (int)v[8].i, &f->type);
        if (v[9].type != LR_NULL) f->type.collation = copy(a, &v[9]);
        if (strcmp(copy(a, &v[10]), "citext") == 0) f->type.collation = "citext";
        f->not_null = v[2].i != 0;
        f->generated = copy(a, &v[3])[0] != 0;
        f->has_default = v[4].i != 0;
        f->primary = (int)v[5].i;
        f->loose = v[6].i != 0;
    }
    d->finish(k);
    return got < 0 ? -1 : 0;
}

static int read_keys(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    int got;
    int64_t index = 0;
    if (d->query(c, "SELECT i.indexrelid::int8, a.attname FROM pg_catalog.pg_index i, unnest(i.indkey::int2[]) WITH ORDINALITY x(att, ord), "
                    "pg_catalog.pg_attribute a WHERE i.indrelid = $1::oid AND i.indisunique AND i.indisvalid AND i.indimmediate "
                    "AND i.indpred IS NULL AND i.indexprs IS NULL AND x.ord <= i.indnkeyatts AND a.attrelid = i.indrelid "
                    "AND a.attnum = x.att ORDER BY i.indisprimary DESC, 1, x.ord", oid, 1, &k, e) != 0)
        return -1;
    while ((got = d->next(k, &v, e)) == 1) {
        if (v[0].i != index) {
            index = v[0].i;
            lr_key *more = lr_alloc(a, (size_t)(out->nkeys + 1) * sizeof *more);
            if (out->nkeys > 0) memcpy(more, out->keys, (size_t)out->nkeys * sizeof *more);
            out->keys = more;
            lr_key *key = &out->keys[out->nkeys++];
            key->columns = lr_alloc(a, (size_t)(out->nfields + 1) * sizeof *key->columns);
            key->collations = lr_alloc(a, (size_t)(out->nfields + 1) * sizeof *key->collations);
        }
        lr_key *key = &out->keys[out->nkeys - 1];
        key->columns[key->n++] = copy(a, &v[1]);
    }
    d->finish(k);
    return got < 0 ? -1 : 0;
}

/* Does the server place rows by a column: Citus, TimescaleDB? */
#define PLACED                                                                                     \
    "pg_catalog.to_regclass('pg_dist_partition') IS NOT NULL, "                                    \
    "pg_catalog.to_regclass('timescaledb_information.dimensions') IS NOT NULL"

int lr_postgres_relation(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                         lr_relation *out, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    lr_value args[2] = {lr_text(t->name), lr_text(t->schema)};
    memset(out, 0, sizeof *out);
    out->table.schema = lr_dup(a, t->schema);
    out->table.name = lr_dup(a, t->name);
    const char *sql = t->schema == NULL
        ? "SELECT c.oid::int8, c.relkind::text, n.nspname, c.relhassubclass, c.relrowsecurity, " PLACED " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
          "WHERE c.relname = $1 AND c.relkind IN ('r','p','v','m','f') AND pg_catalog.pg_table_is_visible(c.oid)"
        : "SELECT c.oid::int8, c.relkind::text, n.nspname, c.relhassubclass, c.relrowsecurity, " PLACED " FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace "
          "WHERE c.relname = $1 AND n.nspname = $2 AND c.relkind IN ('r','p','v','m','f')";
    if (d->query(c, sql, args, t->schema == NULL ? 1 : 2, &k, e) != 0) return -1;
    int got = d->next(k, &v, e);
    lr_value oid = lr_null();
    const char *kind = "";
    int parent = 0, shards = 0, chunks = 0;
    if (got == 1) {
        oid = lr_int(v[0].i);
        kind = copy(a, &v[1]);
        parent = kind[0] == 'r' && v[3].i != 0;
        out->exists = 1;
        out->is_view = kind[0] == 'v' || kind[0] == 'm';
        out->table.schema = copy(a, &v[2]);
        out->policies = v[4].i != 0;
        shards = v[5].i != 0;
        chunks = v[6].i != 0;
    }
    d->finish(k);
    if (got <= 0) return got;
    if (lr_postgres_policies(d, c, a, &oid, out, e) != 0) return -1;
    if (read_fields(d, c, a, &oid, out, e) != 0) return -1;
    if (kind[0] == 'p' && lr_postgres_pinned(d, c, a, &oid, out, e) != 0) return -1;
    /* constraints hold for no row of a foreign table, nor for those of tables
     * that inherit this one */
    int unsure = parent || kind[0] == 'f' || out->npinned > 0;
    if (all && !out->is_view && lr_postgres_placed(d, c, a, &oid, shards, chunks, out, e) != 0) return -1;
    for (int i = 0; unsure && i < out->nfields; i++) out->fields[i].not_null = 0;
    if (!all || out->is_view) return 0;
    if (!unsure && read_keys(d, c, a, &oid, out, e) != 0) return -1;
    if (d->query(c, "SELECT f.relname FROM pg_catalog.pg_constraint x JOIN pg_catalog.pg_class f ON f.oid = x.conrelid "
                    "WHERE x.contype = 'f' AND x.confrelid = $1::oid AND x.confdeltype IN ('c','n','d') LIMIT 1", &oid, 1, &k, e) != 0)
        return -1;
    got = d->next(k, &v, e);
    if (got == 1) out->cascaded_from = copy(a, &v[0]);
    d->finish(k);
    return got < 0 ? -1 : 0;
}

int lr_postgres_temporary(const lr_driver *d, lr_conn *c, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    if (d->query(c, "SELECT pg_catalog.has_database_privilege(pg_catalog.current_database(), 'TEMP')", NULL, 0, &k, e) != 0) return -1;
    int got = d->next(k, &v, e), may = got == 1 && v[0].i != 0;
    d->finish(k);
    return got < 0 ? -1 : may;
}

/* ---- types ---- */

/* What a column of another engine, or of a job's words, becomes; wide: as a
 * staged column, which holds more than is declared. */
static const char *declared_for(lr_arena *a, const lr_type *from, int wide)
{
    switch (from->kind) {
    case LR_KIND_INTEGER:
        return "bigint";
    case LR_KIND_DECIMAL:
        if (wide || from->precision < 0) return "numeric";
        return from->scale >= 0 ? lr_printf(a, "numeric(%d,%d)", from->precision, from->scale) : lr_printf(a, "numeric(%d)", from->precision);
    case LR_KIND_REAL:
        return "double precision";
    case LR_KIND_DATE:
        return "date";
    case LR_KIND_INSTANT:
        return "timestamp with time zone";
    case LR_KIND_TIMESTAMP:
        return "timestamp without time zone";
    case LR_KIND_BOOL:
        return "boolean";
    case LR_KIND_BYTES:
        return "bytea";
    default:
        return "text";
    }
}

static int is_ours(const lr_type *t)
{
    return t->engine != NULL && strcmp(t->engine, "postgresql") == 0;
}

/* A type of which only the kind and the words are known. */
static lr_type made(lr_arena *a, const lr_type *from, int wide)
{
    lr_type t = *from;
    t.engine = "postgresql";
    t.native = declared_for(a, from, wide);
    t.dynamic = 0;
    t.collation = NULL;
    t.length = -1;
    if (t.kind == LR_KIND_ANY || strcmp(t.native, "text") == 0) t.kind = LR_KIND_TEXT;
    if (wide) t.precision = t.scale = -1;
    else if (t.precision >= 0 && t.scale < 0) t.scale = 0;
    if (lr_kind_is_time(t.kind) && t.kind != LR_KIND_DATE) t.fraction = 6;
    return t;
}

lr_type lr_postgres_type_for(lr_arena *a, const lr_type *from)
{
    if (is_ours(from) && from->native[0] != 0) return *from;
    return made(a, from, 0);
}

lr_type lr_postgres_stage_type(lr_arena *a, const lr_type *from)
{
    lr_type t = *from;
    if (!is_ours(from) || from->native[0] == 0) return made(a, from, 1);
    if (t.kind != LR_KIND_DECIMAL) return t;
    t.native = "numeric";
    t.precision = t.scale = -1;
    return t;
}
