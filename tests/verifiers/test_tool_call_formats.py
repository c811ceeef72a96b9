"""The formats in which model families write calls: each is read whole, and none is for free."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rewarden.types import Outcome
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.outcome import wrong
from rewarden_verifiers.tools.tool_calls.formats import FORMATS, NAMES, UNMARKED
from rewarden_verifiers.tools.tool_calls.verifier import ToolCallsParams, prepare, tool_calls
from rewarden_verifiers.view import View, apply_view
from tests.verifiers.counting import steps
from tests.verifiers.native_calls import NATIVE, SEARCHES

WEATHER: dict[str, Any] = {"name": "weather", "arguments": {"city": "Oslo", "days": 3}}
SEARCH: dict[str, Any] = {"name": "search", "arguments": {"query": "ferries", "filters": {"lang": ["no", "en"]}}}
QUERY: dict[str, Any] = {"name": "search", "arguments": {"query": "weather in Oslo"}}
ARGUMENTLESS: dict[str, Any] = {"name": "stop_all", "arguments": {}}


def judged(text: str, reference: Any, **params: Any) -> Outcome:
    made = ToolCallsParams(**params)
    viewed = apply_view(text, View(calls=True))
    return wrong(str(viewed.reason)) if viewed.text is None else tool_calls(viewed.text, prepare(reference, made), made)


def used(text: str) -> set[str]:
    return set(judged(text, WEATHER).evidence["formats"])


@pytest.mark.parametrize("form", NATIVE)
def test_a_native_call_is_read(form: str) -> None:
    write = NATIVE[form]
    for calls in ([WEATHER], [WEATHER, SEARCH], [SEARCH, SEARCH]):
        outcome = judged(write(calls), calls)
        assert (outcome.score, outcome.evidence["calls"]) == (1.0, len(calls)), outcome
        assert judged(write(calls), []).score == 0.0
    assert judged(write([WEATHER]), [WEATHER, SEARCH]).score == 0.0
    assert judged(write([WEATHER, SEARCH]), [WEATHER]).score == 0.0


@pytest.mark.parametrize("form", NATIVE)
def test_a_native_call_that_is_wrong_is_not_paid(form: str) -> None:
    write = NATIVE[form]
    for other in (
        {"name": "climate", "arguments": WEATHER["arguments"]},
        {"name": "weather", "arguments": {"city": "Bergen", "days": 3}},
        {"name": "weather", "arguments": {"city": "Oslo", "days": 4}},
        {"name": "weather", "arguments": {"city": "Oslo"}},
        {"name": "weather", "arguments": {"town": "Oslo", "days": 3}},
    ):
        outcome = judged(write([other]), WEATHER)
        assert (outcome.score, outcome.reason) == (0.0, "wrong")


@pytest.mark.parametrize("form", NATIVE)
def test_a_native_call_that_is_cut_off_is_not_paid(form: str) -> None:
    text = NATIVE[form]([WEATHER])
    for place in range(len(text)):
        if judged(text[:place], WEATHER).score == 1.0:
            assert not any(sign in text[place:] for sign in ("Oslo", "3", "}", ")", "city", "days", "weather"))


@pytest.mark.parametrize("form", NATIVE)
def test_a_native_call_within_a_text_of_another_is_text(form: str) -> None:
    inner = apply_view(NATIVE[form]([SEARCH])).text  # which drops ends of turn, wherever they stand
    call = {"name": "note", "arguments": {"text": inner}}
    text = f"<tool_call>{json.dumps(call)}</tool_call>"
    assert judged(text, call).score == 1.0
    assert judged(text, SEARCH).score == 0.0


@pytest.mark.parametrize("form", NATIVE)
@pytest.mark.parametrize(("opening", "closing"), [("<think>", "</think>"), ("[THINK]", "[/THINK]")])
def test_a_native_call_in_a_thought_is_none(form: str, opening: str, closing: str) -> None:
    call = NATIVE[form]([WEATHER]).removeprefix("<think>\n\n</think>")
    thought = f"Well.\n{opening}{call}{closing}\nNo tool fits."
    assert judged(thought, WEATHER).reason == "no_call"
    assert judged(thought, []).score == 1.0


@pytest.mark.parametrize("form", NATIVE)
def test_what_two_formats_say_counts_together(form: str) -> None:
    other = f"<tool_call>{json.dumps(SEARCH)}</tool_call>"
    native = NATIVE[form]([WEATHER])
    for text in (f"{native}\n{other}", f"{other}\n{native}"):
        for reference in (WEATHER, SEARCH):
            assert judged(text, reference).score == 0.0


HARD: tuple[dict[str, Any], ...] = (
    {"name": "send_note", "arguments": {"text": 'He said "5 < 6" & left;\nit\'s {x: [1]} \\ so', "title": "<b>|</b>"}},
    {"name": "send_note", "arguments": {"text": "Größe 東京 «да» 🌧", "title": "日本"}},
    {"name": "open_door", "arguments": {"code": "0042", "floor": "3"}},
    {"name": "set_lamp", "arguments": {"on": True, "dimmed": False, "colour": None}},
    {"name": "move_by", "arguments": {"x": -1.5, "y": 1e-07, "n": 0}},
    {"name": "plan", "arguments": {"stops": [{"at": "Ålesund", "open": True}, {"at": None}], "more": {"rate": 0.5}}},
    {"name": "send_note", "arguments": {"text": '{"a": [1, true]}', "title": "null"}},
    {"name": "find_ferry", "arguments": {"from": "Oslo", "to": "Kiel"}},
)
"""Calls whose values are not read as they stand by a reader that guesses."""


@pytest.mark.parametrize("form", NATIVE)
@pytest.mark.parametrize("call", HARD)
def test_what_a_native_call_says_is_read_as_it_was_meant(form: str, call: dict[str, Any]) -> None:
    text = NATIVE[form]([call])
    assert judged(text, call).score == 1.0
    assert judged(text, []).score == 0.0
    for key in call["arguments"]:
        other = {"name": call["name"], "arguments": {**call["arguments"], key: "Stavanger"}}
        assert judged(NATIVE[form]([other]), call).score == 0.0


def test_each_format_has_a_text() -> None:
    texts = [write([WEATHER]) for write in NATIVE.values()]
    known = set().union(*map(used, texts))
    known |= {name for form in SEARCHES.values() for name in judged(form.format("x"), QUERY).evidence["formats"]}
    assert known == NAMES
    assert len(NAMES) == len(FORMATS) + len(UNMARKED)


def test_the_marks_of_formats_are_harmless_to_judges() -> None:
    """A mark that begins a native call may also forge a turn; words of agents and HTML tags are not marks."""
    plain = {"react", "react_paper", "functionary_3", "hyperclova_x", "search_r1", "qwen_2_5_coder", "minicpm_5"}
    for name, write in NATIVE.items():
        for row in FORMATS:
            text = write([WEATHER])
            if row.name in used(text) - plain:
                assert harmless(text).changed >= 1, name


@pytest.mark.parametrize("form", SEARCHES)
def test_a_search_as_text_is_the_first_argument(form: str) -> None:
    text = SEARCHES[form].format("weather in Oslo")
    assert judged(text, QUERY).score == 1.0
    assert judged(text, {"name": "search", "arguments": {"query": "weather in Bergen"}}).score == 0.0
    assert judged(text, []).score == 0.0
    assert judged(SEARCHES[form].format(""), QUERY).score == 0.0


@pytest.mark.parametrize("form", ["glm_4_5", "kimi_k2", "gpt_oss", "gemma_4", "deepseek_v3_2", "minimax_m2"])
def test_a_call_may_have_no_arguments(form: str) -> None:
    assert judged(NATIVE[form]([ARGUMENTLESS]), ARGUMENTLESS).score == 1.0


def test_a_policy_may_be_held_to_its_own_format() -> None:
    for form in ("kimi_k2", "glm_4_5", "gpt_oss", "hermes"):
        text = NATIVE[form]([WEATHER])
        assert judged(text, WEATHER, shapes=(form,)).score == 1.0
        assert judged(text, WEATHER, shapes=("mistral_v11",)).reason == "wrong_shape"
    assert judged(NATIVE["kimi_k2"]([WEATHER]), WEATHER, shapes=("native",)).score == 1.0
    assert judged(NATIVE["nemotron"]([WEATHER]), WEATHER, shapes=("json",)).score == 1.0


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('<｜tool▁call▁begin｜>f<｜tool▁sep｜>{"a": 1, "a": 2}<｜tool▁call▁end｜>', "duplicate_key"),
        ('<｜tool▁call▁begin｜>f<｜tool▁sep｜>"{}"<｜tool▁call▁end｜>', "malformed_call"),
        (
            "<tool_call>f<arg_key>a</arg_key><arg_value>1</arg_value><arg_key>a</arg_key><arg_value>2</arg_value></tool_call>",
            "duplicate_key",
        ),
        ("<|tool_call>call:f{a:1,a:2}<tool_call|>", "duplicate_key"),
        ("<|tool_call>call:f{a:" + "[" * 100 + "]" * 100 + "}<tool_call|>", "too_deep"),
        ("<|tool_call_begin|>f<|tool_call_end|>", "malformed_call"),
        ("[TOOL_CALLS]", "malformed_call"),
        ('[TOOL_CALLS]f[ARGS]{"a": 1} and so on', "trailing_text"),
        ('<|channel|>commentary to=functions.f<|message|>{"a": 1} and so on', "trailing_text"),
        ('<|channel|>commentary to=functions.f {"a": 1}', "malformed_call"),
        ("<|python_tag|>import os; os.listdir()", "malformed_call"),
        ("<search></search>", "malformed_call"),
        ("<search>weather", "unclosed_tag"),
        ('Well. [THINK] so\n[TOOL_CALLS]f[ARGS]{"a": 1}', "unclosed_thought"),
        ('Action: f\nAction Input: {"a": 1} and so on', "trailing_text"),
        ('weather\n{"city": "Os', "malformed"),
    ],
)
def test_a_native_call_that_cannot_be_read_is_wrong_whatever_is_asked(text: str, reason: str) -> None:
    for reference in ([], {"name": "f", "arguments": {"a": 1}}):
        outcome = judged(text, reference)
        assert (outcome.score, outcome.reason, outcome.flags) == (0.0, reason, ("malformed",))


@pytest.mark.parametrize(
    "text",
    [
        "[weather(city='Oslo', days=3",
        "Let me see.\n<tool_call",
        "Let me see. <|tool_calls_section_be",
        "Action: get_weather",
        "Thought: I must look.\nAction: get_weather\nAction Input",
        "```tool_code\nweather(city='Os",
        " to=functions.weather",
        '<tool name="weather">Oslo</tool>',
        "<action>weather Oslo</action>",
        "<execute_tool>weather(Oslo)</execute_tool>",
        'functions.weather:0{"city": "Oslo"}',
        'weather{"city": "Oslo"}',
        "None fits.\n<|Commands|>: weather(Oslo)<eoc>",
        '{"action": "get_weather", "action_input": "Oslo"}',
    ],
)
def test_text_that_looks_like_any_call_is_no_abstaining(text: str) -> None:
    outcome = judged(text, [])
    assert (outcome.status, outcome.score, outcome.fault) == ("scored", 0.0, "policy")


@pytest.mark.parametrize(
    "text",
    [
        "None of the tools books a table; call the restaurant at noon instead.",
        "Action: call your doctor today.",
        "Action: None\nAction Input: None\nFinal Answer: no tool fits.",
        "Thought: I know this.\nFinal Answer: Oslo is the capital.",
        '{"action": "Final Answer", "action_input": "Oslo is the capital."}',
        'As you asked, a record:\n```json\n{"name": "Ada", "born": 1815, "roles": ["author"]}\n```',
        'A definition:\n```json\n{"type": "function", "function": {"name": "f", "parameters": '
        '{"type": "object", "properties": {"a": {"type": "string"}}}}}\n```',
        "In HTML5:\n```html\n<search>\n  <input name='q'>\n</search>\n```\nNo tool does that.",
        "The `<search>` element of HTML holds controls; no tool is needed.",
        "Use functools.reduce(add, [1, 2]) for that; no tool does it.",
        "See [1] and the list [a, b]; nothing to call.",
        "<div class='tooltip'><b>bold</b></div> is all you need.",
        "In React, `<ActionButton onClick={run}>` calls run.\n```jsx\n<action>x</action>\n```",
        "<|channel|>analysis<|message|>Should I write <|tool_call|>? No.<|end|>"
        "<|start|>assistant<|channel|>final<|message|>No tool fits.<|return|>",
        "<|START_THINKING|>No <|START_ACTION|> here.<|END_THINKING|><|START_RESPONSE|>No tool fits.<|END_RESPONSE|>",
        "<|open|>response<|sep|>No tool fits.<|close|>response<|sep|>",
        ">>> f(1)\n2\nis what Python's prompt shows.",
        "a < b and c > d, so [x] holds",
    ],
)
def test_honest_prose_and_code_are_abstaining(text: str) -> None:
    assert judged(text, []).score == 1.0


@pytest.mark.parametrize(
    "text",
    [
        "<|channel|>analysis<|message|>No tool fits.<|end|>",
        "[THINK]No tool fits.[/THINK]",
        "<|START_THINKING|>No tool fits.<|END_THINKING|>",
    ],
)
def test_a_thought_alone_says_nothing(text: str) -> None:
    assert judged(text, []).reason == "no_answer"


def test_a_call_in_a_fence_beside_a_native_one_counts() -> None:
    native = NATIVE["kimi_k2"]([WEATHER])
    for other in (
        f"```json\n{json.dumps(SEARCH)}\n```",
        f"```\n{NATIVE['hermes']([SEARCH])}\n```",
        f"```tool_code\n{NATIVE['toolace']([SEARCH])}\n```",
        json.dumps(SEARCH),
        f"Then {json.dumps(SEARCH)} follows.",
        NATIVE["toolace"]([SEARCH]),
    ):
        for text in (f"{other}\n{native}", f"{native}\n{other}"):
            assert judged(text, WEATHER).score == 0.0
            assert judged(text, SEARCH).score == 0.0
            assert judged(text, [WEATHER, SEARCH]).score == 1.0
    for honest in (
        "I look it up.",
        "```python\nprint('hi')\n```",
        '```json\n{"a": 1}\n```',
        "The tag is `<tool_call>`.",
    ):
        assert judged(f"{honest}\n{native}", WEATHER).score == 1.0


def test_a_native_call_of_nobody_known_beside_one_that_is_read_is_wrong() -> None:
    text = f"<|Commands|>: Search(ferries)\n{NATIVE['hermes']([WEATHER])}"
    outcome = judged(text, WEATHER)
    assert (outcome.score, outcome.reason, outcome.flags) == (0.0, "unread_call", ("unread_call",))


TOOLS = (
    {
        "name": "f",
        "parameters": {
            "type": "object",
            "properties": {
                "a": {"type": "string"},
                "n": {"type": "integer"},
                "any": {},
                "o": {"type": "object", "properties": {"x": {"type": "integer"}, "y": {"type": "string"}}},
            },
            "required": ["a"],
            "additionalProperties": False,
        },
    },
)


@pytest.mark.parametrize(
    ("reference", "good", "bad"),
    [
        ({"f": {"a": [None, "x"]}}, ["f(a=None)", "f(a='x')"], ["f()", "f(a='')", "f(a=5)"]),
        ({"f": {"a": ["x"], "n": ["", 5]}}, ["f(a='x', n='')", "f(a='x')", "f(a='x', n=5)"], ["f(a='x', n=None)"]),
        ({"f": {"a": [None]}}, ["f(a=None)", "<function=f><parameter=a>null</parameter></function>"], ["f(a='None')"]),
        ({"name": "f", "arguments": {"a": None}}, ["f(a=None)"], ["f(a='')"]),
        (
            {"name": "f", "arguments": {"a": "x", "n": 1}, "allowed": {"n": [None, "one"]}},
            ["f(a='x', n=None)", "f(a='x', n='one')"],
            ["f(a='x', n='two')", "f(a='x')"],
        ),
        (
            {"f": {"a": ["x"], "o": [{"x": [1], "y": [""]}]}},
            ["f(a='x', o={'x': 1})", "f(a='x', o={'x': 1, 'y': ''})"],
            ["f(a='x', o={'y': ''})", "f(a='x', o={'x': 1, 'y': 'z'})", "f(a='x')"],
        ),
        (
            {"name": "f", "arguments": {"a": "x", "o": {"x": 1, "y": "z"}}, "optional": ["o.y"]},
            ["f(a='x', o={'x': 1})", "f(a='x', o={'x': 1, 'y': 'z'})"],
            ["f(a='x', o={'y': 'z'})", "f(a='x', o={'x': 1, 'y': 'q'})", "f(a='x')"],
        ),
    ],
)
def test_what_the_reference_lists_passes_whatever_the_definition_says(
    reference: Any, good: list[str], bad: list[str]
) -> None:
    for text in good:
        assert judged(text, reference, tools=TOOLS).score == 1.0, text
        if "parameter" not in text:
            assert judged(text, reference).score == 1.0, text
    for text in bad:
        assert judged(text, reference, tools=TOOLS).score == 0.0, text


def test_bare_text_without_a_type_is_valid_as_either() -> None:
    for value in (5, "5"):
        reference = {"name": "f", "arguments": {"a": "x", "any": value}}
        text = "<function=f><parameter=a>x</parameter><parameter=any>5</parameter></function>"
        assert judged(text, reference, tools=TOOLS).score == 1.0


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("None", None),
        ("True", True),
        ("{'at': ['Bergen', None], 'open': True}", {"at": ["Bergen", None], "open": True}),
        ("[{'at': 'Bergen'}]", [{"at": "Bergen"}]),
    ],
)
def test_bare_text_may_be_a_value_as_python_writes_it(written: str, meant: Any) -> None:
    text = f"<function=f><parameter=a>{written}</parameter></function>"
    for value in (meant, written):  # without a definition it may be the text too
        assert judged(text, {"name": "f", "arguments": {"a": value}}).score == 1.0
    for value in (0, "", {"at": ["Bergen", False], "open": True}, [{"at": "Oslo"}]):
        assert judged(text, {"name": "f", "arguments": {"a": value}}).score == 0.0
    nullable = {"type": ["string", "null"]} if meant is None else {}
    tools = [{"name": "f", "parameters": {"type": "object", "properties": {"a": nullable}}}]
    assert judged(text, {"name": "f", "arguments": {"a": meant}}, tools=tools).score == 1.0


@pytest.mark.parametrize("written", ["{'at': f(1)}", "{'at': 1, 'at': 2}", "[1, 2", "{'at': 1}, 2", "{at: 1}", "{**a}"])
def test_bare_text_that_is_no_literal_is_text(written: str) -> None:
    text = f"<function=f><parameter=a>{written}</parameter></function>"
    assert judged(text, {"name": "f", "arguments": {"a": written}}).score == 1.0
    assert judged(text, {"name": "f", "arguments": {"a": {"at": 1}}}).score == 0.0


@pytest.mark.parametrize("form", ["glm_4_5", "minimax_m2", "deepseek_v3_2", "hunyuan_v3", "muse_glimmer", "minicpm_5"])
def test_a_bare_text_keeps_the_end_of_its_last_line(form: str) -> None:
    """A file ends in a line's end; formats without padding write it as it is."""
    calls = {text: {"name": "save", "arguments": {"content": text}} for text in ("a\nb\n", "a\nb", "\na\nb")}
    for text, call in calls.items():
        for other, wanted in calls.items():
            assert judged(NATIVE[form]([call]), wanted).score == float(text == other)


