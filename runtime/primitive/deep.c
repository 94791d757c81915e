/* reconcile's rows, one by one: the columns, and the first look at both sides. */
#include "primitive/deep.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* The type that a row set's column has where its rows are read. */
static lr_type type_at_home(const lr_comparison *p, const lr_place *home, int field)
{
    if (home->conn == p->run->session->warehouse->conn) return lr_rowset_type(p->run, p->rs, field);
    return p->rs->fields[field].type;
}

/* Local times of one type on both sides are compared as they are; else each is
 * the instant that it is in the job's zone. */
static int needs_zone(const lr_comparison *p, const lr_type *a, const lr_type *b)
{
    return !lr_zone_is_utc(p->run->job->zone) && (a->kind != b->kind || a->dynamic || b->dynamic);
}

/* A key is the same where the target says so: text is read as its type. */
static void fold_key(const lr_type *target, lr_hashed *a, lr_hashed *b)
{
    int text = lr_kind_is_text(a->type.kind) || a->type.kind == LR_KIND_ANY;
    if (text && target->kind == LR_KIND_UUID) a->form = b->form = LR_FORM_UUID;
    else if (text && lr_kind_is_time(target->kind)) a->form = b->form = LR_FORM_ZONED;
    else if (text && !a->type.dynamic && lr_kind_is_number(target->kind)) {
        a->form = b->form = LR_FORM_DECIMAL;
        a->as = target->native;
    }
    else if (text && target->kind == LR_KIND_OTHER) a->form = b->form = LR_FORM_NETWORK;
    if (target->collation == NULL) return;
    a->form = b->form = strcasecmp(target->collation, "RTRIM") == 0 ? LR_FORM_TRIMMED : LR_FORM_FOLDED;
}

static int add_column(lr_comparison *p, lr_deep *d, int field, int target, int is_key)
{
    const lr_place *home = d->sides[0].place, *house = d->sides[1].place;
    lr_hashed *a = &d->sides[0].columns[d->n], *b = &d->sides[1].columns[d->n];
    a->name = p->rs->fields[field].name;
    b->name = p->target.fields[target].name;
    for (int i = 0; i < d->n; i++)
        if (strcmp(d->sides[0].columns[i].name, a->name) == 0) return 0;
    a->type = b->beside = type_at_home(p, home, field);
    b->type = a->beside = p->target.fields[target].type;
    a->form = b->form = lr_checksum_form(&a->type, &b->type);
    /* SQLite beside SQLite keeps what it is given; rows on their way through a
     * staging table have not met the column yet */
    if (p->rs->kind == LR_ROWS_EXTRACT && p->rs->staged == NULL && home->dialect->checksum == house->dialect->checksum &&
        home->dialect->checksum->probe == NULL && a->type.kind == b->type.kind)
        a->form = b->form = LR_FORM_ANY;
    if (a->form == LR_FORM_MOMENT && needs_zone(p, &a->type, &b->type)) a->form = b->form = LR_FORM_ZONED;
    if (is_key) fold_key(&b->type, a, b);
    a->zone = b->zone = p->run->job->zone;
    a->seed = b->seed = ++d->n;
    return 1;
}

static int read_columns(lr_comparison *p, lr_deep *d, const lr_arg *given, lr_err *e)
{
    lr_run *run = p->run;
    const lr_dialect *to = run->session->warehouse->dialect;
    int room = p->rs->n + p->nkey + 1, n;
    lr_sum_pair *pairs = lr_alloc(&run->arena, (size_t)room * sizeof *pairs);
    if (lr_read_pairs(run, given, pairs, room, &n, "columns", e) != 0) return -1;
    for (int i = 0; i < 2; i++) d->sides[i].columns = lr_alloc(&run->arena, (size_t)room * sizeof *d->sides[i].columns);
    for (int i = 0; i < p->nkey; i++) {
        int field = lr_rowset_field(run, p->rs, p->key[i], e);
        if (field < 0) return -1;
        add_column(p, d, field, lr_field_find(to, &p->target, p->key[i]), 1);
    }
    d->nkey = d->n;
    for (int i = 0; i < n; i++) {
        int field = lr_rowset_field(run, p->rs, pairs[i].source, e), target = lr_field_find(to, &p->target, pairs[i].target);
        if (field < 0) return -1;
        if (target < 0) return lr_fail(e, LR_FAILED, "%s has no column \"%s\"", p->name, pairs[i].target);
        add_column(p, d, field, target, 0);
    }
    lr_buf left = {0};
    for (int i = 0; given->type == LR_ARG_NONE && i < p->rs->n; i++) {
        int target = lr_field_find(to, &p->target, p->rs->fields[i].name);
        if (target >= 0) add_column(p, d, i, target, 0);
        else lr_buf_printf(&left, "%s%s", left.len > 0 ? ", " : "", p->rs->fields[i].name);
    }
    if (left.len > 0) lr_note(run, "not compared, since %s has no such column: %s", p->name, left.data);
    lr_buf_free(&left);
    return 0;
}

