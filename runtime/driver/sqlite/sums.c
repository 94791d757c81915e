/* SUM and AVG that are exact: ten times 0.1 is 1.0.
 *
 *   sum(x), avg(x)   in place of the built-in ones, also as window functions
 *   lrun_sum(x)      the exact total as decimal text, for comparing
 *   lrun_decimal_sum(x)  as sum of values that are decimals: exact, as text where
 *                    no REAL is it
 *
 * A REAL counts as the decimal of its shortest form that reads back the same;
 * text counts when it is a decimal number and is an error when it is not. The
 * sum of REALs is a REAL, the nearest to the exact total; where a text is among
 * the values, the total keeps all its digits.
 */
#include "base/decimal.h"
#include "driver/sqlite/internal.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum kind { SUM, AVG, SUM_TEXT, SUM_DECIMAL };

typedef struct total {
    lr_sum sum;
    int64_t n;         /* values that are not NULL */
    int64_t inexact;   /* of them, those that are no integers */
    int64_t texts;     /* of them, decimals that are kept as text for their digits */
    int64_t plus, minus; /* infinities */
} total;

/* SQLite aligns to 8 bytes, the sum's 128 bit number needs 16. */
static total *context(sqlite3_context *ctx, int make)
{
    char *p = sqlite3_aggregate_context(ctx, make ? (int)sizeof(total) + 16 : 0);
    return p != NULL ? (total *)(void *)(((uintptr_t)p + 15) & ~(uintptr_t)15) : NULL;
}

static void add(sqlite3_context *ctx, sqlite3_value *v, int sign)
{
    int class = sqlite3_value_type(v);
    if (class == SQLITE_NULL) return;
    total *t = context(ctx, 1);
    if (t == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    t->n += sign;
    if (class == SQLITE_INTEGER) {
        lr_sum_int(&t->sum, sqlite3_value_int64(v), sign);
        return;
    }
    t->inexact += sign;
    if (class == SQLITE_FLOAT) {
        double d = sqlite3_value_double(v);
        if (lr_sum_real(&t->sum, d, sign) == 0) return;
        if (d > 0) t->plus += sign;
        else t->minus += sign;
        return;
    }
    const char *p = (const char *)sqlite3_value_text(v);
    t->texts += sign;
    if (class == SQLITE_TEXT && lr_sum_text(&t->sum, p, (size_t)sqlite3_value_bytes(v), sign) == 0) return;
    char *text = class == SQLITE_TEXT ? sqlite3_mprintf("cannot add '%.60q': it is no number", p)
                                      : sqlite3_mprintf("cannot add a BLOB: it is no number");
    sqlite3_result_error(ctx, text != NULL ? text : "out of memory", -1);
    sqlite3_free(text);
}

static void step(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    add(ctx, v[0], 1);
}

static void inverse(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    (void)n;
    add(ctx, v[0], -1);
}

static void answer(sqlite3_context *ctx, const total *t)
{
    enum kind kind = (enum kind)(intptr_t)sqlite3_user_data(ctx);
    if (t == NULL || t->n == 0) return;
    if (t->plus > 0 || t->minus > 0) {
        if (t->plus > 0 && t->minus > 0) return;
        if (kind == SUM_TEXT) sqlite3_result_text(ctx, t->plus > 0 ? "Infinity" : "-Infinity", -1, SQLITE_STATIC);
        else sqlite3_result_double(ctx, t->plus > 0 ? INFINITY : -INFINITY);
        return;
    }
    int64_t whole;
    if ((kind == SUM || kind == SUM_DECIMAL) && t->inexact == 0 && lr_sum_is_int64(&t->sum, &whole)) {
        sqlite3_result_int64(ctx, whole);
        return;
    }
    char *text = lr_sum_format(&t->sum);
    size_t n = strlen(text);
    if (kind == AVG)
        sqlite3_result_double(ctx, strtod(text, NULL) / (double)t->n);
    else if (kind != SUM_TEXT && t->inexact > 0 && ((kind == SUM && t->texts == 0) || lr_decimal_survives_real(text, n)))
        sqlite3_result_double(ctx, strtod(text, NULL));
    else
        sqlite3_result_text64(ctx, text, n, SQLITE_TRANSIENT, SQLITE_UTF8);
    free(text);
}

static void value(sqlite3_context *ctx)
{
    answer(ctx, context(ctx, 0));
}

static void final(sqlite3_context *ctx)
{
    total *t = context(ctx, 0);
    answer(ctx, t);
    if (t != NULL) lr_sum_free(&t->sum);
}

static int define(sqlite3 *db, const char *name, enum kind kind)
{
    return sqlite3_create_window_function(db, name, 1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS,
                                          (void *)(intptr_t)kind, step, final, value, inverse, NULL);
}

int lr_sqlite_register_sums(sqlite3 *db)
{
    if (define(db, "sum", SUM) != SQLITE_OK || define(db, "avg", AVG) != SQLITE_OK ||
        define(db, "lrun_sum", SUM_TEXT) != SQLITE_OK || define(db, "lrun_decimal_sum", SUM_DECIMAL) != SQLITE_OK)
        return -1;
    return 0;
}
