/* event.h - what a run tells of itself: a name and fields, for reports. */
#ifndef LRUN_RUN_EVENT_H
#define LRUN_RUN_EVENT_H

#include "lrun/value.h"

#define LR_EVENT_FIELDS 24

typedef struct lr_event {
    const char *name;
    int n;
    const char *keys[LR_EVENT_FIELDS];
    lr_value values[LR_EVENT_FIELDS];
} lr_event;

/* Text is borrowed until the event has been reported. */
void lr_event_int(lr_event *ev, const char *key, int64_t i);
void lr_event_text(lr_event *ev, const char *key, const char *z); /* NULL: a null */
void lr_event_bool(lr_event *ev, const char *key, int yes);
void lr_event_value(lr_event *ev, const char *key, const lr_value *v);

#endif
