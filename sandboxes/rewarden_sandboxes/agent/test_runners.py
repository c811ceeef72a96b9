"""Runners of test code: from top to bottom, or as a file of pytest or unittest tests."""

from __future__ import annotations

import importlib
import importlib.util
import operator
import os
import sys
import types
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.agent.candidate_client import CandidateClient
from rewarden_sandboxes.agent.faults import Fault
from rewarden_sandboxes.agent.names import Source

MAX_TESTS = 10_000


class Outcomes:
    """The outcome of each test of a file, and the reason for the first that did not pass."""

    def __init__(self, client: CandidateClient | None = None) -> None:
        self.tests: dict[str, str] = {}
        self.why: BaseException | None = None
        self.client = client
        self._faults = 0

    def note(self, test: str, outcome: str, why: BaseException | None = None) -> None:
        """Notes the end of a test or of a part of it: the first outcome other than a pass stays. A test in which the
        client had a fault has failed, even if the test caught the exception.
        """
        if self.client is not None and self.client.faults > self._faults:
            self._faults = self.client.faults
            outcome, why = ("failed", self.client.fault) if outcome == "passed" else (outcome, why)
        if why is not None and self.why is None:
            self.why = why
        if len(self.tests) < MAX_TESTS and self.tests.get(test, "passed") == "passed":
            self.tests[test] = outcome


def leaves(fault: SystemExit, source: Source) -> bool:
    """Returns whether the test code itself called for the exit, directly or through `unittest.main`. Attack:
    `sys.exit(0)` in a candidate that shares the tests' process, so that the tests seem to end well.
    """
    trace = fault.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    unittest_main = getattr(sys.modules.get("unittest.main"), "__file__", None)  # if test code has imported it
    return trace is not None and trace.tb_frame.f_code.co_filename in (source.path, unittest_main)


def run_assert(source: Source, given: dict[str, Any], entry: Callable[[], Any] | None, *, shared: bool = False) -> None:
    """Runs test code from top to bottom, as `__main__`; then its `check`, if it has one and there is an entry point.
    `shared`: the candidate is in this process.
    """
    module = types.ModuleType("__main__")
    module.__file__ = source.path
    module.__dict__.update(given)
    sys.modules["__main__"] = module
    sys.argv[:] = [source.path]
    try:
        exec(source.compiled, module.__dict__)  # noqa: S102 - the reference's test code, in a room of its own
    except SystemExit as leaving:
        if shared and not leaves(leaving, source):
            raise Fault("candidate_exit", "the candidate ended the process") from None
        if leaving.code:  # unittest.main() exits with False if all tests pass
            raise AssertionError(f"the test code left with {leaving.code!r}") from None
    check = module.__dict__.get("check")
    if entry is not None and callable(check):
        check(entry())


def run_file(
    source: Source, given: dict[str, Any], expect: list[str], client: CandidateClient | None = None
) -> Outcomes:
    """Runs a test file with pytest, or if that is not installed, with a collector for unittest cases and functions."""
    name = os.path.basename(source.path)[: -len(".py")]
    sys.meta_path.insert(0, _Importer(name, source, given))
    found = Outcomes(client)
    sys.path.insert(0, os.path.dirname(source.path))
    sys.argv[:] = [source.path]
    _bound_diffs()
    pytest = load_runner()
    if pytest is None:
        return _collect(name, expect, found)
    return _pytest(pytest, source.path, expect, found)


def load_runner() -> Any:
    """Returns pytest, or None if it is not installed."""
    try:
        return importlib.import_module("pytest")
    except ImportError:
        return None


class _Importer:
    """Finds the test file, and puts `given` into its module before it runs. Loads it from memory: the file in the
    folder may have changed since.
    """

    def __init__(self, name: str, source: Source, given: dict[str, Any]) -> None:
        self.name, self.source, self.given = name, source, given

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name != self.name:
            return None
        return importlib.util.spec_from_file_location(name, self.source.path, loader=self)  # type: ignore[arg-type]

    def create_module(self, spec: Any) -> None:
        return None

    def exec_module(self, module: types.ModuleType) -> None:
        module.__dict__.update(self.given)
        exec(self.source.compiled, module.__dict__)  # noqa: S102 - the reference's test code, in a room


def _bound_diffs() -> None:
    """Keeps difflib from comparing two long values line by line. Attack: two values for which its cubic time exhausts
    the tests' room.
    """
    import difflib

    original = difflib.ndiff

    def ndiff(a: Any, b: Any, *args: Any, **kwargs: Any) -> Any:
        if len(a) * len(b) > 10_000 or sum(map(len, a)) + sum(map(len, b)) > 10_000:
            return iter(["(too long to be compared line by line)"])
        return original(a, b, *args, **kwargs)

    difflib.ndiff = ndiff


