/* process.h - is the process that wrote a ledger row still there? */
#ifndef LRUN_RUN_PROCESS_H
#define LRUN_RUN_PROCESS_H

#include <stdint.h>

const char *lr_host_name(void);

/* since: UTC text of a time at which it ran. A process number that was given
 * to a younger process is not it. Another host's processes are taken for alive
 * only where this host's name differs and nothing else can be known. */
int lr_process_lives(const char *host, int64_t pid, const char *since);

#endif
