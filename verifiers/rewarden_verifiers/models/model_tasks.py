"""Tasks for models: rejects some responses beforehand, and decides who is at fault for an input that is too long."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

from rewarden.errors import InputTooLong, InvalidSample, SampleError
from rewarden.types import Media, Outcome, Text
from rewarden_verifiers.chat import Message
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Fit, Input, Task
from rewarden_verifiers.judges.empty_responses import empty_reason
from rewarden_verifiers.judges.pictures import address_of
from rewarden_verifiers.models.params import ModelParams
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.outcome import no_answer, wrong
from rewarden_verifiers.view import transcript, turns

R = TypeVar("R")


LONGEST = 700_000
"""Maximum number of characters of a response that is inserted into a prompt, perhaps next to another one: no prompt
holds more.
"""


def refused(
    response: str,
    params: ModelParams,
    reference: str | Sequence[str] | None = None,
    *,
    prompted: bool = False,
    **details: Any,
) -> Outcome | None:
    """The outcome of a response for which no model is called, because it has no substance or, if it is inserted into a
    prompt (`prompted`), is too long for any; else None. details: fields of the outcome, such as its range.
    """
    if prompted and len(response) > LONGEST:
        said = f"The response has {len(response)} characters; a prompt takes at most {LONGEST}."
        return wrong("too_long", feedback=said, flags=("too_long",), **details)
    why = empty_reason(response, reference) if params.hollow == "refuse" else None
    if why is None and not response.strip():
        why = "no_answer"
    return None if why is None else no_answer(why, feedback="The response has no content.", **details)


async def ask(ctx: Context, task: Task[R], model: str | None, seen: Seen) -> R:
    """Runs the task on a model and counts the result in `seen`. Raises what `ctx.model.run` raises."""
    result = await ctx.model.run(task, model)
    seen.enter(result.facts)  # type: ignore[attr-defined]  # every result has them
    return result


def too_long(error: InputTooLong, **details: Any) -> Outcome:
    """The outcome of an input that was too long because of the response. Raises the error if the input would be too
    long even without it: the caller's prompt, or the reference, is then at fault.
    """
    known = error.details
    tokens, context, candidate = (known.get(name) for name in ("tokens", "context", "candidate"))
    if not isinstance(tokens, int) or not isinstance(context, int) or not isinstance(candidate, int):
        raise error
    if tokens - candidate > context:
        raise error
    return wrong(
        "too_long",
        feedback=f"With the response there are {tokens} tokens to read; the model reads {context}.",
        flags=("too_long",),
        evidence={"tokens": tokens, "context": context},
        **details,
    )


def excess(error: InputTooLong) -> Outcome | SampleError:
    """The outcome of a group member whose own text is too long for the model; else the error itself."""
    try:
        return too_long(error)
    except InputTooLong as known:
        return known


def beginning(prompt: Text | None, begun: str, candidate: str, *, text: str | None, system: str, fit: Fit) -> Input:
    """Makes the input for a prompt and the open beginning of a response: `text` with the prompt in place of `{prompt}`,
    if given; else a chat. Raises InvalidSample if nothing comes before the assistant's turn.
    """
    if text is not None:
        before = text.replace("{prompt}", transcript(prompt) if prompt is not None else "")
        return Input(text=before + begun, candidate=candidate, fit=fit)
    if not prompt and not system:
        raise InvalidSample("prompt is missing: the text that comes before the response", path="prompt")
    messages = chat_of(prompt, begun or None, system)
    return Input(messages=messages, begin=not begun, open=bool(begun), candidate=candidate, fit=fit)


def chat_of(prompt: Text | None, response: str | None, system: str = "", media: Sequence[Media] = ()) -> list[Message]:
    """Makes a chat of a prompt and a response: a plain prompt is the user's turn; the response, if given, is the
    assistant's last turn. Images in the prompt stay, so that a model without vision rejects them instead of scoring
    without them. system: a system turn before everything else, unless empty. media: further images, inserted at the
    beginning of the last user turn. Raises InvalidSample if there is no user turn, or an image has no address.
    """
    messages: list[Message] = [{"role": "system", "content": system}] if system else []
    if isinstance(prompt, str):
        messages.append({"role": "user", "content": prompt})
    elif prompt is not None:
        for turn, message in zip(turns(prompt, "prompt"), prompt, strict=True):
            messages.append({"role": turn.role, "content": _shown(message.get("content"), turn.content)})
    if media:
        last = max((place for place, one in enumerate(messages) if one["role"] == "user"), default=None)
        if last is None:
            raise InvalidSample("there are images, and no turn of the user's to show them in", path="prompt")
        said = messages[last]["content"]
        parts = [{"type": "text", "text": said}] if isinstance(said, str) else said
        pictures = [{"type": "image_url", "image_url": {"url": address_of(one)}} for one in media]
        messages[last] = {"role": "user", "content": [*pictures, *parts]}
    if response is not None:
        messages.append({"role": "assistant", "content": response})
    return messages


def sees(prompt: Text | None) -> bool:
    """Returns whether a prompt contains images."""
    return any(isinstance(one["content"], list) for one in chat_of(prompt, None))


def _shown(content: Any, text: str) -> Any:
    """The content of a turn: its text, or its parts if it contains images."""
    if not isinstance(content, (list, tuple)) or not any(_is_image(part) for part in content):
        return text
    return [
        part if _is_image(part) else {"type": "text", "text": part["text"]}
        for part in content
        if _is_image(part) or (isinstance(part, Mapping) and isinstance(part.get("text"), str))
    ]


def _is_image(part: Any) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "image_url"
