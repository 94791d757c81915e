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
static void one_line(const char *text, char *out, size_t size)
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
    else if (strcmp(state, "42501") == 0) lr_hint(e, "grant the role what is named, see README, roles");
    else if (strcmp(state, "55P03") == 0) lr_hint(e, "wait for the other to end, or pass a longer --lock-timeout");
    else if (strcmp(state, "57014") == 0) lr_hint(e, "the server's statement_timeout, or somebody, cancelled the statement");
    else if (strncmp(state, "40", 2) == 0) lr_hint(e, "another transaction was in the way; run again, nothing was kept");
}

int lr_pg_error(lr_conn *c, const PGresult *r, const char *sql, lr_err *e)
{
    char text[900];
    const char *state = r != NULL ? PQresultErrorField(r, PG_DIAG_SQLSTATE) : NULL;
    if (c->stopped && c->how.stopped != NULL) {
        c->stopped = 0;
        return c->how.stopped(c->how.arg, e);
    }
    /* A dead connection gives a result without SQLSTATE, or none at all. */
    int lost = is_lost(c) || (state != NULL && (strncmp(state, "57P", 3) == 0 || strncmp(state, "08", 2) == 0));
    one_line(r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY) != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_PRIMARY)
                                                                                 : PQresultErrorMessage(r)
                       : PQerrorMessage(c->pg), text, sizeof text);
    int first = e->status == LR_OK;
    if (lost) c->lost = 1;
    if (state == NULL) state = lost ? "08006" : "";
    lr_status status = strcmp(state, "55P03") == 0 ? LR_BUSY : lost && c->committing ? LR_UNKNOWN : LR_FAILED;
    lr_fail(e, status, lost ? "the connection was lost: %s (SQLSTATE %s)" : "%s (SQLSTATE %s)", text, state);
    if (!first) return -1;
    snprintf(e->sqlstate, sizeof e->sqlstate, "%s", state);
    e->retry = strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0;
    const char *detail = r != NULL ? PQresultErrorField(r, PG_DIAG_MESSAGE_DETAIL) : NULL;
    if (detail != NULL) {
        size_t n = strlen(e->message);
        one_line(detail, text, sizeof text);
        snprintf(e->message + n, sizeof e->message - n, ": %s", text);
    }
    const char *context = r != NULL ? PQresultErrorField(r, PG_DIAG_CONTEXT) : NULL;
    while (context != NULL && strncmp(context, "COPY ", 5) != 0) {
        context = strchr(context, '\n');
        if (context != NULL) context++;
    }
    if (context != NULL) {
        size_t n = strlen(e->message);
        one_line(context, text, sizeof text);
        snprintf(e->message + n, sizeof e->message - n, " (%.300s)", text);
    }
    const char *position = r != NULL ? PQresultErrorField(r, PG_DIAG_STATEMENT_POSITION) : NULL;
    if (position != NULL) e->position = atoi(position);
    if (sql != NULL) snprintf(e->statement, sizeof e->statement, "%s", sql);
    hint_for(state, r, e);
    return -1;
}

