"""`tool_calls`: calls read in every shape, and compared with the calls that are right."""

from __future__ import annotations

import ast
import json
import random
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, Use
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.structure.json.strict import Malformed
from rewarden_verifiers.tools.tool_calls.calls import Call
from rewarden_verifiers.tools.tool_calls.golden import MAX_CALLS
from rewarden_verifiers.tools.tool_calls.python import python_calls
from rewarden_verifiers.tools.tool_calls.reading import read
from rewarden_verifiers.tools.tool_calls.verifier import ToolCallsParams, prepare, tool_calls
from tests.verifiers.counting import HOSTILE, steps
from tests.verifiers.direct import outcome_of

PLANNER = Planner(Registry())
dumps = json.dumps

WEATHER = {"name": "weather", "arguments": {"city": "Oslo", "days": 3}}
SEARCH = {"name": "search", "arguments": {"query": "ferries", "filters": {"lang": ["no", "en"]}}}
TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "parameters": {
                "type": "object",
                "properties": {"city": {"type": "string"}, "days": {"type": "integer"}, "metric": {"type": "boolean"}},
                "required": ["city"],
                "additionalProperties": False,
            },
        },
    },
    {
        "name": "search",
        "input_schema": {"type": "dict", "properties": {"query": {"type": "string"}, "filters": {"type": "any"}}},
    },
]


async def judged(response: Any, reference: Any, **params: Any) -> Outcome:
    use = Use(name="tool_calls", params=params)
    return await outcome_of(PLANNER, use, Sample(response=response, reference=reference))


def score(calls: Any, reference: Any, **params: Any) -> float:
    bound: ToolCallsParams = PLANNER.bind(Use(name="tool_calls", params=params)).params
    text = calls if isinstance(calls, str) else dumps(calls)
    outcome = tool_calls(text, prepare(reference, bound), bound)
    assert outcome.score is not None
    return outcome.score


def as_python(calls: Sequence[dict[str, Any]]) -> str:
    written = (
        f"{call['name']}({', '.join(f'{name}={value!r}' for name, value in call['arguments'].items())})"
        for call in calls
    )
    return f"[{', '.join(written)}]"


def as_parameters(calls: Sequence[dict[str, Any]], opening: str, name: str, closing: str) -> str:
    return "\n".join(
        opening.format(call["name"])
        + "".join(
            name.format(key) + (value if isinstance(value, str) else dumps(value)) + "</parameter>\n"
            for key, value in call["arguments"].items()
        )
        + closing
        for call in calls
    )


