/* orders FILE ROWS WHICH - make a file with the table orders, the same bytes of
 * data every time: ROWS orders over the 365 days of 2025.
 *
 *   source   all rows, indexes on order_date and updated_at
 *   all      all rows, an index on order_date, in WAL mode: a target to date
 *   half     the even orders, as they were a day before, in WAL mode
 *   none     no rows, in WAL mode
 */
#include "bench.h"
#include <stdint.h>
#include <string.h>

#define DAYS 365
#define SECONDS_PER_DAY 86400

static uint64_t state = 20250101;

static uint32_t next_random(uint32_t below)
{
    state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint32_t)((state >> 33) % below);
}

/* "2025-03-09" of day 67; days past the year's end go on in 2026. */
static void date_text(int day, char out[11])
{
    static const int lengths[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    int year = 2025, month = 0;
    while (day >= lengths[month]) {
        day -= lengths[month];
        if (++month == 12) {
            month = 0;
            year++;
        }
    }
    snprintf(out, 11, "%04u-%02u-%02u", (unsigned)year % 10000, (unsigned)month % 12 + 1, (unsigned)day % 31 + 1);
}

/* Five to seven words of a delivery note: about 35 bytes. */
static void note_text(char *out, size_t size)
{
    static const char *const words[] = {"ring",   "once",  "side",  "gate",   "code", "blue",  "parcel", "heavy",
                                        "please", "leave", "inside", "porch",  "dog",  "neighbour", "fragile", "evening",
                                        "only",   "phone", "first", "second", "floor", "left",  "right",  "thanks"};
    size_t n = 0;
    for (uint32_t left = 5 + next_random(3); left > 0; left--)
        n += (size_t)snprintf(out + n, size - n, n > 0 ? " %s" : "%s", words[next_random(sizeof words / sizeof words[0])]);
}

static void insert_order(sqlite3_stmt *insert, int64_t id, int64_t rows, int stale)
{
    static const char *const statuses[] = {"new", "paid", "packed", "shipped", "delivered", "returned"};
    char date[11], changed[11], note[128], updated[32];
    int day = (int)((id - 1) * DAYS / rows);
    uint32_t customer = 1 + next_random(50000), cents = 100 + next_random(2000000), status = next_random(6);
    uint32_t later = next_random(3), second = next_random(SECONDS_PER_DAY), micro = next_random(1000000);
    note_text(note, sizeof note);
    date_text(day, date);
    date_text(day + (int)later, changed);
    snprintf(updated, sizeof updated, "%s %02u:%02u:%02u.%06u", changed, second / 3600, second / 60 % 60, second % 60, micro);
    sqlite3_bind_int64(insert, 1, id);
    sqlite3_bind_int64(insert, 2, customer);
    sqlite3_bind_text(insert, 3, date, -1, SQLITE_STATIC);
    sqlite3_bind_double(insert, 4, cents / 100.0);
    sqlite3_bind_text(insert, 5, stale ? "pending" : statuses[status], -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 6, note, -1, SQLITE_STATIC);
    sqlite3_bind_text(insert, 7, stale ? date : updated, -1, SQLITE_STATIC);
    if (sqlite3_step(insert) != SQLITE_DONE) die("insert", sqlite3_errmsg(sqlite3_db_handle(insert)));
    sqlite3_reset(insert);
}

int main(int argc, char **argv)
{
    if (argc != 4) die("usage", "orders FILE ROWS source|all|half|none");
    int64_t rows = strcmp(argv[3], "none") == 0 ? 0 : atoll(argv[2]);
    int half = strcmp(argv[3], "half") == 0, source = strcmp(argv[3], "source") == 0;
    sqlite3 *db = open_database(argv[1]);
    run(db, "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF");
    run(db, "CREATE TABLE orders (order_id INTEGER PRIMARY KEY, customer_id INTEGER, order_date DATE, "
            "amount NUMERIC(12,2), status TEXT, note TEXT, updated_at DATETIME)");
    run(db, "BEGIN");
    sqlite3_stmt *insert = prepare(db, "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?)");
    for (int64_t id = 1; id <= rows; id++) {
        state = 20250101 + (uint64_t)id * UINT64_C(0x9E3779B97F4A7C15); /* an order is the same in every file */
        if (!half || id % 2 == 0) insert_order(insert, id, rows, half);
    }
    sqlite3_finalize(insert);
    run(db, "COMMIT");
    if (source || strcmp(argv[3], "all") == 0) run(db, "CREATE INDEX orders_order_date ON orders (order_date)");
    if (source) run(db, "CREATE INDEX orders_updated_at ON orders (updated_at)");
    run(db, "ANALYZE");
    if (!source) run(db, "PRAGMA journal_mode = WAL");
    sqlite3_close(db);
    return 0;
}
