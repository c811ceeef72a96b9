"""The corpora and plug-ins that a server provides for `environment`."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from rewarden_verifiers.environments.table import plugins
from rewarden_verifiers.fingerprint.closure import closure


@dataclass(frozen=True, slots=True)
class EnvironmentResources:
    """corpora: names to files. digests: of their contents, by name."""

    corpora: Mapping[str, Path] = field(default_factory=dict)
    digests: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, corpora: Mapping[str, Path]) -> EnvironmentResources:
        """The resources of files, which are read here once for their digests. Raises OSError."""
        digests = {}
        for name, path in corpora.items():
            with path.open("rb") as file:
                digests[name] = hashlib.file_digest(file, "sha256").hexdigest()
        return cls(dict(corpora), digests)

    @property
    def fingerprint(self) -> str:
        """See `Resources`. The code of plug-ins is not reached from the verifier's own, and so stands here."""
        code = [(name, closure(module, module).digest) for name, (module, _) in sorted(plugins().items())]
        return hashlib.sha256(repr((sorted(self.digests.items()), code)).encode()).hexdigest()
