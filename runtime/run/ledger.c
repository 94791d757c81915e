/* The ledger's rows. */
#include "run/ledger.h"
#include "run/backfill.h"
#include "run/process.h"
#include "run/stop.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#ifndef LRUN_VERSION
#define LRUN_VERSION "dev"
#endif

lr_table lr_ledger_table(const lr_session *s, const char *name)
{
    return (lr_table){.schema = s->ledger_schema, .name = name};
}

const char *lr_ledger_now(lr_arena *a)
{
    char text[40];
    return lr_dup(a, lr_format_instant(lr_zone_utc(), lr_clock_us(), text));
}

static int run_sql(lr_run *run, const lr_sql *q, lr_err *e)
{
    return lr_exec(run, run->session->warehouse, q, NULL, e);
}

void lr_ledger_sql(const lr_session *s, const char *text, lr_sql *q)
{
    while (*text != 0) {
        size_t n = strcspn(text, "@");
        if (n > 0) lr_sqlf(q, "%s", lr_dupn(q->arena, text, n));
        text += n;
        if (*text != '@') continue;
        n = strspn(++text, "abcdefghijklmnopqrstuvwxyz_0123456789");
        lr_table t = lr_ledger_table(s, lr_dupn(q->arena, text, n));
        lr_sqlf(q, "%T", &t);
        text += n;
    }
}

int lr_ledger_check(lr_session *s, int *exists, lr_err *e)
{
    const lr_place *w = s->warehouse;
    lr_arena a = {0};
    lr_table t = lr_ledger_table(s, "lrun_schema");
    lr_relation rel;
    lr_cursor *k = NULL;
    const lr_value *row;
    int failed = w->dialect->relation(w->driver, w->conn, &a, &t, 0, &rel, e);
    *exists = failed == 0 && rel.exists;
    if (*exists) {
        lr_sql q = lr_sql_new(&a);
        lr_sqlf(&q, "SELECT max(version) FROM %T", &t);
        failed = w->driver->query(w->conn, lr_sql_text(&q, w->dialect), q.params, q.n, &k, e);
        if (failed == 0 && w->driver->next(k, &row, e) < 0) failed = -1;
        if (failed == 0 && row[0].type == LR_INT && row[0].i > LR_LEDGER_VERSION) {
            lr_fail(e, LR_FAILED, "the ledger is of version %" PRId64 ", this lrun knows %d", row[0].i,
                    LR_LEDGER_VERSION);
            failed = lr_hint(e, "use the newer lrun that wrote it");
        }
        w->driver->finish(k);
    }
    lr_arena_free(&a);
    return failed;
}

int lr_ledger_create(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (run->session->ledger_schema != NULL) {
        lr_sql q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "CREATE SCHEMA IF NOT EXISTS %I", run->session->ledger_schema);
        lr_relation any;
        lr_table t = lr_ledger_table(run->session, "lrun_schema");
        /* a role that may not make schemas may use one that is there */
        if (w->dialect->relation(w->driver, w->conn, &run->arena, &t, 0, &any, e) != 0) return -1;
        lr_value there, name = lr_text(run->session->ledger_schema);
        lr_sql find = lr_sql_new(&run->arena);
        lr_sqlf(&find, "SELECT count(*) FROM information_schema.schemata WHERE schema_name = %V", &name);
        if (lr_query_value(run, w, &find, &run->arena, &there, NULL, e) != 0) return -1;
        if (there.i == 0 && run_sql(run, &q, e) != 0) return -1;
    }
    for (int i = 0; w->dialect->ledger[i] != NULL; i++) {
        lr_sql q = lr_sql_new(&run->arena);
        lr_ledger_sql(run->session, w->dialect->ledger[i], &q);
        if (run_sql(run, &q, e) != 0) return -1;
    }
    lr_table t = lr_ledger_table(run->session, "lrun_schema");
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (version) SELECT %d WHERE NOT EXISTS (SELECT 1 FROM %T)", &t, LR_LEDGER_VERSION, &t);
    return run_sql(run, &q, e);
}