/* Do the engines' hash functions agree? *recode where one's text is no UTF-8. */
static int probe(lr_comparison *p, lr_deep *d, int *recode, lr_err *e)
{
    int64_t found[2][LR_CHECKSUM_PROBES];
    for (int i = 0; i < 2; i++) {
        const lr_place *w = d->sides[i].place;
        lr_sql q = lr_sql_new(&p->run->arena);
        lr_cursor *k;
        const lr_value *row;
        lr_checksum_known(found[i]);
        if (w->dialect->checksum->probe == NULL) continue;
        w->dialect->checksum->probe(&q);
        if (lr_query(p->run, w, &q, &k, e) != 0)
            return lr_hint(e, "deep needs the hash functions of PostgreSQL 11 or later at the connection \"%s\"", w->name);
        int got = w->driver->next(k, &row, e);
        if (got == 1) *recode |= row[0].i == 0;
        for (int j = 0; got == 1 && j < LR_CHECKSUM_PROBES; j++) found[i][j] = row[j + 1].i;
        w->driver->finish(k);
        if (got < 0) return -1;
    }
    if (memcmp(found[0], found[1], sizeof found[0]) == 0) return 0;
    lr_fail(e, LR_FAILED, "the hash functions of \"%s\" and \"%s\" differ: rows cannot be compared by checksum", d->sides[0].place->name,
            d->sides[1].place->name);
    return lr_hint(e, "servers on machines of another byte order hash in another way; compare totals instead, with sum =");
}

int lr_deep_open(lr_comparison *p, const lr_arg *columns, int64_t limit, lr_err *e)
{
    lr_run *run = p->run;
    lr_deep *d = lr_alloc(&run->arena, sizeof *d);
    lr_sql ignored = lr_sql_new(&run->arena);
    int recode = 0;
    if (lr_rowset_origin(run, p->rs, &d->sides[0].place, &ignored, e) != 0) return -1;
    d->sides[1].place = run->session->warehouse;
    d->limit = limit;
    if (read_columns(p, d, columns, e) != 0 || probe(p, d, &recode, e) != 0) return -1;
    d->nfolds = d->n > d->nkey ? 2 : 1;
    for (int side = 0; side < 2; side++) {
        lr_deep_side *s = &d->sides[side];
        for (int i = 0; recode && i < d->n; i++) {
            if (s->columns[i].form == LR_FORM_TEXT) s->columns[i].form = LR_FORM_TEXT_RECODED;
            else if (s->columns[i].form == LR_FORM_TRIMMED) s->columns[i].form = LR_FORM_TRIMMED_RECODED;
        }
        for (int i = 0; i < 2; i++) s->folds[i] = lr_sql_new(&run->arena);
        s->place->dialect->checksum->fold(&s->folds[0], s->columns, d->nkey);
        s->place->dialect->checksum->fold(&s->folds[1], s->columns + d->nkey, d->n - d->nkey);
    }
    p->deep = d;
    return 0;
}

void lr_deep_from(const lr_comparison *p, int side, const lr_sql *rows, int64_t mask, const lr_segment *segments, int nsegments, lr_sql *q)
{
    const lr_deep_side *s = &p->deep->sides[side];
    lr_sqlf(q, " FROM (%Q) AS \"rows\"", rows);
    if (nsegments == 0) return;
    lr_buf list = {0};
    for (int i = 0; i < nsegments; i++) lr_buf_printf(&list, "%s%" PRId64, i > 0 ? ", " : "", segments[i].number);
    lr_value bits = lr_int(mask);
    lr_sqlf(q, " WHERE (");
    s->place->dialect->checksum->mix(q, LR_KEY_ROUND, s->folds, 1);
    lr_sqlf(q, " & %V) IN (%s)", &bits, list.data);
    lr_buf_free(&list);
}

