"""Benchmarks: ratios against a named baseline in the same run, with the load's shape stated.

`python -m benchmarks` runs them all; `python -m benchmarks math_pairs` one. Seconds depend on the machine; ratios are
what is promised.
"""
