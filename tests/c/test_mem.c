/* test_mem.c - allocation, arenas, buffers, errors, values, hashes. */
#include "check.h"

#include "../../runtime/base/mem.h"
#include "../../runtime/base/sha256.h"
#include "lrun/err.h"
#include "lrun/value.h"

#include <fcntl.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static void arena(void)
{
    lr_arena a = { 0 };
    unsigned char *p[2000];
    size_t n[2000];
    for (int i = 0; i < 2000; i++) {
        n[i] = (size_t)check_between(0, i % 100 == 0 ? 200000 : 300);
        p[i] = lr_alloc(&a, n[i]);
        int zero = 1;
        for (size_t k = 0; k < n[i]; k++) zero &= p[i][k] == 0;
        CHECK(zero);
        CHECK((uintptr_t)p[i] % _Alignof(max_align_t) == 0);
        memset(p[i], i & 255, n[i]);
    }
    for (int i = 0; i < 2000; i++) {
        int same = 1;
        for (size_t k = 0; k < n[i]; k++) same &= p[i][k] == (i & 255);
        CHECK(same);
    }
    CHECK(lr_dup(&a, NULL) == NULL);
    CHECK_STR(lr_dup(&a, "abc"), "abc");
    CHECK_STR(lr_dupn(&a, "abcdef", 3), "abc");
    CHECK_STR(lr_dupn(&a, NULL, 0), "");
    CHECK(memcmp(lr_dupn(&a, "a\0b", 3), "a\0b", 4) == 0);
    CHECK_STR(lr_printf(&a, "%d-%s", 7, "x"), "7-x");
    for (int width = 250; width < 260; width++) {
        char *text = lr_printf(&a, "%*d", width, 5);
        CHECK_INT((int64_t)strlen(text), width);
        CHECK(text[width - 1] == '5');
    }
    CHECK(lr_alloc(&a, 0) != lr_alloc(&a, 0));
    lr_arena_free(&a);
    CHECK(a.head == NULL);
    lr_arena_free(&a);
    CHECK_STR(lr_dup(&a, "again"), "again");
    lr_arena_free(&a);
}

static void buffer(void)
{
    lr_buf b = { 0 };
    lr_buf_clear(&b);
    CHECK(b.data == NULL);
    lr_buf_add(&b, NULL, 0);
    CHECK_STR(b.data, "");
    for (int i = 0; i < 1000; i++) lr_buf_putc(&b, (char)('a' + i % 26));
    CHECK_INT((int64_t)b.len, 1000);
    CHECK(b.data[1000] == 0 && b.data[999] == 'a' + 999 % 26);
    lr_buf_clear(&b);
    CHECK_STR(b.data, "");
    lr_buf_puts(&b, "x=");
    lr_buf_printf(&b, "%d;%s", 42, "y");
    CHECK_STR(b.data, "x=42;y");
    lr_buf_free(&b);
    for (int n = 55; n < 70; n++) { /* around the first capacity */
        lr_buf_printf(&b, "%*s", n, "z");
        CHECK_INT((int64_t)b.len, n);
        CHECK(b.data[n - 1] == 'z' && b.data[n] == 0);
        lr_buf_printf(&b, "%0*d", 5000, 1);
        CHECK_INT((int64_t)b.len, n + 5000);
        lr_buf_free(&b);
        CHECK(b.data == NULL && b.len == 0 && b.cap == 0);
    }
    lr_buf_add(&b, "a\0b", 3);
    CHECK(b.len == 3 && memcmp(b.data, "a\0b", 4) == 0);
    lr_buf_free(&b);
}

/* In a process of its own: out of memory says so and exits with 1. */
static void out_of_memory(int which)
{
    int pipes[2];
    CHECK(pipe(pipes) == 0);
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        lr_arena a = { 0 };
        dup2(pipes[1], 2);
        if (which == 0) lr_malloc((size_t)PTRDIFF_MAX);
        if (which == 1) lr_alloc(&a, SIZE_MAX - 4);
        if (which == 2) lr_realloc(NULL, (size_t)PTRDIFF_MAX);
        if (which == 3) lr_dupn(&a, "", SIZE_MAX);
        _exit(77);
    }
    close(pipes[1]);
    char text[64] = "";
    ssize_t n = read(pipes[0], text, sizeof text - 1);
    close(pipes[0]);
    int status = 0;
    CHECK(waitpid(pid, &status, 0) == pid);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 1);
#ifndef __SANITIZE_ADDRESS__ /* it answers before malloc fails */
    CHECK(n > 0);
    CHECK_STR(text, "lrun: out of memory\n");
#else
    (void)n;
#endif
}

