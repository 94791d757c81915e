/* The pump: rows from a cursor, through a function where there is one, into a
 * table at the warehouse that only this run sees: a temporary one, or, where the
 * role may make none, one in the ledger's schema that the transaction drops. */
#include "base/decimal.h"
#include "primitive/rowset.h"
#include <string.h>
#include <unistd.h>

int lr_stage_name(lr_run *run, lr_table *t, lr_err *e)
{
    lr_session *s = run->session;
    const lr_place *w = s->warehouse;
    if (s->stages == 0) {
        int may = w->dialect->temporary != NULL ? w->dialect->temporary(w->driver, w->conn, e) : 1;
        if (may < 0) return -1;
        s->stages = may ? 1 : 2;
    }
    *t = (lr_table){NULL, lr_printf(&run->arena, LR_STAGE_NAME, (long long)++run->staged)};
    if (s->stages == 1) return 0;
    /* others may stage in the same schema at the same time */
    t->schema = s->ledger_schema;
    t->name = lr_printf(&run->arena, "lrun_stage_%lld_%ld_%lld", (long long)run->run_id, (long)getpid(), (long long)run->staged);
    return 0;
}

void lr_stage_made(lr_run *run, const lr_table *t)
{
    if (run->session->stages == 1) return;
    lr_staged *stage = lr_alloc(&run->arena, sizeof *stage);
    *stage = (lr_staged){*t, run->stages};
    run->stages = stage;
}

/* Another target may take the rows too: what this one would cut from a text stays,
 * and where only the engine's own cast tells what is lost, it is asked later. */
static int is_stageable(const lr_type *t)
{
    return t->kind != LR_KIND_PADDED && !t->cuts;
}

/* A time of SQLite is naive or not by each value: in a zone whose clocks are set
 * back neither kind of column holds all. */
static int is_either_time(const lr_run *run, const lr_type *t)
{
    return t->dynamic && (t->kind == LR_KIND_TIMESTAMP || t->kind == LR_KIND_INSTANT) && !lr_zone_is_utc(run->job->zone);
}

lr_type lr_stage_type(lr_run *run, const lr_rowset *rs, int field)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    const lr_type words = lr_type_words("TEXT"), *own = &rs->fields[field].type;
    lr_type t = d->stage_type(&run->arena, is_either_time(run, own) ? &words : own);
    int at = rs->like != NULL ? lr_field_find(d, rs->like, rs->fields[field].name) : -1;
    return at >= 0 && t.native[0] != 0 && is_stageable(&rs->like->fields[at].type) ? rs->like->fields[at].type : t;
}

/* Its columns have the warehouse's types, wide enough for every value. */
static int make_table(lr_run *run, lr_rowset *rs, const char **quoted, lr_column **columns, const lr_table **name, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_field *fields = lr_alloc(&run->arena, (size_t)(rs->n + 1) * sizeof *fields);
    *columns = lr_alloc(&run->arena, (size_t)(rs->n + 1) * sizeof **columns);
    lr_type *types = lr_alloc(&run->arena, (size_t)(rs->n + 1) * sizeof *types);
    rs->staged_types = types;
    for (int i = 0; i < rs->n; i++) {
        fields[i].name = rs->fields[i].name;
        fields[i].type = lr_stage_type(run, rs, i);
        types[i] = fields[i].type;
        (*columns)[i].name = fields[i].name;
        (*columns)[i].type = fields[i].type;
    }
    lr_table *t = lr_alloc(&run->arena, sizeof *t);
    if (lr_stage_name(run, t, e) != 0) return -1;
    lr_stage_made(run, t);
    *name = t;
    lr_sql q = lr_sql_new(&run->arena), into = lr_sql_new(&run->arena);
    lr_sqlf(&into, "%T", t);
    *quoted = into.text;
    w->dialect->create_table(&q, t, fields, rs->n, NULL, 0, run->session->stages);
    return lr_exec(run, w, &q, NULL, e);
}

static int feed_next(lr_feed *feed, const lr_value **row, lr_err *e)
{
    return feed->source->next(feed->cursor, row, e);
}

static int is_instant(const lr_field *f)
{
    return f->type.kind == LR_KIND_INSTANT && f->type.engine != NULL && !f->type.dynamic;
}

/* A function has instants and decimals as text, and gives them back as it: they
 * are what they were, so that the target takes them as such. */
