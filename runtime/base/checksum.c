/* checksum.c - PostgreSQL's extended hash functions. */
#include "base/checksum.h"

#include "base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* 2000-01-01, from which PostgreSQL counts */
#define EPOCH_US INT64_C(946684800000000)
#define BASE 10000
#define PLACES 4

typedef struct state {
    uint32_t a, b, c;
} state;

static inline uint32_t rot(uint32_t x, int k)
{
    return x << k | x >> (32 - k);
}

static inline void mix(state *s)
{
    uint32_t a = s->a, b = s->b, c = s->c;
    a -= c; a ^= rot(c, 4); c += b;
    b -= a; b ^= rot(a, 6); a += c;
    c -= b; c ^= rot(b, 8); b += a;
    a -= c; a ^= rot(c, 16); c += b;
    b -= a; b ^= rot(a, 19); a += c;
    c -= b; c ^= rot(b, 4); b += a;
    *s = (state){a, b, c};
}

static inline int64_t last(state *s)
{
    uint32_t a = s->a, b = s->b, c = s->c;
    c ^= b; c -= rot(b, 14);
    a ^= c; a -= rot(c, 11);
    b ^= a; b -= rot(a, 25);
    c ^= b; c -= rot(b, 16);
    a ^= c; a -= rot(c, 4);
    b ^= a; b -= rot(a, 14);
    c ^= b; c -= rot(b, 24);
    return (int64_t)((uint64_t)b << 32 | c);
}

static inline state begin(size_t n, int64_t seed)
{
    uint32_t all = 0x9e3779b9u + (uint32_t)n + 3923095u;
    state s = {all, all, all};
    if (seed != 0) {
        s.a += (uint32_t)((uint64_t)seed >> 32);
        s.b += (uint32_t)seed;
        mix(&s);
    }
    return s;
}

static inline uint32_t word_at(const unsigned char *p)
{
    return (uint32_t)p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 | (uint32_t)p[3] << 24;
}

int64_t lr_hash_bytes(const void *bytes, size_t n, int64_t seed)
{
    const unsigned char *p = bytes;
    state s = begin(n, seed);
    for (; n >= 12; p += 12, n -= 12) {
        s.a += word_at(p);
        s.b += word_at(p + 4);
        s.c += word_at(p + 8);
        mix(&s);
    }
    /* the lowest byte of c is the length's */
    for (size_t i = 0; i < n; i++) {
        if (i < 4) s.a += (uint32_t)p[i] << 8 * i;
        else if (i < 8) s.b += (uint32_t)p[i] << 8 * (i - 4);
        else s.c += (uint32_t)p[i] << 8 * (i - 7);
    }
    return last(&s);
}

int64_t lr_hash_word(int32_t word, int64_t seed)
{
    state s = begin(4, seed);
    s.a += (uint32_t)word;
    return last(&s);
}

int64_t lr_hash_moment(int64_t us, int64_t seed)
{
    if (us != INT64_MAX && us != INT64_MIN) us -= EPOCH_US;
    uint32_t low = (uint32_t)us, high = (uint32_t)((uint64_t)us >> 32);
    return lr_hash_word((int32_t)(low ^ (us >= 0 ? high : ~high)), seed);
}

int64_t lr_hash_real(double v, int64_t seed)
{
    uint64_t bits;
    unsigned char bytes[8];
    if (v == 0) return seed; /* minus zero too */
    memcpy(&bits, &v, 8);
    if (isnan(v)) bits = UINT64_C(0x7ff8000000000000);
    for (int i = 0; i < 8; i++) bytes[i] = (unsigned char)(bits >> 8 * i);
    return lr_hash_bytes(bytes, 8, seed);
}

/* Digits of base 10,000, the first of them times 10,000^weight. */
static int64_t hash_digits(const uint16_t *digits, int n, int weight, int64_t seed)
{
    unsigned char small[64], *bytes = small;
    while (n > 0 && *digits == 0) {
        digits++;
        n--;
        weight--;
    }
    while (n > 0 && digits[n - 1] == 0) n--;
    if (n == 0) return seed - 1;
    if ((size_t)n * 2 > sizeof small) bytes = lr_malloc((size_t)n * 2);
    for (int i = 0; i < n; i++) {
        bytes[2 * i] = (unsigned char)digits[i];
        bytes[2 * i + 1] = (unsigned char)(digits[i] >> 8);
    }
    int64_t out = lr_hash_bytes(bytes, (size_t)n * 2, seed) ^ weight;
    if (bytes != small) free(bytes);
    return out;
}

int64_t lr_hash_decimal(int64_t n, int scale, int64_t seed)
{
    static const int tens[PLACES] = {1, 10, 100, 1000};
    uint16_t digits[12];
    int at = 12;
    unsigned __int128 m = n < 0 ? -(unsigned __int128)n : (unsigned __int128)n;
    int pad = ((PLACES - scale % PLACES) % PLACES + PLACES) % PLACES;
    int after = (scale + pad) / PLACES; /* digits after the point; below zero: zeros before it */
    m *= (unsigned)tens[pad];
    for (; m > 0; m /= BASE) digits[--at] = (uint16_t)(m % BASE);
    return hash_digits(digits + at, 12 - at, 12 - at - after - 1, seed);
}

int64_t lr_hash_decimal_text(const char *text, int64_t seed)
{
    uint16_t small[64], *digits = small;
    if (*text == '-') text++;
    size_t size = strlen(text), whole = strcspn(text, ".");
    size_t n = 0, room = size / PLACES + 3;
    if (room > sizeof small / sizeof small[0]) digits = lr_malloc(room * sizeof *digits);
    unsigned part = 0;
    /* groups of four digits, counted from the point on both sides */
    size_t first = (PLACES - whole % PLACES) % PLACES, filled = first;
    for (size_t i = 0; i < size; i++) {
        if (text[i] == '.') continue;
        part = part * 10 + (unsigned)(text[i] - '0');
        if (++filled % PLACES != 0) continue;
        digits[n++] = (uint16_t)part;
        part = 0;
    }
    while (filled % PLACES != 0) {
        part *= 10;
        if (++filled % PLACES == 0) digits[n++] = (uint16_t)part;
    }
    int weight = (int)((whole + PLACES - 1) / PLACES) - 1;
    int64_t out = hash_digits(digits, (int)n, weight, seed);
    if (digits != small) free(digits);
    return out;
}
