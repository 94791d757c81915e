/* What the writes share: key checks, the INSERT, and the account of a write. */
#include "primitive/target.h"
#include <string.h>
#include <strings.h>

int lr_rows_unique(const lr_rowset *rs, const char *const *key, int nkey)
{
    if (rs->kind != LR_ROWS_EXTRACT || rs->is_sql) return 0;
    for (int k = 0; k < rs->relation.nkeys; k++) {
        const lr_key *constraint = &rs->relation.keys[k];
        int found = 0;
        for (int i = 0; i < constraint->n; i++)
            for (int j = 0; j < nkey; j++)
                for (int f = 0; f < rs->n; f++)
                    if (strcmp(rs->fields[f].name, key[j]) == 0 && rs->origins[f] != NULL &&
                        strcmp(rs->origins[f], constraint->columns[i]) == 0) {
                        found++;
                        j = nkey;
                        break;
                    }
        if (found == constraint->n) return 1;
    }
    return 0;
}

static int proven_unique(const lr_target *t, const lr_key *unique)
{
    for (int i = 0; unique != NULL && i < unique->n; i++)
        if (unique->collations[i] != NULL) return 0;
    /* what the source tells apart may be the same here: 'Tag' and 'tag' in citext */
    for (int i = 0; i < t->nkey; i++) {
        const lr_field *ours = NULL, *theirs = NULL;
        for (int f = 0; f < t->rel.nfields; f++)
            if (strcasecmp(t->rel.fields[f].name, t->key[i]) == 0) ours = &t->rel.fields[f];
        for (int f = 0; f < t->source->n; f++)
            if (strcmp(t->source->fields[f].name, t->key[i]) == 0) theirs = &t->source->fields[f];
        if (ours != NULL && theirs != NULL && lr_type_merges_values(&theirs->type, &ours->type)) return 0;
    }
    return lr_rows_unique(t->source, t->key, t->nkey);
}

int lr_keys_proven(const lr_target *t, const lr_key *unique)
{
    for (int i = 0; i < t->nkey; i++)
        for (int f = 0; f < t->source->n; f++)
            if (strcmp(t->source->fields[f].name, t->key[i]) == 0 && !t->source->fields[f].not_null) return 0;
    return unique != NULL && proven_unique(t, unique);
}

static int check_key_nulls(lr_run *run, const lr_target *t, lr_err *e)
{
    for (int i = 0; i < t->nkey; i++) {
        int f = lr_rowset_field(run, t->source, t->key[i], e);
        lr_value n;
        if (t->source->kind == LR_ROWS_EXTRACT && t->source->fields[f].not_null) continue;
        lr_sql q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "SELECT count(*) FROM (%Q) AS \"rows\" WHERE %I IS NULL", &t->rows, t->key[i]);
        if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &n, NULL, e) != 0) return -1;
        if (n.i == 0) continue;
        lr_fail(e, LR_FAILED, "key column %s is NULL in %lld row%s of the extract", t->key[i], (long long)n.i, n.i == 1 ? "" : "s");
        return lr_hint(e, "NULL matches nothing: leave such rows out with where, or use another key");
    }
    return 0;
}

/* How the target compares a column of the key; NULL where no word is needed. */
static const char *key_collation(const lr_run *run, const lr_target *t, const lr_key *unique, const char *name)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    int at = lr_field_find(d, &t->rel, name);
    for (int j = 0; unique != NULL && j < unique->n; j++)
        if (unique->collations[j] != NULL && lr_name_equal(d, unique->columns[j], name)) return unique->collations[j];
    if (at < 0) return NULL;
    const lr_type *type = &t->rel.fields[at].type;
    if (type->collation != NULL) return type->kind != LR_KIND_OTHER ? type->collation : NULL;
    /* the rows' column may bring one of its own */
    for (int f = 0; type->dynamic && f < t->source->n; f++)
        if (strcmp(t->source->fields[f].name, name) == 0 && t->source->fields[f].type.collation != NULL) return "BINARY";
    return NULL;
}

void lr_key_list(const lr_run *run, const lr_target *t, const lr_key *unique, lr_sql *q)
{
    for (int i = 0; i < t->nkey; i++) {
        const char *collation = key_collation(run, t, unique, t->key[i]);
        lr_sqlf(q, i == 0 ? "%I" : ", %I", t->key[i]);
        if (collation != NULL) lr_sqlf(q, " COLLATE %I", collation);
    }
}

void lr_same_key(const char *left, const char *right, const char *const *key, int nkey, lr_sql *q)
{
    for (int i = 0; i < nkey; i++) lr_sqlf(q, i == 0 ? "%I.%I = %I.%I" : " AND %I.%I = %I.%I", left, key[i], right, key[i]);
}

