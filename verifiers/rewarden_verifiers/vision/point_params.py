"""Options of `point`."""

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

    scale: Scale of the answer: `pixel`, `unit` (0 to 1) or `thousand` (0 to 1000).
    reference_scale: Scale of the reference, and of all measurements. If unset, that of `scale`.
    other_scales: Further scales that an answer can use. Otherwise a right point in another scale is wrong, with the
        flag `scale_confused` if the image's size is known.
    size: The image's [width, height] in pixels, if neither the reference (`size`, or `width` and `height`) nor the
        sample's metadata gives it. Required to convert between pixels and the other scales.
    boxes: A box if a point is expected: `refuse`: malformed; `center`: its centre counts.
    which: Points or actions of an answer that count: `all`, or only the `first` or the `last`.
    tolerance: If the reference is a point: largest distance that is right, in the reference's scale.
    norm: Distance: `l2`, `l1`, or `max` (the greater of horizontal and vertical).
    decay: Credit beyond the tolerance. If unset, none; otherwise it decreases by `linear`, `exponential` or `gaussian`
        (below 0.01 it is 0).
    decay_length: Distance over which it decreases: `linear` to 0, `exponential` to 1/e, `gaussian` to 0.61.
    regions: Several regions: `each` needs a point in it; `any`: one point in any of them is right.
    several: Several different points if one is expected: `hedged`: they score 0; `share`: they score their mean.
    aggregate: Score of several points, matched one to one (the greatest sum): `mean` (over the greater number of
        points), `precision`, `recall` (only the first points count, as many as are expected), `f` (F-beta of both).
    beta: Weight of recall in `f`.
    exact_count: A different number of points than expected scores 0.
    weights: Weights of the parts of an action that the reference has. A wrong type scores 0.
    all_or_nothing: An action scores 1 if every part is right, else 0.
    text: Comparison of texts, keys and apps: `exact`; `plain` (ignores case and whitespace); `fuzzy` (as `plain`, with
        a normalised edit similarity of at least `text_threshold`, by `rapidfuzz`).
    text_threshold: See `text`.
    actions: Further names of action types, such as `{"click": ["press_element"], "scroll": ["swipe"]}`.
    limit: Most points in an answer; more score 0 (`too_many_points`).
    empty_score: Score for saying that there is nothing, if the reference is an empty list.
    pass_score: Lowest score at which the sample passes.
    extraction: Rules that find the answer: an ordered list, or a preset. By default a LaTeX box, an answer tag, else
        the whole response.
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
        """Maps further names of action types to the canonical ones. Raises ValueError if a name belongs to two
        types.
        """
        found: dict[str, str] = {}
        for name, others in (self.actions or {}).items():
            for other in (name, *others):
                plain = other.strip().casefold().replace(" ", "_").replace("-", "_")
                if found.setdefault(plain, name) != name:
                    raise ValueError(f"actions: {other!r} is listed for two types; list it for one")
        return found

    @cached_property
    def points(self) -> PointReader:
        """The reader of points."""
        return PointReader(centers=self.boxes == "center")

    @cached_property
    def acts(self) -> ActionReader:
        """The reader of actions."""
        return ActionReader(self.points, self.action_names)
