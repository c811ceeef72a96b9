"""A model process whose numbers are written down: for what verifiers make of numbers, never for the computing.

A rule says what comes of a task of its kind whose texts hold all of `when`; where several do, the one that says most.
`{"task": kind, "when": text or texts, "reply": …}`, or `replies` in turn; with `"where": {field: value}` it holds of
tasks with such fields (`samples` 1, say) alone. What a reply is depends on the kind:

    classify     a list of logits, or an object of label to logit
    pair         the logit of the first text over the second
    choose       an object of text to probability
    likelihood   a list of probabilities, one for each word of the continuation (a word has its leading blank)
    rate         a list of rows, one a step: a list of outputs, or an object of text to probability
    write        a list of texts, or of {"text", "finish"}
    embed        a list of numbers

or `{"$error": {"kind", "message", "details"}}`, as `rewarden_models.wire` has failures; for any kind
`{"$facts": {…}, "$reply": …}` states facts (version, truncated …) too. A task that no rule knows is a failure that no
test mistakes for a verdict; of one about a neutral text nothing can be read, so that the model is at fault unless a
rule says otherwise.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from rewarden_models.wire import TASKS, error_to_wire
from tests.judges.scripted import holds_neutral_text
from tests.threaded import Threaded

NAME = "main"
ABOUT = {
    "model": NAME,
    "version": "scripted-1",
    "kinds": list(TASKS),
    "context": 4096,
    "dtype": "float32",
    "device": "cpu",
}


@dataclass
class Rule:
    """The results of tasks of a kind that hold all of `when`."""

    kind: str
    when: tuple[str, ...]
    replies: Sequence[Any]
    where: Mapping[str, Any] = field(default_factory=dict)
    given: int = 0

    def fits(self, kind: str, task: Mapping[str, Any], text: str) -> bool:
        """Returns whether it says what comes of this task, which holds this text."""
        named = all(task.get(name) == value for name, value in self.where.items())
        return self.kind == kind and named and all(part in text for part in self.when)

    @property
    def says(self) -> tuple[int, int]:
        """Returns how much it asks of a task."""
        return sum(map(len, self.when)), len(self.where)

    def next(self) -> Any:
        """The next reply in turn."""
        self.given += 1
        return self.replies[(self.given - 1) % len(self.replies)]


def rule_of(value: Mapping[str, Any]) -> Rule:
    """A rule from its JSON form."""
    when = value["when"]
    return Rule(
        kind=value["task"],
        when=(when,) if isinstance(when, str) else tuple(when),
        replies=value["replies"] if "replies" in value else [value["reply"]],
        where=value.get("where", {}),
    )


def texts_of(value: Any) -> Iterator[str]:
    """All texts in a task."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from texts_of(item)
    elif isinstance(value, list):
        for item in value:
            yield from texts_of(item)


