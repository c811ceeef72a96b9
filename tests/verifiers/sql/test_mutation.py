"""Mutated databases: a lucky match on one toy database does not pass, and an equivalent query always does."""

# Pairs of queries are read better on one line each.
# ruff: noqa: E501

from __future__ import annotations

import re
import subprocess
import sys

import pytest

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.sql.databases import CarriedDatabase, Databases, EngineName
from rewarden_verifiers.sql.gold import prepare
from rewarden_verifiers.sql.mutation import mutated as mutation
from rewarden_verifiers.sql.mutation.constants import Mentions, Needs
from rewarden_verifiers.sql.params import SqlParams
from rewarden_verifiers.sql.reference import SqlReference
from rewarden_verifiers.sql.statement import Statement, read_statement
from rewarden_verifiers.sql.verifier import sql as verifier
from tests.verifiers.sql.world import World

COLLEGE = """
CREATE TABLE department (id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL UNIQUE, budget INTEGER NOT NULL);
CREATE TABLE student (
    id INTEGER PRIMARY KEY, name VARCHAR(40) NOT NULL, age INTEGER, gpa DOUBLE PRECISION,
    city VARCHAR(40), enrolled DATE NOT NULL, department_id INTEGER NOT NULL REFERENCES department (id)
);
CREATE TABLE course (id INTEGER PRIMARY KEY, title VARCHAR(40) NOT NULL, credits INTEGER NOT NULL CHECK (credits > 0));
CREATE TABLE enrolment (
    student_id INTEGER NOT NULL REFERENCES student (id), course_id INTEGER NOT NULL REFERENCES course (id),
    grade INTEGER, PRIMARY KEY (student_id, course_id)
);
INSERT INTO department VALUES (1, 'Physics', 100), (2, 'History', 50), (3, 'Music', 20);
INSERT INTO student VALUES
    (1, 'Ada', 19, 3.9, 'Rome', '2020-09-01', 1), (2, 'Bob', 22, 2.5, 'Oslo', '2019-09-01', 1),
    (3, 'Cyd', 25, 3.1, 'Lima', '2021-09-01', 2), (4, 'Dan', 31, 3.5, 'Bonn', '2018-09-01', 3);
INSERT INTO course VALUES (1, 'Optics', 6), (2, 'Rome', 4), (3, 'Violin', 3);
INSERT INTO enrolment VALUES (1, 1, 90), (2, 1, 70), (3, 2, 85), (4, 3, 95), (1, 3, 60);
"""
"""Four students in three departments: small enough for many a wrong query to be right."""

SHOP = """
CREATE TABLE customer (customer_id INTEGER, first_name TEXT, last_name TEXT, country TEXT, email TEXT);
CREATE TABLE product (product_id INTEGER, product_name TEXT, category TEXT, price REAL);
CREATE TABLE orders (order_id INTEGER, customer_id INTEGER, order_date TEXT, ship_date TEXT, status TEXT);
CREATE TABLE order_item (order_id INTEGER, product_id INTEGER, quantity INTEGER);
INSERT INTO customer VALUES (1, 'Ann', 'Ash', 'France', 'ann@x.org'), (2, 'Ben', 'Bay', 'Spain', 'ben@x.org'),
    (3, 'Cal', 'Cox', 'France', 'cal@y.org'), (4, 'Dee', 'Day', 'Italy', 'dee@y.org'), (5, 'Eve', 'Elm', 'Spain', 'eve@x.org');
INSERT INTO product VALUES (10, 'Lamp', 'Home', 20.5), (11, 'Desk', 'Home', 150.0), (12, 'Pen', 'Office', 1.5),
    (13, 'Ink', 'Office', 4.0), (14, 'Sofa', 'Home', 300.0);
INSERT INTO orders VALUES (100, 1, '2023-01-05', '2023-01-08', 'shipped'), (101, 2, '2023-02-01', '2023-02-02', 'shipped'),
    (102, 1, '2023-03-15', '2023-03-15', 'open'), (103, 4, '2022-12-30', '2023-01-02', 'lost'),
    (104, 5, '2023-06-01', '2023-06-11', 'open'), (105, 3, '2022-07-01', '2022-07-03', 'shipped');
INSERT INTO order_item VALUES (100, 10, 1), (100, 12, 10), (101, 11, 1), (102, 12, 5), (103, 14, 1), (104, 13, 2),
    (105, 10, 2), (105, 13, 1);
"""
"""As most benchmarks have them: nothing declared, neither keys nor what points where."""

WEATHER = """
CREATE TABLE reading (station TEXT, day TEXT, degrees INTEGER, wind INTEGER);
INSERT INTO reading VALUES ('North', '2024-01-01', 3, 10), ('South', '2024-01-01', 9, 12), ('North', '2024-01-02', 3, 12),
    ('East', '2024-01-02', -4, 30), ('South', '2024-01-03', 12, 9);
"""

