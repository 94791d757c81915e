/* output.h - the report's stream: its failures are remembered, not raised. */
#ifndef LRUN_LUA_OUTPUT_H
#define LRUN_LUA_OUTPUT_H

void lr_out_open(int json); /* json: what else goes to stdout goes to stderr */
int lr_out_close(void);     /* 1 where anything could not be written */

#endif
