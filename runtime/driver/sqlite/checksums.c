/* Checksums of rows, equal to those that the SQL of PostgreSQL computes.
 *
 *   lrun_fold(seed, forms, a, b, ...)   one hash of some columns: form i is a
 *                                       letter (base/checksum.h), its seed is seed + i
 *   lrun_xor(fold, ...)                 the fold of all their columns
 *   lrun_mix(round, fold, ...)          the hash of some folds
 *   lrun_segments(mask, key, ...)       an aggregate over folds: JSON, for each
 *                                       segment [segment, rows, sum of row hashes]
 *
 * A value that is not of its column's form hashes as what it is.
 */
#include "base/calendar.h"
#include "base/checksum.h"
#include "base/decimal.h"
#include "driver/sqlite/internal.h"
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LAST_YEAR 290000 /* microseconds are counted in 64 bits */

typedef struct text {
    const char *p;
    size_t n;
} text;

static text text_of(sqlite3_value *v)
{
    const char *p = sqlite3_value_blob(v);
    return (text){p != NULL ? p : "", (size_t)sqlite3_value_bytes(v)};
}

static int is_word(text t, const char *word)
{
    return t.n == strlen(word) && memcmp(t.p, word, t.n) == 0;
}

static int64_t hash_hex(text t, int64_t seed)
{
    static const char digits[] = "0123456789abcdef";
    char small[512] = "", *hex = t.n * 2 <= sizeof small ? small : lr_malloc(t.n * 2);
    for (size_t i = 0; i < t.n; i++) {
        hex[2 * i] = digits[(unsigned char)t.p[i] >> 4];
        hex[2 * i + 1] = digits[t.p[i] & 15];
    }
    int64_t out = lr_hash_bytes(hex, t.n * 2, seed);
    if (hex != small) free(hex);
    return out;
}

/* 1 where *out is its hash. */
static int hash_decimal(sqlite3_value *v, int64_t seed, int64_t *out)
{
    int class = sqlite3_value_type(v);
    if (class == SQLITE_INTEGER) {
        int64_t i = sqlite3_value_int64(v);
        *out = lr_hash_decimal(i, 0, i < 0 ? -seed : seed);
        return 1;
    }
    if (class == SQLITE_FLOAT) {
        double d = sqlite3_value_double(v);
        int64_t n;
        int scale;
        if (isinf(d)) {
            *out = d < 0 ? -seed : seed;
            return 1;
        }
        lr_real_shortest(d, &n, &scale);
        *out = lr_hash_decimal(n, scale, n < 0 ? -seed : seed);
        return 1;
    }
    if (class != SQLITE_TEXT) return 0;
    text t = text_of(v);
    if (is_word(t, "NaN")) *out = seed + LR_NAN_SEED;
    else if (is_word(t, "Infinity")) *out = seed;
    else if (is_word(t, "-Infinity")) *out = -seed;
    else {
        lr_sum sum = {0};
        if (lr_sum_text(&sum, t.p, t.n, 1) != 0) return 0;
        char *plain = lr_sum_format(&sum);
        *out = lr_hash_decimal_text(plain, plain[0] == '-' ? -seed : seed);
        free(plain);
        lr_sum_free(&sum);
    }
    return 1;
}

static int hash_real(sqlite3_value *v, int64_t seed, int64_t *out)
{
    text t = {"", 0};
    switch (sqlite3_value_type(v)) {
    case SQLITE_INTEGER:
    case SQLITE_FLOAT:
        *out = lr_hash_real(sqlite3_value_double(v), seed);
        return 1;
    case SQLITE_TEXT:
        t = text_of(v);
        break;
    default:
        return 0;
    }
    if (is_word(t, "NaN")) *out = lr_hash_real(NAN, seed);
    else if (is_word(t, "Infinity")) *out = lr_hash_real(INFINITY, seed);
    else if (is_word(t, "-Infinity")) *out = lr_hash_real(-INFINITY, seed);
    else if (lr_is_decimal(t.p, t.n)) *out = lr_hash_real(sqlite3_value_double(v), seed);
    else return 0;
    return 1;
}

static int digits_at(text t, size_t at, size_t n)
{
    if (at + n > t.n) return 0;
    for (size_t i = 0; i < n; i++)
        if (t.p[at + i] < '0' || t.p[at + i] > '9') return 0;
    return 1;
}

static int64_t number_at(text t, size_t at, size_t n)
{
    int64_t out = 0;
    for (size_t i = 0; i < n; i++) out = out * 10 + (t.p[at + i] - '0');
    return out;
}

/* The forms of PostgreSQL that ISO 8601 lacks: "0044-03-15 BC",
 * "15000-01-01 10:00:00.5+00", infinity. */
