/* The form of a pair of columns. */
#include "sql/checksum.h"

/* A column of SQLite that is declared as text holds decimals too. */
static lr_kind held(const lr_type *t)
{
    if (t->dynamic && t->kind == LR_KIND_TEXT) return LR_KIND_ANY;
    return t->kind == LR_KIND_UUID || t->kind == LR_KIND_JSON ? LR_KIND_OTHER : t->kind;
}

static int is_number(lr_kind k)
{
    return lr_kind_is_number(k) || k == LR_KIND_BOOL;
}

static int is_text(lr_kind k)
{
    return lr_kind_is_text(k) || k == LR_KIND_ANY;
}

enum lr_form lr_checksum_form(const lr_type *first, const lr_type *second)
{
    static const enum lr_form forms[] = {
        [LR_KIND_ANY] = LR_FORM_ANY, [LR_KIND_INTEGER] = LR_FORM_INT, [LR_KIND_DECIMAL] = LR_FORM_DECIMAL,
        [LR_KIND_REAL] = LR_FORM_REAL, [LR_KIND_BOOL] = LR_FORM_BOOL, [LR_KIND_DATE] = LR_FORM_DATE,
        [LR_KIND_TIMESTAMP] = LR_FORM_MOMENT, [LR_KIND_INSTANT] = LR_FORM_MOMENT, [LR_KIND_BYTES] = LR_FORM_BYTES,
        [LR_KIND_PADDED] = LR_FORM_TRIMMED, [LR_KIND_TEXT] = LR_FORM_TEXT, [LR_KIND_OTHER] = LR_FORM_TEXT};
    lr_kind a = held(first), b = held(second);
    if (a == b) return forms[a];
    if ((a == LR_KIND_PADDED && is_text(b)) || (b == LR_KIND_PADDED && is_text(a))) return LR_FORM_TRIMMED;
    /* what may hold anything holds what the other side does */
    if (a == LR_KIND_ANY) return forms[b];
    if (b == LR_KIND_ANY) return forms[a];
    if (is_number(a) && is_number(b)) {
        if ((a == LR_KIND_INTEGER && b == LR_KIND_BOOL) || (a == LR_KIND_BOOL && b == LR_KIND_INTEGER)) return LR_FORM_INT;
        return LR_FORM_DECIMAL;
    }
    if (lr_kind_is_time(a) && lr_kind_is_time(b)) return LR_FORM_MOMENT;
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
