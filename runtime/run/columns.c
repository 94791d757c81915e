/* The ledger's memory of columns: lrun_write_columns, and lrun_columns of 0.1.0,
 * which knows one write for each target. */
#include "run/columns.h"
#include "run/ledger.h"
#include <string.h>

static int has_table(lr_run *run, const char *name, int *has, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, name);
    lr_relation rel;
    int exists = 1;
    *has = 0;
    if (strcmp(name, "lrun_write_columns") == 0 && run->session->old_ledger) return 0;
    if (run->mode == LR_MODE_RUN) {
        *has = 1;
        return 0;
    }
    if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    if (exists && w->dialect->relation(w->driver, w->conn, &run->arena, &t, 0, &rel, e) != 0) return -1;
    *has = exists && rel.exists;
    return 0;
}

/* A row of the write itself; else, for the first write into the target, the only
 * row that there is: the job has the same write, and another source. */
static int find_row(lr_run *run, lr_memory *m, int *any, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_write_columns");
    lr_value job = lr_text(run->job->name), target = lr_text(m->target);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    lr_memory only = {0};
    int got, n = 0, has;
    if (has_table(run, t.name, &has, e) != 0) return -1;
    if (!has) return 0;
    lr_sqlf(&q, "SELECT source_table, place, job_sha256, columns FROM %T WHERE job = %V AND target = %V", &t, &job, &target);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        only.old_source = lr_value_text(&run->arena, &row[0]);
        only.old_place = row[1].i;
        only.sha256 = lr_value_text(&run->arena, &row[2]);
        only.before = lr_value_text(&run->arena, &row[3]);
        n++;
        if (strcmp(only.old_source, m->source) != 0 || only.old_place != m->place) continue;
        m->before = only.before;
        m->sha256 = only.sha256;
    }
    w->driver->finish(k);
    *any = n > 0;
    if (got < 0 || m->before != NULL || !m->first || n != 1) return got;
    m->before = only.before;
    m->sha256 = only.sha256;
    m->old_source = only.old_source;
    m->old_place = only.old_place;
    return 0;
}

static int find_old_row(lr_run *run, lr_memory *m, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_columns");
    lr_value job = lr_text(run->job->name), target = lr_text(m->target);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    int has;
    if (has_table(run, t.name, &has, e) != 0) return -1;
    if (!has) return 0;
    lr_sqlf(&q, "SELECT columns, job_sha256 FROM %T WHERE job = %V AND target = %V", &t, &job, &target);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    if (got == 1) {
        m->before = lr_value_text(&run->arena, &row[0]);
        m->sha256 = lr_value_text(&run->arena, &row[1]);
    }
    w->driver->finish(k);
    return got < 0 ? -1 : 0;
}

int lr_memory_find(lr_run *run, const char *target, const char *source, lr_memory **out, lr_err *e)
{
    lr_memory *m = lr_alloc(&run->arena, sizeof *m);
    int first = 1, any = 0;
    m->target = target;
    m->source = lr_dup(&run->arena, source);
    m->place = 1;
    for (const lr_memory *other = run->memories; other != NULL; other = other->next) {
        if (strcmp(other->target, target) != 0) continue;
        first = 0;
        m->place += strcmp(other->source, source) == 0;
    }
    m->first = first;
    m->next = run->memories;
    run->memories = m;
    *out = m;
    if (find_row(run, m, &any, e) != 0) return -1;
    return any || !first ? 0 : find_old_row(run, m, e);
}

/* The row of 0.1.0's table: the columns that the job wrote last. */
static int save_last(lr_run *run, const lr_memory *m, const char *now, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_columns");
    lr_value v[] = {lr_text(run->job->name), lr_text(m->target), lr_text(run->job->sha256), lr_text(now), lr_int(run->run_id)};
    lr_sql q = lr_sql_new(&run->arena);
    int64_t changed = 0;
    lr_sqlf(&q, "UPDATE %T SET job_sha256 = %V, columns = %V, run_id = %V WHERE job = %V AND target = %V",
            &t, &v[2], &v[3], &v[4], &v[0], &v[1]);
    if (lr_exec(run, w, &q, &changed, e) != 0) return -1;
    if (changed > 0) return 0;
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (job, target, job_sha256, columns, run_id) VALUES (%V, %V, %V, %V, %V)",
            &t, &v[0], &v[1], &v[2], &v[3], &v[4]);
    return lr_exec(run, w, &q, NULL, e);
}

/* As 0.1.0 reads them: without what the job said of each. */
static const char *without_said(lr_run *run, const char *now)
{
    char *text = lr_dup(&run->arena, now), *out = text;
    for (const char *line = now, *end; *line != 0; line = end + 1) {
        end = strchr(line, '\n');
        const char *tab = end;
        while (*tab != '\t') tab--;
        memmove(out, line, (size_t)(tab - line));
        out += tab - line;
        *out++ = '\n';
    }
    *out = 0;
    return text;
}

int lr_memory_save(lr_run *run, const lr_memory *m, const char *now, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const char *last = without_said(run, now);
    int same = m->before != NULL && strcmp(m->sha256, run->job->sha256) == 0 && m->old_source == NULL;
    if (same && strcmp(m->before, run->session->old_ledger ? last : now) == 0) return 0;
    if (run->session->old_ledger) return m->first ? save_last(run, m, last, e) : 0; /* it knows one write for each target */
    if (save_last(run, m, last, e) != 0) return -1;
    lr_table t = lr_ledger_table(run->session, "lrun_write_columns");
    lr_value v[] = {lr_text(run->job->name), lr_text(m->target), lr_text(m->old_source != NULL ? m->old_source : m->source),
                    lr_int(m->old_source != NULL ? m->old_place : m->place), lr_text(run->job->sha256), lr_text(now),
                    run->run_id != 0 ? lr_int(run->run_id) : lr_null(), lr_text(m->source), lr_int(m->place), lr_text(lr_ledger_now(&run->arena))};
    lr_sql q = lr_sql_new(&run->arena);
    int64_t changed = 0;
    lr_sqlf(&q, "UPDATE %T SET source_table = %V, place = %V, job_sha256 = %V, columns = %V, run_id = %V, saved_at = %V "
                "WHERE job = %V AND target = %V AND source_table = %V AND place = %V",
            &t, &v[7], &v[8], &v[4], &v[5], &v[6], &v[9], &v[0], &v[1], &v[2], &v[3]);
    if (lr_exec(run, w, &q, &changed, e) != 0) return -1;
    if (changed > 0) return 0;
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (job, target, source_table, place, job_sha256, columns, run_id, saved_at) "
                "VALUES (%V, %V, %V, %V, %V, %V, %V, %V)", &t, &v[0], &v[1], &v[7], &v[8], &v[4], &v[5], &v[6], &v[9]);
    return lr_exec(run, w, &q, NULL, e);
}

typedef struct acceptance {
    const lr_accepted *list;
    int n;
} acceptance;

static int accept_all(lr_run *run, void *arg, lr_err *e)
{
    const acceptance *a = arg;
    for (int i = 0; i < a->n; i++)
        if (lr_memory_save(run, a->list[i].memory, a->list[i].now, e) != 0) return -1;
    return 0;
}

int lr_memory_accept(lr_run *run, const lr_accepted *list, int n, lr_err *e)
{
    acceptance a = {list, n};
    return lr_run_small(run, accept_all, &a, e);
}
