"""A verifier measured on a published set: run, scored by the set's rules, and attacked."""

from __future__ import annotations

import random
import statistics
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from rewarden.types import Sample, Use, Verdict
from rewarden.wire.json import use_to_json
from rewarden_server.studies.bench.bench_set import BenchSet, Line
from rewarden_server.studies.bench.entry import Entry, Result, UnusableError, Way, way_of
from rewarden_server.studies.bench.labelled import failing
from rewarden_server.studies.bench.read import ReadSet
from rewarden_server.studies.calibration.assault import Assault, Target, assault
from rewarden_server.studies.calibration.judged_responses import Asker, CalibrationError, Spent
from rewarden_verifiers.group.statistics import passes

_WAYS = {
    "rating": "judge one response at a time",
    "comparison": "compare a response with a rival",
    "ranking": "rank the members of a group",
}


@dataclass(frozen=True, slots=True)
class Latency:
    """The time from a verdict's start to its end, in seconds, without cached verdicts: the median and the 95th
    percentile. It includes the wait for a free place at the judge or model, since all samples are sent at once."""

    median_s: float
    p95_s: float

    @classmethod
    def of(cls, verdicts: Sequence[Verdict]) -> Latency | None:
        """The latency of these verdicts; None if all were cached."""
        taken = sorted(verdict.run_s for verdict in verdicts if not verdict.cached)
        if not taken:
            return None
        return cls(statistics.median(taken), taken[min(len(taken) - 1, round(0.95 * (len(taken) - 1)))])


@dataclass(frozen=True, slots=True)
class Bench:
    """The results. rows: how many were judged; asked: verdicts requested; left_out: rows that this verifier cannot
    judge, by part. unscored: rows by (status, fault, reason); unscored_parts: unscored rows by part. problem: the
    feedback of an unscored verdict. missing: parts of the set without a scored row, which the overall figure therefore
    leaves out. flags: verdicts by flag. attack_note: why there are no attacks although they were requested. took_s: the
    time of all verdicts together, without the attacks."""

    chosen: BenchSet[Any]
    use: Use
    way: Way
    rows: int
    asked: int
    left_out: Mapping[str, int]
    scored: int
    ties: int
    unscored: Mapping[tuple[str, str, str], int]
    unscored_parts: Mapping[str, int]
    problem: str | None
    flags: Mapping[str, int]
    lines: Sequence[Line]
    missing: Sequence[str]
    attacks: Sequence[Assault]
    targets: int
    attack_note: str | None
    latency: Latency | None
    took_s: float
    spent: Spent

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "set": self.chosen.name,
            "use": use_to_json(self.use),
            "asked_as": self.way.kind,
            "rows": self.rows,
            "scored": self.scored,
            "left_out": dict(self.left_out),
            "unscored": [
                {"status": status, "fault": fault or None, "reason": reason or None, "rows": count}
                for (status, fault, reason), count in self.unscored.items()
            ],
            "unscored_parts": dict(self.unscored_parts),
            "flags": dict(self.flags),
            "ties": None if self.chosen.ties is None else self.ties,
            "overall": self.lines[0].to_json() if self.lines else None,
            "missing": list(self.missing),
            "figures": [line.to_json() for line in self.lines[1:]],
            "attacked": self.targets,
            "attacks": [one.to_json() for one in self.attacks],
            "verdicts": self.asked,
            "latency": None if self.latency is None else asdict(self.latency),
            "took_s": self.took_s,
            "spent": asdict(self.spent),
        }


def use_for(chosen: BenchSet[Any], use: Use) -> Use:
    """The verifier with the parameters that the set needs. Raises CalibrationError for a verifier that the set cannot
    use."""
    way = way_of(use)
    if way.kind not in chosen.kinds:
        ways = " or ".join(_WAYS[kind] for kind in chosen.kinds)
        raise CalibrationError(
            f"{chosen.title} is for verifiers that {ways}, such as {chosen.use.name}; {use.name} is one to "
            f"{_WAYS[way.kind]}"
        )
    needed = chosen.params.get(use.name or "", {})
    return replace(use, params={**needed, **use.params}) if needed else use