/* Tables that 0.1.0 did not have. */
static const char *const later[] = {"lrun_write_columns", NULL};

int lr_ledger_complete(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (run->session->whole_ledger || run->session->old_ledger) return 0;
    for (int i = 0; later[i] != NULL; i++) {
        lr_table t = lr_ledger_table(run->session, later[i]);
        lr_relation rel;
        const char *create = lr_printf(&run->arena, "CREATE TABLE IF NOT EXISTS @%s ", later[i]);
        if (w->dialect->relation(w->driver, w->conn, &run->arena, &t, 0, &rel, e) != 0) return -1;
        for (int j = 0; !rel.exists && w->dialect->ledger[j] != NULL; j++) {
            if (strncmp(w->dialect->ledger[j], create, strlen(create)) != 0) continue;
            lr_sql q = lr_sql_new(&run->arena);
            lr_ledger_sql(run->session, w->dialect->ledger[j], &q);
            if (run_sql(run, &q, e) != 0) return -1;
        }
    }
    return 0;
}

/* We hold the lock, so a run on another host is at most about to ask for it. */
static int left_behind(const char *host, const char *since)
{
    lr_time t;
    return strcmp(host, lr_host_name()) != 0 && lr_time_parse(since, strlen(since), lr_zone_utc(), &t) == 0 &&
           lr_clock_us() - t.us > 600 * LR_US_PER_SECOND;
}

int lr_ledger_sweep(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    lr_value job = lr_text(run->job->name), now = lr_text(lr_ledger_now(&run->arena));
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT run_id, host, pid, started_at FROM %T WHERE job = %V AND status = 'running'", &t, &job);
    lr_cursor *k;
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int64_t stale[64];
    int n = 0, got;
    const lr_value *row;
    while ((got = w->driver->next(k, &row, e)) == 1 && n < 64) {
        const char *host = lr_value_text(&run->arena, &row[1]), *since = lr_value_text(&run->arena, &row[3]);
        if (!lr_process_lives(host, row[2].i, since) || left_behind(host, since)) stale[n++] = row[0].i;
    }
    w->driver->finish(k);
    for (int i = 0; got >= 0 && i < n; i++) {
        lr_value id = lr_int(stale[i]);
        lr_value why = lr_text("the process ended without a word; nothing of it was kept");
        q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "UPDATE %T SET status = 'interrupted', finished_at = %V, error = %V WHERE run_id = %V AND status = 'running'",
                &t, &now, &why, &id);
        if (run_sql(run, &q, e) != 0) return -1;
    }
    return got < 0 ? -1 : 0;
}

static const char *place_shown(lr_run *run, const char *name)
{
    for (int i = 0; i < run->session->n; i++)
        if (strcmp(run->session->places[i].name, name) == 0) return run->session->places[i].shown;
    return NULL;
}

int lr_ledger_insert(lr_run *run, const char *status, lr_err *e)
{
    char text[40];
    const lr_job *job = run->job;
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    const char *started = lr_format_instant(lr_zone_utc(), run->started_at, text);
    lr_value v[] = {lr_text(job->name),
                    lr_text(job->sha256),
                    lr_text(job->params),
                    job->has_logical ? lr_text(job->logical_date) : lr_null(),
                    lr_text(lr_dup(&run->arena, started)),
                    lr_text(status),
                    lr_text(LRUN_VERSION),
                    lr_text(lr_host_name()),
                    lr_int(getpid()),
                    lr_int(run->attempt),
                    lr_text(place_shown(run, "source")),
                    lr_text(place_shown(run, "warehouse")),
                    run->backfill != NULL ? lr_int(run->backfill->id) : lr_null()};
    lr_value start = lr_text(lr_dup(&run->arena, lr_format_offset(job->zone, job->run_start, text)));
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q,
            "INSERT INTO %T (job, job_sha256, params, logical_date, run_start, started_at, status, lrun_version, host, "
            "pid, attempt, source, warehouse, backfill_id) VALUES (%V, %V, %V, %V, %V, %V, %V, %V, %V, %V, %V, %V, %V, %V) "
            "RETURNING run_id",
            &t, &v[0], &v[1], &v[2], &v[3], &start, &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10], &v[11], &v[12]);
    lr_value id;
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &id, NULL, e) != 0) return -1;
    run->run_id = id.i;
    return 0;
}

