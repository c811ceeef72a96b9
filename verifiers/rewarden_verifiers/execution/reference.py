"""The reference of `code`: the tests, as they arrive in a request, checked field by field.

Nothing here comes from the policy: every mistake is the reference's fault, reported with its JSON path.
"""

from __future__ import annotations

import base64
import binascii
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, Literal, get_args

from rewarden.errors import InvalidReference
from rewarden_sandboxes.job import Limits
from rewarden_verifiers.execution.checkers import TextChecker, TextType
from rewarden_verifiers.execution.values import ValueChecker

Kind = Literal["stdio", "call", "assert", "file"]
Protocol = Literal["testlib", "kattis", "exit", "score"]

MAX_TESTS = 10_000
PYTHON = frozenset({"python", "python3", "py"})
"""Names of the only language with calls and assertions."""


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

    type: For printed output: `exact`, `trimmed` (the default), `tokens`, `floats`, `unordered_lines`, `regex`. For the
        result of a call: `value` (the default there). For a program that judges: `program` (reads input, output and
        answer) or `interactive` (talks with the candidate).
    abs, rel: Tolerances for `floats` and `value`.
    ignore_case: Whether texts are compared without case.
    pattern, match: For `regex`; without a pattern, the test's `stdout` is the pattern.
    unordered: Whether the list that `value` compares can be in any order; `deep` includes the lists within it.
    strict: Whether `value` compares types as well as values.
    language, code, files, args, limits: The judging program.
    protocol: How the program reports its verdict; see `judges`.
    """

    type: Literal[TextType, "value", "program", "interactive"] = "trimmed"
    abs: float | None = None
    rel: float | None = None
    ignore_case: bool = False
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


CheckerName = Literal["exact", "trimmed", "tokens", "floats", "unordered_lines", "value"]


class _Missing:
    """Marks a missing value, because `None` is a value."""


MISSING: Any = _Missing()


@dataclass(frozen=True, slots=True, kw_only=True)
class Types(Strict):
    """Shapes of a call's values: `ListNode`, `TreeNode` or lists of them (`List[ListNode]`), written as lists.

    args: The shapes of arguments, by position ("0") or name.
    returns: The shape of the result.
    """

    args: dict[str, str] = field(default_factory=dict)
    returns: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Test(Strict):
    """One test. Its fields depend on its type.

    stdio: stdin, stdout (expected), files. call: target (`f` or `Solution.f`), args, kwargs, returns, types. assert:
    code. file: name, content, expect (the ids of its tests that must pass). All types: id (default: its position),
    weight, group, visibility (`hidden` tests are never shown), limits, checker.
    """

    __test__: ClassVar[bool] = False

    type: Kind
    id: str | None = None
    stdin: Content = ""
    stdout: Content | None = None
    files: dict[str, Content] = field(default_factory=dict)
    target: str | None = None
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = field(default_factory=dict)
    returns: Any = field(default_factory=lambda: MISSING)
    types: Types | None = None
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
class CodeReference(Strict):
    """The reference of `code`: the tests of a program.

    language: A language of the sandbox's registry.
    languages: All languages that are allowed, if there are several: the fence of the program decides which of them it
        is in, and one without a label is in `language`. A program in any other is wrong (`wrong_language`).
    tests: At least one test.
    checker: The checker of tests that name none.
    limits: The limits of tests that set no others.
    compile_limits: The limits of the compilation.
    files: Files beside the program in every test.
    isolation: `separate` (default): test code and candidate run in two processes; `shared`: in a single process, and
        every verdict is flagged.
    entry_point: The function that HumanEval's `check(candidate)` gets.
    prefix: The prompt's code, which a response can continue (see the parameter `completion`).
    modules: Names under which test code can import the candidate.
    solution: A program that passes every test, and that no candidate sees. If a judge, test code or `prefix` fails, or
        a pass is suspect, control runs with it determine who is to blame.
    """

    language: str
    tests: tuple[Test, ...]
    languages: tuple[str, ...] = ()
    checker: CheckerName | Checker | None = None
    limits: RunLimits = RunLimits()
    compile_limits: RunLimits = RunLimits()
    files: dict[str, Content] = field(default_factory=dict)
    isolation: Literal["separate", "shared"] = "separate"
    entry_point: str | None = None
    prefix: str = ""
    modules: tuple[str, ...] = ()
    solution: str | None = None

    @property
    def allowed(self) -> tuple[str, ...]:
        """The languages that a program can be in, the one of programs without a label first."""
        return tuple(dict.fromkeys((self.language, *self.languages)))


# --- read --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class JudgeProgram:
    """A judge that is a program. `path`: its place in the reference."""

    interactive: bool
    language: str
    code: str
    files: Mapping[str, bytes]
    args: tuple[str, ...]
    limits: Limits
    protocol: Protocol
    path: str


AnyChecker = TextChecker | ValueChecker | JudgeProgram | None
"""None: the test judges by itself."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Trial:
    """A test, ready to be planned. `stdin` and `expected` are bytes; `test` is the original."""

    place: int
    id: str
    test: Test
    stdin: bytes
    expected: bytes
    files: Mapping[str, bytes]
    limits: Limits
    checker: AnyChecker
    path: str

    @property
    def hidden(self) -> bool:
        """Returns whether nothing of it may be shown."""
        return self.test.visibility == "hidden"