def test_ends_of_lines_around_a_bare_text_are_padding() -> None:
    call = {"name": "save", "arguments": {"content": "a\nb"}}
    for text in (
        "<tool_call>save<arg_key>content</arg_key><arg_value>\na\nb\n</arg_value></tool_call>",
        "<function=save><parameter=content>\na\nb\n</parameter></function>",
        "<function=save><parameter=content>\na\nb</parameter></function>",
    ):
        assert judged(text, call).score == 1.0


def test_a_python_call_may_name_arguments_by_words_that_python_reserves() -> None:
    call = {"name": "find_ferry", "arguments": {"from": "Oslo, from=Kiel", "in": ["(class=3)"], "n": 1}}
    text = "find_ferry(from='Oslo, from=Kiel', in=['(class=3)'], n=1)"
    for written in (f"[{text}]", f"<|tool_call_start|>[{text}]<|tool_call_end|>", f"```tool_code\n{text}\n```"):
        assert judged(written, call).score == 1.0
        assert judged(written.replace("n=1", "n=2"), call).score == 0.0
        assert judged(written, []).score == 0.0
    assert judged("Then [find_ferry(from='Oslo')] it is.", []).score == 0.0
    for hostile in ("[f(from=1, from=2)]", "[f(reserved_word__from=1, from=2)]", "[f(from=in)]"):
        assert judged(hostile, {"name": "f", "arguments": {"from": 1}}).reason in ("duplicate_key", "malformed")
    assert judged("[f(reserved_word__from=1)]", {"name": "f", "arguments": {"from": 1}}).score == 0.0


