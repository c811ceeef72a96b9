"""IFEval's `detectable_content:*` and `detectable_format:*`: marks, lists, sections, JSON."""

from __future__ import annotations

import json
import re

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.patterns import compiled
from rewarden_verifiers.structure.instructions.text import Text

# Match the indent within a line: across lines (`\s*`), the official pattern takes time quadratic in blank lines.
_STAR_BULLET = re.compile(r"^[^\S\n]*\*[^*].*$", re.MULTILINE)
_DASH_BULLET = re.compile(r"^[^\S\n]*-.*$", re.MULTILINE)
_SINGLE = re.compile(r"\*[^\n*]*\*")
_DOUBLE = re.compile(r"\*\*[^\n*]*\*\*")
_OPTIONS = ("My answer is yes.", "My answer is no.", "My answer is maybe.")
_POSTSCRIPTS = {"P.P.S": r"p\.\s?p\.\s?s", "P.S.": r"p\.\s?s\."}


@checker("detectable_content:number_placeholders")
def number_placeholders(arguments: Arguments) -> Check:
    """At least `num_placeholders` placeholders in square brackets, such as [address]."""
    wanted = arguments.count("num_placeholders")

    def check(text: Text) -> bool:
        found = 0
        for line in text.lines:
            start = line.find("[")
            while start >= 0 and (end := line.find("]", start)) >= 0:
                found += 1
                start = line.find("[", end)
        return found >= wanted

    return check


def _postscript(arguments: Arguments) -> Check:
    marker = arguments.word("postscript_marker")
    pattern = compiled(_POSTSCRIPTS.get(marker, marker.lower()), ignore_case=False)
    return lambda text: pattern is not None and pattern.search(text.lower) is not None


@checker("detectable_content:postscript", official=_postscript)
def postscript(arguments: Arguments) -> Check:
    """`postscript_marker` occurs, ignoring case; in "P.S." and "P.P.S", a space may follow each period."""
    marker = arguments.word("postscript_marker")
    pattern = re.compile(_POSTSCRIPTS.get(marker, re.escape(marker.lower())))
    return lambda text: pattern.search(text.lower) is not None


@checker("detectable_format:number_bullet_lists")
def number_bullet_lists(arguments: Arguments) -> Check:
    """Exactly `num_bullets` lines that begin with `*` or `-`."""
    wanted = arguments.count("num_bullets")

    def check(text: Text) -> bool:
        found = sum(1 for _ in _STAR_BULLET.finditer(text.value)) + sum(1 for _ in _DASH_BULLET.finditer(text.value))
        return found == wanted

    return check


def _options(text: Text) -> int:
    return sum(option in text.value for option in _OPTIONS)


@plain(
    "detectable_format:constrained_response",
    guard=lambda text: _options(text) == 1,
    why="the official checker passes a response that names all three answers",
)
def constrained_response(text: Text) -> bool:
    """One of "My answer is yes.", "My answer is no." and "My answer is maybe." occurs."""
    return _options(text) > 0


def highlights(text: Text) -> int:
    """Returns the number of passages between asterisks or double asterisks on the same line."""
    single = sum(1 for found in _SINGLE.findall(text.value) if found.strip("*").strip())
    return single + sum(1 for found in _DOUBLE.findall(text.value) if found[2:-2].strip())


@checker("detectable_format:number_highlighted_sections")
def number_highlighted_sections(arguments: Arguments) -> Check:
    """At least `num_highlights` passages between asterisks or double asterisks on the same line."""
    wanted = arguments.count("num_highlights")
    return lambda text: highlights(text) >= wanted


def _sections(arguments: Arguments) -> Check:
    pattern = compiled(arguments.word("section_spliter"), r"\s?%s\s?\d+\s?", ignore_case=False)
    wanted = arguments.count("num_sections")
    # The official code counts the parts that `re.split` returns, and each group of the pattern adds one.
    return lambda text: pattern is not None and len(pattern.findall(text.value)) * (1 + pattern.groups) >= wanted


@checker("detectable_format:multiple_sections", official=_sections)
def multiple_sections(arguments: Arguments) -> Check:
    """At least `num_sections` times `section_spliter` (the official spelling) with a number after it."""
    pattern = re.compile(re.escape(arguments.word("section_spliter")) + r"\s?\d+")
    wanted = arguments.count("num_sections")
    return lambda text: sum(1 for _ in pattern.finditer(text.value)) >= wanted


@plain("detectable_format:json_format")
def json_format(text: Text) -> bool:
    """The whole text is JSON, in a fence or not."""
    value = text.value.strip()
    for fence in ("```json", "```Json", "```JSON", "```"):
        value = value.removeprefix(fence)
    try:
        json.loads(value.removesuffix("```").strip())
    except (ValueError, RecursionError):
        return False
    return True


@plain("detectable_format:title")
def title(text: Text) -> bool:
    """A title is in double angle brackets, such as <<poem of joy>>, on one line."""
    for line in text.lines:
        start, end = line.find("<<"), line.rfind(">>")
        if start >= 0 and start + 3 <= end and line[start : end + 2].lstrip("<").rstrip(">").strip():
            return True
    return False
