/* A copy of a PostgreSQL table: LIKE it, and by the catalog what LIKE leaves out. */
#include "sql/copy.h"
#include <string.h>

typedef struct list {
    const lr_copy *c;
    lr_statements *out;
    const char *found;
} list;

/* "schema"."name" of a table, as regclass reads it. */
static lr_value reg(const lr_copy *c, const lr_table *t)
{
    lr_sql q = lr_sql_new(c->arena);
    lr_sqlf(&q, "%T", t);
    return lr_text(q.text);
}

static int take_found(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    l->found = row[0];
    return 0;
}

/* What refers to the table by its number, or is part of it and not of a copy. */
static const char blockers[] =
    "WITH t AS (SELECT c.*, y.typarray FROM pg_catalog.pg_class c JOIN pg_catalog.pg_type y ON y.oid = c.reltype "
    "WHERE c.oid = CAST($1 AS regclass)), "
    "f AS (SELECT 1 AS n, CASE v.relkind WHEN 'm' THEN 'the materialized view ' ELSE 'the view ' END || v.relname AS what "
    "FROM t JOIN pg_catalog.pg_depend d ON d.refobjid = t.oid AND d.refclassid = 'pg_catalog.pg_class'::regclass "
    "AND d.classid = 'pg_catalog.pg_rewrite'::regclass JOIN pg_catalog.pg_rewrite r ON r.oid = d.objid "
    "JOIN pg_catalog.pg_class v ON v.oid = r.ev_class WHERE v.oid <> t.oid "
    "UNION ALL SELECT 2, 'a foreign key of ' || x.conrelid::regclass FROM t JOIN pg_catalog.pg_constraint x ON x.confrelid = t.oid AND x.contype = 'f' "
    "UNION ALL SELECT 3, 'that it is no plain table' FROM t WHERE t.relkind <> 'r' OR t.relispartition "
    "OR EXISTS (SELECT 1 FROM pg_catalog.pg_inherits i WHERE i.inhrelid = t.oid OR i.inhparent = t.oid) "
    "UNION ALL SELECT 4, 'the function ' || p.proname FROM t JOIN pg_catalog.pg_depend d ON d.classid = 'pg_catalog.pg_proc'::regclass "
    "AND ((d.refclassid = 'pg_catalog.pg_class'::regclass AND d.refobjid = t.oid) OR "
    "(d.refclassid = 'pg_catalog.pg_type'::regclass AND d.refobjid IN (t.reltype, t.typarray))) JOIN pg_catalog.pg_proc p ON p.oid = d.objid "
    "UNION ALL SELECT 5, 'a column of ' || a.attrelid::regclass FROM t JOIN pg_catalog.pg_attribute a ON a.atttypid IN (t.reltype, t.typarray) AND NOT a.attisdropped "
    "UNION ALL SELECT 6, 'the rule ' || r.rulename FROM t JOIN pg_catalog.pg_rewrite r ON r.ev_class = t.oid "
    "UNION ALL SELECT 7, 'the policy ' || p.polname FROM t JOIN pg_catalog.pg_policy p ON p.polrelid = t.oid "
    "UNION ALL SELECT 8, 'its row level security' FROM t WHERE t.relrowsecurity OR t.relforcerowsecurity "
    "UNION ALL SELECT 9, 'the publication ' || p.pubname FROM t JOIN pg_catalog.pg_publication_rel r ON r.prrelid = t.oid "
    "JOIN pg_catalog.pg_publication p ON p.oid = r.prpubid "
    "UNION ALL SELECT 10, 'its tablespace, replica identity or being unlogged' FROM t WHERE t.reltablespace <> 0 OR t.relreplident <> 'd' "
    "OR t.relpersistence <> 'p') SELECT what FROM f ORDER BY n DESC, what DESC";

static int blocker(const lr_copy *c, const char **what, lr_err *e)
{
    list l = {.c = c};
    lr_value table = reg(c, &c->table);
    if (lr_each_text(c, blockers, &table, 1, take_found, &l, e) != 0) return -1;
    *what = l.found;
    return 0;
}

