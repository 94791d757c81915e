/* What a statement would do, asked from the server without running it. */
#include "driver/postgres/internal.h"
#include <string.h>

static const char *const control[] = {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare", NULL};
static const char *const settings[] = {"vacuum", "cluster", "reindex", "checkpoint", "listen", "discard", "set", "reset", NULL};

/* Past blanks, comments (they nest) and what else may stand before a statement. */
static const char *skip_blank(const char *sql)
{
    for (;;) {
        sql += strspn(sql, " \t\n\r\f\v(;");
        if (sql[0] == '-' && sql[1] == '-') {
            sql += strcspn(sql, "\n\r");
        } else if (sql[0] == '/' && sql[1] == '*') {
            int depth = 0;
            do {
                int opens = sql[0] == '/' && sql[1] == '*', closes = sql[0] == '*' && sql[1] == '/';
                depth += opens - closes;
                sql += opens || closes ? 2 : 1;
            } while (depth > 0 && *sql != 0);
        } else {
            return sql;
        }
    }
}

static const char *first_word(const char *sql, char *out, size_t size)
{
    sql = skip_blank(sql);
    size_t n = strspn(sql, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ");
    if (n >= size) n = size - 1;
    for (size_t i = 0; i < n; i++) out[i] = (char)(sql[i] | 0x20);
    out[n] = 0;
    return out;
}

static int is_among(const char *const *words, const char *word)
{
    while (*words != NULL && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

int lr_pg_inspect(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e)
{
    char word[32];
    lr_arena_free(&c->inspected);
    memset(&c->inspection, 0, sizeof c->inspection);
    lr_inspection *seen = &c->inspection;
    first_word(sql, word, sizeof word);
    seen->control = is_among(control, word);
    if (seen->control || is_among(settings, word)) seen->forbidden = "transaction control or a setting";
    *out = seen;
    if (seen->forbidden != NULL) return 0;
    int entered;
    if (lr_pg_enter(c, &entered, e) != 0) return -1;
    PGresult *r = lr_pg_describe(c, sql, e);
    int failed = r != NULL ? 0 : -1;
    seen->parameters = failed == 0 ? PQnparams(r) : 0;
    seen->ncolumns = failed == 0 ? PQnfields(r) : 0;
    lr_column *columns = lr_alloc(&c->inspected, (size_t)(seen->ncolumns + 1) * sizeof *columns);
    for (int i = 0; failed == 0 && i < seen->ncolumns; i++) {
        columns[i].name = lr_dup(&c->inspected, PQfname(r, i));
        columns[i].decl = lr_pg_type_name(c, PQftype(r, i), PQfmod(r, i), e);
        if (columns[i].decl == NULL) failed = -1;
    }
    PQclear(r);
    lr_pg_leave(c, entered);
    seen->columns = columns;
    seen->readonly = strcmp(word, "select") == 0 || strcmp(word, "values") == 0 || strcmp(word, "table") == 0 ||
                     strcmp(word, "show") == 0 || strcmp(word, "explain") == 0 || strcmp(word, "with") == 0;
    return failed;
}
