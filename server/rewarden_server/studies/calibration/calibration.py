"""A calibration: labelled responses judged, attacked, and counted."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from typing import Any

from rewarden.types import Use, Verdict
from rewarden.wire.json import use_to_json
from rewarden_server.studies.calibration.agreement import Bin, Figure, Judged, Matrix, bins, figures_of
from rewarden_server.studies.calibration.assault import Assault, Target, assault
from rewarden_server.studies.calibration.attacks import text_of
from rewarden_server.studies.calibration.flips import Flips, flips_of
from rewarden_server.studies.calibration.judged_responses import Asker, Spent, is_grouped, judged, score_of
from rewarden_server.studies.calibration.length import LengthBias, length_bias
from rewarden_server.studies.calibration.rows import Labelled
from rewarden_server.studies.calibration.threshold import Point, curve, rejection, threshold
from rewarden_server.studies.comparison.agreement import spearman
from rewarden_verifiers.group.statistics import passes
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.registry import Registry

_SHOWN = 600
"""Characters shown of a response whose verdict differs from its label."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """The goals of a calibration. precision: of the threshold. attacked: the most wrong responses to attack, drawn at
    random; 0: none. seed: of the draws."""

    precision: float = 0.95
    attacked: int = 40
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Miss:
    """A response whose verdict differs from its label."""

    id: str
    right: bool
    score: float
    response: str
    feedback: str

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "id": self.id,
            "label": "right" if self.right else "wrong",
            "score": self.score,
            "response": self.response,
            "feedback": self.feedback,
        }


@dataclass(frozen=True, slots=True)
class Calibration:
    """The results. unscored: counts by (status, fault, reason). figures: by name. graded: whether there are scores
    between 0 and 1; only then do curve, bins and threshold mean anything. settings: the use with the threshold as its
    parameter, ready to paste, if it has such a parameter. rejection: below the threshold, for `cascade`. problem: the
    feedback of an unscored verdict. flags: verdicts by flag."""

    use: Use
    wanted: Wanted
    rows: int
    scored: int
    unscored: Mapping[tuple[str, str, str], int]
    problem: str | None
    flags: Mapping[str, int]
    judged: Sequence[Judged]
    figures: Mapping[str, Figure]
    matrix: Matrix
    graded: bool
    grades: float | None
    bins: Sequence[Bin]
    curve: Sequence[Point]
    threshold: Point | None
    rejection: Point | None
    settings: Mapping[str, Any] | None
    flips: Flips
    length: LengthBias
    attacks: Sequence[Assault]
    targets: int
    misses: Sequence[Miss]
    spent: Spent
    paired: bool

    def to_json(self) -> dict[str, Any]:
        """JSON-ready."""
        return {
            "use": use_to_json(self.use),
            "rows": self.rows,
            "scored": self.scored,
            "unscored": [
                {"status": status, "fault": fault or None, "reason": reason or None, "rows": count}
                for (status, fault, reason), count in self.unscored.items()
            ],
            "flags": dict(self.flags),
            "matrix": asdict(self.matrix),
            "figures": {name: figure.to_json() for name, figure in self.figures.items()},
            "graded": self.graded,
            "spearman_with_grades": self.grades,
            "bins": [
                {"from": one.low, "to": one.high, "rows": one.rows, "score": one.score, "right": one.right.to_json()}
                for one in self.bins
            ],
            "wanted_precision": self.wanted.precision,
            "threshold": None if self.threshold is None else self.threshold.to_json(),
            "rejection": None if self.rejection is None else self.rejection.to_json(),
            "settings": self.settings,
            "flips": self.flips.to_json(),
            "length": self.length.to_json(),
            "attacked": self.targets,
            "attacks": [one.to_json() for one in self.attacks],
            "misses": [miss.to_json() for miss in self.misses],
            "spent": asdict(self.spent),
        }


async def calibrate(
    asker: Asker,
    rows: Sequence[Labelled],
    wanted: Wanted,
    *,
    paired: bool = False,
) -> Calibration:
    """Judge and attack labelled responses. If none could be scored, nothing is attacked. Raises RequestError."""
    verdicts = await asker.ask([row.sample for row in rows])
    pairs = [
        (row, verdict, one)
        for row, verdict in zip(rows, verdicts, strict=True)
        if (one := judged(row.sample, row.label.right, verdict)) is not None
    ]
    scored = [one for _, _, one in pairs]
    attackable = bool(scored) and wanted.attacked > 0 and not is_grouped(asker.use)
    targets = await _targets(asker, rows, verdicts, wanted) if attackable else []
    attacks = await assault(asker, targets, paired=paired)
    unscored = [verdict for verdict in verdicts if verdict.score is None]
    graded = any(0 < one.score < 1 for one in scored)
    points = curve(scored) if graded else []
    given = [(one.score, row.label.grade) for row, _, one in pairs if row.label.grade is not None]
    return Calibration(
        use=asker.use,
        wanted=wanted,
        rows=len(rows),
        scored=len(scored),
        unscored=dict(Counter((one.status, one.fault or "", one.reason or "") for one in unscored).most_common()),
        problem=next((verdict.feedback for verdict in unscored if verdict.feedback), None),
        flags=dict(Counter(flag for one in verdicts for flag in one.flags).most_common()),
        judged=scored,
        figures=figures_of(scored, len(rows), graded=graded, seed=wanted.seed),
        matrix=Matrix.of(scored),
        graded=graded,
        grades=spearman([score for score, _ in given], [grade for _, grade in given]) if given else None,
        bins=bins(scored) if graded else [],
        curve=points,
        threshold=(chosen := threshold(points, wanted.precision)),
        rejection=_rejection(scored, chosen, wanted.precision) if graded else None,
        settings=_settings(asker.use, chosen, [verdict.range for _, verdict, _ in pairs]),
        flips=flips_of([verdict for _, verdict, _ in pairs], _threshold_of(asker.use)),
        length=length_bias(scored, wanted.seed),
        attacks=attacks,
        targets=len(targets),
        misses=[_miss(row, verdict) for row, verdict, one in pairs if one.passed != one.right],
        spent=asker.spent,
        paired=paired,
    )


async def _targets(asker: Asker, rows: Sequence[Labelled], verdicts: Sequence[Verdict], wanted: Wanted) -> list[Target]:
    """The responses to attack: those that should fail and whose unattacked verdict is known."""
    failing = [place for place, row in enumerate(rows) if row.failing is not None]
    if len(failing) > wanted.attacked:
        failing = sorted(random.Random(wanted.seed).sample(failing, wanted.attacked))
    turned = [place for place in failing if rows[place].failing is not rows[place].sample]
    known = {place: verdicts[place] for place in failing}
    samples = [sample for place in turned if (sample := rows[place].failing) is not None]
    known |= dict(zip(turned, await asker.ask(samples), strict=True))
    return [
        Target(rows[place].id, sample, passes(known[place]))
        for place in failing
        if known[place].score is not None and (sample := rows[place].failing) is not None
    ]


def _rejection(rows: Sequence[Judged], chosen: Point | None, precision: float) -> Point | None:
    """The score up to which a response is rejected for good: only if there is a threshold, and below it."""
    found = rejection(rows, precision)
    return None if chosen is None or found is None or found.score >= chosen.score else found


def _threshold_of(use: Use) -> float | None:
    found = use.params.get("threshold")
    return float(found) if isinstance(found, (int, float)) else None


def _settings(use: Use, point: Point | None, ranges: Sequence[tuple[float, float]]) -> dict[str, Any] | None:
    """The use with the threshold on the scale of the verifier's own scores, rounded down."""
    if point is None or use.name not in JUDGING or len(set(ranges)) != 1:
        return None
    kind = Registry().get(use.name).params_type
    if kind is None or "threshold" not in {one.name for one in fields(kind)}:
        return None
    low, high = ranges[0]
    return {
        "name": use.name,
        "params": {**use.params, "threshold": math.floor((low + point.score * (high - low)) * 1e6) / 1e6},
    }


def _miss(row: Labelled, verdict: Verdict) -> Miss:
    return Miss(
        id=row.id,
        right=row.label.right,
        score=score_of(verdict) or 0.0,
        response=text_of(row.sample.response)[:_SHOWN],
        feedback=(verdict.feedback or "")[:_SHOWN],
    )
