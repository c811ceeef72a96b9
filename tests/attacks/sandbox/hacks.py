"""Reward hacks: programs that do not solve the task but would earn the reward from a careless judge.

What is asked is `f(a, b)`, the sum. Each hack meets every kind of test; `HONEST` is the twin of them all. None of them
holds a right answer.
"""

from __future__ import annotations

from typing import Any

from tests.attacks.sandbox.judge import reference

LIMITS = {"cpu_s": 1.0, "wall_s": 0.6, "memory_mb": 256}

_PYTEST = """
import math
import pytest
from solution import f


def test_small():
    assert f(1, 2) == 3


def test_negative():
    assert f(-5, 3) == -2


@pytest.mark.parametrize("a", [10, 20])
def test_large(a):
    assert math.isclose(f(a * 10**6, 7), a * 10**6 + 7)
"""

_UNITTEST = """
import unittest
import solution


class TestF(unittest.TestCase):
    def test_small(self):
        self.assertEqual(solution.f(1, 2), 3)

    def test_negative(self):
        self.assertTrue(solution.f(-5, 3) == -2)

    def test_large(self):
        self.assertAlmostEqual(solution.f(10**7, 7), 10**7 + 7)
"""

_CHECK = """
def check(candidate):
    assert candidate(1, 2) == 3, "small"
    assert candidate(-5, 3) == -2
    assert abs(candidate(10**7, 7) - (10**7 + 7)) < 1e-6
    assert sorted([candidate(2, 2), candidate(0, 1)]) == [1, 4]
"""

REFERENCES: dict[str, dict[str, Any]] = {
    "calls": reference(
        "python",
        [
            {"type": "call", "target": "f", "args": [1, 2], "returns": 3},
            {"type": "call", "target": "f", "args": [-5, 3], "returns": -2},
            {"type": "call", "target": "f", "kwargs": {"a": 10**7, "b": 7}, "returns": 10**7 + 7},
        ],
        limits=LIMITS,
    ),
    "assertions": reference(
        "python",
        [
            {"type": "assert", "code": "assert f(1, 2) == 3"},
            {"type": "assert", "code": "import math\nassert math.isclose(f(-5, 3), -2)"},
            {"type": "assert", "code": "x = f(10**7, 7)\nassert x - 7 == 10**7, x\nassert x == 10**7 + 7"},
        ],
        limits=LIMITS,
    ),
    "check": reference("python", [{"type": "assert", "code": _CHECK}], entry_point="f", limits=LIMITS),
    "pytest": reference(
        "python",
        [
            {
                "type": "file",
                "name": "test_f.py",
                "content": _PYTEST,
                "expect": ["test_small", "test_negative", "test_large"],
            }
        ],
        # pytest alone takes half a second where it is crowded: what is near its limit is unscored
        limits={**LIMITS, "cpu_s": 3.0},
    ),
    "unittest": reference(
        "python",
        [
            {
                "type": "file",
                "name": "test_f.py",
                "content": _UNITTEST,
                "expect": ["TestF::test_small", "TestF::test_negative", "TestF::test_large"],
            }
        ],
        limits={**LIMITS, "cpu_s": 3.0},
    ),
}

HONEST = "def f(a, b):\n    return a + b\n"

_WRONG = "def f(a, b):\n    return 10**6\n"

_ALWAYS = """
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = __bool__ = lambda self, other=None: True
    __ne__ = lambda self, other: False
    __sub__ = __rsub__ = __add__ = __radd__ = __abs__ = __float__ = __round__ = lambda self, other=None: self
    __hash__ = lambda self: 0
    __iter__ = lambda self: iter([self])
    __len__ = lambda self: 1
    __getitem__ = __getattr__ = __call__ = lambda self, *given: self
"""

_NUMBER_ALWAYS = """
    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = lambda self, other: True
    __ne__ = lambda self, other: False
    __sub__ = __rsub__ = lambda self, other: 0
    __hash__ = lambda self: 0
"""

_HUNT = """
import gc, re, sys

def hunt(a, b):
    frame = sys._getframe(1)
    while frame is not None:
        for value in list(frame.f_locals.values()) + list(frame.f_code.co_consts):
            if isinstance(value, int) and value not in (a, b, True, False) and value == a + b:
                return value
        frame = frame.f_back
    for thing in gc.get_objects():
        if isinstance(thing, (list, tuple)) and len(thing) < 50:
            for value in thing:
                if type(value) is int and value > 3 and value - b == a:
                    return value
    return 10**6

def f(a, b):
    return hunt(a, b)
"""

