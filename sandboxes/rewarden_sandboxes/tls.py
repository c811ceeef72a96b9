"""TLS between a server and a sandbox host on another machine.

Anybody who can connect to a host can run programs there, so a host accepts connections from other machines only with
TLS, and only from callers with a certificate, the shared token (`secret.py`), or both.
"""

from __future__ import annotations

import ipaddress
import ssl
from dataclasses import dataclass
from pathlib import Path

import grpc

from rewarden_sandboxes.errors import HostError


@dataclass(frozen=True, slots=True, kw_only=True)
class Tls:
    """PEM files: our own certificate and key, and the authority that signs the other side's certificates.

    A host needs cert and key; with a ca, its callers must present a certificate. A server needs the ca; with cert and
    key, it presents a certificate.
    """

    cert: Path | None = None
    key: Path | None = None
    ca: Path | None = None

    @property
    def mutual(self) -> bool:
        """Returns whether both sides present a certificate."""
        return None not in (self.cert, self.key, self.ca)

    def of_host(self) -> grpc.ServerCredentials:
        """Returns the credentials with which a host listens. Raises HostError for a file that is missing, unreadable or
        invalid.
        """
        if self.cert is None or self.key is None:
            raise HostError("a host listens with TLS by sandbox.tls_cert and sandbox.tls_key; both are needed")
        own = _pair(self.cert, self.key)
        ca = _authority(self.ca) if self.ca is not None else None
        return grpc.ssl_server_credentials([own], root_certificates=ca, require_client_auth=ca is not None)

    def of_server(self) -> grpc.ChannelCredentials:
        """Returns the credentials with which a server connects. Raises HostError for a file that is missing, unreadable
        or invalid.
        """
        if self.ca is None:
            raise HostError(
                "set sandbox.tls_ca, the authority that signed the host's certificate, by which a server recognizes it"
            )
        if (self.cert is None) != (self.key is None):
            raise HostError("sandbox.tls_cert and sandbox.tls_key go together")
        if self.cert is None or self.key is None:
            return grpc.ssl_channel_credentials(_authority(self.ca))
        return grpc.ssl_channel_credentials(_authority(self.ca), *_pair(self.cert, self.key))


def is_local(address: str) -> bool:
    """Returns whether only this machine can reach an address: a Unix socket, or a loopback address or name."""
    if address.startswith("unix:"):
        return True
    host = address.rpartition(":")[0].strip("[]")
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _pair(cert: Path, key: Path) -> tuple[bytes, bytes]:
    """Returns a key and its certificate. They are checked here, because gRPC reports wrong ones only as a failure to
    listen or connect.
    """
    found = _read(key), _read(cert)
    try:
        # Hang: without the empty password, OpenSSL prompts at the terminal for the password of an encrypted key.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(cert, key, password="")
    except (OSError, ValueError) as error:  # ssl.SSLError is an OSError
        raise HostError(
            f"TLS: {cert} and {key} are not a PEM certificate and its private key without a password: "
            f"{getattr(error, 'reason', None) or 'no PEM'}"
        ) from None
    return found


def _authority(path: Path) -> bytes:
    """Returns the certificates of trusted authorities."""
    found = _read(path)
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cadata=found.decode())
    except (OSError, ValueError) as error:
        raise HostError(
            f"TLS: {path} has no certificates in PEM: {getattr(error, 'reason', None) or 'no PEM'}"
        ) from None
    return found


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise HostError(f"TLS: {path} cannot be read: {error.strerror}") from None
