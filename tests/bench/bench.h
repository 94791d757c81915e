/* bench.h - what the benchmark's own programs share: opening a database and
 * running statements; whatever fails ends the program. */
#ifndef LRUN_BENCH_H
#define LRUN_BENCH_H

#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>

static inline void die(const char *what, const char *why)
{
    fprintf(stderr, "%s: %s\n", what, why);
    exit(1);
}

static inline sqlite3 *open_database(const char *path)
{
    sqlite3 *db;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    if (sqlite3_open_v2(path, &db, flags, NULL) != SQLITE_OK) die(path, sqlite3_errmsg(db));
    return db;
}

static inline void run(sqlite3 *db, const char *sql)
{
    if (sqlite3_exec(db, sql, NULL, NULL, NULL) != SQLITE_OK) die(sql, sqlite3_errmsg(db));
}

static inline sqlite3_stmt *prepare(sqlite3 *db, const char *sql)
{
    sqlite3_stmt *stmt;
    if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) != SQLITE_OK) die(sql, sqlite3_errmsg(db));
    return stmt;
}

#endif
