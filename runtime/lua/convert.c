/* Values and options between Lua and the C below it. */
#include "lua/box.h"
#include "base/decimal.h"
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int arena_close(lua_State *L)
{
    lr_arena_free(luaL_checkudata(L, 1, "lrun.arena"));
    return 0;
}

lr_arena *lr_push_arena(lua_State *L)
{
    lr_arena *a = lua_newuserdatauv(L, sizeof *a, 0);
    memset(a, 0, sizeof *a);
    luaL_setmetatable(L, "lrun.arena");
    return a;
}

void lr_open_convert(lua_State *L)
{
    lr_new_closed(L, "lrun.arena", arena_close);
}

void lr_new_closed(lua_State *L, const char *type, lua_CFunction close)
{
    luaL_newmetatable(L, type);
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__gc");
    lua_pushcfunction(L, close);
    lua_setfield(L, -2, "__close");
    lua_pop(L, 1);
}

void lr_push_value(lua_State *L, const lr_value *v)
{
    char text[48];
    switch (v->type) {
    case LR_NULL:
        lua_pushlightuserdata(L, NULL);
        break;
    case LR_INT:
        lua_pushinteger(L, v->i);
        break;
    case LR_BOOL:
        lua_pushboolean(L, v->i != 0);
        break;
    case LR_REAL:
        lua_pushnumber(L, v->r);
        break;
    case LR_TEXT:
    case LR_BLOB:
    case LR_DECIMAL:
        lua_pushlstring(L, v->s.p, v->s.n);
        break;
    case LR_DATE:
        lua_pushstring(L, lr_format_date(lr_zone_utc(), v->i * LR_US_PER_DAY, text));
        break;
    case LR_TIMESTAMP:
        lua_pushstring(L, lr_format_instant(lr_zone_utc(), v->i, text));
        break;
    case LR_TIMESTAMPTZ:
        lr_format_instant(lr_zone_utc(), v->i, text);
        lua_pushfstring(L, "%s+00", text);
        break;
    }
}

int lr_is_numeric(const lr_type *type)
{
    return type->kind == LR_KIND_DECIMAL;
}

void lr_push_exact(lua_State *L, const lr_value *v)
{
    char text[50];
    size_t n;
    if (v->type == LR_INT) lua_pushfstring(L, "%I", (LUAI_UACINT)v->i);
    else if (v->type == LR_REAL && (n = lr_real_plain(v->r, text, sizeof text)) > 0) lua_pushlstring(L, text, n);
    else lr_push_value(L, v);
}

int lr_to_value(lua_State *L, int at, lr_value *out)
{
    switch (lua_type(L, at)) {
    case LUA_TNIL:
        *out = lr_null();
        return 0;
    case LUA_TBOOLEAN:
        *out = (lr_value){.type = LR_BOOL, .i = lua_toboolean(L, at)};
        return 0;
    case LUA_TNUMBER:
        *out = lua_isinteger(L, at) ? lr_int(lua_tointeger(L, at)) : lr_real(lua_tonumber(L, at));
        return 0;
    case LUA_TSTRING: {
        size_t n;
        const char *p = lua_tolstring(L, at, &n);
        *out = lr_textn(p, n);
        return 0;
    }
    case LUA_TLIGHTUSERDATA:
        *out = lr_null();
        return lua_touserdata(L, at) == NULL ? 0 : -1;
    case LUA_TUSERDATA:
        if (luaL_testudata(L, at, LR_T_BLOB) != NULL) {
            *out = lr_blobn(lua_touserdata(L, at), lua_rawlen(L, at) - 1);
            return 0;
        }
        return -1; /* a date has a text of its own: see the callers */
    default:
        return -1;
    }
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static lr_err problem(const char *what)
{
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "%s", what);
    return e;
}

