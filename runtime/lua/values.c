/* Dates, instants and spans for jobs. */
#include "lua/box.h"
#include <math.h>
#include <string.h>

static const lr_zone *zone_of(lua_State *L)
{
    const lr_vm *vm = lr_vm_of(L);
    return vm->job != NULL ? vm->job->zone : lr_zone_utc();
}

void lr_push_time(lua_State *L, int64_t us, int is_date)
{
    lr_timebox *t = lua_newuserdatauv(L, sizeof *t, 0);
    t->us = us;
    t->is_date = is_date;
    luaL_setmetatable(L, LR_T_TIME);
}

void lr_push_span(lua_State *L, const lr_span *s)
{
    lr_span *box = lua_newuserdatauv(L, sizeof *box, 0);
    *box = *s;
    luaL_setmetatable(L, LR_T_SPAN);
}

const char *lr_time_text(lua_State *L, const lr_timebox *t, char buf[40])
{
    const lr_zone *z = zone_of(L);
    return t->is_date ? lr_format_date(z, t->us, buf) : lr_format_offset(z, t->us, buf);
}

static int parse_time(lua_State *L, const char *text, size_t n, lr_timebox *out)
{
    lr_time t;
    if (lr_time_parse(text, n, zone_of(L), &t) != 0) return -1;
    out->us = t.us;
    out->is_date = t.date_only;
    return 0;
}

static int bad_time(lua_State *L, const char *what, const char *text)
{
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "%s: '%s' is no date or time", what, text);
    lr_hint(&e, "write it as 2026-01-20 or 2026-01-20 09:30:00");
    return lr_raise(L, &e);
}

int64_t lr_check_time(lua_State *L, int at, const char *what)
{
    lr_timebox *box = luaL_testudata(L, at, LR_T_TIME), t;
    if (box != NULL) return box->us;
    size_t n;
    const char *text = lua_type(L, at) == LUA_TSTRING ? lua_tolstring(L, at, &n) : NULL;
    if (text == NULL || parse_time(L, text, n, &t) != 0) {
        bad_time(L, what, text != NULL ? text : luaL_typename(L, at));
        return 0;
    }
    return t.us;
}

static int l_date(lua_State *L)
{
    lr_timebox *box = luaL_testudata(L, 1, LR_T_TIME);
    int64_t us = lr_check_time(L, 1, "date");
    if (!lr_is_midnight(zone_of(L), us)) {
        if (box == NULL) return bad_time(L, "date", lua_tostring(L, 1));
        us = lr_grain_floor(zone_of(L), LR_DAY, us);
    }
    lr_push_time(L, us, 1);
    return 1;
}

static int l_instant(lua_State *L)
{
    lr_push_time(L, lr_check_time(L, 1, "instant"), 0);
    return 1;
}

static int64_t count_arg(lua_State *L, const char *name)
{
    int exact;
    lua_Integer n = lua_tointegerx(L, 1, &exact);
    if (exact && n > -4000000000LL && n < 4000000000LL) return n;
    lr_err e = {0};
    lr_fail(&e, LR_FAILED, "%s takes a whole number", name);
    lr_hint(&e, "for example: %s(2)", name);
    return lr_raise(L, &e);
}

static int l_days(lua_State *L)
{
    lr_push_span(L, &(lr_span){.days = count_arg(L, "days")});
    return 1;
}

static int l_weeks(lua_State *L)
{
    lr_push_span(L, &(lr_span){.days = 7 * count_arg(L, "weeks")});
    return 1;
}

static int l_months(lua_State *L)
{
    lr_push_span(L, &(lr_span){.months = count_arg(L, "months")});
    return 1;
}

static int l_hours(lua_State *L)
{
    lr_push_span(L, &(lr_span){.us = count_arg(L, "hours") * LR_US_PER_HOUR});
    return 1;
}

static int l_minutes(lua_State *L)
{
    lr_push_span(L, &(lr_span){.us = count_arg(L, "minutes") * 60 * LR_US_PER_SECOND});
    return 1;
}

static int shift(lua_State *L, const lr_timebox *t, const lr_span *s, int sign)
{
    lr_err e = {0};
    int64_t us;
    if (lr_span_add(zone_of(L), t->us, s, sign, &us, &e) != 0) return lr_raise(L, &e);
    lr_push_time(L, us, t->is_date && s->us == 0);
    return 1;
}

static int time_add(lua_State *L)
{
    lr_timebox *t = luaL_testudata(L, 1, LR_T_TIME);
    lr_span *s = luaL_testudata(L, 2, LR_T_SPAN);
    if (t == NULL) {
        t = luaL_testudata(L, 2, LR_T_TIME);
        s = luaL_testudata(L, 1, LR_T_SPAN);
    }
    if (t == NULL || s == NULL) return luaL_error(L, "a date and a span such as days(2) can be added");
    return shift(L, t, s, 1);
}

static int time_sub(lua_State *L)
{
    lr_timebox *t = luaL_checkudata(L, 1, LR_T_TIME);
    lr_span *s = luaL_testudata(L, 2, LR_T_SPAN);
    if (s != NULL) return shift(L, t, s, -1);
    lr_timebox *u = luaL_testudata(L, 2, LR_T_TIME);
    if (u == NULL) return luaL_error(L, "from a date a span such as days(2) or another date can be taken");
    int64_t us = t->us - u->us;
    const lr_zone *z = zone_of(L);
    lr_span between = {.us = us};
    if (t->is_date && u->is_date)
        between = (lr_span){.days = (lr_zone_local(z, t->us) - lr_zone_local(z, u->us)) / LR_US_PER_DAY};
    lr_push_span(L, &between);
    return 1;
}

