"""`temporal`: compares the intervals in a response with the expected parts of a video."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden.errors import InvalidReference, InvalidSample
from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import MAX_ANSWER, first_found
from rewarden_verifiers.outcome import no_answer, too_expensive, wrong
from rewarden_verifiers.vision import assignment, matched
from rewarden_verifiers.vision.clock import Time, TimeUnit
from rewarden_verifiers.vision.interval_reader import Span, read_spans, walk
from rewarden_verifiers.vision.intervals import Interval, clamped, iou, length, merged, union_iou
from rewarden_verifiers.vision.numerals import number
from rewarden_verifiers.vision.place_params import PlaceParams, Which
from rewarden_verifiers.vision.reading import read_all

_SHOWN = 100
_NEARLY_ALL = 0.9
_EDGE = 0.01
_MOST_EXPECTED = 1000


@dataclass(frozen=True, kw_only=True)
class TemporalParams(PlaceParams):
    """Options of `temporal`.

    unit: Unit of plain numbers: `seconds` or `frames`. Time codes and written units take precedence.
    reference_unit: The same for the reference. If unset, that of `unit`.
    fps: Frames per second, if neither the reference (`fps`) nor the metadata (`fps`) gives them. Required for frames.
    duration: Duration of the video in seconds, if neither the reference (`duration`) nor the metadata (`duration`)
        gives it.
    clamp: Clips intervals at 0 and, if known, at the video's end.
    which: Intervals of an answer that count: `all`, or only the `first` or the `last`.
    aggregate: Score of several intervals: `union` (the IoU of the time that they cover together), or matched one to
        one: `mean` (the credit of all pairs over the greater number of intervals), `precision`, `recall` (only the
        first intervals count, as many as are expected), `f` (F-beta of both).
    match: Pairing of intervals: `hungarian` (the greatest sum) or `greedy_value` (the greatest IoU first).
    beta: Weight of recall in `f`.
    thresholds: An IoU earns the share of these that it reaches: with `[0.5]` it earns 0 or 1, with `[0.3, 0.5, 0.7]`
        the mean of R@0.3, R@0.5 and R@0.7. If empty, it earns its own value.
    limit: Most intervals in an answer; more score 0 (`too_many_intervals`).
    whole_video: An interval of (nearly) the whole video if less is expected: `zero`: earns nothing; `keep`: earns its
        IoU. The duration must be known.
    empty_score: Score for saying that it never happens, if the reference is an empty list.
    pass_score: Lowest score at which the sample passes.
    extraction: Rules that find the answer: an ordered list, or a preset. By default a LaTeX box, an answer tag, else
        the whole response.
    """

    unit: TimeUnit = "seconds"
    reference_unit: TimeUnit | None = None
    fps: float | None = None
    duration: float | None = None
    clamp: bool = True
    which: Which = "all"
    aggregate: Literal["union", "mean", "precision", "recall", "f"] = "union"
    match: Literal["hungarian", "greedy_value"] = "hungarian"
    beta: float = 1.0
    thresholds: tuple[float, ...] = ()
    limit: int = 100
    whole_video: Literal["zero", "keep"] = "zero"
    empty_score: float = 1.0
    pass_score: float = 0.5
    extraction: str | tuple[str | dict[str, str], ...] = ("boxed", "answer_tag", "whole")

    def __post_init__(self) -> None:
        for name in ("fps", "duration"):
            value = getattr(self, name)
            if value is not None and not 0 < value <= 1e9:
                raise ValueError(f"{name} must be above 0")
        if not all(0 < value <= 1 for value in self.thresholds):
            # Every interval reaches an IoU of 0, so a threshold of 0 would give credit to any interval.
            raise ValueError("thresholds must lie above 0 and at most at 1")
        if list(self.thresholds) != sorted(set(self.thresholds)):
            raise ValueError("thresholds must rise")
        self.check_between(0.01, 100, "beta")
        self.check_between(1, 1000, "limit")
        self.check_between(0, 1, "empty_score")
        self.check_share("pass_score")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    def worth(self, value: float) -> float:
        """The credit for an IoU: the IoU itself, or the share of the thresholds that it reaches."""
        if not self.thresholds:
            return value
        return sum(value >= least for least in self.thresholds) / len(self.thresholds)


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The expected intervals as written. `single`: one interval is expected, not a set."""

    spans: tuple[tuple[Time, Time], ...]
    single: bool
    fps: float | None
    duration: float | None
    seconds: dict[float | None, tuple[Interval, ...]] = field(default_factory=dict)
    """The intervals in seconds, by frame rate."""