LUCKY: list[tuple[str, str, str]] = [
    # a border that no row stands on
    (COLLEGE, "SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE age >= 20"),
    (COLLEGE, "SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE age > 21"),
    (COLLEGE, "SELECT name FROM student WHERE gpa >= 3.0", "SELECT name FROM student WHERE gpa > 3.0"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE age BETWEEN 20 AND 30",
        "SELECT name FROM student WHERE age > 20 AND age < 30",
    ),
    (COLLEGE, "SELECT count(*) FROM student WHERE age < 30", "SELECT count(*) FROM student WHERE age < 31"),
    # a condition that every row meets, or none
    (COLLEGE, "SELECT name FROM student WHERE age > 24", "SELECT name FROM student WHERE age > 24 AND gpa > 3.0"),
    (COLLEGE, "SELECT name FROM student WHERE gpa > 3.0 AND age < 40", "SELECT name FROM student WHERE gpa > 3.0"),
    (COLLEGE, "SELECT name FROM student WHERE city = 'Rome'", "SELECT name FROM student WHERE id = 1"),
    (COLLEGE, "SELECT name FROM student WHERE city = 'Rome'", "SELECT name FROM student WHERE name = 'Ada'"),
    (COLLEGE, "SELECT name FROM student WHERE city = 'Rome'", "SELECT name FROM student WHERE city LIKE 'R%'"),
    (COLLEGE, "SELECT name FROM student WHERE city LIKE 'R%'", "SELECT name FROM student WHERE city LIKE '%R%'"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE city = 'Rome' OR age > 30",
        "SELECT name FROM student WHERE city IN ('Rome', 'Bonn')",
    ),
    (
        COLLEGE,
        "SELECT name FROM student WHERE city <> 'Rome'",
        "SELECT name FROM student WHERE city > 'A' AND id > 1 ORDER BY name",
    ),
    (
        COLLEGE,
        "SELECT name FROM student WHERE NOT city = 'Rome'",
        "SELECT name FROM student WHERE city IN ('Oslo', 'Lima', 'Bonn')",
    ),
    # NULL
    (COLLEGE, "SELECT count(*) FROM student", "SELECT count(age) FROM student"),
    (COLLEGE, "SELECT count(grade) FROM enrolment", "SELECT count(*) FROM enrolment"),
    (COLLEGE, "SELECT avg(age) FROM student", "SELECT sum(age) * 1.0 / count(*) FROM student"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE city <> 'Rome' OR city IS NULL",
        "SELECT name FROM student WHERE city <> 'Rome'",
    ),
    # duplicates
    (COLLEGE, "SELECT city FROM student", "SELECT DISTINCT city FROM student"),
    (COLLEGE, "SELECT DISTINCT age FROM student", "SELECT age FROM student"),
    (COLLEGE, "SELECT count(DISTINCT city) FROM student", "SELECT count(*) FROM student"),
    (
        COLLEGE,
        "SELECT age FROM student WHERE gpa > 3.6 UNION SELECT age FROM student WHERE age > 30",
        "SELECT age FROM student WHERE gpa > 3.6 UNION ALL SELECT age FROM student WHERE age > 30",
    ),
    (
        COLLEGE,
        "SELECT city, count(*) FROM student GROUP BY city",
        "SELECT city, count(*) FROM student GROUP BY city, age",
    ),
    (COLLEGE, "SELECT city, max(age) FROM student GROUP BY city", "SELECT city, age FROM student"),
    (COLLEGE, "SELECT city, avg(gpa) FROM student GROUP BY city", "SELECT city, min(gpa) FROM student GROUP BY city"),
    (
        COLLEGE,
        "SELECT DISTINCT s.name FROM student s JOIN enrolment e ON e.student_id = s.id WHERE e.grade > 80",
        "SELECT s.name FROM student s JOIN enrolment e ON e.student_id = s.id WHERE e.grade > 80",
    ),
    # joins
    (
        COLLEGE,
        "SELECT d.name, count(s.id) FROM department d LEFT JOIN student s ON s.department_id = d.id GROUP BY d.id, d.name",
        "SELECT d.name, count(s.id) FROM department d JOIN student s ON s.department_id = d.id GROUP BY d.id, d.name",
    ),
    (
        COLLEGE,
        "SELECT c.title FROM course c JOIN enrolment e ON e.course_id = c.id GROUP BY c.id, c.title HAVING count(*) > 1",
        "SELECT c.title FROM course c WHERE c.credits <> 4",
    ),
    (
        COLLEGE,
        "SELECT name FROM department WHERE id IN (SELECT department_id FROM student)",
        "SELECT name FROM department",
    ),
    (
        COLLEGE,
        "SELECT s.name FROM student s JOIN department d ON s.department_id = d.id WHERE d.name = 'Physics'",
        "SELECT name FROM student WHERE department_id = 1",
    ),
    (
        COLLEGE,
        "SELECT d.name FROM department d WHERE d.budget > 30",
        "SELECT DISTINCT d.name FROM department d JOIN student s ON s.department_id = d.id WHERE d.budget > 30",
    ),
    (
        COLLEGE,
        "SELECT s.name, c.title FROM student s JOIN enrolment e ON e.student_id = s.id JOIN course c ON c.id = e.course_id WHERE e.grade >= 90",
        "SELECT s.name, c.title FROM student s JOIN enrolment e ON e.student_id = s.id JOIN course c ON c.id = e.course_id WHERE e.grade > 85",
    ),
    # groups
    (
        COLLEGE,
        "SELECT department_id FROM student GROUP BY department_id HAVING count(*) >= 2",
        "SELECT department_id FROM student GROUP BY department_id HAVING count(*) = 2",
    ),
    (
        COLLEGE,
        "SELECT department_id FROM student GROUP BY department_id HAVING count(*) >= 2",
        "SELECT department_id FROM student GROUP BY department_id HAVING max(age) = 22",
    ),
    (
        COLLEGE,
        "SELECT department_id FROM student GROUP BY department_id HAVING avg(age) > 23",
        "SELECT department_id FROM student GROUP BY department_id HAVING min(age) > 23",
    ),
    (
        COLLEGE,
        "SELECT course_id, avg(grade) FROM enrolment GROUP BY course_id",
        "SELECT course_id, (max(grade) + min(grade)) / 2.0 FROM enrolment GROUP BY course_id",
    ),
    # the greatest
    (
        COLLEGE,
        "SELECT name FROM student ORDER BY age DESC LIMIT 1",
        "SELECT name FROM student ORDER BY id DESC LIMIT 1",
    ),
    (COLLEGE, "SELECT name FROM student ORDER BY gpa DESC LIMIT 1", "SELECT name FROM student ORDER BY age LIMIT 1"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE age = (SELECT max(age) FROM student)",
        "SELECT name FROM student WHERE age > 30",
    ),
    (COLLEGE, "SELECT max(age) FROM student", "SELECT age FROM student ORDER BY enrolled LIMIT 1"),
    (COLLEGE, "SELECT name FROM student ORDER BY age", "SELECT name FROM student ORDER BY name"),
    (
        COLLEGE,
        "SELECT city FROM student ORDER BY age DESC LIMIT 3",
        "SELECT city FROM student WHERE age > 20 ORDER BY age DESC",
    ),
    (
        COLLEGE,
        "SELECT d.name FROM student s JOIN department d ON d.id = s.department_id GROUP BY d.id, d.name ORDER BY count(*) DESC LIMIT 1",
        "SELECT name FROM department ORDER BY budget DESC LIMIT 1",
    ),
    # nothing declared
    (
        SHOP,
        "SELECT first_name FROM customer WHERE country = 'France'",
        "SELECT first_name FROM customer WHERE customer_id IN (1, 3)",
    ),
    (SHOP, "SELECT count(*) FROM orders WHERE status = 'shipped'", "SELECT count(*) / 2 FROM orders"),
    (SHOP, "SELECT product_name FROM product WHERE price > 100", "SELECT product_name FROM product WHERE price >= 150"),
    (
        SHOP,
        "SELECT order_id FROM orders WHERE order_date >= '2023-01-01'",
        "SELECT order_id FROM orders WHERE order_date > '2023-01-01'",
    ),
    (
        SHOP,
        "SELECT order_id FROM orders WHERE order_date LIKE '2023%'",
        "SELECT order_id FROM orders WHERE order_date > '2022-12-31' AND status <> 'lost'",
    ),
    (
        SHOP,
        "SELECT order_id, sum(quantity) FROM order_item GROUP BY order_id",
        "SELECT order_id, sum(DISTINCT quantity) FROM order_item GROUP BY order_id",
    ),
    (
        SHOP,
        "SELECT c.first_name, count(*) FROM customer c JOIN orders o ON o.customer_id = c.customer_id GROUP BY c.customer_id, c.first_name",
        "SELECT c.first_name, count(DISTINCT o.status) FROM customer c JOIN orders o ON o.customer_id = c.customer_id GROUP BY c.customer_id, c.first_name",
    ),
    (
        SHOP,
        "SELECT category, max(price) FROM product GROUP BY category",
        "SELECT category, sum(price) FROM product WHERE price IN (300.0, 4.0) GROUP BY category",
    ),
    (
        WEATHER,
        "SELECT DISTINCT station FROM reading WHERE wind > 10",
        "SELECT DISTINCT station FROM reading WHERE wind > 11",
    ),
    (WEATHER, "SELECT station FROM reading WHERE degrees < 0", "SELECT station FROM reading WHERE degrees < 3"),
    (
        WEATHER,
        "SELECT station, avg(degrees) FROM reading GROUP BY station",
        "SELECT station, avg(DISTINCT degrees) + 0 FROM reading GROUP BY station",
    ),
    (WEATHER, "SELECT day FROM reading WHERE abs(degrees) > 8", "SELECT day FROM reading WHERE degrees > 8"),
]
"""(database, reference, a wrong query that gives the reference's result there)"""

