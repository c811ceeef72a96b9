"""`reasoning_gym`: judges an item from one of the library's generators, with our own checker or the library's scorer.

Our own checkers are used where the library's scorer evaluates the answer's text or accepts wrong answers:

    countdown, puzzle24           `parse_expr` (which is `eval`); 24 counts any four numbers within the range
    n_queens, spiral_matrix,      `eval` of the answer
    binary_matrix, string_insertion
    polynomial_multiplication     `parse_expr`
    number_sorting                forgives differences up to 1, takes NaN for any number; `eval` of the stored answer
    bitwise_arithmetic            `eval` of the stored problem, which whoever sends the reference may have written
    sudoku, mini_sudoku,          pay for numbers anywhere in the text, givens included; only one solution counts
    futoshiki, knights_knaves

For the data sets of `ALONE`, the guard decides. Items of `SEEDLESS` must be given as stored entries.

`simple_integration` and `intermediate_integration` keep their scorer, `parse_expr` and all: it runs in the sandbox, on
a text rebuilt from the answer's tokens (see `integrals`). All others are judged by the library's scorer, behind a guard
(see `guards`), in a worker that can be killed.
"""

from __future__ import annotations

import contextlib
import copy
import functools
import io
import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from decimal import Decimal
from fractions import Fraction
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden_verifiers.puzzles import library, literals
from rewarden_verifiers.puzzles.countdown import CountdownChecker
from rewarden_verifiers.puzzles.findings import RIGHT, Checker, Finding, Task, malformed, wrong
from rewarden_verifiers.puzzles.guards import decimal_of, guarded
from rewarden_verifiers.puzzles.integrals import DATASETS as INTEGRALS
from rewarden_verifiers.puzzles.integrals import IntegralChecker
from rewarden_verifiers.puzzles.knights import KnightsKnaves
from rewarden_verifiers.puzzles.latin import Futoshiki, Sudoku
from rewarden_verifiers.puzzles.polynomials import NotExpanded, PolynomialChecker, parse
from rewarden_verifiers.puzzles.queens import NQueens

FULL = 1.0 - 1e-9
FLOOR = 0.05
"""The score that scorers give to a wrong answer of the right form."""

GRADED = frozenset({"boxnet", "knight_swap", "quantum_lock", "shortest_path", "tower_of_hanoi", "word_ladder"})
"""Data sets whose scores between 0 and 1 are for solutions that are longer than necessary or partial. In other data
sets, such scores are for near misses, for text that contains the answer, or for its form.
"""

ALONE = frozenset(
    {"arc_agi", "codeio", "figlet_font", "game_of_life", "game_of_life_halting", "group_anagrams", "rearc"}
)
"""Data sets for which the guard decides: their scorers need words, fonts or boards that take a worker a second
to load.
"""

SEEDLESS: Mapping[str, str] = {
    "codeio": "to make an item of 'codeio' the library runs code of its data",
    "game_of_life": "its generator loads libraries for drawing, which takes more time than a sample has",
    "game_of_life_halting": "its generator loads libraries for drawing, which takes more time than a sample has",
}
"""Data sets whose items must be given as stored entries, and why."""

_NEEDED: Mapping[str, tuple[str, ...]] = {
    "boxnet": ("initial_state",),
    "graph_color": ("puzzle",),
    "propositional_logic": ("premises", "variables"),
    "rubiks_cube": ("cube_size", "scramble_moves"),
    "rush_hour": ("board_config",),
}
"""The fields that scorers read from items without a stored answer."""


