/* sqlite.h - the built-in driver for SQLite files. */
#ifndef LRUN_DRIVER_SQLITE_H
#define LRUN_DRIVER_SQLITE_H

#include "lrun/driver.h"

extern const lr_driver lr_sqlite_driver;

/* "INTEGER", "TEXT", "BLOB", "REAL" or "NUMERIC", by the declared type. */
const char *lr_sqlite_affinity(const char *declared);

lr_type lr_sqlite_type(const char *declared);

#endif
