/* err.c - filling the error struct and writing it as text. */
#include "lrun/err.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* A cut must not leave half a UTF-8 character at the end. */
static void drop_partial_character(char *text, size_t n)
{
    size_t start = n;
    while (start && n - start < 3 && ((unsigned char)text[start - 1] & 0xC0) == 0x80) start--;
    if (!start) return;
    unsigned char lead = (unsigned char)text[start - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;
    if (want > n - start + 1) text[start - 1] = 0;
}

static void fill(char *field, size_t size, const char *fmt, va_list ap)
{
    int n = vsnprintf(field, size, fmt, ap);
    if (n < 0) field[0] = 0;
    else if ((size_t)n >= size) drop_partial_character(field, size - 1);
}

static void set(char *field, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
static void set(char *field, size_t size, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    fill(field, size, fmt, ap);
    va_end(ap);
}

int lr_fail(lr_err *e, lr_status status, const char *fmt, ...)
{
    if (e->status != LR_OK) return -1;
    e->status = status;
    va_list ap;
    va_start(ap, fmt);
    fill(e->message, sizeof e->message, fmt, ap);
    va_end(ap);
    return -1;
}

int lr_hint(lr_err *e, const char *fmt, ...)
{
    if (e->hint[0]) return -1;
    va_list ap;
    va_start(ap, fmt);
    fill(e->hint, sizeof e->hint, fmt, ap);
    va_end(ap);
    return -1;
}

int lr_step(lr_err *e, const char *fmt, ...)
{
    if (e->step[0]) return -1;
    va_list ap;
    va_start(ap, fmt);
    fill(e->step, sizeof e->step, fmt, ap);
    va_end(ap);
    return -1;
}

void lr_err_refused(lr_err *e, const char *decl, const char *name, const char *key)
{
    char why[sizeof e->message];
    snprintf(why, sizeof why, "%s", e->message);
    char *context = strstr(why, " (COPY ");
    if (context != NULL) *context = 0;
    if (e->column[0] != 0)
        set(e->message, sizeof e->message, "column %s (%s) cannot keep the value '%s', at %s %s: %s", e->column, decl, e->value, name, key, why);
    else
        set(e->message, sizeof e->message, "at %s %s: %s", name, key, why);
    lr_hint(e, "correct the row, leave it out with where, or convert the column in columns");
    e->row = 0;
}

void lr_err_clear(lr_err *e)
{
    memset(e, 0, sizeof *e);
}

typedef struct sink {
    char *out;
    size_t size, len;
} sink;

static void put(sink *s, char c)
{
    if (s->len + 1 < s->size) s->out[s->len] = c;
    s->len++;
}

static void put_text(sink *s, const char *z)
{
    while (*z) put(s, *z++);
}

/* Puts the character at z, of which n bytes are there, and returns how many it
 * took. C1 controls, which begin a sequence too, are two bytes in UTF-8. */
static size_t put_visible(sink *s, const char *z, size_t n)
{
    unsigned char c = (unsigned char)z[0];
    size_t took = c == 0xC2 && n > 1 && ((unsigned char)z[1] & 0xE0) == 0x80 ? 2 : 1;
    if (took == 1 && ((c >= 0x20 && c != 0x7F) || c == '\n' || c == '\t')) {
        put(s, z[0]);
        return 1;
    }
    for (size_t i = 0; i < took; i++) {
        char hex[8];
        snprintf(hex, sizeof hex, "\\x%02x", (unsigned)(unsigned char)z[i]);
        put_text(s, hex);
    }
    return took;
}

static void put_end(sink *s)
{
    if (s->size == 0) return;
    size_t end = s->len < s->size ? s->len : s->size - 1;
    s->out[end] = 0;
    if (end < s->len) drop_partial_character(s->out, end);
}

size_t lr_visible(const char *text, size_t n, char *out, size_t size)
{
    sink s = { out, size, 0 };
    for (size_t i = 0; i < n;) i += put_visible(&s, text + i, n - i);
    put_end(&s);
    return s.len;
}

/* Messages of servers hold line breaks and tabs; a run of them is one space. */
static void put_line(sink *s, const char *z)
{
    int pending = 0, any = 0;
    while (*z) {
        if (*z == '\n' || *z == '\r' || *z == '\t' || *z == '\v' || *z == '\f') {
            pending = any;
            z++;
            continue;
        }
        if (pending && *z == ' ') {
            z++;
            continue;
        }
        if (pending) put(s, ' ');
        pending = 0;
        any = 1;
        z += put_visible(s, z, z[1] != 0 ? 2 : 1);
    }
}

size_t lr_err_format(const lr_err *e, char *out, size_t size)
{
    sink s = { out, size, 0 };
    if (e->where[0]) {
        put_line(&s, e->where);
        put_text(&s, ": ");
    }
    if (e->step[0]) {
        put_line(&s, e->step);
        put_text(&s, ": ");
    }
    put_line(&s, e->message);
    if (e->hint[0]) {
        put_text(&s, "\n  hint: ");
        put_line(&s, e->hint);
    }
    put_end(&s);
    return s.len;
}
