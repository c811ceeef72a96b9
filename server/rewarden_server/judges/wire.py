"""Turns a question into the fields of a request, in the form that the server accepts, which is learned from its
refusals.

Servers differ in how they enforce a reply's form, in the name of its token limit, and in the sampling parameters they
allow. A field that one refuses is not sent again for the life of this process.
"""

from __future__ import annotations

from typing import Any, Literal

from rewarden_server.judges.price import reply_tokens
from rewarden_server.judges.settings import JudgeEndpoint
from rewarden_verifiers.chat import Question

Structured = Literal["json_schema", "json_object", "none"]

_STEPS: tuple[Structured, ...] = ("json_schema", "json_object", "none")
_OF_FORM = ("response_format", "json_schema", "json_object", "structured", "guided", "grammar", "strict")
_SAMPLING = ("temperature", "top_p", "seed")


class Wire:
    """The form of request that one endpoint accepts, as far as it is known."""

    def __init__(self, settings: JudgeEndpoint) -> None:
        self._settings = settings
        self.structured: Structured = "json_schema" if settings.structured == "auto" else settings.structured
        self.bound_name = "max_tokens"
        self.dropped: set[str] = set()

    def fields(self, question: Question) -> dict[str, Any]:
        """The request's fields, without those of `extra`."""
        settings = self._settings
        found: dict[str, Any] = {
            "model": settings.model,
            "messages": list(question.messages),
            self.bound_name: reply_tokens(settings, question),
        }
        sampling = {
            "temperature": settings.temperature if question.temperature is None else question.temperature,
            "top_p": settings.top_p if question.top_p is None else question.top_p,
            "seed": question.seed,
        }
        found |= {name: value for name, value in sampling.items() if value is not None and name not in self.dropped}
        if question.tools:
            # An enforced form would leave no room for a call.
            found["tools"] = list(question.tools)
        elif question.alternatives:
            # Only the first token matters, and an enforced form would make it a brace.
            found |= {"logprobs": True, "top_logprobs": question.alternatives}
        elif question.schema is not None and self.structured == "json_schema":
            named = {"name": "reply", "strict": True, "schema": question.schema}
            found["response_format"] = {"type": "json_schema", "json_schema": named}
        elif question.schema is not None and self.structured == "json_object":
            found["response_format"] = {"type": "json_object"}
        return found

    def learn(self, sent: dict[str, Any], said: str, param: str | None) -> bool:
        """Returns whether a server that refused `sent` with 400 or 422 may accept another form, and uses that form from
        now on.

        said: the server's words; param: the field that it names, if any.
        """
        words = f"{param or ''} {said}".lower()
        form = sent.get("response_format")
        if "max_completion_tokens" in words and "max_tokens" in sent and "too large" not in words:
            self.bound_name = "max_completion_tokens"
            return True
        if form is not None and self._settings.structured == "auto" and any(name in words for name in _OF_FORM):
            following = _STEPS[_STEPS.index(form["type"]) + 1]
            # Simultaneous requests are each refused; the first refusal changes the form, the others follow.
            if self.structured == form["type"]:
                self.structured = following
            return True
        unsupported = any(word in words for word in ("unsupported", "not support", "not permitted", "extra_forbidden"))
        for name in _SAMPLING:
            if name in sent and unsupported and (param == name or f"'{name}'" in words or f"`{name}`" in words):
                self.dropped.add(name)
                return True
        return False
