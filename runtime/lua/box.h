/* box.h - what jobs hold: times, spans, windows, watermarks, rows, blobs. */
#ifndef LRUN_LUA_BOX_H
#define LRUN_LUA_BOX_H

#include "lua/vm.h"

#define LR_T_TIME "lrun.time"
#define LR_T_SPAN "lrun.span"
#define LR_T_WINDOW "lrun.window"
#define LR_T_MARK "lrun.watermark"
#define LR_T_ROWS "lrun.rows"
#define LR_T_BLOB "lrun.blob"

typedef struct lr_timebox {
    int64_t us;
    int is_date; /* prints as a date */
} lr_timebox;

typedef struct lr_markbox {
    lr_mark mark;
} lr_markbox;

void lr_push_time(lua_State *L, int64_t us, int is_date);
void lr_push_span(lua_State *L, const lr_span *s);
void lr_push_window(lua_State *L, lr_window *w);
void lr_push_rows(lua_State *L, lr_rowset *rs);

/* A date, an instant, or text of one. Raises where it is none. */
int64_t lr_check_time(lua_State *L, int at, const char *what);
const char *lr_time_text(lua_State *L, const lr_timebox *t, char buf[40]);

/* A type of userdata that holds what must be let go. Made when the state is,
 * before any of its kind: a type half made would never close its first. */
void lr_new_closed(lua_State *L, const char *type, lua_CFunction close);

void lr_open_convert(lua_State *L); /* before the others */
void lr_open_values(lua_State *L);  /* date, instant, days, ...: globals */
void lr_open_windows(lua_State *L); /* window, watermark */
void lr_open_rows(lua_State *L);    /* methods of rows */
void lr_open_primitives(lua_State *L);

/* A value of a database as a Lua value, and back. Text is borrowed. */
void lr_push_value(lua_State *L, const lr_value *v);
/* A value of a column of exact decimals: numbers come as decimal text. */
void lr_push_exact(lua_State *L, const lr_value *v);
int lr_is_numeric(const lr_type *type);
/* 0, or -1 where a Lua value of this type is none for a database. */
int lr_to_value(lua_State *L, int at, lr_value *out);

/* An argument, copied into the arena. */
void lr_read_arg(lua_State *L, int at, lr_arena *a, lr_arg *out, int depth);

/* A userdata that owns an arena; on the stack until the call ends. */
lr_arena *lr_push_arena(lua_State *L);

#endif
