/* extract: rows of a source, described. Its checks and its SQL. */
#include "primitive/extract.h"
#include <stdio.h>
#include <string.h>

static const lr_option options[] = {
    {"from", LR_ARG_STRING, 0, NULL, "table or view, \"orders\" or \"schema.orders\"; or pass sql"},
    {"sql", LR_ARG_STRING, 0, NULL, "a SELECT of the source's own tables and catalog; :start and :stop are bound to the window, :name to params"},
    {"columns", LR_ARG_LIST | LR_ARG_MAP, 0, "all", "a list of columns, or { target_name = \"column or SQL\" }"},
    {"where", LR_ARG_STRING | LR_ARG_MAP, 0, NULL, "{ status = \"paid\" }, { status = { \"a\", \"b\" } }, or SQL with :name from params"},
    {"params", LR_ARG_MAP, 0, NULL, "values for :name in sql and where"},
    {"by", LR_ARG_STRING, 0, NULL, "the time column, also one that columns makes: columns = { at = \"SQL\" }, by = \"at\""},
    {"window", LR_ARG_WINDOW, 0, NULL, "the window on it, window() or window { since = watermark() }"},
    {"nulls", LR_ARG_STRING, 0, "error", "rows whose time is NULL: \"error\", \"include\" or \"skip\" (counted)"},
    {"time", LR_ARG_STRING, 0, "iso", "form of the time column: " LR_TIME_FORMS},
    {"connection", LR_ARG_STRING, 0, "source", "the connection's name"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_extract = {
    .name = "extract",
    .summary = "describe rows of a source; nothing is read until something uses them",
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .returns = "rows, with :map(fn, new_columns), :filter(fn), :rows() and :count()",
    .refuses = "NULL in the time column (unless nulls says otherwise); times that the bounds cannot tell apart "
               "(the first is named); numbers that cannot be of the declared form, such as microseconds in \"unix_ms\"; a window with a time of day on a column of dates",
    .example = "extract { from = \"orders\", by = \"order_date\", window = window() }",
    .call = call,
};

/* ---- SQL ---- */

static void null_policy(lr_run *run, const lr_rowset *rs, lr_sql *q)
{
    lr_sql by = lr_extract_time(run, rs);
    lr_sqlf(q, " AND (");
    rs->place->dialect->within(q, &by, &rs->bounds);
    if (rs->nulls == LR_NULLS_INCLUDE) lr_sqlf(q, " OR %Q IS NULL", &by);
    lr_sqlf(q, ")");
    if (rs->nulls == LR_NULLS_SKIP) lr_sqlf(q, " AND %Q IS NOT NULL", &by);
}

/* How the user's SQL finds :start, :stop and its parameters. */
typedef struct names {
    const lr_bounds *bounds;
    const lr_arg *params;
    lr_arena *arena;
    int used_window;
} names;

/* Of a form that is a number a whole one, which columns of every type take: rows
 * of the fraction before stop are left to the next window. */
static lr_value edge_value(const names *n, const lr_edge *edge)
{
    lr_time_mode m = n->bounds->mode;
    int64_t unit = m == LR_UNIX ? LR_US_PER_SECOND : 1000;
    if (edge->value.type != LR_TEXT || edge->exact || (m != LR_UNIX && m != LR_UNIX_MS)) return edge->value;
    return lr_int(edge->us / unit - (edge->us % unit < 0));
}

static const lr_value *lookup(void *arg, const char *name)
{
    names *n = arg;
    int start = strcmp(name, "start") == 0, stop = strcmp(name, "stop") == 0;
    if (n->bounds != NULL && (start || stop)) {
        const lr_edge *edge = start ? &n->bounds->start : &n->bounds->stop;
        lr_value *v = lr_alloc(n->arena, sizeof *v);
        n->used_window = 1;
        /* An open edge is before or after everything. */
        *v = edge->set ? edge_value(n, edge)
             : n->bounds->mode != LR_ISO ? lr_int(start ? INT64_MIN : INT64_MAX)
                                         : lr_text(start ? "0000-00-00" : "9999-12-31 23:59:59.999999");
        return v;
    }
    return lr_params_find(n->params, name);
}

int lr_extract_sql(lr_run *run, lr_rowset *rs, lr_sql *q, lr_err *e)
{
    (void)e;
    lr_sqlf(q, "%Q", &rs->select);
    if (rs->is_sql) return 0;
    lr_sqlf(q, "%Q", &rs->from);
    if (rs->window != NULL) null_policy(run, rs, q);
    return 0;
}

/* ---- checks before use ---- */

static int check_nulls(lr_run *run, lr_rowset *rs, lr_err *e)
{
    int at = rs->by_text == NULL ? lr_field_find(rs->place->dialect, &rs->relation, rs->by) : -1;
    lr_value n;
    if ((at >= 0 && rs->relation.fields[at].not_null) || rs->nulls == LR_NULLS_INCLUDE) return 0;
    lr_sql q = lr_sql_new(&run->arena), by = lr_extract_time(run, rs);
    lr_sqlf(&q, "SELECT count(*)%Q AND %Q IS NULL", &rs->from, &by);
    if (lr_query_value(run, rs->place, &q, &run->arena, &n, NULL, e) != 0) return -1;
    if (n.i == 0) return 0;
    if (rs->nulls == LR_NULLS_SKIP) {
        rs->skipped = n.i;
        run->counts.skipped += n.i;
        lr_note(run, "%s: %lld rows with NULL in %s are skipped", rs->title, (long long)n.i, rs->by);
        return 0;
    }
    lr_fail(e, LR_FAILED, "%lld row%s of %s %s NULL in %s, which no window can hold", (long long)n.i, n.i == 1 ? "" : "s",
            rs->title, n.i == 1 ? "has" : "have", rs->by);
    return lr_hint(e, "pass nulls = \"include\" or nulls = \"skip\", or fix the source");
}

/* Before the window is fixed: its newest value must be one of the form. The rows
 * of SQL are looked at where no window has chosen them. */
static int check_form(lr_run *run, lr_rowset *rs, lr_err *e)
{
    if (rs->by == NULL || !lr_is_epoch(rs->time)) return 0;
    if (rs->is_sql && rs->window != NULL && rs->bounds.start.set && rs->bounds.stop.set) return 0;
    lr_type type = lr_extract_time_type(run, rs);
    lr_sql by = lr_extract_time(run, rs), from = lr_sql_new(&run->arena);
    if (rs->is_sql) lr_sqlf(&from, " FROM (%Q) AS \"rows\" WHERE 1=1", &rs->select);
    return lr_check_form(run, rs->place, rs->title, rs->by, &type, rs->is_sql ? &from : &rs->from, &by, rs->time, e);
}

static int fix_window(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_type *type = lr_alloc(&run->arena, sizeof *type); /* the bounds keep it */
    *type = lr_extract_time_type(run, rs);
    lr_time_column c = {.place = rs->place, .table = rs->title, .column = rs->by, .type = type, .expr = lr_extract_time(run, rs),
                        .from = rs->from, .mode = rs->time};
    if (check_nulls(run, rs, e) != 0 || lr_window_bounds(run, rs->window, &c, &rs->bounds, e) != 0) return -1;
    rs->time = rs->bounds.mode;
    if (lr_is_epoch(rs->time)) return 0;
    return lr_check_times(run, rs->place, &rs->relation.table, rs->title, rs->by, &rs->from, &c.expr, &rs->bounds, e);
}

static int record_window(lr_run *run, lr_rowset *rs, lr_err *e)
{
    lr_event ev = {.name = "window"};
    lr_event_text(&ev, "source_table", rs->title);
    lr_event_text(&ev, "column_name", rs->by != NULL ? rs->by : "");
    lr_event_text(&ev, "window_start", lr_edge_text(run, &rs->window->start));
    lr_event_text(&ev, "window_stop", lr_edge_text(run, &rs->window->stop));
    lr_event_text(&ev, "text", lr_window_text(run, rs->window));
    lr_report(run, &ev);
    lr_read *r = lr_alloc(&run->arena, sizeof *r);
    *r = (lr_read){rs->title, rs->by != NULL ? rs->by : "", lr_edge_text(run, &rs->window->start),
                   lr_edge_text(run, &rs->window->stop), run->reads};
    run->reads = r;
    return run->mode == LR_MODE_RUN ? lr_ledger_add_window(run, r, e) : 0;
}

int lr_extract_prepare(lr_run *run, lr_rowset *rs, lr_err *e)
{
    if (rs->prepared) return 0;
    int failed = check_form(run, rs, e);
    if (failed == 0 && rs->window != NULL && !rs->is_sql) failed = fix_window(run, rs, e);
    if (failed == 0 && rs->window != NULL) failed = record_window(run, rs, e);
    if (failed != 0) {
        if (e->where[0] == 0) snprintf(e->where, sizeof e->where, "%s", rs->where);
        return lr_step(e, "extract from %s", rs->title);
    }
    rs->prepared = 1;
    return 0;
}

/* ---- making one ---- */

static int no_such_column(const lr_rowset *rs, const char *name, const char *option, lr_err *e)
{
    lr_buf known = {0};
    for (int i = 0; i < rs->relation.nfields; i++)
        lr_buf_printf(&known, "%s%s", i > 0 ? ", " : "", rs->relation.fields[i].name);
    lr_fail(e, LR_FAILED, "extract: %s has no column \"%s\" (%s)", rs->title, name, option);
    lr_hint(e, "it has: %s", known.data);
    lr_buf_free(&known);
    return -1;
}

static void add_field(lr_run *run, lr_rowset *rs, const char *name, const char *text, int named)
{
    int at = lr_field_find(rs->place->dialect, &rs->relation, text);
    lr_sqlf(&rs->select, rs->n == 0 ? "SELECT " : ", ");
    rs->origins[rs->n] = NULL;
    rs->texts[rs->n] = text;
    rs->fields[rs->n].name = lr_dup(&run->arena, name);
    rs->fields[rs->n].type = lr_type_none();
    rs->fields[rs->n].said = !named ? LR_SAID_SOURCE : at >= 0 ? LR_SAID_NAME : LR_SAID_VALUE;
    if (at >= 0) {
        const lr_field *f = &rs->relation.fields[at];
        rs->origins[rs->n] = f->name;
        rs->fields[rs->n].type = f->type;
        rs->fields[rs->n].not_null = f->not_null;
        lr_sqlf(&rs->select, "%I", f->name);
        if (strcmp(name, f->name) != 0) lr_sqlf(&rs->select, " AS %I", name);
        if (rs->by != NULL && rs->time_name == NULL && lr_name_equal(rs->place->dialect, f->name, rs->by))
            rs->time_name = rs->fields[rs->n].name;
    } else {
        rs->user_sql = 1;
        lr_sqlf(&rs->select, "(%s\n) AS %I", text, name);
        if (rs->by != NULL && rs->time_name == NULL && lr_name_equal(rs->place->dialect, name, rs->by)) {
            rs->time_name = rs->fields[rs->n].name;
            rs->time_made = rs->by_text == NULL;
        }
    }
    rs->n++;
}

static int read_columns(lr_run *run, lr_rowset *rs, const lr_arg *columns, lr_err *e)
{
    int n = columns->type == LR_ARG_NONE ? rs->relation.nfields : columns->n;
    rs->fields = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *rs->fields);
    rs->origins = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *rs->origins);
    rs->texts = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *rs->texts);
    rs->select = lr_sql_new(&run->arena);
    for (int i = 0; i < n; i++) {
        if (columns->type == LR_ARG_NONE) {
            const char *name = rs->relation.fields[i].name;
            add_field(run, rs, name, name, 0);
            continue;
        }
        const lr_arg *item = &columns->items[i];
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "extract: columns holds something that is no string");
        const char *text = lr_dup(&run->arena, item->value.s.p);
        const char *name = columns->type == LR_ARG_MAP ? columns->names[i] : NULL;
        int at = lr_field_find(rs->place->dialect, &rs->relation, text);
        if (name == NULL && at < 0) return no_such_column(rs, text, "columns", e);
        if (at < 0 && lr_sql_piece(text, 0, "columns", e) != 0) return -1;
        add_field(run, rs, name != NULL ? name : rs->relation.fields[at].name, text, 1);
    }
    if (n == 0) return lr_fail(e, LR_FAILED, "extract: columns is empty");
    return 0;
}

