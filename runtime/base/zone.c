/* zone.c - time zones by name, and looking up their offsets. */
#include "calendar.h"

#include "mem.h"
#include "tzfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define DEFAULT_FOLDER "/usr/share/zoneinfo"
#define LARGEST_FILE (1 << 20)
#define LONGEST_NAME 100

/* Two readings of one wall clock are never further apart than this. */
#define WIDEST_SHIFT (52 * LR_US_PER_HOUR)
#define WIDEST_OFFSET (26 * LR_US_PER_HOUR)

struct lr_zone {
    lr_zone *next;
    const char *name;
    lr_tz_stretch *stretch;
    size_t count;
    size_t hint; /* the stretch that was found last: rows come in order of time */
    int utc;
};

static lr_tz_stretch utc_stretch = { INT64_MIN, 0 };
static lr_zone utc_zone = { NULL, "UTC", &utc_stretch, 1, 0, 1 };
static lr_zone *zones = &utc_zone;

/* ---- looking up ---- */

static int64_t stretch_end(const lr_zone *z, size_t i)
{
    return i + 1 < z->count ? z->stretch[i + 1].from : INT64_MAX;
}

static size_t find(const lr_zone *z, int64_t us)
{
    const lr_tz_stretch *s = z->stretch;
    size_t low = z->hint;
    if (s[low].from <= us && us < stretch_end(z, low)) return low;
    low = 0;
    for (size_t high = z->count; high - low > 1;) {
        size_t middle = low + (high - low) / 2;
        if (s[middle].from <= us) low = middle;
        else high = middle;
    }
    ((lr_zone *)z)->hint = low;
    return low;
}

const lr_zone *lr_zone_utc(void)
{
    return &utc_zone;
}

const char *lr_zone_name(const lr_zone *z)
{
    return z->name;
}

int lr_zone_is_utc(const lr_zone *z)
{
    return z->utc;
}

int lr_zone_offset(const lr_zone *z, int64_t us)
{
    return (int)(z->stretch[find(z, us)].offset / LR_US_PER_SECOND);
}

int lr_zone_stretch(const lr_zone *z, int64_t us, int64_t *from, int64_t *until)
{
    size_t i = find(z, us);
    *from = z->stretch[i].from;
    *until = stretch_end(z, i);
    return (int)(z->stretch[i].offset / LR_US_PER_SECOND);
}

int64_t lr_zone_local(const lr_zone *z, int64_t us)
{
    return us + z->stretch[find(z, us)].offset;
}

/* A reading means its first instant, so none means the second pass of an hour
 * that comes twice; and all of an hour that is skipped means the instant after. */
int64_t lr_zone_reading(const lr_zone *z, int64_t us)
{
    size_t i = find(z, us);
    if (i == 0) return us + z->stretch[0].offset;
    int64_t from = z->stretch[i].from, before = z->stretch[i - 1].offset, now = z->stretch[i].offset;
    if (now > before && us == from) return us + before;
    if (now < before && us < from + (before - now)) return us == from ? us + before : from + before;
    return us + now;
}

int lr_zone_shifts_back(const lr_zone *z, int64_t *out, int room)
{
    int n = 0;
    for (size_t i = 1; i < z->count; i++) {
        int64_t back = z->stretch[i - 1].offset - z->stretch[i].offset;
        int known = back <= 0;
        for (int j = 0; j < n && j < room && !known; j++) known = out[j] == back;
        if (known) continue;
        if (n < room) out[n] = back;
        n++;
    }
    return n;
}

static int is_far_from_changes(const lr_zone *z, size_t i, int64_t us)
{
    int64_t from = z->stretch[i].from, until = stretch_end(z, i);
    return (from == INT64_MIN || us - from >= WIDEST_SHIFT) &&
           (until == INT64_MAX || until - us > WIDEST_SHIFT);
}

int64_t lr_zone_instant(const lr_zone *z, int64_t local_us, int *doubled)
{
    if (doubled) *doubled = 0;
    size_t i = find(z, local_us);
    int64_t us = local_us - z->stretch[i].offset;
    if (is_far_from_changes(z, i, us)) return us;

    int found = 0, gap = 0;
    int64_t first = us, after_gap = us;
    for (i = find(z, local_us - WIDEST_OFFSET); i < z->count; i++) {
        const lr_tz_stretch *s = &z->stretch[i];
        if (s->from != INT64_MIN && s->from - WIDEST_OFFSET > local_us) break;
        us = local_us - s->offset;
        if (us < s->from) {
            if (!gap) after_gap = s->from;
            gap = 1;
        } else if (us < stretch_end(z, i)) {
            if (found && doubled) *doubled = 1;
            if (!found) first = us;
            found = 1;
        }
    }
    return found ? first : after_gap;
}

