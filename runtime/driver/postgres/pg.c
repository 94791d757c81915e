/* The PostgreSQL driver: connections, transactions, errors. */
#include "driver/postgres/internal.h"
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int is_lost(const lr_conn *c)
{
    return c->pg == NULL || PQstatus(c->pg) == CONNECTION_BAD;
}

/* libpq's text on one line, without its "ERROR:  ". */
void lr_pg_one_line(const char *text, char *out, size_t size)
{
    size_t n = 0;
    static const char *const heads[] = {"ERROR:  ", "FATAL:  "};
    for (int i = 0; i < 2; i++)
        if (strncmp(text, heads[i], 8) == 0) text += 8;
    for (; *text != 0 && n + 1 < size; text++) {
        if (*text == '\n' && text[1] == 0) break;
        out[n++] = *text == '\n' || *text == '\t' ? ' ' : *text;
    }
    out[n] = 0;
}

static void hint_for(const char *state, const PGresult *r, lr_err *e)
{
    const char *theirs = r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_HINT) : NULL;
    if (theirs != NULL) lr_hint(e, "%s", theirs);
    else if (strcmp(state, "53100") == 0) lr_hint(e, "free some space on the server and run again; nothing of this run was kept");
    else if (strcmp(state, "55P03") == 0) lr_hint(e, "wait for the other to end, or pass a longer --lock-timeout");
    else if (strcmp(state, "25006") == 0) lr_hint(e, "the role or database is read-only (default_transaction_read_only), or the server is a standby");
    else if (strcmp(state, "25P03") == 0) lr_hint(e, "the server's idle_in_transaction_session_timeout is shorter than the job is silent: raise it for this role; nothing of this run was kept");
    else if (strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0) lr_hint(e, "the server or somebody ended the connection; run again, nothing of this run was kept");
    else if (strcmp(state, "57014") == 0) lr_hint(e, "the server's statement_timeout, or somebody, cancelled the statement");
    else if (strncmp(state, "40", 2) == 0) lr_hint(e, "another transaction was in the way; run again, nothing was kept");
}

/* "COPY t, line 3, column v: \"text\"": which row and value it is. */
static void refused_row(const char *context, lr_err *e)
{
    const char *line = strstr(context, ", line "), *end = strchr(context, '\n');
    if (line == NULL || (end != NULL && line > end)) return;
    e->row = strtoll(line + 7, NULL, 10);
    const char *column = strstr(line, ", column "), *value = column != NULL ? strstr(column, ": \"") : NULL;
    if (column == NULL) return;
    column += 9;
    size_t n = value != NULL ? (size_t)(value - column) : strcspn(column, "\n:");
    snprintf(e->column, sizeof e->column, "%.*s", (int)n, column);
    if (value == NULL) return;
    n = strlen(value += 3);
    if (n > 0 && value[n - 1] == '"') n--;
    if (n > 3 && strncmp(value + n - 3, "...", 3) == 0) n -= 3;
    if (n >= sizeof e->value) n = sizeof e->value - 1;
    memcpy(e->value, value, n);
    e->value[n] = 0;
}

