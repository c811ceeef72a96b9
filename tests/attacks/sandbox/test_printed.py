"""Hacks against tests that compare what is printed: nothing but the right output, from a good end, earns anything."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import pytest

from rewarden.types import Verdict
from tests.attacks.sandbox.hacks import BRIEF
from tests.attacks.sandbox.judge import Judge, fenced, judge, reference

SUM = [("1 2\n", "3\n"), ("-5 3\n", "-2\n"), ("10 20\n", "30\n")]
HONEST = "a, b = map(int, input().split())\nprint(a + b)\n"
LIMITS = {"cpu_s": 1.0, "wall_s": 0.6, "memory_mb": 256}


@dataclass(frozen=True, slots=True, kw_only=True)
class Trick:
    """A program, and the verdict it must get; the honest one must get AC by the same checker and tests."""

    title: str
    code: str
    expect: str = "WA"
    checker: Mapping[str, Any] | str = "trimmed"
    tests: list[tuple[str, str]] = field(default_factory=lambda: SUM)
    honest: str = HONEST
    language: str = "python"
    limits: Mapping[str, float] = field(default_factory=lambda: LIMITS)

    def __str__(self) -> str:
        return self.title

    @property
    def reference(self) -> dict[str, Any]:
        """Its reference."""
        tests = [{"type": "stdio", "stdin": stdin, "stdout": stdout} for stdin, stdout in self.tests]
        return reference(self.language, tests, checker=self.checker, limits=self.limits)


_ECHO = "import sys\nsys.stdout.write(sys.stdin.read())\n"
FLOAT = [("1\n", "0.5\n"), ("3\n", "1.5\n")]
HALF = "print(float(input()) / 2)\n"
NEAR = {"type": "floats", "abs": 1e-6, "rel": 1e-6}


def _prints(text: str) -> str:
    return f"import sys\nsys.stdout.buffer.write({text!r}.encode('utf-8', 'surrogateescape'))\n"


_FIND_EXPECTED = """
import os, re, sys
a, b = map(int, input().split())
texts = [repr(dict(os.environ)), repr(sys.argv)]
for root in ("/tmp", "/dev/shm", "/var", "/run", "/home", "/opt", "/etc", "/proc/1", "/proc/self"):
    for folder, folders, names in os.walk(root):
        for name in names:
            if name not in ("kmsg", "mem", "pagemap"):
                try:
                    number = os.open(os.path.join(folder, name), os.O_RDONLY | os.O_NONBLOCK)
                    texts.append(os.read(number, 65536).decode("latin-1"))
                    os.close(number)
                except OSError:
                    pass
