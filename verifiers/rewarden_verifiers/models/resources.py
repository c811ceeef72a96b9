"""The models configured on a server, for the verifiers that call models."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rewarden_verifiers.canonical import canonical

MODELLED = (
    "rm_scalar",
    "rm_generative",
    "rm_pairwise",
    "rm_listwise",
    "rm_process",
    "rm_likelihood",
    "rm_reflection",
    "style_metric",
)
"""The verifiers that always call models; `similarity`, `consensus` and `diversity` only do with some parameters."""

OWN_MODELS: Mapping[str, str] = {"models": "models that the server itself runs"}
"""The extra of these verifiers (`optional` in `@verifier`): models behind vLLM or SGLang do not need it."""


@dataclass(frozen=True, kw_only=True)
class ModelResources:
    """The configured models by name, each with the settings that can change its numbers. default: the model of samples
    that name none. versions: by name, for the models seen so far; a version changes when weights are swapped.
    """

    models: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    default: str | None = None
    versions: Mapping[str, str] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """See `rewarden_verifiers.contract.Resources`."""
        if not self.models:
            return ""
        told = [self.default, self.models, dict(sorted(self.versions.items()))]
        return hashlib.blake2b(canonical(told).encode(), digest_size=12).hexdigest()
