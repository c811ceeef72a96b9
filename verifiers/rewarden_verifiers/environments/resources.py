"""The corpora and plug-ins that a server provides for `environment`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rewarden_verifiers.environments import tau2_checkout


@dataclass(frozen=True, slots=True)
class EnvironmentResources:
    """corpora: maps names to files or to folders of checkouts. digests: digests of their contents, by name. code:
    digests of the plug-ins' code, by the names of their environments, because fingerprints cover only the verifier's
    own code."""

    corpora: Mapping[str, Path] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, corpora: Mapping[str, Path], code: Mapping[str, str] | None = None) -> EnvironmentResources:
        """The resources for these files, which are read once for their digests. Raises OSError."""
        digests = {}
        for name, path in corpora.items():
            if path.is_dir():
                digests[name] = tau2_checkout.digest(path)
                continue
            with path.open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(dict(corpora), digests, dict(code or {}))

    @property
    def fingerprint(self) -> str:
        """See `Resources`."""
        return hashlib.sha256(repr((sorted(self.digests.items()), sorted(self.code.items()))).encode()).hexdigest()
