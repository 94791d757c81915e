/* window and watermark for jobs. */
#include "lua/box.h"

#include "run/ledger.h"
#include <string.h>

extern const lr_primitive lr_primitive_window, lr_primitive_watermark;

static lr_run *run_of(lua_State *L)
{
    lr_vm *vm = lr_vm_of(L);
    if (vm->run == NULL) luaL_error(L, "there is no run here");
    vm->now = L;
    vm->first_call = 1;
    return vm->run;
}

void lr_push_window(lua_State *L, lr_window *w)
{
    *(lr_window **)lua_newuserdatauv(L, sizeof w, 0) = w;
    luaL_setmetatable(L, LR_T_WINDOW);
}

static int raise_step(lua_State *L, lr_err *e, const char *step)
{
    lr_step(e, "%s", step);
    return lr_raise(L, e);
}

/* The options of a table, by the primitive's own list. */
static void read_options(lua_State *L, int at, const lr_primitive *p, lr_arena *a, lr_arg *named, lr_arg *first)
{
    lr_arg all;
    lr_err e = {0};
    lr_read_arg(L, at, a, &all, 0);
    memset(named, 0, (size_t)p->noptions * sizeof *named);
    for (int i = 0; i < all.n; i++) {
        if (all.names[i] == NULL) {
            *first = all.items[i];
            continue;
        }
        int option = lr_option_find(p, all.names[i], &e);
        if (option < 0) lr_raise(L, &e);
        named[option] = all.items[i];
    }
    lr_args args = {.named = named, .scratch = a};
    if (lr_args_check(p, &args, &e) != 0) lr_raise(L, &e);
}

static int window_of_table(lua_State *L, lr_run *run)
{
    lr_arg named[4], first = {0};
    lr_err e = {0};
    lr_window *w;
    lr_arena *a = lr_push_arena(L);
    read_options(L, 1, &lr_primitive_window, a, named, &first);
    if (first.type != LR_ARG_NONE) {
        lr_fail(&e, LR_FAILED, "window { } takes named options only");
        lr_hint(&e, "for a range write window(\"2026-01-19\", \"2026-01-22\")");
        return lr_raise(L, &e);
    }
    const lr_arg *lookback = &named[1];
    const lr_span *span = lookback->type == LR_ARG_SPAN ? lookback->p : NULL;
    const int64_t *number = lookback->type == LR_ARG_INT ? &lookback->value.i : NULL;
    if ((span != NULL && (span->days < 0 || span->months < 0 || span->us < 0)) || (number != NULL && *number < 0)) {
        lr_fail(&e, LR_FAILED, "a lookback cannot be negative");
        return raise_step(L, &e, "window");
    }
    if (lr_window_since(run, named[0].p, span, number, &w, &e) != 0) return raise_step(L, &e, "window");
    lr_push_window(L, w);
    return 1;
}

static int l_window(lua_State *L)
{
    lr_run *run = run_of(L);
    lr_err e = {0};
    lr_window *w;
    const lr_zone *z = run->job->zone;
    int n = lua_gettop(L);
    if (n == 0) {
        if (lr_window_logical(run, &w, &e) != 0) return raise_step(L, &e, "window");
    } else if (n == 1 && lua_istable(L, 1)) {
        return window_of_table(L, run);
    } else {
        int64_t start = lr_check_time(L, 1, "window"), stop;
        if (n >= 2) {
            stop = lr_check_time(L, 2, "window");
        } else if (lr_is_midnight(z, start)) {
            stop = lr_grain_next(z, LR_DAY, start);
        } else {
            lr_fail(&e, LR_FAILED, "window: one argument is a day, and this has a time of day");
            lr_hint(&e, "pass start and stop: window(\"2026-01-20 09:00\", \"2026-01-20 10:00\")");
            return lr_raise(L, &e);
        }
        if (lr_window_range(run, start, stop, &w, &e) != 0) return raise_step(L, &e, "window");
    }
    lr_push_window(L, w);
    return 1;
}

static int window_tostring(lua_State *L)
{
    lr_window **w = luaL_checkudata(L, 1, LR_T_WINDOW);
    lua_pushstring(L, lr_window_text(run_of(L), *w));
    return 1;
}