EQUIVALENT: list[tuple[str, str, str]] = [
    # join, IN, EXISTS
    (
        COLLEGE,
        "SELECT s.name FROM student s JOIN department d ON s.department_id = d.id WHERE d.name = 'Physics'",
        "SELECT name FROM student WHERE department_id IN (SELECT id FROM department WHERE name = 'Physics')",
    ),
    (
        COLLEGE,
        "SELECT s.name FROM student s JOIN department d ON s.department_id = d.id WHERE d.name = 'Physics'",
        "SELECT name FROM student s WHERE EXISTS (SELECT 1 FROM department d WHERE d.id = s.department_id AND d.name = 'Physics')",
    ),
    (
        COLLEGE,
        "SELECT s.name FROM student s JOIN department d ON s.department_id = d.id WHERE d.name = 'Physics'",
        "SELECT name FROM student WHERE department_id = (SELECT id FROM department WHERE name = 'Physics')",
    ),
    (
        COLLEGE,
        "SELECT DISTINCT s.id FROM student s JOIN enrolment e ON e.student_id = s.id",
        "SELECT id FROM student WHERE id IN (SELECT student_id FROM enrolment)",
    ),
    (
        COLLEGE,
        "SELECT name FROM department WHERE id NOT IN (SELECT department_id FROM student WHERE age > 24)",
        "SELECT d.name FROM department d WHERE NOT EXISTS (SELECT 1 FROM student s WHERE s.department_id = d.id AND s.age > 24)",
    ),
    (
        COLLEGE,
        "SELECT name FROM department WHERE id NOT IN (SELECT department_id FROM student WHERE age > 24)",
        "SELECT d.name FROM department d LEFT JOIN student s ON s.department_id = d.id AND s.age > 24 WHERE s.id IS NULL",
    ),
    (
        COLLEGE,
        "SELECT name FROM department WHERE id NOT IN (SELECT department_id FROM student WHERE age > 24)",
        "SELECT name FROM department EXCEPT SELECT d.name FROM department d JOIN student s ON s.department_id = d.id WHERE s.age > 24",
    ),
    # a foreign key that is NOT NULL
    (
        COLLEGE,
        "SELECT s.name, d.name FROM student s JOIN department d ON s.department_id = d.id",
        "SELECT s.name, d.name FROM student s LEFT JOIN department d ON s.department_id = d.id",
    ),
    (
        COLLEGE,
        "SELECT count(*) FROM student",
        "SELECT count(*) FROM student s JOIN department d ON s.department_id = d.id",
    ),
    (
        COLLEGE,
        "SELECT count(*) FROM enrolment",
        "SELECT count(*) FROM enrolment e JOIN student s ON s.id = e.student_id JOIN course c ON c.id = e.course_id",
    ),
    (
        COLLEGE,
        "SELECT student_id FROM enrolment WHERE grade > 80",
        "SELECT s.id FROM enrolment e JOIN student s ON s.id = e.student_id WHERE e.grade > 80",
    ),
    # keys
    (COLLEGE, "SELECT count(*) FROM student", "SELECT count(id) FROM student"),
    (COLLEGE, "SELECT count(*) FROM student", "SELECT count(DISTINCT id) FROM student"),
    (COLLEGE, "SELECT count(*) FROM student", "SELECT count(name) FROM student"),
    (COLLEGE, "SELECT id FROM student", "SELECT DISTINCT id FROM student"),
    (COLLEGE, "SELECT name FROM department", "SELECT DISTINCT name FROM department"),
    (COLLEGE, "SELECT name FROM department", "SELECT name FROM department GROUP BY name"),
    (COLLEGE, "SELECT name FROM department", "SELECT name FROM department UNION SELECT name FROM department"),
    (
        COLLEGE,
        "SELECT d.name, count(*) FROM department d JOIN student s ON s.department_id = d.id GROUP BY d.id, d.name",
        "SELECT d.name, count(*) FROM department d JOIN student s ON s.department_id = d.id GROUP BY d.name",
    ),
    (
        COLLEGE,
        "SELECT d.name, count(s.id) FROM department d LEFT JOIN student s ON s.department_id = d.id GROUP BY d.name",
        "SELECT d.name, (SELECT count(*) FROM student s WHERE s.department_id = d.id) FROM department d",
    ),
    (COLLEGE, "SELECT student_id, course_id FROM enrolment", "SELECT DISTINCT student_id, course_id FROM enrolment"),
    (
        COLLEGE,
        "SELECT count(*) FROM (SELECT student_id, course_id FROM enrolment) t",
        "SELECT count(*) FROM (SELECT DISTINCT student_id, course_id FROM enrolment) t",
    ),
    # conditions
    (
        COLLEGE,
        "SELECT name FROM student WHERE age BETWEEN 20 AND 30",
        "SELECT name FROM student WHERE age >= 20 AND age <= 30",
    ),
    (COLLEGE, "SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE age >= 21"),
    (COLLEGE, "SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE NOT age <= 20"),
    (COLLEGE, "SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE 20 < age"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE city IN ('Rome', 'Oslo')",
        "SELECT name FROM student WHERE city = 'Oslo' OR city = 'Rome'",
    ),
    (
        COLLEGE,
        "SELECT name FROM student WHERE NOT (age > 20 AND gpa > 3)",
        "SELECT name FROM student WHERE age <= 20 OR gpa <= 3",
    ),
    (COLLEGE, "SELECT title FROM course WHERE credits > 0", "SELECT title FROM course"),
    (
        COLLEGE,
        "SELECT title FROM course WHERE credits >= 1 AND credits < 5",
        "SELECT title FROM course WHERE credits < 5",
    ),
    (COLLEGE, "SELECT name FROM student WHERE name = 'Ada' OR name <> 'Ada'", "SELECT name FROM student"),
    (COLLEGE, "SELECT name FROM student WHERE age IS NOT NULL", "SELECT name FROM student WHERE age = age"),
    (COLLEGE, "SELECT count(grade) FROM enrolment", "SELECT count(*) FROM enrolment WHERE grade IS NOT NULL"),
    (
        COLLEGE,
        "SELECT name FROM student WHERE city LIKE 'R%'",
        "SELECT name FROM student WHERE substr(city, 1, 1) = 'R'",
    ),
    # subquery, CTE, set operations
    (
        COLLEGE,
        "SELECT name FROM student WHERE age > (SELECT avg(age) FROM student)",
        "WITH m AS (SELECT avg(age) AS a FROM student) SELECT s.name FROM student s, m WHERE s.age > m.a",
    ),
    (
        COLLEGE,
        "SELECT city FROM student WHERE age > 20 GROUP BY city",
        "SELECT DISTINCT city FROM student WHERE age > 20",
    ),
    (
        COLLEGE,
        "SELECT city FROM student WHERE age > 20 UNION SELECT city FROM student WHERE gpa > 3",
        "SELECT DISTINCT city FROM student WHERE age > 20 OR gpa > 3",
    ),
    (
        COLLEGE,
        "SELECT id FROM student WHERE age > 20 INTERSECT SELECT id FROM student WHERE gpa > 3",
        "SELECT id FROM student WHERE age > 20 AND gpa > 3",
    ),
    (
        COLLEGE,
        "SELECT id FROM student EXCEPT SELECT student_id FROM enrolment WHERE grade < 80",
        "SELECT id FROM student WHERE id NOT IN (SELECT student_id FROM enrolment WHERE grade < 80)",
    ),
    (
        COLLEGE,
        "SELECT department_id, count(*) FROM student GROUP BY department_id HAVING count(*) > 1",
        "SELECT * FROM (SELECT department_id, count(*) AS n FROM student GROUP BY department_id) t WHERE n > 1",
    ),
    (
        COLLEGE,
        "SELECT department_id, count(*) FROM student WHERE department_id > 1 GROUP BY department_id",
        "SELECT department_id, count(*) FROM student GROUP BY department_id HAVING department_id > 1",
    ),
    # aggregates
    (
        COLLEGE,
        "SELECT max(age) FROM student",
        "SELECT age FROM student WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1",
    ),
    (COLLEGE, "SELECT min(gpa) FROM student", "SELECT gpa FROM student WHERE gpa IS NOT NULL ORDER BY gpa LIMIT 1"),
    (COLLEGE, "SELECT avg(gpa) FROM student", "SELECT sum(gpa) / count(gpa) FROM student"),
    (
        COLLEGE,
        "SELECT count(*) FROM student WHERE age > 20",
        "SELECT sum(CASE WHEN age > 20 THEN 1 ELSE 0 END) FROM student",
    ),
    (
        COLLEGE,
        "SELECT name FROM student WHERE age = (SELECT max(age) FROM student)",
        "SELECT name FROM student WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1",
    ),
    (
        COLLEGE,
        "SELECT name FROM student WHERE age IS NOT NULL ORDER BY age DESC LIMIT 1",
        "SELECT name FROM student WHERE age = (SELECT max(age) FROM student)",
    ),
    (
        COLLEGE,
        "SELECT d.name FROM student s JOIN department d ON d.id = s.department_id GROUP BY d.name ORDER BY count(*) DESC LIMIT 1",
        "SELECT d.name FROM department d WHERE d.id = (SELECT department_id FROM student GROUP BY department_id ORDER BY count(*) DESC LIMIT 1)",
    ),
    (
        COLLEGE,
        "SELECT d.name FROM student s JOIN department d ON d.id = s.department_id GROUP BY d.name HAVING count(*) = (SELECT max(n) FROM (SELECT count(*) AS n FROM student GROUP BY department_id) t)",
        "SELECT d.name FROM student s JOIN department d ON d.id = s.department_id GROUP BY d.name ORDER BY count(*) DESC LIMIT 1",
    ),
    (
        COLLEGE,
        "SELECT count(DISTINCT city) FROM student",
        "SELECT count(*) FROM (SELECT DISTINCT city FROM student WHERE city IS NOT NULL) t",
    ),
    # order
    (
        COLLEGE,
        "SELECT name FROM student WHERE age IS NOT NULL ORDER BY age",
        "SELECT name FROM student WHERE age IS NOT NULL ORDER BY age ASC, id",
    ),
    (
        COLLEGE,
        "SELECT name, age FROM student WHERE age IS NOT NULL ORDER BY age DESC",
        "SELECT name, age FROM student WHERE age IS NOT NULL ORDER BY 2 DESC",
    ),
    (
        COLLEGE,
        "SELECT name FROM (SELECT name, age, row_number() OVER (ORDER BY age DESC) AS n FROM student WHERE age IS NOT NULL) t WHERE n <= 2",
        "SELECT name FROM student WHERE age IS NOT NULL ORDER BY age DESC LIMIT 2",
    ),
    # nothing declared, but evident
    (SHOP, "SELECT count(*) FROM customer", "SELECT count(DISTINCT customer_id) FROM customer"),
    (SHOP, "SELECT count(*) FROM orders", "SELECT count(order_id) FROM orders"),
    (
        SHOP,
        "SELECT count(*) FROM orders",
        "SELECT count(*) FROM orders o JOIN customer c ON c.customer_id = o.customer_id",
    ),
    (
        SHOP,
        "SELECT o.order_id, c.first_name FROM orders o LEFT JOIN customer c ON c.customer_id = o.customer_id",
        "SELECT o.order_id, c.first_name FROM orders o JOIN customer c USING (customer_id)",
    ),
    (
        SHOP,
        "SELECT first_name FROM customer WHERE customer_id IN (SELECT customer_id FROM orders WHERE status = 'open')",
        "SELECT c.first_name FROM customer c WHERE EXISTS (SELECT * FROM orders o WHERE o.customer_id = c.customer_id AND o.status = 'open')",
    ),
    (SHOP, "SELECT count(status) FROM orders", "SELECT count(*) FROM orders"),
    (
        SHOP,
        "SELECT country, count(*) FROM customer GROUP BY country",
        "SELECT country, count(email) FROM customer GROUP BY country",
    ),
    (SHOP, "SELECT DISTINCT email FROM customer", "SELECT email FROM customer"),
    (SHOP, "SELECT order_id, product_id FROM order_item", "SELECT DISTINCT order_id, product_id FROM order_item"),
    (
        SHOP,
        "SELECT order_id FROM orders WHERE order_date LIKE '2023%'",
        "SELECT order_id FROM orders WHERE order_date >= '2023-01-01' AND order_date < '2024-01-01'",
    ),
    (
        SHOP,
        "SELECT order_id FROM orders WHERE strftime('%Y', order_date) = '2023'",
        "SELECT order_id FROM orders WHERE substr(order_date, 1, 4) = '2023'",
    ),
    (
        SHOP,
        "SELECT order_id FROM orders WHERE order_date BETWEEN '2023-01-01' AND '2023-12-31'",
        "SELECT order_id FROM orders WHERE order_date LIKE '2023-%'",
    ),
    (SHOP, "SELECT order_id FROM orders WHERE ship_date >= order_date", "SELECT order_id FROM orders"),
    (SHOP, "SELECT product_name FROM product WHERE price >= 0", "SELECT product_name FROM product"),
    (
        SHOP,
        "SELECT c.first_name, sum(i.quantity * p.price) FROM customer c JOIN orders o ON o.customer_id = c.customer_id JOIN order_item i ON i.order_id = o.order_id JOIN product p ON p.product_id = i.product_id GROUP BY c.customer_id",
        "SELECT c.first_name, t.total FROM customer c JOIN (SELECT o.customer_id, sum(i.quantity * p.price) AS total FROM orders o JOIN order_item i ON i.order_id = o.order_id JOIN product p ON p.product_id = i.product_id GROUP BY o.customer_id) t ON t.customer_id = c.customer_id",
    ),
    (
        SHOP,
        "SELECT product_name, max(price) FROM product",
        "SELECT product_name, price FROM product ORDER BY price DESC LIMIT 1",
    ),
    (
        SHOP,
        "SELECT category FROM product GROUP BY category ORDER BY avg(price) DESC LIMIT 1",
        "SELECT category FROM (SELECT category, avg(price) AS a FROM product GROUP BY category) t ORDER BY a DESC LIMIT 1",
    ),
    (
        WEATHER,
        "SELECT station, max(degrees) FROM reading GROUP BY station",
        "SELECT DISTINCT station, max(degrees) OVER (PARTITION BY station) FROM reading",
    ),
    (
        WEATHER,
        "SELECT count(*) FROM reading WHERE degrees < 0 OR degrees > 10",
        "SELECT count(*) FROM reading WHERE NOT degrees BETWEEN 0 AND 10",
    ),
    (
        WEATHER,
        "SELECT station FROM reading GROUP BY station HAVING count(*) > 1",
        "SELECT DISTINCT a.station FROM reading a WHERE (SELECT count(*) FROM reading b WHERE b.station = a.station) > 1",
    ),
]
"""(database, reference, a query that means the same)"""


