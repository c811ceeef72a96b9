"""The objects that `quick_init` makes are those that the dataclass makes by itself."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import FrozenInstanceError, dataclass, field, replace

import pytest

from rewarden.quick_init import quick_init


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    name: str
    score: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Slow(Base):
    place: int
    parts: dict[str, int] = field(default_factory=dict)


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Quick(Base):
    place: int
    parts: dict[str, int] = field(default_factory=dict)


def test_every_field_holds_its_argument_or_its_default() -> None:
    made = Quick(name="a", place=3)
    assert (made.name, made.score, made.place, made.parts) == ("a", None, 3, {})
    assert made.parts is not Quick(name="a", place=3).parts
    assert Quick(name="a", score=1.0, place=3, parts={"b": 1}).parts == {"b": 1}
    assert repr(made) == repr(Slow(name="a", place=3)).replace("Slow", "Quick")
    assert inspect.signature(Quick).parameters.keys() == inspect.signature(Slow).parameters.keys()


def test_objects_are_compared_copied_pickled_and_changed_as_before() -> None:
    made = Quick(name="a", place=3)
    assert type(made) is Quick
    assert made == Quick(name="a", place=3) != Quick(name="a", place=4)
    assert copy.deepcopy(made) == made == pickle.loads(pickle.dumps(made))  # noqa: S301 - our own
    assert replace(made, place=4) == Quick(name="a", place=4)


def test_objects_stay_frozen() -> None:
    made = Quick(name="a", place=3)
    with pytest.raises(FrozenInstanceError):
        made.place = 4  # type: ignore[misc]


@pytest.mark.parametrize("arguments", [{}, {"name": "a"}, {"name": "a", "place": 1, "plce": 2}])
def test_wrong_arguments_are_refused_in_the_same_words(arguments: dict[str, object]) -> None:
    with pytest.raises(TypeError) as slow:
        Slow(**arguments)  # type: ignore[arg-type]
    with pytest.raises(TypeError) as quick:
        Quick(**arguments)  # type: ignore[arg-type]
    assert str(quick.value) == str(slow.value).replace("Slow", "Quick")
