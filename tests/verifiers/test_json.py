"""`json`: strict reading, where the JSON stands, schemas, and values against expected ones."""

from __future__ import annotations

import itertools
import json as plain_json
import random
import socket
import threading
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Batch, Outcome, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.plan import Planner
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.contract import Unwatched
from rewarden_verifiers.equivalence import Equivalence
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure.json import comparing as comparing_module
from rewarden_verifiers.structure.json import expected as expected_module
from rewarden_verifiers.structure.json.assignment import MAX_SIDE, best_pairs
from rewarden_verifiers.structure.json.branching import branching
from rewarden_verifiers.structure.json.comparing import Effort, Rules
from rewarden_verifiers.structure.json.expected import Scheme, content
from rewarden_verifiers.structure.json.locate import fences
from rewarden_verifiers.structure.json.paths import matches, pattern_of, shown
from rewarden_verifiers.structure.json.reading import JsonParams
from rewarden_verifiers.structure.json.sameness import JsonEquivalence
from rewarden_verifiers.structure.json.strict import MAX_DEPTH, MAX_VALUES, Malformed, parse
from rewarden_verifiers.structure.json.validation import MAX_EVALUATIONS
from rewarden_verifiers.structure.json.verifier import json as judge_json
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
dumps = plain_json.dumps


def json(response: str, params: JsonParams, reference: Any = None) -> Outcome:
    return judge_json(response, params, Unwatched(), reference)


async def judged(response: Any, reference: Any = None, **params: Any) -> Outcome:
    return await outcome_of(PLANNER, Use(name="json", params=params), Sample(response=response, reference=reference))


def score(response: str, reference: Any = None, **params: Any) -> float:
    bound: JsonParams = PLANNER.bind(Use(name="json", params=params)).params
    outcome = json(response, bound, reference)
    assert outcome.score is not None
    return outcome.score


# --- strict reading ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "malformed"),
        ("{'a': 1}", "malformed"),
        ("{a: 1}", "malformed"),
        ('{"a": 1,}', "malformed"),
        ("[1, 2", "malformed"),
        ("[01]", "malformed"),
        ("[.5]", "malformed"),
        ("[1.]", "malformed"),
        ("[+1]", "malformed"),
        ("[0x10]", "malformed"),
        ('["\t"]', "malformed"),
        ('["\\x41"]', "malformed"),
        ("[1] // one", "trailing_text"),
        ('{"a": 1} {"a": 2}', "trailing_text"),
        ('{"a": 1, "a": 1}', "duplicate_key"),
        ('{"b": [{"a": 1, "\\u0061": 1}]}', "duplicate_key"),
        ("[NaN]", "not_a_number"),
        ("-Infinity", "not_a_number"),
        ("[1e400]", "huge_number"),
        ("[-1e400]", "huge_number"),
        ("9" * 301, "huge_number"),
        ("9" * 10_000, "huge_number"),
        ('"\\ud800"', "lone_surrogate"),
        ('{"\\udfff": 1}', "lone_surrogate"),
        ('"\ud800"', "lone_surrogate"),
        ("[" * (MAX_DEPTH + 1) + "]" * (MAX_DEPTH + 1), "too_deep"),
        ('{"a":' * 5000 + "1" + "}" * 5000, "too_deep"),
        ("[" * 100_000, "too_deep"),
        ("[" + "1," * MAX_VALUES + "1]", "too_long"),
        (" " * 10 + '"' + "a" * 1_000_001 + '"', "too_long"),
    ],
)
def test_what_is_refused_and_why(text: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        parse(text)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    ("text", "value"),
    [
        (' {"a" : [1, -2.5e3, true, null, "x"]}\r\n', {"a": [1, -2500.0, True, None, "x"]}),
        ('"\\ud83d\\ude00"', "😀"),
        ('"\\u0000"', "\0"),
        ("9" * 300, int("9" * 300)),
        ("-0", 0),
        ("[" * MAX_DEPTH + "]" * MAX_DEPTH, None),
        ('{"' + "{" * 100 + '": "' + "[" * 100 + '"}', {"{" * 100: "[" * 100}),
    ],
)
def test_what_is_read(text: str, value: Any) -> None:
    read = parse(text)
    assert value is None or (read == value and type(read) is type(value))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_what_the_standard_library_writes_is_read_back(value: Any) -> None:
    text = dumps(value)
    assert dumps(parse(text)) == text
    assert dumps(parse(dumps(value, ensure_ascii=False, indent=1))) == text


@settings(max_examples=200)
@given(st.text() | JSON.map(dumps) | st.lists(st.sampled_from('[]{}",:0 1ea\\u\n')).map("".join))
def test_it_reads_what_the_standard_library_reads_and_no_more(text: str) -> None:
    try:
        expected = plain_json.loads(text)
    except ValueError:
        with pytest.raises(Malformed):
            parse(text)
        return
    try:
        read = parse(text)
    except Malformed as malformed:
        refused = malformed.reason
    else:
        assert dumps(read) == dumps(expected)
        return
    assert refused not in ("malformed", "trailing_text")  # one of the refusals on purpose


# --- where it stands ---------------------------------------------------------------------------------------------

A = '{"a": 1}'
PLACES = {
    "whole": A,
    "fence": f"Here:\n```json\n{A}\n```\nDone.",
    "tag": f"So: <answer>{A}</answer>",
    "prose": f"It is {A}, I think.",
    "boxed": f"\\boxed{{{A}}}",
}


