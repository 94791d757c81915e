/* host.h - the state in which the commands of stdlib/ run, and what they can
 * reach: `core`, a table of functions over the run engine. */
#ifndef LRUN_LUA_HOST_H
#define LRUN_LUA_HOST_H

#include "lua/vm.h"

/* What the command line gives: pushes one table. Runs under a protected call. */
typedef struct lr_command_line {
    void (*push)(lua_State *L, void *arg);
    void *arg;
    int json;  /* stdout carries JSON lines only */
} lr_command_line;

/* Run stdlib/main.lua; returns the exit status. */
int lr_host_main(const lr_command_line *cl);

/* Parts of core, each adds its functions to the table on top of the stack. */
void lr_open_core_run(lua_State *L);
void lr_open_core_connection(lua_State *L);
void lr_open_core_series(lua_State *L);
void lr_open_core_prompt(lua_State *L);
void lr_open_core_terminal(lua_State *L);
void lr_open_core_folder(lua_State *L);
void lr_open_core_apart(lua_State *L);

/* Shared by them: a configuration out of the table at index at. Strings live
 * in the arena. on_event is the host's function, kept in the registry. */
struct lr_execution_config;
struct lr_reporter {
    lua_State *L;
    int function;
    lr_run *run;
};
void lr_read_config(lua_State *L, int at, lr_arena *a, struct lr_execution_config *cfg, struct lr_reporter *r);
void lr_push_error(lua_State *L, const lr_err *e); /* { status, message, hint, where, text } */
int lr_push_failure(lua_State *L, const lr_err *e); /* nil and the error; returns 2 */
int lr_flag_field(lua_State *L, int at, const char *name);
void lr_set_text(lua_State *L, const char *name, const char *text); /* of the table on top */

struct lr_execution;
/* { status, job, logical_date, run_id, rows_..., checks, differs, committed, error } */
void lr_push_outcome(lua_State *L, const struct lr_execution *x, int failed, const lr_err *e);
void lr_push_job(lua_State *L, const lr_job *job); /* { name, grain, zone, params, sha256 } */

#endif
