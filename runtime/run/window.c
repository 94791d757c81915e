/* Windows and watermarks. */
#include "run/window.h"
#include "run/ledger.h"
#include "run/number.h"
#include "base/decimal.h"
#include "sql/epochs.h"
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static lr_window *new_window(lr_run *run)
{
    lr_window *w = lr_alloc(&run->arena, sizeof *w);
    w->start.inclusive = 1;
    w->next = run->windows;
    run->windows = w;
    return w;
}

static void set_edge(lr_edge *edge, int64_t us)
{
    edge->set = 1;
    edge->us = us;
}

static int check_order(lr_run *run, const lr_window *w, lr_err *e)
{
    if (!w->start.set || !w->stop.set || w->start.us <= w->stop.us) return 0;
    lr_fail(e, LR_FAILED, "the window stops before it starts: %s", lr_window_text(run, w));
    if (w->first != NULL && (w->saved == NULL || strcmp(lr_edge_text(run, &w->start), w->saved) != 0))
        return lr_hint(e, "start = \"%s\" is later than run_start: correct start in the job", w->first);
    if (w->mark != NULL)
        return lr_hint(e, "the saved watermark is later than run_start; for a past day pass --logical-date, or set the "
                          "watermark back with lrun watermark %s --set", run->job->name);
    return lr_hint(e, "swap the two dates: a window is [start, stop)");
}

int lr_window_logical(lr_run *run, lr_window **out, lr_err *e)
{
    if (!run->job->has_logical) {
        lr_fail(e, LR_FAILED, "this run has no logical date");
        return lr_hint(e, "pass --logical-date, such as --logical-date 2026-01-20");
    }
    lr_window *w = new_window(run);
    set_edge(&w->start, run->job->logical_start);
    set_edge(&w->stop, run->job->logical_stop);
    *out = w;
    return 0;
}

int lr_window_range(lr_run *run, int64_t start, int64_t stop, lr_window **out, lr_err *e)
{
    lr_window *w = new_window(run);
    set_edge(&w->start, start);
    set_edge(&w->stop, stop);
    *out = w;
    return check_order(run, w, e);
}

static int parse_mark(lr_run *run, const char *text, int64_t *us, lr_err *e)
{
    lr_time t;
    if (lr_time_parse(text, strlen(text), run->job->zone, &t) == 0) {
        *us = t.us;
        return 0;
    }
    lr_fail(e, LR_FAILED, "the watermark '%s' is no date or time", text);
    return lr_hint(e, "set it with lrun watermark %s --set 2026-01-20", run->job->name);
}

/* What lies past the saved watermark has not been loaded, and is no difference. */
static int loaded_part(lr_run *run, const lr_mark *mark, lr_window *w, lr_err *e)
{
    const char *saved;
    lr_time t;
    if (lr_ledger_watermark(run, mark->name, &saved, e) != 0) return -1;
    if (saved == NULL || lr_time_parse(saved, strlen(saved), run->job->zone, &t) != 0) return 0;
    if (t.us >= w->stop.us) return 0;
    lr_note(run, "compared up to the watermark, %s", saved);
    w->stop.us = t.us > w->start.us ? t.us : w->start.us;
    w->stop.inclusive = mark->newest && t.us >= w->start.us;
    return 0;
}

/* The mark was set back by hand, or start has been moved on since. */
static void tell_floor(lr_run *run, const lr_window *w)
{
    lr_note(run, "watermark \"%s\" is %s, and start = \"%s\" is later: rows before start are not read", w->mark, w->saved, w->first);
}

