"""Benchmarks: ratios against a named baseline in the same run, with the shape of the load stated.

`python -m benchmarks` runs them all; `python -m benchmarks math_pairs` runs one. Seconds depend on the machine; the
promises are about ratios.
"""
