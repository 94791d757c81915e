/* scd2_merge without a time of the change: the logical date dates what the source
 * holds now, so it must be now. */
#include "primitive/scd2_work.h"
#include "run/ledger.h"
#include <string.h>

static const char *date_text(const lr_scd2_work *w, int64_t start)
{
    char text[40];
    const lr_job *job = w->run->job;
    return lr_dup(&w->run->arena, lr_grain_format(job->zone, job->grain, start, text));
}

static int ways_out(lr_scd2_work *w, lr_err *e)
{
    return lr_hint(e, "take the time of the change from the rows: %s; rebuild the table with swap; or pass backdate = true if the source "
                      "holds the state of %s",
                   w->at == NULL ? "at = \"updated_at\"" : "run without --logical-date, or leave absent = \"close\" out", w->run->job->logical_date);
}

/* Is the logical date the current grain, or the last one that is complete? */
static int check_clock(lr_scd2_work *w, lr_err *e)
{
    const lr_job *job = w->run->job;
    int64_t now = lr_grain_floor(job->zone, job->grain, job->clock);
    char clock[40];
    if (job->logical_start == now || job->logical_stop == now) return 0;
    lr_fail(e, LR_FAILED, "the source is read at %s, and %s %s", lr_format_short(job->zone, job->clock, clock),
            w->at == NULL ? "its values would be written as those of" : "keys that it lacks would be closed at", job->logical_date);
    return ways_out(w, e);
}

/* A logical date of the ledger. Weeks, months and years have their first day. */
static int parse_date(const lr_job *job, const char *text, int64_t *start)
{
    lr_err ignored = {0};
    if (lr_grain_date(job->zone, LR_DAY, text, start, &ignored) == 0) return 0;
    lr_err_clear(&ignored);
    return lr_grain_date(job->zone, LR_HOUR, text, start, &ignored);
}

/* The latest logical date that wrote the dimension, of any job and any version of
 * lrun: in the ledger since its first. */
static int latest_run(lr_scd2_work *w, const char *into, const char *name, int64_t *latest, int *any, lr_err *e)
{
    lr_run *run = w->run;
    const lr_place *house = run->session->warehouse;
    lr_table writes = lr_ledger_table(run->session, "lrun_writes"), runs = lr_ledger_table(run->session, "lrun_runs");
    lr_value as_found = lr_text(name), as_given = lr_text(into);
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *row;
    int got;
    lr_sqlf(&q, "SELECT DISTINCT \"r\".\"logical_date\" FROM %T AS \"w\" JOIN %T AS \"r\" ON \"r\".\"run_id\" = \"w\".\"run_id\" "
                "WHERE (\"w\".\"target\" = %V OR \"w\".\"target\" = %V) AND \"w\".\"primitive\" = 'scd2_merge' AND \"r\".\"status\" = 'succeeded' "
                "AND \"r\".\"logical_date\" IS NOT NULL ORDER BY 1 DESC LIMIT 50", &writes, &runs, &as_found, &as_given);
    if (lr_query(run, house, &q, &k, e) != 0) return -1;
    while ((got = house->driver->next(k, &row, e)) == 1) {
        int64_t at;
        const char *text = lr_value_text(&run->arena, &row[0]);
        if (parse_date(run->job, text, &at) != 0 || (*any && at <= *latest)) continue;
        *any = 1;
        *latest = at;
    }
    house->driver->finish(k);
    return got;
}

int lr_scd2_past(lr_scd2_work *w, const char *into, lr_err *e)
{
    lr_run *run = w->run;
    lr_relation rel;
    int64_t latest = 0;
    int exists, any = 0, rows = 0;
    if (w->backdate || !run->job->has_logical || (w->at != NULL && !w->close)) return 0;
    if (check_clock(w, e) != 0) return -1;
    if (lr_ledger_check(run->session, &exists, e) != 0) return -1;
    if (lr_place_relation(run->session->warehouse, &run->arena, into, 0, &rel, e) != 0) return -1;
    if (!exists || !rel.exists) return 0;
    /* a dimension that was emptied begins anew */
    lr_sql all = lr_sql_new(&run->arena);
    lr_sqlf(&all, "SELECT 1 FROM %T", &rel.table);
    if (lr_any_row(run, run->session->warehouse, &all, &rows, e) != 0) return -1;
    if (!rows) return 0;
    if (latest_run(w, into, rel.table.name, &latest, &any, e) != 0) return -1;
    if (!any || latest <= run->job->logical_start) return 0;
    lr_fail(e, LR_FAILED, "%s was run for %s already, and %s is before it", rel.table.name, date_text(w, latest), run->job->logical_date);
    return ways_out(w, e);
}