SHAPES = {
    "whole": lambda calls: dumps(calls),
    "fence": lambda calls: f"I will do this:\n```json\n{dumps(calls, indent=2)}\n```",
    "unnamed fence": lambda calls: f"```\n{dumps(calls)}\n```",
    "tool and parameters": lambda calls: dumps([{"tool": c["name"], "parameters": c["arguments"]} for c in calls]),
    "input": lambda calls: dumps([{"type": "tool_use", "name": c["name"], "input": c["arguments"]} for c in calls]),
    "openai": lambda calls: dumps(
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "x", "type": "function", "function": {**call, "arguments": dumps(call["arguments"])}}
                for call in calls
            ],
        }
    ),
    "mistral": lambda calls: "[TOOL_CALLS] " + dumps(calls),
    "python": as_python,
    "python in a fence": lambda calls: f"```tool_code\n{as_python(calls)}\n```",
    "python by line": lambda calls: "\n".join(as_python([call])[1:-1] for call in calls),
    "tags": lambda calls: "\n".join(f"<tool_call>\n{dumps(call)}\n</tool_call>" for call in calls),
    "one tag": lambda calls: "<tool_call>\n" + "\n".join(map(dumps, calls)) + "\n</tool_call>",
    "a list in a tag": lambda calls: f"Calling.<tool_call>{dumps(calls)}</tool_call>",
    "function and parameter": lambda calls: as_parameters(calls, "<function={}>\n", "<parameter={}>", "</function>"),
    "qwen coder": lambda calls: as_parameters(
        calls, "<tool_call>\n<function={}>\n", "<parameter={}>\n", "</function>\n</tool_call>"
    ),
    "invoke": lambda calls: as_parameters(calls, '<invoke name="{}">', '<parameter name="{}">', "</invoke>"),
    "function with JSON": lambda calls: "".join(
        f"<function={call['name']}>{dumps(call['arguments'])}</function>" for call in calls
    ),
}


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("calls", [[WEATHER], [WEATHER, SEARCH], [SEARCH, SEARCH]])
async def test_every_shape_is_read_and_may_be_the_reference(shape: str, calls: list[dict[str, Any]]) -> None:
    text = SHAPES[shape](calls)
    outcome = await judged(text, calls)
    assert (outcome.score, outcome.passed, outcome.evidence["calls"]) == (1.0, True, len(calls))
    assert (await judged(dumps(calls), text, coerce=True)).score == (0.0 if "filters" in text and _bare(shape) else 1.0)
    assert (await judged(text, [*calls, {"name": "stop", "arguments": {}}])).score == 0.0
    assert (await judged(text, [])).reason == "unwanted_call"
    accepted = {"python": "python", "tags": "xml", "whole": "json"}.get(shape)
    if accepted is not None:
        assert (await judged(text, calls, shapes=[accepted])).score == 1.0
        others = [other for other in ("json", "python", "xml") if other != accepted]
        assert (await judged(text, calls, shapes=others)).reason == "wrong_shape"


def _bare(shape: str) -> bool:
    """Returns whether a shape writes arguments as bare text, which as a reference is text."""
    return shape in ("function and parameter", "qwen coder", "invoke")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"name": "f", "arguments": {', "malformed"),
        ('{"name": "f", "arguments": [1]}', "malformed_call"),
        ('{"name": "f", "arguments": "[1]"}', "malformed_call"),
        ('{"name": "f", "arguments": "{broken"}', "malformed"),
        ('{"name": " ", "arguments": {}}', "malformed_call"),
        ('{"name": "f", "tool": "g", "arguments": {}}', "malformed_call"),
        ('{"name": "f", "arguments": {}, "input": {}}', "malformed_call"),
        ('[{"name": "f", "arguments": {}}, 3]', "malformed_call"),
        ('{"name": "f", "arguments": {"a": 1, "a": 2}}', "duplicate_key"),
        ('{"name": "f", "arguments": {"a": NaN}}', "not_a_number"),
        ('{"name": "f", "arguments": "{\\"a\\": 1, \\"a\\": 2}"}', "duplicate_key"),
        ("<tool_call></tool_call>", "malformed_call"),
        ("<tool_call>hello there</tool_call>", "malformed_call"),
        ("<tool_call>[1]</tool_call>", "malformed_call"),
        ('<tool_call>{"name": "f"}', "unclosed_tag"),
        ("<function=f><parameter=a>1", "unclosed_tag"),
        ("<function=f><parameter=a>1</parameter>", "unclosed_tag"),
        ("<function=f><parameter=a>1</parameter><parameter=a>2</parameter></function>", "duplicate_key"),
        ("<function=>", "malformed_call"),
        ("<invoke tool='f'>", "malformed_call"),
        ("f(a=1, a=2)", "duplicate_key"),
        ("[f(a=g())]", "malformed_call"),
        ("[f(a=x)]", "malformed_call"),
        ("[f(a=1 + 2)]", "malformed_call"),
        ("[f(a=[y for y in (1, 2)])]", "malformed_call"),
        ("[f(a=lambda: 1)]", "malformed_call"),
        ("[f(**{'a': 1})]", "malformed_call"),
        ("[f(*[1])]", "malformed_call"),
        ("[f(a={'k': 1, 'k': 2})]", "duplicate_key"),
        ("[f(a={1: 2})]", "malformed_call"),
        ("[f(a=1e999)]", "malformed_call"),
        ("[f(a=0x" + "f" * 1000 + ")]", "huge_number"),
        ("[f(a='\\ud800')]", "lone_surrogate"),
        ("[f(a=f'{1}')]", "malformed_call"),
        ("[f(a=b'x')]", "malformed_call"),
        ("[f(a={1, 2})]", "malformed_call"),
        ("[f()(1)]", "malformed_call"),
        ("[f(a=" + "[" * 100 + "]" * 100 + ")]", "too_deep"),
        ("[f(a=" + "-" * 90_000 + "1)]", "malformed"),
        ("f(a='" + "x" * 100_000 + "')", "too_long"),
    ],
)
def test_what_is_no_whole_call(text: str, reason: str) -> None:
    with pytest.raises(Malformed) as caught:
        read(text)
    assert caught.value.reason == reason


