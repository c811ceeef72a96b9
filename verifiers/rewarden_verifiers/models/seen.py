"""The results on which an outcome is based, for its evidence and flags."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.inference import Facts


@dataclass
class Seen:
    """All results behind one outcome."""

    versions: dict[str, set[str]] = field(default_factory=dict)
    tasks: int = 0
    cached: int = 0
    tokens: int = 0
    written: int = 0
    truncated: bool = False
    neutralised: bool = False
    weak: bool = False

    def enter(self, facts: Facts) -> None:
        """Counts one result."""
        self.versions.setdefault(facts.model, set()).add(facts.version)
        self.tasks += 1
        self.cached += facts.cached
        self.tokens += facts.tokens
        self.written += facts.written
        self.truncated |= facts.truncated
        self.neutralised |= facts.neutralised
        self.weak |= facts.weak

    def evidence(self) -> dict[str, Any]:
        """`models`: versions by name (joined by commas if weights were swapped meanwhile); `usage`."""
        usage = {"tasks": self.tasks, "cached": self.cached, "tokens": self.tokens}
        if self.written:
            usage["written"] = self.written
        models = {name: ", ".join(sorted(versions)) for name, versions in sorted(self.versions.items())}
        return {"models": models, "usage": usage}

    def flags(self) -> list[str]:
        """`truncated`: tokens were dropped. `neutralised`: the input contained the model's control tokens. `swapped`:
        the outcome rests on several versions of one model. `weak_model`: it rests on a model configured as weak.
        """
        swapped = any(len(versions) > 1 for versions in self.versions.values())
        return [
            *["truncated"] * self.truncated,
            *["neutralised"] * self.neutralised,
            *["swapped"] * swapped,
            *["weak_model"] * self.weak,
        ]
