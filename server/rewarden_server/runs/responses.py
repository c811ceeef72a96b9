"""The stored rollouts of a run: searched by criteria, and shown like the report of a rescore."""

from __future__ import annotations

import json
import sqlite3
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_server.runs.reader import Range, Run, counts_of, where_of
from rewarden_server.runs.rollout import unpacked
from rewarden_server.studies.report.excerpt import messages
from rewarden_server.studies.report.page import data_of
from rewarden_server.studies.report.rows import Collected, Prompts, Shown, show
from rewarden_server.studies.rescore.columns import Columns, Mapped
from rewarden_server.studies.rescore.summary import Summary
from rewarden_server.studies.rescore.tally import Tally

MOST = 5_000
DEFAULT_MOST = 500

CHARS = 4_000
"""The longest response that is shown, in characters, as in a report."""

PAIRS = 5
"""Prompts for which each of two ranges shows a rollout."""

_MOST_BYTES = 32 * 1024**2
"""Bytes of rollouts that are unpacked for one reply."""

_SCANNED_BYTES = 256 * 1024**2
"""Bytes of rollouts that are searched for a text."""

_COLUMNS = "number, (SELECT name FROM names WHERE names.number = rollouts.source) AS source, time, step, member, data"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Criteria for rollouts; None: any. group: its name. text: in the prompt or the response, ignoring case. low, high:
    bounds on the score's position, excluding `low` unless both are equal. rollout: its number. If there are more than
    `most`, the latest are returned."""

    part: Range
    status: str | None = None
    passed: bool | None = None
    reason: str | None = None
    flag: str | None = None
    group: str | None = None
    text: str | None = None
    low: float | None = None
    high: float | None = None
    rollout: int | None = None
    most: int = DEFAULT_MOST


@dataclass(frozen=True, slots=True)
class Rollout:
    """A stored rollout. row: its JSON (`rollout.unpacked`)."""

    number: int
    source: str
    time: float
    step: int | None
    group: str | None
    row: dict[str, Any]


def find(connection: sqlite3.Connection, run: Run, wanted: Wanted) -> tuple[list[Rollout], int]:
    """Returns the rollouts in order of arrival, and the number of all matches. Raises sqlite3.Error."""
    where, values = _where(run, wanted)
    text = None if wanted.text is None else wanted.text.casefold()
    found: list[Rollout] = []
    total = size = 0
    most = _MOST_BYTES if text is None else _SCANNED_BYTES
    for one in _read(connection, where, values):
        size += one[1]
        if size > most:
            break
        if text is not None and not _contains(one[0].row, text):
            continue
        total += 1
        if len(found) < wanted.most:
            found.append(one[0])
        elif text is None:
            break
    if text is None:
        total = connection.execute(f"SELECT count(*) FROM rollouts WHERE {where}", values).fetchone()[0]
    return found[::-1], total


def moved(connection: sqlite3.Connection, run: Run, a: Range, b: Range) -> dict[str, Any]:
    """Returns the counts of two parts of a run, and the rollouts that differ most. Raises sqlite3.Error."""
    counts = counts_of(connection, run, a), counts_of(connection, run, b)
    numbers = dict.fromkeys(_pairs(connection, run, a, b))
    for part, kind, name in _shifts(*counts):
        if len(numbers) >= 2 * PAIRS:
            break
        reason, flag = (name, None) if kind == "reason" else (None, name)
        wanted = Wanted(part=(a, b)[part], reason=reason, flag=flag, most=2 * PAIRS)
        fresh = [one.number for one in find(connection, run, wanted)[0] if one.number not in numbers]
        numbers.update(dict.fromkeys(fresh[:1]))
    found = {one.number: one for one, _ in _read(connection, *_among(numbers))}
    shown = [found[number] for number in numbers if number in found]
    return {"a": counts[0], "b": counts[1], "rollouts": data(run, shown, len(shown))}


def data(run: Run, rollouts: Sequence[Rollout], total: int) -> dict[str, Any]:
    """Returns the data for the report's scripts, with the columns `step`, `time` (since the epoch) and `rollout`."""
    tally = Tally()
    prompts = Prompts(CHARS // 2)
    groups = _group_names(rollouts)
    rows: list[Shown] = []
    for one, group in zip(rollouts, groups, strict=True):
        sample, verdict = one.row["sample"], one.row["verdict"]
        _, counts = tally.of(one.source)
        counts.rows += 1
        counts.add(verdict, group or f"@{one.number}")
        mapped = Mapped([sample], many=False, group=group, data_source=one.source)
        rows.append(show(CHARS, prompts, mapped, 0, verdict, str(one.number), group))
    summary = Summary(tally=tally, pass_at=[()] * len(tally.sources), pass_at_all=(), seconds=0.0)
    made = data_of(
        Collected(
            names=(run.name,),
            columns=Columns({}),
            rows=tuple(rows),
            total=total,
            unjudged=0,
            unread=0,
            summary=summary,
        ),
        run.name,
        CHARS,
    )
    made["rows"] |= {
        "step": [one.step for one in rollouts],
        "time": [one.time for one in rollouts],
        "rollout": [one.number for one in rollouts],
    }
    return made


def as_json(value: Any) -> bytes:
    """Encodes JSON with escapes, which can hold lone surrogates."""
    return json.dumps(value, separators=(",", ":")).encode()


def _where(run: Run, wanted: Wanted) -> tuple[str, dict[str, Any]]:
    where, values = where_of(run, wanted.part)
    conditions = [where]
    for name in ("status", "passed", "reason"):
        value = getattr(wanted, name)
        if value is not None:
            conditions.append(f"{name} = :{name}")
            values[name] = value
    if wanted.group is not None:
        conditions.append("member = :member")
        values["member"] = wanted.group
    if wanted.flag is not None:
        conditions.append("instr(flags, ' ' || :flag || ' ')")
        values["flag"] = wanted.flag
    if wanted.rollout is not None:
        conditions.append("number = :rollout")
        values["rollout"] = wanted.rollout
    if wanted.low is not None:
        conditions.append("position = :low" if wanted.low == wanted.high else "position > :low")
        values["low"] = wanted.low
    if wanted.high is not None:
        conditions.append("position <= :high")
        values["high"] = wanted.high
    return " AND ".join(conditions), values


def _among(numbers: Iterable[int]) -> tuple[str, dict[str, Any]]:
    return "number IN (SELECT value FROM json_each(:numbers))", {"numbers": json.dumps(list(numbers))}


def _read(connection: sqlite3.Connection, where: str, values: dict[str, Any]) -> Iterator[tuple[Rollout, int]]:
    """Yields the rollouts, latest first, each with the bytes of its JSON, compressed by at least three to one."""
    rows = connection.execute(f"SELECT {_COLUMNS} FROM rollouts WHERE {where} ORDER BY time DESC, number DESC", values)
    for number, source, time, step, member, packed in rows:
        yield Rollout(number, source or "", time, step, member, unpacked(packed)), 3 * len(packed)


def _contains(row: dict[str, Any], text: str) -> bool:
    sample = row["sample"]
    texts = (part for name in ("response", "prompt") for _, part in messages(sample.get(name)))
    return any(text in part.casefold() for part in texts)


def _group_names(rollouts: Iterable[Rollout]) -> list[str | None]:
    """Returns the names of groups, made distinct if groups of other steps or requests have the same name."""
    keys = [(one.group, one.step, one.row.get("request")) for one in rollouts]
    same: dict[str | None, dict[Any, int]] = defaultdict(dict)
    for name, step, request in keys:
        same[name].setdefault((step, request), len(same[name]) + 1)
    names: list[str | None] = []
    for name, step, request in keys:
        if name is None or len(same[name]) == 1:
            names.append(name)
        else:
            where = f"step {step}" if step is not None else f"request {same[name][step, request]}"
            at_step = [other for other in same[name] if other[0] == step]
            more = f", request {at_step.index((step, request)) + 1}" if step is not None and len(at_step) > 1 else ""
            names.append(f"{name} ({where}{more})")
    return names


def _pairs(connection: sqlite3.Connection, run: Run, a: Range, b: Range) -> Iterator[int]:
    """Yields rollouts for prompts that occur in both parts: one from each, for the prompts whose mean position differs
    most."""
    (where_a, of_a), (where_b, of_b) = where_of(run, a, "a_"), where_of(run, b, "b_")
    values = {**of_a, **of_b}
    means = "SELECT prompt, avg(position) AS mean FROM rollouts WHERE {} AND prompt IS NOT NULL GROUP BY prompt"
    rows = connection.execute(
        f"SELECT one.prompt, one.mean, other.mean FROM ({means.format(where_a)}) AS one "
        f"JOIN ({means.format(where_b)}) AS other ON one.prompt = other.prompt "
        "WHERE one.mean <> other.mean ORDER BY abs(one.mean - other.mean) DESC, one.prompt LIMIT :pairs",
        {**values, "pairs": PAIRS},
    ).fetchall()
    for prompt, *means_of_it in rows:
        for where, mean in zip((where_a, where_b), means_of_it, strict=True):
            # The one closest to most of its siblings.
            (number,) = connection.execute(
                f"SELECT number FROM rollouts WHERE {where} AND prompt = :prompt AND position IS NOT NULL "
                "ORDER BY abs(position - :mean), number DESC LIMIT 1",
                {**values, "prompt": prompt, "mean": mean},
            ).fetchone()
            yield number


def _shifts(a: Mapping[str, Any], b: Mapping[str, Any]) -> list[tuple[int, str, str]]:
    """Returns reasons and flags by how much their share changed, largest first: the part that has more of it, the kind,
    and the name."""
    found = []
    for kind, names in (("reason", "reasons"), ("flag", "flags")):
        for name in a[names].keys() | b[names].keys():
            shares = [part[names].get(name, 0) / part["verdicts"] if part["verdicts"] else 0.0 for part in (a, b)]
            if shares[0] != shares[1]:
                found.append((abs(shares[0] - shares[1]), int(shares[1] > shares[0]), kind, name))
    return [(part, kind, name) for _, part, kind, name in sorted(found, key=lambda one: (-one[0], one[2:]))]