@pytest.mark.parametrize(
    "end", ["<|eot|>", "<|end_of_msg|>", "</assistant>\n", "<SPECIAL_12>\n", "[e~[\n", "<|eom|> <|eot|>"]
)
def test_an_end_of_turn_is_none_of_a_call_and_none_of_an_answer(end: str) -> None:
    for call, text in ((WEATHER, json.dumps(WEATHER)), (ARGUMENTLESS, "[stop_all()]"), (WEATHER, "weather\n{}")):
        assert judged(text + end, []).score == 0.0
        assert judged(text + end, call).score == float("{}" not in text)
    assert judged(f"No tool fits.{end}", []).score == 1.0
    assert judged(end, []).reason == "no_answer"


def test_a_list_of_calls_before_all_words_is_no_abstaining() -> None:
    for text in ("[stop_all()]\n\nThat should do.", "[weather('Oslo')] <|start_header_id|>assistant<|end_header_id|>"):
        assert judged(text, []).score == 0.0
    for text in ("[main()](https://example.org) says what it does.", "Call [stop_all()] by hand.", "[x] done"):
        assert judged(text, []).score == 1.0


def test_messages_are_told_apart_by_whom_they_go_to() -> None:
    thought = ' to=self<|message|>Shall I write <atem:invoke name="weather">? No.<|eom|><|start|>assistant'
    assert judged(f"{thought} to=user<|message|>No tool fits.<|eot|>", []).score == 1.0
    assert judged(f"{thought} to=user<|message|>No tool fits.<|eot|>", WEATHER).reason == "no_call"
    assert judged(thought + NATIVE["muse_glimmer"]([WEATHER]), WEATHER).score == 1.0
    for text in (thought + " to=stop_all<|message|><|eot|>", " to=stop_all<|message|>{}", " to=maps.route<|channel|>"):
        assert judged(text, []).score == 0.0


