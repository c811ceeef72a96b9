"""What tests that run programs need to know: which verifiers do, and whether this machine has a sandbox."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

from rewarden_sandboxes.launchers.bwrap import BwrapLauncher
from rewarden_sandboxes.launchers.docker import DockerLauncher
from rewarden_sandboxes.settings import HostSettings

LAUNCHERS = ("docker", "bwrap")

SANDBOXED = {"code", "code_all", "code_fraction", "code_format", "puzzle"}
"""Verifiers and recipes whose cases run programs."""


async def problem_of(name: str) -> str | None:
    """Why this machine cannot have slots of that launcher, or None."""
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
    """Why no program can be run on this machine, or None. Blocks."""
    with ThreadPoolExecutor(1) as thread:  # there may be a loop in this one
        problems = [thread.submit(asyncio.run, problem_of(name)).result() for name in LAUNCHERS]
    return None if None in problems else "; ".join(filter(None, problems))
