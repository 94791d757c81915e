/* Edges of a window that are numbers. */
#include "run/number.h"
#include "base/decimal.h"
#include <stdlib.h>
#include <string.h>

const char *lr_plain_number(lr_run *run, const char *text)
{
    char *plain = lr_decimal_minus(text, "0");
    const char *kept = lr_dup(&run->arena, plain);
    free(plain);
    return kept;
}

int lr_number_edge(lr_run *run, lr_edge *edge, const char *text, lr_time_mode mode, lr_err *e)
{
    char *end;
    if (!lr_is_decimal(text, strlen(text)) || lr_epoch_text(mode, text, strlen(text), run->job->zone, &edge->us) != 0) {
        lr_fail(e, LR_FAILED, "the watermark '%s' is no time in %s (time = \"%s\")", text, lr_epoch_unit(mode), lr_time_mode_name(mode));
        return lr_hint(e, "set it with lrun watermark %s --set NUMBER, or --clear", run->job->name);
    }
    const char *plain = lr_plain_number(run, text);
    long long n = strtoll(plain, &end, 10); /* in range: the form's limits are those of 64 bits */
    edge->set = edge->exact = 1;
    edge->value = *end == 0 ? lr_int(n) : lr_text(plain);
    return 0;
}

int lr_number_order(lr_run *run, const lr_edge *a, const lr_edge *b)
{
    if (!a->exact || !b->exact) return 0;
    return lr_decimal_compare(lr_value_text(&run->arena, &a->value), lr_value_text(&run->arena, &b->value));
}
