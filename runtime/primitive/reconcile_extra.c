/* Why a comparison differs, as far as the keys tell: rows that only the target
 * has, most often since the source deleted them after they were loaded. */
#include "primitive/deep.h"
#include "primitive/guard.h"
#include "primitive/reconcile.h"
#include "run/ledger.h"
#include <string.h>

#define FEW 10000 /* rows whose keys are soon fetched */

typedef struct extra {
    int64_t rows;
    const char *names;  /* of the first few */
    int elsewhere;      /* of those, how many the source holds outside the rows */
} extra;

/* The keys of the target's rows that are not among the rows, set aside. */
static int find(lr_comparison *p, const lr_sql *stored, lr_table *stage, int64_t *n, lr_err *e)
{
    lr_run *run = p->run;
    lr_sql keys = lr_sql_new(&run->arena), gone = lr_sql_new(&run->arena);
    const lr_rowset *from;
    if (lr_rowset_only(run, p->rs, p->key, p->nkey, &keys, &from, e) != 0) return -1;
    if (lr_guard_keys(run, from, &p->target, p->key, p->nkey, 0, &keys, e) != 0) return -1;
    for (int i = 0; i < p->nkey; i++) lr_sqlf(&gone, i == 0 ? "SELECT \"target\".%I" : ", \"target\".%I", p->key[i]);
    lr_sqlf(&gone, " FROM (%Q) AS \"target\"", stored);
    run->session->warehouse->dialect->unmatched(&gone, "target", &keys, "rows", p->key, p->nkey);
    return lr_stage_rows(run, &gone, stage, n, e);
}

/* " OR (key = value AND ...)" of a row, in the source's table; 0 where a column of
 * the key is no plain column of it. */
static int same_in_source(const lr_comparison *p, const lr_value *row, lr_sql *q)
{
    const lr_rowset *x = p->rs;
    lr_sqlf(q, q->len > 0 ? " OR (" : "(");
    for (int i = 0; i < p->nkey; i++) {
        int f = 0, at = -1;
        while (f < x->n && strcmp(x->fields[f].name, p->key[i]) != 0) f++;
        if (f < x->n && x->origins != NULL && x->origins[f] != NULL) at = lr_field_find(x->place->dialect, &x->relation, x->origins[f]);
        if (at < 0) return 0;
        lr_sqlf(q, i == 0 ? "%I = " : " AND %I = ", x->origins[f]);
        x->place->dialect->typed(q, &row[i], &x->relation.fields[at].type);
    }
    lr_sqlf(q, ")");
    return 1;
}

static int name_some(lr_comparison *p, const lr_table *stage, extra *out, lr_err *e)
{
    lr_run *run = p->run;
    const lr_place *house = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena), keys = lr_sql_new(&run->arena), where = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    lr_buf names = {0};
    int got, possible = p->rs->kind == LR_ROWS_EXTRACT && !p->rs->is_sql && p->rs->relation.exists;
    for (int i = 0; i < p->nkey; i++) lr_sqlf(&keys, i == 0 ? "%I" : ", %I", p->key[i]);
    lr_sqlf(&q, "SELECT %Q FROM %T ORDER BY %Q LIMIT %d", &keys, stage, &keys, LR_EXTRA_NAMED);
    if (lr_query(run, house, &q, &k, e) != 0) return -1;
    while ((got = house->driver->next(k, &row, e)) == 1) {
        lr_buf_printf(&names, "%s%s%s%s", names.len > 0 ? ", " : "", p->nkey > 1 ? "(" : "", lr_row_text(&run->arena, row, p->nkey),
                      p->nkey > 1 ? ")" : "");
        lr_value *kept = lr_alloc(&run->arena, (size_t)p->nkey * sizeof *kept);
        for (int i = 0; i < p->nkey; i++) {
            kept[i] = row[i];
            if (row[i].type == LR_TEXT || row[i].type == LR_BLOB || row[i].type == LR_DECIMAL) kept[i].s.p = lr_dupn(&run->arena, row[i].s.p, row[i].s.n);
            else if (row[i].type != LR_INT && row[i].type != LR_REAL && row[i].type != LR_BOOL && row[i].type != LR_NULL)
                kept[i] = lr_text(lr_value_text(&run->arena, &row[i]));
        }
        if (possible) possible = same_in_source(p, kept, &where);
    }
    house->driver->finish(k);
    out->names = lr_dup(&run->arena, names.data != NULL ? names.data : "");
    lr_buf_free(&names);
    if (got != 0 || !possible || where.len == 0) return got;
    lr_sql all = lr_sql_new(&run->arena);
    lr_value n;
    lr_sqlf(&all, "SELECT count(*) FROM %T WHERE %Q", &p->rs->relation.table, &where);
    if (lr_query_value(run, p->rs->place, &all, &run->arena, &n, NULL, e) != 0) return -1;
    out->elsewhere = (int)n.i;
    return 0;
}

