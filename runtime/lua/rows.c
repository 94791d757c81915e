/* Rows for jobs: map, filter, rows, count. The only way rows pass through Lua. */
#include "lua/box.h"
#include <stdlib.h>
#include <string.h>

void lr_push_rows(lua_State *L, lr_rowset *rs)
{
    *(lr_rowset **)lua_newuserdatauv(L, sizeof rs, 0) = rs;
    luaL_setmetatable(L, LR_T_ROWS);
}

static lr_rowset *check_rows(lua_State *L)
{
    lr_vm *vm = lr_vm_of(L);
    lr_rowset **rs = luaL_checkudata(L, 1, LR_T_ROWS);
    vm->now = L;
    if (vm->run == NULL) luaL_error(L, "there is no run here");
    return *rs;
}

/* ---- map and filter ---- */

typedef struct mapping {
    lr_vm *vm;
    int function; /* reference in the registry */
    int filters;  /* the function only says whether the row stays */
    lr_feed *feed;
    lr_err *error;
    int failed;   /* next or put failed: error is filled */
    lr_rowset *rows;
} mapping;

/* Stack of the loop: 1 mapping, 2 function, 3 .. 2 + n the fields' names. */
#define FIRST_NAME 3

static void push_row(lua_State *L, const lr_rowset *in, const char *exact, const lr_value *row)
{
    lua_createtable(L, 0, in->n);
    for (int i = 0; i < in->n; i++) {
        lua_pushvalue(L, FIRST_NAME + i);
        if (exact[i]) lr_push_exact(L, &row[i]);
        else lr_push_value(L, &row[i]);
        lua_rawset(L, -3);
    }
}

static int refuse_column(lua_State *L, const char *name)
{
    return luaL_error(L, "the function gives a column \"%s\" that the rows do not have; declare it: "
                         "rows:map(fn, { %s = \"text\" })", name, name);
}

/* Fields of the returned table, in the order in which the table yields them:
 * rows of one shape yield the same order, so the last order is tried first. */
static void read_row(lua_State *L, const lr_rowset *rs, const char **names, int *order, const lr_value *in, int n_in, lr_value *out)
{
    int at = 0;
    for (int i = 0; i < rs->n; i++) out[i] = lr_null();
    int table = lua_gettop(L);
    for (lua_pushnil(L); lua_next(L, table); lua_pop(L, 1), at++) {
        if (lua_type(L, -2) != LUA_TSTRING) luaL_error(L, "the function must give a table of columns by name");
        const char *name = lua_tostring(L, -2);
        int i = at < rs->n ? order[at] : 0;
        if (i >= rs->n || names[i] != name) {
            for (i = 0; i < rs->n && names[i] != name && strcmp(names[i], name) != 0; i++) {}
            if (i == rs->n) refuse_column(L, name);
            if (at < rs->n) order[at] = i;
        }
        if (lr_to_value(L, -1, &out[i]) == 0) {
            /* bytes that were not touched stay bytes */
            if (i < n_in && out[i].type == LR_TEXT && in[i].type == LR_BLOB && in[i].s.n == out[i].s.n &&
                memcmp(in[i].s.p, out[i].s.p, out[i].s.n) == 0)
                out[i].type = LR_BLOB;
            continue;
        }
        lr_timebox *t = luaL_testudata(L, -1, LR_T_TIME);
        if (t == NULL) luaL_error(L, "column \"%s\" is a %s, which no database keeps", name, luaL_typename(L, -1));
        /* The value becomes its text in place: assigning to a field that is
         * there is allowed while the table is walked, and keeps the text alive. */
        char text[40];
        lua_pushvalue(L, -2);
        lua_pushstring(L, lr_time_text(L, t, text));
        out[i] = lr_text(lua_tostring(L, -1));
        lua_rawset(L, table);
    }
}

