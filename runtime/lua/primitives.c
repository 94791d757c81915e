/* The primitives as Lua functions: read the options, call, release, raise. */
#include "lua/box.h"
#include <stdio.h>
#include <string.h>

/* What a plan cannot know raises when it is used. */
static int unknown_use(lua_State *L)
{
    return luaL_error(L, "the result of a write is not known in a plan");
}

static void push_unknown(lua_State *L)
{
    lua_newtable(L);
    luaL_setmetatable(L, "lrun.unknown");
}

static void open_unknown(lua_State *L)
{
    static const char *const events[] = {"__index", "__newindex", "__len", "__eq", "__lt", "__le", "__add", "__sub", "__mul",
                                         "__div", "__mod", "__concat", "__call", "__tostring", "__pairs", "__unm"};
    luaL_newmetatable(L, "lrun.unknown");
    for (size_t i = 0; i < sizeof events / sizeof events[0]; i++) {
        lua_pushcfunction(L, unknown_use);
        lua_setfield(L, -2, events[i]);
    }
    lua_pop(L, 1);
}

typedef struct cursorbox {
    const lr_driver *driver;
    lr_cursor *cursor;
} cursorbox;

static int cursor_close(lua_State *L)
{
    cursorbox *box = luaL_checkudata(L, 1, "lrun.result");
    if (box->cursor != NULL) box->driver->finish(box->cursor);
    box->cursor = NULL;
    return 0;
}

static cursorbox *push_cursorbox(lua_State *L)
{
    cursorbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    luaL_setmetatable(L, "lrun.result");
    return box;
}

/* A list of rows; its metatable keeps the columns' order for printing. */
static int push_result(lua_State *L, cursorbox *box, lr_err *e)
{
    int n, got;
    const lr_value *row;
    const lr_column *columns = box->driver->columns(box->cursor, &n);
    luaL_checkstack(L, n + 10, "too many columns");
    lua_newtable(L);
    int list = lua_gettop(L);
    lua_newtable(L);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, columns[i].name);
        lua_rawseti(L, -2, i + 1);
    }
    int names = lua_gettop(L);
    lua_Integer at = 0;
    while ((got = box->driver->next(box->cursor, &row, e)) == 1) {
        lua_createtable(L, 0, n);
        for (int i = 0; i < n; i++) {
            lua_rawgeti(L, names, i + 1);
            lr_push_value(L, &row[i]);
            lua_rawset(L, -3);
        }
        lua_rawseti(L, list, ++at);
    }
    if (got < 0) return -1;
    lua_createtable(L, 0, 1);
    lua_pushvalue(L, names);
    lua_setfield(L, -2, "columns");
    lua_setmetatable(L, list);
    lua_settop(L, list);
    return 0;
}

/* As push_result, for rows that a primitive has put together. */
static void push_table(lua_State *L, const lr_result *r)
{
    lua_createtable(L, r->nrows, 0);
    for (int i = 0; i < r->nrows; i++) {
        lua_createtable(L, 0, r->ncolumns);
        for (int c = 0; c < r->ncolumns; c++) {
            lr_push_value(L, &r->cells[i * r->ncolumns + c]);
            lua_setfield(L, -2, r->columns[c]);
        }
        lua_rawseti(L, -2, i + 1);
    }
    lua_createtable(L, 0, 2);
    lua_createtable(L, r->ncolumns, 0);
    for (int c = 0; c < r->ncolumns; c++) {
        lua_pushstring(L, r->columns[c]);
        lua_rawseti(L, -2, c + 1);
    }
    lua_setfield(L, -2, "columns");
    if (r->drawing != NULL) {
        lua_pushstring(L, r->drawing);
        lua_setfield(L, -2, "drawing");
    }
    lua_setmetatable(L, -2);
}

static void push_counts(lua_State *L, const lr_counts *c)
{
    const struct {
        const char *name;
        int64_t value;
    } fields[] = {{"read", c->read}, {"inserted", c->inserted}, {"updated", c->updated},
                  {"deleted", c->deleted}, {"skipped", c->skipped}};
    lua_createtable(L, 0, 5);
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++) {
        lua_pushinteger(L, fields[i].value);
        lua_setfield(L, -2, fields[i].name);
    }
}

static void set_text(lua_State *L, const char *name, const char *text)
{
    if (text != NULL) lua_pushstring(L, text);
    else lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, name);
}

