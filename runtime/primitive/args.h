/* args.h - a primitive's options as data: one table checks them, suggests the
 * nearest known one, and is printed as `lrun help PRIMITIVE`. No Lua here. */
#ifndef LRUN_PRIMITIVE_ARGS_H
#define LRUN_PRIMITIVE_ARGS_H

#include "run/run.h"

typedef enum lr_argtype {
    LR_ARG_NONE = 0,
    LR_ARG_STRING = 1 << 0,   /* value, also for numbers given as text */
    LR_ARG_INT = 1 << 1,
    LR_ARG_REAL = 1 << 2,
    LR_ARG_BOOL = 1 << 3,
    LR_ARG_LIST = 1 << 4,     /* items */
    LR_ARG_MAP = 1 << 5,      /* items and names, sorted by name */
    LR_ARG_ROWS = 1 << 6,     /* p: lr_rowset */
    LR_ARG_WINDOW = 1 << 7,   /* p: lr_window */
    LR_ARG_MARK = 1 << 8,     /* p: lr_mark */
    LR_ARG_SPAN = 1 << 9,     /* p: lr_span */
    LR_ARG_TIME = 1 << 10,    /* value: the instant's or date's text; i: microseconds */
    LR_ARG_FUNCTION = 1 << 11,
    LR_ARG_NULL = 1 << 12     /* null */
} lr_argtype;

typedef struct lr_arg {
    lr_argtype type;
    lr_value value;
    const void *p;
    struct lr_arg *items;
    const char **names;
    int n;
} lr_arg;

typedef struct lr_option {
    const char *name;
    unsigned accepts;    /* lr_argtype bits */
    int required;
    const char *fallback; /* the default, as help shows it */
    const char *help;
} lr_option;

typedef struct lr_args {
    lr_arg first;        /* the positional argument */
    const lr_arg *named; /* one for each option, in the option table's order */
    const lr_arg *extra; /* where the primitive takes free names: a map, else NULL */
    const char *where;   /* "jobs/orders.lua:7" */
    lr_arena *scratch;   /* goes when the call ends */
    /* Call the function among the options with a text. -1: it raised. passed is 0
     * where it gave false, or nil and a message, which e->message holds then. */
    int (*ask)(const struct lr_args *args, const char *text, int *passed, lr_err *e);
    void *asker;
} lr_args;

/* What a call gives back. */
typedef enum lr_result_kind {
    LR_RESULT_NONE, LR_RESULT_ROWS, LR_RESULT_COUNTS, LR_RESULT_CURSOR, LR_RESULT_REPORT, LR_RESULT_INT, LR_RESULT_TABLE
} lr_result_kind;

typedef struct lr_report_line {
    const char *metric, *group, *source, *warehouse, *difference;
    int equal;
} lr_report_line;

typedef struct lr_result {
    lr_result_kind kind;
    const void *rows;
    lr_counts counts;
    int unknown;             /* a plan: the numbers are not known */
    const lr_place *place;   /* of the cursor */
    lr_cursor *cursor;
    int64_t number;
    int equal;
    lr_report_line *lines;
    int nlines;
    const char *const *columns; /* of a table of rows */
    int ncolumns;
    const lr_value *cells;  /* row by row */
    int nrows;
    const char *drawing;    /* how a terminal may draw it beside, or NULL */
} lr_result;

typedef struct lr_primitive {
    const char *name;
    const char *summary;
    const char *first_name;  /* what stands first in the table, or NULL */
    unsigned first_accepts;
    const lr_option *options;
    int noptions;
    int free_names;          /* other names are passed on in extra */
    int writes;              /* a failure dooms the run */
    int appends;             /* rows that are there stay as they are */
    int renews;   /* deletes the rows that are there and writes each anew */
    const char *returns;
    const char *refuses;
    const char *example;
    const char *idea;        /* where the idea comes from */
    int (*call)(lr_run *run, const lr_args *args, lr_result *out, lr_err *e);
} lr_primitive;

extern const lr_primitive *const lr_primitives[]; /* NULL ends */
const lr_primitive *lr_primitive_find(const char *name);

/* The option's index, or -1 and e says which known one is nearest. */
int lr_option_find(const lr_primitive *p, const char *name, lr_err *e);

/* Check types and required options. named has p->noptions entries. */
int lr_args_check(const lr_primitive *p, const lr_args *args, lr_err *e);

/* The nearest of the names by edit distance, or NULL where none is near. */
const char *lr_nearest(const char *name, const char *(*nth)(void *arg, int i), void *arg);

/* Readers; the option's name must be of the primitive's table. */
const lr_arg *lr_arg_of(const lr_primitive *p, const lr_args *args, const char *name);
const char *lr_arg_text(const lr_arg *a, const char *fallback);
int lr_arg_bool(const lr_arg *a, int fallback);
/* A string or a list of strings. */
int lr_arg_names(lr_arena *a, const lr_arg *arg, const char ***out, int *n, lr_err *e);
const char *lr_argtype_names(lr_arena *a, unsigned accepts);

#endif
