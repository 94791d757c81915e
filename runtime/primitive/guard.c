/* The guard that every write shares: what the target's columns do not keep is
 * refused before the first write, and what they write in another way is
 * converted, both by the types of the two columns. */
#include "primitive/guard.h"
#include <string.h>

/* A written column: where it comes from and where it goes. */
typedef struct passage {
    const char *name;
    lr_type from;   /* where the rows are used */
    lr_type origin; /* where they come from: a staged column of an engine without types says nothing */
    const lr_type *to;
    lr_time_form form;
} passage;

static passage passage_of(lr_run *run, const lr_target *t, int column)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    passage p = {.name = t->columns[column]};
    int field = 0;
    while (strcmp(t->source->fields[field].name, p.name) != 0) field++;
    p.from = lr_rowset_type(run, t->source, field);
    p.origin = p.from.native[0] == 0 ? t->source->fields[field].type : p.from;
    /* a boolean of an engine without types is a number */
    const lr_type *given = &t->source->fields[field].type;
    if (p.from.kind == LR_KIND_BOOL && given->kind == LR_KIND_BOOL && given->dynamic) p.origin = *given;
    p.to = &t->rel.fields[lr_field_find(d, &t->rel, p.name)].type;
    if (t->forms != NULL) p.form = t->forms[column];
    return p;
}

/* "a OR b OR ..." as a balanced tree: engines limit the depth. */
static void either(lr_sql *q, const lr_sql *conditions, int n)
{
    if (n == 1) {
        lr_sqlf(q, "%Q", &conditions[0]);
        return;
    }
    lr_sqlf(q, "(");
    either(q, conditions, n / 2);
    lr_sqlf(q, " OR ");
    either(q, conditions + n / 2, n - n / 2);
    lr_sqlf(q, ")");
}

/* A kind whose values are known by their text, word for word. */
static int is_words(lr_kind k)
{
    return lr_kind_is_text(k) || k == LR_KIND_ANY || k == LR_KIND_UUID || k == LR_KIND_JSON || k == LR_KIND_OTHER;
}

/* The engine itself reads the text of such a column, and its error names no row. */
static int is_read(const passage *p)
{
    return is_words(p->to->kind) && !lr_kind_is_text(p->to->kind) && !p->to->dynamic;
}

/* The condition under which the column does not keep the value; 0: it keeps all. */
static int condition(lr_run *run, const passage *p, lr_sql *out)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_sql column = lr_sql_column(&run->arena, "rows", p->name), form = lr_sql_new(&run->arena);
    unsigned why;
    lr_loss loss = lr_type_loss(&p->from, p->to, &why);
    *out = lr_sql_new(&run->arena);
    if (p->form.zone == 'n' && d->convert(&form, &column, &p->origin, p->to, &p->form, run->job->zone)) {
        lr_sqlf(out, "(%Q IS NOT NULL AND %Q IS NULL)", &column, &form);
        return 1;
    }
    if (loss == LR_LOSS_TYPE) lr_sqlf(out, "%Q IS NOT NULL", &column);
    return loss == LR_LOSS_TYPE || (loss == LR_LOSS_VALUE && d->lossy(out, &column, &p->from, p->to, why, run->job->zone));
}

static const char *key_names(lr_run *run, const lr_target *t)
{
    return t->nkey > 0 ? lr_list_text(&run->arena, t->key, t->nkey) : t->source->fields[0].name;
}

static int name_value(lr_run *run, const lr_target *t, const lr_value *row, lr_err *e)
{
    static const char *const classes[] = {"null", "integer", "real", "text", "blob", "boolean", "numeric", "date", "timestamp", "timestamptz"};
    const char *column = lr_value_text(&run->arena, &row[0]), *text = lr_value_text(&run->arena, &row[1]);
    int at = lr_field_find(run->session->warehouse->dialect, &t->rel, column);
    lr_fail(e, LR_FAILED, "column %s (%s) of %s cannot keep the %s value %s exactly, at %s %s", column, t->rel.fields[at].type.native, t->name,
            classes[row[1].type], text != NULL ? text : "NULL", key_names(run, t), lr_row_text(&run->arena, row + 2, t->nkey > 0 ? t->nkey : 1));
    return lr_hint(e, "give the column a type that keeps it, leave the row out with where, or convert it in columns");
}

