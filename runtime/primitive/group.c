/* group: rows summed by columns, at the warehouse. */
#include "primitive/rowset.h"
#include <string.h>

static const lr_option options[] = {
    {"by", LR_ARG_STRING | LR_ARG_LIST | LR_ARG_MAP, 1, NULL, "columns, or { name = \"SQL\" }; keep the time column for overwrite_partition"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_group = {
    .name = "group",
    .summary = "one row for each value of by, with aggregates: name = \"SUM(amount)\"",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .free_names = 1,
    .returns = "rows: the by columns, then the aggregates in sorted order of their names. SUM of integers and decimals is exact, SUM of doubles is "
               "the double nearest to the exact total, AVG at SQLite is a double",
    .refuses = "a name that is used twice; SQL that the warehouse does not understand",
    .example = "group { placed, by = { \"order_date\", \"country\" }, revenue = \"SUM(amount)\" }",
    .call = call,
};

static int add(lr_run *run, lr_rowset *rs, const char *name, const char *text, lr_sql *groups, lr_err *e)
{
    if (lr_rowset_has(run, rs, name)) return lr_fail(e, LR_FAILED, "group: the name \"%s\" is used twice", name);
    const lr_rowset *in = rs->input;
    const lr_dialect *d = run->session->warehouse->dialect;
    const char *as = NULL;
    if (lr_sql_piece(text, 0, name, e) != 0) return -1;
    lr_field *f = &rs->fields[rs->n];
    f->name = lr_dup(&run->arena, name);
    f->type = lr_type_none();
    f->said = LR_SAID_VALUE;
    if (groups == NULL && d->aggregate != NULL) {
        f->type = d->aggregate(&run->arena, text, in->fields, in->n, &as);
        if (as != NULL) text = as;
    }
    for (int i = 0; groups != NULL && i < in->n; i++)
        if (lr_name_equal(d, in->fields[i].name, text)) {
            f->type = in->fields[i].type;
            f->said = LR_SAID_NAME;
            rs->origins[rs->n] = in->fields[i].name;
            if (in->time_name != NULL && lr_name_equal(d, text, in->time_name)) {
                rs->time_name = f->name;
                rs->time_made = in->time_made;
            }
        }
    if (groups != NULL && rs->time_name == NULL && in->time_name != NULL &&
        lr_name_equal(d, name, in->time_name)) {
        rs->time_name = f->name;
        rs->time_made = 1;
    }
    lr_sqlf(&rs->select, rs->n == 0 ? "SELECT " : ", ");
    lr_rowset_expr(run, in, "rows", text, &rs->select);
    lr_sqlf(&rs->select, " AS %I", name);
    rs->n++;
    if (groups == NULL) return 0;
    lr_sqlf(groups, groups->len == 0 ? " GROUP BY " : ", ");
    lr_rowset_expr(run, in, "rows", text, groups);
    return 0;
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    const lr_arg *by = &args->named[0];
    const lr_arg *extra = args->extra;
    lr_rowset *rs = lr_alloc(&run->arena, sizeof *rs);
    int nby = by->type == LR_ARG_STRING ? 1 : by->n, nextra = extra != NULL ? extra->n : 0;
    rs->kind = LR_ROWS_GROUP;
    rs->where = lr_dup(&run->arena, args->where);
    rs->input = (lr_rowset *)args->first.p;
    rs->title = rs->input->title;
    rs->window = rs->input->window;
    rs->fields = lr_alloc(&run->arena, (size_t)(nby + nextra + 1) * sizeof *rs->fields);
    rs->origins = lr_alloc(&run->arena, (size_t)(nby + nextra + 1) * sizeof *rs->origins);

    rs->select = lr_sql_new(&run->arena);
    rs->from = lr_sql_new(&run->arena);
    lr_sql groups = lr_sql_new(&run->arena);
    for (int i = 0; i < nby; i++) {
        const lr_arg *item = by->type == LR_ARG_STRING ? by : &by->items[i];
        const char *name = by->type == LR_ARG_MAP ? by->names[i] : NULL;
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "group: by holds something that is no string");
        const char *text = item->value.s.p;
        if (name == NULL && lr_rowset_field(run, rs->input, text, e) < 0) return -1;
        if (add(run, rs, name != NULL ? name : text, text, &groups, e) != 0) return -1;
    }
    for (int i = 0; i < nextra; i++) {
        if (extra->items[i].type != LR_ARG_STRING) {
            lr_fail(e, LR_FAILED, "group: %s must be SQL in a string", extra->names[i]);
            return lr_hint(e, "for example: %s", lr_primitive_group.example);
        }
        if (add(run, rs, extra->names[i], extra->items[i].value.s.p, NULL, e) != 0) return -1;
    }
    if (rs->n == 0) return lr_fail(e, LR_FAILED, "group: by is empty");
    lr_sqlf(&rs->select, " FROM (");
    lr_sqlf(&rs->from, ") AS \"rows\"%Q", &groups);
    out->kind = LR_RESULT_ROWS;
    out->rows = rs;
    return 0;
}
