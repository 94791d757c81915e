/* What a job finds around it: the primitives, its dates, params, a clock that
 * stands still, and an error for every name that is not there. */
#include "lua/globals.h"
#include "lua/job.h"
#include <string.h>

extern int luaopen_cjson(lua_State *L);

static lr_execution *execution_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

static int raise_plain(lua_State *L, const char *message, const char *hint)
{
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "%s", message);
    lr_hint(&e, "%s", hint);
    return lr_raise(L, &e);
}

static int l_param(lua_State *L)
{
    const lr_execution *x = execution_of(L);
    const char *name = luaL_checkstring(L, 1);
    for (int i = 0; i < x->config->nparams; i++)
        if (strcmp(x->config->params[i].name, name) == 0) {
            x->param_read[i] = 1;
            lua_pushstring(L, x->config->params[i].value);
            return 1;
        }
    if (lua_gettop(L) >= 2) {
        lua_pushvalue(L, 2);
        return 1;
    }
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "the job needs the parameter \"%s\"", name);
    lr_hint(&e, "pass --param %s=VALUE, or give a default: param(\"%s\", \"...\")", name, name);
    return lr_raise(L, &e);
}

/* The file's first statement was read before; here it only must not come late. */
static int l_job(lua_State *L)
{
    lr_vm *vm = lr_vm_of(L);
    if (vm->first_call || !execution_of(L)->declared)
        return raise_plain(L, "job { ... } must come first in the file, and once",
                           "put it before the first window, extract or other call");
    vm->first_call = 1;
    return 0;
}

/* ---- the clock stands at run_start ---- */

static int l_time(lua_State *L)
{
    if (lua_gettop(L) > 0) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
        lua_call(L, lua_gettop(L) - 1, 1);
        return 1;
    }
    lua_pushinteger(L, execution_of(L)->job.run_start / LR_US_PER_SECOND);
    return 1;
}

/* Local times are the job's zone, so that no machine's setting shows. */
static int l_date(lua_State *L)
{
    const lr_job *job = &execution_of(L)->job;
    const char *format = luaL_optstring(L, 1, "%c");
    int64_t at = lua_isnoneornil(L, 2) ? job->run_start / LR_US_PER_SECOND : luaL_checkinteger(L, 2);
    if (format[0] != '!') {
        if (at > -60000000000 && at < 253402300800) at += lr_zone_offset(job->zone, at * LR_US_PER_SECOND);
    } else {
        format++;
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_pushfstring(L, "!%s", format);
    lua_pushinteger(L, at);
    lua_call(L, 2, 1);
    return 1;
}

static int l_clock(lua_State *L)
{
    return raise_plain(L, "os.clock: a job cannot see the clock", "use run_start, or logical_date");
}

static void still_clock(lua_State *L, lr_execution *x)
{
    static const luaL_Reg functions[] = {{"time", l_time}, {"date", l_date}, {"clock", l_clock}, {NULL, NULL}};
    lua_getglobal(L, "os");
    for (int i = 0; functions[i].name != NULL; i++) {
        lua_pushlightuserdata(L, x);
        lua_getfield(L, -2, functions[i].name);
        lua_pushcclosure(L, functions[i].func, 2);
        lua_setfield(L, -2, functions[i].name);
    }
    lua_pop(L, 1);
}

/* A job's exit would leave without commit or ledger. */
static int l_exit(lua_State *L)
{
    return raise_plain(L, "os.exit would end the run without an answer", "return from the job, or call error(\"why\")");
}

/* ---- names ---- */

static const char *nth_name(void *arg, int i)
{
    lua_State *L = arg;
    /* stack: list of names */
    lua_rawgeti(L, -1, i + 1);
    const char *name = lua_tostring(L, -1);
    lua_pop(L, 1);
    return name;
}

static int undefined(lua_State *L)
{
    const lr_execution *x = execution_of(L);
    size_t n;
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tolstring(L, 2, &n) : "?";
    if (strcmp(name, "logical_date") == 0) {
        if (x->job.has_logical) {
            lr_push_time(L, x->job.logical_start, x->job.grain != LR_HOUR);
            return 1;
        }
        return raise_plain(L, "logical_date: this run has no logical date", "pass --logical-date, such as --logical-date 2026-01-20");
    }
    lua_newtable(L);
    lua_pushglobaltable(L);
    int all = lua_gettop(L);
    lua_Integer count = 0;
    for (lua_pushnil(L); lua_next(L, all); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) {
            lua_pushvalue(L, -2);
            lua_rawseti(L, all - 1, ++count);
        }
    lua_pushstring(L, "logical_date");
    lua_rawseti(L, all - 1, ++count);
    lua_settop(L, all - 1);
    const char *near = lr_nearest(name, nth_name, L);
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "\"%s\" is not defined", name);
    if (near != NULL) lr_hint(&e, "did you mean \"%s\"?", near);
    else lr_hint(&e, "see lrun help for what a job can use; declare your own names with local");
    return lr_raise(L, &e);
}

