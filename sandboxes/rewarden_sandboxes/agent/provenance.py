"""The provenance of a pass: the things that it may rest on, other than the values that the candidate returned.

A candidate can pass a weak test without the right value: by emptying an argument in place, by an object that lies about
its truth value and length, by returning nothing to a loop that compares, or one element in place of a list. None of
that is wrong by itself, so it is reported here and judged elsewhere.
"""

from __future__ import annotations

import ast
import builtins
import contextlib
import functools
import importlib
from collections import deque
from collections.abc import Callable, Iterator
from typing import Any

from rewarden_sandboxes.agent.proxies import is_proxy

ARGUMENT, OBJECT, VACUOUS, NAMES = "argument_mutated", "object_result", "vacuous_comparison", "names_from_candidate"
MADE = "object_made"
"""As OBJECT, for objects that the test code made from the candidate's classes: the prompt asked for a class, or a class
stands in for the function."""
MOST, LONGEST = 1000, 200
"""Calls or names that are reported for each flag, and characters of a name."""

_COLLECTIONS = (str, list, tuple, set, frozenset, dict)
_COMPARING = frozenset({"all", "allclose", "array_equal", "assert_allclose", "assert_array_equal", "isclose", "zip"})
_BROADCASTING = {
    "numpy": ("allclose", "isclose"),
    "numpy.testing": ("assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal"),
}
"""Functions that broadcast a smaller array to the shape of the other."""
_RECENT, _LARGEST = 8, 100_000
"""The number of results that are kept in the tests' room, and the most elements of one."""


