"""Criteria to judge a response by, as a request or a data set writes them.

`rubric` and `checklist` read the same forms. A criterion is a text, or an object with:

    text       the criterion itself (also `criterion`, as in HealthBench, or `description`)
    points     its value if it is met (also `weight`); 1 by default, below 0 for undesirable content
    kind       `judge`: a language model decides; `program`: the verifier or recipe in `use` does
    use        a name, `{"name", "params"}`, or `{"recipe": {…}}`
    reference  the expected answer for the program; none by default
    of         what the program must reach: `passed` (the default), a number (at least that score), or `score`
               (the program's score counts, as a share of its range)
    id         names the criterion in the verdict; `title` names it for people
    tags       groups of criteria that also get a separate score

A list of them can be under `criteria`, `rubrics`, `rubric`, `items` or `checklist`, and a reference that is a text can
contain all of that as JSON. Rows of HealthBench (arXiv 2505.08775: criterion, points, tags) and of Rubrics as Rewards
(arXiv 2507.17746: title, description, weight) need no conversion.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Use
from rewarden_verifiers.uses import parse_use

MOST = 200
"""Criteria of one response."""

LONGEST = 20_000
"""Characters of a criterion's text."""

Given = str | list[Any] | dict[str, Any]
"""A value that can contain criteria."""

Error = type[InvalidParams] | type[InvalidReference]

_LISTS = ("criteria", "rubrics", "rubric", "items", "checklist")
_TEXTS = ("text", "criterion", "description")
_POINTS = ("points", "weight")
_OTHERS = ("kind", "use", "reference", "of", "id", "title", "tags")
_LABEL = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Criterion:
    """One criterion. path: its path in the request. use: for a program, else None. label: its name for people."""

    path: str
    id: str
    text: str
    label: str
    points: float = 1.0
    use: Use | None = None
    reference: Any = None
    of: Literal["passed", "score"] | float = "passed"
    tags: tuple[str, ...] = ()


def gather(given: Sequence[Any], reference: Given | None, where: str = "params.criteria") -> list[Criterion]:
    """Returns the criteria of the parameters, which apply to every sample, followed by those of the reference. where:
    the parameter.

    Raises InvalidReference or InvalidParams with the JSON path for an invalid form, a duplicate id, points that are not
    a number, no criteria, more than `MOST`, or no criterion with positive points.
    """
    own = read_criteria(given, where, InvalidParams)
    named = [] if reference is None else read_criteria(reference, "reference", InvalidReference, taken=own)
    found = own + named
    error: Error = InvalidReference if named or not own else InvalidParams
    path = "reference" if error is InvalidReference else where
    if not found:
        raise error(f"{path}: there are no criteria", path=path)
    if not any(one.points > 0 for one in found):
        raise error(f"{path}: no criterion has positive points, so there is nothing to reach", path=path)
    return found


def read_criteria(value: Any, path: str, error: Error, taken: Sequence[Criterion] = ()) -> list[Criterion]:
    """Reads criteria in any of the accepted forms. taken: the criteria that come before them. Raises `error` with the
    JSON path.
    """
    value, path = _list(value, path, error)
    if len(value) + len(taken) > MOST:
        raise error(f"{path} has {len(value) + len(taken)} criteria; at most {MOST} are judged", path=path)
    found: list[Criterion] = []
    ids = {one.id for one in taken}
    for place, item in enumerate(value):
        one = _criterion(item, f"{path}[{place}]", error, f"c{len(taken) + place + 1}")
        if one.id in ids:
            raise error(f"{path}[{place}].id: {one.id!r} is used twice", path=f"{path}[{place}].id")
        ids.add(one.id)
        found.append(one)
    return found


def _list(value: Any, path: str, error: Error) -> tuple[Sequence[Any], str]:
    if isinstance(value, str):
        try:
            read = json.loads(value)
        except (ValueError, RecursionError):
            read = None
        value = read if isinstance(read, (list, dict)) else [value]
    if isinstance(value, Mapping):
        names = [name for name in _LISTS if value.get(name) is not None]
        if len(names) == 1 and len(value) == 1 and not isinstance(value[names[0]], Mapping):
            return _list(value[names[0]], f"{path}.{names[0]}", error)
        value = [value]
    if not isinstance(value, (list, tuple)):
        raise error(f"{path} must be a list of criteria", path=path)
    return value, path


