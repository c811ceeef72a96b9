"""The load of the soak: samples of five kinds with known verdicts. One in twenty is rough, one in ten hostile.

Half of the others are code with 15 tests; the rest is math, sql, choice and json in equal shares. Rough samples harm an
unprepared server: bombs, loops, floods, sleepers, huge and broken texts. Hostile ones are candidates of `make farm`
without a right answer: each must be scored, and none may earn a reward. A number makes every text unique, so that no
cache and no coalescing saves work.
"""

from __future__ import annotations

import itertools
import json
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

from benchmarks.bounded import PATHOLOGICAL
from benchmarks.pairs import Pair, pairs
from rewarden.types import Sample, Use, Verdict
from rewarden_server.studies.farm.candidates import PIECES
from rewarden_server.studies.farm.programs import program

KINDS = ("code", "math", "sql", "choice", "json")
ROUGH_SHARE = 0.05
HOSTILE_SHARE = 0.1
TESTS = 15

REFERENCES = 16
"""Of sql and of json. As in training, many samples share a reference. Each worker caches the last prepared references
(512 databases of sql, about 20 kB each; 4096 of json, about 5 kB each), and some of eight workers get few samples: with
more references, their caches would still grow at the end of a soak, which looks like a leak."""

_SHARES = (4, 1, 1, 1, 1)
"""Shares of the kinds: half of the samples are code."""

_LIMITS = {"cpu_s": 1.0, "wall_s": 1.0, "memory_mb": 256, "output_bytes": 1_000_000}
"""Limits of each test: an endless program costs 1.5 seconds, not 15."""


@dataclass(frozen=True, slots=True)
class Known:
    """The verdict that a sample must have. `score`: None if it must be `undecided`. `reasons`: any one of them, if
    there are some (more than one if the machine's speed decides which limit a program exceeds first).
    """

    score: float | None
    reasons: frozenset[str] = field(default_factory=frozenset)

    def agrees(self, verdict: Verdict) -> bool:
        """Returns whether the verdict is the expected one."""
        status = "undecided" if self.score is None else "scored"
        same = verdict.status == status and verdict.score == self.score
        return same and (not self.reasons or verdict.reason in self.reasons)


@dataclass(frozen=True, slots=True)
class Asked:
    """A sample, its kind (`rough` or `hostile` for those), a name for it, and the expected verdict."""

    kind: str
    name: str
    sample: Sample
    known: Known


RIGHT, WRONG = Known(1.0), Known(0.0)

Make = Callable[[random.Random, int], tuple[str, Any, Known]]
"""Makes a response, reference and verdict from a random generator and the sample's number."""


def samples(seed: int) -> Iterator[Asked]:
    """Yields samples without end; the same ones for the same seed."""
    rng = random.Random(seed)
    usual: dict[str, Make] = {"code": _code, "math": _Math(), "sql": _sql, "choice": _choice, "json": _json}
    for number in itertools.count(seed * 10_000_000):
        draw = rng.random()
        if draw < ROUGH_SHARE:
            name = rng.choice(list(ROUGH))
            use, make = ROUGH[name]
            yield _asked("rough", name, use, make, rng, number)
        elif draw < ROUGH_SHARE + HOSTILE_SHARE:
            use = rng.choices(list(HOSTILE), (4, 1, 1, 1))[0]
            yield _asked("hostile", f"hostile: {use}", use, HOSTILE[use], rng, number)
        else:
            kind = rng.choices(KINDS, _SHARES)[0]
            yield _asked(kind, kind, kind, usual[kind], rng, number)


def _asked(kind: str, name: str, use: str, make: Make, rng: random.Random, number: int) -> Asked:
    response, reference, known = make(rng, number)
    return Asked(kind, name, Sample(response=response, reference=reference, use=Use(name=use), id=str(number)), known)


# --- usual ones ------------------------------------------------------------------------------------------------