@pytest.mark.parametrize(
    ("extraction", "read"),
    [
        ("strict", {"whole"}),
        ("fenced", {"whole", "fence"}),
        ("explicit", {"whole", "fence", "tag"}),
        ("lax", {"whole", "fence", "tag", "prose", "boxed"}),
        (["boxed"], {"boxed"}),
        ([{"tag": "answer"}], {"tag"}),
        ([{"regex": r"It is (\{.*\}),"}], {"prose"}),
        (["prose"], {"whole", "fence", "tag", "prose", "boxed"}),
    ],
)
async def test_each_extraction_finds_its_places(extraction: Any, read: set[str]) -> None:
    found = {name for name, text in PLACES.items() if (await judged(text, {"a": 1}, extraction=extraction)).score == 1}
    assert found == read


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        ("```\nx\n```", ["x\n"]),
        ("~~~json\nx\n~~~", ["x\n"]),
        ("````\n```\nx\n```\n````", ["```\nx\n```\n"]),
        ("```json {} ```", [" {} "]),
        ("a\n  ```\nx\n  ```\nb\n```\ny\n```", ["x\n", "y\n"]),
        ('```json\n{"a": "```"}\n```', ['{"a": "```"}\n']),
        ("```\nx", ["x"]),
        ("Here it is: ```json\nx\n```", ["x\n"]),
        ("a:```\nx ```\n```\nb", ["x ```\n"]),
        ("no fence ``` here", []),
    ],
)
def test_fences(text: str, contents: list[str]) -> None:
    assert [fence.content for fence in fences(text)] == contents


@pytest.mark.parametrize(
    "text",
    [
        f'```json\n{A}\n```\n```json\n{{"a": 2}}\n```',
        f'<answer>{A}</answer> or <answer>{{"a": 2}}</answer>',
        f'First {A}, then {{"a": 2}}.',
    ],
)
async def test_several_values_are_a_hedge_unless_the_last_counts(text: str) -> None:
    hedged = await judged(text, {"a": 1}, extraction="lax")
    assert (hedged.score, hedged.reason, hedged.flags) == (0.0, "hedged", ("hedged",))
    assert (await judged(text, {"a": 2}, extraction="lax", several="last")).score == 1.0
    same = await judged(text.replace("2", "1"), {"a": 1}, extraction="lax")
    assert same.score == 1.0


async def test_the_thought_is_not_seen_and_an_unclosed_one_is_no_answer() -> None:
    assert (await judged(f"<think>{A}</think>{{}}", {"a": 1})).reason == "empty"
    assert (await judged(f"<think>{A}", {"a": 1})).reason == "unclosed_thought"


async def test_a_cited_number_is_no_candidate_where_an_object_is_expected() -> None:
    assert (await judged("See [1] and [2]: " + A, {"a": 1}, extraction="lax")).score == 1.0
    assert (await judged("See {x: it is [1, 2].", [1, 2], extraction="lax")).score == 1.0


# --- schemas -----------------------------------------------------------------------------------------------------

D4, D6, D7 = (f"http://json-schema.org/draft-0{number}/schema#" for number in (4, 6, 7))
D19, D20 = "https://json-schema.org/draft/2019-09/schema", "https://json-schema.org/draft/2020-12/schema"

