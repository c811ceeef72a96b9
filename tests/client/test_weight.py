"""The cost of importing: trainers and worker processes import the types and pay for nothing else."""

from __future__ import annotations

import subprocess
import sys

import pytest


def loaded_after(code: str) -> set[str]:
    """The modules that a fresh interpreter has after the code."""
    program = f"{code}\nimport sys; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


@pytest.mark.parametrize("code", ["import rewarden", "from rewarden.types import Sample", "import rewarden.errors"])
def test_the_types_alone_load_nothing_heavy(code: str) -> None:
    assert not loaded_after(code) & {"asyncio", "httpx", "grpc", "msgspec", "google.protobuf", "pydantic"}


def test_the_client_loads_httpx_and_grpc_only_when_a_target_needs_them() -> None:
    made = "from rewarden import Client, AsyncClient, SampleStream; Client('grpc://127.0.0.1:1')"
    assert not loaded_after(made) & {"httpx", "grpc", "google.protobuf", "pydantic"}


def test_everything_that_is_exported_is_there() -> None:
    import rewarden

    for name in rewarden.__all__:
        assert getattr(rewarden, name) is not None
    assert set(rewarden.__all__) <= set(dir(rewarden))
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        rewarden.Nothing  # noqa: B018
