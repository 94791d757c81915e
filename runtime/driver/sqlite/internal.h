/* internal.h - what the files of the SQLite driver share. */
#ifndef LRUN_DRIVER_SQLITE_INTERNAL_H
#define LRUN_DRIVER_SQLITE_INTERNAL_H

#include "base/mem.h"
#include "lrun/driver.h"
#include <sqlite3.h>
#include <sys/types.h>

#define LR_CACHED_STATEMENTS 64

typedef struct lr_cached {
    char *sql;
    sqlite3_stmt *stmt;
    unsigned used; /* age, for eviction */
    int busy;
    int stable; /* its plan does not follow the values */
} lr_cached;

struct lr_conn {
    sqlite3 *db;
    char *path; /* absolute, or ":memory:" */
    dev_t device; /* of the file that was opened; inode 0: none */
    ino_t inode;
    lr_open how;
    int in_transaction;
    int stopped; /* poll asked for a stop */
    int64_t wait_from_us;
    lr_cached cache[LR_CACHED_STATEMENTS];
    unsigned clock;
    lr_arena inspected;
    lr_inspection inspection;
    struct watch *watching; /* the inspection that goes on */
    /* rows counted by the update hook */
    char *count_table;
    int deferred; /* foreign keys wait for the end of this transaction */
    int keys_known, keys_there; /* are there foreign keys in the schema of that version? */
    int64_t keys_version;
    const char *seen_table, *seen_schema; /* of the last row, only to compare the pointers */
    int seen_counts;
    int64_t inserted, updated, touched;
};

/* What is committed to a file that somebody removed or replaced would be lost. */
void lr_sqlite_remember(lr_conn *c);
int lr_sqlite_still_there(const lr_conn *c, lr_err *e);

/* Fill e from the connection's last error. Always returns -1. */
int lr_sqlite_error(lr_conn *c, int rc, const char *sql, lr_err *e);

/* A statement from the cache, and back into it. */
int lr_sqlite_take(lr_conn *c, const char *sql, sqlite3_stmt **out, lr_err *e);
void lr_sqlite_give(lr_conn *c, sqlite3_stmt *stmt);
void lr_sqlite_cache_clear(lr_conn *c);

int lr_sqlite_bind(lr_conn *c, sqlite3_stmt *stmt, const lr_value *params, int n,
                   const char *sql, lr_err *e);

/* A partition is deleted and filled again: foreign keys are to be right at the
 * end of the transaction, not after each statement. The pragma makes SQLite plan
 * every statement anew, so it is given only where the schema has such keys, or
 * has changed within the transaction. */
int lr_sqlite_defer_keys(lr_conn *c, int changed, lr_err *e);

/* The transaction may have been ended by the engine (disk full, OR ROLLBACK). */
int lr_sqlite_still_open(lr_conn *c, lr_err *e);

/* Does a column of the affinity (its first letter) keep the value exactly? */
int lr_sqlite_keeps(const lr_value *v, char affinity);

int lr_sqlite_register_functions(sqlite3 *db);
int lr_sqlite_register_sums(sqlite3 *db);
int lr_sqlite_register_positions(sqlite3 *db);
int lr_sqlite_register_checksums(sqlite3 *db);
int lr_sqlite_register_schema(sqlite3 *db);

int lr_sqlite_exec(lr_conn *c, const char *sql, const lr_value *params, int n,
                   int64_t *changed, lr_err *e);
int lr_sqlite_query(lr_conn *c, const char *sql, const lr_value *params, int n,
                    lr_cursor **out, lr_err *e);
int lr_sqlite_next(lr_cursor *k, const lr_value **row, lr_err *e);
const lr_column *lr_sqlite_columns(lr_cursor *k, int *n);
void lr_sqlite_finish(lr_cursor *k);
int lr_sqlite_sink(lr_conn *c, const char *table, const lr_column *columns, int n, const struct lr_zone *zone, int streams, lr_sink **out, lr_err *e);
int lr_sqlite_sink_by(lr_conn *c, const char *sql, const lr_column *columns, int n, const struct lr_zone *zone, lr_sink **out, lr_err *e);
int lr_sqlite_put(lr_sink *s, const lr_value *row, lr_err *e);
int lr_sqlite_end(lr_sink *s, int64_t *rows, lr_err *e);
void lr_sqlite_abort(lr_sink *s);
void lr_sqlite_watch(lr_conn *c); /* once, for inspect */
int lr_sqlite_inspect(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e);

const char *lr_sqlite_vfs(void); /* NULL: the default one */
void lr_sqlite_clock(lr_conn *c, int64_t us);

int lr_sqlite_probe(const char *url, lr_err *e);
char *lr_sqlite_path(const char *url); /* malloc'd absolute path or ":memory:" */
int lr_sqlite_check_file(const char *url, int write, int *exists, lr_err *e);

#endif
