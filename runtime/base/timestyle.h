/* timestyle.h - how times are written, and when their texts sort as the times. */
#ifndef LRUN_BASE_TIMESTYLE_H
#define LRUN_BASE_TIMESTYLE_H

#include <stddef.h>

/* A text belongs to each style that it is written in. */
enum {
    LR_STYLE_DATE = 1,    /* 2026-01-20 */
    LR_STYLE_LOCAL = 2,   /* a date, or with a time of day and no offset, in any way */
    LR_STYLE_SHORT = 4,   /* a midnight as a bare date, else a blank, seconds, no trailing zeros */
    LR_STYLE_LONG = 8,    /* the same, but midnight as 00:00:00 */
    LR_STYLE_EITHER = 16, /* one of these two */
    LR_STYLE_FIXED = 32,  /* from here on: 16, 19, 23 or 26 characters with a blank or a T */
    LR_STYLE_ANY = LR_STYLE_FIXED * 256 - 1
};

/* The styles of a text; 0 where it is no date and no time without an offset. */
int lr_time_styles(const char *p, size_t n);

/* Given the styles that all of each have: does comparing the texts of bounds with
 * each other and with times give what comparing their instants does? */
int lr_styles_sort(int bounds, int times);

#endif
