"""Runs the benchmarks named on the command line, or all of them. Exits with status 1 if a promise was broken."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "math_pairs",
    "near_misses",
    "text",
    "number",
    "structures",
    "instructions",
    "boxes",
    "similarity",
    "molecules",
    "puzzles",
    "sql_pairs",
    "report_page",
    "pages",
    "bounded",
    "growth",
    "imports",
    "cold",
    "install",
    "recipes",
    "transport",
    "trainers",
    "runs",
    "large",
    "costs",
    "ray",
    "sandbox",
    "sandbox_boxes",
    "lean",
    "judges",
    "models",
)


def main() -> int:
    """Runs the benchmarks and returns the exit status."""
    broken = []
    for name in sys.argv[1:] or NAMES:
        broken += [f"{name}: {what}" for what in importlib.import_module(f"benchmarks.{name}").run()]
    print("\nall promises kept" if not broken else "\nNOT KEPT\n" + "\n".join(f"   {what}" for what in broken))
    return bool(broken)


if __name__ == "__main__":
    sys.exit(main())
