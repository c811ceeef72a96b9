"""Conversions of references from the forms of data sets to those that verifiers read, as pure functions.

Each takes the sample, because a reference may be spread over its metadata, and returns the reference of the verifier
that the route names. Raises ValueError in words for what is not in that form. docs/routing.md shows each.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.columns import only
from rewarden.routing import proofs, puzzles, repositories
from rewarden.routing.texts import read_json
from rewarden.types import Sample


@dataclass(frozen=True, slots=True)
class Form:
    """A way of writing references. `metadata`: the keys of the sample's metadata that `read` looks at."""

    read: Callable[[Sample], Any]
    metadata: tuple[str, ...] = ()


def read_reference(form: str, sample: Sample) -> Any:
    """The reference of a sample whose data set writes it in `form`. Raises ValueError.

    Long texts are read once for siblings, which get the same object.
    """
    if sample.reference is None:
        raise ValueError(f"is missing; the form {form!r} needs it")
    text = only(sample.reference)
    if not isinstance(text, str) or len(text) < _LONG_CHARS:
        return FORMS[form].read(sample)
    beside = [(sample.metadata or {}).get(name) for name in FORMS[form].metadata]
    return _RECENT.get((form, text, type(sample.reference), repr(beside)), lambda: FORMS[form].read(sample))


class _Recent:
    """Results of the last long references, or why they could not be read. Samples of one prompt stand together."""

    def __init__(self, most: int) -> None:
        self._most = most
        self._found: OrderedDict[tuple[Any, ...], tuple[Any, str | None]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: tuple[Any, ...], read: Callable[[], Any]) -> Any:
        """Returns what `read` returned for this key, or raises what it raised, and remembers it."""
        with self._lock:
            found = self._found.get(key)
        if found is None:
            try:
                found = read(), None
            except ValueError as error:
                found = None, str(error)
        with self._lock:
            self._found[key] = found
            self._found.move_to_end(key)
            while len(self._found) > self._most:
                self._found.popitem(last=False)
        value, problem = found
        if problem is not None:
            raise ValueError(problem)
        return value


_LONG_CHARS = 2000
_RECENT = _Recent(4)


def _json(sample: Sample) -> Any:
    """JSON in a text."""
    return read_json(sample.reference)


def _one(sample: Sample) -> Any:
    """A list of one, as open-instruct's columns are; what is not a list stays as it is."""
    reference = sample.reference
    if not isinstance(reference, list):
        return reference
    if len(reference) != 1:
        raise ValueError(f"is a list of {len(reference)}; the form 'one' needs a single value")
    return reference[0]


def _gsm8k(sample: Sample) -> Any:
    """GSM8K's solutions: the answer comes after the last `####`."""
    reference = _one(sample)
    return reference.rpartition("####")[2].strip() if isinstance(reference, str) else reference


def _letter(sample: Sample) -> str:
    """The letter of an option, in whatever brackets."""
    reference = _one(sample)
    match = re.fullmatch(r"[(\[{ ]*([A-Za-z])[)\]}.: ]*", reference) if isinstance(reference, str) else None
    if match is None:
        raise ValueError(f"is not an option letter: {_shown(reference)}")
    return match.group(1).upper()


_QUOTED = re.compile(r'\s*"(?:[^"\\]|\\.)*"\s*', re.DOTALL)
"""A text of JSON. What only begins with a quotation (`"The Hobbit" by Tolkien`) is an answer as it stands."""


def _texts(sample: Sample) -> list[str]:
    """Answers of which any is right: a text, a list, or either as JSON in a text."""
    found = only(sample.reference)
    if isinstance(found, str) and (found.lstrip()[:1] == "[" or _QUOTED.fullmatch(found)):
        found = read_json(found)
    found = found if isinstance(found, list) else [found]
    if not found or not all(isinstance(item, (str, int, float)) and not isinstance(item, bool) for item in found):
        raise ValueError(f"is neither an answer nor a list of answers: {_shown(found)}")
    return [item if isinstance(item, str) else str(item) for item in found]


def _target(sample: Sample) -> Any:
    """Search-R1's `{"target": [answers]}`."""
    reference = read_json(sample.reference)
    if not isinstance(reference, Mapping) or "target" not in reference:
        raise ValueError('is not an object with the answers under "target"')
    return reference["target"]


