"""A row of a trainer's data set, as the trainer passes it to its adapter: `row_sample(row, response, settings)` of each
adapter is built from these. For `rewarden check-trainer`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rewarden.adapters.rows import plain, reference_of
from rewarden.adapters.settings import Settings
from rewarden.columns import GUESSES


def prompt_of(row: Mapping[str, Any]) -> Any:
    """Returns the prompt of a row, from the first of the usual columns."""
    return next((row[name] for name in GUESSES["prompt"] if row.get(name) is not None), None)


def label_of(row: Mapping[str, Any], settings: Settings) -> Any:
    """Returns the label of a row, for trainers that pass one column: the one that `reference` names, or the usual."""
    return reference_of(row, settings)


def unnamed(settings: Settings) -> Settings:
    """Returns the settings of an adapter that gets the label itself, and no columns."""
    return replace(settings, reference=None)


def said(response: str, prompt: Any) -> Any:
    """Returns a response in the form of its prompt: text, or chat messages."""
    return response if prompt is None or isinstance(prompt, str) else [{"role": "assistant", "content": response}]


def text_of_prompt(prompt: Any) -> str:
    """Returns a prompt as the text that a trainer makes of it; only the roles and contents of messages count here."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    messages = plain(prompt)
    return "".join(f"{each.get('role')}: {each.get('content')}\n" for each in messages if isinstance(each, dict))
