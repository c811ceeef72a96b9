"""Asking a model in no written words needs no package for prompts: `consensus` works in the barest installation."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.needs_server

MODULES = (
    "group.consensus",
    "group.diversity",
    "generation.similarity",
    "models.rm_scalar",
    "models.style_metric",
    "models.rm_likelihood",
)


@pytest.mark.parametrize("module", MODULES)
def test_a_verifier_is_imported_without_what_renders_prompts(module: str) -> None:
    code = f"import sys; sys.modules['jinja2'] = None; import rewarden_verifiers.{module}"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
