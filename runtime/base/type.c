/* Types of columns: declared in words, and what a value of one loses in another. */
#include "lrun/type.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

lr_type lr_type_none(void)
{
    return (lr_type){.precision = -1, .scale = -1, .length = -1, .fraction = -1, .native = ""};
}

int lr_kind_is_number(lr_kind k)
{
    return k == LR_KIND_INTEGER || k == LR_KIND_DECIMAL || k == LR_KIND_REAL;
}

int lr_kind_is_time(lr_kind k)
{
    return k == LR_KIND_DATE || k == LR_KIND_TIMESTAMP || k == LR_KIND_INSTANT;
}

int lr_kind_is_text(lr_kind k)
{
    return k == LR_KIND_TEXT || k == LR_KIND_PADDED;
}

/* ---- words ---- */

/* The next word of the text: letters, digits and underscores. 0 at the end. */
static size_t next_word(const char **p, const char **word)
{
    while (**p != 0 && !isalnum((unsigned char)**p) && **p != '_') {
        if (**p == '(') *p += strcspn(*p, ")");
        if (**p != 0) (*p)++;
    }
    *word = *p;
    while (isalnum((unsigned char)**p) || **p == '_') (*p)++;
    return (size_t)(*p - *word);
}

static int is_word(const char *word, size_t n, const char *known)
{
    return strlen(known) == n && strncasecmp(word, known, n) == 0;
}

static int is_one_of(const char *word, size_t n, const char *const *known)
{
    for (; *known != NULL; known++)
        if (is_word(word, n, *known)) return 1;
    return 0;
}

/* INT, INTEGER, BIGINT, INT8, UINT64, MEDIUMINT ... */
static int is_int_word(const char *word, size_t n)
{
    static const char *const sizes[] = {"U", "UNSIGNED", "TINY", "SMALL", "MEDIUM", "BIG", "LONG", NULL};
    for (const char *const *s = sizes; *s != NULL; s++) {
        size_t m = strlen(*s);
        if (n > m && strncasecmp(word, *s, m) == 0 && is_int_word(word + m, n - m)) return 1;
    }
    while (n > 0 && isdigit((unsigned char)word[n - 1])) n--;
    return is_word(word, n, "INT") || is_word(word, n, "INTEGER");
}

static void read_numbers(const char *declared, lr_type *t)
{
    const char *open = strchr(declared, '('), *comma = open != NULL ? strchr(open, ',') : NULL;
    if (open == NULL || !isdigit((unsigned char)open[1 + strspn(open + 1, " ")])) return;
    t->precision = atoi(open + 1);
    if (comma == NULL) return;
    int scale = atoi(comma + 1);
    if (scale >= 0 && scale <= 1000) t->scale = scale;
}

static lr_kind kind_of(const char *declared)
{
    static const char *const decimals[] = {"DECIMAL", "NUMERIC", NULL}, *const booleans[] = {"BOOL", "BOOLEAN", NULL},
                      *const reals[] = {"REAL", "DOUBLE", "FLOAT", "FLOAT4", "FLOAT8", NULL}, *const blobs[] = {"BLOB", "BYTEA", NULL},
                      *const times[] = {"DATETIME", "DATETIME2", "SMALLDATETIME", "TIMESTAMP", NULL},
                      *const instants[] = {"TIMESTAMPTZ", "DATETIMEOFFSET", NULL},
                      *const texts[] = {"TEXT", "CHAR", "CHARACTER", "VARCHAR", "NCHAR", "NVARCHAR", "VARYING", "CLOB", "VARCHAR2", NULL};
    const char *p = declared, *word, *first = NULL;
    size_t n, length = 0;
    int words = 0, text = 0, zone = 0;
    while ((n = next_word(&p, &word)) > 0) {
        if (words++ == 0) {
            first = word;
            length = n;
        }
        if (is_int_word(word, n)) return LR_KIND_INTEGER;
        text |= is_one_of(word, n, texts);
        zone |= words == 2 && is_word(word, n, "WITH");
    }
    if (words == 0) return LR_KIND_ANY;
    if (is_one_of(first, length, decimals)) return LR_KIND_DECIMAL;
    if (is_one_of(first, length, reals)) return LR_KIND_REAL;
    if (words == 1 && is_word(first, length, "DATE")) return LR_KIND_DATE;
    if (is_one_of(first, length, instants)) return LR_KIND_INSTANT;
    if (is_one_of(first, length, times)) return zone ? LR_KIND_INSTANT : LR_KIND_TIMESTAMP;
    if (is_one_of(first, length, booleans)) return LR_KIND_BOOL;
    if (is_one_of(first, length, blobs)) return LR_KIND_BYTES;
    return text ? LR_KIND_TEXT : LR_KIND_ANY;
}