class _Math:
    """GRPO-like pairs, labelled by construction."""

    def __init__(self) -> None:
        self._pairs: list[Pair] = pairs()

    def __call__(self, rng: random.Random, number: int) -> tuple[str, Any, Known]:
        pair = rng.choice(self._pairs)
        return f"Attempt {number}. {pair.response}", pair.reference, RIGHT if pair.right else WRONG


@dataclass(frozen=True, slots=True)
class _Task:
    """A programming task: right programs, programs that are wrong for some input, and the right output."""

    right: tuple[str, ...]
    wrong: tuple[str, ...]
    answer: Callable[[list[int]], str]


_TASKS = (
    _Task(
        (
            "print(sum(map(int, input().split())))",
            "total = 0\nfor word in input().split():\n    total += int(word)\nprint(total)",
            "import sys\nprint(sum(int(x) for x in sys.stdin.read().split()))",
        ),
        ("print(sum(map(abs, map(int, input().split()))))", "print(sum(map(int, input().split()[:-1])))"),
        lambda numbers: str(sum(numbers)),
    ),
    _Task(
        (
            "print(*sorted(map(int, input().split())))",
            "xs = [int(x) for x in input().split()]\nfor i in range(len(xs)):\n    for j in range(len(xs) - 1 - i):\n"
            "        if xs[j] > xs[j + 1]:\n            xs[j], xs[j + 1] = xs[j + 1], xs[j]\nprint(*xs)",
        ),
        ("print(*sorted(input().split()))", "print(*sorted(set(map(int, input().split()))))"),
        lambda numbers: " ".join(map(str, sorted(numbers))),
    ),
    _Task(
        (
            "best = run = 0\nfor x in map(int, input().split()):\n    run = max(0, run + x)\n"
            "    best = max(best, run)\nprint(best)",
            "import itertools\nxs = [0, *itertools.accumulate(map(int, input().split()))]\n"
            "print(max(b - a for i, a in enumerate(xs) for b in xs[i:]))",
        ),
        ("print(max(map(int, input().split())))", "raise SystemExit('no idea')"),
        lambda numbers: str(max(sum(numbers[i:j]) for i in range(len(numbers)) for j in range(i, len(numbers) + 1))),
    ),
)


def _code(rng: random.Random, number: int) -> tuple[str, Any, Known]:
    task = rng.choice(_TASKS)
    # Two equal numbers, two that sort differently as text, and a negative one: no wrong program passes by luck.
    inputs = [[9, -30, 100, 9, 9, -1, number % 1000]]
    inputs += [[rng.randint(-99, 999) for _ in range(rng.randint(3, 12))] for _ in range(TESTS - 1)]
    rng.shuffle(inputs)
    tests = [{"type": "stdio", "stdin": " ".join(map(str, xs)), "stdout": task.answer(xs)} for xs in inputs]
    right = rng.random() < 0.6
    program = rng.choice(task.right if right else task.wrong)
    response = f"Let us see.\n```python\n# {number}\n{program}\n```"
    return response, {"language": "python", "tests": tests, "limits": _LIMITS}, RIGHT if right else WRONG


_TOWNS = ("Lyon", "Pisa", "Gent", "Brno", "Cork", "Oulu", "Faro", "Graz", "Metz", "Split")


def _sql(rng: random.Random, number: int) -> tuple[str, Any, Known]:
    own = random.Random(number % REFERENCES)
    rows = [[name, own.randint(10, 900) * 1000, own.choice(("a", "b", "c"))] for name in _TOWNS]
    rows += [["Nil", 5000 + number % REFERENCES, "a"], ["Most", 950_000, "b"]]
    reference = {
        "database": {"tables": {"town": {"columns": ["name", "people", "region"], "rows": rows}}},
        "sql": "SELECT name FROM town WHERE people >= 400000",
    }
    right = rng.random() < 0.6
    query = rng.choice(
        (
            "SELECT t.name FROM town AS t WHERE NOT t.people < 400000",
            "WITH large AS (SELECT * FROM town WHERE people > 399999) SELECT name FROM large",
        )
        if right
        else ("SELECT name FROM town", "SELECT name FROM town WHERE people < 400000", "SELECT nam FROM town")
    )
    return f"Query {number}:\n```sql\n{query}\n```", reference, RIGHT if right else WRONG


