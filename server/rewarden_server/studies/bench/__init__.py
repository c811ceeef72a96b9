"""Published sets that judges and reward models are measured on: their rows, their questions and their figures.

The way of a run through the files: `sets.py` is the table of the sets, and each set has a file. `row.py` reads a field
of a row, `read.py` the files; a set makes an entry (`entry.py`) of each row: responses to compare (`contest.py`), steps
to mark (`solution.py`), or one response to accept (`single.py`). `bench.py` asks, `figures.py` has the arithmetic that
sets share, `labelled.py` makes labelled responses of entries, `render.py` and `page.py` show what was found.
docs/judges-bench.md is the manual.
"""