@dataclass
class ScriptedModel:
    """The process, on a thread of this one; it has one model, `main`. `tasks` holds (kind, task) as they came. A
    context manager."""

    rules: list[Rule] = field(default_factory=list)
    tasks: list[tuple[str, dict[str, Any]]] = field(default_factory=list)
    url: str = ""

    def script(self, *rules: Mapping[str, Any]) -> None:
        """Add rules; those that are none of a model's are passed over."""
        self.rules += [rule_of(rule) for rule in rules if "task" in rule]

    def clear(self) -> None:
        """Forget rules and tasks."""
        self.rules.clear()
        self.tasks.clear()

    def settings(self, **more: Any) -> dict[str, Any]:
        """Returns what `[models.named.main]` has to say for this process."""
        return {"address": self.url, "model": "scripted", **more}

    async def _work(self, request: Request) -> Response:
        body = await request.json()
        return PlainTextResponse("".join(JSONResponse(self._line(item)).body.decode() + "\n" for item in body["items"]))

    def _line(self, item: Mapping[str, Any]) -> dict[str, Any]:
        kind, task = item["kind"], item["task"]
        self.tasks.append((kind, task))
        try:
            return {"id": item["id"], **self._answer(kind, task)}
        except LookupError as error:
            return {"id": item["id"], "error": error_to_wire("failed", f"scripted: {error.args[0]}")}

    def _answer(self, kind: str, task: Mapping[str, Any]) -> dict[str, Any]:
        text = "\n".join(texts_of(task))
        fitting = [rule for rule in self.rules if rule.fits(kind, task, text)]
        if not fitting and kind in _UNREADABLE and holds_neutral_text(text):
            return {"result": {**_UNREADABLE[kind](task), "facts": {"model": NAME, "version": ABOUT["version"]}}}
        if not fitting:
            raise LookupError(f"no rule for {kind} of {text[-300:]!r}")
        most = max(rule.says for rule in fitting)
        best = [rule for rule in fitting if rule.says == most]
        if len(best) > 1:
            raise LookupError(f"several rules for {kind} of {best[0].when}")
        reply = best[0].next()
        facts: dict[str, Any] = {"model": NAME, "version": ABOUT["version"], "tokens": 10}
        if isinstance(reply, Mapping) and "$error" in reply:
            return {"error": reply["$error"]}
        if isinstance(reply, Mapping) and "$facts" in reply:
            facts |= reply["$facts"]
            reply = reply["$reply"]
        return {"result": {**_RESULTS[kind](reply, task), "facts": facts}}

    async def _models(self, request: Request) -> Response:
        return JSONResponse({"models": {NAME: {"state": "ready", "about": ABOUT}}})

    def __enter__(self) -> ScriptedModel:
        routes = [
            Route("/v1/work", self._work, methods=["POST"]),
            Route("/v1/models", self._models, methods=["GET"]),
            Route("/healthz", lambda request: JSONResponse({"status": "alive"}), methods=["GET"]),
        ]
        self._server = Threaded(routes)
        self.url = self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.stop()


def _classify(reply: Any, task: Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(reply, Mapping):
        return {"values": list(reply.values()), "labels": list(reply)}
    return {"values": reply, "labels": [f"LABEL_{place}" for place in range(len(reply))]}


def _pair(reply: float, task: Mapping[str, Any]) -> dict[str, Any]:
    return {"logit": reply}


def _choose(reply: Mapping[str, float], task: Mapping[str, Any]) -> dict[str, Any]:
    return {"logprobs": [_log(reply[choice]) for choice in task["choices"]]}


def _likelihood(reply: Sequence[float], task: Mapping[str, Any]) -> dict[str, Any]:
    words = re.findall(r"\s*\S+|\s+$", task["continuation"])
    if len(words) != len(reply):
        raise LookupError(f"{len(reply)} probabilities for the {len(words)} words {words}")
    return {"tokens": words, "logprobs": [_log(share) for share in reply]}


def _rate(reply: Sequence[Any], task: Mapping[str, Any]) -> dict[str, Any]:
    if len(reply) != len(task["steps"]):
        raise LookupError(f"{len(reply)} rows for the {len(task['steps'])} steps {task['steps']}")
    choices = list(task.get("choices", ()))
    rows = [[_log(row[choice]) for choice in choices] if isinstance(row, Mapping) else row for row in reply]
    return {"values": rows, "labels": choices or [f"LABEL_{place}" for place in range(len(rows[0]) if rows else 0)]}


def _write(reply: Sequence[Any], task: Mapping[str, Any]) -> dict[str, Any]:
    if len(reply) != task.get("samples", 1):
        raise LookupError(f"{len(reply)} texts for {task.get('samples', 1)} samples")
    return {"texts": [{"text": one} if isinstance(one, str) else one for one in reply]}


def _embed(reply: Sequence[float], task: Mapping[str, Any]) -> dict[str, Any]:
    length = math.sqrt(math.fsum(value * value for value in reply)) or 1.0
    return {"values": [value / length for value in reply] if task.get("normalise", True) else list(reply)}


def _log(share: float) -> float:
    return math.log(share) if share > 0 else -745.0  # where the exponential is still above 0 is near


_UNREADABLE: Mapping[str, Callable[[Mapping[str, Any]], dict[str, Any]]] = {
    "choose": lambda task: {"logprobs": [_log(1e-9)] * len(task["choices"])},
    "write": lambda task: {"texts": [{"text": "?"}] * task.get("samples", 1)},
}
_RESULTS = {
    "classify": _classify,
    "pair": _pair,
    "choose": _choose,
    "likelihood": _likelihood,
    "rate": _rate,
    "write": _write,
    "embed": _embed,
}