@pytest.mark.parametrize(
    "text",
    [
        "No tool fits.",
        "I would call weather(city='Oslo').",
        "weather(city) gives the weather",
        '{"answer": 42}',
        '{"name": "Ada", "born": 1815}',
        "[1] says so, and (2) too]",
        "[Note] nothing to call.",
        "```python\nprint('hi')\n```\nprints hi",
        '```json\n{"temperature": 20}\n```',
        "a < b and <b>bold</b>",
    ],
)
async def test_what_is_no_call(text: str) -> None:
    assert read(text).calls == []
    assert (await judged(text, [])).score == 1.0
    assert (await judged(text, WEATHER)).reason == "no_call"


@pytest.mark.parametrize("text", ["", "  \n", "...", "```\n```"])
async def test_silence_earns_nothing(text: str) -> None:
    for reference in ([], WEATHER):
        outcome = await judged(text, reference)
        assert (outcome.score, outcome.reason) == (0.0, "no_answer")


@pytest.mark.parametrize(
    "quotation",
    ["`{}`", "```\n{}\n```", "Write: ```xml\n{}\n```", "```xml\n{}\n```", "> {}", "~~~\n{}", "Use ```{}``` so"],
)
async def test_a_quotation_is_no_call_and_no_abstaining(quotation: str) -> None:
    text = "For example:\n" + quotation.format(f"<tool_call>{dumps(WEATHER)}</tool_call>")
    assert (await judged(text, WEATHER)).reason == "no_call"
    assert (await judged(text, [])).reason == "quoted_call"
    if not text.startswith("For example:\n~~~"):  # which never ends
        # A server that knows no quotations runs both: beside a call a whole one that is quoted counts.
        beside = f"{text}\n\n<tool_call>{dumps(SEARCH)}</tool_call>"
        for reference in (SEARCH, WEATHER):
            assert (await judged(beside, reference)).reason == "wrong"
        mark = "For example:\n" + quotation.format("<tool_call>")
        assert (await judged(f"{mark}\n\n<tool_call>{dumps(SEARCH)}</tool_call>", SEARCH)).score == 1.0


async def test_the_thought_is_not_seen() -> None:
    call = f"<tool_call>{dumps(WEATHER)}</tool_call>"
    assert (await judged(f"<think>{call}</think>Done.", WEATHER)).reason == "no_call"
    assert (await judged(f"<think>{call}</think>Nothing fits.", [])).score == 1.0
    assert (await judged(f"<think>{call}", WEATHER)).reason == "unclosed_thought"


LITERALS = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**12), 10**12)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(alphabet=st.characters(exclude_categories=("Cs",)), max_size=6),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=150)
@given(st.dictionaries(st.sampled_from(["a", "b", "c"]), LITERALS, max_size=3))
def test_python_literals_are_those_of_the_standard_library(arguments: dict[str, Any]) -> None:
    text = "f(" + ", ".join(f"{name}={value!r}" for name, value in arguments.items()) + ")"
    (call,) = python_calls(text)
    assert call.arguments == {name: ast.literal_eval(repr(value)) for name, value in arguments.items()}
    assert repr(call.arguments) == repr(arguments)


