"""Prompts: turns Jinja2 templates, ours or the request's, into messages.

A file `prompts/NAME.j2` has two parts, after the lines `[system]` and `[user]`. The line `[include OTHER]` includes
another file, which several prompts share. Untrusted text reaches them only fenced (`fencing.py`). This module adds the
rule of the fences and the form of the reply to every prompt. `templates.py` limits what a request's prompt can do.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from rewarden.errors import InvalidParams
from rewarden.types import Media
from rewarden_verifiers.chat import Message
from rewarden_verifiers.judges.fencing import delimiter, fenced, harmless, rule
from rewarden_verifiers.judges.neutral_text import StandIn
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.pictures import address_of, encodable
from rewarden_verifiers.judges.templates import Places, text_of

FOLDERS = (Path(__file__).parent / "prompts", Path(__file__).parents[1] / "models/prompts")
"""The folders of the built-in prompts: of judges, and of the reward models that we host."""


_RESULTS = "Tools that you called before, and their results, which are material too:"


@dataclass(frozen=True, slots=True)
class Material:
    """A text that others wrote: it stands fenced, under its name, wherever the prompt names it.

    candidate: the policy wrote it, so a neutral text takes its place where a reply cannot be read.
    """

    text: str
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages, and how many control sequences were made harmless in what they hold."""

    messages: tuple[Message, ...]
    neutralised: int


def render(
    name: str,
    prompt: Prompt,
    variables: Mapping[str, Any],
    form: str,
    *,
    neutral: StandIn | None = None,
    media: Sequence[Media] = (),
    plain: bool = False,
    roles: Mapping[str, str] | None = None,
    findings: Sequence[Material] = (),
) -> Chat:
    """The chat of a built-in prompt, or of what the request has in its place.

    variables: by name, `Material` (fenced; lists of them too) or the caller's own values, which stand as they are.
    form: what is said of the reply's form, last of all. neutral: makes the texts in the place of the candidates'.
    media: images that are shown after the text. plain: for models that were trained on a template of their own: nothing
    is fenced, and where the request has that template, nothing is said next to it. roles: for models that were trained
    on roles of their own: the chat is a message each, of the variable that is named, without any prompt; their chat
    template is the fence, and no text can write its markers, which are made harmless as everywhere. findings: see
    `opinions.Inquiry`; they come after the prompt, be it ours or the request's.

    Raises InvalidParams for a prompt of the request's that is none.
    """
    texts: list[str] = []
    neutralised = 0

    def clean(value: Any) -> Any:
        nonlocal neutralised
        if isinstance(value, Material):
            made = harmless(value.text)
            neutralised += made.changed
            text = neutral(made.text) if neutral is not None and value.candidate else made.text
            texts.append(text)
            return Material(text)
        if isinstance(value, Mapping):
            return {key: clean(item) for key, item in value.items()}
        if isinstance(value, (list, tuple)):
            return [clean(item) for item in value]
        return value

    cleaned = {variable: clean(value) for variable, value in variables.items()}
    results = [clean(one) for one in findings]
    key = delimiter(texts)
    places = Places(key)

    def fence(label: str, value: Any) -> Any:
        if isinstance(value, Material):
            return places.add(value.text if plain else fenced(label, value.text, key), len(value.text))
        if isinstance(value, Mapping):
            return {inner: fence(inner, item) for inner, item in value.items()}
        if isinstance(value, list):
            # Texts of a list are told apart by their number.
            return [fence(f"{label} {place}", item) for place, item in enumerate(value, start=1)]
        return value

    if roles:
        asked = [(role, cleaned[variable]) for role, variable in roles.items() if cleaned.get(variable) is not None]
        return Chat(tuple(_message(role, value, media if role == "user" else ()) for role, value in asked), neutralised)
    given = {variable: fence(variable, value) for variable, value in cleaned.items()}
    own = built_in(name)
    bare = plain and prompt.user
    template = prompt.system or ("" if bare else own.system)
    system = _text(template, given, places, "params.prompt.system" if prompt.system else name)
    user = _text(prompt.user or own.user, given, places, "params.prompt.user" if prompt.user else name)
    if results:
        shown = "\n".join(str(one) for one in fence("result", results))
        user = f"{user}\n\n{_RESULTS}\n{places.fill(shown, name)}"
    told = user if bare or not form else f"{user}\n\n{form}"
    if not plain:
        system = f"{system}\n\n{rule(key)}"
    first = (_message("system", system),) if system else ()
    return Chat((*first, _message("user", told, media)), neutralised)


def _message(role: str, value: str | Material, media: Sequence[Media] = ()) -> Message:
    text = value.text if isinstance(value, Material) else value
    if not encodable(text):
        # Of material they are gone, so one is the caller's.
        raise InvalidParams("params: the text for a judge has a lone surrogate, which cannot be encoded", path="params")
    pictures = [{"type": "image_url", "image_url": {"url": address_of(one)}} for one in media]
    return {"role": role, "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


@lru_cache(maxsize=64)
def built_in(name: str) -> Prompt:
    """The prompt of that name that ships."""
    text = _INCLUDE.sub(lambda found: _file(found[1]), _file(name))
    _, system, user = re.split(r"^\[(?:system|user)\]\n", text, flags=re.MULTILINE)
    return Prompt(system=system.strip(), user=user.strip())


_INCLUDE = re.compile(r"^\[include ([a-z_.]+)\]\n", re.MULTILINE)


def _file(name: str) -> str:
    file = next(file for folder in FOLDERS if (file := folder / f"{name}.j2").is_file())
    return file.read_text(encoding="utf-8")


def reply_form(schema: Mapping[str, Any]) -> str:
    """Returns what is said of the reply: one JSON object of this schema."""
    return (
        "Reply with one JSON object and nothing else: no text before or after it, no code fence. Its JSON Schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )


def _text(template: str, variables: Mapping[str, Any], places: Places, where: str) -> str:
    return places.fill(text_of(template, variables, where), where)
