"""The judges configured on a server, for the verifiers that call judges."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from rewarden_verifiers.canonical import canonical

JUDGING = ("judge", "rubric", "checklist", "pairwise", "listwise", "critic", "consistency", "fact", "reader", "debate")
"""The verifiers that call judges."""


@dataclass(frozen=True, kw_only=True)
class JudgeResources:
    """The configured judges by name, each with the settings that can change its opinions: model, sampling, fallbacks.
    default: the judge of samples that name none. Addresses, keys, limits and prices change no opinion.
    """

    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default: str | None = None

    @cached_property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`."""
        if not self.judges:
            return ""
        return hashlib.blake2b(canonical([self.default, self.judges]).encode(), digest_size=12).hexdigest()