lr_type lr_type_words(const char *declared)
{
    lr_type t = lr_type_none();
    t.native = declared != NULL ? declared : "";
    t.kind = kind_of(t.native);
    if (t.kind == LR_KIND_DECIMAL) read_numbers(t.native, &t);
    if (t.kind == LR_KIND_INTEGER || t.kind == LR_KIND_REAL) t.bits = 64;
    return t;
}

/* ---- losses ---- */

/* Digits before the point that integers of so many bits may have. */
static int integer_digits(int bits)
{
    return bits <= 16 ? 5 : bits <= 32 ? 10 : 19;
}

static unsigned into_integer(const lr_type *from, const lr_type *to)
{
    if (from->kind == LR_KIND_INTEGER) return from->bits > to->bits ? LR_LOSES_RANGE : 0;
    return from->kind == LR_KIND_BOOL ? 0 : LR_LOSES_RANGE | LR_LOSES_DIGITS;
}

static unsigned into_decimal(const lr_type *from, const lr_type *to)
{
    int scale = to->scale > 0 ? to->scale : 0, whole = to->precision - scale;
    if (to->precision < 0) return 0; /* by its shortest text every float is a decimal */
    if (from->kind == LR_KIND_BOOL) return whole >= 1 ? 0 : LR_LOSES_DIGITS;
    if (from->kind == LR_KIND_INTEGER && to->scale >= 0 && integer_digits(from->bits) <= whole) return 0;
    if (from->kind == LR_KIND_DECIMAL && from->precision >= 0 && from->scale >= 0 && from->scale <= to->scale &&
        from->precision - from->scale <= whole)
        return 0;
    return LR_LOSES_DIGITS;
}

static unsigned into_real(const lr_type *from, const lr_type *to)
{
    if (from->kind == LR_KIND_REAL) return from->bits > to->bits ? LR_LOSES_NEAREST : 0;
    if (from->kind == LR_KIND_BOOL) return 0;
    if (from->kind == LR_KIND_INTEGER && from->bits <= (to->bits == 64 ? 32 : 16)) return 0;
    return LR_LOSES_NEAREST;
}

static unsigned into_time(const lr_type *from, const lr_type *to)
{
    unsigned why = 0;
    int fine = to->fraction >= 0 && from->kind != LR_KIND_DATE && (from->fraction < 0 || from->fraction > to->fraction);
    if (lr_kind_is_text(from->kind) || from->kind == LR_KIND_ANY) why |= LR_LOSES_CLASS;
    if (to->kind == LR_KIND_DATE && from->kind != LR_KIND_DATE) why |= LR_LOSES_DAY;
    else if (fine) why |= LR_LOSES_FRACTION;
    if ((from->kind == LR_KIND_INSTANT) != (to->kind == LR_KIND_INSTANT)) why |= LR_LOSES_ZONE;
    return why;
}

static unsigned into_text(const lr_type *from, const lr_type *to)
{
    int shorter = to->length >= 0 && (from->length < 0 || from->length > to->length);
    return shorter ? LR_LOSES_LENGTH : 0;
}

/* The same type, word for word, of one engine. */
static int is_same(const lr_type *a, const lr_type *b)
{
    return a->engine != NULL && b->engine != NULL && a->native[0] != 0 && strcmp(a->engine, b->engine) == 0 && strcasecmp(a->native, b->native) == 0;
}