class Provenance:
    """See the module. Calls are numbered from 1, so that two candidates can be compared."""

    def __init__(self) -> None:
        self.loops = False
        self.zip: Any = zip
        self._calls = 0
        self._found: dict[str, set[Any]] = {}
        self._objects: dict[int, str] = {}
        self._recent: deque[tuple[Any, int]] = deque(maxlen=_RECENT)

    def read(self, source: bytes) -> None:
        """Notes whether this test code compares element by element, or in loops over results: with an empty result it
        compares nothing. From here on the functions that it pairs and compares with are watched: `zip` of this object,
        and numpy's functions.
        """
        nodes = list(ast.walk(ast.parse(source)))
        results = {
            target.id
            for node in nodes
            if isinstance(node, ast.Assign) and isinstance(node.value, ast.Call)
            for target in node.targets
            if isinstance(target, ast.Name)
        }
        mentioned: set[Any] = set()
        for node in nodes:
            if isinstance(node, (ast.For, ast.comprehension)):
                self.loops = self.loops or any(_is_result(part, results) for part in ast.walk(node.iter))
            else:
                mentioned |= {getattr(node, field, None) for field in ("attr", "id")}
                if isinstance(node, ast.ImportFrom):
                    mentioned |= {str(node.module).partition(".")[0], *(alias.name for alias in node.names)}
        self.loops = self.loops or bool(mentioned & _COMPARING)
        if "zip" in mentioned:
            self.zip = _watched_zip(self._pairing)
        if mentioned & {"np", "numpy", "allclose"}:
            for module, names in _BROADCASTING.items():
                if mentioned & set(names):
                    self._watch(module, names)

    def returned(self, result: Any, number: int | None, *, changed: bool, made: bool) -> None:
        """Notes the end of a call. number: the number of the object that it returned, if that is of a class of the
        candidate's. changed: it changed an argument. made: it called a class.
        """
        self._calls += 1
        if changed:
            self._note(ARGUMENT, self._calls)
        if number is not None:
            self._objects[number] = MADE if made else OBJECT
        # Check the type first: `len` of a proxy sends a question to the candidate.
        size = result.size if _is_array(result) else len(result) if type(result) in _COLLECTIONS else 1
        if self.loops and size == 0:
            self._note(VACUOUS, self._calls)
        self._recent.append((result if size <= _LARGEST else None, self._calls))

    def used(self, number: int) -> None:
        """Notes a use in which an object can lie: its truth value, length, `str`, or an attribute."""
        if number in self._objects:
            self._note(self._objects[number], 0)

    def named(self, name: str) -> None:
        """Notes that the test code took a name from the candidate that is not its entry point."""
        self._note(NAMES, name[:LONGEST])

    def told(self) -> dict[str, list[Any]]:
        """Returns each flag with the calls or names behind it."""
        return {flag: sorted(of) for flag, of in self._found.items()}

    def _note(self, flag: str, of: Any) -> None:
        found = self._found.setdefault(flag, set())
        if len(found) < MOST:
            found.add(of)

    # Comparisons with nothing.

    def _call_of(self, value: Any) -> int | None:
        """Returns the number of the call that returned this very object, or None. Equal numbers and strings may be one
        object, wherever they come from, so for these only the last result counts.
        """
        of_its_own = type(value) in (list, set, dict) or is_proxy(value) or _is_array(value)
        recent = self._recent if of_its_own else list(self._recent)[-1:]
        return next((call for known, call in recent if known is value and value is not None), None)

    def _pairing(self, parts: tuple[Any, ...]) -> tuple[Any, ...]:
        """Returns the arguments for the real `zip`.

        Attack: return one right element, so that `zip` never compares the other expected ones. More elements than
        expected are no attack: every expected one is compared.
        """
        asked = [(part, _length(part), self._call_of(part)) for part in parts]
        least = min((length for _, length, call in asked if call is None and length is not None), default=0)
        for _, length, call in asked:
            if call is not None and length is not None and length < least:
                self._note(VACUOUS, call)
        return tuple(
            self._counted(part, call, least) if call is not None and is_proxy(part) else part for part, _, call in asked
        )

    def _counted(self, part: Any, call: int, least: int) -> Iterator[Any]:
        """Yields the items of an object of the candidate's, such as a generator."""
        count = 0
        for item in part:
            yield item
            count += 1
        if count < least:
            self._note(VACUOUS, call)

    def _watch(self, module: str, names: tuple[str, ...]) -> None:
        with contextlib.suppress(ImportError):
            found = importlib.import_module(module)
            for name in names:
                setattr(found, name, self._comparing(getattr(found, name)))

    def _comparing(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Wraps one of numpy's comparisons. Attack: return one number, which numpy broadcasts to every expected one."""

        @functools.wraps(function)
        def compare(*args: Any, **kwargs: Any) -> Any:
            for value, other in (args[:2], args[1::-1]) if len(args) > 1 else ():
                call = self._call_of(value)
                if call is not None and self._call_of(other) is None and _size(value) < _size(other):
                    self._note(VACUOUS, call)
            return function(*args, **kwargs)

        return compare


def _watched_zip(pairing: Callable[[tuple[Any, ...]], tuple[Any, ...]]) -> Any:
    """Returns a `zip` that reports its arguments. It makes real ones, which `isinstance` accepts as its instances."""

    class Kind(type):
        def __instancecheck__(cls, value: Any) -> bool:
            return isinstance(value, zip)

    class Watched(metaclass=Kind):
        def __new__(cls, *parts: Any, **named: Any) -> Any:
            return zip(*pairing(parts), **named)  # noqa: B905 - the test code's choice

    Watched.__name__ = Watched.__qualname__ = "zip"
    return Watched


def _is_array(value: Any) -> bool:
    return type(value).__name__ == "ndarray" and type(value).__module__ == "numpy"


def _length(value: Any) -> int | None:
    """Returns the length of a plain collection or an array; None for anything else."""
    if _is_array(value):
        return len(value) if value.ndim else None
    return len(value) if type(value) in _COLLECTIONS else None


def _size(value: Any) -> int:
    """Returns the number of elements of an array or of nested lists; 1 for anything else, which may be the candidate's
    and is not asked.
    """
    if _is_array(value):
        return int(value.size)
    return sum(map(_size, value)) if type(value) in (list, tuple) else 1


def _is_result(node: ast.AST, results: set[str]) -> bool:
    """Returns whether an expression calls a function that is not built in, or is a name assigned from such a call."""
    if isinstance(node, ast.Call):
        return not (isinstance(node.func, ast.Name) and hasattr(builtins, node.func.id))
    return isinstance(node, ast.Name) and node.id in results
