"""A server of OpenAI's chat protocol whose replies are written down: for our reading of replies, never for the judging.

A rule says what is replied to a chat whose text holds all of `when`; where several do, the one that says most. A reply
is a text, an object (its JSON), a function of the request to one of these, or `{"$reply": {…}}` with any of `text`,
`finish` (`length`, `content_filter`), `refusal`, `tokens` (first token to probability), `calls` (of tools: `[[name,
arguments], …]`) and `status` (an HTTP error). A list of replies is given in turn, and then from its beginning. A chat
that no rule knows is answered with 418, which no test mistakes for a verdict; one about a neutral text with a reply
that cannot be read, so that the judge is at fault unless a rule says otherwise. One about an unrelated subject gets the
lowest verdict, unless a rule names that subject. A reply that is to quote the response's final answer, and whose script
has no `answer`, quotes all that is shown of it.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route

from rewarden_verifiers.judges.neutral_text import neutral_text
from rewarden_verifiers.judges.unrelated import SUBJECTS, subject_of
from tests.threaded import Threaded


@dataclass
class Rule:
    """The replies to chats that hold all of `when`."""

    when: tuple[str, ...]
    replies: Sequence[Any]
    given: int = 0

    def next(self) -> Any:
        """The next reply in turn."""
        self.given += 1
        return self.replies[(self.given - 1) % len(self.replies)]


def rule_of(value: Mapping[str, Any]) -> Rule:
    """A rule from its JSON form, `{"when": text or list, "reply": one or "replies": [several]}`."""
    when = value["when"]
    return Rule(
        when=(when,) if isinstance(when, str) else tuple(when),
        replies=value["replies"] if "replies" in value else [value["reply"]],
    )


def text_of(messages: Iterable[Mapping[str, Any]]) -> str:
    """All text of a chat."""
    parts: list[str] = []
    for message in messages:
        content = message["content"]
        parts += [content] if isinstance(content, str) else [part.get("text", "") for part in content]
    return "\n".join(parts)


def holds_neutral_text(text: str) -> bool:
    """Returns whether a neutral text stands on a line of its own."""
    return any(len(line) > 3 and line == neutral_text(len(line)) for line in text.split("\n"))


def unrelated_in(text: str) -> str | None:
    """Returns the unrelated subject that a chat is about."""
    lines = text.split("\n")
    whole = (one for one in SUBJECTS if one in lines or any(line.endswith(subject_of(one)) for line in lines))
    return next(whole, None) or next((one for one in SUBJECTS if f": {subject_of(one)} " in text), None)


_LOWER = "a lower number is better"
_NO = ("incorrect", "not_met", "no")


def schema_in(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns the schema that a request asks for."""
    found: Mapping[str, Any] = body.get("response_format", {}).get("json_schema", {}).get("schema", {})
    return found


def lowest(schema: Mapping[str, Any], *, worse: Callable[..., Any] = min) -> Any:
    """Returns the lowest verdict of a schema. worse: takes the worse end of a scale."""
    if "enum" in schema:
        return next(one for one in _NO if one in schema["enum"])
    if schema.get("type") == "object":
        return {name: 1 if name == "number" else lowest(one, worse=worse) for name, one in schema["properties"].items()}
    if schema.get("type") == "array":
        return [lowest(schema["items"], worse=worse)]
    return worse(schema["minimum"], schema["maximum"]) if "minimum" in schema else "unrelated"


