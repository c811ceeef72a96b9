"""TLS of both ports: one certificate, reloaded when its files change, so that renewal needs no restart.

The minimum version is TLS 1.2 (RFC 8996 deprecated 1.0 and 1.1). Open connections keep their certificate.
"""

from __future__ import annotations

import asyncio
import ssl
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from rewarden_server.config import ConfigError, ServerSettings
from rewarden_server.observe.logs import get_logger

LOOK_S = 5.0
"""Seconds between two checks of the files, for HTTP. gRPC checks at each handshake."""

_log = get_logger("tls")

_Stamp = tuple[tuple[int, int], ...]


@dataclass(slots=True)
class Certificate:
    """A certificate chain and its key, as PEM files. Each port has its own object, because `changed` reports a change
    once."""

    cert: Path
    key: Path
    _stamp: _Stamp = field(default=(), init=False)

    @classmethod
    def of(cls, settings: ServerSettings) -> Certificate | None:
        """Returns the configured certificate, or None if the ports are not encrypted. Raises ConfigError for unusable
        files."""
        if settings.tls_cert is None and settings.tls_key is None:
            return None
        if settings.tls_cert is None or settings.tls_key is None:
            raise ConfigError("server.tls_cert and server.tls_key must be set together; one is missing")
        made = cls(settings.tls_cert, settings.tls_key)
        try:
            made.context()
        except (OSError, ssl.SSLError) as error:
            raise ConfigError(
                f"server.tls_cert {made.cert}, server.tls_key {made.key}: not a PEM certificate with its key: {error}"
            ) from None
        return made

    def context(self) -> ssl.SSLContext:
        """Returns a new context. Raises OSError (SSLError is one)."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        context.set_alpn_protocols(["http/1.1"])
        self.load_into(context)
        return context

    def load_into(self, context: ssl.SSLContext) -> None:
        """Loads the current files into a context, for new connections. Raises OSError."""
        # An empty password, because a key with a password would otherwise prompt at the terminal.
        context.load_cert_chain(self.cert, self.key, password="")

    def changed(self) -> bool:
        """Returns whether the files have changed since the last check. True for the first check."""
        try:
            stats = [path.stat() for path in (self.cert, self.key)]
        except OSError:
            return False  # being replaced
        stamp = tuple((stat.st_mtime_ns, stat.st_ino) for stat in stats)
        if stamp == self._stamp:
            return False
        self._stamp = stamp
        return True

    def forget(self) -> None:
        """Makes the next check report a change, because the files were unusable."""
        self._stamp = ()

    def fresh(self) -> grpc.ServerCertificateConfiguration | None:
        """Returns the certificate that gRPC must use from now on, or None to keep the current one. Never raises: a
        half-written file is ignored until it is complete."""
        if not self.changed():
            return None
        try:
            self.context()
            return grpc.ssl_server_certificate_configuration([(self.key.read_bytes(), self.cert.read_bytes())])
        except OSError as error:
            self.forget()
            _log.error("certificate cannot be read; keeping the old one", file=str(self.cert), error=str(error))
            return None

    def credentials(self) -> grpc.ServerCredentials:
        """Returns gRPC's credentials, which call `fresh` at each handshake. Raises OSError."""
        self.changed()
        first = grpc.ssl_server_certificate_configuration([(self.key.read_bytes(), self.cert.read_bytes())])
        return grpc.dynamic_ssl_server_credentials(first, self.fresh, require_client_authentication=False)


class HttpTls:
    """The TLS context of the HTTP port."""

    def __init__(self, certificate: Certificate) -> None:
        self._certificate = Certificate(certificate.cert, certificate.key)
        self._certificate.changed()
        self.context = self._certificate.context()

    async def keep_fresh(self) -> None:
        """Checks the files forever."""
        while True:
            await asyncio.sleep(LOOK_S)
            self.look()

    def look(self) -> None:
        """Loads the files if they have changed and contain a certificate with its key."""
        if not self._certificate.changed():
            return
        try:
            self._certificate.context()  # a chain whose key does not fit must not get into the live context
            self._certificate.load_into(self.context)
            _log.info("certificate renewed", file=str(self._certificate.cert))
        except OSError as error:
            self._certificate.forget()
            _log.error("certificate cannot be read; keeping the old one", error=str(error))
