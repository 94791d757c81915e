/* Dates, times and the grains that windows are cut by: whatever text comes in,
 * it is refused, or it means one instant that prints and reads back; the grains
 * of every zone tile around it. The first byte chooses the zone. */
#include "base/calendar.h"
#include "fuzz.h"

static const char *const zones[] = {"UTC", "Europe/Berlin", "America/New_York", "Asia/Kathmandu", "Africa/Monrovia", "Pacific/Apia"};

static void grains(const lr_zone *z, int64_t us)
{
    char text[40];
    for (int g = LR_HOUR; g <= LR_YEAR; g++) {
        lr_err e = {0};
        int64_t from = lr_grain_floor(z, (lr_grain)g, us), to = lr_grain_next(z, (lr_grain)g, us), again;
        CLAIM(from <= us && us < to);
        CLAIM(lr_grain_floor(z, (lr_grain)g, from) == from);
        CLAIM(lr_grain_next(z, (lr_grain)g, from) == to);
        CLAIM(lr_grain_floor(z, (lr_grain)g, to) == to);
        lr_grain_format(z, (lr_grain)g, from, text);
        CLAIM(lr_grain_date(z, (lr_grain)g, text, &again, &e) == 0);
        CLAIM(again == from);
    }
}

static void spans(const lr_zone *z, int64_t us, const uint8_t *data, size_t n)
{
    lr_span s = {0};
    char text[96];
    lr_err e = {0};
    int64_t out, back;
    if (n < 3) return;
    s.days = (int8_t)data[0];
    s.us = (int8_t)data[1] * LR_US_PER_HOUR;
    if (lr_span_add(z, us, &(lr_span){.us = s.us}, 1, &out, &e) == 0 && lr_span_add(z, out, &(lr_span){.us = s.us}, -1, &back, &e) == 0)
        CLAIM(back == us);
    s.months = (int8_t)data[2];
    lr_span_add(z, us, &s, 1, &out, &e);
    lr_span_format(&s, text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const lr_zone *z;
    lr_err e = {0};
    lr_time t;
    int64_t start;
    char text[40];
    if (size == 0) return 0;
    char *whole = fuzz_text(data + 1, size - 1);
    if (lr_zone_get(whole, &z, &e) != 0) lr_err_clear(&e);
    if (lr_zone_get(zones[data[0] % (sizeof zones / sizeof zones[0])], &z, &e) != 0) z = lr_zone_utc();
    for (int g = LR_HOUR; g <= LR_YEAR; g++) {
        lr_err no = {0};
        if (lr_grain_date(z, (lr_grain)g, whole, &start, &no) == 0) CLAIM(lr_grain_floor(z, (lr_grain)g, start) == start);
        else CLAIM(no.status == LR_USAGE && no.message[0] != 0);
    }
    if (lr_time_parse((const char *)data + 1, size - 1, z, &t) == 0) {
        lr_time again;
        lr_format_offset(z, t.us, text);
        /* years next to the ends of the calendar may leave it in another zone */
        if (t.us > INT64_C(-62135510400000000) && t.us < INT64_C(253402214400000000)) {
            CLAIM(lr_time_parse(text, strlen(text), z, &again) == 0);
            CLAIM(again.us == t.us);
            grains(z, t.us);
            spans(z, t.us, data, size);
        }
    }
    free(whole);
    return 0;
}