def judged(engine: EngineName, script: str, reference: str, answer: str, mutations: int = 8) -> Outcome:
    chosen = SqlParams(mutations=mutations)
    carried = SqlReference(database=CarriedDatabase(engine=engine, script=script), sql=reference)
    found: Outcome = verifier(
        f"```sql\n{answer}\n```", prepare(carried, chosen, Databases(), Unwatched()), chosen, Unwatched()
    )
    return found


def made(script: str, reference: str, answer: str, *, engine: EngineName = "sqlite", n: int = 8) -> mutation.Mutations:
    """The mutated databases of a pair."""
    params = SqlParams(mutations=n)
    carried = SqlReference(database=CarriedDatabase(engine=engine, script=script), sql=reference)
    gold = prepare(carried, params, Databases(), Unwatched())
    return mutation.mutated(gold, read_statement(answer, gold.dialect), params, Unwatched())


@pytest.mark.parametrize(("script", "reference", "answer"), LUCKY)
def test_a_query_that_is_right_on_one_toy_database_by_luck_is_told_apart(
    script: str, reference: str, answer: str
) -> None:
    assert judged("sqlite", script, reference, answer, 0).passed
    found = judged("sqlite", script, reference, answer)
    assert not found.passed
    assert found.reason == "differs_on_another_database"


