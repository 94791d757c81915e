/* Writing by key in PostgreSQL: an UPDATE of what differs and an INSERT of what
 * is not there. Both count their rows, and every engine that speaks the
 * protocol has them; rows that are there unchanged get no new version. */
#include "sql/postgres.h"
#include <string.h>
#include <strings.h>

static int is_key(const lr_merge *m, const char *name)
{
    for (int i = 0; i < m->nkey; i++)
        if (strcmp(m->key[i], name) == 0) return 1;
    return 0;
}

static const char *type_of(const lr_merge *m, const char *name)
{
    for (int i = 0; i < m->target->nfields; i++)
        if (strcmp(m->target->fields[i].name, name) == 0) return m->target->fields[i].decl;
    return "text";
}

/* Types without equality compare by their text. */
static int has_equality(const char *decl)
{
    static const char *const none[] = {"json", "xml", "point", "polygon", "box", "path", "line", "lseg", "circle"};
    for (size_t i = 0; i < sizeof none / sizeof none[0]; i++)
        if (strcasecmp(decl, none[i]) == 0) return 0;
    return 1;
}

static void same_key(lr_sql *q, const lr_merge *m)
{
    for (int i = 0; i < m->nkey; i++)
        lr_sqlf(q, i == 0 ? "\"target\".%I = \"rows\".%I" : " AND \"target\".%I = \"rows\".%I", m->key[i], m->key[i]);
}

static int values(const lr_merge *m)
{
    int n = 0;
    for (int i = 0; i < m->n; i++) n += !is_key(m, m->columns[i]);
    return n;
}

static void update(lr_sql *q, lr_arena *a, const lr_merge *m)
{
    int first = 1;
    lr_sqlf(q, "UPDATE %T AS \"target\" SET ", &m->target->table);
    for (int i = 0; i < m->n; i++) {
        if (is_key(m, m->columns[i])) continue;
        lr_sqlf(q, first ? "%I = \"rows\".%I" : ", %I = \"rows\".%I", m->columns[i], m->columns[i]);
        first = 0;
    }
    if (m->stamp != NULL) lr_sqlf(q, ", %I = CAST(%V AS %s)", m->stamp, &m->stamp_value, type_of(m, m->stamp));
    lr_sqlf(q, " FROM (%Q) AS \"rows\" WHERE ", m->rows);
    same_key(q, m);
    const char *const sides[] = {"target", "rows"};
    for (int side = 0; side < 2; side++) {
        first = 1;
        lr_sqlf(q, side == 0 ? " AND ROW(" : " IS DISTINCT FROM ROW(");
        for (int i = 0; i < m->n; i++) {
            if (is_key(m, m->columns[i])) continue;
            lr_sqlf(q, first ? "%I.%I%s" : ", %I.%I%s", sides[side], m->columns[i], has_equality(type_of(m, m->columns[i])) ? "" : "::text");
            first = 0;
        }
        lr_sqlf(q, ")");
    }
    if (m->newest == NULL) return;
    lr_sql theirs = lr_sql_column(a, "rows", m->newest), ours = lr_sql_column(a, "target", m->newest);
    lr_sqlf(q, " AND (%Q IS NULL OR %Q >= %Q)", &ours, &theirs, &ours);
}

int lr_postgres_merge(lr_arena *a, const lr_merge *m, lr_step_sql out[2])
{
    int n = 0;
    if (!m->insert_only && values(m) > 0) {
        out[n].sql = lr_sql_new(a);
        update(&out[n].sql, a, m);
        out[n++].effect = LR_UPDATES;
    }
    lr_sql *q = &out[n].sql;
    *q = lr_sql_new(a);
    out[n++].effect = LR_INSERTS;
    lr_sqlf(q, "INSERT INTO %T (", &m->target->table);
    for (int i = 0; i < m->n; i++) lr_sqlf(q, i == 0 ? "%I" : ", %I", m->columns[i]);
    if (m->stamp != NULL) lr_sqlf(q, ", %I", m->stamp);
    lr_sqlf(q, ") OVERRIDING SYSTEM VALUE SELECT ");
    for (int i = 0; i < m->n; i++) lr_sqlf(q, i == 0 ? "\"rows\".%I" : ", \"rows\".%I", m->columns[i]);
    if (m->stamp != NULL) lr_sqlf(q, ", CAST(%V AS %s)", &m->stamp_value, type_of(m, m->stamp));
    lr_sqlf(q, " FROM (%Q) AS \"rows\" WHERE NOT EXISTS (SELECT 1 FROM %T AS \"target\" WHERE ", m->rows, &m->target->table);
    same_key(q, m);
    lr_sqlf(q, ")");
    return n;
}
