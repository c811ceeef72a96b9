-- A shop: customers, and what they ordered.
CREATE TABLE customer (id INTEGER PRIMARY KEY, name TEXT NOT NULL, city TEXT NOT NULL);
CREATE TABLE orders (
    id INTEGER PRIMARY KEY,
    customer_id INTEGER NOT NULL REFERENCES customer (id),
    product TEXT NOT NULL,
    amount REAL NOT NULL,
    day TEXT NOT NULL
);
INSERT INTO customer VALUES
    (1, 'Ada', 'London'), (2, 'Bruno', 'Turin'), (3, 'Chiara', 'Turin'), (4, 'Dmitri', 'Oslo'), (5, 'Emma', 'London');
INSERT INTO orders VALUES
    (1, 1, 'lamp', 42.5, '2025-01-09'), (2, 1, 'chair', 120, '2025-02-11'), (3, 2, 'lamp', 42.5, '2025-02-11'),
    (4, 3, 'desk', 310, '2025-03-02'), (5, 3, 'lamp', 42.5, '2025-03-20'), (6, 5, 'chair', 120, '2025-04-01'),
    (7, 5, 'chair', 120, '2025-04-15');
