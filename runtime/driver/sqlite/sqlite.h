/* sqlite.h - the built-in driver for SQLite files. */
#ifndef LRUN_DRIVER_SQLITE_H
#define LRUN_DRIVER_SQLITE_H

#include "lrun/driver.h"

extern const lr_driver lr_sqlite_driver;

#endif
