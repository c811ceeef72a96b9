"""Prompts of a request: what they can contain, and the limits on hostile ones."""

from __future__ import annotations

from typing import Any

import pytest

from rewarden.errors import InvalidParams
from rewarden.types import Media
from rewarden_verifiers.judges.params import Prompt
from rewarden_verifiers.judges.prompts import Material, render
from tests.judges.conftest import Judged
from tests.judges.scripted import ScriptedJudge

RESPONSE = "five\n" * 1000


def said(user: str, many: int = 3, response: str = RESPONSE) -> str:
    """Returns what a template says of some fields."""
    variables = {
        "response": Material(response, candidate=True),
        "prompt": None,
        "references": [Material(f"gold {place}") for place in range(many)],
        "scale": {"ends": "from 1 to 5", "anchors": [{"number": "1", "meaning": "bad"}]},
        "instructions": "be exact",
    }
    content = render("judge.scale", Prompt(system="s", user=user), variables, "FORM").messages[1]["content"]
    assert isinstance(content, str)
    return content


@pytest.mark.parametrize(
    ("template", "shown"),
    [
        ("{% for one in references %}{{ loop.index }}{% endfor %}", "123"),
        ("{{ references|length }} {{ response|length }}", "3 5000"),
        (
            "{{ scale.ends|upper }} {{ scale.ends|title }} {{ scale['ends']|capitalize }}",
            "FROM 1 TO 5 From 1 To 5 From",
        ),
        ("{% if response and not prompt and instructions == 'be exact' %}yes{% endif %}", "yes"),
        ("{{ nothing|default('none') }} {{ prompt|default('none', true) }}", "none none"),
        ("{{ (scale.anchors|first).meaning }} {{ (scale.anchors|last).number }}", "bad 1"),
    ],
)
def test_a_prompt_may_say_what_it_needs(template: str, shown: str) -> None:
    assert said(template).startswith(shown)


@pytest.mark.parametrize(
    "template",
    [
        "{{ response|upper }}",
        "{{ response|lower }}",
        "{{ response|title }}",
        "{{ response|capitalize|trim }}",
        "{{ [response] }}",
        "{{ references|join(response) }}",
        "{% for c in response %}{{ c }} {% endfor %}",
        "{{ response|first }}",
        "{{ response[0] }}",
        "{{ response|join(' ') }}",
        "{{ response.text }}",
        "{{ response._shown }}{{ response._mark }}",
        "{{ response.__str__ }}",
    ],
)
def test_no_filter_takes_a_text_out_of_its_fence(template: str) -> None:
    try:
        found = said(template, many=1)
    except InvalidParams:
        return
    text = found.removesuffix("\n\nFORM")
    assert text.count("five") in (0, 1000)
    if "five" in text:
        assert RESPONSE in text
        assert text.startswith("[response ")


def test_a_list_that_is_shown_whole_shows_its_texts_in_their_fences() -> None:
    assert "]\ngold 1\n[end of references 2 " in said("{{ references }}")
    assert "]\ngold 1\n[end of references 2 " in said("{{ references|join(', ') }}")


