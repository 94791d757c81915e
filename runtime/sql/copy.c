/* What the copiers share. */
#include "sql/copy.h"
#include <stdio.h>
#include <string.h>

lr_sql *lr_statement(const lr_copy *c, lr_statements *s)
{
    if (s->n == s->room) {
        int room = s->room == 0 ? 8 : s->room * 2;
        lr_sql *more = lr_alloc(c->arena, (size_t)room * sizeof *more);
        if (s->n > 0) memcpy(more, s->sql, (size_t)s->n * sizeof *more);
        s->sql = more;
        s->room = room;
    }
    s->sql[s->n] = lr_sql_new(c->arena);
    return &s->sql[s->n++];
}

static const char *text_of(lr_arena *a, const lr_value *v)
{
    if (v->type == LR_TEXT || v->type == LR_DECIMAL) return lr_dupn(a, v->s.p, v->s.n);
    if (v->type == LR_INT || v->type == LR_BOOL) return lr_printf(a, "%lld", (long long)v->i);
    return NULL;
}

int lr_each_text(const lr_copy *c, const char *sql, const lr_value *params, int n,
                 int (*fn)(void *arg, const char **row, lr_err *e), void *arg, lr_err *e)
{
    lr_cursor *k;
    const lr_value *v;
    const char *row[8];
    int got, columns, failed = 0;
    if (c->driver->query(c->conn, sql, params, n, &k, e) != 0) return -1;
    c->driver->columns(k, &columns);
    while (failed == 0 && (got = c->driver->next(k, &v, e)) == 1) {
        for (int i = 0; i < columns && i < 8; i++) row[i] = text_of(c->arena, &v[i]);
        failed = fn(arg, row, e);
    }
    c->driver->finish(k);
    return failed != 0 || got < 0 ? -1 : 0;
}
