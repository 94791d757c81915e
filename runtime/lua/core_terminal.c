/* What commands need of the machine: output whose failure is remembered, the
 * terminal, the line editor, the clock, dates, and reading connections.lua. */
#include "lua/box.h"
#include "lua/edit.h"
#include "lua/host.h"
#include "lua/output.h"
#include "run/module.h"
#include "run/process.h"
#include "run/stop.h"
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static FILE *out;     /* the report; apart from stdout with --json */
static int out_failed;

void lr_out_open(int json)
{
    out = stdout;
    if (!json) return;
    /* Whatever else writes to stdout must not mix with the JSON lines. */
    int fd = dup(STDOUT_FILENO);
    FILE *own = fd >= 0 ? fdopen(fd, "w") : NULL;
    if (own == NULL) {
        out_failed = 1;
        return;
    }
    out = own;
    dup2(STDERR_FILENO, STDOUT_FILENO);
}

int lr_out_close(void)
{
    if (fflush(out) != 0 || ferror(out)) out_failed = 1;
    if (out != stdout && fclose(out) != 0) out_failed = 1;
    if (out == stdout && fclose(stdout) != 0) out_failed = 1;
    return out_failed;
}

static int core_write(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    if (!out_failed && fwrite(text, 1, n, out) != n) out_failed = 1;
    return 0;
}

static int core_flush(lua_State *L)
{
    if (!out_failed && fflush(out) != 0) out_failed = 1;
    lua_pushboolean(L, !out_failed);
    return 1;
}

/* core.visible(text): with control characters written as their bytes */
static int core_visible(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    size_t size = lr_visible(text, n, NULL, 0);
    luaL_Buffer b;
    char *to = luaL_buffinitsize(L, &b, size + 1);
    lr_visible(text, n, to, size + 1);
    luaL_pushresultsize(&b, size);
    return 1;
}

/* Much of what is told here somebody else wrote, and none of it is coloured. */
static int core_warn(lua_State *L)
{
    size_t n;
    core_visible(L);
    const char *text = lua_tolstring(L, -1, &n);
    fflush(out);
    fwrite(text, 1, n, stderr);
    fflush(stderr);
    return 0;
}

static int core_isatty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

static int core_width(lua_State *L)
{
    struct winsize w;
    int n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_col > 0 ? w.ws_col : 80;
    lua_pushinteger(L, n);
    return 1;
}

static int core_height(lua_State *L)
{
    struct winsize w;
    int n = ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) == 0 && w.ws_row > 0 ? w.ws_row : 24;
    lua_pushinteger(L, n);
    return 1;
}

/* core.typed(milliseconds): is there input to read within that time? */
static int core_typed(lua_State *L)
{
    struct pollfd input = {.fd = STDIN_FILENO, .events = POLLIN};
    fflush(out);
    lua_pushboolean(L, poll(&input, 1, (int)luaL_checkinteger(L, 1)) > 0);
    return 1;
}

static int core_now(lua_State *L)
{
    char text[40];
    lua_pushstring(L, lr_format_instant(lr_zone_utc(), lr_clock_us(), text));
    return 1;
}

static int core_ticks(lua_State *L)
{
    lua_pushnumber(L, (lua_Number)lr_ticks_us() / 1000);
    return 1;
}

static int core_deadline(lua_State *L)
{
    lr_stop_deadline(luaL_checknumber(L, 1));
    return 0;
}

/* core.signal(): the signal that came, or nil */
static int core_signal(lua_State *L)
{
    if (lr_stop_signal() == 0) return 0;
    lua_pushinteger(L, lr_stop_signal());
    return 1;
}

static int core_clear_signal(lua_State *L)
{
    (void)L;
    lr_stop_reset();
    return 0;
}

