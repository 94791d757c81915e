/* The form of a pair of columns. */
#include "sql/checksum.h"

static int is_number(lr_holds h)
{
    return h == LR_HOLDS_INT || h == LR_HOLDS_DECIMAL || h == LR_HOLDS_REAL || h == LR_HOLDS_SHORT_REAL || h == LR_HOLDS_BOOL;
}

static int is_time(lr_holds h)
{
    return h == LR_HOLDS_DATE || h == LR_HOLDS_MOMENT || h == LR_HOLDS_INSTANT;
}

static int is_text(lr_holds h)
{
    return h == LR_HOLDS_TEXT || h == LR_HOLDS_PADDED || h == LR_HOLDS_ANY;
}

enum lr_form lr_checksum_form(lr_holds a, lr_holds b)
{
    static const enum lr_form forms[] = {
        [LR_HOLDS_ANY] = LR_FORM_ANY, [LR_HOLDS_INT] = LR_FORM_INT, [LR_HOLDS_DECIMAL] = LR_FORM_DECIMAL,
        [LR_HOLDS_REAL] = LR_FORM_REAL, [LR_HOLDS_SHORT_REAL] = LR_FORM_REAL, [LR_HOLDS_BOOL] = LR_FORM_BOOL,
        [LR_HOLDS_DATE] = LR_FORM_DATE, [LR_HOLDS_MOMENT] = LR_FORM_MOMENT, [LR_HOLDS_INSTANT] = LR_FORM_MOMENT,
        [LR_HOLDS_BYTES] = LR_FORM_BYTES, [LR_HOLDS_PADDED] = LR_FORM_TRIMMED, [LR_HOLDS_TEXT] = LR_FORM_TEXT,
        [LR_HOLDS_OTHER] = LR_FORM_TEXT};
    if (a == b) return forms[a];
    if ((a == LR_HOLDS_PADDED && is_text(b)) || (b == LR_HOLDS_PADDED && is_text(a))) return LR_FORM_TRIMMED;
    /* what may hold anything holds what the other side does */
    if (a == LR_HOLDS_ANY) return forms[b];
    if (b == LR_HOLDS_ANY) return forms[a];
    if (is_number(a) && is_number(b)) {
        if ((a == LR_HOLDS_INT && b == LR_HOLDS_BOOL) || (a == LR_HOLDS_BOOL && b == LR_HOLDS_INT)) return LR_FORM_INT;
        if (forms[a] == LR_FORM_REAL && forms[b] == LR_FORM_REAL) return LR_FORM_REAL;
        return LR_FORM_DECIMAL;
    }
    if (is_time(a) && is_time(b)) return LR_FORM_MOMENT;
    return LR_FORM_TEXT;
}

#define KNOWN_TEXT "lrun checks rows by hash"

void lr_checksum_known(int64_t out[LR_CHECKSUM_PROBES])
{
    out[0] = lr_hash_bytes(KNOWN_TEXT, sizeof KNOWN_TEXT - 1, 7);
    out[1] = lr_hash_word(3, INT64_C(5000000000));
    out[2] = lr_hash_decimal(-123456789012345, 7, 9);
    out[3] = lr_hash_real(0.1, 2);
    out[4] = lr_hash_moment(INT64_C(1768903200000001), 4);
}
