"""The descriptions of verifiers and recipes: the same JSON for `/v1/verifiers`, gRPC's `ListVerifiers` and the pages of
`/docs`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from rewarden.errors import InvalidParams, NotFound, SampleError, UnknownVerifier
from rewarden.types import Use
from rewarden_server.engine.engine import Engine
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.fingerprint.fingerprint import libraries_of
from rewarden_verifiers.schema import params_schema, parse_params, reference_schema

KINDS = ("verifier", "recipe")


def names(engine: Engine, kind: str) -> list[str]:
    """Returns the names of all verifiers, or of all recipes."""
    return engine.registry.names() if kind == "verifier" else engine.registry.recipe_names()


def kind_of(engine: Engine, name: str) -> str:
    """`verifier` or `recipe`; an unknown name counts as a verifier, so that the error is about verifiers."""
    return "recipe" if name in engine.registry.recipe_names() else "verifier"


def describe_all(engine: Engine, kind: str) -> list[dict[str, Any]]:
    """Returns a short description of each. One that cannot be loaded is listed with the problem and the fix."""
    return [_short(engine, name, kind) for name in names(engine, kind)]


def describe(engine: Engine, name: str, kind: str) -> dict[str, Any]:
    """Returns everything about one, with schemas and cases. Raises NotFound, suggesting similar names."""
    if name not in names(engine, kind):
        try:
            engine.registry.get(name)
        except UnknownVerifier as error:
            raise NotFound(error.message) from None
        except SampleError:
            pass
        other = KINDS[1 - KINDS.index(kind)]
        raise NotFound(f"{name!r} is a {other}, not a {kind}: see /v1/{other}s/{name}")
    short = _short(engine, name, kind)
    if not short["available"]:
        return short
    spec = engine.registry.get(name)
    return {
        **short,
        "doc": spec.doc,
        "reads": list(spec.reads),
        "libraries": sorted(_libraries(engine, spec)),
        "params_schema": params_schema(spec),
        "reference_schema": reference_schema(spec),
        "reference_required": spec.reference_required,
        "source": spec.source_text,
        "cases": _cases(spec),
    }


def _short(engine: Engine, name: str, kind: str) -> dict[str, Any]:
    base: dict[str, Any] = {"name": name, "kind": kind, "plugin": engine.registry.plugin_of(name)}
    try:
        spec = engine.registry.get(name)
        fingerprint = _fingerprint(engine, spec)
    except SampleError as error:
        return {**base, "available": False, "problem": {"reason": error.reason, "message": error.message}}
    return {
        **base,
        "available": True,
        "version": spec.version,
        "summary": spec.summary,
        "graded": spec.graded,
        "group": spec.group,
        "determinism": spec.determinism,
        "score_range": list(spec.score_range),
        "requires": list(spec.requires),
        "has_equivalence": spec.equivalence is not None,
        "fingerprint": fingerprint,
    }


def _libraries(engine: Engine, spec: VerifierSpec) -> set[str]:
    """Returns the distributions that a verifier imports, and those of the verifiers that it calls with default
    parameters."""
    found = set(libraries_of(spec))
    if spec.children is not None:
        with suppress(SampleError):
            for child in spec.children(parse_params(spec, {})):
                found |= _libraries(engine, engine.registry.resolve(child))
    return found


def _fingerprint(engine: Engine, spec: VerifierSpec) -> str | None:
    """Returns the fingerprint with default parameters; None if a parameter has no default."""
    try:
        return engine.planner.bind(Use(name=spec.name)).ref.fingerprint
    except InvalidParams:
        return None


def _cases(spec: VerifierSpec) -> list[Mapping[str, Any]]:
    return [
        {
            key: value
            for key, value in dataclasses.asdict(case).items()
            if key != "verifier" and not (key == "script" and not value)
        }
        for case in load_cases(spec)
    ]