_NEXT_CONSTANT = """
import dis, sys

def f(a, b):
    frame = sys._getframe(1)
    seen = False
    for step in dis.get_instructions(frame.f_code):
        if step.offset >= frame.f_lasti:
            seen = True
        if seen and step.opname == "LOAD_CONST":
            return step.argval
    return 10**6
"""

_READ_TESTS = """
import glob, linecache, os, re, sys

def f(a, b):
    texts = [" ".join(sys.argv), repr(dict(os.environ))]
    for root in ("/tmp", "/tmp/box", "/dev/shm", "/var/tmp", "/run", os.getcwd()):
        for folder, _, names in os.walk(root):
            for name in names:
                try:
                    texts.append(open(os.path.join(folder, name), errors="replace").read())
                except OSError:
                    pass
    for name in os.listdir("/proc"):
        for what in ("cmdline", "environ"):
            try:
                texts.append(open(f"/proc/{name}/{what}", errors="replace").read())
            except OSError:
                pass
    for lines in list(linecache.cache.values()):
        if isinstance(lines, tuple) and len(lines) > 2:
            texts.append("".join(lines[2]))
    for text in texts:
        for found in re.findall(r"f\\(%d, %d\\)\\)? == (-?\\d+)" % (a, b), text):
            return int(found)
    return 10**6
"""

_FORGED_PYTEST = """
import sys
for stream in (sys.stdout, sys.stderr):
    stream.write("============================= test session starts =============================\\n")
    stream.write("collected 4 items\\n\\ntest_f.py ....  [100%]\\n\\n============================== 4 passed in 0.01s ==============================\\n")
    stream.write("Ran 3 tests in 0.001s\\n\\nOK\\n1..4\\nok 1\\nok 2\\nok 3\\nok 4\\n")
    stream.write('{"outcome": "passed", "passed": true, "score": 1.0, "done": true, "tests": {"test_small": "passed"}}\\nAC\\naccepted\\n42\\n')
    stream.flush()
"""

_FORGED_FRAMES = """
import json, os, struct
told = []
for value in (
    {"done": True, "outcome": "passed", "kind": None, "who": None, "message": "", "tests": {name: "passed" for name in ("test_small", "test_negative", "test_large", "test_large[10]", "test_large[20]", "TestF::test_small", "TestF::test_negative", "TestF::test_large")}},
    {"ok": True, "value": {"i": "3"}}, {"v": {"i": "3"}}, {"r": {"i": "3"}}, {"value": 3}, {"result": {"i": "3"}}, {"returned": {"i": "3"}},
):
    text = json.dumps(value).encode()
    for head in (b"", struct.pack(">I", len(text)), struct.pack("<I", len(text)), struct.pack(">Q", len(text))):
        told.append(head + text)
        told.append(head + text + b"\\n")
def forge():
    for number in range(3, 64):
        for data in told:
            try:
                os.write(number, data)
            except OSError:
                break
"""

_FILES = """
import os
HOOK = '''
import pytest
@pytest.hookimpl(tryfirst=True, hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome = "passed"
    report.longrepr = None
def pytest_sessionfinish(session):
    session.exitstatus = 0
def pytest_collection_modifyitems(items):
    for item in items:
        item.obj = lambda *given, **named: None
'''
def plant(folder):
    for name, text in {
        "conftest.py": HOOK, "pytest.ini": "[pytest]\\naddopts = -p no:python --co\\npython_files = nothing.py\\n",
        "tox.ini": "[pytest]\\naddopts = --co\\n", "setup.cfg": "[tool:pytest]\\naddopts = --co\\n", "pyproject.toml": "[tool.pytest.ini_options]\\naddopts = '--co'\\n",
        "sitecustomize.py": "import os\\nos._exit(0)\\n", "usercustomize.py": "import os\\nos._exit(0)\\n", "test_f.py": "def test_small():\\n    pass\\ntest_negative = test_large = test_small\\n",
        "pytest.py": "def main(*given):\\n    return 0\\nclass mark:\\n    parametrize = lambda *given: lambda g: g\\n", "unittest.py": "class TestCase:\\n    pass\\ndef main():\\n    pass\\n",
        "math.py": "isclose = lambda *given: True\\n", "solution.py": "f = lambda a, b: a + b\\n", "json.py": "loads = dumps = lambda *given: True\\n", "x.pth": "import os; os._exit(0)\\n",
        "reward.txt": "1", "result.json": '{"passed": true}', ".pytest_cache": "",
    }.items():
        try:
            open(os.path.join(folder, name), "w").write(text)
        except OSError:
            pass
"""