async def bench(asker: Asker, chosen: BenchSet[Any], read: ReadSet, *, attacked: int, seed: int) -> Bench:
    """Judge the entries of a set. attacked: the most wrong responses to attack, drawn at random; 0: none. Raises
    RequestError."""
    way = way_of(asker.use)
    questions = [(entry, entry.samples(way)) for entry in read.entries]
    samples = [sample for _, each in questions for sample in each]
    began = time.monotonic()
    verdicts = await asker.ask(samples)
    took_s = time.monotonic() - began
    results: list[Result] = []
    unscored: Counter[tuple[str, str, str]] = Counter()
    parts: Counter[str] = Counter()
    problems: list[str] = []
    rows = begin = 0
    for entry, each in questions:
        if not each:
            continue
        rows += 1
        given = verdicts[begin : begin + len(each)]
        begin += len(each)
        found = _result(entry, way, given)
        if isinstance(found, Result):
            results.append(found)
            continue
        unscored[found[:3]] += 1
        parts[entry.subset] += 1
        problems += [found[3]] if found[3] else []
    attacks, targets, note = await _attacked(asker, read.entries, way, attacked, seed) if results else ([], 0, None)
    return Bench(
        chosen=chosen,
        use=asker.use,
        way=way,
        rows=rows,
        asked=len(samples),
        left_out=dict(Counter(entry.subset for entry, each in questions if not each)),
        scored=len(results),
        ties=sum(one.tied for one in results),
        unscored=dict(unscored.most_common()),
        unscored_parts=dict(parts.most_common()),
        problem=problems[0] if problems else None,
        flags=dict(Counter(flag for one in verdicts for flag in one.flags).most_common()),
        lines=(lines := chosen.lines(results, seed) if results else []),
        missing=[name for name in chosen.parts if name not in {line.name for line in lines}] if lines else [],
        attacks=attacks,
        targets=targets,
        attack_note=note,
        latency=Latency.of(verdicts),
        took_s=took_s,
        spent=asker.spent,
    )


def _result(entry: Entry[Result], way: Way, given: Sequence[Verdict]) -> Result | tuple[str, str, str, str]:
    """The result of a row's verdicts; if one is unscored, its status, fault, reason and feedback. A row is never
    decided by some of its verdicts: that would favour verifiers that lose verdicts."""
    for verdict in given:
        if verdict.score is None:
            return verdict.status, verdict.fault or "", verdict.reason or "", verdict.feedback or ""
    try:
        return entry.result(way, given)
    except UnusableError as error:
        return "scored", given[0].fault or "", given[0].reason or "unusable", str(error)


async def _attacked(
    asker: Asker, entries: Sequence[Entry[Result]], way: Way, most: int, seed: int
) -> tuple[list[Assault], int, str | None]:
    """The attacks, the number of responses attacked, and the reason if there are none."""
    if not most:
        return [], 0, None
    if way.kind == "ranking":
        return [], 0, f"{asker.use.name} judges the members of a group against each other"
    wrong = failing(entries, way, seed)
    if len(wrong) > most:
        wrong = [wrong[place] for place in sorted(random.Random(seed).sample(range(len(wrong)), most))]
    made: list[tuple[str, Sample]] = [(one.id, one.failing) for one in wrong if one.failing is not None]
    before = await asker.ask([sample for _, sample in made])
    known = [
        (name, sample, verdict)
        for (name, sample), verdict in zip(made, before, strict=True)
        if verdict.score is not None
    ]
    if not known:
        return [], 0, "no response that should fail was scored"
    if all(verdict.passed is None for _, _, verdict in known):
        return [], 0, f"{asker.use.name} does not decide passed or failed; give it a threshold"
    targets = [Target(name, sample, passes(verdict)) for name, sample, verdict in known]
    return await assault(asker, targets, paired=way.kind == "comparison"), len(targets), None
