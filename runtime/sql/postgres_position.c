/* The order of text in PostgreSQL: its shape, and log positions by their numbers
 * (base/position.h says the same of SQLite's). */
#include "sql/postgres.h"

#define BINLOG "'^.*[A-Za-z].*\\.[0-9]{1,18}[:,/ ][0-9]{1,18}$'"
#define GTID "'^[0-9A-Fa-f]{8}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{4}-[0-9A-Fa-f]{12}:[0-9]{1,18}$'"

int lr_postgres_shape(lr_sql *q, const lr_sql *expr, const lr_type *type, const lr_zone *z)
{
    lr_sql text = lr_sql_new(q->arena), time = lr_sql_new(q->arena);
    if (!lr_postgres_dialect.is_time(&time, expr, type, z)) return 0;
    lr_sqlf(&text, "(%Q::text COLLATE \"C\")", expr);
    lr_sqlf(q, "CASE WHEN %Q IS NULL THEN NULL WHEN %Q THEN 'time' WHEN %Q ~ '^[0-9A-Fa-f]{1,8}/[0-9A-Fa-f]{1,8}$' THEN 'lsn' WHEN %Q ~ " BINLOG
               " THEN 'binlog:' || regexp_replace(%Q, '\\.[0-9]+[:,/ ][0-9]+$', '') WHEN %Q ~ " GTID " THEN 'gtid:' || lower(left(%Q, 36)) "
               "WHEN %Q ~ '^[-+]([0-9]+([.][0-9]*)?|[.][0-9]+)$' THEN 'signed' WHEN %Q ~ '^[-+].' THEN 'signed text' ELSE 'text:' || CASE WHEN %Q ~ '[g-zG-Z]' THEN CASE WHEN %Q !~ '[A-Z]' THEN 'y' WHEN %Q !~ '[a-z]' THEN 'Y' ELSE 'x' END WHEN %Q ~ '[a-f]' AND %Q ~ '[A-F]' THEN 'b' "
               "WHEN %Q ~ '[a-f]' THEN 'l' WHEN %Q ~ '[A-F]' THEN 'u' ELSE 'n' END || ':' || regexp_replace(%Q, '[0-9A-Za-z]', 'x', 'g') END",
            &text, &time, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text, &text);
    return 1;
}

void lr_postgres_position(lr_sql *q, const lr_sql *expr, lr_position form)
{
    switch (form) {
    case LR_POSITION_LSN:
        lr_sqlf(q, "(upper(lpad(split_part(%Q::text, '/', 1), 8, '0') || lpad(split_part(%Q::text, '/', 2), 8, '0')) COLLATE \"C\")", expr, expr);
        return;
    case LR_POSITION_BINLOG:
        lr_sqlf(q, "((lpad(substring(%Q::text from '\\.([0-9]+)[:,/ ][0-9]+$'), 20, '0') || lpad(substring(%Q::text from '([0-9]+)$'), 20, '0')) "
                   "COLLATE \"C\")", expr, expr);
        return;
    case LR_POSITION_GTID:
        lr_sqlf(q, "(lpad(substring(%Q::text from '([0-9]+)$'), 20, '0') COLLATE \"C\")", expr);
        return;
    case LR_POSITION_NUMBER:
        lr_sqlf(q, "CAST(%Q AS numeric)", expr);
        return;
    case LR_POSITION_PLAIN:
        break;
    }
    lr_sqlf(q, "%Q", expr);
}
