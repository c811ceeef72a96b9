"""Tests in the candidate's own process, which only the reference may choose (`isolation: shared`).

For tests that subclass the candidate's classes, patch clocks or share files. Here a candidate can reach the code that
judges it. The guards stop candidates that exit, print, skip tests or rewrite the machinery; they cannot stop an object
that is equal to everything, or code that reads its caller's frame. `docs/tagged-codec.md` lists both kinds, and a test
measures each row.
"""

from __future__ import annotations

import builtins
import contextlib
import json
import sys
import types
import unittest
import unittest.case
from typing import Any

from rewarden_sandboxes.agent import candidate_room, tests_room
from rewarden_sandboxes.agent.helpers import Helpers
from rewarden_sandboxes.agent.names import Source
from rewarden_sandboxes.agent.test_runners import load_runner

_CONFIGURATION = ("conftest.py", "pytest.ini", ".pytest.ini", "pyproject.toml", "tox.ini", "setup.cfg")


_JUDGES = (
    "_pytest.outcomes",
    "_pytest.python",
    "_pytest.python_api",
    "_pytest.runner",
    "builtins",
    "json",
    "math",
    "numpy",
    "numpy.testing",
    "operator",
    "pandas.testing",
    "pytest",
    "rewarden_sandboxes.agent.tagged_codec",
    "rewarden_sandboxes.agent.candidate_room",
    "rewarden_sandboxes.agent.shared",
    "rewarden_sandboxes.agent.tests_room",
    "unittest.case",
)
"""Modules that tests compare with, and that we judge them with."""


class Machinery:
    """The code that judges: its functions and files as they were before the candidate's code ran."""

    def __init__(self) -> None:
        self.places: list[tuple[str, Any]] = [(name, sys.modules[name]) for name in _JUDGES if name in sys.modules]
        self.places += [("TestCase", unittest.TestCase), ("TestResult", unittest.TestResult)]
        if "_pytest.python" in sys.modules:
            self.places.append(("Function", sys.modules["_pytest.python"].Function))
        self.before = [dict(vars(place)) for _, place in self.places]
        self.files = self._files()

    def changed(self) -> str | None:
        """Returns the name of something that has changed, for a person to read; None if nothing has."""
        for (name, place), before in zip(self.places, self.before):  # noqa: B905 - strict= is too new
            now = vars(place)
            for key, value in before.items():
                if now.get(key, self) is not value:
                    return f"{name}.{key}"
        for name, content in self._files().items():
            if self.files[name] != content:
                return name
        return None

    def _files(self) -> dict[str, bytes | None]:
        found: dict[str, bytes | None] = {}
        for name in _CONFIGURATION:
            try:
                with open(name, "rb") as file:
                    found[name] = file.read()
            except OSError:
                found[name] = None
        return found


class Names(dict):  # type: ignore[type-arg]
    """The builtins of test code, then the candidate's names."""

    def __init__(self, module: types.ModuleType, entry_point: str | None, helpers: Helpers) -> None:
        super().__init__(vars(builtins))
        self.module = module
        self.entry_point = entry_point
        self.helpers = helpers

    def __missing__(self, name: str) -> Any:
        if name == "candidate" and self.entry_point is not None:
            return self.entry()
        with contextlib.suppress(LookupError):
            return self.helpers.find(name)
        return vars(self.module)[name]

    def entry(self) -> Any:
        """See `names.Names.entry`."""
        name, _, method = str(self.entry_point).replace("()", "").partition(".")
        found = getattr(self.module, name)
        return getattr(found() if isinstance(found, type) else found, method) if method else found


def judge(code: bytes, options: dict[str, Any]) -> dict[str, Any]:
    """Runs test code beside the candidate. Returns how it ended."""
    tests = options["tests"].encode("utf-8")
    path = tests_room.place(options)
    try:
        source = Source(tests, path)
    except (SyntaxError, ValueError) as fault:
        line = getattr(fault, "lineno", None)
        return {"outcome": "error", "kind": "test_code", "who": "tests", "message": str(fault), "line": line}
    if options["kind"] == "file":
        load_runner()
    machinery = Machinery()
    try:
        module = candidate_room.load(code)
    except BaseException as fault:  # noqa: BLE001 - SystemExit included
        told = candidate_room.failure(fault)
        message = f"{told['type']}: {told['message']}\n{told['traceback']}"
        return {"outcome": "failed", "kind": "candidate_load", "who": "candidate", "message": message}
    changed = machinery.changed()
    if changed is None:
        for name in options.get("modules", [candidate_room.NAME]):
            sys.modules[name] = module
        entry_point = options.get("entry_point")
        names = Names(module, entry_point, Helpers(options.get("prompt", ""), set(source.lacks()), entry_point))
        entry = names.entry if names.entry_point else None
        said = tests_room.run(source, options, {"__builtins__": names}, entry)
        changed = machinery.changed()
        if changed is None:
            return said
    return {"outcome": "failed", "kind": "tampered", "who": "candidate", "message": f"{changed} was changed"}


def main(code: bytes, request: bytes, channel: int, reply: int) -> int:
    """Runs the mode `shared`. Returns 0 if and only if the tests passed; the report carries the request's nonce."""
    options = json.loads(request)
    nonce = options.pop("nonce")
    del request
    # Attack: replace them from a thread after the last check of the machinery.
    write, report = tests_room.write, tests_room.report
    try:
        said = report(judge(code, options))
    except BaseException as fault:  # noqa: BLE001 - the candidate can raise anything through the tests
        message = f"{type(fault).__name__}: {candidate_room.message_of(fault)}"
        said = report({"outcome": "failed", "kind": "exception", "who": "candidate", "message": message})
    write(reply, {**said, "nonce": nonce})
    return 0 if said["outcome"] == "passed" else 1
