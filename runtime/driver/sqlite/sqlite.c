/* The SQLite driver: connections, transactions, and what reaches other files. */
#include "driver/sqlite/sqlite.h"
#include "driver/sqlite/internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

static int64_t now_us(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

static int ask_stop(lr_conn *c)
{
    if (c->how.poll != NULL && c->how.poll(c->how.arg)) c->stopped = 1;
    return c->stopped;
}

static int on_progress(void *arg)
{
    return ask_stop(arg);
}

static int on_busy(void *arg, int tries)
{
    lr_conn *c = arg;
    int64_t now = now_us();
    if (tries == 0) c->wait_from_us = now;
    if (ask_stop(c) || now - c->wait_from_us >= (int64_t)c->how.lock_timeout_ms * 1000) return 0;
    /* often, so that the moment between two dates of a backfill is not missed */
    struct timespec nap = {0, tries < 10 ? 1000000L : 3000000L};
    nanosleep(&nap, NULL);
    return 1;
}

static void on_update(void *arg, int op, const char *schema, const char *table, sqlite3_int64 id)
{
    lr_conn *c = arg;
    (void)id;
    c->touched++;
    if (c->count_table == NULL) return;
    /* called for each row, and mostly for one table: its name is at one place */
    if (table != c->seen_table || schema != c->seen_schema) {
        c->seen_table = table;
        c->seen_schema = schema;
        c->seen_counts = strcmp(schema, "main") == 0 && strcasecmp(table, c->count_table) == 0;
    }
    if (!c->seen_counts) return;
    if (op == SQLITE_INSERT) c->inserted++;
    else if (op == SQLITE_UPDATE) c->updated++;
}

/* The SQLSTATE that PostgreSQL gives to the same violation. */
static const char *constraint_state(int rc)
{
    switch (rc) {
    case SQLITE_CONSTRAINT_UNIQUE:
    case SQLITE_CONSTRAINT_PRIMARYKEY:
    case SQLITE_CONSTRAINT_ROWID:
        return "23505";
    case SQLITE_CONSTRAINT_NOTNULL:
        return "23502";
    case SQLITE_CONSTRAINT_FOREIGNKEY:
        return "23503";
    case SQLITE_CONSTRAINT_CHECK:
        return "23514";
    default:
        return "23000";
    }
}

int lr_sqlite_error(lr_conn *c, int rc, const char *sql, lr_err *e)
{
    int primary = rc & 0xff;
    const char *text = c->db != NULL ? sqlite3_errmsg(c->db) : sqlite3_errstr(rc);
    if (primary == SQLITE_INTERRUPT && c->stopped && c->how.stopped != NULL) {
        c->stopped = 0;
        return c->how.stopped(c->how.arg, e);
    }
    lr_status status = LR_FAILED;
    const char *hint = NULL;
    char named[512];
    switch (primary) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
        if (c->stopped && c->how.stopped != NULL) {
            c->stopped = 0;
            return c->how.stopped(c->how.arg, e);
        }
        status = LR_BUSY;
        snprintf(named, sizeof named, "another process holds the lock on %s", c->path != NULL ? c->path : "the file");
        text = named;
        hint = "wait for it to end, or pass a longer --lock-timeout";
        break;
    case SQLITE_FULL:
        snprintf(named, sizeof named, "the disk is full, writing %s", c->path != NULL ? c->path : "the file");
        text = named;
        hint = "free some space and run again; nothing of this run was kept";
        break;
    case SQLITE_IOERR:
        hint = "the disk or its limits refused the write or read; nothing of this run was kept";
        break;
    case SQLITE_READONLY:
        status = LR_UNREACHABLE;
        hint = "give write permission on the file and its folder";
        break;
    case SQLITE_CANTOPEN:
    case SQLITE_NOTADB:
    case SQLITE_PERM:
    case SQLITE_AUTH:
        status = primary == SQLITE_AUTH ? LR_FAILED : LR_UNREACHABLE;
        break;
    case SQLITE_CONSTRAINT:
        hint = "a row breaks a constraint of the target: fix the source, or leave such rows out with where";
        break;
    case SQLITE_CORRUPT:
        hint = "check the file with PRAGMA integrity_check";
        break;
    default:
        break;
    }
    int first = e->status == LR_OK;
    if (first && primary == SQLITE_CONSTRAINT) strcpy(e->sqlstate, constraint_state(rc));
    lr_fail(e, status, "%s (%s)", text, sqlite3_errstr(rc));
    if (first) {
        e->code = rc;
        int offset = c->db != NULL ? sqlite3_error_offset(c->db) : -1;
        e->position = offset >= 0 ? offset + 1 : 0;
        if (sql != NULL) {
            size_t n = strlen(sql);
            if (n >= sizeof e->statement) n = sizeof e->statement - 1;
            memcpy(e->statement, sql, n);
            e->statement[n] = 0;
        }
        if (hint != NULL) lr_hint(e, "%s", hint);
    }
    return -1;
}

