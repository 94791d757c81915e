/* words.h - what a statement's words tell of it. */
#ifndef LRUN_DRIVER_POSTGRES_WORDS_H
#define LRUN_DRIVER_POSTGRES_WORDS_H

typedef struct lr_pg_told {
    int empty;             /* blanks and comments only */
    int control;           /* begins or ends a transaction */
    const char *forbidden; /* the kind of statement a job may not run, or NULL */
    int readonly;          /* gives rows and changes none, as far as its words tell */
    int copies;            /* it is a COPY */
    char ledger[64];       /* a table of the ledger that it would change, or "" */
} lr_pg_told;

void lr_pg_words(const char *sql, lr_pg_told *out);

#endif
