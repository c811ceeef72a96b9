"""The keys of a server at one moment, from the configuration and the key file, looked up by their hash."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from rewarden_server.access.key_file import KeyFile
from rewarden_server.access.key_record import ANONYMOUS, KeyRecord
from rewarden_server.access.rules import EVERYONE, OF_A_KEY, SCOPES, KeyRule
from rewarden_server.access.settings import KeySettings
from rewarden_server.config import ConfigError


@dataclass(frozen=True, slots=True)
class Secret:
    """The key of a secret, and the time (seconds since the epoch) at which the secret stops working."""

    name: str
    until: float


class KeyTable:
    """An immutable table. `secrets`: by hash; `records`: by name; `rules`: by name, None for a key without a rule."""

    def __init__(self, settings: KeySettings, records: Iterable[KeyRecord] = ()) -> None:
        """`records`: the keys of the key file. Raises ConfigError, naming the line."""
        named = (KeyRecord(name=name, digest=digest, source="keys.named") for name, digest in settings.named.items())
        # If a file is configured, a key is required even after the last one was revoked: a revocation must not open the
        # server.
        self.required = bool(settings.named) or settings.file is not None
        self.records: dict[str, KeyRecord] = {}
        self.secrets: dict[bytes, Secret] = {}
        self.rules: dict[str, KeyRule | None] = {}
        for record in (*named, *records):
            self._add(record, settings)
        if not self.required:
            self.rules[ANONYMOUS] = settings.rules.get(ANONYMOUS, settings.rules.get(EVERYONE))
        self.ruled_only = [name for name in settings.rules if name != EVERYONE and name not in self.rules]
        """Returns the names that have a rule in the configuration and no key."""
        if self.ruled_only and settings.file is None:
            raise ConfigError(
                f"keys.rules: unknown key {self.ruled_only[0]!r}; known: {', '.join(self.rules)}, and '*'"
            )

    @classmethod
    def load(cls, settings: KeySettings) -> KeyTable:
        """Returns the current keys of the configuration and its file. Raises ConfigError, naming the line."""
        return cls(settings, KeyFile(settings.file).read() if settings.file is not None else ())

    def _add(self, record: KeyRecord, settings: KeySettings) -> None:
        name = record.name
        if name in self.records:
            raise ConfigError(f"{record.source}: the name {name!r} is taken: {self.records[name].source} has it")
        if record.rule is not None and name in settings.rules:
            raise ConfigError(f"{record.source}: {name!r} has a rule here and in keys.rules; one is enough")
        until = math.inf if record.expires is None else record.expires.timestamp()
        secrets = [(record.digest, until), *((each.digest, each.until.timestamp()) for each in record.old)]
        for digest, end in secrets:
            other = self.secrets.setdefault(bytes.fromhex(digest), secret := Secret(name, end))
            if other is not secret:
                raise ConfigError(
                    f"{record.source}: {other.name!r} and {name!r} are the same key; each caller needs its own"
                )
        self.records[name] = record
        self.rules[name] = record.rule or settings.rules.get(name, settings.rules.get(EVERYONE))

    def scopes(self, name: str) -> frozenset[str]:
        """Returns the scopes of a key."""
        rule = self.rules[name]
        if rule is not None:
            return frozenset(rule.scopes)
        # Without keys, callers cannot be told apart, so there is no separate admin.
        return OF_A_KEY if self.required else frozenset(SCOPES)
