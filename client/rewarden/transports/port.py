"""The protocol that a port speaks, to explain why a target cannot be used."""

from __future__ import annotations

import asyncio
import ssl

WITHIN_S = 1.0
"""Seconds that each try may take."""

_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\x00\x00\x00\x04\x00\x00\x00\x00\x00"
"""The beginning of HTTP/2, which gRPC speaks. Servers of HTTP/1.1 answer it with an error in their own protocol."""
_SETTINGS, _ALERT = 4, 21
"""The type of a gRPC server's first frame, and of the record with which TLS answers anything else."""


async def spoken(host: str, port: int) -> str | None:
    """Returns the scheme of what a port speaks, or None if it cannot be told. Raises OSError if nobody listens."""
    first = await _first_bytes(host, port)
    if first.startswith(b"HTTP/"):
        return "http"
    if len(first) >= 9 and first[3] == _SETTINGS and first[0] != _ALERT:
        return "grpc"
    if await _agreed(host, port, "http/1.1") == "http/1.1":  # a proxy may speak HTTP/2 as well
        return "https"
    agreed = await _agreed(host, port, "h2")
    return None if agreed is None else "grpcs" if agreed == "h2" else "https"


async def _first_bytes(host: str, port: int) -> bytes:
    """Returns the answer to the beginning of HTTP/2. Raises OSError if there is no connection."""
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection(host, port), WITHIN_S)
    except asyncio.TimeoutError:
        raise TimeoutError from None
    try:
        writer.write(_PREFACE)
        return await asyncio.wait_for(reader.read(64), WITHIN_S)
    except (OSError, asyncio.TimeoutError):
        return b""
    finally:
        writer.close()


async def _agreed(host: str, port: int, protocol: str) -> str | None:
    """Returns the protocol that a server with TLS chooses if offered this one, "" for none, or None without TLS."""
    context = ssl.create_default_context()
    context.check_hostname = False  # only the protocol is of interest: nothing is sent
    context.verify_mode = ssl.CERT_NONE
    context.set_alpn_protocols([protocol])
    try:
        _, writer = await asyncio.wait_for(asyncio.open_connection(host, port, ssl=context), WITHIN_S)
    except (OSError, asyncio.TimeoutError):  # SSLError is an OSError
        return None
    try:
        return writer.get_extra_info("ssl_object").selected_alpn_protocol() or ""
    finally:
        writer.close()
