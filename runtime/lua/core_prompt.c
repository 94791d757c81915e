/* core.prompt: a job's state that takes one line after another. A line that
 * fails takes back what it wrote and nothing more. */
#include "lua/host.h"
#include "lua/job.h"
#include "run/stop.h"
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct promptbox {
    lr_arena arena;
    lr_execution_config config;
    struct lr_reporter reporter;
    lr_execution x;
    lr_buf out; /* what the last line's values look like */
} promptbox;

static int prompt_close(lua_State *L)
{
    promptbox *box = luaL_checkudata(L, 1, "lrun.prompt");
    lr_execution_free(&box->x);
    lr_arena_free(&box->arena);
    lr_buf_free(&box->out);
    return 0;
}

static int core_prompt(lua_State *L)
{
    lr_err e = {0};
    promptbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    luaL_setmetatable(L, "lrun.prompt");
    lr_read_config(L, 1, &box->arena, &box->config, &box->reporter);
    box->config.mode = LR_MODE_PROMPT;
    box->config.session.readonly = 0;
    if (lr_execution_open(&box->x, &box->config, &e) != 0) {
        lr_execution_free(&box->x);
        return lr_push_failure(L, &e);
    }
    box->x.job.reaches = box->config.sandbox;
    return 1;
}

static promptbox *check_prompt(lua_State *L)
{
    promptbox *box = luaL_checkudata(L, 1, "lrun.prompt");
    if (box->x.vm == NULL) luaL_error(L, "the prompt is closed");
    return box;
}

/* ---- one line in the job's state ---- */

typedef struct line {
    const char *text;
    size_t n;
    int incomplete;
    lr_buf *out;
} line;

