/* vm.h - a Lua state with limits, and the only doors into it.
 *
 * Everything that can raise runs inside lr_vm_protected; no C frame that owns
 * a handle or memory is jumped over, since owners are userdata or outside.
 */
#ifndef LRUN_LUA_VM_H
#define LRUN_LUA_VM_H

#include "primitive/rowset.h"
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

typedef struct lr_vm {
    lua_State *L;
    size_t used, limit; /* bytes; limit 0: none */
    size_t refused;     /* the size that was refused last; Lua collects and asks again */
    int over;           /* it was refused again: the limit was hit */
    char over_at[256];  /* the line that hit it */
    int64_t instructions, most_instructions; /* run so far, about; 0: no limit */
    int spent;          /* they are used up */
    char error_at[256]; /* the line that raised an error which is no text */
    lua_State *now;     /* the thread that called the binding that runs */
    lr_run *run;        /* NULL in the host's own state */
    const lr_job *job;
    int depth;          /* primitives that are being called; one that lack of memory cut off stays */
    int committed;      /* the host's: a run has been committed, whatever follows */
    int first_call;     /* a primitive has run: job { } would come too late */
    lr_err raised;      /* the error that a binding raised last */
} lr_vm;

/* NULL where there is no memory for a state. */
lr_vm *lr_vm_new(size_t limit);
void lr_vm_free(lr_vm *vm); /* takes NULL */
lr_vm *lr_vm_of(lua_State *L);

/* Run fn(L) with arg as its light userdata; errors fill e. */
int lr_vm_protected(lr_vm *vm, lua_CFunction fn, void *arg, lr_err *e);


/* "jobs/orders.lua:7" of the nearest Lua caller, in buf. */
const char *lr_where(lua_State *L, char *buf, size_t size);

/* The line where a job is at this moment, empty where none is; for a process that
 * is ended by force. */
void lr_vm_at_work(char *buf, size_t size);

/* Raise e as a Lua error, after the owners have been closed. Dooms the run. */
int lr_raise(lua_State *L, lr_err *e);

/* The stdlib is built in; LRUN_STDLIB names a folder that goes before it. */
int lr_stdlib_load(lua_State *L, const char *name); /* as luaL_loadbuffer */

#endif