static int64_t comparable(lua_State *L, int at)
{
    return lr_check_time(L, at, "comparison");
}

static int time_eq(lua_State *L)
{
    lua_pushboolean(L, comparable(L, 1) == comparable(L, 2));
    return 1;
}

static int time_lt(lua_State *L)
{
    lua_pushboolean(L, comparable(L, 1) < comparable(L, 2));
    return 1;
}

static int time_le(lua_State *L)
{
    lua_pushboolean(L, comparable(L, 1) <= comparable(L, 2));
    return 1;
}

static int time_tostring(lua_State *L)
{
    char buf[40];
    lua_pushstring(L, lr_time_text(L, luaL_checkudata(L, 1, LR_T_TIME), buf));
    return 1;
}

static int concat(lua_State *L)
{
    luaL_tolstring(L, 1, NULL);
    luaL_tolstring(L, 2, NULL);
    lua_concat(L, 2);
    return 1;
}

static int time_index(lua_State *L)
{
    lr_timebox *t = luaL_checkudata(L, 1, LR_T_TIME);
    const char *name = luaL_checkstring(L, 2);
    lr_civil c = lr_civil_from_us(lr_zone_local(zone_of(L), t->us));
    const struct {
        const char *name;
        int value;
    } fields[] = {{"year", c.year}, {"month", c.month}, {"day", c.day},
                  {"hour", c.hour}, {"minute", c.minute}, {"second", c.second}};
    for (size_t i = 0; i < sizeof fields / sizeof fields[0]; i++)
        if (strcmp(fields[i].name, name) == 0) {
            lua_pushinteger(L, fields[i].value);
            return 1;
        }
    return luaL_error(L, "a date has no field '%s': it has year, month, day, hour, minute, second", name);
}

static int span_combine(lua_State *L, int sign)
{
    lr_span *a = luaL_testudata(L, 1, LR_T_SPAN), *b = luaL_testudata(L, 2, LR_T_SPAN);
    if (a == NULL || b == NULL) return sign > 0 ? time_add(L) : luaL_error(L, "a span and a span can be combined");
    lr_push_span(L, &(lr_span){a->months + sign * b->months, a->days + sign * b->days, a->us + sign * b->us});
    return 1;
}

static int span_add(lua_State *L)
{
    return span_combine(L, 1);
}

static int span_sub(lua_State *L)
{
    return span_combine(L, -1);
}

static int span_mul(lua_State *L)
{
    lr_span *s = luaL_testudata(L, 1, LR_T_SPAN);
    int other = s != NULL ? 2 : 1;
    if (s == NULL) s = luaL_checkudata(L, 2, LR_T_SPAN);
    lua_Integer n = luaL_checkinteger(L, other);
    lr_push_span(L, &(lr_span){s->months * n, s->days * n, s->us * n});
    return 1;
}

static int span_eq(lua_State *L)
{
    lr_span *a = luaL_checkudata(L, 1, LR_T_SPAN), *b = luaL_checkudata(L, 2, LR_T_SPAN);
    lua_pushboolean(L, a->months == b->months && a->days == b->days && a->us == b->us);
    return 1;
}

static int span_tostring(lua_State *L)
{
    char buf[96];
    lua_pushstring(L, lr_span_format(luaL_checkudata(L, 1, LR_T_SPAN), buf));
    return 1;
}

static int l_blob(lua_State *L)
{
    size_t n;
    const char *p = luaL_checklstring(L, 1, &n);
    char *box = lua_newuserdatauv(L, n + 1, 0);
    memcpy(box, p, n);
    box[n] = 0;
    luaL_setmetatable(L, LR_T_BLOB);
    return 1;
}

static int blob_tostring(lua_State *L)
{
    luaL_checkudata(L, 1, LR_T_BLOB);
    lua_pushlstring(L, lua_touserdata(L, 1), lua_rawlen(L, 1) - 1);
    return 1;
}

void lr_open_values(lua_State *L)
{
    static const luaL_Reg time_methods[] = {
        {"__add", time_add}, {"__sub", time_sub}, {"__eq", time_eq}, {"__lt", time_lt}, {"__le", time_le},
        {"__tostring", time_tostring}, {"__concat", concat}, {"__index", time_index}, {NULL, NULL}};
    static const luaL_Reg span_methods[] = {
        {"__add", span_add}, {"__sub", span_sub}, {"__mul", span_mul}, {"__eq", span_eq},
        {"__tostring", span_tostring}, {"__concat", concat}, {NULL, NULL}};
    static const luaL_Reg blob_methods[] = {{"__tostring", blob_tostring}, {NULL, NULL}};
    static const luaL_Reg globals[] = {{"date", l_date}, {"instant", l_instant}, {"days", l_days}, {"weeks", l_weeks},
                                       {"months", l_months}, {"hours", l_hours}, {"minutes", l_minutes},
                                       {"blob", l_blob}, {NULL, NULL}};
    luaL_newmetatable(L, LR_T_TIME);
    luaL_setfuncs(L, time_methods, 0);
    luaL_newmetatable(L, LR_T_SPAN);
    luaL_setfuncs(L, span_methods, 0);
    luaL_newmetatable(L, LR_T_BLOB);
    luaL_setfuncs(L, blob_methods, 0);
    lua_pop(L, 3);
    lua_pushglobaltable(L);
    luaL_setfuncs(L, globals, 0);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");
    lua_pop(L, 1);
}
