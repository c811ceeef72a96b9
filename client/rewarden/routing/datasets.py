"""Fields that data sets of programs keep beside their tests. The verifier `code`, with the parameter `dataset`, reads
them from a sample's metadata, if the reference is only the field with the tests."""

from __future__ import annotations

from collections.abc import Mapping

_LIMITS = ("time_limit", "memory_limit")

DATASETS: Mapping[str, tuple[str, ...]] = {
    "apps": ("fn_name",),
    "bigcodebench": ("entry_point", "code_prompt", "complete_prompt", "canonical_solution"),
    "codecontests": (
        "private_tests",
        "generated_tests",
        "solutions",
        "input_file",
        "output_file",
        "memory_limit_bytes",
        *_LIMITS,
    ),
    "codeforces": ("generated_checker", "input_mode", "interaction_format", "language", *_LIMITS),
    "codeforces_python": ("time-limit", "memory-limit"),
    "deepcoder": ("func_name",),
    "eurus_2": ("fn_name",),
    "humaneval": ("entry_point", "prompt", "canonical_solution"),
    "kodcode": ("solution",),
    "leetcode": ("entry_point", "prompt", "completion"),
    "livecodebench": ("public_test_cases", "func_name"),
    "mbpp": ("test_imports", "test_setup_code", "code"),
    "multipl_e": ("language", "prompt", "stop_tokens"),
    "reasoning360": ("prefix",),
    "rstar_coder": ("outputs", "func_name"),
    "taco": ("fn_name", *_LIMITS),
}
"""Data set to fields."""
