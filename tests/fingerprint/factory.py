"""A module that has its verifier from another."""

from tests.engine.toys import toy_cpu as toy_cpu