static int is_value(const lr_arg *v)
{
    return (v->type & (LR_ARG_STRING | LR_ARG_INT | LR_ARG_REAL | LR_ARG_BOOL | LR_ARG_TIME)) != 0;
}

static int not_a_value(const char *name, lr_err *e)
{
    lr_fail(e, LR_FAILED, "extract: where.%s holds something that is no value", name);
    return lr_hint(e, "write { status = \"paid\" } or { status = { \"paid\", \"sent\" } }");
}

static int where_map(const lr_rowset *rs, const lr_arg *where, lr_sql *q, lr_err *e)
{
    for (int i = 0; i < where->n; i++) {
        const lr_arg *v = &where->items[i];
        if (where->names[i] == NULL || lr_field_find(rs->place->dialect, &rs->relation, where->names[i]) < 0)
            return no_such_column(rs, where->names[i] != NULL ? where->names[i] : "?", "where", e);
        lr_sqlf(q, " AND ");
        if (v->type == LR_ARG_NULL) {
            lr_sqlf(q, "%I IS NULL", where->names[i]);
        } else if (v->type == LR_ARG_LIST) {
            int values = 0, nulls = 0;
            lr_sqlf(q, "(%I IN (", where->names[i]);
            for (int j = 0; j < v->n; j++) {
                if (v->items[j].type == LR_ARG_NULL) nulls = 1;
                else if (!is_value(&v->items[j])) return not_a_value(where->names[i], e);
                else lr_sqlf(q, values++ == 0 ? "%V" : ", %V", &v->items[j].value);
            }
            if (values == 0) lr_sqlf(q, "NULL");
            lr_sqlf(q, nulls ? ") OR %I IS NULL)" : "))", where->names[i]);
        } else if (!is_value(v)) {
            return not_a_value(where->names[i], e);
        } else {
            lr_sqlf(q, "%I = %V", where->names[i], &v->value);
        }
    }
    return 0;
}

