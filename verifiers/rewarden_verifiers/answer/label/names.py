"""Names of labels, and the parser that reads them in an answer.

The parser is cautious. A label counts if it is the whole answer or an entry of a list, or if a remark follows that
names no other label. The text between labels decides whether they are a list ("a, b and c") or a hedge ("a or b").
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden_verifiers.answer.text.normalise import Normaliser

MAX_LABELS = 10_000
MAX_ENTRIES = 1000
"""Maximum number of entries of an answer."""
_MAX_ENTRY = 500
_MAX_MENTION = 300
_JOINED = 4
"""Maximum number of adjacent entries that may be one label whose name contains commas."""

_NORMAL = Normaliser(articles=(), punctuation=False)
_LEFT = " \t\r\n\"'`*_()[]{}$:\uff1a"
_RIGHT = _LEFT + ".;,!?\u3002\uff0c\uff1b"
# "not_entailed" and "not-entailed" are "not entailed"; the sign of "-1" is kept.
_TIE = re.compile(r"(?<=[^\W\d_])[-_](?=[^\W\d_])")
_WORD = re.compile(r"\w+|[^\w\s]")
_MAX_TEXT = 5000
"""Maximum number of characters of an answer that is searched for one label; a longer text is not a label."""
_ENTRY = re.compile(r"[,;\n|\u3001\uff0c\uff1b]")
_AND = re.compile(r"\s(?:and|&|und|et|y)\s|\s?[和及]\s?", re.IGNORECASE)
_OR = re.compile(r"\s(?:or|and/or)\s|\s?或\s?", re.IGNORECASE)
_OR_FIRST = re.compile(r"\s{0,8}or\s", re.IGNORECASE)
_JOINT_FIRST = re.compile(r"(?:and|or)\s", re.IGNORECASE)
_BULLET = re.compile(r"\s{0,8}(?:[-*+\u2022]\s{1,8}|\(?\d{1,4}[.):]\s{1,8}|[a-z]\)\s{1,8})")
# "- 1" may be a negative number.
_MARK = re.compile(r"[ \t]{0,8}[-*+\u2022][ \t]{1,8}(?=[^\W\d])")
_BOTH_FIRST = re.compile(r"both\s", re.IGNORECASE)
_BOTH_LAST = re.compile(r"\(both\)\W{0,3}$", re.IGNORECASE)
_NUMBERED = re.compile(r"(?<!\S)\(?\d{1,4}[.):]\s{1,8}")
_PREFIX = re.compile(
    r"(?:(?:the|this|that|it|its|my|our|is|are|was|would|should|be|as|a|an|most likely|"
    r"(?:(?:final|correct|right|best|predicted|true)\s)?"
    r"(?:answers?|labels?|class(?:es)?|categor(?:y|ies)|tags?|topics?|verdict|judge?ment|decision|prediction|"
    r"classification|rating|score|result)|overall|final|"
    r"sentiment|emotion|intent|type|statement|claim|theorem|text|image|classified|belongs to|code)[\s:]{1,4}){1,12}",
    re.IGNORECASE,
)
_REMARK = re.compile(
    r"[,.:](?!\d)|[;\n(\u2013\u2014\u3002\uff0c]|\s-\s|\s(?:because|since|as|for|given|due)\s", re.IGNORECASE
)
# In a sentence that mentions a label, a contrasting phrase does not count as another answer.
_TURN = re.compile(rf"{_REMARK.pattern}|\s(?:rather than|instead of|as opposed to|not(?!\sat all))\s", re.IGNORECASE)
_CONTRAST = re.compile(
    r"\W{0,3}(?:(?:and )?not|rather than|instead of|unlike|as opposed to|because|since|as|given|due)\b", re.IGNORECASE
)
_DOUBT = re.compile(
    r"\b(?:not|never|neither|nor|no|if|whether|unless|unlikely|cannot|could|might|may|maybe|perhaps|either)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
# Words that negate a label, unless they are labels themselves.
_DENIAL = re.compile(
    r"\b(?:hardly|scarcely|barely|rarely|seldom|far from|(?:any|every)thing but|all but|other than|wrong(?:ly)?|"
    r"incorrect(?:ly)?|opposite|false(?:ly)?|lack(?:s|ing)?|non|un|without)\b",
    re.IGNORECASE,
)
_OPPOSED = (frozenset(("true", "false")), frozenset(("yes", "no")))
# Verdict words in a clause that merely gives a reason: "it has no roots", "it isn't always true". A doubt in the same
# clause makes them verdicts again.
_REASON_END = re.compile(rf"{_REMARK.pattern}|[?!)]", re.IGNORECASE)
_HESITANT = re.compile(
    r"\b(?:or|but|if|unless|may|maybe|perhaps|possibly|might|could|whether|either|although|though|also|both|"
    r"answer|verdict)\b"
)
_LACK = re.compile(
    r"\b(?:has|have|had|with|contains?|admits?|there (?:is|are|was|were|exists?)) no "
    r"(?!(?:and|nor|yes|no|true|false)\b)(?=[^\W\d_])"
)
_DENIED = re.compile(
    r"\b(?:(?:not|never) (?:(?:a|the|always|quite|necessarily|generally|entirely|strictly|universally|actually) ){1,2}|"
    r"[a-z]{2,6}n't (?:(?:a|the|always|quite|necessarily|generally|entirely|strictly|universally|actually) ){0,2})"
    r"[^\W\d_]{1,20}\b"
)


@dataclass(frozen=True, slots=True)
class Read:
    """The result of reading an answer: its labels in order (None: an entry that is not a label), the entries that are
    not labels, and whether labels are offered as alternatives or contradict each other.
    """

    entries: tuple[str | None, ...] = ()
    unknown: tuple[str, ...] = ()
    either: bool = False
    contradictory: bool = False

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels named, each once."""
        return tuple(dict.fromkeys(entry for entry in self.entries if entry is not None))