static int window_index(lua_State *L)
{
    lr_window **w = luaL_checkudata(L, 1, LR_T_WINDOW);
    const char *name = luaL_checkstring(L, 2);
    int start = strcmp(name, "start") == 0;
    if (!start && strcmp(name, "stop") != 0)
        return luaL_error(L, "a window has no field '%s': it has start and stop", name);
    const lr_edge *edge = start ? &(*w)->start : &(*w)->stop;
    if (!edge->set) {
        lua_pushlightuserdata(L, NULL);
        return 1;
    }
    if (edge->exact) {
        lr_push_value(L, &edge->value);
        return 1;
    }
    lr_push_time(L, edge->us, lr_is_midnight(run_of(L)->job->zone, edge->us));
    return 1;
}

/* ---- watermark ---- */

static int l_watermark(lua_State *L)
{
    lr_run *run = run_of(L);
    lr_arg named[4], first = {0};
    lr_err e = {0};
    memset(named, 0, sizeof named);
    if (run->job->manual) {
        lr_fail(&e, LR_FAILED, "watermark: a job with transaction = \"manual\" has no saved watermark");
        lr_hint(&e, "keep it in a table of the warehouse with query and execute, or take transaction = \"manual\" away");
        return lr_raise(L, &e);
    }
    if (lua_gettop(L) > 1) return luaL_error(L, "watermark takes one argument: a name or a table of options");
    lr_arena *a = lr_push_arena(L);
    if (lua_type(L, 1) == LUA_TSTRING) lr_read_arg(L, 1, a, &first, 0);
    else if (lua_istable(L, 1)) read_options(L, 1, &lr_primitive_watermark, a, named, &first);
    else if (lua_gettop(L) > 1) return luaL_error(L, "watermark takes a name or a table of options");
    if (first.type != LR_ARG_NONE && first.type != LR_ARG_STRING) return luaL_error(L, "a watermark's name must be a string");
    const char *name = lr_arg_text(&named[0], lr_arg_text(&first, "default"));
    const char *advance = lr_arg_text(&named[2], "run_start");
    int newest = strcmp(advance, "newest") == 0;
    if (!newest && strcmp(advance, "run_start") != 0) {
        lr_fail(&e, LR_FAILED, "watermark: advance = \"%s\" is not known", advance);
        lr_hint(&e, "use \"run_start\" or \"newest\"");
        return lr_raise(L, &e);
    }
    const char *start = named[1].type == LR_ARG_NONE ? NULL : lr_value_text(a, &named[1].value);
    lr_time t;
    if (start != NULL && !newest && lr_time_parse(start, strlen(start), run->job->zone, &t) != 0) {
        lr_fail(&e, LR_FAILED, "watermark: start = '%s' is no date or time", start);
        lr_hint(&e, "write it as 2026-01-20 or 2026-01-20 09:30:00");
        return lr_raise(L, &e);
    }
    if (named[3].type != LR_ARG_NONE && !newest) {
        lr_fail(&e, LR_FAILED, "watermark: closed goes with advance = \"newest\"");
        lr_hint(&e, "a window up to run_start includes its start; leave closed out");
        return lr_raise(L, &e);
    }
    lr_markbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    box->mark.newest = newest;
    box->mark.rule = named[3].type == LR_ARG_NONE ? LR_START_BY_WRITE : lr_arg_bool(&named[3], 1) ? LR_START_CLOSED : LR_START_OPEN;
    box->mark.name = lr_dup(&run->arena, name);
    box->mark.start = lr_dup(&run->arena, start);
    luaL_setmetatable(L, LR_T_MARK);
    return 1;
}

static int mark_tostring(lua_State *L)
{
    lr_markbox *box = luaL_checkudata(L, 1, LR_T_MARK);
    lr_run *run = run_of(L);
    lr_err e = {0};
    const char *value;
    if (lr_ledger_watermark(run, box->mark.name, &value, &e) != 0) return lr_raise(L, &e);
    lua_pushstring(L, value != NULL ? value : "none");
    return 1;
}

static int concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

void lr_open_windows(lua_State *L)
{
    static const luaL_Reg window_methods[] = {
        {"__tostring", window_tostring}, {"__concat", concat}, {"__index", window_index}, {NULL, NULL}};
    static const luaL_Reg mark_methods[] = {{"__tostring", mark_tostring}, {"__concat", concat}, {NULL, NULL}};
    luaL_newmetatable(L, LR_T_WINDOW);
    luaL_setfuncs(L, window_methods, 0);
    luaL_newmetatable(L, LR_T_MARK);
    luaL_setfuncs(L, mark_methods, 0);
    lua_pop(L, 2);
    lua_register(L, "window", l_window);
    lua_register(L, "watermark", l_watermark);
}