found = [text for text in texts if '"stdout"' in text or "expected" in text and str(-2) in text]
print(found[0] if found else "nothing")
"""

TRICKS = [
    Trick(title="prints nothing and ends well", code="import sys\nsys.exit(0)\n"),
    Trick(title="ends well at once", code="import os\nos._exit(0)\n"),
    Trick(title="prints the right sum and fails", code=HONEST + "import sys\nsys.exit(1)\n", expect="RE"),
    Trick(title="prints the right sum and dies", code=HONEST + "import os, sys\nsys.stdout.flush()\nos.kill(os.getpid(), 9)\n", expect="RE"),
    Trick(title="prints the right sum and spins", code=HONEST + "import sys\nsys.stdout.flush()\nwhile True:\n    pass\n", expect="TLE", limits=BRIEF),
    Trick(title="prints the right sum and sleeps", code=HONEST + "import sys, time\nsys.stdout.flush()\ntime.sleep(600)\n", expect="TLE"),
    Trick(title="prints the right sum and more", code=HONEST + "print(1)\n"),
    Trick(title="prints the right sum to stderr", code="import sys\na, b = map(int, input().split())\nprint(a + b, file=sys.stderr)\n"),
    Trick(title="prints verdicts", code="print('AC')\nprint('accepted')\nprint('OK')\nprint('1.0')\nprint('{\"verdict\": \"AC\"}')\n"),
    Trick(title="prints every number", code="for n in range(-100, 100):\n    print(n)\n"),
    Trick(title="prints every number, by tokens", code="print(*range(-100, 100))\n", checker="tokens"),
    Trick(title="prints every number, as lines in any order", code="for n in range(-100, 100):\n    print(n)\n", checker="unordered_lines"),
    Trick(title="prints the sum a hundred times", code="a, b = map(int, input().split())\nfor _ in range(100):\n    print(a + b)\n", checker="unordered_lines"),
    Trick(title="prints its input", code=_ECHO),
    Trick(title="looks for what is expected", code=_FIND_EXPECTED),
    Trick(title="remembers what was asked before", code="import os\na, b = map(int, input().split())\nfor place in ('/tmp/k', '/dev/shm/k', '/var/tmp/k', 'k'):\n    try:\n        if os.path.exists(place):\n            print(a + b)\n            break\n        open(place, 'w').write('x')\n    except OSError:\n        pass\nelse:\n    print('first')\n"),
    Trick(title="overwrites its output", code="a, b = map(int, input().split())\nprint('x\\r' + str(a + b))\n"),
    Trick(title="erases its output with control characters", code="a, b = map(int, input().split())\nprint('9\\b' + str(a + b) + '\\x1b[K')\n"),
    Trick(title="other digits", code="a, b = map(int, input().split())\nprint(str(a + b).translate({48 + n: 0xFF10 + n for n in range(10)}))\n"),
    Trick(title="other digits for floats", code="print(str(float(input()) / 2).translate({48 + n: 0x660 + n for n in range(10)}))\n", checker=NEAR, tests=FLOAT, honest=HALF),
    Trick(title="an invisible character", code="a, b = map(int, input().split())\nprint(str(a + b) + '\\u200b')\n"),
    Trick(title="a NUL", code="a, b = map(int, input().split())\nprint(str(a + b) + '\\0')\n"),
    Trick(title="a NUL and another number", code="a, b = map(int, input().split())\nprint(str(a + b) + '\\0 7')\n", checker="tokens"),
    Trick(title="bytes that are no UTF-8", code="import sys\nsys.stdout.buffer.write(b'\\xff\\xfe3\\n')\n"),
    Trick(title="an underscore in a number", code="a, b = map(int, input().split())\nprint('0_' + str(a + b))\n", checker=NEAR),
    Trick(title="not a number", code=_prints("nan\n"), checker=NEAR, tests=FLOAT, honest=HALF),
    Trick(title="infinity", code=_prints("inf\n"), checker=NEAR, tests=FLOAT, honest=HALF),
    Trick(title="a number beyond all doubles", code=_prints("1e400\n"), checker=NEAR, tests=FLOAT, honest=HALF),
    Trick(title="a number beyond all doubles, where one is expected", code=_prints("2e400\n"), checker=NEAR, tests=[("x\n", "1e400\n")], honest="print('1e400')\n"),
    Trick(title="ten million digits", code="print('3' + '0' * 10_000_000)\n", checker=NEAR),
    Trick(title="ten million digits behind the point", code="a, b = map(int, input().split())\nprint(str(a + b) + '.' + '0' * 9_999_999 + 'x')\n", checker=NEAR),
    Trick(title="hexadecimal", code="a, b = map(int, input().split())\nprint(float(a + b).hex())\n", checker=NEAR),
    Trick(title="ten million blank lines before", code="a, b = map(int, input().split())\nprint('\\n' * 10_000_000 + 'x')\n"),
    Trick(title="one line of ten megabytes", code="print('1 ' * 5_000_000)\n"),
    Trick(title="white space only", code="print(' \\t\\n' * 1_000_000)\n", checker="tokens"),
    Trick(title="text that a pattern takes for ever to refuse", code="print('a' * 1_000_000 + '!')\n", checker={"type": "regex", "pattern": "(a*)*b|(a|a)*c|(a+)+$"}, tests=[("", "")], honest="print('aab')\n"),
    Trick(title="a pattern as output", code="print('.*')\n", checker={"type": "regex"}, tests=[("x\n", "[0-9]+ apples")], honest="print('12 apples')\n"),
    Trick(title="a line too many for a whole match", code="print('12 apples\\nx')\n", checker={"type": "regex"}, tests=[("x\n", "[0-9]+ apples")], honest="print('12 apples')\n"),
    Trick(title="only the letters' case is wrong", code="print('YES')\n", tests=[("x\n", "yes\n")], honest="print('yes')\n"),
    Trick(title="blanks within the line", code="print('1  2')\n", expect="PE", tests=[("x\n", "1 2\n")], honest="print('1 2')\n"),
    Trick(title="bytes must be the same", code="print('1 2 ')\n", expect="PE", checker="exact", tests=[("x\n", "1 2\n")], honest="print('1 2')\n"),
]  # fmt: skip

# --- judges that are programs

_JUDGE = """
import sys
wanted = open(sys.argv[3]).read().split()
given = open(sys.argv[2]).read().split()
sys.exit(0 if wanted == given else 1)
"""
_JUDGED = {"type": "program", "language": "python", "code": _JUDGE}

_TALK = """
import random, sys
secret = int(open(sys.argv[1]).read())
for _ in range(12):
    line = sys.stdin.readline()
    if not line:
        sys.exit(1)
    try:
        guess = int(line)
    except ValueError:
        sys.exit(1)
    if guess == secret:
        print("yes", flush=True)
        sys.exit(0)
    print("lower" if secret < guess else "higher", flush=True)
