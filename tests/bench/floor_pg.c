/* floor_pg PAIR LANE FROM TO - what lrun is measured against where PostgreSQL is at
 * one end or both: the lane's work by hand, by the best method known for it,
 * for this one table only, with nothing of what lrun adds. FROM and TO are the
 * path of a SQLite file, or a connection string of PostgreSQL.
 *
 *   to_pg load | merge | unchanged      binary COPY; into a temporary table and MERGE,
 *                                       or an upsert that skips equal rows
 *   from_pg load | merge                binary COPY, one prepared statement
 *   in_pg load | merge                  one statement inside TO: shop.orders to orders
 *   pg_to_pg load | merge | unchanged   the bytes of one COPY into the other
 *   to_pg | pg_to_pg sums               a sum of row hashes of both, at the same time; the
 *                                       hash of PostgreSQL does not see a changed sign
 */
#include "bench.h"
#include <endian.h>
#include <libpq-fe.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

#define COLUMNS "order_id, customer_id, order_date, amount, status, note, updated_at"
#define ASSIGN(from)                                                                                    \
    "customer_id = " from ".customer_id, order_date = " from ".order_date, amount = " from ".amount, " \
    "status = " from ".status, note = " from ".note, updated_at = " from ".updated_at"
#define VALUES(from)                                                                                          \
    from ".customer_id, " from ".order_date, " from ".amount, " from ".status, " from ".note, " from ".updated_at"

#define LOAD(source) "INSERT INTO orders SELECT * FROM " source
#define MERGE(source)                                                                    \
    "MERGE INTO orders AS t USING " source " AS s ON t.order_id = s.order_id "           \
    "WHEN MATCHED THEN UPDATE SET " ASSIGN("s") " WHEN NOT MATCHED THEN INSERT VALUES (s.order_id, " VALUES("s") ")"
#define UNCHANGED(source)                                                                                        \
    "INSERT INTO orders AS t SELECT * FROM " source " ON CONFLICT (order_id) DO UPDATE SET " ASSIGN("excluded") \
    " WHERE (" VALUES("t") ") IS DISTINCT FROM (" VALUES("excluded") ")"

#define EPOCH_DAYS 10957 /* PostgreSQL counts from 2000-01-01 */
#define US_PER_DAY INT64_C(86400000000)
#define CHUNK ((size_t)1 << 16)

static const char copy_head[19] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0";

/* ---- PostgreSQL ---- */

static PGconn *connect_to(const char *where)
{
    PGconn *c = PQconnectdb(where);
    if (PQstatus(c) != CONNECTION_OK) die(where, PQerrorMessage(c));
    return c;
}

static void pg_run(PGconn *c, const char *sql, ExecStatusType expected)
{
    PGresult *r = PQexec(c, sql);
    if (PQresultStatus(r) != expected) die(sql, PQerrorMessage(c));
    PQclear(r);
}

static void end_copy(PGconn *c)
{
    PGresult *r;
    while ((r = PQgetResult(c)) != NULL) {
        if (PQresultStatus(r) != PGRES_COMMAND_OK) die("COPY", PQerrorMessage(c));
        PQclear(r);
    }
}

static void send_rows(PGconn *c, const char *p, size_t n)
{
    if (n > 0 && PQputCopyData(c, p, (int)n) != 1) die("COPY", PQerrorMessage(c));
}

/* Rows of a merge go beside the table first. */
static void open_target(PGconn *c, const char *lane)
{
    int load = strcmp(lane, "load") == 0;
    pg_run(c, "BEGIN", PGRES_COMMAND_OK);
    if (!load) pg_run(c, "CREATE TEMPORARY TABLE stage (LIKE orders) ON COMMIT DROP", PGRES_COMMAND_OK);
    pg_run(c, load ? "COPY orders FROM STDIN (FORMAT binary)" : "COPY stage FROM STDIN (FORMAT binary)", PGRES_COPY_IN);
}

static void close_target(PGconn *c, const char *lane)
{
    if (PQputCopyEnd(c, NULL) != 1) die("COPY", PQerrorMessage(c));
    end_copy(c);
    if (strcmp(lane, "load") != 0) pg_run(c, "ANALYZE stage", PGRES_COMMAND_OK);
    if (strcmp(lane, "merge") == 0) pg_run(c, MERGE("stage"), PGRES_COMMAND_OK);
    if (strcmp(lane, "unchanged") == 0) pg_run(c, UNCHANGED("stage"), PGRES_COMMAND_OK);
    pg_run(c, "COMMIT", PGRES_COMMAND_OK);
}

