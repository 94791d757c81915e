/* What a statement would do: its columns, the tables it reads and writes, and
 * whether it is of a kind that would break the rule of one transaction. */
#include "driver/sqlite/internal.h"
#include "driver/sqlite/sqlite.h"
#include <ctype.h>
#include <string.h>

typedef struct watch {
    lr_conn *conn;
    lr_touch *touches;
    int n, cap;
    const char *forbidden;
    int control;
} watch;

static void touch(watch *w, const char *schema, const char *table, int write)
{
    if (table == NULL || table[0] == 0) return;
    if (schema == NULL) schema = ""; /* found when the statement is prepared */
    for (int i = 0; i < w->n; i++)
        if (w->touches[i].write == write && strcmp(w->touches[i].table, table) == 0 &&
            strcmp(w->touches[i].schema, schema) == 0)
            return;
    if (w->n == w->cap) {
        int cap = w->cap == 0 ? 8 : w->cap * 2;
        lr_touch *more = lr_alloc(&w->conn->inspected, (size_t)cap * sizeof *more);
        if (w->n > 0) memcpy(more, w->touches, (size_t)w->n * sizeof *more);
        w->touches = more;
        w->cap = cap;
    }
    lr_touch *t = &w->touches[w->n++];
    t->schema = lr_dup(&w->conn->inspected, schema);
    t->table = lr_dup(&w->conn->inspected, table);
    t->write = write;
}

/* Pragmas that only read, also when they take an argument. */
static int harmless_pragma(const char *name, const char *value)
{
    static const char *const with_argument[] = {"table_info", "table_xinfo", "table_list", "index_list",
                                                "index_info", "index_xinfo", "foreign_key_list",
                                                "foreign_key_check", "integrity_check", "quick_check", NULL};
    static const char *const bare[] = {"user_version", "schema_version", "application_id", "journal_mode",
                                       "encoding", "page_size", "page_count", "data_version",
                                       "database_list", "collation_list", "compile_options",
                                       "function_list", "foreign_keys", "synchronous", NULL};
    for (int i = 0; with_argument[i] != NULL; i++)
        if (strcasecmp(name, with_argument[i]) == 0) return 1;
    for (int i = 0; value == NULL && bare[i] != NULL; i++)
        if (strcasecmp(name, bare[i]) == 0) return 1;
    return 0;
}

/* It is set for as long as the connection lives: setting one anew makes SQLite
 * plan all its statements again. */
static int on_authorize(void *arg, int action, const char *a, const char *b, const char *schema,
                        const char *inner)
{
    watch *w = ((lr_conn *)arg)->watching;
    (void)inner;
    if (w == NULL) return SQLITE_OK;
    switch (action) {
    case SQLITE_READ:
        touch(w, schema, a, 0);
        break;
    case SQLITE_INSERT:
    case SQLITE_UPDATE:
    case SQLITE_DELETE:
        touch(w, schema, a, 1);
        break;
    case SQLITE_CREATE_TABLE:
    case SQLITE_DROP_TABLE:
    case SQLITE_CREATE_VIEW:
    case SQLITE_DROP_VIEW:
    case SQLITE_CREATE_TEMP_TABLE:
    case SQLITE_DROP_TEMP_TABLE:
        touch(w, schema, a, 1);
        break;
    case SQLITE_CREATE_INDEX:
    case SQLITE_DROP_INDEX:
    case SQLITE_CREATE_TRIGGER:
    case SQLITE_DROP_TRIGGER:
        touch(w, schema, b, 1);
        break;
    case SQLITE_ALTER_TABLE:
        touch(w, a, b, 1);
        break;
    case SQLITE_TRANSACTION:
    case SQLITE_SAVEPOINT:
        w->forbidden = "transaction control";
        w->control = 1;
        break;
    case SQLITE_ATTACH:
        w->forbidden = "ATTACH";
        break;
    case SQLITE_DETACH:
        w->forbidden = "DETACH";
        break;
    case SQLITE_PRAGMA:
        if (!harmless_pragma(a, b)) w->forbidden = "a PRAGMA that writes";
        break;
    default:
        break;
    }
    return SQLITE_OK;
}

void lr_sqlite_watch(lr_conn *c)
{
    sqlite3_set_authorizer(c->db, on_authorize, c);
}

#define WITHOUT_BLOOM_FILTER 0x00080000 /* SQLITE_BloomFilter in sqliteInt.h */

