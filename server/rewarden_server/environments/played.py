"""The words of a judge that plays a part in a live episode, which become entries of the episode's script."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from rewarden.errors import InvalidParams, InvalidRequest, ProviderRefused, RequestError, SampleError, Unavailable
from rewarden_verifiers.chat import Call, Question, Reply
from rewarden_verifiers.extraction import encodable
from rewarden_verifiers.view import View, apply_view

Entry = str | dict[str, Any]
"""An entry of a script: words or a tool call."""

MOST_SAID = 2000
"""The maximum length of a judge's words and of a call's arguments, in characters; longer words are truncated. Attack: a
policy that asks for a long text in order to make the reply unreadable."""

MOST_CALLS = 8
"""The maximum number of calls in one reply."""

_ASKS = 2
"""The number of replies to a question before giving up."""


class Player(Protocol):
    """The part of a service that asks judges."""

    async def ask(self, question: Question, judge: str) -> Reply:
        """See `rewarden_verifiers.chat.Judge`."""


class Unreadable(ValueError):
    """A reply with neither words nor calls."""


async def answered(player: Player, asked: Mapping[str, Any], sample: int, count: Callable[[], int]) -> list[Entry]:
    """Returns the answer to an environment's `Asked`. sample: episodes with the same number get the same answers to the
    same questions. count: returns a new number for each repeated question, because an identical one would get the
    cached reply. Raises RequestError, in which case nothing has happened."""
    found = await _tried(player, asked, asked["messages"], sample, count)
    if isinstance(found, list):
        return found
    if asked["control"] is not None:
        control = await _tried(player, asked, asked["control"], sample, count)
        if isinstance(control, list):
            # Attack: a policy whose words make the judge refuse or say nothing, to leave the episode without a score.
            return [asked["otherwise"]]
    raise found


async def _tried(
    player: Player,
    asked: Mapping[str, Any],
    messages: Sequence[Mapping[str, str]],
    sample: int,
    count: Callable[[], int],
) -> list[Entry] | RequestError:
    """The answer to one form of the question, or the error if the judge does not answer it. Raises RequestError if the
    judge does not answer at all."""
    known = {tool["function"]["name"] for tool in asked["tools"]}
    problem: RequestError | None = None
    for more in range(1, _ASKS + 1):
        question = Question(
            messages=messages, tools=asked["tools"], more=more, sample=sample, attempt=count() if more > 1 else 0
        )
        try:
            return _read(await player.ask(question, asked["judge"]), known, asked["never"])
        except Unreadable as error:
            problem = unplayed(asked["judge"], str(error))
        except ProviderRefused as error:
            # On the second attempt, the judge may have no room for more tokens.
            problem = problem or _error_of(error)
            if error.details.get("kind") != "rejected":
                raise problem from None
            break
        except SampleError as error:
            raise _error_of(error) from None
    assert problem is not None
    return problem


def unplayed(judge: str, why: str) -> Unavailable:
    """The error for a judge that does not play its part."""
    said = f"judge {judge!r}, which plays the user, {why}; send the step again"
    return Unavailable(said, reason="unreadable_reply", fault="infra", retry_after_s=1.0)


def _read(reply: Reply, known: set[str], never: Sequence[str]) -> list[Entry]:
    """The entries of a reply: its calls, or otherwise its words without the reasoning. Raises Unreadable."""
    if reply.finish in ("content_filter", "refusal"):
        raise Unreadable("refused to answer")
    if reply.calls:
        if len(reply.calls) > MOST_CALLS:
            raise Unreadable(f"made more than {MOST_CALLS} calls at once")
        return [_call(call, known) for call in reply.calls]
    words = (apply_view(encodable(reply.text), View(part="final")).text or "").strip()[:MOST_SAID].rstrip()
    if not words:
        raise Unreadable("said nothing")
    if any(text in words for text in never):
        raise Unreadable("ended the conversation before it had begun")
    return [words]


def _call(call: Call, known: set[str]) -> Entry:
    if call.name not in known:
        raise Unreadable("called a tool that it does not have")
    try:
        arguments = json.loads(call.arguments or "{}") if len(call.arguments) <= MOST_SAID else None
    except (ValueError, RecursionError):
        arguments = None
    if not isinstance(arguments, dict):
        raise Unreadable("called a tool without an object of arguments")
    return {"tool": call.name, "arguments": arguments}


def _error_of(error: SampleError) -> RequestError:
    """The error for a judge that could not be reached. It says nothing about the policy."""
    if isinstance(error, InvalidParams):
        said = error.message.replace("params.judge", "user.judge")
        return InvalidRequest(said, path="options.user.judge", fault="caller")
    again = {"retry_after_s": 1.0} if error.retryable else {}
    return Unavailable(error.message, reason=error.reason, fault="infra", **again)
