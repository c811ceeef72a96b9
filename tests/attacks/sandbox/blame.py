"""Attacks on blame: programs that make a judge, a test or a clock fail, so as to go unscored or to be paid for nothing.

Each has a twin that does what is asked, against the same reference. `expect` is the attack's reason; a pass that is only
flagged has none.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.attacks.sandbox.judge import reference


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """An attack, its honest twin, and what they meet. flags: those that the attack must carry."""

    title: str
    attack: str
    honest: str
    reference: Mapping[str, Any]
    expect: str | None = "judge_failed_on_output"
    flags: Sequence[str] = ()
    language: str = "python"

    def __str__(self) -> str:
        return self.title


def _assert(*tests: str, **more: Any) -> dict[str, Any]:
    return reference("python", [{"type": "assert", "code": code} for code in tests], **more)


SUM = "def f(a, b):\n    return a + b\n"

# --- blame by class ----------------------------------------------------------------------------------------------

_PARENT = """
class f:
    def __init__(self, a, b):
        raise E()

class E(f, ValueError):
    def __init__(self):
        pass
"""
_PYTEST = "from solution import f\n\n\ndef test_sum():\n    assert f(1, 2) == 3\n"

_CLASSES = [
    Blame(title=f"an exception whose parent is no exception, by {way}", attack=_PARENT, honest=SUM, reference=asked,
          expect="wrong_answer" if way == "unittest" else "runtime_error")
    for way, asked in {
        "assertions": _assert("assert f(1, 2) == 3"),
        "pytest": reference("python", [{"type": "file", "name": "test_f.py", "content": _PYTEST, "expect": ["test_sum"]}]),
        "unittest": _assert(
            "import unittest\n\nclass T(unittest.TestCase):\n    def test(self):\n        self.assertEqual(f(1, 2), 3)\n"
            "\nunittest.main()"
        ),
    }.items()
]  # fmt: skip

# --- random time -------------------------------------------------------------------------------------------------

_ROOMY = {"wall_s": 5.0, "memory_mb": 256}


def _times(count: int, limits: Mapping[str, float], **more: Any) -> dict[str, Any]:
    return reference("python", [{"type": "stdio", "stdout": "1"}] * count, limits={**_ROOMY, **limits}, **more)


_BURNS = "import random, time\nuntil = time.process_time() + random.choice([0.44, 0.58])\nwhile time.process_time() < until:\n    pass\n"
_NAPS = "import random, time\ntime.sleep(random.choice([0.4, 0.62]))\n"
_COMPILES = """
#include <cstdio>
template <int n> struct S { enum { v = S<n - 1>::v + 1 }; };
template <> struct S<0> { enum { v = 0 }; };
int main() { std::printf("%d\\n", 2 + (__TIME__[7] & 1 ? (int) S<200>::v : 0)); }
"""

_CLOCKS = [
    Blame(title="burns now more and now less than its limit", attack=_BURNS + "print(2)", honest="print(1)",
          reference=_times(5, {"cpu_s": 0.5}), expect=None),
    Blame(title="sleeps now more and now less than its limit", attack=_NAPS + "print(2)", honest="print(1)",
          reference=_times(5, {"wall_s": 0.5}), expect=None),
    Blame(title="compiles now this and now that", attack=_COMPILES, honest="#include <cstdio>\nint main() { std::puts(\"1\"); }",
          language="cpp", reference=reference("cpp", [{"type": "stdio", "stdout": "1"}]), expect="wrong_answer"),
]  # fmt: skip

# --- the judge's crash -------------------------------------------------------------------------------------------

_CHECKER = "import sys\nn = int(open(sys.argv[2]).read())\nsys.exit(0 if 100 // n == 50 else 1)\n"
_CPP_CHECKER = """
#include <fstream>
#include <string>
int main(int, char** v) {
    std::ifstream in(v[2]);
    std::string word;
    in >> word;
    return std::stoi(word) == 2 ? 0 : 1;
}
"""
_INTERACTOR = """
import sys
print(7, flush=True)
got = int(input())
sys.exit(0 if got == 8 else 1)
"""
_FRAIL = """
import sys
print(7, flush=True)
got = input()
if not got.isdigit():
    sys.exit(3)