def _choice(rng: random.Random, number: int) -> tuple[str, Any, Known]:
    answer, other = rng.sample("ABCD", 2)
    draw = rng.random()
    if draw < 0.6:
        return f"Step {number} settles it.\n\n**Answer:** ({answer})", answer, RIGHT
    if draw < 0.9:
        return f"Step {number} settles it: \\boxed{{{other}}}", answer, WRONG
    return f"After {number} steps nothing is settled.", answer, WRONG


def _json(rng: random.Random, number: int) -> tuple[str, Any, Known]:
    own = random.Random(number % REFERENCES)
    value = {
        "number": number % REFERENCES,
        "tags": own.sample(_TOWNS, 3),
        "nested": {"ratio": own.randint(1, 99) / 4, "none": None, "on": own.random() < 0.5},
    }
    draw = rng.random()
    if draw < 0.6:
        shown = dict(reversed(value.items()))
        return f"Attempt {number}:\n```json\n{json.dumps(shown, indent=2)}\n```", value, RIGHT
    if draw < 0.8:
        return f"Attempt {number}:\n```json\n{json.dumps({**value, 'nested': {}, 'tags': []})}\n```", value, Known(0.0)
    return f"Attempt {number}:\n```json\n{json.dumps(value)[:-2]}\n```", value, WRONG


# --- rough ones ------------------------------------------------------------------------------------------------


def _program(text: str, *reasons: str) -> tuple[str, Make]:
    def make(rng: random.Random, number: int) -> tuple[str, Any, Known]:
        tests = [{"type": "stdio", "stdin": f"{n}\n", "stdout": f"{n}\n"} for n in range(TESTS)]
        reference = {"language": "python", "tests": tests, "limits": _LIMITS}
        return f"```python\n# {number}\n{text}\n```", reference, Known(0.0, frozenset(reasons))

    return "code", make


def _answer(text: str) -> tuple[str, Make]:
    def make(rng: random.Random, number: int) -> tuple[str, Any, Known]:
        return f"Attempt {number}: \\boxed{{{text}}}", "\\frac{7}{3}", WRONG

    return "math", make


def _query(text: str, *reasons: str) -> tuple[str, Make]:
    def make(rng: random.Random, number: int) -> tuple[str, Any, Known]:
        _, reference, _ = _sql(rng, number)
        return f"-- {number}\n```sql\n{text}\n```", reference, Known(0.0, frozenset(reasons))

    return "sql", make


def _text(use: str, reference: Any, response: Callable[[int], str], known: Known = WRONG) -> tuple[str, Make]:
    return use, lambda rng, number: (response(number), reference, known)


