/* lateness: how long after its own time a row comes, and the lookback for it. */
#include "primitive/look.h"
#include <math.h>
#include <string.h>

static const lr_option options[] = {
    {"from", LR_ARG_STRING, 1, NULL, "the table"},
    {"by", LR_ARG_STRING, 1, NULL, "the time column that the window is on"},
    {"arrived", LR_ARG_STRING, 1, NULL, "the column with the time at which the row came"},
    {"window", LR_ARG_WINDOW, 0, NULL, "only rows of these times"},
    {"time", LR_ARG_STRING, 0, "iso", "form of the time columns: " LR_TIME_FORMS},
    {"connection", LR_ARG_STRING, 0, "source", "the connection's name"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_lateness = {
    .name = "lateness",
    .summary = "how late rows come: the delay that half, 95 and 99 of 100, and all of them stay within, and the lookback that would "
               "have caught them",
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .returns = "a list of { share, days, lookback, rows, missed }: share is p50, p95, p99 or max; rows are caught by that lookback, "
               "missed are not",
    .refuses = "a table or column that is not there; a time that cannot be read",
    .example = "lateness { from = \"orders\", by = \"updated_at\", arrived = \"loaded_at\" }",
    .call = call,
};

#define SHARES 4
static const int percent[SHARES] = {50, 95, 99, 100};

typedef struct delays {
    int64_t rows, total, us[SHARES], missed[SHARES];
} delays;

/* Whole hours up to a day, then whole days: what lookback = takes. */
static int64_t lookback(int64_t us, const char **unit)
{
    int64_t one = us > LR_US_PER_DAY ? LR_US_PER_DAY : LR_US_PER_HOUR;
    *unit = us > LR_US_PER_DAY ? "days" : "hours";
    return us <= 0 ? 0 : (us + one - 1) / one;
}

static int64_t span_us(int64_t us)
{
    const char *unit;
    int64_t n = lookback(us, &unit);
    return n * (unit[0] == 'd' ? LR_US_PER_DAY : LR_US_PER_HOUR);
}

static int delay_rows(lr_run *run, const lr_look *l, const char *by, const char *arrived, lr_window *w, lr_sql *q, lr_err *e)
{
    const lr_dialect *d = l->place->dialect;
    lr_arena *a = &run->arena;
    const char *names[2] = {by, arrived};
    lr_sql instants[2];
    for (int i = 0; i < 2; i++) {
        const lr_type *type;
        lr_sql column = lr_sql_column(a, NULL, names[i]);
        if (lr_look_time(run, l, names[i], &type, e) != 0) return -1;
        instants[i] = lr_sql_new(a);
        d->instant(&instants[i], &column, l->mode, run->job->zone, type);
    }
    lr_sqlf(q, "SELECT ");
    d->elapsed(q, &instants[0], &instants[1]);
    lr_sqlf(q, " AS \"delay\"");
    return lr_look_from(run, l, by, w, q, e);
}

static int measure(lr_run *run, const lr_look *l, const lr_sql *rows, delays *out, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_cursor *k;
    const lr_value *v;
    int got;
    memset(out, 0, sizeof *out);
    lr_sqlf(&q, "SELECT count(*), count(\"delay\") FROM (%Q) AS \"rows\"", rows);
    if (lr_query(run, l->place, &q, &k, e) != 0) return -1;
    got = l->place->driver->next(k, &v, e);
    if (got == 1) {
        out->total = v[0].i;
        out->rows = v[1].i;
    }
    l->place->driver->finish(k);
    if (got < 0) return -1;
    if (out->rows == 0) return 0;
    /* the nearest rank: a delay that some row has */
    int64_t rank[SHARES];
    lr_buf ranks = {0};
    for (int i = 0; i < SHARES; i++) {
        rank[i] = (out->rows * percent[i] + 99) / 100;
        lr_buf_printf(&ranks, "%s%lld", i > 0 ? ", " : "", (long long)rank[i]);
    }
    q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT \"rank\", \"delay\" FROM (SELECT \"delay\", row_number() OVER (ORDER BY \"delay\") AS \"rank\" FROM (%Q) AS \"rows\" "
                "WHERE \"delay\" IS NOT NULL) AS \"ranked\" WHERE \"rank\" IN (%s)", rows, ranks.data);
    lr_buf_free(&ranks);
    if (lr_query(run, l->place, &q, &k, e) != 0) return -1;
    while ((got = l->place->driver->next(k, &v, e)) == 1)
        for (int i = 0; i < SHARES; i++)
            if (rank[i] == v[0].i) out->us[i] = v[1].i;
    l->place->driver->finish(k);
    if (got < 0) return -1;
    q = lr_sql_new(&run->arena);
    for (int i = 0; i < SHARES; i++) {
        lr_value span = lr_int(span_us(out->us[i]));
        lr_sqlf(&q, i == 0 ? "SELECT count(CASE WHEN \"delay\" > %V THEN 1 END)" : ", count(CASE WHEN \"delay\" > %V THEN 1 END)", &span);
    }
    lr_sqlf(&q, " FROM (%Q) AS \"rows\"", rows);
    if (lr_query(run, l->place, &q, &k, e) != 0) return -1;
    got = l->place->driver->next(k, &v, e);
    for (int i = 0; got == 1 && i < SHARES; i++) out->missed[i] = v[i].i;
    l->place->driver->finish(k);
    return got < 0 ? -1 : 0;
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    static const char *const columns[] = {"share", "days", "lookback", "rows", "missed"}, *const shares[SHARES] = {"p50", "p95", "p99", "max"};
    const lr_primitive *me = &lr_primitive_lateness;
    const char *by = lr_arg_text(lr_arg_of(me, args, "by"), ""), *arrived = lr_arg_text(lr_arg_of(me, args, "arrived"), "");
    lr_look l;
    lr_sql rows = lr_sql_new(&run->arena);
    delays d;
    if (lr_look_open(run, lr_arg_text(lr_arg_of(me, args, "connection"), "source"), lr_arg_text(lr_arg_of(me, args, "from"), ""),
                     lr_arg_text(lr_arg_of(me, args, "time"), "iso"), &l, e) != 0 ||
        delay_rows(run, &l, by, arrived, (lr_window *)lr_arg_of(me, args, "window")->p, &rows, e) != 0 || measure(run, &l, &rows, &d, e) != 0)
        return -1;
    if (d.total > d.rows)
        lr_note(run, "%s: %lld of %lld rows have no %s or no %s and are left out", l.name, (long long)(d.total - d.rows), (long long)d.total, by, arrived);
    lr_value *cells = lr_alloc(&run->arena, SHARES * 5 * sizeof *cells);
    for (int i = 0; i < SHARES; i++) {
        const char *unit;
        int64_t n = lookback(d.us[i], &unit);
        lr_value *c = &cells[i * 5];
        c[0] = lr_text(shares[i]);
        c[1] = lr_real(round((double)d.us[i] / (double)LR_US_PER_DAY * 1000) / 1000);
        c[2] = lr_text(lr_printf(&run->arena, "%s(%lld)", unit, (long long)n));
        c[3] = lr_int(d.rows - d.missed[i]);
        c[4] = lr_int(d.missed[i]);
    }
    out->kind = LR_RESULT_TABLE;
    out->columns = columns;
    out->ncolumns = 5;
    out->cells = cells;
    out->nrows = d.rows > 0 ? SHARES : 0;
    return 0;
}
