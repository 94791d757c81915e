/* COPY out of a server, and from one server into another with the bytes as they
 * are: what both ends hold in the same type needs no look on the way. */
#include "driver/postgres/internal.h"
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define PIPE_BYTES ((size_t)1 << 17)

int lr_pg_binary_copy(lr_conn *c, lr_err *e)
{
    const char *set = getenv("LRUN_PG_COPY");
    if (set != NULL && strcmp(set, "text") == 0) c->binary = -1;
    if (c->binary != 0) return c->binary > 0;
    int inside = PQtransactionStatus(c->pg) == PQTRANS_INTRANS;
    if (inside && lr_pg_exec(c, "SAVEPOINT lrun_copy", NULL, 0, NULL, e) != 0) return -1;
    lr_err refused = {0};
    char *line = NULL;
    int n = 0, failed = lr_pg_copy_out(c, "SELECT 1", 1, &refused);
    while (failed == 0 && (n = lr_pg_copy_line(c, &line, &refused)) >= 0) {
        PQfreemem(line);
        line = NULL;
    }
    if (failed == 0) failed = n == -3 ? -1 : lr_pg_copy_result(c, n, &refused);
    if (failed != 0 && (c->lost || n == -3)) {
        *e = refused;
        return -1;
    }
    if (inside && failed != 0 && lr_pg_exec(c, "ROLLBACK TO SAVEPOINT lrun_copy", NULL, 0, NULL, e) != 0) return -1;
    if (inside && lr_pg_exec(c, "RELEASE SAVEPOINT lrun_copy", NULL, 0, NULL, e) != 0) return -1;
    c->binary = failed == 0 ? 1 : -1;
    return failed == 0;
}

PGresult *lr_pg_describe(lr_conn *c, const char *sql, lr_err *e)
{
    PGresult *r = PQprepare(c->pg, "", sql, 0, NULL);
    int failed = PQresultStatus(r) == PGRES_COMMAND_OK ? 0 : lr_pg_error(c, r, sql, e);
    PQclear(r);
    if (failed != 0) return NULL;
    r = PQdescribePrepared(c->pg, "");
    if (PQresultStatus(r) == PGRES_COMMAND_OK) return r;
    lr_pg_error(c, r, sql, e);
    PQclear(r);
    return NULL;
}

int lr_pg_copy_out(lr_conn *c, const char *sql, int binary, lr_err *e)
{
    lr_buf copy = {0};
    lr_buf_printf(&copy, "COPY (%s\n) TO STDOUT%s", sql, binary ? " (FORMAT binary)" : "");
    PGresult *r = PQexec(c->pg, copy.data);
    int failed = PQresultStatus(r) == PGRES_COPY_OUT ? 0 : lr_pg_error(c, r, copy.data, e);
    PQclear(r);
    lr_buf_free(&copy);
    return failed;
}

int lr_pg_copy_line(lr_conn *c, char **line, lr_err *e)
{
    for (;;) {
        int n = PQgetCopyData(c->pg, line, 1);
        if (n != 0) return n;
        struct pollfd fd = {PQsocket(c->pg), POLLIN, 0};
        poll(&fd, 1, 100);
        if (c->how.poll != NULL && c->how.poll(c->how.arg)) {
            c->how.stopped(c->how.arg, e);
            return -3;
        }
        if (!PQconsumeInput(c->pg)) return -2;
    }
}

int lr_pg_copy_result(lr_conn *c, int line, lr_err *e)
{
    PGresult *r;
    int failed = line == -1 ? 0 : lr_pg_error(c, NULL, NULL, e);
    while (!c->lost && (r = PQgetResult(c->pg)) != NULL) {
        if (failed == 0 && PQresultStatus(r) != PGRES_COMMAND_OK) failed = lr_pg_error(c, r, NULL, e);
        PQclear(r);
    }
    return failed;
}

void lr_pg_copy_stop(lr_conn *c)
{
    char *line = NULL;
    PGresult *r;
    lr_pg_cancel(c);
    while (PQgetCopyData(c->pg, &line, 0) > 0) PQfreemem(line);
    while ((r = PQgetResult(c->pg)) != NULL) PQclear(r);
}

/* ---- the pipe ---- */

/* Types whose binary form is the same on every server: no type number and no
 * setting is in it. Arrays carry the number of their element's type, which for
 * these never changes. */
