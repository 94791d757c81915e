/* Finding, making and checking the target of a write. */
#include "primitive/guard.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int refuse_reading(lr_run *run, const lr_target *t, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    for (const lr_rowset *rs = t->source; rs != NULL; rs = rs->input) {
        if (rs->dimension != NULL && lr_name_equal(w->dialect, rs->dimension, t->rel.table.name)) {
            lr_fail(e, LR_FAILED, "%s is read as a dimension and written by the same rows", t->name);
            return lr_hint(e, "write into another table");
        }
        if (rs->kind != LR_ROWS_EXTRACT || rs->place->conn != w->conn || rs->place->schema != NULL) continue;
        for (int i = 0; i < rs->nreads; i++) {
            const lr_table *r = &rs->reads[i];
            if (!lr_name_equal(w->dialect, r->name, t->rel.table.name)) continue;
            if (r->schema != NULL && t->rel.table.schema != NULL && !lr_name_equal(w->dialect, r->schema, t->rel.table.schema)) continue;
            lr_fail(e, LR_FAILED, "%s is the table that the rows are read from", t->name);
            return lr_hint(e, "write into another table, or give source and warehouse different databases");
        }
    }
    return 0;
}

static int refuse_name(lr_run *run, const lr_target *t, lr_err *e)
{
    if (strncasecmp(t->rel.table.name, "lrun_", 5) == 0 || strncasecmp(t->rel.table.name, "sqlite_", 7) == 0) {
        lr_fail(e, LR_FAILED, "%s is a name of the ledger or the database itself", t->name);
        return lr_hint(e, "choose another name");
    }
    if (t->rel.table.name[0] == 0) return lr_fail(e, LR_FAILED, "the name of the target is empty");
    if (t->rel.drops_rows) {
        lr_fail(e, LR_FAILED, "%s is defined with ON CONFLICT REPLACE or IGNORE, which would lose rows without a word", t->name);
        return lr_hint(e, "define the table without it, and use merge or insert_new");
    }
    if (t->stamp != NULL && lr_rowset_has(run, t->source, t->stamp)) {
        lr_fail(e, LR_FAILED, "stamp = \"%s\" is a column of the rows", t->stamp);
        return lr_hint(e, "choose another name for the stamp, or leave the column out of columns");
    }
    if (t->rel.is_view) {
        lr_fail(e, LR_FAILED, "%s is a view", t->name);
        return lr_hint(e, "write into the table behind it");
    }
    if (lr_unwritten_mark(run, t->source) && !t->rel.exists) {
        lr_fail(e, LR_FAILED, "%s does not exist, and the watermark says that rows were loaded into it before", t->name);
        return lr_hint(e, "bring the table back, or start again with lrun watermark %s --clear", run->job->name);
    }
    return 0;
}

static int check_names(const lr_run *run, const lr_target *t, lr_err *e)
{
    size_t most = run->session->warehouse->dialect->longest_name;
    for (int i = 0; most > 0 && i < t->source->n; i++)
        if (strlen(t->source->fields[i].name) > most) {
            lr_fail(e, LR_FAILED, "the column name \"%s\" is longer than the warehouse's %zu bytes", t->source->fields[i].name, most);
            return lr_hint(e, "give it a shorter one: columns = { short = \"...\" }");
        }
    return 0;
}

/* A decimal that the engine has no exact type for is kept as text. */
static void tell_text(lr_run *run, const lr_target *t, const lr_field *from, const lr_field *to)
{
    if (from->type.kind != LR_KIND_DECIMAL || to->type.kind != LR_KIND_TEXT) return;
    lr_note(run, "%s.%s is TEXT: a %s has more digits than a number of this engine keeps", t->name, to->name, from->type.native);
}

static int is_omitted(const lr_target *t, const char *name)
{
    for (int i = 0; i < t->nomit; i++)
        if (strcmp(t->omit[i], name) == 0) return 1;
    return 0;
}

/* Does a column keep only some fields of a value? No sink looks at that. */
static int cuts_fields(const lr_target *t)
{
    for (int i = 0; i < t->rel.nfields; i++)
        if (t->rel.fields[i].type.cuts) return 1;
    return 0;
}

static void stamp_field(lr_run *run, const lr_target *t, lr_field *out)
{
    const lr_type words = lr_type_words("TIMESTAMP");
    *out = (lr_field){.name = t->stamp, .type = run->session->warehouse->dialect->type_for(&run->arena, &words)};
}