# --- references --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "good", "bad"),
    [
        (
            [{"book": {"city": ["New York", "NYC"], "nights": [2], "meal": ["", "all"]}}],
            ["book(city='NYC', nights=2)", "book(nights=2.0, city='New York', meal='all')"],
            ["book(city='LA', nights=2)", "book(city='NYC')", "book(city='NYC', nights=2, meal='none')"],
        ),
        (
            [{"book": {"guest": [{"first": ["Ada"], "last": ["Byron", "Lovelace"], "title": ["", "Lady"]}]}}],
            ["book(guest={'first': 'Ada', 'last': 'Lovelace'})"],
            ["book(guest={'first': 'Ada'})", "book(guest={'first': 'Ada', 'last': 'Byron', 'title': 'Sir'})"],
        ),
        (
            [{"move": {"steps": [[{"x": [1, 2]}, {"x": [3]}]], "plain": [[1, 2]]}}],
            ["move(steps=[{'x': 2}, {'x': 3}], plain=[1, 2])"],
            ["move(steps=[{'x': 3}, {'x': 2}], plain=[1, 2])", "move(steps=[{'x': 1}, {'x': 3}], plain=[2, 1])"],
        ),
        (
            {"name": "f", "arguments": {"a": 1}, "allowed": {"a": [2], "b": [5]}, "optional": ["b", "c"]},
            ["f(a=1)", "f(a=2, b=5)", "f(a=1, c='anything')"],
            ["f(a=3)", "f(b=5)", "f(a=1, b=6)", "f(a=1, d=0)"],
        ),
        ({"calls": [WEATHER]}, ["weather(city='Oslo', days=3)"], ["weather(city='Oslo')"]),
        (
            {"alternatives": [[WEATHER], [SEARCH, SEARCH], []]},
            ["weather(city='Oslo', days=3)", as_python([SEARCH, SEARCH]), "None of these fits."],
            [as_python([SEARCH]), as_python([WEATHER, SEARCH])],
        ),
        ("[f(a=1), g()]", ["[g(), f(a=1)]"], ["f(a=1)"]),
        (["f(a=1)", {"name": "g", "arguments": {}}], ["[g(), f(a=1)]"], ["[g()]"]),
        ("[]", ["No."], ["f()"]),
    ],
)
async def test_forms_of_the_reference(reference: Any, good: list[str], bad: list[str]) -> None:
    for text in good:
        assert (await judged(text, reference)).score == 1.0, text
    for text in bad:
        assert (await judged(text, reference)).score == 0.0, text


@pytest.mark.parametrize(
    ("reference", "params"),
    [
        ("no call", {}),
        ("{broken", {}),
        ([3], {}),
        ({}, {}),
        ({"name": "f", "arguments": [1]}, {}),
        ({"calls": [], "alternatives": [[]]}, {}),
        ({"alternatives": []}, {}),
        ({"tools": []}, {}),
        ({"calls": [WEATHER], "tools": [{"nome": "f"}]}, {}),
        ({"calls": [WEATHER], "tools": [{"name": "f"}]}, {}),
        ([{"f": {"a": 3}}], {}),
        ([{"f": {"a": []}}], {}),
        ({"name": "f", "arguments": {}, "allowed": {"a": 1}}, {}),
        ({"name": "f", "arguments": {}, "optional": "a"}, {}),
        ([WEATHER] * (MAX_CALLS + 1), {}),
        ({"name": "weather", "arguments": {"city": 5}}, {"tools": TOOLS}),
        ({"name": "f", "arguments": {"a": float("nan")}}, {}),
        (None, {}),
    ],
)
async def test_bad_references_are_undecided(reference: Any, params: dict[str, Any]) -> None:
    outcome = await judged("f(a=1)", reference, **params)
    assert (outcome.score, outcome.fault) == (None, "reference")