ROUGH: dict[str, tuple[str, Make]] = {
    **{f"math: {name}": _answer(text) for name, text in PATHOLOGICAL.items()},
    "math: a product that sticks": _answer("\\prod_{k=1}^{10^{9}} \\left(1 + \\frac{x^k}{k^3}\\right)"),
    "math: a list of guesses": _text("math", "7", lambda n: f"{n}: \\boxed{{1}} or \\boxed{{7}} or \\boxed{{{n}}}"),
    "math: 500,000 characters": _text("math", "7", lambda n: f"{n} " + "so \\frac{1}{2} or \\boxed{3} " * 16_000),
    "math: broken unicode": _text("math", "7", lambda n: f"{n} \\boxed{{7\x00\u202e\ufffe\ufffd\U0001f1e6}}"),
    "code: endless loop": _program("while True:\n    pass", "time_limit"),
    "code: fork bomb": _program(
        "import os\nwhile True:\n    os.fork()", "runtime_error", "time_limit", "memory_limit", "wrong_answer"
    ),
    "code: thread bomb": _program(
        "import threading, time\nwhile True:\n    threading.Thread(target=time.sleep, args=(99,)).start()",
        *("runtime_error", "time_limit", "memory_limit"),
    ),
    "code: memory hog": _program("hog = []\nwhile True:\n    hog.append(bytearray(1 << 24))", "memory_limit"),
    "code: output flood": _program("while True:\n    print('x' * 10_000)", "output_limit"),
    "code: sleeper": _program("import time\ntime.sleep(1000)", "time_limit"),
    "code: reads for ever": _program("import os\nr, w = os.pipe()\nos.read(r, 1)", "time_limit"),
    "code: kills all it can": _program("import os, signal\nos.kill(-1, signal.SIGKILL)", "runtime_error"),
    "code: leaves children": _program(
        "import os, time\nif os.fork() == 0:\n    os.setsid()\n    time.sleep(99)\nraise SystemExit(3)", "runtime_error"
    ),
    "code: fills the disk": _program(
        "with open('/tmp/x', 'wb') as file:\n    while True:\n        file.write(bytes(1 << 20))", "runtime_error"
    ),
    "code: 2 million characters": _text(
        "code",
        {"language": "python", "tests": [{"type": "stdio", "stdin": "", "stdout": "1"}]},
        lambda n: f"```python\n# {n}\nx = '{'y' * 2_000_000}'\n```",
        Known(0.0, frozenset({"code_too_long"})),
    ),
    "sql: recursion without end": _query(
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT count(*) FROM n"
    ),
    "sql: product of tables": _query(
        "SELECT count(*) FROM town a, town b, town c, town d, town e, town f, town g, town h"
    ),
    "sql: drops the table": _query("DROP TABLE town"),
    "choice: hedging": _text("choice", "A", lambda n: f"{n}: the answer is A, or B, or C, or D"),
    "choice: 500,000 characters": _text("choice", "A", lambda n: f"{n} " + "(B) or (C), " * 40_000 + "\\boxed{B}"),
    "json: 100,000 deep": _text("json", {"a": 1}, lambda n: f"{n}\n```json\n{'[' * 100_000}{']' * 100_000}\n```"),
    "json: a number of 100,000 digits": _text("json", {"a": 1}, lambda n: f'```json\n{{"a": {n}{"1" * 100_000}}}\n```'),
    "json: a key twice": _text("json", {"a": 1}, lambda n: f'```json\n{{"a": {n}, "a": 2}}\n```'),
}
"""Verifier and maker by name. Each must score zero: the policy made them, so none may go unscored."""


# --- hostile ones ----------------------------------------------------------------------------------------------

_TEXTS = [piece for piece in PIECES if piece == piece.encode("utf-8", "replace").decode()]
"""Pieces that can cross a wire: half a surrogate pair is not text, and is the caller's mistake."""


def _hostile_program(rng: random.Random, number: int) -> tuple[str, Any, Known]:
    _, reference, _ = _code(rng, number)
    return f"{program('python', (), rng)}\n{number}", reference, WRONG


def _hostile_text(usual: Make) -> Make:
    def make(rng: random.Random, number: int) -> tuple[str, Any, Known]:
        _, reference, _ = usual(rng, number)
        pieces = [rng.choice(_TEXTS) for _ in range(rng.choice((1, 1, 2, 3)))]
        return "\n".join((*pieces, str(number))), reference, WRONG

    return make


HOSTILE: dict[str, Make] = {
    "code": _hostile_program,
    "math": _hostile_text(lambda rng, number: ("", "\\frac{7}{3}", WRONG)),
    "sql": _hostile_text(_sql),
    "json": _hostile_text(_json),
}
"""By verifier, a maker of candidates without a right answer: they must score zero, and none may go unscored."""
