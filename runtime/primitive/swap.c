/* swap: a private copy beside the target is filled and checked, and then takes
 * the target's place in the run's transaction. */
#include "primitive/target.h"
#include "sql/copy.h"
#include <string.h>
#include <unistd.h>

static const lr_option options[] = {
    LR_WRITE_OPTIONS,
    {"check", LR_ARG_FUNCTION, 0, NULL,
     "function(t) ... end: t is the copy's name, for query and reconcile; an error, false, or nil with a message fails the run"},
    {"by", LR_ARG_STRING, 0, "rows",
     "\"rows\" replaces the target's rows: readers see all old or all new ones. \"rename\" drops the target and renames the copy, for "
     "tables too big to be written twice: readers of PostgreSQL wait from the drop to the commit, and one whose snapshot is older than "
     "the commit finds the table empty"},
    {"key", LR_ARG_STRING | LR_ARG_LIST, 0, NULL, "primary key of a new target"},
    {"allow_empty", LR_ARG_BOOL, 0, "false", "let an empty extract empty a target that has rows"},
};

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);

const lr_primitive lr_primitive_swap = {
    .name = "swap",
    .summary = "build a copy beside the target, check it, then put its rows in the target's place in the same transaction",
    .first_name = "the rows",
    .first_accepts = LR_ARG_ROWS,
    .options = options,
    .noptions = sizeof options / sizeof options[0],
    .writes = 1,
    .renews = 1,
    .returns = "{ read, inserted, updated, deleted, skipped }. The copy has the target's columns, constraints and indexes; it is gone "
               "when the run ends. With by = \"rename\" it has the target's comments, owner, grants, triggers and sequences too",
    .refuses = "a check that fails; an empty extract over a target with rows, unless allow_empty = true; by = \"rename\" of a distributed or reference table of Citus, and where a view, "
               "a foreign key or the like depends on the target (named, before any row is read)",
    .example = "swap { rows, into = \"dw_orders\", check = function(t) reconcile { rows, with = t, sum = \"amount\" } end }",
    .idea = "write, audit, publish, as Netflix named it",
    .call = call,
};

static int run_all(lr_run *run, const lr_statements *list, lr_err *e)
{
    for (int i = 0; i < list->n; i++)
        if (lr_write(run, &list->sql[i], NULL, e) != 0) return -1;
    return 0;
}

/* One of the copier's steps: what it says, done. */
static int step(lr_run *run, const lr_copy *c, int (*fn)(const lr_copy *, lr_statements *, lr_err *), lr_err *e)
{
    lr_statements list = {0};
    return fn(c, &list, e) != 0 ? -1 : run_all(run, &list, e);
}

/* As a job writes it into SQL, and as reconcile takes it. */
static const char *name_for_job(const lr_run *run, const lr_table *t, lr_arena *a)
{
    if (!run->session->warehouse->dialect->has_schemas || t->schema == NULL) return t->name;
    int simple = strspn(t->schema, "abcdefghijklmnopqrstuvwxyz0123456789_") == strlen(t->schema);
    if (simple) return lr_printf(a, "%s.%s", t->schema, t->name);
    lr_sql q = lr_sql_new(a);
    lr_sqlf(&q, "%T", t);
    return q.text;
}

static int ask(lr_run *run, const lr_args *args, const lr_target *t, const lr_table *copy, lr_err *e)
{
    int passed = 1;
    if (lr_arg_of(&lr_primitive_swap, args, "check")->type != LR_ARG_FUNCTION) return 0;
    if (args->ask(args, name_for_job(run, copy, &run->arena), &passed, e) != 0) return -1;
    if (passed) return 0;
    const char *why = lr_dup(&run->arena, e->message);
    lr_err_clear(e);
    lr_fail(e, LR_FAILED, "the check of the new rows for %s failed%s%s", t->name, why[0] != 0 ? ": " : "", why);
    return lr_hint(e, "%s is as it was; look at what the check found", t->name);
}

/* The old rows go and the copy's come: one statement each, seen by nobody in between. */
static int replace_rows(lr_run *run, const lr_target *t, const lr_copy *c, lr_counts *n, lr_err *e)
{
    lr_sql delete = lr_sql_new(&run->arena), list = lr_sql_new(&run->arena), insert = lr_sql_new(&run->arena), drop = lr_sql_new(&run->arena);
    lr_sqlf(&delete, "DELETE FROM %T", &t->rel.table);
    for (int i = 0; i < t->n; i++) lr_sqlf(&list, i == 0 ? "%I" : ", %I", t->columns[i]);
    if (t->stamp != NULL) lr_sqlf(&list, ", %I", t->stamp);
    lr_sqlf(&insert, "INSERT INTO %T (%Q)%s SELECT %Q FROM %T", &t->rel.table, &list, run->session->warehouse->dialect->overriding, &list, &c->copy);
    lr_sqlf(&drop, "DROP TABLE %T", &c->copy);
    if (lr_write(run, &delete, &n->deleted, e) != 0 || lr_write(run, &insert, &n->inserted, e) != 0) return -1;
    return lr_write(run, &drop, NULL, e);
}

