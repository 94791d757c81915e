/* session.h - the connections of a run or of a backfill's runs.
 *
 * The warehouse is opened; other databases are made readable through it where
 * the engine can (then no row leaves it), else they get a connection of their
 * own. A source that cannot be reached is found before the warehouse is touched.
 */
#ifndef LRUN_RUN_SESSION_H
#define LRUN_RUN_SESSION_H

#include "sql/dialect.h"

#define LR_MAX_CONNECTIONS 9
#define LR_MAX_WAITED 32

typedef struct lr_named {
    const char *name;
    const char *url;
    const char *ledger_schema; /* NULL: the default */
    int must_exist;
    int row_security;   /* the role may see a part of a table */
} lr_named;

typedef struct lr_place {
    const char *name;   /* "source", "warehouse", ... */
    const char *url;    /* as given; may hold a password */
    const char *shown;  /* without one */
    const lr_driver *driver;
    const lr_dialect *dialect;
    lr_conn *conn;
    const char *schema; /* the schema under which conn sees it, NULL: its own default */
    int own;            /* conn is closed with the place */
    int same;           /* the same database as the warehouse */
    int row_security;   /* its role may see a part of a table: connections.lua says so */
    struct lr_place *alone; /* attached: the same database by a connection of its own, or NULL; see alone.h */
    lr_err problem;     /* why it cannot be used, found when it was opened */
} lr_place;

typedef struct lr_session {
    lr_arena arena;
    lr_place places[LR_MAX_CONNECTIONS];
    int n;
    lr_place *warehouse;
    const char *ledger_schema;
    int fresh;    /* the warehouse was not there */
    int readonly; /* nothing may be written: plan, reconcile of a range */
    int lock_timeout_ms;
    int stages;   /* rows are staged: 0 not asked yet, 1 in temporary tables, 2 in the ledger's schema */
    int whole_ledger; /* it has all tables that this version knows */
    int old_ledger;   /* it is 0.1.0's, and its role may not make tables */
    const char *waited[LR_MAX_WAITED]; /* targets that had to be waited for: locked before the snapshot */
    int nwaited;
    int wants_alone;   /* SQL of the job may need attached databases alone */
    int told_parts;    /* row_security was noted */
    int blocks_source; /* reading the source blocks its writers while we read */
} lr_session;

typedef struct lr_session_config {
    const lr_named *named;
    int n;
    int readonly;
    int temporary; /* readonly, but rows may be staged to be compared */
    int must_exist;
    int lock_timeout_ms;
} lr_session_config;

int lr_session_open(lr_session *s, const lr_session_config *cfg, lr_err *e);
void lr_session_close(lr_session *s); /* zeroed or opened */

/* The place of a connection's name; an unknown name or one that could not be
 * opened is an error that says so. */
int lr_session_place(lr_session *s, const char *name, lr_place **out, lr_err *e);

/* The table that users mean by a name at a place; its own name where it is not
 * there. all: as relation in dialect.h. */
int lr_place_relation(const lr_place *p, lr_arena *a, const char *name, int all, lr_relation *out, lr_err *e);

/* One more connection to a place that is open, for a question that the first
 * cannot take. The caller closes it. */
int lr_session_second(lr_session *s, const lr_place *p, lr_conn **out, lr_err *e);

/* Connect anew where a connection broke. */
int lr_session_reopen(lr_session *s, lr_place *p, lr_err *e);

/* The driver for a URL, or an error that lists the known forms. */
int lr_driver_for(const char *url, const lr_driver **out, lr_err *e);

#endif
