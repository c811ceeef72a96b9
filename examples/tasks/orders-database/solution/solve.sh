#!/bin/bash
python3 - <<'END'
import csv
import sqlite3

database = sqlite3.connect("/app/orders.db")
database.execute("CREATE TABLE customers (id INTEGER PRIMARY KEY, name TEXT UNIQUE)")
database.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, customer_id INTEGER REFERENCES customers (id), cents INTEGER)")
for row in csv.DictReader(open("/app/orders.csv")):
    if row["cents"]:
        database.execute("INSERT OR IGNORE INTO customers (name) VALUES (?)", (row["customer"],))
        database.execute(
            "INSERT INTO orders SELECT ?, id, ? FROM customers WHERE name = ?",
            (row["id"], int(row["cents"]), row["customer"]),
        )
database.commit()
END