def _instructions(sample: Sample) -> dict[str, Any]:
    """IFEval's columns: the arguments as reference, the ids beside them."""
    ids = (sample.metadata or {}).get("instruction_id_list")
    arguments = sample.reference
    if not isinstance(ids, Sequence) or isinstance(ids, str):
        raise ValueError("needs the list of ids in metadata.instruction_id_list")
    if not isinstance(arguments, list) or len(arguments) != len(ids):
        raise ValueError(f"must be a list of arguments, one for each of the {len(ids)} instructions")
    return {"instruction_id_list": list(ids), "kwargs": arguments}


def _prediction(sample: Sample) -> dict[str, Any]:
    """CodeI/O's `"output": …` or `"input": …`, without the braces around it."""
    text = sample.reference
    if isinstance(text, str) and not text.lstrip().startswith("{"):
        text = "{" + text + "}"
    found = read_json(text)
    if not isinstance(found, Mapping) or len(found) != 1 or not found.keys() <= {"input", "output"}:
        raise ValueError('is neither "input": … nor "output": …')
    return {"alternatives": [dict(found), *found.values()]}


def _table(sample: Sample) -> str | float | int:
    """One number or text; several parted by `|`, as HiTab has them, are refused."""
    reference = _one(sample)
    if isinstance(reference, bool) or not isinstance(reference, (str, int, float)):
        raise ValueError(f"is neither a number nor a string: {_shown(reference)}")
    if isinstance(reference, str) and "|" in reference:
        raise ValueError("contains several answers separated by '|', which no verifier compares")
    return reference


_QUERIES = ("sql", "SQL", "query", "gt_sql", "gold_sql", "ground_truth")
"""Names of the expected query in text-to-SQL data. Spider's rows have a tree under `sql` and the text under `query`."""
_GOLD_LINE = re.compile(r"(.*\S)\t([\w.-]+)\s*", re.DOTALL)


def _sql(sample: Sample) -> dict[str, Any]:
    """A query, or a list of queries any of which is right, with the database's id in `metadata.db_id`; an object, or
    JSON of one, with both; or a line of Spider's and BIRD's gold files: the query, a tab, and the id.
    """
    found = only(sample.reference)
    if isinstance(found, str) and found.lstrip().startswith("{"):
        found = read_json(found)
    told = found if isinstance(found, Mapping) else {"sql": found}
    database = told.get("database") or told.get("db_id") or (sample.metadata or {}).get("db_id")
    rest = {key: told[key] for key in ("ordered", "suite") if key in told}
    if isinstance(told.get("result"), Mapping):
        expected = {"result": told["result"]}
    else:
        query = next((told[name] for name in _QUERIES if _is_query(told.get(name))), None)
        if query is None:
            raise ValueError(f"contains no query as text: {_shown(found)}")
        line = _GOLD_LINE.fullmatch(query) if isinstance(query, str) and not database else None
        if line is not None:
            query, database = line.groups()
        expected = {"sql": query}
    if not database:
        raise ValueError("does not name its database: add db_id to it, or metadata.db_id")
    return {"database": database, **expected, **rest}


def _is_query(value: Any) -> bool:
    texts = value if isinstance(value, list) else [value]
    return bool(texts) and all(isinstance(text, str) and text.strip() for text in texts)


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:60] + "…"


FORMS: Mapping[str, Form] = {
    "json": Form(_json),
    "one": Form(_one),
    "gsm8k": Form(_gsm8k),
    "letter": Form(_letter),
    "texts": Form(_texts),
    "target": Form(_target),
    "table": Form(_table),
    "prediction": Form(_prediction),
    "sql": Form(_sql, ("db_id",)),
    "lean": Form(proofs.lean, proofs.BESIDE),
    "ifeval": Form(_instructions, ("instruction_id_list",)),
    "zebra": Form(puzzles.zebra),
    "grid": Form(puzzles.grid),
    "names": Form(puzzles.names),
    "swe_bench": Form(repositories.swe_bench, repositories.BESIDE),
    "r2e_gym": Form(repositories.r2e_gym, repositories.BESIDE),
    "nemo_gym_swe": Form(repositories.nemo_gym_swe, repositories.BESIDE),
    "reasoning_gym": Form(puzzles.reasoning_gym, ("task", "entry", "metadata")),
}
"""Name to form."""
