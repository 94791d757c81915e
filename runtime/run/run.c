/* One run: lock, snapshot, transaction, ledger, commit. */
#include "run/alone.h"
#include "run/backfill.h"
#include "run/ledger.h"
#include "run/stop.h"
#include "run/window.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int writes(const lr_run *run)
{
    return run->mode == LR_MODE_RUN || run->mode == LR_MODE_PROMPT;
}

/* Say who holds the lock, where the ledger tells. */
static int busy(lr_run *run, lr_err *e)
{
    if (e->status != LR_BUSY) return -1;
    run->session->warehouse->driver->rollback(run->session->warehouse->conn);
    lr_ledger_busy(run, NULL, e);
    return lr_step(e, "job %s", run->job->name);
}

/* Begin, with the job's lock. A lock that had to be waited for leaves a
 * snapshot from before the other's commit: begin again with a fresh one. */
static int begin_locked(lr_run *run, int targets, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    for (int tries = 0;; tries++) {
        if (w->driver->begin(w->conn, 1, e) != 0) return -1;
        if (!w->dialect->row_locks) return 0;
        int exists, failed = lr_ledger_check(run->session, &exists, e);
        if (failed == 0 && exists) failed = lr_ledger_lock_job(run, e);
        for (int i = 0; failed == 0 && exists && targets && i < run->session->nwaited; i++)
            failed = lr_ledger_lock_target(run, run->session->waited[i], e);
        if (failed == 0) return 0;
        w->driver->rollback(w->conn);
        int again = strcmp(e->sqlstate, "40001") == 0 || strcmp(e->sqlstate, "23505") == 0;
        if (!again || tries == 100) return -1;
        lr_err_clear(e);
    }
}

/* A server that restarts is back in a moment: connect anew until it is, or the
 * time for locks has passed. A file does not come back. */
static int reconnect(lr_run *run, lr_err *e)
{
    int64_t patience = run->session->warehouse->dialect->row_locks ? (int64_t)run->session->lock_timeout_ms * 1000 : 0;
    int64_t until = lr_ticks_us() + patience;
    for (unsigned pause = 50000;; pause = pause < 1000000 ? pause * 2 : pause) {
        lr_err_clear(e);
        if (lr_session_reopen(run->session, run->session->warehouse, e) == 0) return 0;
        if (lr_stop_poll(NULL) || lr_ticks_us() + pause > until) return -1;
        usleep(pause);
    }
}

static int small_once(lr_run *run, lr_small work, void *arg, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    int exists;
    if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    if (begin_locked(run, 0, e) != 0) return busy(run, e);
    int failed = exists ? lr_ledger_complete(run, e) : lr_ledger_create(run, e);
    /* a role without CREATE works on with the tables of 0.1.0 */
    if (failed != 0 && exists && strcmp(e->sqlstate, "42501") == 0) {
        w->driver->rollback(w->conn);
        run->session->old_ledger = 1;
        lr_err_clear(e);
        return small_once(run, work, arg, e);
    }
    if (failed != 0) lr_step(e, "making the ledger (tables lrun_*)");
    if (failed == 0 && !exists) failed = lr_ledger_lock_job(run, e);
    if (failed == 0) failed = work(run, arg, e);
    if (failed == 0) failed = w->driver->commit(w->conn, e);
    if (failed != 0) w->driver->rollback(w->conn);
    else run->session->whole_ledger = !run->session->old_ledger;
    return failed;
}

/* Two first runs make the ledger at the same time: who is later may meet the
 * other's table, its row type or their rows. */
static int lost_race(const char *state)
{
    return strncmp(state, "42P0", 4) == 0 || strcmp(state, "42710") == 0 || strcmp(state, "23505") == 0 ||
           strcmp(state, "40001") == 0 || strcmp(state, "40P01") == 0;
}

int lr_run_small(lr_run *run, lr_small work, void *arg, lr_err *e)
{
    for (int tries = 0; tries < 10; tries++) {
        lr_err_clear(e);
        if (small_once(run, work, arg, e) == 0) return 0;
        /* It may have been committed, and it can be done again: nothing of the
         * rows hangs on it. */
        if (e->status == LR_UNKNOWN) {
            lr_err again = {0};
            if (tries < 2 && lr_session_reopen(run->session, run->session->warehouse, &again) == 0) continue;
            e->status = LR_UNREACHABLE;
            return -1;
        }
        if (!lost_race(e->sqlstate)) return -1;
    }
    return -1;
}

/* A run that dies leaves a trace. */
static int announce(lr_run *run, void *arg, lr_err *e)
{
    (void)arg;
    int failed = run->run_id != 0 ? lr_ledger_delete(run, e) : 0; /* of a COMMIT whose answer was lost */
    if (failed == 0) failed = lr_ledger_sweep(run, e);
    if (failed == 0) failed = lr_ledger_insert(run, "running", e);
    if (failed != 0) lr_step(e, "the ledger (tables lrun_*)");
    return failed;
}

