/* What a column of SQLite makes of a value, by its affinity: does it stay the
 * same? */
#include "base/decimal.h"
#include "driver/sqlite/internal.h"
#include "driver/sqlite/sqlite.h"
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The affinity rules of SQLite, section 3.1 of its datatype page. */
const char *lr_sqlite_affinity(const char *decl)
{
    char up[128];
    size_t n = 0;
    for (; decl != NULL && decl[n] != 0 && n < sizeof up - 1; n++) up[n] = (char)toupper((unsigned char)decl[n]);
    up[n] = 0;
    if (strstr(up, "INT") != NULL) return "INTEGER";
    if (strstr(up, "CHAR") != NULL || strstr(up, "CLOB") != NULL || strstr(up, "TEXT") != NULL) return "TEXT";
    if (up[0] == 0 || strstr(up, "BLOB") != NULL) return "BLOB";
    if (strstr(up, "REAL") != NULL || strstr(up, "FLOA") != NULL || strstr(up, "DOUB") != NULL) return "REAL";
    return "NUMERIC";
}

/* A number written as lrun writes it: nothing is lost by reading it as one. */
static int canonical_number(const char *p, size_t n)
{
    size_t i = 0;
    if (i < n && p[i] == '-') i++;
    size_t digits = i;
    while (i < n && p[i] >= '0' && p[i] <= '9') i++;
    if (i == digits || (p[digits] == '0' && i - digits > 1)) return 0;
    if (i == n) return !(p[0] == '-' && p[1] == '0');
    if (p[i++] != '.') return 0;
    digits = i;
    while (i < n && p[i] >= '0' && p[i] <= '9') i++;
    return i == n && i > digits;
}

static int fits_int64(const char *p, size_t n)
{
    char text[32], back[32];
    if (n >= sizeof text) return 0;
    memcpy(text, p, n);
    text[n] = 0;
    snprintf(back, sizeof back, "%lld", strtoll(text, NULL, 10));
    return strcmp(text, back) == 0;
}

static int text_keeps(const char *p, size_t n, int to_real)
{
    /* SQLite reads a number also between blanks */
    const char *q = p;
    size_t m = n;
    while (m > 0 && isspace((unsigned char)*q)) {
        q++;
        m--;
    }
    while (m > 0 && isspace((unsigned char)q[m - 1])) m--;
    /* Text that is no number stays text in such a column. */
    if (!lr_is_decimal(q, m)) return 1;
    if (m != n || !canonical_number(p, n)) return 0;
    if (memchr(p, '.', n) == NULL && !to_real) return fits_int64(p, n);
    return lr_decimal_survives_real(p, n);
}

int lr_sqlite_keeps(const lr_value *v, char affinity)
{
    char text[40];
    switch (v->type) {
    case LR_INT:
        if (affinity == 'R') {
            double d = (double)v->i;
            return d < 9.2e18 && d > -9.2e18 && (int64_t)d == v->i;
        }
        return 1;
    case LR_REAL:
        if (affinity != 'T') return 1;
        /* SQLite writes 15 digits into a text column. */
        sqlite3_snprintf(sizeof text, text, "%!.15g", v->r);
        return strtod(text, NULL) == v->r;
    case LR_TEXT:
    case LR_DECIMAL:
        if (affinity == 'I' || affinity == 'N') return text_keeps(v->s.p, v->s.n, 0);
        return affinity != 'R' || text_keeps(v->s.p, v->s.n, 1);
    default:
        return 1;
    }
}