@pytest.mark.parametrize(("script", "reference", "answer"), EQUIVALENT)
def test_a_query_that_means_the_same_passes_on_every_mutated_database(script: str, reference: str, answer: str) -> None:
    found = judged("sqlite", script, reference, answer)
    assert (found.passed, found.reason) == (True, None)
    assert found.evidence["mutations"] >= 4


@pytest.mark.parametrize(("script", "reference", "answer"), [LUCKY[0], LUCKY[14], LUCKY[26]])
def test_duckdb_tells_them_apart_too(script: str, reference: str, answer: str) -> None:
    assert not judged("duckdb", script, reference, answer, 4).passed


@pytest.mark.parametrize(("script", "reference", "answer"), [EQUIVALENT[0], EQUIVALENT[7], EQUIVALENT[22]])
def test_duckdb_lets_equals_pass_too(script: str, reference: str, answer: str) -> None:
    found = judged("duckdb", script, reference, answer, 3)
    assert found.passed
    assert found.evidence["mutations"] == 3


def test_every_engine_tells_a_missing_border_and_lets_a_join_for_in_pass(world: World) -> None:
    asked = "SELECT name FROM student WHERE age > 20"
    border = world.judge("SELECT name FROM student WHERE age >= 20", asked, script=COLLEGE, mutations=2)
    assert (border.passed, border.reason) == (False, "differs_on_another_database")
    _, reference, answer = EQUIVALENT[0]
    same = world.judge(answer, reference, script=COLLEGE, mutations=1)
    assert same.passed
    assert same.evidence["mutations"] == 1


