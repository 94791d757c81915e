/* Reading the schema of a SQLite database, and the types of new columns. */
#include "driver/sqlite/sqlite.h"
#include "sql/sqlite.h"
#include <string.h>
#include <strings.h>

typedef struct reader {
    const lr_driver *d;
    lr_conn *c;
    lr_arena *a;
    lr_err *e;
} reader;

static const char *copy(lr_arena *a, const lr_value *v)
{
    return v->type == LR_TEXT ? lr_dupn(a, v->s.p, v->s.n) : "";
}

static int open_list(const reader *r, const char *sql, const char *schema, const char *name, lr_cursor **out)
{
    lr_value args[2] = {lr_text(name), lr_text(schema)};
    return r->d->query(r->c, sql, args, 2, out, r->e);
}

static int read_fields(const reader *r, const char *schema, const char *name, lr_relation *out)
{
    lr_cursor *k;
    if (open_list(r, "SELECT name, type, \"notnull\", pk, hidden, dflt_value, lrun_collation(?2, ?1, name) FROM pragma_table_xinfo(?1, ?2)",
                  schema, name, &k) != 0)
        return -1;
    int cap = 0, got, alone = 0;
    const lr_value *v;
    while ((got = r->d->next(k, &v, r->e)) == 1) {
        if (out->nfields == cap) {
            cap = cap == 0 ? 16 : cap * 2;
            lr_field *more = lr_alloc(r->a, (size_t)cap * sizeof *more);
            if (out->nfields > 0) memcpy(more, out->fields, (size_t)out->nfields * sizeof *more);
            out->fields = more;
        }
        if (v[4].i == 1) continue; /* a virtual table's hidden column */
        lr_field *f = &out->fields[out->nfields++];
        f->name = copy(r->a, &v[0]);
        f->type = lr_sqlite_type(copy(r->a, &v[1]));
        if (v[6].type == LR_TEXT) f->type.collation = copy(r->a, &v[6]);
        f->primary = (int)v[3].i;
        f->not_null = v[2].i != 0;
        f->generated = v[4].i == 2 || v[4].i == 3;
        f->has_default = v[5].type != LR_NULL;
        if (f->primary > 0) alone++;
    }
    r->d->finish(k);
    if (got < 0) return -1;
    out->exists = out->nfields > 0;
    /* A single INTEGER PRIMARY KEY is the rowid: never NULL, without saying so. */
    for (int i = 0; alone == 1 && i < out->nfields; i++)
        if (out->fields[i].primary > 0 && strcasecmp(out->fields[i].type.native, "INTEGER") == 0)
            out->fields[i].not_null = 1;
    return 0;
}

static void add_key(const reader *r, lr_relation *out, const lr_key *key)
{
    lr_key *more = lr_alloc(r->a, (size_t)(out->nkeys + 1) * sizeof *more);
    if (out->nkeys > 0) memcpy(more, out->keys, (size_t)out->nkeys * sizeof *more);
    more[out->nkeys++] = *key;
    out->keys = more;
}

/* The rowid alias has no index of its own in the list of indexes. */
static void add_rowid_key(const reader *r, lr_relation *out)
{
    int at = -1, n = 0;
    for (int i = 0; i < out->nfields; i++)
        if (out->fields[i].primary > 0) {
            at = i;
            n++;
        }
    if (n != 1 || strcasecmp(out->fields[at].type.native, "INTEGER") != 0) return;
    lr_key key = {.n = 1};
    key.columns = lr_alloc(r->a, sizeof *key.columns);
    key.collations = lr_alloc(r->a, sizeof *key.collations);
    key.columns[0] = out->fields[at].name;
    add_key(r, out, &key);
}

static int read_keys(const reader *r, const char *schema, const char *name, lr_relation *out)
{
    lr_cursor *k;
    add_rowid_key(r, out);
    /* A partial index or one over an expression makes no row unique by its columns. */
    if (open_list(r,
                  "SELECT l.name, x.name, x.coll, x.cid FROM pragma_index_list(?1, ?2) l, "
                  "pragma_index_xinfo(l.name, ?2) x WHERE l.\"unique\" = 1 AND l.partial = 0 AND x.key = 1 "
                  "ORDER BY l.seq, x.seqno",
                  schema, name, &k) != 0)
        return -1;
    char *index = NULL;
    lr_key key = {0};
    int whole = 1, got;
    const lr_value *v;
    do {
        got = r->d->next(k, &v, r->e);
        const char *now = got == 1 ? copy(r->a, &v[0]) : NULL;
        if (index != NULL && (now == NULL || strcmp(index, now) != 0)) {
            if (whole && key.n > 0) add_key(r, out, &key);
            memset(&key, 0, sizeof key);
            whole = 1;
        }
        if (got != 1) break;
        index = lr_dup(r->a, now);
        if (key.columns == NULL) {
            key.columns = lr_alloc(r->a, (size_t)(out->nfields + 1) * sizeof *key.columns);
            key.collations = lr_alloc(r->a, (size_t)(out->nfields + 1) * sizeof *key.collations);
        }
        if (v[3].i < 0) whole = 0;
        const char *collation = copy(r->a, &v[2]);
        key.columns[key.n] = copy(r->a, &v[1]);
        key.collations[key.n++] = strcasecmp(collation, "BINARY") == 0 ? NULL : collation;
    } while (got == 1);
    r->d->finish(k);
    return got < 0 ? -1 : 0;
}