int lr_pg_wait(lr_conn *c, lr_err *e)
{
    while (PQisBusy(c->pg)) {
        struct pollfd fd = {PQsocket(c->pg), POLLIN, 0};
        poll(&fd, 1, 100);
        if (!c->stopped && c->how.poll != NULL && c->how.poll(c->how.arg)) {
            char why[256];
            c->stopped = 1;
            PGcancel *cancel = PQgetCancel(c->pg);
            if (cancel != NULL) PQcancel(cancel, why, sizeof why);
            PQfreeCancel(cancel);
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

static void pg_close(lr_conn *c)
{
    if (c == NULL) return;
    PQfinish(c->pg);
    for (int i = 0; i < c->ntypes; i++) free(c->types[i].name);
    free(c->types);
    lr_arena_free(&c->inspected);
    free(c->url);
    free(c);
}

static void quiet(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

/* Settings that the server may not know are asked for, one by one. */
static int set_up(lr_conn *c, lr_err *e)
{
    char text[160];
    PQsetNoticeReceiver(c->pg, quiet, NULL);
    if (simple(c, "SET DateStyle = 'ISO, YMD'", e) != 0 || simple(c, "SET IntervalStyle = 'postgres'", e) != 0 ||
        simple(c, "SET TimeZone = 'UTC'", e) != 0 || simple(c, "SET extra_float_digits = 1", e) != 0 ||
        simple(c, "SET bytea_output = 'hex'", e) != 0 || simple(c, "SET standard_conforming_strings = on", e) != 0)
        return -1;
    snprintf(text, sizeof text, "SET lock_timeout = %d", c->how.lock_timeout_ms);
    if (simple(c, text, e) != 0) return -1;
    lr_err ignored = {0};
    if (PQserverVersion(c->pg) >= 140000) simple(c, "SET client_connection_check_interval = 1000", &ignored);
    return 0;
}

static int pg_open(const lr_open *how, lr_conn **out, lr_err *e)
{
    *out = NULL;
    lr_conn *c = lr_malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->how = *how;
    c->url = lr_strdup(how->url);
    c->how.url = c->url;
    const char *keys[] = {"dbname", "fallback_application_name", "client_encoding", "connect_timeout", NULL};
    const char *values[] = {how->url, "lrun", "UTF8", "10", NULL};
    c->pg = PQconnectdbParams(keys, values, 1);
    int failed = 0;
    if (PQstatus(c->pg) != CONNECTION_OK) {
        char text[600];
        one_line(PQerrorMessage(c->pg), text, sizeof text);
        lr_fail(e, LR_UNREACHABLE, "%s", text);
        failed = lr_hint(e, "check host, port, database, user and password; nothing was written");
    } else {
        failed = set_up(c, e);
        if (failed != 0 && e->status == LR_FAILED) e->status = LR_UNREACHABLE;
    }
    if (failed != 0) {
        pg_close(c);
        return -1;
    }
    *out = c;
    return 0;
}

static int pg_begin(lr_conn *c, int write, lr_err *e)
{
    c->stopped = 0;
    int readonly = (!write || c->how.readonly) && !c->how.temporary;
    if (simple(c, readonly ? "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY" : "BEGIN ISOLATION LEVEL REPEATABLE READ", e) != 0)
        return -1;
    c->in_transaction = 1;
    /* the snapshot is taken by the first statement that looks at anything */
    return readonly ? simple(c, "SELECT 1 FROM pg_catalog.pg_class LIMIT 1", e) : 0;
}

static int pg_commit(lr_conn *c, lr_err *e)
{
    if (PQtransactionStatus(c->pg) == PQTRANS_INERROR)
        return lr_fail(e, LR_FAILED, "the transaction failed before; nothing of it was kept");
    c->committing = 1;
    PGresult *r = lr_pg_run(c, "COMMIT", NULL, 0, e);
    c->committing = 0;
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

static void pg_cancel(lr_conn *c)
{
    char why[256];
    PGcancel *cancel = c != NULL ? PQgetCancel(c->pg) : NULL;
    if (cancel != NULL) PQcancel(cancel, why, sizeof why);
    PQfreeCancel(cancel);
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
    if (pg_open(&how, &other, e) != 0) return -1;
    char *a = identity(c, &ignored), *b = identity(other, &ignored);
    int same = a != NULL && b != NULL && strcmp(a, b) == 0;
    free(a);
    free(b);
    pg_close(other);
    return same;
}

static int pg_probe(const char *url, lr_err *e)
{
    lr_open how = {.url = url, .readonly = 1};
    lr_conn *c = NULL;
    if (pg_open(&how, &c, e) != 0) return -1;
    pg_close(c);
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
    .open = pg_open,
    .close = pg_close,
    .begin = pg_begin,
    .commit = pg_commit,
    .rollback = pg_rollback,
    .cancel = pg_cancel,
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
};

const lr_driver *lrun_driver(void);
const lr_driver *lrun_driver(void)
{
    return &driver;
}
