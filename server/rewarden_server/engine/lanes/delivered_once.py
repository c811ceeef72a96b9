"""The results that a job's caller has received, across all hosts on which the job was begun."""

from __future__ import annotations

from rewarden_sandboxes.errors import HostError
from rewarden_sandboxes.job import CompileResult, JobEvent


class DeliveredOnce:
    """The results of one job. Each is passed on once, in the order of the cases, whichever host it comes from."""

    def __init__(self) -> None:
        self._cases = 0
        self._compiled: dict[str, bool] = {}

    def is_new(self, event: JobEvent) -> bool:
        """Returns whether a result is new to the caller, and counts it as passed on.

        Raises HostError if the results of the hosts contradict each other: a verdict based on them would be wrong.
        """
        # Wrong verdicts: events are counted, and one of two hosts may compile a program that the other does not.
        if isinstance(event, CompileResult):
            good = event.report.status == "ok"
            new = event.who not in self._compiled
            before = self._compiled.setdefault(event.who, good)
            if not good and (before != good or self._cases):
                raise HostError(f"the {event.who} ran on one sandbox host but did not compile on the next")
            return new
        if event.index > self._cases:
            raise HostError(f"the sandbox host reported case {event.index} before case {self._cases}")
        new = event.index == self._cases
        self._cases += new
        return new