/* " FROM t WHERE ...", main being the schema in which the place's tables are. */
static int from_clause(lr_run *run, lr_rowset *rs, const lr_args *args, const lr_table *table, const char *main, lr_sql *q, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_extract;
    const lr_arg *where = lr_arg_of(p, args, "where");
    *q = lr_sql_new(&run->arena);
    lr_sqlf(q, " FROM %T WHERE 1=1", table);
    if (where->type == LR_ARG_MAP && where_map(rs, where, q, e) != 0) return -1;
    if (where->type != LR_ARG_STRING) return 0;
    rs->user_sql = 1;
    names n = {.params = lr_arg_of(p, args, "params"), .arena = &run->arena};
    /* a line of its own, so that a comment at its end ends there */
    lr_sqlf(q, " AND (");
    if (lr_sql_piece(where->value.s.p, 1, "where", e) != 0) return -1;
    if (lr_sql_user(q, where->value.s.p, main, lookup, &n, e) != 0) return -1;
    lr_sqlf(q, "\n)");
    return 0;
}

static int from_table(lr_run *run, lr_rowset *rs, const lr_args *args, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_extract;
    const lr_place *place = rs->place;
    const lr_arg *where = lr_arg_of(p, args, "where");
    if (lr_place_relation(place, &run->arena, rs->title, 1, &rs->relation, e) != 0) return -1;
    if (!rs->relation.exists) {
        lr_fail(e, LR_FAILED, "extract: there is no table \"%s\" at the connection \"%s\" (%s)", rs->title, place->name, place->shown);
        return lr_hint(e, "correct from, or the connection");
    }
    if (rs->by != NULL && lr_field_find(place->dialect, &rs->relation, rs->by) < 0 && !lr_made_time(run, rs, lr_arg_of(p, args, "columns")))
        return no_such_column(rs, rs->by, "by", e);
    if (rs->by == NULL && rs->window != NULL) {
        lr_fail(e, LR_FAILED, "extract: a window needs the time column that it is on");
        return lr_hint(e, "pass by = \"updated_at\"");
    }
    if (read_columns(run, rs, lr_arg_of(p, args, "columns"), e) != 0) return -1;
    rs->narrowed = where->type == LR_ARG_STRING || where->n > 0;
    lr_table alone = {"main", rs->relation.table.name};
    if (lr_params_used(lr_arg_of(p, args, "params"), where->type == LR_ARG_STRING ? where->value.s.p : "", e) != 0) return -1;
    if (from_clause(run, rs, args, &rs->relation.table, place->schema, &rs->from, e) != 0) return -1;
    if (from_clause(run, rs, args, &alone, NULL, &rs->alone_from, e) != 0) return -1;
    rs->alone_select = rs->select;
    return lr_inspect_extract(run, rs, e);
}

