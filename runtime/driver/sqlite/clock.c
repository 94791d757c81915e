/* SQL's clock: the default file system layer under a name of our own, whose time
 * can be made to stand still. A run sees its run_start, not the machine's. */
#include "driver/sqlite/internal.h"
#include <string.h>

static sqlite3_vfs layer, *below;
static int64_t stands_at; /* microseconds since 1970; 0: it goes */

/* SQLite counts milliseconds of Julian days, with 1970 at this one. */
#define JULIAN_1970_MS INT64_C(210866760000000)

static int now_int64(sqlite3_vfs *vfs, sqlite3_int64 *out)
{
    (void)vfs;
    if (stands_at == 0) return below->xCurrentTimeInt64(below, out);
    *out = JULIAN_1970_MS + stands_at / 1000;
    return SQLITE_OK;
}

static int now_double(sqlite3_vfs *vfs, double *out)
{
    sqlite3_int64 ms;
    int rc = now_int64(vfs, &ms);
    *out = (double)ms / 86400000.0;
    return rc;
}

const char *lr_sqlite_vfs(void)
{
    if (layer.zName != NULL) return layer.zName;
    below = sqlite3_vfs_find(NULL);
    if (below == NULL || below->iVersion < 2 || below->xCurrentTimeInt64 == NULL) return NULL;
    memcpy(&layer, below, sizeof layer);
    layer.pNext = NULL;
    /* the layer below keeps its own data there, and its functions look for it */
    layer.zName = "lrun";
    layer.xCurrentTimeInt64 = now_int64;
    layer.xCurrentTime = now_double;
    if (sqlite3_vfs_register(&layer, 0) != SQLITE_OK) {
        layer.zName = NULL;
        return NULL;
    }
    return layer.zName;
}

void lr_sqlite_clock(lr_conn *c, int64_t us)
{
    (void)c;
    stands_at = us;
}
