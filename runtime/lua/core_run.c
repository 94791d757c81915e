/* core.run and core.describe: jobs for the commands of stdlib/. */
#include "lua/host.h"
#include "lua/job.h"
#include "run/stop.h"
#include <stdlib.h>
#include <string.h>

/* ---- events to the host's function ---- */

typedef struct delivery {
    struct lr_reporter *reporter;
    const lr_event *event;
} delivery;

static int deliver(lua_State *L)
{
    delivery *d = lua_touserdata(L, 1);
    const lr_event *ev = d->event;
    lua_rawgeti(L, LUA_REGISTRYINDEX, d->reporter->function);
    lua_pushstring(L, ev->name);
    lua_createtable(L, 0, ev->n);
    lua_createtable(L, ev->n, 0);
    for (int i = 0; i < ev->n; i++) {
        lr_push_value(L, &ev->values[i]);
        lua_setfield(L, -3, ev->keys[i]);
        lua_pushstring(L, ev->keys[i]);
        lua_rawseti(L, -2, i + 1);
    }
    if (strcmp(ev->name, "before") == 0) { /* the job's line, which asks for the statement */
        char where[256];
        lr_vm_at_work(where, sizeof where);
        lua_pushstring(L, where);
        lua_setfield(L, -3, "where");
    }
    lua_call(L, 3, 0);
    return 0;
}

static void report(void *arg, const lr_event *ev)
{
    struct lr_reporter *r = arg;
    delivery d = {r, ev};
    lr_err e = {0};
    if (r->function == LUA_NOREF) return;
    if (lr_vm_protected(lr_vm_of(r->L), deliver, &d, &e) != 0 && r->run != NULL) lr_doom(r->run, &e);
}

/* ---- configuration ---- */

static const char *text_field(lua_State *L, int at, const char *name, lr_arena *a)
{
    lua_getfield(L, at, name);
    const char *out = lua_type(L, -1) == LUA_TSTRING ? lr_dup(a, lua_tostring(L, -1)) : NULL;
    lua_pop(L, 1);
    return out;
}

int lr_flag_field(lua_State *L, int at, const char *name)
{
    lua_getfield(L, at, name);
    int out = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return out;
}

static lua_Number number_field(lua_State *L, int at, const char *name)
{
    lua_getfield(L, at, name);
    lua_Number out = lua_tonumber(L, -1);
    lua_pop(L, 1);
    return out;
}

static void read_connections(lua_State *L, int at, lr_arena *a, lr_session_config *s)
{
    lua_getfield(L, at, "connections");
    if (lua_istable(L, -1)) {
        int list = lua_gettop(L), n = (int)lua_rawlen(L, list);
        lr_named *named = lr_alloc(a, (size_t)(n + 1) * sizeof *named);
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, list, i + 1);
            int entry = lua_gettop(L);
            named[i].name = text_field(L, entry, "name", a);
            named[i].url = text_field(L, entry, "url", a);
            named[i].ledger_schema = text_field(L, entry, "ledger_schema", a);
            named[i].must_exist = lr_flag_field(L, entry, "must_exist");
            named[i].row_security = lr_flag_field(L, entry, "row_security");
            lua_pop(L, 1);
        }
        s->named = named;
        s->n = n;
    }
    lua_pop(L, 1);
}

static int compare_params(const void *x, const void *y)
{
    return strcmp(((const lr_param *)x)->name, ((const lr_param *)y)->name);
}

static void read_params(lua_State *L, int at, lr_arena *a, lr_execution_config *cfg)
{
    lua_getfield(L, at, "params");
    if (lua_istable(L, -1)) {
        int table = lua_gettop(L), n = 0;
        for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) n++;
        lr_param *params = lr_alloc(a, (size_t)(n + 1) * sizeof *params);
        n = 0;
        for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1)) {
            params[n].name = lr_dup(a, luaL_checkstring(L, -2));
            params[n++].value = lr_dup(a, luaL_checkstring(L, -1));
        }
        if (n > 1) qsort(params, (size_t)n, sizeof *params, compare_params);
        cfg->params = params;
        cfg->nparams = n;
    }
    lua_pop(L, 1);
}

