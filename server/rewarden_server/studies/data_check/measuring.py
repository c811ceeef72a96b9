"""The resources that a solution took, and how near they are to its limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rewarden.types import Sample, Verdict
from rewarden_sandboxes.languages import Language, Registry
from rewarden_sandboxes.languages import UnknownLanguage as _Unknown
from rewarden_sandboxes.settings import ROOM_LIMITS
from rewarden_server.studies.data_check.checked import Measured
from rewarden_server.studies.data_check.kinds import tests_of

_MIB = 1024**2


def language_of(verdict: Verdict, registry: Registry) -> Language | None:
    """Returns the language that a verdict's program is in; None if it ran none, or one of an image of the user's."""
    try:
        return registry.get(str(verdict.evidence.get("language")))
    except _Unknown:
        return None


def measured(verdict: Verdict, sample: Sample, language: Language | None) -> Measured:
    """Returns the resources of a program's tests. Limits that the row does not set are those of the language."""
    reports = [one for one in verdict.evidence.get("tests") or () if isinstance(one, Mapping) and "cpu_time" in one]
    if not reports:
        return Measured(seconds=verdict.run_s)
    by_id = dict(_limits(sample))
    cpu, memory = [], []
    for one in reports:
        own = by_id.get(str(one.get("id")), {})
        cpu.append(one["cpu_time"] / _limit("cpu_s", own, sample, language))
        if one.get("peak_memory") is not None:
            memory.append(one["peak_memory"] / _MIB / _limit("memory_mb", own, sample, language))
    return Measured(
        cpu_s=max(one["cpu_time"] for one in reports),
        seconds=verdict.run_s,
        cpu_share=max(cpu),
        memory_share=max(memory, default=None),
    )


def _limits(sample: Sample) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for place, test in enumerate(tests_of(sample)):
        if isinstance(test, Mapping) and isinstance(test.get("limits"), Mapping):
            yield str(test.get("id", place)), test["limits"]


def _limit(name: str, own: Mapping[str, Any], sample: Sample, language: Language | None) -> float:
    reference = sample.reference if isinstance(sample.reference, Mapping) else {}
    general = reference.get("limits")
    for given in (own, general if isinstance(general, Mapping) else {}):
        if isinstance(given.get(name), (int, float)) and given[name] > 0:
            return float(given[name])
    usual = None if language is None else getattr(language.limits, name)
    return float(usual or getattr(ROOM_LIMITS, name))
