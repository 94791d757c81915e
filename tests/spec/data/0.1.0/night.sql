-- What changes at the source before the second night.
UPDATE orders SET amount = 22.00, updated_at = '2026-01-25' WHERE order_id = 105;
UPDATE orders SET amount = 55.00, updated_at = '2026-01-25' WHERE order_id = 106;
INSERT INTO orders VALUES (107, 2, '2026-01-22', 9.99, '2026-01-25');
UPDATE customers SET country = 'FR' WHERE customer_id = 3;
INSERT INTO transfers VALUES (4, '2026-03-02', '2026-03-02 09:00:00', 250), (5, '2026-03-04', '2026-03-04 08:00:00', 1);
INSERT INTO events VALUES (4, '2026-01-21 09:00:00+00', '2026-01-21 10:00:00', 'late'), (5, '2026-01-20 23:00:00.25+00', '2026-01-21 00:00:00.25', 'e');
INSERT INTO moves VALUES (5, 1, 'FR', '2026-01-06 00:00:00'), (6, 1, 'DE', '2026-01-09 00:00:00'), (7, 2, 'DE', '2026-01-20 00:00:00');
INSERT INTO changes VALUES (5, 'insert', 3, 'c'), (6, 'update', 1, 'a3');
ALTER TABLE people DROP COLUMN note;
INSERT INTO people VALUES (3, 'Lena');
