/* Rows that are a part of their table: a key that is missing among them may well
 * live on outside the part, so a write that takes it for gone needs the part's
 * bounds at the target. */
#include "primitive/target.h"
#include <string.h>

/* Of a windowed extract the window is the part, and the target's rows are cut by
 * it too; the rest is not. */
static const char *part_of(lr_run *run, const lr_rowset *rs)
{
    for (; rs != NULL; rs = rs->input) {
        if (rs->kind == LR_ROWS_MAP && rs->filters) return "filter leaves rows out";
        if (rs->kind == LR_ROWS_MAP && rs->dropped > 0)
            return lr_printf(&run->arena, "map gave nil for %lld row%s", (long long)rs->dropped, rs->dropped == 1 ? "" : "s");
        if (rs->kind == LR_ROWS_JOIN && rs->drop_unmatched) return "scd2_join has unmatched = \"drop\"";
        if (rs->kind != LR_ROWS_EXTRACT) continue;
        if (rs->narrowed) return "the extract has a where";
        if (rs->is_sql) return "the extract is SQL of the job";
        if (rs->window == NULL && rs->place->row_security) return lr_printf(&run->arena, "row_security is true for \"%s\"", rs->place->name);
    }
    return NULL;
}

int lr_refuse_part(lr_run *run, const lr_target *t, const lr_arg *partition, const char *loss, lr_err *e)
{
    const char *why = part_of(run, t->source);
    if (why == NULL || partition->type != LR_ARG_NONE) return 0;
    if (t->source->window != NULL) {
        lr_note(run, "%s: %s, and %s, in the window; partition = { region = \"EU\" } spares the others, partition = {} confirms it", t->name, why, loss);
        return 0;
    }
    lr_fail(e, LR_FAILED, "the rows may be a part of %s: %s, and %s", t->source->title, why, loss);
    return lr_hint(e, "pass partition = { region = \"EU\" } with the columns of %s that cut the part, or partition = {} if these rows "
                      "are all that %s holds", t->name, t->name);
}
