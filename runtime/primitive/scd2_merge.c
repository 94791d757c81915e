/* scd2_merge: sightings into a type 2 dimension, in whatever order they come. */
#include "primitive/scd2_work.h"
#include "run/ledger.h"
#include <stddef.h>
#include <string.h>

static const lr_option options[] = {
    LR_WRITE_OPTIONS,
    {"key", LR_ARG_STRING | LR_ARG_LIST, 1, NULL, "column or columns that name a thing over time"},
    {"track", LR_ARG_STRING | LR_ARG_LIST, 0, "all but the key and at", "columns whose change makes a version"},
    {"at", LR_ARG_STRING, 0, "the logical date", "the column with the time of the change"},
    {"absent", LR_ARG_STRING, 0, "keep", "\"close\": keys that a full extract no longer has end at the logical date, else at run_start"},
    {"partition", LR_ARG_MAP | LR_ARG_LIST, 0, NULL,
     "with absent = \"close\": only versions with these values end, { region = \"EU\" }; {} if the rows are all keys. Required where the "
     "rows are a part of their table (where, sql, filter, unmatched = \"drop\")"},
    {"backdate", LR_ARG_BOOL, 0, "false",
     "the source holds the state of the logical date, so any date may be run; else, without at, only the current or the last complete "
     "one by the clock or --run-start, and none before the latest that was run"},
    {"allow_empty", LR_ARG_BOOL, 0, "false", "let an empty extract close everything"},
    {"from", LR_ARG_STRING, 0, "valid_from", "the version's first moment (included)"},
    {"to", LR_ARG_STRING, 0, "valid_to", "the first moment after it (excluded); 9999-12-31 is open"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_scd2_merge = {
    .name = "scd2_merge",
    .summary = "keep a type 2 dimension: one row for each version of a key, [valid_from, valid_to)",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }: versions; skipped are sightings that changed nothing",
    .refuses = "NULL in the key or in at; a key and time with two values; no at and no logical date; without at a logical date in the "
               "past, unless backdate = true; absent = \"close\" on a windowed extract, on a part of a table without partition, or on an "
               "empty one without allow_empty",
    .example = "scd2_merge { customers, into = \"dim_customer\", key = \"customer_id\", track = { \"name\", \"country\" } }",
    .idea = "Kimball's type 2 slowly changing dimension; sightings kept so that late ones find their place",
    .call = call,
};

/* ---- options ---- */

static void tracked_by_default(lr_scd2_work *w, const lr_rowset *in)
{
    const lr_dialect *d = w->run->session->warehouse->dialect;
    w->s.track = lr_alloc(&w->run->arena, (size_t)(in->n + 1) * sizeof *w->s.track);
    for (int i = 0; i < in->n; i++) {
        const char *name = in->fields[i].name;
        int taken = w->at != NULL && lr_name_equal(d, name, w->at);
        for (int k = 0; k < w->s.nkey; k++) taken |= lr_name_equal(d, name, w->s.key[k]);
        if (!taken) w->s.track[w->s.ntrack++] = name;
    }
}

static int read_options(lr_scd2_work *w, const lr_args *args, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_scd2_merge;
    lr_run *run = w->run;
    const lr_dialect *d = run->session->warehouse->dialect;
    const lr_rowset *in = args->first.p;
    const char *absent = lr_arg_text(lr_arg_of(p, args, "absent"), "keep");
    w->at = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "at"), NULL));
    w->s.from = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "from"), "valid_from"));
    w->s.to = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "to"), "valid_to"));
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &w->s.key, &w->s.nkey, e) != 0) return -1;
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "track"), &w->s.track, &w->s.ntrack, e) != 0) return -1;
    if (w->s.nkey == 0) return lr_fail(e, LR_FAILED, "key is empty");
    if (lr_arg_of(p, args, "track")->type == LR_ARG_NONE) tracked_by_default(w, in);
    for (int i = 0; i < w->s.ntrack; i++) {
        const char *name = w->s.track[i];
        int clash = lr_name_equal(d, name, w->s.from) || lr_name_equal(d, name, w->s.to);
        for (int k = 0; k < w->s.nkey; k++) clash |= lr_name_equal(d, name, w->s.key[k]);
        if (!clash) continue;
        lr_fail(e, LR_FAILED, "track: %s is the key's, or the version's own column", name);
        return lr_hint(e, "leave it out of track; from and to name the version's columns otherwise");
    }
    w->close = strcmp(absent, "close") == 0;
    if (!w->close && strcmp(absent, "keep") != 0) {
        lr_fail(e, LR_FAILED, "absent = \"%s\" is not known", absent);
        return lr_hint(e, "use \"keep\" or \"close\"");
    }
    if (w->close && in->window != NULL) {
        lr_fail(e, LR_FAILED, "absent = \"close\" needs a full extract, and these rows are those of a window: %s", lr_window_text(run, in->window));
        return lr_hint(e, "leave window out, so that a key that is not there is gone");
    }
    if (w->at == NULL && !run->job->has_logical) {
        lr_fail(e, LR_FAILED, "there is no time of the change: no at, and no logical date");
        return lr_hint(e, "pass at = \"updated_at\", or run with --logical-date");
    }
    w->backdate = lr_arg_bool(lr_arg_of(p, args, "backdate"), 0);
    if (!w->close && lr_arg_of(p, args, "partition")->type != LR_ARG_NONE) {
        lr_fail(e, LR_FAILED, "partition says which versions absent = \"close\" may end, and absent is \"keep\"");
        return lr_hint(e, "pass absent = \"close\", or leave partition out");
    }
    w->at_us = run->job->has_logical ? run->job->logical_start : run->job->run_start;
    return 0;
}

