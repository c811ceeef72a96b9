"""HTTP/1.1 as bytes: the head of a POST, and the answer to it, for whatever brings the bytes to the server and back."""

from __future__ import annotations

import contextlib
import io
from asyncio import IncompleteReadError
from collections.abc import Iterator, Mapping
from email.message import Message
from http.client import HTTPException, parse_headers
from urllib.parse import urlsplit

from rewarden.errors import Unavailable

_LONGEST_HEAD = 256 * 1024
_LONGEST_SIZE = 4096
"""The bytes that the line with a chunk's size can have."""


def post_head(url: str, headers: Mapping[str, str]) -> bytes:
    """Returns the head of a POST whose body is sent in chunks."""
    parts = urlsplit(url)
    lines = [f"POST {parts.path or '/'} HTTP/1.1", f"Host: {parts.netloc}", "Transfer-Encoding: chunked"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join([*lines, "", ""]).encode("latin-1")


def chunk(data: bytes | bytearray) -> bytes:
    """Returns a part of the body as a chunk."""
    return b"".join((b"%x\r\n" % len(data), data, b"\r\n"))


LAST_CHUNK = b"0\r\n\r\n"
"""The end of a body in chunks."""


class Answer:
    """An answer under way. `status` is 0 until its head is complete; `ended` tells that its body is."""

    def __init__(self) -> None:
        self.status = 0
        self.headers = Message()
        self.ended = False
        self._unread = b""
        self._left: int | None = None
        """The bytes that are left of the body, or of its chunk; None if the connection's end is the body's."""
        self._chunked = False

    def take(self, data: bytes) -> bytes:
        """Returns the part of the body in the next bytes of the connection, of which none are its end.

        Raises Unavailable if the answer breaks off, or is not HTTP/1.1.
        """
        with breaking_off():
            if not data:
                self._end()
                return b""
            rest = self._unread + data if self._unread else data
            self._unread = b""
            if self.status < 200:
                rest = self._head(rest)
            if self.status < 200:
                return b""
            return self._chunks(rest) if self._chunked else self._plain(rest)

    def _head(self, rest: bytes) -> bytes:
        """Reads the head, and returns what follows it."""
        while self.status < 200:  # 1xx: the answer is still to come
            head, end, after = rest.partition(b"\r\n\r\n")
            if len(head) > _LONGEST_HEAD:
                raise Unavailable(f"the server sent more than {_LONGEST_HEAD} bytes of headers")
            if not end:
                self._unread = rest
                return b""
            line, _, fields = head.partition(b"\r\n")
            version, _, status = line.partition(b" ")
            if not version.startswith(b"HTTP/1.") or not status[:3].isdigit():
                raise Unavailable("the server does not speak HTTP/1.1")
            self.status = int(status[:3])
            self.headers = parse_headers(io.BytesIO(fields + b"\r\n\r\n"))
            rest = after
        self._chunked = "chunked" in self.headers.get("Transfer-Encoding", "").lower()
        if not self._chunked and (length := self.headers.get("Content-Length")) is not None:
            self._left = int(length)
            self.ended = self._left == 0
        return rest

    def _plain(self, rest: bytes) -> bytes:
        if self._left is not None:
            rest = rest[: self._left]
            self._left -= len(rest)
            self.ended = self._left == 0
        return rest

    def _chunks(self, rest: bytes) -> bytes:
        found = []
        place = 0
        while not self.ended:
            if self._left is None:
                end = rest.find(b"\n", place)
                if end < 0:
                    if len(rest) - place > _LONGEST_SIZE:
                        raise ValueError
                    break
                self._left = int(rest[place:end].split(b";")[0], 16)
                place = end + 1
                if self._left == 0:
                    self.ended = True
                    break
                self._left += 2  # the line's end after the chunk
            piece = rest[place : place + self._left]
            place += len(piece)
            self._left -= len(piece)
            found.append(piece if self._left > 1 else piece[: len(piece) - 2 + self._left])
            if self._left:
                break
            self._left = None
        self._unread = rest[place:]
        return b"".join(found)

    def _end(self) -> None:
        """The connection has ended."""
        if not self.ended and (self.status < 200 or self._chunked or self._left is not None):
            raise IncompleteReadError(self._unread, None)
        self.ended = True


class Lines:
    """Cuts the pieces of a body into lines. Only \\n ends a line."""

    def __init__(self) -> None:
        self._rest = b""

    def take(self, piece: bytes) -> list[bytes]:
        """Returns the lines that the next piece completes, without their ends."""
        *whole, self._rest = (self._rest + piece).split(b"\n") if self._rest else piece.split(b"\n")
        return whole

    def last(self) -> list[bytes]:
        """Returns the last line, if it has no end."""
        return [self._rest] if self._rest else []


@contextlib.contextmanager
def breaking_off() -> Iterator[None]:
    """Raises Unavailable for what goes wrong with a connection."""
    try:
        yield
    except (OSError, EOFError) as error:  # EOFError: IncompleteReadError
        raise Unavailable(f"the server aborted its response ({type(error).__name__})") from None
    except (ValueError, HTTPException):
        raise Unavailable("the server does not speak HTTP/1.1") from None
