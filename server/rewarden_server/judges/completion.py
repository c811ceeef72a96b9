"""A completion in OpenAI's format, as JSON or from litellm, read without trusting it."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from rewarden_server.judges.failure import malformed
from rewarden_server.judges.price import cost
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Alternative, Call, Finish, Reply, Usage

_FINISH: Mapping[str | None, Finish] = {
    None: "stop",
    "stop": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "content_filter": "content_filter",
    "refusal": "refusal",
}
"""The reasons for the end of a reply, by the servers' names for them. Any other (`length`, vLLM's `abort`) means that
the reply is incomplete."""

_MOST_CALLS = 64
_LONGEST_CALL = 50_000
"""Maximum number of characters of a call's name and arguments; a longer call is none that a tool could accept."""


def read_completion(body: Any, name: str, settings: JudgeEndpoint, bound: Usage) -> Reply:
    """The reply in a completion. bound: its maximum usage, for servers that report none.

    Raises Failure for anything that is not a completion. The reasoning of a model (`reasoning_content`) is not part of
    its reply: a verdict within it is not its verdict.
    """
    if not isinstance(body, Mapping):
        raise malformed("it is not an object")
    choices = body.get("choices")
    if not isinstance(choices, list) or not choices or not isinstance(choices[0], Mapping):
        raise malformed("it has no choices")
    choice = choices[0]
    message = choice.get("message")
    if not isinstance(message, Mapping):
        raise malformed("its choice has no message")
    finish = choice.get("finish_reason")
    ended = _FINISH.get(finish, "length") if finish is None or isinstance(finish, str) else "length"
    refusal = message.get("refusal")
    text = _text(message.get("content"))
    if isinstance(refusal, str) and refusal:
        ended, text = "refusal", text or refusal
    model = body.get("model")
    return Reply(
        text=text,
        judge=name,
        model=model if isinstance(model, str) and model else settings.model,
        finish=ended,
        alternatives=_alternatives(choice.get("logprobs")),
        calls=_calls(message.get("tool_calls")) if ended == "stop" else (),
        usage=_usage(body.get("usage"), settings, bound),
    )


def _text(content: Any) -> str:
    """A message's text; empty for a model that only reasoned, or called a tool."""
    if content is None:
        return ""
    if isinstance(content, str):
        return content
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, Mapping)]
        return "".join(part for part in parts if isinstance(part, str))
    raise malformed("its message's content is not text")


def _calls(said: Any) -> list[Call]:
    """The function calls. Some servers send the arguments as an object instead of JSON text."""
    found = []
    for one in said[:_MOST_CALLS] if isinstance(said, list) else []:
        function = one.get("function") if isinstance(one, Mapping) else None
        name, given = (function.get("name"), function.get("arguments")) if isinstance(function, Mapping) else (None, "")
        arguments = json.dumps(given) if isinstance(given, Mapping) else given
        if isinstance(name, str) and isinstance(arguments, str) and len(name) + len(arguments) <= _LONGEST_CALL:
            found.append(Call(name=name, arguments=arguments))
    return found


def _usage(said: Any, settings: JudgeEndpoint, bound: Usage) -> Usage:
    prompt, completion = (_count(said, name) for name in ("prompt_tokens", "completion_tokens"))
    if prompt is None or completion is None:
        return bound
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cost_usd=cost(settings, prompt, completion))


def _count(said: Any, name: str) -> int | None:
    count = said.get(name) if isinstance(said, Mapping) else None
    return count if isinstance(count, int) and not isinstance(count, bool) and count >= 0 else None


def _alternatives(logprobs: Any) -> list[Alternative]:
    """The candidates for the first token, with valid log-probabilities."""
    content = logprobs.get("content") if isinstance(logprobs, Mapping) else None
    first = content[0] if isinstance(content, list) and content and isinstance(content[0], Mapping) else {}
    top = first.get("top_logprobs")
    found = []
    for one in top if isinstance(top, list) else []:
        text, logprob = (one.get("token"), one.get("logprob")) if isinstance(one, Mapping) else (None, None)
        if isinstance(text, str) and isinstance(logprob, (int, float)) and math.isfinite(logprob):
            found.append(Alternative(text=text, logprob=min(0.0, float(logprob))))
    return found
