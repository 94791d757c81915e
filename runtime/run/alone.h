/* alone.h - reading an attached database through a connection of its own. */
#ifndef LRUN_RUN_ALONE_H
#define LRUN_RUN_ALONE_H

#include "run/run.h"

/* Begin the run's transaction by a function, with one snapshot of each attached
 * database for the warehouse's connection and its own. Status 4 where others
 * commit too often for that. */
int lr_alone_begin(lr_run *run, int (*begin)(lr_run *run, lr_err *e), lr_err *e);
void lr_alone_end(lr_run *run);

/* The place with its database as the only one; itself where it is that already. In
 * a transaction that has begun without, the run begins again. */
int lr_alone(lr_run *run, const lr_place *p, const lr_place **out, lr_err *e);

#endif
