/* Temporary folders: made for a sandbox, taken away with it, and those swept
 * away whose process was killed before it could do so. */
#include "lua/box.h"
#include "lua/host.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define LEFT_AFTER 3600 /* seconds without a change */

/* A temporary folder's path, and the userdata that takes it away, whatever ends
 * the work: a stop does not let Lua run a line more. */
static int folder_close(lua_State *L)
{
    char *path = luaL_checkudata(L, 1, "lrun.folder"), inside[4400];
    DIR *d = path[0] != 0 ? opendir(path) : NULL;
    struct dirent *entry;
    while (d != NULL && (entry = readdir(d)) != NULL) {
        snprintf(inside, sizeof inside, "%s/%s", path, entry->d_name);
        unlink(inside);
    }
    if (d != NULL) closedir(d);
    if (path[0] != 0) rmdir(path);
    path[0] = 0;
    return 0;
}

/* "lrun-PID-XXXXXX": the process that made it; 0 where it is no such name. */
static long maker_of(const char *name)
{
    char *end;
    if (strncmp(name, "lrun-", 5) != 0 || !isdigit((unsigned char)name[5])) return 0;
    errno = 0;
    long pid = strtol(name + 5, &end, 10);
    if (errno != 0 || (pid_t)pid != pid || *end != '-') return 0;
    size_t n = 0;
    while (isalnum((unsigned char)end[1 + n])) n++;
    return n == 6 && end[7] == 0 ? pid : 0;
}

static int is_old(const struct stat *st)
{
    return time(NULL) - st->st_mtim.tv_sec > LEFT_AFTER;
}

/* Nothing in it was changed of late: a database is written to in place, which
 * the folder's own time does not show. */
static int all_old(DIR *d)
{
    struct stat st;
    struct dirent *entry;
    if (fstat(dirfd(d), &st) != 0 || st.st_uid != geteuid() || !is_old(&st)) return 0;
    while ((entry = readdir(d)) != NULL) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && !is_old(&st)) return 0;
    }
    return 1;
}

/* A sandbox has regular files and nothing else: a folder that has more stays. */
static void empty(DIR *d)
{
    struct stat st;
    struct dirent *entry;
    rewinddir(d);
    while ((entry = readdir(d)) != NULL)
        if (fstatat(dirfd(d), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(st.st_mode)) unlinkat(dirfd(d), entry->d_name, 0);
}

/* Take away what killed processes of this user left. Containers may share the
 * place and number their processes apart, so a dead number alone proves little. */
static void sweep(const char *under)
{
    DIR *all = opendir(under);
    struct dirent *entry;
    while (all != NULL && (entry = readdir(all)) != NULL) {
        long pid = maker_of(entry->d_name);
        if (pid <= 0 || kill((pid_t)pid, 0) == 0 || errno != ESRCH) continue;
        /* opened before it is looked at, so that nothing can be put in its place */
        int fd = openat(dirfd(all), entry->d_name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
        DIR *d = fd >= 0 ? fdopendir(fd) : NULL;
        if (d == NULL) {
            if (fd >= 0) close(fd);
            continue;
        }
        if (all_old(d)) {
            empty(d);
            unlinkat(dirfd(all), entry->d_name, AT_REMOVEDIR);
        }
        closedir(d);
    }
    if (all != NULL) closedir(all);
}

/* core.tempdir(): the path of a new folder that nobody else can read, and its
 * owner. In memory where the machine has such a place: what is in it need not
 * outlive the process. */
static int core_tempdir(lua_State *L)
{
    static int swept;
    char *owned = lua_newuserdatauv(L, 4096, 0);
    owned[0] = 0;
    luaL_setmetatable(L, "lrun.folder");
    const char *own = getenv("TMPDIR");
    const char *under[] = {"/dev/shm", own != NULL && own[0] != 0 ? own : "/tmp"};
    char path[4096];
    for (int i = 0; i < 2; i++) {
        if (snprintf(path, sizeof path, "%s/lrun-%ld-XXXXXX", under[i], (long)getpid()) >= (int)sizeof path || mkdtemp(path) == NULL) continue;
        strcpy(owned, path);
        if (!swept) sweep(under[i]);
        swept = 1;
        lua_pushstring(L, path);
        lua_insert(L, -2);
        return 2;
    }
    lua_pushnil(L);
    lua_pushstring(L, strerror(errno));
    return 2;
}

void lr_open_core_folder(lua_State *L)
{
    lr_new_closed(L, "lrun.folder", folder_close);
    luaL_getmetatable(L, "lrun.folder");
    lua_pushvalue(L, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, folder_close);
    lua_setfield(L, -2, "close");
    lua_pop(L, 1);
    lua_pushcfunction(L, core_tempdir);
    lua_setfield(L, -2, "tempdir");
}
