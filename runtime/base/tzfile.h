/* tzfile.h - a file of the tz database as stretches of constant offset. */
#ifndef LRUN_BASE_TZFILE_H
#define LRUN_BASE_TZFILE_H

#include <stddef.h>
#include <stdint.h>

typedef struct lr_tz_stretch {
    int64_t from;   /* first instant, microseconds; INT64_MIN for the first stretch */
    int64_t offset; /* microseconds east of UTC */
} lr_tz_stretch;

/* The stretches of a TZif file, its rule for the years beyond its table carried
 * on to year 10001. Neighbours differ in their offset. free() the result. NULL
 * if the bytes are no such file; *why then says so. */
lr_tz_stretch *lr_tzfile_parse(const unsigned char *p, size_t n, size_t *count,
                               const char **why);

#endif
