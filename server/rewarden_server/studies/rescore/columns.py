"""Columns to samples: which column of a row holds what, said by flags or guessed by the usual names.

A column is named by a path, as `rewarden.columns` says. Three columns are always there: `@file` (the file's name within
the input), `@line` (its line number) and `@row` (the whole row). A file of a known shape (`shapes`) has columns of its
own that begin with `@`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import tomllib

from rewarden.columns import ABSENT, GUESSES, finish_reason, only, token_count, value_of
from rewarden.errors import near
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.shapes import Shape, recognised

WHOLE = (
    "response",
    "messages",
    "prompt",
    "reference",
    "group",
    "data_source",
    "finish_reason",
    "token_count",
    "id",
    "use",
    "steps",
    "media",
    "signals",
    "metadata",
)
"""The fields that can be mapped; `messages` stands for prompt and response in one conversation."""

FILE, LINE, ROW = "@file", "@line", "@row"
"""The columns of every row."""

BUILT = ("reference", "signals", "metadata")
"""Fields that can be built of several columns: `reference.answer=label`."""


@dataclass(frozen=True, slots=True)
class RowFault:
    """The reason why a row makes no samples: it becomes a `BadSample`. `path` is the sample's field at fault."""

    message: str
    path: str


@dataclass(frozen=True, slots=True)
class Mapped:
    """The result of mapping a row by its columns: the JSON forms of its samples, without group and data source.

    `many` says that the row held a list of responses. `group` is None if the row belongs to no other row's group.
    `theirs` are the scores that the row itself gives its samples, None for those it gives none.
    """

    samples: Sequence[Mapping[str, Any] | RowFault]
    many: bool
    group: str | None
    data_source: str | None
    theirs: Sequence[float | None] = ()


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns by what they hold. `whole`: field to column; `parts`: field to {part: column}; `group` may join
    several.

    `guessed` are the fields that nobody named; `unused` the columns that no field reads. `shape` is the known shape of
    the rows, which names columns too. `baseline` is the column of the scores that the rows have already; `baselines`
    are the columns where they may stand, if there are several and nobody chose.
    """

    whole: Mapping[str, str]
    parts: Mapping[str, Mapping[str, str]] = field(default_factory=dict)
    guessed: frozenset[str] = frozenset()
    unused: tuple[str, ...] = ()
    shape: Shape | None = None
    baseline: str | None = None
    baselines: tuple[str, ...] = ()
    seen: tuple[str, ...] = ()

    @property
    def has_reference(self) -> bool:
        """Returns whether a column holds the reference."""
        return "reference" in self.whole or "reference" in self.parts

    def identity(self) -> dict[str, str]:
        """Field to column, JSON-ready."""
        built = {f"{name}.{part}": column for name, of in self.parts.items() for part, column in of.items()}
        return {**self.whole, **built}

    def describe(self) -> list[str]:
        """Lines that show the mapping, to be read before the work begins."""
        found = self.identity()
        width = max(15, *map(len, found)) if found else 15
        lines = [] if self.shape is None else [f"{self.shape.name}, known by their columns"]
        for name in WHOLE:
            for target, column in found.items():
                if target.partition(".")[0] == name:
                    guess = "  (guessed)" if target in self.guessed else ""
                    lines.append(f"{_MEANING.get(target, target):<{width}} ← {column}{guess}")
        if self.baseline is not None:
            lines.append(f"{'baseline':<{width}} ← {self.baseline}  (the score that the rows have already)")
        elif self.baselines:
            lines.append(f"{'baseline':<{width}}   one of {', '.join(self.baselines)}: choose with --baseline COLUMN")
        if self.unused:
            shown = ", ".join(self.unused[:12]) + (", …" if len(self.unused) > 12 else "")
            lines.append(f"{'kept, not read':<{width}}   {shown}")
        return lines

    def group_of(self, row: Mapping[str, Any], file: str, line: int) -> str | None:
        """The name of the row's group, or None if it has none."""
        return self._group_of(self._widened(row), file, line)

    def _widened(self, row: Mapping[str, Any]) -> Mapping[str, Any]:
        return row if self.shape is None else self.shape.widened(row)

    def _group_of(self, row: Mapping[str, Any], file: str, line: int) -> str | None:
        column = self.whole.get("group")
        if column is None:
            return None
        parts = [_name(_get(row, one, file, line)) for one in column.split(",")]
        if all(part is None for part in parts):
            return None
        return parts[0] if len(parts) == 1 else json.dumps(parts, ensure_ascii=False)

    def source_of(self, row: Mapping[str, Any], file: str, line: int) -> str | None:
        """The row's data source, or None if it has none."""
        return _name(self._get(self._widened(row), "data_source", file, line))

    def map(self, row: Mapping[str, Any], file: str, line: int) -> Mapped:
        """Returns the samples of a row, by this mapping. Never raises: a row that cannot be read becomes a
        `RowFault`."""
        row = self._widened(row)
        group = self._group_of(row, file, line)
        source = _name(self._get(row, "data_source", file, line))
        common = self._common(row, file, line)
        responses, many, prompt = self._responses(row, file, line)
        if prompt is not None:
            common["prompt"] = prompt
        if isinstance(responses, RowFault):
            return Mapped((responses,), False, group, source, self._theirs(row, file, line, 1))
        own, fault = self._own(row, file, line, len(responses), many)
        if fault is not None:
            faults = (fault,) * max(len(responses), 1)
            return Mapped(faults, many, group, source, self._theirs(row, file, line, len(faults)))
        samples = [{**common, **extra, "response": text} for text, extra in zip(responses, own, strict=True)]
        return Mapped(samples, many, group, source, self._theirs(row, file, line, len(samples)))

    def _theirs(self, row: Mapping[str, Any], file: str, line: int, count: int) -> Sequence[float | None]:
        if self.baseline is None:
            return ()
        value = _get(row, self.baseline, file, line)
        values = value if isinstance(value, list) and len(value) == count else [value] * count
        return [_number(item) for item in values]

    def _get(self, row: Mapping[str, Any], name: str, file: str, line: int) -> Any:
        column = self.whole.get(name)
        return None if column is None else _get(row, column, file, line)

    def common(self, row: Mapping[str, Any], file: str, line: int) -> dict[str, Any]:
        """The fields that all samples of a row share, but for its data source."""
        return self._common(self._widened(row), file, line)

    def _common(self, row: Mapping[str, Any], file: str, line: int) -> dict[str, Any]:
        found: dict[str, Any] = {}
        for name in ("prompt", "reference", "use", "steps", "media", "signals", "metadata"):
            value = self._get(row, name, file, line)
            parts = self.parts.get(name)
            if parts is not None:
                built = {part: _get(row, column, file, line) for part, column in parts.items()}
                # Rows of several kinds in one file: where a column of the object is lacking, the whole column counts.
                if all(item is not None for item in built.values()):
                    value = built
                elif value is None and name == "metadata":  # keys are read one by one: each that is there counts
                    value = {part: item for part, item in built.items() if item is not None} or None
            if value is not None:
                found[name] = value
        identity = _name(self._get(row, "id", file, line))
        if identity is not None:
            found["id"] = identity
        return found

    def _responses(self, row: Mapping[str, Any], file: str, line: int) -> tuple[Any, bool, Any]:
        """(the responses or a fault, whether the row holds a list of them, the prompt where it comes with them)."""
        if "messages" in self.whole:
            column = self.whole["messages"]
            chat = _get(row, column, file, line)
            if not is_chat(chat) or chat[-1].get("role") != "assistant":
                message = f"column {column!r} holds no conversation that ends with an assistant message"
                return RowFault(message, "response"), False, None
            return [chat[-1:]], False, chat[:-1] or None
        column = self.whole["response"]
        value = _get(row, column, file, line)
        if value is None:
            return RowFault(f"column {column!r}, the response, is missing or null in this row", "response"), False, None
        if isinstance(value, list) and not is_chat(value):
            return value, True, None
        return [value], False, None

    def _own(
        self, row: Mapping[str, Any], file: str, line: int, count: int, many: bool
    ) -> tuple[list[dict[str, Any]], RowFault | None]:
        """The fields that each response of a row has for itself."""
        own: list[dict[str, Any]] = [{} for _ in range(count)]
        for name, read in _OWN.items():
            value = self._get(row, name, file, line)
            if value is None:
                continue
            values = value if many and isinstance(value, list) else [value] * count
            if len(values) != count:
                message = f"column {self.whole[name]!r} has {len(values)} items for {count} responses"
                return own, RowFault(message, name)
            for extra, item in zip(own, values, strict=True):
                made = read(item)
                if made is not None:
                    extra[name] = made
        return own, None


