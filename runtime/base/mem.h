/* mem.h - allocation that cannot fail halfway, buffers and arenas.
 *
 * When memory is out the process says so and exits with status 1. A database
 * rolls back the transaction of a process that ends, so this keeps the promise
 * of one transaction without an unwinding path through every caller.
 */
#ifndef LRUN_BASE_MEM_H
#define LRUN_BASE_MEM_H

#include <stdarg.h>
#include <stddef.h>

void *lr_malloc(size_t n);
void *lr_realloc(void *p, size_t n);
char *lr_strdup(const char *z);

/* An arena: allocate freely, release all at once. Zeroed memory. */
typedef struct lr_arena {
    struct lr_block *head;
} lr_arena;

void *lr_alloc(lr_arena *a, size_t n);
char *lr_dup(lr_arena *a, const char *z);             /* NULL gives NULL */
char *lr_dupn(lr_arena *a, const char *p, size_t n);  /* adds a NUL */
char *lr_printf(lr_arena *a, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* A list with room for one more than n of this size: itself, or a copy. */
void *lr_grow(lr_arena *a, void *list, int n, int *room, size_t size);
void lr_arena_free(lr_arena *a);

/* A growing buffer of bytes; data is always NUL terminated once written to. */
typedef struct lr_buf {
    char *data;
    size_t len, cap;
} lr_buf;

void lr_buf_add(lr_buf *b, const void *p, size_t n);
void lr_buf_puts(lr_buf *b, const char *z);
void lr_buf_putc(lr_buf *b, char c);
void lr_buf_printf(lr_buf *b, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
void lr_buf_vprintf(lr_buf *b, const char *fmt, va_list ap);
void lr_buf_clear(lr_buf *b); /* keeps the memory */
void lr_buf_free(lr_buf *b);

#endif
