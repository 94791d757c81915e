/* scd2_work.h - what scd2_merge holds while it works. */
#ifndef LRUN_PRIMITIVE_SCD2_WORK_H
#define LRUN_PRIMITIVE_SCD2_WORK_H

#include "primitive/target.h"
#include "sql/scd2.h"

typedef struct lr_scd2_work {
    lr_run *run;
    lr_target t;
    lr_scd2 s;
    lr_rowset *rows;  /* key, track, from, to */
    const char *at;   /* column, or NULL */
    int64_t at_us;    /* of the logical date, or of what closes */
    int close;
    int backdate;     /* the source holds the state of the logical date */
    lr_sql inside;    /* " AND region = 'EU'": the versions that close may end */
    const char **added; /* tracked columns that the dimension did not have before */
    int nadded;
    int64_t sighted, simple; /* how many */
    lr_counts c;
} lr_scd2_work;

/* How the column at writes its times. */
lr_time_mode lr_scd2_time(const lr_scd2_work *w);

/* A moment of the run as a value of valid_from's or valid_to's type. */
void lr_scd2_moment(const lr_scd2_work *w, int64_t us, const lr_type *type, lr_value *out);

/* Refuse a logical date that would give today's values to the past. */
int lr_scd2_past(lr_scd2_work *w, const char *into, lr_err *e);

/* Refuse with the rows of a SELECT, if it has any; %s of the message is them. */
int lr_scd2_refuse_rows(lr_scd2_work *w, const lr_sql *q, const char *message, const char *hint, lr_err *e);

/* No NULL in key and time, no time finer than the bounds, and not empty where
 * that would end every key. */
int lr_scd2_check(lr_scd2_work *w, int allow_empty, lr_err *e);

/* rows: key, track, from, to of the input. */
int lr_scd2_derive(lr_scd2_work *w, lr_rowset *input, lr_err *e);

/* Their SELECT, with the bounds in the dimension's types; and the tracked
 * columns that the dimension does not have yet. */
int lr_scd2_types(lr_scd2_work *w, const char *into, lr_err *e);

#endif
