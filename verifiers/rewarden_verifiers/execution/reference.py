"""The reference of `code`: the tests, as they arrive in a request, checked field by field.

Nothing here comes from the policy: every mistake is the reference's fault, reported with its JSON path.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import Any, ClassVar, Literal, get_args

from rewarden.errors import InvalidReference
from rewarden_sandboxes.job import Limits
from rewarden_sandboxes.languages import Registry
from rewarden_verifiers.execution.checkers import TextChecker, TextType, kattis
from rewarden_verifiers.execution.frameworks.known import framework_of
from rewarden_verifiers.execution.shared_need import shared_need
from rewarden_verifiers.execution.shims.known import shim_of
from rewarden_verifiers.execution.shims.written import Entry
from rewarden_verifiers.execution.tagged import Untagged, fits
from rewarden_verifiers.execution.values import ValueChecker

Kind = Literal["stdio", "call", "assert", "file"]
Protocol = Literal["testlib", "kattis", "exit", "score"]

MAX_TESTS = 10_000
MAX_PASSES = 100
MAX_WAVES = 100
"""The maximum length of a chain of groups that require one another."""
PYTHON = frozenset(word for row in Registry.load() if row.python for word in (row.name, *row.aliases))
"""Names of Python, the only language whose programs need no shim."""


class Strict:
    """A part of the reference in which an unknown key is an error."""

    __slots__ = ()
    __pydantic_config__: ClassVar[Mapping[str, str]] = {"extra": "forbid"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Base64(Strict):
    """Bytes that are not valid text."""

    base64: str


Content = str | Base64


@dataclass(frozen=True, slots=True, kw_only=True)
class RunLimits(Strict, Limits):
    """Limits on a program; see `rewarden_sandboxes.job.Limits`. A missing field has the language's default."""

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            if value is not None and not (math.isfinite(value) and value > 0):
                raise ValueError(f"{item.name} must be a finite number above 0")


@dataclass(frozen=True, slots=True, kw_only=True)
class Checker(Strict):
    """The rule that judges the outcome of a test.

    type: For printed output: `exact`, `trimmed` (the default), `tokens`, `lines`, `floats`, `unordered_lines`, `regex`,
        or `kattis` (Kattis's default validator, with its flags in `args`). For the result of a call: `value` (the
        default there). For a program that judges: `program` (reads input, output and answer) or `interactive` (talks
        with the candidate).
    abs, rel: Tolerances for `floats` and `value`.
    ignore_case: Whether texts are compared without case.
    spaces: Whether `tokens` and `floats` compare the white space too, byte for byte.
    pattern, match: For `regex`; without a pattern, the test's `stdout` is the pattern.
    unordered: Whether the list that `value` compares can be in any order; `deep` includes the lists within it.
    strict: Whether `value` compares types as well as values.
    language, code, files, args, limits: The judging program.
    protocol: How the program reports its verdict; see `judges`.
    max_points: The points of full credit, for programs that award points; `weight`: each test's own weight.
    passes: The maximum number of runs of the candidate per test, for a program that asks for another one.
    unbuffered: Whether an interactive candidate's stdout is unbuffered, so that it need not flush.
    """

    type: Literal[TextType, "kattis", "value", "program", "interactive"] = "trimmed"
    abs: float | None = None
    rel: float | None = None
    ignore_case: bool = False
    spaces: bool = False
    pattern: str | None = None
    match: Literal["full", "search"] = "full"
    unordered: bool | Literal["deep"] = False
    strict: bool = False
    language: str | None = None
    code: str | None = None
    files: dict[str, Content] = field(default_factory=dict)
    args: tuple[str, ...] = ()
    limits: RunLimits = RunLimits()
    protocol: Protocol = "testlib"
    max_points: float | Literal["weight"] = 1.0
    passes: int = 1
    unbuffered: bool = False


CheckerName = Literal["exact", "trimmed", "tokens", "lines", "floats", "unordered_lines", "kattis", "value"]


class _Missing:
    """Marks a missing value; None is a value of its own."""


