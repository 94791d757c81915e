/* Writing by key in SQLite: it has no MERGE, so an upsert that compares first,
 * or an UPDATE and an INSERT where no constraint makes the key unique. */
#include "sql/sqlite.h"
#include <string.h>
#include <strings.h>

static int is_key(const lr_merge *m, const char *name)
{
    for (int i = 0; i < m->nkey; i++)
        if (strcasecmp(m->key[i], name) == 0) return 1;
    return 0;
}

static void column_list(lr_sql *q, const lr_merge *m, const char *qualifier)
{
    for (int i = 0; i < m->n; i++) {
        if (i > 0) lr_sqlf(q, ", ");
        if (qualifier != NULL) lr_sqlf(q, "%I.%I", qualifier, m->columns[i]);
        else lr_sqlf(q, "%I", m->columns[i]);
    }
}

static void insert_head(lr_sql *q, const lr_merge *m)
{
    lr_sqlf(q, "INSERT INTO %T AS \"target\" (", &m->target->table);
    column_list(q, m, NULL);
    if (m->by_row) {
        lr_sqlf(q, ") VALUES (");
        for (int i = 0; i < m->n; i++) lr_sqlf(q, i == 0 ? "?" : ", ?");
        lr_sqlf(q, ")");
        return;
    }
    if (m->stamp != NULL) lr_sqlf(q, ", %I", m->stamp);
    lr_sqlf(q, ") SELECT ");
    column_list(q, m, "rows");
    if (m->stamp != NULL) lr_sqlf(q, ", %V", &m->stamp_value);
    lr_sqlf(q, " FROM (%Q) AS \"rows\"", m->rows);
}

static int has_values(const lr_merge *m)
{
    for (int i = 0; i < m->n; i++)
        if (!is_key(m, m->columns[i])) return 1;
    return 0;
}

static void assignments(lr_sql *q, const lr_merge *m, const char *from)
{
    int first = 1;
    for (int i = 0; i < m->n; i++) {
        if (is_key(m, m->columns[i])) continue;
        lr_sqlf(q, first ? "%I = %I.%I" : ", %I = %I.%I", m->columns[i], from, m->columns[i]);
        first = 0;
    }
    if (m->stamp != NULL) lr_sqlf(q, ", %I = %V", m->stamp, &m->stamp_value);
}

/* Bytes decide whether a value changed, whatever collation the column has. The
 * first that differs ends the comparison, so the last columns come first: what
 * a row is stands in front, what becomes of it behind. A balanced tree, since
 * the depth of an expression is limited. */
static void any_differs(lr_sql *q, const lr_relation *target, const char *const *columns, int n, const char *from)
{
    if (n == 1) {
        lr_sql ours = lr_sql_column(q->arena, "target", columns[0]), theirs = lr_sql_column(q->arena, from, columns[0]);
        lr_sqlite_dialect.distinct(q, &ours, &theirs, target->fields[lr_field_find(&lr_sqlite_dialect, target, columns[0])].loose);
        return;
    }
    lr_sqlf(q, "(");
    any_differs(q, target, columns + n / 2, n - n / 2, from);
    lr_sqlf(q, " OR ");
    any_differs(q, target, columns, n / 2, from);
    lr_sqlf(q, ")");
}

static void differs(lr_sql *q, const lr_merge *m, const char *from)
{
    const char **columns = lr_alloc(q->arena, (size_t)(m->n + 1) * sizeof *columns);
    int n = 0;
    for (int i = 0; i < m->n; i++)
        if (!is_key(m, m->columns[i])) columns[n++] = m->columns[i];
    any_differs(q, m->target, columns, n, from);
}

static void not_older(lr_sql *q, lr_arena *a, const lr_merge *m, const char *from)
{
    if (m->newest == NULL) return;
    lr_sql theirs = lr_sql_column(a, from, m->newest), ours = lr_sql_column(a, "target", m->newest);
    lr_sqlf(q, " AND (%Q IS NULL OR ", &ours);
    lr_ordered(&lr_sqlite_dialect, q, &theirs, m->position, NULL, m->zone);
    lr_sqlf(q, " >= ");
    lr_ordered(&lr_sqlite_dialect, q, &ours, m->position, NULL, m->zone);
    lr_sqlf(q, ")");
}

static void same_key(lr_sql *q, const lr_merge *m)
{
    for (int i = 0; i < m->nkey; i++)
        lr_sqlf(q, i == 0 ? "\"target\".%I = \"rows\".%I" : " AND \"target\".%I = \"rows\".%I", m->key[i], m->key[i]);
}

static void conflict(lr_sql *q, const lr_merge *m)
{
    lr_sqlf(q, m->by_row ? " ON CONFLICT (" : " WHERE true ON CONFLICT (");
    for (int i = 0; i < m->unique->n; i++) {
        lr_sqlf(q, i == 0 ? "%I" : ", %I", m->unique->columns[i]);
        if (m->unique->collations[i] != NULL) lr_sqlf(q, " COLLATE %I", m->unique->collations[i]);
    }
    lr_sqlf(q, ") DO ");
}

int lr_sqlite_merge(lr_arena *a, const lr_merge *m, int strategy, lr_step_sql out[LR_MERGE_STEPS], const char **why)
{
    int update = !m->insert_only && has_values(m);
    (void)strategy;
    (void)why;
    if (m->unique != NULL) {
        out[0].sql = lr_sql_new(a);
        out[0].effect = update ? LR_UPSERTS : LR_INSERTS;
        insert_head(&out[0].sql, m);
        conflict(&out[0].sql, m);
        if (!update) {
            lr_sqlf(&out[0].sql, "NOTHING");
            return 1;
        }
        lr_sqlf(&out[0].sql, "UPDATE SET ");
        assignments(&out[0].sql, m, "excluded");
        lr_sqlf(&out[0].sql, " WHERE ");
        differs(&out[0].sql, m, "excluded");
        not_older(&out[0].sql, a, m, "excluded");
        return 1;
    }
    int n = 0;
    if (update) {
        lr_sql *q = &out[n].sql;
        *q = lr_sql_new(a);
        out[n++].effect = LR_UPDATES;
        lr_sqlf(q, "UPDATE %T AS \"target\" SET ", &m->target->table);
        assignments(q, m, "rows");
        lr_sqlf(q, " FROM (%Q) AS \"rows\" WHERE ", m->rows);
        same_key(q, m);
        lr_sqlf(q, " AND ");
        differs(q, m, "rows");
        not_older(q, a, m, "rows");
    }
    lr_sql *q = &out[n].sql;
    *q = lr_sql_new(a);
    out[n++].effect = LR_INSERTS;
    insert_head(q, m);
    /* a join, where NOT EXISTS would do: SQLite makes an index of its own for it,
     * and reads the whole table for each row of the other */
    lr_sqlf(q, " LEFT JOIN %T AS \"target\" ON ", &m->target->table);
    same_key(q, m);
    lr_sqlf(q, " WHERE \"target\".%I IS NULL", m->key[0]);
    return n;
}
