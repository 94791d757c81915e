/* reconcile's rows, one by one: down to the rows that differ, and their names. */
#include "primitive/deep.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* So many rows of differing segments are read rather than cut once more, which
 * is a pass over the table; and what a cut aims at. */
#define FEW_ROWS 16384
#define SEGMENT_ROWS 8
#define MOST_SEGMENTS 65536
#define MOST_CUTS 5
#define MOST_BITS 60

#define SHOWN_BYTES 120 /* of a value */
#define SHOWN_ROWS 10   /* in the message; the report has all */

typedef struct row {
    int64_t key, hash;
    const int64_t *columns;
    const char *text;
    int64_t number;
} row;

typedef struct rows {
    row *list;
    int n;
} rows;

static int by_key(const void *x, const void *y)
{
    const row *a = x, *b = y;
    if (a->key != b->key) return a->key < b->key ? -1 : 1;
    return (a->hash > b->hash) - (a->hash < b->hash);
}

/* A value to be shown: whole characters, not too long. */
static const char *shown(lr_arena *a, const lr_value *v)
{
    const char *text = lr_value_text(a, v);
    if (text == NULL) return NULL;
    size_t n = v->type == LR_TEXT ? v->s.n : strlen(text);
    lr_buf b = {0};
    /* a NUL byte would end the text */
    for (size_t i = 0; i < n && i < SHOWN_BYTES; i++) lr_buf_putc(&b, text[i] != 0 ? text[i] : '?');
    if (n > SHOWN_BYTES) {
        while (b.len > 0 && (b.data[b.len - 1] & 0xC0) == 0x80) b.len--;
        if (b.len > 0 && (b.data[b.len - 1] & 0x80) != 0) b.len--;
        b.data[b.len] = 0;
        lr_buf_puts(&b, "...");
    }
    char *out = lr_dup(a, b.data != NULL ? b.data : "");
    lr_plain_text(out);
    lr_buf_free(&b);
    return out;
}

/* SELECT key's hash, row's hash, each column's hash, the key FROM the segments. */
static int read_rows(lr_comparison *p, int side, const lr_sql *from, lr_arena *a, rows *out, lr_err *e)
{
    lr_deep *d = p->deep;
    const lr_deep_side *s = &d->sides[side];
    const lr_checksum *sum = s->place->dialect->checksum;
    lr_sql q = lr_sql_new(&p->run->arena);
    lr_cursor *k;
    const lr_value *v;
    int got, room = 0;
    memset(out, 0, sizeof *out);
    lr_sqlf(&q, "SELECT ");
    sum->mix(&q, LR_KEY_ROUND, s->folds, 1);
    lr_sqlf(&q, ", ");
    sum->mix(&q, LR_ROW_ROUND, s->folds, d->nfolds);
    for (int i = d->nkey; i < d->n; i++) {
        lr_sqlf(&q, ", ");
        sum->fold(&q, &s->columns[i], 1);
    }
    for (int i = 0; i < d->nkey; i++) lr_sqlf(&q, ", %I", s->columns[i].name);
    lr_sqlf(&q, "%Q", from);
    if (lr_query(p->run, s->place, &q, &k, e) != 0) return -1;
    while ((got = s->place->driver->next(k, &v, e)) == 1) {
        out->list = lr_grow(a, out->list, out->n, &room, sizeof *out->list);
        row *r = &out->list[out->n++];
        int64_t *columns = lr_alloc(a, (size_t)(d->n - d->nkey + 1) * sizeof *columns);
        lr_buf key = {0};
        for (int i = d->nkey; i < d->n; i++) columns[i - d->nkey] = v[2 + i - d->nkey].i;
        for (int i = 0; i < d->nkey; i++) {
            const lr_value *part = &v[2 + d->n - d->nkey + i];
            const char *text = shown(a, part);
            lr_buf_printf(&key, "%s%s", i > 0 ? ", " : "", text != NULL ? text : "NULL");
            if (i == 0) r->number = part->type == LR_INT ? part->i : 0;
        }
        r->key = v[0].i;
        r->hash = v[1].i;
        r->columns = columns;
        r->text = lr_dup(a, key.data);
        lr_buf_free(&key);
    }
    s->place->driver->finish(k);
    d->fetched += out->n;
    if (out->n > 1) qsort(out->list, (size_t)out->n, sizeof *out->list, by_key);
    return got;
}