void lr_read_config(lua_State *L, int at, lr_arena *a, lr_execution_config *cfg, struct lr_reporter *r)
{
    static const struct {
        const char *name;
        lr_mode mode;
    } modes[] = {{"run", LR_MODE_RUN}, {"plan", LR_MODE_PLAN}, {"prompt", LR_MODE_PROMPT}, {"reconcile", LR_MODE_RECONCILE}};
    memset(cfg, 0, sizeof *cfg);
    luaL_checktype(L, at, LUA_TTABLE);
    cfg->path = text_field(L, at, "path", a);
    cfg->logical_date = text_field(L, at, "logical_date", a);
    cfg->run_start = text_field(L, at, "run_start", a);
    cfg->allow_open = lr_flag_field(L, at, "allow_open");
    cfg->verbose = lr_flag_field(L, at, "verbose");
    cfg->max_memory = (size_t)number_field(L, at, "max_memory");
    cfg->must_compare = lr_flag_field(L, at, "must_compare");
    cfg->by_rows = lr_flag_field(L, at, "by_rows");
    cfg->sandbox = lr_flag_field(L, at, "sandbox");
    cfg->trace = lr_flag_field(L, at, "trace");
    cfg->accepting = lr_flag_field(L, at, "accepting");
    cfg->max_instructions = (int64_t)number_field(L, at, "max_instructions");
    cfg->max_seconds = number_field(L, at, "max_seconds");
    const char *mode = text_field(L, at, "mode", a);
    for (size_t i = 0; mode != NULL && i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(mode, modes[i].name) == 0) cfg->mode = modes[i].mode;
    read_params(L, at, a, cfg);
    read_connections(L, at, a, &cfg->session);
    cfg->session.must_exist = lr_flag_field(L, at, "must_exist");
    cfg->session.lock_timeout_ms = (int)number_field(L, at, "lock_timeout_ms");
    cfg->session.readonly = cfg->mode == LR_MODE_PLAN || cfg->mode == LR_MODE_RECONCILE;
    cfg->session.temporary = cfg->mode == LR_MODE_RECONCILE;
    r->L = L;
    r->function = LUA_NOREF;
    lua_getfield(L, at, "on_event");
    if (lua_isfunction(L, -1)) r->function = luaL_ref(L, LUA_REGISTRYINDEX);
    else lua_pop(L, 1);
    cfg->report = report;
    cfg->report_arg = r;
}

int lr_push_failure(lua_State *L, const lr_err *e)
{
    lua_pushnil(L);
    lr_push_error(L, e);
    return 2;
}

void lr_push_error(lua_State *L, const lr_err *e)
{
    char text[2048], field[sizeof text];
    lr_err_format(e, text, sizeof text);
    const struct {
        const char *name, *value;
    } fields[] = {{"where", e->where}, {"step", e->step}, {"message", e->message}, {"hint", e->hint},
                  {"sqlstate", e->sqlstate}, {"text", text}};
    lua_createtable(L, 0, 10);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        if (fields[i].value[0] == 0) continue;
        lr_visible(fields[i].value, strlen(fields[i].value), field, sizeof field);
        lua_pushstring(L, field);
        lua_setfield(L, -2, fields[i].name);
    }
    if (e->statement[0] != 0) lr_set_text(L, "statement", e->statement); /* as it was run */
    lua_pushinteger(L, e->status == LR_OK ? LR_FAILED : e->status);
    lua_setfield(L, -2, "status");
    if (e->code != 0) {
        lua_pushinteger(L, e->code);
        lua_setfield(L, -2, "code");
    }
}

/* ---- an execution as a userdata ---- */

typedef struct execbox {
    lr_arena arena; /* of the configuration */
    lr_execution_config config;
    struct lr_reporter reporter;
    lr_execution x;
} execbox;

static int exec_close(lua_State *L)
{
    execbox *box = luaL_checkudata(L, 1, "lrun.execution");
    lr_execution_free(&box->x);
    lr_arena_free(&box->arena);
    return 0;
}

static execbox *push_execution(lua_State *L)
{
    execbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    luaL_setmetatable(L, "lrun.execution");
    return box;
}

static void set_int(lua_State *L, const char *name, int64_t value)
{
    lua_pushinteger(L, value);
    lua_setfield(L, -2, name);
}

