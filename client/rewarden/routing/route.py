"""A route, and the list of them that a sample is held against."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any

from rewarden.routing.forms import read_reference
from rewarden.types import BadSample, Sample, Use
from rewarden.wire.json import use_to_json

POLICYS = frozenset({"response", "steps", "signals", "finish_reason", "token_count"})
"""Fields that the policy has a hand in. No route looks at them: it would choose the judge that is easiest to please."""

MATCHED = ("data_source", "id", "group", "prompt", "reference", "metadata")
"""Fields that routes may look at; below `reference` and `metadata` by dotted path."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Samples whose fields match are judged by `use`.

    match: field (a dotted path) to patterns as in file names (`*`, `?`, `[a-z]`); every field must match one of its
    patterns, and a field that is absent matches `*` only. Without fields it matches everything. reference_form: how
    the data writes its reference, a name of `rewarden.routing.forms`; None leaves it as it is. label: how the use was
    written, for messages.
    """

    use: Use
    match: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reference_form: str | None = None
    label: str = ""

    def matches(self, sample: Sample) -> bool:
        """Whether a sample is this route's."""
        return all(_fits(_value(sample, path), patterns) for path, patterns in self.match.items())


@dataclass(frozen=True, slots=True)
class Routing:
    """Routes, tried in order. `source`: where they come from, for messages."""

    routes: tuple[Route, ...] = ()
    source: str = "the routing"

    @classmethod
    def by_source(cls, uses: Iterable[tuple[str, Use]], source: str = "--use") -> Routing:
        """Patterns of data sources to uses. A `*` takes the rest, wherever it stands."""
        routes = [
            Route(use=use, match={} if pattern == "*" else {"data_source": (pattern,)}, label=use.name or "a recipe")
            for pattern, use in uses
        ]
        return cls(tuple(sorted(routes, key=lambda route: not route.match)), source)

    @property
    def single(self) -> Use | None:
        """The use of all samples, where there is but one and nothing to look at."""
        if len(self.routes) == 1 and not self.routes[0].match and self.routes[0].reference_form is None:
            return self.routes[0].use
        return None

    def find(self, sample: Sample) -> Route | None:
        """The first route that matches."""
        return next((route for route in self.routes if route.matches(sample)), None)

    def apply(self, sample: Sample) -> Sample | BadSample:
        """The sample with its use, and its reference as that use reads it. A sample that names a use keeps it.

        Where nothing matches, or the reference is not in the route's form, a `BadSample`: a sample that nobody is
        asked to judge must not look judged.
        """
        if sample.use is not None:
            return sample
        route = self.find(sample)
        if route is None:
            known = ", ".join(dict.fromkeys(route.label for route in self.routes)) or "none"
            told = (
                f"no route of {self.source} matches the data source {sample.data_source!r} (it has routes to {known})"
            )
            return BadSample(message=told, path="use", id=sample.id)
        if route.reference_form is None:
            return replace(sample, use=route.use)
        try:
            reference = read_reference(route.reference_form, sample)
        except ValueError as error:
            return BadSample(message=f"reference: {error}", path="reference", id=sample.id)
        return replace(sample, use=route.use, reference=reference)

    def identity(self) -> list[Any]:
        """What decides over verdicts, JSON-ready."""
        return [
            [{path: list(patterns) for path, patterns in route.match.items()}, use_to_json(route.use)]
            + ([] if route.reference_form is None else [route.reference_form])
            for route in self.routes
        ]


def _value(sample: Sample, path: str) -> Any:
    name, _, rest = path.partition(".")
    value = getattr(sample, name)
    while rest:
        if not isinstance(value, Mapping):
            return None
        if rest in value:  # a name that holds dots itself is found first
            return value[rest]
        name, _, rest = rest.partition(".")
        value = value.get(name)
    return value


def _fits(value: Any, patterns: Sequence[str]) -> bool:
    if isinstance(value, (list, tuple)):  # open-instruct gives a sample several data sources
        return any(_fits(item, patterns) for item in value)
    if isinstance(value, bool):
        value = "true" if value else "false"
    text = "" if value is None else str(value)
    return any(fnmatchcase(text, pattern) for pattern in patterns)