static int refuse_lossy(lr_run *run, const lr_target *t, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_sql *conditions = lr_alloc(&run->arena, (size_t)(t->n + 1) * sizeof *conditions);
    lr_sql any = lr_sql_new(&run->arena), which = lr_sql_new(&run->arena), value = lr_sql_new(&run->arena), keys = lr_sql_new(&run->arena);
    const char *read = "";
    int n = 0;
    for (int i = 0; i < t->n; i++) {
        passage p = passage_of(run, t, i);
        if (is_read(&p) && strcmp(p.from.native, p.to->native) != 0)
            read = lr_printf(&run->arena, "%s%s column %s (%s)", read, read[0] != 0 ? "," : ":", p.name, p.to->native);
        if (!condition(run, &p, &conditions[n])) continue;
        lr_value name = lr_text(p.name);
        lr_sql column = lr_sql_column(&run->arena, "rows", p.name);
        lr_sqlf(&which, " WHEN %Q THEN %V", &conditions[n], &name);
        lr_sqlf(&value, " WHEN %Q THEN ", &conditions[n]);
        w->dialect->shown(&value, &column);
        n++;
    }
    if (n == 0) return 0;
    either(&any, conditions, n);
    for (int i = 0; i < t->nkey; i++) lr_sqlf(&keys, ", \"rows\".%I", t->key[i]);
    if (t->nkey == 0) lr_sqlf(&keys, ", \"rows\".%I", t->source->fields[0].name);
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "SELECT CASE%Q END, CASE%Q END%Q FROM (%Q) AS \"rows\" WHERE %Q LIMIT 1", &which, &value, &keys, &t->rows, &any);
    lr_cursor *k;
    const lr_value *row;
    if (lr_query(run, w, &q, &k, e) != 0) return lr_step(e, "looking for values that %s cannot keep%s", t->name, read);
    int got = w->driver->next(k, &row, e);
    if (got == 1) name_value(run, t, row, e);
    w->driver->finish(k);
    return got == 0 ? 0 : -1;
}

/* A column as the target's column writes it. */
static int convert_column(lr_run *run, const lr_target *t, const char *name, lr_sql *list)
{
    lr_sql column = lr_sql_column(&run->arena, "rows", name);
    int written = 0, done = 0;
    while (written < t->n && strcmp(t->columns[written], name) != 0) written++;
    if (written < t->n) {
        passage p = passage_of(run, t, written);
        done = run->session->warehouse->dialect->convert(list, &column, &p.origin, p.to, &p.form, run->job->zone);
    }
    if (done) lr_sqlf(list, " AS %I", name);
    else lr_sqlf(list, "%Q", &column);
    return done;
}

static void convert_rows(lr_run *run, lr_target *t, int only_written)
{
    lr_sql list = lr_sql_new(&run->arena), rows = lr_sql_new(&run->arena);
    int n = only_written ? t->n : t->source->n;
    t->converted = 0;
    for (int i = 0; i < n; i++) {
        lr_sqlf(&list, i == 0 ? "SELECT " : ", ");
        t->converted |= convert_column(run, t, only_written ? t->columns[i] : t->source->fields[i].name, &list);
    }
    if (!t->converted) return;
    lr_sqlf(&rows, "%Q FROM (%Q) AS \"rows\"", &list, &t->rows);
    t->rows = rows;
}

int lr_guard_rows(lr_run *run, lr_target *t, lr_err *e)
{
    if (run->mode != LR_MODE_PLAN && refuse_lossy(run, t, e) != 0) return -1;
    convert_rows(run, t, 0);
    return 0;
}

