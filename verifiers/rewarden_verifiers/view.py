"""The text view: which part of a response a verifier sees. One pass, linear time, shared by all verifiers.

A response is plain text or chat messages. The view takes the last assistant message, drops configured special
tokens, and returns the part after the closed thought (`final`, the default), everything (`full`), or the thought
alone (`thinking`). A thought that never closes is no answer: a policy that is still thinking has not answered, even
when a boxed candidate stands in the thought.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidSample
from rewarden.types import Text

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
"""Ends of turn that trainers often leave in decoded text."""

Part = Literal["final", "full", "thinking"]


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """Parameters of the view, given to any verifier as `view` (a part's name, or an object of these fields).

    `starts_open`: the chat template itself opened the thought, so that the response holds only the closing tag.
    """

    part: Part = "final"
    open: str = "<think>"
    close: str = "</think>"
    starts_open: bool = False
    special_tokens: tuple[str, ...] = SPECIAL_TOKENS


DEFAULT_VIEW = View()


@dataclass(frozen=True, slots=True)
class Viewed:
    """What the view found: `text`, or None with the snake_case `reason` why there is nothing to judge."""

    text: str | None
    reason: str | None = None


def view_of(params: Any) -> View:
    """The `view` parameter as a `View`. Raises InvalidParams, naming the field."""
    if params is None:
        return DEFAULT_VIEW
    if isinstance(params, str):
        params = {"part": params}
    if not isinstance(params, Mapping):
        raise InvalidParams("view must be 'final', 'full', 'thinking' or an object", path="view")
    known = {"part", "open", "close", "starts_open", "special_tokens"}
    for name in params:
        if name not in known:
            raise InvalidParams(f"view has no field {name!r}; it has {', '.join(sorted(known))}", path=f"view.{name}")
    if params.get("part", "final") not in ("final", "full", "thinking"):
        raise InvalidParams("view.part must be 'final', 'full' or 'thinking'", path="view.part")
    for name in ("open", "close"):
        if name in params and not (isinstance(params[name], str) and params[name]):
            raise InvalidParams(f"view.{name} must be a non-empty string", path=f"view.{name}")
    if not isinstance(params.get("starts_open", False), bool):
        raise InvalidParams("view.starts_open must be true or false", path="view.starts_open")
    tokens = params.get("special_tokens", SPECIAL_TOKENS)
    if isinstance(tokens, str) or not all(isinstance(t, str) and t for t in tokens):
        raise InvalidParams("view.special_tokens must be a list of non-empty strings", path="view.special_tokens")
    return View(**{**params, "special_tokens": tuple(tokens)})


def plain(text: Text, path: str = "response") -> str:
    """A text, or the content of the last assistant message (reasoning fields become a thought in front of it).

    Raises InvalidSample when messages hold no assistant message or content of an unknown form.
    """
    if isinstance(text, str):
        return text
    for message in reversed(text):
        if message.get("role") == "assistant":
            content = _content(message.get("content"), path)
            thought = message.get("reasoning_content") or message.get("reasoning")
            return f"<think>{thought}</think>{content}" if isinstance(thought, str) and thought else content
    raise InvalidSample(f"{path} has no message with role 'assistant'", path=path)


def transcript(text: Text, path: str = "prompt") -> str:
    """All messages' contents joined by blank lines, or the plain text: what a verifier that reads `prompt` gets."""
    if isinstance(text, str):
        return text
    return "\n\n".join(_content(message.get("content"), path) for message in text)


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


def apply_view(response: Text, view: View = DEFAULT_VIEW) -> Viewed:
    """The part of the response that `view` names. Raises InvalidSample for messages without an assistant."""
    text = plain(response)
    for token in view.special_tokens:
        if token in text:
            text = text.replace(token, "")
    if view.part == "full":
        return Viewed(text)
    opened, closed = text.find(view.open), text.rfind(view.close)
    if view.part == "final":
        if closed >= 0:
            if text.find(view.open, closed) >= 0:  # a second thought, still open
                return Viewed(None, "unclosed_thought")
            return Viewed(text[closed + len(view.close) :])
        if view.starts_open or opened >= 0:
            return Viewed(None, "unclosed_thought")
        return Viewed(text)
    if closed < 0:
        return Viewed(None, "unclosed_thought" if opened >= 0 or view.starts_open else "no_thought")
    # Without an opening tag the chat template opened the thought: it begins with the response.
    return Viewed(text[opened + len(view.open) if 0 <= opened < closed else 0 : closed])
