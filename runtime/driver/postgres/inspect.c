/* What a statement would do, asked from the server without running it. */
#include "driver/postgres/internal.h"
#include "driver/postgres/words.h"
#include <string.h>

int lr_pg_inspect(lr_conn *c, const char *sql, const lr_inspection **out, lr_err *e)
{
    lr_pg_told told;
    lr_arena_free(&c->inspected);
    memset(&c->inspection, 0, sizeof c->inspection);
    lr_inspection *seen = &c->inspection;
    lr_pg_words(sql, &told);
    if (told.empty) return lr_fail(e, LR_FAILED, "the statement is empty");
    seen->control = told.control;
    seen->forbidden = told.forbidden;
    *out = seen;
    if (seen->forbidden != NULL) return 0;
    int entered;
    if (lr_pg_enter(c, &entered, e) != 0) return -1;
    PGresult *r = lr_pg_describe(c, sql, e);
    int failed = r != NULL ? 0 : -1;
    seen->parameters = failed == 0 ? PQnparams(r) : 0;
    seen->ncolumns = failed == 0 ? PQnfields(r) : 0;
    lr_column *columns = lr_alloc(&c->inspected, (size_t)(seen->ncolumns + 1) * sizeof *columns);
    for (int i = 0; failed == 0 && i < seen->ncolumns; i++) {
        columns[i].name = lr_dup(&c->inspected, PQfname(r, i));
        const char *name = lr_pg_type_name(c, PQftype(r, i), PQfmod(r, i), e);
        if (name == NULL) failed = -1;
        else lr_pg_type(name, PQftype(r, i), PQfmod(r, i), &columns[i].type);
    }
    PQclear(r);
    lr_pg_leave(c, entered);
    seen->columns = columns;
    seen->readonly = told.readonly;
    if (told.ledger[0] != 0) {
        lr_touch *touch = lr_alloc(&c->inspected, sizeof *touch);
        *touch = (lr_touch){.schema = "", .table = lr_dup(&c->inspected, told.ledger), .write = 1};
        seen->touches = touch;
        seen->ntouches = 1;
    }
    return failed;
}
