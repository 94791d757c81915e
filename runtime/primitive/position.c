/* Does a column's text have an order, and which? Numbers in text do not sort by
 * their bytes: '9' is after '10'. */
#include "primitive/position.h"
#include <stdlib.h>
#include <string.h>

#define SHAPES 8 /* text of one skeleton has seven kinds of letters */

typedef struct shape {
    const char *name, *example;
} shape;

static int begins(const shape *s, const char *with)
{
    return strncmp(s->name, with, strlen(with)) == 0;
}

static int is_decimal(const shape *s)
{
    if (strcmp(s->name, "signed") == 0 || begins(s, "number")) return 1;
    if (!begins(s, "text:n:")) return 0;
    const char *rest = s->name + strlen("text:n:");
    rest += strspn(rest, "x");
    return rest[0] == 0 ? rest > s->name + strlen("text:n:") : rest[0] == '.' && rest[1] == 'x' && rest[1 + strspn(rest + 1, "x")] == 0;
}

/* The first few, and whether all of them are decimals. */
static int read_shapes(lr_run *run, const lr_sql *values, const lr_type *type, shape *out, int *n, int *decimals, lr_err *e)
{
    const lr_place *house = run->session->warehouse;
    lr_sql v = lr_sql_column(&run->arena, "values", "v"), of = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    int got;
    *n = 0;
    *decimals = 1;
    if (!house->dialect->shape(&of, &v, type, run->job->zone)) return 0;
    lr_sqlf(&q, "SELECT \"shape\", min(\"v\") FROM (SELECT \"values\".\"v\", %Q AS \"shape\" FROM (%Q) AS \"values\") AS \"shapes\" "
                "WHERE \"shape\" IS NOT NULL GROUP BY \"shape\" ORDER BY \"shape\"", &of, values);
    if (lr_query(run, house, &q, &k, e) != 0) return -1;
    while ((got = house->driver->next(k, &row, e)) == 1) {
        const char *example = lr_value_text(&run->arena, &row[1]);
        shape found = {lr_value_text(&run->arena, &row[0]), example != NULL ? example : ""};
        *decimals &= is_decimal(&found);
        if (*n < SHAPES) out[(*n)++] = found;
    }
    house->driver->finish(k);
    return got;
}

static int all_begin(const shape *s, int n, const char *with)
{
    for (int i = 0; i < n; i++)
        if (!begins(&s[i], with)) return 0;
    return 1;
}

/* Dates whose year is not first or whose month is a word, "31-01-2026", "2026-JAN-31",
 * and times with words, "11:00 AM". */
static int is_date_like(const char *skeleton)
{
    size_t a = strspn(skeleton, "x"), b, c;
    const char *p = skeleton + a, separator = *p;
    if (strchr(skeleton, ' ') != NULL) return 1;
    if (separator == 0 || strchr("-./", separator) == NULL) return 0;
    b = strspn(++p, "x");
    if (p[b] != separator) return 0;
    p += b + 1;
    c = strspn(p, "x");
    if (p[c] != 0) return 0;
    return (a <= 2 && b <= 3 && (c == 2 || c == 4)) || (a == 3 && b <= 2 && c >= 2 && c <= 4) || (a == 4 && b == 3 && c <= 2);
}

/* One skeleton, and letters that sort as what they stand for: 'a' and 'A' are one
 * digit and two bytes, but in base 62, which has no ULID's length. */
static int one_alphabet(const shape *s, int n)
{
    int letters[256] = {0};
    for (int i = 0; i < n; i++) {
        if (strcmp(s[i].name + strlen("text:n"), s[0].name + strlen("text:n")) != 0) return 0;
        letters[(unsigned char)s[i].name[strlen("text:")]] = 1;
    }
    const char *skeleton = s[0].name + strlen("text:n:");
    size_t length = strlen(skeleton), plain = strspn(skeleton, "x");
    if (is_date_like(skeleton) || (letters['x'] && (length == 26 || plain < length))) return 0;
    return !(letters['b'] && !letters['x']) && !((letters['l'] || letters['y']) && (letters['u'] || letters['Y']));
}

static int only_digits(const shape *s)
{
    return begins(s, "text:n:") && s->name[strlen("text:n:") + strspn(s->name + strlen("text:n:"), "x")] == 0;
}

static int refuse(const char *column, const shape *s, int n, lr_err *e)
{
    int digits = 1, other = 0, numbers = 0;
    for (int i = 0; i < n; i++) {
        digits &= only_digits(&s[i]);
        numbers += begins(&s[i], "number") || begins(&s[i], "blob");
        if (i > 0 && other == 0) other = i;
    }
    if (numbers > 0) {
        lr_fail(e, LR_FAILED, "%s holds values of different kinds, which have no order: '%s' and '%s'", column, s[0].example, s[other].example);
        return lr_hint(e, "convert them: columns = { %s = \"CAST(%s AS bigint)\" }", column, column);
    }
    if (digits) {
        lr_fail(e, LR_FAILED, "%s holds numbers as text of different lengths, and '9' sorts after '10'", column);
        return lr_hint(e, "convert them: columns = { %s = \"CAST(%s AS bigint)\" }", column, column);
    }
    if (all_begin(s, n, "binlog:") || all_begin(s, n, "gtid:")) {
        lr_fail(e, LR_FAILED, "%s holds positions of two logs, which have no common order: '%s' and '%s'", column, s[0].example, s[other].example);
        return lr_hint(e, "take the changes of one log, or order them by a time or a number");
    }
    lr_fail(e, LR_FAILED, "%s holds text that its bytes do not order: '%s'%s%s%s", column, s[0].example, n > 1 ? " and '" : "", n > 1 ? s[other].example : "",
            n > 1 ? "'" : "");
    return lr_hint(e, "convert it: columns = { %s = \"CAST(%s AS numeric)\" } where it is a number; else give it one width and one alphabet. "
                      "Known are PostgreSQL's LSN, MySQL's file:offset and GTID of one server, and ISO times", column, column);
}

/* A decimal of the source that the warehouse has no exact type for, or that an
 * expression without a type gave. Of a column of text it is text. */
static int may_be_decimal(lr_run *run, const lr_rowset *rs, const char *column)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    for (int i = 0; i < rs->n; i++)
        if (lr_name_equal(d, rs->fields[i].name, column)) return rs->fields[i].type.kind == LR_KIND_DECIMAL || rs->fields[i].type.kind == LR_KIND_ANY;
    return 0;
}

int lr_find_position(lr_run *run, const lr_rowset *rs, const lr_sql *values, const lr_type *type, const char *column, lr_position *out, lr_err *e)
{
    shape s[SHAPES];
    int n, decimals;
    *out = LR_POSITION_PLAIN;
    if (run->mode == LR_MODE_PLAN) return 0;
    if (read_shapes(run, values, type, s, &n, &decimals, e) != 0) return -1;
    if (n == 0 || all_begin(s, n, "time") || all_begin(s, n, "number") || all_begin(s, n, "blob")) return 0;
    if (decimals && may_be_decimal(run, rs, column)) *out = LR_POSITION_NUMBER;
    else if (all_begin(s, n, "lsn")) *out = LR_POSITION_LSN;
    else if (n == 1 && begins(s, "binlog:")) *out = LR_POSITION_BINLOG;
    else if (n == 1 && begins(s, "gtid:")) *out = LR_POSITION_GTID;
    else if (n == SHAPES || !all_begin(s, n, "text:") || !one_alphabet(s, n)) return refuse(column, s, n, e);
    return 0;
}