static int feed_put(lr_feed *feed, const lr_value *row, lr_err *e)
{
    lr_time t;
    if (feed->given == NULL) return feed->into->put(feed->sink, row, e);
    for (int i = 0; i < feed->rs->n; i++) {
        lr_value *v = &feed->given[i];
        *v = row[i];
        if (v->type != LR_TEXT) continue;
        if (feed->rs->fields[i].type.kind == LR_KIND_DECIMAL && lr_is_decimal(v->s.p, v->s.n)) v->type = LR_DECIMAL;
        if (!is_instant(&feed->rs->fields[i])) continue;
        if (lr_time_parse(v->s.p, v->s.n, lr_zone_utc(), &t) == 0 && t.has_offset && t.sub == 0) *v = (lr_value){.type = LR_TIMESTAMPTZ, .i = t.us};
    }
    return feed->into->put(feed->sink, feed->given, e);
}

static int pump(lr_feed *feed, lr_err *e)
{
    const lr_value *row;
    int got;
    if (feed->rs->map != NULL) return feed->rs->map(feed->rs->map_arg, feed, e);
    while ((got = feed->next(feed, &row, e)) == 1)
        if (feed->put(feed, row, e) != 0) return -1;
    return got;
}

#define WHOLE 90 /* bytes: an engine shows no more of a long value */

static int is_value(lr_arena *a, const lr_value *v, const char *text)
{
    const char *shown = lr_value_text(a, v);
    return shown != NULL && (strlen(text) < WHOLE ? strcmp(shown, text) == 0 : strncmp(shown, text, strlen(text)) == 0);
}

/* The engine refused a row by its number and value: read again up to it, in the
 * same snapshot, and say which it is. Rows may come in another order now. */
static void name_row(lr_run *run, const lr_rowset *rs, const lr_place *place, const lr_sql *rows, const lr_column *columns,
                     int n, const int *at, lr_err *e)
{
    int column = -1, key = 0, got = 0;
    lr_err ignored = {0};
    lr_cursor *k = NULL;
    const lr_value *row;
    lr_arena scratch = {0};
    if (e->row <= 0 || e->retry) return;
    for (int i = 0; i < n; i++)
        if (strcmp(columns[i].name, e->column) == 0) column = i;
    int field = column < 0 ? -1 : at != NULL ? at[column] : column;
    for (int i = rs->n - 1; i >= 0; i--)
        for (int f = 0; rs->origins != NULL && rs->origins[i] != NULL && f < rs->relation.nfields; f++)
            if (rs->relation.fields[f].primary == 1 && strcmp(rs->relation.fields[f].name, rs->origins[i]) == 0) key = i;
    if (lr_scan(run, place, rows, 1, &k, &ignored) != 0) return;
    for (long long number = 1; (got = place->driver->next(k, &row, &ignored)) == 1; number++) {
        int by_value = field >= 0 && e->value[0] != 0;
        if (!by_value && number < e->row) continue;
        if (!by_value || is_value(&scratch, &row[field], e->value)) break;
        lr_arena_free(&scratch);
    }
    if (got == 1) {
        const char *text = lr_value_text(&scratch, &row[key]);
        lr_err_refused(e, column >= 0 ? columns[column].type.native : "", rs->fields[key].name, text != NULL ? text : "NULL");
    }
    lr_arena_free(&scratch);
    place->driver->finish(k);
}

/* A result that is left in the middle may end its transaction, and the snapshot
 * is still needed where a row is to be named. */
static void read_on(const lr_place *place, lr_cursor *k, const lr_err *e)
{
    const lr_value *row;
    lr_err ignored = {0};
    while (k != NULL && e->row > 0 && place->driver->next(k, &row, &ignored) == 1) continue;
}

/* From cursor to sink. */
static int fill(lr_run *run, lr_rowset *rs, const lr_place *place, const lr_sql *rows, const char *quoted,
                const lr_column *columns, int apart, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_feed feed = {.rs = rs, .next = feed_next, .put = feed_put, .source = place->driver, .into = w->driver};
    for (int i = 0; rs->map != NULL && i < rs->n; i++)
        if ((is_instant(&rs->fields[i]) || rs->fields[i].type.kind == LR_KIND_DECIMAL) && feed.given == NULL) feed.given = lr_alloc(&run->arena, (size_t)rs->n * sizeof *feed.given);
    int failed = lr_scan(run, place, rows, apart, &feed.cursor, e);
    if (failed == 0) failed = w->driver->sink(w->conn, quoted, columns, rs->n, run->job->zone, apart, &feed.sink, e);
    if (failed == 0) failed = pump(&feed, e);
    if (failed != 0) read_on(place, feed.cursor, e);
    place->driver->finish(feed.cursor);
    if (failed == 0) {
        failed = w->driver->end(feed.sink, NULL, e);
        feed.sink = NULL;
    }
    w->driver->abort(feed.sink);
    return failed;
}

