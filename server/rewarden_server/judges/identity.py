"""The identity of a judge: the part of its configuration that can change a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden_server.judges.settings import JudgeEndpoint, JudgeSettings


def identity(settings: JudgeEndpoint) -> Mapping[str, Any]:
    """The model and its sampling, and whether verdicts are flagged as weak; keys, limits and prices change no reply,
    and neither should the address.
    """
    names = ("provider", "model", "temperature", "top_p", "max_tokens", "thinking_tokens", "structured", "extra")
    # If it is not declared, it is unknown until the judge's server is asked.
    context = {} if settings.context is None else {"context": settings.context}
    weak = {"weak": True} if settings.weak else {}
    return {**{name: getattr(settings, name) for name in names}, **context, **weak}


def default_judge(settings: JudgeSettings) -> str | None:
    """The judge of samples that name none: the configured default, or the only judge."""
    if settings.default is None and len(settings.named) == 1:
        return next(iter(settings.named))
    return settings.default