int lr_sqlite_still_open(lr_conn *c, lr_err *e)
{
    if (!c->in_transaction || !sqlite3_get_autocommit(c->db)) return 0;
    c->in_transaction = 0;
    return lr_fail(e, LR_FAILED, "the database ended the transaction; nothing of it was kept");
}

/* "file:" with the bytes that a URI gives a meaning escaped. */
static char *uri_of(const char *path, const char *query)
{
    lr_buf b = {0};
    if (strcmp(path, ":memory:") == 0) {
        lr_buf_puts(&b, path);
        return b.data;
    }
    lr_buf_puts(&b, "file://");
    for (const char *p = path; *p != 0; p++) {
        if (*p == '%' || *p == '?' || *p == '#') lr_buf_printf(&b, "%%%02X", (unsigned char)*p);
        else lr_buf_putc(&b, *p);
    }
    lr_buf_puts(&b, query);
    return b.data;
}

static void sqlite_close(lr_conn *c)
{
    if (c == NULL) return;
    lr_sqlite_cache_clear(c);
    lr_arena_free(&c->inspected);
    sqlite3_close_v2(c->db);
    free(c->count_table);
    free(c->path);
    free(c);
}

static int simple(lr_conn *c, const char *sql, lr_err *e)
{
    return lr_sqlite_exec(c, sql, NULL, 0, NULL, e);
}

static int is_wal(lr_conn *c, const char *schema, lr_err *e)
{
    lr_buf sql = {0};
    lr_buf_printf(&sql, "PRAGMA \"%s\".journal_mode", schema);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(c->db, sql.data, -1, &stmt, NULL);
    if (rc == SQLITE_OK) rc = sqlite3_step(stmt);
    int wal = 0;
    if (rc == SQLITE_ROW)
        wal = strcmp((const char *)sqlite3_column_text(stmt, 0), "wal") == 0;
    else
        lr_sqlite_error(c, rc, sql.data, e);
    sqlite3_finalize(stmt);
    lr_buf_free(&sql);
    return rc == SQLITE_ROW ? wal : -1;
}

/* Two first runs at once: this change of mode does not ask the busy handler. */
static int start_wal(lr_conn *c, lr_err *e)
{
    int64_t from = now_us();
    while (simple(c, "PRAGMA journal_mode = WAL", e) != 0) {
        if (e->status != LR_BUSY || ask_stop(c) || now_us() - from > (int64_t)c->how.lock_timeout_ms * 1000) return -1;
        memset(e, 0, sizeof *e);
        struct timespec nap = {0, 5000000L};
        nanosleep(&nap, NULL);
    }
    return 0;
}