MISSING: Any = _Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Types(Strict):
    """Node types of a call's values: `ListNode`, `TreeNode` or lists of them (`List[ListNode]`), written as lists.

    args: The shapes of arguments, by position ("0") or name. returns: The shape of the result.
    """

    args: dict[str, str] = field(default_factory=dict)
    returns: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test(Strict):
    """One test. Its fields depend on its type.

    stdio: stdin, or generate (a generator's name and its arguments); stdout (expected), alternatives (other right
    outputs), outputs (files that the program must write, with their expected content); files; checker_args (further
    arguments of the checker). call: target (`f` or `Solution.f`), args, kwargs, returns, types, init (the arguments of
    `Solution(…)`). assert: code. file: name, content, expect (the ids of its tests that must pass). All types: id
    (default: its position), weight, group, visibility (`hidden` tests are never shown), limits, checker.
    """

    __test__: ClassVar[bool] = False

    type: Kind
    id: str | None = None
    stdin: Content = ""
    stdout: Content | None = None
    generate: tuple[str, ...] = ()
    alternatives: tuple[Content, ...] = ()
    outputs: dict[str, Content] = field(default_factory=dict)
    checker_args: tuple[str, ...] = ()
    files: dict[str, Content] = field(default_factory=dict)
    target: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    returns: Any = field(default_factory=lambda: MISSING)
    types: Types | None = None
    init: tuple[Any, ...] = ()
    code: str | None = None
    name: str | None = None
    content: str | None = None
    expect: tuple[str, ...] | None = None
    weight: float = 1.0
    group: str | None = None
    visibility: Literal["public", "hidden"] = "hidden"
    limits: RunLimits = RunLimits()
    checker: CheckerName | Checker | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group(Strict):
    """The rules of a group of tests.

    points: The worth of the group in the scoring `groups`; by default the sum of its tests' weights.
    score: How its tests earn them: `all` (all of them pass, or nothing), `sum` (each earns its share, by weight),
        `minimum` (the least credit of a test).
    requires: Names of groups that must pass before this one runs. If one fails, these tests are skipped.
    """

    points: float | None = None
    score: Literal["all", "sum", "minimum"] = "all"
    requires: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Generator(Strict):
    """A program that prints the input of tests, given their arguments. It must depend on nothing else.

    language, code, files, limits: The program.
    answer: The source of the expected output of a test without `stdout`: the reference's `solution`, run on the input,
        or the generator's `stderr`.
    """

    language: str
    code: str
    files: dict[str, Content] = field(default_factory=dict)
    limits: RunLimits = RunLimits()
    answer: Literal["solution", "stderr"] = "solution"


@dataclass(frozen=True, slots=True, kw_only=True)
class CodeReference(Strict):
    """The reference of `code`: the tests of a program.

    language: A language of the sandbox's registry.
    languages: All languages that are allowed, if there are several: the fence of the program decides which of them it
        is in, and one without a label is in `language`. A program in any other is wrong (`wrong_language`).
    min_version: The oldest version of the language's toolchain that can judge the programs, such as `1.21`.
    flags: Further flags of the compilation, such as `-O3` and `-std=c++17`: those that the language's row allows.
    tests: At least one test.
    checker: The checker of tests that name none.
    groups: The rules of groups, by name; a group that is not named has the default ones.
    generators: Programs that make the inputs of tests, by name.
    limits: The limits of tests that set no others.
    compile_limits: The limits of the compilation.
    files: Files beside the program in every test.
    isolation: `separate` (default): test code and candidate run in two processes; `shared`: in a single process, and
        every verdict is flagged.
    entry_point: The function that HumanEval's `check(candidate)` gets.
    signature: The declaration of the entry point, in a language with types; default: as the `prefix` ends.
    prefix: The prompt's code, which a response can continue (see the parameter `completion`).
    stop: Texts that end such a continuation; what follows the first of them is not part of the program.
    modules: Names under which test code can import the candidate.
    solution: A program that passes every test, and that no candidate sees. If a judge, test code or `prefix` fails, or
        a pass is suspect, control runs with it determine who is to blame.
    """

    language: str
    tests: tuple[Test, ...]
    languages: tuple[str, ...] = ()
    min_version: str = ""
    flags: tuple[str, ...] = ()
    checker: CheckerName | Checker | None = None
    groups: dict[str, Group] = field(default_factory=dict)
    generators: dict[str, Generator] = field(default_factory=dict)
    limits: RunLimits = RunLimits()
    compile_limits: RunLimits = RunLimits()
    files: dict[str, Content] = field(default_factory=dict)
    isolation: Literal["separate", "shared"] = "separate"
    entry_point: str | None = None
    signature: str | None = None
    prefix: str = ""
    stop: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    solution: str | None = None

    @property
    def allowed(self) -> tuple[str, ...]:
        """The languages that a program can be in, the one of programs without a label first."""
        return tuple(dict.fromkeys((self.language, *self.languages)))