@dataclass(frozen=True, slots=True, kw_only=True)
class Suite:
    """A reference, ready to be planned."""

    reference: CodeReference
    trials: Sequence[Trial]
    files: Mapping[str, bytes]


_OWN: Mapping[Kind, frozenset[str]] = {
    "stdio": frozenset({"stdin", "stdout", "files"}),
    "call": frozenset({"target", "args", "kwargs", "returns", "types", "files"}),
    "assert": frozenset({"code", "files"}),
    "file": frozenset({"name", "content", "expect", "files"}),
}
_NEEDED: Mapping[Kind, tuple[str, ...]] = {
    "stdio": (),
    "call": ("target", "returns"),
    "assert": ("code",),
    "file": ("name", "content", "expect"),
}
_SPECIAL = frozenset[str]().union(*_OWN.values())
_BARE = Test(type="stdio")
_FOREIGN: Mapping[Kind, Sequence[tuple[str, Any]]] = {
    kind: [(item.name, getattr(_BARE, item.name)) for item in fields(Test) if item.name in _SPECIAL - own]
    for kind, own in _OWN.items()
}
"""The fields that a test of each type lacks, with their values if nothing was given."""
_NO_LIMITS = RunLimits()
_USUAL_TEXT, _USUAL_VALUE = TextChecker(), ValueChecker()
_FILE = re.compile(r"(?:[A-Za-z0-9_][\w-]*/)*[A-Za-z0-9_][\w-]*\.py", re.ASCII)
_TEXT_TYPES = frozenset(get_args(TextType))


def read_reference(reference: CodeReference) -> Suite:
    """Returns the suite of a reference. Raises InvalidReference with the path of the mistake."""
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
    shared_files = _files(reference.files, "reference.files")
    checkers: dict[int, AnyChecker] = {}
    trials: list[Trial] = []
    ids: set[str] = set()
    for place, test in enumerate(reference.tests):
        path = f"reference.tests[{place}]"
        trial = _trial(reference, place, test, path, checkers)
        if trial.id in ids:
            raise invalid(f"the id {trial.id!r} is taken; ids tell tests apart", f"{path}.id")
        ids.add(trial.id)
        trials.append(trial)
    if reference.checker is not None and id(reference.checker) not in checkers:
        raise invalid("no test can use this checker", "reference.checker")
    if not math.fsum(trial.test.weight for trial in trials) > 0:
        raise invalid("the weights of the tests are all 0", "reference.tests")
    return Suite(reference=reference, trials=trials, files=shared_files)


def _trial(
    reference: CodeReference,
    place: int,
    test: Test,
    path: str,
    checkers: dict[int, AnyChecker],
) -> Trial:
    kind = test.type
    for name, default in _FOREIGN[kind]:
        if getattr(test, name) != default:
            raise invalid(f"a test of type {kind!r} has no {name!r}", f"{path}.{name}")
    for name in _NEEDED[kind]:
        if getattr(test, name) in (None, MISSING) and not (name == "returns" and test.returns is None):
            raise invalid(f"a test of type {kind!r} needs {name!r}", f"{path}.{name}")
    other = next((name for name in reference.allowed if name.lower() not in PYTHON), None)
    if kind != "stdio" and other is not None:
        raise invalid(f"a test of type {kind!r} needs Python, not {other!r}", f"{path}.type")
    if not (math.isfinite(test.weight) and test.weight >= 0):
        raise invalid("a weight is a finite number of at least 0", f"{path}.weight")
    if kind == "file" and not test.expect:
        raise invalid("expect names no test that must pass", f"{path}.expect")
    if kind == "file" and not _FILE.fullmatch(test.name or ""):
        raise invalid(f"{test.name!r} is no name of a Python file", f"{path}.name")
    if kind == "call":
        _check_target(test.target or "", f"{path}.target")
    checker = _checker_of(reference, test, path, checkers)
    if kind == "stdio" and test.stdout is None and _needs_stdout(checker):
        raise invalid("a test of type 'stdio' needs 'stdout'", f"{path}.stdout")
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
    )