/* ---- SQLite to PostgreSQL ---- */

static char *put16(char *p, int v)
{
    uint16_t x = htobe16((uint16_t)v);
    memcpy(p, &x, 2);
    return p + 2;
}

static char *put32(char *p, int32_t v)
{
    uint32_t x = htobe32((uint32_t)v);
    memcpy(p, &x, 4);
    return p + 4;
}

static char *put64(char *p, int64_t v)
{
    uint64_t x = htobe64((uint64_t)v);
    memcpy(p, &x, 8);
    return p + 8;
}

static int digits(const char *p, int n)
{
    int v = 0;
    for (int i = 0; i < n; i++) v = v * 10 + (p[i] - '0');
    return v;
}

/* Days since 1970 of YYYY-MM-DD. */
static int32_t day_of(const char *p)
{
    int y = digits(p, 4), m = digits(p + 5, 2), d = digits(p + 8, 2);
    y -= m <= 2;
    int era = y / 400, yoe = y % 400, doy = (153 * (m + (m > 2 ? -3 : 9)) + 2) / 5 + d - 1;
    return era * 146097 + yoe * 365 + yoe / 4 - yoe / 100 + doy - 719468;
}

/* YYYY-MM-DD, or that and HH:MM:SS.ffffff. */
static int64_t moment_of(const char *p, int n)
{
    int64_t us = (day_of(p) - EPOCH_DAYS) * US_PER_DAY;
    if (n < 26) return us;
    return us + ((digits(p + 11, 2) * 60 + digits(p + 14, 2)) * 60 + digits(p + 17, 2)) * INT64_C(1000000) + digits(p + 20, 6);
}

static char *put_cents(char *p, int64_t cents)
{
    int16_t group[4] = {(int16_t)(cents / 1000000), (int16_t)(cents / 100 % 10000), (int16_t)(cents % 100 * 100), 0};
    int first = group[0] != 0 ? 0 : group[1] != 0 ? 1 : 2, last = group[2] != 0 ? 2 : group[1] != 0 ? 1 : 0;
    int n = cents == 0 ? 0 : last - first + 1;
    p = put32(p, 8 + 2 * n);
    p = put16(p, n);
    p = put16(p, n == 0 ? 0 : 1 - first);
    p = put16(p, 0);
    p = put16(p, 2);
    for (int i = 0; i < n; i++) p = put16(p, group[first + i]);
    return p;
}

static char *put_text(char *p, sqlite3_stmt *stmt, int column)
{
    const unsigned char *text = sqlite3_column_text(stmt, column);
    int n = sqlite3_column_bytes(stmt, column);
    p = put32(p, n);
    if (n > 0) memcpy(p, text, (size_t)n);
    return p + n;
}

static char *put_row(char *p, sqlite3_stmt *stmt)
{
    p = put16(p, 7);
    p = put64(put32(p, 8), sqlite3_column_int64(stmt, 0));
    p = put32(put32(p, 4), sqlite3_column_int(stmt, 1));
    p = put32(put32(p, 4), day_of((const char *)sqlite3_column_text(stmt, 2)) - EPOCH_DAYS);
    p = put_cents(p, llround(sqlite3_column_double(stmt, 3) * 100));
    p = put_text(put_text(p, stmt, 4), stmt, 5);
    const char *at = (const char *)sqlite3_column_text(stmt, 6);
    return put64(put32(p, 8), moment_of(at, sqlite3_column_bytes(stmt, 6)));
}

static void to_pg(const char *lane, const char *from, const char *to)
{
    static char rows[2 * CHUNK];
    sqlite3 *db = open_database(from);
    PGconn *c = connect_to(to);
    sqlite3_stmt *stmt = prepare(db, "SELECT " COLUMNS " FROM orders");
    open_target(c, lane);
    memcpy(rows, copy_head, sizeof copy_head);
    char *p = rows + sizeof copy_head;
    int rc;
    while ((rc = sqlite3_step(stmt)) == SQLITE_ROW) {
        p = put_row(p, stmt);
        if ((size_t)(p - rows) < CHUNK) continue;
        send_rows(c, rows, (size_t)(p - rows));
        p = rows;
    }
    if (rc != SQLITE_DONE) die(from, sqlite3_errmsg(db));
    p = put16(p, -1);
    send_rows(c, rows, (size_t)(p - rows));
    close_target(c, lane);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    PQfinish(c);
}

/* ---- PostgreSQL to SQLite ---- */

static int get16(const char *p)
{
    uint16_t x;
    memcpy(&x, p, 2);
    return (int16_t)be16toh(x);
}