static int make(const lr_copy *c, lr_statements *out, lr_err *e)
{
    (void)e;
    lr_sqlf(lr_statement(c, out), "CREATE %sTABLE %T (LIKE %T INCLUDING ALL)", c->rename ? "" : "UNLOGGED ", &c->copy, &c->table);
    return 0;
}

static int add_statement(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    lr_sqlf(lr_statement(l->c, l->out), "%s", row[0]);
    return 0;
}

static int add_all(const lr_copy *c, lr_statements *out, const char *const *queries, int n, lr_err *e)
{
    list l = {.c = c, .out = out};
    lr_value tables[2] = {reg(c, &c->table), reg(c, &c->copy)};
    for (int i = 0; i < n; i++)
        if (lr_each_text(c, queries[i], tables, 2, add_statement, &l, e) != 0) return -1;
    return 0;
}

#define BOTH "(SELECT CAST($1 AS regclass) AS old, CAST($2 AS regclass) AS new) k "

static int finish(const lr_copy *c, lr_statements *out, lr_err *e)
{
    static const char *const queries[] = {
        "SELECT format('COMMENT ON TABLE %s IS %L', k.new, obj_description(k.old, 'pg_class')) FROM " BOTH
        "WHERE obj_description(k.old, 'pg_class') IS NOT NULL",
        "SELECT format('ALTER TABLE %s SET (%s)', k.new, array_to_string(t.reloptions, ', ')) FROM " BOTH
        "JOIN pg_catalog.pg_class t ON t.oid = k.old WHERE t.reloptions IS NOT NULL",
        "SELECT format('ALTER TABLE %s ADD CONSTRAINT %I %s', k.new, x.conname, pg_catalog.pg_get_constraintdef(x.oid)) FROM " BOTH
        "JOIN pg_catalog.pg_constraint x ON x.conrelid = k.old AND x.contype = 'f' ORDER BY x.conname",
        /* what default privileges gave the copy goes first */
        "SELECT DISTINCT format('REVOKE ALL ON %s FROM %s', k.new, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END) "
        "FROM " BOTH "JOIN pg_catalog.pg_class t ON t.oid = k.new CROSS JOIN pg_catalog.aclexplode(t.relacl) a WHERE a.grantee <> t.relowner",
        "SELECT format('GRANT %s ON %s TO %s%s', a.privilege_type, k.new, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, "
        "CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM " BOTH
        "JOIN pg_catalog.pg_class t ON t.oid = k.old CROSS JOIN pg_catalog.aclexplode(t.relacl) a WHERE a.grantee <> t.relowner",
        "SELECT format('GRANT %s (%I) ON %s TO %s%s', a.privilege_type, x.attname, k.new, CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END, "
        "CASE WHEN a.is_grantable THEN ' WITH GRANT OPTION' ELSE '' END) FROM " BOTH
        "JOIN pg_catalog.pg_attribute x ON x.attrelid = k.old AND x.attacl IS NOT NULL CROSS JOIN pg_catalog.aclexplode(x.attacl) a",
        "SELECT format('ALTER TABLE %s OWNER TO %s', k.new, o.relowner::regrole) FROM " BOTH "JOIN pg_catalog.pg_class o ON o.oid = k.old "
        "JOIN pg_catalog.pg_class n ON n.oid = k.new WHERE o.relowner <> n.relowner"};
    return c->rename ? add_all(c, out, queries, (int)(sizeof queries / sizeof queries[0]), e) : 0;
}

static int take_counter(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    lr_sqlf(lr_statement(l->c, l->out), "ALTER SEQUENCE %s RESTART WITH %s", row[0], row[1]);
    return 0;
}

/* Where an identity column's numbers stand is in the sequence itself. */
static int read_counter(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    const char *sql = lr_printf(l->c->arena, "SELECT '%s', (last_value + CASE WHEN is_called THEN %s ELSE 0 END)::text FROM %s", row[1], row[2], row[0]);
    return lr_each_text(l->c, sql, NULL, 0, take_counter, l, e);
}

/* The old sequence of an identity column, the copy's, and the step; the name
 * that it shall have. */
