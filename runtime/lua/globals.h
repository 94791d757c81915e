/* globals.h - what a job finds around it. Both take the lr_execution as light
 * userdata and run under lr_vm_protected. */
#ifndef LRUN_LUA_GLOBALS_H
#define LRUN_LUA_GLOBALS_H

#include <lua.h>

int lr_open_globals(lua_State *L);

/* Run the file up to job { ... } with nothing but job and param, to learn the
 * name, grain and zone. */
int lr_probe(lua_State *L);

#endif
