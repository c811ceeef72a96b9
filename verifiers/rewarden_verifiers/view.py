"""The text view: which part of a response a verifier sees. One pass, linear time, shared by all verifiers.

A response is plain text or chat messages. The view takes the last assistant message, drops configured special tokens,
and returns the part after the closed thought (`final`, the default), everything (`full`), or the thought alone
(`thinking`). A thought that never closes is not an answer: a policy that is still thinking has not answered, even if
the thought contains a boxed candidate. `thought.py` finds where a thought begins and ends.

A thought that the chat server already separated (`reasoning_content` or `reasoning` of the message) is a closed one;
`full` shows it between the tags. Where the chat template itself wrote the opening tag (`starts_open`), `full` puts it
back, so that `format` judges what the policy and the template wrote together.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, Literal, NamedTuple

from rewarden.errors import InvalidParams, InvalidSample
from rewarden.types import Text
from rewarden_verifiers.thought import thought_of

SPECIAL_TOKENS = (
    "<|im_end|>",
    "<|im_start|>",
    "<|endoftext|>",
    "<|eot_id|>",
    "<|end_of_text|>",
    "<|end|>",
    "<|eom_id|>",
    "<end_of_turn>",
    "<｜end▁of▁sentence｜>",
    "</s>",
)
"""End-of-turn tokens that trainers often leave in decoded text."""

Part = Literal["final", "full", "thinking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Parameters of the view, given to any verifier as `view` (a part's name, or an object of these fields).

    `open`, `close`: the tags of the thought. With other tags than the usual ones, `thinking` is the text between them,
    wherever they are: a recipe can select the content of `<answer>`. `starts_open`: the chat template itself opened the
    thought, so the response contains only the closing tag. `special_tokens`: removed from the text. `keep_tokens`:
    remove them only at the ends; elsewhere they are text, which verifiers that show it to a model neutralise and flag.
    `calls`: append a message's calls (`tool_calls`, as in OpenAI's protocol) to its content, each as
    `<tool_call>{"name": …, "arguments": …}</tool_call>`.
    """

    part: Part = "final"
    open: str = "<think>"
    close: str = "</think>"
    starts_open: bool = False
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS
    keep_tokens: bool = False
    calls: bool = False


DEFAULT_VIEW = View()

SHOWN_TO_MODELS = View(keep_tokens=True)
"""The view of verifiers that show the text to a model. Attack: a forged end of turn within the text, which was never
flagged because the view removed it.
"""

ALL_SHOWN_TO_MODELS = View(part="full", keep_tokens=True)
"""The same for verifiers that see the thought too."""


class Viewed(NamedTuple):
    """The result of the view: `text`, or None with the snake_case `reason` why there is nothing to judge."""

    text: str | None
    reason: str | None = None


def view_of(params: Any, default: View = DEFAULT_VIEW) -> View:
    """Reads the `view` parameter; `calls` and `keep_tokens` default to those of the verifier's view.

    Raises InvalidParams, naming the field.
    """
    if params is None:
        return default
    if isinstance(params, str):
        params = {"part": params}
    if not isinstance(params, Mapping):
        raise InvalidParams("view must be 'final', 'full', 'thinking' or an object", path="view")
    known = {"part", "open", "close", "starts_open", "special_tokens", "keep_tokens", "calls"}
    for name in params:
        if name not in known:
            raise InvalidParams(f"view has no field {name!r}; it has {', '.join(sorted(known))}", path=f"view.{name}")
    if params.get("part", "final") not in ("final", "full", "thinking"):
        raise InvalidParams("view.part must be 'final', 'full' or 'thinking'", path="view.part")
    for name in ("open", "close"):
        if name in params and not (isinstance(params[name], str) and params[name]):
            raise InvalidParams(f"view.{name} must be a non-empty string", path=f"view.{name}")
    for name in ("starts_open", "keep_tokens", "calls"):
        if not isinstance(params.get(name, False), bool):
            raise InvalidParams(f"view.{name} must be true or false", path=f"view.{name}")
    tokens = params.get("special_tokens", SPECIAL_TOKENS)
    listed = isinstance(tokens, Sequence) and not isinstance(tokens, str)
    if not listed or not all(isinstance(token, str) and token for token in tokens):
        raise InvalidParams("view.special_tokens must be a list of non-empty strings", path="view.special_tokens")
    defaults = {"calls": default.calls, "keep_tokens": default.keep_tokens}
    view = View(**{**defaults, **params, "special_tokens": tuple(tokens)})
    if view.open == view.close:
        raise InvalidParams("view.open and view.close must differ", path="view.close")
    return view


