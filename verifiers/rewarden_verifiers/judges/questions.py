"""Questions with known answers from a reference: the reader gets the questions, never the answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Use
from rewarden_verifiers.judges.references import known
from rewarden_verifiers.uses import parse_use

MOST = 64

_FORM = {"question", "questions", "artefact"}


@dataclass(frozen=True, slots=True)
class Asked:
    """A question and its expected answer. use: the verifier that compares them, if the question names one."""

    question: str
    answer: Any
    use: Use | None = None


@dataclass(frozen=True, slots=True)
class Quiz:
    """All questions about one artefact, and the artefact's text if the reference contains it."""

    asked: tuple[Asked, ...]
    artefact: str | None = None


def quiz_of(reference: Any, prompt: str | None = None, question: str | None = None) -> Quiz:
    """The quiz of a reference: `{"question", "answer", "use"?}` or `{"questions": [several of these]}`, optionally with
    `artefact`. Any other reference is the expected answer to the prompt. question: the only question, if the response
    asks it; the reference then contains its `answer`.

    Raises InvalidReference with the path.
    """
    formed = isinstance(reference, Mapping) and (question is not None or bool(_FORM & set(reference)))
    if not formed:
        if prompt is None or question is not None:
            raise InvalidReference("the reference must be an object with questions and answers", path="reference")
        return Quiz((_asked({"question": prompt, "answer": reference}, "reference"),))
    artefact = reference.get("artefact")
    if artefact is not None and (not isinstance(artefact, str) or not artefact.strip()):
        raise InvalidReference("reference.artefact must be a string", path="reference.artefact")
    rest = {name: value for name, value in reference.items() if name != "artefact"}
    if question is not None:
        known(rest, ("answer", "use"), "reference")
        return Quiz((_asked({**rest, "question": question}, "reference"),), artefact)
    if "questions" not in rest:
        return Quiz((_asked(rest, "reference"),), artefact)
    known(rest, ("questions",), "reference")
    rows = rest["questions"]
    if not isinstance(rows, Sequence) or isinstance(rows, str) or not 1 <= len(rows) <= MOST:
        raise InvalidReference(f"reference.questions must be a list of 1 to {MOST}", path="reference.questions")
    asked = tuple(_asked(row, f"reference.questions[{place}]") for place, row in enumerate(rows))
    return Quiz(asked, artefact)


def _asked(row: Any, path: str) -> Asked:
    if not isinstance(row, Mapping):
        raise InvalidReference(f"{path} must be an object with question and answer", path=path)
    known(row, ("answer", "question", "use"), path)
    question, answer = row.get("question"), row.get("answer")
    if not isinstance(question, str) or not question.strip():
        raise InvalidReference(f"{path}.question must be a string", path=f"{path}.question")
    if answer is None or answer == "":
        raise InvalidReference(f"{path}.answer is missing", path=f"{path}.answer")
    if "use" not in row:
        return Asked(question, answer)
    given = row["use"]
    if not isinstance(given, (str, dict)):
        raise InvalidReference(f"{path}.use must be a name or an object", path=f"{path}.use")
    try:
        return Asked(question, answer, parse_use(given, f"{path}.use"))
    except InvalidParams as error:
        raise InvalidReference(error.message, **error.details) from None
