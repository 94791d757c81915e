CREATE TABLE dim_rate(currency TEXT, rate DECIMAL(12,6), valid_from DATE, valid_to DATE, PRIMARY KEY (currency, valid_from));
INSERT INTO dim_rate VALUES ('EUR', 1, '2000-01-01', NULL),
  ('USD', 0.80, '2026-01-01', '2026-02-02'), ('USD', 0.90, '2026-02-02', '9999-12-31'),
  ('GBP', 1.25, '2026-01-01', NULL);
