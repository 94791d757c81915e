/* The Lua state: allocator with a cap, hooks for limits, errors. */
#include "lua/vm.h"
#include "run/stop.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct lr_stdlib_file {
    const char *name;
    const char *data;
    size_t size;
};
extern const struct lr_stdlib_file lr_stdlib[];
extern const size_t lr_stdlib_count;

/* LRUN_TEST_LUA_ALLOC=n makes the n-th growing allocation fail, over all
 * states, so that a test can fail each of them in turn. */
static long fail_countdown(void)
{
    const char *text = getenv("LRUN_TEST_LUA_ALLOC");
    return text != NULL ? atol(text) : 0;
}

static void on_count(lua_State *L, lua_Debug *ar);

static void *allocate(void *ud, void *ptr, size_t osize, size_t nsize)
{
    static int known;
    static long left;
    static size_t refused;
    lr_vm *vm = ud;
    size_t before = ptr != NULL ? osize : 0;
    if (nsize == 0) {
        free(ptr);
        vm->used -= before;
        return NULL;
    }
    if (!known) {
        known = 1;
        left = fail_countdown();
    }
    if (nsize > before) {
        /* Lua collects and asks once more for the same size: refused too */
        int again = refused != 0 && refused == nsize;
        refused = 0;
        if (again) return NULL;
        if (left > 0 && --left == 0) {
            refused = nsize;
            return NULL;
        }
        if (vm->limit != 0 && vm->used + (nsize - before) > vm->limit) {
            if (vm->now != NULL) lr_where(vm->now, vm->over_at, sizeof vm->over_at);
            if (vm->refused == nsize && vm->now != NULL) {
                vm->over = 1;
                lua_sethook(vm->now, on_count, LUA_MASKCOUNT, 1);
            }
            vm->refused = nsize;
            return NULL;
        }
        vm->refused = 0;
    }
    void *p = realloc(ptr, nsize);
    if (p != NULL) vm->used += nsize - before;
    return p;
}

static void on_count(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lr_vm *vm = lr_vm_of(L);
    vm->instructions += lua_gethookcount(L);
    if (vm->most_instructions != 0 && vm->instructions > vm->most_instructions && !vm->spent) {
        vm->spent = 1;
        lr_where(L, vm->over_at, sizeof vm->over_at);
    }
    if (!lr_stop_poll(NULL) && !vm->over && !vm->spent) {
        if (lua_gethookcount(L) == 1) lua_sethook(L, on_count, LUA_MASKCOUNT, 10000);
        return;
    }
    /* a job that catches this error meets it again at its next instruction */
    lua_sethook(L, on_count, LUA_MASKCOUNT, 1);
    luaL_where(L, 0);
    lua_pushliteral(L, "stopped");
    lua_concat(L, 2);
    lua_error(L);
}

lr_vm *lr_vm_new(size_t limit)
{
    lr_vm *vm = lr_malloc(sizeof *vm);
    memset(vm, 0, sizeof *vm);
    vm->limit = limit;
    vm->L = lua_newstate(allocate, vm);
    if (vm->L == NULL) {
        free(vm);
        return NULL;
    }
    vm->now = vm->L;
    *(lr_vm **)lua_getextraspace(vm->L) = vm;
    lua_sethook(vm->L, on_count, LUA_MASKCOUNT, 10000);
    return vm;
}

void lr_vm_free(lr_vm *vm)
{
    if (vm == NULL) return;
    lua_close(vm->L);
    free(vm);
}

lr_vm *lr_vm_of(lua_State *L)
{
    return *(lr_vm **)lua_getextraspace(L);
}

const char *lr_where(lua_State *L, char *buf, size_t size)
{
    lua_Debug ar;
    buf[0] = 0;
    for (int level = 0; level < 20 && lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline <= 0 || ar.source[0] != '@' || strncmp(ar.source, "@@lrun/", 7) == 0) continue;
        snprintf(buf, size, "%s:%d", ar.source + 1, ar.currentline);
        return buf;
    }
    return buf;
}

int lr_raise(lua_State *L, lr_err *e)
{
    lr_vm *vm = lr_vm_of(L);
    char text[1600];
    if (e->where[0] == 0) lr_where(L, e->where, sizeof e->where);
    /* what the command line said is past; this is the job's */
    if (vm->run != NULL && e->status == LR_USAGE) e->status = LR_FAILED;
    vm->raised = *e;
    if (vm->run != NULL) lr_doom(vm->run, e);
    lr_err_format(e, text, sizeof text);
    lua_pushstring(L, text);
    return lua_error(L);
}

/* The Lua error on top as an error: "file:line: message" gives where apart. */
static void from_text(lr_vm *vm, lua_State *L, lr_err *e)
{
    size_t length;
    const char *raised = lua_tolstring(L, -1, &length);
    char text[sizeof e->where + sizeof e->message];
    lr_visible(raised, length, text, sizeof text); /* a zero byte is no end of it */
    const char *p = text;
    while ((p = strchr(p, ':')) != NULL) {
        size_t digits = strspn(p + 1, "0123456789");
        if (digits > 0 && p[digits + 1] == ':' && p[digits + 2] == ' ') {
            size_t n = (size_t)(p - text) + digits + 1;
            if (n >= sizeof e->where) break;
            memcpy(e->where, text, n);
            e->where[n] = 0;
            lr_fail(e, LR_FAILED, "%s", text + n + 2);
            return;
        }
        p++;
    }
    lr_fail(e, LR_FAILED, "%s", text);
    if (p != NULL) return;
    if (vm->job != NULL) snprintf(e->where, sizeof e->where, "%s", vm->job->path);
}