int lr_check_keys(lr_run *run, const lr_target *t, const lr_key *unique, int check_twice, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    /* a plan brings no rows here, so what is elsewhere is not looked at */
    if (run->mode == LR_MODE_PLAN && (t->source->kind == LR_ROWS_MAP || lr_rowset_extract(t->source)->place->conn != w->conn)) return 0;
    if (check_key_nulls(run, t, e) != 0) return -1;
    if (!check_twice || proven_unique(t, unique)) return 0;
    lr_sql list = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena);
    lr_key_list(run, t, unique, &list);
    lr_sqlf(&q, "SELECT %Q FROM (%Q) AS \"rows\" GROUP BY %Q HAVING count(*) > 1 LIMIT 5", &list, &t->rows, &list);
    lr_cursor *k;
    const lr_value *row;
    int got, n = 0;
    lr_buf names = {0};
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        lr_buf_puts(&names, n++ > 0 ? ", " : "");
        lr_buf_printf(&names, t->nkey > 1 ? "(%s)" : "%s", lr_row_text(&run->arena, row, t->nkey));
    }
    w->driver->finish(k);
    if (got == 0 && n > 0) {
        lr_fail(e, LR_FAILED, "key %s is twice in the extract (%s)", lr_list_text(&run->arena, t->key, t->nkey), names.data);
        lr_hint(e, "pass newest = \"updated_at\" to keep the latest, or fix the source");
        got = -1;
    }
    lr_buf_free(&names);
    return got;
}

/* The very same columns in the same order, from a whole table: SQLite then
 * copies rows without taking them apart. It does not see then that they are the
 * parents which rows of another table wait for. */
static int whole_table(const lr_target *t)
{
    const lr_rowset *rs = t->source;
    if (rs->kind != LR_ROWS_EXTRACT || rs->is_sql || rs->staged != NULL || rs->window != NULL || t->stamp != NULL) return 0;
    if (t->rel.referenced || t->converted) return 0;
    if (rs->n != rs->relation.nfields || t->n != rs->n || t->rel.nfields != rs->n) return 0;
    if (strstr(rs->from.text, " WHERE 1=1") == NULL || strcmp(strstr(rs->from.text, " WHERE 1=1"), " WHERE 1=1") != 0) return 0;
    for (int i = 0; i < t->n; i++)
        if (rs->origins[i] == NULL || strcmp(t->columns[i], t->rel.fields[i].name) != 0 ||
            strcmp(rs->origins[i], rs->relation.fields[i].name) != 0 || strcmp(t->columns[i], rs->origins[i]) != 0)
            return 0;
    return 1;
}

static void insert_select(lr_run *run, const lr_target *t, lr_sql *q)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    if (whole_table(t) && t->source->place->conn == run->session->warehouse->conn) {
        lr_sqlf(q, "INSERT INTO %T SELECT * FROM %T", &t->rel.table, &t->source->relation.table);
        return;
    }
    lr_sqlf(q, "INSERT INTO %T (", &t->rel.table);
    for (int i = 0; i < t->n; i++) lr_sqlf(q, i == 0 ? "%I" : ", %I", t->columns[i]);
    if (t->stamp != NULL) lr_sqlf(q, ", %I", t->stamp);
    lr_sqlf(q, ")%s SELECT ", d->overriding);
    for (int i = 0; i < t->n; i++) lr_sqlf(q, i == 0 ? "%I" : ", %I", t->columns[i]);
    if (t->stamp != NULL) {
        lr_sqlf(q, ", ");
        d->typed(q, &t->stamp_value, &t->rel.fields[lr_field_find(d, &t->rel, t->stamp)].type);
    }
    lr_sqlf(q, " FROM (%Q) AS \"rows\"", &t->rows);
}

int lr_target_pour(lr_run *run, const lr_target *t, const char *by, int64_t *rows, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    int n = t->n + (t->stamp != NULL);
    lr_column *columns = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *columns);
    int *at = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *at);
    lr_sql into = lr_sql_new(&run->arena);
    lr_sqlf(&into, "%T (", &t->rel.table);
    for (int i = 0; i < n; i++) {
        const char *name = i < t->n ? t->columns[i] : t->stamp;
        columns[i].name = name;
        columns[i].type = t->rel.fields[lr_field_find(d, &t->rel, name)].type;
        if (i < t->n && t->forms != NULL) columns[i].form = t->forms[i];
        at[i] = -1;
        for (int f = 0; i < t->n && f < t->source->n; f++)
            if (strcmp(t->source->fields[f].name, name) == 0) at[i] = f;
        lr_sqlf(&into, i == 0 ? "%I" : ", %I", name);
    }
    lr_sqlf(&into, ")");
    return lr_rowset_pour(run, t->source, into.text, by, columns, at, n, &t->stamp_value, rows, e);
}