# schema, a value that is valid, one that is not; `$schema` is added for each draft named
KEYWORDS: list[tuple[tuple[str, ...], dict[str, Any], Any, Any]] = [
    ((D4, D6, D7, D19, D20), {"type": "integer"}, 3, 3.5),
    ((D6, D7, D19, D20), {"type": "integer"}, 3.0, "3"),
    ((D4, D6, D7, D19, D20), {"type": ["string", "null"]}, None, False),
    ((D4, D6, D7, D19, D20), {"enum": [1, "a", {"b": 2}]}, {"b": 2.0}, {"b": 3}),
    ((D6, D7, D19, D20), {"const": [1, True]}, [1.0, True], [True, True]),
    ((D4,), {"maximum": 3, "exclusiveMaximum": True}, 2, 3),
    ((D6, D7, D19, D20), {"exclusiveMaximum": 3}, 2.9, 3),
    ((D4, D6, D7, D19, D20), {"multipleOf": 0.01}, 19.99, 19.999),
    ((D4, D6, D7, D19, D20), {"minLength": 2, "maxLength": 2}, "😀é", "é"),
    ((D4, D6, D7, D19, D20), {"pattern": "^\\d+$"}, "123", "12a"),
    ((D4, D6, D7, D19, D20), {"uniqueItems": True}, [1, True, "1"], [1, 1.0]),
    ((D4, D6, D7, D19), {"items": [{"type": "string"}], "additionalItems": False}, ["x"], ["x", 1]),
    ((D20,), {"prefixItems": [{"type": "string"}], "items": False}, ["x"], ["x", 1]),
    ((D6, D7, D19, D20), {"contains": {"minimum": 5}}, [1, 7], [1, 2]),
    ((D19, D20), {"contains": {"minimum": 5}, "minContains": 2}, [6, 7], [1, 7]),
    ((D4, D6, D7, D19, D20), {"required": ["a"], "properties": {"a": {}}}, {"a": None}, {}),
    ((D4, D6, D7, D19, D20), {"additionalProperties": False, "patternProperties": {"^x": {}}}, {"xy": 1}, {"y": 1}),
    ((D6, D7, D19, D20), {"propertyNames": {"maxLength": 1}}, {"a": 1}, {"ab": 1}),
    ((D4, D6, D7), {"dependencies": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    ((D19, D20), {"dependentRequired": {"a": ["b"]}}, {"a": 1, "b": 2}, {"a": 1}),
    ((D7, D19, D20), {"if": {"type": "string"}, "then": {"minLength": 2}}, 1, "x"),
    ((D4, D6, D7, D19, D20), {"oneOf": [{"minimum": 5}, {"maximum": 7}]}, 1, 6),
    ((D4, D6, D7, D19, D20), {"allOf": [{"minimum": 5}, {"maximum": 7}]}, 6, 1),
    ((D4, D6, D7, D19, D20), {"not": {"type": "object"}}, [], {}),
    (
        (D4, D6, D7, D19, D20),
        {"definitions": {"n": {"type": ["null", "object"], "properties": {"next": {"$ref": "#/definitions/n"}}}}}
        | {"properties": {"head": {"$ref": "#/definitions/n"}}},
        {"head": {"next": {"next": None}}},
        {"head": {"next": {"next": 1}}},
    ),
    ((D19, D20), {"properties": {"a": {}}, "unevaluatedProperties": False}, {"a": 1}, {"b": 1}),
    ((D20,), {"$defs": {"s": {"$anchor": "text", "type": "string"}}, "$ref": "#text"}, "x", 1),
    ((D4, D6, D7), {"format": "date"}, "2024-02-29", "2023-02-29"),
]


@pytest.mark.parametrize(
    ("draft", "schema", "good", "bad"),
    [(draft, *rest) for drafts, *rest in KEYWORDS for draft in drafts],
    ids=lambda value: None,
)
def test_keywords_by_draft_beside_the_library(draft: str, schema: dict[str, Any], good: Any, bad: Any) -> None:
    schema = {"$schema": draft, **schema}
    for value, valid in ((good, True), (bad, False)):
        assert jsonschema_rs.validator_for(schema).is_valid(value) is valid
        outcome = json(dumps(value), JsonParams(schema=schema, allow_empty=True))
        assert outcome.score == float(valid)
        assert outcome.reason == (None if valid else "invalid")
        assert ("invalid" in outcome.evidence) is (not valid)


def test_the_draft_may_be_named() -> None:
    schema = {"maximum": 3, "exclusiveMaximum": True}
    assert score("3", schema=schema, draft="4") == 0.0
    with pytest.raises(ValueError, match="not valid"):
        JsonParams(schema=schema, draft="2020-12")
    assert score('"x"', schema={"format": "date"}) == 1.0
    assert score('"x"', schema={"format": "date"}, formats=True) == 0.0


@settings(max_examples=200)
@given(
    JSON,
    st.sampled_from(
        [
            {"type": "object"},
            {"type": ["array", "string"], "minItems": 1, "minLength": 1},
            {"anyOf": [{"type": "number", "minimum": 0}, {"items": {"type": "string"}}]},
            {"additionalProperties": {"type": ["integer", "null"]}, "maxProperties": 2},
            {"uniqueItems": True, "contains": {"type": "boolean"}},
            {"not": {"enum": [0, "", None, False]}},
        ]
    ),
)
def test_validity_is_what_the_library_says(value: Any, schema: dict[str, Any]) -> None:
    text = dumps(value)
    expected = jsonschema_rs.is_valid(schema, plain_json.loads(text))
    assert score(text, schema=schema, allow_empty=True) == float(expected)


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "objekt"},
        {"pattern": "("},
        {"$schema": "http://json-schema.org/draft-03/schema#"},
        {"$ref": "#/definitions/none"},
        {"$ref": "other.json"},
        {"minimum": "3"},
        {"pattern": "(?=a)"},
        {"pattern": "(a)\\1"},
        {"pattern": "(a{1000}){1000}"},
        {"required": "a"},
    ],
)
async def test_a_bad_schema_is_never_the_policys_fault(schema: dict[str, Any]) -> None:
    outcome = await judged(A, {"schema": schema})
    assert (outcome.score, outcome.fault, outcome.reason) == (None, "reference", "invalid_reference")
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="json", params={"schema": schema}))


def test_look_around_is_for_those_who_ask_and_bounded() -> None:
    schema = {"pattern": "^(?=a)(a|aa)+$"}
    assert score('"aaa"', schema=schema, patterns="backtracking") == 1.0
    assert score(dumps("a" * 60 + "b"), schema=schema, patterns="backtracking") == 0.0
    with pytest.raises(ValueError, match="patterns: backtracking"):
        JsonParams(schema=schema)


@pytest.mark.parametrize("keyword", ["$ref", "$dynamicRef", "$schema"])
async def test_nothing_is_fetched(keyword: str) -> None:
    asked = threading.Event()
    with socket.create_server(("127.0.0.1", 0)) as server:
        address = f"http://127.0.0.1:{server.getsockname()[1]}/schema.json"
        server.settimeout(60)

        def listen() -> None:
            try:
                server.accept()[0].close()
                asked.set()
            except OSError:
                pass

        thread = threading.Thread(target=listen)
        thread.start()
        outcomes = [
            await judged(A, {"schema": {"properties": {"a": {keyword: address}}} if keyword != "$schema" else schema})
            for schema in ({"$schema": address}, {"$id": address, "$ref": "sibling.json"})
        ]
        outcomes.append(await judged(A, {"schema": {"$ref": "file:///etc/hostname"}}))
        assert not asked.is_set()
        with socket.create_connection(server.getsockname()):
            thread.join()  # this connection is the first that it saw
    assert asked.is_set()
    assert {outcome.reason for outcome in outcomes} == {"invalid_reference"}


