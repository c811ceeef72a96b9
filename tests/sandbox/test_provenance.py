"""The provenance of a pass: which test code compares nothing if a result is empty, and what is told of objects."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from collections.abc import Iterable
from typing import Any

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


def paired(got: Any, *others: Any, before: Iterable[Any] = ()) -> dict[str, list[Any]]:
    """Returns what is told where test code pairs a result with other values."""
    provenance = Provenance()
    provenance.read(b"for got, wanted in zip(f(3), [1, 4, 9]):\n    assert got == wanted")
    for result in (*before, got):
        provenance.returned(result, None, changed=False, made=False)
    assert list(provenance.zip(got, *others)) == list(zip(got, *others, strict=False))
    return provenance.told()


@pytest.mark.parametrize("got", [[1], (1,), "1", {1: 2}])
def test_expected_values_that_zip_leaves_out_are_compared_with_nothing(got: Any) -> None:
    assert paired(got, [1, 4, 9]) == {"vacuous_comparison": [1]}
    assert paired(got, [1, 4, 9], before=[[2], [3]]) == {"vacuous_comparison": [3]}


def test_expected_values_that_are_all_compared_are_no_matter() -> None:
    got = [1, 4, 9, 16]
    assert paired(got, [1, 4, 9]) == {}
    assert paired(got, [1, 4, 9, 16]) == {}
    assert paired(got, got[1:]) == {}
    assert paired(got, range(100)) == {}
    assert paired(got, [1, 2, 3, 4, 5], [1, 2, 3, 4]) == {}
    other = [0] * 9
    assert paired(got, other, before=[other]) == {}  # two results, and nothing that was expected
    assert paired([1], [1, 2], before=[[1]] * 10) == {"vacuous_comparison": [11]}


def test_a_text_that_happens_to_be_the_same_object_is_not_the_candidates() -> None:
    provenance = Provenance()
    provenance.read(b"all(a == b for a, b in zip('a', 'abc'))")
    for result in ("a", 3):
        provenance.returned(result, None, changed=False, made=False)
    list(provenance.zip("a", "abc"))
    assert provenance.told() == {}


def test_the_watched_zip_is_the_built_in_one_in_all_else() -> None:
    provenance = Provenance()
    assert provenance.zip is zip
    provenance.read(b"zip")
    made = provenance.zip([1], [2])
    assert type(made) is builtins.zip
    assert isinstance(made, provenance.zip)
    assert not isinstance([], provenance.zip)
    assert provenance.zip.__name__ == "zip"
    with pytest.raises(TypeError):
        provenance.zip(3)


COMPARES = """
import json, sys
import numpy as np
from numpy.testing import assert_allclose
from rewarden_sandboxes.agent.provenance import Provenance

provenance = Provenance()
provenance.read(sys.argv[1].encode())
got, wanted = eval(sys.argv[2])
provenance.returned(got, None, changed=False, made=False)
from numpy.testing import assert_allclose
assert eval(sys.argv[1])
print(json.dumps(provenance.told()))
"""


@pytest.mark.parametrize(
    ("compare", "values", "stretched"),
    [
        ("np.allclose(got, wanted)", "1.0, [1, 1, 1]", True),
        ("np.allclose(wanted, got)", "1.0, [1, 1, 1]", True),
        ("np.allclose(got, wanted)", "[1.0], [1, 1, 1]", True),
        ("np.allclose(got, wanted)", "np.array([1.0]), np.ones((2, 3))", True),
        ("np.isclose(got, wanted).all()", "np.ones(3), np.ones((2, 3))", True),
        ("np.allclose(got, wanted)", "[1.0, 1.0, 1.0], [1, 1, 1]", False),
        ("np.allclose(got, wanted)", "np.ones((2, 3)), 1.0", False),
        ("np.allclose(got, wanted)", "[1.0], 1.0", False),
        ("np.allclose(got, wanted)", "1.0, [1.0]", False),
        ("assert_allclose(got, wanted) or np", "1.0, [1, 1, 1]", True),
        ("assert_allclose(got, wanted) or np", "[1.0, 1.0, 1.0], [1, 1, 1]", False),
        ("assert_allclose(got, wanted) or np", "np.ones((2, 3)), 1.0", False),
    ],
)
def test_one_number_that_numpy_stretches_over_all_that_is_expected(compare: str, values: str, stretched: bool) -> None:
    pytest.importorskip("numpy")
    # In a process of its own: from here on numpy's functions are watched.
    ran = subprocess.run([sys.executable, "-c", COMPARES, compare, values], capture_output=True, text=True, check=True)
    assert json.loads(ran.stdout) == ({"vacuous_comparison": [1]} if stretched else {})