/* print goes through the report, so that --json stays one object per line. */
static int l_print(lua_State *L)
{
    const lr_vm *vm = lr_vm_of(L);
    luaL_Buffer b;
    int n = lua_gettop(L);
    luaL_buffinit(L, &b);
    for (int i = 1; i <= n; i++) {
        if (i > 1) luaL_addchar(&b, '\t');
        luaL_tolstring(L, i, NULL);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    lr_event ev = {.name = "print"};
    lr_event_text(&ev, "message", lua_tostring(L, -1));
    if (vm->run != NULL) lr_report(vm->run, &ev);
    return 0;
}

static void set_path(lua_State *L, const lr_execution *x)
{
    const char *slash = x->job.path != NULL ? strrchr(x->job.path, '/') : NULL;
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "path");
    if (slash != NULL) {
        lua_pushlstring(L, x->job.path, (size_t)(slash - x->job.path));
        lua_pushfstring(L, "%s/?.lua;%s", lua_tostring(L, -1), lua_tostring(L, -2));
    } else {
        lua_pushfstring(L, "./?.lua;%s", lua_tostring(L, -1));
    }
    lua_setfield(L, slash != NULL ? -4 : -3, "path");
    lua_settop(L, 0);
}

int lr_open_globals(lua_State *L)
{
    lr_execution *x = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_openlibs(L);
    luaL_requiref(L, "cjson", luaopen_cjson, 0);
    lua_settop(L, 0);
    lr_open_convert(L);
    lr_open_values(L);
    lr_open_windows(L);
    lr_open_rows(L);
    lr_open_primitives(L);
    still_clock(L, x);
    lua_getglobal(L, "os");
    lua_pushcfunction(L, l_exit);
    lua_setfield(L, -2, "exit");
    lua_settop(L, 0);
    lua_pushlightuserdata(L, x);
    lua_pushcclosure(L, l_job, 1);
    lua_setglobal(L, "job");
    lua_register(L, "print", l_print);
    lua_pushlightuserdata(L, x);
    lua_pushcclosure(L, l_param, 1);
    lua_setglobal(L, "param");
    lr_push_time(L, x->job.run_start, 0);
    lua_setglobal(L, "run_start");
    set_path(L, x);
    lua_pushglobaltable(L);
    lua_createtable(L, 0, 1);
    lua_pushlightuserdata(L, x);
    lua_pushcclosure(L, undefined, 1);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_settop(L, 0);
    return 0;
}

/* ---- the probe: up to job { ... }, without anything ---- */

static const char stopped; /* its address is the sentinel */

static int probe_stop(lua_State *L)
{
    lua_pushlightuserdata(L, (void *)&stopped);
    return lua_error(L);
}

static const char *string_field(lua_State *L, const char *name)
{
    lua_getfield(L, 1, name);
    if (lua_isnil(L, -1)) return NULL;
    if (lua_type(L, -1) != LUA_TSTRING) {
        lr_err e = {0};
        lr_fail(&e, LR_FAILED, "job: %s must be a string", name);
        lr_raise(L, &e);
    }
    return lua_tostring(L, -1);
}

static int probe_job(lua_State *L)
{
    lr_execution *x = execution_of(L);
    lr_err e = {0};
    const lr_primitive *p = lr_primitive_find("job");
    luaL_checktype(L, 1, LUA_TTABLE);
    x->declared = 1;
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "1";
        if (lr_option_find(p, name, &e) < 0) return lr_raise(L, &e);
    }
    const char *name = string_field(L, "name"), *grain = string_field(L, "grain"), *zone = string_field(L, "zone");
    if (name != NULL && name[0] == 0) return raise_plain(L, "job: the name is empty", "leave name out to use the file's name");
    if (name != NULL) x->job.name = lr_dup(&x->arena, name);
    if (grain != NULL) {
        x->job.names_grain = 1;
        if (lr_grain_parse(grain, &x->job.grain) != 0) {
            lr_fail(&e, LR_FAILED, "job: grain = \"%s\" is not known", grain);
            lr_hint(&e, "use \"hour\", \"day\", \"week\", \"month\" or \"year\"");
            return lr_raise(L, &e);
        }
    }
    if (zone != NULL && lr_zone_get(zone, &x->job.zone, &e) != 0) return lr_raise(L, &e);
    const char *transaction = string_field(L, "transaction");
    if (transaction != NULL && strcmp(transaction, "manual") != 0) {
        lr_fail(&e, LR_FAILED, "job: transaction = \"%s\" is not known", transaction);
        lr_hint(&e, "leave it out: a run is one transaction");
        return lr_raise(L, &e);
    }
    if (transaction != NULL && !x->config->sandbox)
        return raise_plain(L, "job: transaction = \"manual\" is refused outside the sandbox of learn",
                           "leave it out: a run is one transaction, and lrun commits it");
    x->job.manual = x->job.reaches = transaction != NULL;
    return probe_stop(L);
}

int lr_probe(lua_State *L)
{
    lr_execution *x = lua_touserdata(L, 1);
    lua_settop(L, 0);
    lua_pushfstring(L, "@%s", x->job.path);
    if (luaL_loadbufferx(L, x->text, x->size, lua_tostring(L, 1), "t") != LUA_OK) return lua_error(L);
    lua_newtable(L);
    lua_pushlightuserdata(L, x);
    lua_pushcclosure(L, probe_job, 1);
    lua_setfield(L, -2, "job");
    lua_pushlightuserdata(L, x);
    lua_pushcclosure(L, l_param, 1);
    lua_setfield(L, -2, "param");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, probe_stop);
    lua_setfield(L, -2, "__index");
    lua_setmetatable(L, -2);
    lua_setupvalue(L, 2, 1);
    int status = lua_pcall(L, 0, 0, 0);
    if (status == LUA_OK || lua_touserdata(L, -1) == &stopped) return 0;
    /* job { ... } itself was wrong; any other fault shows when the job runs */
    if (lr_vm_of(L)->raised.status != LR_OK || status == LUA_ERRMEM) return lua_error(L);
    return 0;
}
