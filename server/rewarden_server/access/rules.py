"""The rights of a key: its scopes and its rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal, get_args

from annotated_types import MinLen, doc

from rewarden_server.setting import Positive, Whole

Scope = Literal["verify", "run", "jobs", "sessions", "read", "admin"]
SCOPES: tuple[Scope, ...] = get_args(Scope)
"""verify: judge samples, by any route, and store blobs for that. run: run a program and get its output. jobs: upload
rescores, and fetch one's own. sessions: boxes, which live between requests. read: the state of the server (`/v1/info`,
the catalogue, `/v1/models`, `/metrics`), and the key's own runs. admin: replace a model's weights, see and delete the
jobs and runs of all keys, and see and close all boxes.
"""

OF_A_KEY = frozenset(SCOPES) - {"admin"}
"""The scopes of a key without a rule."""

EVERYONE = "*"
"""The rule of all keys without their own."""


_SCOPES = doc(f"a list of {', '.join(SCOPES)}")


@dataclass(frozen=True, slots=True, kw_only=True)
class KeyRule:
    """A table `[keys.rules.NAME]`. None: no limit.

    requests_per_minute, samples_per_minute: token buckets with a capacity of one minute's worth, which allow bursts of
    that size. samples_per_day: per day in UTC. concurrency: concurrent requests; a stream counts as one.
    """

    scopes: Annotated[tuple[Scope, ...], MinLen(1), _SCOPES] = tuple(scope for scope in SCOPES if scope in OF_A_KEY)
    requests_per_minute: Positive | None = None
    samples_per_minute: Positive | None = None
    samples_per_day: Whole | None = None
    concurrency: Whole | None = None

    @property
    def bounded(self) -> bool:
        """Returns whether the rule has any limit."""
        bounds = (self.requests_per_minute, self.samples_per_minute, self.samples_per_day, self.concurrency)
        return any(bound is not None for bound in bounds)
