"""The size and time of installing Rewarden, beside two installations that its users know.

Load: pip installs wheels from a folder, without the network, into a fresh virtual environment; once as it does by
default, when it compiles every module to bytecode, and once with `--no-compile`. Megabytes are those of site-packages
(10^6 bytes of files; the environment has no pip of its own). Seconds are those of one installation, by the clock and of
CPU (user and system). Needs a package index to fill the folder.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from importlib.metadata import Distribution, distributions
from pathlib import Path

from benchmarks.report import Report

BASELINE = "fastapi uvicorn"
INSTALLATIONS = {
    BASELINE: ("fastapi", "uvicorn"),
    "math-verify": ("math-verify[antlr4_13_2]",),
    "./client": ("./client",),
    "./client .": ("./client", "."),
}
"""The arguments of `pip install`."""

MOST = {"./client": 10, "./client .": 160}
"""Megabytes that are promised."""

_LARGEST = 12


@dataclass(frozen=True, slots=True)
class _Installed:
    """An installation: the bytes of each distribution, those of bytecode among them, and the seconds that it took."""

    sizes: dict[str, int]
    bytecode: int
    seconds: float
    cpu_s: float

    @property
    def megabytes(self) -> float:
        """The size."""
        return sum(self.sizes.values()) / 1e6


def _pip(*arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "--quiet", "--disable-pip-version-check", *arguments]
    subprocess.run(command, check=True)


def _cpu_s() -> float:
    """The CPU time of all processes that ended so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _files(distribution: Distribution) -> list[tuple[str, int]]:
    """The files of a distribution by its RECORD, with their sizes."""
    found = [(file.suffix, Path(str(distribution.locate_file(file)))) for file in distribution.files or ()]
    return [(suffix, path.stat().st_size) for suffix, path in found if path.is_file()]


def _install(arguments: tuple[str, ...], wheels: Path, *options: str) -> _Installed:
    """Install into a fresh environment."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        start, cpu = time.perf_counter(), _cpu_s()
        names = [{"./client": "rewarden", ".": "rewarden-server"}.get(name, name) for name in arguments]
        _pip("--python", f"{folder}/bin/python", "install", "--no-index", f"--find-links={wheels}", *options, *names)
        seconds, cpu_s = time.perf_counter() - start, _cpu_s() - cpu
        (site,) = Path(folder).glob("lib/python*/site-packages")
        files = {one.name: _files(one) for one in distributions(path=[str(site)])}
        return _Installed(
            sizes={name: sum(size for _, size in found) for name, found in files.items()},
            bytecode=sum(size for found in files.values() for suffix, size in found if suffix == ".pyc"),
            seconds=seconds,
            cpu_s=cpu_s,
        )


def run() -> list[str]:
    """Run and report; the promises not kept."""
    report = Report(f"install: Rewarden against `pip install {BASELINE}`")
    baseline = None
    installed: dict[str, _Installed] = {}
    for name, arguments in INSTALLATIONS.items():
        with tempfile.TemporaryDirectory() as folder:
            _pip("wheel", f"--wheel-dir={folder}", *arguments)
            found = installed[name] = _install(arguments, Path(folder))
            bare = _install(arguments, Path(folder), "--no-compile")
        baseline = baseline or found
        report.figure(f"{name}: packages", len(found.sizes))
        report.figure(f"{name}: size", found.megabytes, "MB", most=MOST.get(name))
        report.figure(f"{name}: of it bytecode", found.bytecode / 1e6, "MB")
        report.figure(f"{name}: time", found.seconds, "s")
        report.figure(f"{name}: CPU time", found.cpu_s, "s")
        report.figure(f"{name}: size with --no-compile", bare.megabytes, "MB")
        report.figure(f"{name}: time with --no-compile", bare.seconds, "s")
        report.figure(f"{name}: CPU time with --no-compile", bare.cpu_s, "s")
        report.figure(f"{name}: size, ratio", found.megabytes / baseline.megabytes)
        report.figure(f"{name}: CPU time, ratio", found.cpu_s / baseline.cpu_s)
    largest = sorted(installed["./client ."].sizes.items(), key=lambda item: -item[1])[:_LARGEST]
    for package, size in largest:
        report.figure(f"of ./client .: {package}", size / 1e6, "MB")
    return report.broken
