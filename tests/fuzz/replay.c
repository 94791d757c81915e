/* replay.c - a fuzzer's inputs that are kept in tests/fuzz/corpus, run once each
 * without the fuzzer: `make test` builds it with each fuzz_NAME.c. */
#include "check.h"
#include <dirent.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void one(const char *path)
{
    static uint8_t data[1 << 16];
    FILE *f = fopen(path, "rb");
    CHECK(f != NULL);
    if (f == NULL) return;
    size_t n = fread(data, 1, sizeof data, f);
    fclose(f);
    /* a copy of the exact size, so that a sanitizer sees a step too far */
    uint8_t *exact = malloc(n > 0 ? n : 1);
    memcpy(exact, data, n);
    CHECK(LLVMFuzzerTestOneInput(exact, n) == 0);
    free(exact);
}

int main(int argc, char **argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash != NULL ? slash + 1 : argv[0];
    char folder[256], path[600];
    int inputs = 0;
    (void)argc;
    snprintf(folder, sizeof folder, "tests/fuzz/corpus/%s", strchr(name, '_') + 1);
    DIR *d = opendir(folder);
    CHECK(d != NULL);
    for (struct dirent *entry; d != NULL && (entry = readdir(d)) != NULL;) {
        if (entry->d_name[0] == '.') continue;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        one(path);
        inputs++;
    }
    CHECK(inputs > 0);
    if (d != NULL) closedir(d);
    return check_done();
}
