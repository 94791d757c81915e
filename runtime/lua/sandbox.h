/* sandbox.h - a job that is tried out: of Lua only what computes, of the
 * machine nothing but the run's databases. Runs under lr_vm_protected after
 * lr_open_globals. */
#ifndef LRUN_LUA_SANDBOX_H
#define LRUN_LUA_SANDBOX_H

#include <lua.h>

int lr_sandbox(lua_State *L);

#endif
