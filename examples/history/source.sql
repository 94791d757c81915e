CREATE TABLE orders(order_id INTEGER PRIMARY KEY, placed_on DATE NOT NULL, customer INTEGER, salesman INTEGER, amount DECIMAL(10,2));
INSERT INTO orders VALUES (1, '2026-01-05', 7, 1, 10.00), (2, '2026-01-15', 7, 1, 20.00), (3, '2026-01-25', 7, 1, 30.00);
