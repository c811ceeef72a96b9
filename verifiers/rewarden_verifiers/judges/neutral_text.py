"""A neutral text of any length: what stands in the place of a candidate's where it is to be known whose fault an
unreadable reply is."""

from __future__ import annotations


def neutral_text(length: int) -> str:
    """Plain sentences that ask for nothing and claim nothing, so many characters of them, the same each time. They
    differ, since a model that reads one sentence over and over may go on with it."""
    sentences: list[str] = []
    size = 0
    while size < length:
        number = len(sentences) + 1
        sentences.append(f"This is sentence {number} of a text that holds the place of another one. ")
        size += len(sentences[-1])
    return "".join(sentences)[:length]
