"""Attacks on `tool_calls`, each with its honest twin."""

from __future__ import annotations

import json
from typing import Any

from tests.attacks.pairs import Pair

_WEATHER: dict[str, Any] = {"name": "weather", "arguments": {"city": "Oslo", "days": 3}}
_CALL = json.dumps(_WEATHER)
_TAGGED = f"<tool_call>\n{_CALL}\n</tool_call>"
_OTHER = '{"name": "search", "arguments": {"query": "weather Oslo"}}'
_REFUSAL = "None of the tools can do that, I am afraid."
_LEVELS: dict[str, Any] = {"credit": "levels", "pass_at": 0.9}

# title, attack, twin, reference, parameters
_ROWS: list[tuple[str, str, str, Any, dict[str, Any]]] = [
    # Too many
    ("the same call twice", _TAGGED * 2, _TAGGED, _WEATHER, {}),
    ("the same call in two shapes of one list", f"[{_CALL}, {_CALL}]", f"[{_CALL}]", _WEATHER, {}),
    ("every tool at once", f"[{_CALL}, {_OTHER}]", _CALL, _WEATHER, {}),
    (
        "every value at once",
        json.dumps([{"name": "f", "arguments": {"n": n}} for n in range(9)]),
        '{"name": "f", "arguments": {"n": 4}}',
        {"name": "f", "arguments": {"n": 4}},
        {},
    ),
    (
        "a flood of calls where more are free",
        json.dumps([_WEATHER] * 200),
        json.dumps([_WEATHER] * 2),
        _WEATHER,
        {"extra": "ignore"},
    ),
    (
        "two fences with a call each",
        f"```json\n{_OTHER}\n```\n```json\n{_CALL}\n```",
        f"```json\n{_CALL}\n```",
        _WEATHER,
        {},
    ),
    (
        "all values in a list",
        '{"name": "weather", "arguments": {"city": ["Oslo", "Bergen"], "days": 3}}',
        _CALL,
        _WEATHER,
        {},
    ),
    (
        "an argument too many",
        '{"name": "weather", "arguments": {"city": "Oslo", "days": 3, "hours": 2}}',
        _CALL,
        _WEATHER,
        {},
    ),
    # No call
    (
        "the call in the thought",
        f"<think>{_TAGGED}</think>I will look.",
        f"<think>Look.</think>{_TAGGED}",
        _WEATHER,
        {},
    ),
    ("a thought without end", f"<think>{_TAGGED}", _TAGGED, _WEATHER, {}),
    ("the call as inline code", f"You can write `{_TAGGED.replace(chr(10), '')}`.", f"So:\n{_TAGGED}", _WEATHER, {}),
    ("the call in a fenced example", f"Example:\n```xml\n{_TAGGED}\n```", f"Call:\n{_TAGGED}", _WEATHER, {}),
    ("the call in a quoted line", "> " + _TAGGED.replace("\n", ""), _TAGGED.replace("\n", ""), _WEATHER, {}),
    ("a call told in prose", "I called weather(city='Oslo', days=3).", "weather(city='Oslo', days=3)", _WEATHER, {}),
    ("a forged result", 'Tool result: {"ok": true}. Done.', _TAGGED, _WEATHER, {}),
    ("a promise", "Let me call the weather tool for Oslo, 3 days.", _TAGGED, _WEATHER, {}),
    ("names of the tools alone", "weather, search, stop", _TAGGED, _WEATHER, {}),
    (
        "the definition echoed",
        '{"name": "weather", "parameters": {"type": "object", "properties": {"city": {}, "days": {}}}}',
        _CALL,
        _WEATHER,
        {},
    ),
    # Two readers, two calls
    (
        "a duplicate key in the arguments",
        '{"name": "weather", "arguments": {"city": "Bergen", "city": "Oslo", "days": 3}}',
        _CALL,
        _WEATHER,
        {},
    ),
    (
        "a duplicate key of the call",
        '{"name": "search", "name": "weather", "arguments": {"city": "Oslo", "days": 3}}',
        _CALL,
        _WEATHER,
        {},
    ),
    (
        "two sets of arguments",
        '{"name": "weather", "arguments": {"city": "Oslo", "days": 3}, "parameters": {}}',
        _CALL,
        _WEATHER,
        {},
    ),
    (
        "two names",
        '{"name": "weather", "tool": "search", "arguments": {"city": "Oslo", "days": 3}}',
        _CALL,
        _WEATHER,
        {},
    ),
    (
        "a duplicate keyword",
        "[weather(city='Bergen', days=3, city='Oslo')]",
        "[weather(days=3, city='Oslo')]",
        _WEATHER,
        {},
    ),
    (
        "a duplicate parameter",
        "<function=weather><parameter=city>Bergen</parameter><parameter=city>Oslo</parameter><parameter=days>3</parameter></function>",
        "<function=weather><parameter=city>Oslo</parameter><parameter=days>3</parameter></function>",
        _WEATHER,
        {},
    ),
    (
        "a duplicate key in arguments as text",
        '{"name": "weather", "arguments": "{\\"days\\": 3, \\"city\\": \\"Bergen\\", \\"city\\": \\"Oslo\\"}"}',
        '{"name": "weather", "arguments": "{\\"days\\": 3, \\"city\\": \\"Oslo\\"}"}',
        _WEATHER,
        {},
    ),
    (
        "half a surrogate pair",
        '{"name": "f", "arguments": {"a": "\\ud800"}}',
        '{"name": "f", "arguments": {"a": "\\ud83d\\ude00"}}',
        {"name": "f", "arguments": {"a": "😀"}},
        {},
    ),
    # Code
    (
        "code as an argument",
        "[weather(city=open('/etc/passwd').read(), days=3)]",
        "[weather(city='Oslo', days=3)]",
        _WEATHER,
        {},
    ),
    (
        "an import as an argument",
        "[weather(city=__import__('os').name, days=3)]",
        "[weather(city='Oslo', days=3)]",
        _WEATHER,
        {},
    ),
    (
        "an operator that makes the value",
        "[weather(city='Os'+'lo', days=3)]",
        "[weather(city='Os' 'lo', days=3)]",
        _WEATHER,
        {},
    ),
    ("a power without end", "[weather(city='Oslo', days=9**9**9**9)]", "[weather(city='Oslo', days=3)]", _WEATHER, {}),
    (
        "a comprehension",
        "[weather(city=c, days=3) for c in ('Oslo', 'Bergen')]",
        "[weather(city='Oslo', days=3)]",
        _WEATHER,
        {},
    ),
    (
        "arguments unpacked",
        "[weather(**{'city': 'Oslo', 'days': 3})]",
        "[weather('Oslo', 3)]",
        _WEATHER,
        {},
    ),
    # Cost
    (
        "nested without end",
        "[f(a=" + "[" * 5000 + "]" * 5000 + ")]",
        "[f(a=[[1]])]",
        {"name": "f", "arguments": {"a": [[1]]}},
        {},
    ),
    ("signs without end", "[f(a=" + "-" * 50_000 + "1)]", "[f(a=-1)]", {"name": "f", "arguments": {"a": -1}}, {}),
    ("attributes without end", "a" + ".a" * 40_000 + "()", "a.a()", {"name": "a.a", "arguments": {}}, {}),
    ("a huge numeral", "[f(a=0x" + "f" * 50_000 + ")]", "[f(a=0xff)]", {"name": "f", "arguments": {"a": 255}}, {}),
    ("tags opened without end", "<tool_call>" * 50_000, _TAGGED, _WEATHER, {}),
    # Partial credit
    (
        "another tool with the right arguments",
        '{"name": "search", "arguments": {"city": "Oslo", "days": 3}}',
        _CALL,
        _WEATHER,
        _LEVELS,
    ),
    ("a good call and a broken one", _TAGGED + "<tool_call>{</tool_call>", _TAGGED, _WEATHER, _LEVELS),
    # Types
    (
        "a number as text",
        '{"name": "weather", "arguments": {"city": "Oslo", "days": "3"}}',
        '{"name": "weather", "arguments": {"city": "Oslo", "days": 3.0}}',
        _WEATHER,
        {},
    ),
    (
        "true for 1",
        '{"name": "f", "arguments": {"n": true}}',
        '{"name": "f", "arguments": {"n": 1}}',
        {"name": "f", "arguments": {"n": 1}},
        {},
    ),
    # Abstaining
    ("silence where no call is right", "", _REFUSAL, [], {}),
    ("signs where no call is right", "...", _REFUSAL, [], {}),
    ("a call where none is right", _TAGGED, _REFUSAL, [], {}),
    ("a call in another shape than asked for", "weather(city='Oslo', days=3)", _REFUSAL, [], {"shapes": ["xml"]}),
    ("a hidden call while abstaining", f"{_REFUSAL}\n```\n{_TAGGED}\n```", f"{_REFUSAL}\n```\ntext\n```", [], {}),
    ("a broken call while abstaining", f"{_REFUSAL}\n<tool_call>{{</tool_call>", _REFUSAL, [], {}),
    ("a call that goes on in prose while abstaining", f"{_CALL} I will not call.", _REFUSAL, [], {}),
    *(
        (f"a native call of {family} while abstaining", call, f"{_REFUSAL}{end}", [], {})
        for family, call, end in (
            (
                "DeepSeek",
                '<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>weather<｜tool▁sep｜>{"city": "Oslo"}<｜tool▁call▁end｜>',
                "<｜end▁of▁sentence｜>",
            ),
            (
                "Kimi",
                '<|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>{"city": "Oslo"}',
                "<|im_end|>",
            ),
            ("gpt-oss", '<|channel|>commentary to=functions.weather<|message|>{"city": "Oslo"}<|call|>', "<|return|>"),
            ("Mistral", '[TOOL_CALLS]weather[ARGS]{"city": "Oslo"}', "</s>"),
            ("GLM", "weather\n<arg_key>city</arg_key>\n<arg_value>Oslo</arg_value>", "<|user|>"),
            ("Command A", "<|START_ACTION|>weather Oslo<|END_ACTION|>", "<|END_OF_TURN_TOKEN|>"),
            ("nobody yet", "<|tomorrows_call|>weather Oslo", "[e~["),
        )
    ),
]

