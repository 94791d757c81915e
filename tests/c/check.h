/* check.h - counts checks, prints the failed ones, and ends the program.
 *
 * main() calls CHECK as it goes and returns check_done().
 */
#ifndef LRUN_TESTS_CHECK_H
#define LRUN_TESTS_CHECK_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHECK_MOST_SHOWN 50

static long check_count, check_failed;
static uint64_t check_state;

/* True if the failure is to be shown: a broken loop must not flood the log. */
static inline int check_note(int ok, const char *file, int line, const char *text)
{
    check_count++;
    if (ok) return 1;
    if (check_failed++ < CHECK_MOST_SHOWN) fprintf(stderr, "%s:%d: %s\n", file, line, text);
    return 0;
}

static inline void check_text(const char *got, const char *want, const char *file, int line,
                              const char *text)
{
    int ok = got && want && strcmp(got, want) == 0;
    if (!check_note(ok, file, line, text) && check_failed <= CHECK_MOST_SHOWN)
        fprintf(stderr, "  got  %.300s\n  want %.300s\n", got ? got : "(null)",
                want ? want : "(null)");
}

static inline void check_number(int64_t got, int64_t want, const char *file, int line,
                                const char *text)
{
    if (!check_note(got == want, file, line, text) && check_failed <= CHECK_MOST_SHOWN)
        fprintf(stderr, "  got  %lld\n  want %lld\n", (long long)got, (long long)want);
}

#define CHECK(cond) check_note((cond) != 0, __FILE__, __LINE__, #cond)
#define CHECK_STR(got, want) check_text((got), (want), __FILE__, __LINE__, #got)
#define CHECK_INT(got, want) check_number((got), (want), __FILE__, __LINE__, #got)

/* Random numbers; LRUN_TEST_SEED repeats a run, and the seed is printed. */
static inline void check_seed(void)
{
    const char *set = getenv("LRUN_TEST_SEED");
    check_state = set ? strtoull(set, NULL, 10) : (uint64_t)time(NULL);
    printf("seed %llu\n", (unsigned long long)check_state);
}

static inline uint64_t check_random(void)
{
    uint64_t x = check_state += UINT64_C(0x9E3779B97F4A7C15);
    x = (x ^ (x >> 30)) * UINT64_C(0xBF58476D1CE4E5B9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94D049BB133111EB);
    return x ^ (x >> 31);
}

/* low <= result < high */
static inline int64_t check_between(int64_t low, int64_t high)
{
    return low + (int64_t)(check_random() % ((uint64_t)high - (uint64_t)low));
}

static inline int check_done(void)
{
    printf("%ld checks, %ld failed\n", check_count, check_failed);
    return check_failed ? 1 : 0;
}

#endif