async def test_given_schemas_are_reached_and_cannot_fetch_either() -> None:
    given = {"https://example.com/point": {"type": "array", "items": {"type": "number"}}}
    schema = {"properties": {"p": {"$ref": "https://example.com/point"}}}
    assert (await judged('{"p": [1, 2]}', schema=schema, schemas=given)).score == 1.0
    assert (await judged('{"p": ["1"]}', schema=schema, schemas=given)).reason == "invalid"
    given = {"https://example.com/point": {"$ref": "https://example.com/elsewhere"}}
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="json", params={"schema": schema, "schemas": given}))


# --- values ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("rules", "expected", "value", "credit"),
    [
        ({}, 1, 1.0, 1),
        ({}, 1, True, 0),
        ({}, True, True, 1),
        ({}, None, None, 1),
        ({}, None, False, 0),
        ({}, "", None, 0),
        ({}, 2**53 + 1, float(2**53), 0),
        ({}, 0.1 + 0.2, 0.3, 0),
        ({"rel_tol": 1e-9}, 0.3, 0.1 + 0.2, 1),
        ({"rel_tol": 0.01}, 100, 101, 1),
        ({"rel_tol": 0.01}, 100, 101.1, 0),
        ({"rel_tol": 0.01}, 0, 1e-9, 0),
        ({"abs_tol": 0.5}, -1, -1.5, 1),
        ({"rel_tol": 0.1}, 10**299, 1.05e299, 1),
        ({}, "Paris", "paris", 0),
        ({"text": "normal"}, "Café  au lait", "cafe\u0301 AU\nlait", 1),
        ({"text": "normal"}, "x²", "x2", 0),
        ({"text": "fuzzy"}, "the quick brown fox", "the quick brown foxes", 1),
        ({"text": "fuzzy"}, "the quick brown fox", "a slow red hen", 0),
        ({"text": "fuzzy", "threshold": 0.1}, "1.5 mg", "15 mg", 0),
        ({"text": "fuzzy", "threshold": 0.1}, "-5 degrees", "5 degrees", 0),
        ({"text": "fuzzy", "threshold": 0.1}, "pages 10-12", "pages 10\u201312", 1),
        ({"text": "similarity", "threshold": 0.5}, "abcd", "abcx", 0.75),
        ({"text": "similarity"}, "abcd", "abcx", 0),
        ({}, 30, "30", 0),
        ({"coerce": True}, 30, "30", 1),
        ({"coerce": True}, "1,234.50", 1234.5, 1),
        ({"coerce": True}, True, "True", 1),
        ({"coerce": True}, True, 1, 0),
        ({"coerce": True}, 30, "30 years", 0),
        ({"coerce": True}, None, "null", 0),
    ],
)
def test_scalars(rules: dict[str, Any], expected: Any, value: Any, credit: float) -> None:
    assert Rules(**rules).credit(expected, value, Effort()) == pytest.approx(credit)


@pytest.mark.parametrize(
    ("pattern", "path", "same"),
    [
        ("a.b", ("a", "b"), True),
        ("a.b", ("a",), False),
        ("a", ("a", "b"), False),
        ("a[*].b", ("a", 3, "b"), True),
        ("a.*.b", ("a", 3, "b"), True),
        ("a[0]", ("a", 0), True),
        ("a[0]", ("a", 1), False),
        ("a.0", ("a", 0), False),
        ("**.id", ("id",), True),
        ("**.id", ("a", 1, "id"), True),
        ("**.id", ("a", "id", "x"), False),
        ("a.**", ("a",), True),
        ("a.**.z", ("a", "b", "c", "z"), True),
        ('["a.b"].c', ("a.b", "c"), True),
        ("", (), True),
        ("**", (), True),
    ],
)
def test_paths(pattern: str, path: tuple[Any, ...], same: bool) -> None:
    assert matches(pattern_of(pattern), path) is same


@given(
    st.lists(st.text(alphabet='ab.c[]"* ', min_size=1, max_size=4).filter(lambda k: '"' not in k) | st.integers(0, 9))
)
def test_a_shown_path_is_a_pattern_of_itself(path: list[Any]) -> None:
    assert matches(pattern_of(shown(path).removeprefix(".")), path)


def test_fields_go_for_all_beneath_and_the_last_decides() -> None:
    fields = [{"path": "a", "text": "normal"}, {"path": "a.c", "text": "exact"}]
    expected = {"a": {"b": "x", "c": "y"}}
    assert score('{"a": {"b": "X", "c": "y"}}', expected, fields=fields) == 1.0
    assert score('{"a": {"b": "x", "c": "Y"}}', expected, fields=fields) == 0.0