void lr_set_text(lua_State *L, const char *name, const char *text)
{
    lua_pushstring(L, text);
    lua_setfield(L, -2, name);
}

/* core.run(config): { status, job, run_id, ..., error = { ... } } */
static int core_run(lua_State *L)
{
    lr_err e = {0};
    execbox *box = push_execution(L);
    lr_read_config(L, 1, &box->arena, &box->config, &box->reporter);
    box->reporter.run = &box->x.run;
    lr_stop_limit former = lr_stop_within(box->config.max_seconds);
    int failed = lr_execution_run(&box->x, &box->config, &e), late = lr_stop_late();
    lr_stop_restore(former);
    luaL_unref(L, LUA_REGISTRYINDEX, box->reporter.function);
    lr_push_outcome(L, &box->x, failed, &e);
    const lr_vm *vm = box->x.vm;
    const char *limit = !failed || vm == NULL ? NULL : vm->spent ? "instructions" : vm->over ? "memory" : late ? "time" : NULL;
    if (limit != NULL) lr_set_text(L, "limit", limit);
    if (box->x.job.manual) {
        lua_pushboolean(L, 1);
        lua_setfield(L, -2, "manual");
    }
    lr_execution_free(&box->x);
    lr_arena_free(&box->arena);
    return 1;
}

/* The parameters that the job asked for, by name. */
static void push_read(lua_State *L, const lr_execution *x)
{
    lua_createtable(L, 0, x->config->nparams);
    for (int i = 0; x->param_read != NULL && i < x->config->nparams; i++) {
        lua_pushboolean(L, x->param_read[i]);
        lua_setfield(L, -2, x->config->params[i].name);
    }
}

void lr_push_outcome(lua_State *L, const lr_execution *x, int failed, const lr_err *e)
{
    /* what is committed in a sandbox is nothing that anybody keeps */
    if (x->committed && !x->config->sandbox) lr_vm_of(L)->committed = 1;
    lua_createtable(L, 0, 16);
    set_int(L, "status", failed ? (e->status == LR_OK ? LR_FAILED : e->status) : LR_OK);
    if (x->job.name != NULL) lr_set_text(L, "job", x->job.name);
    if (x->job.has_logical) lr_set_text(L, "logical_date", x->job.logical_date);
    set_int(L, "run_id", x->run_id);
    set_int(L, "rows_read", x->counts.read);
    set_int(L, "rows_inserted", failed ? 0 : x->counts.inserted);
    set_int(L, "rows_updated", failed ? 0 : x->counts.updated);
    set_int(L, "rows_deleted", failed ? 0 : x->counts.deleted);
    set_int(L, "rows_skipped", x->counts.skipped);
    set_int(L, "checks", x->checks);
    set_int(L, "differs", x->differs);
    set_int(L, "attempts", x->attempts);
    lua_pushboolean(L, x->committed);
    lua_setfield(L, -2, "committed");
    push_read(L, x);
    lua_setfield(L, -2, "params_read");
    if (!failed) return;
    lr_push_error(L, e);
    lua_setfield(L, -2, "error");
}

void lr_push_job(lua_State *L, const lr_job *job)
{
    lua_createtable(L, 0, 6);
    lr_set_text(L, "name", job->name);
    lr_set_text(L, "grain", lr_grain_name(job->grain));
    lr_set_text(L, "zone", lr_zone_name(job->zone));
    lr_set_text(L, "params", job->params);
    lr_set_text(L, "sha256", job->sha256);
}

/* core.describe(config): { name, grain, zone, params, sha256 } or nil, error */
static int core_describe(lua_State *L)
{
    lr_err e = {0};
    execbox *box = push_execution(L);
    lr_read_config(L, 1, &box->arena, &box->config, &box->reporter);
    if (lr_execution_describe(&box->x, &box->config, &e) != 0) return lr_push_failure(L, &e);
    lr_push_job(L, &box->x.job);
    return 1;
}

void lr_open_core_run(lua_State *L)
{
    static const luaL_Reg functions[] = {{"run", core_run}, {"describe", core_describe}, {NULL, NULL}};
    lr_new_closed(L, "lrun.execution", exec_close);
    luaL_setfuncs(L, functions, 0);
}
