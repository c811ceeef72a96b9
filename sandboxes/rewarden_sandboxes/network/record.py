"""The record of what boxes asked of the network: a file of JSON, a line for each request and one for its end."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from rewarden_sandboxes.errors import HostError


class Unrecorded(HostError):
    """A line cannot be written."""


class Record:
    """See the module. The file is opened for each line, so that it can be rotated. wall: seconds since the epoch."""

    def __init__(self, path: Path, wall: Callable[[], float]) -> None:
        self._path = path
        self._wall = wall

    def write(self, **line: Any) -> None:
        """Writes a line, with the time. Raises Unrecorded."""
        time = datetime.fromtimestamp(self._wall(), timezone.utc).isoformat(timespec="milliseconds")
        text = json.dumps({"time": time, **line}, ensure_ascii=True) + "\n"
        try:
            number = os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC, 0o600)
            try:
                os.write(number, text.encode())
            finally:
                os.close(number)
        except OSError as error:
            raise Unrecorded(f"{self._path} cannot be written: {error.strerror or error}") from None
