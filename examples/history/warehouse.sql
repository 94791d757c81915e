CREATE TABLE dim_customer(customer INTEGER, country TEXT, valid_from DATE, valid_to DATE, PRIMARY KEY (customer, valid_from));
INSERT INTO dim_customer VALUES (7, 'IN', '2025-01-01', '2026-01-10'), (7, 'DE', '2026-01-10', '9999-12-31');
CREATE TABLE dim_salesman(id INTEGER, region TEXT, since DATE, till DATE, PRIMARY KEY (id, since));
INSERT INTO dim_salesman VALUES (1, 'south', '2025-01-01', '2026-01-20'), (1, 'north', '2026-01-20', NULL);
