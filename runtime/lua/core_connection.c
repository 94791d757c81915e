/* core.connect: the warehouse and its ledger for status, runs and watermark. */
#include "lua/host.h"
#include "lua/job.h"
#include "run/columns.h"
#include "run/ledger.h"
#include <stdio.h>
#include <string.h>

typedef struct connbox {
    lr_arena arena;
    lr_execution_config config;
    struct lr_reporter reporter;
    lr_session session;
} connbox;

static int conn_close(lua_State *L)
{
    connbox *box = luaL_checkudata(L, 1, "lrun.connection");
    lr_session_close(&box->session);
    lr_arena_free(&box->arena);
    return 0;
}

/* core.connect(config): a connection, or nil and the error */
static int core_connect(lua_State *L)
{
    lr_err e = {0};
    connbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    luaL_setmetatable(L, "lrun.connection");
    lr_read_config(L, 1, &box->arena, &box->config, &box->reporter);
    box->config.session.readonly = lr_flag_field(L, 1, "readonly");
    if (lr_session_open(&box->session, &box->config.session, &e) != 0) {
        lr_session_close(&box->session);
        return lr_push_failure(L, &e);
    }
    return 1;
}

static connbox *check_open(lua_State *L)
{
    connbox *box = luaL_checkudata(L, 1, "lrun.connection");
    if (box->session.warehouse == NULL) luaL_error(L, "the connection is closed");
    return box;
}

typedef struct cursorbox {
    const lr_driver *driver;
    lr_cursor *cursor;
} cursorbox;

static int cursor_gc(lua_State *L)
{
    cursorbox *box = lua_touserdata(L, 1);
    if (box->cursor != NULL) box->driver->finish(box->cursor);
    box->cursor = NULL;
    return 0;
}

/* conn:query(sql, { values }): rows as lists, or nil and the error. ? stands
 * for a value. */
static int conn_query(lua_State *L)
{
    connbox *box = check_open(L);
    const lr_place *w = box->session.warehouse;
    const char *text = luaL_checkstring(L, 2);
    lr_arena *a = lr_push_arena(L);
    lr_arg values = {0};
    if (lua_istable(L, 3)) lr_read_arg(L, 3, a, &values, 0);
    cursorbox *k = lua_newuserdatauv(L, sizeof *k, 0);
    memset(k, 0, sizeof *k);
    k->driver = w->driver;
    luaL_setmetatable(L, "lrun.rawcursor");
    lr_sql q = lr_sql_new(a);
    int at_value = 0;
    /* ? stands for a value, @lrun_runs for a table of the ledger */
    for (const char *p = text; *p != 0; p += strcspn(p, "?")) {
        if (*p == '?') {
            lr_value v = at_value < values.n ? values.items[at_value++].value : lr_null();
            lr_sqlf(&q, "%V", &v);
            p++;
        }
        lr_ledger_sql(&box->session, lr_dupn(a, p, strcspn(p, "?")), &q);
    }
    lr_err e = {0};
    const lr_value *row;
    int got, n;
    if (w->driver->query(w->conn, lr_sql_text(&q, w->dialect), q.params, q.n, &k->cursor, &e) != 0) return lr_push_failure(L, &e);
    w->driver->columns(k->cursor, &n);
    lua_newtable(L);
    lua_Integer at = 0;
    while ((got = w->driver->next(k->cursor, &row, &e)) == 1) {
        lua_createtable(L, n, 0);
        for (int i = 0; i < n; i++) {
            if (row[i].type == LR_NULL) lua_pushboolean(L, 0);
            else lr_push_value(L, &row[i]);
            lua_rawseti(L, -2, i + 1);
        }
        lua_rawseti(L, -2, ++at);
    }
    w->driver->finish(k->cursor);
    k->cursor = NULL;
    return got < 0 ? lr_push_failure(L, &e) : 1;
}