ALL = "SELECT * FROM enrolment e JOIN student s ON s.id = e.student_id JOIN course c ON c.id = e.course_id"


def test_mutated_databases_keep_what_the_schema_declares() -> None:
    databases = made(
        COLLEGE, ALL, "SELECT * FROM enrolment WHERE grade > 3 OR credits = -1 OR department_id = 77"
    ).databases
    assert len(databases) == 8
    for database in databases:
        tables = {name.lower(): table.rows for name, table in database.tables.items()}
        students = {row[0] for row in tables["student"]}
        assert len(students) == len(tables["student"])
        assert {row[0] for row in tables["enrolment"]} <= students
        assert {row[1] for row in tables["enrolment"]} <= {row[0] for row in tables["course"]}
        assert {row[6] for row in tables["student"]} <= {row[0] for row in tables["department"]}
        assert len({row[:2] for row in tables["enrolment"]}) == len(tables["enrolment"])
        assert all(row[2] > 0 for row in tables["course"])
        assert all(None not in (row[1], row[5]) for row in tables["student"])


def test_mutated_databases_keep_what_the_rows_hint_at() -> None:
    asked = "SELECT * FROM orders o JOIN customer c ON c.customer_id = o.customer_id"
    databases = made(
        SHOP, asked, "SELECT * FROM orders WHERE order_date > '2023-01-05' AND status = 'Shipped'"
    ).databases
    assert databases
    for database in databases:
        customers = [row[0] for row in database.tables["customer"].rows]
        orders = database.tables["orders"].rows
        assert len(set(customers)) == len(customers)
        assert {row[1] for row in orders} <= set(customers)
        assert all(row[2] <= row[3] for row in orders)
        assert all(row[2][4] == row[2][7] == "-" and len(row[2]) == 10 for row in orders)
        assert all(None not in row for row in orders)


