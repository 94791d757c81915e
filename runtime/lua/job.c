/* Running a job file. */
#include "lua/job.h"
#include "base/sha256.h"
#include "lua/globals.h"
#include "lua/sandbox.h"
#include "run/stop.h"
#include "run/url.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

void lr_execution_free(lr_execution *x)
{
    /* Cursors in the state before their connection; both before the arena. */
    lr_vm_free(x->vm);
    lr_run_free(&x->run);
    lr_session_close(&x->session);
    free(x->text);
    lr_arena_free(&x->arena);
    memset(x, 0, sizeof *x);
}

static int read_file(lr_execution *x, lr_err *e)
{
    struct stat st;
    const char *path = x->job.path;
    FILE *f = fopen(path, "rb");
    if (f == NULL || fstat(fileno(f), &st) != 0 || S_ISDIR(st.st_mode)) {
        lr_fail(e, LR_USAGE, "%s: %s", lr_url_shown(&x->arena, path), f == NULL ? strerror(errno) : "is a directory");
        if (f != NULL) fclose(f);
        return lr_hint(e, "name a job file, such as jobs/orders.lua");
    }
    lr_buf b = {0};
    char part[16384];
    size_t n;
    while ((n = fread(part, 1, sizeof part, f)) > 0) lr_buf_add(&b, part, n);
    int failed = ferror(f);
    fclose(f);
    x->text = b.data != NULL ? b.data : lr_strdup("");
    x->size = b.len;
    if (failed) return lr_fail(e, LR_USAGE, "%s: cannot be read", path);
    lr_sha256_hex(x->text, x->size, x->job.sha256);
    /* neither a byte order mark nor a first line for the shell is Lua */
    if (x->size >= 3 && memcmp(x->text, "\xEF\xBB\xBF", 3) == 0) memset(x->text, ' ', 3);
    if (x->size > 1 && x->text[0] == '#') memset(x->text, ' ', strcspn(x->text, "\n"));
    return 0;
}

static const char *file_name(lr_arena *a, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash != NULL ? slash + 1 : path;
    size_t n = strlen(base);
    if (n > 4 && strcmp(base + n - 4, ".lua") == 0) n -= 4;
    return lr_dupn(a, base, n);
}

static void json_string(lr_buf *b, const char *z)
{
    lr_buf_putc(b, '"');
    for (; *z != 0; z++) {
        unsigned char c = (unsigned char)*z;
        if (c == '"' || c == '\\') lr_buf_printf(b, "\\%c", c);
        else if (c < 0x20) lr_buf_printf(b, "\\u%04x", c);
        else lr_buf_putc(b, (char)c);
    }
    lr_buf_putc(b, '"');
}

static const char *params_json(lr_execution *x)
{
    lr_buf b = {0};
    lr_buf_putc(&b, '{');
    for (int i = 0; i < x->config->nparams; i++) {
        if (i > 0) lr_buf_putc(&b, ',');
        json_string(&b, x->config->params[i].name);
        lr_buf_putc(&b, ':');
        json_string(&b, x->config->params[i].value);
    }
    lr_buf_putc(&b, '}');
    const char *out = lr_dup(&x->arena, b.data);
    lr_buf_free(&b);
    return out;
}

static int new_vm(lr_execution *x, lr_err *e)
{
    x->vm = lr_vm_new(x->config->max_memory);
    if (x->vm == NULL) return lr_fail(e, LR_FAILED, "not enough memory");
    x->vm->job = &x->job;
    x->vm->most_instructions = x->config->max_instructions;
    return 0;
}

int lr_execution_describe(lr_execution *x, const lr_execution_config *cfg, lr_err *e)
{
    x->config = cfg;
    x->job.grain = LR_DAY;
    x->job.zone = lr_zone_utc();
    x->job.path = cfg->path != NULL ? lr_dup(&x->arena, cfg->path) : NULL;
    x->job.name = cfg->path != NULL ? file_name(&x->arena, cfg->path) : "prompt";
    x->job.params = params_json(x);
    x->param_read = lr_alloc(&x->arena, (size_t)(cfg->nparams + 1) * sizeof *x->param_read);
    if (new_vm(x, e) != 0) return -1;
    if (cfg->path == NULL) return 0;
    if (read_file(x, e) != 0) return -1;
    int failed = lr_vm_protected(x->vm, lr_probe, x, e);
    /* Wrong use, and nothing has been opened; but a stop or no memory is not. */
    if (failed != 0 && e->status == LR_FAILED && strstr(e->message, "memory") == NULL && !lr_stop_poll(NULL))
        e->status = LR_USAGE;
    return failed;
}