int lr_guard_keys(lr_run *run, const lr_rowset *rows, const lr_relation *rel, const char **key, int nkey, int refuse, lr_sql *keys, lr_err *e)
{
    lr_target t = {.source = (lr_rowset *)rows, .rel = *rel, .name = rel->table.name, .columns = key, .n = nkey, .key = key, .nkey = nkey, .rows = *keys};
    /* marks what is found of the columns on a copy */
    t.rel.fields = lr_alloc(&run->arena, (size_t)(rel->nfields + 1) * sizeof *t.rel.fields);
    memcpy(t.rel.fields, rel->fields, (size_t)rel->nfields * sizeof *t.rel.fields);
    if (lr_guard_forms(run, &t, e) != 0) return -1;
    if (refuse && run->mode != LR_MODE_PLAN && refuse_lossy(run, &t, e) != 0) return -1;
    convert_rows(run, &t, 1);
    *keys = t.rows;
    return 0;
}

/* ---- what is known without the rows ---- */

void lr_guard_foresee(lr_run *run, const lr_target *t)
{
    for (int i = 0; run->mode == LR_MODE_PLAN && i < t->n; i++) {
        passage p = passage_of(run, t, i);
        const lr_field *f = &t->source->fields[lr_rowset_field(run, t->source, p.name, &(lr_err){0})];
        if (p.from.dynamic || f->type.dynamic || lr_type_loss(&p.from, p.to, NULL) != LR_LOSS_TYPE) continue;
        lr_note(run, "column %s (%s) of %s keeps no value of the type %s: a row where %s is not NULL will be refused", p.name, p.to->native,
                t->name, p.from.native, p.name);
    }
}

/* ---- instants that are kept as text ---- */

static int read_form(lr_run *run, const lr_target *t, const char *column, lr_time_form *out, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    lr_sql q = lr_sql_new(&run->arena), expr = lr_sql_column(&run->arena, NULL, column);
    lr_value v;
    int indexed = w->dialect->indexed(w->driver, w->conn, &t->rel.table, column, e);
    if (indexed < 0) return -1;
    w->dialect->newest_text(&q, &t->rel, &expr, indexed);
    if (lr_query_value(run, w, &q, &run->arena, &v, NULL, e) != 0) return -1;
    if (v.type == LR_TEXT) *out = lr_form_of(v.s.p, v.s.n);
    return 0;
}

int lr_guard_forms(lr_run *run, lr_target *t, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    if (d->newest_text == NULL || t->created) return 0;
    for (int i = 0; i < t->n; i++) {
        const lr_type *from = &t->source->fields[lr_rowset_field(run, t->source, t->columns[i], e)].type;
        int at = lr_field_find(d, &t->rel, t->columns[i]);
        if (at >= t->rel.nfields - t->planned || from->kind != LR_KIND_INSTANT || from->dynamic) continue;
        if (t->forms == NULL) t->forms = lr_alloc(&run->arena, (size_t)(t->n + 1) * sizeof *t->forms);
        if (read_form(run, t, t->columns[i], &t->forms[i], e) != 0) return -1;
        /* rows of another form are equal by their instant */
        t->rel.fields[at].loose = 1;
    }
    return 0;
}

/* ---- the stamp ---- */

int lr_guard_stamp(lr_run *run, lr_target *t, lr_err *e)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    int at = t->stamp != NULL ? lr_field_find(d, &t->rel, t->stamp) : -1;
    const lr_type *to = at >= 0 ? &t->rel.fields[at].type : NULL;
    lr_value now = {.type = LR_TIMESTAMPTZ, .i = run->job->run_start};
    const char *why;
    int64_t us;
    if (to == NULL || to->dynamic || !lr_kind_is_time(to->kind)) return 0;
    if (lr_convert_time(&now, to->kind, to->fraction, run->job->zone, &us, &why) == LR_CONVERTED) return 0;
    lr_fail(e, LR_FAILED, "column %s (%s) of %s cannot keep run_start %s exactly%s", t->stamp, to->native, t->name, t->stamp_value.s.p, why);
    return lr_hint(e, "give the column the type timestamp with time zone, or run with a --run-start that it keeps");
}
