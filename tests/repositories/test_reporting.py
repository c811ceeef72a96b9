"""The reporter of pytest's and unittest's tests: ordinary code is none of its business, and cheats are."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.repositories.running import COMMANDS, run, shown

TESTS: Mapping[str, str] = {
    "pytest": (
        "from calc import add, twice\n\ndef test_twice():\n    assert twice(4) == 8\n\n"
        "def test_zadd():\n    assert add(2, 3) == 5\n"
    ),
    "unittest": (
        "import unittest\nimport calc\n\nclass Calc(unittest.TestCase):\n"
        "    def test_twice(self):\n        self.assertEqual(calc.twice(4), 8)\n\n"
        "    def test_zadd(self):\n        self.assertEqual(calc.add(2, 3), 5)\n"
    ),
}
IDS: Mapping[str, list[str]] = {
    "pytest": ["test_calc.py::test_twice", "test_calc.py::test_zadd"],
    "unittest": ["test_calc.Calc.test_twice", "test_calc.Calc.test_zadd"],
}
RIGHT = "def add(a, b):\n    return a + b\n\ndef twice(a):\n    return 2 * a\n"
WRONG = "def add(a, b):\n    return a - b\n\ndef twice(a):\n    return 2 * a\n"
ORDINARY: Mapping[str, str] = {
    "dataclasses": (
        "from dataclasses import dataclass, make_dataclass\n@dataclass\nclass A:\n    x: int = 1\n\n"
        "@dataclass(frozen=True, slots=True)\nclass B:\n    x: int = 1\n\nmake_dataclass('C', ['x'])\n"
    ),
    "named tuples": "from collections import namedtuple\nfrom typing import NamedTuple\nA = namedtuple('A', 'x y')\n"
    "class B(NamedTuple):\n    x: int\n",
    "enumerations": "import enum\nclass A(enum.Enum):\n    X = 1\nB = enum.IntEnum('B', 'x y')\n",
    "six": "import six\nfrom six.moves import range, urllib\nclass A(six.with_metaclass(type, object)):\n    pass\n",
    "setuptools": "import warnings\nwarnings.simplefilter('ignore')\nimport setuptools, pkg_resources\n",
    "attrs": "import attr\n@attr.s(slots=True)\nclass A:\n    x = attr.ib()\n",
    "a finder behind the others": "import sys\nclass Vendor:\n    def find_spec(self, *names):\n        return None\n"
    "sys.meta_path.append(Vendor())\n",
    "attributes of own classes": (
        "class A:\n    pass\n\nclass B:\n    def f(self, x=1):\n        return x\n\nA.__module__ = 'calc.api'\n"
        "A.__name__ = A.__qualname__ = 'C'\nA.__doc__ = 'x'\na = A()\na.__class__ = B\n"
        "def f(x=1): pass\nf.__defaults__ = (2,)\nf.__code__ = (lambda x: x).__code__\n"
    ),
    "a module's class": (
        "import sys, types\nclass Lazy(types.ModuleType):\n    pass\nsys.modules[__name__].__class__ = Lazy\n"
    ),
    "states of generators": "import inspect\ndef f():\n    yield\ninspect.getgeneratorstate(f())\nf().gi_frame\n",
    "code that knows tests": "import unittest\nfrom unittest import TestCase\nfrom unittest.mock import Mock\nMock()\n"
    "from dataclasses import dataclass\n@dataclass\nclass A:\n    x: int\n",
}


@pytest.mark.parametrize("framework", COMMANDS)
def test_ordinary_code_shows_nothing_that_the_control_does_not(framework: str, tmp_path: Path) -> None:
    control = run(tmp_path / "control", framework, {"calc.py": RIGHT, "test_calc.py": TESTS[framework]}, IDS[framework])
    assert control.tests == dict.fromkeys(IDS[framework], "passed")
    code = "\n".join(f"def part_{number}():\n    pass\n{text}" for number, text in enumerate(ORDINARY.values()))
    found = run(
        tmp_path / "run", framework, {"calc.py": code + RIGHT, "test_calc.py": TESTS[framework]}, IDS[framework]
    )
    assert (found.tests, found.whole) == (control.tests, True)
    assert shown(found, control) == []


@pytest.mark.parametrize("framework", COMMANDS)
def test_a_control_that_cannot_import_the_tests_accuses_nobody(framework: str, tmp_path: Path) -> None:
    own = "from calc import add\n" + ORDINARY["dataclasses"] + ORDINARY["named tuples"] + TESTS[framework]
    files = {"calc.py": "def twice(a):\n    return 2 * a\n", "test_calc.py": own}
    control = run(tmp_path / "control", framework, files, IDS[framework])
    found = run(tmp_path / "run", framework, {**files, "calc.py": RIGHT}, IDS[framework])
    assert (control.tests, found.tests) == ({}, dict.fromkeys(IDS[framework], "passed"))
    assert shown(found, control) == []


FRAMES = """
def find(name):
    import sys
    frame = sys._getframe(1)
    while frame is not None:
        if name in frame.f_locals:
            return frame.f_locals[name]
        frame = frame.f_back
