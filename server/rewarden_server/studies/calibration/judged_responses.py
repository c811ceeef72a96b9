"""From responses to verdicts, and from verdicts to what calibration reads in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from rewarden.client import AsyncClient
from rewarden.errors import RewardenError, SampleError
from rewarden.types import Sample, Use, Verdict
from rewarden_server.studies.calibration.agreement import Judged
from rewarden_server.studies.calibration.attacks import text_of
from rewarden_server.studies.rescore.progress import Watcher
from rewarden_verifiers.group.statistics import passes
from rewarden_verifiers.judges.resources import JUDGING
from rewarden_verifiers.registry import Registry


class CalibrationError(RewardenError):
    """A calibration that is refused before any request; the message names the fix."""

    code = "calibration"


@dataclass(slots=True)
class Spent:
    """The judges' questions and tokens, and dollars if they have a price. cached: replies from the cache, which cost
    nothing. estimated: some token counts are upper bounds."""

    calls: int = 0
    cached: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False

    def add(self, verdicts: Sequence[Verdict]) -> None:
        """Add the usage in the verdicts' evidence; a recipe's evidence contains that of its parts."""
        for verdict in verdicts:
            for usage in _usages(verdict.evidence):
                self.calls += int(usage.get("calls", 0))
                self.cached += int(usage.get("cached", 0))
                self.prompt_tokens += int(usage.get("prompt_tokens", 0))
                self.completion_tokens += int(usage.get("completion_tokens", 0))
                self.estimated |= bool(usage.get("estimated"))
                if usage.get("cost_usd") is not None:
                    self.cost_usd = (self.cost_usd or 0.0) + float(usage["cost_usd"])


def _usages(value: Any) -> Iterator[Mapping[str, Any]]:
    """The judges' `usage` tables in some evidence, at any depth."""
    if isinstance(value, Mapping):
        found = value.get("usage")
        if isinstance(found, Mapping) and "calls" in found:
            yield found
            return
        for item in value.values():
            yield from _usages(item)
    elif isinstance(value, (list, tuple)):
        for item in value:
            yield from _usages(item)


class Asker:
    """Requests verdicts of one use, counts the usage, and reports the progress.

    most: the most verdicts that will be requested.
    """

    def __init__(self, client: AsyncClient, use: Use, watcher: Watcher, most: int) -> None:
        self.use = use
        self.spent = Spent()
        self._client = client
        self._watcher = watcher
        self._most = most
        self._done = 0
        watcher.advance(0, 0.0)

    @property
    def judges(self) -> bool:
        """Returns whether it is a verifier that asks judges, whose options are known, and not a recipe."""
        return self.use.name in JUDGING

    async def ask(self, samples: Sequence[Sample], **params: Any) -> list[Verdict]:
        """The verdicts, in order. `params` override the use's own. Raises RequestError."""
        if not samples:
            return []
        use = replace(self.use, params={**self.use.params, **params}) if params else self.use
        sizes = Counter(sample.group for sample in samples)
        sized = [
            replace(sample, group_size=sizes[sample.group])
            if sample.group is not None and sample.group_size is None
            else sample
            for sample in samples
        ]
        found: dict[int, Verdict] = {}
        async with aclosing(self._client.stream(sized, use)) as items:
            async for item in items:
                if isinstance(item, Verdict):
                    found[item.index] = item
                    self._done += 1
                    self._watcher.advance(self._done, min(1.0, self._done / self._most))
        verdicts = [found[place] for place in range(len(samples))]
        self.spent.add(verdicts)
        return verdicts


def is_grouped(use: Use) -> bool:
    """Returns whether a use judges the members of a group against each other. False for a verifier that only the server
    has."""
    try:
        return use.name is not None and Registry().get(use.name).group
    except SampleError:
        return False


_COMPARING = ("pairwise", "rm_pairwise")
"""The verifiers whose reference is the response's rival."""


def compares(use: Use) -> bool:
    """Returns whether a use compares a response with a rival. False for a recipe, where this is not known."""
    return use.name in _COMPARING


def check_pairs(use: Use) -> str | None:
    """A note for the user before a use judges pairs, or None. Raises CalibrationError for a verifier that judges one
    response at a time: it would take the rival for the right answer."""
    if compares(use) or use.params.get("baseline") == "reference":
        return None
    registry = Registry()
    if use.name is None or use.name not in registry or use.name in registry.recipe_names():
        return "the rows are pairs: the verifier must compare the response with its reference, which is the rival"
    raise CalibrationError(
        f"the rows are pairs, and {use.name} judges one response at a time. Compare them with --use pairwise; with a "
        'reward model, --use rm_pairwise --params \'{"by": "scalar"}\''
    )


def score_of(verdict: Verdict) -> float | None:
    """The score, scaled from its range to 0 to 1."""
    if verdict.score is None:
        return None
    low, high = verdict.range
    return min(1.0, max(0.0, (verdict.score - low) / (high - low)))


def judged(sample: Sample, right: bool, verdict: Verdict) -> Judged | None:
    """A response with its label and verdict; None if it is unscored."""
    score = score_of(verdict)
    if score is None:
        return None
    return Judged(right, passes(verdict), score, len(text_of(sample.response)))


def with_params(use: Use, given: Mapping[str, Any]) -> Use:
    """The use with more parameters. Raises CalibrationError for an inline recipe, which has its own."""
    if not given:
        return use
    if use.name is None:
        raise CalibrationError("--judge and --samples do not apply to a recipe; set them in its file")
    return replace(use, params={**use.params, **given})