def by_hand(expected: Any, value: Any) -> tuple[int, int, int]:
    """Leaves that match, leaves expected, leaves given: lists by place, written down once more and naively."""

    def leaves(item: Any, path: tuple[Any, ...] = ()) -> dict[tuple[Any, ...], str]:
        if isinstance(item, dict) and item:
            return {key: leaf for name, inner in item.items() for key, leaf in leaves(inner, (*path, name)).items()}
        if isinstance(item, list) and item:
            return {
                key: leaf for place, inner in enumerate(item) for key, leaf in leaves(inner, (*path, place)).items()
            }
        if isinstance(item, float) and item.is_integer():
            item = int(item)
        return {path: dumps(item)}

    there, here = leaves(expected), leaves(value)
    return sum(here.get(path) == leaf for path, leaf in there.items()), len(there), len(here)


# Without empty lists and objects within, whose leaves a naive count sees as given.
SOLID = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.sampled_from([0.0, 0.5, "a", "b"]),
    lambda inner: (
        st.lists(inner, min_size=1, max_size=3) | st.dictionaries(st.sampled_from("abc"), inner, min_size=1, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=150)
@given(SOLID, SOLID)
def test_precision_and_recall_are_those_counted_by_hand(expected: Any, value: Any) -> None:
    matched, there, here = by_hand(expected, value)
    outcome = json(dumps(value), JsonParams(content="f_beta"), {"expected": expected})
    assert outcome.evidence["precision"] == pytest.approx(matched / here)
    assert outcome.evidence["recall"] == pytest.approx(matched / there)
    assert (outcome.score == 1.0) is (matched == there == here)


@settings(max_examples=80)
@given(JSON)
def test_every_value_is_itself_and_full_marks_mean_equal(value: Any) -> None:
    for lists in ("ordered", "multiset", "set"):
        outcome = json(dumps(value), JsonParams(lists=lists, content="f_beta"), {"expected": value})
        assert (outcome.score, outcome.passed) == (1.0, True)


@settings(max_examples=60)
@given(st.lists(SOLID, max_size=4), st.randoms(use_true_random=False))
def test_unordered_lists_do_not_depend_on_order(items: list[Any], rng: random.Random) -> None:
    mixed = rng.sample(items, len(items))
    assert score(dumps(mixed), {"expected": items}, lists="multiset") == 1.0
    assert score(dumps(mixed + mixed), {"expected": items}, lists="set") == 1.0
    if items:
        assert score(dumps([*mixed, items[0]]), {"expected": items}, lists="multiset") == 0.0


@settings(max_examples=150)
@given(
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1), min_size=1), min_size=1, max_size=4),
    st.lists(st.dictionaries(st.sampled_from("abc"), st.integers(0, 1), min_size=1), min_size=1, max_size=4),
)
def test_lists_of_objects_are_paired_to_match_most(expected: list[Any], value: list[Any]) -> None:
    shorter, longer = (expected, value) if len(expected) <= len(value) else (value, expected)
    best = max(
        sum(len(a.items() & b.items()) for a, b in zip(shorter, picked, strict=True))
        for picked in itertools.permutations(longer, len(shorter))
    )
    outcome = json(dumps(value), JsonParams(lists="multiset", content="f_beta"), expected)
    assert outcome.evidence["recall"] == pytest.approx(best / sum(map(len, expected)))
    assert outcome.evidence["precision"] == pytest.approx(best / sum(map(len, value)))


def test_the_hungarian_method_beside_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    rng = random.Random(4)
    for _ in range(100):
        rows, columns = rng.randint(1, 9), rng.randint(1, 9)
        gains = [[rng.choice((0.0, 0.0, 1.0, rng.random())) for _ in range(columns)] for _ in range(rows)]
        pairs = best_pairs(gains)
        assert len({row for row, _ in pairs}) == len(pairs) == len({column for _, column in pairs})
        best = optimize.linear_sum_assignment(gains, maximize=True)
        expected = sum(gains[row][column] for row, column in zip(*best, strict=True))
        assert sum(gains[row][column] for row, column in pairs) == pytest.approx(expected)


def test_longer_lists_are_compared_in_order_and_say_so() -> None:
    expected = [{"n": n, "x": 0} for n in range(MAX_SIDE + 1)]
    value = [{"n": n, "x": 1} for n in range(MAX_SIDE + 1)]
    outcome = json(dumps(value), JsonParams(lists="multiset", content="f_beta"), expected)
    assert outcome.score == pytest.approx(0.5)
    assert "lists" in outcome.evidence
    assert score(dumps(expected[::-1]), expected, lists="multiset") == 1.0  # equal items need no table


async def test_weights_and_ignored_paths() -> None:
    fields = [{"path": "dose", "weight": 3}, {"path": "**.id", "ignore": True}]
    expected = {"id": 1, "name": "x", "dose": 5, "more": [{"id": 2, "v": 1}]}
    for given_, share in (
        ({"name": "x", "dose": 5, "more": [{"v": 1}]}, 1.0),
        ({"id": 9, "name": "x", "dose": 5, "more": [{"id": 9, "v": 1}]}, 1.0),
        ({"name": "x", "dose": 6, "more": [{"v": 1}]}, 0.4),
        ({"name": "y", "dose": 5, "more": [{"v": 1}]}, 0.8),
    ):
        outcome = await judged(dumps(given_), expected, fields=fields, content="f_beta")
        assert outcome.score == pytest.approx(share)
    nothing = await judged("{}", {"id": 1}, fields=fields)
    assert (nothing.score, nothing.fault) == (None, "reference")


