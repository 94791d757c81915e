/* SQL functions for the order of text (base/position.h).
 *
 *   lrun_shape(value, zone)   of text its shape, "number", "blob"; NULL for NULL
 *   lrun_position(value)      of a log position a text that its bytes order; any
 *                             other value as it is
 *   lrun_number_key(value)    of a decimal in text the same
 */
#include "base/position.h"
#include "driver/sqlite/internal.h"

static void give(sqlite3_context *ctx, lr_buf *b)
{
    sqlite3_result_text(ctx, b->data != NULL ? b->data : "", (int)b->len, SQLITE_TRANSIENT);
    lr_buf_free(b);
}

static void fn_shape(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    const lr_zone *z = lr_zone_utc();
    lr_err e = {0};
    lr_buf b = {0};
    (void)n;
    const char *zone = (const char *)sqlite3_value_text(v[1]);
    switch (sqlite3_value_type(v[0])) {
    case SQLITE_NULL: return;
    case SQLITE_BLOB: sqlite3_result_text(ctx, "blob", -1, SQLITE_STATIC); return;
    case SQLITE_TEXT: break;
    default: sqlite3_result_text(ctx, "number", -1, SQLITE_STATIC); return;
    }
    if (zone != NULL && lr_zone_get(zone, &z, &e) != 0) z = lr_zone_utc();
    const char *text = (const char *)sqlite3_value_text(v[0]);
    if (text == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    lr_position_shape(text, (size_t)sqlite3_value_bytes(v[0]), z, &b);
    give(ctx, &b);
}

static void key_of(sqlite3_context *ctx, sqlite3_value **v, int numbers, void (*key)(const char *p, size_t n, lr_buf *out))
{
    lr_buf b = {0};
    int type = sqlite3_value_type(v[0]), takes = type == SQLITE_TEXT || (numbers && (type == SQLITE_INTEGER || type == SQLITE_FLOAT));
    const char *text = takes ? (const char *)sqlite3_value_text(v[0]) : NULL;
    if (text == NULL) {
        sqlite3_result_value(ctx, v[0]);
        return;
    }
    key(text, (size_t)sqlite3_value_bytes(v[0]), &b);
    give(ctx, &b);
}

static void fn_position(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    key_of(ctx, v, 0, lr_position_key);
}

static void fn_number_key(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    key_of(ctx, v, 1, lr_position_number);
}

int lr_sqlite_register_positions(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    return sqlite3_create_function(db, "lrun_shape", 2, flags, NULL, fn_shape, NULL, NULL) == SQLITE_OK &&
                   sqlite3_create_function(db, "lrun_number_key", 1, flags, NULL, fn_number_key, NULL, NULL) == SQLITE_OK &&
                   sqlite3_create_function(db, "lrun_position", 1, flags, NULL, fn_position, NULL, NULL) == SQLITE_OK ? 0 : -1;
}
