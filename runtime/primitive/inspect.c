/* What the SQL of a job reads: only its own connection's tables, also where
 * another database is attached and has tables of the same names. */
#include "primitive/extract.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

const lr_value *lr_params_find(const lr_arg *params, const char *name)
{
    for (int i = 0; params != NULL && params->type == LR_ARG_MAP && i < params->n; i++)
        if (params->names[i] != NULL && strcmp(params->names[i], name) == 0) return &params->items[i].value;
    return NULL;
}

/* ":name" in the text; a parameter that no SQL names is a slip of the pen. */
int lr_params_used(const lr_arg *params, const char *text, lr_err *e)
{
    for (int i = 0; params->type == LR_ARG_MAP && i < params->n; i++) {
        const char *name = params->names[i];
        size_t n = name != NULL ? strlen(name) : 0;
        int found = 0;
        for (const char *p = text; name != NULL && (p = strchr(p, ':')) != NULL && !found; p++)
            found = strncmp(p + 1, name, n) == 0 && !isalnum((unsigned char)p[n + 1]) && p[n + 1] != '_';
        if (found) continue;
        lr_fail(e, LR_FAILED, "params has \"%s\", and the SQL has no :%s", name != NULL ? name : "?", name != NULL ? name : "?");
        return lr_hint(e, "take it out, or use it in the SQL");
    }
    return 0;
}

/* 1 where the schema is another connection's, attached beside the warehouse. */
static int elsewhere(const lr_run *run, const char *schema)
{
    for (int i = 0; i < run->session->n; i++) {
        const lr_place *p = &run->session->places[i];
        if (p->schema != NULL && strcasecmp(p->schema, schema) == 0) return 1;
    }
    return 0;
}

static int schema_table(const char *name)
{
    return strncasecmp(name, "sqlite_", 7) == 0 || strncasecmp(name, "pragma_", 7) == 0;
}

int lr_inspect_names(lr_run *run, const lr_place *place, const lr_inspection *seen, int *collides, lr_err *e)
{
    if (collides != NULL) *collides = 0;
    if (place->conn != run->session->warehouse->conn) return 0;
    /* the inspection is overwritten by the reading of schemas below */
    int count = seen->ntouches;
    lr_touch *touches = lr_alloc(&run->arena, (size_t)(count + 1) * sizeof *touches);
    for (int i = 0; i < count; i++) {
        touches[i] = seen->touches[i];
        touches[i].schema = lr_dup(&run->arena, seen->touches[i].schema);
        touches[i].table = lr_dup(&run->arena, seen->touches[i].table);
    }
    for (int i = 0; i < count; i++) {
        const lr_touch *t = &touches[i];
        if (place->schema == NULL) {
            if (!elsewhere(run, t->schema)) continue;
            lr_fail(e, LR_FAILED, "no such table: %s (at the connection \"%s\"; \"%s\" has one)", t->table, place->name, t->schema);
            return lr_hint(e, "extract its rows and load them first, or query with connection = \"%s\"", t->schema);
        }
        if (strcasecmp(t->schema, place->schema) == 0 || schema_table(t->table)) continue;
        lr_table theirs = {place->schema, t->table};
        lr_relation rel;
        if (place->dialect->relation(place->driver, place->conn, &run->arena, &theirs, 0, &rel, e) != 0) return -1;
        if (!rel.exists || collides == NULL) {
            if (collides != NULL) *collides = -1;
            lr_fail(e, LR_FAILED, "no such table: %s (at the connection \"%s\"; it is one of \"%s\")", t->table, place->name, t->schema);
            return lr_hint(e, "the SQL of an extract sees its own connection only");
        }
        *collides = 1;
    }
    return 0;
}

/* Does the SQL take all columns of a table? A star after a name or a value
 * multiplies; where it is not certain, the columns are the source's. */
static int takes_all(const char *sql)
{
    for (const char *star = strchr(sql, '*'); star != NULL; star = strchr(star + 1, '*')) {
        const char *p = star;
        while (p > sql && isspace((unsigned char)p[-1])) p--;
        int comment = (p > sql && p[-1] == '/') || star[1] == '/';
        if (!comment && p > sql && p[-1] != '(') return 1; /* count(*) is none */
    }
    return 0;
}

/* Fields of sql =, and the types of expressions in columns. */
static void take_columns(lr_run *run, lr_rowset *rs, const lr_inspection *seen)
{
    if (rs->n == 0) {
        rs->fields = lr_alloc(&run->arena, (size_t)(seen->ncolumns + 1) * sizeof *rs->fields);
        rs->origins = lr_alloc(&run->arena, (size_t)(seen->ncolumns + 1) * sizeof *rs->origins);
        int star = takes_all(rs->select.text);
        for (rs->n = 0; rs->n < seen->ncolumns; rs->n++) {
            rs->fields[rs->n].name = lr_dup(&run->arena, seen->columns[rs->n].name);
            rs->fields[rs->n].said = star ? LR_SAID_SOURCE : seen->columns[rs->n].origin != NULL ? LR_SAID_NAME : LR_SAID_VALUE;
        }
    }
    for (int i = 0; i < rs->n && i < seen->ncolumns; i++)
        if (seen->columns[i].type.native[0] != 0) rs->fields[i].type = lr_keep_type(&run->arena, &seen->columns[i].type);
        else if (rs->fields[i].type.native == NULL || rs->origins[i] == NULL) rs->fields[i].type = lr_keep_type(&run->arena, &seen->columns[i].type);
}

static int duplicate_names(const lr_run *run, const lr_rowset *rs, lr_err *e)
{
    for (int i = 0; i < rs->n; i++)
        for (int j = 0; j < i; j++)
            if (lr_name_equal(run->session->warehouse->dialect, rs->fields[i].name, rs->fields[j].name)) {
                lr_fail(e, LR_FAILED, "extract: the column \"%s\" is there twice", rs->fields[i].name);
                return lr_hint(e, "give each column a name of its own");
            }
    return 0;
}

int lr_inspect_rows(lr_run *run, lr_rowset *rs, const lr_sql *q, lr_err *e)
{
    const lr_place *p = rs->place;
    const lr_inspection *seen;
    const char *text = lr_sql_text(q, p->dialect);
    if (p->driver->inspect(p->conn, text, &seen, e) != 0) return lr_step(e, "extract from %s", rs->title);
    if (seen->several || !seen->readonly || seen->ncolumns == 0) {
        lr_fail(e, LR_FAILED, "extract: the SQL must be one SELECT");
        return lr_hint(e, "sql = [[SELECT ... WHERE updated_at >= :start AND updated_at < :stop]]");
    }
    take_columns(run, rs, seen);
    /* Views are seen through: also the tables that they read count. */
    rs->reads = lr_alloc(&run->arena, (size_t)(seen->ntouches + 2) * sizeof *rs->reads);
    rs->nreads = 0;
    for (int i = 0; i < seen->ntouches; i++)
        rs->reads[rs->nreads++] = (lr_table){lr_dup(&run->arena, seen->touches[i].schema), lr_dup(&run->arena, seen->touches[i].table)};
    if (rs->is_sql && rs->nreads > 0) rs->title = rs->reads[0].name;
    if (rs->relation.exists) rs->reads[rs->nreads++] = rs->relation.table;
    if (duplicate_names(run, rs, e) != 0) return -1;
    return lr_inspect_names(run, p, seen, &rs->collides, e);
}
