/* core.series: the runs of a range of logical dates over the same connections,
 * for backfill, plan and reconcile. */
#include "lua/host.h"
#include "lua/job.h"
#include "run/ledger.h"
#include <string.h>

typedef struct seriesbox {
    lr_arena arena;
    lr_execution_config config;
    struct lr_reporter reporter;
    lr_execution x;
    lr_run steward; /* carries the statements on the backfill's own row */
    lr_backfill backfill;
    const char *first, *last;
} seriesbox;

static int series_close(lua_State *L)
{
    seriesbox *box = luaL_checkudata(L, 1, "lrun.series");
    lr_run_free(&box->steward);
    lr_execution_free(&box->x);
    lr_arena_free(&box->arena);
    return 0;
}

/* core.series(config, first, last): or nil and the error */
static int core_series(lua_State *L)
{
    lr_err e = {0};
    const char *first = luaL_checkstring(L, 2), *last = luaL_checkstring(L, 3);
    seriesbox *box = lua_newuserdatauv(L, sizeof *box, 0);
    memset(box, 0, sizeof *box);
    luaL_setmetatable(L, "lrun.series");
    lr_read_config(L, 1, &box->arena, &box->config, &box->reporter);
    box->first = lr_dup(&box->arena, first);
    box->last = lr_dup(&box->arena, last);
    box->reporter.run = &box->x.run;
    if (lr_execution_series(&box->x, &box->config, last, &e) != 0) {
        lr_execution_free(&box->x);
        return lr_push_failure(L, &e);
    }
    box->steward.session = &box->x.session;
    box->steward.job = &box->x.job;
    box->steward.mode = box->config.mode;
    box->steward.verbose = box->config.verbose;
    box->steward.report = box->config.report;
    box->steward.report_arg = box->config.report_arg;
    return 1;
}

static seriesbox *check_open(lua_State *L)
{
    seriesbox *box = luaL_checkudata(L, 1, "lrun.series");
    if (box->x.session.warehouse == NULL) luaL_error(L, "the series is closed");
    return box;
}

/* { backfill_id, status, ..., done = { date = run_id } } */
static int push_backfill(lua_State *L, seriesbox *box)
{
    const lr_backfill *b = &box->backfill;
    lr_finished *done = NULL;
    lr_err e = {0};
    if (b->id != 0 && lr_backfill_done(&box->steward, b, &done, &e) != 0) return lr_push_failure(L, &e);
    lua_createtable(L, 0, 10);
    lua_pushinteger(L, b->id);
    lua_setfield(L, -2, "backfill_id");
    lua_newtable(L);
    for (const lr_finished *f = done; f != NULL; f = f->next) {
        lua_pushinteger(L, f->run_id);
        lua_setfield(L, -2, f->date);
    }
    lua_setfield(L, -2, "done");
    if (b->id == 0) return 1;
    lr_set_text(L, "status", b->status);
    lr_set_text(L, "started_at", b->started_at);
    lr_set_text(L, "host", b->host);
    lr_set_text(L, "owner_started", b->owner_started);
    lua_pushinteger(L, b->pid);
    lua_setfield(L, -2, "pid");
    lua_pushboolean(L, b->alive);
    lua_setfield(L, -2, "alive");
    lua_pushboolean(L, strcmp(b->sha256, box->x.job.sha256) != 0);
    lua_setfield(L, -2, "changed");
    return 1;
}

/* series:look(): what the ledger knows of this backfill; backfill_id 0: nothing */
static int series_look(lua_State *L)
{
    seriesbox *box = check_open(L);
    lr_err e = {0};
    if (lr_backfill_find(&box->steward, box->first, box->last, &box->backfill, &e) != 0) return lr_push_failure(L, &e);
    return push_backfill(L, box);
}

/* series:claim { again, accept_change, take_over }: as look, and it is ours; or
 * its status is "succeeded" and there is nothing to do */
static int series_claim(lua_State *L)
{
    seriesbox *box = check_open(L);
    lr_err e = {0};
    luaL_checktype(L, 2, LUA_TTABLE);
    lr_claim claim = {box->first, box->last, lr_flag_field(L, 2, "again"), lr_flag_field(L, 2, "accept_change"), lr_flag_field(L, 2, "take_over")};
    if (lr_backfill_claim(&box->steward, &claim, &box->backfill, &e) != 0) return lr_push_failure(L, &e);
    box->x.backfill = &box->backfill;
    return push_backfill(L, box);
}

/* series:run(date): the outcome, as of core.run */
static int series_run(lua_State *L)
{
    seriesbox *box = check_open(L);
    lr_err e = {0};
    const char *date = luaL_checkstring(L, 2);
    int failed = lr_execution_date(&box->x, date, &e);
    lr_push_outcome(L, &box->x, failed, &e);
    return 1;
}

/* series:finish(status): true, or nil and the error */
static int series_finish(lua_State *L)
{
    seriesbox *box = check_open(L);
    lr_err e = {0};
    if (lr_backfill_finish(&box->steward, &box->backfill, luaL_checkstring(L, 2), &e) != 0) return lr_push_failure(L, &e);
    lua_pushboolean(L, 1);
    return 1;
}

static int series_job(lua_State *L)
{
    lr_push_job(L, &check_open(L)->x.job);
    return 1;
}

static int series_name(lua_State *L)
{
    lua_pushstring(L, check_open(L)->x.session.warehouse->shown);
    return 1;
}

void lr_open_core_series(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"look", series_look}, {"claim", series_claim}, {"run", series_run}, {"finish", series_finish}, {"job", series_job},
        {"name", series_name}, {"close", series_close}, {"__gc", series_close}, {"__close", series_close}, {NULL, NULL}};
    luaL_newmetatable(L, "lrun.series");
    luaL_setfuncs(L, methods, 0);
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    lua_pushcfunction(L, core_series);
    lua_setfield(L, -2, "series");
}
