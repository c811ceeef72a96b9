"""The fixtures of the tests that use a real Lean. Tests elsewhere import them from here, or use `toolchain.build`."""

from __future__ import annotations

import pytest

from tests.lean.toolchain import Library, build, needs_lean, toolchain


@pytest.fixture(scope="session")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The library `base/`, compiled; skips if there is no Lean."""
    found = toolchain()
    if found is None:
        pytest.skip(needs_lean.kwargs["reason"])
    return build(tmp_path_factory.mktemp("lean"), found)
