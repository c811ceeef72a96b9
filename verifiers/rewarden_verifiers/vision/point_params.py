"""The options of `point`."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar, Literal

from rewarden_verifiers.vision.action_reader import ActionReader
from rewarden_verifiers.vision.frames import Scale, Size
from rewarden_verifiers.vision.place_params import ImageParams, Which
from rewarden_verifiers.vision.point_reader import PointReader
from rewarden_verifiers.vision.targets import Decay, Norm


@dataclass(frozen=True, slots=True, kw_only=True)
class Weights:
    """Weights of the parts of an action: its type, its target (the point), its value (text, direction, key, app)."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    type: float = 1.0
    target: float = 1.0
    value: float = 1.0

    def __post_init__(self) -> None:
        if min(self.type, self.target, self.value) < 0 or not 0 < self.type + self.target + self.value < 1e9:
            raise ValueError("weights must not be negative, and not all 0")


@dataclass(frozen=True, kw_only=True)
class PointParams(ImageParams):
    """Options of `point`.

    scale: `pixel`, `unit` (0 to 1) or `thousand` (0 to 1000): how the answer is written.
    reference_scale: how the reference is written, which is the scale in which is measured; None: as `scale`.
    other_scales: scales in which an answer may be written as well; without it a right point in the wrong scale is
        wrong, and flagged `scale_confused` where the image's size is known.
    size: the image's [width, height] in pixels, where neither the reference (`size`, or `width` and `height`) nor the
        sample's metadata says it. Needed to go between pixels and the other scales.
    boxes: what a box is where a point is asked for: `refuse` it is malformed; `center` its centre.
    which: of several points or actions in an answer: `all`, or only the `first` or the `last`.
    tolerance: the distance up to which a point is right where the reference is a point, in the reference's scale.
    norm: how distance is measured: `l2`, `l1`, or `max` (the greater of across and down).
    decay: what a point beyond the tolerance is worth: None nothing; else less and less by `linear`, `exponential` or
        `gaussian` (what would be below 0.01 is nothing).
    decay_length: over which distance: `linear` ends there, `exponential` is down to 1/e, `gaussian` to 0.61.
    regions: where several regions are given: `each` is to be hit by a point of its own; `any` one point in any of them
        is right.
    several: several different points where one is asked for: `hedged` they are worth nothing; `share` their mean.
    aggregate: how several points become one score, matched one to one (the greatest sum): `mean` (by the greater number
        of points), `precision`, `recall` (of which the first as many as are expected count), `f` (F-beta of both).
    beta: recall's weight in `f`.
    exact_count: another number of points than expected is worth nothing.
    weights: what the parts of an action count; of those that the reference has. A wrong type is worth nothing at all.
    all_or_nothing: an action is worth 1 where every part is right, else 0.
    text: how texts, keys and apps are compared: `exact`; `plain` (case and blanks do not count); `fuzzy` (plain, and
        alike to `text_threshold`, by the normalised edit similarity of `rapidfuzz`).
    text_threshold: see `text`.
    actions: further names of types of actions, such as `{"click": ["press_element"], "scroll": ["swipe"]}`.
    limit: points beyond which an answer is worth nothing (`too_many_points`).
    empty_score: what is earned for saying that nothing is there, where the reference is an empty list.
    pass_score: the score from which the sample passes.
    extraction: where the answer stands: an ordered list of rules, or a preset; by default a box in LaTeX, an answer
        tag, else the whole response.
    """

    scale: Scale = "pixel"
    reference_scale: Scale | None = None
    other_scales: tuple[Scale, ...] = ()
    size: Size | None = None
    boxes: Literal["refuse", "center"] = "refuse"
    which: Which = "all"
    tolerance: float | None = None
    norm: Norm = "l2"
    decay: Decay | None = None
    decay_length: float | None = None
    regions: Literal["each", "any"] = "each"
    several: Literal["hedged", "share"] = "hedged"
    aggregate: Literal["mean", "precision", "recall", "f"] = "mean"
    beta: float = 1.0
    exact_count: bool = False
    weights: Weights = field(default_factory=Weights)
    all_or_nothing: bool = False
    text: Literal["exact", "plain", "fuzzy"] = "plain"
    text_threshold: float = 0.8
    actions: dict[str, tuple[str, ...]] | None = None
    limit: int = 200
    empty_score: float = 1.0
    pass_score: float = 1.0
    extraction: str | tuple[str | dict[str, str], ...] = ("boxed", "answer_tag", "whole")

    def __post_init__(self) -> None:
        self.check_size()
        if self.tolerance is not None and not 0 <= self.tolerance <= 1e9:
            raise ValueError("tolerance must be at least 0")
        if (self.decay is None) != (self.decay_length is None):
            raise ValueError("decay and decay_length go together")
        if self.decay_length is not None and not 0 < self.decay_length <= 1e9:
            raise ValueError("decay_length must be above 0")
        self.check_between(0.01, 100, "beta")
        self.check_share("text_threshold")
        self.check_between(0, 1, "empty_score")
        self.check_share("pass_score")
        self.check_between(1, 500, "limit")
        self.rules  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        self.action_names  # noqa: B018

    @cached_property
    def action_names(self) -> dict[str, str]:
        """Further names of types of actions, to the usual ones. Raises ValueError for a name of two types."""
        found: dict[str, str] = {}
        for name, others in (self.actions or {}).items():
            for other in (name, *others):
                plain = other.strip().casefold().replace(" ", "_").replace("-", "_")
                if found.setdefault(plain, name) != name:
                    raise ValueError(f"actions: {other!r} stands for two types; give it to one")
        return found

    @cached_property
    def points(self) -> PointReader:
        """Returns what reads points."""
        return PointReader(centers=self.boxes == "center")

    @cached_property
    def acts(self) -> ActionReader:
        """Returns what reads actions."""
        return ActionReader(self.points, self.action_names)