static int set_up(lr_conn *c, int fresh, lr_err *e)
{
    sqlite3_extended_result_codes(c->db, 1);
    /* A misspelt quoted column must be an error, never a string. */
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DQS_DML, 0, NULL);
    sqlite3_db_config(c->db, SQLITE_DBCONFIG_DEFENSIVE, 1, NULL);
    lr_sqlite_watch(c);
    sqlite3_busy_handler(c->db, on_busy, c);
    sqlite3_progress_handler(c->db, 4000, on_progress, c);
    if (lr_sqlite_register_functions(c->db) != 0 || lr_sqlite_register_sums(c->db) != 0 || lr_sqlite_register_positions(c->db) != 0 || lr_sqlite_register_checksums(c->db) != 0 ||
        lr_sqlite_register_schema(c->db) != 0)
        return lr_fail(e, LR_FAILED, "SQLite refused lrun's functions: %s", sqlite3_errmsg(c->db));
    if (simple(c, "PRAGMA foreign_keys = ON", e) != 0) return -1;
    if (simple(c, "PRAGMA cache_size = -16384", e) != 0) return -1;
    if (!c->how.readonly && fresh && strcmp(c->path, ":memory:") != 0 && start_wal(c, e) != 0) return -1;
    int wal = is_wal(c, "main", e);
    if (wal < 0) return -1;
    /* In WAL mode NORMAL cannot lose a part of a transaction, and saves a sync
     * for each commit; in rollback mode only FULL promises that. */
    if (wal && simple(c, "PRAGMA synchronous = NORMAL", e) != 0) return -1;
    if (wal && simple(c, "PRAGMA wal_autocheckpoint = 16000", e) != 0) return -1;
    return 0;
}

static int sqlite_open(const lr_open *how, lr_conn **out, lr_err *e)
{
    int exists = 1;
    *out = NULL;
    if (!how->is_open && lr_sqlite_check_file(how->url, !how->readonly, &exists, e) != 0) return -1;
    char *path = lr_sqlite_path(how->url);
    int memory = strcmp(path, ":memory:") == 0;
    if (!exists && !memory && !how->create) {
        free(path);
        lr_fail(e, LR_UNREACHABLE, "%s: no such database", how->url);
        return lr_hint(e, "correct the path, or make the database first");
    }
    lr_conn *c = lr_malloc(sizeof *c);
    memset(c, 0, sizeof *c);
    c->how = *how;
    c->how.url = NULL; /* the caller's text may go before the connection does */
    c->path = path;
    char *uri = uri_of(path, how->readonly && !memory ? "?mode=ro" : "");
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE;
    int rc = sqlite3_open_v2(uri, &c->db, flags, lr_sqlite_vfs());
    free(uri);
    int failed = rc != SQLITE_OK ? lr_sqlite_error(c, rc, NULL, e) : set_up(c, !exists, e);
    if (failed == 0 && !how->readonly && sqlite3_db_readonly(c->db, "main") == 1) {
        lr_fail(e, LR_UNREACHABLE, "is read-only");
        failed = lr_hint(e, "give write permission on the file and its folder");
    }
    if (failed != 0) {
        if (e->status == LR_FAILED) e->status = LR_UNREACHABLE;
        if (e->step[0] == 0) lr_step(e, "opening %s", how->url);
        sqlite_close(c);
        return -1;
    }
    sqlite3_update_hook(c->db, on_update, c);
    lr_sqlite_remember(c);
    *out = c;
    return 0;
}

/* A deferred BEGIN takes its snapshots one by one, each at the first read. */
static int read_every_schema(lr_conn *c, lr_err *e)
{
    sqlite3_stmt *list = NULL;
    int rc = sqlite3_prepare_v2(c->db, "PRAGMA database_list", -1, &list, NULL);
    int failed = rc == SQLITE_OK ? 0 : lr_sqlite_error(c, rc, "PRAGMA database_list", e);
    while (failed == 0 && sqlite3_step(list) == SQLITE_ROW) {
        char *sql = sqlite3_mprintf("SELECT 1 FROM \"%w\".sqlite_schema LIMIT 1",
                                    (const char *)sqlite3_column_text(list, 1));
        if (sql == NULL) abort();
        lr_cursor *k = NULL;
        const lr_value *row;
        if (lr_sqlite_query(c, sql, NULL, 0, &k, e) != 0 || lr_sqlite_next(k, &row, e) < 0) failed = -1;
        lr_sqlite_finish(k);
        sqlite3_free(sql);
    }
    sqlite3_finalize(list);
    return failed;
}

/* One number of a statement; -1 and e where it fails. */
static int64_t number(lr_conn *c, const char *sql, lr_err *e)
{
    lr_cursor *k = NULL;
    const lr_value *row;
    int64_t out = -1;
    if (lr_sqlite_query(c, sql, NULL, 0, &k, e) == 0 && lr_sqlite_next(k, &row, e) == 1) out = row[0].i;
    lr_sqlite_finish(k);
    return out;
}

