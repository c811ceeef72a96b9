"""Expressions: errors before anything runs, the components that each needs, and CEL's values."""

from __future__ import annotations

import contextlib
import math
from typing import Any

import cel
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from rewarden_verifiers.recipes.expression import EvaluationError, Expression, as_cel
from rewarden_verifiers.recipes.interpreter import Program
from rewarden_verifiers.recipes.syntax import MAX_DEPTH, ExpressionError, parse

COMPONENT = {
    "score": "double",
    "passed": "bool",
    "status": "string",
    "reason": "any",
    "flags": "list",
    "evidence": "any",
}
SCOPE: dict[str, Any] = {
    "a": COMPONENT,
    "b": COMPONENT,
    "c": COMPONENT,
    "sample": {"finish_reason": "string", "token_count": "double", "metadata": "any", "signals": "any"},
    "progress": {"step": "double", "fraction": "double"},
    "params": {"weight": "double", "name": "string"},
}


def needs(text: str, **known: Any) -> list[str]:
    return [str(read) for read in Expression(text, SCOPE).lacks(known)]


# --- lazily ------------------------------------------------------------------------------------------------------


def test_a_branch_is_not_needed_before_its_condition_is_decided() -> None:
    text = "a.passed ? b.score : c.score"
    assert needs(text) == ["a.passed"]
    assert needs(text, a={"passed": True}) == ["b.score"]
    assert needs(text, a={"passed": False}) == ["c.score"]
    assert needs(text, a={"passed": False}, c={"score": 0.5}) == []


def test_the_left_side_of_and_absorbs_the_right() -> None:
    assert needs("a.passed && b.passed", a={"passed": False}) == []
    assert needs("a.passed && b.passed", a={"passed": True}) == ["b.passed"]


def test_the_left_side_of_or_absorbs_the_right() -> None:
    assert needs("a.passed || b.passed", a={"passed": True}) == []
    assert needs("a.passed || b.passed", a={"passed": False}) == ["b.passed"]


def test_the_left_side_is_needed_even_when_the_right_already_decides() -> None:
    """CEL alone would absorb either way; the order of the text decides here, so that runs do not depend on luck."""
    assert needs("a.passed && b.passed", b={"passed": False}) == ["a.passed"]


def test_what_stands_side_by_side_is_needed_at_once() -> None:
    assert needs("0.5 * a.score + 0.3 * b.score + (c.passed ? 0.2 : 0.0)") == ["a.score", "b.score", "c.passed"]


def test_a_condition_within_an_operand_keeps_its_branches_waiting() -> None:
    text = "a.score + (b.passed ? c.score : 0.0)"
    assert needs(text) == ["a.score", "b.passed"]
    assert needs(text, a={"score": 1.0}, b={"passed": False}) == []


def test_has_asks_for_nothing_but_a_field_below_it_does() -> None:
    assert needs("has(sample.token_count) ? sample.token_count : 0.0", sample={}) == []
    assert needs("has(sample.metadata.level)", sample={"metadata": {}}) == []
    assert needs("has(a.evidence.rule)") == ["a.evidence"]


def test_a_key_of_the_metadata_is_an_input_by_itself() -> None:
    assert needs("sample.metadata.level * 2.0", sample={"metadata": {}}) == ["sample.metadata.level"]
    assert needs('sample.metadata["level"] * 2.0', sample={"metadata": {}}) == ["sample.metadata.level"]