def test_a_call_behind_words_to_all_is_read() -> None:
    text = 'all\nI look it up.>>>weather\n{"city": "Oslo", "days": 3}<|eot_id|>'
    assert judged(text, WEATHER).score == 1.0
    assert judged(text, []).score == 0.0
    for honest in (
        "all\nNo tool fits.",
        "In Java, `a>>>b` shifts; x = a >>>b\n{ is not a call.",
        ">>>all\nNo tool fits.",
    ):
        assert judged(honest, []).score == 1.0


OPENERS = sorted({opening for write in NATIVE.values() for opening in [write([WEATHER])[:24]]})


@pytest.mark.parametrize("reference", [[], WEATHER])
def test_the_work_grows_no_faster_than_a_hostile_text(reference: Any) -> None:
    made = ToolCallsParams()
    prepared = prepare(reference, made)
    pieces = [
        *OPENERS,
        "Action: f\n",
        "Action: f\nAction Input: x\n",
        "<search>x</search>",
        "[THINK]",
        "<think>",
        "<tool>",
    ]
    pieces += [
        "<|eot|>",
        "f(from='x', from",
        "[f(from=1)]",
        "<parameter=a>{'a': ",
        "<|start|>assistant to=self<|message|>",
    ]
    pieces += ["<|channel|>analysis<|message|>", "`<tool_call>`", "```\n<tool_call>\n```\n", "f\n{}\n", "<action>"]
    for piece in pieces:
        tool_calls(piece, prepared, made)
        small, large = (steps(lambda n=n, piece=piece: tool_calls(piece * n, prepared, made)) for n in (40, 160))
        assert large <= 4.6 * small + 4000, piece
