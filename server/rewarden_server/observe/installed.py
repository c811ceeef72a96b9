"""The verifiers and recipes that this installation can use, and the extras that the others need.

`rewarden doctor` loads them all. A server lets a separate process do that, since it imports the libraries of every
verifier: the process runs this module, which prints its result as JSON.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from importlib.metadata import PackageNotFoundError, distribution

from rewarden.commands.terminal import say
from rewarden.errors import SampleError
from rewarden_server.observe.check import Problem
from rewarden_verifiers.registry import Registry, extras_with, packages_of_extras

_PACKAGE = "rewarden-server"
_INSTALL = ": pip install "
_SHOWN = 6
"""Names listed for an extra; more than a hundred verifiers and recipes can need one."""


@dataclass(frozen=True, slots=True)
class Installed:
    """verifiers, recipes: how many can be used. lacking: by missing extra, the names that need it. broken: names that
    cannot be loaded for another reason, as problems."""

    verifiers: int = 0
    recipes: int = 0
    lacking: Mapping[str, list[str]] = field(default_factory=dict)
    broken: tuple[Problem, ...] = ()

    @property
    def command(self) -> str:
        """Installs all missing extras."""
        return _install(*self.lacking)

    def problems(self) -> tuple[Problem, ...]:
        """Returns a problem for each missing extra, and those of broken names."""
        found = []
        for extra, names in self.lacking.items():
            shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
            found.append(Problem(f"without the extra {extra}: {shown}", _install(extra)))
        return (*found, *self.broken)


def _install(*extras: str) -> str:
    return f"pip install '{_PACKAGE}[{','.join(extras)}]'"


def absent_extras() -> frozenset[str]:
    """Returns the extras of `rewarden-server` that lack a package here."""
    return frozenset(extra for extra, names in packages_of_extras().items() if not all(map(_present, names)))


def installed(registry: Registry) -> Installed:
    """Loads every verifier and recipe."""
    absent = absent_extras()
    usable: list[str] = []
    lacking: dict[str, list[str]] = {}
    broken: list[Problem] = []
    for name in registry:
        try:
            needed = absent.intersection(registry.get(name).requires)
        except SampleError as error:
            module = error.__cause__.name if isinstance(error.__cause__, ModuleNotFoundError) else None
            needed = frozenset(extras_with(module or ""))
            if not needed:
                broken.append(_broken(error, registry.plugin_of(name)))
                continue
        for extra in needed:
            lacking.setdefault(extra, []).append(name)
        if not needed:
            usable.append(name)
    verifiers = set(registry.names())
    count = sum(name in verifiers for name in usable)
    return Installed(count, len(usable) - count, dict(sorted(lacking.items())), tuple(broken))


def _present(package: str) -> bool:
    try:
        distribution(package)
    except PackageNotFoundError:
        return False
    return True


def _broken(error: SampleError, plugin: str | None) -> Problem:
    text, _, command = error.message.rpartition(_INSTALL)
    if text:
        return Problem(text, f"pip install {command}")
    mend = f"fix or remove the package {plugin}" if plugin else f"pip install --force-reinstall {_PACKAGE}"
    return Problem(error.message, mend)


async def find_installed() -> Installed:
    """Runs this module in a process with the same import path."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-P", "-m", "rewarden_server.observe.installed"),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
    )
    try:
        out, errors = await process.communicate()
        # Libraries may print while they are imported, so the result is the last line.
        made = json.loads(out.splitlines()[-1])
        return Installed(**{**made, "broken": tuple(Problem(*one) for one in made["broken"])})
    except (IndexError, ValueError):
        last = errors.decode(errors="replace").strip().rpartition("\n")[2]
        words = f"the verifiers cannot be loaded: the process that tried ended with {process.returncode}: {last}"
        return Installed(broken=(Problem(words, f"pip install --force-reinstall {_PACKAGE}"),))
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()


class InstalledOnce:
    """The same for a server, which checks once, when it is first asked for its problems."""

    def __init__(self) -> None:
        self._finding: asyncio.Task[Installed] | None = None

    def problems(self) -> tuple[Problem, ...]:
        """Returns the problems; an empty list until they are known."""
        if self._finding is None:
            self._finding = asyncio.get_running_loop().create_task(find_installed())
        return self._finding.result().problems() if self._finding.done() else ()

    async def close(self) -> None:
        """Stops the check."""
        if self._finding is not None:
            self._finding.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._finding


if __name__ == "__main__":
    say(json.dumps(asdict(installed(Registry()))))