def wanted(test: str, expect: list[str]) -> bool:
    """Returns whether a test is expected: by its own name, as a parameter set of an expected test, or as a member of an
    expected class.
    """
    return not expect or any(test == name or test.startswith((name + "[", name + "::")) for name in expect)


def short(test: str) -> str:
    """Returns a test's id without its file: `Class::test`, `test`, `test[1]`."""
    head, mark, rest = test.partition("::")
    return rest if mark and head.endswith(".py") else test


class _Plugin:
    """The plugin through which pytest reports to us."""

    def __init__(self, expect: list[str], found: Outcomes) -> None:
        self.expect = expect
        self.found = found

    def pytest_collection_modifyitems(self, items: list[Any]) -> None:
        items[:] = [item for item in items if wanted(short(item.nodeid), self.expect)]

    def pytest_exception_interact(self, node: Any, call: Any) -> None:
        if call.excinfo is not None and self.found.why is None:
            why = call.excinfo.value
            # pytest wraps a failed import of the test file, with its text.
            self.found.why = why.__cause__ if type(why).__name__ == "CollectError" and why.__cause__ else why

    def pytest_runtest_logreport(self, report: Any) -> None:
        outcome = report.outcome
        if hasattr(report, "wasxfail"):
            outcome = "xpassed" if outcome == "passed" else "xfailed"
        elif outcome == "failed" and report.when != "call":
            outcome = "error"
        if report.when == "call" or outcome != "passed":
            self.found.note(short(report.nodeid), outcome)


def _pytest(pytest: Any, path: str, expect: list[str], found: Outcomes) -> Outcomes:
    for name in list(os.environ):
        if name.startswith("PYTEST"):
            del os.environ[name]
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    folder = os.getcwd()
    off = [part for name in ("cacheprovider", "faulthandler", "doctest", "junitxml") for part in ("-p", "no:" + name)]
    flags = ["-q", "--tb=no", "--no-header", "--no-summary", "--capture=no", "--assert=plain"]
    pytest.main([path, *flags, *off, f"--rootdir={folder}", f"--confcutdir={folder}"], plugins=[_Plugin(expect, found)])
    return found


def _collect(name: str, expect: list[str], found: Outcomes) -> Outcomes:
    """Runs TestCase classes, test functions and methods of Test classes, in a Python without pytest."""
    import unittest

    class Result(unittest.TestResult):
        def _note(self, test: Any, outcome: str, error: Any = None) -> None:
            found.note("::".join(test.id().split(".")[1:]), outcome, error[1] if error else None)

        def addSuccess(self, test: Any) -> None:
            self._note(test, "passed")

        def addFailure(self, test: Any, err: Any) -> None:
            self._note(test, "failed", err)

        def addError(self, test: Any, err: Any) -> None:
            self._note(test, "error", err)

        def addSubTest(self, test: Any, subtest: Any, err: Any) -> None:
            if err is not None:
                self._note(test, "failed", err)

        def addSkip(self, test: Any, reason: str) -> None:
            self._note(test, "skipped")

        def addExpectedFailure(self, test: Any, err: Any) -> None:
            self._note(test, "xfailed")

        def addUnexpectedSuccess(self, test: Any) -> None:
            self._note(test, "xpassed")

    try:
        module = importlib.import_module(name)
    except BaseException as fault:  # noqa: BLE001 - whatever the error, no test of the file has passed
        found.why = fault
        return found
    suite = unittest.TestSuite()
    for key, value in list(vars(module).items()):
        if isinstance(value, type) and issubclass(value, unittest.TestCase) and value.__module__ == name:
            cases: Any = unittest.defaultTestLoader.loadTestsFromTestCase(value)
            suite.addTests(case for case in cases if wanted(f"{key}::{case.id().split('.')[-1]}", expect))
        elif isinstance(value, types.FunctionType) and key.startswith("test") and wanted(key, expect):
            _run_one(found, key, value)
        elif isinstance(value, type) and key.startswith("Test"):
            for method in dir(value):
                if method.startswith("test") and wanted(f"{key}::{method}", expect):
                    _run_one(found, f"{key}::{method}", operator.methodcaller(method), value)
    suite.run(Result())
    return found


def _run_one(found: Outcomes, test: str, function: Callable[..., Any], *owner: type) -> None:
    import unittest

    try:
        function(*[kind() for kind in owner])
    except unittest.SkipTest:
        found.note(test, "skipped")
    except BaseException as fault:  # noqa: BLE001 - a Fault and SystemExit included
        found.note(test, "failed", fault)
    else:
        found.note(test, "passed")