def plain(text: Text, path: str = "response") -> str:
    """A text, or the content of the last assistant message (reasoning fields become a thought in front of it).

    Raises InvalidSample if the messages contain no assistant message, or content of an unknown form.
    """
    thought, content, _ = _last(text, path)
    return content if thought is None else f"{DEFAULT_VIEW.open}{thought}{DEFAULT_VIEW.close}{content}"


def transcript(text: Text, path: str = "prompt") -> str:
    """The contents of all messages joined by blank lines, or the plain text: the value of a verifier's `prompt`."""
    if isinstance(text, str):
        return text
    return "\n\n".join(_content(_message(message, path).get("content"), path) for message in text)


@dataclass(frozen=True, slots=True)
class Turn:
    """A message: its role, its content, and its calls (in tags, see `View.calls`; else empty)."""

    role: str
    content: str
    calls: str = ""


def turns(text: Text, path: str = "response") -> list[Turn]:
    """The messages one by one; plain text is one assistant message. Raises InvalidSample for an invalid message."""
    if isinstance(text, str):
        return [Turn("assistant", text)]
    found: list[Turn] = []
    for item in text:
        message = _message(item, path)
        role = message.get("role")
        content = _content(message.get("content"), path)
        found.append(Turn(role if isinstance(role, str) else "", content, _calls(message, path).strip("\n")))
    return found


def _last(text: Text, path: str) -> tuple[str | None, str, Mapping[str, Any]]:
    """The last assistant message: its thought if the chat server separated it, its content, and the message itself."""
    if isinstance(text, str):
        return None, text, {}
    for item in reversed(text):
        message = _message(item, path)
        if message.get("role") == "assistant":
            thought = message.get("reasoning_content") or message.get("reasoning")
            content = _content(message.get("content"), path)
            return (thought if isinstance(thought, str) else None), content, message
    raise InvalidSample(f"{path} has no message with role 'assistant'", path=path)


def _calls(message: Mapping[str, Any], path: str) -> str:
    """Returns a message's calls, in tags: its `tool_calls`, the `function_call` of the older protocol, or content parts
    of type `tool_use`. Arguments given as text stay a JSON string, so that malformed ones cannot escape from it.
    """
    calls = message.get("tool_calls")
    if calls is not None and (not isinstance(calls, Sequence) or isinstance(calls, str)):
        raise InvalidSample(f"{path}: a message's tool_calls must be a list", path=path)
    found: list[tuple[Any, Any]] = []
    for call in calls or ():
        function = call.get("function", call) if isinstance(call, Mapping) else None
        if not isinstance(function, Mapping):
            raise InvalidSample(f"{path}: an entry of tool_calls must be an object with 'function'", path=path)
        found.append((function.get("name"), function.get("arguments")))
    older = message.get("function_call")
    if isinstance(older, Mapping):
        found.append((older.get("name"), older.get("arguments")))
    content = message.get("content")
    if isinstance(content, Sequence) and not isinstance(content, str):
        uses = [part for part in content if isinstance(part, Mapping) and part.get("type") == "tool_use"]
        found += [(part.get("name"), part.get("input")) for part in uses]
    return "".join(f"\n<tool_call>\n{_call(name, arguments)}\n</tool_call>" for name, arguments in found)


def _call(name: Any, arguments: Any) -> str:
    # Escape "<", so that no argument can close the tag that contains it.
    given = {} if arguments is None or arguments == "" else arguments
    return json.dumps({"name": name, "arguments": given}, ensure_ascii=False).replace("<", "\\u003c")


def _message(item: Any, path: str) -> Mapping[str, Any]:
    if isinstance(item, Mapping):
        return item
    raise InvalidSample(f"{path}: a message must be an object with 'role' and 'content'", path=path)


