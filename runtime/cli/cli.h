/* cli.h - the command line: parse and call. */
#ifndef LRUN_CLI_CLI_H
#define LRUN_CLI_CLI_H

int lr_cli_main(int argc, char **argv);

#endif
