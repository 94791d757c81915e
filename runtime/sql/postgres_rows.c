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
    out->pinned = lr_alloc(a, (size_t)(out->nfields + 1) * sizeof *out->pinned);
    while ((got = d->next(k, &v, e)) == 1)
        if (out->npinned <= out->nfields) out->pinned[out->npinned++] = v[0].type == LR_NULL ? NULL : lr_dupn(a, v[0].s.p, v[0].s.n);
    d->finish(k);
    return got < 0 ? -1 : 0;
}
