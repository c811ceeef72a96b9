"""TLS between a server and a sandbox host on another machine: each side shows a certificate, and asks for the other's.

Whoever can speak to a host can run programs there, so a host listens beyond its machine with this or not at all.
"""

from __future__ import annotations

import ipaddress
from dataclasses import dataclass
from pathlib import Path

import grpc

from rewarden_sandboxes.errors import HostError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """Files in PEM: our own certificate and its key, and the authority that signed those of the other side."""

    cert: Path
    key: Path
    ca: Path

    def of_host(self) -> grpc.ServerCredentials:
        """What a host listens with. Raises HostError for a file that cannot be read."""
        return grpc.ssl_server_credentials(
            [(_read(self.key), _read(self.cert))], root_certificates=_read(self.ca), require_client_auth=True
        )

    def of_server(self) -> grpc.ChannelCredentials:
        """What a server connects with. Raises HostError for a file that cannot be read."""
        return grpc.ssl_channel_credentials(_read(self.ca), _read(self.key), _read(self.cert))


def is_local(address: str) -> bool:
    """Whether only this machine can reach an address: a Unix socket, or a loopback number or name."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HostError(f"TLS: {path} cannot be read: {error.strerror}") from None