static int32_t get32(const char *p)
{
    uint32_t x;
    memcpy(&x, p, 4);
    return (int32_t)be32toh(x);
}

static int64_t get64(const char *p)
{
    uint64_t x;
    memcpy(&x, p, 8);
    return (int64_t)be64toh(x);
}

static char *write_digits(char *p, int v, int n)
{
    for (int i = n - 1; i >= 0; i--, v /= 10) p[i] = (char)('0' + v % 10);
    return p + n;
}

static char *write_day(char *p, int32_t days)
{
    int z = days + 719468, era = z / 146097, doe = z % 146097, yoe = (doe - doe / 1460 + doe / 36524 - doe / 146096) / 365;
    int doy = doe - (365 * yoe + yoe / 4 - yoe / 100), mp = (5 * doy + 2) / 153, m = mp < 10 ? mp + 3 : mp - 9;
    p = write_digits(p, yoe + era * 400 + (m <= 2), 4);
    *p++ = '-';
    p = write_digits(p, m, 2);
    *p++ = '-';
    return write_digits(p, doy - (153 * mp + 2) / 5 + 1, 2);
}

static char *write_moment(char *p, int64_t us)
{
    int64_t days = us / US_PER_DAY, rest = us % US_PER_DAY; /* after 2000 */
    int second = (int)(rest / 1000000);
    p = write_day(p, (int32_t)days + EPOCH_DAYS);
    *p++ = ' ';
    p = write_digits(p, second / 3600, 2);
    *p++ = ':';
    p = write_digits(p, second / 60 % 60, 2);
    *p++ = ':';
    p = write_digits(p, second % 60, 2);
    *p++ = '.';
    return write_digits(p, (int)(rest % 1000000), 6);
}

static double amount_of(const char *p)
{
    static const double weights[] = {1e-4, 1, 1e4, 1e8};
    double cents = 0;
    for (int i = 0, n = get16(p), weight = get16(p + 2); i < n; i++) cents += get16(p + 8 + 2 * i) * weights[weight - i + 1] * 100;
    return round(cents) / 100;
}

static void bind_row(sqlite3_stmt *stmt, const char *p)
{
    static char day[16], moment[32];
    static int32_t known = INT32_MIN;
    const char *field[7];
    int size[7];
    p += 2;
    for (int i = 0; i < 7; i++) {
        size[i] = get32(p);
        field[i] = p + 4;
        p += 4 + size[i];
    }
    if (get32(field[2]) != known) write_day(day, (known = get32(field[2])) + EPOCH_DAYS);
    write_moment(moment, get64(field[6]));
    sqlite3_bind_int64(stmt, 1, get64(field[0]));
    sqlite3_bind_int(stmt, 2, get32(field[1]));
    sqlite3_bind_text(stmt, 3, day, 10, SQLITE_STATIC);
    sqlite3_bind_double(stmt, 4, amount_of(field[3]));
    sqlite3_bind_text(stmt, 5, field[4], size[4], SQLITE_STATIC);
    sqlite3_bind_text(stmt, 6, field[5], size[5], SQLITE_STATIC);
    sqlite3_bind_text(stmt, 7, moment, 26, SQLITE_STATIC);
}

static void from_pg(const char *lane, const char *from, const char *to)
{
    PGconn *c = connect_to(from);
    sqlite3 *db = open_database(to);
    run(db, "PRAGMA cache_size = -8192; PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 16000; BEGIN IMMEDIATE");
    sqlite3_stmt *stmt = prepare(db, strcmp(lane, "load") == 0
                                         ? "INSERT INTO orders (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?)"
                                         : "INSERT INTO orders (" COLUMNS ") VALUES (?, ?, ?, ?, ?, ?, ?) "
                                           "ON CONFLICT (order_id) DO UPDATE SET " ASSIGN("excluded"));
    char *line;
    int n, skip = sizeof copy_head;
    pg_run(c, "SET synchronize_seqscans = off", PGRES_COMMAND_OK);
    pg_run(c, "COPY orders TO STDOUT (FORMAT binary)", PGRES_COPY_OUT);
    while ((n = PQgetCopyData(c, &line, 0)) > 0) {
        const char *p = line + skip;
        skip = 0;
        if (p < line + n && get16(p) == 7) {
            bind_row(stmt, p);
            if (sqlite3_step(stmt) != SQLITE_DONE) die(to, sqlite3_errmsg(db));
            sqlite3_reset(stmt);
        }
        PQfreemem(line);
    }
    if (n == -2) die("COPY", PQerrorMessage(c));
    end_copy(c);
    run(db, "COMMIT");
    sqlite3_finalize(stmt);
    sqlite3_close(db);
    PQfinish(c);
}