def merged(own: Limits, general: Limits) -> Limits:
    """Returns limits in which missing values of `own` come from `general`."""
    if own == _NO_LIMITS:
        return general
    names = [item.name for item in fields(Limits)]
    chosen = {name: getattr(own, name) if getattr(own, name) is not None else getattr(general, name) for name in names}
    return Limits(**chosen)


def _needs_stdout(checker: AnyChecker) -> bool:
    return isinstance(checker, TextChecker) and not (checker.type == "regex" and checker.pattern is not None)


def _checker_of(reference: CodeReference, test: Test, path: str, known: dict[int, AnyChecker]) -> AnyChecker:
    given, where = test.checker, f"{path}.checker"
    if test.type in ("assert", "file"):
        if given is not None:
            raise invalid(f"a test of type {test.type!r} judges by itself and takes no checker", where)
        return None
    if given is None:
        given, where = reference.checker, "reference.checker"
    usual: AnyChecker = _USUAL_VALUE if test.type == "call" else _USUAL_TEXT
    if given is None:
        return usual
    if isinstance(given, Checker) and id(given) in known:  # thousands of tests share one
        made = known[id(given)]
    else:
        made = _checker(Checker(type=given) if isinstance(given, str) else given, where)
    if isinstance(made, ValueChecker) == (test.type == "call"):
        known[id(given)] = made
        return made
    if test.checker is None:
        return usual  # the reference's checker applies to its tests of the other kind
    if test.type == "call":
        raise invalid("what a call returns is checked by 'value'", where)
    raise invalid("the checker 'value' is for what calls return; this test's output is text", where)


def _checker(given: Checker, path: str) -> AnyChecker:
    defaults = Checker(type=given.type)

    def refuse(*names: str) -> None:
        for name in names:
            if getattr(given, name) != getattr(defaults, name):
                raise invalid(f"the checker {given.type!r} has no {name!r}", f"{path}.{name}")

    judge = ("language", "code", "files", "args", "limits", "protocol")
    try:
        if given.type in _TEXT_TYPES:
            refuse("unordered", "strict", *judge)
            return TextChecker(
                type=given.type,  # type: ignore[arg-type]
                abs=given.abs,
                rel=given.rel,
                ignore_case=given.ignore_case,
                pattern=given.pattern,
                match=given.match,
            )
        if given.type == "value":
            refuse("ignore_case", "pattern", "match", *judge)
            return ValueChecker(abs=given.abs, rel=given.rel, unordered=given.unordered, strict=given.strict)
    except ValueError as error:
        raise invalid(str(error), path) from None
    refuse("abs", "rel", "ignore_case", "pattern", "match", "unordered", "strict")
    for name in ("language", "code"):
        if not getattr(given, name):
            raise invalid(f"the checker {given.type!r} needs {name!r}", f"{path}.{name}")
    return JudgeProgram(
        interactive=given.type == "interactive",
        language=given.language or "",
        code=given.code or "",
        files=_files(given.files, f"{path}.files"),
        args=given.args,
        limits=given.limits,
        protocol=given.protocol,
        path=path,
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
            raise invalid(f"{name!r} is no relative path within the working folder", path)
    return {name: _bytes(content, f"{path}[{name!r}]") for name, content in files.items()}


def _bytes(content: Content, path: str) -> bytes:
    if isinstance(content, str):
        try:
            return content.encode()
        except UnicodeEncodeError:
            raise invalid("the text holds half of a surrogate pair, which has no bytes", path) from None
    try:
        return base64.b64decode(content.base64, validate=True)
    except (binascii.Error, ValueError):
        raise invalid("this is no base64", f"{path}.base64") from None


def invalid(message: str, path: str, words: str | None = None) -> InvalidReference:
    """Returns the error for a mistake in the reference. words: output of a judge or of test code. It can quote a hidden
    test, so it goes into the evidence, and not into the feedback."""
    more = {"said": words} if words else {}
    return InvalidReference(f"{path}: {message}", path=path, **more)