@pytest.mark.parametrize(
    ("expected", "value", "share"),
    [
        ({"a": None}, {}, 1.0),
        ({"a": None}, {"a": ""}, 1.0),
        ({"a": None, "b": []}, {"b": [{}], "a": " "}, 1.0),
        ({"a": None}, {"a": "x"}, 0.0),
        ({"a": 1, "b": None}, {"a": 1}, 1.0),
        ({"a": 1, "b": None}, {"a": 1, "b": 2}, 2 / 3),
        ({"a": 1, "b": 2}, {"a": 1, "b": None}, 2 / 3),
        ({"a": 1, "b": 2}, {"a": None, "b": None}, 0.0),
        ({"a": 1}, {}, 0.0),
    ],
)
def test_blanks_as_absent(expected: Any, value: Any, share: float) -> None:
    for extra in ("punish", "ignore"):
        found = score(dumps(value), expected, blank="absent", content="f_beta", extra=extra)
        assert found == pytest.approx(share)


@pytest.mark.parametrize(
    ("text", "reference", "params", "share"),
    [
        ("{}", {}, {}, 1.0),
        ("[]", [], {}, 1.0),
        ("[]", {}, {}, 0.0),
        ('{"a": 1}', {}, {"content": "f_beta"}, 0.0),
        ("{}", {"a": 1}, {"content": "f_beta"}, 0.0),
        ("{}", None, {"schema": True}, 0.0),
        ("{}", None, {"schema": True, "allow_empty": True}, 1.0),
        ("{}", {"a": 1}, {"levels": {"parses": 1.0, "format": 1.0}}, 0.0),
        ("{}", {"a": {"b": 1}}, {"allow_empty": True, "levels": {"parses": 1.0, "content": 1.0}}, 0.5),
    ],
)
def test_empty_cases(text: str, reference: Any, params: dict[str, Any], share: float) -> None:
    assert score(text, reference, **params) == share


def test_levels_are_a_weighted_mean_of_what_can_be_judged() -> None:
    schema = {"properties": {"a": {"type": "integer"}}}
    levels: Any = {"parses": 1.0, "format": 2.0, "structure": 3.0, "validity": 4.0, "content": 5.0}
    text = 'So:\n```json\n{"a": "x", "b": 2}\n```'
    outcome = json(text, JsonParams(schema=schema, levels=levels), {"a": 1, "b": 2})
    assert outcome.evidence["levels"] == {
        "parses": 1.0,
        "format": 0.0,
        "structure": 0.5,
        "validity": 0.0,
        "content": 0.0,
    }
    assert outcome.score == pytest.approx((1 + 1.5) / 15)
    without = json(text, JsonParams(levels=levels, content="f_beta"), {"a": 1, "b": 2})
    assert without.score == pytest.approx((1 + 1.5 + 2.5) / 11)
    cascade = json(text, JsonParams(levels=levels, cascade=True), {"a": "x", "b": 2})
    assert cascade.score == pytest.approx(1 / 11)


async def test_alternatives_take_the_best() -> None:
    reference = {"alternatives": [{"a": 1, "b": 2}, {"a": 3, "b": 4}]}
    assert (await judged('{"a": 3, "b": 4}', reference)).score == 1.0
    assert (await judged('{"a": 3, "b": 5}', reference, content="f_beta")).score == 0.5
    assert (await judged('{"a": 1, "b": 4}', reference, content="f_beta")).score == 0.5


@pytest.mark.parametrize(
    "reference",
    [
        None,
        "{broken",
        {"expected": 1, "alternatives": [1]},
        {"alternatives": []},
        {"schema": "public"},
        {"expected": 1, "schema": {"type": "string"}},
        [float("nan")],
        {1: 2},
        plain_json.loads('{"a":' * 100 + "1" + "}" * 100),
    ],
)
async def test_bad_references_are_undecided(reference: Any) -> None:
    outcome = await judged(A, reference)
    assert (outcome.score, outcome.fault) == (None, "reference")


async def test_how_references_are_read() -> None:
    assert (await judged('{"expected": 5}', {"expected": 5}, reference_as="value")).score == 1.0
    assert (await judged("5", {"expected": 5})).score == 1.0
    assert (await judged('"{x"', "{x", reference_as="value")).score == 1.0
    assert (await judged('"plain"', "plain")).score == 1.0
    assert (await judged('{"a": 1}', '{"a": 1}', reference_as="object")).fault == "reference"


@pytest.mark.parametrize(
    "params",
    [
        {"extraction": "none"},
        {"extraction": []},
        {"extraction": ["hash"]},
        {"extraction": [{"regex": "("}]},
        {"beta": 0},
        {"threshold": 0},
        {"rel_tol": -1},
        {"pass_at": 0},
        {"levels": {}},
        {"levels": {"content": 0}},
        {"levels": {"contents": 1}},
        {"cascade": True},
        {"fields": [{"path": "a..b"}]},
        {"fields": [{"path": "a", "wieght": 2}]},
        {"fields": [{"path": "a", "weight": -1}]},
        {"content": "some"},
        {"schema": 3},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="json", params=params))


# --- sameness ----------------------------------------------------------------------------------------------------