static void push_report(lua_State *L, const lr_result *r)
{
    lua_createtable(L, 0, 2);
    lua_pushboolean(L, r->equal);
    lua_setfield(L, -2, "equal");
    lua_createtable(L, r->nlines, 0);
    for (int i = 0; i < r->nlines; i++) {
        const lr_report_line *line = &r->lines[i];
        lua_createtable(L, 0, 6);
        set_text(L, "metric", line->metric);
        set_text(L, "group", line->group);
        set_text(L, "source", line->source);
        set_text(L, "warehouse", line->warehouse);
        set_text(L, "difference", line->difference);
        lua_pushboolean(L, line->equal);
        lua_setfield(L, -2, "equal");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "lines");
}

static int nul_in_name(const lr_arg *a)
{
    if (a->type == LR_ARG_STRING && memchr(a->value.s.p, 0, a->value.s.n) != NULL) return 1;
    for (int i = 0; a->type == LR_ARG_LIST && i < a->n; i++)
        if (nul_in_name(&a->items[i])) return 1;
    return 0;
}

/* The table's entries, sorted into the positional one, options and others. */
static void read_call(lua_State *L, const lr_primitive *p, lr_arena *a, lr_args *args, lr_err *e)
{
    lr_arg all, *named = lr_alloc(a, (size_t)(p->noptions + 1) * sizeof *named);
    lr_arg *extra = lr_alloc(a, sizeof *extra);
    args->scratch = a;
    args->named = named;
    args->extra = extra;
    lr_read_arg(L, 1, a, &all, 0);
    if (all.type == LR_ARG_STRING) {
        args->first = all;
        return;
    }
    extra->type = LR_ARG_MAP;
    extra->items = lr_alloc(a, (size_t)(all.n + 1) * sizeof *extra->items);
    extra->names = lr_alloc(a, (size_t)(all.n + 1) * sizeof *extra->names);
    for (int i = 0; i < all.n; i++) {
        const char *name = all.names[i];
        if (name == NULL && i > 0) {
            lr_fail(e, LR_FAILED, "%s takes one value without a name", p->name);
            lr_hint(e, "for example: %s", p->example);
            lr_raise(L, e);
        }
        if (name == NULL) {
            args->first = all.items[i];
            continue;
        }
        int option = lr_option_find(p, name, e);
        if (option >= 0) {
            named[option] = all.items[i];
            if (!nul_in_name(&all.items[i])) continue;
            lr_fail(e, LR_FAILED, "%s: %s holds a NUL byte", p->name, name);
            lr_raise(L, e);
        }
        if (e->status != LR_OK) lr_raise(L, e);
        extra->items[extra->n] = all.items[i];
        extra->names[extra->n++] = name;
    }
}

/* A function among the options, kept where a protected call finds it. */
typedef struct asker {
    lr_vm *vm;
    int function; /* reference in the registry, LUA_NOREF for none */
    const char *text;
    int passed;
    char why[400];
} asker;

static int ask_function(lua_State *L)
{
    asker *a = lua_touserdata(L, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, a->function);
    lua_pushstring(L, a->text);
    lua_call(L, 1, 2);
    a->passed = lua_isnil(L, -2) ? lua_isnil(L, -1) : lua_toboolean(L, -2);
    if (!a->passed && !lua_isnil(L, -1)) snprintf(a->why, sizeof a->why, "%s", luaL_tolstring(L, -1, NULL));
    return 0;
}

static int ask(const lr_args *args, const char *text, int *passed, lr_err *e)
{
    asker *a = args->asker;
    a->text = text;
    if (lr_vm_protected(a->vm, ask_function, a, e) != 0) return -1;
    *passed = a->passed;
    if (!a->passed) snprintf(e->message, sizeof e->message, "%s", a->why);
    return 0;
}

static void keep_function(lua_State *L, const lr_primitive *p, const lr_args *args, asker *a)
{
    for (int i = 0; i < p->noptions; i++) {
        if (args->named[i].type != LR_ARG_FUNCTION || a->function != LUA_NOREF) continue;
        lua_getfield(L, 1, p->options[i].name);
        a->function = luaL_ref(L, LUA_REGISTRYINDEX);
    }
}