class Names:
    """The names of a label set, or any text if there is no set (`closed` is false).

    spelled: the spellings of each label. exact: the spelling must be the name, letter by letter. separator: the
    separator between the parts of a path; spaces around it are ignored. Raises ValueError for a spelling shared by two
    labels.
    """

    def __init__(self, spelled: Mapping[str, Sequence[str]], exact: bool, separator: str | None = None) -> None:
        self._separator = separator
        self.closed = bool(spelled)
        self.exact = exact
        self.names = tuple(spelled)
        self._places: dict[str, str] = {}
        for name, spellings in spelled.items():
            for spelling in spellings:
                form = self.normal(spelling)
                if not form:
                    raise ValueError(f"labels: a spelling of {name!r} is blank")
                if self._places.setdefault(form, name) != name:
                    raise ValueError(f"labels: {spelling!r} is {self._places[form]!r} and {name!r}")
        self._words = {tuple(_WORD.findall(form)): name for form, name in self._places.items()}
        self._opposed = any(pair <= self._places.keys() for pair in _OPPOSED)
        self._tilded = any("~" in form for form in self._places)
        self._longest = max((form.count(",") for form in self._places), default=0) + 1

    def normal(self, text: str) -> str:
        """The normalised form in which spellings are compared."""
        if self.exact:
            return text.strip()
        form = _NORMAL(text)
        if self._separator is not None and self._separator in form:
            form = self._separator.join(part.strip() for part in form.split(self._separator))
        return _TIE.sub(" ", form.lstrip(_LEFT).rstrip(_RIGHT) or form)

    def find(self, text: str) -> str | None:
        """The label with this spelling; without a set, the text's own normalised form."""
        form = self.normal(text)
        return self._places.get(form) if self.closed else form or None

    def read(self, text: str, *, several: bool, mention: bool = False) -> Read:
        """Reads the labels that an answer names. Linear; never raises."""
        if not self.exact:
            text = _json_value(text)
        if self.exact and not several:
            found = self.find(text)
            return Read((found,)) if found is not None else Read((None,), (text[:_MAX_ENTRY],))
        whole = self._one(text)
        if whole is not None and (self.closed or not several):
            return whole
        if not several:
            return self._remarked(text, mention)
        return self._list(text)

    def _one(self, text: str) -> Read | None:
        """A text that consists of one label: by its name, after "the label is", or with its code."""
        if len(text) > _MAX_ENTRY:
            return None
        found = self.find(text)
        if found is not None and (self.closed or _OR.search(text) is None):
            return Read((found,))
        if self.exact or not self.closed:
            return None
        bare = self._unprefixed(text)
        found = self.find(bare)
        return Read((found,)) if found is not None else self._paired(bare)

    def _unprefixed(self, text: str) -> str:
        """The text without "the label is"; unchanged if one of these words is itself a label ("true false")."""
        mark = _MARK.match(text)
        bare = text[0 if mark is None else mark.end() :].lstrip(_LEFT)
        prefix = _PREFIX.match(bare)
        if prefix is None or any(word in self._places for word in _WORD.findall(prefix.group().lower())):
            return bare
        return bare[prefix.end() :]

    def _paired(self, text: str) -> Read | None:
        """A code with a name ("3: sports", "sports (3)"): both must mean the same label."""
        for mark in ("(", ":", ". ", " - "):
            first, _, second = text.partition(mark)
            if second and not (mark == ":" and second[0].isdigit()):  # "1:1" is something else
                one, other = self.find(first), self.find(second)
                if one is not None and other is not None:
                    return Read((one,)) if one == other else Read((one, other), contradictory=True)
        return None

    def _remarked(self, text: str, mention: bool) -> Read:
        """A single label before a remark, or mentioned in a sentence; several are a hedge."""
        unknown = (text[:_MAX_ENTRY],)
        if len(text) > _MAX_TEXT:
            return Read((None,), unknown)
        if not self.closed:
            if _OR.search(text) is not None:
                return Read(tuple(self.normal(part) for part in _OR.split(text)[:MAX_ENTRIES]), either=True)
            return Read((None,), unknown)
        whole = text.lstrip(_LEFT)
        # In "Label: positive, because …", the first separator belongs to the prefix, so try again without the prefix.
        for head in dict.fromkeys((whole, self._unprefixed(whole))):
            cut = (_TURN if mention else _REMARK).search(head[:_MAX_ENTRY])
            found = self._one(head[: cut.start()]) if cut is not None else None
            if cut is not None and found is not None:
                rest = head[cut.start() :]
                if found.contradictory or _CONTRAST.match(rest):
                    return found
                others = [label for label in self._offered(rest) if label not in found.labels]
                return Read((*found.entries, *others), either=True) if others else found
        named = self._mentioned(text)
        if len(named) > 1:
            return Read(tuple(named), either=True)
        if mention and named and len(text) <= _MAX_MENTION and not self._doubted(text):
            return Read(tuple(named))
        return Read((None,), unknown)

    def _doubted(self, text: str) -> bool:
        """Returns whether a sentence negates or doubts what it mentions. A label is not a negation ("it is false")."""
        if _DOUBT.search(text) is not None:
            return True
        return any(match.group().lower() not in self._places for match in _DENIAL.finditer(text))

    def _offered(self, rest: str) -> list[str]:
        """The labels mentioned after a label. Verdict words are common, so a clause that merely gives a reason names
        none.
        """
        if not self._opposed:
            return self._mentioned(rest)
        found: dict[str, None] = {}
        for part in _REASON_END.split(rest):
            clause = _NORMAL(part)
            if _HESITANT.search(clause) is None:
                clause = _DENIED.sub(" ", _LACK.sub(" ", clause))
            found |= dict.fromkeys(self._mentioned(clause))
        return list(found)

    def _mentioned(self, text: str) -> list[str]:
        """The labels whose spellings occur in a text at word boundaries; the longest spelling at each position."""
        words = _WORD.findall(_TIE.sub(" ", _NORMAL(text)))
        found: dict[str, None] = {}
        place = 0
        while place < len(words):
            for length in range(min(8, len(words) - place), 0, -1):
                name = self._words.get(tuple(words[place : place + length]))
                if name is not None:
                    found[name] = None
                    place += length - 1
                    break
            place += 1
        return list(found)

    def _list(self, text: str) -> Read:
        """A list of labels: JSON, or entries between commas, semicolons, line ends, "and"."""
        parsed = _json_list(text)
        if parsed is not None:
            entries = tuple(self.find(part) for part in parsed)
            return Read(entries, tuple(part for part, label in zip(parsed, entries, strict=True) if label is None))
        bare = text.strip() if self.exact else self._undressed(text)
        if not self.exact and self._one(bare) is None:
            bare = self._unprefixed(bare)
            both = _BOTH_FIRST.match(bare)
            bare = bare if both is None or self._one(_AND.split(bare)[0]) is not None else bare[both.end() :]
        if _NUMBERED.match(bare):
            bare = _NUMBERED.sub("\n", bare)
        parts = [part for part in _ENTRY.split(bare, MAX_ENTRIES) if part.strip()]
        made: list[Read] = []
        place = 0
        while place < len(parts):
            for count in range(min(self._longest, _JOINED, len(parts) - place), 0, -1):
                found = self._one(_unlisted(",".join(parts[place : place + count])))
                if found is not None:
                    made.append(found)
                    break
            else:
                count = 1
                made += self._joined(parts[place])
            if _OR_FIRST.match(parts[place]) is not None:
                made.append(Read(either=True))
            place += count
        return Read(
            tuple(entry for read in made for entry in read.entries),
            tuple(text for read in made for text in read.unknown),
            any(read.either for read in made),
            any(read.contradictory for read in made),
        )

    def _undressed(self, text: str) -> str:
        """A list without braces, LaTeX ties and "(both)"."""
        bare = text.strip().replace("\\{", "").replace("\\}", "")
        if self.closed and not self._tilded:
            bare = bare.replace("~", " ")
        both = _BOTH_LAST.search(bare, max(0, len(bare) - 20))
        return (bare if both is None else bare[: both.start()]).strip("[]{}() ")

    def _joined(self, entry: str) -> list[Read]:
        """The labels in an entry that is not a label itself: "b and c", "b or c", "b/c"."""
        entry = _unlisted(entry)
        pieces = _OR.split(entry)
        slashed = entry.split("/")
        if self.closed and len(slashed) > 1 and all(self.find(piece) is not None for piece in slashed):
            pieces = slashed
        made = [Read(either=True)] if len(pieces) > 1 else []
        for piece in pieces:
            for name in _AND.split(piece):
                if name.strip():
                    made.append(self._one(name) or Read((None,), (name.strip()[:_MAX_ENTRY],)))
        return made


