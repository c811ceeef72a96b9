-- A library: books, and who has borrowed them.
CREATE TABLE book (id INTEGER PRIMARY KEY, title TEXT NOT NULL, author TEXT NOT NULL, year INTEGER NOT NULL);
CREATE TABLE loan (
    id INTEGER PRIMARY KEY,
    book_id INTEGER NOT NULL REFERENCES book (id),
    reader TEXT NOT NULL,
    returned TEXT
);
INSERT INTO book VALUES
    (1, 'Emma', 'Jane Austen', 1815), (2, 'Persuasion', 'Jane Austen', 1817), (3, 'Dracula', 'Bram Stoker', 1897),
    (4, 'Ulysses', 'James Joyce', 1922), (5, 'Dubliners', 'James Joyce', 1914);
INSERT INTO loan VALUES
    (1, 1, 'Ines', '2025-02-01'), (2, 1, 'Jonas', NULL), (3, 3, 'Ines', NULL), (4, 4, 'Kim', '2025-03-12'),
    (5, 4, 'Jonas', '2025-04-02'), (6, 4, 'Ines', NULL);
