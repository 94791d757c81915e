/* The sandbox: names that reach the machine raise an error that says so. */
#include "lua/sandbox.h"
#include "lua/vm.h"

static int refused(lua_State *L)
{
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "%s is not there in the sandbox", lua_tostring(L, lua_upvalueindex(1)));
    lr_hint(&e, "a job here reads and writes its databases, and nothing else");
    return lr_raise(L, &e);
}

static void push_refused(lua_State *L, const char *name)
{
    lua_pushstring(L, name);
    lua_pushcclosure(L, refused, 1);
}

/* io.open: reading a name of a library that is not there. */
static int refused_field(lua_State *L)
{
    lr_err e = {0};
    const char *name = lua_type(L, 2) == LUA_TSTRING ? lua_tostring(L, 2) : "?";
    lr_fail(&e, LR_FAILED, "%s.%s is not there in the sandbox", lua_tostring(L, lua_upvalueindex(1)), name);
    lr_hint(&e, "a job here reads and writes its databases, and nothing else");
    return lr_raise(L, &e);
}

/* The library's functions that stay; the others are refused by name. */
static void keep(lua_State *L, const char *library, const char *const *names)
{
    lua_getglobal(L, library);
    lua_newtable(L);
    for (; *names != NULL; names++) {
        lua_getfield(L, -2, *names);
        lua_setfield(L, -2, *names);
    }
    lua_createtable(L, 0, 2);
    lua_pushstring(L, library);
    lua_pushcclosure(L, refused_field, 1);
    lua_setfield(L, -2, "__index");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_setglobal(L, library);
    lua_pop(L, 1);
}

/* Only text: a chunk of bytes is not checked by Lua before it runs. */
static int load_text(lua_State *L)
{
    lua_settop(L, 4);
    int env = !lua_isnil(L, 4);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushliteral(L, "t");
    if (env) lua_pushvalue(L, 4);
    lua_call(L, env ? 4 : 3, 2);
    return 2;
}

/* A finalizer runs where nothing can stop it: without hooks, and at the very end. */
static int set_metatable(lua_State *L)
{
    lua_settop(L, 2);
    if (lua_istable(L, 2)) {
        lua_pushliteral(L, "__gc");
        if (lua_rawget(L, 2) != LUA_TNIL) {
            push_refused(L, "__gc");
            lua_call(L, 0, 0);
        }
        lua_pop(L, 1);
    }
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, 2, 1);
    return 1;
}

/* The collector works always: a job that stops it only meets its limit sooner. */
static int count_only(lua_State *L)
{
    const char *what = luaL_optstring(L, 1, "collect");
    if (what[0] == 'c' && what[1] == 'o' && what[2] == 'u') {
        lua_pushnumber(L, (lua_Number)lr_vm_of(L)->used / 1024);
        return 1;
    }
    lua_gc(L, LUA_GCCOLLECT, 0);
    lua_pushinteger(L, 0);
    return 1;
}

int lr_sandbox(lua_State *L)
{
    static const char *const none[] = {NULL}, *const os[] = {"time", "date", "clock", "difftime", NULL};
    static const char *const trace[] = {"traceback", NULL};
    static const char *const gone[] = {"loadfile", "dofile", "require", NULL};
    lua_settop(L, 0);
    keep(L, "os", os);
    keep(L, "io", none);
    keep(L, "debug", trace);
    keep(L, "package", none);
    for (int i = 0; gone[i] != NULL; i++) {
        push_refused(L, gone[i]);
        lua_setglobal(L, gone[i]);
    }
    lua_getglobal(L, "load");
    lua_pushcclosure(L, load_text, 1);
    lua_setglobal(L, "load");
    lua_register(L, "collectgarbage", count_only);
    lua_getglobal(L, "setmetatable");
    lua_pushcclosure(L, set_metatable, 1);
    lua_setglobal(L, "setmetatable");
    /* what was loaded is found there too */
    lua_pushnil(L);
    lua_setfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    return 0;
}
