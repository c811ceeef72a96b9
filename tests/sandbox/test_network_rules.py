"""The names and addresses that boxes may reach, and the heads of requests, without a sandbox."""

from __future__ import annotations

import ipaddress
import socket

import pytest

from rewarden_sandboxes.network.request import Malformed, read_request
from rewarden_sandboxes.network.rules import is_reachable, read_host, read_networks, read_rule
from rewarden_sandboxes.settings import HostSettings


@pytest.mark.parametrize(
    ("rule", "host", "port", "allowed"),
    [
        ("packages.example", "packages.example", 443, True),
        ("packages.example", "packages.example", 80, True),
        ("packages.example", "packages.example", 22, False),
        ("Packages.example.:8443", "packages.example", 8443, True),
        ("packages.example:8443", "packages.example", 443, False),
        ("packages.example", "files.packages.example", 443, False),
        ("*.packages.example", "files.packages.example", 443, True),
        ("*.packages.example", "a.b.packages.example", 443, True),
        ("*.packages.example", "packages.example", 443, False),
        ("*.packages.example", "evilpackages.example", 443, False),
        ("*.1", "127.0.0.1", 443, None),
        ("*", "anything.example", 443, True),
        ("*", "anything.example", 8080, False),
        ("10.1.2.3:8000", "10.1.2.3", 8000, True),
        ("[::1]:8000", "::1", 8000, True),
    ],
)
def test_a_rule_allows_a_name_at_its_ports(rule: str, host: str, port: int, allowed: bool | None) -> None:
    if allowed is None:
        with pytest.raises(ValueError, match="not a host name"):
            read_rule(rule)
    else:
        assert read_rule(rule).allows(host, port) is allowed


@pytest.mark.parametrize(
    "text",
    [
        "",
        "http://packages.example",
        "packages.example/x",
        "packages.example:0",
        "packages.example:99999",
        "a b",
        "user@x.org",
        "ex*mple.org",
        "-x",
    ],
)
def test_what_is_no_rule_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"HOST|port|name"):
        read_rule(text)


@pytest.mark.parametrize("text", ["127.1", "0x7f000001", "2130706433", "1.2.3.0x4", "0177.0.0.1"])
def test_numbers_that_resolvers_take_for_addresses_are_no_names(text: str) -> None:
    with pytest.raises(ValueError, match="not a host name"):
        read_host(text)


@pytest.mark.parametrize(
    ("own", "asked", "covered"),
    [
        ("*.packages.example", "files.packages.example:443", True),
        ("*.packages.example", "*.files.packages.example", True),
        ("files.packages.example", "*.packages.example", False),
        ("packages.example:443", "packages.example", False),
        ("*", "*", True),
        ("*.packages.example", "*", False),
    ],
)
def test_a_box_can_only_narrow_what_the_host_allows(own: str, asked: str, covered: bool) -> None:
    assert read_rule(own).covers(read_rule(asked)) is covered


@pytest.mark.parametrize(
    "text",
    [
        *("127.0.0.1", "0.0.0.0", "10.0.0.1", "172.16.0.1", "192.168.1.1", "169.254.169.254", "100.100.100.200"),
        *("168.63.129.16", "192.0.0.192", "224.0.0.1", "255.255.255.255", "::1", "::", "fe80::1", "fd00:ec2::254"),
        *("::ffff:127.0.0.1", "::ffff:169.254.169.254", "64:ff9b::a00:1", "2002:a00:1::", "2001:0:a00:1::", "ff02::1"),
    ],
)
def test_no_address_of_a_private_network_or_of_metadata_is_reachable(text: str) -> None:
    assert not is_reachable(ipaddress.ip_address(text), ())


def test_public_addresses_are_reachable() -> None:
    assert is_reachable(ipaddress.ip_address("151.101.0.223"), ())
    assert is_reachable(ipaddress.ip_address("2a04:4e42::223"), ())


def test_a_public_address_of_the_machine_itself_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "bind", lambda *_: None)  # as it is for an address of an interface of ours
    assert not is_reachable(ipaddress.ip_address("151.101.0.223"), ())


def test_the_operator_can_name_private_addresses() -> None:
    private = read_networks(["127.0.0.1", "10.1.0.0/16"])
    assert is_reachable(ipaddress.ip_address("10.1.2.3"), private)
    assert is_reachable(ipaddress.ip_address("::ffff:127.0.0.1"), private)
    assert not is_reachable(ipaddress.ip_address("127.0.0.2"), private)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"network": ["packages.example"]}, "network_log must name a file"),
        ({"network": "packages.example"}, "network must be a list"),
        ({"network": ["http://x"]}, "network: 'http://x' is not HOST"),
        ({"network_private": ["10.0.0.1/8"]}, "network_private: 10.0.0.1/8 has host bits set"),
        ({"network_mb_s": 0}, "network_mb_s must be a number above 0"),
    ],
)
def test_settings_that_cannot_be_meant_are_refused(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        HostSettings(**settings)  # type: ignore[arg-type]


# --- requests --------------------------------------------------------------------------------------------------------


def head(*lines: str) -> bytes:
    """Returns the head of a request."""
    return "".join(line + "\r\n" for line in (*lines, "")).encode("latin-1")


def test_a_tunnel_names_its_host_and_port() -> None:
    found = read_request(head("CONNECT Packages.example:443 HTTP/1.1", "Host: other"))
    assert (found.method, found.host, found.port, found.head) == ("CONNECT", "packages.example", 443, b"")


def test_a_plain_request_is_passed_on_for_the_host_of_its_url_alone() -> None:
    found = read_request(
        head(
            "POST http://a.example:8080/x?y HTTP/1.1",
            "Host: inner.example",
            "Accept: */*",
            "Proxy-Authorization: Basic eDp5",
            "Connection: keep-alive",
            "Content-Length: 7",
        )
    )
    assert (found.host, found.port, found.body) == ("a.example", 8080, 7)
    assert found.head == (
        b"POST /x?y HTTP/1.1\r\nHost: a.example:8080\r\nAccept: */*\r\nContent-Length: 7\r\nConnection: close\r\n\r\n"
    )


@pytest.mark.parametrize(
    "lines",
    [
        ["GET / HTTP/1.1"],
        ["GET https://a.example/ HTTP/1.1"],
        ["GET http://user@a.example/ HTTP/1.1"],
        ["GET http://127.1/ HTTP/1.1"],
        ["GET http://a.example/ HTTP/2"],
        ["CONNECT a.example HTTP/1.1"],
        ["CONNECT a.example:443/x HTTP/1.1"],
        ["nonsense"],
        ["POST http://a.example/ HTTP/1.1", "Transfer-Encoding: chunked"],
        ["POST http://a.example/ HTTP/1.1", "Content-Length: 1", "Content-Length: 2"],
        ["POST http://a.example/ HTTP/1.1", "Content-Length: +1"],
        ["GET http://a.example/ HTTP/1.1", " folded: x"],
        ["GET http://a.example/ HTTP/1.1", "X: a\nGET /y HTTP/1.1"],
    ],
)
def test_malformed_requests_are_refused(lines: list[str]) -> None:
    with pytest.raises(Malformed):
        read_request(head(*lines))
