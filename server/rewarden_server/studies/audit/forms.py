"""The forms in which an answer is written: the right one for the control, and others for the attacks."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass

_THOUGHT = "Let me think about this step by step, and then answer."


@dataclass(frozen=True, slots=True)
class Form:
    """name; says: what it looks like. write: of an answer and of text to put before it (in the thought, where the form
    has one) a response. plain: the answer stands alone, so that text before it may well count."""

    name: str
    says: str
    write: Callable[[str, str], str]
    plain: bool = False


def _before(shape: Callable[[str], str]) -> Callable[[str, str], str]:
    return lambda answer, text: f"{text}\n\n{shape(answer)}" if text else shape(answer)


def _thought(shape: Callable[[str], str]) -> Callable[[str, str], str]:
    return lambda answer, text: f"<think>\n{text or _THOUGHT}\n</think>\n{shape(answer)}"


FORMS: Mapping[str, Form] = {
    form.name: form
    for form in (
        Form("boxed", r"\boxed{…}", _before(lambda answer: f"\\boxed{{{answer}}}")),
        Form("sentence", "The answer is ….", _before(lambda answer: f"The answer is {answer}.")),
        Form("tag", "<answer>…</answer>", _before(lambda answer: f"<answer>{answer}</answer>")),
        Form("hash", "#### …", _before(lambda answer: f"#### {answer}")),
        Form("bare", "the answer alone", _before(lambda answer: answer), plain=True),
        Form("markdown", "**…**", _before(lambda answer: f"**{answer}**")),
        Form("json", '{"answer": "…"}', _before(lambda answer: json.dumps({"answer": answer}, ensure_ascii=False))),
        Form("fenced", "a code fence", _before(lambda answer: f"```\n{answer}\n```")),
        Form("think_boxed", r"<think>…</think> \boxed{…}", _thought(lambda answer: f"\\boxed{{{answer}}}")),
        Form("think_tag", "<think>…</think> <answer>…</answer>", _thought(lambda a: f"<answer>{a}</answer>")),
        Form(
            "think_tag_boxed",
            r"<think>…</think> <answer>\boxed{…}</answer>",
            _thought(lambda answer: f"<answer>\\boxed{{{answer}}}</answer>"),
        ),
    )
}
"""The forms by name, the usual ones first: of those that pay equally well, the first carries the attacks."""
