/* Values into types that only PostgreSQL has. Its input functions take more than
 * they keep: a time takes a timestamp and drops the day, an interval takes 5 for
 * seconds, an oid wraps a negative number. */
#include "base/decimal.h"
#include "driver/postgres/copy.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* The first word of the type, as the server prints it. */
static int is_type(const lr_type *t, const char *word)
{
    size_t n = strcspn(t->native, " (");
    return strlen(word) == n && strncmp(t->native, word, n) == 0;
}

static int is_one_of(const lr_type *t, const char *const *words)
{
    for (; *words != NULL; words++)
        if (is_type(t, *words)) return 1;
    return 0;
}

/* "10:00", "10:00:00.5": no day before it, and behind it a zone only where the
 * type keeps one. */
static int is_clock(const lr_value *v, int zoned)
{
    static const char digits[] = "0123456789";
    const char *more = zoned ? "0123456789:.+-Z" : "0123456789:.";
    const char *p = v->s.p, *end = p + v->s.n;
    size_t hours = 0;
    while (p + hours < end && hours < 3 && strchr(digits, p[hours]) != NULL && p[hours] != 0) hours++;
    if (hours < 1 || hours > 2 || p + hours == end || p[hours] != ':') return 0;
    for (p += hours; p < end; p++)
        if (*p == 0 || strchr(more, *p) == NULL) return 0;
    return 1;
}

static int has_cents(const lr_value *v)
{
    char text[400] = "";
    if (v->type == LR_REAL) lr_real_plain(v->r, text, sizeof text);
    const char *p = v->type == LR_REAL ? text : v->s.p, *end = v->type == LR_REAL ? text + strlen(text) : p + v->s.n;
    const char *point = memchr(p, '.', (size_t)(end - p));
    for (const char *q = point != NULL ? point + 1 : end; q < end; q++)
        if (q - point > 2 && *q != '0') return 1;
    return 0;
}

const char *lr_pg_own_refuses(const lr_value *v, const lr_type *t)
{
    static const char *const no_number[] = {"interval", "time", "inet", "cidr", "macaddr", "macaddr8", "\"char\"", "bit", NULL};
    static const char *const texts[] = {"citext", "name", NULL}, *const numbers[] = {"oid", "xid", "cid", NULL};
    int words = v->type == LR_TEXT, number = v->type == LR_INT || v->type == LR_REAL || v->type == LR_DECIMAL || v->type == LR_BOOL;
    if (words) return t->clock && !is_clock(v, strstr(t->native, "with time zone") != NULL) ? ", which is no time of day alone" : NULL;
    if (!number) return is_one_of(t, texts) ? NULL : "";
    if (is_one_of(t, no_number)) return "";
    if (is_one_of(t, numbers)) return v->type == LR_INT && v->i >= 0 && v->i <= UINT32_MAX ? NULL : "";
    if (is_type(t, "money") && v->type != LR_INT && v->type != LR_BOOL && has_cents(v)) return ", which has more digits";
    return NULL;
}
