"""The database holds what the list held."""

import sqlite3

import pytest


@pytest.fixture
def database() -> sqlite3.Connection:
    """The database, which must be there already."""
    return sqlite3.connect("file:/app/orders.db?mode=ro", uri=True)


def test_amounts_by_customer(database: sqlite3.Connection) -> None:
    rows = database.execute(
        "SELECT name, SUM(cents), COUNT(*) FROM orders JOIN customers ON customers.id = customer_id GROUP BY 1"
    )
    assert sorted(rows.fetchall()) == [("Ada", 1200, 1), ("Edsger", 99, 1), ("Grace", 500, 2)]


def test_orders_point_to_customers(database: sqlite3.Connection) -> None:
    keys = database.execute("PRAGMA foreign_key_list(orders)").fetchall()
    assert [(key[2], key[3]) for key in keys] == [("customers", "customer_id")]
    assert database.execute("SELECT COUNT(*) FROM customers").fetchone() == (3,)
