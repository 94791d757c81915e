/* What every row set can do, and how a tree becomes one SELECT. */
#include "primitive/rowset.h"
#include <string.h>

int lr_rowset_has(const lr_run *run, const lr_rowset *rs, const char *name)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    for (int i = 0; i < rs->n; i++)
        if (lr_name_equal(d, rs->fields[i].name, name)) return 1;
    return 0;
}

int lr_rowset_field(const lr_run *run, const lr_rowset *rs, const char *name, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    for (int i = 0; i < rs->n; i++)
        if (lr_name_equal(d, rs->fields[i].name, name)) return i;
    lr_buf known = {0};
    for (int i = 0; i < rs->n; i++) lr_buf_printf(&known, "%s%s", i > 0 ? ", " : "", rs->fields[i].name);
    lr_fail(e, LR_FAILED, "the rows of %s have no column \"%s\"", rs->title, name);
    lr_hint(e, "they have: %s", known.data != NULL ? known.data : "none");
    lr_buf_free(&known);
    return -1;
}

lr_type lr_keep_type(lr_arena *a, const lr_type *t)
{
    lr_type out = *t;
    out.native = lr_dup(a, t->native);
    out.collation = lr_dup(a, t->collation);
    return out;
}

lr_type lr_rowset_type(lr_run *run, const lr_rowset *rs, int field)
{
    const lr_place *w = run->session->warehouse;
    const lr_type *own = &rs->fields[field].type;
    if (rs->staged != NULL) return rs->staged_types[field];
    if (rs->kind == LR_ROWS_MAP || (rs->kind == LR_ROWS_EXTRACT && (rs->place->conn != w->conn)))
        return lr_stage_type(run, rs, field);
    for (int i = 0; rs->kind != LR_ROWS_EXTRACT && rs->origins != NULL && rs->origins[field] != NULL && i < rs->input->n; i++)
        if (strcmp(rs->input->fields[i].name, rs->origins[field]) == 0) return lr_rowset_type(run, rs->input, i);
    /* what SQLite computes has lived under no column yet */
    if (rs->kind == LR_ROWS_GROUP && own->dynamic) {
        lr_type computed = lr_type_none();
        computed.dynamic = 1;
        computed.engine = own->engine;
        return computed;
    }
    return *own;
}

void lr_rowset_like(lr_rowset *rs, const lr_relation *target, lr_arena *a)
{
    lr_relation *like = target != NULL ? lr_alloc(a, sizeof *like) : NULL;
    if (like != NULL) *like = *target;
    rs->like = like;
    for (; rs->input != NULL && (rs->kind == LR_ROWS_JOIN || rs->carries); rs = rs->input) rs->input->like = like;
}

lr_rowset *lr_rowset_extract(lr_rowset *rs)
{
    while (rs->input != NULL) rs = rs->input;
    return rs;
}

void lr_rowset_expr(const lr_run *run, const lr_rowset *rs, const char *qualifier, const char *text, lr_sql *q)
{
    if (!lr_rowset_has(run, rs, text)) {
        lr_sqlf(q, "(%s\n)", text);
        return;
    }
    lr_sql column = lr_sql_column(q->arena, qualifier, text);
    lr_sqlf(q, "%Q", &column);
}

/* Expressions have types that only the warehouse knows. */
static int learn_types(lr_run *run, lr_rowset *rs, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const lr_rowset *x = lr_rowset_extract(rs);
    const lr_inspection *seen;
    int through_lua = 0;
    for (const lr_rowset *in = rs; in != NULL; in = in->input) through_lua |= in->kind == LR_ROWS_MAP;
    if (rs->prepared || (run->mode == LR_MODE_PLAN && (through_lua || x->place->conn != w->conn))) return 0;
    lr_sql q = lr_sql_new(&run->arena);
    if (lr_rowset_sql(run, rs, &q, e) != 0) return -1;
    if (w->driver->inspect(w->conn, lr_sql_text(&q, w->dialect), &seen, e) != 0) return lr_step(e, "group");
    for (int i = 0; i < rs->n && i < seen->ncolumns; i++)
        if (rs->fields[i].type.native[0] == 0) rs->fields[i].type = lr_keep_type(&run->arena, &seen->columns[i].type);

    rs->prepared = 1;
    return 0;
}

