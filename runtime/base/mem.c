/* mem.c - allocation that cannot fail halfway, buffers and arenas. */
#include "mem.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_BLOCK 4096u
#define LARGEST_BLOCK 65536u

typedef struct lr_block {
    struct lr_block *next;
    size_t used, size;
    _Alignas(max_align_t) char data[];
} lr_block;

/* No stdio and no exit handlers: both may want memory. */
static _Noreturn void die(void)
{
    static const char text[] = "lrun: out of memory\n";
    ssize_t ignored = write(2, text, sizeof text - 1);
    (void)ignored;
    _exit(1);
}

static size_t sum_or_die(size_t a, size_t b)
{
    size_t sum;
    if (__builtin_add_overflow(a, b, &sum) || sum > PTRDIFF_MAX) die();
    return sum;
}

static void *or_die(void *p)
{
    if (!p) die();
    return p;
}

void *lr_malloc(size_t n)
{
    return or_die(malloc(n ? n : 1));
}

void *lr_realloc(void *p, size_t n)
{
    return or_die(realloc(p, n ? n : 1));
}

char *lr_strdup(const char *z)
{
    size_t n = strlen(z) + 1;
    return memcpy(lr_malloc(n), z, n);
}

/* ---- arena ---- */

static lr_block *new_block(size_t size)
{
    lr_block *b = or_die(calloc(1, sum_or_die(sizeof *b, size)));
    b->size = size;
    return b;
}

void *lr_alloc(lr_arena *a, size_t n)
{
    const size_t align = _Alignof(max_align_t);
    n = (sum_or_die(n ? n : 1, align - 1)) & ~(align - 1);

    lr_block *b = a->head;
    if (!b || b->size - b->used < n) {
        size_t size = FIRST_BLOCK;
        if (b && b->size >= FIRST_BLOCK) size = b->size * 2;
        if (size > LARGEST_BLOCK) size = LARGEST_BLOCK;
        if (b && n > size / 4) {
            /* behind the head, so that the room left in the head stays in use */
            lr_block *big = new_block(n);
            big->next = b->next;
            b->next = big;
            big->used = n;
            return big->data;
        }
        lr_block *fresh = new_block(n > size ? n : size);
        fresh->next = b;
        a->head = b = fresh;
    }
    void *p = b->data + b->used;
    b->used += n;
    return p;
}

char *lr_dup(lr_arena *a, const char *z)
{
    return z ? lr_dupn(a, z, strlen(z)) : NULL;
}

char *lr_dupn(lr_arena *a, const char *p, size_t n)
{
    char *copy = lr_alloc(a, sum_or_die(n, 1));
    if (n) memcpy(copy, p, n);
    return copy;
}

char *lr_printf(lr_arena *a, const char *fmt, ...)
{
    char room[256];
    va_list ap, again;
    va_start(ap, fmt);
    va_copy(again, ap);
    int n = vsnprintf(room, sizeof room, fmt, ap);
    va_end(ap);
    if (n < 0) die();
    char *text = lr_alloc(a, (size_t)n + 1);
    if ((size_t)n < sizeof room) memcpy(text, room, (size_t)n);
    else vsnprintf(text, (size_t)n + 1, fmt, again);
    va_end(again);
    return text;
}

void *lr_grow(lr_arena *a, void *list, int n, int *room, size_t size)
{
    if (n < *room) return list;
    *room = *room == 0 ? 16 : *room * 2;
    void *more = lr_alloc(a, (size_t)*room * size);
    if (n > 0) memcpy(more, list, (size_t)n * size);
    return more;
}

void lr_arena_free(lr_arena *a)
{
    for (lr_block *b = a->head; b;) {
        lr_block *next = b->next;
        free(b);
        b = next;
    }
    a->head = NULL;
}

/* ---- buffer ---- */

/* Room for n more bytes and the NUL. */
static void reserve(lr_buf *b, size_t n)
{
    size_t need = sum_or_die(sum_or_die(b->len, n), 1);
    if (need <= b->cap) return;
    size_t cap = b->cap ? sum_or_die(b->cap, b->cap) : 64;
    if (cap < need) cap = need;
    b->data = lr_realloc(b->data, cap);
    b->cap = cap;
}

void lr_buf_add(lr_buf *b, const void *p, size_t n)
{
    reserve(b, n);
    if (n) memcpy(b->data + b->len, p, n);
    b->len += n;
    b->data[b->len] = 0;
}

void lr_buf_puts(lr_buf *b, const char *z)
{
    lr_buf_add(b, z, strlen(z));
}

void lr_buf_putc(lr_buf *b, char c)
{
    lr_buf_add(b, &c, 1);
}

void lr_buf_vprintf(lr_buf *b, const char *fmt, va_list ap)
{
    va_list again;
    va_copy(again, ap);
    reserve(b, 0);
    size_t room = b->cap - b->len;
    int n = vsnprintf(b->data + b->len, room, fmt, ap);
    if (n < 0) die();
    if ((size_t)n >= room) {
        reserve(b, (size_t)n);
        vsnprintf(b->data + b->len, (size_t)n + 1, fmt, again);
    }
    va_end(again);
    b->len += (size_t)n;
}

void lr_buf_printf(lr_buf *b, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    lr_buf_vprintf(b, fmt, ap);
    va_end(ap);
}

void lr_buf_clear(lr_buf *b)
{
    b->len = 0;
    if (b->data) b->data[0] = 0;
}

void lr_buf_free(lr_buf *b)
{
    free(b->data);
    *b = (lr_buf){ 0 };
}
