/* fuzz.h - what the fuzzers share: a claim that does not hold ends the program,
 * and the fuzzer keeps the input. */
#ifndef LRUN_TESTS_FUZZ_H
#define LRUN_TESTS_FUZZ_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define CLAIM(cond) \
    do { \
        if (!(cond)) { \
            fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #cond); \
            abort(); \
        } \
    } while (0)

/* The input as text that ends in a NUL and holds none before it. */
static inline char *fuzz_text(const uint8_t *data, size_t n)
{
    char *z = malloc(n + 1);
    if (n > 0) memcpy(z, data, n);
    for (size_t i = 0; i < n; i++)
        if (z[i] == 0) z[i] = ' ';
    z[n] = 0;
    return z;
}

#endif
