CREATE TABLE invoices(invoice_id INTEGER PRIMARY KEY, written_at TIMESTAMP NOT NULL, country TEXT, kind TEXT, net DECIMAL(10,2));
INSERT INTO invoices VALUES (1, '2026-06-30 10:00:00', 'DE', 'food', 100.00), (2, '2026-06-30 23:59:59', 'DE', 'goods', 100.00),
  (3, '2026-07-01 00:00:00', 'DE', 'goods', 100.00), (4, '2026-07-01 09:30:00', 'FR', 'goods', 100.00);