static int travels(Oid type)
{
    static const Oid known[] = {PG_UUID, PG_JSONB, 1186 /* interval */, 1083 /* time */, 1266 /* timetz */, 869 /* inet */,
                                650 /* cidr */, 829 /* macaddr */, 1560 /* bit */, 1562 /* varbit */,
                                1000, 1001, 1005, 1007, 1009, 1014, 1015, 1016, 1021, 1022, 1115, 1182, 1185, 1231, 2951, 199, 3807};
    if (lr_pg_has_binary(type)) return 1;
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i] == type) return 1;
    return 0;
}

/* The same type, or one without a limit for one that has it. */
static int holds(const char *into, const char *from)
{
    if (strcmp(into, from) == 0) return 1;
    return strcmp(into, "numeric") == 0 && strncmp(from, "numeric(", 8) == 0 && strstr(from, "[]") == NULL;
}

/* 1 in binary, 2 in text, 0 not at all, -1 an error. */
static int form(lr_conn *from, lr_conn *into, const char *sql, const lr_column *columns, int n, lr_err *e)
{
    PGresult *r = lr_pg_describe(from, sql, e);
    if (r == NULL) return -1;
    int out = PQnfields(r) == n;
    for (int i = 0; out > 0 && i < n; i++) {
        const char *decl = lr_pg_type_name(from, PQftype(r, i), PQfmod(r, i), e);
        if (decl == NULL) out = -1;
        else if (!holds(columns[i].type.native, decl)) out = 0;
        else if (!travels(PQftype(r, i))) out = 2;
    }
    PQclear(r);
    if (out != 1) return out;
    int a = lr_pg_binary_copy(from, e), b = a > 0 ? lr_pg_binary_copy(into, e) : 0;
    return a < 0 || b < 0 ? -1 : a && b ? 1 : 2;
}

static int copy_in(lr_conn *c, const char *table, int binary, lr_err *e)
{
    lr_buf sql = {0};
    lr_buf_printf(&sql, "COPY %s FROM STDIN%s", table, binary ? " (FORMAT binary)" : "");
    PGresult *r = lr_pg_run(c, sql.data, NULL, 0, e);
    lr_buf_free(&sql);
    PQclear(r);
    return r != NULL ? 0 : -1;
}

/* why: NULL ends it well. The server's own reason goes before the client's. */
static int close_in(lr_conn *c, const char *table, const char *why, int64_t *rows, lr_err *e)
{
    PGresult *r;
    int failed = PQputCopyEnd(c->pg, why) == 1 ? lr_pg_wait(c, e) : lr_pg_error(c, NULL, table, e);
    while (!c->lost && (r = PQgetResult(c->pg)) != NULL) {
        if (failed == 0 && PQresultStatus(r) != PGRES_COMMAND_OK) failed = lr_pg_error(c, r, table, e);
        else if (failed == 0 && rows != NULL) *rows = atoll(PQcmdTuples(r));
        PQclear(r);
    }
    return failed;
}

static int pump(lr_conn *from, lr_conn *into, const char *table, lr_err *e)
{
    lr_buf b = {0};
    char *line = NULL;
    int n, failed = 0;
    while (failed == 0 && (n = lr_pg_copy_line(from, &line, e)) >= 0) {
        lr_buf_add(&b, line, (size_t)n);
        PQfreemem(line);
        line = NULL;
        if (b.len < PIPE_BYTES) continue;
        if (PQputCopyData(into->pg, b.data, (int)b.len) != 1) failed = lr_pg_error(into, NULL, table, e);
        lr_buf_clear(&b);
    }
    if (failed != 0 || n == -3) {
        lr_pg_copy_stop(from);
        failed = -1;
    } else {
        failed = lr_pg_copy_result(from, n, e);
    }
    if (failed == 0 && b.len > 0 && PQputCopyData(into->pg, b.data, (int)b.len) != 1) failed = lr_pg_error(into, NULL, table, e);
    lr_buf_free(&b);
    return failed;
}

int lr_pg_pipe(lr_conn *from, const char *sql, lr_conn *into, const char *table, const lr_column *columns, int n,
               int64_t *rows, lr_err *e)
{
    int how = form(from, into, sql, columns, n, e);
    if (how <= 0) return how;
    if (lr_pg_copy_out(from, sql, how == 1, e) != 0) return -1;
    if (copy_in(into, table, how == 1, e) != 0) {
        lr_pg_copy_stop(from);
        return -1;
    }
    if (pump(from, into, table, e) == 0) return close_in(into, table, NULL, rows, e) == 0 ? 1 : -1;
    lr_err after = {0};
    if (!into->lost) close_in(into, table, "not all rows could be sent", NULL, &after);
    return -1;
}