# --- read --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeProgram:
    """A judge that is a program. `path`: its path in the reference. `max_points`: None for the test's weight."""

    interactive: bool
    language: str
    code: str
    files: Mapping[str, bytes]
    args: tuple[str, ...]
    limits: Limits
    protocol: Protocol
    path: str
    max_points: float | None = 1.0
    passes: int = 1
    unbuffered: bool = False


AnyChecker = TextChecker | ValueChecker | JudgeProgram | None
"""None: the test code itself is the judge."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """A test, ready to be planned. `stdin` and `expected` are bytes; `test` is the original, with the names of its
    tests if it is a test file. `wave`: the number of waves of tests that run before it. `crosses`: whether a program
    can send the expected value. `turn` and `feedback`: for a test with several passes, the number of this run and the
    files that the judge kept from earlier runs.
    """

    place: int
    id: str
    test: Test
    stdin: bytes
    expected: bytes
    files: Mapping[str, bytes]
    limits: Limits
    checker: AnyChecker
    path: str
    alternatives: Sequence[bytes] = ()
    outputs: Mapping[str, bytes] = field(default_factory=dict)
    rules: Group = Group()
    wave: int = 0
    crosses: bool = True
    turn: int = 1
    feedback: Mapping[str, bytes] = field(default_factory=dict)

    @property
    def hidden(self) -> bool:
        """Returns whether the test must not be shown."""
        return self.test.visibility == "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A reference, ready to be planned. `generators`: the files next to each generator."""

    reference: CodeReference
    trials: Sequence[Trial]
    files: Mapping[str, bytes]
    generators: Mapping[str, Mapping[str, bytes]] = field(default_factory=dict)


_OWN: Mapping[Kind, frozenset[str]] = {
    "stdio": frozenset({"stdin", "stdout", "generate", "alternatives", "outputs", "checker_args", "files"}),
    "call": frozenset({"target", "args", "kwargs", "init", "returns", "types", "files"}),
    "assert": frozenset({"code", "files"}),
    "file": frozenset({"name", "content", "expect", "files"}),
}
_NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "stdio": (),
    "call": ("target", "returns"),
    "assert": ("code",),
    "file": ("name", "content"),
}
_SPECIAL = frozenset[str]().union(*_OWN.values())
_BARE = Test(type="stdio")
_FOREIGN: Mapping[Kind, Sequence[tuple[str, Any]]] = {
    kind: [(item.name, getattr(_BARE, item.name)) for item in fields(Test) if item.name in _SPECIAL - own]
    for kind, own in _OWN.items()
}
"""The fields that do not apply to a test of each type, with their default values."""
_NO_LIMITS = RunLimits()
_NO_RULES = Group()
_USUAL_TEXT, _USUAL_VALUE = TextChecker(), ValueChecker()
_FILE = re.compile(r"(?:[A-Za-z0-9_][\w-]*/)*[A-Za-z0-9_][\w-]*\.py", re.ASCII)
_TEXT_TYPES = frozenset(get_args(TextType))


