/* The ledger's tables on SQLite. Names and columns are public; "@name" is a
 * table under the ledger's schema. */
#include "sql/sqlite.h"

const char *const lr_sqlite_ledger[] = {
    "CREATE TABLE IF NOT EXISTS @lrun_schema (version INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS @lrun_watermarks (job TEXT NOT NULL, name TEXT NOT NULL, value TEXT NOT NULL, "
    "params TEXT NOT NULL, run_id INTEGER, saved_at TEXT NOT NULL, PRIMARY KEY (job, name))",
    "CREATE TABLE IF NOT EXISTS @lrun_runs (run_id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, "
    "job_sha256 TEXT NOT NULL, params TEXT NOT NULL, logical_date TEXT, run_start TEXT NOT NULL, "
    "status TEXT NOT NULL, rows_read INTEGER, rows_inserted INTEGER, rows_updated INTEGER, rows_deleted INTEGER, "
    "rows_skipped INTEGER, started_at TEXT NOT NULL, finished_at TEXT, backfill_id INTEGER, "
    "lrun_version TEXT NOT NULL, host TEXT NOT NULL, pid INTEGER NOT NULL, error TEXT, "
    "attempt INTEGER NOT NULL, source TEXT, warehouse TEXT)",
    "CREATE INDEX IF NOT EXISTS lrun_runs_running ON @lrun_runs (job) WHERE status = 'running'",
    "CREATE INDEX IF NOT EXISTS lrun_runs_job ON @lrun_runs (job, run_id)",
    "CREATE TABLE IF NOT EXISTS @lrun_checks (run_id INTEGER NOT NULL, target TEXT NOT NULL, metric TEXT NOT NULL, "
    "group_value TEXT, source_value TEXT, warehouse_value TEXT, equal INTEGER NOT NULL, window_start TEXT, "
    "window_stop TEXT)",
    "CREATE INDEX IF NOT EXISTS lrun_checks_run ON @lrun_checks (run_id)",
    "CREATE TABLE IF NOT EXISTS @lrun_windows (run_id INTEGER NOT NULL, source_table TEXT NOT NULL, "
    "column_name TEXT NOT NULL, window_start TEXT, window_stop TEXT)",
    "CREATE INDEX IF NOT EXISTS lrun_windows_run ON @lrun_windows (run_id)",
    "CREATE TABLE IF NOT EXISTS @lrun_writes (run_id INTEGER NOT NULL, target TEXT NOT NULL, primitive TEXT NOT NULL, "
    "rows_inserted INTEGER NOT NULL, rows_updated INTEGER NOT NULL, rows_deleted INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS lrun_writes_run ON @lrun_writes (run_id)",
    "CREATE TABLE IF NOT EXISTS @lrun_backfills (backfill_id INTEGER PRIMARY KEY AUTOINCREMENT, job TEXT NOT NULL, "
    "job_sha256 TEXT NOT NULL, params TEXT NOT NULL, grain TEXT NOT NULL, zone TEXT NOT NULL, first_date TEXT NOT NULL, "
    "last_date TEXT NOT NULL, status TEXT NOT NULL, started_at TEXT NOT NULL, finished_at TEXT, "
    "owner_host TEXT, owner_pid INTEGER, owner_started TEXT)",
    "CREATE INDEX IF NOT EXISTS lrun_backfills_job ON @lrun_backfills (job, backfill_id)",
    "CREATE INDEX IF NOT EXISTS lrun_runs_backfill ON @lrun_runs (backfill_id) WHERE backfill_id IS NOT NULL",
    "CREATE TABLE IF NOT EXISTS @lrun_targets (target TEXT PRIMARY KEY, run_id INTEGER NOT NULL)",
    "CREATE TABLE IF NOT EXISTS @lrun_columns (job TEXT NOT NULL, target TEXT NOT NULL, job_sha256 TEXT NOT NULL, "
    "columns TEXT NOT NULL, run_id INTEGER NOT NULL, PRIMARY KEY (job, target))",
    "CREATE TABLE IF NOT EXISTS @lrun_write_columns (job TEXT NOT NULL, target TEXT NOT NULL, source_table TEXT NOT NULL, "
    "place INTEGER NOT NULL, job_sha256 TEXT NOT NULL, columns TEXT NOT NULL, run_id INTEGER, saved_at TEXT NOT NULL, "
    "PRIMARY KEY (job, target, source_table, place))",
    "CREATE TABLE IF NOT EXISTS @lrun_scd2_seen (dim TEXT NOT NULL, key TEXT NOT NULL, at TEXT NOT NULL, PRIMARY KEY (dim, key, at)) WITHOUT ROWID",
    NULL};
