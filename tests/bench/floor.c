/* floor LANE SOURCE TARGET [DAY DAYS] - what lrun is measured against: the
 * lane's work written by hand, by the best method that SQLite has for it, with
 * nothing of what lrun adds. The lanes: load, merge, unchanged, days: so many
 * from that one on, each its own transaction. */
#include "bench.h"
#include <math.h>
#include <string.h>
#include <time.h>

static const char load[] = "INSERT INTO main.orders SELECT * FROM source.orders";

#define UPSERT                                                                                    \
    "INSERT INTO main.orders SELECT * FROM source.orders WHERE true "                             \
    "ON CONFLICT (order_id) DO UPDATE SET customer_id = excluded.customer_id, "                   \
    "order_date = excluded.order_date, amount = excluded.amount, status = excluded.status, "      \
    "note = excluded.note, updated_at = excluded.updated_at"

/* Nearly all of what it reads is new or has changed: no use in a comparison. */
static const char merge[] = UPSERT;

/* Nothing has changed: a comparison saves every write. */
static const char unchanged[] =
    UPSERT " WHERE orders.updated_at IS NOT excluded.updated_at OR orders.note IS NOT excluded.note "
           "OR orders.status IS NOT excluded.status OR orders.amount IS NOT excluded.amount "
           "OR orders.order_date IS NOT excluded.order_date OR orders.customer_id IS NOT excluded.customer_id";

static const struct {
    const char *lane, *sql;
} whole_tables[] = {{"load", load}, {"merge", merge}, {"unchanged", unchanged}};

enum { BEGIN, DELETE, INSERT, SOURCE, TARGET, COMMIT, STATEMENTS };

static const char *const day_sql[STATEMENTS] = {
    "BEGIN IMMEDIATE",
    "DELETE FROM main.orders WHERE order_date >= ? AND order_date < ?",
    "INSERT INTO main.orders SELECT * FROM source.orders WHERE order_date >= ? AND order_date < ?",
    "SELECT count(*), sum(amount) FROM source.orders WHERE order_date >= ? AND order_date < ?",
    "SELECT count(*), sum(amount) FROM main.orders WHERE order_date >= ? AND order_date < ?",
    "COMMIT",
};

typedef struct side {
    sqlite3_int64 count;
    double total;
} side;

static side step(sqlite3 *db, sqlite3_stmt *stmt, char (*days)[11])
{
    side s = {0, 0};
    int rc;
    if (sqlite3_bind_parameter_count(stmt) > 0) {
        sqlite3_bind_text(stmt, 1, days[0], -1, SQLITE_STATIC);
        sqlite3_bind_text(stmt, 2, days[1], -1, SQLITE_STATIC);
    }
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        s.count = sqlite3_column_int64(stmt, 0);
        s.total = sqlite3_column_double(stmt, 1);
    }
    if (rc != SQLITE_DONE) die(sqlite3_sql(stmt), sqlite3_errmsg(db));
    sqlite3_reset(stmt);
    return s;
}

static void days(sqlite3 *db, const char *first, int count)
{
    sqlite3_stmt *stmts[STATEMENTS];
    char text[2][11];
    struct tm day = {0};
    if (strptime(first, "%Y-%m-%d", &day) == NULL) die(first, "no date");
    time_t t = timegm(&day);
    for (int i = 0; i < STATEMENTS; i++) stmts[i] = prepare(db, day_sql[i]);
    for (; count > 0; count--, t += 86400) {
        for (int i = 0; i < 2; i++) {
            time_t at = t + i * 86400;
            strftime(text[i], sizeof text[i], "%Y-%m-%d", gmtime_r(&at, &day));
        }
        side sides[STATEMENTS];
        for (int i = 0; i < STATEMENTS; i++) sides[i] = step(db, stmts[i], text);
        side a = sides[SOURCE], b = sides[TARGET];
        if (a.count != b.count || fabs(a.total - b.total) > 0.005) die(text[0], "the two sides differ");
    }
    for (int i = 0; i < STATEMENTS; i++) sqlite3_finalize(stmts[i]);
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6) die("usage", "floor LANE SOURCE TARGET [DAY DAYS]");
    sqlite3 *db = open_database(argv[3]);
    /* A larger cache takes more memory and is no faster: each page is met once. */
    run(db, "PRAGMA cache_size = -8192; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000");
    sqlite3_stmt *attach = prepare(db, "ATTACH 'file:' || ? || '?mode=ro' AS source");
    sqlite3_bind_text(attach, 1, argv[2], -1, SQLITE_STATIC);
    if (sqlite3_step(attach) != SQLITE_DONE) die(argv[2], sqlite3_errmsg(db));
    sqlite3_finalize(attach);
    int known = 0;
    for (size_t i = 0; i < sizeof whole_tables / sizeof whole_tables[0]; i++) {
        if (strcmp(whole_tables[i].lane, argv[1]) != 0) continue;
        run(db, "BEGIN IMMEDIATE");
        run(db, whole_tables[i].sql);
        run(db, "COMMIT");
        known = 1;
    }
    if (strcmp(argv[1], "days") == 0 && argc == 6) {
        days(db, argv[4], atoi(argv[5]));
        known = 1;
    }
    if (!known) die(argv[1], "no such lane");
    sqlite3_close(db);
    return 0;
}