static int read_definition(const reader *r, const char *schema, const char *name, lr_relation *out)
{
    lr_buf sql = {0};
    lr_buf_puts(&sql, "SELECT 1 FROM \"");
    for (const char *p = schema; *p != 0; p++) lr_buf_printf(&sql, *p == '"' ? "\"\"" : "%c", *p);
    lr_buf_puts(&sql, "\".sqlite_schema WHERE type = 'table' AND name = ? COLLATE NOCASE AND (sql LIKE '%on conflict replace%' OR sql LIKE '%on conflict ignore%')");
    lr_value arg = lr_text(name);
    lr_cursor *k = NULL;
    const lr_value *v;
    int failed = r->d->query(r->c, sql.data, &arg, 1, &k, r->e);
    lr_buf_free(&sql);
    if (failed != 0) return -1;
    int got = r->d->next(k, &v, r->e);
    out->drops_rows = got == 1;
    r->d->finish(k);
    return got < 0 ? -1 : 0;
}

static int read_cascades(const reader *r, const char *schema, const char *name, lr_relation *out)
{
    lr_cursor *k;
    if (open_list(r,
                  "SELECT m.name, f.on_delete IN ('CASCADE', 'SET NULL', 'SET DEFAULT') "
                  "FROM pragma_table_list m, pragma_foreign_key_list(m.name, m.schema) f "
                  "WHERE m.schema = ?2 AND m.type = 'table' AND f.\"table\" = ?1 COLLATE NOCASE ORDER BY 2 DESC LIMIT 1",
                  schema, name, &k) != 0)
        return -1;
    const lr_value *v;
    int got = r->d->next(k, &v, r->e);
    out->referenced = got == 1;
    if (got == 1 && v[1].i != 0) out->cascaded_from = copy(r->a, &v[0]);
    r->d->finish(k);
    return got < 0 ? -1 : 0;
}

int lr_sqlite_relation(const lr_driver *d, lr_conn *c, lr_arena *a, const lr_table *t, int all,
                       lr_relation *out, lr_err *e)
{
    const reader r = {d, c, a, e};
    const char *schema = t->schema != NULL ? t->schema : "main";
    memset(out, 0, sizeof *out);
    out->table.schema = lr_dup(a, schema);
    out->table.name = lr_dup(a, t->name);
    if (read_fields(&r, schema, t->name, out) != 0) return -1;
    if (!out->exists) return 0;
    lr_cursor *k;
    if (open_list(&r, "SELECT type, name, wr FROM pragma_table_list WHERE name = ?1 COLLATE NOCASE AND schema = ?2 COLLATE NOCASE",
                  schema, t->name, &k) != 0)
        return -1;
    const lr_value *v;
    int got = d->next(k, &v, e);
    if (got == 1) {
        out->is_view = strcmp(copy(a, &v[0]), "view") == 0;
        out->table.name = copy(a, &v[1]);
        out->numbered = !out->is_view && v[2].i == 0;
    }
    d->finish(k);
    if (got < 0) return -1;
    if (!all || out->is_view) return 0;
    if (read_definition(&r, schema, t->name, out) != 0) return -1;
    if (read_keys(&r, schema, t->name, out) != 0) return -1;
    return read_cascades(&r, schema, t->name, out);
}

int lr_sqlite_indexed(const lr_driver *d, lr_conn *c, const lr_table *t, const char *column, lr_err *e)
{
    const char *schema = t->schema != NULL ? t->schema : "main";
    lr_value args[3] = {lr_text(t->name), lr_text(schema), lr_text(column)};
    lr_cursor *k;
    const lr_value *v;
    if (d->query(c, "SELECT 1 FROM pragma_index_list(?1, ?2) l, pragma_index_xinfo(l.name, ?2) x WHERE l.partial = 0 AND x.seqno = 0 "
                    "AND x.name = ?3 COLLATE NOCASE AND x.coll = 'BINARY' LIMIT 1", args, 3, &k, e) != 0)
        return -1;
    int got = d->next(k, &v, e);
    d->finish(k);
    return got;
}

static int present(const reader *r, const char *schema, const char *name)
{
    lr_cursor *k;
    if (open_list(r, "SELECT 1 FROM pragma_table_xinfo(?, ?) LIMIT 1", schema, name, &k) != 0) return -1;
    const lr_value *v;
    int got = r->d->next(k, &v, r->e);
    r->d->finish(k);
    return got;
}

/* A SQLite file has no schemas: "a.b" is the table of that name, else table b
 * where a is "main". A name in double quotes is taken without them. */
int lr_sqlite_resolve(const lr_driver *d, lr_conn *c, lr_arena *a, const char *schema, const char *name,
                      lr_table *out, lr_err *e)
{
    const reader r = {d, c, a, e};
    if (schema == NULL) schema = "main";
    out->schema = schema;
    out->name = lr_dup(a, name);
    int there = present(&r, schema, name);
    if (there != 0) return there < 0 ? -1 : 0;
    if (strncasecmp(name, "main.", 5) == 0) {
        out->name = lr_dup(a, name + 5);
        return 0;
    }
    if (name[0] != '"') return 0;
    lr_buf b = {0};
    for (const char *p = name + 1; *p != 0; p++) {
        if (*p == '"' && p[1] != '"') break;
        if (*p == '"') p++;
        lr_buf_putc(&b, *p);
    }
    out->name = lr_dup(a, b.data != NULL ? b.data : "");
    lr_buf_free(&b);
    return 0;
}

void lr_sqlite_commits(lr_sql *q, const char *schema)
{
    lr_sqlf(q, "PRAGMA %I.data_version", schema);
}
