"""SMT-LIB scripts, models and statuses, checked by Z3 in a process of its own."""