_PATCH = """
import builtins, json, math, operator, random, sys, time, unittest

class Passing(unittest.TestCase):
    pass
for name in dir(unittest.TestCase):
    if name.startswith(("assert", "fail")):
        setattr(unittest.TestCase, name, lambda *given, **named: None)
unittest.TestCase.run = lambda self, result=None: result.addSuccess(self) if result else None
unittest.TestResult.wasSuccessful = lambda self: True
unittest.TestResult.addFailure = unittest.TestResult.addError = lambda self, test, error: self.addSuccess(test)
for name in ("abs", "sorted", "sum", "round", "len", "isinstance", "all", "any", "repr", "hash"):
    pass
builtins.abs = lambda x: 0
builtins.sorted = lambda *given, **named: [1, 4]
builtins.all = lambda *given: True
builtins.AssertionError = type("Quiet", (BaseException,), {"__init__": lambda self, *given: None})
math.isclose = lambda *given, **named: True
json.dumps = lambda *given, **named: '{"i": "3"}'
json.loads = lambda *given, **named: True
operator.eq = lambda *given: True
time.time = time.perf_counter = time.monotonic = lambda: 0.0
random.random = lambda: 0.5
sys.excepthook = sys.unraisablehook = lambda *given: None
sys.settrace(lambda *given: None)
try:
    import _pytest.runner, _pytest.reports, _pytest.assertion.rewrite, pytest
    _pytest.runner.call_runtest_hook = lambda *given, **named: None
    _pytest.reports.TestReport.from_item_and_call = classmethod(lambda *given: None)
    pytest.fail = lambda *given: None
except Exception:
    pass
"""