@dataclass(frozen=True, kw_only=True)
class Generated(Task):
    """An item. Either `entry`, as trainers store it (`question`, `answer`, `metadata`, the last as an object or as JSON
    text), or `seed` and `index`, from which it is generated again: identically in every process, but not with every
    version of the library. `config`: the generator's settings that differ from its defaults.

    `composite`, a mixture of other data sets, is judged by the one that the entry's metadata names.

    With some generators, generating an item takes up to a second, which counts against the sample's CPU time. If the
    settings make it slower still, store the entry.
    """

    dataset: str
    entry: dict[str, Any] | None = None
    seed: int | None = None
    index: int = 0
    config: dict[str, Any] = field(default_factory=dict)
    task: Literal["reasoning_gym"] = "reasoning_gym"

    def __post_init__(self) -> None:
        if (self.entry is None) == (self.seed is None):
            raise ValueError("give either entry, or seed and index")
        if self.entry is None and self.dataset in SEEDLESS:
            raise ValueError(f"entry is needed: {SEEDLESS[self.dataset]}")
        if any(name.endswith(("_file", "_path")) for name in self.config):
            raise ValueError("config must not name files")
        if self.index < 0 or (self.seed is not None and not 0 <= self.seed < 2**63):
            raise ValueError("seed and index must not be negative")

    def posed(self) -> tuple[str, Checker]:
        """The question of an item generated from its seed, and its checker. Raises InvalidReference."""
        checker = self.checker()
        return str(_made(self._loaded(), self.index)["question"]), checker

    def checker(self) -> Checker:
        """The item's checker. Raises InvalidReference if the item is invalid, or its own answer fails."""
        if self.dataset == "composite" and self.entry is not None:
            source = _entry(self.entry)["metadata"].get("source_dataset")
            if source not in library.MODULES:
                raise InvalidReference("reference.entry: its metadata name no source_dataset", path="reference.entry")
            return replace(self, dataset=source, config={}).checker()
        if self.dataset not in library.MODULES:
            raise InvalidReference(
                f"reference: reasoning-gym has no data set {self.dataset!r}", path="reference.dataset"
            )
        entry = _entry(self.entry) if self.entry is not None else _made(self._loaded(), self.index)
        metadata = entry["metadata"]
        try:
            checker = self._checker(entry)
            if missing := [name for name in _NEEDED.get(self.dataset, ()) if name not in metadata]:
                raise KeyError(missing[0])
        except (KeyError, TypeError, ValueError, AttributeError, IndexError, NotExpanded) as error:
            raise InvalidReference(
                f"reference: this is not an item of {self.dataset!r}: {error!r}", path="reference.entry"
            ) from None
        answer = entry["answer"]
        if isinstance(answer, str) and self.dataset not in INTEGRALS:
            found = checker.check(answer if answer.strip() else '""')
            if found.reason is not None:
                raise InvalidReference(
                    f"reference: the item's own answer is {found.reason}: {found.why}", path="reference.entry.answer"
                )
        return checker

    def _loaded(self) -> Any:
        return _dataset(self.dataset, json.dumps(self.config, sort_keys=True), self.seed, self.index)

    def _checker(self, entry: Mapping[str, Any]) -> Checker:
        own = _OWN.get(self.dataset)
        if own is not None:
            return own(entry)
        if self.dataset in ALONE:
            return GuardChecker(self.dataset, entry)
        dataset = self._loaded()
        if self.dataset == "propositional_logic":
            _check_premises(dataset, entry["metadata"])
        return LibraryChecker(self.dataset, dataset, entry)


def _entry(entry: Mapping[str, Any]) -> dict[str, Any]:
    metadata = entry.get("metadata")
    if isinstance(metadata, str):
        try:
            metadata = literals.parse(metadata)
        except literals.NotRead:
            metadata = None
    if not isinstance(metadata, dict) or "answer" not in entry:
        raise InvalidReference("reference.entry must hold an answer and metadata", path="reference.entry")
    return {**entry, "metadata": dict(metadata)}


@functools.lru_cache(maxsize=64)
def _dataset(name: str, config: str, seed: int | None, index: int) -> Any:
    dataset_type, config_type = library.dataset_types(name)
    settings: dict[str, Any] = json.loads(config)
    settings["seed"] = 0 if seed is None else seed
    settings["size"] = max(index + 1, settings.get("size", 500))
    try:
        return dataset_type(config_type(**settings))
    except (TypeError, ValueError, AssertionError) as error:
        raise InvalidReference(f"reference.config: {error}", path="reference.config") from None


def _made(dataset: Any, index: int) -> dict[str, Any]:
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            return dict(dataset[index])
    except Exception as error:  # noqa: BLE001 - whatever a generator raises for these settings
        raise InvalidReference(
            f"reference: the generator raised {type(error).__name__}: {error}", path="reference.config"
        ) from None