# --- refused on load ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "offset", "fix"),
    [
        ("1/2", 2, "1.0/2.0"),
        ("a.passed ? 1.0 : (1 / 2)", 22, "1.0/2.0"),
        ("size(a.flags) / 2", 16, "1.0/2.0"),
        ("1 - a.score", 4, "2.0 for 2"),
        ("sample.metadata.level * 2", 24, "2.0 for 2"),
        ("min(a.score, 1)", 13, "2.0 for 2"),
        ("(a.passed ? 1 : 0.5) * a.score", 23, "2.0 for 2"),
        ("a.score % 2.0", 10, "whole numbers only"),
        ("answer.score", 0, "known here: a, b, c"),
        ("samples.token_count", 0, "did you mean 'sample'"),
        ("a.scroe", 0, "did you mean 'score'"),
        ("a", 0, "such as a.score"),
        ("a.score.value", 0, "has no fields"),
        ("a[b.reason]", 0, "such as a.score"),
        ("a.score ? 1.0 : 0.0", 0, "needs true or false"),
        ("a.score && b.passed", 0, "needs true or false"),
        ("!a.score", 1, "needs true or false"),
        ("a.passed == 1.0", 12, "never equals"),
        ("a.passed > 0.5", 11, "cannot compare"),
        ("a.passed + b.passed", 11, "cannot join"),
        ("a.passed ? 1.0 : b.passed", 17, "one branch is"),
        ("'x' in params.name", 7, ".contains()"),
        ("mni(a.score, 1.0)", 0, "did you mean 'min'"),
        ("clamp(a.score)", 0, "takes 3"),
        ("has(a.score)", 0, "always there"),
        ("a.flags.exists(f, a.flags.exists(g, g == f))", 18, "cannot be nested"),
        ("a.flags.exists(b, b == 'x')", 15, "choose another name"),
        ("a.score +", 9, "the end was not expected"),
        ("a.score b.score", 8, "not expected"),
        ("a.score & b.score", 8, "has no meaning"),
        ("{'a': 1.0}", 0, "has no meaning"),
        ("1u", 0, "not a number"),
        ("9223372036854775808", 0, "beyond 64 bits"),
        ("a.status == '\\q'", 12, "is not a character"),
        ("a.status == '\\ud800'", 12, "is not a character"),
    ],
)
def test_a_mistake_is_refused_on_load_with_its_place_and_the_fix(text: str, offset: int, fix: str) -> None:
    with pytest.raises(ExpressionError) as raised:
        Expression(text, SCOPE)
    assert fix in raised.value.message
    assert raised.value.offset == offset


def test_deep_nesting_is_refused_before_any_parser_recurses() -> None:
    for text in ("(" * 4000, "-" * 3999 + "1", "!" * 4000, "[" * 4000, "true ? " * 500 + "1.0", "a" + "[0]" * 1000):
        with pytest.raises(ExpressionError):
            Expression(text, SCOPE)
    inner = MAX_DEPTH - 1
    assert Expression("(" * inner + "1.0" + ")" * inner, SCOPE).number({}) == 1.0


@given(st.text(max_size=60) | st.text(alphabet="ab.&|!?:()[]<>=+-*/' 10", max_size=60))
def test_any_text_is_either_compiled_or_refused(text: str) -> None:
    with contextlib.suppress(ExpressionError):
        Expression(text, SCOPE)


# --- values ------------------------------------------------------------------------------------------------------


def test_numbers_from_outside_are_doubles() -> None:
    assert as_cel({"level": 3, "ok": True, "parts": [1, None, "x"]}) == {
        "level": 3.0,
        "ok": True,
        "parts": [1.0, None, "x"],
    }
    assert isinstance(as_cel({"level": 3})["level"], float)


@pytest.mark.parametrize("text", ["1.0 / sample.token_count", "-1.0 / sample.token_count", "0.0 / sample.token_count"])
def test_a_score_that_is_not_finite_is_a_failure(text: str) -> None:
    with pytest.raises(EvaluationError, match="not a finite number"):
        Expression(text, SCOPE).number({"sample": {"token_count": 0.0}})


def test_a_missing_key_is_named() -> None:
    with pytest.raises(EvaluationError, match="there is no key 'rule'"):
        Expression("a.evidence.rule == 'x'", SCOPE).value({"a": {"evidence": {}}})


