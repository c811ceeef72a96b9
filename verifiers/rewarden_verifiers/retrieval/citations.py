"""Reads the citations of a response: its sentences, the sources that each cites, and the passages that each quotes."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal

from rewarden_verifiers.structure.instructions.sentences import sentences
from rewarden_verifiers.structure.prose import prose, split_code
from rewarden_verifiers.words import tokens, visible, words

Style = Literal["brackets", "tags", "footnotes"]

Resolve = Callable[[str], str | None]
"""Returns the id of the source that a mark names, or None."""

_TITLE = r"(?:\s{1,4}(?:\"[^\"\n]{0,300}\"|'[^'\n]{0,300}'))?"
_BRACKETS = (
    rf"\[(?P<square>(?!\^)[^\[\]\n]{{1,200}})\](?!:)(?:\([^()\s]{{1,2000}}{_TITLE}\))?"
    r"|【(?P<lens>[^【】\n]{1,200})】"
)
_TAGS = (
    r"<cite\s{1,4}(?:id|source|ref)\s?=\s?[\"']?(?P<opening>[^\"'<>\n]{1,200}?)[\"']?\s?/?>"
    r"|<cite>(?P<tag>[^<>\n]{1,200})</cite>|(?P<closing></cite>)"
)
_FOOTNOTES = r"\[\^(?P<note>[^\[\]\n]{1,200})\](?!:)"
_PATTERNS = {"brackets": _BRACKETS, "tags": _TAGS, "footnotes": _FOOTNOTES}
_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^([^\[\]\n]{1,200})\]:[ \t]{0,8}(.*)$", re.MULTILINE)
_HEADING = re.compile(
    r"^[\s#*_]{0,12}(?:sources?|references?|bibliography|citations?|works cited|quellen|literatur|参考文献|引用文献)"
    r"[\s*_:：]{0,8}$",
    re.IGNORECASE,
)
_ENTRY = re.compile(
    r"^[\s*_-]{0,8}(?:\[[^\[\]\n]{1,200}\]|【[^【】\n]{1,200}】)[:.]?\s(?!(?:\s*\[[^\[\]\n]{1,200}\])*\s*$)"
)
"""An entry of a list of sources: a mark and a text. A line of marks alone cites for the sentence before it."""
_MARKER = re.compile(r"^[ \t]{0,16}(?:#{1,6}|>|[-*•+]|\(?\d{1,3}[.)])[ \t]+")
_INLINE_CODE = re.compile(r"`[^`\n]{1,300}`")
_QUOTE = re.compile(
    r"\"([^\"\n]{1,4000})\"|“([^“”\n]{1,4000})”|«([^«»\n]{1,4000})»|„([^„“”\n]{1,4000})[“”]"
    r"|「([^「」\n]{1,4000})」"
)
_END = re.compile(r"(?<=[。！？｡])")
_BETWEEN = re.compile(r"\s*(?:[,;，；、]|\band\b)\s*")
_RANGE = re.compile(r"(\d{1,4})\s?[-–]\s?(\d{1,4})")
_LONGEST_RANGE = 50
_LEAD = re.compile(r"^(?:doc(?:ument)?|source|passage|citation|ref(?:erence)?)[\s_.#:-]{0,3}", re.IGNORECASE)
_LONGEST_ID = 64
_LONGEST_HEADING = 12
"""Words of a heading; a longer one says something."""


@dataclass(slots=True, eq=False)
class Sentence:
    """A sentence of the response. cited: the ids of sources, in their order and each once. unknown: marks that name no
    source. quotes: the passages that are in quotation marks, as words.
    """

    text: str
    words: list[str]
    cited: list[str] = field(default_factory=list)
    unknown: list[str] = field(default_factory=list)
    quotes: list[list[str]] = field(default_factory=list)


def name_of(mark: str) -> str:
    """A mark or an id as they are compared: without what is invisible, and without regard to case."""
    return visible(mark).casefold()


def without_lead(name: str) -> str:
    """A name without a word such as "doc" or "source" before it."""
    return _LEAD.sub("", name)


def cited_sentences(response: str, styles: Sequence[Style], resolve: Resolve) -> list[Sentence]:
    """The sentences of a response, without its own list of sources. Linear."""
    blocks, text = split_code(response)
    # Attack: claims without a citation in a code fence, or in code within a line. In real code nobody cites.
    told = [prose(f"```\n{block}\n```") for block in blocks]
    text = "\n\n".join([text, *(block for block in told if block.strip())])
    text = "\n".join(line if line.isascii() else visible(line) for line in text.split("\n"))
    text = _INLINE_CODE.sub(lambda found: found.group().replace("[", " "), text)
    notes = {name_of(one): two for one, two in _DEFINITION.findall(text)} if "footnotes" in styles else {}
    pattern = re.compile("|".join(_PATTERNS[style] for style in styles))
    reader = _Reader(pattern, resolve, notes)
    return [sentence for block in _blocks(_DEFINITION.sub("", text)) for sentence in reader.read(block)]


def _blocks(text: str) -> Iterator[str]:
    """Paragraphs, and entries of lists, each on one line; neither headings nor the entries of a list of sources."""
    block: list[str] = []
    for line in _without_sources(text.split("\n")):
        marker = _MARKER.match(line)
        heading = line.lstrip().startswith("#") and len(words(line)) <= _LONGEST_HEADING
        if (marker is not None or heading or not line.strip()) and block:
            yield " ".join(block)
            block = []
        if not heading and (body := (line[marker.end() :] if marker is not None else line).strip()):
            block.append(body)
    if block:
        yield " ".join(block)


def _without_sources(lines: Sequence[str]) -> Sequence[str]:
    """The lines without a list of sources below a heading, and without entries at the end that begin with a mark.

    Attack: a list of sources that the response makes up, each an entry that cites itself.
    """
    kept: list[str] = []
    listing = False
    for line in lines:
        if _HEADING.match(line):
            listing = True
        elif not listing or not (not line.strip() or _ENTRY.match(line) or _MARKER.match(line)):
            listing = False
            kept.append(line)
    end = len(kept)
    while end and (not kept[end - 1].strip() or _ENTRY.match(kept[end - 1])):
        end -= 1
    return kept[:end] or kept  # a response of nothing but such entries cites in them


class _Reader:
    def __init__(self, pattern: re.Pattern[str], resolve: Resolve, notes: dict[str, str]) -> None:
        self._pattern = pattern
        self._resolve = resolve
        self._notes = notes

    def read(self, block: str) -> list[Sentence]:
        """The sentences of a block. Marks are taken out first, so that they neither end a sentence nor begin one."""
        pieces: list[str] = []
        marks: list[tuple[int, str]] = []
        done = length = 0
        for found in self._pattern.finditer(block):
            kind = found.lastgroup or ""
            names = [] if kind == "closing" else self._names(found[kind], kind)
            if names is None:
                continue
            pieces.append(block[done : found.start()])
            length += found.start() - done
            done = found.end()
            # What is between the tags is cited, and comes after the opening one.
            marks += [(length if kind == "opening" else length - 1, name) for name in names]
        text = "".join([*pieces, block[done:]])
        return self._divided(text, marks)

    def _divided(self, text: str, marks: Sequence[tuple[int, str]]) -> list[Sentence]:
        quotes = [(found.start(), found.end(), tokens(found[found.lastindex or 0])) for found in _QUOTE.finditer(text)]
        starts = list(_starts(text, [(start, end) for start, end, _ in quotes]))
        made = [
            Sentence(text[start:end].strip(), tokens(text[start:end]))
            for start, end in zip(starts, [*starts[1:], len(text)], strict=True)
        ]
        for start, _, quoted in quotes:
            made[_place(starts, start)].quotes.append(quoted)
        for at, name in marks:
            sentence = made[_place(starts, at)]
            source = self._resolve(name)
            kept, shown = (sentence.unknown, name) if source is None else (sentence.cited, source)
            if shown not in kept:
                kept.append(shown)
        return made

    def _names(self, content: str, kind: str) -> list[str] | None:
        """The names in a mark; None if it is not a citation, as "[sic]" is none."""
        if kind == "note":
            return [self._noted(name_of(content))]
        names: list[str] = []
        parts = _BETWEEN.split(content)
        if len(parts) == 1 and self._resolve(name_of(content)) is None and len(words := content.split()) > 1:
            # "[1 2]"; "[doc 1]" has a word that names no source.
            parts = words if all(self._resolve(name_of(word)) is not None for word in words) else parts
        for part in parts:
            name = name_of(part.partition("†")[0])
            numbers = _RANGE.fullmatch(name)
            if numbers is not None and self._resolve(name) is None:
                first, last = int(numbers[1]), int(numbers[2])
                if not 0 <= last - first < _LONGEST_RANGE:
                    return None
                names += [str(number) for number in range(first, last + 1)]
            elif kind == "opening" or self._resolve(name) is not None or _looks_like_id(name):
                names.append(name)
            else:
                return None
        return names

    def _noted(self, name: str) -> str:
        """The name that a footnote gives: a source by its definition, else its own mark."""
        defined = name_of(self._notes.get(name, ""))
        for one in (defined, defined.partition(" ")[0].rstrip(".,:;"), name if not defined else ""):
            if one and self._resolve(one) is not None:
                return one
        return defined[:_LONGEST_ID] or name


def _looks_like_id(name: str) -> bool:
    bare = without_lead(name)
    return len(name) <= _LONGEST_ID and " " not in bare and any(map(str.isdigit, bare))


def _starts(text: str, quotes: Sequence[tuple[int, int]]) -> Iterator[int]:
    """The beginnings of sentences; none lies within a quotation."""
    yield 0
    at, lead, within = 0, len(text) - len(text.lstrip()), iter(quotes)
    start, end = next(within, (len(text), len(text)))
    for sentence in sentences(text):
        place = text.find(sentence, at)
        if place < 0:
            continue
        cuts = [place, *(place + found.start() for found in _END.finditer(sentence) if found.start() < len(sentence))]
        for cut in cuts:
            while end <= cut and end < len(text):
                start, end = next(within, (len(text), len(text)))
            if cut > lead and not start < cut < end:
                yield cut
        at = place + len(sentence)


def _place(starts: Sequence[int], at: int) -> int:
    """The sentence that a position is in."""
    return max(0, bisect_right(starts, at) - 1)