/* lrun_collation(schema, table, column): NULL where text compares by its bytes. */
static void fn_collation(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const char *collation = NULL, *names[3];
    (void)n;
    for (int i = 0; i < 3; i++) names[i] = (const char *)sqlite3_value_text(v[i]);
    if (names[1] == NULL || names[2] == NULL ||
        sqlite3_table_column_metadata(sqlite3_context_db_handle(ctx), names[0], names[1], names[2], NULL, &collation, NULL, NULL, NULL) != SQLITE_OK)
        return;
    /* the filter in front of a join that SQLite makes itself hashes the blanks that
     * this collation leaves out, and finds nothing */
    if (collation != NULL && strcasecmp(collation, "RTRIM") == 0)
        sqlite3_test_control(SQLITE_TESTCTRL_OPTIMIZATIONS, sqlite3_context_db_handle(ctx), WITHOUT_BLOOM_FILTER);
    if (collation != NULL && strcasecmp(collation, "BINARY") != 0) sqlite3_result_text(ctx, collation, -1, SQLITE_TRANSIENT);
}

int lr_sqlite_register_schema(sqlite3 *db)
{
    return sqlite3_create_function(db, "lrun_collation", 3, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL, fn_collation, NULL, NULL) == SQLITE_OK ? 0 : -1;
}

/* A table of which no column is used comes without its schema: it is where the
 * name is found first, as SQLite looks: temp, main, then the others. */
static int find_schema(lr_conn *c, lr_touch *t, lr_err *e)
{
    sqlite3_stmt *list = NULL;
    int rc = sqlite3_prepare_v2(c->db, "SELECT name FROM pragma_database_list ORDER BY name <> 'temp', seq", -1, &list, NULL);
    if (rc != SQLITE_OK) return lr_sqlite_error(c, rc, NULL, e);
    while (t->schema[0] == 0 && sqlite3_step(list) == SQLITE_ROW) {
        const char *schema = (const char *)sqlite3_column_text(list, 0);
        sqlite3_stmt *stmt = NULL;
        char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_schema WHERE name = %Q COLLATE NOCASE AND type IN ('table', 'view')", schema, t->table);
        if (sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW)
            t->schema = lr_dup(&c->inspected, schema);
        sqlite3_finalize(stmt);
        sqlite3_free(sql);
    }
    sqlite3_finalize(list);
    return 0;
}

/* The text after white space, comments and semicolons. */
static const char *skip_blank(const char *p)
{
    for (;;) {
        while (isspace((unsigned char)*p) || *p == ';') p++;
        if (p[0] == '-' && p[1] == '-') {
            while (*p != 0 && *p != '\n') p++;
        } else if (p[0] == '/' && p[1] == '*') {
            const char *end = strstr(p + 2, "*/");
            p = end != NULL ? end + 2 : p + strlen(p);
        } else {
            return p;
        }
    }
}

int lr_sqlite_inspect(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e)
{
    lr_arena_free(&c->inspected);
    memset(&c->inspection, 0, sizeof c->inspection);
    lr_inspection *found = &c->inspection;
    const char *text = skip_blank(sql);
    watch w = {.conn = c};
    if (strncasecmp(text, "vacuum", 6) == 0 && !isalnum((unsigned char)text[6])) w.forbidden = "VACUUM";
    sqlite3_stmt *stmt = NULL;
    const char *tail = "";
    c->watching = &w;
    int rc = sqlite3_prepare_v2(c->db, text, -1, &stmt, &tail);
    c->watching = NULL;
    if (rc != SQLITE_OK) return lr_sqlite_error(c, rc, sql, e);
    if (stmt == NULL) return lr_fail(e, LR_FAILED, "the statement is empty");
    found->readonly = sqlite3_stmt_readonly(stmt);
    found->forbidden = w.forbidden;
    found->control = w.control;
    found->parameters = sqlite3_bind_parameter_count(stmt);
    found->several = *skip_blank(tail) != 0;
    for (int i = 0; i < w.n; i++)
        if (w.touches[i].schema[0] == 0 && find_schema(c, &w.touches[i], e) != 0) {
            sqlite3_finalize(stmt);
            return -1;
        }
    /* a name that is nowhere is one of the statement's own (WITH) */
    int kept = 0;
    for (int i = 0; i < w.n; i++)
        if (w.touches[i].schema[0] != 0) w.touches[kept++] = w.touches[i];
    found->touches = w.touches;
    found->ntouches = kept;
    found->ncolumns = sqlite3_column_count(stmt);
    lr_column *columns = lr_alloc(&c->inspected, (size_t)(found->ncolumns + 1) * sizeof *columns);
    for (int i = 0; i < found->ncolumns; i++) {
        columns[i].name = lr_dup(&c->inspected, sqlite3_column_name(stmt, i));
        columns[i].type = lr_sqlite_type(lr_dup(&c->inspected, sqlite3_column_decltype(stmt, i)));
        columns[i].table = lr_dup(&c->inspected, sqlite3_column_table_name(stmt, i));
        columns[i].origin = lr_dup(&c->inspected, sqlite3_column_origin_name(stmt, i));
    }
    found->columns = columns;
    sqlite3_finalize(stmt);
    *out = found;
    return 0;
}