def test_sameness() -> None:
    same = JsonEquivalence(JsonParams())
    assert isinstance(same, Equivalence)
    one, other = same.extract('{"b": 1, "a": 2.0}'), same.extract('```json\n{"a": 2, "b": 1}\n```')
    assert one is not None
    assert other is not None
    assert same.key(one) == same.key(other)
    assert same.same(one, other) is True
    assert same.same(one, '{"a": 2}') is False
    assert same.extract("nothing") is None
    assert same.extract('{"a": 1, "a": 2}') is None
    loose = JsonEquivalence(JsonParams(lists="multiset", text="fuzzy"))
    assert loose.same('["a long enough text", 1]', '[1, "a long enough texts"]') is True


@given(JSON, JSON)
def test_equal_keys_are_equal_answers(first: Any, second: Any) -> None:
    for params in (JsonParams(), JsonParams(text="normal", lists="multiset")):
        same = JsonEquivalence(params)
        a, b = dumps(first), dumps(second)
        assert same.same(a, a) is True
        assert same.same(a, b) == same.same(b, a)
        if same.key(a) == same.key(b):
            assert same.same(a, b) is True


# --- no text harms -----------------------------------------------------------------------------------------------

PIECES = ('{"a": 1}', '{"a":', "[", "]", "}", '"', ",", "```json\n", "```", "\n", "NaN", "1e999", '{"a": 2, "a": 1}')
EVERYTHING = JsonParams(
    extraction="lax",
    schema={"type": ["object", "array"], "properties": {"a": {"type": "integer"}}},
    content="f_beta",
    text="similarity",
    lists="multiset",
    blank="absent",
    levels={"parses": 1.0, "format": 1.0, "structure": 1.0, "validity": 1.0, "content": 1.0},
)
REFERENCE = {"a": 1, "b": [{"c": "x y"}, {"c": "z"}], "d": {"e": None}}


@settings(max_examples=300)
@given(st.text() | st.lists(st.sampled_from([*PIECES, *HOSTILE])).map("".join) | JSON.map(dumps))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params, reference in ((JsonParams(), REFERENCE), (EVERYTHING, REFERENCE), (EVERYTHING, None)):
        outcome = json(text, params, reference)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert outcome.score < 1.0 or outcome.passed
        dumps([outcome.evidence, outcome.extracted], allow_nan=False)


@settings(max_examples=80)
@given(SOLID, SOLID, SOLID)
def test_a_key_too_many_never_helps(expected: Any, value: Any, more: Any) -> None:
    if not isinstance(value, dict):
        value = {"a": value}
    params = JsonParams(content="f_beta", lists="multiset")
    before = json(dumps(value), params, {"expected": expected}).score
    after = json(dumps({**value, "zz": more}), params, {"expected": expected}).score
    assert before is not None
    assert after is not None
    assert after <= before


@pytest.mark.parametrize("piece", [*PIECES, *HOSTILE, '["\\"', "{1", "[1 ", '{"a"x', "```\n", "~~~", "`"])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    json(piece, EVERYTHING, REFERENCE)
    small, middle, large = (steps(lambda n=n: json(piece * n, EVERYTHING, REFERENCE)) for n in (100, 300, 900))
    assert middle <= 3.5 * small + 2000
    assert large <= 3.5 * middle + 2000


def test_pairing_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(expected_module, "MAX_PAIRINGS", 1000)
    params = JsonParams(lists="multiset", content="f_beta")

    def work(size: int) -> int:
        expected = [[{"n": [n, k]} for k in range(3)] for n in range(size)]
        text = dumps([[{"n": [n, k + 1]} for k in range(3)] for n in range(size)])
        params.reader.expected(expected)
        return steps(lambda: json(text, params, expected))

    assert work(60) <= 3.5 * work(20)


def test_an_endless_similarity_is_too_expensive(monkeypatch: pytest.MonkeyPatch) -> None:
    expected = {"items": ["x" * 500 + "y" * place for place in range(8)]}
    text = dumps({"items": ["z" + item[1:] for item in expected["items"]]})
    params = JsonParams(lists="multiset", text="fuzzy", threshold=0.99)
    assert json(text, params, expected).score == 1.0
    monkeypatch.setattr(comparing_module, "MAX_EFFORT", 1_000_000)
    outcome = json(text, params, expected)
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "too_expensive", ("too_expensive",))
    assert json(dumps(expected), params, expected).score == 1.0  # what is equal costs nothing


def test_evidence_is_bounded() -> None:
    expected = {f"k{n}": n for n in range(2000)}
    value = {f"x{n}": n for n in range(2000)}
    outcome = json(dumps(value), JsonParams(content="f_beta"), expected)
    assert len(dumps([outcome.evidence, outcome.extracted])) < 12_000


def test_content_counts_weight_once() -> None:
    scheme = Scheme(Rules(), (), "value", "punish")
    found = content(scheme.node({"a": [1, 2], "b": "x"}), {"a": [1], "b": "x", "c": 0}, 1.0)
    assert (found.precision, found.recall) == (pytest.approx(2 / 3), pytest.approx(2 / 3))


# --- schemas that explode ----------------------------------------------------------------------------------------


def doubling(depth: int, keyword: str = "anyOf") -> dict[str, Any]:
    """A schema that tries one value 2^depth times."""
    defs: dict[str, Any] = {f"a{level}": {keyword: [{"$ref": f"#/$defs/a{level + 1}"}] * 2} for level in range(depth)}
    return {"$defs": {**defs, f"a{depth}": {"type": "integer", "minimum": 10}}, "$ref": "#/$defs/a0"}