lr_loss lr_type_loss(const lr_type *from, const lr_type *to, unsigned *why)
{
    unsigned ignored = 0, *out = why != NULL ? why : &ignored;
    int numeric = lr_kind_is_number(from->kind) || from->kind == LR_KIND_BOOL, wordy = lr_kind_is_text(from->kind) || from->kind == LR_KIND_ANY;
    *out = 0;
    if (is_same(from, to)) return LR_LOSS_NONE;
    /* such a column takes every class; what it makes of a value only the engine knows */
    if (to->dynamic) {
        *out = to->kind == LR_KIND_ANY && to->native[0] == 0 ? 0 : LR_LOSES_CLASS;
        return *out != 0 ? LR_LOSS_VALUE : LR_LOSS_NONE;
    }
    switch (to->kind) {
    case LR_KIND_ANY:
        return LR_LOSS_NONE;
    case LR_KIND_INTEGER:
        /* of its own types an engine casts some to numbers: oid, money */
        if (!numeric && from->kind != LR_KIND_OTHER) return LR_LOSS_TYPE;
        *out = numeric ? into_integer(from, to) : LR_LOSES_FORM;
        break;
    case LR_KIND_DECIMAL:
        if (!numeric && !wordy && from->kind != LR_KIND_OTHER) return LR_LOSS_TYPE;
        *out = wordy ? LR_LOSES_CLASS | LR_LOSES_DIGITS : numeric ? into_decimal(from, to) : LR_LOSES_FORM;
        break;
    case LR_KIND_REAL:
        if (!numeric && from->kind != LR_KIND_OTHER) return LR_LOSS_TYPE;
        *out = numeric ? into_real(from, to) : LR_LOSES_FORM;
        break;
    case LR_KIND_BOOL:
        if (from->kind == LR_KIND_BOOL) break;
        if (from->kind != LR_KIND_INTEGER) return LR_LOSS_TYPE;
        *out = LR_LOSES_CLASS;
        break;
    case LR_KIND_DATE:
    case LR_KIND_TIMESTAMP:
    case LR_KIND_INSTANT:
        if (!lr_kind_is_time(from->kind) && !wordy) return LR_LOSS_TYPE;
        *out = into_time(from, to);
        break;
    case LR_KIND_TEXT:
    case LR_KIND_PADDED:
        if (from->kind == LR_KIND_BYTES) return LR_LOSS_TYPE;
        *out = into_text(from, to);
        break;
    case LR_KIND_BYTES:
        if (from->kind != LR_KIND_BYTES) return LR_LOSS_TYPE;
        break;
    case LR_KIND_UUID:
    case LR_KIND_JSON:
    case LR_KIND_OTHER:
        if (from->kind == LR_KIND_BYTES) return LR_LOSS_TYPE;
        *out = LR_LOSES_FORM;
        break;
    }
    return *out != 0 ? LR_LOSS_VALUE : LR_LOSS_NONE;
}

int lr_type_merges_values(const lr_type *from, const lr_type *to)
{
    if (to->collation != NULL) return 1;
    if (is_same(from, to) && !from->dynamic) return from->collation != NULL;
    /* each value has a text of its own, unless a column of numbers reads it */
    if (to->dynamic && !from->dynamic) return from->collation != NULL || (lr_kind_is_text(from->kind) && to->kind != LR_KIND_TEXT && to->kind != LR_KIND_ANY);
    if (from->kind == LR_KIND_INTEGER && lr_kind_is_number(to->kind)) return 0;
    if (from->kind != to->kind) return 1;
    switch (from->kind) {
    case LR_KIND_INTEGER:
    case LR_KIND_BOOL:
    case LR_KIND_BYTES:
    case LR_KIND_UUID:
    case LR_KIND_TEXT:
        return 0;
    case LR_KIND_DECIMAL:
    case LR_KIND_REAL:
        return 0;
    case LR_KIND_DATE:
    case LR_KIND_TIMESTAMP:
    case LR_KIND_INSTANT:
        return from->dynamic && !to->dynamic; /* one time has several texts */
    default:
        return 1;
    }
}
