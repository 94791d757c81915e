/* sha256.c - SHA-256 by libmd. */
#include "sha256.h"

#include <stdint.h>
#include <sys/types.h>

#include <sha2.h>

void lr_sha256_hex(const void *p, size_t n, char out[65])
{
    static const uint8_t none[1];
    SHA256Data(n ? p : none, n, out);
}