def is_chat(value: Any) -> bool:
    """Returns whether a value is a list of chat messages."""
    return isinstance(value, list) and bool(value) and all(isinstance(item, dict) and "role" in item for item in value)


_OWN: Mapping[str, Callable[[Any], Any]] = {"finish_reason": finish_reason, "token_count": token_count}

_MEANING: Mapping[str, str] = {"messages": "prompt+response"}


def _name(value: Any) -> str | None:
    """A name (of a group, a source, a row), from whatever a column holds; None if there is none."""
    value = only(value)
    if value is None or value == "":
        return None
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return json.dumps(value, ensure_ascii=False, sort_keys=True)
    return str(value)


def _number(value: Any) -> float | None:
    """A score as a number: truth values and texts, as CSV has them, too; None for anything else."""
    if isinstance(value, str):
        value = _TRUTHS.get(value.strip().lower(), value)
    if not isinstance(value, (bool, int, float, str)):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


_TRUTHS = {"true": True, "false": False}


def _get(row: Mapping[str, Any], column: str, file: str, line: int) -> Any:
    """The value of a column, None if the row has none."""
    value = value_of(row, column, ABSENT)
    if value is not ABSENT:
        return value
    return {FILE: file, LINE: line, ROW: row}.get(column)


# --- from flags, files and guesses -----------------------------------------------------------------------------


