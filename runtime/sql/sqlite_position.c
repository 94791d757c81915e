/* The order of text in SQLite: functions of the driver know it. */
#include "sql/sqlite.h"

int lr_sqlite_shape(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    lr_value zone = lr_text(lr_zone_name(z));
    (void)type;
    lr_sqlf(q, "lrun_shape(%Q, %V)", expr, &zone);
    return 1;
}

void lr_sqlite_position(lr_sql *q, const lr_sql *expr, lr_position form)
{
    lr_sqlf(q, form == LR_POSITION_PLAIN ? "%Q" : form == LR_POSITION_NUMBER ? "lrun_number_key(%Q)" : "lrun_position(%Q)", expr);
}
