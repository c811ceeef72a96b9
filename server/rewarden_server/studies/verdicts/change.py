"""Compares two judgements of one corpus."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidRequest
from rewarden_server.studies.verdicts.corpus import Row

_COMPARED = ("status", "score", "passed", "reason", "fault", "extracted", "flags")
"""The fields that make a verdict a different one; explanations may change."""


@dataclass(frozen=True, slots=True)
class Change:
    """A sample whose verdict differs."""

    title: str
    old: dict[str, Any]
    new: dict[str, Any]

    @property
    def verifier(self) -> str:
        """The verifier that judges it now, or judged it before."""
        ref = self.new.get("verifier") or self.old.get("verifier") or {}
        return str(ref.get("name", "-"))

    @property
    def versions(self) -> tuple[str, str]:
        """The verifier's version before and now; `-` where none judged."""
        old, new = (str((verdict.get("verifier") or {}).get("version", "-")) for verdict in (self.old, self.new))
        return old, new

    @property
    def unannounced(self) -> bool:
        """True if the verdict changed and the verifier's version did not."""
        old, new = self.versions
        return old == new != "-"

    def fields(self) -> Iterator[tuple[str, Any, Any]]:
        """The fields that differ, as before and as now."""
        for name in _COMPARED:
            old, new = self.old.get(name), self.new.get(name)
            if old != new:
                yield name, old, new

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        old, new = self.versions
        fields = {name: {"old": before, "new": now} for name, before, now in self.fields()}
        return {
            "title": self.title,
            "verifier": self.verifier,
            "version": {"old": old, "new": new},
            "unannounced": self.unannounced,
            "fields": fields,
        }


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs. rows: how many were judged by both; only_old, only_new: how many rows one record has alone."""

    rows: int
    only_old: int
    only_new: int
    changes: tuple[Change, ...]

    def by_version(self) -> list[tuple[str, tuple[str, str], list[Change]]]:
        """The changes of each verifier from one version to another, the most first."""
        found: dict[tuple[str, tuple[str, str]], list[Change]] = {}
        for change in self.changes:
            found.setdefault((change.verifier, change.versions), []).append(change)
        return sorted(((*key, changes) for key, changes in found.items()), key=lambda row: -len(row[2]))

    @property
    def unannounced(self) -> list[str]:
        """The verifiers whose verdicts changed and whose version did not."""
        return sorted({change.verifier for change in self.changes if change.unannounced})

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "rows": self.rows,
            "only_old": self.only_old,
            "only_new": self.only_new,
            "changed": len(self.changes),
            "by_verifier": dict(Counter(change.verifier for change in self.changes).most_common()),
            "unannounced": self.unannounced,
            "changes": [change.to_json() for change in self.changes],
        }


def difference(old: Sequence[Row], new: Sequence[Row]) -> Difference:
    """Compares two records; rows are matched by title and sample. Raises InvalidRequest if none match."""
    known = dict(_keyed(old))
    changes: list[Change] = []
    matched = 0
    for key, row in _keyed(new):
        before = known.get(key)
        if before is None:
            continue
        assert before.verdict is not None
        assert row.verdict is not None
        matched += 1
        change = Change(row.title, before.verdict, row.verdict)
        if any(change.fields()):
            changes.append(change)
    if not matched:
        raise InvalidRequest("the two records have no sample in common")
    return Difference(matched, len(old) - matched, len(new) - matched, tuple(changes))


def _keyed(rows: Sequence[Row]) -> Iterator[tuple[tuple[str, int], Row]]:
    """The rows by title and sample; equal ones are counted, so that each has its own."""
    counts: Counter[str] = Counter()
    for row in rows:
        text = json.dumps([row.title, row.sample], sort_keys=True)
        counts[text] += 1
        yield (text, counts[text]), row