static void errors(void)
{
    lr_err e;
    char out[4096], small[16];
    lr_err_clear(&e);
    CHECK_INT(lr_fail(&e, LR_USAGE, "no table %s", "dw"), -1);
    CHECK_INT(lr_fail(&e, LR_BUSY, "later"), -1);
    CHECK_INT(e.status, LR_USAGE);
    CHECK_STR(e.message, "no table dw");
    CHECK_STR((lr_err_format(&e, out, sizeof out), out), "no table dw");
    CHECK_INT(lr_hint(&e, "make %s", "it"), -1);
    lr_hint(&e, "not this");
    lr_step(&e, "merge into dw");
    lr_step(&e, "not this");
    strcpy(e.where, "jobs/a.lua:7");
    size_t n = lr_err_format(&e, out, sizeof out);
    CHECK_STR(out, "jobs/a.lua:7: merge into dw: no table dw\n  hint: make it");
    CHECK_INT((int64_t)n, (int64_t)strlen(out));
    CHECK_INT((int64_t)lr_err_format(&e, small, sizeof small), (int64_t)n);
    CHECK_STR(small, "jobs/a.lua:7: m");
    CHECK_INT((int64_t)lr_err_format(&e, NULL, 0), (int64_t)n);

    lr_err_clear(&e);
    lr_fail(&e, LR_FAILED, "%s", "\nline 1\r\n\t line 2\nline 3\n");
    lr_err_format(&e, out, sizeof out);
    CHECK_STR(out, "line 1 line 2 line 3");

    lr_err_clear(&e);
    lr_fail(&e, LR_FAILED, "%s", "a\x1b[31m \x7f \xc2\x9b \xc3\xa9 \xc2\xa0 \xc2");
    lr_err_format(&e, out, sizeof out);
    CHECK_STR(out, "a\\x1b[31m \\x7f \\xc2\\x9b \xc3\xa9 \xc2\xa0 \xc2");
    CHECK_INT((int64_t)lr_visible("\0\n\t\xc2", 4, out, sizeof out), 7);
    CHECK_STR(out, "\\x00\n\t\xc2");
    CHECK_INT((int64_t)lr_visible(out, 7, small, sizeof small), 7); /* twice is as once */
    CHECK_STR(small, out);
    CHECK_INT((int64_t)lr_visible("\r\r", 2, small, 4), 8);
    CHECK_STR(small, "\\x0");

    char wide[2000];
    for (int shift = 0; shift < 4; shift++) { /* a cut never splits a character */
        memset(wide, 'x', (size_t)shift);
        wide[shift] = 0;
        while (strlen(wide) < 1500) strcat(wide, "\xF0\x9F\x98\x80\xE2\x82\xAC\xC3\xA9");
        lr_err_clear(&e);
        lr_fail(&e, LR_FAILED, "%s", wide);
        size_t len = strlen(e.message), at = (size_t)shift;
        while (at < len) {
            unsigned char c = (unsigned char)e.message[at];
            at += c >= 0xF0 ? 4 : c >= 0xE0 ? 3 : 2;
        }
        CHECK_INT((int64_t)at, (int64_t)len);
        CHECK(len > 1018);
    }
}

static void values(void)
{
    CHECK_INT(lr_null().type, LR_NULL);
    CHECK_INT(lr_int(INT64_MIN).i, INT64_MIN);
    CHECK(lr_real(0.1).r == 0.1 && lr_real(0.1).type == LR_REAL);
    CHECK_INT(lr_text(NULL).type, LR_NULL);
    lr_value v = lr_text("abc");
    CHECK(v.type == LR_TEXT && v.s.n == 3 && memcmp(v.s.p, "abc", 3) == 0);
    v = lr_blobn("a\0b", 3);
    CHECK(v.type == LR_BLOB && v.s.n == 3);
    CHECK_INT(lr_textn("xy", 1).s.n, 1);
}

static void hashes(void)
{
    char out[65];
    lr_sha256_hex("abc", 3, out);
    CHECK_STR(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    lr_sha256_hex(NULL, 0, out);
    CHECK_STR(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    char *many = lr_malloc(1000000);
    memset(many, 'a', 1000000);
    lr_sha256_hex(many, 1000000, out);
    CHECK_STR(out, "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    free(many);
}

int main(void)
{
    check_seed();
    char *z = lr_strdup("text");
    CHECK_STR(z, "text");
    z = lr_realloc(z, 100);
    CHECK_STR(z, "text");
    free(z);
    void *none = lr_malloc(0);
    CHECK(none != NULL);
    free(none);
    arena();
    buffer();
    for (int which = 0; which < 4; which++) out_of_memory(which);
    errors();
    values();
    hashes();
    return check_done();
}
