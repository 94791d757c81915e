/* query and execute: the job's own SQL, inside the run's transaction. */
#include "primitive/extract.h"
#include "run/alone.h"
#include <string.h>
#include <strings.h>

static const lr_option query_options[] = {
    {"connection", LR_ARG_STRING, 0, "warehouse", "the connection's name: its tables and catalog are meant"},
    {"params", LR_ARG_MAP, 0, NULL, "values for :name"},
};

static int call_query(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);
static int call_execute(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_query = {
    .name = "query",
    .summary = "rows of a SELECT",
    .first_name = "the SQL",
    .first_accepts = LR_ARG_STRING,
    .options = query_options,
    .noptions = sizeof query_options / sizeof query_options[0],
    .returns = "a list of rows, each a table by column name; a NULL is null",
    .refuses = "a statement that writes; more than one statement",
    .example = "query { \"SELECT count(*) AS n FROM dw_orders WHERE order_date = :day\", params = { day = logical_date } }",
    .call = call_query,
};

const lr_primitive lr_primitive_execute = {
    .name = "execute",
    .summary = "one SQL statement at the warehouse, in the run's transaction",
    .first_name = "the SQL",
    .first_accepts = LR_ARG_STRING,
    .options = query_options,
    .noptions = sizeof query_options / sizeof query_options[0],
    .writes = 1,
    .returns = "the number of rows that it wrote",
    .refuses = "transaction control, ATTACH, DETACH, VACUUM, PRAGMAs that write; the ledger's tables; a source",
    .example = "execute { \"UPDATE dw_orders SET note = :n WHERE order_id = 105\", params = { n = \"paid\" } }",
    .call = call_execute,
};

static const lr_value *lookup(void *arg, const char *name)
{
    return lr_params_find(arg, name);
}

static int prepare(lr_run *run, const lr_args *args, const lr_place *place, lr_sql *q, const lr_inspection **seen, lr_err *e)
{
    *q = lr_sql_new(args->scratch);
    if (lr_params_used(&args->named[1], args->first.value.s.p, e) != 0) return -1;
    if (lr_sql_user(q, args->first.value.s.p, place->schema, lookup, (void *)&args->named[1], e) != 0) return -1;
    if (strlen(args->first.value.s.p) != args->first.value.s.n) return lr_fail(e, LR_FAILED, "the SQL holds a NUL byte");
    if (place->driver->inspect(place->conn, lr_sql_text(q, place->dialect), seen, e) != 0) return -1;
    if ((*seen)->forbidden != NULL && !((*seen)->control && run->job->manual)) {
        lr_fail(e, LR_FAILED, "%s is refused here: a run is one transaction", (*seen)->forbidden);
        return lr_hint(e, "the run commits at its end, and an error rolls it back");
    }
    if ((*seen)->several) {
        lr_fail(e, LR_FAILED, "the text holds more than one statement");
        return lr_hint(e, "call it once for each statement");
    }
    return 0;
}

static int look(lr_run *run, const lr_args *args, const lr_place *place, lr_sql *q, int *collides, lr_err *e)
{
    const lr_inspection *seen;
    if (prepare(run, args, place, q, &seen, e) != 0) return -1;
    if (!seen->readonly) {
        lr_fail(e, LR_FAILED, "query takes a SELECT, this statement writes (connection \"%s\")", place->name);
        return lr_hint(e, "%s", place == run->session->warehouse ? "use execute" : "a source is never written");
    }
    if (seen->ncolumns == 0) return lr_fail(e, LR_FAILED, "the statement gives no rows");
    return run->job->reaches ? 0 : lr_inspect_names(run, place, seen, collides, e);
}

static int call_query(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    lr_place *named;
    lr_sql q;
    int collides = 0, failed = 0;
    if (lr_session_place(run->session, lr_arg_text(&args->named[0], "warehouse"), &named, e) != 0) return -1;
    const lr_place *place = named;
    int alone = place->schema != NULL && lr_sql_reads_catalog(args->first.value.s.p);
    if (!alone) {
        failed = look(run, args, place, &q, &collides, e);
        /* what failed may be right for the source's own tables */
        alone = place->schema != NULL && (collides > 0 || (failed != 0 && collides == 0));
    }
    if (alone) {
        lr_err_clear(e);
        failed = lr_alone(run, named, &place, e);
        if (failed == 0) failed = look(run, args, place, &q, &collides, e);
    }
    if (failed != 0) return -1;
    out->kind = LR_RESULT_CURSOR;
    out->place = place;
    return lr_query(run, place, &q, &out->cursor, e);
}

/* CREATE TRIGGER with a ledger table in its body. */
static int names_ledger(const char *sql)
{
    int trigger = 0, ledger = 0;
    for (const char *p = sql; *p != 0; p++) {
        trigger |= strncasecmp(p, "trigger", 7) == 0;
        ledger |= strncasecmp(p, "lrun_", 5) == 0;
    }
    return trigger && ledger;
}

static int writes_source(const lr_run *run, const lr_inspection *seen, lr_err *e)
{
    for (int i = 0; i < seen->ntouches; i++)
        for (int j = 0; j < run->session->n; j++) {
            const lr_place *p = &run->session->places[j];
            if (!seen->touches[i].write || p->schema == NULL || strcasecmp(p->schema, seen->touches[i].schema) != 0) continue;
            lr_fail(e, LR_FAILED, "the statement writes %s of the connection \"%s\": a source is never written", seen->touches[i].table, p->name);
            return lr_hint(e, "write a table of the warehouse");
        }
    return 0;
}

static int call_execute(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    lr_place *place;
    lr_sql q;
    const lr_inspection *seen;
    if (lr_session_place(run->session, lr_arg_text(&args->named[0], "warehouse"), &place, e) != 0) return -1;
    if (place != run->session->warehouse) {
        lr_fail(e, LR_FAILED, "execute on the connection \"%s\" is refused: a source is never written", place->name);
        return lr_hint(e, "execute runs at the warehouse; read with query { ..., connection = \"%s\" }", place->name);
    }
    if (prepare(run, args, place, &q, &seen, e) != 0) return -1;
    for (int i = 0; i < seen->ntouches; i++)
        if (seen->touches[i].write && strncasecmp(seen->touches[i].table, "lrun_", 5) == 0) {
            lr_fail(e, LR_FAILED, "the ledger's table %s is written by lrun only", seen->touches[i].table);
            return lr_hint(e, "see lrun help watermark for changing a watermark");
        }
    /* what a trigger would write later is not seen by looking at the statement */
    if (!seen->readonly && names_ledger(q.text)) {
        lr_fail(e, LR_FAILED, "the statement names a table of the ledger (lrun_*), which lrun only writes");
        return lr_hint(e, "read it with query");
    }
    if (run->job->reaches && writes_source(run, seen, e) != 0) return -1;
    if (!run->job->reaches && lr_inspect_names(run, place, seen, NULL, e) != 0) return -1;
    out->kind = LR_RESULT_INT;
    out->unknown = run->mode == LR_MODE_PLAN || run->mode == LR_MODE_RECONCILE;
    if (lr_write(run, &q, &out->number, e) != 0) return -1;
    return 0;
}