def prepare(reference: str | list[Any] | dict[str, Any], params: TemporalParams) -> Moments:
    """Parses the expected intervals. Raises InvalidReference for invalid ones."""
    fps = duration = None
    if isinstance(reference, str):
        spans = read_spans(reference.strip())
        items, single = list(spans.items), len(spans.items) == 1 and "[[" not in reference
        empty = spans.denied
    else:
        items = []
        walk(_intervals_of(reference), items)
        single = len(items) == 1 and not _is_listed(_intervals_of(reference))
        empty = _intervals_of(reference) == []
        if isinstance(reference, dict):
            fps, duration = number(reference.get("fps")), number(reference.get("duration"))
    if not items and not empty:
        raise InvalidReference("the reference holds no interval", path="reference")
    if len(items) > _MOST_EXPECTED:
        raise InvalidReference(f"the reference has more than {_MOST_EXPECTED} intervals", path="reference")
    ends = [item for item in items if item is not None]
    if len(ends) < len(items) or any(start.unit == end.unit and start.value >= end.value for start, end in ends):
        raise InvalidReference("an interval of the reference is inverted, empty or no interval", path="reference")
    if (fps is not None and fps <= 0) or (duration is not None and duration <= 0):
        raise InvalidReference("the reference's fps and duration must be above 0", path="reference")
    return Moments(tuple(ends), single, fps, duration)


def _intervals_of(reference: Any) -> Any:
    if isinstance(reference, dict):
        for key in ("intervals", "interval", "segments", "spans", "timestamps", "moments", "answer"):
            if key in reference:
                return reference[key]
    return reference


def _is_listed(reference: Any) -> bool:
    return isinstance(reference, (list, tuple)) and any(isinstance(item, (list, tuple, dict)) for item in reference)


def _in_seconds(ends: tuple[Time, Time], unit: TimeUnit, fps: float | None) -> Interval | None:
    """The interval in seconds, or None if its end is not later than its start. Raises InvalidSample if `fps` is
    missing.
    """
    values = []
    for time in ends:
        if (time.unit or unit) == "seconds":
            values.append(time.value)
        elif fps is None:
            raise InvalidSample(
                "frames take the video's fps: give it in the reference, the parameter 'fps' or the metadata",
                path="metadata.fps",
            )
        else:
            values.append(time.value / fps)
    return (values[0], values[1]) if values[0] < values[1] else None


def _expected(moments: Moments, params: TemporalParams, fps: float | None) -> tuple[Interval, ...]:
    found = moments.seconds.get(fps)
    if found is None:
        unit = params.reference_unit or params.unit
        made = [_in_seconds(ends, unit, fps) for ends in moments.spans]
        if None in made:
            raise InvalidReference("an interval of the reference is inverted or empty", path="reference")
        if len(moments.seconds) >= 16:
            moments.seconds.clear()
        found = moments.seconds[fps] = tuple(one for one in made if one is not None)
    return found


def _written(item: Span, params: TemporalParams, fps: float | None) -> Interval | None:
    if item is None:
        return None
    if fps is None and "frames" in [time.unit for time in item] and params.unit == "seconds":
        return None  # frames cannot be converted to the requested seconds without `fps`
    return _in_seconds(item, params.unit, fps)


