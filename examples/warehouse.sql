-- The warehouse: the copy that analysts read. `make shop` makes
-- examples/warehouse.db from this file. The story is in README.md.
PRAGMA journal_mode = WAL;
BEGIN;

CREATE TABLE dw_orders (
  order_id    INTEGER PRIMARY KEY,
  customer_id INTEGER NOT NULL,
  order_date  TEXT NOT NULL,
  amount      DECIMAL(10,2),
  updated_at  TEXT NOT NULL
);
INSERT INTO dw_orders VALUES
  (101, 1, '2026-01-03', 40.00, '2026-01-03'),
  (102, 1, '2026-01-08', 25.50, '2026-01-08'),
  (103, 2, '2026-01-10', 50.00, '2026-01-10'),
  (104, 3, '2026-01-19', 35.00, '2026-01-19'),
  (105, 2, '2026-01-20', NULL,  '2026-01-20'),  -- as it was before it was paid
  (106, 1, '2026-01-21', 70.00, '2026-01-21');

CREATE TABLE dim_customer (        -- type 2: each row true in [valid_from, valid_to)
  customer_id INTEGER NOT NULL,
  name        TEXT NOT NULL,
  country     TEXT NOT NULL,
  valid_from  TEXT NOT NULL,
  valid_to    TEXT NOT NULL,       -- the first day it was no longer true
  PRIMARY KEY (customer_id, valid_from),
  CHECK (valid_from < valid_to)
);
INSERT INTO dim_customer VALUES
  (1, 'Asha', 'IN', '2025-06-01', '2026-01-08'),
  (1, 'Asha', 'DE', '2026-01-08', '9999-12-31'),
  (2, 'Ravi', 'IN', '2025-06-01', '9999-12-31'),
  (3, 'Lena', 'DE', '2025-06-01', '9999-12-31');

CREATE TABLE dw_transfers (
  id         INTEGER PRIMARY KEY,
  load_date  TEXT,
  updated_at TEXT,
  amount     INTEGER
);
INSERT INTO dw_transfers VALUES
  (1, '2026-03-01', '2026-03-01 10:00', 100),
  (2, '2026-03-02', '2026-03-02 10:00', 200);

COMMIT;