static int push_errno(lua_State *L, int failed)
{
    if (!failed) {
        lua_pushboolean(L, 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

static int core_mkdir(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct stat st;
    if (stat(path, &st) == 0 && S_ISDIR(st.st_mode)) return push_errno(L, 0);
    return push_errno(L, mkdir(path, 0777) != 0);
}

/* core.stat(path): "file", "directory", "other" or nil; and when it was changed, in nanoseconds */
static int core_stat(lua_State *L)
{
    struct stat st;
    if (stat(luaL_checkstring(L, 1), &st) != 0) return 0;
    lua_pushstring(L, S_ISDIR(st.st_mode) ? "directory" : S_ISREG(st.st_mode) ? "file" : "other");
    lua_pushinteger(L, (lua_Integer)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec);
    return 2;
}

/* core.list(path): the names in a folder, or nil and why. */
static int core_list(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    lr_arena *a = lr_push_arena(L);
    char **names = NULL;
    int n = 0, room = 0;
    struct dirent *entry;
    DIR *d = opendir(path);
    if (d == NULL) return push_errno(L, 1);
    while ((entry = readdir(d)) != NULL) {
        if (n == room) names = lr_grow(a, names, n, &room, sizeof *names);
        names[n++] = lr_dup(a, entry->d_name);
    }
    closedir(d);
    lua_createtable(L, n, 0);
    for (int i = 0; i < n; i++) {
        lua_pushstring(L, names[i]);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

static int core_cwd(lua_State *L)
{
    char path[4096];
    if (getcwd(path, sizeof path) == NULL) return 0;
    lua_pushstring(L, path);
    return 1;
}

/* core.dates(grain, zone, from, to, limit): a list of { date, start, stop } */
static int core_dates(lua_State *L)
{
    lr_grain g;
    const lr_zone *z;
    lr_err e = {0};
    int64_t from = 0, to = 0;
    char text[48];
    if (lr_grain_parse(luaL_checkstring(L, 1), &g) != 0) return luaL_error(L, "unknown grain");
    const char *options[] = {"--from", "--to"};
    int64_t *edges[] = {&from, &to};
    int failed = lr_zone_get(luaL_checkstring(L, 2), &z, &e);
    for (int i = 0; failed == 0 && i < 2; i++) {
        failed = lr_grain_date(z, g, luaL_checkstring(L, 3 + i), edges[i], &e);
        if (failed != 0) lr_step(&e, "%s", options[i]);
    }
    if (failed == 0 && to < from) {
        lr_fail(&e, LR_USAGE, "--to %s is before --from %s", lua_tostring(L, 4), lua_tostring(L, 3));
        failed = lr_hint(&e, "both are run, the earlier first");
    }
    if (failed != 0) return lr_push_failure(L, &e);
    lua_Integer limit = luaL_optinteger(L, 5, 1000000), n = 0;
    lua_newtable(L);
    for (int64_t at = from; at <= to && n < limit; at = lr_grain_next(z, g, at)) {
        lua_createtable(L, 0, 3);
        lua_pushstring(L, lr_grain_format(z, g, at, text));
        lua_setfield(L, -2, "date");
        lua_pushstring(L, lr_format_short(z, at, text));
        lua_setfield(L, -2, "start");
        lua_pushstring(L, lr_format_short(z, lr_grain_next(z, g, at), text));
        lua_setfield(L, -2, "stop");
        lua_rawseti(L, -2, ++n);
    }
    return 1;
}

/* core.time_value(zone, text): the instant in microseconds, or nil */
static int core_time_value(lua_State *L)
{
    lr_time t;
    const lr_zone *z;
    lr_err e = {0};
    size_t n;
    const char *text = luaL_checklstring(L, 2, &n);
    if (lr_zone_get(luaL_checkstring(L, 1), &z, &e) != 0 || lr_time_parse(text, n, z, &t) != 0) return 0;
    lua_pushinteger(L, t.us);
    return 1;
}

/* core.nap(milliseconds) */
static int core_nap(lua_State *L)
{
    struct timespec nap = {0, (long)luaL_checkinteger(L, 1) * 1000000L};
    nanosleep(&nap, NULL);
    return 0;
}

/* core.alive(host, pid, since): may that process still be at work? */
static int core_alive(lua_State *L)
{
    lua_pushboolean(L, lr_process_lives(luaL_optstring(L, 1, NULL), luaL_optinteger(L, 2, 0), luaL_optstring(L, 3, NULL)));
    return 1;
}

/* core.self(): the host and the number of this process, as core.alive wants them */
static int core_self(lua_State *L)
{
    lua_pushstring(L, lr_host_name());
    lua_pushinteger(L, getpid());
    return 2;
}

/* ---- the line editor ---- */

static const lr_editor *editor;

/* core.edit_open(history file): true, or nil where there is no editor */
static int core_edit_open(lua_State *L)
{
    lr_editor_entry entry = NULL;
    *(void **)&entry = lr_module_symbol("lrun_edit.so", LRUN_EDITOR_SYMBOL, NULL);
    if (entry == NULL) return 0;
    editor = entry();
    if (editor->open(lua_isnoneornil(L, 1) ? NULL : luaL_checkstring(L, 1)) != 0) return 0;
    lua_pushboolean(L, 1);
    return 1;
}

/* core.edit_line(prompt): the line; nil, "interrupt" or nil, "end" */
static int core_edit_line(lua_State *L)
{
    int interrupted = 0;
    const char *line = editor->line(luaL_checkstring(L, 1), &interrupted);
    if (line != NULL) {
        lua_pushstring(L, line);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, interrupted ? "interrupt" : "end");
    return 2;
}

static int core_edit_add(lua_State *L)
{
    editor->add(luaL_checkstring(L, 1));
    return 0;
}

static int core_edit_close(lua_State *L)
{
    (void)L;
    if (editor != NULL) editor->close();
    editor = NULL;
    return 0;
}

void lr_open_core_terminal(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"write", core_write}, {"flush", core_flush}, {"warn", core_warn}, {"visible", core_visible}, {"isatty", core_isatty}, {"width", core_width}, {"height", core_height},
        {"typed", core_typed},
        {"now", core_now}, {"ticks", core_ticks}, {"deadline", core_deadline}, {"signal", core_signal},
        {"clear_signal", core_clear_signal}, {"mkdir", core_mkdir}, {"stat", core_stat}, {"cwd", core_cwd},
        {"list", core_list},
        {"dates", core_dates}, {"time_value", core_time_value}, {"alive", core_alive}, {"self", core_self}, {"nap", core_nap}, {"edit_open", core_edit_open},
        {"edit_line", core_edit_line}, {"edit_add", core_edit_add}, {"edit_close", core_edit_close}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