/* ---- temporary tables ---- */

enum { WITH_RANK = 1, WITH_EVENT = 2, WITH_STATE = 4 };

static int make_stage(lr_scd2_work *w, lr_table *t, int all, int extra, lr_err *e)
{
    lr_run *run = w->run;
    const lr_place *house = run->session->warehouse;
    const lr_relation *dim = w->s.dim;
    lr_field *fields = lr_alloc(&run->arena, (size_t)(w->s.nkey + w->s.ntrack + 8) * sizeof *fields);
    int n = 0;
    const char **groups[] = {w->s.key, w->s.track, &w->s.from};
    const int counts[] = {w->s.nkey, all ? w->s.ntrack : 0, all ? 1 : 0};
    for (int g = 0; g < 3; g++)
        for (int i = 0; i < counts[g]; i++) {
            int at = lr_field_find(house->dialect, dim, groups[g][i]);
            fields[n++] = (lr_field){.name = groups[g][i], .type = dim->fields[at].type};
        }
    static const struct {
        const char *name;
        int with;
    } more[] = {{LR_SCD2_RANK, WITH_RANK}, {LR_SCD2_WAS, WITH_EVENT}, {LR_SCD2_THERE, WITH_EVENT}, {LR_SCD2_KEPT, WITH_STATE}, {LR_SCD2_TWICE, WITH_STATE}};
    if (extra & WITH_EVENT) fields[n++] = (lr_field){.name = LR_SCD2_TO, .type = *w->s.to_type};
    for (size_t i = 0; i < sizeof more / sizeof more[0]; i++)
        if (extra & more[i].with) fields[n++] = (lr_field){.name = more[i].name, .type = lr_type_words("integer")};
    if (lr_stage_name(run, t, e) != 0) return -1;
    lr_stage_made(run, t);
    lr_sql q = lr_sql_new(&run->arena);
    house->dialect->create_table(&q, t, fields, n, NULL, 0, run->session->stages);
    return lr_exec(run, house, &q, NULL, e);
}

static int run_one(lr_scd2_work *w, const lr_sql *q, int64_t *changed, lr_err *e)
{
    return lr_exec(w->run, w->run->session->warehouse, q, changed, e);
}

/* Keys that were changed before the moment from which others are absent were
 * there then too: a second sighting. Without a column at all are of that moment. */
static int sights_twice(const lr_scd2_work *w)
{
    return w->close && w->at != NULL;
}

