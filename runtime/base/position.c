/* Positions in logs, as text. */
#include "base/decimal.h"
#include "base/position.h"
#include <ctype.h>
#include <string.h>

#define DIGITS "0123456789"
#define HEX "0123456789abcdefABCDEF"
#define WIDTH 20    /* of a number in a key */
#define MOST 18     /* digits of one */
#define SERVER 36   /* characters of a UUID */

static size_t span(const char *p, size_t n, const char *of)
{
    size_t i = 0;
    while (i < n && p[i] != 0 && strchr(of, p[i]) != NULL) i++;
    return i;
}

static size_t digits_at_end(const char *p, size_t n)
{
    size_t i = 0;
    while (i < n && p[n - 1 - i] >= '0' && p[n - 1 - i] <= '9') i++;
    return i;
}

static int is_lsn(const char *p, size_t n, size_t *slash)
{
    *slash = span(p, n, HEX);
    if (*slash < 1 || *slash > 8 || *slash == n || p[*slash] != '/') return 0;
    size_t rest = n - *slash - 1;
    return rest >= 1 && rest <= 8 && span(p + *slash + 1, rest, HEX) == rest;
}

/* base "." file separator offset; the base has a letter. */
static int is_binlog(const char *p, size_t n, size_t *base, size_t *file, size_t *offset)
{
    *offset = digits_at_end(p, n);
    if (*offset < 1 || *offset > MOST || *offset + 1 >= n || strchr(":,/ ", p[n - *offset - 1]) == NULL) return 0;
    size_t left = n - *offset - 1;
    *file = digits_at_end(p, left);
    if (*file < 1 || *file > MOST || *file >= left || p[left - *file - 1] != '.') return 0;
    *base = left - *file - 1;
    for (size_t i = 0; i < *base; i++)
        if (isalpha((unsigned char)p[i])) return 1;
    return 0;
}

static int is_gtid(const char *p, size_t n)
{
    static const char form[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx:";
    if (n <= SERVER + 1 || n > SERVER + 1 + MOST || digits_at_end(p, n) != n - SERVER - 1) return 0;
    for (size_t i = 0; i <= SERVER; i++)
        if (form[i] == 'x' ? !isxdigit((unsigned char)p[i]) : p[i] != form[i]) return 0;
    return 1;
}

static void text_shape(const char *p, size_t n, lr_buf *out)
{
    int lower = 0, upper = 0, other = 0;
    for (size_t i = 0; i < n; i++) {
        lower |= p[i] >= 'a' && p[i] <= 'z';
        upper |= p[i] >= 'A' && p[i] <= 'Z';
        other |= (p[i] >= 'g' && p[i] <= 'z') || (p[i] >= 'G' && p[i] <= 'Z');
    }
    lr_buf_printf(out, "text:%c:", lower && upper ? (other ? 'x' : 'b') : lower ? (other ? 'y' : 'l') : upper ? (other ? 'Y' : 'u') : 'n');
    for (size_t i = 0; i < n; i++) lr_buf_putc(out, (unsigned char)p[i] < 128 && isalnum((unsigned char)p[i]) ? 'x' : p[i]);
}

void lr_position_shape(const char *p, size_t n, const lr_zone *z, lr_buf *out)
{
    lr_time t;
    size_t a, b, c;
    if (lr_time_parse(p, n, z, &t) == 0) lr_buf_puts(out, "time");
    else if (is_lsn(p, n, &a)) lr_buf_puts(out, "lsn");
    else if (is_binlog(p, n, &a, &b, &c)) {
        lr_buf_puts(out, "binlog:");
        lr_buf_add(out, p, a);
    } else if (is_gtid(p, n)) {
        lr_buf_puts(out, "gtid:");
        for (size_t i = 0; i < SERVER; i++) lr_buf_putc(out, (char)tolower((unsigned char)p[i]));
    } else if (n > 1 && (p[0] == '-' || p[0] == '+')) lr_buf_puts(out, lr_is_decimal(p + 1, n - 1) ? "signed" : "signed text");
    else text_shape(p, n, out);
}

static void padded(lr_buf *out, const char *p, size_t n, size_t width)
{
    for (size_t i = n; i < width; i++) lr_buf_putc(out, '0');
    for (size_t i = 0; i < n; i++) lr_buf_putc(out, (char)toupper((unsigned char)p[i]));
}

void lr_position_key(const char *p, size_t n, lr_buf *out)
{
    size_t a, b, c;
    if (is_lsn(p, n, &a)) {
        padded(out, p, a, 8);
        padded(out, p + a + 1, n - a - 1, 8);
    } else if (is_binlog(p, n, &a, &b, &c)) {
        padded(out, p + a + 1, b, WIDTH);
        padded(out, p + n - c, c, WIDTH);
    } else if (is_gtid(p, n)) {
        padded(out, p + SERVER + 1, n - SERVER - 1, WIDTH);
    } else {
        lr_buf_add(out, p, n);
    }
}

/* Sign, how many digits before the point, the digits; of a negative one all that
 * from the other end. */
void lr_position_number(const char *p, size_t n, lr_buf *out)
{
    if (!lr_is_decimal(p, n)) {
        lr_buf_add(out, p, n);
        return;
    }
    int negative = p[0] == '-';
    const char *end = p + n, *point;
    if (*p == '-' || *p == '+') p++;
    while (p < end && *p == '0') p++;
    point = memchr(p, '.', (size_t)(end - p));
    if (point != NULL)
        while (end[-1] == '0') end--;
    if (point == NULL) point = end;
    if (point == p && end - point <= 1) {
        lr_buf_putc(out, '1');
        return;
    }
    lr_buf_printf(out, "%c%05d", negative ? '0' : '2', negative ? 99999 - (int)(point - p) : (int)(point - p));
    for (; p < end; p++) lr_buf_putc(out, negative && *p != '.' ? (char)('0' + '9' - *p) : *p);
    if (negative) lr_buf_putc(out, '~');
}