int lr_pg_error(lr_conn *c, const PGresult *r, const char *sql, lr_err *e)
{
    char text[900];
    const char *state = r != NULL ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    /* a COMMIT that was to be stopped and whose answer is lost may have happened */
    if (c->stopped && c->how.stopped != NULL && !(c->committing && is_lost(c))) {
        c->stopped = 0;
        return c->how.stopped(c->how.arg, e);
    }
    /* A dead connection gives a result without SQLSTATE, or none at all; one
     * that the server is about to close still looks alive. */
    const char *severity = r != NULL ? PQresultErrorField(r, PG_DIAG_SEVERITY_NONLOCALIZED) : NULL;
    int lost = is_lost(c) || (state != NULL && strncmp(state, "08", 2) == 0) ||
               (severity != NULL && (strcmp(severity, "FATAL") == 0 || strcmp(severity, "PANIC") == 0));
    lr_pg_one_line(r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY)
                                                                                 : PQresultErrorMessage(r)
                       : PQerrorMessage(c->pg), text, sizeof text);
    int first = e->status == LR_OK;
    if (lost) c->lost = 1;
    if (state == NULL) state = lost ? "08006" : "";
    lr_status status = strcmp(state, "55P03") == 0 ? LR_BUSY : lost && c->committing ? LR_UNKNOWN : LR_FAILED;
    lr_fail(e, status, lost ? "the connection was lost: %s (SQLSTATE %s)" : "%s (SQLSTATE %s)", text, state);
    if (!first) return -1;
    if (strcmp(state, "42501") == 0 && r != NULL) {
        const char *primary = PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY);
        if (lr_pg_policy_hint(c, r, primary != NULL ? primary : "", e) == 0)
            lr_pg_privilege_hint(c, primary != NULL ? primary : "", sql, e);
    }
    snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state);
    e->retry = strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0;
    const char *detail = r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_DETAIL) : NULL;
    if (detail != NULL) {
        size_t n = strlen(e->message);
        lr_pg_one_line(detail, text, sizeof text);
        snprintf(e->message + n, sizeof e->message - n, ": %s", text);
    }
    const char *context = r != NULL ? PQresultErrorField(r, PG_DIAG_CONTEXT) : NULL;
    while (context != NULL && strncmp(context, "COPY ", 5) != 0) {
        context = strchr(context, '\n');
        if (context != NULL) context++;
    }
    if (context != NULL) {
        size_t n = strlen(e->message);
        refused_row(context, e);
        lr_pg_one_line(context, text, sizeof text);
        snprintf(e->message + n, sizeof e->message - n, " (%.300s)", text);
    }
    const char *position = r != NULL ? PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION) : NULL;
    if (position != NULL) e->position = atoi(position);
    if (sql != NULL) snprintf(e->statement, sizeof e->statement, "%s", sql);
    hint_for(state, r, e);
    return -1;
}

void lr_pg_cancel(lr_conn *c)
{
    char why[256];
    PGcancel *cancel = c != NULL ? PQgetCancel(c->pg) : NULL;
    if (cancel != NULL) PQcancel(cancel, why, sizeof why);
    PQfreeCancel(cancel);
}

int lr_pg_wait(lr_conn *c, lr_err *e)
{
    while (PQisBusy(c->pg)) {
        struct pollfd fd = {PQsocket(c->pg), POLLIN, 0};
        poll(&fd, 1, 100);
        if (!c->stopped && c->how.poll != NULL && c->how.poll(c->how.arg)) {
            c->stopped = 1;
            lr_pg_cancel(c);
        }
        if (!PQconsumeInput(c->pg)) return lr_pg_error(c, NULL, NULL, e);
    }
    return 0;
}

static int simple(lr_conn *c, const char *sql, lr_err *e)
{
    PGresult *r = lr_pg_run(c, sql, NULL, 0, e);
    PQclear(r);
    return r != NULL ? 0 : -1;
}

void lr_pg_close(lr_conn *c)
{
    if (c == NULL) return;
    PQfinish(c->pg);
    for (int i = 0; i < c->ntypes; i++) free(c->types[i].name);
    free(c->types);
    lr_arena_free(&c->inspected);
    free(c->url);
    free(c->settings);
    free(c->asked);
    free(c);
}

static int pg_begin(lr_conn *c, int write, lr_err *e)
{
    c->stopped = 0;
    int reads = !write || c->how.readonly, readonly = reads && !c->how.temporary;
    /* the snapshot is taken by the first statement that looks at anything */
    if (lr_pg_start(c, readonly ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL REPEATABLE READ",
                    reads ? "; SELECT 1 FROM pg_catalog.pg_class LIMIT 1" : "", e) != 0)
        return -1;
    c->in_transaction = 1;
    return 0;
}

