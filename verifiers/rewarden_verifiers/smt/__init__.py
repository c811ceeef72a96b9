"""SMT-LIB scripts, models and statuses, checked by Z3 in a separate process."""