def _check_premises(dataset: Any, metadata: Mapping[str, Any]) -> None:
    """Raises ValueError if the premises contradict each other, because anything follows from a contradiction."""
    logic = library.module("propositional_logic")
    premises = [logic.Expression.from_string(premise) for premise in metadata["premises"]]
    assignments = dataset._generate_assignments(set(metadata["variables"]))
    if not any(all(premise.evaluate(assignment) for premise in premises) for assignment in assignments):
        raise ValueError("its premises contradict each other, so anything follows from them")


def _respelled(check: Callable[[str], Finding], answer: str) -> Finding:
    """Checks an answer as it stands and, if it is not right, without a final full stop and with plain minus signs."""
    found = check(answer)
    plain = answer.strip().replace("\u2212", "-").removesuffix(".")
    if found.reason is None or not plain or plain == answer.strip():
        return found
    again = check(plain)
    return again if again.reason is None else found


@dataclass(frozen=True, slots=True)
class GuardChecker:
    """An item whose guard passes only the right answer."""

    name: str
    entry: Mapping[str, Any]

    def check(self, answer: str) -> Finding:
        """Right if the guard passes the answer."""
        return _respelled(self._check, answer)

    def _check(self, answer: str) -> Finding:
        found = guarded(self.name, answer, self.entry)
        return found if isinstance(found, Finding) else RIGHT


_NOTHING = frozenset({'""', "''", "(empty)", "empty string"})
"""The ways to state an empty text as the answer; a response that says nothing has not answered."""


@dataclass(frozen=True, slots=True)
class LibraryChecker:
    """An item with its scorer and guard."""

    name: str
    dataset: Any
    entry: Mapping[str, Any]

    def check(self, answer: str) -> Finding:
        """Right if the answer passes the guard and gets full marks from the scorer."""
        return _respelled(self._check, answer)

    def _check(self, answer: str) -> Finding:
        if not answer.strip():
            return malformed("it is blank")
        if answer in _NOTHING and not str(self.entry["answer"]):
            return RIGHT
        try:
            given = guarded(self.name, answer, self.entry)
            if isinstance(given, Finding):
                return given
            # Pass a copy, because scorers modify their input. Some also print.
            with contextlib.redirect_stdout(io.StringIO()):
                score = float(self.dataset.score_answer(given, copy.deepcopy(self.entry)))
        except Exception:  # noqa: BLE001 - what a scorer raises for an answer: it could not read it
            return malformed("the scorer cannot read it")
        evidence = {"library_score": score}
        if score >= FULL:
            return RIGHT
        if self.name in GRADED and FLOOR < score < 1.0:
            return wrong("it is solved in part, or in more steps than needed", score, **evidence)
        return wrong("the answer is different", **evidence)


@dataclass(frozen=True, slots=True)
class SequenceChecker:
    """The cells of the right answer, which can be written as text or as a list."""

    cells: tuple[str, ...]
    text: str

    def check(self, answer: str) -> Finding:
        """Right for the text, ignoring white space, or for a list (of lists) of its cells."""
        if answer.split() == self.text.split() or "".join(answer.split()) == self.text:
            return RIGHT
        try:
            value = literals.parse(answer)
        except literals.NotRead:
            return wrong("the answer is different") if "[" not in answer else malformed("it is not a list")
        if not isinstance(value, list):
            return malformed("it is not a list")
        flat = [cell for row in value for cell in (row if isinstance(row, list) else [row])]
        if any(isinstance(cell, bool) or not isinstance(cell, (str, int)) for cell in flat):
            return malformed("it is not a list of cells")
        return RIGHT if tuple(map(str, flat)) == self.cells else wrong("the answer is different")


@dataclass(frozen=True, slots=True)
class ValueChecker:
    """A value with several spellings, and the messages for answers that cannot be parsed or have another value."""

    read: Callable[[str], object]
    value: object
    unread: str
    other: str

    def check(self, answer: str) -> Finding:
        """Compares values rather than spellings: 1.50 equals 1.5."""
        given = self.read(answer)
        if given is None:
            return malformed(self.unread)
        return RIGHT if given == self.value else wrong(self.other)


