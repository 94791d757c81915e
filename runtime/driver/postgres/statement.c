/* Statements and their results. Values go and come as text: every type has
 * a text form, and it is exact. */
#include "base/calendar.h"
#include "base/decimal.h"
#include "driver/postgres/internal.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FETCH_ROWS 5000

/* A value as the text of a parameter; b keeps it. NULL for NULL. */
static const char *param_text(const lr_value *v, lr_buf *b)
{
    char text[48];
    lr_buf_clear(b);
    switch (v->type) {
    case LR_NULL:
        return NULL;
    case LR_INT:
        lr_buf_printf(b, "%" PRId64, v->i);
        break;
    case LR_BOOL:
        lr_buf_puts(b, v->i != 0 ? "t" : "f");
        break;
    case LR_REAL:
        lr_buf_puts(b, lr_format_real(v->r, text));
        break;
    case LR_TEXT:
    case LR_DECIMAL:
        lr_buf_add(b, v->s.p, v->s.n);
        break;
    case LR_BLOB:
        lr_buf_puts(b, "\\x");
        for (size_t i = 0; i < v->s.n; i++) lr_buf_printf(b, "%02x", (unsigned char)v->s.p[i]);
        break;
    case LR_DATE:
        lr_buf_puts(b, lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        break;
    case LR_TIMESTAMP:
        lr_buf_puts(b, lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    case LR_TIMESTAMPTZ:
        lr_buf_printf(b, "%s+00", lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    }
    return b->data != NULL ? b->data : "";
}

PGresult *lr_pg_run(lr_conn *c, const char *sql, const lr_value *params, int n, lr_err *e)
{
    return lr_pg_run_format(c, sql, params, n, 0, e);
}

static int is_lost(lr_conn *c, lr_err *e)
{
    if (!c->lost) return 0;
    lr_fail(e, LR_FAILED, "the connection was lost");
    lr_hint(e, "run again; nothing of this run was kept");
    return 1;
}

static int send(lr_conn *c, const char *sql, const lr_value *params, int n, int binary, int script, lr_err *e)
{
    lr_buf *bufs = lr_malloc((size_t)(n + 1) * sizeof *bufs);
    const char **values = lr_malloc((size_t)(n + 1) * sizeof *values);
    memset(bufs, 0, (size_t)(n + 1) * sizeof *bufs);
    int nul = 0, failed = 0;
    for (int i = 0; i < n; i++) {
        values[i] = param_text(&params[i], &bufs[i]);
        if (values[i] != NULL && strlen(values[i]) != bufs[i].len) nul = 1;
    }
    if (nul) failed = lr_fail(e, LR_FAILED, "a value holds a NUL byte, which PostgreSQL text cannot");
    else if (!(script ? PQsendQuery(c->pg, sql) : PQsendQueryParams(c->pg, sql, n, NULL, values, NULL, NULL, binary)))
        failed = lr_pg_error(c, NULL, sql, e);
    for (int i = 0; i < n; i++) lr_buf_free(&bufs[i]);
    free(bufs);
    free(values);
    return failed;
}

int lr_pg_ask(lr_conn *c, const char *sql, const lr_value *params, int n, lr_err *e)
{
    if (is_lost(c, e)) return -1;
    /* outside a transaction a query needs more than one message */
    if (c->asked != NULL || PQtransactionStatus(c->pg) != PQTRANS_INTRANS) return 0;
    if (send(c, sql, params, n, 0, 0, e) != 0) return -1;
    PQflush(c->pg);
    c->asked = lr_strdup(sql);
    return 0;
}

/* Was it sent already? What else was sent is of no use any more. */
static int asked(lr_conn *c, const char *sql)
{
    PGresult *r;
    if (c->asked == NULL) return 0;
    int same = strcmp(c->asked, sql) == 0;
    free(c->asked);
    c->asked = NULL;
    if (same) return 1;
    lr_pg_cancel(c);
    while ((r = PQgetResult(c->pg)) != NULL) PQclear(r);
    return 0;
}

static PGresult *run(lr_conn *c, const char *sql, const lr_value *params, int n, int binary, int script, lr_err *e)
{
    if (is_lost(c, e)) return NULL;
    PGresult *last = NULL, *r;
    if (!asked(c, sql) && send(c, sql, params, n, binary, script, e) != 0) return NULL;
    int failed = lr_pg_wait(c, e);
    while (failed == 0 && (r = PQgetResult(c->pg)) != NULL) {
        ExecStatusType status = PQresultStatus(r);
        if (status != PGRES_COMMAND_OK && status != PGRES_TUPLES_OK && status != PGRES_COPY_IN && status != PGRES_EMPTY_QUERY)
            failed = lr_pg_error(c, r, sql, e);
        PQclear(last);
        last = r;
        if (status == PGRES_COPY_IN) break;
        if (failed == 0) failed = lr_pg_wait(c, e);
    }
    if (failed == 0 && last == NULL) failed = lr_pg_error(c, NULL, sql, e);
    if (failed == 0) return last;
    /* what is left of a failed statement is taken away */
    while (!c->lost && (r = PQgetResult(c->pg)) != NULL) PQclear(r);
    PQclear(last);
    return NULL;
}

PGresult *lr_pg_run_format(lr_conn *c, const char *sql, const lr_value *params, int n, int binary, lr_err *e)
{
    return run(c, sql, params, n, binary, 0, e);
}

PGresult *lr_pg_script(lr_conn *c, const char *sql, lr_err *e)
{
    return run(c, sql, NULL, 0, 0, 1, e);
}

int lr_pg_exec(lr_conn *c, const char *sql, const lr_value *params, int n, int64_t *changed, lr_err *e)
{
    PGresult *r = lr_pg_run(c, sql, params, n, e);
    if (r == NULL) return -1;
    if (changed != NULL) *changed = atoll(PQcmdTuples(r));
    PQclear(r);
    return 0;
}

const char *lr_pg_type_name(lr_conn *c, Oid oid, int mod, lr_err *e)
{
    static const struct {
        Oid oid;
        const char *name;
    } plain[] = {{PG_BOOL, "boolean"}, {PG_BYTEA, "bytea"}, {PG_INT8, "bigint"}, {PG_INT2, "smallint"}, {PG_INT4, "integer"},
                 {PG_TEXT, "text"}, {PG_FLOAT4, "real"}, {PG_FLOAT8, "double precision"}, {PG_DATE, "date"},
                 {PG_JSON, "json"}, {PG_JSONB, "jsonb"}, {PG_UUID, "uuid"}};
    for (size_t i = 0; mod < 0 && i < sizeof plain / sizeof plain[0]; i++)
        if (plain[i].oid == oid) return plain[i].name;
    for (int i = 0; i < c->ntypes; i++)
        if (c->types[i].oid == oid && c->types[i].mod == mod) return c->types[i].name;
    lr_value args[2] = {lr_int(oid), lr_int(mod)};
    PGresult *r = lr_pg_run(c, "SELECT format_type($1::oid, $2::int4)", args, 2, e);
    if (r == NULL) return NULL;
    c->types = lr_realloc(c->types, (size_t)(c->ntypes + 1) * sizeof *c->types);
    lr_typename *t = &c->types[c->ntypes++];
    *t = (lr_typename){oid, mod, lr_strdup(PQgetvalue(r, 0, 0))};
    PQclear(r);
    return t->name;
}

/* Dates that the engine-neutral form has: years 1 to 9999, no infinities. */
static int plain_time(const char *text, size_t n, lr_time *t)
{
    return lr_time_parse(text, n, lr_zone_utc(), t) == 0;
}

int lr_pg_decode(const PGresult *r, int row, int column, lr_value *out, unsigned char **held)
{
    *held = NULL;
    if (PQgetisnull(r, row, column)) {
        *out = lr_null();
        return 0;
    }
    const char *text = PQgetvalue(r, row, column);
    size_t n = (size_t)PQgetlength(r, row, column);
    lr_time t;
    *out = lr_textn(text, n);
    switch (PQftype(r, column)) {
    case PG_BOOL:
        *out = (lr_value){.type = LR_BOOL, .i = text[0] == 't'};
        break;
    case PG_INT2:
    case PG_INT4:
    case PG_INT8:
    case PG_OID:
        *out = lr_int(strtoll(text, NULL, 10));
        break;
    case PG_FLOAT4:
    case PG_FLOAT8:
        *out = lr_real(strtod(text, NULL));
        break;
    case PG_NUMERIC:
        out->type = LR_DECIMAL;
        break;
    case PG_BYTEA: {
        size_t len = 0;
        *held = PQunescapeBytea((const unsigned char *)text, &len);
        if (*held == NULL) return -1;
        *out = lr_blobn((const char *)*held, len);
        break;
    }
    case PG_DATE:
        if (plain_time(text, n, &t)) *out = (lr_value){.type = LR_DATE, .i = t.us / LR_US_PER_DAY - (t.us % LR_US_PER_DAY < 0)};
        break;
    case PG_TIMESTAMP:
        if (plain_time(text, n, &t)) *out = (lr_value){.type = LR_TIMESTAMP, .i = t.us};
        break;
    case PG_TIMESTAMPTZ:
        if (plain_time(text, n, &t)) *out = (lr_value){.type = LR_TIMESTAMPTZ, .i = t.us};
        break;
    default:
        break;
    }
    return 0;
}

struct lr_cursor {
    lr_conn *conn;
    PGresult *result;
    int at, rows, n;
    char name[32]; /* of a server-side cursor, or "" */
    int binary;    /* its fetches are binary */
    lr_buf *scratch; /* one for each column */
    Oid *types;      /* of a COPY that streams, else NULL */
    char *line;      /* its row */
    lr_column *columns;
    lr_value *row;
    unsigned char **held;
};

static void drop_held(lr_cursor *k)
{
    for (int i = 0; i < k->n; i++) {
        PQfreemem(k->held[i]);
        k->held[i] = NULL;
    }
}

void lr_pg_finish(lr_cursor *k)
{
    if (k == NULL) return;
    if (k->held != NULL) drop_held(k);
    if (k->types != NULL && k->rows != 0) lr_pg_copy_stop(k->conn);
    PQclear(k->result);
    if (k->name[0] != 0 && !k->conn->lost && PQtransactionStatus(k->conn->pg) == PQTRANS_INTRANS) {
        char sql[64];
        lr_err ignored = {0};
        snprintf(sql, sizeof sql, "CLOSE %s", k->name);
        PQclear(lr_pg_run(k->conn, sql, NULL, 0, &ignored));
    }
    for (int i = 0; i < k->n && k->columns != NULL; i++) free((char *)k->columns[i].name);
    free(k->columns);
    free(k->row);
    for (int i = 0; i < k->n && k->scratch != NULL; i++) lr_buf_free(&k->scratch[i]);
    free(k->scratch);
    free(k->types);
    PQfreemem(k->line);
    free(k->held);
    free(k);
}

static int take_result(lr_cursor *k, PGresult *r, lr_err *e)
{
    k->result = r;
    k->at = 0;
    k->rows = PQntuples(r);
    if (k->columns != NULL) return 0;
    int n = PQnfields(r);
    k->columns = lr_malloc((size_t)(n + 1) * sizeof *k->columns);
    k->row = lr_malloc((size_t)(n + 1) * sizeof *k->row);
    k->held = lr_malloc((size_t)(n + 1) * sizeof *k->held);
    k->scratch = lr_malloc((size_t)(n + 1) * sizeof *k->scratch);
    memset(k->scratch, 0, (size_t)(n + 1) * sizeof *k->scratch);
    for (k->n = 0; k->n < n; k->n++) {
        k->held[k->n] = NULL;
        k->columns[k->n] = (lr_column){.name = lr_strdup(PQfname(r, k->n))};
        const char *type = lr_pg_type_name(k->conn, PQftype(r, k->n), PQfmod(r, k->n), e);
        if (type == NULL) {
            k->n++;
            return -1;
        }
        lr_pg_type(type, PQftype(r, k->n), PQfmod(r, k->n), &k->columns[k->n].type);
    }
    return 0;
}

static lr_cursor *new_cursor(lr_conn *c)
{
    lr_cursor *k = lr_malloc(sizeof *k);
    memset(k, 0, sizeof *k);
    k->conn = c;
    return k;
}

int lr_pg_query(lr_conn *c, const char *sql, const lr_value *params, int n, lr_cursor **out, lr_err *e)
{
    int entered;
    *out = NULL;
    if (lr_pg_enter(c, &entered, e) != 0) return -1;
    PGresult *r = lr_pg_run(c, sql, params, n, e);
    lr_cursor *k = r != NULL ? new_cursor(c) : NULL;
    if (k != NULL && take_result(k, r, e) != 0) {
        lr_pg_finish(k);
        k = NULL;
    }
    lr_pg_leave(c, entered);
    *out = k;
    return k != NULL ? 0 : -1;
}

static int fetch(lr_cursor *k, lr_err *e)
{
    char sql[80];
    snprintf(sql, sizeof sql, "FETCH %d FROM %s", FETCH_ROWS, k->name);
    PGresult *r = lr_pg_run_format(k->conn, sql, NULL, 0, k->binary, e);
    if (r == NULL) return -1;
    PQclear(k->result);
    k->result = NULL;
    return take_result(k, r, e);
}

static int choose_format(lr_cursor *k, lr_err *e)
{
    PGresult *r = PQdescribePortal(k->conn->pg, k->name);
    int failed = PQresultStatus(r) == PGRES_COMMAND_OK ? 0 : lr_pg_error(k->conn, r, NULL, e);
    k->binary = failed == 0;
    for (int i = 0; k->binary && i < PQnfields(r); i++) k->binary = lr_pg_has_binary(PQftype(r, i));
    PQclear(r);
    return failed;
}

/* Rows that may be many: a server-side cursor, so that neither memory grows
 * nor the connection is taken up between two fetches. */
/* One COPY for all rows, which keeps server and client busy at once. It takes
 * no parameters, so there must be none. 1 done, 0 not for these columns. */
static int start_copy(lr_conn *c, const char *sql, lr_cursor **out, lr_err *e)
{
    PGresult *r = lr_pg_describe(c, sql, e);
    if (r == NULL) return -1;
    int fits = 1;
    for (int i = 0; fits && i < PQnfields(r); i++) fits = lr_pg_has_binary(PQftype(r, i));
    if (fits) fits = lr_pg_binary_copy(c, e);
    if (fits <= 0) {
        PQclear(r);
        return fits;
    }
    lr_cursor *k = new_cursor(c);
    int failed = take_result(k, r, e);
    k->types = lr_malloc((size_t)(k->n + 1) * sizeof *k->types);
    for (int i = 0; i < k->n; i++) k->types[i] = PQftype(r, i);
    k->rows = 0;
    if (failed == 0) failed = lr_pg_copy_out(c, sql, 1, e);
    k->rows = failed == 0; /* the COPY is open */
    if (failed != 0) {
        lr_pg_finish(k);
        return -1;
    }
    *out = k;
    return 1;
}

int lr_pg_scan(lr_conn *c, const char *sql, const lr_value *params, int n, int streams, lr_cursor **out, lr_err *e)
{
    *out = NULL;
    if (streams && n == 0 && PQtransactionStatus(c->pg) == PQTRANS_INTRANS) {
        int started = start_copy(c, sql, out, e);
        if (started != 0) return started < 0 ? -1 : 0;
    }
    if (PQtransactionStatus(c->pg) != PQTRANS_INTRANS) return lr_pg_query(c, sql, params, n, out, e);
    lr_cursor *k = new_cursor(c);
    lr_buf declare = {0};
    snprintf(k->name, sizeof k->name, "lrun_cursor_%u", ++c->cursors);
    lr_buf_printf(&declare, "DECLARE %s NO SCROLL CURSOR FOR %s", k->name, sql);
    int failed = lr_pg_exec(c, declare.data, params, n, NULL, e);
    lr_buf_free(&declare);
    if (failed != 0) k->name[0] = 0;
    if (failed == 0) failed = choose_format(k, e);
    if (failed == 0) failed = fetch(k, e);
    if (failed != 0) {
        lr_pg_finish(k);
        return -1;
    }
    *out = k;
    return 0;
}

const lr_column *lr_pg_columns(lr_cursor *k, int *n)
{
    *n = k->n;
    return k->columns;
}

static int broken(const lr_cursor *k, int column, lr_err *e)
{
    return lr_fail(e, LR_FAILED, "a value of the column %s cannot be read", k->columns[column].name);
}

static int copy_next(lr_cursor *k, const lr_value **row, lr_err *e)
{
    PQfreemem(k->line);
    k->line = NULL;
    int n = lr_pg_copy_line(k->conn, &k->line, e);
    if (n == -3) return -1;
    if (n < 0) {
        k->rows = 0;
        return lr_pg_copy_result(k->conn, n, e);
    }
    const char *p = k->line, *end = p + n;
    if (k->at++ == 0) p += 19; /* the head of the first line */
    if (end - p < 2) return broken(k, 0, e);
    int fields = (int16_t)((unsigned char)p[0] << 8 | (unsigned char)p[1]);
    p += 2;
    if (fields < 0) return copy_next(k, row, e); /* the trailer: the end follows */
    for (int i = 0; i < k->n; i++) {
        if (i >= fields || end - p < 4) return broken(k, i, e);
        int32_t len = (int32_t)((uint32_t)(unsigned char)p[0] << 24 | (uint32_t)(unsigned char)p[1] << 16 |
                                (uint32_t)(unsigned char)p[2] << 8 | (uint32_t)(unsigned char)p[3]);
        p += 4;
        if (len > end - p || len < -1) return broken(k, i, e);
        if (lr_pg_decode_binary(len < 0 ? NULL : p, len < 0 ? 0 : (size_t)len, k->types[i], &k->row[i], &k->scratch[i]) != 0)
            return broken(k, i, e);
        if (len > 0) p += len;
    }
    *row = k->row;
    return 1;
}

int lr_pg_next(lr_cursor *k, const lr_value **row, lr_err *e)
{
    if (k->types != NULL) return copy_next(k, row, e);
    drop_held(k);
    if (k->at == k->rows) {
        if (k->name[0] == 0 || k->rows < FETCH_ROWS) return 0;
        if (fetch(k, e) != 0) return -1;
        if (k->rows == 0) return 0;
    }
    for (int i = 0; k->binary && i < k->n; i++) {
        const char *p = PQgetisnull(k->result, k->at, i) ? NULL : PQgetvalue(k->result, k->at, i);
        if (lr_pg_decode_binary(p, (size_t)PQgetlength(k->result, k->at, i), PQftype(k->result, i), &k->row[i], &k->scratch[i]) != 0)
            return broken(k, i, e);
    }
    for (int i = 0; !k->binary && i < k->n; i++)
        if (lr_pg_decode(k->result, k->at, i, &k->row[i], &k->held[i]) != 0)
            return lr_fail(e, LR_FAILED, "not enough memory for a value");
    k->at++;
    *row = k->row;
    return 1;
}