int lr_target_fill(lr_run *run, const lr_target *t, int64_t *inserted, lr_err *e)
{
    if (t->direct) return lr_target_pour(run, t, NULL, inserted, e);
    lr_sql q = lr_sql_new(&run->arena);
    insert_select(run, t, &q);
    return lr_write(run, &q, inserted, e);
}

int lr_any_row(lr_run *run, const lr_place *place, const lr_sql *select, int *any, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_value v;
    lr_sqlf(&q, "SELECT EXISTS (%Q)", select);
    if (lr_query_value(run, place, &q, &run->arena, &v, NULL, e) != 0) return -1;
    *any = v.i != 0;
    return 0;
}

int lr_unwritten_mark(lr_run *run, lr_rowset *rs)
{
    (void)run;
    const lr_window *w = lr_rowset_extract(rs)->window;
    return w != NULL && w->mark != NULL && w->saved != NULL;
}

int lr_target_take(lr_run *run, const lr_target *t, lr_err *e)
{
    lr_window *w = lr_rowset_extract(t->source)->window;
    return w != NULL ? lr_window_take(run, w, t->primitive->name, t->primitive->appends, e) : 0;
}

/* A watermark moves when all extracts of its window were loaded; those that only
 * serve to delete do not count, unless they are loaded too. */
static void count_window(lr_run *run, lr_rowset *x, int loads_nothing)
{
    if (x->window == NULL || x->consumed == LR_CONSUMED) return;
    if (loads_nothing && x->consumed == 0) {
        x->window->uses--;
        x->consumed = LR_EXCUSED;
    } else if (!loads_nothing) {
        x->window->uses += x->consumed == LR_EXCUSED;
        x->consumed = LR_CONSUMED;
        lr_window_consume(run, x->window);
    }
}

int lr_target_done(lr_run *run, const lr_target *t, const lr_counts *c, const char *column,
                   const lr_sql *partition, lr_result *out, lr_err *e)
{
    lr_rowset *extract = lr_rowset_extract(t->source);
    int plan = run->mode == LR_MODE_PLAN || run->mode == LR_MODE_RECONCILE;
    out->kind = LR_RESULT_COUNTS;
    out->counts = *c;
    out->unknown = plan;
    lr_written *w = lr_alloc(&run->arena, sizeof *w);
    w->rows = t->source;
    w->target = t->name;
    w->primitive = t->primitive->name;
    w->column = column;
    w->partition = partition;
    w->key = t->key;
    w->nkey = t->nkey;
    w->next = run->written;
    run->written = w;
    count_window(run, extract, t->loads_nothing);
    if (plan) return 0;
    run->counts.read += c->read;
    run->counts.inserted += c->inserted;
    run->counts.updated += c->updated;
    run->counts.deleted += c->deleted;
    run->counts.skipped += c->skipped;
    lr_event ev = {.name = "write"};
    lr_event_text(&ev, "target", t->name);
    lr_event_text(&ev, "primitive", t->primitive->name);
    lr_event_text(&ev, "window", t->source->window != NULL ? lr_window_text(run, t->source->window) : NULL);
    lr_event_int(&ev, "rows_read", c->read);
    lr_event_int(&ev, "rows_inserted", c->inserted);
    lr_event_int(&ev, "rows_updated", c->updated);
    lr_event_int(&ev, "rows_deleted", c->deleted);
    lr_event_int(&ev, "rows_skipped", c->skipped);
    lr_event_bool(&ev, "created", t->created);
    lr_report(run, &ev);
    return run->mode == LR_MODE_RUN ? lr_ledger_add_write(run, t->name, t->primitive->name, c, e) : 0;
}

int lr_target_noted(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey, const char *column,
                    lr_result *out, lr_err *e)
{
    const char *into = lr_arg_text(&args->named[0], NULL); /* a write's first option is its target */
    lr_target t = {.primitive = p, .source = (lr_rowset *)args->first.p, .key = key, .nkey = nkey};
    const lr_counts none = {0};
    t.loads_nothing = strcmp(p->options[0].name, "from") == 0;
    lr_sql *more = NULL;
    if (!t.loads_nothing && lr_target_take(run, &t, e) != 0) return -1;
    if (lr_place_relation(run->session->warehouse, &run->arena, into, 0, &t.rel, e) != 0) return -1;
    t.name = lr_dup(&run->arena, t.rel.exists ? t.rel.table.name : into);
    if (column != NULL && t.rel.exists) {
        more = lr_alloc(&run->arena, sizeof *more);
        *more = lr_sql_new(&run->arena);
        if (lr_partition_sql(run, &t.rel, lr_arg_of(p, args, "partition"), more, e) != 0) return -1;
    }
    return lr_target_done(run, &t, &none, column, more, out, e);
}
