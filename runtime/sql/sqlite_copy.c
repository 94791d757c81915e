/* A copy of a SQLite table: its own CREATE statements, with another name. */
#include "sql/copy.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

static const char *skip_blank(const char *p)
{
    for (;;) {
        while (isspace((unsigned char)*p)) p++;
        if (p[0] == '-' && p[1] == '-') p += strcspn(p, "\n");
        else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end != NULL ? end + 2 : p + strlen(p);
        } else return p;
    }
}

/* Past one word or quoted name. */
static const char *skip_token(const char *p)
{
    static const char open[] = "\"`['", close[] = "\"`]'";
    p = skip_blank(p);
    const char *q = *p != 0 ? strchr(open, *p) : NULL;
    if (q == NULL) return p + strcspn(p, " \t\r\n(-/\"");
    char end = close[q - open];
    for (p++; *p != 0; p++)
        if (*p == end && p[1] == end && end != ']') p++;
        else if (*p == end) return p + 1;
    return p;
}

static const char *skip_word(const char *p, const char *word)
{
    const char *q = skip_blank(p);
    size_t n = strlen(word);
    return strncasecmp(q, word, n) == 0 && !isalnum((unsigned char)q[n]) && q[n] != '_' ? q + n : NULL;
}

/* "CREATE TABLE name rest": the rest, or NULL. */
static const char *after_table_name(const char *sql)
{
    const char *p = skip_word(sql, "CREATE");
    if (p != NULL) p = skip_word(p, "TABLE");
    return p != NULL ? skip_token(p) : NULL;
}

/* "CREATE UNIQUE INDEX name ON table rest": the rest. */
static const char *after_index_names(const char *sql, int *unique)
{
    const char *p = skip_word(sql, "CREATE");
    const char *u = p != NULL ? skip_word(p, "UNIQUE") : NULL;
    *unique = u != NULL;
    if (u != NULL) p = u;
    if (p != NULL) p = skip_word(p, "INDEX");
    if (p != NULL) p = skip_word(skip_token(p), "ON");
    return p != NULL ? skip_token(p) : NULL;
}

/* Every sql of a kind that belongs to the table. */
static const char *schema_query(const lr_copy *c, const char *what)
{
    lr_sql q = lr_sql_new(c->arena);
    lr_table schema = {c->table.schema != NULL ? c->table.schema : "main", "sqlite_schema"};
    lr_sqlf(&q, "SELECT sql, name, type, tbl_name FROM %T WHERE sql IS NOT NULL AND %s", &schema, what);
    return q.text;
}

typedef struct list {
    const lr_copy *c;
    lr_statements *out;
    const char *found;
    int number;
} list;

static int add_table(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    const char *rest = after_table_name(row[0]);
    if (rest == NULL) {
        lr_fail(e, LR_FAILED, "%s is a virtual table, of which no copy can be made", l->c->table.name);
        return lr_hint(e, "use full_load");
    }
    lr_sqlf(lr_statement(l->c, l->out), "CREATE TABLE %T %s", &l->c->copy, rest);
    return 0;
}

/* Names of indexes are one space: the target's go when the copy's come. */
static int add_index(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    const lr_copy *c = l->c;
    int unique;
    const char *rest = after_index_names(row[0], &unique);
    lr_table name = {c->table.schema, c->rename ? row[1] : lr_printf(c->arena, "%s_%d", c->copy.name, ++l->number)};
    if (rest == NULL) return lr_fail(e, LR_FAILED, "the index %s cannot be read: %s", row[1], row[0]);
    if (c->rename) lr_sqlf(lr_statement(c, l->out), "DROP INDEX %T", &name);
    lr_sqlf(lr_statement(c, l->out), "CREATE %sINDEX %T ON %I %s", unique ? "UNIQUE " : "", &name, c->copy.name, rest);
    return 0;
}

static int add_trigger(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    lr_sqlf(lr_statement(l->c, l->out), "%s", row[0]);
    return 0;
}

