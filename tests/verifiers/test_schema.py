"""The types of parameters and references: their schemas, and the cost of reading a value."""

from __future__ import annotations

import ast
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NoReturn

import pytest
from pydantic import TypeAdapter

from rewarden.errors import InvalidReference
from rewarden.types import Outcome
from rewarden_verifiers import schema
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import right
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import params_schema, parse_params, parse_reference, reference_schema


@dataclass(frozen=True, kw_only=True)
class Inner:
    """A part."""

    depth: int = 1
    """In steps."""


@dataclass(frozen=True, kw_only=True)
class Params:
    """Options.

    words: said in the docstring of the class.
    """

    words: str = ""
    size: int = 3
    """In bytes."""
    inner: Inner | None = None


@verifier(version="1")
def described(response: str, reference: Inner, params: Params) -> Outcome:
    """A verifier whose fields are described."""
    return right()


def fresh() -> VerifierSpec:
    """The verifier with parameters of which nothing is remembered."""

    @dataclass(frozen=True, kw_only=True)
    class Own:
        """Options of a test's own."""

        size: int = 3
        """In bytes."""

    return replace(found(), params_type=Own)


def found() -> VerifierSpec:
    spec = spec_of(described)
    assert spec is not None
    return spec


def read(spec: VerifierSpec) -> None:
    assert parse_params(spec, {"size": "4", "inner": {"depth": 2}}).size == 4
    assert parse_reference(spec, {"depth": 2}) == Inner(depth=2)


def show(spec: VerifierSpec) -> None:
    properties = params_schema(spec)["properties"]
    assert properties["size"]["description"] == "In bytes."
    assert properties["words"]["description"] == "said in the docstring of the class."
    assert params_schema(spec)["$defs"]["Inner"]["properties"]["depth"]["description"] == "In steps."
    assert reference_schema(spec)["properties"]["depth"]["description"] == "In steps."


@pytest.mark.parametrize("order", [(show, read), (read, show), (read, show, read)])
def test_a_schema_has_the_docstrings_of_fields_whatever_was_read_before(order: list[Callable[[Any], None]]) -> None:
    for step in order:
        step(found())


def test_to_read_parameters_no_source_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    # Cost: Pydantic looks for the docstrings of fields in the whole module.
    spec = fresh()

    def refuse(*arguments: object, **more: object) -> NoReturn:
        raise AssertionError("a source was parsed")

    with monkeypatch.context() as patch:
        patch.setattr(ast, "parse", refuse)
        assert parse_params(spec, {"size": 4}).size == 4
    assert params_schema(spec)["properties"]["size"]["description"] == "In bytes."


def test_a_thread_that_reads_a_type_while_another_shows_it_does_not_take_its_docstrings(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    spec = fresh()
    intruded = threading.Event()

    def intrude() -> None:
        parse_params(spec, {"size": 4})
        intruded.set()

    intruder = threading.Thread(target=intrude)

    def interrupted(annotation: Any) -> Any:
        if threading.current_thread() is not intruder and not intruder.ident:
            intruder.start()
            intruded.wait(0.2)  # it comes no further than it may
        return TypeAdapter(annotation)

    monkeypatch.setattr(schema, "TypeAdapter", interrupted)
    shown = params_schema(spec)
    intruder.join()
    assert shown["properties"]["size"]["description"] == "In bytes."


@pytest.mark.parametrize("name", Registry().recipe_names())
def test_a_recipe_that_is_given_nothing_has_the_parameters_that_reading_gives(name: str) -> None:
    spec = Registry().get(name)
    read_anew = parse_params(replace(spec, source_text=None), {})
    assert repr(parse_params(spec, {})) == repr(read_anew)


# --- references of several forms -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "path", "told"),
    [
        ({"answer": "1"}, "reference.answer", "reference.answer: there is no such field; known: any_of"),
        ({"any_off": ["1"]}, "reference.any_off", "there is no such field; did you mean 'any_of'?"),
        ({"any_of": "1"}, "reference.any_of", "reference.any_of must be a list, not a string"),
        ({"any_of": [1, {}]}, "reference.any_of[1]", "reference.any_of[1] must be a string"),
        (True, "reference", "reference must not be true or false"),
        ({"any_of": ["2", False]}, "reference.any_of[1]", "reference.any_of[1] must not be true or false"),
    ],
)
def test_a_reference_of_none_of_its_forms_is_refused_with_the_field(reference: Any, path: str, told: str) -> None:
    """Attack: true is 1 to Python, so "1" would be the answer to every row whose reference is true."""
    with pytest.raises(InvalidReference) as caught:
        parse_reference(Registry().get("math"), reference)
    assert caught.value.details["path"] == path
    assert told in str(caught.value)


@pytest.mark.parametrize("reference", ["true", 1, 1.0, ["1", 2], {"any_of": ["1", 2.5]}])
def test_a_reference_of_one_of_its_forms_is_kept(reference: Any) -> None:
    assert parse_reference(Registry().get("math"), reference) == reference
