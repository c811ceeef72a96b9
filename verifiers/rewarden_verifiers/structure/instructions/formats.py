"""IFBench's `format:*`: the layout of a response."""

from __future__ import annotations

import re
import string
from itertools import pairwise

from rewarden_verifiers.structure.instructions.arguments import Arguments
from rewarden_verifiers.structure.instructions.checker import Check, checker, plain
from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.instructions.text import STRIPPED, Text, bare

_DEEP_BRACKETS = 5
_DEEP_QUOTES = 3
_OPENING = {"(": ")", "[": "]", "{": "}"}
_BRACKETS = re.compile(r"[()\[\]{}]")
_QUOTES = re.compile("[\"']")
_LETTERED = re.compile(r"\W*[aA]\W*[bB]\W*[cC]\W*")
_OR = re.compile(r"\bor\b")
_COMMA = re.compile(",")
_TEMPLATE = ("My Answer:", "My Conclusion:", "Future Outlook:")
_EMOJI_RANGES = """
    a9 ae 203c 2049 2122 2139 2194-2199 21a9-21aa 231a-231b 2328 23cf 23e9-23f3 23f8-23fa 24c2 25aa-25ab 25b6 25c0
    25fb-25fe 2600-2604 260e 2611 2614-2615 2618 261d 2620 2622-2623 2626 262a 262e-262f 2638-263a 2640 2642
    2648-2653 265f-2660 2663 2665-2666 2668 267b 267e-267f 2692-2697 2699 269b-269c 26a0-26a1 26a7 26aa-26ab
    26b0-26b1 26bd-26be 26c4-26c5 26c8 26ce-26cf 26d1 26d3-26d4 26e9-26ea 26f0-26f5 26f7-26fa 26fd 2702 2705
    2708-270d 270f 2712 2714 2716 271d 2721 2728 2733-2734 2744 2747 274c 274e 2753-2755 2757 2763-2764 2795-2797
    27a1 27b0 27bf 2934-2935 2b05-2b07 2b1b-2b1c 2b50 2b55 3030 303d 3297 3299 1f004 1f0cf 1f170-1f171 1f17e-1f17f
    1f18e 1f191-1f19a 1f201-1f202 1f21a 1f22f 1f232-1f23a 1f250-1f251 1f300-1f321 1f324-1f393 1f396-1f397
    1f399-1f39b 1f39e-1f3f0 1f3f3-1f3f5 1f3f7-1f4fd 1f4ff-1f53d 1f549-1f54e 1f550-1f567 1f56f-1f570 1f573-1f57a
    1f587 1f58a-1f58d 1f590 1f595-1f596 1f5a4-1f5a5 1f5a8 1f5b1-1f5b2 1f5bc 1f5c2-1f5c4 1f5d1-1f5d3 1f5dc-1f5de
    1f5e1 1f5e3 1f5e8 1f5ef 1f5f3 1f5fa-1f64f 1f680-1f6c5 1f6cb-1f6d2 1f6d5-1f6d9 1f6dc-1f6e5 1f6e9 1f6eb-1f6ec
    1f6f0 1f6f3-1f6fc 1f7e0-1f7eb 1f7f0 1f90c-1f93a 1f93c-1f945 1f947-1f9ff 1fa70-1fa7c 1fa80-1fac6 1fac8
    1facc-1fadd 1fadf-1faeb 1faef-1fafa
"""


def _characters() -> frozenset[str]:
    bounds = (entry.partition("-") for entry in _EMOJI_RANGES.split())
    return frozenset(
        chr(code) for first, _, last in bounds for code in range(int(first, 16), int(last or first, 16) + 1)
    )


_EMOJI = _characters()
"""Emoji that consist of one character, by Unicode's emoji data (version 17): as RGI emoji, with or without a
selector.
"""


@plain("format:parentheses")
def parentheses(text: Text) -> bool:
    """Brackets of any kind are nested five deep, up to the first that closes properly at that depth."""
    expected: list[str] = []
    deepest = 0
    for match in _BRACKETS.finditer(text.value):
        bracket = match.group()
        if bracket in _OPENING:
            expected.append(_OPENING[bracket])
            deepest = max(deepest, len(expected))
        elif expected and expected[-1] == bracket:
            expected.pop()
            if deepest >= _DEEP_BRACKETS:
                return True
        else:
            expected = []
            deepest = 0
    return False


@plain("format:quotes")
def quotes(text: Text) -> bool:
    """Double and single quotation marks are nested three deep. As in the official checker, an apostrophe counts as a
    mark.
    """
    opened: list[str] = []
    deepest = 0
    for match in _QUOTES.finditer(text.value):
        mark = match.group()
        if opened and opened[-1] == mark:
            opened.pop()
            if deepest - len(opened) >= _DEEP_QUOTES:
                return True
        else:
            opened.append(mark)
            deepest = max(deepest, len(opened))
    return False


def _one_of(listed: str, either: re.Pattern[str]) -> Check:
    """either: matches the "or" between options."""
    parts = listed.split("/") if "/" in listed else (either if either.search(listed) else _COMMA).split(listed)
    exact = frozenset(part.strip() for part in parts)
    if _LETTERED.match(listed):
        return lambda text: text.value in exact
    loose = frozenset(part.strip(STRIPPED).lower() for part in exact)
    return lambda text: text.value.strip(STRIPPED).lower() in loose


