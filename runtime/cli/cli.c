/* From the command line to the commands of stdlib/. */
#include "cli/cli.h"
#include "cli/options.h"
#include "lua/host.h"
#include "run/stop.h"
#include "run/url.h"
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

static void set(lua_State *L, const char *name, const char *value)
{
    if (value == NULL) return;
    lua_pushstring(L, value);
    lua_setfield(L, -2, name);
}

static void push_tables(lua_State *L)
{
    lua_newtable(L);
    for (int i = 0; lr_commands[i].name != NULL; i++) {
        lua_newtable(L);
        set(L, "name", lr_commands[i].name);
        set(L, "usage", lr_commands[i].usage);
        set(L, "summary", lr_commands[i].summary);
        set(L, "help", lr_commands[i].help);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "commands");
    lua_newtable(L);
    for (int i = 0; lr_cli_options[i].name != NULL; i++) {
        const lr_cli_option *o = &lr_cli_options[i];
        char letter[2] = {o->letter, 0};
        lua_newtable(L);
        set(L, "name", o->name);
        set(L, "letter", o->letter != 0 ? letter : NULL);
        set(L, "value", o->value);
        set(L, "of", o->of);
        set(L, "help", o->help);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "options");
}

/* { command, args = { ... }, given = { name = value or list or true }, table } */
static void push_command_line(lua_State *L, void *arg)
{
    const lr_cli *c = arg;
    lua_newtable(L);
    set(L, "command", c->command->name);
    lua_pushboolean(L, c->bare);
    lua_setfield(L, -2, "bare");
    lua_newtable(L);
    for (int i = 0; i < c->nargs; i++) {
        lua_pushstring(L, c->args[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "args");
    lua_newtable(L);
    for (int i = 0; i < c->ngiven; i++) {
        const lr_cli_option *o = c->given[i].option;
        if (o->takes == LR_TAKES_MANY) {
            lua_getfield(L, -1, o->name);
            if (lua_isnil(L, -1)) {
                lua_pop(L, 1);
                lua_newtable(L);
                lua_pushvalue(L, -1);
                lua_setfield(L, -3, o->name);
            }
            lua_pushstring(L, c->given[i].value);
            lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
            lua_pop(L, 1);
        } else if (o->takes == LR_TAKES_VALUE) {
            set(L, o->name, c->given[i].value);
        } else {
            lua_pushboolean(L, 1);
            lua_setfield(L, -2, o->name);
        }
    }
    lua_setfield(L, -2, "given");
    push_tables(L);
}

/* A standard stream that is closed must not be some database's file. Reading
 * only, so that a report into a closed standard output still fails. */
static void hold_standard_streams(void)
{
    for (int fd = 0; fd <= 2; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDONLY) != fd) return;
}

/* Everybody on the machine can read a program's arguments: what is worked with
 * is a copy, and a password does not stay in the original. */
static char **take_arguments(lr_arena *a, int argc, char **argv)
{
    char **copy = lr_alloc(a, (size_t)(argc + 1) * sizeof *copy);
    for (int i = 0; i < argc; i++) {
        copy[i] = lr_dup(a, argv[i]);
        lr_url_hide(argv[i]);
    }
    return copy;
}

int lr_cli_main(int argc, char **argv)
{
    lr_cli c;
    lr_err e = {0};
    lr_arena words = {0};
    int status;
    argv = take_arguments(&words, argc, argv);
    hold_standard_streams();
    lr_stop_install();
    if (lr_cli_parse(argc, argv, &c, &e) != 0) {
        char text[2048];
        lr_err_format(&e, text, sizeof text);
        fprintf(stderr, "lrun: %s\n", text);
        status = e.status;
    } else {
        lr_command_line cl = {push_command_line, &c, lr_cli_has(&c, "json")};
        status = lr_host_main(&cl);
    }
    lr_cli_free(&c);
    lr_arena_free(&words);
    return status;
}
