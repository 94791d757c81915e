/* A source whose columns change: noticed by what the ledger remembers of each
 * write, so that no column of the target becomes NULL or stale unseen. */
#include "primitive/target.h"
#include "run/columns.h"
#include <string.h>
#include <strings.h>

static const char *source_of(lr_run *run, const lr_target *t)
{
    const lr_rowset *x = lr_rowset_extract(t->source);
    return strcmp(x->place->name, "source") == 0 ? x->title : lr_printf(&run->arena, "%s:%s", x->place->name, x->title);
}

/* The rows' columns, as the ledger keeps them. One that the rows lack is kept as
 * long as an option says what becomes of it: it holds for later runs too. */
static const char *column_lines(lr_run *run, const lr_target *t)
{
    const lr_rowset *rs = t->source;
    lr_buf b = {0};
    for (int i = 0; i < rs->n; i++) lr_buf_printf(&b, "%s\t%s\t%d\n", rs->fields[i].name, rs->fields[i].type.native, (int)rs->fields[i].said);
    if (t->missing_lines != NULL) lr_buf_printf(&b, "%s", t->missing_lines);
    const char *out = lr_dup(&run->arena, b.data != NULL ? b.data : "");
    lr_buf_free(&b);
    return out;
}

typedef struct line {
    const char *name, *type;
    int said;
} line;

static int read_line(char *text, line *out)
{
    char *last = strrchr(text, '\t');
    if (last == NULL) return 0;
    *last++ = 0;
    char *before = strrchr(text, '\t');
    *out = (line){text, last, LR_SAID_SOURCE};
    if (before == NULL) return 1; /* of 0.1.0 */
    *before++ = 0;
    *out = (line){text, before, *last - '0'};
    return 1;
}

static int all_named(const lr_rowset *rs)
{
    for (int i = 0; i < rs->n; i++)
        if (rs->fields[i].said == LR_SAID_SOURCE) return 0;
    return 1;
}

/* NULL: the column is as it was, or the job says what has become of it. */
static const char *change_of(lr_run *run, const lr_target *t, const line *was, const lr_field **is)
{
    const lr_dialect *d = run->session->warehouse->dialect;
    int edited = strcmp(t->memory->sha256, run->job->sha256) != 0, ours = lr_field_find(d, &t->rel, was->name);
    *is = NULL;
    for (int i = 0; i < t->source->n; i++)
        if (lr_name_equal(d, t->source->fields[i].name, was->name)) *is = &t->source->fields[i];
    if (ours < 0 || t->rel.fields[ours].generated) return NULL;
    if (*is == NULL) return all_named(t->source) || (edited && was->said != LR_SAID_SOURCE) ? NULL : "dropped";
    const char *now = (*is)->type.native;
    if ((*is)->said == LR_SAID_VALUE || (edited && (*is)->said == LR_SAID_NAME)) return NULL;
    if (was->type[0] == 0 || strcasecmp(now, was->type) == 0 || strcasecmp(now, t->rel.fields[ours].type.native) == 0) return NULL;
    return "type";
}

static void tell(lr_run *run, const lr_target *t, const line *was, const lr_field *is, const char *change)
{
    lr_event ev = {.name = "drift"};
    lr_event_text(&ev, "target", t->name);
    lr_event_text(&ev, "source_table", t->memory->source);
    lr_event_text(&ev, "column_name", was->name);
    lr_event_text(&ev, "change", change);
    lr_event_text(&ev, "type_before", was->type);
    lr_event_text(&ev, "type_now", is != NULL ? is->type.native : NULL);
    lr_report(run, &ev);
}

/* What lrun accept is to record. */
static void tell_columns(lr_run *run, const lr_target *t)
{
    lr_event ev = {.name = "columns"};
    lr_event_text(&ev, "target", t->name);
    lr_event_text(&ev, "source_table", t->memory->source);
    lr_event_int(&ev, "place", t->memory->place);
    lr_event_text(&ev, "columns", column_lines(run, t));
    lr_report(run, &ev);
}