static int from_sql(lr_run *run, lr_rowset *rs, const lr_args *args, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_extract;
    if (lr_arg_of(p, args, "columns")->type != LR_ARG_NONE || lr_arg_of(p, args, "where")->type != LR_ARG_NONE)
        return lr_fail(e, LR_FAILED, "extract: with sql, write columns and where into the SQL itself");
    names n = {.params = lr_arg_of(p, args, "params"), .arena = &run->arena};
    rs->is_sql = rs->user_sql = 1;
    rs->time_name = rs->by;
    if (rs->window != NULL) {
        if (rs->window->newest) {
            lr_fail(e, LR_FAILED, "extract: advance = \"newest\" needs from and by, to find the newest value");
            return lr_hint(e, "make a view of the SQL and extract from it");
        }
        lr_time_column c = {.place = rs->place, .table = rs->title, .column = rs->by != NULL ? rs->by : "", .mode = rs->time};
        if (lr_window_bounds(run, rs->window, &c, &rs->bounds, e) != 0) return -1;
        n.bounds = &rs->bounds;
    }
    rs->select = lr_sql_new(&run->arena);
    if (lr_params_used(n.params, lr_arg_of(p, args, "sql")->value.s.p, e) != 0) return -1;
    if (lr_sql_user(&rs->select, lr_arg_of(p, args, "sql")->value.s.p, rs->place->schema, lookup, &n, e) != 0) return -1;
    rs->alone_select = lr_sql_new(&run->arena);
    if (lr_sql_user(&rs->alone_select, lr_arg_of(p, args, "sql")->value.s.p, NULL, lookup, &n, e) != 0) return -1;
    if (rs->window != NULL && !n.used_window) {
        lr_fail(e, LR_FAILED, "extract: the SQL uses neither :start nor :stop, so the window would not hold");
        return lr_hint(e, "add WHERE updated_at >= :start AND updated_at < :stop");
    }
    if (lr_inspect_extract(run, rs, e) != 0) return -1;
    return rs->by != NULL && lr_rowset_field(run, rs, rs->by, e) < 0 ? -1 : 0;
}

