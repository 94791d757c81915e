#include "run/event.h"
#include <stdlib.h>

void lr_event_value(lr_event *ev, const char *key, const lr_value *v)
{
    if (ev->n == LR_EVENT_FIELDS) abort();
    ev->keys[ev->n] = key;
    ev->values[ev->n++] = *v;
}

void lr_event_int(lr_event *ev, const char *key, int64_t i)
{
    lr_value v = lr_int(i);
    lr_event_value(ev, key, &v);
}

void lr_event_text(lr_event *ev, const char *key, const char *z)
{
    lr_value v = lr_text(z);
    lr_event_value(ev, key, &v);
}

void lr_event_bool(lr_event *ev, const char *key, int yes)
{
    lr_value v = {.type = LR_BOOL, .i = yes != 0};
    lr_event_value(ev, key, &v);
}