int lr_sqlite_defer_keys(lr_conn *c, int changed, lr_err *e)
{
    if (c->deferred) return 0;
    if (!changed) {
        int64_t version = number(c, "PRAGMA main.schema_version", e);
        if (version < 0) return -1;
        if (version != c->keys_version || !c->keys_known) {
            int64_t found = number(c, "SELECT EXISTS (SELECT 1 FROM main.sqlite_schema m, pragma_foreign_key_list(m.name, 'main') f "
                                      "WHERE m.type = 'table')", e);
            if (found < 0) return -1;
            c->keys_known = 1;
            c->keys_version = version;
            c->keys_there = found != 0;
        }
        if (!c->keys_there) return 0;
    }
    c->deferred = 1;
    return simple(c, "PRAGMA defer_foreign_keys = ON", e);
}

static int sqlite_begin(lr_conn *c, int write, lr_err *e)
{
    c->stopped = 0;
    if (simple(c, write ? "BEGIN IMMEDIATE" : "BEGIN", e) != 0) return -1;
    c->in_transaction = 1;
    if (write) {
        c->deferred = 0;
        return lr_sqlite_defer_keys(c, 0, e);
    }
    return read_every_schema(c, e);
}

/* Which row lacks its parent. */
static void name_foreign_key(lr_conn *c, lr_err *e)
{
    sqlite3_stmt *stmt = NULL;
    if (sqlite3_prepare_v2(c->db, "PRAGMA main.foreign_key_check", -1, &stmt, NULL) == SQLITE_OK && sqlite3_step(stmt) == SQLITE_ROW) {
        snprintf(e->message, sizeof e->message, "FOREIGN KEY constraint failed: %s row %s refers to %s, which has no such row",
                 (const char *)sqlite3_column_text(stmt, 0), (const char *)sqlite3_column_text(stmt, 1),
                 (const char *)sqlite3_column_text(stmt, 2));
        lr_hint(e, "load %s first, or leave such rows out with where", (const char *)sqlite3_column_text(stmt, 2));
    }
    sqlite3_finalize(stmt);
}

static int sqlite_commit(lr_conn *c, lr_err *e)
{
    if (lr_sqlite_still_open(c, e) != 0 || lr_sqlite_still_there(c, e) != 0) return -1;
    if (simple(c, "COMMIT", e) != 0) {
        if (e->code == SQLITE_CONSTRAINT_FOREIGNKEY) name_foreign_key(c, e);
        return -1;
    }
    c->in_transaction = 0;
    return 0;
}

static void sqlite_rollback(lr_conn *c)
{
    if (c == NULL) return;
    c->in_transaction = 0;
    c->stopped = 0;
    if (sqlite3_get_autocommit(c->db)) return;
    /* The stop that led here must not stop the rollback too. */
    sqlite3_progress_handler(c->db, 0, NULL, NULL);
    sqlite3_exec(c->db, "ROLLBACK", NULL, NULL, NULL);
    sqlite3_progress_handler(c->db, 4000, on_progress, c);
}

static void sqlite_cancel(lr_conn *c)
{
    if (c != NULL) sqlite3_interrupt(c->db);
}

static int sqlite_reach(lr_conn *c, const lr_open *other, const char *schema, lr_err *e)
{
    if (strncmp(other->url, "sqlite:", 7) != 0) return 0;
    int exists;
    if (lr_sqlite_check_file(other->url, 0, &exists, e) != 0) return -1;
    char *path = lr_sqlite_path(other->url);
    int memory = strcmp(path, ":memory:") == 0;
    if (!exists && !memory) {
        free(path);
        lr_fail(e, LR_UNREACHABLE, "%s: no such database", other->url);
        return lr_hint(e, "correct the path, or make the database first");
    }
    char *uri = uri_of(path, memory ? "" : "?mode=ro");
    lr_value args[2] = {lr_text(uri), lr_text(schema)};
    int failed = lr_sqlite_exec(c, "ATTACH DATABASE ? AS ?", args, 2, NULL, e);
    if (failed == 0) {
        char *sql = sqlite3_mprintf("PRAGMA \"%w\".cache_size = -8192", schema);
        failed = simple(c, sql, e);
        sqlite3_free(sql);
    }
    if (failed == 0 && is_wal(c, schema, e) < 0) failed = -1; /* reads the file's head */
    if (failed != 0) {
        if (e->status == LR_FAILED) e->status = LR_UNREACHABLE;
        if (e->status == LR_BUSY) snprintf(e->message, sizeof e->message, "another process holds the lock on %s", path);
        lr_step(e, "opening %s", other->url);
    }
    free(uri);
    free(path);
    return failed == 0 ? 1 : -1;
}