def _criterion(item: Any, path: str, error: Error, number: str) -> Criterion:
    if isinstance(item, str):
        item = {"text": item}
    if not isinstance(item, Mapping):
        raise error(f"{path} must be a string or an object", path=path)
    # Tables fill every column of every row, so null means that the field was not given.
    item = {name: value for name, value in item.items() if value is not None}
    known = (*_TEXTS, *_POINTS, *_OTHERS)
    for name in item:
        if name not in known:
            raise error(f"{path} has no field {name!r}; it has {', '.join(known)}", path=f"{path}.{name}")
    text = _one(item, _TEXTS, "", path, error)
    points = _one(item, _POINTS, 1.0, path, error)
    title, tags, kind = item.get("title", ""), item.get("tags", ()), item.get("kind")
    if not isinstance(text, str) or len(text) > LONGEST:
        raise error(f"{path}: its text must be a string of at most {LONGEST} characters", path=f"{path}.text")
    # Dividing by points close to zero would overflow a float.
    counts = isinstance(points, (int, float)) and not isinstance(points, bool)
    if not counts or not (points == 0 or 1e-6 <= abs(points) <= 1e6):
        message = f"{path}: its points must be a number, 0 or of a size from 1e-6 to 1e6, not {_told(points)}"
        raise error(message, path=f"{path}.points")
    if not isinstance(title, str):
        raise error(f"{path}.title must be a string", path=f"{path}.title")
    if not isinstance(tags, (list, tuple)) or not all(isinstance(tag, str) for tag in tags):
        raise error(f"{path}.tags must be a list of strings", path=f"{path}.tags")
    if kind not in (None, "judge", "program"):
        raise error(f"{path}.kind must be `judge` or `program`, not {_told(kind)}", path=f"{path}.kind")
    name = item.get("id", number)
    if not isinstance(name, (str, int)) or isinstance(name, bool) or name == "" or not _short(name):
        raise error(f"{path}.id must be a string of at most {LONGEST} characters", path=f"{path}.id")
    use = None
    if kind == "program" or (kind is None and "use" in item):
        use = _use(item.get("use"), f"{path}.use", error)
    elif misplaced := [field for field in ("use", "of", "reference") if field in item]:
        raise error(f"{path}.{misplaced[0]} is for a criterion of kind `program`", path=f"{path}.{misplaced[0]}")
    elif not text.strip():
        raise error(f"{path} has no text", path=path)
    label = title.strip() or text.strip() or (use.name if use is not None and use.name else str(name))
    return Criterion(
        path=path,
        id=str(name),
        text=text.strip(),
        label=" ".join(label.split())[:_LABEL],
        points=float(points),
        use=use,
        reference=item.get("reference"),
        of=_of(item.get("of", "passed"), f"{path}.of", error),
        tags=tuple(tags),
    )


def _one(item: Mapping[str, Any], names: Sequence[str], default: Any, path: str, error: Error) -> Any:
    """The value of a field that has several accepted names."""
    given = [name for name in names if name in item]
    if len(given) > 1:
        raise error(f"{path} has both {given[0]!r} and {given[1]!r}, which are the same", path=f"{path}.{given[1]}")
    return item[given[0]] if given else default


def _use(value: Any, path: str, error: Error) -> Use:
    if not isinstance(value, (str, Mapping)):
        raise error(f"{path}: a program needs the name of a verifier or recipe", path=path)
    try:
        return parse_use(value if isinstance(value, str) else dict(value), path)
    except InvalidParams as problem:
        raise error(problem.message, **problem.details) from None


def _of(value: Any, path: str, error: Error) -> Any:
    if value in ("passed", "score"):
        return value
    # Compare before converting: an integer can have so many digits that it does not fit into a float.
    if isinstance(value, (int, float)) and not isinstance(value, bool) and abs(value) <= 1e6:
        return float(value)
    raise error(f"{path} must be `passed`, `score` or a number, not {_told(value)}", path=path)


def _short(name: str | int) -> bool:
    return len(name) <= LONGEST if isinstance(name, str) else abs(name) < 10**_LABEL


def _told(value: Any) -> str:
    """Describes an invalid value in a message: the value itself if it is short, else its type. Nested values and long
    integers may have no text form at all.
    """
    if isinstance(value, str):
        return repr(value[:_LABEL])
    if value is None or isinstance(value, float) or (isinstance(value, int) and _short(value)):
        return repr(value)
    return f"a value of type {type(value).__name__}"