/* "; it fails since the run of 2026-01-12, 3 runs": all since the last that succeeded. */
static const char *since(lr_run *run)
{
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    lr_value job = lr_text(run->job->name), params = lr_text(run->job->params), me = lr_int(run->run_id);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    lr_err ignored = {0};
    const char *out = "";
    if (run->mode != LR_MODE_RUN || run->backfill != NULL) return out;
    lr_sqlf(&q, "SELECT coalesce(logical_date, run_start) FROM %T WHERE job = %V AND params = %V AND status = 'differs' AND run_id <> %V "
                "AND run_id > coalesce((SELECT max(run_id) FROM %T WHERE job = %V AND params = %V AND status = 'succeeded'), 0) ORDER BY run_id",
            &t, &job, &params, &me, &t, &job, &params);
    if (lr_query(run, run->session->warehouse, &q, &k, &ignored) != 0) return out;
    int n = 0;
    while (run->session->warehouse->driver->next(k, &row, &ignored) == 1)
        if (n++ == 0) out = lr_value_text(&run->arena, &row[0]);
    run->session->warehouse->driver->finish(k);
    if (n == 0) return "";
    return lr_printf(&run->arena, "; it fails since the run of %s, %d runs with this one", out, n + 1);
}

static const char *watermark(const lr_comparison *p)
{
    const lr_window *w = lr_rowset_extract(p->rs)->window;
    if (w == NULL || w->mark == NULL || w->saved == NULL) return "";
    return lr_printf(&p->run->arena, "; the watermark stays at %s until then", w->saved);
}

static const char *key_text(const lr_comparison *p)
{
    lr_buf b = {0};
    for (int i = 0; i < p->nkey; i++) lr_buf_printf(&b, "%s\"%s\"", i > 0 ? ", " : "", p->key[i]);
    const char *out = lr_printf(&p->run->arena, p->nkey > 1 ? "{ %s }" : "%s", b.data);
    lr_buf_free(&b);
    return out;
}

/* Do the rows of this write stay when the source deletes them? */
static int stays(const char *primitive)
{
    static const char *const names[] = {"merge", "insert_new", "apply_changes", "scd2_merge"};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (primitive != NULL && strcmp(primitive, names[i]) == 0) return 1;
    return 0;
}

static const char *mend(const lr_comparison *p, const char *primitive)
{
    lr_arena *a = &p->run->arena;
    if (primitive != NULL && strcmp(primitive, "scd2_merge") == 0) return "end such keys with absent = \"close\" in scd2_merge";
    return lr_printf(a, "delete them too, before this reconcile and with its rows: delete_missing { rows, from = \"%s\", key = %s%s }", p->name, key_text(p),
                     p->column != NULL && p->rs->window != NULL ? lr_printf(a, ", column = \"%s\"", p->column) : "");
}

int lr_differs(lr_comparison *p, const lr_sql *stored, const char *primitive, int more_stored, lr_err *e)
{
    lr_run *run = p->run;
    extra x = {0};
    lr_table stage = {0};
    lr_err ignored = {0};
    int known = p->nkey > 0;
    for (int i = 0; i < p->nkey; i++) known &= lr_rowset_has(run, p->rs, p->key[i]);
    /* a failure here is worth less than the difference */
    /* a deep comparison has fetched the keys that differ, and no others */
    if (p->deep != NULL && p->deep->sides[0].all.rows > FEW) {
        x.rows = p->extra;
        x.names = p->extra_names;
    } else if (known && find(p, stored, &stage, &x.rows, &ignored) == 0 && x.rows > 0) name_some(p, &stage, &x, &ignored);
    lr_err_clear(&ignored);
    const char *trigger = lr_printf(&run->arena, "look for what changed the rows on the way, such as a trigger on %s", p->name);
    if (x.rows > 0 && x.names != NULL) {
        const char *why = x.elsewhere > 0 ? lr_printf(&run->arena, "%s holds %s of them, outside these rows", p->rs->title, x.elsewhere == x.rows ? "all" : "some")
                          : stays(primitive) ? "deleted at the source?" : "not among the rows";
        lr_fail(e, LR_DIFFERS, "source and warehouse differ: %s; %lld row%s of %s extra, %s %s%s (%s)%s%s", p->differences.data, (long long)x.rows,
                x.rows == 1 ? "" : "s", p->name, lr_list_text(&run->arena, p->key, p->nkey), x.names, x.rows > LR_EXTRA_NAMED ? ", ..." : "", why, since(run),
                watermark(p));
        if (x.elsewhere > 0) return lr_hint(e, "the run was rolled back; a row whose time or values changed has left the window or the where: compare with them in "
                                               "mind, or pass partition; else %s", trigger);
        if (stays(primitive)) return lr_hint(e, "the run was rolled back; %s; else %s", mend(p, primitive), trigger);
        return lr_hint(e, "the run was rolled back; %s", trigger);
    }
    lr_fail(e, LR_DIFFERS, "source and warehouse differ: %s%s%s%s", p->differences.data,
            !known && more_stored ? lr_printf(&run->arena, "; %s has more rows, and no key is known to name them: deleted at the source?", p->name) : "",
            since(run), watermark(p));
    if (!known && more_stored)
        return lr_hint(e, "the run was rolled back; pass key = \"...\" to reconcile to name the rows; rows that the source has deleted go by "
                          "delete_missing { rows, from = \"%s\", key = \"...\" }; else %s", p->name, trigger);
    return lr_hint(e, "the run was rolled back; %s", trigger);
}
