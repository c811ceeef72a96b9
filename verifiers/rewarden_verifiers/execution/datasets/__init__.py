"""Reads published rows of data sets as references of `code`. docs/datasets.md lists the sets.

    read_row("apps", {"input_output": "{…}", …}, metadata=None, languages=()) → CodeReference

Each file handles one family of row formats. Rows are data: none of their code runs here, and no pickle is loaded.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, get_args

from rewarden_verifiers.execution.datasets import cases, contests, functions, multipl_e, stored
from rewarden_verifiers.execution.datasets.packed import MAX_BYTES
from rewarden_verifiers.execution.datasets.row import Row
from rewarden_verifiers.execution.datasets.stored import Reader, Stored, none
from rewarden_verifiers.execution.reference import CodeReference

Name = Literal[
    "acecode",
    "apps",
    "bigcodebench",
    "codecontests",
    "codeforces",
    "codeforces_python",
    "deepcoder",
    "eurus_2",
    "humaneval",
    "kodcode",
    "leetcode",
    "livecodebench",
    "mbpp",
    "multipl_e",
    "primeintellect",
    "reasoning360",
    "rstar_coder",
    "synthetic_1",
    "synthetic_2",
    "taco",
]


@dataclass(frozen=True, slots=True)
class DataSet:
    """A data set. main: the field that the reference holds if it does not hold the whole row. stored: the solutions in
    a row. wrong: programs in a row that are known to be wrong. languages: the allowed languages of tests on stdin if
    the row names none.
    """

    read: Callable[[Row, Sequence[str]], CodeReference]
    main: str
    stored: Reader = none
    wrong: Reader = none
    languages: tuple[str, ...] = ("python",)


_CONTEST = ("python", "cpp")
DATASETS: Mapping[str, DataSet] = {
    "acecode": DataSet(functions.acecode, "test_cases", stored.inferred),
    "apps": DataSet(contests.apps, "input_output", stored.listed),
    "bigcodebench": DataSet(functions.bigcodebench, "test", stored.continuing("code_prompt", "complete_prompt")),
    "codecontests": DataSet(
        contests.codecontests,
        "public_tests",
        stored.by_language("solutions"),
        stored.by_language("incorrect_solutions"),
        _CONTEST,
    ),
    "codeforces": DataSet(contests.codeforces, "official_tests", languages=_CONTEST),
    "codeforces_python": DataSet(
        contests.codeforces_python, "test_cases", stored.submitted(None, "OK"), stored.submitted("WRONG_ANSWER")
    ),
    "deepcoder": DataSet(cases.deepcoder, "tests", stored.listed),
    "eurus_2": DataSet(contests.eurus, "ground_truth"),
    "humaneval": DataSet(functions.humaneval, "test", stored.continuing("prompt")),
    "kodcode": DataSet(functions.kodcode, "test", stored.column("solution")),
    "leetcode": DataSet(functions.leetcode, "test", stored.column("completion")),
    "livecodebench": DataSet(cases.livecodebench, "private_test_cases"),
    "mbpp": DataSet(functions.mbpp, "test_list", stored.column("code")),
    "multipl_e": DataSet(multipl_e.multipl_e, "tests"),
    "primeintellect": DataSet(cases.primeintellect, "verification_info", stored.column("gold_standard_solution")),
    "reasoning360": DataSet(functions.reasoning360, "ground_truth"),
    "rstar_coder": DataSet(contests.rstar, "inputs"),
    "synthetic_1": DataSet(cases.primeintellect, "verification_info", stored.column("gold_standard_solution")),
    "synthetic_2": DataSet(cases.primeintellect, "verification_info", stored.column("gold_standard_solution")),
    "taco": DataSet(contests.apps, "input_output", stored.listed),
}
assert DATASETS.keys() == set(get_args(Name))


@dataclass(frozen=True, slots=True)
class Unpacking:
    """The resources of `code` with a data set. max_bytes: the maximum unpacked size of a packed field."""

    max_bytes: int = MAX_BYTES

    @property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`. The limit is left out, because it changes no score."""
        return ""


def read_row(
    name: str,
    reference: Any,
    metadata: Mapping[str, Any] | None,
    languages: Sequence[str] = (),
    max_bytes: int = MAX_BYTES,
) -> CodeReference:
    """Returns the reference of `code` in a row of this data set. languages: the allowed languages if the row names
    none; by default the data set's. max_bytes: the maximum unpacked size of a packed field. Raises InvalidReference
    that names the field.

    Blocks: a row can hold 100 MB. The most recent rows are cached, so that siblings share a reference.
    """
    read = _RECENT if isinstance(reference, str) else _read
    return read(name, Raw(reference, metadata), tuple(languages), max_bytes)


def read_solutions(name: str, reference: Any, beside: Mapping[str, Any] | None, allowed: Sequence[str]) -> list[Stored]:
    """Returns the solutions that a row of this data set stores in the allowed languages. beside: the row, if the
    reference is a field of it. Raises InvalidReference that names the field.
    """
    return _stored(name, DATASETS[name].stored, reference, beside, allowed)


def read_wrong(name: str, reference: Any, beside: Mapping[str, Any] | None, allowed: Sequence[str]) -> list[Stored]:
    """Returns the programs that a row stores as wrong solutions; see `read_solutions`."""
    return _stored(name, DATASETS[name].wrong, reference, beside, allowed)


def _stored(
    name: str, read: Reader, reference: Any, beside: Mapping[str, Any] | None, allowed: Sequence[str]
) -> list[Stored]:
    return stored.allowed(read(Row.read(reference, beside, DATASETS[name].main, MAX_BYTES)), allowed)


def _read(name: str, row: Raw, languages: tuple[str, ...], max_bytes: int) -> CodeReference:
    data_set = DATASETS[name]
    fields = Row.read(row.reference, row.metadata, data_set.main, max_bytes)
    return data_set.read(fields, languages or data_set.languages)


class Raw:
    """A row as it arrived. Rows with the same text and metadata are equal."""

    __slots__ = ("_key", "metadata", "reference")

    def __init__(self, reference: Any, metadata: Mapping[str, Any] | None) -> None:
        self.reference = reference
        self.metadata = metadata
        self._key = (reference, repr(metadata)) if isinstance(reference, str) else None

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Raw) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)


_RECENT = lru_cache(maxsize=4)(_read)