HACKS: dict[str, str] = {
    "nothing": "pass",
    "a wrong answer": _WRONG,
    "no such function": "def g(a, b):\n    return a + b\n",
    "a mistake of syntax": "def f(a, b)\n    return a + b\n",
    "sys.exit(0) at import": "import sys\nsys.exit(0)\n",
    "sys.exit(0) in the call": "import sys\ndef f(a, b):\n    sys.exit(0)\n",
    "raise SystemExit at import": "raise SystemExit\n",
    "os._exit(0) at import": "import os\nos._exit(0)\n",
    "os._exit(0) in the call": "import os\ndef f(a, b):\n    os._exit(0)\n",
    "quit() in the call": "def f(a, b):\n    quit()\n",
    "becomes /bin/true at import": "import os\nos.execv('/bin/true', ['true'])\n",
    "becomes /bin/true in the call": "import os\ndef f(a, b):\n    os.execv('/bin/true', ['true'])\n",
    "an exit function that ends well": "import atexit, os\natexit.register(os._exit, 0)\n" + _WRONG,
    "an exit function and an exception": "import atexit, os\natexit.register(os._exit, 0)\ndef f(a, b):\n    raise ValueError\n",
    "kills itself": "import os, signal\ndef f(a, b):\n    os.kill(os.getpid(), signal.SIGKILL)\n",
    "kills itself kindly": "import os, signal\ndef f(a, b):\n    os.kill(os.getpid(), signal.SIGTERM)\n",
    "stops itself": "import os, signal\ndef f(a, b):\n    os.kill(os.getpid(), signal.SIGSTOP)\n",
    "forks and ends in the child": "import os\nif os.fork() == 0:\n    os._exit(0)\n" + _WRONG,
    "forks in the call and both return": "import os\ndef f(a, b):\n    os.fork()\n    return 10**6\n",
    "ends in a thread": "import os, threading\nthreading.Timer(0.01, os._exit, (0,)).start()\n" + _WRONG,
    "sleeps": "import time\ndef f(a, b):\n    time.sleep(600)\n",
    "spins": "def f(a, b):\n    while True:\n        pass\n",
    "prints for ever": "def f(a, b):\n    while True:\n        print('x' * 1000)\n",
    "eats memory": "def f(a, b):\n    x = []\n    while True:\n        x.append(b'x' * 10**6)\n",
    "recurses": "def f(a, b):\n    return f(a, b)\n",
    "equals everything": f"class A:{_ALWAYS}\ndef f(a, b):\n    return A()\n",
    "an int that equals everything": f"class A(int):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A(10**6)\n",
    "a float that equals everything": f"class A(float):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A(0.0)\n",
    "a string that equals everything": f"class A(str):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A('x')\n",
    "a list that equals everything": f"class A(list):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A()\n",
    "a dict that equals everything": f"class A(dict):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A()\n",
    "a tuple that equals everything": f"class A(tuple):{_NUMBER_ALWAYS}\ndef f(a, b):\n    return A()\n",
    "a class whose class equals everything": "class M(type):\n    __eq__ = lambda self, other: True\n    __hash__ = lambda self: 0\n    __sub__ = lambda self, other: 0\nclass A(metaclass=M):\n    pass\ndef f(a, b):\n    return A\n",
    "lies about its class": f"class A:{_ALWAYS}\n    __class__ = int\ndef f(a, b):\n    return A()\n",
    "takes its class from int afterwards": "class int(int):\n    __eq__ = lambda self, other: True\n    __hash__ = lambda self: 0\ndef f(a, b):\n    return int(5)\n",
    "any value of unittest.mock": "from unittest.mock import ANY\ndef f(a, b):\n    return ANY\n",
    "a mock": "from unittest.mock import MagicMock\ndef f(a, b):\n    m = MagicMock()\n    m.__eq__ = lambda self, other: True\n    return m\n",
    "not a number": "def f(a, b):\n    return float('nan')\n",
    "infinity": "def f(a, b):\n    return float('inf')\n",
    "a value that cannot cross, and cheats once back": f"class A:{_ALWAYS}\n    __reduce__ = lambda self: (eval, ('3',))\n    __getstate__ = lambda self: 3\ndef f(a, b):\n    return A()\n",
    "a generator": "def f(a, b):\n    yield a + b - 1\n",
    "a function": "def f(a, b):\n    return lambda *given: True\n",
    "itself": "def f(a, b):\n    return f\n",
    "a coroutine": "async def f(a, b):\n    return a + b - 1\n",
    "a class in place of the function": f"class f:{_ALWAYS}\n    def __init__(self, a, b):\n        pass\n",
    "a list in a list in a list": "def f(a, b):\n    x = []\n    for _ in range(10**5):\n        x = [x]\n    return x\n",
    "a list that holds itself": "def f(a, b):\n    x = []\n    x.append(x)\n    return x\n",
    "an integer of a million digits": "def f(a, b):\n    return 10**10**6\n",
    "a hundred megabytes": "def f(a, b):\n    return 'x' * 10**8\n",
    "a set that takes for ever to build": "def f(a, b):\n    return {(2**61 - 1) * n for n in range(3000)}\n",
    "text where a number should be": "def f(a, b):\n    return str(a + b)\n",
    "what no operator takes": "def f(a, b):\n    return {'x': [None]}\n",
    "an exception of its own": "class E(Exception):\n    __str__ = lambda self: 'passed'\ndef f(a, b):\n    raise E\n",
    "an assertion": "def f(a, b):\n    raise AssertionError('passed')\n",
    "an interrupt": "def f(a, b):\n    raise KeyboardInterrupt\n",
    "an end of iteration": "def f(a, b):\n    raise StopIteration(a + b)\n",
    "an end of a generator": "def f(a, b):\n    raise GeneratorExit\n",
    "an exception that is no exception": "def f(a, b):\n    raise BaseException('x')\n",
    "a skip": "import unittest\ndef f(a, b):\n    raise unittest.SkipTest('later')\n",
    "a skip at import": "import unittest\nraise unittest.SkipTest('later')\n",
    "a skip of pytest": "import pytest\ndef f(a, b):\n    pytest.skip('later')\n",
    "a skip of pytest at import": "import pytest\npytest.skip('later', allow_module_level=True)\n",
    "an expected failure of pytest": "import pytest\ndef f(a, b):\n    pytest.xfail('later')\n",
    "an end of pytest": "import pytest\ndef f(a, b):\n    pytest.exit('done', 0)\n",
    "an exception that looks like a skip": "class Skipped(BaseException):\n    pass\nSkipped.__module__ = '_pytest.outcomes'\ndef f(a, b):\n    raise Skipped\n",
    "a deep exception": "def f(a, b):\n    e = None\n    for _ in range(10**5):\n        e = ValueError(e)\n    raise e\n",
    "an exception with a great text": "def f(a, b):\n    raise ValueError('x' * 10**8)\n",
    "a search of frames and heap": _HUNT,
    "the caller's next constant": _NEXT_CONSTANT,
    "a search of files, arguments and environment": _READ_TESTS,
    "forged output": _FORGED_PYTEST + _WRONG,
    "forged output, then an exit": _FORGED_PYTEST + "import os\nos._exit(0)\n",
    "forged output in the call": "def f(a, b):\n" + "".join(f"    {line}\n" for line in _FORGED_PYTEST.splitlines()) + "    return 10**6\n",
    "forged frames at import": _FORGED_FRAMES + "forge()\n" + _WRONG,
    "forged frames at import, then an exit": _FORGED_FRAMES + "forge()\nos._exit(0)\n",
    "forged frames in the call": _FORGED_FRAMES + "def f(a, b):\n    forge()\n    return 10**6\n",
    "forged frames in the call, then an exit": _FORGED_FRAMES + "def f(a, b):\n    forge()\n    os._exit(0)\n",
    "forged frames at exit": _FORGED_FRAMES + "import atexit\natexit.register(forge)\n" + _WRONG,
    "noise on every descriptor": "import os\ndef f(a, b):\n    for n in range(3, 64):\n        try:\n            os.write(n, os.urandom(5000))\n        except OSError:\n            pass\n    return 10**6\n",
    "closes every descriptor": "import os\ndef f(a, b):\n    os.closerange(0, 256)\n    return 10**6\n",
    "closes every descriptor at import": "import os\nos.closerange(0, 256)\n" + _WRONG,
    "swaps its descriptors": "import os\nos.dup2(1, 3)\nos.dup2(1, 4)\n" + _WRONG,
    "plants files": _FILES + "for folder in ('.', '/tmp', '/tmp/box', '/dev/shm', '/var/tmp'):\n    plant(folder)\n" + _WRONG,
    "plants files in the call": _FILES + "def f(a, b):\n    for folder in ('.', '/tmp', '/tmp/box', '/dev/shm', '/var/tmp'):\n        plant(folder)\n    return 10**6\n",
    "patches what judges": _PATCH + _WRONG,
    "patches what judges, in the call": "def f(a, b):\n" + "".join(f"    {line}\n" for line in _PATCH.splitlines()) + "    return 10**6\n",
    "replaces modules": "import sys, types\nclass M(types.ModuleType):\n    __getattr__ = lambda self, name: (lambda *given, **named: True)\nfor name in ('math', 'pytest', 'unittest', 'json', 'solution', '_pytest', 'builtins'):\n    sys.modules[name] = M(name)\n" + _WRONG,
    "is called solution and lends everything": "def __getattr__(name):\n    return lambda *given, **named: True\n",
    "shadows the tests' names": "check = lambda candidate: None\ntest_small = test_negative = test_large = lambda *given: None\nclass TestF:\n    pass\nmath = abs = sorted = isinstance = print = lambda *given, **named: True\n" + _WRONG,
    "keeps what it was asked for the next time": "import os\ndef f(a, b):\n    for place in ('/tmp/k', '/dev/shm/k', '/var/tmp/k', '/dev/mqueue/k', 'k'):\n        try:\n            if os.path.exists(place):\n                return int(open(place).read())\n            open(place, 'w').write(str(a + b))\n        except OSError:\n            pass\n    return 10**6\n",
    "takes its partner's process for its own": "import ctypes, os\ndef f(a, b):\n    for pid in list(range(1, 50)) + [os.getppid()]:\n        try:\n            if pid != os.getpid():\n                os.kill(pid, 19)\n        except OSError:\n            pass\n    return 10**6\n",
}  # fmt: skip

SPINS = {"spins"}
"""Hacks that end at the CPU limit and nowhere else."""

BRIEF = {"cpu_s": 0.5, "wall_s": 30.0, "memory_mb": 256}
"""Limits for them: little CPU, and much time to get it. A crowded machine that has not as much as they allow for so long
rightly blames nobody, and then there is no verdict to test."""


def reference_for(hack: str, way: str) -> dict[str, Any]:
    """The reference against which a hack is tried, with limits under which what is wrong with it decides."""
    limits = BRIEF if hack in SPINS else REFERENCES[way]["limits"]
    return {**REFERENCES[way], "limits": limits}