/* Is the text that of the error which a binding raised last? */
static int is_raised(const lr_vm *vm, const char *text)
{
    char raised[2048];
    if (vm->raised.status == LR_OK) return 0;
    lr_err_format(&vm->raised, raised, sizeof raised);
    return strcmp(text, raised) == 0;
}

static void take_error(lr_vm *vm, lua_State *L, int status, lr_err *e)
{
    /* the string library asks once and raises a text of its own */
    if (vm->refused != 0 && lua_type(L, -1) == LUA_TSTRING && strstr(lua_tostring(L, -1), "not enough memory") != NULL) vm->over = 1;
    if (vm->over) status = LUA_ERRMEM;
    if (vm->spent) {
        lr_fail(e, LR_FAILED, "the job ran more than %lld steps of Lua", (long long)vm->most_instructions);
        lr_hint(e, "look for a loop that does not end, or let SQL do the work");
        memcpy(e->where, vm->over_at, sizeof e->where < sizeof vm->over_at ? sizeof e->where : sizeof vm->over_at);
    } else if (lr_stop_poll(NULL)) {
        lr_err where = {0};
        if (lua_type(L, -1) == LUA_TSTRING) from_text(vm, L, &where);
        if (vm->run != NULL && vm->run->doomed) where = vm->run->first;
        lr_stop_reason(NULL, e);
        memcpy(e->where, where.where, sizeof e->where);
        memcpy(e->step, where.step, sizeof e->step);
    } else if (vm->run != NULL && vm->run->doomed && !vm->over) {
        *e = vm->run->first;
    } else if (status == LUA_ERRMEM) {
        lr_fail(e, LR_FAILED, vm->over ? "the job used more memory than --max-memory allows" : "not enough memory");
        if (vm->over) lr_hint(e, "raise --max-memory, or keep fewer rows in Lua: map and rows() stream");
        if (vm->over && vm->over_at[0] != 0) memcpy(e->where, vm->over_at, sizeof e->where);
        else if (vm->job != NULL && vm->job->path != NULL) snprintf(e->where, sizeof e->where, "%s", vm->job->path);
    } else if (lua_type(L, -1) == LUA_TSTRING && is_raised(vm, lua_tostring(L, -1))) {
        *e = vm->raised;
    } else if (lua_isstring(L, -1)) { /* or a number */
        from_text(vm, L, e);
    } else {
        lr_fail(e, LR_FAILED, "the job raised an error that is a %s", luaL_typename(L, -1));
        if (vm->error_at[0] != 0) snprintf(e->where, sizeof e->where, "%s", vm->error_at);
        else if (vm->job != NULL && vm->job->path != NULL) snprintf(e->where, sizeof e->where, "%s", vm->job->path);
        lr_hint(e, "raise a text: error(\"what is wrong\")");
    }
    lua_pop(L, 1);
}

/* An error object that knows its text is shown by it. */
static int on_error(lua_State *L)
{
    if (lua_type(L, 1) != LUA_TSTRING && luaL_callmeta(L, 1, "__tostring") && lua_type(L, -1) == LUA_TSTRING) return 1;
    lua_settop(L, 1);
    if (lua_type(L, 1) != LUA_TSTRING) lr_where(L, lr_vm_of(L)->error_at, sizeof lr_vm_of(L)->error_at);
    return 1;
}

static lr_vm *at_work; /* the job's state that is entered */

void lr_vm_at_work(char *buf, size_t size)
{
    buf[0] = 0;
    if (at_work != NULL) lr_where(at_work->now, buf, size);
}

int lr_vm_protected(lr_vm *vm, lua_CFunction fn, void *arg, lr_err *e)
{
    lua_State *L = vm->now;
    lr_vm *outer = at_work;
    if (vm->job != NULL) at_work = vm;
    lua_pushcfunction(L, on_error);
    int at = lua_gettop(L);
    lua_pushcfunction(L, fn);
    lua_pushlightuserdata(L, arg);
    int status = lua_pcall(L, 1, 0, at);
    vm->now = L;
    at_work = outer;
    if (status != LUA_OK) take_error(vm, L, status, e);
    lua_remove(L, at);
    return status == LUA_OK ? 0 : -1;
}

static int load_file(lua_State *L, const char *folder, const char *name)
{
    lua_pushfstring(L, "%s/%s", folder, name);
    int rc = luaL_loadfile(L, lua_tostring(L, -1));
    lua_remove(L, -2);
    return rc;
}

int lr_stdlib_load(lua_State *L, const char *name)
{
    const char *folder = getenv("LRUN_STDLIB");
    if (folder != NULL && folder[0] != 0) {
        int rc = load_file(L, folder, name);
        if (rc != LUA_ERRFILE) return rc;
        lua_pop(L, 1);
    }
    size_t low = 0, high = lr_stdlib_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        int c = strcmp(name, lr_stdlib[middle].name);
        if (c == 0) {
            char chunk[128];
            snprintf(chunk, sizeof chunk, "@@lrun/%s", name);
            return luaL_loadbufferx(L, lr_stdlib[middle].data, lr_stdlib[middle].size, chunk, "t");
        }
        if (c < 0) high = middle;
        else low = middle + 1;
    }
    lua_pushfstring(L, "lrun has no part \"%s\"", name);
    return LUA_ERRFILE;
}