static void note_row_security(lr_run *run)
{
    lr_session *s = run->session;
    lr_buf names = {0};
    for (int i = 0; i < s->n && !s->told_parts; i++)
        if (s->places[i].row_security) lr_buf_printf(&names, "%s%s", names.len > 0 ? ", " : "", s->places[i].name);
    if (names.len > 0)
        lr_note(run, "row level security may hide rows at %s (row_security = true): only what the role sees is read and compared; a role with "
                     "BYPASSRLS sees all", names.data);
    s->told_parts = 1;
    lr_buf_free(&names);
}

/* A source in rollback mode makes its writers wait while it is read. */
static void say_once(lr_run *run)
{
    lr_session *s = run->session;
    if (s->fresh && writes(run)) {
        lr_note(run, "new warehouse: %s did not exist and is made now", s->warehouse->shown);
        s->fresh = 0;
    }
    note_row_security(run);
    if (s->blocks_source) return;
    s->blocks_source = 1;
    for (int i = 0; i < s->n; i++) {
        const lr_place *p = &s->places[i];
        if (p->driver->blocks == NULL || p->conn == NULL || p->same || p == s->warehouse || !writes(run)) continue;
        if (p->driver->blocks(p->conn, p->schema))
            lr_note(run, "%s \"%s\" is not in WAL mode: programs that write it wait while it is read", p->shown, p->name);
    }
}

static int begin(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    int failed = run->mode == LR_MODE_RUN ? begin_locked(run, 1, e) : w->driver->begin(w->conn, writes(run), e);
    return failed != 0 ? busy(run, e) : 0;
}

int lr_run_open(lr_run *run, lr_err *e)
{
    if (run->open) return 0;
    const lr_place *w = run->session->warehouse;
    if (run->job->manual) {
        run->open = 1;
        if (w->driver->clock != NULL) w->driver->clock(w->conn, run->job->run_start);
        return 0;
    }
    if (lr_alone_begin(run, begin, e) != 0) return -1;
    run->open = 1;
    if (w->driver->clock != NULL) w->driver->clock(w->conn, run->job->run_start);
    for (int i = 0; i < run->session->n; i++) {
        const lr_place *p = &run->session->places[i];
        if (p->own && p != w && p->driver->begin(p->conn, 0, e) != 0) return lr_step(e, "connection \"%s\"", p->name);
    }
    return 0;
}

static void close_transaction(lr_run *run)
{
    for (int i = 0; i < run->session->n && run->open; i++) {
        const lr_place *p = &run->session->places[i];
        if (p->own && p->conn != NULL) p->driver->rollback(p->conn);
    }
    if (run->open) lr_alone_end(run);
    const lr_place *w = run->session->warehouse;
    if (run->open && w->driver->clock != NULL) w->driver->clock(w->conn, 0);
    run->open = 0;
}

int lr_run_begin(lr_run *run, lr_err *e)
{
    run->started_at = lr_clock_us();
    if (run->attempt == 0) run->attempt = 1;
    say_once(run);
    if (run->job->manual) return lr_run_open(run, e);
    /* a backfill's own row marks the intent of all its dates */
    if (run->mode == LR_MODE_RUN && run->attempt == 1 && run->backfill == NULL && lr_run_small(run, announce, NULL, e) != 0)
        return -1;
    if (run->mode != LR_MODE_RUN) {
        int exists;
        if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    }
    /* The prompt opens its transaction with the first write: it must not keep
     * the nightly run waiting while somebody thinks. */
    if (run->mode == LR_MODE_PROMPT) return 0;
    if (lr_run_open(run, e) != 0) return -1;
    if (run->mode != LR_MODE_RUN || run->backfill == NULL) return 0;
    if (lr_backfill_own(run, run->backfill, e) != 0) return -1;
    return lr_ledger_insert(run, "running", e);
}

/* COMMIT was sent and its answer is lost. With the job's lock the old
 * transaction has ended, and the own row tells how. */
static int settle(lr_run *run, lr_err *e)
{
    lr_place *w = run->session->warehouse;
    lr_err again = {0};
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    lr_value id = lr_int(run->run_id), status;
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT status FROM %T WHERE run_id = %V", &t, &id);
    int failed = reconnect(run, &again);
    if (failed == 0) failed = begin_locked(run, 0, &again);
    if (failed == 0) failed = lr_query_value(run, w, &q, &run->arena, &status, NULL, &again);
    if (failed != 0) {
        lr_err_clear(e);
        lr_fail(e, LR_UNKNOWN, "the connection was lost at COMMIT, and how it ended could not be learned: %s", again.message);
        return lr_hint(e, "look into lrun_runs for run %lld: succeeded means that it was committed", (long long)run->run_id);
    }
    w->driver->rollback(w->conn);
    const char *text = lr_value_text(&run->arena, &status);
    lr_err_clear(e);
    if (text != NULL && strcmp(text, "succeeded") == 0) {
        lr_note(run, "the connection was lost at COMMIT; connected again, and the run is committed");
        return 0;
    }
    lr_fail(e, LR_FAILED, "the connection was lost at COMMIT, and the run was not committed");
    return lr_hint(e, "run again: nothing was kept");
}