def test_a_text_for_a_score_is_a_failure() -> None:
    with pytest.raises(EvaluationError, match="gave 'x', not a number"):
        Expression("sample.metadata.level", SCOPE).number({"sample": {"metadata": {"level": "x"}}})


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("clamp(1.5, 0.0, 1.0) + floor(2.7) + ceil(0.2) + abs(-1.0)", 5.0),
        ("min(3.0, 1.0, 2.0) * max(0.5, 0.25)", 0.5),
        ("pow(2.0, 3.0) + sqrt(4.0) + exp(0.0) + log(1.0)", 11.0),
        ("double(size(a.flags)) / 4.0", 0.5),
        ("a.flags.exists(f, f == 'x') && 'y' in a.flags ? 1.0 : 0.0", 1.0),
        ("a.reason == null || a.reason.startsWith('no') ? 1.0 : 0.0 // why not", 1.0),
        ("-a.score + (a.score)", 0.0),
    ],
)
def test_what_an_expression_can_say(text: str, value: float) -> None:
    known = {"a": {"flags": ["x", "y"], "reason": "no_answer", "score": 0.25}}
    assert Expression(text, SCOPE).number(known) == value


KNOWN: dict[str, dict[str, Any]] = {
    "a": {"flags": ["x", "y"], "reason": None, "score": 0.25, "evidence": {"list": [1.0, 2.0, "x", True, None]}},
    "sample": {"metadata": {"text": "héllo", "zero": 0.0, "one": 1.0, "yes": True, "table": {"k": 1.0}}},
    "params": {"name": "n"},
}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0x10 + 2 * 3", 22),
        ("1.0 - .5 - 25e-2", 0.25),
        ("size(a.flags) % 2", 0),
        ("-7 % 3", -1),
        ("7 % -3", 1),
        ("-1.0 / sample.metadata.zero", -math.inf),
        ("1 < 1.5 && 1.5 <= 2 && 'a' < 'é' && 2 >= 2.0", True),
        ("1 == 1.0 && sample.metadata.yes != 1.0 && a.reason == null && [1, 'x'] == [1.0, 'x']", True),
        ("sample.metadata.zero / sample.metadata.zero == sample.metadata.zero / sample.metadata.zero", False),
        ("sample.metadata.table == sample.metadata.table && 'k' in sample.metadata.table", True),
        ("1.0 in a.evidence.list && !(2.0 in [1.0, true]) && true in a.evidence.list", True),
        ("[1.0, 2.0][1] + sample.metadata.table['k']", 3.0),
        ("[1] + [2.0, 'x']", [1, 2.0, "x"]),
        ("params.name + '!'", "n!"),
        (r"""'a\n\x41\u00e9\101\'' + r'\n'""", "a\nAéA'\\n"),
        ("size(sample.metadata.text) + sample.metadata.text.size()", 10),  # characters, not bytes
        ("sample.metadata.text.matches('^h.l+o$') && !sample.metadata.text.matches('^e')", True),
        ("sample.metadata.text.contains('é') && sample.metadata.text.endsWith('lo')", True),
        ("double('1.5e1') + double(size('ab')) + double(2.0)", 19.0),
        ("string(1.0) + string(0.0000001) + string(3) + string(true) + string(1e21)", "10.00000013true1" + "0" * 21),
        ("a.evidence.list.map(x, x == 1.0)", [True, False, False, False, False]),
        ("a.flags.map(x, x == 'y', x + x)", ["yy"]),
        ("a.flags.filter(x, x > 'x')", ["y"]),
        ("a.flags.exists_one(x, x == 'x') && a.flags.all(x, size(x) == 1)", True),
        ("sample.metadata.table.exists(k, k == 'k')", True),
        ("has(sample.metadata.text) && !has(sample.metadata.nothing)", True),
    ],
)
def test_a_value_is_that_of_cel(text: str, value: Any) -> None:
    found = Expression(text, SCOPE).value(KNOWN)
    assert (found, type(found)) == (value, type(value))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a.evidence.list.exists(x, x > 1.5)", True),  # 'x' > 1.5 fails, and 2.0 > 1.5 decides
        ("a.evidence.list.all(x, x < 0.5)", False),
        ("a.flags.map(x, x > 1.0 || x == 'x' || x == 'y')", [True, True]),
        ("a.flags.map(x, x > 1.0 && x == 'z')", [False, False]),
    ],
)
def test_what_decides_holds_against_a_failure_beside_it(text: str, value: Any) -> None:
    assert Expression(text, SCOPE).value(KNOWN) == value


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a.evidence.list.exists(x, x > 5.0)", "5.0 and 'x' have no order"),
        ("a.evidence.list.filter(x, x > 1.0)", "have no order"),
        ("a.evidence.list[0.0]", "an index is a whole number, not 0.0"),
        ("a.evidence.list[5]", "there is no item 5 among 5"),
        ("a.evidence[0]", "there is no key 0"),
        ("a.evidence.list[0].x", "1.0 has no fields"),
        ("a.reason[0]", "None has no items"),
        ("has(a.evidence.list.x)", "has no fields"),
        ("a.reason.startsWith('no')", "startsWith() takes a string, not None, 'no'"),
        ("sample.metadata.text.matches('(')", "is not a pattern"),
        ("min(sample.metadata.text, 1.0)", "min() takes a double"),
        ("-sample.metadata.yes + 1.0", "True is not a number"),
        ("sample.metadata.yes + 1.0", "True + 1.0 has no value"),
        ("sqrt(-1.0)", "sqrt()"),
        ("exp(1000.0)", "exp()"),
        ("double(sample.metadata.text)", "'héllo' is not a number"),
        ("double(' 1')", "' 1' is not a number"),
        ("string(a.reason)", "None has no text"),
        ("size(sample.metadata.one)", "1.0 has no size"),
        ("1.0 in sample.metadata.one", "looks in a list, not in 1.0"),
        ("sample.metadata.one.map(x, x)", "goes over a list, not over 1.0"),
        ("size('a') % 0", "division by zero"),
        ("9223372036854775807 + size('a')", "beyond 64 bits"),
        ("b.score + 1.0", "there is no b.score"),
    ],
)
def test_an_operation_on_what_it_is_not_for_is_a_failure_that_says_so(text: str, said: str) -> None:
    with pytest.raises(EvaluationError) as raised:
        Expression(text, SCOPE).value(KNOWN)
    assert said in str(raised.value)
    assert str(raised.value).startswith(repr(text)[:56])


