"""The audit log: JSON lines that record whose samples received which verdicts. It contains key names, ids and
fingerprints, but no texts and no keys.

Each request is one line. A separate thread writes the lines, so that a slow disk does not block the loop. The file is
reopened after it was moved away (SIGHUP), and rotated when it reaches `max_bytes`: FILE.1 is the newest of `keep`
files.
"""

from __future__ import annotations

import contextlib
import os
import queue
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from rewarden.errors import Unavailable
from rewarden.types import Verdict
from rewarden.wire.json import dumps
from rewarden_server.access.rates import Bucket
from rewarden_server.access.settings import AuditSettings
from rewarden_server.config import ConfigError
from rewarden_server.observe.logs import get_logger

_WAITING = 100_000
"""Lines that can wait for the disk. Further lines are lost, and their number is recorded."""

_ID_CHARS = 128
"""The characters kept of a sample's id. Callers choose ids, and a whole text used as an id must not get into the
log."""

_REFUSED_PER_MINUTE = 60.0
"""Lines a minute, also as a burst, for callers that were refused before their key was known: no key, a wrong one, a
foreign origin, too large a head. Attack: a flood of such requests, so that rotation drops the lines that matter."""

_log = get_logger("audit")


@dataclass(slots=True)
class Entry:
    """The audit log's entry for one request. `most_ids`: the number of ids that are listed; the rest are only
    counted."""

    request_id: str
    surface: str
    peer: str
    most_ids: int
    samples: int = 0
    detail: dict[str, Any] = field(default_factory=dict)
    _counts: dict[tuple[Any, str], int] = field(default_factory=dict)
    _ids: list[str] = field(default_factory=list)
    _more_ids: int = 0

    def note(self, verdicts: Iterable[Verdict]) -> None:
        """Counts verdicts, and lists their samples."""
        counts = self._counts
        for verdict in verdicts:
            key = (verdict.verifier, verdict.status)
            counts[key] = counts.get(key, 0) + 1
            if verdict.id is None:
                continue
            if len(self._ids) < self.most_ids:
                self._ids.append(verdict.id[:_ID_CHARS])
            else:
                self._more_ids += 1

    def line(self, *, route: str, method: str, key: str, status: str, seconds: float) -> dict[str, Any]:
        """Returns the line, ready for JSON, without empty parts."""
        made: dict[str, Any] = {
            "time": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "request_id": self.request_id,
            "surface": self.surface,
            "peer": self.peer,
            "method": method,
            "route": route,
            "key": key,
            "status": status,
            "seconds": seconds,
        }
        if self.samples:
            made["samples"] = self.samples
        if self._counts:
            made["verdicts"] = [
                {
                    "verifier": verifier.name if verifier is not None else None,
                    "fingerprint": verifier.fingerprint if verifier is not None else None,
                    "status": status,
                    "count": count,
                }
                for (verifier, status), count in self._counts.items()
            ]
        if self._ids:
            made["ids"] = self._ids
        if self._more_ids:
            made["ids_left_out"] = self._more_ids
        return made | self.detail


class Audit:
    """An open audit log. Used on the loop, except for its thread."""

    def __init__(self, settings: AuditSettings) -> None:
        """Opens the file. Raises ConfigError if that fails: the server must not run without a configured log."""
        assert settings.file is not None
        self._settings = settings
        self._path = settings.file
        try:
            self._file = self._open()
        except OSError as error:
            raise ConfigError(f"audit.file: {self._path} cannot be written: {error.strerror}") from None
        self._lines: queue.Queue[dict[str, Any] | None] = queue.Queue(_WAITING)
        self._again = False
        self._half = False  # whether the file ends in an incomplete line
        self.broken: str | None = None
        self.lost = 0
        self._refusals = Bucket(_REFUSED_PER_MINUTE, time.monotonic)
        self._omitted = 0
        self._thread = threading.Thread(target=self._write_all, name="audit", daemon=True)
        self._thread.start()

    def entry(self, request_id: str, surface: str, peer: str) -> Entry:
        """Returns the entry for a request that begins."""
        return Entry(request_id, surface, peer, self._settings.ids)

    @property
    def refuses(self) -> bool:
        """Returns whether requests must be refused, because the required log cannot be written."""
        return self.broken is not None and self._settings.required

    def check(self) -> None:
        """Raises Unavailable if requests must be refused, because the required log cannot be written."""
        if self.refuses:
            raise Unavailable("the audit log is required (audit.required) but cannot be written", retry_after_s=5.0)

    def write(self, line: dict[str, Any]) -> None:
        """Queues a line. Never waits."""
        if not line["key"]:
            if self._refusals.lacks_s(1):
                self._omitted += 1
                return
            self._refusals.take(1)
            if self._omitted:
                line["omitted"] = self._omitted
                self._omitted = 0
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            self._lose(1, "the disk is too slow; too many lines are waiting")

    def reopen(self) -> None:
        """Reopens the file before the next line, after it was moved away."""
        self._again = True

    def wait_written(self) -> None:
        """Returns when all queued lines were written or lost. Blocks, so it must not be called on the loop."""
        self._lines.join()

    def close(self) -> None:
        """Writes the queued lines and closes the file. Blocks, so it must not be called on the loop."""
        self._lines.put(None)
        self._thread.join(10.0)

    # --- on the thread ---

    def _write_all(self) -> None:
        ended = False
        while not ended:
            lines = [self._lines.get()]
            with contextlib.suppress(queue.Empty):
                while len(lines) < 1000:
                    lines.append(self._lines.get_nowait())
            ended = None in lines
            self._write([line for line in lines if line is not None])
            for _ in lines:
                self._lines.task_done()
        self._file.close()

    def _write(self, lines: list[dict[str, Any]]) -> None:
        data = b"".join(dumps(line) + b"\n" for line in lines)
        if not data:
            return
        try:
            if self._again:
                self._again = False
                self._file.close()
                self._file = self._open()
            if self._file.tell() + len(data) > self._settings.max_bytes and self._file.tell():
                self._put_aside()
            if self._half:
                data = b"\n" + data
            written = self._file.write(data)
            self._half = written != len(data) and (written > 0 or self._half)
            if written != len(data):
                raise OSError(None, "only a part was written")
        except (OSError, ValueError) as error:  # ValueError: the file is closed, because reopening it failed
            self._again = True
            self._lose(len(lines), getattr(error, "strerror", None) or str(error))
        else:
            if self.broken is not None:
                _log.warning("audit log can be written again", file=str(self._path), lost=self.lost)
                self.broken = None

    def _open(self) -> Any:
        # Only the owner can read it. Unbuffered: a failed write must not be repeated later.
        return os.fdopen(os.open(self._path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600), "ab", buffering=0)

    def _put_aside(self) -> None:
        self._file.close()
        for number in range(self._settings.keep, 0, -1):
            older = self._path.with_name(f"{self._path.name}.{number}")
            newer = self._path.with_name(f"{self._path.name}.{number - 1}") if number > 1 else self._path
            with contextlib.suppress(FileNotFoundError):
                newer.replace(older)
        self._file = self._open()

    def _lose(self, lines: int, why: str) -> None:
        self.lost += lines
        if self.broken is None:
            _log.error("audit log cannot be written", file=str(self._path), why=why, fix="free the disk")
        self.broken = why