int lr_window_since(lr_run *run, const lr_mark *mark, const lr_span *lookback, const int64_t *number,
                    lr_window **out, lr_err *e)
{
    if (run->job->has_logical) {
        if (lr_window_logical(run, out, e) != 0) return -1;
        return run->mode == LR_MODE_RECONCILE ? loaded_part(run, mark, *out, e) : 0;
    }
    for (const lr_window *w = run->windows; w != NULL; w = w->next)
        if (w->mark != NULL && strcmp(w->mark, mark->name) == 0) {
            lr_fail(e, LR_FAILED, "watermark \"%s\" opens a second window in this run", mark->name);
            return lr_hint(e, "use one window for both, or another name: watermark \"second\"");
        }
    lr_window *w = new_window(run);
    w->mark = lr_dup(&run->arena, mark->name);
    w->newest = mark->newest;
    w->first = lr_dup(&run->arena, mark->start);
    w->rule = mark->rule;
    if (lookback != NULL) {
        w->has_lookback = 1;
        w->lookback = *lookback;
    }
    if (number != NULL) {
        w->has_lookback = w->lookback_is_number = 1;
        w->lookback_number = *number;
    }
    *out = w;
    if (lr_ledger_watermark(run, w->mark, &w->saved, e) != 0) return -1;
    if (w->newest) return 0; /* fixed when the column is known */
    if (w->lookback_is_number) {
        lr_fail(e, LR_FAILED, "lookback is a number, and the watermark is a time");
        return lr_hint(e, "write lookback = days(2)");
    }
    set_edge(&w->stop, run->job->run_start);
    int64_t floor;
    if (w->saved != NULL) {
        if (parse_mark(run, w->saved, &w->start.us, e) != 0) return -1;
        w->start.set = 1;
        if (w->first != NULL && parse_mark(run, w->first, &floor, e) == 0 && w->start.us < floor) tell_floor(run, w);
        if (w->has_lookback && lr_span_add(run->job->zone, w->start.us, &w->lookback, -1, &w->start.us, e) != 0) return -1;
    }
    if (w->first != NULL) {
        if (parse_mark(run, w->first, &floor, e) != 0) return -1;
        if (!w->start.set || w->start.us < floor) set_edge(&w->start, floor);
    }
    if (check_order(run, w, e) != 0) return -1;
    char text[40];
    const lr_zone *z = run->job->zone;
    const char *value = lr_zone_is_utc(z) ? lr_format_short(z, run->job->run_start, text)
                                          : lr_format_offset(z, run->job->run_start, text);
    int64_t saved_us = INT64_MIN;
    if (w->saved != NULL && parse_mark(run, w->saved, &saved_us, e) != 0) return -1;
    /* A watermark never moves back. */
    w->save = saved_us < run->job->run_start ? lr_dup(&run->arena, value) : NULL;
    return 0;
}

/* ---- the newest value ---- */

static int whole_number(const char *text, int64_t *out)
{
    char *end;
    *out = strtoll(text, &end, 10);
    return end != text && *end == 0;
}

static int exact_edge(lr_run *run, lr_edge *edge, const char *text, lr_time_mode mode, lr_err *e)
{
    edge->set = edge->exact = 1;
    int64_t n;
    if (mode == LR_ISO) {
        edge->value = lr_text(text);
        return parse_mark(run, text, &edge->us, e);
    }
    if (lr_is_epoch(mode)) return lr_number_edge(run, edge, text, mode, e);
    if (!whole_number(text, &n)) {
        lr_fail(e, LR_FAILED, "the watermark '%s' is no whole number, and the column holds numbers", text);
        return lr_hint(e, "set it with lrun watermark %s --set NUMBER, or --clear", run->job->name);
    }
    edge->value = lr_int(n);
    edge->us = n;
    return 0;
}

static int find_newest(lr_run *run, lr_window *w, const lr_time_column *c, lr_value *newest, lr_err *e)
{
    const lr_dialect *d = c->place->dialect;
    lr_sql q = lr_sql_new(&run->arena);
    w->mode = c->mode;
    if (c->mode == LR_ISO) {
        /* A column of plain numbers shows itself by its largest value. */
        d->newest(&q, &c->from, &c->expr, LR_NUMBER, run->job->zone, c->type, NULL);
        if (lr_query_value(run, c->place, &q, &run->arena, newest, NULL, e) != 0) return -1;
        if (newest->type == LR_INT) w->mode = LR_NUMBER;
        if (newest->type == LR_INT || newest->type == LR_NULL) return 0;
        if (newest->type == LR_REAL) {
            lr_fail(e, LR_FAILED, "%s.%s holds fractions, a watermark needs times or whole numbers", c->table, c->column);
            return lr_hint(e, "use another column");
        }
    }
    q = lr_sql_new(&run->arena);
    d->newest(&q, &c->from, &c->expr, c->mode, run->job->zone, c->type, &run->job->clock);
    return lr_query_value(run, c->place, &q, &run->arena, newest, NULL, e);
}

static int edge_order(lr_run *run, const lr_edge *a, const lr_edge *b, lr_time_mode mode)
{
    if (mode == LR_NUMBER) return a->value.i < b->value.i ? -1 : a->value.i > b->value.i;
    if (a->us != b->us) return a->us < b->us ? -1 : 1;
    if (lr_is_epoch(mode)) return lr_number_order(run, a, b);
    if (mode != LR_ISO || !a->exact || !b->exact) return 0;
    /* the same microsecond: more digits are later */
    size_t n = a->value.s.n < b->value.s.n ? a->value.s.n : b->value.s.n;
    int c = memcmp(a->value.s.p, b->value.s.p, n);
    return c != 0 ? c : (a->value.s.n > b->value.s.n) - (a->value.s.n < b->value.s.n);
}