static int map_loop(lua_State *L)
{
    mapping *m = lua_touserdata(L, 1);
    const lr_rowset *rs = m->feed->rs, *in = rs->input;
    const lr_value *row;
    int got;
    lua_rawgeti(L, LUA_REGISTRYINDEX, m->function);
    luaL_checkstack(L, rs->n + 16, "too many columns");
    for (int i = 0; i < rs->n; i++) lua_pushstring(L, rs->fields[i].name);
    int top = lua_gettop(L);
    const char **names = lua_newuserdatauv(L, (size_t)rs->n * (sizeof *names + sizeof(int) + sizeof(lr_value) + 1), 0);
    lr_value *out = (lr_value *)(names + rs->n);
    int *order = (int *)(out + rs->n);
    char *exact = (char *)(order + rs->n);
    for (int i = 0; i < rs->n; i++) {
        names[i] = lua_tostring(L, FIRST_NAME + i);
        order[i] = i;
        exact[i] = (char)lr_is_numeric(&rs->fields[i].type);
    }
    top++;
    int depth = m->vm->depth;
    while ((got = m->feed->next(m->feed, &row, m->error)) == 1) {
        lua_pushvalue(L, 2);
        push_row(L, in, exact, row);
        lua_call(L, 1, 1);
        m->vm->now = L; /* the function may have used a coroutine */
        if (m->vm->depth != depth) return luaL_error(L, "not enough memory");
        if (m->filters) {
            if (lua_toboolean(L, -1) && m->feed->put(m->feed, row, m->error) != 0) break;
        } else if (lua_istable(L, -1)) {
            read_row(L, rs, names, order, row, in->n, out);
            if (m->feed->put(m->feed, out, m->error) != 0) break;
        } else if (!lua_isnil(L, -1)) {
            luaL_error(L, "the function must give a row (a table) or nil, not a %s", luaL_typename(L, -1));
        } else {
            m->rows->dropped++;
        }
        lua_settop(L, top);
    }
    m->failed = got != 0;
    return 0;
}

static int run_map(void *arg, lr_feed *feed, lr_err *e)
{
    mapping *m = arg;
    m->feed = feed;
    m->error = e;
    m->failed = 0;
    if (lr_vm_protected(m->vm, map_loop, m, e) != 0) {
        /* an error without a line of its own gets that of the write */
        if (strchr(e->where, ':') == NULL) e->where[0] = 0;
        return -1;
    }
    return m->failed ? -1 : 0;
}

static int make_mapping(lua_State *L, int filters)
{
    lr_vm *vm = lr_vm_of(L);
    lr_rowset *input = check_rows(L), *rs;
    lr_err e = {0};
    char where[256];
    lr_field declared[64];
    int n = 0;
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lr_arg columns = {0};
    lr_arena *a = lr_push_arena(L);
    if (!filters && lua_istable(L, 3)) lr_read_arg(L, 3, a, &columns, 0);
    memset(declared, 0, sizeof declared);
    for (int i = 0; i < columns.n; i++) {
        if (columns.names[i] == NULL || columns.items[i].type != LR_ARG_STRING || n == 64) {
            lr_fail(&e, LR_FAILED, "map: new columns are declared by name and type");
            lr_hint(&e, "rows:map(fn, { total = \"numeric(12,2)\" })");
            return lr_raise(L, &e);
        }
        declared[n].name = lr_dup(&vm->run->arena, columns.names[i]);
        declared[n++].type = lr_type_words(lr_dup(&vm->run->arena, columns.items[i].value.s.p));
    }
    mapping *m = lr_alloc(&vm->run->arena, sizeof *m);
    m->vm = vm;
    m->filters = filters;
    lua_pushvalue(L, 2);
    m->function = luaL_ref(L, LUA_REGISTRYINDEX);
    const char *at = lr_dup(&vm->run->arena, lr_where(L, where, sizeof where));
    if (lr_rowset_map(vm->run, input, at, declared, n, run_map, m, &rs, &e) != 0) return lr_raise(L, &e);
    rs->filters = filters;
    m->rows = rs;
    lr_push_rows(L, rs);
    return 1;
}

static int rows_map(lua_State *L)
{
    return make_mapping(L, 0);
}