def read_reference(reference: CodeReference) -> Suite:
    """Returns the suite of a reference. Raises InvalidReference with the path of the error."""
    if not reference.tests:
        raise invalid("there are no tests", "reference.tests")
    if len(reference.tests) > MAX_TESTS:
        raise invalid(f"there are {len(reference.tests)} tests; {MAX_TESTS} is the most", "reference.tests")
    if not reference.language.strip():
        raise invalid("the language is blank", "reference.language")
    if not all(language.strip() for language in reference.languages):
        raise invalid("a language is blank", "reference.languages")
    if len(reference.allowed) > 1 and reference.prefix.strip():
        raise invalid("the prompt's code is in one language, and several are allowed", "reference.prefix")
    if len(reference.allowed) > 1 and reference.flags:
        raise invalid("flags are of one compiler, and several languages are allowed", "reference.flags")
    shared_files = _files(reference.files, "reference.files")
    waves = _waves(reference)
    generators = {
        name: _files(generator.files, f"reference.generators[{name!r}].files")
        for name, generator in reference.generators.items()
    }
    checkers: Known = {}
    trials: list[Trial] = []
    ids: set[str] = set()
    for place, test in enumerate(reference.tests):
        path = f"reference.tests[{place}]"
        trial = _trial(reference, place, test, path, checkers)
        if trial.id in ids:
            raise invalid(f"the id {trial.id!r} is taken; ids tell tests apart", f"{path}.id")
        ids.add(trial.id)
        trials.append(replace(trial, wave=waves[name]) if (name := test.group) in waves else trial)
    if reference.checker is not None and all(used != id(reference.checker) for used, _ in checkers):
        raise invalid("no test can use this checker", "reference.checker")
    if not math.fsum(trial.test.weight for trial in trials) > 0:
        raise invalid("the weights of the tests are all 0", "reference.tests")
    return Suite(reference=reference, trials=trials, files=shared_files, generators=generators)


def _waves(reference: CodeReference) -> dict[str | None, int]:
    """Returns the number of waves before each group: a group runs after those that it requires."""
    named = {test.group for test in reference.tests}
    waves: dict[str | None, int] = {}

    def wave_of(name: str, above: tuple[str, ...]) -> int:
        if name not in waves:
            path = f"reference.groups[{name!r}].requires"
            required = reference.groups[name].requires if name in reference.groups else ()
            for other in required:
                if other not in named:
                    raise invalid(f"no test is in the group {other!r}", path)
                if other in (*above, name):
                    raise invalid(f"the group requires itself, by {other!r}", path)
            if len(above) > MAX_WAVES:
                raise invalid(f"more than {MAX_WAVES} groups require one another in a row", path)
            waves[name] = max((wave_of(other, (*above, name)) + 1 for other in required), default=0)
            if waves[name] > MAX_WAVES:
                raise invalid(f"more than {MAX_WAVES} groups require one another in a row", path)
        return waves[name]

    for name, group in reference.groups.items():
        if name not in named:
            raise invalid("no test is in this group", f"reference.groups[{name!r}]")
        if group.points is not None and not (math.isfinite(group.points) and group.points >= 0):
            raise invalid("points are a finite number of at least 0", f"reference.groups[{name!r}].points")
        wave_of(name, ())
    worths = [group.points for group in reference.groups.values()]
    if named <= reference.groups.keys() and all(points == 0 for points in worths) and worths:
        raise invalid("the points of the groups are all 0", "reference.groups")
    return waves