int lr_ledger_finish(lr_run *run, const char *status, const char *error, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    const lr_counts *c = &run->counts;
    int kept = strcmp(status, "succeeded") == 0;
    lr_value id = lr_int(run->run_id), state = lr_text(status), now = lr_text(lr_ledger_now(&run->arena));
    lr_value why = lr_text(error), attempt = lr_int(run->attempt);
    /* Rows that were rolled back were never written. */
    lr_value n[5] = {lr_int(c->read), lr_int(kept ? c->inserted : 0), lr_int(kept ? c->updated : 0),
                     lr_int(kept ? c->deleted : 0), lr_int(c->skipped)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q,
            "UPDATE %T SET status = %V, finished_at = %V, error = %V, attempt = %V, rows_read = %V, rows_inserted = %V, "
            "rows_updated = %V, rows_deleted = %V, rows_skipped = %V WHERE run_id = %V%s",
            &t, &state, &now, &why, &attempt, &n[0], &n[1], &n[2], &n[3], &n[4], &id,
            kept ? "" : " AND status <> 'succeeded'");
    return run_sql(run, &q, e);
}

int lr_ledger_delete(lr_run *run, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    lr_value id = lr_int(run->run_id);
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "DELETE FROM %T WHERE run_id = %V AND status = 'running'", &t, &id);
    return run_sql(run, &q, e);
}

int lr_ledger_lock_job(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (!w->dialect->row_locks) return 0;
    lr_table t = lr_ledger_table(run->session, "lrun_jobs");
    lr_value v[] = {lr_text(run->job->name), lr_int(run->run_id), lr_text(lr_host_name()), lr_int(getpid()), lr_text(lr_ledger_now(&run->arena))};
    lr_sql q = lr_sql_new(&run->arena);
    int64_t changed = 0;
    lr_sqlf(&q, "UPDATE %T SET run_id = %V, host = %V, pid = %V, since = %V WHERE job = %V", &t, &v[1], &v[2], &v[3], &v[4], &v[0]);
    if (lr_exec(run, w, &q, &changed, e) != 0) return -1;
    if (changed > 0) return 0;
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (job, run_id, host, pid, since) VALUES (%V, %V, %V, %V, %V)", &t, &v[0], &v[1], &v[2], &v[3], &v[4]);
    return run_sql(run, &q, e);
}

/* Another run wrote the target while this one waited, so its snapshot is too
 * old. The next attempt waits before it takes one. */
static int too_late(lr_run *run, const char *target, lr_err *e)
{
    lr_session *s = run->session;
    if (strcmp(e->sqlstate, "40001") != 0 && strcmp(e->sqlstate, "23505") != 0) return lr_ledger_busy(run, target, e);
    e->retry = LR_RETRY_FREE;
    for (int i = 0; i < s->nwaited; i++)
        if (strcmp(s->waited[i], target) == 0) return -1;
    if (s->nwaited == LR_MAX_WAITED) return -1;
    s->waited[s->nwaited++] = lr_dup(&s->arena, target);
    return -1;
}

int lr_ledger_lock_target(lr_run *run, const char *target, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (!w->dialect->row_locks || run->mode != LR_MODE_RUN) return 0;
    lr_table t = lr_ledger_table(run->session, "lrun_targets");
    lr_value name = lr_text(target), id = lr_int(run->run_id);
    lr_sql q = lr_sql_new(&run->arena);
    int64_t changed = 0;
    lr_sqlf(&q, "UPDATE %T SET run_id = %V WHERE target = %V", &t, &id, &name);
    if (lr_exec(run, w, &q, &changed, e) != 0) return too_late(run, target, e);
    if (changed > 0) return 0;
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (target, run_id) VALUES (%V, %V)", &t, &name, &id);
    return run_sql(run, &q, e) == 0 ? 0 : too_late(run, target, e);
}

