"""A verifier's access to the sandbox. `ctx.sandbox` is a `Sandbox`; jobs and reports are `rewarden_sandboxes.job`'s."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Sequence
from typing import Protocol

from rewarden_sandboxes.job import Job, JobEvent


class Sandbox(Protocol):
    """Runs programs in locked rooms. Inherits the request's deadline and cancellation."""

    def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        """The results of a job's cases, in order, as they finish, preceded by the compilation's.

        The job waits for a room until the request's own deadline, whatever its `patience_s`. Closing the iterator early
        kills programs that are still running. Raises SandboxError if no room was available or the host failed, and
        InvalidSample for an unknown language or a malformed job. A report with status `internal_error` means a failure
        on our side: raise SandboxError for it.
        """

    async def lacking(self, languages: Sequence[str]) -> str | None:
        """Returns why one of these languages cannot run here: there is no row for it, or none of its images is built.
        None if all can run, and if no host answers. Waits for a host that is starting.
        """

    async def refused_flag(self, language: str, flags: Sequence[str]) -> tuple[int, str] | None:
        """Returns the index of the first flag that is not allowed for the language's compiler, and the reason. None if
        all are allowed, and if no host answers.
        """
