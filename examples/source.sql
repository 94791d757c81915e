-- The shop's own database: what the application writes. `make shop` makes
-- examples/source.db from this file. The story is in README.md. In WAL mode the
-- application goes on writing while it is read.
PRAGMA journal_mode = WAL;
PRAGMA foreign_keys = ON;
BEGIN;

CREATE TABLE customers (           -- today's customers; a move overwrites
  customer_id INTEGER PRIMARY KEY,
  name        TEXT NOT NULL,
  country     TEXT NOT NULL
);
INSERT INTO customers VALUES
  (1, 'Asha', 'DE'),               -- lived in IN until 2026-01-08
  (2, 'Ravi', 'IN'),
  (3, 'Lena', 'DE');

CREATE TABLE orders (
  order_id    INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL REFERENCES customers,
  order_date  TEXT NOT NULL,       -- the day it was placed; never changes
  amount      DECIMAL(10,2),       -- NULL until it is paid
  updated_at  TEXT NOT NULL        -- set on every insert and update
);
INSERT INTO orders VALUES
  (101, 1, '2026-01-03', 40.00, '2026-01-03'),
  (102, 1, '2026-01-08', 25.50, '2026-01-08'),  -- on the day Asha moved
  (103, 2, '2026-01-10', 50.00, '2026-01-10'),
  (104, 3, '2026-01-19', 35.00, '2026-01-19'),
  (105, 2, '2026-01-20', 22.00, '2026-01-25'),  -- paid five days later
  (106, 1, '2026-01-21', 70.00, '2026-01-21');

CREATE TABLE transfers (
  id         INTEGER PRIMARY KEY,
  load_date  TEXT,                 -- the partition
  updated_at TEXT,
  amount     INTEGER
);
INSERT INTO transfers VALUES
  (1, '2026-03-01', '2026-03-01 10:00', 100),
  (2, '2026-03-02', '2026-03-02 10:00', 200),   -- exactly on the mark
  (3, '2026-03-03', '2026-03-03 10:00', 300),   -- new
  (4, '2026-03-02', '2026-03-02 09:00', 250);   -- late: it landed below the mark

COMMIT;