int lr_ledger_add_write(lr_run *run, const char *target, const char *primitive, const lr_counts *c, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_writes");
    lr_value v[] = {lr_int(run->run_id), lr_text(target), lr_text(primitive),
                    lr_int(c->inserted), lr_int(c->updated), lr_int(c->deleted)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (run_id, target, primitive, rows_inserted, rows_updated, rows_deleted) "
                "VALUES (%V, %V, %V, %V, %V, %V)", &t, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]);
    return run_sql(run, &q, e);
}

int lr_ledger_add_window(lr_run *run, const lr_read *r, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_windows");
    lr_value v[] = {lr_int(run->run_id), lr_text(r->table), lr_text(r->column), lr_text(r->start), lr_text(r->stop)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (run_id, source_table, column_name, window_start, window_stop) "
                "VALUES (%V, %V, %V, %V, %V)", &t, &v[0], &v[1], &v[2], &v[3], &v[4]);
    return run_sql(run, &q, e);
}

int lr_ledger_add_check(lr_run *run, const lr_check *c, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_checks");
    lr_value v[] = {lr_int(run->run_id), lr_text(c->target), lr_text(c->metric), lr_text(c->group), lr_text(c->source),
                    lr_text(c->warehouse), lr_int(c->equal), lr_text(c->start), lr_text(c->stop)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (run_id, target, metric, group_value, source_value, warehouse_value, equal, "
                "window_start, window_stop) VALUES (%V, %V, %V, %V, %V, %V, %V, %V, %V)",
            &t, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8]);
    return run_sql(run, &q, e);
}

int lr_ledger_watermark(lr_run *run, const char *name, const char **value, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_watermarks");
    lr_value job = lr_text(run->job->name), which = lr_text(name);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    *value = NULL;
    if (run->mode != LR_MODE_RUN) {
        int exists;
        if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
        if (!exists) return 0;
    }
    lr_sqlf(&q, "SELECT value, params FROM %T WHERE job = %V AND name = %V", &t, &job, &which);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    const char *params = NULL;
    if (got == 1) {
        *value = lr_value_text(&run->arena, &row[0]);
        params = lr_value_text(&run->arena, &row[1]);
    }
    w->driver->finish(k);
    if (got < 0) return -1;
    if (params == NULL || strcmp(params, run->job->params) == 0) return 0;
    lr_fail(e, LR_FAILED, "watermark \"%s\" of job %s was saved with params %s, this run has %s", name,
            run->job->name, params, run->job->params);
    return lr_hint(e, "put the parameter into the name, job { name = \"%s_\" .. param \"...\" }", run->job->name);
}

int lr_ledger_other_job(lr_run *run, const char *name, const char **job, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_watermarks");
    lr_value own = lr_text(run->job->name), which = lr_text(name), other;
    lr_sql q = lr_sql_new(&run->arena);
    int exists, found;
    *job = NULL;
    if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    if (!exists) return 0;
    lr_sqlf(&q, "SELECT job FROM %T WHERE name = %V AND job <> %V ORDER BY job LIMIT 1", &t, &which, &own);
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &other, &found, e) != 0) return -1;
    if (found) *job = lr_value_text(&run->arena, &other);
    return 0;
}

int lr_ledger_save_watermark(lr_run *run, const char *name, const char *value, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_watermarks");
    lr_value v[] = {lr_text(run->job->name), lr_text(name), lr_text(value), lr_text(run->job->params),
                    lr_int(run->run_id), lr_text(lr_ledger_now(&run->arena))};
    int64_t changed = 0;
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "UPDATE %T SET value = %V, params = %V, run_id = %V, saved_at = %V WHERE job = %V AND name = %V",
            &t, &v[2], &v[3], &v[4], &v[5], &v[0], &v[1]);
    if (lr_exec(run, run->session->warehouse, &q, &changed, e) != 0) return -1;
    if (changed > 0) return 0;
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "INSERT INTO %T (job, name, value, params, run_id, saved_at) VALUES (%V, %V, %V, %V, %V, %V)",
            &t, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]);
    return run_sql(run, &q, e);
}
