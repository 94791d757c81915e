/* Which numbers are no times of their form: SQL that both engines take. */
#include "sql/epochs.h"

void lr_epoch_outside(lr_sql *q, const lr_sql *n, lr_time_mode m)
{
    const lr_epoch_range r = lr_epoch_limits(m);
    lr_sqlf(q, "(%Q < %s OR %Q >= %s", n, r.low, n, r.limit);
    /* two ranges, so that an index finds them */
    if (r.floor != NULL) lr_sqlf(q, " OR (%Q > -%s AND %Q < 0) OR (%Q > 0 AND %Q < %s)", n, r.floor, n, n, n, r.floor);
    lr_sqlf(q, ")");
}

void lr_epoch_not_seconds(lr_sql *q, const lr_sql *n)
{
    lr_sqlf(q, "(%Q BETWEEN 19000101 AND 22001231 OR %Q BETWEEN 2400000 AND 2500000)", n, n);
}

void lr_bounds_edges(const lr_dialect *d, lr_arena *a, lr_bounds *b)
{
    b->start.above = !b->start.inclusive;
    b->stop.above = b->stop.inclusive;
    d->edge(a, &b->start, b->mode, b->zone, b->type);
    d->edge(a, &b->stop, b->mode, b->zone, b->type);
}
