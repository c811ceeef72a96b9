"""`text`: short answers in words, compared with one reference or several."""