int lr_rowset_prepare(lr_run *run, lr_rowset *rs, lr_err *e)
{
    if (rs->input != NULL && lr_rowset_prepare(run, rs->input, e) != 0) return -1;
    if (rs->kind == LR_ROWS_EXTRACT) return lr_extract_prepare(run, rs, e);
    if (rs->kind == LR_ROWS_GROUP) return learn_types(run, rs, e);
    if (rs->kind == LR_ROWS_JOIN) return lr_join_prepare(run, rs, e);
    if (rs->kind == LR_ROWS_MAP && run->mode != LR_MODE_PLAN) return lr_rowset_stage(run, rs, e);
    return 0;
}

static void select_staged(const lr_rowset *rs, lr_sql *q)
{
    lr_sqlf(q, "SELECT ");
    for (int i = 0; i < rs->n; i++) lr_sqlf(q, i == 0 ? "%I" : ", %I", rs->fields[i].name);
    if (rs->staged != NULL) lr_sqlf(q, " FROM %T", rs->staged);
    else lr_sqlf(q, " FROM %I", "rows of the function");
}

int lr_rowset_sql(lr_run *run, lr_rowset *rs, lr_sql *q, lr_err *e)
{
    if (rs->staged != NULL) {
        select_staged(rs, q);
        return 0;
    }
    switch (rs->kind) {
    case LR_ROWS_EXTRACT:
        if (lr_extract_settle(run, rs, e) != 0) return -1;
        if (rs->place->conn == run->session->warehouse->conn) return lr_extract_sql(run, rs, q, e);
        if (run->mode != LR_MODE_PLAN && lr_rowset_stage(run, rs, e) != 0) return -1;
        select_staged(rs, q);
        return 0;
    case LR_ROWS_MAP:
        if (run->mode != LR_MODE_PLAN && lr_rowset_stage(run, rs, e) != 0) return -1;
        select_staged(rs, q);
        return 0;
    case LR_ROWS_JOIN:
    case LR_ROWS_GROUP: {
        /* select is "SELECT ... FROM (" and from is ") ..." around the input */
        lr_sql inner = lr_sql_new(&run->arena);
        if (lr_rowset_sql(run, rs->input, &inner, e) != 0) return -1;
        lr_sqlf(q, "%Q%Q%Q", &rs->select, &inner, &rs->from);
        return 0;
    }
    }
    return 0;
}

/* The same rows with fewer columns. */
static lr_rowset *narrowed(lr_run *run, const lr_rowset *rs, const int *at, int n)
{
    lr_rowset *few = lr_alloc(&run->arena, sizeof *few);
    *few = *rs;
    few->fields = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *few->fields);
    few->origins = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *few->origins);
    few->select = lr_sql_new(&run->arena);
    few->n = n;
    for (int i = 0; i < n; i++) {
        const lr_field *f = &rs->fields[at[i]];
        const char *origin = rs->is_sql ? f->name : rs->origins[at[i]];
        few->fields[i] = *f;
        few->origins[i] = rs->origins != NULL ? rs->origins[at[i]] : NULL;
        lr_sqlf(&few->select, i == 0 ? "SELECT " : ", ");
        if (origin == NULL) lr_sqlf(&few->select, "(%s\n) AS %I", rs->texts[at[i]], f->name);
        else if (strcmp(origin, f->name) == 0) lr_sqlf(&few->select, "%I", origin);
        else lr_sqlf(&few->select, "%I AS %I", origin, f->name);
    }
    if (rs->is_sql) lr_sqlf(&few->select, " FROM (%Q\n) AS \"rows\"", &rs->select);
    return few;
}

