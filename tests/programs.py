"""Facts for tests that run programs: which verifiers do, and whether this machine has a sandbox, and a Lean."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.settings import HostSettings
from tests.lean.toolchain import TOOLCHAIN, needs_lean, toolchain

LAUNCHERS = ("docker", "bwrap")

SANDBOXED = {"code", "code_all", "code_fraction", "code_format", "puzzle"}
"""Verifiers and recipes whose cases run programs."""

LEAN = {
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


async def problem_of(name: str) -> str | None:
    """Returns why this machine cannot have slots of that launcher, or None."""
    launcher = (DockerLauncher if name == "docker" else BwrapLauncher)(HostSettings())
    try:
        for image in ("python", "toolchains"):
            problem = await launcher.problem(image)
            if problem is not None:
                return f"{name}: {problem}"
        return None
    finally:
        launcher.close()


@lru_cache(maxsize=1)
def no_sandbox() -> str | None:
    """Returns why no program can be run on this machine, or None. Blocks."""
    with ThreadPoolExecutor(1) as thread:  # there may be a loop in this one
        problems = [thread.submit(asyncio.run, problem_of(name)).result() for name in LAUNCHERS]
    return None if None in problems else "; ".join(filter(None, problems))


def no_lean() -> str | None:
    """Returns why nothing can be proved on this machine, or None. Blocks."""
    return needs_lean.kwargs["reason"] if toolchain() is None else no_sandbox()


def lacking(kind: str) -> str | None:
    """Returns why this machine cannot judge `texts`, `opinions`, `programs` or `proofs`, or None. Blocks."""
    return None if kind in ("texts", "opinions") else no_sandbox() if kind == "programs" else no_lean()