# --- definitions -------------------------------------------------------------------------------------------------


async def test_definitions_name_type_and_validate_arguments() -> None:
    assert (await judged("weather('Oslo', 3)", WEATHER, tools=TOOLS)).score == 1.0
    assert (await judged("weather('Oslo', days=3)", WEATHER)).score == 1.0  # in the order of the reference
    assert (await judged("weather(3, 'Oslo')", WEATHER, tools=TOOLS)).score == 0.0
    assert (await judged("weather('Oslo', 3, True, 4)", WEATHER, tools=TOOLS)).score == 0.0
    assert (await judged("weather('Oslo', 3, city='Oslo')", WEATHER)).score == 0.0
    typed = "<function=weather><parameter=city>Oslo</parameter><parameter=days>3</parameter></function>"
    assert (await judged(typed, WEATHER, tools=TOOLS)).score == 1.0
    refused = await judged("weather(city='Oslo', days=3, metric='yes')", WEATHER, tools=TOOLS, credit="levels")
    assert refused.evidence["invalid"] == ["weather: invalid_arguments"]
    assert refused.evidence["values"] == 0.0
    unknown = await judged("climate(city='Oslo', days=3)", WEATHER, tools=TOOLS, credit="levels")
    assert (unknown.score, unknown.evidence["invalid"]) == (0.0, ["climate: unknown_tool"])
    own = {"calls": [WEATHER], "tools": TOOLS}
    assert (await judged("weather('Oslo', 3)", own)).score == 1.0


def test_a_bare_text_is_what_its_parameter_is() -> None:
    text = "<function=f><parameter=a>5</parameter></function>"
    for kind, value in (("string", "5"), ("integer", 5), ("number", 5.0)):
        tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": {"type": kind}}}}]
        assert score(text, {"name": "f", "arguments": {"a": value}}, tools=tools) == 1.0
    assert score(text, {"name": "f", "arguments": {"a": "5"}}) == 1.0
    assert score(text, {"name": "f", "arguments": {"a": 5}}) == 1.0
    assert score(text, {"name": "f", "arguments": {"a": [5]}}) == 0.0


@pytest.mark.parametrize(
    "params",
    [
        {"shapes": []},
        {"shapes": ["yaml"]},
        {"weights": {"name": -1}},
        {"weights": {"name": 0, "arguments": 0, "values": 0}},
        {"weights": {"names": 1}},
        {"tools": [{"parameters": {}}]},
        {"tools": [{"name": "f"}, {"name": "f"}]},
        {"tools": [{"name": "f", "parameters": {"type": "objekt"}}]},
        {"tools": [{"name": "f", "parameters": {"$ref": "http://127.0.0.1:9/x"}}]},
        {"fields": [{"path": "a..b"}]},
        {"pass_at": 2},
        {"credit": "some"},
    ],
)
def test_wrong_parameters_are_told(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="tool_calls", params=params))


# --- matching ----------------------------------------------------------------------------------------------------


def by_hand(golds: list[dict[str, Any]], calls: list[dict[str, Any]]) -> float:
    """ToolRL's share of points (arXiv 2504.13958, section 3.3), with names as a multiset, written down naively: the
    best over all ways of pairing."""
    names, given = [gold["name"] for gold in golds], [call["name"] for call in calls]
    shared = 0
    rest = list(given)
    for name in names:
        if name in rest:
            rest.remove(name)
            shared += 1
    most = 1 + len(golds) + sum(len(gold["arguments"]) for gold in golds)

    def best(left: list[dict[str, Any]], over: list[dict[str, Any]]) -> float:
        if not left:
            return 0.0
        gold, others = left[0], left[1:]
        found = best(others, over)
        for place, call in enumerate(over):
            if call["name"] == gold["name"]:
                keys, other = set(gold["arguments"]), set(call["arguments"])
                jaccard = len(keys & other) / len(keys | other) if keys | other else 1.0
                equal = sum(gold["arguments"][key] == call["arguments"][key] for key in keys & other)
                found = max(found, jaccard + equal + best(others, over[:place] + over[place + 1 :]))
        return found

    return (shared / (len(names) + len(given) - shared) + best(golds, calls)) / most


