/* Types of SQLite: what a column declares, and that it keeps other classes too. */
#include "driver/sqlite/sqlite.h"

lr_type lr_sqlite_type(const char *declared)
{
    lr_type t = lr_type_words(declared);
    t.engine = "sqlite";
    t.dynamic = 1;
    return t;
}
