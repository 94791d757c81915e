/* The binary forms of PostgreSQL: any bytes are a value or are refused, and a
 * value that was read is written back to the same bytes' meaning. The first
 * byte chooses the type. */
#include "driver/postgres/copy.h"
#include "base/decimal.h"
#include "fuzz.h"

static const struct {
    Oid oid;
    const char *decl;
    kind kind;
} types[] = {{PG_BOOL, "boolean", K_BOOL},          {PG_BYTEA, "bytea", K_BYTEA},
             {PG_INT8, "bigint", K_INT8},           {PG_INT2, "smallint", K_INT2},
             {PG_INT4, "integer", K_INT4},          {PG_TEXT, "text", K_TEXT},
             {PG_FLOAT4, "real", K_REAL4},          {PG_FLOAT8, "double precision", K_REAL},
             {PG_DATE, "date", K_DATE},             {PG_TIMESTAMP, "timestamp without time zone", K_TIMESTAMP},
             {PG_TIMESTAMPTZ, "timestamp with time zone", K_TIMESTAMPTZ}, {PG_NUMERIC, "numeric", K_NUMERIC}};

static int same(const lr_value *a, const lr_value *b)
{
    if (a->type != b->type) return 0;
    /* digits that the sender's scale hides, and the sign of nothing, are gone */
    if (a->type == LR_DECIMAL && lr_is_decimal(a->s.p, a->s.n) && lr_is_decimal(b->s.p, b->s.n)) {
        char *x = fuzz_text((const uint8_t *)a->s.p, a->s.n), *y = fuzz_text((const uint8_t *)b->s.p, b->s.n);
        int close = lr_decimal_close(x, y, "0");
        free(x);
        free(y);
        return close;
    }
    if (a->type == LR_TEXT || a->type == LR_BLOB || a->type == LR_DECIMAL)
        return a->s.n == b->s.n && (a->s.n == 0 || memcmp(a->s.p, b->s.p, a->s.n) == 0);
    if (a->type == LR_REAL) return a->r == b->r || (a->r != a->r && b->r != b->r);
    return a->i == b->i;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    lr_buf scratch = {0}, encoded = {0}, other = {0};
    lr_value v, again;
    if (size == 0) return 0;
    size_t which = data[0] % (sizeof types / sizeof types[0]);
    target t = {.name = "c", .native = (char *)types[which].decl, .kind = types[which].kind};
    lr_pg_type(types[which].decl, types[which].oid, -1, &t.type);
    if (lr_pg_decode_binary((const char *)data + 1, size - 1, types[which].oid, &v, &scratch) == 0 &&
        !(v.type == LR_TEXT && !lr_pg_valid_utf8(v.s.p, v.s.n)) && lr_pg_encode(&encoded, &v, &t, lr_zone_utc())) {
        CLAIM(encoded.len >= 4);
        CLAIM(lr_pg_decode_binary(encoded.data + 4, encoded.len - 4, types[which].oid, &again, &other) == 0);
        CLAIM(same(&v, &again));
    }
    lr_buf_free(&scratch);
    lr_buf_free(&encoded);
    lr_buf_free(&other);
    return 0;
}
