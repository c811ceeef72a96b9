"""Preparing a reference: the arguments that a verifier's `prepare` gets, and the cost of finding their names."""

from __future__ import annotations

import inspect
from typing import Any, NoReturn

import pytest

from rewarden.types import Outcome
from rewarden_verifiers.contract import Unwatched, Watch, call_prepare, spec_of, verifier
from rewarden_verifiers.outcome import right


def prepare(reference: str, params: None, watch: Watch) -> tuple[str, Watch]:
    return reference, watch


@verifier(version="1", prepare=prepare)
def prepared_once(response: str, prepared: Any) -> Outcome:
    """Reads what was prepared."""
    return right()


def test_it_gets_what_it_names_and_its_signature_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    spec, watch = spec_of(prepared_once), Unwatched()
    assert spec is not None
    assert call_prepare(spec, "a", None, "resources", watch) == ("a", watch)

    def refuse(*arguments: object, **more: object) -> NoReturn:
        raise AssertionError("the signature was read again")

    monkeypatch.setattr(inspect, "signature", refuse)
    assert call_prepare(spec, "b", None, "resources", watch) == ("b", watch)