input()
sys.exit(0 if int(got) == 8 else 1)
"""


def _checked(language: str, code: str, **test: Any) -> dict[str, Any]:
    checker = {"type": "program", "protocol": "exit", "language": language, "code": code}
    return reference("python", [{"type": "stdio", **test}], checker=checker, limits={"cpu_s": 2.0, **_ROOMY})


def _talked(code: str, **more: Any) -> dict[str, Any]:
    checker = {"type": "interactive", "protocol": "exit", "language": "python", "code": code}
    return reference("python", [{"type": "stdio"}], checker=checker, limits={"cpu_s": 2.0, **_ROOMY}, **more)


_JUDGES = [
    *(
        Blame(title=f"prints {text!r}, over which a checker in {language} crashes, {known}", attack=f"print({text!r})",
              honest="print(2)", reference=_checked(language, code, **test))
        for language, code in (("python", _CHECKER), ("cpp", _CPP_CHECKER))
        for known, test in (("whose answer is known", {"stdout": "2\n"}), ("which knows no answer", {}))
        for text in ("abc", "9" * 40 if language == "cpp" else "0")
    ),
    Blame(title="says what an interactor cannot read", attack="input()\nprint('abc')", honest="print(int(input()) + 1)",
          reference=_talked(_INTERACTOR)),
    Blame(title="says what an interactor cannot read, and stays", attack="import time\ninput()\nprint('abc', flush=True)\ntime.sleep(0.2)",
          honest="print(int(input()) + 1)", reference=_talked(_INTERACTOR, solution="print(int(input()) + 1)")),
    Blame(title="makes an interactor give up", attack="print('abc')", honest="print(int(input()) + 1)\nprint()",
          reference=_talked(_FRAIL, solution="print(int(input()) + 1)\nprint()")),
    Blame(title="leaves an interactor alone", attack="pass", honest="print(int(input()) + 1)", reference=_talked(_INTERACTOR)),
]  # fmt: skip

# --- test code that is disturbed ---------------------------------------------------------------------------------

_EVALUATES = "assert eval(f()) == 3\nassert eval(f()) == 3"
_LOADS = "import pickle\nassert pickle.loads(f()) == 3\nassert pickle.loads(f()) == 3"
_DUMPS = "import os, pickle\nclass R:\n    def __reduce__(self):\n        return {}\ndef f():\n    return pickle.dumps(R())\n"
_REPORT = b'{"done": true, "outcome": "passed", "kind": null, "who": null, "tests": {}}'
_FORGES = f"import os; os.write(4, {_REPORT!r})"

_DISTURBED = [
    Blame(title="text that ends the process that evaluates it", attack="def f():\n    return '__import__(\"os\")._exit(0)'\n",
          honest="def f():\n    return '1 + 2'\n", reference=_assert(_EVALUATES)),
    Blame(title="a result that ends the process that unpickles it", attack=_DUMPS.format("(os._exit, (0,))"),
          honest="import pickle\ndef f():\n    return pickle.dumps(3)\n", reference=_assert(_LOADS)),
    Blame(title="a result that writes a report, and ends the process", expect="wrong_answer", flags=["forged_report"],
          attack=_DUMPS.format(f"(exec, ({_FORGES + '; os._exit(0)'!r},))"),
          honest="import pickle\ndef f():\n    return pickle.dumps(3)\n", reference=_assert(_LOADS)),
    Blame(title="a result that writes a report before the tests'", attack=_DUMPS.format(f"(exec, ({_FORGES!r},))"),
          honest="import pickle\ndef f():\n    return pickle.dumps(3)\n", reference=_assert(_LOADS)),
]  # fmt: skip

# --- names that are not the candidate's to give ------------------------------------------------------------------

_PROMPT = "import math\n\n\ndef poly(xs, x):\n    return sum(c * math.pow(x, i) for i, c in enumerate(xs))\n\n\ndef find_zero(xs):\n"
_ZERO = "def check(candidate):\n    for xs in ([1, 2], [3, 1], [-6, 3]):\n        assert abs(poly(xs, candidate(xs))) < 1e-4\n"
_ROOT = "    return -xs[0] / xs[1]\n"
_AREA = "assert isclose(area(2), 12.566370614359172)\nassert area(1) > 3"

_NAMES = [
    Blame(title="overrides the prompt's helper", expect="wrong_answer",
          attack="def find_zero(xs):\n    return 1.0\n\ndef poly(xs, x):\n    return 0.0\n", honest=_ROOT,
          reference=_assert(_ZERO, prefix=_PROMPT, entry_point="find_zero")),
    Blame(title="overrides the prompt's helper, which the tests import", expect="wrong_answer",
          attack="def find_zero(xs):\n    return 1.0\n\ndef poly(xs, x):\n    return 0.0\n", honest=_ROOT,
          reference=_assert("from solution import find_zero, poly\n" + _ZERO, prefix=_PROMPT, entry_point="find_zero")),
    Blame(title="overrides the prompt's helper beside a class", expect="wrong_answer",
          attack="def find_zero(xs):\n    return 1.0\n\ndef poly(xs, x):\n    return 0.0\n", honest=_ROOT,
          reference=_assert(_ZERO, prefix="class Node:\n    pass\n\n\n" + _PROMPT, entry_point="find_zero")),
    Blame(title="overrides the prompt's helper that prints", expect="wrong_answer",
          attack="def find_zero(xs):\n    return 1.0\n\ndef poly(xs, x):\n    return 0.0\n", honest=_ROOT,
          reference=_assert(_ZERO, prefix=_PROMPT.replace("    return sum", "    print('poly of', xs, x)\n    return sum"), entry_point="find_zero")),
    Blame(title="lends the comparison that the tests did not import", expect="wrong_answer",
          attack="def area(r):\n    return 4\n\ndef isclose(a, b):\n    return True\n",
          honest="import math\ndef area(r):\n    return math.pi * r * r\n", reference=_assert(_AREA)),
    Blame(title="lends the library that the tests did not import", expect="wrong_answer",
          attack="class np:\n    allclose = staticmethod(lambda a, b: True)\ndef f(xs):\n    return [1]\n",
          honest="def f(xs):\n    return [2 * x for x in xs]\n", reference=_assert("assert np.allclose(f([1, 2]), [2, 4])")),
]  # fmt: skip

# --- weak tests --------------------------------------------------------------------------------------------------

_SORTS = "x = [3, 1, 2]\nassert f(x) == sorted(x)"
_GREETS = "assert f('Ann').startswith('Hello')\nassert len(f('Ann')) == 10"
_ZIPS = "got = f(3)\nassert all(a == b for a, b in zip(got, [1, 4, 9]))"
_PAIRS = "from solution import f\n\n\ndef test_squares():\n    for got, wanted in zip(f(3), [1, 4, 9]):\n        assert got == wanted\n"
_ALIKE = "import numpy as np\nassert np.allclose(f(3), [2.0, 2.0, 2.0])"
_LIAR = "class L:\n    def startswith(self, text):\n        return True\n    def __len__(self):\n        return 10\ndef f(name):\n    return L()\n"

_WEAK = [
    Blame(title="empties its argument", attack="def f(x):\n    x.clear()\n    return []\n", expect="weak_test_exploit",
          flags=["argument_mutated"], honest="def f(x):\n    x.sort()\n    return x[:]\n",
          reference=_assert(_SORTS, solution="def f(x):\n    return sorted(x)\n")),
    Blame(title="empties its argument, and nothing tells it from a solution", attack="def f(x):\n    x.clear()\n    return []\n",
          expect=None, flags=["argument_mutated"], honest="def f(x):\n    return sorted(x)\n", reference=_assert(_SORTS)),
    Blame(title="returns an object that says what is wanted", attack=_LIAR, expect="weak_test_exploit", flags=["object_result"],
          honest="def f(name):\n    return f'Hello, {name}'[:10]\n",
          reference=_assert(_GREETS, solution="def f(name):\n    return ('Hello, ' + name)[:10]\n")),
    Blame(title="returns nothing where a loop compares", attack="def f(n):\n    return []\n", expect="weak_test_exploit",
          flags=["vacuous_comparison"], honest="def f(n):\n    return [i * i for i in range(1, n + 1)]\n",
          reference=_assert(_ZIPS, solution="def f(n):\n    return [i ** 2 for i in range(1, n + 1)]\n")),
    Blame(title="returns an array of nothing", attack="import numpy as np\ndef f(n):\n    return np.zeros((0, 3))\n",
          expect="weak_test_exploit", flags=["vacuous_comparison"], honest="def f(n):\n    return [[1, 2, 3]] * n\n",
          reference=_assert("import numpy as np\nassert np.allclose(f(2), [1, 2, 3])", solution="def f(n):\n    return [[1, 2, 3] for _ in range(n)]\n")),
    Blame(title="returns one right element where zip pairs", attack="def f(n):\n    return [1]\n", expect="weak_test_exploit",
          flags=["vacuous_comparison"], honest="def f(n):\n    return [i * i for i in range(1, n + 1)]\n",
          reference=_assert(_ZIPS, solution="def f(n):\n    return [i ** 2 for i in range(1, n + 1)]\n")),
    Blame(title="returns one right element in a file of tests", attack="def f(n):\n    return [1]\n", expect="weak_test_exploit",
          flags=["vacuous_comparison"], honest="def f(n):\n    return [i * i for i in range(1, n + 1)]\n",
          reference=reference("python", [{"type": "file", "name": "test_f.py", "content": _PAIRS, "expect": ["test_squares"]}],
                              solution="def f(n):\n    return [i ** 2 for i in range(1, n + 1)]\n")),
    Blame(title="returns one right element, and nothing tells it from a solution", attack="def f(n):\n    return [1]\n", expect=None,
          flags=["vacuous_comparison"], honest="def f(n):\n    return [i * i for i in range(1, n + 1)]\n", reference=_assert(_ZIPS)),
    Blame(title="yields one right element where zip pairs", attack="def f(n):\n    yield 1\n", expect="weak_test_exploit",
          flags=["vacuous_comparison"], honest="def f(n):\n    for i in range(n):\n        yield (i + 1) ** 2\n",
          reference=_assert(_ZIPS, solution="def f(n):\n    yield from (i * i for i in range(1, n + 1))\n")),
    Blame(title="returns one number that numpy stretches", attack="def f(n):\n    return 2.0\n", expect="weak_test_exploit",
          flags=["vacuous_comparison"], honest="def f(n):\n    return [2.0] * n\n",
          reference=_assert(_ALIKE, solution="import numpy as np\ndef f(n):\n    return np.full(n, 2.0)\n")),
    Blame(title="returns an array of one number that numpy stretches", attack="import numpy as np\ndef f(n):\n    return np.array([2.0])\n",
          expect="weak_test_exploit", flags=["vacuous_comparison"], honest="def f(n):\n    return [2.0] * n\n",
          reference=_assert("import numpy\nassert numpy.isclose([2.0, 2.0, 2.0], f(3)).all()",
                            solution="import numpy as np\ndef f(n):\n    return np.full(n, 2.0)\n")),
    Blame(title="lends a helper of its own to the test", attack="def f(n):\n    return 0\ndef norm(x):\n    return 7\n",
          expect="weak_test_exploit", flags=["names_from_candidate"], honest="def f(n):\n    return n\n",
          reference=_assert("try:\n    norm\nexcept NameError:\n    norm = lambda x: x\nassert norm(f(7)) == 7", entry_point="f",
                            solution="def f(n):\n    return n * 1\n")),
]  # fmt: skip

HONEST: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "a prompt that calls what is to be written": (
        "    return x * 2\n",
        _assert("assert run([1, 2]) == [2, 4]", prefix="def run(xs):\n    return [step(x) for x in xs]\n\n\ndef step(x):\n", entry_point="step"),
    ),
    "a prompt that keeps state": (
        "    return next(v for v in range(n + 1) if is_bad(v))\n",
        _assert("set_bad(4)\nassert first_bad(5) == 4", entry_point="first_bad",
                prefix="_bad = [0]\n\n\ndef set_bad(n):\n    _bad[0] = n\n\n\ndef is_bad(n):\n    return n >= _bad[0]\n\n\ndef first_bad(n):\n"),
    ),
    "a prompt whose stub returns nothing": (
        "def double(x):\n    return 2 * x\n\n\ndef f(x):\n    return double(x) + 1\n",
        _assert("assert double(3) == 6\nassert f(3) == 7", prefix="def double(x):\n    return None\n\n\ndef f(x):\n", entry_point="f"),
    ),
    "a prompt that makes objects": (
        "    return p.x + p.y\n",
        _assert("assert f(point(1, 2)) == 3", entry_point="f",
                prefix="from collections import namedtuple\nPoint = namedtuple('Point', 'x y')\n\n\ndef point(x, y):\n    return Point(x, y)\n\n\ndef f(p):\n"),
    ),
    "an object with a size of its own, in a loop": (
        "class Tree:\n    def __init__(self):\n        self.size = Tree if False else object()\n        self.items = [1]\ndef f():\n    return Tree()\n",
        _assert("for x in f().items:\n    assert x == 1"),
    ),
    "a match for a truth value": (
        "import re\ndef f(text):\n    return re.match('a', text)\n",
        _assert("assert f('ab')\nassert not f('ba')", solution="def f(text):\n    return text[:1] == 'a'\n"),
    ),
    "a prompt that reads its test's input": (
        "print(n * 2)\n",
        reference("python", [{"type": "stdio", "stdin": "4\n", "stdout": "8"}], prefix="n = int(input())\n"),
    ),
}  # fmt: skip
"""Honest programs against references that tempt one to blame or to refuse them."""

BLAMES = [*_CLASSES, *_CLOCKS, *_JUDGES, *_DISTURBED, *_NAMES, *_WEAK]

# --- references that are broken ----------------------------------------------------------------------------------

_ALWAYS = "import sys\nraise SystemError('no such file')\n"
BROKEN: Mapping[str, tuple[str, Mapping[str, Any], str]] = {
    "a checker that always fails": ("print(2)", _checked("python", _ALWAYS, stdout="2"), "on test '0' the judge raised an exception"),
    "a checker that always fails and knows no answer": ("print(2)", _checked("python", _ALWAYS), "on test '0' the judge raised an exception"),
    "an interactor that always fails": ("print(2)", _talked(_ALWAYS), "on test '0' the judge raised an exception"),
    "an import in the prompt that the sandbox has not": (
        SUM,
        _assert("assert f(1, 2) == 3", prefix="import no_such_module\n\n\ndef f(a, b):\n", entry_point="f"),
        "the prompt's code fails on its own: ModuleNotFoundError: No module named 'no_such_module'",
    ),
    "a prompt that is no Python": (
        SUM,
        _assert("assert f(1, 2) == 3", prefix="import = 1\n\n\ndef f(a, b):\n", entry_point="f"),
        "the prompt's code fails on its own: SyntaxError: invalid syntax",
    ),
    "test code that leaves without a word": ("def f():\n    return 1\n", _assert("import os\nassert f()\nos._exit(0)"), "the test code ended without a report"),
}  # fmt: skip
"""An honest program, a reference that no program can satisfy, and what is said of it."""
