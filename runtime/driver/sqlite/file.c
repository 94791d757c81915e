/* What stands at the path of a SQLite URL, found out without opening it. */
#include "driver/sqlite/internal.h"
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *path_of(const char *url)
{
    return strncmp(url, "sqlite:", 7) == 0 ? url + 7 : url;
}

char *lr_sqlite_path(const char *url)
{
    const char *path = path_of(url);
    if (strcmp(path, ":memory:") == 0 || path[0] == '/') return lr_strdup(path);
    char cwd[PATH_MAX];
    if (getcwd(cwd, sizeof cwd) == NULL) return lr_strdup(path);
    lr_buf b = {0};
    lr_buf_printf(&b, "%s/%s", cwd, path);
    return b.data;
}

static int unreachable(lr_err *e, const char *url, const char *why, const char *hint)
{
    lr_fail(e, LR_UNREACHABLE, "%s: %s", url, why);
    return lr_hint(e, "%s", hint);
}

/* A file or folder without a single write bit is meant not to be written, also
 * where root's rights would allow it. */
static int writable(const char *path)
{
    struct stat st;
    if (stat(path, &st) != 0) return 0;
    return (st.st_mode & 0222) != 0 && access(path, W_OK) == 0;
}

static int folder_check(const char *url, const char *path, lr_err *e)
{
    char *folder = lr_strdup(path);
    char *slash = strrchr(folder, '/');
    if (slash == folder) slash[1] = 0;
    else if (slash != NULL) *slash = 0;
    struct stat st;
    int rc = 0;
    if (stat(folder, &st) != 0 || !S_ISDIR(st.st_mode))
        rc = unreachable(e, url, "its folder does not exist", "make the folder first, or correct the path");
    else if (!writable(folder))
        rc = unreachable(e, url, "its folder is read-only",
                         "SQLite keeps its journal beside the file: give write permission on the folder");
    free(folder);
    return rc;
}

static int header_check(const char *url, const char *path, lr_err *e)
{
    char head[16] = {0};
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return unreachable(e, url, strerror(errno), "check the path and its permissions");
    ssize_t got = read(fd, head, sizeof head);
    close(fd);
    if (got == (ssize_t)sizeof head && memcmp(head, "SQLite format 3", 16) == 0) return 0;
    return unreachable(e, url, "is not a SQLite database", "it was left as it is; correct the path");
}

int lr_sqlite_check_file(const char *url, int write, int *exists, lr_err *e)
{
    char *path = lr_sqlite_path(url);
    struct stat st;
    int rc = 0;
    *exists = 0;
    if (strcmp(path, ":memory:") == 0 || path_of(url)[0] == 0) {
        if (path_of(url)[0] == 0)
            rc = unreachable(e, url, "has no path", "write sqlite:path/to/file.db");
    } else if (stat(path, &st) != 0) {
        if (errno != ENOENT)
            rc = unreachable(e, url, strerror(errno), "check the path and its permissions");
        else if (write)
            rc = folder_check(url, path, e);
    } else if (S_ISDIR(st.st_mode)) {
        rc = unreachable(e, url, "is a directory", "name the database file itself");
    } else if (!S_ISREG(st.st_mode)) {
        rc = unreachable(e, url, "is no regular file", "name a database file");
    } else {
        *exists = st.st_size > 0;
        if (*exists) rc = header_check(url, path, e);
        if (rc == 0 && write && !writable(path))
            rc = unreachable(e, url, "is read-only", "give write permission on the file");
        if (rc == 0 && write) rc = folder_check(url, path, e);
    }
    free(path);
    return rc;
}

int lr_sqlite_probe(const char *url, lr_err *e)
{
    int exists;
    if (lr_sqlite_check_file(url, 0, &exists, e) != 0) return -1;
    return exists;
}

void lr_sqlite_remember(lr_conn *c)
{
    struct stat st;
    if (strcmp(c->path, ":memory:") == 0 || stat(c->path, &st) != 0) return;
    c->device = st.st_dev;
    c->inode = st.st_ino;
}

int lr_sqlite_still_there(const lr_conn *c, lr_err *e)
{
    struct stat now;
    if (c->inode == 0 || (stat(c->path, &now) == 0 && now.st_ino == c->inode && now.st_dev == c->device)) return 0;
    lr_fail(e, LR_FAILED, "%s was removed or replaced while it was written", c->path);
    return lr_hint(e, "put the file back and run again; nothing was kept");
}
