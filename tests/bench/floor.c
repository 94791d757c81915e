/* floor LANE SOURCE TARGET [DAY NEXT_DAY] - what lrun is measured against: the
 * lane's work written by hand, by the best method that SQLite has for it, with
 * nothing of what lrun adds. The lanes: load, merge, unchanged, day. */
#include "bench.h"
#include <math.h>
#include <string.h>

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
    UPSERT " WHERE (customer_id, order_date, amount, status, note, updated_at) IS NOT "
           "(excluded.customer_id, excluded.order_date, excluded.amount, excluded.status, excluded.note, "
           "excluded.updated_at)";

static const struct {
    const char *lane, *sql;
} whole_tables[] = {{"load", load}, {"merge", merge}, {"unchanged", unchanged}};

typedef struct side {
    sqlite3_int64 count;
    double total;
} side;

static side between(sqlite3 *db, const char *sql, char **days)
{
    side s = {0, 0};
    sqlite3_stmt *stmt = prepare(db, sql);
    sqlite3_bind_text(stmt, 1, days[0], -1, SQLITE_STATIC);
    sqlite3_bind_text(stmt, 2, days[1], -1, SQLITE_STATIC);
    int rc = sqlite3_step(stmt);
    if (rc == SQLITE_ROW) {
        s.count = sqlite3_column_int64(stmt, 0);
        s.total = sqlite3_column_double(stmt, 1);
    } else if (rc != SQLITE_DONE) {
        die(sql, sqlite3_errmsg(db));
    }
    sqlite3_finalize(stmt);
    return s;
}

static void day(sqlite3 *db, char **days)
{
    between(db, "DELETE FROM main.orders WHERE order_date >= ? AND order_date < ?", days);
    between(db, "INSERT INTO main.orders SELECT * FROM source.orders WHERE order_date >= ? AND order_date < ?", days);
    side a = between(db, "SELECT count(*), sum(amount) FROM source.orders WHERE order_date >= ? AND order_date < ?", days);
    side b = between(db, "SELECT count(*), sum(amount) FROM main.orders WHERE order_date >= ? AND order_date < ?", days);
    if (a.count == 0) die(days[0], "no rows");
    if (a.count != b.count || fabs(a.total - b.total) > 0.005) die(days[0], "the two sides differ");
}

int main(int argc, char **argv)
{
    if (argc != 4 && argc != 6) die("usage", "floor LANE SOURCE TARGET [DAY NEXT_DAY]");
    sqlite3 *db = open_database(argv[3]);
    /* A larger cache takes more memory and is no faster: each page is met once. */
    run(db, "PRAGMA cache_size = -8192; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000");
    sqlite3_stmt *attach = prepare(db, "ATTACH 'file:' || ? || '?mode=ro' AS source");
    sqlite3_bind_text(attach, 1, argv[2], -1, SQLITE_STATIC);
    if (sqlite3_step(attach) != SQLITE_DONE) die(argv[2], sqlite3_errmsg(db));
    sqlite3_finalize(attach);
    run(db, "BEGIN IMMEDIATE");
    int known = 0;
    for (size_t i = 0; i < sizeof whole_tables / sizeof whole_tables[0]; i++) {
        if (strcmp(whole_tables[i].lane, argv[1]) != 0) continue;
        run(db, whole_tables[i].sql);
        known = 1;
    }
    if (strcmp(argv[1], "day") == 0 && argc == 6) {
        day(db, argv + 4);
        known = 1;
    }
    if (!known) die(argv[1], "no such lane");
    run(db, "COMMIT");
    sqlite3_close(db);
    return 0;
}