def test_a_composite_foreign_key_points_to_rows_that_are_there() -> None:
    script = """
    CREATE TABLE seat (hall TEXT, number INTEGER, price INTEGER, PRIMARY KEY (hall, number));
    CREATE TABLE ticket (id INTEGER PRIMARY KEY, hall TEXT NOT NULL, number INTEGER NOT NULL, sold INTEGER,
        FOREIGN KEY (hall, number) REFERENCES seat (hall, number));
    INSERT INTO seat VALUES ('A', 1, 10), ('A', 2, 12), ('B', 1, 20), ('B', 3, 25);
    INSERT INTO ticket VALUES (1, 'A', 1, 5), (2, 'B', 3, 6), (3, 'A', 1, 7);
    """
    asked = "SELECT t.id, s.price FROM ticket t JOIN seat s ON s.hall = t.hall AND s.number = t.number"
    databases = made(script, asked, "SELECT id, 4 FROM ticket WHERE hall = 'C' AND number = 9").databases
    assert databases
    for database in databases:
        seats = {row[:2] for row in database.tables["seat"].rows}
        assert {row[1:3] for row in database.tables["ticket"].rows} <= seats


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
def test_a_table_that_points_to_itself_keeps_doing_so(engine: EngineName) -> None:
    script = """
    CREATE TABLE emp (id INTEGER PRIMARY KEY, name TEXT NOT NULL, boss INTEGER REFERENCES emp (id), active BOOLEAN NOT NULL);
    INSERT INTO emp VALUES (1, 'Ann', NULL, TRUE);
    INSERT INTO emp VALUES (2, 'Ben', 1, TRUE);
    INSERT INTO emp VALUES (3, 'Cal', 2, FALSE);
    """
    asked = "SELECT e.name, b.name FROM emp e JOIN emp b ON e.boss = b.id"
    databases = made(script, asked, asked, engine=engine, n=2).databases
    assert databases
    for database in databases:
        rows = database.tables["emp"].rows
        assert {row[2] for row in rows} - {None} <= {row[0] for row in rows}
        assert {row[3] for row in rows} <= {True, False}


def test_the_set_is_the_same_in_another_process() -> None:
    _, reference, answer = LUCKY[0]
    here = [database.key for database in made(COLLEGE, reference, answer).databases]
    code = (
        "from tests.verifiers.sql.test_mutation import COLLEGE, LUCKY, made\n"
        "print([item.key for item in made(COLLEGE, *LUCKY[0][1:]).databases])"
    )
    there = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert str(here) == there.strip()


def test_what_the_answer_mentions_enters_the_set() -> None:
    asked = "SELECT name FROM student WHERE age > 20"
    one = made(COLLEGE, asked, "SELECT name FROM student WHERE 20 < age")
    assert one == made(COLLEGE, asked, asked)
    assert one != made(COLLEGE, asked, "SELECT name FROM student WHERE age > 20 AND gpa > 1.25")


def test_a_view_comes_along_with_the_tables_under_it() -> None:
    script = COLLEGE + "CREATE VIEW adult AS SELECT id, name, age FROM student WHERE age >= 21;"
    found = judged("sqlite", script, "SELECT name FROM adult WHERE age < 30", "SELECT name FROM adult WHERE age < 26")
    assert found.reason == "differs_on_another_database"
    same = judged("sqlite", script, "SELECT count(*) FROM adult", "SELECT count(*) FROM student WHERE age > 20")
    assert same.passed
    assert same.evidence["mutations"] == 8


@pytest.mark.parametrize(
    ("script", "asked", "why"),
    [
        (COLLEGE, "SELECT group_concat(name) FROM student", "order of rows"),
        (COLLEGE, "SELECT 1", "no table"),
        (COLLEGE, "SELECT name FROM (SELECT * FROM student ORDER BY age LIMIT 2) t", "over *"),
    ],
)
def test_where_no_database_can_be_made_the_evidence_says_why_and_nothing_is_refused(
    script: str, asked: str, why: str
) -> None:
    params = SqlParams(mutations=4, constants=True)
    carried = SqlReference(database=CarriedDatabase(script=script), sql=asked)
    found = verifier(f"```sql\n{asked}\n```", prepare(carried, params, Databases(), Unwatched()), params, Unwatched())
    assert found.passed
    assert found.evidence["mutations"] == 0
    assert why in found.evidence["mutations_why"]


MANY = " UNION ALL ".join(f"SELECT n FROM t{number}" for number in range(12))
"""More tables than mutated databases may have."""
OTHERS = "SELECT name FROM (SELECT * FROM student ORDER BY age LIMIT 2) t"


@pytest.mark.parametrize("answer", ["SELECT name FROM student WHERE age < 23", "SELECT name FROM student LIMIT 2"])
def test_another_query_is_undecided_where_no_database_can_be_made_for_the_reference(answer: str) -> None:
    found = judged("sqlite", COLLEGE, OTHERS, answer)
    assert (found.status, found.reason, found.fault) == ("undecided", "not_mutated", "verifier")
    wrong = judged("sqlite", COLLEGE, OTHERS, "SELECT name FROM student WHERE age > 23")
    assert (wrong.status, wrong.score) == ("scored", 0.0)


def test_the_same_query_passes_where_no_database_can_be_made() -> None:
    found = judged("sqlite", COLLEGE, OTHERS, f"{OTHERS.lower()} -- that is all\n;")
    assert found.passed


@pytest.mark.parametrize(
    ("answer", "passed"),
    [
        ("SELECT name FROM student WHERE age >= 21", True),
        ("SELECT name FROM student WHERE age >= 22", False),
        # Attacks: each names what no database can be made of, or leaves open which rows it takes.
        (f"SELECT name FROM student WHERE age >= 22 AND NOT EXISTS ({MANY})", False),
        ("SELECT name FROM (SELECT * FROM student ORDER BY age DESC LIMIT 3) t", False),
        ("SELECT name FROM student WHERE age >= 22 AND (SELECT group_concat(name) FROM student) <> ''", False),
    ],
)
def test_an_answer_cannot_keep_databases_from_being_made(answer: str, passed: bool) -> None:
    script = COLLEGE + "".join(f"CREATE TABLE t{number} (n INTEGER);" for number in range(12))
    found = judged("sqlite", script, "SELECT name FROM student WHERE age > 20", answer)
    assert (found.status, found.passed) == ("scored", passed)