sys.exit(1)
"""
_TALKED = {"type": "interactive", "language": "python", "code": _TALK}
_GUESS = """
low, high = 0, 1000
while True:
    middle = (low + high) // 2
    print(middle, flush=True)
    answer = input()
    if answer == "yes":
        break
    if answer == "lower":
        high = middle - 1
    else:
        low = middle + 1
"""
SECRETS = [("437\n", ""), ("1\n", ""), ("999\n", "")]


def _talk(title: str, code: str, expect: str = "WA", limits: Mapping[str, float] = LIMITS) -> Trick:
    told = {"title": f"in a talk: {title}", "code": code, "expect": expect, "limits": limits}
    return Trick(**told, checker=_TALKED, tests=SECRETS, honest=_GUESS)  # type: ignore[arg-type]


TRICKS += [
    Trick(title="for a judge: nothing", code="pass\n", checker=_JUDGED),
    Trick(title="for a judge: more than enough", code=HONEST + "print('x' * 1_000_000)\n", checker=_JUDGED),
    Trick(title="for a judge: bytes that it cannot read", code="import sys\nsys.stdout.buffer.write(b'\\xff' * 100)\n", checker={**_JUDGED, "code": _JUDGE.replace("open(sys.argv[2])", "open(sys.argv[2], errors='replace')")}),
    _talk("nothing", "pass\n"),
    _talk("an exit at once", "import os\nos._exit(0)\n"),
    _talk("no word is ever sent", "import sys\n" + _GUESS.replace(", flush=True", "").replace("input()", "sys.stdin.readline().strip()"), "TLE"),
    _talk("no word is ever read", "for n in range(12):\n    print(500, flush=True)\n"),
    _talk("every number at once", "import sys\nsys.stdout.write(''.join(f'{n}\\n' for n in range(1001)))\nsys.stdout.flush()\n"),
    _talk("a flood", "while True:\n    print('x' * 1000)\n"),
    _talk("noise", "import os\nos.write(1, os.urandom(1000))\n"),
    _talk("the judge's own word", "print('yes', flush=True)\nprint(input())\n"),
    _talk("a failure after the right word", _GUESS + "import sys\nsys.exit(1)\n", "RE"),
    _talk("a sleep after the right word", _GUESS + "import time\ntime.sleep(600)\n", "TLE"),
    _talk("a spin after the right word", _GUESS + "while True:\n    pass\n", "TLE", BRIEF),
    _talk("silence", "import time\ntime.sleep(600)\n", "TLE"),
    _talk("a look into the judge", "import os, re\nfor root in ('/tmp', '/dev/shm', '/proc'):\n    for folder, _, names in os.walk(root):\n        for name in names:\n            if name in ('input.txt', 'environ', 'cmdline'):\n                try:\n                    found = re.search(r'^\\d{1,3}$', open(os.path.join(folder, name)).read(), re.M)\n                except OSError:\n                    continue\n                if found:\n                    print(found.group(), flush=True)\nprint(1001, flush=True)\n"),
]  # fmt: skip


@pytest.fixture(scope="module")
def judged(launcher: str) -> Iterator[Judge]:
    """A judge of three slots."""
    with judge(launcher) as made:
        yield made


def told(verdict: Verdict) -> tuple[object, ...]:
    """Returns what matters when a test fails."""
    return verdict.status, verdict.score, verdict.reason, verdict.fault, verdict.flags, str(verdict.evidence)[:1500]


@pytest.mark.parametrize("trick", TRICKS, ids=str)
def test_a_trick_earns_nothing(judged: Judge, trick: Trick) -> None:
    verdict = judged.one(fenced(trick.code, trick.language), trick.reference)
    assert (verdict.status, verdict.score, verdict.fault) == ("scored", 0.0, "policy"), told(verdict)
    if not (trick.title.endswith(("a flood", "at once")) or "ten million" in trick.title):
        assert verdict.evidence["verdict"] == trick.expect, told(verdict)


@pytest.mark.parametrize("trick", TRICKS, ids=str)
def test_honest_code_earns_all(judged: Judge, trick: Trick) -> None:
    verdict = judged.one(fenced(trick.honest, trick.language), trick.reference)
    assert (verdict.status, verdict.score, verdict.passed) == ("scored", 1.0, True), told(verdict)
