CREATE TABLE dim_tax(country TEXT, kind TEXT, percent DECIMAL(5,2), valid_from DATE, valid_to DATE, PRIMARY KEY (country, kind, valid_from));
INSERT INTO dim_tax VALUES ('DE', 'goods', 19.00, '2007-01-01', '2026-07-01'), ('DE', 'goods', 16.00, '2026-07-01', NULL),
  ('DE', 'food', 7.00, '1983-07-01', NULL), ('FR', 'goods', 20.00, '2014-01-01', '9999-12-31');