"""
PLUG_IN = (
    "class Plug:\n    def pytest_pyfunc_call(self, pyfuncitem):\n        return True\n"
    "def add(a, b):\n    return a - b\n"
)
SUITE = """
import unittest
class Suite(unittest.TestSuite):
    def run(self, result, debug=False):
        for test in self:
            if isinstance(test, unittest.TestCase):
                setattr(test, test._testMethodName, {method})
        return super().run(result, debug)
unittest.defaultTestLoader.suiteClass = Suite
"""
CHEATS: Mapping[str, tuple[str, str]] = {
    "a plug-in without a name": (
        "pytest",
        FRAMES
        + PLUG_IN
        + "def twice(a):\n    find('session').config.pluginmanager.register(Plug())\n    return 2 * a\n",
    ),
    "a plug-in with the name of another": (
        "pytest",
        FRAMES
        + PLUG_IN
        + "def twice(a):\n    manager = find('session').config.pluginmanager\n    manager.unregister(name='doctest')\n"
        + "    manager.register(Plug(), 'doctest')\n    return 2 * a\n",
    ),
    "a hook that calls itself another": (
        "pytest",
        FRAMES
        + PLUG_IN
        + "import _pytest.python\nclass Other:\n    pass\nother = _pytest.python.pytest_pyfunc_call\n"
        + "Plug.pytest_pyfunc_call.__module__ = other.__module__\n"
        + "Plug.pytest_pyfunc_call.__qualname__ = other.__qualname__\n"
        + "def twice(a):\n    manager = find('session').config.pluginmanager\n"
        + "    manager.unregister(name='doctest')\n    manager.register(Plug(), 'doctest')\n    return 2 * a\n",
    ),
    "methods of the instances": ("unittest", SUITE.format(method="lambda: None") + WRONG),
    "methods of the instances that remove themselves": (
        "unittest",
        SUITE.format(method="lambda test=test: vars(test).pop(test._testMethodName)") + WRONG,
    ),
    "assertions that are put back": (
        "pytest",
        "import atexit, unittest\nreal = unittest.TestCase.assertEqual\n"
        "unittest.TestCase.assertEqual = lambda *args, **kwargs: None\n"
        "atexit.register(setattr, unittest.TestCase, 'assertEqual', real)\n" + WRONG,
    ),
    "the code of a test that puts itself back": (
        "pytest",
        "import sys\ndef add(a, b):\n    return a - b\ndef twice(a):\n"
        "    test = sys.modules['test_calc'].test_zadd\n    test.real = test.__code__\n"
        "    test.__code__ = compile('def f():\\n import test_calc\\n'\n"
        "        ' test_calc.test_zadd.__code__ = test_calc.test_zadd.real', 'x', 'exec').co_consts[0]\n"
        "    return 2 * a\n",
    ),
    "a finder before the others": (
        "pytest",
        "import sys\nclass Finder:\n    def find_spec(self, *names):\n        return None\n"
        "sys.meta_path.insert(0, Finder())\n" + WRONG,
    ),
    "a finder that calls itself another": (
        "pytest",
        "import sys\nfrom importlib.machinery import FrozenImporter\nclass Finder:\n"
        "    def find_spec(self, *names):\n        return None\n"
        "Finder.__module__, Finder.__qualname__ = FrozenImporter.__module__, FrozenImporter.__qualname__\n"
        "sys.meta_path[sys.meta_path.index(FrozenImporter)] = Finder()\n" + WRONG,
    ),
}


@pytest.mark.parametrize("name", CHEATS)
def test_a_cheat_shows(name: str, tmp_path: Path) -> None:
    framework, code = CHEATS[name]
    tests = TESTS[framework]
    if name == "assertions that are put back":
        tests = TESTS["unittest"]
    control = run(tmp_path / "control", framework, {"calc.py": RIGHT, "test_calc.py": tests}, IDS[framework])
    found = run(tmp_path / "run", framework, {"calc.py": code, "test_calc.py": tests}, IDS[framework])
    assert found.whole, found
    assert shown(found, control)


def test_a_test_that_runs_again_is_noted_only_where_it_counts(tmp_path: Path) -> None:
    rerun = (
        "def pytest_runtest_protocol(item, nextitem):\n    from _pytest.runner import runtestprotocol\n"
        "    for _ in range(2):\n        runtestprotocol(item, nextitem=nextitem)\n    return True\n"
    )
    files = {"calc.py": RIGHT, "test_calc.py": TESTS["pytest"], "conftest.py": rerun}
    for number, ids in enumerate((IDS["pytest"], ["test_other.py::test_a"])):
        found = run(tmp_path / str(number), "pytest", files, ids)
        assert any("twice" in alarm for alarm in found.alarms) == (number == 0), found.alarms


def test_tests_in_other_processes_are_refused(tmp_path: Path) -> None:
    pytest.importorskip("xdist")
    files = {"calc.py": RIGHT, "test_calc.py": TESTS["pytest"]}
    found = run(tmp_path, "pytest", files, IDS["pytest"], COMMANDS["pytest"] + " -p xdist.plugin -n 1")
    assert "xdist" in (found.refusal or "")
    assert run(tmp_path, "pytest", files, IDS["pytest"], COMMANDS["pytest"] + " -p xdist.plugin -n 0").refusal is None