def read_columns_file(path: Path) -> dict[str, str]:
    """Field to column from a TOML or JSON file: a flat table, or one named `columns`; `[reference]` tables build.

    Raises RescoreError naming the key.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise RescoreError(f"the columns file {str(path)!r} cannot be read: {error}") from None
    try:
        table = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except (json.JSONDecodeError, tomllib.TOMLDecodeError) as error:
        raise RescoreError(
            f"the columns file {str(path)!r} is not valid {path.suffix[1:].upper() or 'TOML'}: {error}"
        ) from None
    if isinstance(table, dict) and isinstance(table.get("columns"), dict):
        table = table["columns"]
    if not isinstance(table, dict):
        raise RescoreError(f"the columns file {str(path)!r} must hold a table of field = column")
    found: dict[str, str] = {}
    for name, value in table.items():
        flat = (
            {f"{name}.{part}": column for part, column in value.items()} if isinstance(value, dict) else {name: value}
        )
        for target, column in flat.items():
            if isinstance(column, list) and target == "group" and all(isinstance(one, str) for one in column):
                column = ",".join(column)
            if not isinstance(column, str):
                raise RescoreError(f"{path}: {target} must name a column (a string), not {column!r}")
            found[target] = column
    return found


def check_given(given: Mapping[str, str]) -> None:
    """Refuse fields that do not exist. Raises RescoreError with near names."""
    for target, column in given.items():
        name, _, part = target.partition(".")
        if name not in WHOLE:
            raise RescoreError(f"--column {target}={column}: a sample has no field {name!r}{near(name, WHOLE)}")
        if part and name not in BUILT:
            raise RescoreError(f"--column {target}={column}: only {', '.join(BUILT)} can be built from several columns")
        if not column:
            raise RescoreError(f"--column {target}=: name a column, or '-' for none")
    if "messages" in given and "response" in given:
        raise RescoreError("give either --column response=… or --column messages=…: messages include the response")


NONE = "-"
"""The name that stands for no column: the field is neither read nor guessed."""


def choose(
    given: Mapping[str, str],
    rows: Sequence[Mapping[str, Any]],
    metadata: Sequence[str] = (),
    *,
    responses: bool = True,
    baseline: str | None = None,
) -> Columns:
    """The mapping for an input that begins with these rows: what was given, the rest guessed.

    `metadata`: keys of the metadata that the routing looks at; where nobody names their columns, they are looked for
    under their own names, and in `extra_info`, where verl's files have them. responses: the rows hold responses;
    without them, as in a file of references, no column is taken for one, and the rows have no known shape. baseline:
    the column of the scores that the rows have already, `-` for none; it is known for most shapes.

    Raises RescoreError, listing the columns seen, when no column contains the response or one given is in no row.
    """
    check_given(given)
    seen = list(dict.fromkeys(name for row in rows for name in row))
    shape = recognised(rows) if responses else None
    found = None if shape is None else _baselines(shape, rows)
    if shape is not None:
        rows = [shape.widened(row) for row in rows]
    for target, column in {**given, **({} if baseline is None else {"baseline": baseline})}.items():
        flag = "--baseline " if target == "baseline" else f"--column {target}="
        for one in column.split(",") if target == "group" else (column,):
            if one != NONE and rows and all(_get(row, one, "", 0) is None for row in rows):
                raise RescoreError(f"{flag}{column}: no column {one!r} in {len(rows)} rows; {_seen(seen, one)}")
    whole = {target: column for target, column in given.items() if "." not in target and column != NONE}
    parts: dict[str, dict[str, str]] = {}
    for target, column in given.items():
        name, _, part = target.partition(".")
        if part and column != NONE:
            parts.setdefault(name, {})[part] = column
    if shape is not None:
        _shaped(shape, given, rows, whole)
    guessed: set[str] = set()
    for name, candidates in GUESSES.items():
        if not responses and name in ("response", "messages"):
            continue
        if name in given or name in whole or (shape is not None and shape.columns.get(name) == NONE):
            continue
        if (name == "messages" and "response" in whole) or (name == "prompt" and "messages" in whole):
            continue
        if name == "reference" and shape is not None:
            candidates = tuple(prefix + column for prefix in shape.under for column in candidates)
        taken = set(whole.values())
        for column in candidates:
            if column not in taken and _fits(name, column, rows):
                whole[name] = column
                guessed.add(name)
                break
    if "metadata" not in given:
        for key in metadata:
            found = [one for one in (key, f"extra_info.{key}") if _has(rows, one)]
            if found and f"metadata.{key}" not in given:
                parts.setdefault("metadata", {})[key] = found[0]
                guessed.add(f"metadata.{key}")
    if responses and "response" not in whole and "messages" not in whole and rows:
        raise RescoreError(f"no column contains the response; name it with --column response=COLUMN. {_seen(seen)}")
    read = {one for column in whole.values() for one in column.split(",")}
    read |= {column for of in parts.values() for column in of.values()}
    chosen = found[0] if found is not None and len(found) == 1 and baseline is None else baseline
    chosen = None if chosen == NONE else chosen
    roots = {column if column in seen else column.split(".")[0] for column in (*read, chosen) if column is not None}
    return Columns(
        whole,
        parts,
        frozenset(guessed),
        () if ROW in read else tuple(name for name in seen if name not in roots),
        shape=shape,
        baseline=chosen,
        baselines=tuple(found or ()) if baseline is None else (),
        seen=tuple(seen),
    )


def _baselines(shape: Shape, rows: Sequence[Mapping[str, Any]]) -> list[str]:
    widened = [shape.widened(row) for row in rows]
    return [column for column in shape.baselines(rows) if _has(widened, column)]


def _shaped(shape: Shape, given: Mapping[str, str], rows: Sequence[Mapping[str, Any]], whole: dict[str, str]) -> None:
    """Add the columns that the shape names, for fields that the user did not. Raises RescoreError for rows of a shape
    that hold no text of a model.
    """
    for name, column in shape.columns.items():
        if name in given or column == NONE or (name in ("prompt", "response") and "messages" in whole):
            continue
        if all(_has(rows, one) or one == FILE for one in column.split(",")):
            whole[name] = column
        elif name == "response":
            raise RescoreError(
                f"these are {shape.name}, but none of the first {len(rows)} rows holds a text that a model generated; "
                "name its column with --column response=COLUMN"
            )


def _has(rows: Sequence[Mapping[str, Any]], column: str) -> bool:
    return any(_get(row, column, "", 0) is not None for row in rows)


def _fits(name: str, column: str, rows: Sequence[Mapping[str, Any]]) -> bool:
    values = [value for row in rows if (value := _get(row, column, "", 0)) is not None]
    if not values:
        return False
    if name == "response":
        return _mostly(isinstance(value, str) or (isinstance(value, list) and _texts(value)) for value in values)
    if name == "messages":
        return _mostly(is_chat(value) and value[-1].get("role") == "assistant" for value in values)
    if name == "prompt":
        return _mostly(isinstance(value, str) or is_chat(value) for value in values)
    if name in ("group", "data_source", "id"):
        return all(isinstance(only(value), (str, int)) for value in values)
    each = [item for value in values for item in (value if isinstance(value, list) else [value])]
    if name == "finish_reason":
        return all(finish_reason(item) in ("stop", "length", "abort", None) for item in each)
    if name == "token_count":
        return all(type(token_count(item)) is int for item in each)
    return not all(isinstance(value, bool) for value in values)  # a label that says right or wrong is not a reference


def _mostly(fitting: Iterable[bool]) -> bool:
    """Returns whether more fit than do not: a few odd rows must not hide the column."""
    each = list(fitting)
    return 2 * sum(each) > len(each)


def _texts(value: list[Any]) -> bool:
    return is_chat(value) or all(isinstance(item, str) or is_chat(item) for item in value)


def _seen(seen: Sequence[str], wanted: str = "") -> str:
    hint = near(wanted, seen, otherwise="").removeprefix("; ")
    return f"{hint} The columns are: {', '.join(seen) or 'none'}".lstrip()