static int drop_stages(lr_run *run, lr_err *e)
{
    for (; run->stages != NULL; run->stages = run->stages->next) {
        lr_sql q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "DROP TABLE %T", &run->stages->table);
        if (lr_exec(run, run->session->warehouse, &q, NULL, e) != 0) return lr_step(e, "dropping a staging table");
    }
    return 0;
}

int lr_run_commit(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (run->doomed) {
        *e = run->first;
        return -1;
    }
    if (run->must_compare && run->checks == 0) {
        lr_fail(e, LR_FAILED, "the job compares nothing: it calls no reconcile");
        return lr_hint(e, "add reconcile { rows, with = \"...\", sum = \"...\" }%s",
                       run->mode == LR_MODE_RUN ? ", or pass --no-reconcile" : "");
    }
    if (!writes(run)) {
        close_transaction(run);
        return 0;
    }
    if (run->mode == LR_MODE_PROMPT && !run->open) return 0;
    if (run->job->manual) {
        close_transaction(run);
        return 0;
    }
    if (drop_stages(run, e) != 0) return -1;
    if (run->mode == LR_MODE_RUN && lr_windows_save(run, e) != 0) return -1;
    if (run->mode == LR_MODE_RUN && lr_ledger_finish(run, "succeeded", NULL, e) != 0) return -1;
    if (lr_stop_poll(NULL)) return lr_stop_reason(NULL, e);
    if (run->trace) lr_report(run, &(lr_event){.name = "committing"});
    if (run->doomed) {
        *e = run->first;
        return -1;
    }
    lr_stop_committing(1);
    int failed = w->driver->commit(w->conn, e);
    int unknown = failed != 0 && e->status == LR_UNKNOWN && run->mode == LR_MODE_RUN;
    if (unknown) failed = settle(run, e);
    lr_stop_committing(0);
    if (failed != 0) return unknown ? -1 : busy(run, e);
    close_transaction(run);
    if (run->trace) lr_report(run, &(lr_event){.name = "committed"});
    return 0;
}

/* The ledger's last word on a run that kept nothing; its own failure is not
 * worth more than the reason that it came to record. */
static int record(lr_run *run, const char *status, const char *why, int drop)
{
    const lr_place *w = run->session->warehouse;
    lr_err e = {0};
    if (run->run_id == 0 && drop) return 0;
    if (w->driver->begin(w->conn, 1, &e) != 0) {
        lr_err again = {0};
        if (e.status == LR_BUSY || reconnect(run, &again) != 0) return -1;
        if (w->driver->begin(w->conn, 1, &again) != 0) return -1;
        lr_err_clear(&e);
    }
    int failed = 0;
    if (drop) failed = lr_ledger_delete(run, &e);
    else if (run->backfill != NULL) failed = lr_ledger_insert(run, status, &e);
    if (failed == 0 && !drop && run->run_id != 0) failed = lr_ledger_finish(run, status, why, &e);
    for (const lr_check *c = run->checked; failed == 0 && !drop && c != NULL; c = c->before)
        failed = lr_ledger_add_check(run, c, &e);
    for (const lr_read *r = run->reads; failed == 0 && !drop && r != NULL; r = r->before)
        failed = lr_ledger_add_window(run, r, &e);
    if (failed == 0) failed = w->driver->commit(w->conn, &e);
    if (failed != 0) w->driver->rollback(w->conn);
    return failed;
}

void lr_run_abandon(lr_run *run, const lr_err *why)
{
    close_transaction(run);
    /* of an outcome that is not known the ledger's own row is the only witness */
    if (run->mode != LR_MODE_RUN || run->run_id == 0 || why->status == LR_UNKNOWN) return;
    char text[2048];
    lr_err_format(why, text, sizeof text);
    lr_plain_text(text);
    const char *status = why->status == LR_DIFFERS ? "differs"
                         : why->status == LR_SIGINT || why->status == LR_SIGTERM ? "interrupted" : "failed";
    /* A stop that was asked for must not stop the ledger's last word. */
    lr_stop_hold(1);
    record(run, status, text, why->status == LR_BUSY);
    lr_stop_hold(0);
}

void lr_run_forget(lr_run *run)
{
    run->doomed = 0;
    run->written = NULL;
    run->windows = NULL;
    run->stages = NULL;
    run->strategies = NULL;
    memset(&run->counts, 0, sizeof run->counts);
    memset(&run->first, 0, sizeof run->first);
}

int lr_run_unstage(lr_run *run, lr_err *e)
{
    const lr_place *w = run->session != NULL ? run->session->warehouse : NULL;
    for (int64_t i = 1; w != NULL && w->dialect->keeps_stages && i <= run->staged; i++) {
        lr_sql q = lr_sql_new(&run->arena);
        lr_sqlf(&q, "DROP TABLE IF EXISTS temp.%I", lr_printf(&run->arena, LR_STAGE_NAME, (long long)i));
        if (lr_exec(run, w, &q, NULL, e) != 0) return -1;
    }
    run->staged = 0;
    return 0;
}

void lr_run_free(lr_run *run)
{
    if (run->session != NULL) close_transaction(run);
    lr_arena_free(&run->arena);
    memset(run, 0, sizeof *run);
}