/* Does the source's own constraint say that a key is sighted once? Not where the
 * dimension takes several of its keys for the same. */
static int sighted_once(const lr_scd2_work *w, const lr_rowset *in)
{
    const lr_dialect *d = w->s.d;
    if (sights_twice(w) || in->kind != LR_ROWS_EXTRACT || !lr_rows_unique(in, w->s.key, w->s.nkey)) return 0;
    for (int i = 0; i < w->s.nkey; i++) {
        int f = 0, at = lr_field_find(d, w->s.dim, w->s.key[i]);
        while (f < in->n && strcmp(in->fields[f].name, w->s.key[i]) != 0) f++;
        if (f == in->n || lr_type_merges_values(&in->fields[f].type, &w->s.dim->fields[at].type)) return 0;
    }
    return 1;
}

/* ---- the work ---- */

static int step(lr_scd2_work *w, void (*build)(const lr_scd2 *, lr_sql *), int64_t *changed, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    int64_t n = 0;
    build(&w->s, &q);
    int failed = run_one(w, &q, &n, e);
    if (changed != NULL) *changed += n;
    return failed;
}

/* All that is known of the keys left, and what follows from it. */
static int gather(lr_scd2_work *w, lr_err *e)
{
    lr_scd2 *s = &w->s;
    if (make_stage(w, &s->events, 1, WITH_RANK | WITH_EVENT, e) != 0 ||
        make_stage(w, &s->states, 1, WITH_RANK | WITH_EVENT | WITH_STATE, e) != 0) return -1;
    for (int kind = 0; kind < LR_SCD2_KINDS; kind++) {
        lr_sql q = lr_sql_new(&w->run->arena);
        if (lr_scd2_events(s, kind, &q) && run_one(w, &q, NULL, e) != 0) return -1;
    }
    if (step(w, lr_scd2_states, NULL, e) != 0 || step(w, lr_scd2_outranked, NULL, e) != 0) return -1;
    lr_sql q = lr_sql_new(&w->run->arena);
    lr_scd2_conflicts(s, &q);
    const char *changes = "a key can have one value at a time: correct the source, or give the changes times of their own";
    const char *dates = "a source that keeps only today's values cannot say what was true then: run the next date, or bring a "
                        "correction with a time of its own, at = \"...\"";
    return w->at != NULL ? lr_scd2_refuse_rows(w, &q, "two values at the same time for (key, time): %s", changes, e)
                         : lr_scd2_refuse_rows(w, &q, "this date was run before with other values, or without the key, for (key, time): %s", dates, e);
}

/* Which keys change, and which of them need no look at their history. */
static int sort_keys(lr_scd2_work *w, int64_t *left, lr_err *e)
{
    lr_scd2 *s = &w->s;
    lr_sql all = lr_sql_new(&w->run->arena);
    if (make_stage(w, &s->keys, 0, 0, e) != 0 || make_stage(w, &s->simple, 1, WITH_RANK, e) != 0) return -1;
    if (step(w, lr_scd2_simple, &w->simple, e) != 0) return -1;
    /* each is one sighting of a key: where all are, none is left */
    if (w->simple < w->sighted && step(w, lr_scd2_changed_keys, NULL, e) != 0) return -1;
    if (s->absent != NULL && step(w, lr_scd2_gone_keys, NULL, e) != 0) return -1;
    lr_sqlf(&all, "SELECT 1 FROM %T", &s->keys);
    return lr_count_rows(w->run, &all, left, e);
}

static int write_changes(lr_scd2_work *w, int simple, int others, lr_err *e)
{
    static const struct {
        void (*build)(const lr_scd2 *, lr_sql *);
        int simple;
        size_t count;
    } steps[] = {{lr_scd2_end_simple, 1, offsetof(lr_counts, updated)}, {lr_scd2_begin_simple, 1, offsetof(lr_counts, inserted)},
                 {lr_scd2_delete, 0, offsetof(lr_counts, deleted)}, {lr_scd2_update, 0, offsetof(lr_counts, updated)},
                 {lr_scd2_insert, 0, offsetof(lr_counts, inserted)}};
    for (size_t i = 0; i < sizeof steps / sizeof steps[0]; i++) {
        lr_sql q = lr_sql_new(&w->run->arena);
        int64_t n = 0;
        if (!(steps[i].simple ? simple : others)) continue;
        steps[i].build(&w->s, &q);
        if (lr_write(w->run, &q, &n, e) != 0) return -1;
        *(int64_t *)((char *)&w->c + steps[i].count) += n;
    }
    return 0;
}

