"""Fingerprints: everything that a verdict depends on, as twelve bytes.

tree.py         a module's source as bytes: its syntax tree without positions, comments and docstrings
imports.py      the modules and texts that a syntax tree names
sources.py      both of them for a source, from a table that is written when the distribution is built
modules.py      where modules and the files beside them lie, without importing anything
closure.py      every module and data file that a verifier's code reaches
fingerprint.py  the digest over that closure, parameters, libraries and what the configuration provides
"""