static int read_run_start(lr_execution *x, lr_err *e)
{
    lr_job *job = &x->job;
    const char *text = x->config->run_start;
    job->clock = lr_clock_us();
    if (text != NULL) {
        lr_time t;
        if (lr_time_parse(text, strlen(text), job->zone, &t) != 0) {
            lr_fail(e, LR_USAGE, "--run-start '%s' is no date or time", text);
            return lr_hint(e, "write it as 2026-01-26 or \"2026-01-26 06:30:00\"");
        }
        job->clock = job->run_start = t.us;
    } else {
        job->run_start = job->names_grain ? lr_grain_floor(job->zone, job->grain, job->clock) : job->clock;
    }
    return 0;
}

static int read_dates(lr_execution *x, const char *logical_date, lr_err *e)
{
    lr_job *job = &x->job;
    char text[40], stop[40];
    if (read_run_start(x, e) != 0) return -1;
    if (logical_date == NULL) return 0;
    if (lr_grain_date(job->zone, job->grain, logical_date, &job->logical_start, e) != 0)
        return lr_step(e, "--logical-date");
    job->has_logical = 1;
    job->logical_stop = lr_grain_next(job->zone, job->grain, job->logical_start);
    lr_grain_format(job->zone, job->grain, job->logical_start, job->logical_date);
    if (job->logical_stop >= lr_zone_instant(job->zone, INT64_C(253402300800) * LR_US_PER_SECOND, NULL)) {
        lr_fail(e, LR_USAGE, "the %s %s ends past the year 9999", lr_grain_name(job->grain), job->logical_date);
        return lr_hint(e, "take an earlier one");
    }
    if (job->logical_stop <= job->run_start || x->config->allow_open) return 0;
    lr_fail(e, LR_USAGE, "the %s %s is not over: its window ends at %s, and the run starts at %s", lr_grain_name(job->grain),
            job->logical_date, lr_format_short(job->zone, job->logical_stop, stop), lr_format_short(job->zone, job->run_start, text));
    return lr_hint(e, "pass --allow-open to run an unfinished %s", lr_grain_name(job->grain));
}

static void set_run(lr_execution *x)
{
    lr_run *run = &x->run;
    run->session = &x->session;
    run->job = &x->job;
    run->mode = x->config->mode;
    run->verbose = x->config->verbose;
    run->backfill = x->backfill;
    run->must_compare = x->config->must_compare;
    run->by_rows = x->config->by_rows;
    run->trace = x->config->trace;
    run->accepting = x->config->accepting;
    run->report = x->config->report;
    run->report_arg = x->config->report_arg;
    run->attempt = x->attempts;
    run->run_id = x->run_id;
    x->vm->run = run;
}

int lr_execution_open(lr_execution *x, const lr_execution_config *cfg, lr_err *e)
{
    if (lr_execution_describe(x, cfg, e) != 0 || read_dates(x, cfg->logical_date, e) != 0) return -1;
    x->attempts = 1;
    if (lr_session_open(&x->session, &cfg->session, e) != 0) return -1;
    set_run(x);
    x->session.wants_alone = 1;
    if (lr_run_begin(&x->run, e) != 0) return -1;
    x->vm->first_call = 0;
    return lr_vm_protected(x->vm, lr_open_globals, x, e);
}

static int chunk(lua_State *L)
{
    lr_execution *x = lua_touserdata(L, 1);
    lua_settop(L, 0);
    lua_pushfstring(L, "@%s", x->job.path);
    if (luaL_loadbufferx(L, x->text, x->size, lua_tostring(L, 1), "t") != LUA_OK) return lua_error(L);
    lua_replace(L, 1);
    lua_call(L, 0, 0);
    return 0;
}

