/* number.h - edges of a window that are numbers of a form of base/epoch.h. */
#ifndef LRUN_RUN_NUMBER_H
#define LRUN_RUN_NUMBER_H

#include "run/run.h"

/* The edge at a saved or found value, with all its digits. */
int lr_number_edge(lr_run *run, lr_edge *edge, const char *text, lr_time_mode mode, lr_err *e);

/* Two such edges of the same microsecond. */
int lr_number_order(lr_run *run, const lr_edge *a, const lr_edge *b);

/* Without the exponent that an engine may write a double with. */
const char *lr_plain_number(lr_run *run, const char *text);

#endif
