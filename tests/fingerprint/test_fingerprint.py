"""A fingerprint moves with all that may change a verdict, and stays where nothing did."""

from __future__ import annotations

import importlib.metadata
import sys
import unicodedata
from collections import namedtuple
from collections.abc import Iterator
from dataclasses import replace
from types import SimpleNamespace

import pytest

from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.fingerprint import fingerprint as fingerprints
from rewarden_verifiers.fingerprint.closure import closure
from rewarden_verifiers.fingerprint.fingerprint import fingerprint
from rewarden_verifiers.outcome import right
from rewarden_verifiers.registry import BUILT_IN, Registry
from rewarden_verifiers.view import View

REGISTRY = Registry()

READS_PYTHON_AS_ALL_DO = {
    "geometry": "reads nothing but names, calls, numbers and operators, which all versions read alike",
    "instructions": "reads nothing but literals, which all versions read alike",
}
"""Verifiers that import `ast` and need no version of Python."""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    """Versions are looked up once a process."""
    fingerprints._version.cache_clear()
    yield
    fingerprints._version.cache_clear()


def test_it_moves_with_what_it_is_given() -> None:
    spec = REGISTRY.get("choice")
    found = [
        fingerprint(spec),
        fingerprint(replace(spec, version="another")),
        fingerprint(replace(spec, name="other")),
        fingerprint(spec, {"a": 1}),
        fingerprint(spec, None, View(part="full")),
        fingerprint(spec, None, None, ["a child"]),
        fingerprint(spec, None, None, ["another"]),
        fingerprint(spec, resources="configured"),
        fingerprint(replace(spec, source_text="a recipe")),
    ]
    assert len(set(found)) == len(found)
    assert fingerprint(spec) == found[0]


def test_it_moves_with_a_library_that_the_code_imports(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: fingerprint(REGISTRY.get(name)) for name in ("math", "language")}
    version = importlib.metadata.version
    monkeypatch.setattr(importlib.metadata, "version", lambda name: "99" if name == "sympy" else version(name))
    fingerprints._version.cache_clear()
    assert fingerprint(REGISTRY.get("math")) != before["math"]
    assert fingerprint(REGISTRY.get("language")) == before["language"]


def test_it_moves_with_unicode_where_the_code_imports_it(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: fingerprint(REGISTRY.get(name)) for name in ("math", "label")}
    monkeypatch.setattr(
        fingerprints, "unicodedata", SimpleNamespace(unidata_version=f"{unicodedata.unidata_version}.1")
    )
    assert fingerprint(REGISTRY.get("label")) != before["label"]
    assert fingerprint(REGISTRY.get("math")) == before["math"]


def test_it_moves_with_python_only_where_a_verifier_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    before = {name: fingerprint(REGISTRY.get(name)) for name in BUILT_IN}
    version = namedtuple("version", "major minor")(3, sys.version_info.minor + 1)
    monkeypatch.setattr(
        fingerprints, "sys", SimpleNamespace(version_info=version, stdlib_module_names=sys.stdlib_module_names)
    )
    moved = {name for name in BUILT_IN if fingerprint(REGISTRY.get(name)) != before[name]}
    assert moved == {name for name in BUILT_IN if REGISTRY.get(name).per_python} == {"code", "tool_calls"}


@pytest.mark.parametrize("name", BUILT_IN)
def test_what_parses_python_says_so(name: str) -> None:
    spec = REGISTRY.get(name)
    parses = bool(closure(spec.module).libraries & {"ast", "tokenize", "symtable", "code", "codeop"})
    assert spec.per_python is (parses and name not in READS_PYTHON_AS_ALL_DO)


def made() -> VerifierSpec:
    """A verifier of a notebook."""

    @verifier(version="1")
    def noted(response: str):  # type: ignore[no-untyped-def]
        return right()

    spec = spec_of(noted)
    assert spec is not None
    return replace(spec, module="nowhere_to_be_found")


def test_code_without_a_file_is_never_taken_for_what_it_was() -> None:
    one, other = made(), made()
    assert fingerprint(one) == fingerprint(one)
    assert fingerprint(one) != fingerprint(other)
