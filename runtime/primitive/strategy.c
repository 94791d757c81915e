/* How rows are written by key. Engines of one protocol differ in the statements
 * that they take, and a refusal ends a transaction: so a way is tried behind a
 * savepoint until one is taken, and remembered for the target. */
#include "primitive/target.h"
#include <stdlib.h>
#include <string.h>

typedef struct lr_strategy {
    const char *target;
    int insert_only; /* statements that only insert may be taken where others are not */
    int way;
    struct lr_strategy *next;
} lr_strategy;

int lr_count_rows(lr_run *run, const lr_sql *select, int64_t *out, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_value n;
    lr_sqlf(&q, "SELECT count(*) FROM (%Q) AS \"rows\"", select);
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &n, NULL, e) != 0) return -1;
    *out = n.i;
    return 0;
}

int lr_stage_rows(lr_run *run, const lr_sql *select, lr_table *stage, int64_t *n, lr_err *e)
{
    if (lr_run_open(run, e) != 0 || lr_stage_name(run, stage, e) != 0) return -1;
    lr_sql q = lr_sql_new(&run->arena), all = lr_sql_new(&run->arena);
    run->session->warehouse->dialect->keep(&q, stage, select, run->session->stages);
    if (lr_exec(run, run->session->warehouse, &q, NULL, e) != 0) return -1;
    lr_stage_made(run, stage);
    lr_sqlf(&all, "SELECT 1 FROM %T", stage);
    return lr_count_rows(run, &all, n, e);
}

/* ---- which rows of an upsert were new ---- */

typedef struct tally {
    int own;     /* by the driver */
    int known;   /* by the engine: n is its count before */
    int64_t n;   /* rows new before the statement, or rows of the target */
    int found;   /* n is the answer itself */
} tally;

static int ask_tally(lr_run *run, const lr_target *t, int *possible, int64_t *n, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    w->dialect->tally(&q, &t->rel);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    if (got == 1) {
        *possible = row[0].i != 0;
        *n = row[1].i - row[2].i;
    }
    w->driver->finish(k);
    return got < 0 ? -1 : 0;
}

/* Keys that are not there yet. */
static int count_new(lr_run *run, const lr_target *t, const lr_merge *m, int64_t *n, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT 1 FROM (%Q) AS \"rows\" LEFT JOIN %T AS \"old\" ON ", m->rows, &t->rel.table);
    lr_same_key("old", "rows", m->key, m->nkey, &q);
    lr_sqlf(&q, " WHERE \"old\".%I IS NULL", m->key[0]);
    return lr_count_rows(run, &q, n, e);
}

static void all_rows(const lr_target *t, lr_sql *q)
{
    lr_sqlf(q, "SELECT 1 FROM %T", &t->rel.table);
}

static int tally_before(lr_run *run, const lr_target *t, const lr_merge *m, tally *y, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (w->dialect->tally != NULL) {
        if (ask_tally(run, t, &y->known, &y->n, e) != 0) return -1;
        y->found = !y->known;
        return y->known ? 0 : count_new(run, t, m, &y->n, e);
    }
    y->own = w->driver->count(w->conn, t->rel.table.name, NULL, NULL) == 0;
    lr_sql all = lr_sql_new(&run->arena);
    all_rows(t, &all);
    return y->own ? 0 : lr_count_rows(run, &all, &y->n, e);
}

static int tally_after(lr_run *run, const lr_target *t, const tally *y, int failed, int64_t *inserted, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    int64_t before = y->n;
    int possible;
    if (w->dialect->tally == NULL) w->driver->count(w->conn, NULL, inserted, NULL);
    if (failed != 0) return -1;
    if (y->found) *inserted = y->n;
    if (y->found || y->own) return 0;
    lr_sql all = lr_sql_new(&run->arena);
    all_rows(t, &all);
    if ((y->known ? ask_tally(run, t, &possible, inserted, e) : lr_count_rows(run, &all, inserted, e)) != 0) return -1;
    *inserted -= before;
    return 0;
}

/* ---- one way ---- */

static int run_steps(lr_run *run, lr_target *t, const lr_merge *m, const lr_step_sql *steps, int n, lr_counts *c, lr_err *e)
{
    int failed = 0;
    int64_t kept = 0;
    for (int i = 0; failed == 0 && i < n; i++) {
        int64_t changed = 0, inserted = 0;
        int upsert = steps[i].effect == LR_UPSERTS && run->mode != LR_MODE_PLAN;
        tally y = {0};
        if (upsert) failed = tally_before(run, t, m, &y, e);
        if (failed == 0) failed = lr_write(run, &steps[i].sql, &changed, e);
        if (upsert) failed = tally_after(run, t, &y, failed, &inserted, e);
        if (failed != 0) break;
        switch (steps[i].effect) {
        case LR_INSERTS:
            c->inserted += changed;
            break;
        case LR_UPDATES:
            c->updated += changed;
            break;
        case LR_UPSERTS:
            c->inserted += inserted;
            c->updated += changed - inserted;
            break;
        case LR_KEEPS:
            kept = changed;
            if (run->mode != LR_MODE_PLAN) lr_stage_made(run, &m->scratch);
            break;
        case LR_DELETES:
            if (changed == kept) break;
            lr_fail(e, LR_FAILED, "%s has several rows of one key, and only some of them differ from the rows", t->name);
            lr_hint(e, "rows are written here by deleting and inserting: make the key unique in the target");
            failed = -1;
            break;
        }
    }
    return failed;
}