static int read_word(const lr_arg *a, const char *option, const char *const *words, int n, int fallback, int *out, lr_err *e)
{
    *out = fallback;
    const char *text = lr_arg_text(a, NULL);
    for (int i = 0; text != NULL && i < n; i++)
        if (strcmp(text, words[i]) == 0) {
            *out = i;
            return 0;
        }
    if (text == NULL) return 0;
    lr_fail(e, LR_FAILED, "extract: %s = \"%s\" is not known", option, text);
    return lr_hint(e, "use \"%s\", \"%s\" or \"%s\"", words[0], words[1], words[2]);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    static const char *const nulls[] = {"error", "include", "skip"};
    const lr_primitive *p = &lr_primitive_extract;
    const lr_arg *from = lr_arg_of(p, args, "from"), *sql = lr_arg_of(p, args, "sql");
    lr_place *place;
    if ((from->type == LR_ARG_NONE) == (sql->type == LR_ARG_NONE)) {
        lr_fail(e, LR_FAILED, "extract needs either from or sql");
        return lr_hint(e, "for example: %s", p->example);
    }
    if (lr_session_place(run->session, lr_arg_text(lr_arg_of(p, args, "connection"), "source"), &place, e) != 0) return -1;
    lr_rowset *rs = lr_alloc(&run->arena, sizeof *rs);
    int word;
    rs->kind = LR_ROWS_EXTRACT;
    rs->where = lr_dup(&run->arena, args->where);
    rs->place = place;
    rs->title = from->type != LR_ARG_NONE ? lr_dup(&run->arena, from->value.s.p) : "sql";
    rs->by = lr_dup(&run->arena, lr_arg_text(lr_arg_of(p, args, "by"), NULL));
    rs->window = (lr_window *)lr_arg_of(p, args, "window")->p;
    if (read_word(lr_arg_of(p, args, "nulls"), "nulls", nulls, 3, LR_NULLS_ERROR, &word, e) != 0) return -1;
    rs->nulls = (lr_nulls)word;
    if (lr_read_form(lr_arg_text(lr_arg_of(p, args, "time"), NULL), &rs->time, e) != 0) return -1;
    if ((from->type != LR_ARG_NONE ? from_table(run, rs, args, e) : from_sql(run, rs, args, e)) != 0) return -1;
    if (rs->window != NULL) rs->window->uses++;
    out->kind = LR_RESULT_ROWS;
    out->rows = rs;
    return 0;
}
