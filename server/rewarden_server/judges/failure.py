"""A request without a reply: the kind of failure, and whether a retry can help."""

from __future__ import annotations

import email.utils
import math
import time
from collections.abc import Mapping
from typing import Literal

Kind = Literal["unreachable", "timeout", "rate_limited", "server_error", "malformed", "rejected", "forbidden", "form"]
"""unreachable: no connection, or it broke. timeout: no complete reply in time. rate_limited: 429. server_error: 408,
409, 5xx. malformed: a reply that violates the protocol. rejected: any other 4xx. forbidden: 401, 403. form: the server
does not accept an optional field; the question is sent again without it, at once.
"""

FIXES: Mapping[str, str] = {
    "unreachable": "start the model's server, or correct base_url",
    "timeout": "check whether the model's server is overloaded or still loading its model",
    "forbidden": "set api_key_env or api_key (docs/configuration.md)",
    "rejected": "correct model and base_url (docs/configuration.md)",
    "malformed": "set base_url to the root of an OpenAI-compatible API; it usually ends in /v1",
    "rate_limited": "wait, or set requests_per_minute",
    "server_error": "see the logs of the model's server",
}
"""The operator's remedy for each kind. `form` needs none: the question is sent again."""

_SHOWN = 300
_MALFORMED = "the server's reply does not follow OpenAI's chat protocol"
_HINTS = {
    401: "the server rejects the key: see api_key and api_key_env",
    403: "the key may not use this model",
    404: "the server has no such model, or base_url is not the API's root (it usually ends in /v1)",
}


class Failure(Exception):
    """See the module. passing: another attempt may get a reply. pause_s: the pause requested by the server. spent: the
    model may have worked, so the bound counts as used. answered: the server is up and replies, but refuses. brief: the
    message without the server's own words, which may repeat a request. everywhere: all addresses of the judge say so,
    not only those that can be reached.
    """

    def __init__(
        self,
        message: str,
        *,
        kind: Kind,
        passing: bool,
        pause_s: float | None = None,
        spent: bool = False,
        brief: str | None = None,
    ) -> None:
        super().__init__(message)
        self.brief = message if brief is None else brief
        self.kind = kind
        self.passing = passing
        self.pause_s = pause_s
        self.spent = spent
        self.everywhere = True

    @property
    def answered(self) -> bool:
        """Returns whether the failure says nothing against the server's health."""
        return self.kind in ("rate_limited", "rejected", "forbidden", "form")


def malformed(why: str) -> Failure:
    """An invalid reply, which may have cost as much as a valid one."""
    return Failure(f"{_MALFORMED}: {why}", kind="malformed", passing=True, spent=True)


def unreachable(why: str, *, spent: bool) -> Failure:
    """There was no connection, or it broke. spent: the request had already been sent."""
    return Failure(f"no connection: {why}", kind="unreachable", passing=True, spent=spent)


def timed_out(seconds: float) -> Failure:
    """No complete reply came in time; the model may continue to work on it, at our cost."""
    return Failure(f"no reply within {seconds:g} s", kind="timeout", passing=True, spent=True)


def of_status(status: int, headers: Mapping[str, str], said: str) -> Failure:
    """The failure for a status other than 2xx. said: the server's words, which are truncated."""
    hint = _HINTS.get(status)
    words = " ".join(said.split())[:_SHOWN]
    brief = f"status {status}"
    message = ": ".join(filter(None, [brief, hint, words]))
    if status == 429:
        return Failure(message, kind="rate_limited", passing=True, pause_s=asked_pause(headers), brief=brief)
    if status in (408, 409) or status >= 500:
        return Failure(message, kind="server_error", passing=True, pause_s=asked_pause(headers), brief=brief)
    return Failure(message, kind="forbidden" if status in (401, 403) else "rejected", passing=False, brief=brief)


def asked_pause(headers: Mapping[str, str]) -> float | None:
    """The seconds requested by `retry-after-ms` or `Retry-After` (seconds, or a date); None if neither is valid."""
    for name, unit in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) * unit
        except ValueError:
            continue
        if math.isfinite(seconds):
            return max(0.0, seconds)
    date = email.utils.parsedate_tz(headers.get("retry-after", ""))
    return max(0.0, email.utils.mktime_tz(date) - time.time()) if date is not None else None
