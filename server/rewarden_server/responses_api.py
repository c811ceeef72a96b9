"""OpenAI's Responses objects, as samples have them: chat messages, why generation ended, how long it was.

Items that say nothing to a judge (searches, images, a server's own calls) are passed over. Source: OpenAI's API
reference, "Responses", and nemo_gym/openai_utils.py (NeMo Gym, August 2026).
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden.types import FinishReason

_CALLS = {"function_call": "arguments", "custom_tool_call": "input"}
_RESULTS = ("function_call_output", "custom_tool_call_output")
_ENDS: Mapping[str, FinishReason] = {"max_output_tokens": "length", "content_filter": "abort"}


def messages_of(items: Sequence[Any]) -> list[dict[str, Any]]:
    """The chat messages of a response's output: one of the assistant's for each turn, with `reasoning_content` and
    `tool_calls` where it has them, and the results of calls between.

    There is always one: where the model wrote nothing, that is what is judged.
    """
    messages: list[dict[str, Any]] = []
    turn: dict[str, Any] | None = None
    for item in items:
        if not isinstance(item, Mapping):
            continue
        kind = str(item.get("type", "message"))
        if kind in _RESULTS:
            messages.append({"role": "tool", "tool_call_id": item.get("call_id"), "content": _text(item.get("output"))})
            turn = None
            continue
        if kind == "message" and item.get("role", "assistant") != "assistant":
            messages.append({"role": str(item["role"]), "content": _content(item.get("content"))})
            turn = None
            continue
        if turn is None:
            turn = {"role": "assistant", "content": ""}
            messages.append(turn)
        if kind == "message":
            turn["content"] += _text(item.get("content"))
        elif kind == "reasoning":
            thought = _text(item.get("content")) or _text(item.get("summary"))
            turn["reasoning_content"] = turn.get("reasoning_content", "") + thought
        elif kind in _CALLS:
            function = {"name": item.get("name"), "arguments": item.get(_CALLS[kind])}
            call = {"id": item.get("call_id"), "type": "function", "function": function}
            turn.setdefault("tool_calls", []).append(call)
    if not any(message["role"] == "assistant" for message in messages):
        messages.append({"role": "assistant", "content": ""})
    return messages


def written(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One message of the assistant's with all that it wrote, in all its turns: OpenAI's `output_text`."""
    turns = _turns(messages)
    made = {"role": "assistant", "content": "".join(turn["content"] for turn in turns)}
    thoughts = [turn["reasoning_content"] for turn in turns if "reasoning_content" in turn]
    return [made | ({"reasoning_content": "".join(thoughts)} if thoughts else {})]


def called(messages: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One message of the assistant's with every call of the trajectory; what it wrote counts only if it calls nothing.

    A text after a call is not an answer without calls.
    """
    calls = _calls(messages)
    return [{"role": "assistant", "content": "", "tool_calls": calls}] if calls else written(messages)


def arguments_of(messages: Sequence[Mapping[str, Any]], name: str | None) -> list[dict[str, Any]]:
    """One message of the assistant's with the arguments of its only call, if that calls `name` (None: any tool)."""
    functions = [call["function"] for call in _calls(messages)]
    text = functions[0]["arguments"] if len(functions) == 1 and name in (None, functions[0]["name"]) else ""
    return [{"role": "assistant", "content": text if isinstance(text, str) else json.dumps(text)}]


def _turns(messages: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    return [message for message in messages if message["role"] == "assistant"]


def _calls(messages: Sequence[Mapping[str, Any]]) -> list[Any]:
    return [call for turn in _turns(messages) for call in turn.get("tool_calls", ())]


def prompt_of(params: Mapping[str, Any]) -> Any:
    """The prompt of a request for a response (`responses_create_params`): a text or chat messages; None without one."""
    given = params.get("input")
    told = params.get("instructions")
    if isinstance(given, str):
        if not isinstance(told, str):
            return given
        given = [{"role": "user", "content": given}]
    if not isinstance(given, list):
        return None
    system = [{"role": "system", "content": told}] if isinstance(told, str) else []
    return [
        *system,
        *(
            {"role": str(item["role"]), "content": _content(item.get("content"))}
            for item in given
            if isinstance(item, Mapping) and isinstance(item.get("role"), str)
        ),
    ]


def finish_reason_of(response: Mapping[str, Any]) -> FinishReason | None:
    """Returns the reason why generation ended, or None if the response does not give it."""
    status = response.get("status")
    if status == "incomplete":
        details = response.get("incomplete_details")
        return _ENDS.get(str(details.get("reason")), "abort") if isinstance(details, Mapping) else "abort"
    if status in ("failed", "cancelled"):
        return "abort"
    return "stop" if status == "completed" else None


def token_count_of(response: Mapping[str, Any]) -> int | None:
    """The response's length in tokens, where the model server counted them."""
    usage = response.get("usage")
    count = usage.get("output_tokens") if isinstance(usage, Mapping) else None
    return count if type(count) is int and count >= 0 else None


def _content(content: Any) -> Any:
    """A message's content: a text, or parts where there are images among them."""
    if isinstance(content, list) and any(isinstance(part, Mapping) and _image(part) for part in content):
        return [_part(part) for part in content if isinstance(part, Mapping)]
    return _text(content)


def _image(part: Mapping[str, Any]) -> bool:
    return part.get("type") == "input_image" and isinstance(part.get("image_url"), str)


def _part(part: Mapping[str, Any]) -> dict[str, Any]:
    if _image(part):
        return {"type": "image_url", "image_url": {"url": part["image_url"]}}
    return {"type": "text", "text": _text([part])}


def _text(content: Any) -> str:
    """The text of a content, of an output or of a summary: a text itself, or parts that have one (a refusal's too)."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    texts = (part.get("text", part.get("refusal")) for part in content if isinstance(part, Mapping))
    return "".join(text for text in texts if isinstance(text, str))