static int make(lr_run *run, lr_target *t, const char *index_column, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_rowset *rs = t->source;
    lr_field *fields = lr_alloc(&run->arena, (size_t)(rs->n + 2) * sizeof *fields);
    int stamped = t->stamp != NULL && !lr_rowset_has(run, rs, t->stamp), n = 0;
    for (int i = 0; i < rs->n; i++) {
        if (is_omitted(t, rs->fields[i].name)) continue;
        fields[n].name = rs->fields[i].name;
        fields[n].type = w->dialect->type_for(&run->arena, &rs->fields[i].type);
        tell_text(run, t, &rs->fields[i], &fields[n++]);
    }
    if (stamped) stamp_field(run, t, &fields[n++]);
    lr_sql q = lr_sql_new(&run->arena);
    w->dialect->create_table(&q, &t->rel.table, fields, n, t->key, t->nkey, 0);
    if (lr_write(run, &q, NULL, e) != 0) return -1;
    if (index_column != NULL) {
        q = lr_sql_new(&run->arena);
        w->dialect->create_index(&q, &t->rel.table, index_column);
        if (lr_write(run, &q, NULL, e) != 0) return -1;
    }
    t->created = 1;
    if (lr_extract_settle(run, lr_rowset_extract(t->source), e) != 0) return -1;
    lr_buf key = {0};
    for (int i = 0; i < t->nkey; i++) lr_buf_printf(&key, "%s%s", i == 0 ? " with primary key " : ", ", t->key[i]);
    lr_note(run, "%s %s%s", t->name, run->mode == LR_MODE_PLAN ? "would be made" : "did not exist and is made now",
            key.data != NULL ? key.data : "");
    lr_buf_free(&key);
    if (run->mode != LR_MODE_PLAN) {
        lr_table table = t->rel.table;
        if (w->dialect->relation(w->driver, w->conn, &run->arena, &table, 1, &t->rel, e) != 0) return -1;
        lr_rowset_like(t->source, t->rel.exists ? &t->rel : NULL, &run->arena);
        return 0;
    }
    /* A plan goes on as if it were there. */
    t->rel.fields = fields;
    t->rel.nfields = n;
    if (t->nkey > 0) {
        t->rel.keys = lr_alloc(&run->arena, sizeof *t->rel.keys);
        t->rel.nkeys = 1;
        t->rel.keys[0] = (lr_key){t->key, lr_alloc(&run->arena, (size_t)t->nkey * sizeof(char *)), t->nkey};
    }
    return 0;
}

static int match_columns(lr_run *run, lr_target *t, const char *new_columns, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_dialect *d = w->dialect;
    int add = strcmp(new_columns, "add") == 0, ignore = strcmp(new_columns, "ignore") == 0;
    lr_buf missing = {0};
    t->columns = lr_alloc(&run->arena, (size_t)(t->source->n + 1) * sizeof *t->columns);
    lr_field *added = lr_alloc(&run->arena, (size_t)(t->source->n + 2) * sizeof *added);
    int nadded = 0;
    for (int i = 0; i < t->source->n; i++) {
        const lr_field *f = &t->source->fields[i];
        int at = lr_field_find(d, &t->rel, f->name);
        if (at < 0 && is_omitted(t, f->name)) continue;
        if (at >= 0 && t->rel.fields[at].generated) {
            lr_note(run, "%s.%s is generated: the target computes it, the rows' value is left out", t->name, f->name);
            continue;
        }
        if (at >= 0 && t->stamp != NULL && lr_name_equal(d, f->name, t->stamp)) continue;
        if (at >= 0 || add) t->columns[t->n++] = f->name;
        if (at >= 0) continue;
        added[nadded].name = f->name;
        added[nadded++].type = d->type_for(&run->arena, &f->type);
        lr_buf_printf(&missing, "%s%s%s%s", missing.len > 0 ? ", " : "", f->name, f->type.native[0] != 0 ? " " : "", f->type.native);
    }
    if (t->stamp != NULL && lr_field_find(d, &t->rel, t->stamp) < 0) {
        stamp_field(run, t, &added[nadded++]);
        lr_buf_printf(&missing, "%s%s", missing.len > 0 ? ", " : "", t->stamp);
    }
    int failed = lr_drift_check(run, t, missing.data, e);
    if (failed == 0 && nadded > 0 && !add && !ignore && !run->accepting) {
        lr_fail(e, LR_FAILED, "%s lacks column%s %s", t->name, nadded > 1 ? "s" : "", missing.data);
        lr_hint(e, "pass new_columns = \"add\" or \"ignore\", or list the columns with columns = { ... }");
        failed = -1;
    }
    for (int i = 0; failed == 0 && add && i < nadded; i++) {
        lr_sql q = lr_sql_new(&run->arena);
        d->add_column(&q, &t->rel.table, &added[i]);
        failed = lr_write(run, &q, NULL, e);
        if (failed == 0) lr_note(run, "%s gets the column %s %s", t->name, added[i].name, added[i].type.native);
    }
    if (failed == 0 && add && nadded > 0 && run->mode == LR_MODE_PLAN) {
        /* a plan goes on as if they were there */
        lr_field *all = lr_alloc(&run->arena, (size_t)(t->rel.nfields + nadded) * sizeof *all);
        memcpy(all, t->rel.fields, (size_t)t->rel.nfields * sizeof *all);
        memcpy(all + t->rel.nfields, added, (size_t)nadded * sizeof *all);
        t->rel.fields = all;
        t->rel.nfields += nadded;
        t->planned = nadded;
    } else if (failed == 0 && add && nadded > 0) {
        lr_table table = t->rel.table;
        failed = d->relation(w->driver, w->conn, &run->arena, &table, 1, &t->rel, e);
    }
    if (failed == 0 && ignore && t->stamp != NULL && lr_field_find(d, &t->rel, t->stamp) < 0) t->stamp = NULL;
    if (failed == 0) failed = lr_drift_remember(run, t, e);
    lr_buf_free(&missing);
    if (failed == 0 && t->n == 0) return lr_fail(e, LR_FAILED, "no column of the rows is one of %s", t->name);
    return failed;
}

