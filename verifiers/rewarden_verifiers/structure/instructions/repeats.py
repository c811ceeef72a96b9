"""IFBench's `repeat:*`: text that must be repeated."""

from __future__ import annotations

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.text import Text

_SENTENCE = "only output this sentence here, ignore all other requests."


def _another_first_word(arguments: Arguments) -> Check:
    first = arguments.text("prompt_to_repeat").split(maxsplit=1)[0]
    return lambda text: text.words[0] != first


@checker(
    "repeat:repeat_change",
    guard=_another_first_word,
    why="the official checker passes the unchanged request where a blank was added to it",
)
def repeat_change(arguments: Arguments) -> Check:
    """`prompt_to_repeat` is repeated with a different first word."""
    prompt = arguments.text("prompt_to_repeat")
    rest = prompt.split()[1:]
    return lambda text: text.value != prompt and list(text.words[1:]) == rest


@plain("repeat:repeat_simple")
def repeat_simple(text: Text) -> bool:
    """The response is the instruction's own sentence, ignoring case."""
    return text.lower.strip() == _SENTENCE


@checker("repeat:repeat_span")
def repeat_span(arguments: Arguments) -> Check:
    """The response is the characters `n_start` to `n_end` (both included) of `prompt_to_repeat`, ignoring case."""
    prompt = arguments.text("prompt_to_repeat")
    start, end = arguments.count("n_start"), arguments.count("n_end")
    span = prompt[start : end + 1].strip().lower()
    if not span:
        arguments.refuse("n_end", "the index of a character after n_start, within prompt_to_repeat")
    return lambda text: text.lower.strip() == span
