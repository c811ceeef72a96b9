"""A route, and the list of them that a sample is held against."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from fnmatch import fnmatchcase
from functools import cached_property, lru_cache
from operator import attrgetter
from typing import Any

from rewarden.routing.datasets import DATASETS
from rewarden.routing.forms import FORMS, read_reference
from rewarden.types import BadSample, Sample, Use
from rewarden.wire.json import use_to_json

POLICYS = frozenset({"response", "steps", "signals", "finish_reason", "token_count"})
"""Fields that the policy has a hand in. No route looks at them: it would choose the judge that is easiest to please."""

MATCHED = ("data_source", "id", "group", "prompt", "reference", "metadata")
"""Fields that routes may look at; below `reference` and `metadata` by dotted path."""

_NOTHING: Mapping[str, Any] = {}


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
        """Returns whether a sample is this route's."""
        return all(_fits(_value(sample, path), patterns) for path, patterns in self.match.items())

    def describe(self) -> str:
        """Returns one line that says what the route matches and which use judges it."""
        match = "; ".join(
            ", ".join(patterns) if path == "data_source" else f"{path}: {', '.join(patterns)}"
            for path, patterns in self.match.items()
        )
        return f"{match} → {self.label}" if match else self.label


@dataclass(frozen=True)
class Routing:
    """Routes, tried in order. Picklable. `source`: where they come from, for messages. `flag`: the command's option
    that adds one, where there is such an option."""

    routes: tuple[Route, ...] = ()
    source: str = "the routing"
    flag: str | None = None

    @classmethod
    def by_source(cls, uses: Iterable[tuple[str, Use] | tuple[str, Use, str]], flag: str = "--use") -> Routing:
        """Patterns of data sources to uses, with their labels. A `*` takes the rest, wherever it stands."""
        routes = [
            Route(
                use=use,
                match={} if pattern == "*" else {"data_source": (pattern,)},
                label=label[0] if label else use.name or "a recipe",
            )
            for pattern, use, *label in uses
        ]
        return cls(tuple(sorted(routes, key=lambda route: not route.match)), flag, flag)

    @property
    def single(self) -> Use | None:
        """The use of all samples, where there is but one and nothing to look at."""
        if len(self.routes) == 1 and not self.routes[0].match and self.routes[0].reference_form is None:
            return self.routes[0].use
        return None

    @cached_property
    def metadata(self) -> tuple[str, ...]:
        """The keys of `metadata` that the routes, their reference forms and their data sets look at."""
        paths = (path for route in self.routes for path in route.match if path.startswith("metadata."))
        read = (name for route in self.routes if route.reference_form for name in FORMS[route.reference_form].metadata)
        rows = (name for route in self.routes for name in DATASETS.get(str(route.use.params.get("dataset")), ()))
        return tuple(dict.fromkeys((*(path.split(".")[1] for path in paths), *read, *rows)))

    def find(self, sample: Sample) -> Route | None:
        """The first route that matches."""
        for route, plain in self._of_source(sample.data_source):
            if plain or route.matches(sample):
                return route
        return None

    def apply(self, sample: Sample, shared: Mapping[str, Any] = _NOTHING) -> Sample | BadSample:
        """The sample with its use, and its reference as that use reads it. A sample that names a use keeps it.

        `shared`: where the references stand that samples name by `reference_key`. Where nothing matches, or the
        reference is not in the route's form, a `BadSample`: a sample that nobody is asked to judge must not look
        judged.
        """
        if sample.use is not None:
            return sample
        if not isinstance(sample.data_source, Hashable):
            message = f"data_source: must be a string, not {type(sample.data_source).__name__}"
            return BadSample(message=message, path="data_source", id=sample.id)
        route = self.find(sample)
        if route is None:
            return BadSample(message=self._unmatched(sample.data_source), path="use", id=sample.id)
        if route.reference_form is None:
            return _judged(sample, route.use, sample.reference)
        if sample.reference_key is not None and sample.reference_key in shared:
            sample = replace(sample, reference=shared[sample.reference_key], reference_key=None)
        try:
            reference = read_reference(route.reference_form, sample)
        except ValueError as error:
            return BadSample(message=f"reference: {error}", path="reference", id=sample.id)
        return _judged(sample, route.use, reference)

    def identity(self) -> list[Any]:
        """Returns the parts of the routing that determine verdicts, ready for JSON."""
        return [
            [{path: list(patterns) for path, patterns in route.match.items()}, use_to_json(route.use)]
            + ([] if route.reference_form is None else [route.reference_form])
            for route in self.routes
        ]

    def __getstate__(self) -> dict[str, Any]:
        return {item.name: getattr(self, item.name) for item in fields(self)}  # what is cached is not part of it

    @cached_property
    def _of_source(self) -> Callable[[str | None], tuple[tuple[Route, bool], ...]]:
        """A data source to the routes that may be its samples', each with whether nothing else need be looked at.

        Patterns of data sources are held against each name once, and not against each sample.
        """

        @lru_cache(maxsize=4096)
        def of_source(source: str | None) -> tuple[tuple[Route, bool], ...]:
            found = []
            for route in self.routes:
                if _fits(source, route.match.get("data_source", ("*",))):
                    plain = not route.match.keys() - {"data_source"}
                    found.append((route, plain))
                    if plain:
                        break  # none behind it is ever reached
            return tuple(found)

        return of_source

    def _unmatched(self, source: str | None) -> str:
        if self.flag is not None:
            return f"no {self.flag} matches the data source {source!r}; add {self.flag} '{source}=NAME'"
        return f"no route of {self.source} matches the data source {source!r}; add a [[route]] for it"


_KEPT = tuple(item.name for item in fields(Sample) if item.name not in ("use", "reference"))
_kept_of = attrgetter(*_KEPT)
_setters = tuple(vars(Sample)[name].__set__ for name in _KEPT)
_set_use, _set_reference = vars(Sample)["use"].__set__, vars(Sample)["reference"].__set__


def _judged(sample: Sample, use: Use, reference: Any) -> Sample:
    """`replace(sample, use=use, reference=reference)` in a third of its time: it is done for every sample."""
    made = object.__new__(Sample)
    for put, value in zip(_setters, _kept_of(sample)):  # noqa: B905  of one length, and hot
        put(made, value)
    _set_use(made, use)
    _set_reference(made, reference)
    return made


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
    if isinstance(value, (list, tuple)):  # one of several tags
        return any(_fits(item, patterns) for item in value) or "*" in patterns
    if isinstance(value, bool):
        value = "true" if value else "false"
    text = "" if value is None else str(value)
    return any(fnmatchcase(text, pattern) for pattern in patterns)