static int look_back(lr_run *run, lr_window *w, lr_err *e)
{
    w->start.inclusive = 1;
    if (w->mode == LR_NUMBER) {
        if (!w->lookback_is_number) {
            lr_fail(e, LR_FAILED, "lookback is a span, and the watermark is a number");
            return lr_hint(e, "write lookback = 1000");
        }
        if (__builtin_sub_overflow(w->start.value.i, w->lookback_number, &w->start.value.i))
            w->start.value.i = INT64_MIN;
        return 0;
    }
    if (w->lookback_is_number) {
        lr_fail(e, LR_FAILED, "lookback is a number, and the watermark is a time");
        return lr_hint(e, "write lookback = days(2)");
    }
    w->start.exact = 0;
    return lr_span_add(run->job->zone, w->start.us, &w->lookback, -1, &w->start.us, e);
}

/* watermark { start = }, as the column's values are compared. */
static int floor_edge(lr_run *run, const lr_window *w, const lr_time_column *c, lr_edge *edge, lr_err *e)
{
    int64_t n;
    lr_time t;
    if (lr_is_epoch(w->mode) && lr_is_decimal(w->first, strlen(w->first))) return lr_number_edge(run, edge, w->first, w->mode, e);
    if (w->mode == LR_NUMBER && whole_number(w->first, &n)) return exact_edge(run, edge, w->first, w->mode, e);
    if (w->mode == LR_NUMBER || lr_time_parse(w->first, strlen(w->first), run->job->zone, &t) != 0) {
        lr_fail(e, LR_FAILED, "watermark: start = \"%s\" does not compare with %s.%s, which holds %s", w->first, c->table, c->column,
                w->mode == LR_ISO ? "times" : "numbers");
        return lr_hint(e, w->mode == LR_ISO ? "write start = \"2026-01-20\"" : "write start = 0");
    }
    set_edge(edge, t.us);
    return 0;
}

/* From the saved value on, less the lookback, but never before start. */
static int fix_start(lr_run *run, lr_window *w, const lr_time_column *c, lr_edge *low, lr_err *e)
{
    lr_edge floor = {0};
    if (w->first != NULL && floor_edge(run, w, c, &floor, e) != 0) return -1;
    floor.inclusive = w->rule != LR_START_OPEN;
    if (w->saved == NULL) {
        w->start = *low = floor;
        return 0;
    }
    if (exact_edge(run, low, w->saved, w->mode, e) != 0) return -1;
    w->start = *low;
    w->start.inclusive = w->rule == LR_START_BY_WRITE ? !w->appends : w->rule == LR_START_CLOSED;
    int below = floor.set && edge_order(run, low, &floor, w->mode) < 0;
    if (below) tell_floor(run, w);
    if (w->has_lookback && look_back(run, w, e) != 0) return -1;
    if (floor.set && edge_order(run, &w->start, &floor, w->mode) < 0) w->start = floor;
    if (below) *low = floor;
    return 0;
}

static int fix_newest(lr_run *run, lr_window *w, const lr_time_column *c, lr_err *e)
{
    const char *here = lr_printf(&run->arena, "%s.%s", c->table, c->column);
    if (w->bound_to != NULL) {
        if (strcmp(w->bound_to, here) == 0) return 0;
        lr_fail(e, LR_FAILED, "the window goes up to the newest %s and cannot serve %s too", w->bound_to, here);
        return lr_hint(e, "give each extract a watermark of its own: watermark { \"second\", advance = \"newest\" }");
    }
    lr_value newest;
    if (find_newest(run, w, c, &newest, e) != 0) return -1;
    const char *from = w->saved != NULL ? w->saved : w->first;
    lr_edge low = {0};
    int64_t n;
    if (from != NULL && newest.type == LR_NULL && w->mode == LR_ISO && whole_number(from, &n)) w->mode = LR_NUMBER;
    if (from != NULL && fix_start(run, w, c, &low, e) != 0) return -1;
    w->bound_to = here;
    if (newest.type != LR_NULL) {
        const char *text = lr_value_text(&run->arena, &newest);
        if (lr_is_epoch(w->mode)) text = lr_plain_number(run, text);
        if (exact_edge(run, &w->stop, text, w->mode, e) != 0) return -1;
        w->stop.inclusive = 1;
        int order = from == NULL ? -1 : edge_order(run, &low, &w->stop, w->mode);
        /* a value equal to start is inside, and has not been saved yet */
        if (order < 0 || (order == 0 && low.inclusive)) {
            w->save = text;
            return 0;
        }
    }
    /* Nothing newer: the saved value is the end, and stays. */
    w->save = NULL;
    if (from != NULL) {
        w->stop = low;
        w->stop.inclusive = 1;
    } else {
        set_edge(&w->stop, run->job->clock); /* no row has a value up to now */
    }
    return 0;
}