def _valued(read: Callable[[str], object], unread: str, other: str) -> Callable[[Mapping[str, Any]], ValueChecker]:
    """The checker of items whose answer is parsed by `read`. It raises ValueError if the stored answer cannot be
    parsed.
    """

    def made(entry: Mapping[str, Any]) -> ValueChecker:
        value = read(str(entry["answer"]))
        if value is None:
            raise ValueError("its answer cannot be read")
        return ValueChecker(read, value, unread, other)

    return made


def _decimals(text: str) -> tuple[Decimal, ...] | None:
    """Numbers in order, from a JSON list of numbers or texts."""
    try:
        value = literals.parse(text)
    except literals.NotRead:
        return None
    found = [decimal_of(str(one)) for one in value] if isinstance(value, list) else []
    numbers = tuple(one for one in found if one is not None)
    return numbers if numbers and len(numbers) == len(found) else None


def _integer(text: str) -> int | None:
    """A whole number, in hexadecimal or decimal."""
    match = re.fullmatch(r"([-+]?)(?:0[xX]([0-9a-fA-F]{1,500})|(\d{1,500}))", text.strip(), re.ASCII)
    if match is None:
        return None
    value = int(match.group(2), 16) if match.group(2) else int(match.group(3))
    return -value if match.group(1) == "-" else value


def _numbers(entry: Mapping[str, Any]) -> CountdownChecker:
    metadata = entry["metadata"]
    return CountdownChecker(Counter(map(int, metadata["numbers"])), Fraction(int(metadata.get("target", 24))), True)


def _sudoku(entry: Mapping[str, Any]) -> Checker:
    metadata = entry["metadata"]
    puzzle, solution = (tuple(map(tuple, metadata[name])) for name in ("puzzle", "solution"))
    return Sudoku(puzzle=puzzle, solution=solution).checker()


def _futoshiki(entry: Mapping[str, Any]) -> Checker:
    metadata = entry["metadata"]
    puzzle, solution = (tuple(map(tuple, metadata[name])) for name in ("puzzle", "solution"))
    constraints = tuple((int(a), int(b), int(c), int(d), sign) for a, b, c, d, sign in metadata["constraints"])
    return Futoshiki(puzzle=puzzle, solution=solution, constraints=constraints).checker()


def _knights(entry: Mapping[str, Any]) -> Checker:
    metadata = entry["metadata"]
    names = tuple(map(str, metadata["names"]))
    terms = metadata["knight_knave_terms"]
    truth, lie = str(terms["knight"]), str(terms["knave"])
    roles = [truth if knight else lie for knight in metadata["solution"]]
    return KnightsKnaves(
        people=names,
        statements=tuple(metadata["statements"]),
        solution=dict(zip(names, roles, strict=True)),
        roles={"truth": (truth,), "lie": (lie,)},
    ).checker()


def _sequence(entry: Mapping[str, Any]) -> SequenceChecker:
    text = str(entry["answer"])
    return SequenceChecker(tuple(text.split()) if " " in text else tuple(text), text)


def _integral(name: str, entry: Mapping[str, Any]) -> IntegralChecker:
    metadata = entry["metadata"]
    return IntegralChecker(name, str(metadata["variable"]), str(metadata["integrand"]))


_OWN: Mapping[str, Callable[[Mapping[str, Any]], Checker]] = {
    "bitwise_arithmetic": _valued(_integer, "it is not a whole number", "the number is different"),
    "futoshiki": _futoshiki,
    "knights_knaves": _knights,
    "n_queens": lambda entry: NQueens(board=tuple(map(tuple, entry["metadata"]["puzzle"]))).checker(),
    "number_sorting": _valued(_decimals, "it is not a list of numbers", "the list is different"),
    "polynomial_multiplication": lambda entry: PolynomialChecker(parse(str(entry["answer"]))),
    **dict.fromkeys(("binary_matrix", "spiral_matrix", "string_insertion"), _sequence),
    **dict.fromkeys(("countdown", "puzzle24"), _numbers),
    **dict.fromkeys(("mini_sudoku", "sudoku"), _sudoku),
    **{name: functools.partial(_integral, name) for name in INTEGRALS},
}
"""Data sets whose items are not passed to the library's scorer in this process."""
