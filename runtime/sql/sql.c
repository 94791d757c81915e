/* SQL text with its values. */
#include "sql/sql.h"
#include "base/calendar.h"
#include "base/decimal.h"
#include "sql/dialect.h"
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

lr_sql lr_sql_new(lr_arena *a)
{
    return (lr_sql){.arena = a};
}

static void append(lr_sql *q, const char *p, size_t n)
{
    if (q->len + n + 1 > q->cap) {
        size_t cap = q->cap == 0 ? 256 : q->cap * 2;
        while (cap < q->len + n + 1) cap *= 2;
        char *more = lr_alloc(q->arena, cap);
        if (q->len > 0) memcpy(more, q->text, q->len);
        q->text = more;
        q->cap = cap;
    }
    memcpy(q->text + q->len, p, n);
    q->len += n;
    q->text[q->len] = 0;
}

static void append_identifier(lr_sql *q, const char *name)
{
    append(q, "\"", 1);
    for (const char *p = name; *p != 0; p++) {
        if (*p == '"') append(q, "\"", 1);
        append(q, p, 1);
    }
    append(q, "\"", 1);
}

static void append_value(lr_sql *q, const lr_value *v)
{
    char mark = LR_SQL_PARAMETER;
    append(q, &mark, 1);
    if (q->n == q->room) {
        int room = q->room == 0 ? 8 : q->room * 2;
        lr_value *more = lr_alloc(q->arena, (size_t)room * sizeof *more);
        if (q->n > 0) memcpy(more, q->params, (size_t)q->n * sizeof *more);
        q->params = more;
        q->room = room;
    }
    lr_value copy = *v;
    if (v->type == LR_TEXT || v->type == LR_BLOB || v->type == LR_DECIMAL)
        copy.s.p = lr_dupn(q->arena, v->s.p, v->s.n);
    q->params[q->n++] = copy;
}

static void append_sql(lr_sql *q, const lr_sql *inner)
{
    int at = 0;
    for (size_t i = 0; i < inner->len; i++) {
        if (inner->text[i] == LR_SQL_PARAMETER) append_value(q, &inner->params[at++]);
        else append(q, &inner->text[i], 1);
    }
}

void lr_sqlf(lr_sql *q, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    for (const char *p = fmt; *p != 0; p++) {
        if (*p != '%') {
            size_t run = strcspn(p, "%");
            append(q, p, run);
            p += run - 1;
            continue;
        }
        switch (*++p) {
        case 's': {
            const char *z = va_arg(ap, const char *);
            append(q, z, strlen(z));
            break;
        }
        case 'd': {
            char text[16];
            int n = snprintf(text, sizeof text, "%d", va_arg(ap, int));
            append(q, text, (size_t)n);
            break;
        }
        case 'I':
            append_identifier(q, va_arg(ap, const char *));
            break;
        case 'T': {
            const lr_table *t = va_arg(ap, const lr_table *);
            if (t->schema != NULL) {
                append_identifier(q, t->schema);
                append(q, ".", 1);
            }
            append_identifier(q, t->name);
            break;
        }
        case 'V':
            append_value(q, va_arg(ap, const lr_value *));
            break;
        case 'Q':
            append_sql(q, va_arg(ap, const lr_sql *));
            break;
        default:
            append(q, p, 1);
        }
    }
    va_end(ap);
}

/* The end of a quoted run, comment or dollar quote that starts at p; p itself
 * where none starts there. */
static const char *skip_quoted(const char *p)
{
    if (*p == '\'' || *p == '"' || *p == '`') {
        const char *end = p + 1;
        while (*end != 0 && *end != *p) end++;
        return *end != 0 ? end + 1 : end;
    }
    if (p[0] == '-' && p[1] == '-') return p + strcspn(p, "\n");
    if (p[0] == '/' && p[1] == '*') {
        const char *end = strstr(p + 2, "*/");
        return end != NULL ? end + 2 : p + strlen(p);
    }
    if (*p == '$') {
        const char *tag = p + 1;
        while (isalnum((unsigned char)*tag) || *tag == '_') tag++;
        if (*tag != '$' || isdigit((unsigned char)p[1])) return p;
        size_t n = (size_t)(tag - p) + 1;
        for (const char *end = tag + 1; *end != 0; end++)
            if (strncmp(end, p, n) == 0) return end + n;
        return p + strlen(p);
    }
    return p;
}

int lr_sql_piece(const char *text, int list, const char *what, lr_err *e)
{
    int depth = 0, bare = 1;
    const char *problem = NULL;
    for (const char *p = text; *p != 0 && problem == NULL;) {
        const char *end = skip_quoted(p);
        if (end != p) {
            int comment = (p[0] == '-' && p[1] == '-') || p[0] == '/';
            int closed = p[0] == '-' || (p[0] == '/' ? end - p >= 4 && end[-1] == '/' : end - p >= 2 && end[-1] == *p) || *p == '$';
            if (!closed) problem = comment ? "a comment is not closed" : "a quote is not closed";
            if (!comment) bare = 0;
            p = end;
            continue;
        }
        if (*p == '(') depth++;
        if (*p == ')' && --depth < 0) problem = "a parenthesis closes that was not opened";
        if (*p == ';') problem = "it holds a semicolon";
        if (*p == ',' && depth == 0 && !list) problem = "it holds a comma: it must be one expression";
        if (!isspace((unsigned char)*p)) bare = 0;
        p++;
    }
    if (problem == NULL && depth > 0) problem = "a parenthesis is not closed";
    if (problem == NULL && bare) problem = "it is empty";
    if (problem == NULL) return 0;
    lr_fail(e, LR_FAILED, "the SQL \"%s\" (%s): %s", text, what, problem);
    return lr_hint(e, "write one condition or expression");
}