/* Rows are described only; at the prompt the first of them are shown. */
static void read_rows(lua_State *L, int at)
{
    if (luaL_testudata(L, at, LR_T_ROWS) == NULL) return;
    const lr_rowset *rs = *(lr_rowset **)lua_touserdata(L, at);
    lua_newtable(L);
    int list = lua_gettop(L);
    lua_createtable(L, 0, 1);
    lua_createtable(L, rs->n, 0);
    for (int i = 0; i < rs->n; i++) {
        lua_pushstring(L, rs->fields[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "columns");
    lua_setmetatable(L, list);
    lua_getfield(L, at, "rows");
    lua_pushvalue(L, at);
    lua_call(L, 1, 4);
    int step = list + 1;
    lua_toclose(L, list + 4);
    for (lua_Integer n = 1; n <= 50; n++) {
        lua_pushvalue(L, step);
        lua_call(L, 0, 1);
        if (lua_isnil(L, -1)) break;
        lua_rawseti(L, list, n);
    }
    lua_settop(L, list);
    lua_replace(L, at);
}

/* Values are shown by stdlib/show/value.lua, inside the job's own state. */
static int show_results(lua_State *L, line *l, int first)
{
    int n = lua_gettop(L) - first + 1;
    if (n <= 0) return 0;
    for (int i = first; i < first + n; i++) read_rows(L, i);
    lua_getfield(L, LUA_REGISTRYINDEX, "lrun.show");
    if (lua_isnil(L, -1)) {
        lua_pop(L, 1);
        static const char *const parts[] = {"show/table.lua", "show/calendar.lua"};
        if (lr_stdlib_load(L, "show/value.lua") != LUA_OK) return lua_error(L);
        for (int i = 0; i < 2; i++) {
            if (lr_stdlib_load(L, parts[i]) != LUA_OK) return lua_error(L);
            lua_call(L, 0, 1);
        }
        const char *plain = getenv("NO_COLOR");
        if (!isatty(1)) lua_pushboolean(L, 0);
        else lua_pushstring(L, plain != NULL && plain[0] != 0 ? "plain" : "color");
        lua_call(L, 3, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, "lrun.show");
    }
    lua_insert(L, first);
    lua_call(L, n, 1);
    size_t len;
    const char *text = lua_tolstring(L, -1, &len);
    if (text != NULL) lr_buf_add(l->out, text, len);
    return 0;
}

static int eval(lua_State *L)
{
    line *l = lua_touserdata(L, 1);
    lua_settop(L, 1);
    lua_pushliteral(L, "return ");
    lua_pushlstring(L, l->text, l->n);
    lua_concat(L, 2);
    size_t n;
    const char *text = lua_tolstring(L, 2, &n);
    int status = luaL_loadbufferx(L, text, n, "=prompt", "t");
    if (status != LUA_OK) {
        lua_pop(L, 1);
        status = luaL_loadbufferx(L, l->text, l->n, "=prompt", "t");
    }
    if (status != LUA_OK) {
        const char *why = lua_tostring(L, -1);
        size_t len = strlen(why);
        /* the parser met the end: more lines may follow */
        l->incomplete = status == LUA_ERRSYNTAX && len >= 5 && strcmp(why + len - 5, "<eof>") == 0;
        return lua_error(L);
    }
    lua_replace(L, 2);
    lua_settop(L, 2);
    lua_call(L, 0, LUA_MULTRET);
    return show_results(L, l, 2);
}

/* A statement of SQL: through query or execute, whichever it is. */
static int eval_sql(lua_State *L)
{
    line *l = lua_touserdata(L, 1);
    const lr_vm *vm = lr_vm_of(L);
    const lr_place *w = vm->run->session->warehouse;
    const lr_inspection *seen;
    lr_err e = {0};
    lua_settop(L, 1);
    lua_pushlstring(L, l->text, l->n);
    if (w->driver->inspect(w->conn, lua_tostring(L, 2), &seen, &e) != 0) return lr_raise(L, &e);
    int reads = seen->readonly && seen->ncolumns > 0;
    lua_getglobal(L, reads ? "query" : "execute");
    lua_createtable(L, 1, 0);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, 1);
    lua_call(L, 1, 1);
    if (!reads && lua_isinteger(L, -1)) {
        lr_buf_printf(l->out, "%lld rows changed", (long long)lua_tointeger(L, -1));
        return 0;
    }
    lua_replace(L, 2);
    return show_results(L, l, 2);
}

static int savepoint(lr_run *run, const char *what, lr_err *e)
{
    lr_sql q = lr_sql_new(&run->arena);
    lr_sqlf(&q, "%s", what);
    return lr_exec(run, run->session->warehouse, &q, NULL, e);
}

static int run_line(lua_State *L, lua_CFunction fn)
{
    promptbox *box = check_prompt(L);
    lr_run *run = &box->x.run;
    line l = {.out = &box->out};
    lr_buf_clear(&box->out);
    l.text = luaL_checklstring(L, 2, &l.n);
    lr_err e = {0}, after = {0};
    int was_open = run->open;
    int failed = was_open ? savepoint(run, "SAVEPOINT lrun_line", &e) : 0;
    if (failed == 0) failed = lr_vm_protected(box->x.vm, fn, &l, &e);
    if (failed != 0 && lr_stop_signal() != 0) lr_stop_reset();
    if (failed != 0 || run->doomed) {
        lua_gc(box->x.vm->L, LUA_GCCOLLECT, 0);
        if (run->doomed && failed == 0) e = run->first;
        failed = -1;
        run->doomed = 0;
        memset(&run->first, 0, sizeof run->first);
        if (was_open) {
            if (savepoint(run, "ROLLBACK TO lrun_line", &after) != 0 || savepoint(run, "RELEASE lrun_line", &after) != 0)
                lr_run_abandon(run, &after);
        } else if (run->open) {
            lr_run_abandon(run, &e);
        }
    } else if (was_open && run->open) {
        failed = savepoint(run, "RELEASE lrun_line", &e);
    }
    box->x.vm->first_call = 0;
    box->x.vm->depth = 0;
    if (failed != 0) {
        lr_push_failure(L, &e);
        lua_pushboolean(L, l.incomplete);
        return 3;
    }
    lua_pushlstring(L, box->out.data != NULL ? box->out.data : "", box->out.len);
    return 1;
}

static int prompt_eval(lua_State *L)
{
    return run_line(L, eval);
}

static int prompt_sql(lua_State *L)
{
    return run_line(L, eval_sql);
}

/* prompt:tables(): as sql, the tables and views at the warehouse */
static int prompt_tables(lua_State *L)
{
    lua_settop(L, 1);
    lua_pushstring(L, check_prompt(L)->x.session.warehouse->dialect->tables);
    return run_line(L, eval_sql);
}

static int prompt_commit(lua_State *L)
{
    promptbox *box = check_prompt(L);
    lr_err e = {0};
    lua_gc(box->x.vm->L, LUA_GCCOLLECT, 0);
    if (lr_run_commit(&box->x.run, &e) != 0) {
        lr_run_abandon(&box->x.run, &e);
        return lr_push_failure(L, &e);
    }
    lr_run_forget(&box->x.run);
    lua_pushboolean(L, 1);
    return 1;
}

static int prompt_rollback(lua_State *L)
{
    promptbox *box = check_prompt(L);
    lr_err none = {0};
    lua_gc(box->x.vm->L, LUA_GCCOLLECT, 0);
    lr_run_abandon(&box->x.run, &none);
    lr_run_forget(&box->x.run);
    return 0;
}

static int prompt_open(lua_State *L)
{
    lua_pushboolean(L, check_prompt(L)->x.run.open);
    return 1;
}

void lr_open_core_prompt(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"eval", prompt_eval}, {"sql", prompt_sql}, {"tables", prompt_tables}, {"commit", prompt_commit}, {"rollback", prompt_rollback},
        {"open", prompt_open}, {"close", prompt_close}, {"__gc", prompt_close}, {NULL, NULL}};
    luaL_newmetatable(L, "lrun.prompt");
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_pushcfunction(L, core_prompt);
    lua_setfield(L, -2, "prompt");
}
