"""Refusals of the sandbox host, and their reasons. How a *program* fails is never an error: it stands in its report."""

from __future__ import annotations


class HostError(Exception):
    """Something of the host's broke. It says nothing about any program. The text is safe to show to a caller."""

    def __init__(self, message: str) -> None:
        super().__init__(message)
        self.message = message


class NoRoom(HostError):
    """Nothing can run now. The message says why, and what mends it."""


class Busy(HostError):
    """Too much waits already; the same job may be sent again a little later."""


class Leaving(HostError):
    """The host is about to end: it answers what runs, and takes nothing new. Another host may."""


class HostLost(HostError):
    """The host could not be reached, or went away in the middle of a job. Raised by its client, never by the host."""


class BadJob(HostError):
    """A job is malformed. `path` names the field at fault from the job, such as `cases[2].limits.cpu_s`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


class FileFault(HostError):
    """Work on a box's files failed as the kernel says. `number`: the error's number, such as `errno.ENOENT`."""

    def __init__(self, path: str, number: int, message: str) -> None:
        super().__init__(f"{path}: {message}" if path else message)
        self.path = path
        self.number = number
