"""Counts calls, tokens and cost of the opinions behind one outcome, for its evidence and flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.chat import Reply


@dataclass
class Ledger:
    """All replies on which one outcome rests. Cached replies cost nothing and are counted separately. research: the
    judge's tool calls, see `research.py`; tools_failed: calls that failed through no fault of the judge.
    """

    judges: set[str] = field(default_factory=set)
    models: set[str] = field(default_factory=set)
    calls: int = 0
    cached: int = 0
    unreadable: int = 0
    neutralised: int = 0
    fallback: bool = False
    weak: bool = False
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost_usd: float | None = None
    estimated: bool = False
    research: list[Mapping[str, Any]] = field(default_factory=list)
    tools_failed: int = 0

    def enter(self, reply: Reply) -> None:
        """Counts one reply."""
        self.judges.add(reply.judge)
        self.models.add(reply.model)
        self.fallback |= reply.fallback
        self.weak |= reply.weak
        if reply.cached:
            self.cached += 1
            return
        self.calls += 1
        self.prompt_tokens += reply.usage.prompt_tokens
        self.completion_tokens += reply.usage.completion_tokens
        self.estimated |= reply.usage.estimated
        if reply.usage.cost_usd is not None:
            self.cost_usd = (self.cost_usd or 0.0) + reply.usage.cost_usd

    def evidence(self) -> dict[str, Any]:
        """`judge`, `model`, and `usage`: calls, cached replies, tokens, cost in dollars."""
        usage: dict[str, Any] = {
            "calls": self.calls,
            "cached": self.cached,
            "unreadable": self.unreadable,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
        }
        if self.cost_usd is not None:
            usage["cost_usd"] = self.cost_usd
        if self.estimated:
            usage["estimated"] = True
        found: dict[str, Any] = {"judge": ", ".join(sorted(self.judges)), "model": ", ".join(sorted(self.models))}
        if self.neutralised:
            found["neutralised"] = self.neutralised
        if self.research:
            found["research"] = self.research
        return {**found, "usage": usage}

    def counted(self) -> dict[str, Any]:
        """The evidence, or nothing if no judge was asked."""
        return self.evidence() if self.calls or self.cached else {}

    def flags(self) -> list[str]:
        """`judge_fallback`: a fallback answered instead of the requested judge. `neutralised`: the material contained
        control sequences or invisible characters. `weak_judge`: a judge configured as weak answered. `tool_failed`: a
        tool call failed through no fault of the judge.
        """
        return [
            *["judge_fallback"] * self.fallback,
            *["neutralised"] * bool(self.neutralised),
            *["weak_judge"] * self.weak,
            *["tool_failed"] * bool(self.tools_failed),
        ]
