/* Quoting, judged by SQLite itself: a name put into SQL names that very table
 * and column, a value written as a literal is that value, and the user's SQL
 * with its :names becomes no more than one statement's worth of parameters. */
#include "fuzz.h"
#include "run/run.h"
#include "sql/dialect.h"
#include "sql/sql.h"
#include "sql/sqlite.h"
#include <sqlite3.h>

static sqlite3 *db;

static void open_db(void)
{
    if (db == NULL) CLAIM(sqlite3_open(":memory:", &db) == SQLITE_OK);
}

static void names(const char *name)
{
    lr_arena a = {0};
    lr_table t = {"main", name};
    sqlite3_stmt *stmt;
    if (strncasecmp(name, "sqlite_", 7) == 0) return; /* the engine keeps these */
    lr_sql q = lr_sql_new(&a);
    lr_sqlf(&q, "CREATE TABLE %T (%I, \"%s\")", &t, name, "lrun other");
    if (strcasecmp(name, "lrun other") == 0) {
        lr_arena_free(&a);
        return;
    }
    CLAIM(sqlite3_exec(db, lr_sql_text(&q, &lr_sqlite_dialect), NULL, NULL, NULL) == SQLITE_OK);
    q = lr_sql_new(&a);
    lr_sqlf(&q, "SELECT %I FROM %T", name, &t);
    CLAIM(sqlite3_prepare_v2(db, lr_sql_text(&q, &lr_sqlite_dialect), -1, &stmt, NULL) == SQLITE_OK);
    CLAIM(strcmp(sqlite3_column_name(stmt, 0), name) == 0);
    sqlite3_finalize(stmt);
    CLAIM(sqlite3_prepare_v2(db, "SELECT name FROM sqlite_schema", -1, &stmt, NULL) == SQLITE_OK);
    CLAIM(sqlite3_step(stmt) == SQLITE_ROW && strcmp((const char *)sqlite3_column_text(stmt, 0), name) == 0);
    CLAIM(sqlite3_step(stmt) == SQLITE_DONE);
    sqlite3_finalize(stmt);
    q = lr_sql_new(&a);
    lr_sqlf(&q, "DROP TABLE %T", &t);
    CLAIM(sqlite3_exec(db, lr_sql_text(&q, &lr_sqlite_dialect), NULL, NULL, NULL) == SQLITE_OK);
    lr_arena_free(&a);
}

static void literal(const lr_value *v)
{
    lr_buf b = {0};
    sqlite3_stmt *stmt;
    const char *rest;
    lr_buf_puts(&b, "SELECT ");
    lr_sql_literal(&b, v);
    lr_buf_putc(&b, 0);
    CLAIM(sqlite3_prepare_v2(db, b.data, -1, &stmt, &rest) == SQLITE_OK);
    CLAIM(*rest == 0);
    CLAIM(sqlite3_step(stmt) == SQLITE_ROW);
    CLAIM((size_t)sqlite3_column_bytes(stmt, 0) == v->s.n);
    CLAIM(v->s.n == 0 || memcmp(sqlite3_column_blob(stmt, 0), v->s.p, v->s.n) == 0);
    CLAIM(sqlite3_step(stmt) == SQLITE_DONE);
    sqlite3_finalize(stmt);
    lr_buf_free(&b);
}

static const lr_value *lookup(void *arg, const char *name)
{
    static const lr_value one = {.type = LR_INT, .i = 1};
    (void)name;
    ++*(int *)arg;
    return &one;
}

/* A piece that is let through stays inside its parentheses. */
static void pieces(const char *text)
{
    lr_err e = {0};
    lr_arena a = {0};
    int asked = 0;
    lr_sql q = lr_sql_new(&a);
    if (lr_sql_user(&q, text, NULL, lookup, &asked, &e) == 0) CLAIM(q.n == asked);
    lr_err_clear(&e);
    if (lr_sql_piece(text, 0, "where", &e) == 0) {
        sqlite3_stmt *stmt = NULL;
        const char *rest = "";
        char *sql = lr_printf(&a, "SELECT 'kept' WHERE 0 AND (%s\n) AND 0", text);
        if (sqlite3_prepare_v2(db, sql, -1, &stmt, &rest) == SQLITE_OK && stmt != NULL) {
            CLAIM(*rest == 0);
            CLAIM(sqlite3_column_count(stmt) == 1);
            CLAIM(sqlite3_bind_parameter_count(stmt) > 0 || sqlite3_step(stmt) != SQLITE_ROW);
        }
        sqlite3_finalize(stmt);
    } else {
        CLAIM(e.message[0] != 0);
    }
    lr_arena_free(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char *z = fuzz_text(data, size);
    lr_value v = {.type = LR_BLOB};
    open_db();
    v.s.p = (const char *)data;
    v.s.n = size;
    literal(&v);
    v.type = LR_TEXT;
    v.s.p = z;
    literal(&v);
    pieces(z);
    lr_plain_text(z); /* SQLite takes names in UTF-8 */
    for (char *p = z; *p != 0; p++)
        if (*p == LR_SQL_PARAMETER) *p = ' ';
    if (*z != 0) names(z);
    free(z);
    return 0;
}
