/* Checking a primitive's options against its table. */
#include "primitive/args.h"
#include <stdlib.h>
#include <string.h>

const lr_primitive *lr_primitive_find(const char *name)
{
    for (int i = 0; lr_primitives[i] != NULL; i++)
        if (strcmp(lr_primitives[i]->name, name) == 0) return lr_primitives[i];
    return NULL;
}

static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), row[64];
    if (n >= 60 || m >= 60) return 99;
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t corner = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t above = row[j], best = corner + (a[i - 1] != b[j - 1]);
            if (above + 1 < best) best = above + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            corner = above;
            row[j] = best;
        }
    }
    return row[m];
}

const char *lr_nearest(const char *name, const char *(*nth)(void *arg, int i), void *arg)
{
    const char *best = NULL, *candidate;
    size_t least = strlen(name) / 3 + 1;
    for (int i = 0; (candidate = nth(arg, i)) != NULL; i++) {
        size_t d = distance(name, candidate);
        if (d < least || (d == least && best == NULL)) {
            best = candidate;
            least = d;
        }
    }
    return best;
}

static const char *nth_option(void *arg, int i)
{
    const lr_primitive *p = arg;
    return i < p->noptions ? p->options[i].name : NULL;
}

int lr_option_find(const lr_primitive *p, const char *name, lr_err *e)
{
    for (int i = 0; i < p->noptions; i++)
        if (strcmp(p->options[i].name, name) == 0) return i;
    if (p->free_names) return -1;
    const char *near = lr_nearest(name, nth_option, (void *)p);
    lr_fail(e, LR_FAILED, "%s has no option \"%s\"", p->name, name);
    if (near != NULL) return lr_hint(e, "did you mean \"%s\"? see lrun help %s", near, p->name);
    return lr_hint(e, "see lrun help %s", p->name);
}

const char *lr_argtype_names(lr_arena *a, unsigned accepts)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {{LR_ARG_STRING, "string"}, {LR_ARG_INT, "integer"}, {LR_ARG_REAL, "number"},
                 {LR_ARG_BOOL, "boolean"}, {LR_ARG_LIST, "list"}, {LR_ARG_MAP, "table of names"},
                 {LR_ARG_ROWS, "rows"}, {LR_ARG_WINDOW, "window"}, {LR_ARG_MARK, "watermark"},
                 {LR_ARG_SPAN, "span"}, {LR_ARG_TIME, "date"}, {LR_ARG_FUNCTION, "function"}};
    lr_buf b = {0};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (accepts & names[i].bit) lr_buf_printf(&b, "%s%s", b.len > 0 ? " or " : "", names[i].name);
    const char *out = lr_dup(a, b.data != NULL ? b.data : "");
    lr_buf_free(&b);
    return out;
}

int lr_args_check(const lr_primitive *p, const lr_args *args, lr_err *e)
{
    if (p->first_name != NULL && !(p->first_accepts & args->first.type)) {
        if (args->first.type == LR_ARG_NONE)
            lr_fail(e, LR_FAILED, "%s needs %s first", p->name, p->first_name);
        else
            lr_fail(e, LR_FAILED, "%s: what stands first must be %s, not a %s", p->name, p->first_name,
                    lr_argtype_names(args->scratch, args->first.type));
        return lr_hint(e, "for example: %s", p->example);
    }
    if (p->first_name == NULL && args->first.type != LR_ARG_NONE) {
        lr_fail(e, LR_FAILED, "%s takes named options only", p->name);
        return lr_hint(e, "for example: %s", p->example);
    }
    for (int i = 0; i < p->noptions; i++) {
        const lr_option *o = &p->options[i];
        const lr_arg *a = &args->named[i];
        if (a->type == LR_ARG_NONE) {
            if (!o->required) continue;
            lr_fail(e, LR_FAILED, "%s needs %s = %s", p->name, o->name, lr_argtype_names(args->scratch, o->accepts));
            return lr_hint(e, "for example: %s", p->example);
        }
        if (o->accepts & a->type) continue;
        lr_fail(e, LR_FAILED, "%s: %s must be %s, not %s", p->name, o->name,
                lr_argtype_names(args->scratch, o->accepts), lr_argtype_names(args->scratch, a->type));
        return lr_hint(e, "%s", o->help);
    }
    return 0;
}

const lr_arg *lr_arg_of(const lr_primitive *p, const lr_args *args, const char *name)
{
    for (int i = 0; i < p->noptions; i++)
        if (strcmp(p->options[i].name, name) == 0) return &args->named[i];
    abort(); /* a name that the table does not have is a fault of the program */
}

const char *lr_arg_text(const lr_arg *a, const char *fallback)
{
    return a->type == LR_ARG_STRING || a->type == LR_ARG_TIME ? a->value.s.p : fallback;
}

int lr_arg_bool(const lr_arg *a, int fallback)
{
    return a->type == LR_ARG_BOOL ? (int)a->value.i : fallback;
}

int lr_arg_names(lr_arena *a, const lr_arg *arg, const char ***out, int *n, lr_err *e)
{
    *n = arg->type == LR_ARG_NONE ? 0 : arg->type == LR_ARG_LIST ? arg->n : 1;
    *out = lr_alloc(a, (size_t)(*n + 1) * sizeof **out);
    for (int i = 0; i < *n; i++) {
        const lr_arg *item = arg->type == LR_ARG_LIST ? &arg->items[i] : arg;
        if (item->type != LR_ARG_STRING) return lr_fail(e, LR_FAILED, "a list of names holds something that is no name");
        (*out)[i] = lr_dup(a, item->value.s.p);
        for (int j = 0; j < i; j++)
            if (strcmp((*out)[i], (*out)[j]) == 0) return lr_fail(e, LR_FAILED, "\"%s\" is twice in the list", (*out)[i]);
    }
    return 0;
}