/* Cut the differing segments until few rows are left. */
static int narrow(lr_comparison *p, const lr_sql *both, lr_segment **list, int *n, int64_t *mask, int *more, lr_err *e)
{
    lr_deep *d = p->deep;
    int bits = 10;
    for (int cuts = 0;; cuts++) {
        int64_t total = 0;
        /* each of them holds a row that differs: so many are enough */
        if (*n > d->limit) {
            *more = 1;
            *n = (int)d->limit;
        }
        for (int i = 0; i < *n; i++) total += (*list)[i].rows;
        if (total <= FEW_ROWS || cuts == MOST_CUTS || bits >= MOST_BITS) return 0;
        int extra = 1;
        while (bits + extra < MOST_BITS && ((int64_t)*n << (extra + 1)) <= MOST_SEGMENTS && (total >> extra) > (int64_t)*n * SEGMENT_ROWS)
            extra++;
        int64_t finer = (INT64_C(1) << (bits + extra)) - 1;
        lr_sql q[2];
        lr_segments parts[2];
        for (int side = 0; side < 2; side++) {
            lr_sql from = lr_sql_new(&p->run->arena);
            q[side] = lr_sql_new(&p->run->arena);
            lr_deep_from(p, side, &both[side], *mask, *list, *n, &from);
            d->sides[side].place->dialect->checksum->segments(&q[side], &from, d->sides[side].folds, d->nfolds, finer);
        }
        if (lr_segments_read(p, q, parts, e) != 0) return -1;
        *list = lr_segments_differ(&p->run->arena, &parts[0], &parts[1], n);
        *mask = finer;
        bits += extra;
    }
}

typedef struct found {
    lr_odd_row *list;
    int n;
} found;

static void add(lr_comparison *p, found *f, lr_row_fault fault, const row *a, const row *b)
{
    const lr_deep *d = p->deep;
    lr_arena *arena = &p->run->arena;
    lr_odd_row *o = &f->list[f->n++];
    const row *any = a != NULL ? a : b;
    *o = (lr_odd_row){.fault = fault, .key = any->key, .text = lr_dup(arena, any->text), .number = any->number};
    if (fault != LR_ROW_DIFFERENT) return;
    o->row[0] = a->hash;
    o->row[1] = b->hash;
    o->differs = lr_alloc(arena, (size_t)d->n + 1);
    for (int i = 0; i < d->n - d->nkey; i++) o->differs[i] = a->columns[i] != b->columns[i];
}

/* Those of a that b lacks, and those of b that a lacks; both are sorted. */
static void odd_ones(const rows *a, const rows *b, const row **odd[2], int n[2])
{
    n[0] = n[1] = 0;
    for (int i = 0, j = 0; i < a->n || j < b->n;) {
        int c = i == a->n ? 1 : j == b->n ? -1 : by_key(&a->list[i], &b->list[j]);
        if (c < 0) odd[0][n[0]++] = &a->list[i];
        if (c > 0) odd[1][n[1]++] = &b->list[j];
        i += c <= 0;
        j += c >= 0;
    }
}

/* Rows of one key go together as far as they do: a key is there more than once
 * where it is not unique. */
static void match(lr_comparison *p, const rows *a, const rows *b, found *f, int *more)
{
    const row **odd[2] = {lr_malloc(((size_t)a->n + 1) * sizeof(row *)), lr_malloc(((size_t)b->n + 1) * sizeof(row *))};
    int n[2];
    odd_ones(a, b, odd, n);
    for (int i = 0, j = 0; i < n[0] || j < n[1];) {
        if (f->n == p->deep->limit) {
            *more = 1;
            break;
        }
        const row *x = i < n[0] ? odd[0][i] : NULL, *y = j < n[1] ? odd[1][j] : NULL;
        if (x != NULL && y != NULL && x->key != y->key) *(x->key < y->key ? &y : &x) = NULL;
        add(p, f, y == NULL ? LR_ROW_MISSING : x == NULL ? LR_ROW_EXTRA : LR_ROW_DIFFERENT, x, y);
        i += x != NULL;
        j += y != NULL;
    }
    free(odd[0]);
    free(odd[1]);
}