int lr_drift_options(lr_target *t, const lr_args *args, lr_err *e)
{
    const char *missing = lr_arg_text(lr_arg_of(t->primitive, args, "missing_columns"), "error");
    const char *changed = lr_arg_text(lr_arg_of(t->primitive, args, "changed_columns"), "error");
    t->keeps_missing = strcmp(missing, "keep") == 0;
    t->nulls_missing = strcmp(missing, "null") == 0;
    t->accepts_types = strcmp(changed, "accept") == 0;
    if (!t->keeps_missing && !t->nulls_missing && strcmp(missing, "error") != 0) {
        lr_fail(e, LR_FAILED, "missing_columns = \"%s\" is not known", missing);
        return lr_hint(e, "use \"error\", \"null\" or \"keep\"");
    }
    if (!t->accepts_types && strcmp(changed, "error") != 0) {
        lr_fail(e, LR_FAILED, "changed_columns = \"%s\" is not known", changed);
        return lr_hint(e, "use \"error\" or \"accept\"");
    }
    if (!t->keeps_missing || !t->primitive->renews) return 0;
    lr_fail(e, LR_FAILED, "missing_columns = \"keep\" cannot be kept: %s writes each row anew, and no row keeps a value", t->primitive->name);
    return lr_hint(e, "use missing_columns = \"null\", or merge, which keeps the values of other columns");
}

/* What the change calls for; each word only where it fits. */
static int refuse(lr_run *run, const lr_target *t, const char *what, int missing, int types, const char *lacks, lr_err *e)
{
    const lr_job *job = run->job;
    lr_fail(e, LR_FAILED, "the source has changed since the last run: %s%s%s", what, lacks != NULL ? "; the target lacks " : "",
            lacks != NULL ? lacks : "");
    return lr_hint(e, "if that is right: lrun accept %s%s%s%s%s, or name the columns: columns = { ... }%s", job->path,
                   job->has_logical ? " --logical-date " : "", job->has_logical ? job->logical_date : "",
                   !missing ? "" : t->primitive->renews ? ", or missing_columns = \"null\" in the write"
                                                        : ", or missing_columns = \"keep\" or \"null\" in the write",
                   types ? ", or changed_columns = \"accept\" in the write" : "", lacks != NULL ? "; new_columns = \"add\" for what is new" : "");
}

/* Could the option's promise be broken by a constraint, or by a default? */
static int check_missing(const lr_target *t, const lr_field *f, lr_err *e)
{
    int renews = t->primitive->renews, history = strcmp(t->primitive->name, "scd2_merge") == 0;
    if (f->not_null && (t->nulls_missing || !f->has_default)) {
        lr_fail(e, LR_FAILED, "column %s of %s is NOT NULL, and %s no longer has it: missing_columns = \"%s\" would write NULL", f->name, t->name,
                t->memory->source, t->nulls_missing ? "null" : "keep");
        return lr_hint(e, "name the rows' columns and give it a value: columns = { ..., %s = \"'...'\" }, or take NOT NULL off the target's column%s", f->name,
                       renews ? "" : ", or give it a default with missing_columns = \"keep\"");
    }
    if (!t->nulls_missing || !history || !f->has_default) return 0;
    lr_fail(e, LR_FAILED, "column %s of %s has a default, which new versions get, not NULL", f->name, t->name);
    return lr_hint(e, "use missing_columns = \"keep\", or drop the default");
}

static void note_missing(lr_target *t, const line *was, const lr_field *f, lr_arena *a)
{
    const char **all = lr_alloc(a, (size_t)(t->nmissing + 1) * sizeof *all);
    if (t->nmissing > 0) memcpy(all, t->missing, (size_t)t->nmissing * sizeof *all);
    all[t->nmissing++] = f->name;
    t->missing = all;
    t->missing_lines = lr_printf(a, "%s%s\t%s\t%d\n", t->missing_lines != NULL ? t->missing_lines : "", was->name, was->type, was->said);
}

