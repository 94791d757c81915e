#include "run/url.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* Where "?name=" begins, or the end. */
static const char *query_of(const char *p)
{
    for (; *p != 0; p++) {
        if (*p != '?') continue;
        size_t n = strspn(p + 1, "abcdefghijklmnopqrstuvwxyz_");
        if (n > 0 && p[1 + n] == '=') break;
    }
    return p;
}

/* The password of "user:password@" after "://": what people mean by it, up to
 * the last @, since libpq stops at the first. 0 where there is none. */
static int userinfo(const char *url, const char **from, const char **to)
{
    const char *scheme = strstr(url, "://");
    if (scheme == NULL) return 0;
    const char *host = scheme + 3;
    /* the colons of an address, [::1], where no name stands before it */
    if (*host == '[' && memchr(host, '@', strcspn(host, "/?#")) == NULL) return 0;
    const char *query = query_of(host), *at = strchr(host, '@'), *colon = strchr(host, ':');
    if (at == NULL || colon == NULL || colon > at) return 0;
    const char *slash = strchr(host, '/');
    const char *after = colon + 1 + strspn(colon + 1, "0123456789");
    /* host:5432/... with an @ somewhere later */
    if (slash != NULL && slash < at && at > query && (*after == '/' || *after == ',')) return 0;
    for (const char *p = at; *p != 0; p++)
        if (*p == '@' && (p < query || at > query)) at = p;
    *from = colon + 1;
    *to = at;
    return 1;
}

static void mask_url(const char *text, lr_buf *b)
{
    const char *from, *to, *p = text;
    if (userinfo(text, &from, &to)) {
        lr_buf_add(b, text, (size_t)(from - text));
        lr_buf_puts(b, "***");
        p = to;
    }
    for (const char *word; (word = strstr(p, "password=")) != NULL; p = word + strcspn(word, "&")) {
        word += strlen("password=");
        lr_buf_add(b, p, (size_t)(word - p));
        lr_buf_puts(b, "***");
    }
    lr_buf_puts(b, p);
}

/* The end of a value of "name = value", quoted or not. Words after it without
 * a = belong to a value that should have been quoted. */
static const char *value_end(const char *p)
{
    if (*p == '\'') {
        for (p++; *p != 0 && *p != '\''; p++)
            if (*p == '\\' && p[1] != 0) p++;
        return *p != 0 ? p + 1 : p;
    }
    for (;;) {
        while (*p != 0 && !isspace((unsigned char)*p)) p += *p == '\\' && p[1] != 0 ? 2 : 1;
        const char *next = p;
        while (isspace((unsigned char)*next)) next++;
        size_t n = strspn(next, "abcdefghijklmnopqrstuvwxyz_");
        const char *equals = next + n;
        while (isspace((unsigned char)*equals)) equals++;
        if (*next == 0 || (n > 0 && *equals == '=')) return p;
        p = next;
    }
}

static void mask_words(const char *text, lr_buf *b)
{
    const char *p = text;
    for (const char *word; (word = strstr(p, "password")) != NULL;) {
        word += strlen("password");
        while (isspace((unsigned char)*word)) word++;
        const char *value = word;
        if (*word == '=') {
            for (value++; isspace((unsigned char)*value);) value++;
        }
        lr_buf_add(b, p, (size_t)(value - p));
        p = value;
        if (*word != '=') continue;
        lr_buf_puts(b, "***");
        p = value_end(value);
    }
    lr_buf_puts(b, p);
}

const char *lr_url_shown(lr_arena *a, const char *text)
{
    lr_buf b = {0};
    if (strncmp(text, "sqlite:", 7) == 0) return lr_dup(a, text);
    const char *colon = strchr(text, ':'), *at = strrchr(text, '@'), *scheme = strstr(text, "://");
    if (scheme != NULL) {
        mask_url(text, &b);
        /* NAME=URL, or libpq's words with a URL among them */
        if (strcspn(text, " \t\r\n=") < (size_t)(scheme - text)) {
            lr_buf once = b;
            b = (lr_buf){0};
            mask_words(once.data, &b);
            lr_buf_free(&once);
        }
    } else if (!lr_url_is_words(text) && colon != NULL && at > colon && strstr(text, "password") == NULL) {
        lr_buf_printf(&b, "%.*s:***%s", (int)(colon - text), text, at); /* a URL with a slip in its head */
    } else {
        mask_words(text, &b);
    }
    const char *out = lr_dup(a, b.data != NULL ? b.data : "");
    lr_buf_free(&b);
    return out;
}

void lr_url_hide(char *text)
{
    lr_arena a = {0};
    const char *shown = lr_url_shown(&a, text);
    size_t n = strlen(text), m = strlen(shown);
    if (strcmp(shown, text) != 0) {
        /* the place has a fixed size: blanks fill it, or the end is cut */
        memset(text, ' ', n);
        memcpy(text, shown, m < n ? m : n);
    }
    lr_arena_free(&a);
}

int lr_url_is_words(const char *text)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = strspn(text, "abcdefghijklmnopqrstuvwxyz_");
    const char *p = text + n;
    while (isspace((unsigned char)*p)) p++;
    return n > 0 && *p == '=';
}

int lr_url_check(const char *url, lr_err *e)
{
    const char *from, *to;
    if (!userinfo(url, &from, &to)) return 0;
    for (const char *p = from; p < to; p++) {
        if (*p != '@' && *p != '/') continue;
        lr_fail(e, LR_USAGE, "the password in the connection's URL holds a %c, which ends it there", *p);
        return lr_hint(e, "write %%40 for @ and %%2F for /; or leave it out and use ~/.pgpass or PGPASSWORD");
    }
    return 0;
}
