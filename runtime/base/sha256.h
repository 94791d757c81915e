/* sha256.h - SHA-256 of a block of bytes. */
#ifndef LRUN_BASE_SHA256_H
#define LRUN_BASE_SHA256_H

#include <stddef.h>

/* 64 lower-case hexadecimal digits and a NUL. */
void lr_sha256_hex(const void *p, size_t n, char out[65]);

#endif
