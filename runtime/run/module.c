#include "run/module.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void *open_at(const char *folder, const char *below, const char *name, lr_buf *why)
{
    char path[4300];
    snprintf(path, sizeof path, "%s%s/%s", folder, below, name);
    if (access(path, F_OK) != 0) return NULL;
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (handle == NULL && why != NULL) lr_buf_printf(why, "%s%s", why->len > 0 ? "; " : "", dlerror());
    return handle;
}

void *lr_module_symbol(const char *name, const char *symbol, lr_buf *why)
{
    char self[4096];
    const char *dir = getenv("LRUN_LIBDIR");
    ssize_t n = readlink("/proc/self/exe", self, sizeof self - 1);
    self[n > 0 ? n : 0] = 0;
    char *slash = strrchr(self, '/');
    void *handle = dir != NULL && dir[0] != 0 ? open_at(dir, "", name, why) : NULL;
    if (slash != NULL) {
        *slash = 0;
        if (handle == NULL) handle = open_at(self, "", name, why);
        if (handle == NULL) handle = open_at(self, "/../lib/lrun", name, why);
    }
    return handle != NULL ? dlsym(handle, symbol) : NULL;
}
