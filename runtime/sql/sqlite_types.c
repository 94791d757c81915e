/* The types of new columns in SQLite, and of what group computes there. */
#include "driver/sqlite/sqlite.h"
#include "sql/sqlite.h"
#include <ctype.h>
#include <string.h>
#include <strings.h>

/* A double holds 15 digits. */
#define DOUBLE_DIGITS 15

/* The declared type of a column that keeps what another engine's does, or a job
 * declares; all without a kind of its own comes as text. */
static const char *declared_for(lr_arena *a, const lr_type *from)
{
    switch (from->kind) {
    case LR_KIND_INTEGER:
        return "INTEGER";
    case LR_KIND_REAL:
        return "REAL";
    case LR_KIND_BOOL:
        return "BOOLEAN";
    case LR_KIND_BYTES:
        return "BLOB";
    case LR_KIND_DATE:
        return "DATE";
    case LR_KIND_TIMESTAMP:
    case LR_KIND_INSTANT:
        return "TIMESTAMP";
    case LR_KIND_DECIMAL:
        if (from->precision < 0 || from->precision > DOUBLE_DIGITS) return "TEXT";
        return lr_printf(a, "DECIMAL(%d,%d)", from->precision, from->scale >= 0 ? from->scale : 0);
    default:
        return "TEXT";
    }
}

lr_type lr_sqlite_type_for(lr_arena *a, const lr_type *from)
{
    int ours = from->engine != NULL && strcmp(from->engine, "sqlite") == 0, wide = from->kind == LR_KIND_DECIMAL && from->engine == NULL;
    if (wide && from->precision >= 0 && from->precision <= DOUBLE_DIGITS) wide = 0;
    if (ours || (from->engine == NULL && !wide)) return lr_sqlite_type(lr_dup(a, from->native));
    return lr_sqlite_type(declared_for(a, from));
}

/* ---- aggregates ---- */

/* "SUM( amount )" cut into its name and its argument; 0: it is no such call. */
static int cut_call(lr_arena *a, const char *text, const char **name, const char **argument)
{
    while (isspace((unsigned char)*text)) text++;
    size_t n = 0, end = strlen(text);
    while (isalpha((unsigned char)text[n])) n++;
    while (end > 0 && isspace((unsigned char)text[end - 1])) end--;
    size_t open = n + strspn(text + n, " ");
    if (n == 0 || text[open] != '(' || end == 0 || text[end - 1] != ')') return 0;
    int depth = 0;
    for (size_t i = open; i < end; i++) {
        depth += (text[i] == '(') - (text[i] == ')');
        if (depth == 0 && i + 1 < end) return 0; /* the call ends before the text does */
    }
    size_t from = open + 1, to = end - 1;
    while (from < to && isspace((unsigned char)text[from])) from++;
    while (to > from && isspace((unsigned char)text[to - 1])) to--;
    if (to - from > 2 && text[from] == '"' && text[to - 1] == '"') from++, to--;
    *name = lr_dupn(a, text, n);
    *argument = lr_dupn(a, text + from, to - from);
    return 1;
}

static lr_type sum_of(lr_arena *a, const lr_type *of)
{
    if (of->kind == LR_KIND_INTEGER || of->kind == LR_KIND_BOOL) return lr_sqlite_type("INTEGER");
    if (of->kind == LR_KIND_REAL) return lr_sqlite_type("REAL");
    /* digits without a limit are kept as text, and so is their sum */
    if (of->kind == LR_KIND_DECIMAL && !of->dynamic && lr_sqlite_type_for(a, of).kind == LR_KIND_TEXT) return lr_sqlite_type("TEXT");
    /* of an expression only the values tell: they stay what they are */
    return of->kind == LR_KIND_DECIMAL ? lr_sqlite_type("NUMERIC") : lr_sqlite_type("");
}

lr_type lr_sqlite_aggregate(lr_arena *a, const char *text, const lr_field *fields, int n, const char **as)
{
    const char *name, *argument;
    const lr_type none = lr_sqlite_type(""), *of = &none;
    *as = NULL;
    if (!cut_call(a, text, &name, &argument)) return none;
    for (int i = 0; i < n; i++)
        if (strcasecmp(fields[i].name, argument) == 0) of = &fields[i].type;
    if (strcasecmp(name, "count") == 0) return lr_sqlite_type("INTEGER");
    if (strcasecmp(name, "avg") == 0 || strcasecmp(name, "total") == 0) return lr_sqlite_type("REAL");
    if (strcasecmp(name, "sum") == 0) {
        lr_sql exact = lr_sql_new(a);
        lr_sqlf(&exact, "lrun_decimal_sum(%I)", argument);
        if (of->kind == LR_KIND_DECIMAL) *as = exact.text;
        return sum_of(a, of);
    }
    if (strcasecmp(name, "min") == 0 || strcasecmp(name, "max") == 0) return *of;
    return none;
}