lr_sql lr_deep_sql(const lr_comparison *p, const lr_sql *rows, int source)
{
    const lr_deep_side *s = &p->deep->sides[source ? 0 : 1];
    lr_sql q = lr_sql_new(&p->run->arena), from = lr_sql_new(&p->run->arena);
    lr_deep_from(p, source ? 0 : 1, rows, 0, NULL, 0, &from);
    s->place->dialect->checksum->segments(&q, &from, s->folds, p->deep->nfolds, LR_FIRST_MASK);
    return q;
}

static int by_number(const void *x, const void *y)
{
    const lr_segment *a = x, *b = y;
    return (a->number > b->number) - (a->number < b->number);
}

/* A sum of hashes, whatever its length, as 64 bits. */
static uint64_t low_bits(const char *text)
{
    uint64_t out = 0;
    for (const char *p = text; *p != 0; p++)
        if (*p >= '0' && *p <= '9') out = out * 10 + (uint64_t)(*p - '0');
    return text[0] == '-' ? -out : out;
}

static int read_segments(lr_comparison *p, const lr_place *w, const lr_sql *q, lr_segments *out, lr_err *e)
{
    lr_arena *a = &p->run->arena;
    lr_cursor *k;
    const lr_value *row;
    int got, room = 0;
    memset(out, 0, sizeof *out);
    if (lr_query(p->run, w, q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        out->list = lr_grow(a, out->list, out->n, &room, sizeof *out->list);
        const char *sum = lr_value_text(a, &row[2]);
        out->list[out->n++] = (lr_segment){row[0].i, row[1].i, sum};
        out->rows += row[1].i;
        out->sum += low_bits(sum);
    }
    w->driver->finish(k);
    if (out->n > 1) qsort(out->list, (size_t)out->n, sizeof *out->list, by_number);
    return got;
}

int lr_segments_read(lr_comparison *p, const lr_sql q[2], lr_segments out[2], lr_err *e)
{
    const lr_place *home = p->deep->sides[0].place, *house = p->deep->sides[1].place;
    /* a server begins, and works while the other side does */
    int first = house->dialect->checksum->probe != NULL;
    if (home->conn != house->conn && lr_ask(p->run, p->deep->sides[first].place, &q[first], e) != 0) return -1;
    for (int i = 0; i < 2; i++) {
        int side = i == 0 ? 1 - first : first;
        if (read_segments(p, p->deep->sides[side].place, &q[side], &out[side], e) != 0) return -1;
    }
    return 0;
}

lr_segment *lr_segments_differ(lr_arena *a, const lr_segments *x, const lr_segments *y, int *n)
{
    lr_segment *out = lr_alloc(a, (size_t)(x->n + y->n + 1) * sizeof *out);
    *n = 0;
    for (int i = 0, j = 0; i < x->n || j < y->n;) {
        int c = i == x->n ? 1 : j == y->n ? -1 : by_number(&x->list[i], &y->list[j]);
        const lr_segment *s = c <= 0 ? &x->list[i++] : NULL, *t = c >= 0 ? &y->list[j++] : NULL;
        if (s != NULL && t != NULL && s->rows == t->rows && strcmp(s->sum, t->sum) == 0) continue;
        out[(*n)++] = s == NULL || (t != NULL && t->rows > s->rows) ? *t : *s;
    }
    return out;
}

int lr_deep_read(lr_comparison *p, const lr_sql *rows, const lr_sql *stored, lr_err *e)
{
    lr_sql q[2] = {lr_deep_sql(p, rows, 1), lr_deep_sql(p, stored, 0)};
    lr_segments both[2];
    if (lr_segments_read(p, q, both, e) != 0) return -1;
    for (int i = 0; i < 2; i++) p->deep->sides[i].all = both[i];
    return 0;
}

int lr_deep_equal(const lr_comparison *p)
{
    int n;
    lr_segments_differ(&p->run->arena, &p->deep->sides[0].all, &p->deep->sides[1].all, &n);
    return n == 0;
}

int64_t lr_deep_fetched(const lr_comparison *p)
{
    return p->deep->fetched;
}
