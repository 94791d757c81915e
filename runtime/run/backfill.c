/* The ledger's rows of backfills. */
#include "run/backfill.h"
#include "run/ledger.h"
#include "run/process.h"
#include "run/stop.h"
#include <inttypes.h>
#include <string.h>
#include <unistd.h>

static const char columns[] = "backfill_id, job_sha256, first_date, last_date, status, started_at, owner_host, owner_pid, owner_started";

static void read_row(lr_run *run, const lr_value *row, lr_backfill *b)
{
    const char *text[9];
    for (int i = 0; i < 9; i++) text[i] = lr_value_text(&run->arena, &row[i]);
    *b = (lr_backfill){.id = row[0].i, .sha256 = text[1], .first = text[2], .last = text[3], .status = text[4],
                       .started_at = text[5], .host = text[6], .pid = row[7].type == LR_INT ? row[7].i : 0, .owner_started = text[8]};
    if (strcmp(b->status, "running") != 0 || b->host == NULL) return;
    b->elsewhere = strcmp(b->host, lr_host_name()) != 0;
    b->alive = lr_process_lives(b->host, b->pid, b->owner_started);
}

static int first_row(lr_run *run, const lr_sql *q, lr_backfill *out, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_cursor *k;
    const lr_value *row;
    memset(out, 0, sizeof *out);
    if (lr_query(run, w, q, &k, e) != 0) return -1;
    int got = w->driver->next(k, &row, e);
    if (got == 1) read_row(run, row, out);
    w->driver->finish(k);
    return got < 0 ? -1 : 0;
}

/* The row without asking whether there is a ledger. */
static int find(lr_run *run, const char *first, const char *last, lr_backfill *out, lr_err *e)
{
    const lr_job *job = run->job;
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value v[] = {lr_text(job->name), lr_text(job->params), lr_text(lr_grain_name(job->grain)), lr_text(lr_zone_name(job->zone)),
                    lr_text(first), lr_text(last)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT %s FROM %T WHERE job = %V AND params = %V AND grain = %V AND zone = %V AND first_date = %V "
                "AND last_date = %V ORDER BY backfill_id DESC LIMIT 1",
            columns, &t, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5]);
    return first_row(run, &q, out, e);
}

int lr_backfill_find(lr_run *run, const char *first, const char *last, lr_backfill *out, lr_err *e)
{
    int exists;
    memset(out, 0, sizeof *out);
    if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    return exists ? find(run, first, last, out, e) : 0;
}

/* Any backfill of this job, over whatever range, whose owner may be at work. */
static int refuse_two(lr_run *run, const lr_claim *claim, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value job = lr_text(run->job->name);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    lr_backfill b;
    int got, held = 0;
    lr_sqlf(&q, "SELECT %s FROM %T WHERE job = %V AND status = 'running' ORDER BY backfill_id", columns, &t, &job);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    while (!held && (got = w->driver->next(k, &row, e)) == 1) {
        read_row(run, row, &b);
        held = b.alive && !(b.elsewhere && claim->take_over);
    }
    w->driver->finish(k);
    if (!held) return got < 0 ? -1 : 0;
    lr_fail(e, LR_BUSY, "backfill %" PRId64 " of %s, %s .. %s, is at work since %s (pid %" PRId64 " on %s)", b.id, run->job->name,
            b.first, b.last, b.owner_started, b.pid, b.host);
    return b.elsewhere ? lr_hint(e, "wait for it; where that process is gone, pass --take-over")
                       : lr_hint(e, "wait for it, or stop that process: the same command goes on where it stopped");
}

/* Those whose owner is gone, or is taken over from, are over. */
static int end_others(lr_run *run, int64_t keep, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value v[] = {lr_text(run->job->name), lr_int(keep), lr_text(lr_ledger_now(&run->arena))};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "UPDATE %T SET status = 'interrupted', finished_at = %V WHERE job = %V AND status = 'running' AND backfill_id <> %V",
            &t, &v[2], &v[0], &v[1]);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

static int refuse_change(lr_run *run, const lr_backfill *b, lr_err *e)
{
    lr_fail(e, LR_FAILED, "%s has changed since backfill %" PRId64 " stopped: its finished dates were made by the old file",
            run->job->path, b->id);
    return lr_hint(e, "pass --accept-change to go on with the new file, or --again to run all dates with it");
}

