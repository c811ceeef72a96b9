"""Compares the verdicts of two versions: `rewarden verdicts`.

corpus.py         what is judged: verifiers' cases, files of samples, or the samples of a record
judging.py        a program that judges a corpus; it runs in either installation
installation.py   a version of Rewarden that is installed somewhere, and what it makes of a corpus
change.py         two judgements of one corpus, compared
"""
