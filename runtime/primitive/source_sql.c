/* SQL of the job for a database that is attached beside the warehouse. Names are
 * looked up in the warehouse first, and so is the catalog: where that matters, the
 * SQL is read through a connection that has the database alone. */
#include "primitive/extract.h"
#include "run/alone.h"
#include <string.h>

int lr_sql_reads_catalog(const char *text)
{
    return strcasestr(text, "sqlite_") != NULL || strcasestr(text, "pragma") != NULL || strcasestr(text, "dbstat") != NULL;
}

static int is_attached(const lr_rowset *rs)
{
    return rs->user_sql && rs->place->schema != NULL;
}

int lr_extract_alone(lr_run *run, lr_rowset *rs, lr_err *e)
{
    const lr_place *alone;
    if (lr_alone(run, rs->place, &alone, e) != 0) return -1;
    if (alone == rs->place) return 0;
    rs->place = alone;
    rs->select = rs->alone_select;
    rs->from = rs->alone_from;
    rs->collides = 0;
    if (rs->relation.exists) rs->relation.table.schema = "main";
    return 0;
}

int lr_extract_settle(lr_run *run, lr_rowset *rs, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (!is_attached(rs) || rs->staged != NULL) return 0;
    for (int i = 0; i < rs->nreads; i++) {
        lr_table ours = {NULL, rs->reads[i].name};
        lr_relation rel;
        if (rs->reads[i].schema == NULL || !lr_name_equal(w->dialect, rs->reads[i].schema, rs->place->schema)) continue;
        if (w->dialect->relation(w->driver, w->conn, &run->arena, &ours, 0, &rel, e) != 0) return -1;
        if (rel.exists) return lr_extract_alone(run, rs, e);
    }
    return 0;
}

static int inspect(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_sql all = lr_sql_new(&run->arena);
    lr_sqlf(&all, "%Q", &rs->select);
    if (!rs->is_sql) lr_sqlf(&all, "%Q", &rs->from);
    return lr_inspect_rows(run, rs, &all, e);
}

int lr_inspect_extract(lr_run *run, lr_rowset *rs, lr_err *e)
{
    if (!is_attached(rs)) return inspect(run, rs, e);
    if (!lr_sql_reads_catalog(rs->select.text) && (rs->is_sql || !lr_sql_reads_catalog(rs->from.text))) {
        int failed = inspect(run, rs, e);
        if (rs->collides < 0 || (failed == 0 && !rs->collides)) return failed;
    }
    /* what failed may be right for the source's own tables */
    lr_err_clear(e);
    if (rs->is_sql) rs->n = 0;
    return lr_extract_alone(run, rs, e) != 0 ? -1 : inspect(run, rs, e);
}
