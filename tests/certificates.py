"""Certificates of a test's own authority, made by openssl."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from rewarden_sandboxes.tls import Tls


@dataclass(frozen=True)
class Shown:
    """The PEM files of one side: a chain, its key, and the authority that it believes."""

    cert: Path
    key: Path
    ca: Path

    @property
    def mutual(self) -> Tls:
        """For a side that asks the other for a certificate too."""
        return Tls(cert=self.cert, key=self.key, ca=self.ca)

    @property
    def alone(self) -> Tls:
        """For a host that asks nobody for a certificate."""
        return Tls(cert=self.cert, key=self.key)


class Authority:
    """An authority; `ca` is its certificate. Skips if there is no openssl."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        if shutil.which("openssl") is None:
            pytest.skip("openssl is not installed")
        self._folder = folder
        self._name = name
        self.ca = folder / f"{name}.pem"
        self._openssl("req", "-x509", *self._new(name), "-out", self.ca.name, "-subj", f"/CN={name}", "-days", "2")

    def made(
        self, name: str, names: str = "IP:127.0.0.1,DNS:localhost", *, days: int = 2, believes: Path | None = None
    ) -> Shown:
        """A certificate for these names. `days`: how long it holds; `believes`: another authority's certificate."""
        (self._folder / "ext").write_text(f"subjectAltName={names}\n")
        self._openssl("req", *self._new(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        signed = ["-CA", self.ca.name, "-CAkey", f"{self._name}.key", "-CAcreateserial", "-extfile", "ext"]
        self._openssl("x509", "-req", "-in", f"{name}.csr", "-out", f"{name}.pem", "-days", str(days), *signed)
        return Shown(cert=self._folder / f"{name}.pem", key=self._folder / f"{name}.key", ca=believes or self.ca)

    @staticmethod
    def _new(name: str) -> list[str]:
        return ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", f"{name}.key"]

    def _openssl(self, *words: str) -> None:
        subprocess.run(["openssl", *words], cwd=self._folder, check=True, capture_output=True)