def _trial(
    reference: CodeReference,
    place: int,
    test: Test,
    path: str,
    checkers: Known,
) -> Trial:
    kind = test.type
    for name, default in _FOREIGN[kind]:
        if getattr(test, name) != default:
            raise invalid(f"a test of type {kind!r} has no {name!r}", f"{path}.{name}")
    for name in _NEEDED[kind]:
        if getattr(test, name) in (None, MISSING) and not (name == "returns" and test.returns is None):
            raise invalid(f"a test of type {kind!r} needs {name!r}", f"{path}.{name}")
    others = [name for name in reference.allowed if name.lower() not in PYTHON]
    if kind in ("assert", "file") and others and len(reference.allowed) > 1:
        raise invalid("test code is in one language, and several are allowed", f"{path}.type")
    if kind != "stdio":
        for name in others:
            _check_shim(replace(reference, language=name), test, path)
    if kind in ("assert", "file") and not others and reference.isolation == "separate":
        reason = shared_need(test.code or test.content or "", reference.prefix)
        if reason is not None:
            field = "code" if kind == "assert" else "content"
            raise invalid(f"this test needs isolation: shared: {reason}", f"{path}.{field}")
    if not (math.isfinite(test.weight) and test.weight >= 0):
        raise invalid("a weight is a finite number of at least 0", f"{path}.weight")
    if kind == "file":
        test = _test_file(reference, test, path)
    if kind == "call":
        _check_target(test.target or "", f"{path}.target")
        if test.init and "." not in (test.target or ""):
            raise invalid("only the target of a method makes an object", f"{path}.init")
    checker = _checker_of(reference, test, path, checkers)
    _check_input(reference, test, path)
    if kind == "stdio" and not _has_answer(reference, test) and _needs_answer(checker):
        raise invalid("a test of type 'stdio' needs 'stdout'", f"{path}.stdout")
    if isinstance(checker, JudgeProgram):
        if test.alternatives:
            raise invalid("a checker that is a program reads one answer", f"{path}.alternatives")
        if checker.max_points is None and not test.weight > 0:
            raise invalid("a weight that is the checker's max_points is above 0", f"{path}.weight")
        if test.outputs and checker.interactive:
            raise invalid("an interactive checker reads no files", f"{path}.outputs")
    elif test.alternatives and test.stdout is None:
        raise invalid("there are alternatives only to 'stdout'", f"{path}.alternatives")
    return Trial(
        place=place,
        id=test.id if test.id is not None else str(place),
        test=test,
        stdin=_bytes(test.stdin, f"{path}.stdin"),
        expected=_bytes(test.stdout if test.stdout is not None else "", f"{path}.stdout"),
        files=_files(test.files, f"{path}.files"),
        limits=merged(test.limits, reference.limits),
        checker=checker,
        path=path,
        alternatives=[_bytes(one, f"{path}.alternatives[{at}]") for at, one in enumerate(test.alternatives)],
        outputs=_files(test.outputs, f"{path}.outputs"),
        rules=reference.groups.get(test.group or "", _NO_RULES),
        crosses=kind != "call" or _crosses(test.returns),
    )


def _crosses(value: Any) -> bool:
    try:
        return fits(value)
    except Untagged:  # this test gets no verdict, but others can still decide the score
        return True


def _test_file(reference: CodeReference, test: Test, path: str) -> Test:
    """Returns a test file with the names of the tests that must pass. Raises InvalidReference."""
    name, content = test.name or "", test.content or ""
    framework = framework_of(reference.language)
    if not (framework.FILE if framework is not None else _FILE).fullmatch(name):
        title = "Python" if framework is None else framework.TITLE
        raise invalid(f"{test.name!r} is not a valid name for a test file of {title}", f"{path}.name")
    if framework is None:
        if not test.expect:
            raise invalid("expect names no test that must pass", f"{path}.expect")
        return test
    if reference.isolation == "separate":
        reason = f"a test file of {framework.TITLE} runs in the candidate's process"
        raise invalid(f"this test needs isolation: shared: {reason}", f"{path}.type")
    problem = framework.unfit(content)
    if problem is not None:
        raise invalid(problem, f"{path}.content")
    expect = framework.listed(content) if test.expect is None else test.expect
    if expect is None:
        raise invalid("the file's text does not show the names of its tests: expect must name them", f"{path}.expect")
    if not expect:
        raise invalid("expect names no test that must pass", f"{path}.expect")
    unknown = next((each for each in expect if not framework.declares(content, each)), None)
    if unknown is not None:
        raise invalid(f"the file has no test {unknown!r}", f"{path}.expect")
    if len(set(expect)) < len(expect):
        twice = next(name for name, count in Counter(expect).items() if count > 1)
        raise invalid(f"two tests are named {twice!r}, and a test that runs twice has not passed", f"{path}.expect")
    return replace(test, expect=expect)


