"""Structured logs on standard error: JSON lines, or for a person. Never a sample's text at level info or above.

What is bound while a request is served (`request_id`, `key`: the key's name) is in each of its lines. A verdict's
`feedback` and an exception's message may quote what a model wrote, so they are written at level debug only.
"""

from __future__ import annotations

import logging
import sys
import traceback
from functools import lru_cache
from types import ModuleType
from typing import TYPE_CHECKING, Any, TextIO, cast

from rewarden.types import Verdict
from rewarden_server.observe.settings import LogSettings

if TYPE_CHECKING:
    from structlog.typing import FilteringBoundLogger

MOST_LINES = 20
"""Verdicts of one request that get a line of their own; a broken verifier must not write a line a sample."""


MOST_ID = 128
"""Characters of a sample's id that are logged."""


def shown(id: str | None) -> str | None:
    """A sample's id as it is logged. Attacks: ids as long as a row, and signs that clear a terminal or forge a line."""
    if id is None or (id.isprintable() and len(id) <= MOST_ID):
        return id
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in id[:MOST_ID])


class _Tidy(logging.Handler):
    """Lines of libraries (uvicorn, grpc) go the same way, and are of the same form, as our own."""

    def emit(self, record: logging.LogRecord) -> None:
        log = _structlog().get_logger(record.name)
        log.log(record.levelno, record.getMessage())


def set_up_logs(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Send all logs of this process to `stream` (standard error) in the configured form."""
    import structlog

    level = logging.getLevelNamesMapping()[settings.level.upper()]
    renderer: Any = (
        structlog.processors.JSONRenderer()
        if settings.json
        else structlog.dev.ConsoleRenderer(colors=(stream or sys.stderr).isatty())
    )
    structlog.configure(
        processors=[
            structlog.contextvars.merge_contextvars,
            structlog.processors.add_log_level,
            structlog.processors.TimeStamper(fmt="iso", utc=True),
            renderer,
        ],
        wrapper_class=structlog.make_filtering_bound_logger(level),
        logger_factory=structlog.PrintLoggerFactory(stream or sys.stderr),
        cache_logger_on_first_use=False,
    )
    root = logging.getLogger()
    root.handlers[:] = [_Tidy()]
    root.setLevel(max(level, logging.WARNING) if level > logging.DEBUG else logging.INFO)


@lru_cache
def _structlog() -> ModuleType:
    """The library, configured. Where nobody sets up logs (the target `local`) they would go to standard output, among
    the results."""
    import structlog

    if not structlog.is_configured():
        structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    return structlog


class _Logger:
    """Imports the library with its first line: that takes a tenth of a second, and most commands log nothing."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(_structlog().get_logger(part=self._part), name)


def get_logger(name: str) -> FilteringBoundLogger:
    """The logger of a part of the server."""
    return cast("FilteringBoundLogger", _Logger(name))


class VerdictLog:
    """A warning for each verdict of a request that a defect or an outage of ours left unscored: its ids, not its text.

    What the policy or the caller caused is counted in the metrics and not written here.
    """

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._count = 0

    def note(self, verdict: Verdict) -> None:
        """Look at one verdict."""
        if verdict.status == "scored" or verdict.fault not in ("infra", "verifier") or verdict.reason == "cancelled":
            return
        self._count += 1
        if self._count > MOST_LINES:
            return
        self._log.warning(
            "unscored",
            sample_id=shown(verdict.id),
            index=verdict.index,
            verifier=verdict.verifier.name if verdict.verifier is not None else None,
            status=verdict.status,
            reason=verdict.reason,
            fault=verdict.fault,
        )
        self._log.debug("unscored because", sample_id=shown(verdict.id), index=verdict.index, feedback=verdict.feedback)

    def end(self) -> None:
        """Say how many had no line of their own."""
        if self._count > MOST_LINES:
            self._log.warning("more unscored", verdicts=self._count - MOST_LINES)


def log_defect(log: FilteringBoundLogger, error: BaseException, **bound: Any) -> None:
    """Logs an unexpected exception: its type, and where it was raised. Its message may quote a sample, and is logged at
    the debug level."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("defect", error=type(error).__name__, traceback=frames, **bound)
    log.debug("defect's message", message=str(error))
