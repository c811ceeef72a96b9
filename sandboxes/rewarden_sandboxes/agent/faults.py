"""Faults between test code and candidate, as exceptions of the tests' room."""

from __future__ import annotations

SHARED = "the reference needs `isolation: shared` for this"


class Fault(BaseException):
    """Ends what the test code was doing. kind: as in the report. who: `candidate`, or `tests` for what no candidate
    brings about."""

    def __init__(self, kind: str, message: str, who: str = "candidate") -> None:
        super().__init__(message)
        self.kind = kind
        self.who = who


class CandidateError(Exception):
    """An exception of the candidate's that is none of the built-in ones. An exception class of its own is a subclass
    of this and of the built-in class that it derives from."""

    text = ""
    lineage: tuple[int, ...] = ()
    """Numbers of the candidate's classes that it is an instance of."""

    def __str__(self) -> str:
        return self.text
