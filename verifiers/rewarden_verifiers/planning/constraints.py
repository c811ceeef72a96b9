"""Constraints on a plan: each has a name, and holds or is violated with a reason."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden_verifiers.planning.findings import Finding

_SHOWN = 20


class Tally:
    """Counts the constraints that a plan meets and keeps the violated ones with the reasons."""

    def __init__(self) -> None:
        self.total = 0
        self.violated: dict[str, str] = {}

    def hold(self, name: str, met: bool, why: str) -> None:
        """Counts a constraint. why: the reason, if it is violated."""
        self.total += 1
        if not met:
            self.violated.setdefault(name, why)

    def finding(self, partial: bool, extracted: Any, evidence: Mapping[str, Any] | None = None) -> Finding:
        """The finding: right if nothing is violated. partial: a wrong plan earns the share of constraints met."""
        names = list(self.violated)
        told = {"constraints": {"met": self.total - len(names), "total": self.total}, **(evidence or {})}
        if not names:
            return Finding(share=1.0, extracted=extracted, evidence=told)
        share = (self.total - len(names)) / self.total if partial else 0.0
        why = "; ".join(f"{name}: {self.violated[name]}" for name in names[:5])
        return Finding(
            reason="wrong", share=share, why=why, extracted=extracted, evidence=told | {"violated": names[:_SHOWN]}
        )


def proven(finding: Finding) -> None:
    """Raises ValueError unless the reference's own solution is right."""
    if finding.reason is not None:
        raise ValueError(f"solution: {finding.why or finding.reason}")