static int keep_sightings(lr_scd2_work *w, int others, lr_err *e)
{
    if (others && w->s.remembers && step(w, lr_scd2_unmark, NULL, e) != 0) return -1;
    for (int kind = others ? 0 : 1; kind < LR_SCD2_KEEPS; kind++) {
        lr_sql q = lr_sql_new(&w->run->arena);
        int64_t kept = 0;
        if ((kind == 1 && w->simple == w->sighted) || (kind == 3 && !others)) continue;
        if (lr_scd2_keep(&w->s, kind, &q) && run_one(w, &q, &kept, e) != 0) return -1;
        if (kind < 2) w->c.skipped += kept;
    }
    return 0;
}

/* Versions were written, and none is there: somebody dropped or emptied the
 * dimension, and what was seen of it belongs to no history any more. */
static int forget(lr_scd2_work *w, lr_err *e)
{
    lr_run *run = w->run;
    int any = 0;
    lr_sql memory = lr_sql_new(&run->arena);
    lr_scd2_memory(&w->s, &memory);
    if (lr_any_row(run, run->session->warehouse, &memory, &w->s.remembers, e) != 0) return -1;
    int64_t n = 0;
    lr_table writes = lr_ledger_table(run->session, "lrun_writes");
    lr_value target = lr_text(w->t.name), written;
    lr_sql all = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena);
    lr_sqlf(&all, "SELECT 1 FROM %T", &w->s.dim->table);
    if (!w->t.created && lr_any_row(run, run->session->warehouse, &all, &any, e) != 0) return -1;
    if (any) return 0;
    lr_sqlf(&q, "SELECT CASE WHEN sum(rows_inserted - rows_deleted) > 0 THEN 1 ELSE 0 END FROM %T WHERE target = %V AND primitive = 'scd2_merge'",
            &writes, &target);
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &written, NULL, e) != 0) return -1;
    if (written.i == 0 && !w->t.created) return 0;
    w->s.remembers = 0;
    if (step(w, lr_scd2_forget, &n, e) != 0) return -1;
    if (n > 0) lr_note(run, "%s is empty: what was seen of it before is forgotten", w->t.name);
    return 0;
}

static int fill_added(lr_scd2_work *w, lr_err *e)
{
    lr_sql q = lr_sql_new(&w->run->arena);
    lr_scd2_fill(&w->s, w->added, w->nadded, &q);
    return w->nadded == 0 ? 0 : run_one(w, &q, &w->c.updated, e);
}

