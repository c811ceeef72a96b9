"""Faults between test code and candidate, as exceptions of the tests' room."""

from __future__ import annotations

SHARED = "the reference needs `isolation: shared` for this"


class Fault(BaseException):
    """Ends the running test code. kind: as in the report. who: `candidate`, or `tests` for a fault that no candidate
    can cause.
    """

    def __init__(self, kind: str, message: str, who: str = "candidate") -> None:
        super().__init__(message)
        self.kind = kind
        self.who = who


class CandidateError(Exception):
    """An exception of a class that the candidate defines. Each such class is a subclass of this and of the built-in
    class that it derives from.
    """

    text = ""
    lineage: tuple[int, ...] = ()
    """The numbers of the candidate's classes that it is an instance of."""

    def __str__(self) -> str:
        return self.text