@pytest.mark.parametrize("keyword", ["anyOf", "oneOf", "allOf"])
@pytest.mark.parametrize("where", [lambda schema: schema, lambda schema: {**schema, "$ref": "#/$defs/in"}])
async def test_a_schema_that_explodes_is_the_references_fault(keyword: str, where: Any) -> None:
    schema = where(doubling(40, keyword))
    schema["$defs"]["in"] = {"type": "object", "properties": {"x": {"$ref": "#/$defs/a0"}}}
    for response in ('{"x": 12}', "12", '{"x": "' + "a" * 1000 + '"}', "[" * 30 + "]" * 30):
        outcome = await judged(response, {"schema": schema}, extraction="strict")
        assert (outcome.status, outcome.reason, outcome.fault) == ("undecided", "invalid_reference", "reference")
        assert f"/$defs/a25/{keyword}" in (outcome.feedback or "")
    with pytest.raises(InvalidParams, match="explodes"):
        PLANNER.bind(Use(name="json", params={"schema": schema}))


async def test_a_schema_whose_alternatives_are_many_but_bounded_judges() -> None:
    schema = doubling(14)
    assert (await judged("12", {"schema": schema}, extraction="strict")).score == 1.0
    outcome = await judged("2", {"schema": schema}, extraction="strict")
    assert (outcome.score, outcome.reason, outcome.evidence["invalid"][0]["keyword"]) == (0.0, "invalid", "schema")
    outcome = await judged("2", {"schema": doubling(3)}, extraction="strict")
    assert outcome.evidence["invalid"][0]["keyword"] == "anyOf"


@pytest.mark.parametrize(
    "schema",
    [
        {"$ref": "#"},
        {"$defs": {"a": {"$ref": "#/$defs/b"}, "b": {"$ref": "#/$defs/a"}}, "$ref": "#/$defs/a"},
        {"allOf": [{"$ref": "#"}, {"$ref": "#"}]},
        {"$dynamicAnchor": "x", "anyOf": [{"$dynamicRef": "#x"}, {"$dynamicRef": "#x"}, True]},
        {"$ref": "#/$defs/n", "$defs": {"n": {"type": "object", "properties": {"next": {"$ref": "#/$defs/n"}}}}},
        {"const": {"anyOf": [{"$ref": "#/const"}]}, "not": False, "enum": [{"a": 1}, {"anyOf": 3}]},
        {"properties": {"default": {"type": "integer"}, "a": {"$ref": "#/properties/default"}}},
    ],
)
async def test_a_schema_that_refers_to_itself_ends(schema: dict[str, Any]) -> None:
    assert (await judged('{"a": 1}', {"schema": schema})).status == "scored"


def test_evaluations_are_counted_through_references_of_every_kind() -> None:
    def count(schema: Any, schemas: Any = None) -> int:
        return branching(schema, schemas or {}, MAX_EVALUATIONS).evaluations

    assert count({"type": "integer"}) == 1
    assert count({"properties": {"a": {"anyOf": [{}, {}]}}}) == 3
    assert count({"if": {}, "then": {}, "else": {"not": {}}, "dependentSchemas": {"a": {}}}) == 6
    assert count({"$anchor": "x", "properties": {"a": {"allOf": [{"$ref": "#x"}, {"$ref": "#x"}]}}}) == 5
    assert count({"$defs": {"a/b": {"not": {}}}, "allOf": [{"$ref": "#/$defs/a~1b"}] * 2}) == 7
    other = {"http://x/y": {"$defs": {"a": {"not": {}}}, "$ref": "#/$defs/a"}}
    assert count({"anyOf": [{"$ref": "http://x/y"}] * 3}, other) == 13
    assert count({"$ref": "#/$defs/none", "anyOf": 3, "not": 3}) == count(True) == 1
    for name in ("const", "default", "enum", "examples"):  # keywords of values, and as good as any other name
        assert count({"properties": {name: {"not": {}}, "a": {"$ref": f"#/properties/{name}"}}}) == 3
    assert count({"$ref": "#/examples/0", "examples": [{"not": {}}]}) == 3
    chain: dict[str, Any] = {f"a{n}": {"$ref": f"#/$defs/a{n + 1}"} for n in range(5000)}
    assert count({"$defs": chain, "$ref": "#/$defs/a0"}) == 5001


@pytest.mark.needs_server
async def test_who_is_to_blame_for_a_validation_without_end() -> None:
    """A long answer of its own choice is the policy's; an expected value on which the schema does not end is not."""
    use = Use(name="json", params={"extraction": "strict"})
    schema = doubling(14)
    del schema["$ref"]
    schema |= {"type": "array", "items": {"not": {"$ref": "#/$defs/a0"}}}
    long = [place % 10 for place in range(10_000)]
    mine = Sample(response=dumps(long), reference={"schema": schema})
    honest = Sample(response="[1, 2]", reference={"schema": schema})
    broken = Sample(response="[1, 2]", reference={"schema": schema, "expected": long})
    engine = Engine(settings=EngineSettings(workers=1, item_cpu_s=0.3))
    await engine.start()
    try:
        verdicts = (await engine.verify(Batch(samples=[mine, honest, broken], use=use))).verdicts
    finally:
        await engine.close()
    assert [(one.status, one.score, one.reason, one.fault) for one in verdicts] == [
        ("scored", 0.0, "too_expensive", "policy"),
        ("scored", 1.0, None, None),
        ("undecided", None, "reference_too_expensive", "reference"),
    ]
