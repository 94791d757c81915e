/* Types by their number, which PostgreSQL never changes, and their modifier. A
 * domain comes as the type that it is made from. */
#include "driver/postgres/internal.h"

#define PG_ENGINE "postgresql"

/* "Modifiers" carry the length of a header in front. */
#define HEADER 4

static lr_kind kind_of(int64_t number)
{
    static const struct {
        Oid number;
        lr_kind kind;
    } known[] = {{PG_BOOL, LR_KIND_BOOL}, {PG_BYTEA, LR_KIND_BYTES}, {PG_INT8, LR_KIND_INTEGER}, {PG_INT2, LR_KIND_INTEGER},
                 {PG_INT4, LR_KIND_INTEGER}, {PG_TEXT, LR_KIND_TEXT}, {PG_FLOAT4, LR_KIND_REAL}, {PG_FLOAT8, LR_KIND_REAL},
                 {PG_BPCHAR, LR_KIND_PADDED}, {PG_VARCHAR, LR_KIND_TEXT}, {PG_DATE, LR_KIND_DATE}, {PG_TIMESTAMP, LR_KIND_TIMESTAMP},
                 {PG_TIMESTAMPTZ, LR_KIND_INSTANT}, {PG_NUMERIC, LR_KIND_DECIMAL}, {PG_UUID, LR_KIND_UUID}, {PG_JSON, LR_KIND_JSON},
                 {PG_JSONB, LR_KIND_JSON}};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (known[i].number == number) return known[i].kind;
    return LR_KIND_OTHER;
}

/* precision in the upper half, the scale, which may be negative, in 11 bits. */
static void numeric(int modifier, lr_type *out)
{
    int packed = modifier - HEADER, scale = packed & 0x7ff;
    out->precision = packed >> 16 & 0xffff;
    out->scale = scale >= 0x400 ? scale - 0x800 : scale;
}

/* The low half counts digits of a second, the upper names the fields. */
static void interval(int modifier, lr_type *out)
{
    int fraction = modifier & 0xffff, fields = modifier >> 16 & 0x7fff;
    out->fraction = fraction == 0xffff ? 6 : fraction;
    out->cuts = fields != 0x7fff;
}

void lr_pg_type(const char *native, int64_t number, int modifier, lr_type *out)
{
    *out = lr_type_none();
    out->engine = PG_ENGINE;
    out->native = native;
    out->kind = kind_of(number);
    switch (number) {
    case PG_INT2:
        out->bits = 16;
        break;
    case PG_INT4:
    case PG_FLOAT4:
        out->bits = 32;
        break;
    case PG_INT8:
    case PG_FLOAT8:
        out->bits = 64;
        break;
    case PG_NUMERIC:
        if (modifier >= HEADER) numeric(modifier, out);
        break;
    case PG_VARCHAR:
    case PG_BPCHAR:
        if (modifier >= HEADER) out->length = modifier - HEADER;
        break;
    case PG_TIMESTAMP:
    case PG_TIMESTAMPTZ:
    case PG_TIME:
    case PG_TIMETZ:
        out->fraction = modifier >= 0 && modifier < 6 ? modifier : 6;
        out->clock = 1;
        break;
    case PG_INTERVAL:
        out->fraction = 6;
        if (modifier >= 0) interval(modifier, out);
        break;
    case PG_MONEY:
        out->scale = 2;
        break;
    case PG_BIT:
    case PG_VARBIT:
        if (modifier > 0) out->length = modifier;
        break;
    case PG_NAME:
        out->length = 63;
        break;
    case PG_CHAR:
        out->length = 1;
        break;
    default:
        break;
    }
}