/* ---- PostgreSQL to PostgreSQL ---- */

static void in_pg(const char *lane, const char *to)
{
    PGconn *c = connect_to(to);
    pg_run(c, "BEGIN; SET LOCAL synchronize_seqscans = off", PGRES_COMMAND_OK);
    pg_run(c, strcmp(lane, "load") == 0 ? LOAD("shop.orders") : MERGE("shop.orders"), PGRES_COMMAND_OK);
    pg_run(c, "COMMIT", PGRES_COMMAND_OK);
    PQfinish(c);
}

static void pg_to_pg(const char *lane, const char *from, const char *to)
{
    static char rows[2 * CHUNK];
    PGconn *a = connect_to(from), *b = connect_to(to);
    char *line;
    int n;
    size_t held = 0;
    /* else a scan may start in the middle of the table, and the target's key be out of order */
    pg_run(a, "SET synchronize_seqscans = off", PGRES_COMMAND_OK);
    open_target(b, lane);
    pg_run(a, "COPY orders TO STDOUT (FORMAT binary)", PGRES_COPY_OUT);
    while ((n = PQgetCopyData(a, &line, 0)) > 0) {
        if (held + (size_t)n > sizeof rows) {
            send_rows(b, rows, held);
            held = 0;
        }
        if ((size_t)n > sizeof rows) die("COPY", "a row is too long");
        memcpy(rows + held, line, (size_t)n);
        held += (size_t)n;
        PQfreemem(line);
    }
    if (n == -2) die("COPY", PQerrorMessage(a));
    end_copy(a);
    send_rows(b, rows, held);
    close_target(b, lane);
    PQfinish(a);
    PQfinish(b);
}

/* ---- a checksum of both sides ---- */

#define SUMS "SELECT sum(hash_record_extended(orders, 0)) FROM orders"

static void send_sums(PGconn *c)
{
    if (!PQsendQuery(c, SUMS)) die(SUMS, PQerrorMessage(c));
    PQflush(c);
}

static void take_sums(PGconn *c)
{
    PGresult *r;
    while ((r = PQgetResult(c)) != NULL) {
        if (PQresultStatus(r) != PGRES_TUPLES_OK) die(SUMS, PQerrorMessage(c));
        printf("%s\n", PQgetvalue(r, 0, 0));
        PQclear(r);
    }
}

static uint64_t hash_bytes(uint64_t h, const void *p, int n)
{
    const unsigned char *b = p;
    for (int i = 0; i < n; i++) h = (h ^ b[i]) * UINT64_C(0x100000001b3);
    return h;
}

static void file_sums(const char *path)
{
    sqlite3 *db = open_database(path);
    sqlite3_stmt *stmt = prepare(db, "SELECT " COLUMNS " FROM orders");
    uint64_t sum = 0;
    while (sqlite3_step(stmt) == SQLITE_ROW) {
        uint64_t h = UINT64_C(0xcbf29ce484222325);
        for (int i = 0; i < 7; i++) h = hash_bytes(h, sqlite3_column_blob(stmt, i), sqlite3_column_bytes(stmt, i)) * 31;
        sum += h;
    }
    printf("%llu\n", (unsigned long long)sum);
    sqlite3_finalize(stmt);
    sqlite3_close(db);
}

static void sums(int file, const char *from, const char *to)
{
    PGconn *a = file ? NULL : connect_to(from), *b = connect_to(to);
    send_sums(b);
    if (file) {
        file_sums(from);
    } else {
        send_sums(a);
        take_sums(a);
        PQfinish(a);
    }
    take_sums(b);
    PQfinish(b);
}

int main(int argc, char **argv)
{
    if (argc != 5) die("usage", "floor_pg to_pg|from_pg|in_pg|pg_to_pg LANE FROM TO");
    const char *lane = argv[2];
    if (strcmp(lane, "sums") == 0) sums(strcmp(argv[1], "to_pg") == 0, argv[3], argv[4]);
    else if (strcmp(argv[1], "to_pg") == 0) to_pg(lane, argv[3], argv[4]);
    else if (strcmp(argv[1], "from_pg") == 0) from_pg(lane, argv[3], argv[4]);
    else if (strcmp(argv[1], "in_pg") == 0) in_pg(lane, argv[4]);
    else if (strcmp(argv[1], "pg_to_pg") == 0) pg_to_pg(lane, argv[3], argv[4]);
    else die(argv[1], "no such pair");
    return 0;
}