/* ---- names and files ---- */

/* Only letters, digits, '_', '+', '-' and single '/' between parts, so that a
 * name cannot lead out of the folder. "localtime" is a link to the machine's
 * setting, which would make a job mean something else on each machine. */
static int is_zone_name(const char *name)
{
    size_t n = strlen(name);
    if (!n || n > LONGEST_NAME || strcmp(name, "localtime") == 0) return 0;
    char before = '/';
    for (const char *p = name; *p; before = *p++) {
        int letter = (*p >= 'A' && *p <= 'Z') || (*p >= 'a' && *p <= 'z');
        int other = (*p >= '0' && *p <= '9') || *p == '_' || *p == '+' || *p == '-';
        if (*p == '/' ? before == '/' : !letter && !other) return 0;
    }
    return before != '/';
}

static const char *folder(void)
{
    const char *set = getenv("TZDIR");
    return set && *set ? set : DEFAULT_FOLDER;
}

/* The bytes of a regular file; NULL with errno. */
static unsigned char *read_file(const char *path, size_t *n)
{
    struct stat st;
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd < 0) return NULL;
    unsigned char *data = NULL;
    size_t got = 0;
    int code = 0;
    if (fstat(fd, &st)) {
        code = errno;
    } else if (!S_ISREG(st.st_mode) || st.st_size > LARGEST_FILE) {
        code = ENOENT;
    } else {
        size_t size = (size_t)st.st_size;
        data = lr_malloc(size);
        while (got < size) {
            ssize_t r = read(fd, data + got, size - got);
            if (r < 0 && errno == EINTR) continue;
            if (r < 0) code = errno;
            if (r <= 0) break;
            got += (size_t)r;
        }
    }
    close(fd);
    if (code) {
        free(data);
        errno = code;
        return NULL;
    }
    *n = got;
    return data;
}

static int unknown(const char *name, lr_err *e)
{
    lr_fail(e, LR_USAGE, "time zone \"%.100s\" is not known", name);
    return lr_hint(e, "use a name of the tz database such as \"Europe/Berlin\", or \"UTC\"");
}

static int load(const char *name, lr_zone **out, lr_err *e)
{
    struct stat st;
    if (stat(folder(), &st) || !S_ISDIR(st.st_mode)) {
        lr_fail(e, LR_USAGE, "time zone \"%s\" cannot be read: there is no folder %.200s", name,
                folder());
        return lr_hint(e, "install the package tzdata, or set TZDIR to the tz database");
    }
    lr_arena room = { 0 };
    size_t n;
    char *path = lr_printf(&room, "%s/%s", folder(), name);
    unsigned char *data = read_file(path, &n);
    lr_arena_free(&room);
    if (!data) {
        if (errno == ENOENT || errno == ENOTDIR) return unknown(name, e);
        return lr_fail(e, LR_USAGE, "time zone \"%s\" cannot be read: %s", name, strerror(errno));
    }

    const char *why;
    lr_zone *z = lr_malloc(sizeof *z);
    *z = (lr_zone){ 0 };
    z->stretch = lr_tzfile_parse(data, n, &z->count, &why);
    free(data);
    if (!z->stretch) {
        free(z);
        lr_fail(e, LR_USAGE, "time zone \"%s\" %s", name, why);
        return lr_hint(e, "use a name of the tz database such as \"Europe/Berlin\", or \"UTC\"");
    }
    z->name = lr_strdup(name);
    z->utc = z->count == 1 && z->stretch[0].offset == 0;
    *out = z;
    return 0;
}

int lr_zone_get(const char *name, const lr_zone **out, lr_err *e)
{
    for (lr_zone *z = zones; z; z = z->next) {
        if (strcmp(z->name, name) == 0) {
            *out = z;
            return 0;
        }
    }
    lr_zone *fresh;
    if (!is_zone_name(name)) return unknown(name, e);
    if (load(name, &fresh, e)) return -1;
    fresh->next = zones;
    zones = fresh;
    *out = fresh;
    return 0;
}