CALLS = st.lists(
    st.fixed_dictionaries(
        {
            "name": st.sampled_from(["f", "g"]),
            "arguments": st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers(1, 3), max_size=3),
        }
    ),
    min_size=1,
    max_size=4,
)


@settings(max_examples=200)
@given(CALLS, CALLS)
def test_points_are_toolrls(golds: list[dict[str, Any]], calls: list[dict[str, Any]]) -> None:
    assert score(calls, golds, credit="levels", extra="names") == pytest.approx(by_hand(golds, calls))


@settings(max_examples=150)
@given(CALLS, CALLS, st.sampled_from(["penalise", "names", "ignore"]), st.sampled_from(["set", "ordered"]))
def test_the_three_credits_agree_on_full_marks(
    golds: list[dict[str, Any]], calls: list[dict[str, Any]], extra: str, order: str
) -> None:
    scores = [score(calls, golds, credit=credit, extra=extra, order=order) for credit in ("all", "calls", "levels")]
    assert scores[0] in (0.0, 1.0)
    assert len({one == 1.0 for one in scores}) == 1
    assert scores[0] <= scores[1] <= 1.0
    assert 0.0 <= scores[2] <= 1.0


@settings(max_examples=100)
@given(CALLS, st.randoms(use_true_random=False))
def test_order_matters_only_where_it_is_asked_for(golds: list[dict[str, Any]], rng: random.Random) -> None:
    mixed = rng.sample(golds, len(golds))
    assert score(mixed, golds) == 1.0
    assert (score(mixed, golds, order="ordered") == 1.0) is (mixed == golds)


@settings(max_examples=100)
@given(CALLS, CALLS, CALLS)
def test_more_calls_never_help_but_by_being_right(golds: Any, calls: Any, more: Any) -> None:
    strange = [{"name": "zz", "arguments": call["arguments"]} for call in more]
    for credit in ("all", "calls", "levels"):
        assert score(calls + strange, golds, credit=credit) <= score(calls, golds, credit=credit) + 1e-9


@pytest.mark.parametrize("credit", ["all", "calls", "levels"])
def test_duplicates_cost(credit: str) -> None:
    assert score([WEATHER, WEATHER], [WEATHER], credit=credit) < 1.0
    assert score([WEATHER], [WEATHER, WEATHER], credit=credit) < 1.0
    assert score([WEATHER, WEATHER], [WEATHER], credit=credit, extra="ignore") == 1.0


def test_calls_are_paired_so_that_most_is_right() -> None:
    golds = [{"name": "f", "arguments": {"a": 1, "b": 1}}, {"name": "f", "arguments": {"a": 2, "b": 2}}]
    calls = [{"name": "f", "arguments": {"a": 2, "b": 2}}, {"name": "f", "arguments": {"a": 1, "b": 3}}]
    assert score(calls, golds, credit="calls") == 0.5
    assert score(calls, golds, credit="levels") == pytest.approx((1 + 2 + 3) / 7)
    assert score(calls, golds, credit="calls", order="ordered") == 0.5
    assert score(calls, golds, credit="levels", order="ordered") < 6 / 7


async def test_comparers_by_path() -> None:
    fields = [{"path": "*.query", "text": "normal"}, {"path": "search.filters", "lists": "set"}]
    text = "search(query=' Ferries', filters={'lang': ['en', 'no', 'en']})"
    assert (await judged(text, SEARCH, fields=fields)).score == 1.0
    assert (await judged(text, SEARCH)).score == 0.0
    ignored = [{"path": "search.filters", "ignore": True}]
    assert (await judged("search(query='ferries')", SEARCH, fields=ignored)).score == 1.0
    assert (await judged("search(query='ferries', filters=5)", SEARCH, fields=ignored)).score == 1.0