static int far_moment(text t, int64_t *us)
{
    size_t year = 0;
    if (is_word(t, "infinity") || is_word(t, "-infinity")) {
        *us = t.p[0] == '-' ? INT64_MIN : INT64_MAX;
        return 1;
    }
    int before = t.n > 3 && memcmp(t.p + t.n - 3, " BC", 3) == 0;
    if (before) t.n -= 3;
    if (t.n > 3 && memcmp(t.p + t.n - 3, "+00", 3) == 0) t.n -= 3;
    while (year < t.n && year < 7 && digits_at(t, year, 1)) year++;
    if (year < 4 || !digits_at(t, year + 1, 2) || !digits_at(t, year + 4, 2) || t.p[year] != '-' || t.p[year + 3] != '-') return 0;
    int64_t y = number_at(t, 0, year);
    if (y > LAST_YEAR) return 0;
    *us = lr_days_from_civil((int)(before ? 1 - y : y), (int)number_at(t, year + 1, 2), (int)number_at(t, year + 4, 2)) * LR_US_PER_DAY;
    if (t.n == year + 6) return 1;
    t.p += year + 6;
    t.n -= year + 6;
    if (t.p[0] != ' ' || !digits_at(t, 1, 2) || !digits_at(t, 4, 2) || !digits_at(t, 7, 2)) return 0;
    *us += (number_at(t, 1, 2) * 3600 + number_at(t, 4, 2) * 60 + number_at(t, 7, 2)) * LR_US_PER_SECOND;
    if (t.n == 9) return 1;
    if (t.p[9] != '.' || t.n < 11 || t.n > 16 || !digits_at(t, 10, t.n - 10)) return 0;
    int64_t fraction = number_at(t, 10, t.n - 10);
    for (size_t i = t.n - 10; i < 6; i++) fraction *= 10;
    *us += fraction;
    return 1;
}

static int moment_of(sqlite3_value *v, int64_t *us)
{
    lr_time t;
    if (sqlite3_value_type(v) != SQLITE_TEXT) return 0;
    text z = text_of(v);
    if (lr_time_parse(z.p, z.n, lr_zone_utc(), &t) != 0) return far_moment(z, us);
    *us = t.us;
    return t.sub == 0;
}

static int hash_date(sqlite3_value *v, int64_t seed, int64_t *out)
{
    int64_t us;
    if (!moment_of(v, &us)) return 0;
    if (us != INT64_MAX && us != INT64_MIN) {
        if (us % LR_US_PER_DAY != 0) return 0;
        us = us / LR_US_PER_DAY - lr_days_from_civil(2000, 1, 1);
    }
    *out = lr_hash_word((int32_t)seed, us);
    return 1;
}

static int hash_bool(sqlite3_value *v, int64_t seed, int64_t *out)
{
    if (sqlite3_value_type(v) == SQLITE_TEXT) {
        text t = text_of(v);
        int yes = is_word(t, "true") || is_word(t, "t");
        if (!yes && !is_word(t, "false") && !is_word(t, "f")) return 0;
        *out = lr_hash_word((int32_t)seed, yes);
        return 1;
    }
    double d = sqlite3_value_double(v);
    if (sqlite3_value_type(v) == SQLITE_BLOB || (d != 0 && d != 1)) return 0;
    *out = lr_hash_word((int32_t)seed, (int64_t)d);
    return 1;
}

static int hash_text(sqlite3_value *v, int trimmed, int recoded, int64_t seed, int64_t *out)
{
    char number[48];
    text t;
    switch (sqlite3_value_type(v)) {
    case SQLITE_INTEGER:
        t = (text){number, (size_t)snprintf(number, sizeof number, "%" PRId64, (int64_t)sqlite3_value_int64(v))};
        break;
    case SQLITE_FLOAT:
        t = (text){lr_format_real(sqlite3_value_double(v), number), 0};
        t.n = strlen(t.p);
        break;
    case SQLITE_TEXT:
        t = text_of(v);
        break;
    default:
        return 0;
    }
    while (trimmed && t.n > 0 && t.p[t.n - 1] == ' ') t.n--;
    *out = recoded ? hash_hex(t, seed) : lr_hash_bytes(t.p, t.n, seed);
    return 1;
}

static int hash_folded(sqlite3_value *v, int64_t seed, int64_t *out)
{
    if (sqlite3_value_type(v) != SQLITE_TEXT) return hash_text(v, 0, 0, seed, out);
    text t = text_of(v);
    char *lower = lr_malloc(t.n + 1);
    for (size_t i = 0; i < t.n; i++) lower[i] = (char)(t.p[i] >= 'A' && t.p[i] <= 'Z' ? t.p[i] + 'a' - 'A' : t.p[i]);
    *out = lr_hash_bytes(lower, t.n, seed);
    free(lower);
    return 1;
}