/* "merge into dw_orders: ", unless the message begins with its name already. */
static void add_step(const lr_primitive *p, const lr_args *args, lr_err *e)
{
    size_t n = strlen(p->name);
    if (strncmp(e->message, p->name, n) == 0 && strchr(": ", e->message[n]) != NULL) return;
    /* the first that a primitive has is its table: from may be a column after it */
    static const struct {
        const char *option, *word;
    } objects[] = {{"into", "into"}, {"with", "with"}, {"dim", "with"}, {"from", "from"}};
    for (int i = 0; i < p->noptions; i++)
        for (int j = 0; j < 4; j++)
            if (strcmp(p->options[i].name, objects[j].option) == 0 && args->named[i].type == LR_ARG_STRING) {
                lr_step(e, "%s %s %s", p->name, objects[j].word, args->named[i].value.s.p);
                return;
            }
    lr_step(e, "%s", p->name);
}

static int l_primitive(lua_State *L)
{
    const lr_primitive *p = lua_touserdata(L, lua_upvalueindex(1));
    lr_vm *vm = lr_vm_of(L);
    lr_err e = {0};
    char where[256];
    vm->now = L;
    if (vm->run == NULL) return luaL_error(L, "%s: there is no run here", p->name);
    vm->first_call = 1;
    if (vm->run->doomed) {
        lr_fail(&e, LR_FAILED, "the run has failed already and will be rolled back: %s", vm->run->first.message);
        return lr_raise(L, &e);
    }
    if (vm->job->manual && p->writes && p != lr_primitive_find("execute") && p != lr_primitive_find("reconcile")) {
        lr_fail(&e, LR_FAILED, "%s: a job with transaction = \"manual\" writes with execute", p->name);
        lr_hint(&e, "take transaction = \"manual\" away: then the run is one transaction and the primitives work");
        return lr_raise(L, &e);
    }
    lua_settop(L, 1);
    if (!lua_istable(L, 1) && !(lua_type(L, 1) == LUA_TSTRING && (p->first_accepts & LR_ARG_STRING))) {
        lr_fail(&e, LR_FAILED, "%s takes one table", p->name);
        lr_hint(&e, "for example: %s", p->example);
        return lr_raise(L, &e);
    }
    int depth = vm->depth++;
    lr_arena *scratch = lr_push_arena(L);
    cursorbox *box = push_cursorbox(L);
    lr_args args = {0};
    lr_result result = {0};
    read_call(L, p, scratch, &args, &e);
    args.where = lr_where(L, where, sizeof where);
    asker question = {vm, LUA_NOREF, NULL, 0, ""};
    args.ask = ask;
    args.asker = &question;
    keep_function(L, p, &args, &question);
    int failed = lr_args_check(p, &args, &e);
    if (failed == 0) failed = p->call(vm->run, &args, &result, &e);
    if (failed == 0 && result.kind == LR_RESULT_CURSOR) {
        box->driver = result.place->driver;
        box->cursor = result.cursor;
        failed = push_result(L, box, &e);
        box->driver->finish(box->cursor);
        box->cursor = NULL;
    }
    if (failed != 0) add_step(p, &args, &e);
    luaL_unref(L, LUA_REGISTRYINDEX, question.function);
    lr_arena_free(scratch);
    if (failed != 0) return lr_raise(L, &e);
    if (result.unknown) {
        push_unknown(L);
        vm->depth = depth;
        return 1;
    }
    switch (result.kind) {
    case LR_RESULT_ROWS:
        lr_push_rows(L, (lr_rowset *)result.rows);
        break;
    case LR_RESULT_COUNTS:
        push_counts(L, &result.counts);
        break;
    case LR_RESULT_REPORT:
        push_report(L, &result);
        break;
    case LR_RESULT_INT:
        lua_pushinteger(L, result.number);
        break;
    case LR_RESULT_TABLE:
        push_table(L, &result);
        break;
    case LR_RESULT_CURSOR:
        break;
    case LR_RESULT_NONE:
        vm->depth = depth;
        return 0;
    }
    vm->depth = depth;
    return 1;
}

void lr_open_primitives(lua_State *L)
{
    lr_new_closed(L, "lrun.result", cursor_close);
    open_unknown(L);
    for (int i = 0; lr_primitives[i] != NULL; i++) {
        if (lr_primitives[i]->call == NULL) continue;
        lua_pushlightuserdata(L, (void *)lr_primitives[i]);
        lua_pushcclosure(L, l_primitive, 1);
        lua_setglobal(L, lr_primitives[i]->name);
    }
}