int lr_drift_check(lr_run *run, lr_target *t, const char *lacks, lr_err *e)
{
    if (run->mode != LR_MODE_RUN && run->mode != LR_MODE_PLAN) return 0;
    if (lr_memory_find(run, t->name, source_of(run, t), &t->memory, e) != 0) return -1;
    if (t->memory->before == NULL || t->created) return 0;
    const lr_dialect *d = run->session->warehouse->dialect;
    lr_buf what = {0};
    int missing = 0, types = 0, failed = 0;
    char *lines = lr_dup(&run->arena, t->memory->before), *save = NULL;
    for (char *text = strtok_r(lines, "\n", &save); failed == 0 && text != NULL; text = strtok_r(NULL, "\n", &save)) {
        line was;
        const lr_field *is;
        if (!read_line(text, &was)) continue;
        const char *change = change_of(run, t, &was, &is);
        if (change == NULL) continue;
        const lr_field *ours = &t->rel.fields[lr_field_find(d, &t->rel, was.name)];
        int stamp = t->stamp != NULL && lr_name_equal(d, ours->name, t->stamp);
        if (is == NULL && (t->keeps_missing || t->nulls_missing) && !stamp) {
            failed = check_missing(t, ours, e);
            note_missing(t, &was, ours, &run->arena);
            lr_note(run, "column %s (%s) is gone from %s: %s", was.name, was.type, t->memory->source,
                    t->keeps_missing ? "rows that are there keep its value" : "it is NULL in every row that is written");
            continue;
        }
        if (run->accepting) tell(run, t, &was, is, change);
        else if (is != NULL && t->accepts_types)
            lr_note(run, "%s: accepted: column %s was %s and is %s now", t->name, was.name, was.type, is->type.native);
        else if (is == NULL) lr_buf_printf(&what, "%scolumn %s (%s) is gone from %s", what.len > 0 ? "; " : "", was.name, was.type, t->memory->source);
        else lr_buf_printf(&what, "%scolumn %s was %s and is %s now", what.len > 0 ? "; " : "", was.name, was.type, is->type.native);
        missing |= is == NULL;
        types |= is != NULL;
    }
    if (run->accepting) {
        if (lacks != NULL) tell(run, t, &(line){lacks, "", 0}, NULL, "new");
        tell_columns(run, t);
    }
    if (failed == 0 && what.len > 0) failed = refuse(run, t, what.data, missing, types && !t->accepts_types, lacks, e);
    lr_buf_free(&what);
    return failed;
}

/* A subquery without a row is NULL, of the column's type. */
void lr_drift_nulls(lr_run *run, lr_target *t)
{
    if (!t->nulls_missing || t->nmissing == 0 || strcmp(t->primitive->name, "scd2_merge") == 0) return;
    lr_sql rows = lr_sql_new(&run->arena);
    const char **columns = lr_alloc(&run->arena, (size_t)(t->n + t->nmissing) * sizeof *columns);
    memcpy(columns, t->columns, (size_t)t->n * sizeof *columns);
    lr_sqlf(&rows, "SELECT \"rows\".*");
    for (int i = 0; i < t->nmissing; i++) {
        lr_sqlf(&rows, ", (SELECT %I FROM %T WHERE 1 = 0) AS %I", t->missing[i], &t->rel.table, t->missing[i]);
        columns[t->n++] = t->missing[i];
    }
    lr_sqlf(&rows, " FROM (%Q) AS \"rows\"", &t->rows);
    t->columns = columns;
    t->rows = rows;
}

int lr_drift_remember(lr_run *run, const lr_target *t, lr_err *e)
{
    if (run->mode != LR_MODE_RUN) return 0;
    return lr_memory_save(run, t->memory, column_lines(run, t), e);
}
