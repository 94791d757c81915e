/* module.h - shared objects beside the binary: drivers and the line editor. */
#ifndef LRUN_RUN_MODULE_H
#define LRUN_RUN_MODULE_H

#include "base/mem.h"

/* The address of a symbol in NAME, looked for in $LRUN_LIBDIR, the binary's own
 * folder and ../lib/lrun beside it, never in the current folder. NULL where
 * there is none; why (may be NULL) tells what was tried. */
void *lr_module_symbol(const char *name, const char *symbol, lr_buf *why);

#endif