def _check_input(reference: CodeReference, test: Test, path: str) -> None:
    if not test.generate:
        return
    if test.stdin != "":
        raise invalid("a test has either 'stdin' or 'generate'", f"{path}.generate")
    if test.generate[0] not in reference.generators:
        raise invalid(f"there is no generator {test.generate[0]!r}", f"{path}.generate")


def _has_answer(reference: CodeReference, test: Test) -> bool:
    """Returns whether the expected output is given, or can be generated."""
    if test.stdout is not None or test.outputs:
        return True
    return bool(test.generate) and (
        reference.generators[test.generate[0]].answer == "stderr" or bool((reference.solution or "").strip())
    )


def _check_shim(reference: CodeReference, test: Test, path: str) -> None:
    """Raises InvalidReference for a test that the language's shim cannot run."""
    kind, shim = test.type, shim_of(reference.language)
    if shim is None or (kind == "file" and framework_of(reference.language) is None):
        fit = "test files" if kind == "file" else "two rooms"
        fit = f"a language with {fit}, such as Python or Java (docs/rooms.md)"
        raise invalid(f"a test of type {kind!r} needs {fit}, not {reference.language!r}", f"{path}.type")
    if test.init and not shim.INIT:
        raise invalid(f"objects in {reference.language!r} are made without arguments", f"{path}.init")
    if shim.TEXTS and kind == "call" and not isinstance(test.returns, str):
        raise invalid(f"a function in {reference.language!r} returns the text that it prints", f"{path}.returns")
    if test.kwargs:
        raise invalid(f"calls in {reference.language!r} have no arguments by name", f"{path}.kwargs")
    reason = shim.unfit(entry_of(reference)) if kind == "assert" and reference.isolation == "separate" else None
    if reason is not None:
        raise invalid(f"this test needs isolation: shared: {reason}", f"{path}.code")


def entry_of(reference: CodeReference) -> Entry:
    """Returns the function that test code calls."""
    return Entry(reference.entry_point, reference.signature, reference.prefix)


def merged(own: Limits, general: Limits) -> Limits:
    """Returns the limits of `own`, with missing values taken from `general`."""
    if own == _NO_LIMITS:
        return general
    names = [item.name for item in fields(Limits)]
    chosen = {name: getattr(own, name) if getattr(own, name) is not None else getattr(general, name) for name in names}
    return Limits(**chosen)


def _needs_answer(checker: AnyChecker) -> bool:
    return isinstance(checker, TextChecker) and not (checker.type == "regex" and checker.pattern is not None)


Known = dict[tuple[int, tuple[str, ...]], AnyChecker]
"""Checkers that have been parsed, keyed by identity and by the test's arguments for them: thousands of tests share one.
"""


def _checker_of(reference: CodeReference, test: Test, path: str, known: Known) -> AnyChecker:
    given, where = test.checker, f"{path}.checker"
    if test.type in ("assert", "file"):
        if given is not None:
            raise invalid(f"a test of type {test.type!r} judges by itself and takes no checker", where)
        return None
    if given is None:
        given, where = reference.checker, "reference.checker"
    usual: AnyChecker = _USUAL_VALUE if test.type == "call" else _USUAL_TEXT
    if given is None:
        if test.checker_args:
            raise invalid("the default checker takes no arguments", f"{path}.checker_args")
        return usual
    options = Checker(type=given) if isinstance(given, str) else given
    if test.checker_args and options.type not in ("kattis", "program", "interactive"):
        raise invalid(f"the checker {options.type!r} takes no arguments", f"{path}.checker_args")
    # A program's arguments belong to the run, so that all tests share one program, compiled once.
    flags = test.checker_args if options.type == "kattis" else ()
    key = (id(given), flags)
    made = known[key] if key in known else _checker(options, flags, where)
    if isinstance(made, ValueChecker) == (test.type == "call"):
        known[key] = made
        return made
    if test.checker is None:
        return usual  # the reference's checker is meant for its tests of the other kind
    if test.type == "call":
        raise invalid("what a call returns is checked by 'value'", where)
    raise invalid("the checker 'value' is for what calls return; this test's output is text", where)