@checker("format:options", official=lambda arguments: _one_of(arguments.text("options"), re.compile("or")))
def options(arguments: Arguments) -> Check:
    """The response is one of `options` (parted by "/", "or", ","); lettered ones exactly, others in any case."""
    return _one_of(arguments.text("options"), _OR)


@plain("format:newline")
def newline(text: Text) -> bool:
    """Each word is on its own line."""
    value = text.bare.strip()
    return sum(1 for line in value.split("\n") if line) == len(value.split())


def _emoji_near_end(value: str) -> bool:
    return value[-1] in _EMOJI or value[-2:-1] in _EMOJI


@plain("format:emoji")
def emoji(text: Text) -> bool:
    """Each sentence ends with an emoji, before or after its final mark."""
    stripped = [bare(sentence).strip() for sentence in text.sentences]
    for place, value in enumerate(stripped):
        if not value:
            return False
        # The splitter assigns an emoji after the mark to the next sentence.
        following = stripped[place + 1] if place + 1 < len(stripped) else ""
        if not _emoji_near_end(value) and following[:1] not in _EMOJI:
            return False
    return True


@plain(
    "format:line_indent",
    guard=lambda text: sum(1 for line in text.lines if line.strip()) > 1,
    why="the official checker passes a single line, which is not stairs",
)
def line_indent(text: Text) -> bool:
    """Each line is indented more than the previous one."""
    indents = [len(line) - len(line.lstrip(" ")) for line in _without_blank_lines(list(text.lines))]
    return all(one < other for one, other in pairwise(indents))


def _without_blank_lines(lines: list[str]) -> list[str]:
    """Removes blank lines the way the official checker does: while iterating over the lines.

    It removes the first line that equals the current blank one, and thereby skips the next line. Lines after the
    current position never move, so one pass determines which lines remain.
    """
    places: dict[str, list[int]] = {}
    for place in range(len(lines) - 1, -1, -1):
        if not lines[place].strip():
            places.setdefault(lines[place], []).append(place)
    gone: set[int] = set()
    place = 0
    while place < len(lines):
        if not lines[place].strip():
            gone.add(places[lines[place]].pop())
            place += 1
        place += 1
    return [line for place, line in enumerate(lines) if place not in gone]


@plain(
    "format:quote_unquote",
    guard=lambda text: '"' in text.value,
    why="the official checker passes a response that quotes nothing",
)
def quote_unquote(text: Text) -> bool:
    """No quotation directly follows another or ends the response."""
    value = "".join(text.value.replace("'\"'", "").split())
    if '""' in value:
        return False
    return not value.strip(string.digits + string.punctuation.replace('"', "")).endswith('"')


@checker("format:list")
def separated_list(arguments: Arguments) -> Check:
    """`sep` occurs at least twice."""
    separator = arguments.text("sep")
    return lambda text: text.value.count(separator) >= 2


@plain("format:thesis")
def thesis(text: Text) -> bool:
    """An HTML italic text comes first, followed by other text."""
    start = text.value.find("<i>")
    if start < 0:
        start = text.value.find("<em>")
    if start < 0:
        return False
    value = text.value[start:]
    end = value.find("</i>")
    if end < 0:
        end = value.find("</em>")
    return end >= 0 and bool(value[3:end].strip()) and bool(value[end + 4 :].strip())


@plain(
    "format:sub-bullets",
    guard=lambda text: "*" in text.value,
    why="the official checker passes a response without any bullet",
)
def sub_bullets(text: Text) -> bool:
    """Every `*` is followed by a `-` before the next `*`."""
    return all("-" in bullet for bullet in text.value.split("*")[1:])


@plain("format:no_bullets_bullets")
def no_bullets_bullets(text: Text) -> bool:
    """At least two sentences, then at least two lines that begin with `*`, and nothing after them."""
    spoken = bullets = 0
    open_for_sentences = True
    for line in text.lines:
        stripped = line.strip()
        if stripped.startswith("*"):
            if spoken < 2:
                return False
            open_for_sentences = False
            bullets += 1
        elif open_for_sentences:
            # As in the official checker, a blank line ends the sentences, and only bullets may follow.
            found = len(sentences(stripped))
            open_for_sentences = found > 0
            spoken += found
        else:
            return False
    return bullets >= 2


@plain("format:title_case")
def title_case(text: Text) -> bool:
    """No word begins with a lower-case letter, except words in mixed case."""
    for word in text.tokens:
        if not word[0].isalpha() or not word[0].islower():
            continue
        rest = word[1:]
        if not rest or rest.isupper() or rest.islower():
            return False
    return True


@plain("format:output_template")
def output_template(text: Text) -> bool:
    """ "My Answer:", "My Conclusion:" and "Future Outlook:" occur."""
    return all(part in text.value for part in _TEMPLATE)


@plain("format:no_whitespace")
def no_whitespace(text: Text) -> bool:
    """No white space of any kind."""
    return len(text.words) == 1 and len(text.words[0]) == len(text.value)
