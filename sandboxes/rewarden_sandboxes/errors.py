"""Refusals of the sandbox host, and their reasons. A failing *program* is never an error: it gets a report."""

from __future__ import annotations


class HostError(Exception):
    """The host failed, which says nothing about any program. The message is safe to show to a caller."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NoRoom(HostError):
    """Nothing can run now. The message says why, and how to fix it."""


class Busy(HostError):
    """The queue is full; the same job can be retried a little later."""


class Leaving(HostError):
    """The host is shutting down: it finishes running jobs, and accepts no new ones. Another host may."""


class HostLost(HostError):
    """The host could not be reached, or disconnected during a job. Raised by its client, never by the host."""


class BadJob(HostError):
    """A job is malformed. `path` names the field at fault from the job, such as `cases[2].limits.cpu_s`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class FileFault(HostError):
    """An operation on a box's files failed with a kernel error. `number`: its errno, such as `errno.ENOENT`."""

    def __init__(self, path: str, number: int, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.number = number