@dataclass
class ScriptedJudge:
    """The server, on a thread of this process. `requests` holds the bodies that came. models: what it states of its
    model beside the name, in a list that was asked for `listed` times; none: it has no such list. A context manager."""

    rules: list[Rule] = field(default_factory=list)
    requests: list[dict[str, Any]] = field(default_factory=list)
    headers: list[Mapping[str, str]] = field(default_factory=list)
    models: Mapping[str, Any] | None = None
    listed: int = 0
    url: str = ""

    def script(self, *rules: Mapping[str, Any]) -> None:
        """Add rules; those of models are passed over."""
        self.rules += [rule_of(rule) for rule in rules if "task" not in rule]

    def chats(self) -> list[str]:
        """The text of each chat that came."""
        return [text_of(request["messages"]) for request in self.requests]

    def clear(self) -> None:
        """Forget rules and requests."""
        self.rules.clear()
        self.requests.clear()
        self.headers.clear()
        self.models = None
        self.listed = 0

    def settings(self, **more: Any) -> dict[str, Any]:
        """The fields of `[judges.named.NAME]` for this server.

        Flake: replies are given in the order in which requests arrive, and requests on several connections overtake
        each other. One at a time keeps the order in which they were made.
        """
        return {"base_url": self.url, "model": "scripted", "concurrency": 1, **more}

    async def _models(self, request: Request) -> Response:
        self.listed += 1
        if self.models is None:
            return JSONResponse({"error": {"message": "no such route"}}, status_code=404)
        return JSONResponse({"object": "list", "data": [{"id": "scripted", "object": "model", **self.models}]})

    async def _complete(self, request: Request) -> Response:
        body = await request.json()
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        text = text_of(body["messages"])
        fitting = [rule for rule in self.rules if all(part in text for part in rule.when)]
        if unrelated := unrelated_in(text):
            fitting = [rule for rule in fitting if unrelated in rule.when]
            if not fitting:
                return _answer(lowest(schema_in(body), worse=max if _LOWER in text else min), body)
        if not fitting and holds_neutral_text(text):
            return _answer("?", body)
        if not fitting:
            return JSONResponse({"error": {"message": f"no rule for {text[-300:]!r}"}}, status_code=418)
        longest = max(sum(map(len, rule.when)) for rule in fitting)
        best = [rule for rule in fitting if sum(map(len, rule.when)) == longest]
        if len(best) > 1:
            return JSONResponse({"error": {"message": f"several rules for {best[0].when}"}}, status_code=418)
        reply = best[0].next()
        return _answer(reply(body) if callable(reply) else reply, body)

    def __enter__(self) -> ScriptedJudge:
        routes = [
            Route("/v1/chat/completions", self._complete, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
        ]
        self._server = Threaded(routes)
        self.url = f"{self._server.start()}/v1"
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


def _quoting(reply: Mapping[str, Any], body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns an object with the quoted answer if the question asks for one, and without it if not."""
    if "answer" not in schema_in(body).get("properties", {}):
        return {name: value for name, value in reply.items() if name != "answer"}
    return {"answer": shown_in(body), **reply}


def shown_in(body: Mapping[str, Any]) -> str:
    """Returns the response that a chat shows."""
    shown = _SHOWN.findall(text_of(body["messages"]))
    return shown[-1][1] if shown else ""


_SHOWN = re.compile(r"^\[response ([0-9a-f]{16})\]\n(.*?)\n\[end of response \1\]$", re.DOTALL | re.MULTILINE)


def _answer(reply: Any, body: Mapping[str, Any]) -> Response:
    made: Mapping[str, Any]
    if isinstance(reply, str):
        made = {"text": reply}
    else:
        made = reply["$reply"] if "$reply" in reply else {"text": json.dumps(_quoting(reply, body))}
    if "status" in made:
        return JSONResponse({"error": {"message": made.get("text", "scripted")}}, status_code=made["status"])
    choice: dict[str, Any] = {
        "index": 0,
        "finish_reason": made.get("finish", "stop"),
        "message": {"role": "assistant", "content": made.get("text", ""), "refusal": made.get("refusal")},
    }
    if "calls" in made:
        choice["finish_reason"] = made.get("finish", "tool_calls")
        choice["message"]["tool_calls"] = [
            {
                "id": f"call_{number}",
                "type": "function",
                "function": {
                    "name": name,
                    "arguments": arguments if isinstance(arguments, str) else json.dumps(arguments),
                },
            }
            for number, (name, arguments) in enumerate(made["calls"])
        ]
    if body.get("logprobs") and "tokens" in made:
        best = [{"token": token, "logprob": math.log(share), "bytes": None} for token, share in made["tokens"].items()]
        choice["logprobs"] = {"content": [{**best[0], "top_logprobs": best}], "refusal": None}
    return JSONResponse(
        {
            "id": "scripted",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [choice],
            "usage": {"prompt_tokens": 100, "completion_tokens": 10, "total_tokens": 110},
        }
    )