static int insert(lr_run *run, const lr_claim *c, const lr_backfill *me, int64_t *id, lr_err *e)
{
    const lr_job *job = run->job;
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value v[] = {lr_text(job->name), lr_text(job->sha256), lr_text(job->params), lr_text(lr_grain_name(job->grain)),
                    lr_text(lr_zone_name(job->zone)), lr_text(c->first), lr_text(c->last), lr_text(me->owner_started),
                    lr_text(me->host), lr_int(me->pid), lr_text(me->owner_started)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_value out;
    lr_sqlf(&q,
            "INSERT INTO %T (job, job_sha256, params, grain, zone, first_date, last_date, status, started_at, owner_host, "
            "owner_pid, owner_started) VALUES (%V, %V, %V, %V, %V, %V, %V, 'running', %V, %V, %V, %V) RETURNING backfill_id",
            &t, &v[0], &v[1], &v[2], &v[3], &v[4], &v[5], &v[6], &v[7], &v[8], &v[9], &v[10]);
    if (lr_query_value(run, run->session->warehouse, &q, &run->arena, &out, NULL, e) != 0) return -1;
    *id = out.i;
    return 0;
}

static int resume(lr_run *run, const lr_backfill *b, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value v[] = {lr_int(b->id), lr_text(run->job->sha256), lr_text(b->host), lr_int(b->pid), lr_text(b->owner_started)};
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "UPDATE %T SET status = 'running', finished_at = NULL, job_sha256 = %V, owner_host = %V, owner_pid = %V, "
                "owner_started = %V WHERE backfill_id = %V", &t, &v[1], &v[2], &v[3], &v[4], &v[0]);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

typedef struct claiming {
    const lr_claim *claim;
    lr_backfill *out;
} claiming;

static int claim_it(lr_run *run, void *arg, lr_err *e)
{
    claiming *x = arg;
    const lr_claim *c = x->claim;
    lr_backfill me = {.host = lr_host_name(), .pid = getpid(), .owner_started = lr_ledger_now(&run->arena)};
    if (refuse_two(run, c, e) != 0 || find(run, c->first, c->last, x->out, e) != 0) return -1;
    lr_backfill old = *x->out;
    int fresh = old.id == 0 || c->again;
    if (!fresh && strcmp(old.status, "succeeded") == 0) return 0;
    if (!fresh && !c->accept_change && strcmp(old.sha256, run->job->sha256) != 0) return refuse_change(run, &old, e);
    if (lr_ledger_sweep(run, e) != 0) return -1;
    *x->out = fresh ? me : old;
    x->out->status = "running";
    x->out->first = c->first;
    x->out->last = c->last;
    x->out->sha256 = run->job->sha256;
    x->out->started_at = fresh ? me.owner_started : old.started_at;
    x->out->host = me.host;
    x->out->pid = me.pid;
    x->out->owner_started = me.owner_started;
    if ((fresh ? insert(run, c, &me, &x->out->id, e) : resume(run, x->out, e)) != 0) return -1;
    return end_others(run, x->out->id, e);
}

int lr_backfill_claim(lr_run *run, const lr_claim *claim, lr_backfill *out, lr_err *e)
{
    claiming x = {claim, out};
    /* A finished one is known without a transaction, so that nothing is written. */
    if (lr_backfill_find(run, claim->first, claim->last, out, e) != 0) return -1;
    if (out->id != 0 && strcmp(out->status, "succeeded") == 0 && !claim->again) return 0;
    return lr_run_small(run, claim_it, &x, e);
}

int lr_backfill_own(lr_run *run, const lr_backfill *b, lr_err *e)
{
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value id = lr_int(b->id);
    lr_sql q = lr_sql_new(&run->arena);
    lr_backfill now;
    lr_sqlf(&q, "SELECT %s FROM %T WHERE backfill_id = %V", columns, &t, &id);
    if (first_row(run, &q, &now, e) != 0) return -1;
    if (now.id != 0 && strcmp(now.status, "running") == 0 && now.pid == b->pid && strcmp(now.host, b->host) == 0 &&
        strcmp(now.owner_started, b->owner_started) == 0)
        return 0;
    if (now.id == 0) lr_fail(e, LR_BUSY, "backfill %" PRId64 " is no longer in the ledger", b->id);
    else if (strcmp(now.status, "running") != 0) lr_fail(e, LR_BUSY, "backfill %" PRId64 " was ended by another process: %s", b->id, now.status);
    else lr_fail(e, LR_BUSY, "backfill %" PRId64 " was taken over by pid %" PRId64 " on %s at %s", b->id, now.pid, now.host, now.owner_started);
    return lr_hint(e, "see lrun status; this date was rolled back");
}

typedef struct ending {
    const lr_backfill *b;
    const char *status;
} ending;

static int finish_it(lr_run *run, void *arg, lr_err *e)
{
    const ending *x = arg;
    lr_table t = lr_ledger_table(run->session, "lrun_backfills");
    lr_value v[] = {lr_int(x->b->id), lr_text(x->status), lr_text(lr_ledger_now(&run->arena)), lr_text(x->b->host),
                    lr_int(x->b->pid), lr_text(x->b->owner_started)};
    lr_sql q = lr_sql_new(&run->arena);
    /* only while it is ours */
    lr_sqlf(&q, "UPDATE %T SET status = %V, finished_at = %V WHERE backfill_id = %V AND status = 'running' AND owner_host = %V "
                "AND owner_pid = %V AND owner_started = %V", &t, &v[1], &v[2], &v[0], &v[3], &v[4], &v[5]);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

int lr_backfill_finish(lr_run *run, const lr_backfill *b, const char *status, lr_err *e)
{
    ending x = {b, status};
    /* A stop that was asked for must not stop the ledger's last word. */
    lr_stop_hold(1);
    int failed = lr_run_small(run, finish_it, &x, e);
    lr_err again = {0};
    if (failed != 0 && e->status != LR_BUSY && lr_session_reopen(run->session, run->session->warehouse, &again) == 0) {
        lr_err_clear(e);
        failed = lr_run_small(run, finish_it, &x, e);
    }
    lr_stop_hold(0);
    return failed;
}

int lr_backfill_done(lr_run *run, const lr_backfill *b, lr_finished **out, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_table t = lr_ledger_table(run->session, "lrun_runs");
    lr_value id = lr_int(b->id);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    int got;
    *out = NULL;
    lr_sqlf(&q, "SELECT logical_date, run_id FROM %T WHERE backfill_id = %V AND status = 'succeeded'", &t, &id);
    if (lr_query(run, w, &q, &k, e) != 0) return -1;
    while ((got = w->driver->next(k, &row, e)) == 1) {
        lr_finished *f = lr_alloc(&run->arena, sizeof *f);
        f->date = lr_value_text(&run->arena, &row[0]);
        f->run_id = row[1].i;
        f->next = *out;
        *out = f;
    }
    w->driver->finish(k);
    return got < 0 ? -1 : 0;
}