int lr_rowset_only(lr_run *run, lr_rowset *rs, const char **columns, int n, lr_sql *q, const lr_rowset **from, lr_err *e)
{
    int *at = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *at);
    for (int i = 0; i < n; i++) {
        at[i] = lr_rowset_field(run, rs, columns[i], e);
        if (at[i] < 0) return -1;
    }
    *from = rs;
    if (rs->kind == LR_ROWS_EXTRACT && lr_extract_settle(run, rs, e) != 0) return -1;
    if (rs->kind == LR_ROWS_EXTRACT && rs->staged == NULL) {
        lr_rowset *few = narrowed(run, rs, at, n);
        *from = few;
        return lr_rowset_sql(run, few, q, e);
    }
    lr_sql inner = lr_sql_new(&run->arena);
    if (lr_rowset_sql(run, rs, &inner, e) != 0) return -1;
    for (int i = 0; i < n; i++) lr_sqlf(q, i == 0 ? "SELECT %I" : ", %I", rs->fields[at[i]].name);
    lr_sqlf(q, " FROM (%Q) AS \"rows\"", &inner);
    return 0;
}

int lr_rowset_home(lr_run *run, lr_rowset *rs, const lr_place **place, lr_sql *q, lr_err *e)
{
    if (rs->kind == LR_ROWS_EXTRACT && lr_extract_settle(run, rs, e) != 0) return -1;
    if (rs->kind == LR_ROWS_EXTRACT && rs->staged == NULL) {
        *place = rs->place;
        return lr_extract_sql(run, rs, q, e);
    }
    *place = run->session->warehouse;
    return lr_rowset_sql(run, rs, q, e);
}

int lr_rowset_origin(lr_run *run, lr_rowset *rs, const lr_place **place, lr_sql *q, lr_err *e)
{
    int apart = rs->kind == LR_ROWS_EXTRACT && rs->place->conn != run->session->warehouse->conn;
    if (!apart) return lr_rowset_home(run, rs, place, q, e);
    *place = rs->place;
    return lr_extract_sql(run, rs, q, e);
}

int lr_rowset_count(lr_run *run, lr_rowset *rs, int64_t *out, lr_err *e)
{
    lr_sql inner = lr_sql_new(&run->arena), q = lr_sql_new(&run->arena);
    const lr_place *place;
    lr_value n;
    if (lr_rowset_home(run, rs, &place, &inner, e) != 0) return -1;
    lr_sqlf(&q, "SELECT count(*) FROM (%Q) AS \"rows\"", &inner);
    if (lr_query_value(run, place, &q, &run->arena, &n, NULL, e) != 0) return -1;
    *out = n.i;
    return 0;
}

int lr_rowset_open(lr_run *run, lr_rowset *rs, const lr_driver **driver, lr_cursor **out, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    const lr_place *place;
    if (lr_rowset_home(run, rs, &place, &q, e) != 0) return -1;
    *driver = place->driver;
    return lr_scan(run, place, &q, 0, out, e);
}

int lr_rowset_map(lr_run *run, lr_rowset *input, const char *where, const lr_field *declared, int n,
                  lr_map_fn fn, void *arg, lr_rowset **out, lr_err *e)
{
    lr_rowset *rs = lr_alloc(&run->arena, sizeof *rs);
    rs->kind = LR_ROWS_MAP;
    rs->where = where;
    rs->title = input->title;
    rs->input = input;
    rs->fields = lr_alloc(&run->arena, (size_t)(input->n + n + 1) * sizeof *rs->fields);
    for (int i = 0; i < input->n; i++) {
        rs->fields[i] = input->fields[i];
        rs->fields[i].not_null = 0;
    }
    rs->n = input->n;
    for (int i = 0; i < n; i++) {
        int at = -1;
        for (int j = 0; j < rs->n && at < 0; j++)
            if (strcmp(rs->fields[j].name, declared[i].name) == 0) at = j;
        if (at < 0) at = rs->n++;
        rs->fields[at] = declared[i];
        rs->fields[at].said = LR_SAID_VALUE;
    }
    if (rs->n == 0) return lr_fail(e, LR_FAILED, "the rows have no columns");
    rs->window = input->window;
    rs->time_name = input->time_name;
    rs->time_made = input->time_made;
    rs->map = fn;
    rs->map_arg = arg;
    *out = rs;
    return 0;
}
