/* timed TIMES PROGRAM ARGUMENT... - run a program TIMES times and print its
 * median time in seconds from start to exit, its most memory in KB, and its
 * median time on a processor, which other programs disturb less.
 *
 * A program of its own, in C: the peak that the kernel counts for a child
 * begins with its parent's, which here is next to nothing. */
#include <fcntl.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static double of(const struct timeval *t)
{
    return (double)t->tv_sec + (double)t->tv_usec * 1e-6;
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    int times = argc > 2 ? atoi(argv[1]) : 0;
    double *seconds = times > 0 ? malloc(2 * (size_t)times * sizeof *seconds) : NULL;
    if (seconds == NULL) {
        fprintf(stderr, "usage: timed TIMES PROGRAM ARGUMENT...\n");
        return 2;
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_addopen(&actions, 1, "/dev/null", O_WRONLY, 0);
    long most = 0;
    for (int i = 0; i < times; i++) {
        pid_t pid;
        int status;
        struct rusage used;
        double from = now();
        int rc = posix_spawnp(&pid, argv[2], &actions, NULL, argv + 2, environ);
        if (rc != 0) {
            fprintf(stderr, "%s: %s\n", argv[2], strerror(rc));
            return 1;
        }
        if (wait4(pid, &status, 0, &used) != pid) return 1;
        seconds[i] = now() - from;
        seconds[times + i] = of(&used.ru_utime) + of(&used.ru_stime);
        if (status != 0) {
            fprintf(stderr, "%s ended with status %d\n", argv[2], WIFEXITED(status) ? WEXITSTATUS(status) : -1);
            return 1;
        }
        if (used.ru_maxrss > most) most = used.ru_maxrss;
    }
    posix_spawn_file_actions_destroy(&actions);
    qsort(seconds, (size_t)times, sizeof *seconds, ascending);
    qsort(seconds + times, (size_t)times, sizeof *seconds, ascending);
    printf("%.6f %ld %.6f\n", seconds[times / 2], most, seconds[times + times / 2]);
    free(seconds);
    return 0;
}