int lr_window_take(lr_run *run, lr_window *w, const char *primitive, int appends, lr_err *e)
{
    if (!w->newest || w->has_lookback || w->rule != LR_START_BY_WRITE) return 0;
    if (w->writer == NULL) {
        w->writer = primitive;
        w->appends = appends;
    }
    if (w->appends == appends) return 0;
    const char *keyed = appends ? w->writer : primitive, *added = appends ? primitive : w->writer;
    lr_fail(e, LR_FAILED, "watermark \"%s\": %s takes the rows at the saved value again, and %s only what is later", w->mark, keyed, added);
    (void)run;
    return lr_hint(e, "say it for both: watermark { %s%s%sadvance = \"newest\", closed = true }; closed = false leaves out a row that "
                      "comes later with the same value", strcmp(w->mark, "default") == 0 ? "" : "\"",
                   strcmp(w->mark, "default") == 0 ? "" : w->mark, strcmp(w->mark, "default") == 0 ? "" : "\", ");
}

int lr_window_bounds(lr_run *run, lr_window *w, const lr_time_column *c, lr_bounds *out, lr_err *e)
{
    if (w->newest && fix_newest(run, w, c, e) != 0) return -1;
    out->by_instant = 0;
    out->type = c->type;
    out->zone = run->job->zone;
    out->mode = w->newest ? w->mode : c->mode;
    out->start = w->start;
    out->stop = w->stop;
    if (out->mode == LR_NUMBER) return 0;
    const lr_edge *edges[2] = {&w->start, &w->stop};
    int dates = out->mode == LR_YYYYMMDD || (out->mode == LR_ISO && c->type != NULL && c->type->kind == LR_KIND_DATE);
    for (int i = 0; i < 2; i++) {
        if (!edges[i]->set || edges[i]->exact || !dates) continue;
        if (lr_is_midnight(run->job->zone, edges[i]->us)) continue;
        lr_fail(e, LR_FAILED, "the window %s has a time of day, and %s.%s holds dates", lr_window_text(run, w),
                c->table, c->column);
        return lr_hint(e, "write job { grain = \"day\" }, or use a column with a time");
    }
    lr_bounds_edges(c->place->dialect, &run->arena, out);
    return 0;
}

void lr_window_consume(lr_run *run, lr_window *w)
{
    (void)run;
    w->consumed++;
}

int lr_windows_save(lr_run *run, lr_err *e)
{
    for (const lr_window *w = run->windows; w != NULL; w = w->next) {
        if (w->mark == NULL || w->save == NULL) continue;
        if (w->consumed == 0 || w->consumed < w->uses) {
            lr_note(run, "watermark \"%s\" stays where it was: %s of its window was written", w->mark,
                    w->consumed == 0 ? "nothing" : "only a part");
            continue;
        }
        if (lr_ledger_save_watermark(run, w->mark, w->save, e) != 0) return -1;
        lr_event ev = {.name = "watermark"};
        lr_event_text(&ev, "name", w->mark);
        lr_event_text(&ev, "value", w->save);
        lr_event_text(&ev, "before", w->saved);
        lr_report(run, &ev);
    }
    return 0;
}

const char *lr_edge_text(lr_run *run, const lr_edge *edge)
{
    char text[40];
    if (!edge->set) return NULL;
    if (edge->exact && edge->value.type == LR_INT) return lr_value_text(&run->arena, &edge->value);
    const lr_zone *z = run->job->zone;
    if (edge->exact && (lr_zone_is_utc(z) || lr_is_midnight(z, edge->us))) return lr_dup(&run->arena, lr_format_instant(z, edge->us, text));
    /* a local hour may occur twice: only its offset tells which */
    if (!lr_zone_is_utc(z) && !lr_is_midnight(z, edge->us)) return lr_dup(&run->arena, lr_format_offset(z, edge->us, text));
    return lr_dup(&run->arena, lr_format_short(z, edge->us, text));
}

const char *lr_window_text(lr_run *run, const lr_window *w)
{
    const char *start = lr_edge_text(run, &w->start), *stop = lr_edge_text(run, &w->stop);
    if (w->newest && w->bound_to == NULL) {
        start = w->saved != NULL ? w->saved : w->first;
        int open = start == NULL || w->rule == LR_START_OPEN || (w->rule == LR_START_BY_WRITE && w->appends && w->saved != NULL);
        return lr_printf(&run->arena, "%s%s, newest]", open ? "(" : "[", start != NULL ? start : "first");
    }
    return lr_printf(&run->arena, "%s%s, %s%s", w->start.inclusive && start != NULL ? "[" : "(",
                     start != NULL ? start : "first", stop != NULL ? stop : "last", w->stop.inclusive ? "]" : ")");
}
