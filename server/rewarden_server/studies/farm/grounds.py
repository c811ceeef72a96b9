"""Grounds: what candidates are tried on. A verifier with its parameters, and a sample whose reference is known to be
valid, because its cases hold a response that earns all of it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden.types import Sample, Use
from rewarden.wire.json import sample_from_json
from rewarden_verifiers.cases import Case, load_cases
from rewarden_verifiers.contract import VerifierSpec


@dataclass(slots=True)
class Ground:
    """right, wrong: responses that the cases hold to earn all and nothing. floor: the score above which a response is
    paid.
    """

    verifier: str
    title: str
    use: Use
    sample: Sample
    floor: float = 0.0
    right: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)


def grounds_of(spec: VerifierSpec) -> list[Ground]:
    """The grounds that a verifier's cases hold: single responses in text, of which no judge or model is asked."""
    found: dict[str, Ground] = {}
    cases = [case for case in load_cases(spec) if len(case.samples) == 1 and not case.script]
    for case in cases:
        value = case.samples[0]
        response = value.get("response") if isinstance(value, Mapping) else None
        if not isinstance(response, str) or case.kind not in ("full", "zero", "hack"):
            continue
        rest = {name: item for name, item in value.items() if name != "response"}
        key = json.dumps([rest, case.params], sort_keys=True)
        if key not in found:
            sample = sample_from_json(value)
            if not isinstance(sample, Sample):
                continue
            use = sample.use or Use(name=spec.name, params=case.params)
            found[key] = Ground(verifier=spec.name, title=case.title, use=use, sample=sample)
        ground = found[key]
        (ground.right if case.kind == "full" else ground.wrong).append(response)
    floor = max((_score(case) for case in cases if case.kind in ("zero", "hack")), default=0.0)
    kept = [ground for ground in found.values() if ground.right]
    for ground in kept:
        ground.floor = floor
    return kept


def _score(case: Case) -> float:
    """The score that a case which earns nothing may still have."""
    wanted: Any = case.expects[0].get("score", 0.0)
    if isinstance(wanted, Mapping):
        wanted = wanted.get("max", 0.0)
    return float(wanted) if isinstance(wanted, (int, float)) else 0.0
