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
"""The folders of built-in prompts: those of judges, and those of the reward models that Rewarden hosts."""


_RESULTS = "Tools that you called before, and their results, which are material too:"


@dataclass(frozen=True, slots=True)
class Material:
    """An untrusted text: it is fenced, under its name, wherever the prompt refers to it.

    candidate: the policy wrote it, so a neutral text can replace it when a reply is unreadable.
    """

    text: str
    candidate: bool = False


@dataclass(frozen=True, slots=True)
class Chat:
    """Messages, and the number of control sequences neutralised in them."""

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
    """Renders a built-in prompt, or the request's replacement for it, as a chat.

    variables: by name, `Material` (fenced, also within lists) or the caller's own values, which are inserted unchanged.
    form: describes the form of the reply, at the very end. neutral: makes texts that replace those of the candidates.
    media: images, placed after the text. plain: for models trained on a template of their own: nothing is fenced, and
    if the request supplies that template, nothing is added to it. roles: for models trained on roles of their own: the
    chat has one message per role, with the value of the given variable, and no prompt. The model's chat template is the
    fence, and no text can contain its markers, which are neutralised as everywhere. findings: see `opinions.Inquiry`;
    they follow the prompt, whether built-in or the request's.

    Raises InvalidParams for an invalid prompt in the request.
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
            # Number the texts of a list to tell them apart.
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
        # Material has no surrogates left, so this one comes from the caller.
        raise InvalidParams("params: the text for a judge has a lone surrogate, which cannot be encoded", path="params")
    pictures = [{"type": "image_url", "image_url": {"url": address_of(one)}} for one in media]
    return {"role": role, "content": [{"type": "text", "text": text}, *pictures] if pictures else text}


@lru_cache(maxsize=64)
def built_in(name: str) -> Prompt:
    """Loads the built-in prompt of that name."""
    text = _INCLUDE.sub(lambda found: _file(found[1]), _file(name))
    _, system, user = re.split(r"^\[(?:system|user)\]\n", text, flags=re.MULTILINE)
    return Prompt(system=system.strip(), user=user.strip())


_INCLUDE = re.compile(r"^\[include ([a-z_.]+)\]\n", re.MULTILINE)


def _file(name: str) -> str:
    file = next(file for folder in FOLDERS if (file := folder / f"{name}.j2").is_file())
    return file.read_text(encoding="utf-8")


def reply_form(schema: Mapping[str, Any]) -> str:
    """Returns the instruction on the form of the reply: one JSON object with this schema."""
    return (
        "Reply with one JSON object and nothing else: no text before or after it, no code fence. Its JSON Schema:\n"
        + json.dumps(schema, ensure_ascii=False)
    )


def _text(template: str, variables: Mapping[str, Any], places: Places, where: str) -> str:
    return places.fill(text_of(template, variables, where), where)
