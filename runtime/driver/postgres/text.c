/* Values in the text form of COPY. A value that the column would change or cut
 * is refused here, by its column and row. */
#include "base/decimal.h"
#include "base/moment.h"
#include "driver/postgres/copy.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void value_text(const lr_value *v, char *out, size_t size)
{
    char text[48];
    switch (v->type) {
    case LR_INT:
    case LR_BOOL:
        snprintf(out, size, "%" PRId64, v->i);
        break;
    case LR_REAL:
        snprintf(out, size, "%s", lr_format_real(v->r, text));
        break;
    case LR_TEXT:
    case LR_DECIMAL:
        snprintf(out, size, "'%.*s'", (int)(v->s.n < 60 ? v->s.n : 60), v->s.p);
        break;
    case LR_BLOB:
        snprintf(out, size, "of %zu bytes", v->s.n);
        break;
    case LR_DATE:
        snprintf(out, size, "%s", lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        break;
    case LR_TIMESTAMP:
    case LR_TIMESTAMPTZ:
        snprintf(out, size, "%s", lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    default:
        snprintf(out, size, "NULL");
    }
}

static int refuse(const lr_sink *s, const lr_value *row, int at, const char *why, lr_err *e)
{
    static const char *const classes[] = {"null", "integer", "real", "text", "blob", "boolean", "numeric", "date", "timestamp", "timestamptz"};
    char value[128], key[128];
    value_text(&row[at], value, sizeof value);
    value_text(&row[0], key, sizeof key);
    lr_fail(e, LR_FAILED, "column %s (%s) cannot keep the %s value %s%s, at %s %s", s->columns[at].name, s->columns[at].native,
            classes[row[at].type], value, why, s->columns[0].name, key);
    return lr_hint(e, "give the target's column a type that keeps it, leave the row out with where, or convert it in columns");
}

static void put_escaped(lr_buf *b, const char *p, size_t n)
{
    size_t from = 0;
    for (size_t i = 0; i < n; i++) {
        char c = p[i], code = c == '\\' ? '\\' : c == '\t' ? 't' : c == '\n' ? 'n' : c == '\r' ? 'r' : 0;
        if (code == 0) continue;
        lr_buf_add(b, p + from, i - from);
        lr_buf_putc(b, '\\');
        lr_buf_putc(b, code);
        from = i + 1;
    }
    lr_buf_add(b, p + from, n - from);
}

/* Digits of a second past what the type keeps, "1 day 10:00:00.857". */
static int is_finer(const lr_value *v, int fraction)
{
    const char *point = memchr(v->s.p, '.', v->s.n), *end = v->s.p + v->s.n;
    if (fraction < 0 || point == NULL) return 0;
    for (const char *p = point + 1; p < end && *p >= '0' && *p <= '9'; p++)
        if (p - point > fraction && *p != '0') return 1;
    return 0;
}

/* Digits after the point past the scale: money keeps two. */
static int has_cents(const lr_value *v, int scale)
{
    return scale >= 0 && is_finer(v, scale);
}

static const char *too_long(const lr_value *v, const target *t)
{
    size_t letters = 0;
    if (t->type.length < 0) return NULL;
    if (t->kind == K_OTHER) return v->s.n > (size_t)t->type.length ? ", which is longer" : NULL;
    for (size_t i = 0; i < v->s.n; i++) letters += ((unsigned char)v->s.p[i] & 0xC0) != 0x80;
    return letters > (size_t)t->type.length ? ", which is longer" : NULL;
}

static int put_text(lr_sink *s, const lr_value *row, int at, lr_err *e)
{
    const lr_value *v = &row[at];
    const target *t = &s->columns[at];
    if (memchr(v->s.p, 0, v->s.n) != NULL) return refuse(s, row, at, ", which holds a NUL byte", e);
    if (!lr_pg_valid_utf8(v->s.p, v->s.n)) return refuse(s, row, at, ", which is no UTF-8", e);
    const char *why = too_long(v, t);
    if (why == NULL && t->kind == K_OTHER && is_finer(v, t->type.fraction)) why = ", which has more digits of a second";
    if (why == NULL && t->kind == K_OTHER && has_cents(v, t->type.scale)) why = ", which has more digits";
    if (why != NULL) return refuse(s, row, at, why, e);
    put_escaped(&s->buf, v->s.p, v->s.n);
    return 0;
}

static int put_int(lr_sink *s, const lr_value *row, int at, kind k, lr_err *e)
{
    const lr_value *v = &row[at];
    int64_t i = v->i;
    if (v->type == LR_DECIMAL) {
        lr_sum sum = {0};
        int whole = lr_sum_text(&sum, v->s.p, v->s.n, 1) == 0 && lr_sum_is_int64(&sum, &i);
        lr_sum_free(&sum);
        if (!whole) return refuse(s, row, at, "", e);
    } else if (v->type == LR_REAL && v->r > -9.2e18 && v->r < 9.2e18 && v->r == (double)(int64_t)v->r) {
        i = (int64_t)v->r;
    } else if (v->type != LR_INT && v->type != LR_BOOL) {
        return refuse(s, row, at, "", e);
    }
    int64_t limit = k == K_INT2 ? INT16_MAX : k == K_INT4 ? INT32_MAX : INT64_MAX;
    if (i > limit || i < -limit - 1) return refuse(s, row, at, "", e);
    lr_buf_printf(&s->buf, "%" PRId64, i);
    return 0;
}

/* Why numeric(p, s) would not keep a plain decimal; NULL where it does. A
 * negative scale rounds before the point. */
static const char *too_many_digits(const char *p, size_t n, const lr_type *t)
{
    if (t->precision < 0) return NULL;
    if (n > 0 && *p == '-') p++, n--;
    while (n > 0 && *p == '0') p++, n--;
    const char *point = memchr(p, '.', n), *end = p + n;
    size_t digits = point != NULL ? (size_t)(point - p) : n;
    while (point != NULL && end > point && end[-1] == '0') end--;
    if (point != NULL && end - point - 1 > (t->scale > 0 ? t->scale : 0)) return ", which has more digits";
    for (size_t i = 1; t->scale < 0 && i <= digits && i <= (size_t)-t->scale; i++)
        if (p[digits - i] != '0') return ", which has more digits";
    return digits > 0 && (int)digits > t->precision - t->scale ? "" : NULL;
}

static double number_of(const lr_value *v)
{
    char text[64];
    snprintf(text, sizeof text, "%.*s", (int)(v->s.n < sizeof text ? v->s.n : sizeof text - 1), v->s.p);
    return strtod(text, NULL);
}

static int put_number(lr_sink *s, const lr_value *row, int at, kind k, lr_err *e)
{
    const lr_value *v = &row[at];
    char text[48];
    /* what a function gave back untouched */
    static const char *const special[] = {"NaN", "Infinity", "-Infinity"};
    for (int i = 0; v->type == LR_TEXT && i < 3; i++)
        if (v->s.n == strlen(special[i]) && memcmp(v->s.p, special[i], v->s.n) == 0) {
            lr_buf_add(&s->buf, v->s.p, v->s.n);
            return 0;
        }
    char shown[400] = "";
    if (k == K_NUMERIC && (v->type == LR_INT || v->type == LR_REAL || v->type == LR_TEXT || v->type == LR_DECIMAL)) {
        const char *p = v->type == LR_INT || v->type == LR_REAL ? shown : v->s.p, *why = NULL;
        if (v->type == LR_INT) snprintf(shown, sizeof shown, "%" PRId64, v->i);
        if (v->type == LR_REAL) lr_real_plain(v->r, shown, sizeof shown);
        size_t n = p == shown ? strlen(p) : v->s.n;
        if (lr_is_decimal(p, n) && memchr(p, 'e', n) == NULL && memchr(p, 'E', n) == NULL) why = too_many_digits(p, n, &s->columns[at].type);
        if (why != NULL) return refuse(s, row, at, why, e);
    }
    if (v->type == LR_INT) {
        int64_t i = v->i;
        if (k != K_NUMERIC && (i > (INT64_C(1) << 53) || i < -(INT64_C(1) << 53)) && (int64_t)(double)i != i) return refuse(s, row, at, "", e);
        if (k == K_REAL4 && !lr_pg_fits_float((double)i)) return refuse(s, row, at, "", e);
        lr_buf_printf(&s->buf, "%" PRId64, i);
    } else if (v->type == LR_REAL) {
        if (k == K_REAL4 && !lr_pg_fits_float(v->r)) return refuse(s, row, at, "", e);
        lr_buf_puts(&s->buf, lr_format_real(v->r, text));
    } else if ((v->type == LR_DECIMAL || v->type == LR_TEXT) &&
               (lr_is_decimal(v->s.p, v->s.n) || (v->type == LR_DECIMAL && v->s.n > 0))) {
        if (k != K_NUMERIC && !lr_decimal_survives_real(v->s.p, v->s.n)) return refuse(s, row, at, "", e);
        if (k == K_REAL4 && !lr_pg_fits_float(number_of(v))) return refuse(s, row, at, "", e);
        lr_buf_add(&s->buf, v->s.p, v->s.n);
    } else {
        return refuse(s, row, at, "", e);
    }
    return 0;
}

/* Infinity, BC and years past 9999 are PostgreSQL's own forms. */
static int is_far_time(const lr_value *v)
{
    static const char *const own[] = {"infinity", "-infinity"};
    size_t digits = 0;
    if (v->type != LR_TEXT) return 0;
    int known = v->s.n > 3 && strncmp(v->s.p + v->s.n - 3, " BC", 3) == 0;
    for (int i = 0; i < 2; i++) known |= v->s.n == strlen(own[i]) && strncmp(v->s.p, own[i], v->s.n) == 0;
    while (digits < v->s.n && v->s.p[digits] >= '0' && v->s.p[digits] <= '9') digits++;
    return known || digits >= 5;
}

/* The server reads a far time as it is, but drops what the type has no place for:
 * the time of day of a date, an offset of a time without a zone. */
static const char *far_time_loses(const lr_value *v, lr_kind to, const lr_zone *z)
{
    const char *end = v->s.p + v->s.n, *clock = memchr(v->s.p, ':', v->s.n), *offset = clock;
    if (clock == NULL || end - clock < 6) return lr_zone_is_utc(z) || to != LR_KIND_INSTANT ? NULL : ", which has no offset";
    while (offset < end && *offset != '+' && *offset != '-' && *offset != 'Z') offset++;
    if (to == LR_KIND_DATE && (offset < end || strncmp(clock - 2, "00:00:00", 8) != 0 || (end - clock > 6 && clock[6] == '.'))) return ", which has a time of day";
    int is_utc = offset < end && (*offset == 'Z' || (end - offset >= 3 && strncmp(offset + 1, "00", 2) == 0));
    if (to == LR_KIND_TIMESTAMP && offset < end && !(is_utc && lr_zone_is_utc(z))) return ", which has an offset";
    return to == LR_KIND_INSTANT && offset == end && !lr_zone_is_utc(z) ? ", which has no offset" : NULL;
}

static int put_time(lr_sink *s, const lr_value *row, int at, lr_err *e)
{
    const lr_value *v = &row[at];
    const lr_type *t = &s->columns[at].type;
    const char *why;
    char text[48];
    int64_t us;
    switch (lr_convert_time(v, t->kind, t->fraction, s->zone, &us, &why)) {
    case LR_CONVERTED:
        if (t->kind == LR_KIND_DATE) lr_buf_puts(&s->buf, lr_format_date(lr_zone_utc(), us, text));
        else lr_buf_printf(&s->buf, "%s%s", lr_format_instant(lr_zone_utc(), us, text), t->kind == LR_KIND_INSTANT ? "+00" : "");
        return 0;
    case LR_NO_TIME:
        if (!is_far_time(v)) return refuse(s, row, at, "", e);
        why = far_time_loses(v, t->kind, s->zone);
        if (why != NULL) return refuse(s, row, at, why, e);
        put_escaped(&s->buf, v->s.p, v->s.n);
        return 0;
    default:
        return refuse(s, row, at, why, e);
    }
}

int lr_pg_put_text(lr_sink *s, const lr_value *row, int at, lr_err *e)
{
    const lr_value *v = &row[at];
    kind k = s->columns[at].kind;
    const char *why;
    char text[64];
    switch (k) {
    case K_INT2:
    case K_INT4:
    case K_INT8:
        return put_int(s, row, at, k, e);
    case K_NUMERIC:
    case K_REAL:
    case K_REAL4:
        return put_number(s, row, at, k, e);
    case K_BOOL:
        if ((v->type != LR_BOOL && v->type != LR_INT) || (v->i != 0 && v->i != 1)) return refuse(s, row, at, "", e);
        lr_buf_putc(&s->buf, v->i != 0 ? 't' : 'f');
        return 0;
    case K_BYTEA:
        if (v->type != LR_BLOB) return refuse(s, row, at, "", e);
        lr_buf_puts(&s->buf, "\\\\x");
        for (size_t i = 0; i < v->s.n; i++) lr_buf_printf(&s->buf, "%02x", (unsigned char)v->s.p[i]);
        return 0;
    case K_DATE:
    case K_TIMESTAMP:
    case K_TIMESTAMPTZ:
        return put_time(s, row, at, e);
    case K_TEXT:
    case K_OTHER:
        if (v->type == LR_BLOB) return refuse(s, row, at, "", e);
        why = k == K_OTHER ? lr_pg_own_refuses(v, &s->columns[at].type) : NULL;
        if (why != NULL) return refuse(s, row, at, why, e);
        if (v->type == LR_TEXT || v->type == LR_DECIMAL) return put_text(s, row, at, e);
        if (v->type == LR_BOOL) lr_buf_puts(&s->buf, v->i != 0 ? "true" : "false");
        else if (v->type == LR_INT) lr_buf_printf(&s->buf, "%" PRId64, v->i);
        else if (v->type == LR_REAL) lr_buf_puts(&s->buf, lr_format_real(v->r, text));
        else {
            value_text(v, text, sizeof text);
            lr_buf_printf(&s->buf, "%s%s", text, v->type == LR_TIMESTAMPTZ ? "+00" : "");
        }
        return 0;
    }
    return 0;
}