def test_weights() -> None:
    call = {"name": "weather", "arguments": {"city": "Bergen", "days": 3}}
    for weights, share in (((1, 1, 1), 0.75), ((1, 0, 0), 1.0), ((0, 1, 0), 1.0), ((0, 0, 1), 0.5), ((2, 1, 1), 0.8)):
        named = dict(zip(("name", "arguments", "values"), weights, strict=True))
        assert score(call, WEATHER, credit="levels", weights=named) == pytest.approx(share)


def test_too_many_calls() -> None:
    for extra in ("penalise", "ignore"):
        calls = [WEATHER] * (MAX_CALLS + 1)
        assert score(calls, [WEATHER], extra=extra, credit="levels") == 0.0


# --- no text harms -----------------------------------------------------------------------------------------------

PIECES = (
    "<tool_call>",
    "</tool_call>",
    dumps(WEATHER),
    f"<tool_call>{dumps(WEATHER)}</tool_call>",
    "<function=f>",
    "</function>",
    "<parameter=a>",
    "</parameter>",
    '<invoke name="f">',
    "</invoke>",
    "weather(city='Oslo', days=3)",
    "f(",
    ")",
    "[",
    "]",
    ", ",
    "`",
    "```\n",
    "```json\n",
    "\n> ",
    "~~~",
    '{"name": "f", "arguments": ',
    "[TOOL_CALLS]",
    "'",
    '"',
    "-",
    "a=",
)
PARAMS = (
    ToolCallsParams(),
    ToolCallsParams(credit="levels", order="ordered", extra="names", values="partial", text="similarity", dots=True),
)
PREPARED = [(params, prepare(reference, params)) for params in PARAMS for reference in ([WEATHER, SEARCH], [])]


@settings(max_examples=400)
@given(st.text() | st.lists(st.sampled_from([*PIECES, *HOSTILE])).map("".join))
def test_no_text_raises_and_every_outcome_is_a_score(text: str) -> None:
    for params, prepared in PREPARED:
        outcome = tool_calls(text, prepared, params)
        assert outcome.score is not None
        assert 0.0 <= outcome.score <= 1.0
        assert outcome.score < 1.0 or outcome.passed
        dumps([outcome.evidence, outcome.extracted], allow_nan=False)


@pytest.mark.parametrize("piece", [*PIECES, *HOSTILE, "f()\n", "a.", "<function=f></function>", "` ", "``` ", "x\n"])
def test_the_work_grows_no_faster_than_the_text(piece: str) -> None:
    params, prepared = PREPARED[2]
    tool_calls(piece, prepared, params)
    small, middle, large = (steps(lambda n=n: tool_calls(piece * n, prepared, params)) for n in (80, 240, 720))
    assert middle <= 3.5 * small + 3000
    assert large <= 3.5 * middle + 3000


def test_the_largest_match_is_bounded() -> None:
    def work(number: int) -> int:
        golds = [{"name": "f", "arguments": {"a": n, "b": 0}} for n in range(number)]
        calls = dumps([{"name": "f", "arguments": {"a": n + 1, "b": 1}} for n in range(number)])
        params = ToolCallsParams(credit="levels")
        prepared = prepare(golds, params)
        return steps(lambda: tool_calls(calls, prepared, params))

    assert work(24) <= 30 * work(8)  # the cube, up to MAX_CALLS


def test_what_is_shown_is_bounded() -> None:
    params = ToolCallsParams()
    text = dumps([{"name": "n" * 200, "arguments": {f"k{n}": "x" * 100 for n in range(300)}}] * 60)
    outcome = tool_calls(text, prepare([WEATHER], params), params)
    assert len(dumps([outcome.evidence, outcome.extracted])) < 25_000


def test_a_call_is_plain() -> None:
    assert Call("f").arguments == {}
