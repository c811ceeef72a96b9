"""Options shared by the verifiers of places. Each verifier's dataclass documents them."""

from __future__ import annotations

from functools import cached_property
from typing import Literal

from rewarden.errors import InvalidSample
from rewarden_verifiers.extraction import Rule, rules_of
from rewarden_verifiers.vision.frames import Scale, Size

Which = Literal["all", "first", "last"]


class PlaceParams:
    """Options shared by boxes, points and intervals."""

    which: Which
    aggregate: str
    beta: float
    limit: int
    empty_score: float
    pass_score: float
    extraction: str | tuple[str | dict[str, str], ...]

    @cached_property
    def rules(self) -> tuple[Rule, ...]:
        """The rules of extraction."""
        return rules_of(self.extraction)

    def check_between(self, least: float, most: float, *names: str) -> None:
        """Raises ValueError for the first of these options outside the closed range from `least` to `most`."""
        for name in names:
            if not least <= getattr(self, name) <= most:
                raise ValueError(f"{name} must lie between {least} and {most}")

    def check_share(self, *names: str) -> None:
        """Raises ValueError for the first of these options that is not above 0 and at most 1."""
        for name in names:
            if not 0 < getattr(self, name) <= 1:
                raise ValueError(f"{name} must lie above 0 and at most at 1")


class ImageParams(PlaceParams):
    """Options shared by boxes and points."""

    scale: Scale
    reference_scale: Scale | None
    size: Size | None

    @cached_property
    def measured_scale(self) -> Scale:
        """The scale of all measurements, which is the reference's."""
        return self.reference_scale or self.scale

    def check_size(self) -> None:
        """Raises ValueError for an impossible image size."""
        if self.size is not None and min(self.size) <= 0:
            raise ValueError("size must be a positive width and height")

    def size_missing(self) -> InvalidSample:
        """The error for a sample without an image size, if converting between scales requires it."""
        return InvalidSample(
            f"going from scale {self.scale!r} to {self.measured_scale!r} takes the image's size: give it in the "
            "reference, the parameter 'size' or the metadata",
            path="metadata",
        )
