/* preload.c - numbers every call that touches a database's file or socket, and
 * makes one of them the last, or an error. Loaded before lrun by LD_PRELOAD, so
 * that nothing in lrun knows of it and new calls are found by themselves.
 *
 *   LRUN_POINT_FILES  a part of the paths that count, such as "warehouse.db"
 *   LRUN_POINT_AT     the call that is hit, from 1; 0 only counts
 *   LRUN_POINT_HOW    kill  the process is gone before the call
 *                     io    the call fails once, EIO
 *                     full  this and every later write fails, ENOSPC
 *                     cut   the connection is cut before the call
 *                     off   the same, and nobody can connect again
 *   LRUN_POINT_OUT    a file for the number of calls, written at the end
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NOTHING, A_FILE, A_SOCKET, MOST = 1024 };
enum { READS, WRITES, TALKS, CONNECTS };

static char kind_of[MOST];
static long calls, at;
static int started, off;
static const char *files, *how;

#define REAL(name) \
    static __typeof__(name) *real; \
    if (real == NULL) *(void **)&real = dlsym(RTLD_NEXT, #name)

static void start(void)
{
    if (started) return;
    started = 1;
    files = getenv("LRUN_POINT_FILES");
    how = getenv("LRUN_POINT_HOW");
    const char *n = getenv("LRUN_POINT_AT");
    at = n != NULL ? atol(n) : 0;
    if (how == NULL) how = "count";
}

static int is(const char *word)
{
    return strcmp(how, word) == 0;
}

/* 0: go on; else the errno that the call fails with. */
static int point(int fd, int kind)
{
    start();
    if (is("full") && kind != WRITES) return 0;
    if (is("kill") && kind == READS) return 0;
    if ((is("cut") || is("off")) && kind != TALKS) return kind == CONNECTS && off ? ECONNREFUSED : 0;
    if (is("io") && (kind == TALKS || kind == CONNECTS)) return 0;
    calls++;
    if (is("full")) return at != 0 && calls >= at ? ENOSPC : 0;
    if (calls != at) return 0;
    if (is("kill")) raise(SIGKILL);
    if (is("io")) return EIO;
    off = is("off");
    if (is("cut") || off) shutdown(fd, SHUT_RDWR);
    return 0;
}

static void finish(void) __attribute__((destructor));
static void finish(void)
{
    const char *out = getenv("LRUN_POINT_OUT");
    if (out == NULL || calls == 0) return;
    FILE *f = fopen(out, "w");
    if (f == NULL) return;
    fprintf(f, "%ld\n", calls);
    fclose(f);
}

static int wanted(const char *path)
{
    start();
    return files != NULL && path != NULL && strstr(path, files) != NULL;
}

static int fails(int fd, int of, int kind)
{
    if (fd < 0 || fd >= MOST || kind_of[fd] != of) return 0;
    int e = point(fd, kind);
    if (e != 0) errno = e;
    return e;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) \
    { \
        REAL(name); \
        va_list ap; \
        va_start(ap, flags); \
        mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(ap, mode_t) : 0; \
        va_end(ap); \
        int ours = wanted(path), e = ours ? point(-1, (flags & O_CREAT) != 0 ? WRITES : READS) : 0; \
        if (e != 0) { \
            errno = e; \
            return -1; \
        } \
        int fd = real(path, flags, mode); \
        if (fd >= 0 && fd < MOST) kind_of[fd] = ours ? A_FILE : NOTHING; \
        return fd; \
    }
OPEN(open)
OPEN(open64)

int close(int fd)
{
    REAL(close);
    if (fd >= 0 && fd < MOST) kind_of[fd] = NOTHING;
    return real(fd);
}

#define FILE_CALL(result, name, kind, parameters, ...) \
    result name parameters \
    { \
        REAL(name); \
        if (fails(fd, A_FILE, kind)) return -1; \
        return real(__VA_ARGS__); \
    }
FILE_CALL(ssize_t, pread, READS, (int fd, void *p, size_t n, off_t o), fd, p, n, o)
FILE_CALL(ssize_t, pread64, READS, (int fd, void *p, size_t n, off64_t o), fd, p, n, o)
FILE_CALL(ssize_t, pwrite, WRITES, (int fd, const void *p, size_t n, off_t o), fd, p, n, o)
FILE_CALL(ssize_t, pwrite64, WRITES, (int fd, const void *p, size_t n, off64_t o), fd, p, n, o)
FILE_CALL(int, ftruncate, WRITES, (int fd, off_t n), fd, n)
FILE_CALL(int, ftruncate64, WRITES, (int fd, off64_t n), fd, n)
FILE_CALL(int, fsync, WRITES, (int fd), fd)
FILE_CALL(int, fdatasync, WRITES, (int fd), fd)

ssize_t read(int fd, void *p, size_t n)
{
    REAL(read);
    if (fails(fd, A_FILE, READS)) return -1;
    return real(fd, p, n);
}

ssize_t write(int fd, const void *p, size_t n)
{
    REAL(write);
    if (fails(fd, A_FILE, WRITES)) return -1;
    return real(fd, p, n);
}

int unlink(const char *path)
{
    REAL(unlink);
    int e = wanted(path) ? point(-1, WRITES) : 0;
    if (e != 0) {
        errno = e;
        return -1;
    }
    return real(path);
}

int connect(int fd, const struct sockaddr *to, socklen_t n)
{
    REAL(connect);
    int e = point(fd, CONNECTS);
    if (e != 0) {
        errno = e;
        return -1;
    }
    if (fd >= 0 && fd < MOST) kind_of[fd] = A_SOCKET;
    return real(fd, to, n);
}

ssize_t send(int fd, const void *p, size_t n, int flags)
{
    REAL(send);
    if (fails(fd, A_SOCKET, TALKS)) return -1;
    return real(fd, p, n, flags);
}

ssize_t recv(int fd, void *p, size_t n, int flags)
{
    REAL(recv);
    if (fails(fd, A_SOCKET, TALKS)) return -1;
    return real(fd, p, n, flags);
}