static int rows_filter(lua_State *L)
{
    return make_mapping(L, 1);
}

/* ---- reading ---- */

typedef struct cursorbox {
    const lr_driver *driver;
    lr_cursor *cursor;
    lr_rowset *rs;
} cursorbox;

static int cursor_close(lua_State *L)
{
    cursorbox *box = luaL_checkudata(L, 1, "lrun.cursor");
    if (box->cursor != NULL) box->driver->finish(box->cursor);
    box->cursor = NULL;
    return 0;
}

static int cursor_next(lua_State *L)
{
    cursorbox *box = lua_touserdata(L, lua_upvalueindex(1));
    const lr_value *row;
    lr_err e = {0};
    if (box->cursor == NULL) return 0;
    int got = box->driver->next(box->cursor, &row, &e);
    if (got < 0) return lr_raise(L, &e);
    if (got == 0) {
        box->driver->finish(box->cursor);
        box->cursor = NULL;
        return 0;
    }
    lua_createtable(L, 0, box->rs->n);
    for (int i = 0; i < box->rs->n; i++) {
        if (lr_is_numeric(&box->rs->fields[i].type)) lr_push_exact(L, &row[i]);
        else lr_push_value(L, &row[i]);
        lua_setfield(L, -2, box->rs->fields[i].name);
    }
    return 1;
}

static int rows_rows(lua_State *L)
{
    lr_vm *vm = lr_vm_of(L);
    lr_rowset *rs = check_rows(L);
    lr_err e = {0};
    cursorbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    box->driver = vm->run->session->warehouse->driver;
    box->rs = rs;
    luaL_setmetatable(L, "lrun.cursor");
    int at = lua_gettop(L);
    if (lr_rowset_prepare(vm->run, rs, &e) != 0 || lr_rowset_open(vm->run, rs, &box->driver, &box->cursor, &e) != 0) {
        lr_step(&e, "rows of %s", rs->title);
        return lr_raise(L, &e);
    }
    lua_pushvalue(L, at);
    lua_pushcclosure(L, cursor_next, 1);
    lua_pushnil(L);
    lua_pushnil(L);
    lua_pushvalue(L, at);
    return 4;
}

static int rows_count(lua_State *L)
{
    lr_vm *vm = lr_vm_of(L);
    lr_rowset *rs = check_rows(L);
    lr_err e = {0};
    int64_t n;
    if (lr_rowset_prepare(vm->run, rs, &e) != 0 || lr_rowset_count(vm->run, rs, &n, &e) != 0) {
        lr_step(&e, "count of %s", rs->title);
        return lr_raise(L, &e);
    }
    lua_pushinteger(L, n);
    return 1;
}

static int rows_tostring(lua_State *L)
{
    lr_rowset *rs = check_rows(L);
    if (rs->window != NULL)
        lua_pushfstring(L, "rows of %s %s", rs->title, lr_window_text(lr_vm_of(L)->run, rs->window));
    else
        lua_pushfstring(L, "rows of %s", rs->title);
    return 1;
}

static int rows_index(lua_State *L)
{
    const char *name = luaL_checkstring(L, 2);
    static const luaL_Reg methods[] = {
        {"map", rows_map}, {"filter", rows_filter}, {"rows", rows_rows}, {"count", rows_count}, {NULL, NULL}};
    for (int i = 0; methods[i].name != NULL; i++)
        if (strcmp(methods[i].name, name) == 0) {
            lua_pushcfunction(L, methods[i].func);
            return 1;
        }
    return luaL_error(L, "rows have no field '%s': they have :map(fn), :filter(fn), :rows() and :count()", name);
}

void lr_open_rows(lua_State *L)
{
    lr_new_closed(L, "lrun.cursor", cursor_close);
    luaL_newmetatable(L, LR_T_ROWS);
    lua_pushcfunction(L, rows_tostring);
    lua_setfield(L, -2, "__tostring");
    lua_pushcfunction(L, rows_index);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
}
