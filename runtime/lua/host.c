/* The host's state: stdlib's modules, `core`, and the exit status. */
#include "lua/host.h"
#include "lua/box.h"
#include "lua/output.h"
#include "run/stop.h"
#include <stdio.h>
#include <string.h>

extern int luaopen_cjson(lua_State *L);

/* require "show.report" finds stdlib/show/report.lua */
static int search_stdlib(lua_State *L)
{
    luaL_gsub(L, luaL_checkstring(L, 1), ".", "/");
    lua_pushfstring(L, "%s.lua", lua_tostring(L, -1));
    int rc = lr_stdlib_load(L, lua_tostring(L, -1));
    if (rc == LUA_ERRFILE) return 1; /* the text says that it is not there */
    if (rc != LUA_OK) return lua_error(L);
    lua_pushvalue(L, -2);
    return 2;
}

static void set_string(lua_State *L, const char *name, const char *value)
{
    if (value == NULL) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

/* core.primitives(): what help prints, from the tables that check options */
static int core_primitives(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; lr_primitives[i] != NULL; i++) {
        const lr_primitive *p = lr_primitives[i];
        lr_arena *a = lr_push_arena(L);
        lua_createtable(L, 0, 10);
        set_string(L, "name", p->name);
        set_string(L, "summary", p->summary);
        set_string(L, "first", p->first_name);
        set_string(L, "returns", p->returns);
        set_string(L, "refuses", p->refuses);
        set_string(L, "example", p->example);
        set_string(L, "idea", p->idea);
        lua_pushboolean(L, p->free_names);
        lua_setfield(L, -2, "free_names");
        lua_createtable(L, p->noptions, 0);
        for (int j = 0; j < p->noptions; j++) {
            const lr_option *o = &p->options[j];
            lua_createtable(L, 0, 5);
            set_string(L, "name", o->name);
            set_string(L, "type", lr_argtype_names(a, o->accepts));
            set_string(L, "default", o->fallback);
            set_string(L, "help", o->help);
            lua_pushboolean(L, o->required);
            lua_setfield(L, -2, "required");
            lua_rawseti(L, -2, j + 1);
        }
        lua_setfield(L, -2, "options");
        lua_rawseti(L, -3, i + 1);
        lua_pop(L, 1);
    }
    return 1;
}

static const char *nth_name(void *arg, int i)
{
    lua_State *L = arg;
    lua_rawgeti(L, 2, i + 1);
    const char *name = lua_tostring(L, -1);
    lua_pop(L, 1);
    return name;
}

/* core.nearest(name, list): the nearest name, or nil */
static int core_nearest(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushstring(L, lr_nearest(luaL_checkstring(L, 1), nth_name, L));
    return 1;
}

typedef struct start {
    const lr_command_line *cl;
    int status;
} start;

static int run_main(lua_State *L)
{
    start *s = lua_touserdata(L, 1);
    lua_settop(L, 0);
    luaL_openlibs(L);
    luaL_requiref(L, "cjson", luaopen_cjson, 0);
    lua_settop(L, 0);
    lr_open_convert(L);
    lr_open_values(L); /* the types of values that a result may hold */
    lua_newtable(L);
    lr_open_core_run(L);
    lr_open_core_connection(L);
    lr_open_core_series(L);
    lr_open_core_prompt(L);
    lr_open_core_terminal(L);
    lr_open_core_folder(L);
    lr_open_core_apart(L);
    lua_pushcfunction(L, core_primitives);
    lua_setfield(L, -2, "primitives");
    lua_pushcfunction(L, core_nearest);
    lua_setfield(L, -2, "nearest");
    set_string(L, "version", LRUN_VERSION);
    lua_setglobal(L, "core");
    lua_getglobal(L, "package");
    lua_getfield(L, -1, "searchers");
    lua_pushcfunction(L, search_stdlib);
    lua_rawseti(L, -2, 2); /* the only searcher after preload */
    for (int i = (int)lua_rawlen(L, -1); i > 2; i--) {
        lua_pushnil(L);
        lua_rawseti(L, -2, i);
    }
    lua_settop(L, 0);
    if (lr_stdlib_load(L, "main.lua") != LUA_OK) return lua_error(L);
    s->cl->push(L, s->cl->arg);
    lua_call(L, 1, 1);
    s->status = (int)luaL_checkinteger(L, -1);
    return 0;
}

int lr_host_main(const lr_command_line *cl)
{
    lr_err e = {0};
    start s = {cl, LR_FAILED};
    lr_out_open(cl->json);
    lr_vm *vm = lr_vm_new(0);
    int failed = vm == NULL ? lr_fail(&e, LR_FAILED, "not enough memory") : lr_vm_protected(vm, run_main, &s, &e);
    int committed = vm != NULL && vm->committed;
    lr_vm_free(vm);
    if (failed != 0) {
        char text[2048];
        lr_err_format(&e, text, sizeof text);
        fprintf(stderr, "lrun: %s\n", text);
        s.status = committed ? LR_UNREPORTED : e.status;
    }
    /* What was committed stays so, whether or not anybody could read of it. */
    if (lr_out_close() && s.status == LR_OK) {
        fprintf(stderr, "lrun: the work is done, but the report could not be written to standard output\n");
        return LR_UNREPORTED;
    }
    return s.status;
}