HOSTILE = [
    # What takes long, or becomes large.
    "{% for a in references %}{% for b in references %}{% endfor %}{% endfor %}",
    "{% for a in references %}" + "{% if instructions == 'a' %}{% endif %}" * 400 + "{% endfor %}",
    "{% for a in references %}" + "x" * 10_000 + "{% endfor %}",
    "{% for a in references %}{{ response }}{% endfor %}",
    "{{ references|join(response) }}",
    "{{ references|join('" + "x" * 15_000 + "') }}",
    "{{ '" + "x" * 9_000 + "'|join('" + "y" * 9_000 + "') }}",
    "{% for a in references %}" + "{% if instructions|title|upper == 'a' %}{% endif %}" * 300 + "{% endfor %}",
    # What reaches for something.
    "{{ response.__class__ }}",
    "{{ response.__class__.__mro__ }}",
    "{{ scale.items }}",
    "{{ references.append }}",
    "{{ loop }}",
    "{{ self }}",
    "{{ self._TemplateReference__context }}",
    "{{ cycler }}",
    "{{ lipsum.__globals__ }}",
    "{{ range(9) }}",
    "{{ '%s'|format(response) }}",
    "{{ response|attr('x') }}",
    "{{ scale|_loop(1) }}",
    "{{ ''.join(references) }}",
    "{{ 9 ** 9 ** 9 }}",
    "{{ 'x' * 999999999 }}",
    "{{ 'x' ~ 'y' }}",
    "{% set x = 1 %}",
    "{% include 'judge.scale' %}",
    "{% macro a() %}{% endmacro %}",
    "{% for a in references recursive %}{% endfor %}",
    "{% for a in 'abc' %}{% endfor %}",
    # What is not a template, or says nothing.
    "{{ nothing }}",
    "{% for a in nothing %}{% endfor %}",
    "{{ nothing|first }}",
    "{{ nothing|upper }}",
    "{{ prompt.x.y }}",
    "{% for a in scale %}{{ a }}{% endfor %}",
    "{% for a in instructions %}{{ a }}{% endfor %}",
    "{{ 5 is divisibleby 0 }}",
    "{% if '%999999999d' is even %}{% endif %}",
    "{% if prompt in references %}{% endif %}",
    "{% if prompt is in references %}{% endif %}",
    "{% if references == references %}{% endif %}",
    "{% if response == 'five' %}{% endif %}",
    "{{ 'a' < 5 }}",
    "{{ 'a' in response }}",
    "{{ 'a' in 5 }}",
    "{{ references|length(1, 2) }}",
    "{{ references|join(1) }}",
    "{{ references|default(1, 2, 3) }}",
    "{{ " + "9" * 5_000 + " }}",
    "{{ 0x" + "f" * 15_000 + " }}",
    "{{ 1e999999 }} {{ nothing }}",
    "{{ " + "(" * 5_000 + " }}",
    "{{ " + "(" * 5_000 + "1" + ")" * 5_000 + " }}",
    "{{ " + "not " * 4_000 + "prompt }}",
    "{{ prompt" + ".a" * 6_000 + " }}",
    "{{ 'a'" + "|upper" * 3_000 + " }}",
    "{% if prompt %}" * 500 + "{% endif %}" * 500,
    "{{ response",
    "{{ x is nonsense }}",
    "\x00{{ nothing }}",
    "x" * 20_001,
]


@pytest.mark.parametrize("template", HOSTILE)
def test_a_hostile_prompt_is_the_caller_s_mistake(template: str) -> None:
    with pytest.raises(InvalidParams) as error:
        said(template, many=2000)
    assert error.value.details["path"] == "params.prompt.user"
    assert len(error.value.message) < 1000


async def test_a_hostile_prompt_is_no_defect_of_the_server_s(judged: Judged, scripted: ScriptedJudge) -> None:
    params: dict[str, Any] = {"prompt": {"user": "{{ response.__class__ }}"}}
    verdict = await judged("judge", params, response="five", reference="4")
    assert (verdict["status"], verdict["reason"], verdict["fault"]) == ("error", "invalid_params", "caller")
    assert scripted.requests == []


@pytest.mark.parametrize(
    "params",
    [
        {"instructions": "\ud800"},
        {"prompt": {"user": "\ud800{{ response }}"}},
        {"mode": "aspects", "aspects": {"a\ud800": {"description": "b"}}},
        {"mode": "scale", "scale": {"anchors": {"1": "\ud800"}}},
        {"by": "probability", "yes": ["\ud800"]},
    ],
)
async def test_what_utf8_cannot_hold_is_the_caller_s_mistake(
    judged: Judged, scripted: ScriptedJudge, params: dict[str, Any]
) -> None:
    verdict = await judged("judge", params, response="five", reference="4")
    assert (verdict["status"], verdict["reason"], verdict["fault"]) == ("error", "invalid_params", "caller")
    media = [Media(url="https://images.test/\ud800")]
    verdict = await judged("judge", {"media": True}, response="five", reference="4", media=media)
    assert (verdict["reason"], verdict["fault"]) == ("invalid_sample", "caller")
    assert scripted.requests == []
