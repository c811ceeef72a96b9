"""The settings of the sandbox hosts."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated, Any, Literal

from annotated_types import doc

from rewarden_sandboxes.checks import check_limits
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.job import Limits
from rewarden_server.setting import Amount, Count, File, Pairs, Positive, Text, Whole
from rewarden_verifiers.schema import AfterValidator, BeforeValidator, Misfit

_ADDRESSES = doc("unix:PATH or HOST:PORT, several separated by commas, or a list of them")
_LIMITS = doc("a table of limits (in the environment: cpu_s=10,memory_mb=512)")


def _addresses(value: Any) -> Any:
    """Sandbox hosts, given as a comma-separated string or a list; returns the string."""
    parts = value.split(",") if isinstance(value, str) else value
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return value
    found = [part.strip() for part in parts if part.strip()]
    for address in found:
        host, _, port = address.rpartition(":")
        unix = address.startswith("unix:") and len(address) > len("unix:")
        if not unix and not (host and port.isdigit() and 0 < int(port) <= 65_535 and "/" not in host):
            raise Misfit(f": {address!r} is not an address; use unix:PATH or HOST:PORT")
        if found.count(address) > 1:
            raise Misfit(f": {address!r} is given twice")
    return ",".join(found) or None


def _checked(limits: Limits) -> Limits:
    try:
        check_limits(limits, "")
    except BadJob as error:
        raise Misfit(error.message, error.path) from None
    return limits


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxSettings:
    """The sandbox hosts on which programs run.

    address: sandbox hosts that are already running (`unix:PATH`, `HOST:PORT`, separated by commas); if not set, the
    server starts its own. tls_cert, tls_key, tls_ca: PEM files for hosts on other machines: the server's certificate
    and key, if hosts require one, and the CA of the hosts' certificates. token_file: a secret that server and hosts
    share. required: the server is not ready without a working sandbox. in_flight: jobs sent to the host at once, while
    the rest waits in order; none: 4 per slot. max_waiting: single runs that can wait; beyond it, requests get 429.
    start_s: seconds to wait for a host to start or restart before work is refused.

    The other settings are passed to the host that the server starts, and are documented in
    `rewarden_sandboxes.settings.HostSettings`; none: the host's own default.
    """

    address: Annotated[Text | None, BeforeValidator(_addresses), _ADDRESSES] = None
    tls_cert: File | None = None
    tls_key: File | None = None
    tls_ca: File | None = None
    token_file: File | None = None
    required: bool = False
    in_flight: Whole | None = None
    max_waiting: Whole = 2000
    start_s: Positive = 30.0
    launcher: Literal["auto", "docker", "bwrap", "none"] = "auto"
    slots: Whole | None = None
    sessions: Whole | None = None
    boxes: Whole | None = None
    warm_boxes: Count | None = None
    box_rest_s: Amount | None = None
    warm: Whole | None = None
    cpu_permits: Whole | None = None
    runtime: Text | None = None
    apparmor: Text | None = None
    own_images: tuple[Text, ...] | None = None
    network: tuple[Text, ...] | None = None
    network_private: tuple[Text, ...] | None = None
    network_log: File | None = None
    network_mb: Whole | None = None
    network_mb_s: Positive | None = None
    image_prefix: Text | None = None
    image_tag: Text | None = None
    rootfs: Text | None = None
    uid: Whole | None = None
    languages: File | None = None
    rooms: Literal["auto", "yes", "no"] = "auto"
    queue_timeout_s: Positive | None = None
    drain_s: Amount | None = None
    compile_cache_mb: Count | None = None
    limits: Annotated[Limits, Pairs, AfterValidator(_checked), _LIMITS] = field(default_factory=Limits)
    max_limits: Annotated[Limits, Pairs, AfterValidator(_checked), _LIMITS] = field(default_factory=Limits)

    @property
    def addresses(self) -> tuple[str, ...]:
        """The hosts that are already running."""
        return tuple(part.strip() for part in (self.address or "").split(",") if part.strip())