def test_rows_that_tie_wherever_one_looks_are_no_way_around() -> None:
    asked = "SELECT min(age) FROM student"
    honest = judged("sqlite", COLLEGE, asked, "SELECT age FROM student ORDER BY age LIMIT 1")
    tied = judged("sqlite", COLLEGE, asked, "SELECT age FROM student ORDER BY age > 200 LIMIT 1")
    assert (honest.passed, tied.status, tied.passed) == (True, "scored", False)


@pytest.mark.parametrize(
    ("asked", "right", "wrong"),
    [
        (
            'SELECT name FROM student WHERE city = "Rome"',
            "SELECT name FROM student WHERE city IN ('Rome')",
            "SELECT name FROM student WHERE city LIKE 'R%'",
        ),
        (
            'SELECT name FROM student WHERE "city" = "Rome" AND age < 30',
            "SELECT name FROM student WHERE city = 'Rome' AND age < 30",
            "SELECT name FROM student WHERE city = 'Rome'",
        ),
    ],
)
def test_a_text_in_double_quotes_is_a_constant_to_sqlite(asked: str, right: str, wrong: str) -> None:
    mentions = Mentions(read_statement(asked, "sqlite"))
    assert "Rome" in mentions.held["city"]
    assert judged("sqlite", COLLEGE, asked, right).passed
    assert judged("sqlite", COLLEGE, asked, wrong).reason == "differs_on_another_database"


def test_a_column_in_double_quotes_is_no_constant() -> None:
    statement = Mentions(read_statement('SELECT "name" FROM student WHERE "city" = "Rome"', "sqlite"))
    needs = Needs.of([statement], statement, ordered=False, known={"name", "city", "student"})
    assert needs.constants == ("Rome",)
    assert dict(needs.held) == {"city": ("Rome",)}


BARE = re.sub("INSERT INTO.*?;", "", COLLEGE, flags=re.DOTALL)


@pytest.mark.parametrize("engine", ["sqlite", "duckdb"])
@pytest.mark.parametrize(
    ("asked", "answer", "passed"),
    [
        ("SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE NOT age <= 20", True),
        ("SELECT name FROM student WHERE age > 20", "SELECT name FROM student WHERE age >= 20", False),
        ("SELECT name FROM student WHERE age > 20", "SELECT name FROM student", False),
        ("SELECT count(*) FROM student WHERE age > 20", "SELECT count(age) FROM student WHERE age > 20", True),
        (
            "SELECT count(*) FROM student WHERE age > 20",  # over no rows one is 0 and the other NULL
            "SELECT sum(CASE WHEN age > 20 THEN 1 ELSE 0 END) FROM student",
            True,
        ),
        ("SELECT count(*) FROM student WHERE age > 20", "SELECT count(*) FROM course", False),
        (
            "SELECT s.name FROM student s JOIN department d ON d.id = s.department_id WHERE d.name = 'Physics'",
            "SELECT name FROM student WHERE department_id IN (SELECT id FROM department WHERE name = 'Physics')",
            True,
        ),
        (
            "SELECT s.name FROM student s JOIN department d ON d.id = s.department_id WHERE d.name = 'Physics'",
            "SELECT s.name FROM student s JOIN department d ON d.id = s.id WHERE d.name = 'Physics'",
            False,
        ),
    ],
)
def test_rows_are_made_where_there_is_only_a_schema(engine: EngineName, asked: str, answer: str, passed: bool) -> None:
    found = judged(engine, BARE, asked, answer)
    assert (found.status, found.passed) == ("scored", passed)
    assert found.evidence["mutations"] > 0 or not passed


def test_a_schema_alone_is_an_empty_reference_without_mutation() -> None:
    with pytest.raises(InvalidReference, match="its result is empty"):
        judged("sqlite", BARE, "SELECT name FROM student", "SELECT name FROM student", mutations=0)


def test_an_answer_that_fails_where_the_reference_does_not_is_wrong() -> None:
    script = """
    CREATE TABLE t (id INTEGER PRIMARY KEY, doc TEXT NOT NULL, n INTEGER NOT NULL);
    INSERT INTO t VALUES (1, '[1]', 5), (2, '[2]', 8), (3, 'a', 1);
    """
    asked = "SELECT n FROM t WHERE doc <> 'b' AND n > 4"
    found = judged("sqlite", script, asked, "SELECT n FROM t WHERE n > 4 AND json_extract(doc, '$[0]') > 0")
    assert (found.status, found.passed, found.reason) == ("scored", False, "runtime_error")


def test_limit_without_an_order_is_no_way_around() -> None:
    found = judged("sqlite", COLLEGE, "SELECT max(age) FROM student", "SELECT age FROM student WHERE gpa = 3.5 LIMIT 1")
    assert not found.passed


def test_the_words_and_constants_of_an_answer_count_though_no_tree_could_be_read() -> None:
    params = SqlParams(mutations=4)
    carried = SqlReference(database=CarriedDatabase(script=COLLEGE), sql="SELECT name FROM student WHERE age > 20")
    gold = prepare(carried, params, Databases(), Unwatched())
    answer = Statement("SELECT title FROM course WHERE credits = 77", "sqlite", None)
    databases = mutation.mutated(gold, answer, params, Unwatched()).databases
    assert len(databases) == 4
    assert all("course" in database.tables for database in databases)


def test_a_large_database_is_sampled_and_not_read() -> None:
    script = (
        "CREATE TABLE big (id INTEGER PRIMARY KEY, n INTEGER NOT NULL, name TEXT NOT NULL);"
        "WITH RECURSIVE s(v) AS (SELECT 1 UNION ALL SELECT v + 1 FROM s WHERE v < 20000)"
        "INSERT INTO big SELECT v, v % 97, 'Name ' || v FROM s;"
    )
    databases = made(script, "SELECT name FROM big WHERE n > 50", "SELECT name FROM big WHERE n > 51").databases
    assert databases
    assert all(len(table.rows) <= 24 for database in databases for table in database.tables.values())