static int find_columns(lr_scd2_work *w, lr_err *e)
{
    const lr_dialect *d = w->s.d;
    const char *names[] = {w->s.from, w->s.to};
    const lr_type **types[] = {&w->s.from_type, &w->s.to_type};
    for (int i = 0; i < 2; i++) {
        int at = lr_field_find(d, &w->t.rel, names[i]);
        if (at < 0) {
            lr_fail(e, LR_FAILED, "%s has no column \"%s\": it is no type 2 dimension", w->t.name, names[i]);
            return lr_hint(e, "name the version's columns with from and to");
        }
        *types[i] = &w->t.rel.fields[at].type;
    }
    int n = 0; /* new_columns = "ignore" has left some out */
    for (int i = 0; i < w->s.ntrack; i++)
        if (lr_field_find(d, &w->t.rel, w->s.track[i]) >= 0) w->s.track[n++] = w->s.track[i];
    if (n < w->s.ntrack) w->nadded = 0;
    w->s.ntrack = n;
    int stamp = w->t.stamp != NULL ? lr_field_find(d, &w->t.rel, w->t.stamp) : -1;
    if (stamp >= 0) w->s.stamp_type = &w->t.rel.fields[stamp].type;
    return 0;
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_scd2_merge;
    lr_scd2_work w = {.run = run};
    lr_value absent;
    w.s.d = run->session->warehouse->dialect;
    w.s.zone = run->job->zone;
    if (read_options(&w, args, e) != 0) return -1;
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, w.s.key, w.s.nkey, NULL, out, e);
    const char *into = lr_arg_text(lr_arg_of(p, args, "into"), NULL);
    if (lr_scd2_past(&w, into, e) != 0 || lr_scd2_derive(&w, (lr_rowset *)args->first.p, e) != 0) return -1;
    if (lr_scd2_types(&w, into, e) != 0) return -1;
    const char **version = lr_alloc(&run->arena, (size_t)(w.s.nkey + 2) * sizeof *version);
    for (int i = 0; i < w.s.nkey; i++) version[i] = w.s.key[i];
    version[w.s.nkey] = w.s.from;
    lr_args mine = *args;
    mine.first.p = w.rows;
    if (lr_target_open(run, p, &mine, version, w.s.nkey + 1, NULL, 0, &w.t, e) != 0 || find_columns(&w, e) != 0) return -1;
    w.s.dim = &w.t.rel;
    w.s.dim_name = w.t.name;
    w.s.all_name = lr_printf(&run->arena, "%s (all keys)", w.t.name);
    w.s.at_name = lr_printf(&run->arena, "%s (all keys at run_start)", w.t.name);
    w.s.present_name = lr_printf(&run->arena, "%s (present)", w.t.name);
    w.s.at_mode = w.at != NULL;
    w.s.stamp = w.t.stamp;
    w.s.stamp_value = w.t.stamp_value;
    w.s.seen = lr_ledger_table(run->session, "lrun_scd2_seen");
    w.inside = lr_sql_new(&run->arena);
    w.s.inside = &w.inside;
    if (lr_partition_sql(run, &w.t.rel, lr_arg_of(p, args, "partition"), &w.inside, e) != 0) return -1;
    if (w.close) {
        if (lr_refuse_part(run, &w.t, lr_arg_of(p, args, "partition"), "keys outside it would be closed", e) != 0) return -1;
        lr_scd2_moment(&w, w.at_us, w.s.from_type, &absent);
        w.s.absent = &absent;
    }
    int64_t left = 1;
    if (run->mode == LR_MODE_PLAN) {
        w.s.remembers = 1;
        w.s.states = (lr_table){NULL, "lrun_states"};
        w.s.simple = (lr_table){NULL, "lrun_simple"};
    } else {
        if (make_stage(&w, &w.s.sightings, 1, WITH_RANK, e) != 0) return -1;
        lr_sql q = lr_sql_new(&run->arena);
        lr_scd2_take(&w.s, &w.t.rows, &q);
        if (run_one(&w, &q, &w.c.read, e) != 0 || lr_scd2_check(&w, lr_arg_bool(lr_arg_of(p, args, "allow_empty"), 0), e) != 0) return -1;
        if (forget(&w, e) != 0 || fill_added(&w, e) != 0) return -1;
        w.s.once = sighted_once(&w, (const lr_rowset *)args->first.p);
        w.sighted = w.c.read;
        if (sights_twice(&w) && step(&w, lr_scd2_there, &w.sighted, e) != 0) return -1;
        if (sort_keys(&w, &left, e) != 0 || (left > 0 && gather(&w, e) != 0)) return -1;
    }
    if (write_changes(&w, run->mode == LR_MODE_PLAN || w.simple > 0, left > 0, e) != 0) return -1;
    if (run->mode != LR_MODE_PLAN && keep_sightings(&w, left > 0, e) != 0) return -1;
    w.t.source = (lr_rowset *)args->first.p;
    w.t.key = w.s.key;
    w.t.nkey = w.s.nkey;
    return lr_target_done(run, &w.t, &w.c, NULL, NULL, out, e);
}
