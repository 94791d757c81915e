/* What the dialects share. */
#include "sql/dialect.h"
#include <string.h>
#include <strings.h>

const lr_dialect *lr_dialect_of(const lr_driver *d)
{
    static const lr_dialect *const known[] = {&lr_sqlite_dialect, &lr_postgres_dialect};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strcmp(known[i]->name, d->name) == 0) return known[i];
    return NULL;
}

int lr_name_equal(const lr_dialect *d, const char *a, const char *b)
{
    return (d->fold_case ? strcasecmp(a, b) : strcmp(a, b)) == 0;
}

int lr_field_find(const lr_dialect *d, const lr_relation *r, const char *name)
{
    for (int i = 0; i < r->nfields; i++)
        if (strcmp(r->fields[i].name, name) == 0) return i;
    for (int i = 0; d->fold_case && i < r->nfields; i++)
        if (strcasecmp(r->fields[i].name, name) == 0) return i;
    return -1;
}

void lr_ordered(const lr_dialect *d, lr_sql *q, const lr_sql *expr, lr_position form, const lr_type *type, const lr_zone *z)
{
    if (form == LR_POSITION_PLAIN) d->order(q, expr, type, z);
    else d->position(q, expr, form);
}

const lr_key *lr_unique_key(const lr_dialect *d, const lr_relation *r, const char **columns, int n)
{
    for (int k = 0; k < r->nkeys; k++) {
        const lr_key *key = &r->keys[k];
        int found = 0;
        for (int i = 0; key->n == n && i < n; i++)
            for (int j = 0; j < n; j++)
                if (lr_name_equal(d, columns[i], key->columns[j])) {
                    found++;
                    break;
                }
        if (key->n == n && found == n) return key;
    }
    return NULL;
}

lr_sql lr_sql_column(lr_arena *a, const char *qualifier, const char *name)
{
    lr_sql q = lr_sql_new(a);
    if (qualifier != NULL) lr_sqlf(&q, "%I.%I", qualifier, name);
    else lr_sqlf(&q, "%I", name);
    return q;
}
