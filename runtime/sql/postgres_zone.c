/* Local times and instants in the SQL of PostgreSQL. AT TIME ZONE takes the
 * second pass of an hour that comes twice, lrun the first; what depends on that
 * is written out here. */
#include "sql/postgres.h"

#define MOST_SHIFTS 16

/* How far the zone's clocks are ever set back, as intervals. */
typedef struct shifts {
    int n;
    long long us[MOST_SHIFTS];
} shifts;

static shifts shifts_of(const lr_zone *z)
{
    shifts s = {0};
    int64_t found[MOST_SHIFTS];
    int n = lr_zone_shifts_back(z, found, MOST_SHIFTS);
    for (s.n = 0; s.n < n && s.n < MOST_SHIFTS; s.n++) s.us[s.n] = found[s.n];
    return s;
}

/* "(expr AT TIME ZONE 'Europe/Berlin')" */
static lr_sql at_zone(const lr_sql *expr, const lr_zone *z)
{
    lr_sql out = lr_sql_new(expr->arena);
    lr_value zone = lr_text(lr_zone_name(z));
    lr_sqlf(&out, "(%Q AT TIME ZONE %V)", expr, &zone);
    return out;
}

/* "(expr - 3600000000 * interval '1 microsecond')" */
static lr_sql moved(const lr_sql *expr, long long us)
{
    lr_sql out = lr_sql_new(expr->arena);
    lr_value by = lr_int(us);
    lr_sqlf(&out, "(%Q + CAST(%V AS int8) * interval '1 microsecond')", expr, &by);
    return out;
}

lr_sql lr_postgres_local(const lr_sql *instant, const lr_zone *z)
{
    return at_zone(instant, z);
}

/* The expression stands once in the text, however deep such pieces are nested. */
lr_sql lr_postgres_instant(const lr_sql *local, const lr_zone *z)
{
    lr_sql l = lr_sql_column(local->arena, "z", "l"), p = lr_sql_column(local->arena, "z", "p");
    shifts s = shifts_of(z);
    if (s.n == 0) return at_zone(local, z);
    lr_sql out = lr_sql_new(local->arena), inner = lr_sql_column(local->arena, "y", "l"), plain = at_zone(&inner, z);
    lr_sqlf(&out, "(SELECT CASE");
    for (int i = 0; i < s.n; i++) {
        lr_sql before = moved(&p, -s.us[i]), again = at_zone(&before, z);
        lr_sqlf(&out, " WHEN %Q = %Q THEN %Q", &again, &l, &before);
    }
    lr_sqlf(&out, " ELSE %Q END FROM (SELECT \"y\".\"l\", %Q AS \"p\" FROM (SELECT %Q AS \"l\") AS \"y\") AS \"z\")", &p, &plain, local);
    return out;
}

void lr_postgres_inexact_local(lr_sql *q, const lr_sql *local, const lr_zone *z)
{
    lr_sql l = lr_sql_column(q->arena, "z", "l"), p = lr_sql_column(q->arena, "z", "p"), inner = lr_sql_column(q->arena, "y", "l"),
           plain = at_zone(&inner, z), back = at_zone(&p, z);
    shifts s = shifts_of(z);
    lr_sqlf(q, "(SELECT %Q <> %Q", &back, &l);
    for (int i = 0; i < s.n; i++)
        for (int side = -1; side <= 1; side += 2) {
            lr_sql other = moved(&p, side * s.us[i]), reading = at_zone(&other, z);
            lr_sqlf(q, " OR %Q = %Q", &reading, &l);
        }
    lr_sqlf(q, " FROM (SELECT \"y\".\"l\", %Q AS \"p\" FROM (SELECT %Q AS \"l\") AS \"y\") AS \"z\")", &plain, local);
}
