"""The provenance of a pass: which test code compares nothing where a result is empty, and what is told of objects."""

from __future__ import annotations

import pytest

from rewarden_sandboxes.agent.provenance import Provenance


@pytest.mark.parametrize(
    ("code", "loops"),
    [
        ("assert f([]) == []", False),
        ("for given, wanted in [([], [])]:\n    assert f(given) == wanted", False),
        ("for n in range(9):\n    assert f(n) == []", False),
        ("assert [f(n) for n in range(3)] == [[], [], []]", False),
        ("for x in f(3):\n    assert x > 0", True),
        ("got = f(3)\nfor n, x in enumerate(got):\n    assert x == n", True),
        ("assert not [x for x in sorted(f(3)) if x < 0]", True),
        ("assert all(a == b for a, b in zip(f(3), [1, 4, 9]))", True),
        ("import numpy as np\nassert np.allclose(f(3), 0)", True),
    ],
)
def test_an_empty_result_matters_where_elements_are_compared(code: str, loops: bool) -> None:
    provenance = Provenance()
    provenance.read(code.encode())
    provenance.returned([], None, changed=False, made=False)
    assert provenance.told() == ({"vacuous_comparison": [1]} if loops else {})


def test_an_object_counts_where_it_is_asked() -> None:
    provenance = Provenance()
    provenance.returned(object(), 7, changed=False, made=True)
    provenance.returned(object(), 8, changed=False, made=False)
    assert provenance.told() == {}
    provenance.used(8)
    assert provenance.told() == {"object_result": [0]}
    provenance.used(7)
    assert provenance.told() == {"object_result": [0], "object_made": [0]}


def test_an_object_is_never_asked_for_its_size() -> None:
    class Asked:
        def __getattr__(self, name: str) -> None:
            raise AssertionError(name)

    provenance = Provenance()
    provenance.read(b"assert all(f(3))")
    provenance.returned(Asked(), 7, changed=False, made=False)
    assert provenance.told() == {}


def test_calls_that_changed_an_argument_are_told_by_number() -> None:
    provenance = Provenance()
    for changed in (False, True, True):
        provenance.returned(1, None, changed=changed, made=False)
    assert provenance.told() == {"argument_mutated": [2, 3]}
