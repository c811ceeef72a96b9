"""Rescoring: files of rollouts in, the same rows with verdicts out. See docs/rescoring.md.

The way of a row: `read` (bytes to lines; files that hold rows become lines too) → `groups` (contiguous, or sorted) →
`units` (lines to samples, by `columns`, `shapes` and `routes`) → `run` (a target judges; `journal` remembers) →
`render` and `stage` (rows to the output, in the input's order) → `tally`, `baseline` and `summary`.
"""
