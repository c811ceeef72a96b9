"""Published sets for measuring judges and reward models: their rows, their questions and their figures.

The files in the order of a run: `sets.py` is the table of the sets, and each set has a file. `row.py` reads a field of
a row, `read.py` the files. A set turns each row into an entry (`entry.py`): responses to compare (`contest.py`), steps
to mark (`solution.py`), or one response to accept (`single.py`). `bench.py` requests the verdicts, `figures.py` has the
arithmetic that sets share, `labelled.py` turns entries into labelled responses, and `render.py` and `page.py` show the
results. docs/judges-bench.md is the manual.
"""
