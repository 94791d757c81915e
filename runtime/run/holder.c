/* Who holds a lock that was waited for in vain. */
#include "run/backfill.h"
#include "run/ledger.h"
#include "run/process.h"
#include <stdio.h>
#include <string.h>

/* A row of the ledger that goes on and whose process lives: of the job itself for
 * the job's lock, of another one for a target's. columns: number, job, since,
 * host, pid and others, into text. */
static int find(lr_run *run, const lr_place *w, const char *table, const char *columns, const char *id, int64_t mine,
                const char *target, const char *text[7])
{
    lr_table t = lr_ledger_table(run->session, table);
    lr_sql q = lr_sql_new(&run->arena);
    lr_err e = {0};
    lr_cursor *k = NULL;
    const lr_value *row;
    lr_value own = lr_int(mine), job = lr_text(run->job->name);
    int found = 0, n = 0;
    lr_sqlf(&q, "SELECT %s FROM %T WHERE status = 'running' AND %s <> %V", columns, &t, id, &own);
    if (w->dialect->row_locks) lr_sqlf(&q, target == NULL ? " AND job = %V" : " AND job <> %V", &job);
    lr_sqlf(&q, " ORDER BY %s DESC", id);
    if (lr_query(run, w, &q, &k, &e) == 0) {
        w->driver->columns(k, &n);
        while (!found && w->driver->next(k, &row, &e) == 1) {
            for (int i = 0; i < n; i++) text[i] = lr_value_text(&run->arena, &row[i]);
            found = row[4].type == LR_INT && lr_process_lives(text[3], row[4].i, text[2]);
        }
    }
    w->driver->finish(k);
    return found;
}

static int find_run(lr_run *run, const lr_place *w, const char *target, char *out, size_t size)
{
    const char *text[7];
    if (!find(run, w, "lrun_runs", "run_id, job, started_at, host, pid", "run_id", run->run_id, target, text)) return 0;
    snprintf(out, size, "run %s of %s holds it since %s (pid %s on %s)", text[0], text[1], text[2], text[4], text[3]);
    return 1;
}

/* A date of a backfill has no row of its own before it is committed; the
 * backfill has one. */
static int find_backfill(lr_run *run, const lr_place *w, const char *target, char *out, size_t size)
{
    const char *text[7];
    int64_t mine = run->backfill != NULL ? run->backfill->id : 0;
    if (!find(run, w, "lrun_backfills", "backfill_id, job, owner_started, owner_host, owner_pid, first_date, last_date", "backfill_id",
              mine, target, text))
        return 0;
    snprintf(out, size, "backfill %s of %s, %s .. %s, is at work since %s (pid %s on %s)", text[0], text[1], text[5], text[6], text[2],
             text[4], text[3]);
    return 1;
}

/* The server's process that holds it, also where the client is long gone. */
static void find_backend(lr_run *run, const lr_place *w, const char *target, int known, char *out, size_t size)
{
    lr_table t = lr_ledger_table(run->session, target == NULL ? "lrun_jobs" : "lrun_targets");
    lr_value name = lr_text(target == NULL ? run->job->name : target);
    lr_sql q = lr_sql_new(&run->arena);
    lr_err e = {0};
    lr_cursor *k = NULL;
    const lr_value *row;
    if (w->dialect->row_holder == NULL) return;
    w->dialect->row_holder(&q, &t, target == NULL ? "job" : "target", &name);
    if (lr_query(run, w, &q, &k, &e) == 0 && w->driver->next(k, &row, &e) == 1) {
        const char *pid = lr_value_text(&run->arena, &row[0]), *seconds = lr_value_text(&run->arena, &row[1]);
        const char *program = lr_value_text(&run->arena, &row[2]);
        size_t n = strlen(out);
        snprintf(out + n, size - n, known ? "; backend %s of the server, in its transaction for %s s%s%s"
                                          : "backend %s of the server holds it, in its transaction for %s s (%s%s)",
                 pid, seconds != NULL ? seconds : "?", known ? "" : "program ", known ? "" : program != NULL ? program : "unknown");
    }
    w->driver->finish(k);
}

int lr_ledger_busy(lr_run *run, const char *target, lr_err *e)
{
    if (e->status != LR_BUSY) return -1;
    char who[700] = "";
    lr_place w = *run->session->warehouse;
    lr_err ignored = {0};
    lr_conn *second = NULL;
    /* the run's own transaction has failed, and must stay so until it is rolled back */
    if (w.dialect->row_locks && target != NULL && lr_session_second(run->session, &w, &second, &ignored) != 0) return -1;
    if (second != NULL) w.conn = second;
    int known = find_run(run, &w, target, who, sizeof who) || find_backfill(run, &w, target, who, sizeof who);
    find_backend(run, &w, target, known, who, sizeof who);
    w.driver->close(second);
    if (who[0] == 0) return -1;
    if (target == NULL) snprintf(e->message, sizeof e->message, "the warehouse is locked: %s", who);
    else snprintf(e->message, sizeof e->message, "%s is locked by another run: %s", target, who);
    return -1;
}
