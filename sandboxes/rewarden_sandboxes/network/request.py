"""The head of a request to the proxy: `CONNECT`, or a plain request with the whole URL."""

from __future__ import annotations

import re
from dataclasses import dataclass

from rewarden_sandboxes.network.rules import read_host, split

MOST_BYTES = 64 * 1024
"""The size of a head."""

_FIRST = re.compile(rb"([A-Z]{1,20}) ([\x21-\x7e]{1,8192}) HTTP/1\.[01]")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")
_URL = re.compile(r"http://([^/?#]+)([/?].*)?", re.IGNORECASE)
_OF_THE_WAY = frozenset({b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"upgrade"})
_MOST_BODY = 1 << 40


class Malformed(ValueError):
    """A request that the proxy does not serve. The message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A request. head: what is sent to the host in its place; empty for a tunnel. body: bytes that follow it."""

    method: str
    host: str
    port: int
    head: bytes = b""
    body: int = 0


def read_request(data: bytes) -> Request:
    """Returns the request of a head. Raises Malformed."""
    first, *lines = data.removesuffix(b"\r\n\r\n").split(b"\r\n")
    match = _FIRST.fullmatch(first)
    if match is None:
        raise Malformed("the first line is not METHOD URL HTTP/1.1")
    method, target = match[1].decode(), match[2].decode()
    try:
        if method == "CONNECT":
            host, port = split(target, None)
            if port is None:
                raise Malformed("CONNECT needs HOST:PORT")
            return Request(method=method, host=read_host(host), port=port)
        url = _URL.fullmatch(target)
        if url is None:
            raise Malformed("the URL must begin with http://HOST; https goes through CONNECT")
        host, port = split(url[1], 80)
        assert port is not None
        host = read_host(host)
    except Malformed:
        raise
    except ValueError as error:
        raise Malformed(str(error)) from None
    path = url[2] or "/"
    kept, body = _headers(lines)
    # Attack: the name of one host in the URL and another's in the header, for a server that has both.
    named = f"[{host}]" if ":" in host else host
    named += "" if port == 80 else f":{port}"
    asked = f"{method} {path if path.startswith('/') else '/' + path} HTTP/1.1\r\nHost: {named}\r\n".encode()
    head = asked + b"".join(line + b"\r\n" for line in kept) + b"Connection: close\r\n\r\n"
    return Request(method=method, host=host, port=port, head=head, body=body)


def _headers(lines: list[bytes]) -> tuple[list[bytes], int]:
    """Returns the headers that are passed on, and the size of the body. Raises Malformed."""
    kept: list[bytes] = []
    size: int | None = None
    for line in lines:
        match = _HEADER.fullmatch(line)
        if match is None:
            raise Malformed("a header is malformed")
        name = match[1].lower()
        if name == b"transfer-encoding":
            # Attack: a second request after the first, which nothing has checked.
            raise Malformed("send the length of the body (Content-Length) instead of chunks")
        if name == b"content-length":
            text = match[2].strip()
            if size is not None or not re.fullmatch(rb"[0-9]{1,13}", text) or int(text) > _MOST_BODY:
                raise Malformed("Content-Length is malformed")
            size = int(text)
        if name not in _OF_THE_WAY and name != b"host":
            kept.append(line)
    return kept, size or 0