/* 32 hexadecimal digits in whatever groups. */
static int hash_uuid(sqlite3_value *v, int64_t seed, int64_t *out)
{
    char digits[32];
    size_t n = 0;
    text t = sqlite3_value_type(v) == SQLITE_TEXT ? text_of(v) : (text){"", 0};
    for (size_t i = 0; i < t.n; i++) {
        char c = t.p[i];
        if (c == '{' || c == '}' || c == '-') continue;
        if (c >= 'A' && c <= 'F') c = (char)(c + 'a' - 'A');
        if (n == sizeof digits || !((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'))) return 0;
        digits[n++] = c;
    }
    if (n < sizeof digits) return 0;
    *out = lr_hash_bytes(digits, n, seed);
    return 1;
}

/* "10.0.0.1/32" is "10.0.0.1", as inet prints it. */
static int hash_network(sqlite3_value *v, int64_t seed, int64_t *out)
{
    if (sqlite3_value_type(v) != SQLITE_TEXT) return hash_text(v, 0, 0, seed, out);
    text t = text_of(v);
    size_t digits = 0, all = 0;
    int colon = 0;
    while (digits < t.n && strchr("0123456789.", t.p[digits]) != NULL && t.p[digits] != 0) digits++;
    for (; all < t.n && t.p[all] != 0 && strchr("0123456789abcdef.:", t.p[all]) != NULL; all++) colon |= t.p[all] == ':';
    if (digits > 0 && digits + 3 == t.n && memcmp(t.p + digits, "/32", 3) == 0) t.n = digits;
    else if (colon && all + 4 == t.n && memcmp(t.p + all, "/128", 4) == 0) t.n = all;
    *out = lr_hash_bytes(t.p, t.n, seed);
    return 1;
}

static int is_whole(double d)
{
    return d == floor(d) && fabs(d) < 9e18;
}

/* As SQLite compares: 5 is 5.0, text is its bytes, a blob is no text. */
static int64_t hash_any(sqlite3_value *v, int64_t seed)
{
    text t = {"", 0};
    double d;
    switch (sqlite3_value_type(v)) {
    case SQLITE_INTEGER:
        return lr_hash_word((int32_t)seed, sqlite3_value_int64(v));
    case SQLITE_FLOAT:
        d = sqlite3_value_double(v);
        if (is_whole(d)) return lr_hash_word((int32_t)seed, (int64_t)d);
        return lr_hash_real(d, seed);
    case SQLITE_TEXT:
        t = text_of(v);
        return lr_hash_bytes(t.p, t.n, seed);
    default:
        t = text_of(v);
        return lr_hash_bytes(t.p, t.n, ~seed);
    }
}

static int64_t hash_value(sqlite3_value *v, char form, int64_t seed)
{
    int64_t out = 0, us;
    int known = 0, class = sqlite3_value_type(v);
    if (class == SQLITE_NULL) return LR_NULL_HASH - seed;
    switch (form) {
    case LR_FORM_INT:
        known = class == SQLITE_INTEGER || (class == SQLITE_FLOAT && is_whole(sqlite3_value_double(v)));
        if (known) out = lr_hash_word((int32_t)seed, sqlite3_value_int64(v));
        break;
    case LR_FORM_DECIMAL:
        known = hash_decimal(v, seed, &out);
        break;
    case LR_FORM_REAL:
        known = hash_real(v, seed, &out);
        break;
    case LR_FORM_BOOL:
        known = hash_bool(v, seed, &out);
        break;
    case LR_FORM_DATE:
        known = hash_date(v, seed, &out);
        break;
    case LR_FORM_MOMENT:
        known = moment_of(v, &us);
        if (known) out = lr_hash_moment(us, seed);
        break;
    case LR_FORM_ZONED:
        known = class == SQLITE_INTEGER || moment_of(v, &us);
        if (known) out = lr_hash_moment(class == SQLITE_INTEGER ? sqlite3_value_int64(v) : us, seed);
        break;
    case LR_FORM_UUID:
        known = hash_uuid(v, seed, &out);
        break;
    case LR_FORM_NETWORK:
        known = hash_network(v, seed, &out);
        break;
    case LR_FORM_FOLDED:
        known = hash_folded(v, seed, &out);
        break;
    case LR_FORM_BYTES:
        known = class == SQLITE_BLOB || class == SQLITE_TEXT;
        if (known) out = hash_hex(text_of(v), seed);
        break;
    case LR_FORM_TEXT:
    case LR_FORM_TRIMMED:
        known = hash_text(v, form == LR_FORM_TRIMMED, 0, seed, &out);
        break;
    case LR_FORM_TEXT_RECODED:
    case LR_FORM_TRIMMED_RECODED:
        known = hash_text(v, form == LR_FORM_TRIMMED_RECODED, 1, seed, &out);
        break;
    default:
        return hash_any(v, seed);
    }
    /* such as text in a column of integers: no other value is equal to it */
    return known ? out : hash_any(v, seed + LR_MISFIT_SEED);
}

static void fn_fold(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    int64_t seed = sqlite3_value_int64(v[0]), out = 0;
    const char *forms = (const char *)sqlite3_value_text(v[1]);
    for (int i = 2; i < n; i++) out ^= hash_value(v[i], forms[i - 2], seed + i - 2);
    sqlite3_result_int64(ctx, out);
}

static int64_t folds(int n, sqlite3_value **v)
{
    int64_t all = 0;
    for (int i = 0; i < n; i++) all ^= sqlite3_value_int64(v[i]);
    return all;
}

static void fn_xor(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    sqlite3_result_int64(ctx, folds(n, v));
}

static void fn_mix(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    sqlite3_result_int64(ctx, lr_hash_word(sqlite3_value_int(v[0]), folds(n - 1, v + 1)));
}

/* ---- the aggregate ---- */

typedef struct segment {
    int64_t number, rows; /* no rows: the place is free */
    uint64_t low;         /* the sum's 128 bits */
    int64_t high;
} segment;

typedef struct segments {
    segment *at;
    size_t used, room; /* room is a power of two */
} segments;

static __int128 sum_of(const segment *g)
{
    return (__int128)((unsigned __int128)(uint64_t)g->high << 64 | g->low);
}

static segment *find(segments *s, int64_t number)
{
    size_t i = (size_t)((uint64_t)number * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (s->room - 1);
    while (s->at[i].rows != 0 && s->at[i].number != number) i = (i + 1) & (s->room - 1);
    return &s->at[i];
}

static void grow(segments *s)
{
    segments more = {.used = s->used, .room = s->room == 0 ? 2048 : s->room * 2};
    more.at = lr_malloc(more.room * sizeof *more.at);
    memset(more.at, 0, more.room * sizeof *more.at);
    for (size_t i = 0; i < s->room; i++)
        if (s->at[i].rows != 0) *find(&more, s->at[i].number) = s->at[i];
    free(s->at);
    *s = more;
}

static void step(sqlite3_context *ctx, int n, sqlite3_value **v)
{
    segments *s = sqlite3_aggregate_context(ctx, (int)sizeof *s);
    if (s == NULL) {
        sqlite3_result_error_nomem(ctx);
        return;
    }
    if (s->used * 2 >= s->room) grow(s);
    int64_t number = lr_hash_word(LR_KEY_ROUND, sqlite3_value_int64(v[1])) & sqlite3_value_int64(v[0]);
    int64_t row = lr_hash_word(LR_ROW_ROUND, folds(n - 1, v + 1));
    segment *g = find(s, number);
    if (g->rows++ == 0) {
        g->number = number;
        s->used++;
    }
    __int128 sum = sum_of(g) + row;
    g->low = (uint64_t)sum;
    g->high = (int64_t)(sum >> 64);
}

static void put_sum(lr_buf *b, const segment *g)
{
    char text[48], *p = text + sizeof text;
    __int128 sum = sum_of(g);
    unsigned __int128 size = sum < 0 ? -(unsigned __int128)sum : (unsigned __int128)sum;
    *--p = 0;
    do *--p = (char)('0' + (int)(size % 10));
    while ((size /= 10) > 0);
    if (sum < 0) *--p = '-';
    lr_buf_puts(b, p);
}

static void final(sqlite3_context *ctx)
{
    segments *s = sqlite3_aggregate_context(ctx, 0);
    lr_buf b = {0};
    lr_buf_putc(&b, '[');
    for (size_t i = 0; s != NULL && i < s->room; i++) {
        const segment *g = &s->at[i];
        if (g->rows == 0) continue;
        lr_buf_printf(&b, "%s[%" PRId64 ",%" PRId64 ",\"", b.len > 1 ? "," : "", g->number, g->rows);
        put_sum(&b, g);
        lr_buf_puts(&b, "\"]");
    }
    lr_buf_putc(&b, ']');
    sqlite3_result_text64(ctx, b.data, b.len, SQLITE_TRANSIENT, SQLITE_UTF8);
    lr_buf_free(&b);
    if (s != NULL) free(s->at);
}

int lr_sqlite_register_checksums(sqlite3 *db)
{
    const int flags = SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS;
    if (sqlite3_create_function(db, "lrun_fold", -1, flags, NULL, fn_fold, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_xor", -1, flags, NULL, fn_xor, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_mix", -1, flags, NULL, fn_mix, NULL, NULL) != SQLITE_OK ||
        sqlite3_create_function(db, "lrun_segments", -1, flags, NULL, NULL, step, final) != SQLITE_OK)
        return -1;
    return 0;
}