LONG: dict[str, dict[str, Any]] = {
    "a": {"passed": True},
    "sample": {"metadata": {"list": [float(n) for n in range(100_000)], "text": "x" * 1_000_000}},
}


@pytest.mark.parametrize(
    "text",
    [
        "sample.metadata.list.all(x, x in sample.metadata.list)",
        "sample.metadata.list.all(x, sample.metadata.list == sample.metadata.list) || a.passed",
        "sample.metadata.list.map(x, sample.metadata.list + sample.metadata.list)",
        "sample.metadata.list.map(x, sample.metadata.text + sample.metadata.text)",
        "sample.metadata.list.exists(x, sample.metadata.text < sample.metadata.text)",
        "sample.metadata.list.exists(x, sample.metadata.text.contains('y'))",
        "sample.metadata.list.exists(x, sample.metadata.text.matches(string(x) + 'y{1000}'))",
        "sample.metadata.list.exists(x, sample.metadata.list + x)",  # each failure would show the list
    ],
)
def test_work_that_grows_with_the_square_of_a_list_is_ended(text: str) -> None:
    with pytest.raises(EvaluationError, match=r"takes more than 1,000,000 steps|have no order|has no value"):
        Expression(text, SCOPE).value(LONG)


def test_half_of_a_surrogate_pair_matches_what_any_sign_does() -> None:
    known = {"sample": {"metadata": {"text": "20\ud80019"}}}
    for pattern, value in (("^20.19$", True), ("2019", False)):
        assert Expression(f"sample.metadata.text.matches('{pattern}')", SCOPE).value(known) is value


def test_a_hundred_thousand_items_are_within_the_bound() -> None:
    assert Expression("sample.metadata.list.all(x, x >= 0.0 && x < 1e6)", SCOPE).value(LONG) is True


def test_a_value_that_is_nested_too_deep_is_a_failure() -> None:
    deep: Any = 1.0
    for _ in range(5000):
        deep = [deep]
    with pytest.raises(EvaluationError, match="nested too deep"):
        Expression("[sample.metadata.x] == [sample.metadata.y]", SCOPE).value(
            {"sample": {"metadata": {"x": deep, "y": [deep[0]]}}}
        )