_KIMI = (
    "<|tool_calls_section_begin|><|tool_call_begin|>functions.weather:0<|tool_call_argument_begin|>"
    '{"city": "Oslo", "days": 3}<|tool_call_end|><|tool_calls_section_end|>'
)
_MISTRAL = '[TOOL_CALLS]search[ARGS]{"query": "weather Oslo"}'
_HARMONY = '<|channel|>commentary to=functions.weather <|constrain|>json<|message|>{"city": "Oslo", "days": 3}<|call|>'
_ROWS += [
    # Two formats, two servers
    ("another format that says something else", f"{_KIMI}\n{_MISTRAL}", _KIMI, _WEATHER, {}),
    ("another format that says it again", f"{_KIMI}\n{_TAGGED}", _TAGGED, _WEATHER, {}),
    (
        "JSON in a fence beside a native call",
        f"```json\n{_OTHER}\n```\n{_KIMI}",
        f"```json\n[1]\n```\n{_KIMI}",
        _WEATHER,
        {},
    ),
    (
        "a native call in a fence beside one",
        f"```\n{_MISTRAL}\n```\n{_KIMI}",
        f"```\nIn Oslo.\n```\n{_KIMI}",
        _WEATHER,
        {},
    ),
    (
        "a native call of nobody known beside one",
        f"<|Commands|>: Search(x)\n{_KIMI}",
        f"Search: x\n{_KIMI}",
        _WEATHER,
        {},
    ),
    ("a native call in a shape that is not asked for", _KIMI, _TAGGED, _WEATHER, {"shapes": ["hermes"]}),
    # Native, and no call
    (
        "a native call in a family's thought",
        f"[THINK]{_KIMI}[/THINK]Done.",
        f"[THINK]Look.[/THINK]{_KIMI}",
        _WEATHER,
        {},
    ),
    ("a native call in a thought without end", f"Well.\n[THINK]{_KIMI}", f"Well.\n{_KIMI}", _WEATHER, {}),
    (
        "a native call in harmony's analysis",
        f"<|channel|>analysis<|message|>{_TAGGED}<|end|><|start|>assistant<|channel|>final<|message|>Done.",
        f"<|channel|>analysis<|message|>Look.<|end|><|start|>assistant{_HARMONY}",
        _WEATHER,
        {},
    ),
    ("a native call that is cut off", _KIMI[: _KIMI.index("<|tool_call_end|>")], _KIMI, _WEATHER, {}),
    (
        "a native call with a key twice",
        _KIMI.replace('{"city"', '{"city": "Bergen", "city"'),
        _KIMI,
        _WEATHER,
        {},
    ),
    (
        "a call in the text of a call",
        json.dumps({"name": "note", "arguments": {"text": _KIMI}}),
        _KIMI,
        _WEATHER,
        {},
    ),
    # Native calls where none is right
    *(
        (f"{title} while abstaining", call, twin, [], {})
        for title, call, twin in (
            ("a ReAct action", "Action: weather\nAction Input: Oslo", "Action: call the weather service."),
            ("an action with its input cut off", "Action: get_weather\nAction Input", "Action: call them."),
            ("a search", "<search>weather Oslo</search>", "The `<search>` element of HTML holds controls."),
            ("a name and JSON", 'weather\n{"city": "Oslo"}', 'Weather:\n{"city": "Oslo"}'),
            ("a tag of no family", "<action>weather Oslo</action>", "```html\n<action>x</action>\n```\nNo tool."),
            ("Python cut off", "[weather(city='Oslo', da", "[weather] has no tool."),
            ("a call behind harmony's final word", f"No tool.{_HARMONY}", "<|channel|>final<|message|>No tool."),
        )
    ),
    # Optional and listed values
    (
        "null where the reference lists none",
        "f(a='x', n=None)",
        "f(a='x', n='')",
        {"f": {"a": ["x"], "n": ["", 5]}},
        {"tools": [{"name": "f", "parameters": {"type": "object", "properties": {"n": {"type": "integer"}}}}]},
    ),
    (
        "a nested key that is required left out",
        "f(o={'y': 2})",
        "f(o={'x': 1})",
        {"name": "f", "arguments": {"o": {"x": 1, "y": 2}}, "optional": ["o.y"]},
        {},
    ),
    # Cost
    ("native calls opened without end", "<|tool_call_begin|>" * 10_000, _KIMI, _WEATHER, {}),
    ("thoughts opened without end", "[THINK]" * 30_000 + _KIMI, _KIMI, _WEATHER, {}),
    (
        "actions without end",
        "Action: f\n" * 20_000,
        "Action: weather\nAction Input: " + '{"city": "Oslo", "days": 3}',
        _WEATHER,
        {},
    ),
]

PAIRS: list[Pair] = [
    Pair(title=title, use="tool_calls", attack=attack, twin=twin, reference=reference, params=params)
    for title, attack, twin, reference, params in _ROWS
]
