"""The rights of a key: its scopes, and how much it may do of each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from annotated_types import MinLen, doc

from rewarden_server.setting import Positive, Whole

Scope = Literal["verify", "run", "jobs", "sessions", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""verify: have samples judged, by whatever route, and store blobs for it. run: have a program run and see what it
printed. jobs: upload rescores, and fetch one's own. sessions: programs that are kept alive between requests; no route
offers any yet. read: what is here and how it is (`/v1/info`, the catalogue, `/v1/models`, `/metrics`). admin: swap a
model's weights, and see and delete the jobs of all keys.
"""

OF_A_KEY = frozenset(SCOPES) - {"admin"}
"""The scopes of a key that no rule speaks of."""

EVERYONE = "*"
"""The rule of all keys that have none of their own."""


_SCOPES = doc(f"a list of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """A table `[keys.rules.NAME]`. None: no bound.

    requests_per_minute, samples_per_minute: token buckets that hold a minute's worth, so that much goes at once after a
    rest. samples_per_day: of a day in UTC. concurrency: requests under way at once, a stream being one.
    """

    scopes: Annotated[tuple[Scope, ...], MinLen(1), _SCOPES] = tuple(scope for scope in SCOPES if scope in OF_A_KEY)
    requests_per_minute: Positive | None = None
    samples_per_minute: Positive | None = None
    samples_per_day: Whole | None = None
    concurrency: Whole | None = None

    @property
    def bounded(self) -> bool:
        """Returns whether anything is to be counted."""
        bounds = (self.requests_per_minute, self.samples_per_minute, self.samples_per_day, self.concurrency)
        return any(bound is not None for bound in bounds)
