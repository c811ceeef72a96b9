"""Rejudging: judges the rollouts of one part of a run as those of another part were judged."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden.types import Batch, BatchResult, Progress, Sample, Use
from rewarden.wire.json import dumps, use_from_json, use_to_json, verdict_to_json
from rewarden_server.observe.record import record_of
from rewarden_server.runs.responses import Rollout

MOST = 500
DEFAULT_MOST = 50

_SHOWN = ("status", "score", "range", "passed", "reason", "fault", "flags", "extracted", "feedback", "verifier")


@dataclass(frozen=True, slots=True)
class Rejudging:
    """The rollouts of `b`, and the uses of `a` by data source."""

    rollouts: Sequence[Rollout]
    uses: Mapping[str, Use]
    before: Mapping[str, list[str]]

    @classmethod
    def of(cls, a: Iterable[Rollout], b: Iterable[Rollout]) -> Rejudging:
        """Rejudges the rollouts of b whose data sources occur in a."""
        a = list(a)
        counts: dict[str, Counter[bytes]] = defaultdict(Counter)
        uses: dict[bytes, Use] = {}
        for one in a:
            use = _use(one)
            if use is not None:
                key = dumps(use_to_json(use))
                uses[key] = use
                counts[one.source][key] += 1
        chosen = {source: uses[found.most_common(1)[0][0]] for source, found in counts.items()}
        rollouts = [one for one in b if one.source in chosen]
        sources = {one.source for one in rollouts}
        alike = [one for one in a if one.source in sources and _use(one) == chosen[one.source]]
        before = {
            "a": _fingerprints(one.row["verdict"] for one in alike),
            "b": _fingerprints(one.row["verdict"] for one in rollouts),
        }
        return cls(rollouts, chosen, before)

    async def judge(self, verify: Callable[[Batch], Awaitable[BatchResult]]) -> dict[str, Any]:
        """Returns the verdicts before and after. Each rollout is judged at its original step. Raises RequestError."""
        after: dict[int, dict[str, Any]] = {}
        by_progress: dict[Progress | None, list[tuple[int, Sample]]] = defaultdict(list)
        for one in self.rollouts:
            record = record_of(one.row)
            group = None if record.sample.group is None else f"{one.row.get('request')} {record.sample.group}"
            sample = replace(record.sample, use=self.uses[one.source], group=group, group_size=None)
            by_progress[record.header.progress].append((one.number, sample))
        for progress, samples in by_progress.items():
            result = await verify(Batch(samples=[sample for _, sample in samples], progress=progress))
            for (number, _), verdict in zip(samples, result.verdicts, strict=True):
                after[number] = verdict_to_json(verdict)
        now = _fingerprints(after.values())
        return {
            "exact": bool(after) and now == self.before["a"],
            "fingerprints": {**self.before, "now": now},
            "rows": [
                {
                    "rollout": one.number,
                    "step": one.step,
                    "source": one.source,
                    "before": _shown(one.row["verdict"]),
                    "after": _shown(after[one.number]),
                }
                for one in self.rollouts
            ],
        }


def _use(rollout: Rollout) -> Use | None:
    given = rollout.row["sample"].get("use") or rollout.row["header"].get("use")
    return None if given is None else use_from_json(given)


def _fingerprints(verdicts: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns the distinct fingerprints of verdicts."""
    return sorted({ref["fingerprint"] for verdict in verdicts if (ref := verdict.get("verifier"))})


def _shown(verdict: Mapping[str, Any]) -> dict[str, Any]:
    return {name: verdict[name] for name in _SHOWN if verdict.get(name) is not None}