static int pg_commit(lr_conn *c, lr_err *e)
{
    if (PQtransactionStatus(c->pg) == PQTRANS_INERROR)
        return lr_fail(e, LR_FAILED, "the transaction failed before; nothing of it was kept");
    c->committing = 1;
    PGresult *r = lr_pg_run(c, "COMMIT", NULL, 0, e);
    c->committing = 0;
    /* a stop that came too late: the server had committed */
    if (r != NULL) c->stopped = 0;
    /* A failed transaction answers COMMIT with ROLLBACK, and no error. */
    int failed = r == NULL ? -1 : strcmp(PQcmdStatus(r), "COMMIT") != 0
                                      ? lr_fail(e, LR_FAILED, "the server rolled the transaction back") : 0;
    PQclear(r);
    if (failed == 0) c->in_transaction = 0;
    return failed;
}

static void pg_rollback(lr_conn *c)
{
    lr_err ignored = {0};
    if (c == NULL) return;
    c->in_transaction = 0;
    c->stopped = 0;
    if (is_lost(c) || PQtransactionStatus(c->pg) == PQTRANS_IDLE) return;
    int (*ask)(void *) = c->how.poll;
    c->how.poll = NULL; /* the stop that led here must not stop this */
    simple(c, "ROLLBACK", &ignored);
    c->how.poll = ask;
}

static int pg_reach(lr_conn *c, const lr_open *other, const char *schema, lr_err *e)
{
    (void)c;
    (void)other;
    (void)schema;
    (void)e;
    return 0;
}

/* The same server process, database and role. */
static char *identity(lr_conn *c, lr_err *e)
{
    PGresult *r = lr_pg_run(c,
        "SELECT (SELECT system_identifier FROM pg_control_system())::text || ' ' || "
        "extract(epoch FROM pg_postmaster_start_time())::text || ' ' || "
        "pg_is_in_recovery()::text || ' ' || current_database() || ' ' || session_user || ' ' || current_setting('search_path')", NULL, 0, e);
    char *out = r != NULL && PQntuples(r) == 1 ? lr_strdup(PQgetvalue(r, 0, 0)) : NULL;
    PQclear(r);
    return out;
}

static int pg_same(lr_conn *c, const char *url, lr_err *e)
{
    lr_open how = c->how;
    lr_conn *other = NULL;
    lr_err ignored = {0};
    how.url = url;
    if (lr_pg_open(&how, &other, e) != 0) return -1;
    char *a = identity(c, &ignored), *b = identity(other, &ignored);
    int same = a != NULL && b != NULL && strcmp(a, b) == 0;
    c->shared |= same;
    free(a);
    free(b);
    lr_pg_close(other);
    return same;
}

static int pg_probe(const char *url, lr_err *e)
{
    lr_open how = {.url = url, .readonly = 1};
    lr_conn *c = NULL;
    if (lr_pg_open(&how, &c, e) != 0) return -1;
    lr_pg_close(c);
    return 1;
}

static int64_t pg_progress(lr_conn *c)
{
    (void)c;
    return 0;
}

static const lr_driver driver = {
    .size = sizeof(lr_driver),
    .abi = LRUN_DRIVER_ABI,
    .name = "postgresql",
    .open = lr_pg_open,
    .close = lr_pg_close,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .cancel = lr_pg_cancel,
    .exec = lr_pg_exec,
    .query = lr_pg_query,
    .scan = lr_pg_scan,
    .streams_literals = 1,
    .next = lr_pg_next,
    .columns = lr_pg_columns,
    .finish = lr_pg_finish,
    .inspect = lr_pg_inspect,
    .sink = lr_pg_sink,
    .put = lr_pg_put,
    .end = lr_pg_end,
    .abort = lr_pg_abort,
    .reach = pg_reach,
    .same = pg_same,
    .probe = pg_probe,
    .progress = pg_progress,
    .pipe = lr_pg_pipe,
    .ask = lr_pg_ask,
    .type = lr_pg_type,
};

const lr_driver *lrun_driver(void);
const lr_driver *lrun_driver(void)
{
    return &driver;
}
