"""Calls as model families write them, each in the shape that the family's own chat template renders."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

Calls = Sequence[dict[str, Any]]
Writer = Callable[[Calls], str]


def compact(value: Any) -> str:
    """Returns a value as templates write it that bring their own JSON."""
    return json.dumps(value, ensure_ascii=False)


def bare(value: Any) -> str:
    """Returns a value as templates write it between tags: text as it is, everything else as JSON."""
    return value if isinstance(value, str) else compact(value)


def each(
    form: Callable[[int, str, dict[str, Any]], str], before: str = "", after: str = "", between: str = ""
) -> Writer:
    """A writer that writes call by call."""

    def write(calls: Calls) -> str:
        written = (form(number, call["name"], call["arguments"]) for number, call in enumerate(calls))
        return before + between.join(written) + after

    return write


def listed(before: str, after: str = "", name: str = "name", arguments: str = "arguments") -> Writer:
    """A writer of one JSON list."""
    return lambda calls: (
        before + compact([{name: call["name"], arguments: call["arguments"]} for call in calls]) + after
    )


def lines(before: str, after: str, between: str, arguments: str = "arguments") -> Writer:
    """A writer of one JSON object for each call."""
    return lambda calls: (
        before + between.join(compact({"name": call["name"], arguments: call["arguments"]}) for call in calls) + after
    )


def pairs(name: str, key: str, value: str, after: str) -> Callable[[int, str, dict[str, Any]], str]:
    """A writer of a call whose arguments stand between marks."""
    return lambda number, called, arguments: (
        name.format(called)
        + "".join(key.format(one) + value.format(bare(given)) for one, given in arguments.items())
        + after
    )


def braces(value: Any, quote: str, quoted_keys: bool) -> str:
    """Returns a value in Gemma's notation."""
    if isinstance(value, str):
        return f"{quote}{value}{quote}"
    if isinstance(value, dict):
        mark = quote if quoted_keys else ""
        return (
            "{" + ",".join(f"{mark}{k}{mark}:{braces(v, quote, quoted_keys)}" for k, v in sorted(value.items())) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(braces(item, quote, quoted_keys) for item in value) + "]"
    return compact(value)


def nested(value: Any) -> str:
    """Returns a value in MiniMax M3's tags, each behind the family's mark."""
    mark = "]<]minimax[>["
    if isinstance(value, dict):
        return "".join(f"{mark}<{k}>{nested(v)}{mark}</{k}>" for k, v in value.items())
    if isinstance(value, list):
        return "".join(f"{mark}<item>{nested(item)}{mark}</item>" for item in value)
    return bare(value)


def python(calls: Calls, between: str = ", ") -> str:
    """Returns calls in Python's syntax."""
    return between.join(
        f"{call['name']}({', '.join(f'{key}={value!r}' for key, value in call['arguments'].items())})" for call in calls
    )


def typed(value: Any) -> str:
    """Returns the type that Kimi K3 writes beside an argument."""
    return {str: "string", dict: "object", list: "array", bool: "boolean"}.get(type(value), "number")


NATIVE: dict[str, Writer] = {
    "deepseek_v3": each(
        lambda n, name, given: (
            f"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{name}\n```json\n{compact(given)}\n```<｜tool▁call▁end｜>"
        ),
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
        "\n",
    ),
    "deepseek_v3_1": each(
        lambda n, name, given: f"<｜tool▁call▁begin｜>{name}<｜tool▁sep｜>{compact(given)}<｜tool▁call▁end｜>",
        "<｜tool▁calls▁begin｜>",
        "<｜tool▁calls▁end｜>",
    ),
    "deepseek_v3_2": each(
        lambda n, name, given: (
            f'<｜DSML｜invoke name="{name}">\n'
            + "".join(
                f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{bare(value)}'
                "</｜DSML｜parameter>\n"
                for key, value in given.items()
            )
            + "</｜DSML｜invoke>"
        ),
        "\n\n<｜DSML｜function_calls>\n",
        "\n</｜DSML｜function_calls>",
        "\n",
    ),
    "deepseek_v4": each(
        lambda n, name, given: (
            f'<｜DSML｜invoke name="{name}">\n'
            + "".join(
                f'<｜DSML｜parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{bare(value)}'
                "</｜DSML｜parameter>\n"
                for key, value in given.items()
            )
            + "</｜DSML｜invoke>"
        ),
        "\n\n<｜DSML｜tool_calls>\n",
        "\n</｜DSML｜tool_calls>",
        "\n",
    ),
    "deepseek_v4_1": each(
        lambda n, name, given: (
            f'<｜DSML｜ invoke name="{name}">\n'
            + "".join(
                f'<｜DSML｜ parameter name="{key}" string="{str(isinstance(value, str)).lower()}">{bare(value)}'
                "</｜DSML｜ parameter>\n"
                for key, value in given.items()
            )
            + "</｜DSML｜ invoke>"
        ),
        "\n\n<｜DSML｜ calls>\n",
        "\n</｜DSML｜ calls>",
        "\n",
    ),
    "kimi_k2": each(
        lambda n, name, given: (
            f"<|tool_call_begin|>functions.{name}:{n}<|tool_call_argument_begin|>{compact(given)}<|tool_call_end|>"
        ),
        "<|tool_calls_section_begin|>",
        "<|tool_calls_section_end|>",
    ),
    "kimi_k3": each(
        lambda n, name, given: (
            f'<|open|>call tool="{name}" index="{n + 1}"<|sep|>'
            + "".join(
                f'<|open|>argument key="{key}" type="{typed(value)}"<|sep|>{bare(value)}<|close|>argument<|sep|>'
                for key, value in given.items()
            )
            + "<|close|>call<|sep|>"
        ),
        "<|open|>tools<|sep|>",
        "<|close|>tools<|sep|><|close|>message<|sep|>",
    ),
    "glm_4": lambda calls: "\n".join(f"{call['name']}\n{compact(call['arguments'])}" for call in calls),
    "glm_4_5": each(
        pairs("<tool_call>{}\n", "<arg_key>{}</arg_key>\n", "<arg_value>{}</arg_value>\n", "</tool_call>"),
        "\n",
        "",
        "\n",
    ),
    "glm_4_7": each(pairs("<tool_call>{}", "<arg_key>{}</arg_key>", "<arg_value>{}</arg_value>", "</tool_call>")),
    "chatglm_3": lambda calls: "\n".join(
        f"{call['name']}\n ```python\n{python([{**call, 'name': 'tool_call'}])}\n```" for call in calls
    ),
    "gpt_oss": each(
        lambda n, name, given: (
            ("<|start|>assistant" if n else "")
            + f"<|channel|>commentary to=functions.{name} <|constrain|>json<|message|>{compact(given)}<|call|>"
        )
    ),
    "gpt_oss, the recipient first": each(
        lambda n, name, given: (
            "<|channel|>analysis<|message|>I look it up.<|end|>"
            f"<|start|>assistant to=functions.{name}<|channel|>commentary json<|message|>{compact(given)}<|call|>"
        )
    ),
    "llama_3": lines("<|python_tag|>", "<|eom_id|>", "; ", "parameters"),
    "llama_3, parallel": lines("", "<|eot_id|>", "; ", "parameters"),
    "llama_3, lines": lines("", "<|eot_id|>", "\n", "parameters"),
    "llama_3, custom": each(lambda n, name, given: f"<function={name}>{compact(given)}</function>", "", "<|eom_id|>"),
    "llama_3_2, pythonic": lambda calls: f"[{python(calls)}]<|eot_id|>",
    "llama_4": lambda calls: f"<|python_start|>[{python(calls)}]<|python_end|><|eom|>",
    "mistral_v3": listed("[TOOL_CALLS] ", "</s>"),
    "mistral_v7": listed("[TOOL_CALLS]", "</s>"),
    "mistral_v11": each(
        lambda n, name, given: f"[TOOL_CALLS]{name}[CALL_ID]abc12345{n}[ARGS]{compact(given)}", "", "</s>"
    ),
    "mistral_v13": each(lambda n, name, given: f"[TOOL_CALLS]{name}[ARGS]{compact(given)}", "", "</s>"),
    "granite_3": listed("<|tool_call|>", "<|end_of_text|>"),
    "granite_20b": lines("<function_call> ", "", "<function_call> "),
    "granite_4": each(
        lambda n, name, given: f"<tool_call>\n{compact({'name': name, 'arguments': given})}\n</tool_call>",
        "",
        "<|end_of_text|>",
        "\n",
    ),
    "phi_4": listed("<|tool_call|>", "<|/tool_call|>"),
    "phi_4, functools": listed("functools"),
    "firefunction": listed(" functools"),
    "internlm": each(
        lambda n, name, given: (
            f"<|action_start|><|plugin|>\n{compact({'name': name, 'parameters': given})}<|action_end|>\n"
        )
    ),
    "intern_s1": each(
        lambda n, name, given: (
            f"<|action_start|> <|plugin|>\n{compact({'name': name, 'parameters': given})}\n<|action_end|>"
        )
    ),
    "nemotron": listed("<TOOLCALL>", "</TOOLCALL>"),
    "olmo_3": lambda calls: f"<function_calls>\n{python(calls, chr(10))}\n</function_calls>",
    "functiongemma": each(
        lambda n, name, given: f"<start_function_call>call:{name}{braces(given, '<escape>', False)}<end_function_call>"
    ),
    "gemma_3": lambda calls: f"```tool_code\n[{python(calls)}]\n```",
    "gemma_4": each(
        lambda n, name, given: f"<|tool_call>call:{name}{braces(given, '<|' + chr(34) + '|>', False)}<tool_call|>"
    ),
    "hermes": each(
        lambda n, name, given: f"<tool_call>\n{compact({'arguments': given, 'name': name})}\n</tool_call>", "", "", "\n"
    ),
    "qwen_2_5_coder": lines("<tools>\n", "\n</tools>", "\n"),
    "qwen_3": lambda calls: (
        "<think>\n\n</think>\n\n"
        + "\n".join(
            f"<tool_call>\n{compact({'name': call['name'], 'arguments': call['arguments']})}\n</tool_call>"
            for call in calls
        )
        + "<|im_end|>"
    ),
    "qwen_3_coder": each(
        pairs(
            "<tool_call>\n<function={}>\n",
            "<parameter={}>\n",
            "{}\n</parameter>\n",
            "</function>\n</tool_call>",
        ),
        "",
        "",
        "\n",
    ),
    "qwen_agent": each(lambda n, name, given: f"✿FUNCTION✿: {name}\n✿ARGS✿: {compact(given)}", "", "", "\n"),
    "seed_oss": each(
        pairs(
            "<seed:tool_call>\n<function={}>\n", "<parameter={}>", "{}</parameter>\n", "</function>\n</seed:tool_call>"
        )
    ),
    "seed_oss, Python's values": each(
        lambda n, name, given: (
            f"<seed:tool_call>\n<function={name}>\n"
            + "".join(f"<parameter={key}>{value}</parameter>\n" for key, value in given.items())
            + "</function>\n</seed:tool_call>"
        )
    ),
    "muse_glimmer": each(
        lambda n, name, given: (
            ("<|eom|><|start|>assistant" if n else "")
            + f' to={name}<|message|><atem:function_calls>\n<atem:invoke name="{name}">\n'
            + "".join(f'<atem:parameter name="{key}">{bare(value)}</atem:parameter>\n' for key, value in given.items())
            + "</atem:invoke>\n</atem:function_calls>"
        ),
        "",
        "<|eot|>",
    ),
    "minimax_text": each(
        lambda n, name, given: f"<function_call>```typescript\nfunctions.{name}({compact(given)})\n```", "", "", "\n"
    ),
    "minimax_m1": lines("<tool_calls>\n", "\n</tool_calls>", "\n"),
    "minimax_m2": each(
        pairs('<invoke name="{}">\n', '<parameter name="{}">', "{}</parameter>\n", "</invoke>\n"),
        "<minimax:tool_call>\n",
        "</minimax:tool_call>",
    ),
    "minimax_m3": each(
        lambda n, name, given: f']<]minimax[>[<invoke name="{name}">{nested(given)}]<]minimax[>[</invoke>\n',
        "]<]minimax[>[<tool_call>\n",
        "]<]minimax[>[</tool_call>",
    ),
    "ernie_4_5": each(
        lambda n, name, given: f"<tool_call>\n{compact({'name': name, 'arguments': given})}\n</tool_call>\n",
        "",
        "<|end_of_sentence|>",
    ),
    "hunyuan_a13b": listed("<tool_calls>", "</tool_calls>"),
    "hunyuan_v3": each(
        pairs(
            "<tool_call>{}<tool_sep>\n",
            "<arg_key>{}</arg_key>\n",
            "<arg_value>{}</arg_value>\n",
            "</tool_call>\n",
        ),
        "<tool_calls>\n",
        "</tool_calls>",
    ),
    "hunyuan_v3, open": each(
        pairs(
            "<tool_call:opensource>{}<tool_sep:opensource>\n",
            "<arg_key:opensource>{}</arg_key:opensource>\n",
            "<arg_value:opensource>{}</arg_value:opensource>\n",
            "</tool_call:opensource>\n",
        ),
        "<tool_calls:opensource>\n",
        "</tool_calls:opensource>",
    ),
    "jamba": lambda calls: "<tool_calls>" + json.dumps(list(calls), indent=1) + "</tool_calls>",
    "command_r": lambda calls: (
        "Action: ```json\n"
        + json.dumps([{"tool_name": c["name"], "parameters": c["arguments"]} for c in calls], indent=4)
        + "\n```"
    ),
    "command_a": lambda calls: (
        "<|START_THINKING|>I will look it up.<|END_THINKING|><|START_ACTION|>[\n    "
        + ",\n    ".join(
            compact({"tool_call_id": str(n), "tool_name": c["name"], "parameters": c["arguments"]})
            for n, c in enumerate(calls)
        )
        + "\n]<|END_ACTION|><|END_OF_TURN_TOKEN|>"
    ),
    "xlam": listed(""),
    "xlam, object": lambda calls: compact({"tool_calls": list(calls)}),
    "react": lambda calls: "\n".join(
        f"Thought: I need to know.\nAction: {call['name']}\nAction Input: {compact(call['arguments'])}"
        for call in calls
    ),
    "structured chat": lambda calls: "\n".join(
        f"Action:\n```\n{json.dumps({'action': call['name'], 'action_input': call['arguments']}, indent=2)}\n```"
        for call in calls
    ),
    "apertus": lambda calls: (
        f"<|tools_prefix|>{compact([{call['name']: call['arguments']} for call in calls])}<|tools_suffix|>"
    ),
    "lfm_2": lambda calls: f"<|tool_call_start|>[{python(calls)}]<|tool_call_end|><|im_end|>",
    "minicpm_3": lambda calls: (
        f"<|tool_call_start|>\n```python\n{python(calls, chr(10))}\n```\n<|tool_call_end|>\n<|im_end|>"
    ),
    "minicpm_5": each(pairs('<function name="{}">', '<param name="{}">', "<![CDATA[{}]]></param>", "</function>")),
    "gigachat_3": lambda calls: "".join(
        f"<|function_call|>{compact({'name': c['name'], 'arguments': c['arguments']})}" for c in calls
    ),
    "gigachat_3, a turn": lambda calls: "".join(
        "<|message_sep|>\n\nfunction call<|role_sep|>\n" + compact({"name": c["name"], "arguments": c["arguments"]})
        for c in calls
    ),
    "longcat": each(
        lambda n, name, given: (
            f"<longcat_tool_call>\n{compact({'name': name, 'arguments': given})}\n</longcat_tool_call>\n"
        )
    ),
    "longcat_2": each(
        pairs(
            "<longcat_tool_call>{}\n",
            "<longcat_arg_key>{}</longcat_arg_key>\n",
            "<longcat_arg_value>{}</longcat_arg_value>\n",
            "</longcat_tool_call>\n",
        )
    ),
    "pangu": listed("[unused11]", "[unused12]"),
    "hyperclova_x": listed(" -> tool/function_call\n", "<|im_end|>"),
    "step_3": each(
        lambda n, name, given: (
            f'<｜tool_call_begin｜>function<｜tool_sep｜><steptml:invoke name="{name}">'
            + "".join(
                f'<steptml:parameter name="{key}">{bare(value)}</steptml:parameter>' for key, value in given.items()
            )
            + "</steptml:invoke><｜tool_call_end｜>\n"
        ),
        "<｜tool_calls_begin｜>\n",
        "<｜tool_calls_end｜>",
    ),
    "solar_open": each(
        lambda n, name, given: (
            f"<|tool_call:begin|>a1b2{n}<|tool_call:name|>{name}<|tool_call:args|>{compact(given)}<|tool_call:end|>"
        ),
        "<|tool_calls|>",
    ),
    "inkling": each(
        lambda n, name, given: (
            f"<|message_model|>{name}<|content_invoke_tool_json|>{compact({'name': name, 'args': given})}"
            "<|end_message|>"
        )
    ),
    "functionary_2": each(
        lambda n, name, given: f"<|from|>assistant\n<|recipient|>{name}\n<|content|>{compact(given)}<|stop|>"
    ),
    "functionary_3": each(lambda n, name, given: f">>>{name}\n{compact(given)}", "", "", "\n"),
    "functionary_3, behind the prompt": each(
        lambda n, name, given: f"{name}\n{compact(given)}", "", "<|eot_id|>", ">>>"
    ),
    "k2_horizon": each(
        lambda n, name, given: (
            f"<ifm|tool_call>{name}\n"
            + "".join(
                f"<ifm|arg_key>{key}</ifm|arg_key>\n<ifm|arg_type>{typed(value)}</ifm|arg_type>\n"
                f"<ifm|arg_value>{bare(value)}</ifm|arg_value>\n"
                for key, value in given.items()
            )
            + "</ifm|tool_call>"
        ),
        "<ifm|tool_calls>",
        "</ifm|tool_calls>",
        "\n",
    ),
    "k2_horizon, JSON": each(
        lambda n, name, given: f"<ifm|tool_call>{compact({'name': name, 'arguments': given})}</ifm|tool_call>",
        "<ifm|tool_calls>",
        "</ifm|tool_calls>",
        "\n",
    ),
    "plamo_3": each(
        lambda n, name, given: (
            f"<|plamo:begin_tool_request:plamo|><|plamo:begin_tool_name:plamo|>{name}<|plamo:end_tool_name:plamo|>"
            f"<|plamo:begin_tool_arguments:plamo|><|plamo:constrain|>json<|plamo:msg|>{compact(given)}"
            "<|plamo:end_tool_arguments:plamo|><|plamo:end_tool_request:plamo|>"
        ),
        "<|plamo:begin_tool_requests:plamo|>",
        "<|plamo:end_tool_requests:plamo|><|plamo:tag|>",
    ),
    "dots": each(
        pairs('<invoke name="{}">\n', '<parameter name="{}">', "{}</parameter>\n", "</invoke>\n"),
        "<dots_function_call>\n",
        "</dots_function_call>",
    ),
    "anthropic": each(
        pairs('<invoke name="{}">\n', '<parameter name="{}">', "{}</parameter>\n", "</invoke>\n"),
        "<function_calls>\n",
        "</function_calls>",
    ),
    "mcp": each(
        lambda n, name, given: (
            "<use_mcp_tool>\n<server_name>main</server_name>\n"
            f"<tool_name>{name}</tool_name>\n<arguments>\n{compact(given)}\n</arguments>\n</use_mcp_tool>"
        ),
        "",
        "",
        "\n\n",
    ),
    "toolace": lambda calls: f"[{python(calls)}]",
    "openai": lambda calls: compact(
        {
            "role": "assistant",
            "tool_calls": [
                {"id": "x", "type": "function", "function": {**c, "arguments": compact(c["arguments"])}} for c in calls
            ],
        }
    ),
}
"""Writers of calls of any tools, by format."""

SEARCHES: dict[str, str] = {
    "search_r1": "<search> {} </search>",
    "r1_searcher": "<|begin_of_query|> {} <|end_of_query|>",
    "search_o1": "<|begin_search_query|>{}<|end_search_query|>",
    "react_paper": "Thought 1: I need to search.\nAction 1: search[{}]",
    "react, text": "Thought: I need to search.\nAction: search\nAction Input: {}",
}
"""Forms in which a search and nothing else is called, with the query as text."""