# --- the walk agrees with CEL ------------------------------------------------------------------------------------

_conditions = st.recursive(
    st.sampled_from(["a.passed", "b.passed", "c.passed", "true", "a.score > 0.5", "b.score <= c.score"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["&&", "||"]), inner).map(" ".join),
        inner.map("!({})".format),
        inner.map("({})".format),
        st.tuples(inner, inner, inner).map(lambda p: f"(({p[0]}) ? ({p[1]}) : ({p[2]}))"),
    ),
    max_leaves=6,
)
_numbers = st.recursive(
    st.sampled_from(["a.score", "b.score", "c.score", "0.5", "2.0"]),
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", "*"]), inner).map(" ".join),
        st.tuples(_conditions, inner, inner).map(lambda p: f"(({p[0]}) ? {p[1]} : {p[2]})"),
        st.tuples(inner, inner).map(lambda p: f"min({p[0]}, -({p[1]}))"),
    ),
    max_leaves=8,
)


@given(
    _numbers,
    st.lists(st.sampled_from([0.0, 0.25, 0.5, 1.0]), min_size=3, max_size=3),
    st.lists(st.booleans(), min_size=3, max_size=3),
)
def test_supplying_only_what_is_asked_for_gives_what_cel_gives_on_everything(
    text: str, scores: list[float], passed: list[bool]
) -> None:
    everything = {name: {"score": s, "passed": p} for name, s, p in zip("abc", scores, passed, strict=True)}
    try:
        expression = Expression(text, SCOPE)
    except ExpressionError:  # nested too deep
        return
    known: dict[str, dict[str, Any]] = {}
    while lacking := expression.lacks(known):
        with pytest.raises(EvaluationError):
            expression.value(known)
        for read in lacking:
            root, field = read.path
            assert field not in known.get(root, {}), "asked for twice"
            known.setdefault(root, {})[field] = everything[root][field]
    assert expression.value(known) == cel.evaluate(text, {**everything, "min": min})


_values = st.recursive(
    st.sampled_from(
        ["m.s", "m.f", "m.l", "m.d", "m.b", "m.n", "'x'", "1.0", "2", "0", "true", "null", "m.l[1]", "m.d.k", "m.no"]
    ),
    lambda inner: st.one_of(
        st.tuples(
            inner, st.sampled_from(["+", "-", "*", "/", "%", "<", ">=", "==", "!=", "in", "&&", "||"]), inner
        ).map(lambda p: f"({p[0]} {p[1]} {p[2]})"),
        st.tuples(inner, inner, inner).map(lambda p: f"({p[0]} ? {p[1]} : {p[2]})"),
        st.tuples(st.sampled_from(["double", "!"]), inner).map(lambda p: f"{p[0]}({p[1]})"),
        st.tuples(st.sampled_from(["all", "exists", "exists_one", "map", "filter"]), inner, inner).map(
            lambda p: f"[{p[1]}, 'x', 1.0].{p[0]}(x, x == {p[2]})"
        ),
        st.tuples(inner, inner).map("[{0[0]}, {0[1]}]".format),
    ),
    max_leaves=6,
)


@given(_values)
@example("(m.f in m.d)")
@settings(max_examples=500)
def test_a_tree_has_the_value_that_the_cel_library_gives(text: str) -> None:
    """If one fails, so does the other. The check, which refuses most of these, is left out."""
    names = {"m": {"s": "x", "f": 0.5, "l": ["x", 1.0], "d": {"k": 1.0}, "b": True, "n": None}}
    try:
        tree = Program(parse(text))
    except ExpressionError:  # nested too deep
        return
    results: list[Any] = []
    for evaluate in (lambda: tree.value(names), lambda: cel.evaluate(text, names)):
        try:
            results.append(repr(evaluate()))
        except Exception as error:  # noqa: BLE001  the library raises many kinds
            results.append("failed" if not isinstance(error, AssertionError) else error)
    assert results[0] == results[1]