def _checker(given: Checker, flags: tuple[str, ...], path: str) -> AnyChecker:
    """Parses a checker. flags: a test's own, for Kattis's default validator."""
    defaults = Checker(type=given.type)

    def refuse(*names: str) -> None:
        for name in names:
            if getattr(given, name) != getattr(defaults, name):
                raise invalid(f"the checker {given.type!r} has no {name!r}", f"{path}.{name}")

    text = ("abs", "rel", "ignore_case", "spaces", "pattern", "match")
    judge = ("language", "code", "files", "limits", "protocol", "max_points", "passes", "unbuffered")
    try:
        if given.type == "kattis":
            refuse(*text, "unordered", "strict", *judge)
            return kattis((*given.args, *flags))
        if given.type in _TEXT_TYPES:
            refuse("unordered", "strict", "args", *judge)
            return TextChecker(
                type=given.type,  # type: ignore[arg-type]
                abs=given.abs,
                rel=given.rel,
                ignore_case=given.ignore_case,
                spaces=given.spaces,
                pattern=given.pattern,
                match=given.match,
            )
        if given.type == "value":
            refuse("ignore_case", "spaces", "pattern", "match", "args", *judge)
            return ValueChecker(abs=given.abs, rel=given.rel, unordered=given.unordered, strict=given.strict)
    except ValueError as error:
        raise invalid(str(error), path) from None
    refuse(*text, "unordered", "strict")
    for name in ("language", "code"):
        if not getattr(given, name):
            raise invalid(f"the checker {given.type!r} needs {name!r}", f"{path}.{name}")
    points = given.max_points
    if points != "weight" and not (math.isfinite(points) and points > 0):
        raise invalid("max_points is a finite number above 0, or 'weight'", f"{path}.max_points")
    if points != 1 and given.protocol == "exit":
        raise invalid("the protocol 'exit' has no points", f"{path}.max_points")
    if not 1 <= given.passes <= MAX_PASSES:
        raise invalid(f"passes is a number from 1 to {MAX_PASSES}", f"{path}.passes")
    if given.passes > 1 and given.protocol != "kattis":
        raise invalid("several passes belong to the protocol 'kattis'", f"{path}.passes")
    if given.unbuffered and given.type != "interactive":
        raise invalid("only a conversation can be unbuffered", f"{path}.unbuffered")
    return JudgeProgram(
        interactive=given.type == "interactive",
        language=given.language or "",
        code=given.code or "",
        files=_files(given.files, f"{path}.files"),
        args=given.args,
        limits=given.limits,
        protocol=given.protocol,
        path=path,
        max_points=None if points == "weight" else points,
        passes=given.passes,
        unbuffered=given.unbuffered,
    )


def _check_target(target: str, path: str) -> None:
    parts = target.split(".")
    if len(parts) > 2 or not all(part.isidentifier() for part in parts):
        raise invalid(f"the target {target!r} is neither a function 'f' nor a method 'Solution.f'", path)


def _files(files: Mapping[str, Content], path: str) -> dict[str, bytes]:
    for name in files:
        # `../x` and absolute names would leave the working folder; the sandbox rejects them too.
        parts = name.split("/")
        if not name or name.startswith("/") or "\0" in name or any(part in ("", ".", "..") for part in parts):
            raise invalid(f"{name!r} is not a relative path in the working folder", path)
    return {name: _bytes(content, f"{path}[{name!r}]") for name, content in files.items()}


def _bytes(content: Content, path: str) -> bytes:
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError:
            raise invalid("the text contains half of a surrogate pair, which cannot be encoded", path) from None
    try:
        return base64.b64decode(content.base64, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("it is not base64", f"{path}.base64") from None


def invalid(message: str, path: str, words: str | None = None) -> InvalidReference:
    """Returns the error for an invalid reference. words: output of a judge or of test code. It can quote a hidden test,
    so it goes into the evidence and not into the feedback.
    """
    more = {"said": words} if words else {}
    return InvalidReference(f"{path}: {message}", path=path, **more)
