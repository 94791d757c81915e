/* core.start: work in a process of its own. A pattern without hope or a crash
 * ends that process, and the one that asked goes on. */
#include "lua/box.h"
#include "lua/host.h"
#include "run/stop.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* What comes through the pipe begins with one of these. */
enum { ANSWER = 'A', RAISED = 'R', FORCED = 'F' };

/* Past the limit of a run, before the process is ended. */
#define GRACE_SECONDS 1

typedef struct child {
    pid_t pid;
    int fd;
    lr_buf said;
} child;

static int child_close(lua_State *L)
{
    child *c = luaL_checkudata(L, 1, "lrun.child");
    if (c->pid > 0) {
        kill(c->pid, SIGKILL);
        waitpid(c->pid, NULL, 0);
    }
    if (c->fd >= 0) close(c->fd);
    c->pid = 0;
    c->fd = -1;
    lr_buf_free(&c->said);
    return 0;
}

/* ---- in the child ---- */

static int answer_fd = -1;

static void tell(char kind, const char *text, size_t n)
{
    if (write(answer_fd, &kind, 1) != 1) _exit(1);
    while (n > 0) {
        ssize_t done = write(answer_fd, text, n);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) _exit(1);
        text += done;
        n -= (size_t)done;
    }
}

/* In a signal's handler: where the state is broken, the process ends by that. */
static void last_words(void)
{
    char where[256];
    lr_vm_at_work(where, sizeof where);
    tell(FORCED, where, strlen(where));
    _exit(1);
}

_Noreturn static void work(lua_State *L, int fd)
{
    size_t n;
    answer_fd = fd;
    lr_stop_reset();
    lr_stop_forced(GRACE_SECONDS, last_words);
    lua_pushvalue(L, 1);
    int failed = lua_pcall(L, 0, 1, 0) != LUA_OK;
    const char *text = lua_tolstring(L, -1, &n);
    int stopped = lr_stop_signal();
    if (stopped == 0) tell(failed ? RAISED : ANSWER, text != NULL ? text : "", text != NULL ? n : 0);
    _exit(stopped == 0 ? 0 : 1);
}

/* ---- in the parent ---- */

static int listen(child *c)
{
    char part[4096];
    for (;;) {
        ssize_t n = read(c->fd, part, sizeof part);
        if (n > 0) lr_buf_add(&c->said, part, (size_t)n);
        else if (n == 0) return 0;
        else if (errno != EINTR) return -1;
        else if (lr_stop_signal() != 0) kill(c->pid, lr_stop_signal()); /* a terminal tells both, kill(1) one */
    }
}

/* core.start(fn): a process that works at fn; see child_answer. What fn changes in
 * this state is not seen here, and nobody may be connected to a database. */
static int core_start(lua_State *L)
{
    int ends[2];
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    child *c = lua_newuserdatauv(L, sizeof *c, 0);
    memset(c, 0, sizeof *c);
    c->fd = -1;
    luaL_setmetatable(L, "lrun.child");
    fflush(NULL);
    if (pipe(ends) != 0) return luaL_error(L, "no pipe can be made: %s", strerror(errno));
    c->fd = ends[0];
    c->pid = fork();
    if (c->pid == 0) {
        close(ends[0]);
        work(L, ends[1]);
    }
    close(ends[1]);
    if (c->pid < 0) return luaL_error(L, "no process can be started: %s", strerror(errno));
    return 1;
}

/* child:answer(): the text that its function gives, waited for; or nil, "raised" and
 * its error, "forced" and the line where it hung, "stopped", "died" and the signal. */
static int child_answer(lua_State *L)
{
    int status = 0;
    child *c = luaL_checkudata(L, 1, "lrun.child");
    if (c->pid <= 0) return luaL_error(L, "the process has answered before");
    int heard = listen(c);
    while (waitpid(c->pid, &status, 0) < 0 && errno == EINTR) continue;
    c->pid = 0;
    char kind = heard == 0 && c->said.len > 0 ? c->said.data[0] : 0;
    if (kind == ANSWER) {
        lua_pushlstring(L, c->said.data + 1, c->said.len - 1);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, kind == RAISED ? "raised" : kind == FORCED ? "forced" : lr_stop_signal() != 0 ? "stopped" : "died");
    if (kind != 0) lua_pushlstring(L, c->said.data + 1, c->said.len - 1);
    else lua_pushinteger(L, WIFSIGNALED(status) ? WTERMSIG(status) : 0);
    return 3;
}

/* How many of them can work at the same time. */
static int core_processors(lua_State *L)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);
    lua_pushinteger(L, n > 0 ? (lua_Integer)n : 1);
    return 1;
}

void lr_open_core_apart(lua_State *L)
{
    static const luaL_Reg functions[] = {{"start", core_start}, {"processors", core_processors}, {NULL, NULL}};
    lr_new_closed(L, "lrun.child", child_close);
    luaL_getmetatable(L, "lrun.child");
    lua_createtable(L, 0, 1);
    lua_pushcfunction(L, child_answer);
    lua_setfield(L, -2, "answer");
    lua_setfield(L, -2, "__index");
    lua_pop(L, 1);
    luaL_setfuncs(L, functions, 0);
}