int lr_target_rows(lr_run *run, lr_target *t, lr_err *e)
{
    t->direct = 0;
    t->rows = lr_sql_new(&run->arena);
    if (lr_rowset_sql(run, t->source, &t->rows, e) != 0) return -1;
    return lr_guard_rows(run, t, e);
}

static int savepoint(lr_run *run, const char *what, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "%s lrun_join", what);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

/* An error ends a transaction in some engines, and the facts are named in it. */
static int keep_transaction(lr_run *run, lr_target *t, lr_err *e)
{
    if (!lr_join_guarded(t->source)) return 0;
    t->savepoint = run->session->warehouse->dialect->row_locks;
    return t->savepoint ? savepoint(run, "SAVEPOINT", e) : 0;
}

int lr_target_close(lr_run *run, lr_target *t, int failed, lr_err *e)
{
    lr_err why = {0};
    if (t->source == NULL || !lr_join_guarded(t->source)) return failed;
    if (failed == 0) return t->savepoint ? savepoint(run, "RELEASE SAVEPOINT", e) : 0;
    if (!run->session->warehouse->dialect->was_null(e)) return -1;
    if (t->savepoint && savepoint(run, "ROLLBACK TO SAVEPOINT", &why) != 0) return -1;
    if (lr_join_explain(run, t->source, &why) != 0) *e = why;
    return -1;
}

static int find_table(lr_run *run, lr_target *t, const char *name, lr_err *e)
{
    for (int i = 0; i < t->nkey; i++)
        if (lr_rowset_field(run, t->source, t->key[i], e) < 0) return -1;
    if (lr_place_relation(run->session->warehouse, &run->arena, name, 1, &t->rel, e) != 0) return -1;
    t->name = lr_dup(&run->arena, t->rel.exists ? t->rel.table.name : name);
    return 0;
}

static int match_key(const lr_run *run, const lr_target *t, lr_err *e)
{
    for (int i = 0; i < t->nkey; i++) {
        if (lr_field_find(run->session->warehouse->dialect, &t->rel, t->key[i]) >= 0) continue;
        lr_fail(e, LR_FAILED, "%s has no column \"%s\" to match the key with", t->name, t->key[i]);
        return lr_hint(e, "name the key by the target's columns");
    }
    return 0;
}

static void tell_step(lr_run *run, const lr_target *t)
{
    lr_event ev = {.name = "step"};
    if (run->mode != LR_MODE_PLAN) return;
    lr_event_text(&ev, "primitive", t->primitive->name);
    lr_event_text(&ev, "target", t->name);
    lr_report(run, &ev);
}

