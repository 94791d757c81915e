#include "run/process.h"
#include "base/calendar.h"
#include "run/stop.h"
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const char *lr_host_name(void)
{
    static char name[256];
    if (name[0] == 0 && (gethostname(name, sizeof name - 1) != 0 || name[0] == 0)) strcpy(name, "localhost");
    return name;
}

/* When the process started, by the wall clock; 0 where the system does not say. */
static int64_t started_us(int64_t pid)
{
    char path[64], text[1024];
    snprintf(path, sizeof path, "/proc/%" PRId64 "/stat", pid);
    FILE *f = fopen(path, "r");
    if (f == NULL) return 0;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = 0;
    const char *p = strrchr(text, ')');
    unsigned long long ticks = 0;
    if (p == NULL || sscanf(p + 2, "%*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu", &ticks) != 1)
        return 0;
    double up = 0;
    f = fopen("/proc/uptime", "r");
    if (f == NULL) return 0;
    int read = fscanf(f, "%lf", &up);
    fclose(f);
    if (read != 1) return 0;
    return lr_clock_us() - (int64_t)((up - (double)ticks / (double)sysconf(_SC_CLK_TCK)) * 1e6);
}

int lr_process_lives(const char *host, int64_t pid, const char *since)
{
    if (host == NULL || strcmp(host, lr_host_name()) != 0) return 1;
    if (pid <= 0 || pid == getpid()) return 0;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH) return 0;
    lr_time t;
    int64_t born = started_us(pid);
    if (born == 0 || since == NULL || lr_time_parse(since, strlen(since), lr_zone_utc(), &t) != 0) return 1;
    return born <= t.us + 2 * LR_US_PER_SECOND; /* the two clocks are read apart */
}
