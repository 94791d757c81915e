/* Opening a connection, and the settings under which its transactions run.
 *
 * Settings are made inside each transaction and end with it: behind a pooler in
 * transaction mode the next transaction may have another server process, and
 * one left behind would change what another program gets. */
#include "driver/postgres/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void quiet(void *arg, const PGresult *r)
{
    (void)arg;
    (void)r;
}

static int refused(lr_conn *c, const char *setting, lr_err *e)
{
    lr_err ignored = {0};
    lr_buf sql = {0};
    lr_buf_printf(&sql, "BEGIN; SET LOCAL %s; ROLLBACK", setting);
    PGresult *r = lr_pg_script(c, sql.data, e);
    lr_buf_free(&sql);
    int failed = r != NULL ? 0 : -1;
    PQclear(r);
    if (failed != 0) PQclear(lr_pg_script(c, "ROLLBACK", &ignored));
    return failed;
}

/* No such parameter, not supported, not understood. */
static int is_unknown(const lr_err *e)
{
    return strcmp(e->sqlstate, "42704") == 0 || strcmp(e->sqlstate, "0A000") == 0 || strcmp(e->sqlstate, "42601") == 0;
}

/* All at once where the server knows all, else one by one: what only some
 * servers know is left out there. */
static int learn_settings(lr_conn *c, lr_err *e)
{
    /* a wait without end is not what --lock-timeout 0 means */
    char lock[64];
    snprintf(lock, sizeof lock, "lock_timeout = %d", c->how.lock_timeout_ms > 0 ? c->how.lock_timeout_ms : 1);
    const struct {
        const char *text;
        int needed; /* 2: by a server that knows it */
    } settings[] = {/* the server refuses a read that a policy would filter */
                    {c->how.row_security ? "row_security = on" : "row_security = off", 2},
                    {"DateStyle = 'ISO, YMD'", 1}, {"TimeZone = 'UTC'", 1}, {"extra_float_digits = 1", 1},
                    {"standard_conforming_strings = on", 1}, {"IntervalStyle = 'postgres'", 0}, {"bytea_output = 'hex'", 0},
                    {lock, 0},
                    /* the lock of a client that is gone goes within a second */
                    {PQserverVersion(c->pg) >= 140000 ? "client_connection_check_interval = 1000" : NULL, 0}};
    lr_buf all = {0}, known = {0};
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        if (settings[i].text != NULL) lr_buf_printf(&all, "%s%s", i > 0 ? "; SET LOCAL " : "", settings[i].text);
    lr_err ignored = {0};
    int failed = 0;
    if (refused(c, all.data, &ignored) != 0) {
        for (size_t i = 0; failed == 0 && i < sizeof settings / sizeof settings[0]; i++) {
            lr_err why = {0};
            if (settings[i].text == NULL) continue;
            if (refused(c, settings[i].text, &why) == 0)
                lr_buf_printf(&known, "%s%s", known.len > 0 ? "; SET LOCAL " : "", settings[i].text);
            else if (c->lost || settings[i].needed == 1 || (settings[i].needed == 2 && !is_unknown(&why))) {
                *e = why;
                failed = -1;
            }
        }
    }
    c->settings = lr_strdup(known.len > 0 ? known.data : all.data);
    lr_buf_free(&all);
    lr_buf_free(&known);
    return failed;
}

/* A text that cannot be taken apart may show its password where libpq quotes
 * what it did not understand. */
static int malformed(const char *url, lr_err *e)
{
    char *why = NULL;
    PQconninfoOption *options = PQconninfoParse(url, &why);
    if (options != NULL) {
        PQconninfoFree(options);
        return 0;
    }
    char text[400] = "";
    int secret = strstr(url, "password") != NULL || (strchr(url, ':') != NULL && strchr(url, '@') != NULL);
    if (why != NULL) lr_pg_one_line(why, text, sizeof text);
    for (char *open = text; secret && (open = strchr(open, '"')) != NULL;) {
        char *close = strchr(++open, '"');
        if (close == NULL) break;
        memset(open, '*', (size_t)(close - open));
        open = close + 1;
    }
    PQfreemem(why);
    lr_fail(e, LR_USAGE, "the connection's text is malformed: %s", text);
    return lr_hint(e, "write postgresql://user@host/database or \"host=... dbname=...\"; in a URL a character such as @ / : or %% is %%40 %%2F %%3A %%25");
}

int lr_pg_open(const lr_open *how, lr_conn **out, lr_err *e)
{
    *out = NULL;
    if (malformed(how->url, e) != 0) return -1;
    lr_conn *c = lr_malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->how = *how;
    c->url = lr_strdup(how->url);
    c->how.url = c->url;
    /* what comes before dbname is ours unless the user says otherwise */
    const char *patience = getenv("PGCONNECT_TIMEOUT");
    const char *keys[] = {"connect_timeout", "keepalives_idle", "keepalives_interval", "keepalives_count", "dbname",
                          "fallback_application_name", "client_encoding", NULL};
    const char *values[] = {patience != NULL ? patience : "10", "60", "10", "6", how->url, "lrun", "UTF8", NULL};
    c->pg = PQconnectdbParams(keys, values, 1);
    int failed = 0;
    if (PQstatus(c->pg) != CONNECTION_OK) {
        char text[600];
        lr_pg_one_line(PQerrorMessage(c->pg), text, sizeof text);
        lr_fail(e, LR_UNREACHABLE, "%s", text);
        failed = lr_hint(e, "check host, port, database, user and password; nothing was written");
    } else {
        PQsetNoticeReceiver(c->pg, quiet, NULL);
        failed = learn_settings(c, e);
        if (failed != 0 && e->status == LR_FAILED) e->status = LR_UNREACHABLE;
    }
    if (failed != 0) {
        lr_pg_close(c);
        return -1;
    }
    *out = c;
    return 0;
}

int lr_pg_start(lr_conn *c, const char *begin, const char *then, lr_err *e)
{
    lr_buf sql = {0};
    lr_err ignored = {0};
    lr_buf_printf(&sql, "%s; SET LOCAL %s%s", begin, c->settings, then);
    PGresult *r = lr_pg_script(c, sql.data, e);
    lr_buf_free(&sql);
    int failed = r != NULL ? 0 : -1;
    PQclear(r);
    if (failed != 0 && !c->lost) PQclear(lr_pg_script(c, "ROLLBACK", &ignored));
    return failed;
}

int lr_pg_enter(lr_conn *c, int *entered, lr_err *e)
{
    *entered = PQtransactionStatus(c->pg) == PQTRANS_IDLE;
    if (!*entered) return 0;
    if (lr_pg_start(c, "BEGIN READ ONLY", "", e) == 0) return 0;
    *entered = 0;
    return -1;
}

void lr_pg_leave(lr_conn *c, int entered)
{
    lr_err ignored = {0};
    if (!entered || c->lost) return;
    int (*ask)(void *) = c->how.poll;
    c->how.poll = NULL;
    PQclear(lr_pg_script(c, "ROLLBACK", &ignored));
    c->how.poll = ask;
}
