"""The addresses of one judge: selects the address for a question, and avoids failing ones for a while.

Questions with the same beginning go to one address, which has it in its prompt cache, unless that address has more than
its share of work (consistent hashing with bounded loads, Mirrokni et al. 2018, arXiv 1608.01350). An address that fails
is left alone for a pause that doubles; afterwards, one question at a time probes it, and a reply brings it back. The
address that answers is not part of a reply's key, a verdict, or a fingerprint.
"""

from __future__ import annotations

import hashlib
import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden_server.judges.provider import Provider
from rewarden_verifiers.chat import Question

State = Literal["well", "left", "probing"]

_FIRST_PAUSE_S = 0.5
_PREFIX = 4096
"""Number of characters by which a question is recognised. A longer prefix would share addresses less often than a
prompt cache pays for.
"""

_EXCESS = 1.25
"""The share of the work that an address may have before its questions go elsewhere; 1 is an equal share."""

_KEPT = 128
_ENOUGH = 20
"""The number of reply times to keep, and the minimum number for a quantile."""


@dataclass(slots=True, eq=False)
class Address:
    """One server of a judge. number: its index in the configuration, from 1. until: when it may be probed, if it is
    left alone. story: the number of counted failures, so that simultaneous failures count once.
    """

    number: int
    provider: Provider
    in_flight: int = 0
    requests: int = 0
    failures: int = 0
    pause_s: float = 0.0
    until: float | None = None
    story: int = 0
    probes: int = 0

    @property
    def state(self) -> State:
        """The state: `left` until its next probe."""
        if self.until is None:
            return "well"
        return "probing" if self.probes else "left"

    def status(self) -> dict[str, Any]:
        """Returns its activity, ready for JSON, without its URL, which can contain a secret."""
        return {
            "number": self.number,
            "state": self.state,
            "in_flight": self.in_flight,
            "requests": self.requests,
            "failures": self.failures,
        }


@dataclass(slots=True, eq=False)
class Fleet:
    """See the module. most: maximum number of requests in flight at one address. longest_pause_s: the longest pause
    before a failed address is probed.
    """

    addresses: Sequence[Address]
    most: int
    longest_pause_s: float
    clock: Callable[[], float]
    changed: Callable[[], None] = lambda: None
    _took: deque[float] = field(default_factory=lambda: deque(maxlen=_KEPT))

    def well(self) -> int:
        """Returns the number of healthy addresses."""
        return sum(one.until is None for one in self.addresses)

    def order(self, question: Question) -> list[Address]:
        """Returns the addresses to ask, in order; at least one. An address whose pause is over comes first, for a
        single question. Addresses within their pause are only used if there are no others.
        """
        if len(self.addresses) == 1:
            return list(self.addresses)
        well = [one for one in self.addresses if one.until is None]
        now = self.clock()
        left = sorted((one for one in self.addresses if one.until is not None), key=lambda one: one.until or 0.0)
        due = [one for one in left if not one.probes and one.until is not None and one.until <= now]
        return [*due[:1], *self._shared_out(well, question)] or left

    def delay(self, quantile: float) -> float | None:
        """Returns the seconds within which this share of the latest replies came; None if there are too few."""
        if len(self._took) < _ENOUGH:
            return None
        return sorted(self._took)[min(len(self._took) - 1, math.ceil(quantile * len(self._took)) - 1)]

    @contextmanager
    def place(self, address: Address) -> Iterator[None]:
        """Holds a place at the address for a question within the block. The place is taken as soon as the address is
        chosen: otherwise, simultaneous questions would all probe one address, or crowd onto it.
        """
        probe = address.until is not None
        address.in_flight += 1
        address.probes += probe
        try:
            yield
        finally:
            address.in_flight -= 1
            address.probes -= probe

    def answered(self, address: Address, seconds: float) -> None:
        """Records a reply: the address is well."""
        self._took.append(seconds)
        address.pause_s = 0.0
        self.present(address)

    def present(self, address: Address) -> None:
        """Records that the address responded without a reply: it may be used. Its next pause does not become
        shorter.
        """
        if address.until is not None:
            address.until = None
            self.changed()

    def leave(self, address: Address, story: int, pause_s: float | None = None) -> None:
        """Records that the address failed, or asked for a pause: it is left alone for a while. story: the story of the
        request that failed.
        """
        address.failures += 1
        if story != address.story:
            return  # from the same outage as a counted failure
        address.story += 1
        address.pause_s = min(2 * address.pause_s or _FIRST_PAUSE_S, self.longest_pause_s)
        address.until = self.clock() + max(address.pause_s, min(pause_s or 0.0, self.longest_pause_s))
        self.changed()

    def _shared_out(self, well: list[Address], question: Question) -> list[Address]:
        """The healthy addresses, beginning with the one that usually gets such questions; overloaded ones come last."""
        prefix = _prefix(question)
        wanted = sorted(well, key=lambda one: _digest(one.number, prefix))
        total = sum(one.in_flight for one in well)
        share = min(self.most, math.ceil(_EXCESS * (total + 1) / max(1, len(well))))
        return sorted(wanted, key=lambda one: max(0, one.in_flight + 1 - share))


def _prefix(question: Question) -> bytes:
    found = ""
    for message in question.messages:
        content = message.get("content")
        parts = content if isinstance(content, list) else [{"text": content}]
        found += "".join(text for part in parts if isinstance(text := part.get("text"), str))
        if len(found) >= _PREFIX:
            break
    return found[:_PREFIX].encode("utf-8", "replace")


def _digest(number: int, prefix: bytes) -> bytes:
    return hashlib.blake2b(prefix, digest_size=8, salt=number.to_bytes(8, "big")).digest()
