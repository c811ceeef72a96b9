"""Structured logs on standard error, as JSON lines or readable text. At level info and above they never contain a
sample's text.

Values that are bound while a request is served (`request_id`, and `key`, the key's name) appear in each of its lines. A
verdict's `feedback` and an exception's message may quote what a model wrote, so they are logged only at level debug.
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
"""Verdicts of one request that get a line of their own, so that a broken verifier does not write a line per sample."""


MOST_ID = 128
"""Characters of a sample's id that are logged."""


def shown(id: str | None) -> str | None:
    """Returns a sample's id as it is logged. Attacks: ids as long as a row, and control characters that clear a
    terminal or forge a line."""
    if id is None or (id.isprintable() and len(id) <= MOST_ID):
        return id
    return "".join(sign if sign.isprintable() else ascii(sign)[1:-1] for sign in id[:MOST_ID])


class _Tidy(logging.Handler):
    """Log lines of libraries (uvicorn, grpc) take the same route as our own and have the same form."""

    def emit(self, record: logging.LogRecord) -> None:
        log = _structlog().get_logger(record.name)
        log.log(record.levelno, record.getMessage())


def set_up_logs(settings: LogSettings, stream: TextIO | None = None) -> None:
    """Sends all logs of this process to `stream` (standard error by default) in the configured form."""
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
    """Returns the configured library. If nobody sets up logging (the target `local`), its lines would go to standard
    output, among the results."""
    import structlog

    if not structlog.is_configured():
        structlog.configure(logger_factory=lambda *_: structlog.PrintLogger(sys.stderr))
    return structlog


class _Logger:
    """Imports the library when the first line is logged: the import takes a tenth of a second, and most commands log
    nothing."""

    def __init__(self, part: str) -> None:
        self._part = part

    def __getattr__(self, name: str) -> Any:
        return getattr(_structlog().get_logger(part=self._part), name)


def get_logger(name: str) -> FilteringBoundLogger:
    """Returns the logger of a part of the server."""
    return cast("FilteringBoundLogger", _Logger(name))


class VerdictLog:
    """Logs a warning for each verdict of a request that went unscored because of a defect or outage of ours: ids, never
    text.

    Verdicts that the policy or the caller caused are counted in the metrics and not logged.
    """

    def __init__(self, log: FilteringBoundLogger) -> None:
        self._log = log
        self._count = 0

    def note(self, verdict: Verdict) -> None:
        """Looks at one verdict."""
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
        """Logs how many verdicts got no line of their own."""
        if self._count > MOST_LINES:
            self._log.warning("more unscored", verdicts=self._count - MOST_LINES)


def log_defect(log: FilteringBoundLogger, error: BaseException, **bound: Any) -> None:
    """Logs an unexpected exception by its type and the place where it was raised. Its message may quote a sample, so it
    is logged only at level debug."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("defect", error=type(error).__name__, traceback=frames, **bound)
    log.debug("defect's message", message=str(error))
