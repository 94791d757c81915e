/* What a statement's words tell of it. The server says neither what a statement
 * touches nor whether it writes, short of running it. */
#include "driver/postgres/words.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

typedef enum kind { END, WORD, NAME, TEXT, SIGN } kind; /* NAME: in double quotes */

typedef struct token {
    kind kind;
    char word[64]; /* a WORD in small letters, a SIGN as it is */
    const char *from, *to;
} token;

static int is_word(int c)
{
    return isalnum(c) || c == '_' || c == '$' || c >= 0x80;
}

/* Past blanks and comments, which nest. */
static const char *skip_blank(const char *p)
{
    for (;;) {
        p += strspn(p, " \t\n\r\f\v");
        if (p[0] == '-' && p[1] == '-') {
            p += strcspn(p, "\n\r");
        } else if (p[0] == '/' && p[1] == '*') {
            int depth = 0;
            do {
                int opens = p[0] == '/' && p[1] == '*', closes = p[0] == '*' && p[1] == '/';
                depth += opens - closes;
                p += opens || closes ? 2 : 1;
            } while (depth > 0 && *p != 0);
        } else {
            return p;
        }
    }
}

/* The end of what begins with a quote; doubled ones are inside, and after a
 * backslash any where backslashes escape. */
static const char *skip_quoted(const char *p, int escapes)
{
    const char quote = *p++;
    while (*p != 0 && (*p != quote || p[1] == quote)) {
        if (*p == quote || (escapes && *p == '\\' && p[1] != 0)) p++;
        p++;
    }
    return *p == 0 ? p : p + 1;
}

/* $tag$ ... $tag$, or NULL where it is none. */
static const char *skip_dollars(const char *p)
{
    size_t n = 1;
    while (is_word((unsigned char)p[n]) && p[n] != '$') n++;
    if (p[n] != '$' || isdigit((unsigned char)p[1])) return NULL;
    for (const char *q = p + ++n; *q != 0; q++)
        if (strncmp(q, p, n) == 0) return q + n;
    return p + strlen(p);
}

static void next(const char **at, token *t)
{
    const char *p = skip_blank(*at), *end;
    t->from = p;
    t->word[0] = 0;
    if (*p == 0) {
        t->kind = END;
        end = p;
    } else if (*p == '\'' || ((*p == 'e' || *p == 'E') && p[1] == '\'')) {
        t->kind = TEXT;
        end = *p == '\'' ? skip_quoted(p, 0) : skip_quoted(p + 1, 1);
    } else if (*p == '"') {
        t->kind = NAME;
        end = skip_quoted(p, 0);
        snprintf(t->word, sizeof t->word, "%.*s", (int)(end - p > 2 ? end - p - 2 : 0), p + 1);
    } else if (*p == '$' && (end = skip_dollars(p)) != NULL) {
        t->kind = TEXT;
    } else if (is_word((unsigned char)*p)) {
        size_t n = 0;
        t->kind = WORD;
        for (end = p; is_word((unsigned char)*end); end++)
            if (n + 1 < sizeof t->word) t->word[n++] = (char)tolower((unsigned char)*end);
        t->word[n] = 0;
    } else {
        t->kind = SIGN;
        snprintf(t->word, sizeof t->word, "%c", *p);
        end = p + 1;
    }
    t->to = end;
    *at = end;
}

static int is_among(const char *const *words, const token *t)
{
    if (t->kind != WORD) return 0;
    while (*words != NULL && strcmp(*words, t->word) != 0) words++;
    return *words != NULL;
}

static int is(const token *t, const char *word)
{
    return (t->kind == WORD || t->kind == SIGN) && strcmp(t->word, word) == 0;
}

static int is_ledger(const token *t)
{
    return (t->kind == WORD || t->kind == NAME) && strncasecmp(t->word, "lrun_", 5) == 0;
}

static int tells_of_ledger(const token *t)
{
    for (const char *p = t->from; p + 5 <= t->to; p++)
        if (strncasecmp(p, "lrun_", 5) == 0) return 1;
    return 0;
}

static const char *const controls[] = {"begin", "start", "commit", "end", "rollback", "abort", "savepoint", "release", "prepare", NULL};
static const char *const settings[] = {"vacuum", "cluster", "reindex", "checkpoint", "listen", "discard", "set", "reset", NULL};
static const char *const reads[] = {"select", "values", "table", "show", "explain", "with", NULL};
static const char *const rows[] = {"select", "values", "table", "explain", "with", "insert", "update", "delete", "merge", NULL};
static const char *const verbs[] = {"insert", "update", "delete", "merge", NULL};
static const char *const before_verb[] = {"explain", "analyze", "verbose", NULL};
static const char *const made[] = {"table", "view", "index", "exists", NULL};
static const char *const bodies[] = {"function", "procedure", "rule", "trigger", NULL};

void lr_pg_words(const char *sql, lr_pg_told *out)
{
    token t, before = {.kind = END};
    int writes = 0, target = 0, body = 0, first = 1, creates = 0, any = 0, on = 0;
    memset(out, 0, sizeof *out);
    for (;;) {
        next(&sql, &t);
        if (t.kind == END) break;
        if (first && (is(&t, "(") || is(&t, ";"))) continue;
        if (first) {
            out->control = is_among(controls, &t);
            if (out->control || is_among(settings, &t)) out->forbidden = "transaction control or a setting";
            out->readonly = is_among(reads, &t);
            creates = is(&t, "create");
            body = is(&t, "do");
            any = !creates && !is_among(rows, &t); /* of the others each name counts */
            out->copies = is(&t, "copy");
        }
        int verb = is_among(verbs, &t) && (first || is(&before, "(") || is(&before, ")") || is_among(before_verb, &before));
        body |= creates && is_among(bodies, &t);
        on |= creates && is(&t, "index");
        writes |= verb || is(&t, "into");
        if (out->copies && (is(&t, "stdin") || is(&t, "stdout"))) out->forbidden = "COPY from or to the client";
        if (is_ledger(&t) && (any || target || body)) snprintf(out->ledger, sizeof out->ledger, "%s", t.word);
        if (t.kind == TEXT && body && tells_of_ledger(&t)) snprintf(out->ledger, sizeof out->ledger, "lrun_*");
        /* the name of what is written follows, its schema's before it */
        if (is(&t, "into") || (verb && is(&t, "update")) || (is(&t, "from") && is(&before, "delete")) ||
            (creates && is_among(made, &t)) || (on && is(&t, "on"))) target = 1;
        else if (!is(&t, "only") && !is(&t, ".") && !is(&before, ".") && !is(&t, "if") && !is(&t, "not")) {
            const char *p = skip_blank(sql);
            target = target && *p == '.';
        } else if (is(&before, ".")) target = 0;
        before = t;
        first = 0;
    }
    out->empty = first;
    if (writes) out->readonly = 0;
}