static void read_table(lua_State *L, int at, lr_arena *a, lr_arg *out, int depth)
{
    lua_Integer listed = (lua_Integer)lua_rawlen(L, at);
    int named = 0;
    luaL_checkstack(L, 8, "options nested too deep");
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1)) {
        if (lua_type(L, -2) == LUA_TSTRING) {
            named++;
        } else if (!lua_isinteger(L, -2) || lua_tointeger(L, -2) < 1 || lua_tointeger(L, -2) > listed) {
            lr_err e = problem("a table holds a key that is neither a name nor a place in a list");
            lr_raise(L, &e);
        }
    }
    out->type = named > 0 ? LR_ARG_MAP : LR_ARG_LIST;
    out->n = (int)listed + named;
    out->items = lr_alloc(a, (size_t)(out->n + 1) * sizeof *out->items);
    out->names = lr_alloc(a, (size_t)(out->n + 1) * sizeof *out->names);
    for (lua_Integer i = 1; i <= listed; i++) {
        lua_rawgeti(L, at, i);
        lr_read_arg(L, lua_gettop(L), a, &out->items[i - 1], depth + 1);
        lua_pop(L, 1);
    }
    const char **names = lr_alloc(a, (size_t)(named + 1) * sizeof *names);
    int n = 0;
    for (lua_pushnil(L); lua_next(L, at); lua_pop(L, 1))
        if (lua_type(L, -2) == LUA_TSTRING) {
            size_t len;
            const char *z = lua_tolstring(L, -2, &len);
            if (strlen(z) != len) {
                lr_err e = problem("a name holds a NUL byte");
                lr_raise(L, &e);
            }
            names[n++] = lr_dup(a, z);
        }
    /* pairs() has no order of its own, so names are taken sorted */
    if (n > 1) qsort(names, (size_t)n, sizeof *names, compare_names);
    for (int i = 0; i < n; i++) {
        out->names[listed + i] = names[i];
        lua_pushstring(L, names[i]);
        lua_rawget(L, at);
        lr_read_arg(L, lua_gettop(L), a, &out->items[listed + i], depth + 1);
        lua_pop(L, 1);
    }
}

void lr_read_arg(lua_State *L, int at, lr_arena *a, lr_arg *out, int depth)
{
    static const struct {
        const char *type;
        lr_argtype arg;
    } boxes[] = {{LR_T_WINDOW, LR_ARG_WINDOW}, {LR_T_ROWS, LR_ARG_ROWS}};
    memset(out, 0, sizeof *out);
    if (depth > 8) {
        lr_err e = problem("options are nested too deep");
        lr_raise(L, &e);
    }
    switch (lua_type(L, at)) {
    case LUA_TNIL:
    case LUA_TNONE:
        return;
    case LUA_TBOOLEAN:
        out->type = LR_ARG_BOOL;
        out->value = lr_int(lua_toboolean(L, at));
        return;
    case LUA_TNUMBER:
        out->type = lua_isinteger(L, at) ? LR_ARG_INT : LR_ARG_REAL;
        lr_to_value(L, at, &out->value);
        return;
    case LUA_TSTRING:
        out->type = LR_ARG_STRING;
        lr_to_value(L, at, &out->value);
        out->value.s.p = lr_dupn(a, out->value.s.p, out->value.s.n);
        return;
    case LUA_TLIGHTUSERDATA:
        out->type = LR_ARG_NULL;
        out->value = lr_null();
        return;
    case LUA_TFUNCTION:
        out->type = LR_ARG_FUNCTION;
        return;
    case LUA_TTABLE:
        read_table(L, at, a, out, depth);
        return;
    case LUA_TUSERDATA:
        for (size_t i = 0; i < sizeof boxes / sizeof boxes[0]; i++) {
            void **p = luaL_testudata(L, at, boxes[i].type);
            if (p == NULL) continue;
            out->type = boxes[i].arg;
            out->p = *p;
            return;
        }
        if (luaL_testudata(L, at, LR_T_TIME) != NULL) {
            char buf[40];
            out->type = LR_ARG_TIME;
            out->value = lr_text(lr_dup(a, lr_time_text(L, lua_touserdata(L, at), buf)));
            return;
        }
        if (luaL_testudata(L, at, LR_T_SPAN) != NULL) {
            lr_span *copy = lr_alloc(a, sizeof *copy);
            *copy = *(lr_span *)lua_touserdata(L, at);
            out->type = LR_ARG_SPAN;
            out->p = copy;
            return;
        }
        if (luaL_testudata(L, at, LR_T_MARK) != NULL) {
            lr_mark *copy = lr_alloc(a, sizeof *copy);
            *copy = ((lr_markbox *)lua_touserdata(L, at))->mark;
            out->type = LR_ARG_MARK;
            out->p = copy;
            return;
        }
        if (lr_to_value(L, at, &out->value) == 0) {
            out->type = LR_ARG_STRING;
            out->value.s.p = lr_dupn(a, out->value.s.p, out->value.s.n);
            return;
        }
        /* fall through */
    default: {
        char what[96];
        strcpy(what, "an option is a ");
        strncat(what, luaL_typename(L, at), 40);
        strcat(what, ", which is no value");
        lr_err e = problem(what);
        lr_raise(L, &e);
    }
    }
}