/* Text in quotes, or nobody sees the blank at its end. */
static const char *quoted(lr_arena *a, const lr_hashed *c, const lr_value *v)
{
    const char *text = shown(a, v);
    int is_text = v->type == LR_TEXT && c->form != LR_FORM_DATE && c->form != LR_FORM_MOMENT && c->form != LR_FORM_DECIMAL;
    return text != NULL && is_text ? lr_printf(a, "'%s'", text) : text;
}

/* The values of the columns that differ, of the rows that were found. */
static int read_values(lr_comparison *p, int side, const lr_sql *all, found *f, lr_err *e)
{
    const lr_deep *d = p->deep;
    const lr_deep_side *s = &d->sides[side];
    lr_segment *keys = lr_alloc(&p->run->arena, (size_t)(f->n + 1) * sizeof *keys);
    lr_sql q = lr_sql_new(&p->run->arena);
    lr_cursor *k;
    const lr_value *v;
    int n = 0, got;
    for (int i = 0; i < f->n; i++)
        if (f->list[i].fault == LR_ROW_DIFFERENT) keys[n++].number = f->list[i].key;
    if (n == 0) return 0;
    lr_sqlf(&q, "SELECT ");
    s->place->dialect->checksum->mix(&q, LR_KEY_ROUND, s->folds, 1);
    lr_sqlf(&q, ", ");
    s->place->dialect->checksum->mix(&q, LR_ROW_ROUND, s->folds, d->nfolds);
    for (int i = d->nkey; i < d->n; i++) lr_sqlf(&q, ", %I", s->columns[i].name);
    lr_deep_from(p, side, all, -1, keys, n, &q);
    if (lr_query(p->run, s->place, &q, &k, e) != 0) return -1;
    while ((got = s->place->driver->next(k, &v, e)) == 1)
        for (int i = 0; i < f->n; i++) {
            lr_odd_row *o = &f->list[i];
            if (o->fault != LR_ROW_DIFFERENT || o->key != v[0].i || o->row[side] != v[1].i || o->values[side] != NULL) continue;
            o->values[side] = lr_alloc(&p->run->arena, (size_t)(d->n + 1) * sizeof *o->values[side]);
            for (int c = 0; c < d->n - d->nkey; c++)
                if (o->differs[c]) o->values[side][c] = quoted(&p->run->arena, &s->columns[d->nkey + c], &v[2 + c]);
        }
    s->place->driver->finish(k);
    return got;
}

static int by_name(const void *x, const void *y)
{
    const lr_odd_row *a = x, *b = y;
    if (a->fault != b->fault) return (int)a->fault - (int)b->fault;
    if (a->number != b->number) return a->number < b->number ? -1 : 1;
    return strcmp(a->text, b->text);
}

int lr_deep_find(lr_comparison *p, const lr_sql *source, const lr_sql *stored, lr_odd_row **out, int *n, int *more, lr_err *e)
{
    lr_deep *d = p->deep;
    lr_sql both[2] = {*source, *stored};
    int64_t mask = LR_FIRST_MASK;
    int nsegments, failed = 0;
    lr_segment *list = lr_segments_differ(&p->run->arena, &d->sides[0].all, &d->sides[1].all, &nsegments);
    found f = {.list = lr_alloc(&p->run->arena, (size_t)(d->limit + 1) * sizeof *f.list)};
    *more = 0;
    *n = 0;
    *out = f.list;
    if (nsegments == 0) return 0;
    if (narrow(p, both, &list, &nsegments, &mask, more, e) != 0) return -1;
    lr_arena scratch = {0};
    rows sides[2];
    for (int side = 0; side < 2 && failed == 0; side++) {
        lr_sql from = lr_sql_new(&p->run->arena);
        lr_deep_from(p, side, &both[side], mask, list, nsegments, &from);
        failed = read_rows(p, side, &from, &scratch, &sides[side], e);
    }
    if (failed == 0) match(p, &sides[0], &sides[1], &f, more);
    lr_arena_free(&scratch);
    for (int side = 0; side < 2 && failed == 0; side++) failed = read_values(p, side, &both[side], &f, e);
    if (f.n > 1) qsort(f.list, (size_t)f.n, sizeof *f.list, by_name);
    *n = f.n;
    return failed;
}

