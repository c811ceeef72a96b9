"""IFEval's `startend:*` and `combination:*`: the beginning, the end and the parts of a response."""

from __future__ import annotations

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.text import Text


@checker("startend:end_checker")
def end_checker(arguments: Arguments) -> Check:
    """The response ends with `end_phrase`, ignoring case; a double quotation mark may follow."""
    phrase = arguments.word("end_phrase").lower()
    return lambda text: text.value.strip().strip('"').lower().endswith(phrase)


@plain("startend:quotation")
def quotation(text: Text) -> bool:
    """The whole text is in double quotation marks."""
    value = text.value.strip()
    return len(value) > 1 and value[0] == '"' and value[-1] == '"'


@plain("combination:two_responses")
def two_responses(text: Text) -> bool:
    """Two different responses, separated by six asterisks; only the first or the last part may be blank."""
    parts = [part.strip() for part in text.value.split("******")]
    filled = [part for part in parts if part]
    return all(parts[1:-1]) and len(filled) == 2 and filled[0] != filled[1]


@checker("combination:repeat_prompt")
def repeat_prompt(arguments: Arguments) -> Check:
    """The response begins with `prompt_to_repeat`, ignoring case."""
    prompt = arguments.word("prompt_to_repeat").lower()
    return lambda text: text.value.strip().lower().startswith(prompt)