def _unlisted(entry: str) -> str:
    entry = entry.strip()
    bullet = _BULLET.match(entry)
    entry = entry if bullet is None else entry[bullet.end() :]
    joint = _JOINT_FIRST.match(entry)
    return entry if joint is None else entry[joint.end() :]


def _json_value(text: str) -> str:
    """The value of an answer that is a JSON object with one label or list under a name such as "label"; else the
    text.
    """
    bare = text.strip()
    if not bare.startswith("{") or len(bare) > 20_000:
        return text
    try:
        # Read as pairs, so that a duplicate key cannot hide its first value.
        pairs: Any = json.loads(bare, object_pairs_hook=tuple, parse_constant=str)
    except (ValueError, RecursionError):
        return text
    if not isinstance(pairs, tuple) or len(pairs) != 1:
        return text
    key, value = pairs[0]
    if _PREFIX.fullmatch(f"{key[:100]} ") is None:
        return text
    if isinstance(value, list):
        return text if any(isinstance(item, tuple | list) for item in value) else json.dumps(value)
    if isinstance(value, str):
        return value
    return json.dumps(value) if isinstance(value, int | float) else text


def _json_list(text: str) -> list[str] | None:
    """The entries of an answer that is a JSON list of texts, numbers and truth values."""
    text = text.strip()
    if not text.startswith("[") or len(text) > 20_000:
        return None
    try:
        made: Any = json.loads(text, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    if not isinstance(made, list) or len(made) > MAX_ENTRIES:
        return None
    if not all(isinstance(item, (str, int, float)) for item in made):
        return None
    return [item if isinstance(item, str) else json.dumps(item) for item in made]
