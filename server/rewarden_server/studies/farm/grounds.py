"""Grounds: what candidates are tried on. A verifier with its parameters, and a sample whose reference is known to be
valid, because its cases hold a response that earns all of it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.types import Sample, Use
from rewarden.wire.json import sample_from_json
from rewarden_server.studies.farm.programs import LIMITS, languages
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.contract import VerifierSpec

_PYTEST_CPU_S = 3.0
"""pytest alone takes half a second of CPU where it is crowded."""

_LITTLE: Mapping[str, Mapping[str, Any]] = {"kernel": {"cpu_s": 5.0}}
"""Parameters of verifiers that give programs without end little time. NumPy alone takes a third of a second."""

_DEFINED = re.compile(r"^def (\w+)", re.MULTILINE)


@dataclass(slots=True)
class Ground:
    """right, wrong: responses that the cases hold to earn all and nothing. beside: of a verifier of groups, the samples
    that a response is judged with. floor: the score above which a response is paid. language: of the programs that are
    asked for, None if none are. names: what their tests call.
    """

    verifier: str
    title: str
    use: Use
    sample: Sample
    beside: tuple[Sample, ...] = ()
    floor: float = 0.0
    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    language: str | None = None
    names: tuple[str, ...] = ()


def grounds_of(spec: VerifierSpec) -> list[Ground]:
    """The grounds that a verifier's or a recipe's cases hold: responses in text, of which no judge or model is asked;
    single ones, or of a verifier of groups the first of each group.
    """
    found: dict[str, Ground] = {}
    cases = [case for case in load_cases(spec) if (len(case.samples) > 1) == spec.group and not case.script]
    for case in cases:
        value, *others = case.samples
        response = value.get("response") if isinstance(value, Mapping) else None
        if not isinstance(response, str) or case.kind not in ("full", "zero", "hack"):
            continue
        rest = {name: item for name, item in value.items() if name != "response"}
        key = json.dumps([rest, others, case.params], sort_keys=True)
        if key not in found:
            sample, *beside = map(sample_from_json, case.samples)
            whole = [one for one in beside if isinstance(one, Sample) and isinstance(one.response, str)]
            if not isinstance(sample, Sample) or len(whole) < len(beside):
                continue
            use = sample.use or Use(name=spec.name, params={**_LITTLE.get(spec.name, {}), **case.params})
            found[key] = Ground(spec.name, case.title, use, sample, tuple(whole))
        ground = found[key]
        (ground.right if case.kind == "full" else ground.wrong).append(response)
    floor = max((_score(case) for case in cases if case.kind in ("zero", "hack")), default=0.0)
    kept = [ground for ground in found.values() if ground.right]
    for ground in kept:
        ground.floor = floor
        _ask_for_programs(ground)
    return kept


def _ask_for_programs(ground: Ground) -> None:
    """Note what programs the reference of a ground asks for, if it does, and give them little time."""
    reference = ground.sample.reference
    if not isinstance(reference, Mapping) or reference.get("language") not in languages() or "tests" not in reference:
        return
    ground.language = reference["language"]
    asked = [reference.get("entry_point"), *(test.get("target") for test in reference["tests"])]
    asked += (
        _DEFINED.findall(ground.right[0])
        if any(test["type"] in ("assert", "file") for test in reference["tests"])
        else []
    )
    ground.names = tuple(dict.fromkeys(name for name in asked if name))
    limits = dict(LIMITS)
    if any(test["type"] == "file" for test in reference["tests"]):
        limits["cpu_s"] = _PYTEST_CPU_S
    ground.sample = replace(ground.sample, reference={**reference, "limits": limits})


def _score(case: Case) -> float:
    """The score that a case which earns nothing may still have; of a group, the one of its responses that has least."""
    wanted: list[Any] = [expected.get("score", 0.0) for expected in case.expects]
    most = [one.get("max", 0.0) if isinstance(one, Mapping) else one for one in wanted]
    return min(float(one) if isinstance(one, (int, float)) else 0.0 for one in most)