static int answer(lua_State *L, int failed, const lr_err *e)
{
    if (failed) return lr_push_failure(L, e);
    lua_pushboolean(L, 1);
    return 1;
}

static int conn_begin(lua_State *L)
{
    const lr_place *w = check_open(L)->session.warehouse;
    lr_err e = {0};
    return answer(L, w->driver->begin(w->conn, 1, &e), &e);
}

static int conn_commit(lua_State *L)
{
    const lr_place *w = check_open(L)->session.warehouse;
    lr_err e = {0};
    return answer(L, w->driver->commit(w->conn, &e), &e);
}

static int conn_rollback(lua_State *L)
{
    const lr_place *w = check_open(L)->session.warehouse;
    w->driver->rollback(w->conn);
    return 0;
}

/* conn:ledger(): true where there is one */
static int conn_ledger(lua_State *L)
{
    connbox *box = check_open(L);
    lr_err e = {0};
    int exists;
    if (lr_ledger_check(&box->session, &exists, &e) != 0) return lr_push_failure(L, &e);
    lua_pushboolean(L, exists);
    return 1;
}

/* conn:make_ledger(): within a transaction */
static int conn_make_ledger(lua_State *L)
{
    connbox *box = check_open(L);
    lr_err e = {0};
    lr_job job = {.name = "", .params = "{}"};
    lr_run run = {.session = &box->session, .job = &job};
    int failed = lr_ledger_create(&run, &e);
    lr_arena_free(&run.arena);
    return answer(L, failed, &e);
}

static const char *field(lua_State *L, int at, const char *name, lr_arena *a)
{
    lua_getfield(L, at, name);
    const char *out = lr_dup(a, luaL_checkstring(L, -1));
    lua_pop(L, 1);
    return out;
}

/* conn:accept({ name, sha256 }, { { target, source_table, place, columns }, ... }):
 * the columns of a job's writes, in a transaction under the job's lock. */
static int conn_accept(lua_State *L)
{
    connbox *box = check_open(L);
    lr_arena *a = lr_push_arena(L);
    int n = (int)lua_rawlen(L, 3);
    lr_accepted *list = lr_alloc(a, (size_t)(n + 1) * sizeof *list);
    lr_job job = {.name = field(L, 2, "name", a), .params = "{}"};
    snprintf(job.sha256, sizeof job.sha256, "%s", field(L, 2, "sha256", a));
    for (int i = 0; i < n; i++) {
        lua_rawgeti(L, 3, i + 1);
        int row = lua_gettop(L);
        lr_memory *m = lr_alloc(a, sizeof *m);
        m->target = field(L, row, "target", a);
        m->source = field(L, row, "source_table", a);
        lua_getfield(L, row, "place");
        m->place = luaL_checkinteger(L, -1);
        m->first = 1;
        list[i] = (lr_accepted){m, field(L, row, "columns", a)};
        lua_settop(L, row - 1);
    }
    lr_err e = {0};
    lr_run run = {.session = &box->session, .job = &job, .mode = LR_MODE_RUN};
    int failed = lr_memory_accept(&run, list, n, &e);
    lr_arena_free(&run.arena);
    return answer(L, failed, &e);
}

static int conn_name(lua_State *L)
{
    lua_pushstring(L, check_open(L)->session.warehouse->shown);
    return 1;
}

void lr_open_core_connection(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"query", conn_query}, {"begin", conn_begin}, {"commit", conn_commit}, {"rollback", conn_rollback},
        {"ledger", conn_ledger}, {"make_ledger", conn_make_ledger}, {"accept", conn_accept}, {"name", conn_name}, {"close", conn_close},
        {"__gc", conn_close}, {"__close", conn_close}, {NULL, NULL}};
    lr_new_closed(L, "lrun.rawcursor", cursor_gc);
    luaL_newmetatable(L, "lrun.connection");
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_pushcfunction(L, core_connect);
    lua_setfield(L, -2, "connect");
}
