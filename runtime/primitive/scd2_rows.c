/* scd2_merge's rows as versions without an end: which columns, of which types. */
#include "primitive/scd2_work.h"
#include <string.h>

lr_time_mode lr_scd2_time(const lr_scd2_work *w)
{
    const lr_rowset *x = lr_rowset_extract(w->rows);
    const lr_dialect *d = w->run->session->warehouse->dialect;
    return w->at != NULL && x->time_name != NULL && lr_name_equal(d, x->time_name, w->at) ? x->time : LR_ISO;
}

/* The type of valid_from in a dimension that is to be made. */
static lr_field bound_field(const lr_scd2_work *w, const char *name)
{
    const lr_rowset *in = w->rows->input;
    const lr_dialect *d = w->run->session->warehouse->dialect;
    lr_field f = {.name = name, .type = lr_type_words(w->run->job->grain == LR_HOUR ? "TIMESTAMP" : "DATE")};
    for (int i = 0; w->at != NULL && i < in->n; i++) {
        const lr_field *at = &in->fields[i];
        if (!lr_name_equal(d, at->name, w->at)) continue;
        f.type = lr_type_words(lr_scd2_time(w) == LR_YYYYMMDD ? "DATE" : "TIMESTAMP");
        /* text of SQLite keeps whatever form its times have */
        int kept = at->type.dynamic && at->type.kind == LR_KIND_TEXT && strcmp(at->type.engine, d->name) == 0;
        if (lr_rowset_extract(w->rows)->time == LR_ISO && (lr_kind_is_time(at->type.kind) || kept)) {
            f = *at;
            f.name = name;
        }
    }
    /* an engine with one kind for a column holds an hour that comes twice as instants only */
    if (w->at != NULL && !d->keeps_any && !lr_zone_is_utc(w->run->job->zone) && f.type.kind == LR_KIND_TIMESTAMP && (f.type.dynamic || f.type.engine == NULL))
        f.type = lr_type_words("TIMESTAMPTZ");
    f.not_null = f.primary = 0;
    return f;
}

void lr_scd2_moment(const lr_scd2_work *w, int64_t us, const lr_type *type, lr_value *out)
{
    lr_edge edge = {.set = 1, .us = us};
    if (type->kind == LR_KIND_DATE) edge.us = lr_grain_floor(w->run->job->zone, LR_DAY, us);
    w->run->session->warehouse->dialect->edge(&w->run->arena, &edge, LR_ISO, w->run->job->zone, type);
    *out = edge.value;
}

/* SELECT key, track, at AS valid_from, open AS valid_to FROM (rows). The bounds'
 * types are the dimension's where it is there. */
static void describe(lr_scd2_work *w, const lr_type *from_type, const lr_type *to_type)
{
    const lr_dialect *d = w->run->session->warehouse->dialect;
    lr_rowset *rs = w->rows;
    const lr_value forever = lr_text("9999-12-31");
    lr_value at;
    rs->select = lr_sql_new(&w->run->arena);
    rs->from = lr_sql_new(&w->run->arena);
    lr_sqlf(&rs->select, "SELECT ");
    for (int i = 0; i < w->s.nkey; i++) lr_sqlf(&rs->select, "%I, ", w->s.key[i]);
    for (int i = 0; i < w->s.ntrack; i++) lr_sqlf(&rs->select, "%I, ", w->s.track[i]);
    if (w->at != NULL) {
        lr_sql column = lr_sql_column(&w->run->arena, NULL, w->at);
        const lr_type at_type = lr_rowset_type(w->run, rs->input, lr_rowset_field(w->run, rs->input, w->at, &(lr_err){0})), *type = &at_type;
        d->moment(&rs->select, &column, lr_scd2_time(w), w->run->job->zone, type, from_type);
    } else {
        lr_scd2_moment(w, w->at_us, from_type, &at);
        d->typed(&rs->select, &at, from_type);
    }
    lr_sqlf(&rs->select, " AS %I, ", w->s.from);
    d->typed(&rs->select, &forever, to_type);
    lr_sqlf(&rs->select, " AS %I FROM (", w->s.to);
    lr_sqlf(&rs->from, ") AS \"rows\"");
}

int lr_scd2_derive(lr_scd2_work *w, lr_rowset *input, lr_err *e)
{
    lr_run *run = w->run;
    lr_rowset *rs = lr_alloc(&run->arena, sizeof *rs);
    w->rows = rs;
    rs->kind = LR_ROWS_GROUP;
    rs->prepared = 1; /* every type is known */
    rs->carries = 1;
    rs->where = input->where;
    rs->title = input->title;
    rs->input = input;
    rs->window = input->window;
    rs->fields = lr_alloc(&run->arena, (size_t)(w->s.nkey + w->s.ntrack + 2) * sizeof *rs->fields);
    rs->origins = lr_alloc(&run->arena, (size_t)(w->s.nkey + w->s.ntrack + 2) * sizeof *rs->origins);
    const char **groups[] = {w->s.key, w->s.track};
    const int counts[] = {w->s.nkey, w->s.ntrack};
    for (int g = 0; g < 2; g++)
        for (int i = 0; i < counts[g]; i++) {
            int f = lr_rowset_field(run, input, groups[g][i], e);
            if (f < 0) return -1;
            rs->origins[rs->n] = input->fields[f].name;
            rs->fields[rs->n++] = input->fields[f];
        }
    if (w->at != NULL && lr_rowset_field(run, input, w->at, e) < 0) return -1;
    rs->fields[rs->n++] = bound_field(w, w->s.from);
    rs->fields[rs->n++] = bound_field(w, w->s.to);
    return 0;
}

int lr_scd2_types(lr_scd2_work *w, const char *into, lr_err *e)
{
    const lr_place *house = w->run->session->warehouse;
    lr_relation rel;
    lr_field from = bound_field(w, w->s.from);
    lr_type made = house->dialect->type_for(&w->run->arena, &from.type);
    const lr_type *from_type = &made, *to_type = &made;
    if (lr_place_relation(house, &w->run->arena, into, 0, &rel, e) != 0) return -1;
    int f = rel.exists ? lr_field_find(house->dialect, &rel, w->s.from) : -1, t = rel.exists ? lr_field_find(house->dialect, &rel, w->s.to) : -1;
    if (f >= 0) from_type = &rel.fields[f].type;
    if (t >= 0) to_type = &rel.fields[t].type;
    lr_rowset_like(w->rows, rel.exists ? &rel : NULL, &w->run->arena);
    w->added = lr_alloc(&w->run->arena, (size_t)(w->s.ntrack + 1) * sizeof *w->added);
    for (int i = 0; rel.exists && i < w->s.ntrack; i++)
        if (lr_field_find(house->dialect, &rel, w->s.track[i]) < 0) w->added[w->nadded++] = w->s.track[i];
    w->rows->fields[w->rows->n - 2].type = *from_type;
    w->rows->fields[w->rows->n - 1].type = *to_type;
    describe(w, from_type, to_type);
    return 0;
}