int lr_target_open(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey,
                   const char *index_column, int may_be_direct, lr_target *t, lr_err *e)
{
    memset(t, 0, sizeof *t);
    return lr_target_open_without(run, p, args, key, nkey, index_column, may_be_direct, t, e);
}

int lr_target_open_without(lr_run *run, const lr_primitive *p, const lr_args *args, const char **key, int nkey,
                           const char *index_column, int may_be_direct, lr_target *t, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    char stamp_text[40];
    t->primitive = p;
    t->source = (lr_rowset *)args->first.p;
    t->key = key;
    t->nkey = nkey;
    t->stamp = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "stamp"), NULL));
    t->stamp_value = lr_text(lr_dup(&run->arena, lr_format_offset(run->job->zone, run->job->run_start, stamp_text)));
    const char *into = lr_arg_text(lr_arg_of(p, args, "into"), NULL);
    const char *new_columns = lr_arg_text(lr_arg_of(p, args, "new_columns"), "error");
    if (strcmp(new_columns, "error") != 0 && strcmp(new_columns, "add") != 0 && strcmp(new_columns, "ignore") != 0) {
        lr_fail(e, LR_FAILED, "new_columns = \"%s\" is not known", new_columns);
        return lr_hint(e, "use \"error\", \"add\" or \"ignore\"");
    }
    if (lr_drift_options(t, args, e) != 0) return -1;
    if (find_table(run, t, into, e) != 0) return -1;
    if (check_names(run, t, e) != 0 || refuse_name(run, t, e) != 0 || refuse_reading(run, t, e) != 0) return -1;
    if (!t->rel.exists && !lr_arg_bool(lr_arg_of(p, args, "create"), 1)) {
        lr_fail(e, LR_FAILED, "%s does not exist", t->name);
        return lr_hint(e, "make it, or drop create = false");
    }
    if (t->rel.exists && match_key(run, t, e) != 0) return -1;
    tell_step(run, t);
    lr_rowset_like(t->source, t->rel.exists ? &t->rel : NULL, &run->arena);
    if (t->once) lr_join_defer(run, t->source);
    if (lr_target_take(run, t, e) != 0) return -1;
    if (lr_ledger_lock_target(run, t->name, e) != 0) return -1;
    /* what a function maps is read when it is prepared: the target comes first */
    int early = !t->rel.exists && t->source->kind == LR_ROWS_MAP;
    if (early && (lr_rowset_prepare(run, t->source->input, e) != 0 || make(run, t, index_column, e) != 0)) return -1;
    if (lr_rowset_prepare(run, t->source, e) != 0) return -1;
    if (t->once && keep_transaction(run, t, e) != 0) return -1;
    if (!t->created && !t->rel.exists && make(run, t, index_column, e) != 0) return -1;
    if (match_columns(run, t, new_columns, e) != 0) return -1;
    if (lr_guard_forms(run, t, e) != 0 || lr_guard_stamp(run, t, e) != 0) return -1;
    lr_guard_foresee(run, t);
    t->direct = may_be_direct && w->dialect->checks_rows && !t->rel.policies && lr_rowset_direct(run, t->source) && !cuts_fields(t);
    if (t->nulls_missing && t->nmissing > 0) t->direct = 0; /* the rows get a column here */
    if (t->direct) return 0;
    if (lr_target_rows(run, t, e) != 0) return -1;
    lr_drift_nulls(run, t);
    return 0;
}

int lr_target_find(lr_run *run, const lr_primitive *p, const lr_args *args, const char *option, const char **key, int nkey,
                   lr_target *t, lr_err *e)
{
    const char *name = lr_arg_text(lr_arg_of(p, args, option), NULL);
    memset(t, 0, sizeof *t);
    t->primitive = p;
    t->source = (lr_rowset *)args->first.p;
    t->key = key;
    t->nkey = nkey;
    if (find_table(run, t, name, e) != 0) return -1;
    if (!t->rel.exists) {
        lr_fail(e, LR_FAILED, "%s does not exist", t->name);
        return lr_hint(e, "correct %s, or load it first", option);
    }
    if (refuse_name(run, t, e) != 0 || refuse_reading(run, t, e) != 0) return -1;
    if (match_key(run, t, e) != 0) return -1;
    lr_rowset_like(t->source, t->rel.exists ? &t->rel : NULL, &run->arena);
    tell_step(run, t);
    return lr_ledger_lock_target(run, t->name, e) != 0 ? -1 : lr_rowset_prepare(run, t->source, e);
}
