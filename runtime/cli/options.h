/* options.h - the command line as two tables, from which it is parsed and
 * `lrun help` is printed. */
#ifndef LRUN_CLI_OPTIONS_H
#define LRUN_CLI_OPTIONS_H

#include "lrun/err.h"

typedef struct lr_command {
    const char *name;
    const char *usage;
    const char *summary;
    const char *help;
    int least, most; /* arguments besides options */
} lr_command;

typedef enum lr_takes { LR_TAKES_NOTHING, LR_TAKES_VALUE, LR_TAKES_MANY } lr_takes;

typedef struct lr_cli_option {
    const char *name;   /* without dashes */
    char letter;        /* or 0 */
    lr_takes takes;
    const char *value;  /* how help names the value */
    const char *of;     /* commands that take it, " run plan ", or NULL: every one */
    const char *help;
} lr_cli_option;

extern const lr_command lr_commands[];        /* name NULL ends */
extern const lr_cli_option lr_cli_options[];  /* name NULL ends */

typedef struct lr_cli {
    const lr_command *command;
    const char **args; /* after the command's own word */
    int nargs;
    const char **words; /* owner of args */
    int bare;           /* neither a command nor a job was given */
    struct {
        const lr_cli_option *option;
        const char *value;
    } *given;
    int ngiven;
} lr_cli;

/* 0, or -1 with LR_USAGE. Nothing but parsing happens here. */
int lr_cli_parse(int argc, char **argv, lr_cli *out, lr_err *e);
void lr_cli_free(lr_cli *c);
int lr_cli_has(const lr_cli *c, const char *name);

#endif
