/* stop.h - why a run must end now: a signal, or the time limit. */
#ifndef LRUN_RUN_STOP_H
#define LRUN_RUN_STOP_H

#include "lrun/err.h"
#include <stdint.h>

void lr_stop_install(void);           /* SIGINT and SIGTERM set a flag; SIGPIPE and SIGXFSZ are errors of calls */
void lr_stop_deadline(double seconds); /* from now; 0: none */
/* A limit within the limit, for one run of many; restore gives the former back. */
typedef struct lr_stop_limit {
    int64_t deadline;
    double seconds;
    int within;
} lr_stop_limit;
lr_stop_limit lr_stop_within(double seconds);
void lr_stop_restore(lr_stop_limit former);
int lr_stop_late(void); /* the time is up, and no signal came */
void lr_stop_reset(void);             /* the prompt: a dropped line is no end */
void lr_stop_hold(int on);            /* 1: a stop is not acted on, for what must still be written */

/* In a process of its own: how long a stop is waited for, and what is called
 * in place of the message when the process is ended by force. */
void lr_stop_forced(unsigned seconds, void (*last_words)(void));

/* From here a process that is ended by force cannot say that nothing was kept. */
void lr_stop_committing(int on);
int lr_stop_signal(void);             /* the signal that came, or 0 */

int lr_stop_poll(void *arg);                  /* as lr_open.poll */
int lr_stop_reason(void *arg, lr_err *e);     /* as lr_open.stopped */

/* Microseconds of the wall clock, and of a clock that only goes forward. */
int64_t lr_clock_us(void);
int64_t lr_ticks_us(void);

#endif