#define IDENTITIES "FROM " BOTH "JOIN pg_catalog.pg_attribute a ON a.attrelid = k.old AND a.attidentity <> '' AND NOT a.attisdropped " \
    "JOIN pg_catalog.pg_depend d ON d.refobjid = k.old AND d.refobjsubid = a.attnum AND d.deptype = 'i' AND d.classid = 'pg_catalog.pg_class'::regclass " \
    "JOIN pg_catalog.pg_sequence s ON s.seqrelid = d.objid "                                                                       \
    "JOIN pg_catalog.pg_attribute b ON b.attrelid = k.new AND b.attname = a.attname "                                              \
    "JOIN pg_catalog.pg_depend g ON g.refobjid = k.new AND g.refobjsubid = b.attnum AND g.deptype = 'i' AND g.classid = 'pg_catalog.pg_class'::regclass "

/* Indexes of both that are the same but for their names. */
#define INDEXES(which) "(SELECT i.relname, n.nspname, x.indisunique, x.indisprimary, substring(pg_catalog.pg_get_indexdef(x.indexrelid) FROM ' USING .*') AS def, "  \
    "row_number() OVER (PARTITION BY x.indisunique, x.indisprimary, substring(pg_catalog.pg_get_indexdef(x.indexrelid) FROM ' USING .*') ORDER BY x.indexrelid) AS nr " \
    "FROM pg_catalog.pg_index x JOIN pg_catalog.pg_class i ON i.oid = x.indexrelid JOIN pg_catalog.pg_namespace n ON n.oid = i.relnamespace WHERE x.indrelid = CAST(" which " AS regclass))"

static int replace(const lr_copy *c, lr_statements *out, lr_err *e)
{
    static const char *const counters =
        "SELECT d.objid::regclass::text, g.objid::regclass::text, s.seqincrement::text " IDENTITIES;
    static const char *const before[] = {
        /* a serial's sequence goes with the column that owns it */
        "SELECT format('ALTER SEQUENCE %s OWNED BY %s.%I', d.objid::regclass, k.new, a.attname) FROM " BOTH
        "JOIN pg_catalog.pg_depend d ON d.refobjid = k.old AND d.deptype = 'a' AND d.classid = 'pg_catalog.pg_class'::regclass "
        "JOIN pg_catalog.pg_class s ON s.oid = d.objid AND s.relkind = 'S' "
        "JOIN pg_catalog.pg_attribute a ON a.attrelid = k.old AND a.attnum = d.refobjsubid",
        "SELECT format('DROP TABLE %s', k.old) FROM " BOTH "WHERE k.new IS NOT NULL",
        "SELECT format('ALTER TABLE %s RENAME TO %I', k.new, t.relname) FROM " BOTH "JOIN pg_catalog.pg_class t ON t.oid = k.old",
        "SELECT format('ALTER INDEX %I.%I RENAME TO %I', b.nspname, b.relname, a.relname) FROM " INDEXES("$1") " a JOIN " INDEXES("$2")
        " b ON b.def = a.def AND b.nr = a.nr AND b.indisunique = a.indisunique AND b.indisprimary = a.indisprimary",
        "SELECT format('ALTER SEQUENCE %s RENAME TO %I', g.objid::regclass, o.relname) " IDENTITIES
        "JOIN pg_catalog.pg_class o ON o.oid = d.objid",
        "SELECT pg_catalog.pg_get_triggerdef(g.oid) FROM " BOTH "JOIN pg_catalog.pg_trigger g ON g.tgrelid = k.old AND NOT g.tgisinternal ORDER BY g.tgname",
        "SELECT format('ALTER TABLE %s %s TRIGGER %I', k.old, CASE g.tgenabled WHEN 'D' THEN 'DISABLE' WHEN 'R' THEN 'ENABLE REPLICA' "
        "ELSE 'ENABLE ALWAYS' END, g.tgname) FROM " BOTH "JOIN pg_catalog.pg_trigger g ON g.tgrelid = k.old AND NOT g.tgisinternal AND g.tgenabled <> 'O'"};
    list l = {.c = c, .out = out};
    lr_value tables[2] = {reg(c, &c->table), reg(c, &c->copy)};
    if (lr_each_text(c, counters, tables, 2, read_counter, &l, e) != 0) return -1;
    return add_all(c, out, before, (int)(sizeof before / sizeof before[0]), e);
}

const lr_copier lr_postgres_copier = {blocker, make, finish, replace};