static int rename_copy(lr_run *run, const lr_target *t, const lr_copy *c, lr_counts *n, lr_err *e)
{
    lr_sql all = lr_sql_new(&run->arena);
    lr_sqlf(&all, "SELECT 1 FROM %T", &t->rel.table);
    if (run->mode != LR_MODE_PLAN && lr_count_rows(run, &all, &n->deleted, e) != 0) return -1;
    n->inserted = n->read;
    return step(run, c, run->session->warehouse->dialect->copier->replace, e);
}

/* Before any work: what would not follow the table to its new self. */
static int refuse_dependents(lr_run *run, const lr_args *args, const lr_copier *copier, lr_err *e)
{
    const lr_place *w = run->session->warehouse;
    const char *into = lr_arg_text(lr_arg_of(&lr_primitive_swap, args, "into"), NULL), *what;
    lr_copy c = {w->driver, w->conn, &run->arena, {NULL, NULL}, {NULL, NULL}, 1};
    lr_relation rel;
    if (lr_place_relation(w, &run->arena, into, 1, &rel, e) != 0) return -1;
    if (!rel.exists || rel.is_view) return 0;
    if (rel.distributed) {
        lr_fail(e, LR_FAILED, "%s is a distributed or reference table of Citus, and a renamed copy would be a plain local one", rel.table.name);
        return lr_hint(e, "swap by rows, which is the default: leave out by = \"rename\"");
    }
    c.table = rel.table;
    if (copier->blocker(&c, &what, e) != 0) return -1;
    if (what == NULL) return 0;
    lr_fail(e, LR_FAILED, "%s cannot be swapped by name: %s depends on it or is a part of it", rel.table.name, what);
    return lr_hint(e, "swap by rows, which is the default: whatever depends on the table keeps working");
}

static int swap(lr_run *run, const lr_args *args, lr_target *t, lr_result *out, lr_err *e)
{
    const lr_primitive *p = &lr_primitive_swap;
    const lr_place *w = run->session->warehouse;
    const lr_copier *copier = w->dialect->copier;
    const char *by = lr_arg_text(lr_arg_of(p, args, "by"), "rows"), **key;
    int nkey, rename = strcmp(by, "rename") == 0;
    lr_counts n = {0};
    if (!rename && strcmp(by, "rows") != 0) {
        lr_fail(e, LR_FAILED, "by = \"%s\" is not known", by);
        return lr_hint(e, "use \"rows\" or \"rename\"");
    }
    if (lr_arg_names(&run->arena, lr_arg_of(p, args, "key"), &key, &nkey, e) != 0) return -1;
    if (run->mode == LR_MODE_RECONCILE) return lr_target_noted(run, p, args, key, nkey, NULL, out, e);
    if (rename && refuse_dependents(run, args, copier, e) != 0) return -1;
    if (lr_target_open_without(run, p, args, key, nkey, NULL, 1, t, e) != 0) return -1;
    if (!rename && lr_refuse_cascade(t, e) != 0) return -1;
    if (lr_refuse_empty(run, t, lr_arg_bool(lr_arg_of(p, args, "allow_empty"), 0), e) != 0) return -1;
    lr_copy c = {w->driver, w->conn, &run->arena, t->rel.table, {t->rel.table.schema, NULL}, rename};
    c.copy.name = lr_printf(&run->arena, "lrun_swap_%lld_%ld_%lld", (long long)run->run_id, (long)getpid(), (long long)++run->swaps);
    lr_target copy = *t;
    copy.rel.table = c.copy;
    if (step(run, &c, copier->make, e) != 0 || lr_target_fill(run, &copy, &n.read, e) != 0) return -1;
    if (run->mode == LR_MODE_PLAN)
        return replace_rows(run, t, &c, &n, e) != 0 ? -1 : lr_target_done(run, t, &n, NULL, NULL, out, e);
    if (step(run, &c, copier->finish, e) != 0 || ask(run, args, t, &c.copy, e) != 0) return -1;
    if ((rename ? rename_copy(run, t, &c, &n, e) : replace_rows(run, t, &c, &n, e)) != 0) return -1;
    return lr_target_done(run, t, &n, NULL, NULL, out, e);
}

static int call(lr_run *run, const lr_args *args, lr_result *out, lr_err *e)
{
    lr_target t = {.once = 1};
    return lr_target_close(run, &t, swap(run, args, &t, out, e), e);
}