def _content(content: Any, path: str) -> str:
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if isinstance(content, Sequence):
        parts: list[str] = []
        for part in content:
            if isinstance(part, str):
                parts.append(part)
            elif isinstance(part, Mapping):
                value = part.get("text")
                if isinstance(value, str):
                    parts.append(value)
        return "".join(parts)
    raise InvalidSample(f"{path}: a message's content must be text or a list of parts", path=path)


@lru_cache(maxsize=64)
def _token_pattern(tokens: tuple[str, ...]) -> re.Pattern[str]:
    # Longest first, so that a token that is a prefix of another does not leave the rest of it behind.
    return re.compile("|".join(re.escape(token) for token in sorted(tokens, key=len, reverse=True)))


@lru_cache(maxsize=64)
def _first_characters(tokens: tuple[str, ...]) -> frozenset[str]:
    return frozenset(token[0] for token in tokens)


def _stripped(text: str, view: View) -> str:
    if view.keep_tokens:
        return _trimmed(text, view.special_tokens)
    # Searching for one character is far cheaper than for ten tokens, and most texts contain none. A single pass: if
    # removing a token joins its surroundings into another one, that is text.
    for char in _first_characters(view.special_tokens):
        if char in text:
            return _token_pattern(view.special_tokens).sub("", text)
    return text


def _trimmed(text: str, tokens: tuple[str, ...]) -> str:
    """The text without the tokens at its ends, and the white space around them."""
    if text.lstrip().startswith(tokens):
        text = text[_run(tokens, False).match(text).end() :]  # type: ignore[union-attr]  # there is one
    if text.rstrip().endswith(tokens):
        # Backwards, so that a run of tokens within the text is not tried at each token.
        text = text[: len(text) - _run(tokens, True).match(text[::-1]).end()]  # type: ignore[union-attr]
    return text


@lru_cache(maxsize=64)
def _run(tokens: tuple[str, ...], backwards: bool) -> re.Pattern[str]:
    written = [token[::-1] if backwards else token for token in tokens]
    return re.compile(rf"(?:\s*(?:{_token_pattern(tuple(written)).pattern}))+")


def apply_view(response: Text, view: View = DEFAULT_VIEW) -> Viewed:
    """The part of the response selected by `view`. Raises InvalidSample for messages without an assistant message."""
    thought, text, message = _last(response, "response")
    viewed = _viewed(thought, text, view)
    if not view.calls or viewed.text is None or view.part == "thinking":
        return viewed
    # Appended last, so that nothing in a call's arguments is taken for a tag of the view.
    return Viewed(viewed.text + _calls(message, "response"))


def _viewed(apart: str | None, text: str, view: View) -> Viewed:
    """apart: the thought that the chat server separated."""
    if view.special_tokens:
        text = _stripped(text, view)
        apart = None if apart is None else _stripped(apart, view)
    if view.part == "full":
        if apart is not None:
            return Viewed(f"{view.open}{apart}{view.close}{text}")
        if view.starts_open and not text.lstrip().startswith(view.open):
            return Viewed(view.open + text)
        return Viewed(text)
    if apart is not None and view.part == "thinking":
        return Viewed(apart)
    starts_open = view.starts_open and apart is None
    thought = thought_of(text, view.open, view.close, starts_open=starts_open, apart=apart is not None)
    if thought is None:
        return Viewed(text) if view.part == "final" else _named(text, view)
    if view.part == "final":
        return Viewed(text[thought.answer :]) if thought.closed else Viewed(None, "unclosed_thought")
    if thought.end == len(text) and not thought.closed:
        return Viewed(None, "unclosed_thought")
    return Viewed(text[thought.start : thought.end])


def _named(text: str, view: View) -> Viewed:
    """The part selected by the caller's own tags; none if they are the tags of thoughts."""
    opened, closed = text.find(view.open), text.rfind(view.close)
    if view.open == DEFAULT_VIEW.open or not 0 <= opened < closed:
        return Viewed(None, "no_thought")
    return Viewed(text[opened + len(view.open) : closed])