/* "main" before a dot. */
static const char *after_main(const char *p)
{
    size_t n = strncasecmp(p, "\"main\"", 6) == 0 ? 6 : strncasecmp(p, "main", 4) == 0 ? 4 : 0;
    if (n == 0) return NULL;
    const char *dot = p + n + strspn(p + n, " \t\n");
    return *dot == '.' ? p + n : NULL;
}

int lr_sql_user(lr_sql *q, const char *text, const char *main_schema, lr_sql_lookup lookup, void *arg, lr_err *e)
{
    for (const char *p = text; *p != 0;) {
        int inside_word = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_' || p[-1] == '.');
        const char *rest = main_schema != NULL && !inside_word ? after_main(p) : NULL;
        if (rest != NULL) {
            append_identifier(q, main_schema);
            p = rest;
            continue;
        }
        const char *end = skip_quoted(p);
        if (end != p) {
            append(q, p, (size_t)(end - p));
            p = end;
            continue;
        }
        if (p[0] == ':' && p[1] == ':') {
            append(q, "::", 2);
            p += 2;
            continue;
        }
        int word_before = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (p[0] == ':' && (isalpha((unsigned char)p[1]) || p[1] == '_') && !word_before) {
            end = p + 1;
            while (isalnum((unsigned char)*end) || *end == '_') end++;
            char *name = lr_dupn(q->arena, p + 1, (size_t)(end - p - 1));
            const lr_value *v = lookup != NULL ? lookup(arg, name) : NULL;
            if (v == NULL) {
                lr_fail(e, LR_FAILED, "no value for :%s in the SQL", name);
                return lr_hint(e, "pass params = { %s = ... }", name);
            }
            append_value(q, v);
            p = end;
            continue;
        }
        if (*p == LR_SQL_PARAMETER) return lr_fail(e, LR_FAILED, "the SQL holds a control character");
        append(q, p, 1);
        p++;
    }
    return 0;
}

const char *lr_sql_text(const lr_sql *q, const lr_dialect *d)
{
    if (q->len == 0) return "";
    lr_sql out = lr_sql_new(q->arena);
    int at = 0;
    for (size_t i = 0; i < q->len;) {
        if (q->text[i] == LR_SQL_PARAMETER) {
            char text[16];
            d->placeholder(++at, text);
            append(&out, text, strlen(text));
            i++;
            continue;
        }
        size_t run = 1;
        while (i + run < q->len && q->text[i + run] != LR_SQL_PARAMETER) run++;
        append(&out, q->text + i, run);
        i += run;
    }
    return out.text;
}

void lr_sql_literal(lr_buf *b, const lr_value *v)
{
    char text[48];
    switch (v->type) {
    case LR_NULL:
        lr_buf_puts(b, "NULL");
        break;
    case LR_INT:
        lr_buf_printf(b, "%" PRId64, v->i);
        break;
    case LR_BOOL:
        lr_buf_puts(b, v->i != 0 ? "TRUE" : "FALSE");
        break;
    case LR_REAL:
        lr_buf_puts(b, lr_format_real(v->r, text));
        break;
    case LR_BLOB:
        lr_buf_puts(b, "x'");
        for (size_t i = 0; i < v->s.n; i++) lr_buf_printf(b, "%02x", (unsigned char)v->s.p[i]);
        lr_buf_putc(b, '\'');
        break;
    case LR_TEXT:
    case LR_DECIMAL:
        lr_buf_putc(b, '\'');
        for (size_t i = 0; i < v->s.n; i++) {
            if (v->s.p[i] == '\'') lr_buf_putc(b, '\'');
            lr_buf_putc(b, v->s.p[i] != 0 ? v->s.p[i] : '?');
        }
        lr_buf_putc(b, '\'');
        break;
    case LR_DATE:
        lr_buf_printf(b, "'%s'", lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        break;
    case LR_TIMESTAMP:
        lr_buf_printf(b, "'%s'", lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    case LR_TIMESTAMPTZ:
        lr_buf_printf(b, "'%s+00'", lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    }
}

const char *lr_sql_show(const lr_sql *q, const lr_dialect *d)
{
    (void)d;
    lr_buf b = {0};
    int at = 0;
    for (size_t i = 0; i < q->len; i++) {
        if (q->text[i] == LR_SQL_PARAMETER) lr_sql_literal(&b, &q->params[at++]);
        else lr_buf_putc(&b, q->text[i]);
    }
    char *out = lr_dupn(q->arena, b.data != NULL ? b.data : "", b.len);
    lr_buf_free(&b);
    return out;
}

const char *lr_table_name(lr_arena *a, const lr_table *t)
{
    if (t->schema == NULL) return t->name;
    return lr_printf(a, "%s.%s", t->schema, t->name);
}
