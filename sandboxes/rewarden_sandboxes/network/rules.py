"""The names and addresses that boxes may reach."""

from __future__ import annotations

import ipaddress
import re
import socket
from collections.abc import Sequence
from dataclasses import dataclass

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
Network = ipaddress.IPv4Network | ipaddress.IPv6Network

_PORTS = (80, 443)
"""The ports of a rule that names none."""
_LABEL = re.compile(r"(?!-)[a-z0-9_-]{1,63}(?<!-)")
_MOST_NAME = 253

_NEVER = tuple(
    ipaddress.ip_network(text)
    for text in (
        "168.63.129.16/32",  # Azure's metadata, at a public address
        "192.0.0.0/24",  # Oracle's metadata, among others
        "64:ff9b::/96",  # gateways to all of IPv4, also to private addresses
        "64:ff9b:1::/48",
        "2002::/16",
        "2001::/32",
    )
)
"""Addresses that look public and may lead to what is not."""


@dataclass(frozen=True, slots=True)
class Rule:
    """A name that may be reached. host: in lower case; `*.DOMAIN` means all names below it, and `*` all names. ports:
    of TCP."""

    host: str
    ports: frozenset[int]

    def allows(self, host: str, port: int) -> bool:
        """Returns whether a name may be reached at a port."""
        return port in self.ports and _within(host, self.host)

    def covers(self, other: Rule) -> bool:
        """Returns whether all that another rule allows is allowed by this one."""
        return other.ports <= self.ports and _within(other.host, self.host)


def _within(host: str, pattern: str) -> bool:
    if pattern == "*" or host == pattern:
        return True
    return pattern.startswith("*.") and host.endswith(pattern[1:]) and host != "*" and not is_address(host)


def read_rule(text: str) -> Rule:
    """Returns a rule: `HOST`, `HOST:PORT`, or the same with `*.DOMAIN` or `*`. Raises ValueError, which says why."""
    host, port = split(text, None)
    if host.startswith("*."):
        read_host(host[2:])
    elif host != "*":
        host = read_host(host)
    return Rule(host.lower().rstrip("."), frozenset(_PORTS if port is None else (port,)))


def narrowed(own: Sequence[Rule], hosts: Sequence[str]) -> tuple[str, ...]:
    """Returns what remains of rules where only these hosts, as `Rule.host` has them, are wanted."""
    made: dict[str, None] = {}
    for host in hosts:
        for rule in own:
            both = host if _within(host, rule.host) else rule.host if _within(rule.host, host) else None
            if both is not None:
                named = f"[{both}]" if ":" in both else both
                made |= dict.fromkeys(f"{named}:{port}" for port in sorted(rule.ports))
    return tuple(made)


def split(text: str, otherwise: int | None) -> tuple[str, int | None]:
    """Returns host and port of `HOST[:PORT]`; an IPv6 address is in brackets. Raises ValueError."""
    match = re.fullmatch(r"(\[[0-9A-Fa-f:.]+\]|[^\[\]:/@\s]+)(?::([0-9]{1,5}))?", text)
    if match is None:
        raise ValueError(f"{text[:100]!r} is not HOST or HOST:PORT")
    if match[2] is None:
        return match[1], otherwise
    port = int(match[2])
    if not 0 < port < 65536:
        raise ValueError(f"{text[:100]!r}: there is no port {port}")
    return match[1], port


def read_host(text: str) -> str:
    """Returns a name in lower case, or an address as it is usually written. Raises ValueError."""
    bare = text[1:-1] if text.startswith("[") and text.endswith("]") else text
    try:
        return str(ipaddress.ip_address(bare))
    except ValueError:
        pass
    name = bare.lower().removesuffix(".")
    labels = name.split(".")
    # Attack: 127.1 or 0x7f000001, which resolvers take for addresses, and which no rule for addresses would match.
    numeric = labels[-1].isdigit() or labels[-1].startswith("0x")
    if len(name) > _MOST_NAME or numeric or not all(_LABEL.fullmatch(label) for label in labels):
        raise ValueError(f"{text[:100]!r} is not a host name; write non-ASCII names in Punycode")
    return name


def is_address(host: str) -> bool:
    """Returns whether a host, as `read_host` returns it, is an address."""
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def read_networks(texts: Sequence[str]) -> tuple[Network, ...]:
    """Returns addresses, or networks of them: `10.1.2.3`, `10.1.0.0/16`. Raises ValueError."""
    return tuple(ipaddress.ip_network(text) for text in texts)


def is_reachable(address: Address, private: Sequence[Network]) -> bool:
    """Returns whether a connection may be made to an address. private: networks that the operator allows by name.

    Attack: a name of the policy's own that resolves to the machine, to its neighbours, or to the metadata of a cloud,
    which gives credentials to whoever asks.
    """
    mapped = address.ipv4_mapped if isinstance(address, ipaddress.IPv6Address) else None
    if mapped is not None:
        return is_reachable(mapped, private)
    if any(address in network for network in private if network.version == address.version):
        return True
    if not address.is_global or address.is_multicast or address.is_reserved:
        return False
    if any(address in network for network in _NEVER if network.version == address.version):
        return False
    return not _is_ours(address)


def _is_ours(address: Address) -> bool:
    """Returns whether an address is this machine's. Attack: its services, by a public address of it."""
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as any_socket:
            any_socket.bind((str(address), 0))
    except OSError:
        return False
    return True


@dataclass(frozen=True, slots=True)
class Allowed:
    """The rules of one box: those of the host, and narrower ones of its request."""

    host: Sequence[Rule]
    box: Sequence[Rule]

    def allows(self, host: str, port: int) -> bool:
        """Returns whether a name may be reached at a port."""
        return all(any(rule.allows(host, port) for rule in rules) for rules in (self.host, self.box))
