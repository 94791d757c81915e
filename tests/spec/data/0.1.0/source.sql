-- The source on the first night; {words} are spelled by each engine (tests/support/pairs.lua).
CREATE TABLE customers(customer_id INTEGER PRIMARY KEY, name TEXT NOT NULL, country TEXT NOT NULL);
INSERT INTO customers VALUES (1, 'Asha', 'DE'), (2, 'Ravi', 'IN'), (3, 'Lena', 'DE');
CREATE TABLE orders(order_id INTEGER PRIMARY KEY, customer_id INTEGER NOT NULL, order_date DATE NOT NULL, amount DECIMAL(10,2), updated_at DATE NOT NULL);
INSERT INTO orders VALUES (101, 1, '2026-01-03', 40.00, '2026-01-03'), (102, 1, '2026-01-08', 25.50, '2026-01-08'), (103, 2, '2026-01-10', 50.00, '2026-01-10'),
  (104, 3, '2026-01-19', 35.00, '2026-01-19'), (105, 2, '2026-01-20', NULL, '2026-01-20'), (106, 1, '2026-01-21', 70.00, '2026-01-21');
CREATE TABLE transfers(id INTEGER PRIMARY KEY, load_date DATE, updated_at TIMESTAMP, amount INTEGER);
INSERT INTO transfers VALUES (1, '2026-03-01', '2026-03-01 10:00:00', 100), (2, '2026-03-02', '2026-03-02 10:00:00', 200), (3, '2026-03-03', '2026-03-03 10:00:00', 300);
CREATE TABLE events(id INTEGER PRIMARY KEY, at {instant}, local_at {naive}, note TEXT);
INSERT INTO events VALUES (1, '2026-01-19 23:30:00+00', '2026-01-20 00:30:00', 'a'), (2, '2026-01-20 10:00:00.5+00', '2026-01-20 11:00:00.5', NULL),
  (3, '2026-01-20 23:30:00+00', '2026-01-21 00:30:00', 'c');
CREATE TABLE moves(n INTEGER PRIMARY KEY, customer_id INTEGER, country TEXT, moved_at {naive});
INSERT INTO moves VALUES (1, 1, 'IN', '2026-01-01 00:00:00'), (2, 1, 'IN', '2026-01-04 12:00:00'), (3, 1, 'DE', '2026-01-08 09:00:00'), (4, 2, 'IN', '2026-01-02 00:00:00');
CREATE TABLE changes(seq INTEGER PRIMARY KEY, op TEXT, id INTEGER, v TEXT);
INSERT INTO changes VALUES (1, 'insert', 1, 'a'), (2, 'insert', 2, 'b'), (3, 'update', 1, 'a2'), (4, 'delete', 2, NULL);
CREATE TABLE people(id INTEGER PRIMARY KEY, name TEXT, note TEXT);
INSERT INTO people VALUES (1, 'Asha', 'x'), (2, 'Ravi', 'y');