static void tell_start(lr_execution *x)
{
    char text[40];
    lr_event ev = {.name = "run"};
    lr_event_text(&ev, "job", x->job.name);
    lr_event_int(&ev, "run_id", x->run.run_id);
    lr_event_text(&ev, "logical_date", x->job.has_logical ? x->job.logical_date : NULL);
    lr_event_text(&ev, "run_start", lr_format_offset(x->job.zone, x->job.run_start, text));
    for (int i = 0; i < x->session.n; i++) {
        const lr_place *p = &x->session.places[i];
        if (strcmp(p->name, "source") == 0 || p == x->session.warehouse) lr_event_text(&ev, p->name, p->shown);
    }
    lr_report(&x->run, &ev);
}

/* A parameter with a slip in its name would leave the job its default. */
static void tell_unread(lr_execution *x)
{
    for (int i = 0; i < x->config->nparams; i++)
        if (!x->param_read[i]) lr_note(&x->run, "the job has not read the parameter \"%s\"", x->config->params[i].name);
}

/* One attempt: begin, the job's lines, commit; or roll back. */
static int attempt(lr_execution *x, lr_err *e)
{
    set_run(x);
    int failed = lr_run_begin(&x->run, e);
    if (failed == 0) tell_start(x);
    if (failed == 0) failed = lr_vm_protected(x->vm, lr_open_globals, x, e);
    if (failed == 0 && x->config->sandbox) failed = lr_vm_protected(x->vm, lr_sandbox, NULL, e);
    x->vm->first_call = 0;
    x->vm->instructions = 0;
    if (failed == 0) failed = lr_vm_protected(x->vm, chunk, x, e);
    /* a call that was cut off may have done a part of its work */
    if (failed == 0 && x->vm->depth != 0 && !x->run.doomed) failed = lr_fail(e, LR_FAILED, "a call ended for lack of memory, and the job went on");
    if (failed == 0) tell_unread(x);
    if (failed == 0) failed = lr_run_commit(&x->run, e);
    if (failed == 0) x->committed = x->config->mode == LR_MODE_RUN;
    x->counts = x->run.counts;
    x->checks = x->run.checks;
    x->differs = x->run.differs;
    if (failed != 0) {
        /* open cursors would hold the transaction */
        lua_gc(x->vm->L, LUA_GCCOLLECT, 0);
        lr_run_abandon(&x->run, e);
    }
    x->run_id = x->run.run_id;
    return failed;
}

static int fresh_state(lr_execution *x, lr_err *e)
{
    lr_vm_free(x->vm);
    lr_run_free(&x->run);
    return new_vm(x, e);
}

/* Words of a job that may write SQL for a source, here or in a module: the second
 * connection that this may need is not opened for the others. */
static int may_write_sql(const char *text)
{
    static const char *const words[] = {"sql", "where", "columns", "query", "require", "load", "dofile"};
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++)
        if (strstr(text, words[i]) != NULL) return 1;
    return 0;
}

static int attempts(lr_execution *x, lr_err *e)
{
    x->session.wants_alone |= may_write_sql(x->text);
    int counted = 0;
    for (x->attempts = 1;; x->attempts++) {
        int failed = attempt(x, e);
        counted += e->retry != LR_RETRY_FREE;
        if (failed == 0 || !e->retry || counted == 3 || x->attempts == 100) return failed;
        /* nothing was kept: once more, with a state and a run of its own */
        lr_err_clear(e);
        if (fresh_state(x, e) != 0) return -1;
    }
}

int lr_execution_run(lr_execution *x, const lr_execution_config *cfg, lr_err *e)
{
    if (lr_execution_describe(x, cfg, e) != 0 || read_dates(x, cfg->logical_date, e) != 0) return -1;
    if (lr_session_open(&x->session, &cfg->session, e) != 0) return -1;
    return attempts(x, e);
}

int lr_execution_series(lr_execution *x, const lr_execution_config *cfg, const char *last, lr_err *e)
{
    if (lr_execution_describe(x, cfg, e) != 0 || read_dates(x, last, e) != 0) return -1;
    return lr_session_open(&x->session, &cfg->session, e);
}

int lr_execution_date(lr_execution *x, const char *logical_date, lr_err *e)
{
    x->committed = 0;
    x->run_id = 0;
    x->checks = x->differs = 0;
    memset(&x->counts, 0, sizeof x->counts);
    /* cursors before the tables that they read */
    if (x->vm != NULL) lua_gc(x->vm->L, LUA_GCCOLLECT, 0);
    if (lr_run_unstage(&x->run, e) != 0 || fresh_state(x, e) != 0 || read_dates(x, logical_date, e) != 0) return -1;
    return attempts(x, e);
}