int lr_rowset_stage(lr_run *run, lr_rowset *rs, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    if (rs->staged != NULL) return 0;
    /* at the prompt it may not be: what is made would go at once */
    if (lr_run_open(run, e) != 0) return -1;
    lr_sql rows = lr_sql_new(&run->arena);
    lr_rowset *from = rs->kind == LR_ROWS_MAP ? rs->input : rs;
    if (from->kind == LR_ROWS_EXTRACT && lr_extract_settle(run, from, e) != 0) return -1;
    const lr_place *place = rs->place;
    /* what a function maps is read where it is */
    int failed = from == rs ? lr_extract_sql(run, from, &rows, e) : lr_rowset_home(run, from, &place, &rows, e);
    if (failed != 0) return -1;
    const char *quoted;
    const lr_table *name;
    lr_column *columns;
    if (make_table(run, rs, &quoted, &columns, &name, e) != 0) return -1;
    int apart = rs->map == NULL && place->conn != w->conn;
    int piped = apart ? lr_pipe(run, place, &rows, w, quoted, columns, rs->n, NULL, e) : 0;
    failed = piped < 0 ? -1 : piped ? 0 : fill(run, rs, place, &rows, quoted, columns, apart, e);
    if (failed != 0 && apart) name_row(run, rs, place, &rows, columns, rs->n, NULL, e);
    if (failed == 0) rs->staged = name;
    return failed == 0 ? 0 : -1;
}

int lr_rowset_direct(const lr_run *run, const lr_rowset *rs)
{
    return run->mode != LR_MODE_PLAN && rs->kind == LR_ROWS_EXTRACT && rs->staged == NULL &&
           rs->place->conn != run->session->warehouse->conn;
}

/* The columns as the table has them. */
static void in_order(const lr_rowset *rs, const lr_sql *rows, const lr_column *columns, const int *at, int n,
                     const lr_value *constant, lr_sql *q)
{
    for (int i = 0; i < n; i++) {
        lr_sqlf(q, i == 0 ? "SELECT " : ", ");
        if (at[i] >= 0) lr_sqlf(q, "%I", rs->fields[at[i]].name);
        else rs->place->dialect->typed(q, constant, &columns[i].type);
    }
    lr_sqlf(q, " FROM (%Q) AS \"rows\"", rows);
}

int lr_rowset_pour(lr_run *run, lr_rowset *rs, const char *table, const char *by, const lr_column *columns, const int *at, int n,
                   const lr_value *constant, int64_t *rows, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena);
    lr_value *out = lr_alloc(&run->arena, (size_t)(n + 1) * sizeof *out);
    lr_cursor *k = NULL;
    lr_sink *sink = NULL;
    const lr_value *row;
    int got = 0;
    if (lr_run_open(run, e) != 0 || lr_extract_sql(run, rs, &q, e) != 0) return -1;
    lr_sql ordered = lr_sql_new(&run->arena);
    in_order(rs, &q, columns, at, n, constant, &ordered);
    int piped = by == NULL ? lr_pipe(run, rs->place, &ordered, w, table, columns, n, rows, e) : 0;
    int failed = piped == 0 ? lr_scan(run, rs->place, &q, 1, &k, e) : piped < 0 ? -1 : 0;
    if (failed == 0 && by != NULL) failed = w->driver->sink_by(w->conn, by, columns, n, run->job->zone, &sink, e);
    else if (failed == 0 && piped == 0) failed = w->driver->sink(w->conn, table, columns, n, run->job->zone, 1, &sink, e);
    while (failed == 0 && piped == 0 && (got = rs->place->driver->next(k, &row, e)) == 1) {
        for (int i = 0; i < n; i++) out[i] = at[i] >= 0 ? row[at[i]] : *constant;
        failed = w->driver->put(sink, out, e);
    }
    if (got < 0) failed = -1;
    if (failed != 0) read_on(rs->place, k, e);
    rs->place->driver->finish(k);
    if (failed == 0 && piped == 0) {
        failed = w->driver->end(sink, rows, e);
        sink = NULL;
    }
    w->driver->abort(sink);
    if (failed != 0) name_row(run, rs, rs->place, &q, columns, n, at, e);
    return failed;
}
