"""Data, checked before training: stored solutions, programs that do nothing and mutants, judged by each row's tests."""
