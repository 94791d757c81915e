/* Signals and the time limit: the handler sets a flag, the work polls it. */
#include "run/stop.h"
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t caught;
static int64_t deadline;
static int held;
static volatile sig_atomic_t committing;
static double limit;
static int within; /* the limit is that of one run, not --max-seconds */

/* Work that does not look at the flag, such as a hopeless pattern, is ended
 * with the process after this long; the database then rolls back by itself. */
#define GRACE_SECONDS 10

static unsigned grace = GRACE_SECONDS;
static void (*forced)(void);

static void on_signal(int number)
{
    caught = number == SIGHUP ? SIGTERM : number;
    alarm(grace);
}

static void on_alarm(int number)
{
    static const char text[] = "lrun: stopped by force: the job did not answer in time; nothing was kept\n";
    (void)number;
    if (forced != NULL) forced();
    static const char open[] = "lrun: stopped by force while COMMIT was under way: its outcome is unknown\n"
                               "  hint: look into lrun_runs for the run: succeeded means that it was committed\n";
    ssize_t ignored = committing ? write(STDERR_FILENO, open, sizeof open - 1) : write(STDERR_FILENO, text, sizeof text - 1);
    (void)ignored;
    if (committing) _exit(6);
    _exit(caught == SIGTERM ? 143 : caught == SIGINT ? 130 : 1);
}

void lr_stop_install(void)
{
    struct sigaction act;
    memset(&act, 0, sizeof act);
    sigemptyset(&act.sa_mask);
    act.sa_handler = on_signal;
    sigaction(SIGINT, &act, NULL);
    sigaction(SIGTERM, &act, NULL);
    sigaction(SIGHUP, &act, NULL);
    act.sa_handler = on_alarm;
    sigaction(SIGALRM, &act, NULL);
    act.sa_handler = SIG_IGN;
    sigaction(SIGPIPE, &act, NULL);
    sigaction(SIGXFSZ, &act, NULL);
}

static int64_t clock_of(clockid_t id)
{
    struct timespec t;
    clock_gettime(id, &t);
    return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
}

int64_t lr_clock_us(void)
{
    return clock_of(CLOCK_REALTIME);
}

int64_t lr_ticks_us(void)
{
    return clock_of(CLOCK_MONOTONIC);
}

void lr_stop_deadline(double seconds)
{
    limit = seconds;
    deadline = seconds > 0 ? lr_ticks_us() + (int64_t)(seconds * 1e6) : 0;
    if (seconds > 0 && seconds < 1e8) alarm((unsigned)seconds + grace);
}

static void set_alarm(void)
{
    int64_t left = deadline != 0 ? (deadline - lr_ticks_us()) / 1000000 + 1 : 0;
    alarm(left > 0 && left < 100000000 ? (unsigned)left + grace : 0);
}

lr_stop_limit lr_stop_within(double seconds)
{
    lr_stop_limit former = {deadline, limit, within};
    int64_t until = lr_ticks_us() + (int64_t)(seconds * 1e6);
    if (seconds <= 0 || (deadline != 0 && deadline < until)) return former;
    deadline = until;
    limit = seconds;
    within = 1;
    set_alarm();
    return former;
}

void lr_stop_restore(lr_stop_limit former)
{
    deadline = former.deadline;
    limit = former.seconds;
    within = former.within;
    if (caught == 0) set_alarm();
}

int lr_stop_late(void)
{
    return caught == 0 && deadline != 0 && lr_ticks_us() > deadline;
}

void lr_stop_reset(void)
{
    caught = 0;
    alarm(0);
}

void lr_stop_forced(unsigned seconds, void (*last_words)(void))
{
    grace = seconds;
    forced = last_words;
}

void lr_stop_hold(int on)
{
    held = on;
}

void lr_stop_committing(int on)
{
    committing = on;
}

int lr_stop_signal(void)
{
    return caught;
}

int lr_stop_poll(void *arg)
{
    (void)arg;
    if (held) return 0;
    return caught != 0 || (deadline != 0 && lr_ticks_us() > deadline);
}

int lr_stop_reason(void *arg, lr_err *e)
{
    (void)arg;
    if (caught != 0)
        return lr_fail(e, caught == SIGTERM ? LR_SIGTERM : LR_SIGINT, "stopped by %s",
                       caught == SIGTERM ? "SIGTERM" : "SIGINT");
    if (within) {
        lr_fail(e, LR_FAILED, "ran longer than %g seconds", limit);
        return lr_hint(e, "look for a loop that does not end");
    }
    lr_fail(e, LR_FAILED, "ran longer than --max-seconds %g", limit);
    return lr_hint(e, "raise --max-seconds, or look for a loop that does not end");
}