/* Is the name a word of the text? */
static int mentions(const char *text, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = text; *p != 0; p++) {
        if (strncasecmp(p, name, n) != 0) continue;
        int before = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (!before && !isalnum((unsigned char)p[n]) && p[n] != '_') return 1;
    }
    return 0;
}

static int find_mention(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    if (l->found == NULL && strcasecmp(row[3], l->c->table.name) != 0 && mentions(row[0], l->c->table.name))
        l->found = lr_printf(l->c->arena, "the %s %s", row[2], row[1]);
    return 0;
}

static int find_reference(void *arg, const char **row, lr_err *e)
{
    list *l = arg;
    (void)e;
    l->found = lr_printf(l->c->arena, "a foreign key of %s", row[0]);
    return 0;
}

static int blocker(const lr_copy *c, const char **what, lr_err *e)
{
    list l = {.c = c};
    lr_value args[2] = {lr_text(c->table.name), lr_text(c->table.schema != NULL ? c->table.schema : "main")};
    if (lr_each_text(c, schema_query(c, "type IN ('view', 'trigger')"), NULL, 0, find_mention, &l, e) != 0) return -1;
    if (l.found == NULL &&
        lr_each_text(c, "SELECT m.name FROM pragma_table_list m, pragma_foreign_key_list(m.name, m.schema) f WHERE m.schema = ?2 "
                        "AND m.type = 'table' AND f.\"table\" = ?1 COLLATE NOCASE LIMIT 1", args, 2, find_reference, &l, e) != 0)
        return -1;
    *what = l.found;
    return 0;
}

static int make(const lr_copy *c, lr_statements *out, lr_err *e)
{
    list l = {.c = c, .out = out};
    lr_value name = lr_text(c->table.name);
    return lr_each_text(c, schema_query(c, "type = 'table' AND name = ? COLLATE NOCASE"), &name, 1, add_table, &l, e);
}

static int finish(const lr_copy *c, lr_statements *out, lr_err *e)
{
    list l = {.c = c, .out = out};
    lr_value name = lr_text(c->table.name);
    return lr_each_text(c, schema_query(c, "type = 'index' AND tbl_name = ? COLLATE NOCASE"), &name, 1, add_index, &l, e);
}

static int counts_up(void *arg, const char **row, lr_err *e)
{
    (void)e;
    *(int *)arg = mentions(row[0], "AUTOINCREMENT");
    return 0;
}

static int replace(const lr_copy *c, lr_statements *out, lr_err *e)
{
    list l = {.c = c, .out = out};
    int counts = 0;
    lr_value name = lr_text(c->table.name), copy = lr_text(c->copy.name);
    lr_table sequence = {c->table.schema, "sqlite_sequence"};
    if (lr_each_text(c, schema_query(c, "type = 'table' AND name = ? COLLATE NOCASE"), &name, 1, counts_up, &counts, e) != 0) return -1;
    if (counts) {
        /* numbers that were given once are not given again */
        lr_sqlf(lr_statement(c, out), "INSERT INTO %T (name, seq) SELECT %V, seq FROM %T WHERE name = %V AND NOT EXISTS "
                "(SELECT 1 FROM %T WHERE name = %V)", &sequence, &copy, &sequence, &name, &sequence, &copy);
        lr_sqlf(lr_statement(c, out), "UPDATE %T SET seq = max(seq, coalesce((SELECT seq FROM %T WHERE name = %V), 0)) WHERE name = %V",
                &sequence, &sequence, &name, &copy);
    }
    lr_statements triggers = {0};
    l.out = &triggers;
    if (lr_each_text(c, schema_query(c, "type = 'trigger' AND tbl_name = ? COLLATE NOCASE"), &name, 1, add_trigger, &l, e) != 0) return -1;
    lr_sqlf(lr_statement(c, out), "DROP TABLE %T", &c->table);
    lr_sqlf(lr_statement(c, out), "ALTER TABLE %T RENAME TO %I", &c->copy, c->table.name);
    for (int i = 0; i < triggers.n; i++) *lr_statement(c, out) = triggers.sql[i];
    return 0;
}

const lr_copier lr_sqlite_copier = {blocker, make, finish, replace};
