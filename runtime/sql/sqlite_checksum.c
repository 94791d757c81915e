/* Checksums of rows in SQLite, by lrun's own functions. */
#include "sql/checksum.h"

/* A function takes at most 127 arguments. */
#define MOST 120

/* A time that is compared in a zone comes as its instant. */
static void argument(lr_sql *q, const lr_hashed *c)
{
    if (c->form != LR_FORM_ZONED) {
        lr_sqlf(q, ", %I", c->name);
        return;
    }
    lr_value zone = lr_text(lr_zone_name(c->zone));
    lr_sqlf(q, ", coalesce(lrun_try_us(%I, %V), %I)", c->name, &zone, c->name);
}

static void fold(lr_sql *q, const lr_hashed *columns, int n)
{
    for (int from = 0; from == 0 || from < n; from += MOST) {
        char forms[MOST + 1];
        int count = n - from < MOST ? n - from : MOST;
        for (int i = 0; i < count; i++) forms[i] = (char)columns[from + i].form;
        forms[count] = 0;
        lr_value letters = lr_textn(forms, (size_t)count);
        /* SQLite's own SQL has no xor to join the parts */
        if (n > MOST) lr_sqlf(q, from == 0 ? "lrun_xor(" : ", ");
        lr_sqlf(q, "lrun_fold(%d, %V", count > 0 ? columns[from].seed : 0, &letters);
        for (int i = 0; i < count; i++) argument(q, &columns[from + i]);
        lr_sqlf(q, ")");
    }
    if (n > MOST) lr_sqlf(q, ")");
}

static void mix(lr_sql *q, int round, const lr_sql *folds, int n)
{
    lr_sqlf(q, "lrun_mix(%d", round);
    for (int i = 0; i < n; i++) lr_sqlf(q, ", %Q", &folds[i]);
    lr_sqlf(q, ")");
}

static void segments(lr_sql *q, const lr_sql *rows, const lr_sql *folds, int n, int64_t mask)
{
    lr_value bits = lr_int(mask);
    lr_sqlf(q, "SELECT json_extract(\"value\", '$[0]'), json_extract(\"value\", '$[1]'), json_extract(\"value\", '$[2]') FROM "
               "json_each((SELECT lrun_segments(%V", &bits);
    for (int i = 0; i < n; i++) lr_sqlf(q, ", %Q", &folds[i]);
    lr_sqlf(q, ")%Q))", rows);
}

const lr_checksum lr_sqlite_checksum = {.fold = fold, .mix = mix, .segments = segments};