/* ---- the report ---- */

static int report_row(lr_comparison *p, const lr_odd_row *o, int in_message, lr_err *e)
{
    static const char *const faults[] = {"missing", "extra", "different"};
    const lr_deep *d = p->deep;
    lr_arena *a = &p->run->arena;
    lr_report_line line = {.metric = faults[o->fault], .group = o->text};
    lr_buf names = {0}, values[2] = {{0}, {0}}, text = {0};
    int count = 0;
    if (o->fault != LR_ROW_DIFFERENT) {
        line.source = o->fault == LR_ROW_MISSING ? "1" : "0";
        line.warehouse = o->fault == LR_ROW_EXTRA ? "1" : "0";
    }
    lr_buf_printf(&text, "%s %s", faults[o->fault], o->text);
    for (int i = 0; o->differs != NULL && i < d->n - d->nkey; i++) {
        if (!o->differs[i]) continue;
        const char *name = d->sides[0].columns[d->nkey + i].name, *now[2];
        lr_buf_printf(&names, "%s%s", count > 0 ? ", " : "", name);
        for (int side = 0; side < 2; side++) {
            now[side] = o->values[side] != NULL && o->values[side][i] != NULL ? o->values[side][i] : "NULL";
            lr_buf_printf(&values[side], "%s%s", count > 0 ? ", " : "", now[side]);
        }
        lr_buf_printf(&text, "%s%s %s <> %s", count > 0 ? ", " : " (", name, now[0], now[1]);
        count++;
    }
    if (count > 0) lr_buf_puts(&text, ")");
    if (count > 0) {
        line.metric = lr_printf(a, "different(%s)", names.data);
        line.source = lr_dup(a, values[0].data);
        line.warehouse = lr_dup(a, values[1].data);
    }
    if (in_message) lr_buf_printf(&p->differences, "%s%s", p->differences.len > 0 ? ", " : "", text.data);
    int failed = lr_compare_line(p, &line, faults[o->fault], text.data, e);
    lr_buf_free(&names);
    lr_buf_free(&values[0]);
    lr_buf_free(&values[1]);
    lr_buf_free(&text);
    return failed;
}

static void keep_extra(lr_comparison *p, const lr_odd_row *list, int n)
{
    lr_buf names = {0};
    for (int i = 0; i < n; i++) {
        if (list[i].fault != LR_ROW_EXTRA) continue;
        if (p->extra++ < LR_EXTRA_NAMED) lr_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", list[i].text);
    }
    p->extra_names = lr_dup(&p->run->arena, names.data != NULL ? names.data : "");
    lr_buf_free(&names);
}

int lr_deep_report(lr_comparison *p, const lr_sql *source, const lr_sql *stored, int count, lr_err *e)
{
    lr_arena *a = &p->run->arena;
    const lr_segments *x = &p->deep->sides[0].all, *y = &p->deep->sides[1].all;
    lr_odd_row *list;
    int n, more;
    if (count && lr_compare_numbers(p, NULL, "rows", "rows", lr_printf(a, "%" PRId64, x->rows), lr_printf(a, "%" PRId64, y->rows), "0", 0, e) != 0)
        return -1;
    lr_report_line line = {.metric = "checksum", .source = lr_printf(a, "%016" PRIx64, x->sum), .warehouse = lr_printf(a, "%016" PRIx64, y->sum),
                           .equal = lr_deep_equal(p)};
    if (lr_compare_line(p, &line, "checksum", NULL, e) != 0) return -1;
    if (line.equal) return 0;
    if (lr_deep_find(p, source, stored, &list, &n, &more, e) != 0) return -1;
    keep_extra(p, list, n);
    for (int i = 0; i < n; i++)
        if (report_row(p, &list[i], i < SHOWN_ROWS, e) != 0) return -1;
    if (n > SHOWN_ROWS) lr_buf_printf(&p->differences, ", and %d more", n - SHOWN_ROWS);
    else if (more) lr_buf_puts(&p->differences, ", and more");
    if (more) lr_note(p->run, "more rows of %s differ than are named: limit = %" PRId64, p->name, p->deep->limit);
    return 0;
}