static int sqlite_same(lr_conn *c, const char *url, lr_err *e)
{
    (void)e;
    if (strncmp(url, "sqlite:", 7) != 0) return 0;
    char *other = lr_sqlite_path(url);
    struct stat a, b;
    int same = strcmp(c->path, ":memory:") != 0 && stat(c->path, &a) == 0 && stat(other, &b) == 0 &&
               a.st_dev == b.st_dev && a.st_ino == b.st_ino;
    free(other);
    return same;
}

static int sqlite_count(lr_conn *c, const char *table, int64_t *inserted, int64_t *updated)
{
    if (inserted != NULL) *inserted = c->inserted;
    if (updated != NULL) *updated = c->updated;
    c->inserted = c->updated = 0;
    free(c->count_table);
    c->count_table = table != NULL ? lr_strdup(table) : NULL;
    c->seen_table = NULL;
    if (table == NULL) return 0;
    /* The update hook does not see tables WITHOUT ROWID. */
    char *sql = sqlite3_mprintf("SELECT rowid FROM main.\"%w\" LIMIT 0", table);
    sqlite3_stmt *stmt = NULL;
    int rc = sqlite3_prepare_v2(c->db, sql, -1, &stmt, NULL);
    sqlite3_finalize(stmt);
    sqlite3_free(sql);
    return rc == SQLITE_OK ? 0 : 1;
}

static int sqlite_blocks(lr_conn *c, const char *schema)
{
    lr_err ignored = {0};
    if (schema == NULL) schema = "main";
    const char *file = sqlite3_db_filename(c->db, schema);
    return file != NULL && file[0] != 0 && is_wal(c, schema, &ignored) == 0;
}

static int sqlite_scan(lr_conn *c, const char *sql, const lr_value *params, int n, int streams, lr_cursor **out, lr_err *e)
{
    (void)streams; /* statements never keep each other waiting here */
    return lr_sqlite_query(c, sql, params, n, out, e);
}

static void type(const char *native, int64_t number, int modifier, lr_type *out)
{
    (void)number;
    (void)modifier;
    *out = lr_sqlite_type(native);
}

static int64_t sqlite_progress(lr_conn *c)
{
    return c->touched;
}

const lr_driver lr_sqlite_driver = {
    .size = sizeof(lr_driver),
    .abi = LRUN_DRIVER_ABI,
    .name = "sqlite",
    .open = sqlite_open,
    .close = sqlite_close,
    .begin = sqlite_begin,
    .commit = sqlite_commit,
    .rollback = sqlite_rollback,
    .cancel = sqlite_cancel,
    .exec = lr_sqlite_exec,
    .query = lr_sqlite_query,
    .scan = sqlite_scan,
    .next = lr_sqlite_next,
    .columns = lr_sqlite_columns,
    .finish = lr_sqlite_finish,
    .inspect = lr_sqlite_inspect,
    .sink = lr_sqlite_sink,
    .put = lr_sqlite_put,
    .end = lr_sqlite_end,
    .abort = lr_sqlite_abort,
    .reach = sqlite_reach,
    .same = sqlite_same,
    .probe = lr_sqlite_probe,
    .count = sqlite_count,
    .blocks = sqlite_blocks,
    .clock = lr_sqlite_clock,
    .progress = sqlite_progress,
    .sink_by = lr_sqlite_sink_by,
    .type = type,
};
