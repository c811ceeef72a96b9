"""The cost of the opinions behind one outcome, for its evidence and flags."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.chat import Reply


@dataclass
class Ledger:
    """All replies that one outcome rests on. What was remembered cost nothing now, and is counted apart. research: the
    judge's calls of tools, see `research.py`; tools_failed: those that failed by our fault."""

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
        """Count one reply."""
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
        """`judge`, `model`, and `usage`: calls, remembered ones, tokens, dollars."""
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
        """The same, unless nobody was asked."""
        return self.evidence() if self.calls or self.cached else {}

    def flags(self) -> list[str]:
        """`judge_fallback`: another judge than the asked one answered. `neutralised`: the material had control
        sequences or invisible characters. `weak_judge`: a judge that is configured as weak answered. `tool_failed`: a
        tool that the judge called failed by our fault."""
        return [
            *["judge_fallback"] * self.fallback,
            *["neutralised"] * bool(self.neutralised),
            *["weak_judge"] * self.weak,
            *["tool_failed"] * bool(self.tools_failed),
        ]