/* ---- the choice ---- */

static int savepoint(lr_run *run, const char *what, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "%s lrun_way", what);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

static int force(const lr_dialect *d, int *way, lr_err *e)
{
    const char *name = getenv(d->strategy_variable);
    *way = -1;
    if (name == NULL || name[0] == 0) return 0;
    lr_buf known = {0};
    for (int i = 0; d->strategies[i] != NULL; i++) {
        if (strcmp(d->strategies[i], name) == 0) *way = i;
        lr_buf_printf(&known, "%s%s", i > 0 ? ", " : "", d->strategies[i]);
    }
    if (*way < 0) {
        lr_fail(e, LR_FAILED, "%s = \"%s\" is no way to write by key", d->strategy_variable, name);
        lr_hint(e, "known: %s", known.data);
    }
    lr_buf_free(&known);
    return *way < 0 ? -1 : 0;
}

static int cannot(const lr_target *t, const lr_dialect *d, int way, const char *why, lr_err *e)
{
    lr_fail(e, LR_FAILED, "%s cannot be written by %s, which %s forces: %s", t->name, d->strategies[way], d->strategy_variable, why);
    return lr_hint(e, "unset %s, and lrun takes the best way that the server does", d->strategy_variable);
}

static int forced(lr_run *run, lr_target *t, const lr_merge *m, int way, lr_counts *c, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_step_sql steps[LR_MERGE_STEPS];
    const char *why = NULL;
    int n = d->merge(&run->arena, m, way, steps, &why);
    if (n == 0) return cannot(t, d, way, why, e);
    if (run_steps(run, t, m, steps, n, c, e) == 0) return 0;
    if (!d->refuses(e)) return -1;
    lr_err refused = *e;
    lr_err_clear(e);
    return cannot(t, d, way, refused.message, e);
}

static const char *full_name(lr_run *run, const lr_target *t)
{
    return lr_table_name(&run->arena, &t->rel.table);
}

static void remember(lr_run *run, const lr_target *t, const lr_merge *m, int way)
{
    lr_strategy *s = lr_alloc(&run->arena, sizeof *s);
    *s = (lr_strategy){full_name(run, t), m->insert_only, way, run->strategies};
    run->strategies = s;
}

/* -1: none is known yet. */
static int recall(lr_run *run, const lr_target *t, const lr_merge *m)
{
    const char *name = full_name(run, t);
    for (const lr_strategy *s = run->strategies; s != NULL; s = s->next)
        if (s->insert_only == m->insert_only && strcmp(s->target, name) == 0) return s->way;
    return -1;
}

static int undo(lr_run *run, lr_err *e)
{
    lr_err refused = *e;
    lr_err_clear(e);
    if (savepoint(run, "ROLLBACK TO SAVEPOINT", e) != 0) return -1;
    *e = refused;
    return 0;
}

static int merge_rows(lr_run *run, lr_target *t, lr_merge *m, lr_counts *c, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_step_sql steps[LR_MERGE_STEPS];
    const char *why = NULL;
    int way;
    m->scratch = (lr_table){NULL, "lrun_stage"};
    if (d->strategies == NULL) {
        int n = d->merge(&run->arena, m, 0, steps, &why);
        return run_steps(run, t, m, steps, n, c, e);
    }
    if (force(d, &way, e) != 0 || (run->mode != LR_MODE_PLAN && lr_stage_name(run, &m->scratch, e) != 0)) return -1;
    m->stages = run->session->stages;
    if (way >= 0) return forced(run, t, m, way, c, e);
    int known = run->mode == LR_MODE_RUN ? recall(run, t, m) : -1;
    for (way = known >= 0 ? known : 0; d->strategies[way] != NULL; way++) {
        int n = d->merge(&run->arena, m, way, steps, &why);
        lr_counts before = *c;
        if (n == 0) continue;
        if (run->mode == LR_MODE_PLAN || way == known) return run_steps(run, t, m, steps, n, c, e);
        lr_err_clear(e);
        if (lr_run_open(run, e) != 0 || savepoint(run, "SAVEPOINT", e) != 0) return -1;
        if (run_steps(run, t, m, steps, n, c, e) == 0) {
            remember(run, t, m, way);
            return savepoint(run, "RELEASE SAVEPOINT", e);
        }
        if (!d->refuses(e) || undo(run, e) != 0) return -1;
        *c = before;
    }
    if (e->status != LR_OK) return -1;
    lr_fail(e, LR_FAILED, "%s cannot be written by key: %s", t->name, why);
    return lr_hint(e, "use overwrite_partition or full_load");
}

int lr_merge_rows(lr_run *run, lr_target *t, lr_merge *m, lr_counts *c, lr_err *e)
{
    if (merge_rows(run, t, m, c, e) == 0) return 0;
    /* another run put the same key in: this one starts over and sees it */
    if (run->session->warehouse->dialect->row_locks && strcmp(e->sqlstate, "23505") == 0) e->retry = 1;
    return -1;
}
