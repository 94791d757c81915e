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

/* The rows' columns, as the ledger keeps them. */
static const char *column_lines(lr_run *run, const lr_rowset *rs)
{
    lr_buf b = {0};
    for (int i = 0; i < rs->n; i++) lr_buf_printf(&b, "%s\t%s\t%d\n", rs->fields[i].name, rs->fields[i].type.native, (int)rs->fields[i].said);
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
    lr_event_text(&ev, "columns", column_lines(run, t->source));
    lr_report(run, &ev);
}

static int refuse(lr_run *run, const lr_target *t, const char *what, const char *missing, lr_err *e)
{
    const lr_job *job = run->job;
    lr_fail(e, LR_FAILED, "the source has changed since the last run: %s%s%s", what, missing != NULL ? "; the target lacks " : "",
            missing != NULL ? missing : "");
    (void)t;
    return lr_hint(e, "if that is right: lrun accept %s%s%s, or changed_columns = \"accept\" in the write, or name the columns: "
                      "columns = { ... }%s", job->path, job->has_logical ? " --logical-date " : "", job->has_logical ? job->logical_date : "",
                   missing != NULL ? "; new_columns = \"add\" for what is new" : "");
}

int lr_drift_check(lr_run *run, lr_target *t, const char *missing, int accept, lr_err *e)
{
    if (run->mode != LR_MODE_RUN && run->mode != LR_MODE_PLAN) return 0;
    if (lr_memory_find(run, t->name, source_of(run, t), &t->memory, e) != 0) return -1;
    if (t->memory->before == NULL || t->created) return 0;
    lr_buf what = {0};
    char *lines = lr_dup(&run->arena, t->memory->before), *save = NULL;
    for (char *text = strtok_r(lines, "\n", &save); text != NULL; text = strtok_r(NULL, "\n", &save)) {
        line was;
        const lr_field *is;
        if (!read_line(text, &was)) continue;
        const char *change = change_of(run, t, &was, &is);
        if (change == NULL) continue;
        if (run->accepting) tell(run, t, &was, is, change);
        else if (is == NULL) lr_buf_printf(&what, "%scolumn %s (%s) is gone from %s", what.len > 0 ? "; " : "", was.name, was.type, t->memory->source);
        else lr_buf_printf(&what, "%scolumn %s was %s and is %s now", what.len > 0 ? "; " : "", was.name, was.type, is->type.native);
    }
    if (run->accepting) {
        if (missing != NULL) tell(run, t, &(line){missing, "", 0}, NULL, "new");
        tell_columns(run, t);
    }
    int failed = what.len > 0 && !accept ? refuse(run, t, what.data, missing, e) : 0;
    if (what.len > 0 && accept) lr_note(run, "%s: accepted: %s", t->name, what.data);
    lr_buf_free(&what);
    return failed;
}

int lr_drift_remember(lr_run *run, const lr_target *t, lr_err *e)
{
    if (run->mode != LR_MODE_RUN) return 0;
    return lr_memory_save(run, t->memory, column_lines(run, t->source), e);
}
