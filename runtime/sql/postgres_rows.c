/* What a PostgreSQL server does to a table's rows beyond its columns and keys: policies
 * that hide them, and the places where they are kept apart. */
#include "sql/postgres.h"
#include <string.h>

/* Planning a query is enough for the server to refuse what a policy would filter,
 * also behind views that read with the caller's rights. Only where the
 * connection lets it filter can the table have an active policy after that. */
int lr_postgres_policies(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    if (!out->policies && !out->is_view) return 0;
    lr_sql q = lr_sql_new(a);
    lr_sqlf(&q, "EXPLAIN SELECT 1 FROM %T", &out->table);
    if (d->query(c, lr_sql_text(&q, &lr_postgres_dialect), NULL, 0, &k, e) != 0) return -1;
    d->finish(k);
    if (!out->policies) return 0;
    if (d->query(c, "SELECT pg_catalog.row_security_active($1::oid)", oid, 1, &k, e) != 0) return -1;
    int got = d->next(k, &v, e);
    if (got == 1) out->policies = v[0].i != 0;
    d->finish(k);
    return got < 0 ? -1 : 0;
}

/* A row of a foreign partition stays where it is when an UPDATE changes the
 * column that it is parted by: PostgreSQL neither moves nor refuses it. */
int lr_postgres_pinned(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, lr_relation *out, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    int got;
    if (d->query(c, "WITH RECURSIVE tree(oid) AS (SELECT $1::oid UNION ALL SELECT i.inhrelid FROM pg_catalog.pg_inherits i "
                    "JOIN tree ON i.inhparent = tree.oid) SELECT DISTINCT a.attname FROM tree "
                    "JOIN pg_catalog.pg_partitioned_table p ON p.partrelid = tree.oid CROSS JOIN unnest(p.partattrs::int2[]) x(att) "
                    "LEFT JOIN pg_catalog.pg_attribute a ON a.attrelid = tree.oid AND a.attnum = x.att "
                    "WHERE EXISTS (SELECT 1 FROM tree f JOIN pg_catalog.pg_class c ON c.oid = f.oid WHERE c.relkind = 'f')", oid, 1, &k, e) != 0)
        return -1;
    if (out->pinned == NULL) out->pinned = lr_alloc(a, (size_t)(out->nfields + 1) * sizeof *out->pinned);
    while ((got = d->next(k, &v, e)) == 1)
        if (out->npinned <= out->nfields) out->pinned[out->npinned++] = v[0].type == LR_NULL ? NULL : lr_dupn(a, v[0].s.p, v[0].s.n);
    d->finish(k);
    return got < 0 ? -1 : 0;
}

static int pin(const lr_driver *d, lr_conn *c, lr_arena *a, const char *sql, const lr_value *oid, lr_relation *out, int *found, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    int got;
    if (d->query(c, sql, oid, 1, &k, e) != 0) return -1;
    while ((got = d->next(k, &v, e)) == 1) {
        *found = 1;
        const char **more = lr_alloc(a, (size_t)(out->npinned + 1) * sizeof *more);
        if (v[0].type == LR_NULL) continue; /* every server has all its rows, or one has */
        if (out->npinned > 0) memcpy(more, out->pinned, (size_t)out->npinned * sizeof *more);
        more[out->npinned++] = lr_dupn(a, v[0].s.p, v[0].s.n);
        out->pinned = more;
    }
    d->finish(k);
    return got < 0 ? -1 : 0;
}

/* Some versions of Citus take an UPDATE of the distribution column for no change,
 * and leave the row in a shard where its new value is not looked for. */
int lr_postgres_placed(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_value *oid, int shards, int chunks, lr_relation *out, lr_err *e)
{
    int hypertable = 0;
    if (shards && pin(d, c, a, "SELECT CASE WHEN partkey IS NOT NULL THEN column_to_column_name(logicalrelid, partkey)::text END "
                               "FROM pg_dist_partition WHERE logicalrelid = $1::oid::regclass", oid, out, &out->distributed, e) != 0)
        return -1;
    return !chunks ? 0 : pin(d, c, a, "SELECT x.column_name::text FROM timescaledb_information.dimensions x JOIN pg_catalog.pg_class t "
                                      "ON t.relname = x.hypertable_name JOIN pg_catalog.pg_namespace n ON n.oid = t.relnamespace "
                                      "AND n.nspname = x.hypertable_schema WHERE t.oid = $1::oid", oid, out, &hypertable, e);
}

/* A worker of Citus sees the tables, and would make a ledger of its own: two runs
 * of one job would not know of each other. */
int lr_postgres_warehouse(const lr_driver *d, lr_conn *c, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    if (d->query(c, "SELECT p.oid::int8 FROM pg_catalog.pg_proc p WHERE p.proname = 'citus_is_coordinator' AND p.pronargs = 0 "
                    "AND pg_catalog.pg_function_is_visible(p.oid)", NULL, 0, &k, e) != 0)
        return -1;
    int got = d->next(k, &v, e);
    d->finish(k);
    if (got <= 0) return got;
    if (d->query(c, "SELECT citus_is_coordinator()", NULL, 0, &k, e) != 0) return -1;
    got = d->next(k, &v, e);
    int worker = got == 1 && v[0].type == LR_BOOL && v[0].i == 0;
    d->finish(k);
    if (got < 0 || !worker) return got < 0 ? -1 : 0;
    lr_fail(e, LR_UNREACHABLE, "the server is a worker of a Citus cluster: a warehouse is written through the coordinator");
    return lr_hint(e, "give the coordinator's host in warehouse; a worker may be a source");
}
