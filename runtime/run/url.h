/* url.h - connection texts and the passwords in them. */
#ifndef LRUN_RUN_URL_H
#define LRUN_RUN_URL_H

#include "base/mem.h"
#include "lrun/err.h"

/* The text with *** for every password, also where it is malformed; any other
 * text comes back as it is. */
const char *lr_url_shown(lr_arena *a, const char *text);

/* The same in place, for a text that others can see, such as argv. */
void lr_url_hide(char *text);

/* Is it libpq's other form, "host=... dbname=..."? */
int lr_url_is_words(const char *text);

/* A password with an @ or / in it would be taken for a part of the host, and
 * shown in an error about it: refused. */
int lr_url_check(const char *url, lr_err *e);

#endif