@verifier(
    version="2",
    graded=True,
    prepare=prepare,
    warm=assignment.warm,
    libraries=("numpy",),
    optional={"vision": "several intervals for several moments"},
)
def temporal(
    response: str, prepared: Moments, params: TemporalParams, metadata: Mapping[str, Any] | None = None
) -> Outcome:
    """Compares intervals of a video with the expected ones, by the IoU of one, of a union, or of matched pairs.

    The reference is one interval (`[3.2, 8.5]`, `{"start": 3.2, "end": 8.5}`, "00:03 - 00:08") or a list of them;
    `{"intervals": […], "duration": 120, "fps": 30}` also describes the video. An answer can be JSON (lists, objects
    with start and end), tags (`<interval>`, `<time>` …) or prose ("from 3.2 to 8.5 seconds", "0:03-0:08", "frames 90 to
    240"). Times are seconds, frames, minutes, or time codes (mm:ss, hh:mm:ss.mmm).

    If one interval is expected, one interval earns its IoU, or the share of `thresholds` that it reaches (temporal
    grounding's R@0.3, R@0.5, R@0.7); several different ones are `hedged`. If a list is expected, `union` compares the
    time covered, in which repetitions count once. The other aggregates match one to one, and missing, superfluous and
    invalid intervals lower the score.

    A score of 0 has the reason `no_answer`, `malformed` (inverted, empty, NaN), `hedged`, `whole_video`, `missed` (the
    answer says that it never happens), `false_alarm`, `too_many_intervals` or `wrong`. If nothing is expected (an empty
    list), an answer must say so: `[]`, or in words.
    """
    found = first_found(response, params.rules)
    if found is None:
        return too_expensive() if len(response) > MAX_ANSWER else no_answer()
    spans = read_all(found.texts, read_spans, params.which)
    details: dict[str, Any] = {"evidence": {"rule": found.rule, "form": spans.form}}
    if not spans.items:
        return matched.nothing_found(spans, bool(prepared.spans), params, details)
    if len(spans.items) > params.limit:
        return wrong("too_many_intervals", flags=("too_many_intervals",), **details)
    given = metadata or {}
    fps = prepared.fps or params.fps or _positive(given.get("fps"))
    duration = prepared.duration or params.duration or _positive(given.get("duration"))
    expected = _expected(prepared, params, fps)
    read = [_written(item, params, fps) for item in spans.items]
    details["extracted"] = [None if one is None else list(one) for one in read[:_SHOWN]]
    if prepared.single:
        read = list(dict.fromkeys(read))
        if len(read) > 1:
            return wrong("hedged", flags=("hedged",), **details)
        details["extracted"] = details["extracted"][0]
    if not expected:
        return wrong("false_alarm", **details)
    if params.clamp:
        read = [None if one is None else clamped(one, duration) for one in read]
    return _judged(read, expected, duration, params, details)


def _positive(value: Any) -> float | None:
    found = number(value)
    return found if found is not None and found > 0 else None


def _judged(
    read: Sequence[Interval | None],
    expected: Sequence[Interval],
    duration: float | None,
    params: TemporalParams,
    details: dict[str, Any],
) -> Outcome:
    evidence, flags = details["evidence"], []
    whole = sum(map(length, merged(expected))) < _NEARLY_ALL * duration if duration else False
    sound: list[Interval | None] = []
    for one in read:
        if one is None:
            flags.append("malformed_interval")
        elif whole and duration and one[0] <= _EDGE * duration and one[1] >= (1 - _EDGE) * duration:
            if params.whole_video == "zero":
                one = None
            flags.append("whole_video")
        sound.append(one)
    if whole and duration and params.aggregate == "union" and "whole_video" not in flags:
        # The same rule for the video in pieces: together they count as the whole if they leave out no more than one
        # interval may.
        parts = [part for one in sound if one is not None and (part := clamped(one, duration)) is not None]
        if sum(map(length, merged(parts))) >= (1 - 2 * _EDGE) * duration:
            if params.whole_video == "zero":
                sound = [None] * len(sound)
            flags.append("whole_video")
    flags = list(dict.fromkeys(flags))
    usable = [one for one in sound if one is not None]
    if not usable:
        reason = "whole_video" if "whole_video" in flags else "malformed"
        return wrong(reason, flags=flags, **details)
    if len(usable) > 1 and sum(map(length, merged(usable))) < sum(map(length, usable)) * (1 - 1e-9):
        flags.append("overlapping")
    if len(read) == len(expected) == 1:
        value = iou(usable[0], expected[0])
        evidence["iou"] = value
        score = params.worth(value)
    elif params.aggregate == "union":
        # An invalid interval covers no time, but lowers the score as an additional prediction would.
        value = union_iou(usable, expected) * len(usable) / len(sound)
        evidence |= {"iou": value, "predicted": len(sound), "expected": len(expected)}
        score = params.worth(value)
    else:
        score = _matched(sound, expected, params, evidence)
    if params.thresholds and "iou" in evidence:
        evidence["recall_at"] = {f"{least:g}": float(evidence["iou"] >= least) for least in params.thresholds}
    return matched.outcome(score, params, flags, details)


def _matched(
    read: Sequence[Interval | None], expected: Sequence[Interval], params: TemporalParams, evidence: dict[str, Any]
) -> float:
    """The score of intervals matched one to one."""
    if params.aggregate == "recall":
        read = read[: len(expected)]  # otherwise a hundred guesses would find everything
    values = [[0.0 if one is None else iou(one, other) for other in expected] for one in read]
    # A tie-break: among matchings with the same credit, prefer the closer fit.
    gains = [[params.worth(value) and params.worth(value) + 1e-6 * value for value in row] for row in values]
    pairs = assignment.assign(gains, params.match, range(len(read)))
    ious = [values[row][column] for row, column in pairs]
    score = matched.paired([params.worth(value) for value in ious], len(read), len(expected), params, evidence)
    evidence["ious"] = ious[:_SHOWN]
    return score
