"""Facts for tests that run programs: which verifiers do, and whether this machine has a sandbox, and a Lean."""

from __future__ import annotations

import asyncio
import os
import shutil
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import docker
from docker.errors import DockerException

from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.settings import HostSettings
from tests.lean.toolchain import TOOLCHAIN, needs_lean, toolchain

LAUNCHERS = ("docker", "bwrap")

SANDBOXED = {
    *("code", "code_output", "kernel", "puzzle", "task", "swe"),
    *("code_all", "code_fraction", "code_format", "autotriton", "rethinkmcts"),
}
"""Verifiers and recipes whose cases run programs."""

HARDWARE = {"dafny", "re_form", "rocq", "verilog"}
"""Verifiers and recipes whose cases need the image `scripts`; `tests/verifiers/test_verilog.py` runs them."""

LEAN = {
    "formalization",
    "lean",
    "lean_proof",
    "lean_statement",
    "kimina_prover",
    "deepseek_prover_v2",
    "goedel_prover_v2",
    "leanabell_prover_v2",
    "proof_flow",
    "gar_solver",
    "gar_composer",
}
"""Verifiers and recipes whose cases run Lean."""

LEAN_PROJECTS = f"tests={TOOLCHAIN}"
"""The value of REWARDEN_LEAN_PROJECTS for a server in these cases."""


def is_installed(name: str) -> bool:
    """Returns whether the launcher's tools are there: bubblewrap, or a container engine that answers."""
    if name == "bwrap":
        return shutil.which("bwrap") is not None
    try:
        engine = docker.from_env(timeout=5)
        try:
            return bool(engine.ping())
        finally:
            engine.close()
    except (DockerException, OSError):
        return False


def absent(name: str, reason: str) -> str:
    """The reason with which tests skip that want this launcher. Raises AssertionError with it in CI, where the
    launcher's tools are there: one that we broke must not look like one that the machine lacks.
    """
    if os.environ.get("CI") == "true" and is_installed(name):
        raise AssertionError(f"{name} is installed here and does not work: {reason}")
    return reason


async def problem_of(name: str) -> str | None:
    """Returns why this machine cannot have slots of that launcher, or None. Raises AssertionError, see `absent`."""
    launcher = (DockerLauncher if name == "docker" else BwrapLauncher)(HostSettings())
    try:
        for image in ("python", "toolchains"):
            problem = await launcher.problem(image)
            if problem is not None:
                return absent(name, f"{name}: {problem}")
        return None
    finally:
        launcher.close()


@lru_cache(maxsize=1)
def no_sandbox() -> str | None:
    """Returns why no program can be run on this machine, or None. Blocks."""
    problems = [_problem(name) for name in LAUNCHERS]
    return None if None in problems else "; ".join(filter(None, problems))


def no_lean() -> str | None:
    """Returns why nothing can be proved on this machine, or None. Blocks."""
    return needs_lean.kwargs["reason"] if toolchain() is None else no_sandbox()


@lru_cache(maxsize=1)
def no_scripts() -> str | None:
    """Returns why no program of the image `scripts` can be run on this machine, or None. Blocks."""
    if (problem := no_sandbox()) is not None:
        return problem
    launcher = next(name for name in LAUNCHERS if _problem(name) is None)
    made = (DockerLauncher if launcher == "docker" else BwrapLauncher)(HostSettings())
    try:
        with ThreadPoolExecutor(1) as thread:
            return thread.submit(asyncio.run, made.problem("scripts")).result()
    finally:
        made.close()


def _problem(name: str) -> str | None:
    with ThreadPoolExecutor(1) as thread:  # there may be a loop in this one
        return thread.submit(asyncio.run, problem_of(name)).result()


def lacking(kind: str) -> str | None:
    """Returns why this machine cannot judge `texts`, `opinions`, `programs`, `designs` or `proofs`, or None. Blocks."""
    if kind == "designs":
        return no_scripts()
    return None if kind in ("texts", "opinions") else no_sandbox() if kind == "programs" else no_lean()
