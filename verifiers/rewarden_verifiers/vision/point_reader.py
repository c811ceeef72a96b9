"""Reads points from JSON, tags, calls such as `click(10, 20)`, and prose.

An invalid point (NaN, three numbers, a box) is kept as None and counts as a prediction.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_verifiers.vision.action_part import action_part
from rewarden_verifiers.vision.documents import denies
from rewarden_verifiers.vision.numerals import GAP, NUMBER, number, numbers_in, only_numbers
from rewarden_verifiers.vision.reading import MAX_DEPTH, MAX_READ, Reading, read_json, read_twice

Place = tuple[float, float]
Points = Reading[Place | None]

POINT_KEYS = frozenset(
    {
        *("point", "points", "point_2d", "points_2d", "coordinate", "coordinates", "coord", "coords", "xy"),
        *("position", "location", "center", "target", "click", "click_point", "start_box", "start_point"),
    }
)
BOX_KEYS = frozenset(["bbox", "bbox_2d", "box", "box_2d", "bounding_box"])
_GROUP = re.compile(rf"[\[(]\s{{0,8}}({NUMBER}(?:{GAP}{NUMBER}){{1,7}})\s{{0,4}}[\])]")
_LONE = re.compile(rf"{NUMBER}(?:{GAP}{NUMBER}){{1,7}}")
_AFTER_WORD = re.compile(
    rf"\b(?:point|coordinates?|position|location|answer)\s?[:=]\s{{0,3}}({NUMBER}(?:{GAP}{NUMBER}){{1,7}})"
    r"\.?[ \t\r]{0,4}$",
    re.IGNORECASE | re.MULTILINE,
)
"""Plain numbers between a word and the end of the line: `Coordinates: 120, 215`."""
_PAIR = re.compile(r"[\[(]?(-?\d{1,8}(?:\.\d{1,9})?),\s?(-?\d{1,8}(?:\.\d{1,9})?)[\])]?")
"""The most common form of an answer, whose numbers need no further checks."""
_TAGGED = re.compile(
    r"<points?>([^<>]{0,2000})</|<\|point_start\|>([^<>]{0,2000})<\||<points?((?:\s{1,4}\w{1,12}=[\"'][^\"'<>]{0,80}[\"'])+)",
    re.IGNORECASE,
)
_ATTRIBUTE = re.compile(rf"\b([xy])(\d{{0,3}})=[\"']\s{{0,2}}({NUMBER})\s{{0,2}}[\"']", re.IGNORECASE)
_NAMED = re.compile(
    rf"(?<![\w])[\"']?x[\"']?\s{{0,3}}[:=]\s{{0,3}}({NUMBER})[\s,;]{{1,6}}(?:and\s{{1,2}})?[\"']?y[\"']?\s{{0,3}}[:=]"
    rf"\s{{0,3}}({NUMBER})",
    re.IGNORECASE,
)


class PointReader:
    """Reads points. centers: whether a box counts as its centre; otherwise it is not a point."""

    def __init__(self, centers: bool) -> None:
        self._centers = centers

    def read(self, text: str) -> Points:
        """The points of an answer, in the most explicit form that it contains: tags, fenced JSON, JSON in the text,
        numbers in brackets, named coordinates. In a turn `Thought: … Action: …`, only those of the action count. Takes
        time linear in the text, and never raises.
        """
        acting = action_part(text)
        found = read_twice(text if acting is None else acting, self._read)
        if acting is not None and not found.items:
            return Reading((), "none", denied=found.denied or denies(text))
        return found

    def _read(self, text: str) -> Points:
        if (pair := _PAIR.fullmatch(text)) is not None:
            return Reading(((float(pair[1]), float(pair[2])),), "numbers")
        if "\n" not in text and _LONE.fullmatch(text):
            return Reading((self.place(numbers_in(text)),), "numbers")
        if "<" in text and (tagged := self._tagged(text)):
            return Reading(tuple(tagged), "tags")
        read = read_json(text, self.walk)
        if read.items:
            return read
        prose = self._prose(text)
        if prose:
            return Reading(tuple(prose), "prose")
        return Reading((), "none", denied=read.denied or denies(text))

    def walk(self, value: Any, found: list[Place | None], depth: int = 0) -> None:
        """Collects all points in a JSON value, in order."""
        if depth > MAX_DEPTH or len(found) >= MAX_READ:
            return
        if isinstance(value, Mapping):
            fields = {str(key).casefold(): item for key, item in value.items()}
            if "x" in fields and "y" in fields:
                found.append(self.place([fields["x"], fields["y"]]))
                return
            own = place_keys(fields)
            for key in own or fields:
                item = fields[key]
                if isinstance(item, str) and own:
                    found.append(self.place(numbers_in(item[:200])))
                elif isinstance(item, Mapping) or (
                    isinstance(item, (list, tuple)) and (own or not only_numbers(item) or len(item) == 2)
                ):
                    self.walk(item, found, depth + 1)
        elif isinstance(value, (list, tuple)) and value:
            if only_numbers(value):
                found.append(self.place(value))
            else:
                for item in value:
                    if isinstance(item, (Mapping, list, tuple)):
                        self.walk(item, found, depth + 1)

    def place(self, values: Sequence[Any]) -> Place | None:
        """Two numbers as a point; four as the centre of a box, if boxes are permitted."""
        numbers = [number(value) for value in values]
        if len(numbers) == 4 and self._centers:
            left, top, right, bottom = numbers
            if left is None or top is None or right is None or bottom is None or left > right or top > bottom:
                return None
            return (left + right) / 2, (top + bottom) / 2
        if len(numbers) != 2 or numbers[0] is None or numbers[1] is None:
            return None
        return numbers[0], numbers[1]

    def _tagged(self, text: str) -> list[Place | None]:
        found: list[Place | None] = []
        for match in _TAGGED.finditer(text):
            if match.group(3) is not None:
                found += self._attributes(match.group(3))
            else:
                inner = match.group(1) if match.group(1) is not None else match.group(2)
                found += self._prose(inner) or [self.place(numbers_in(inner))]
            if len(found) >= MAX_READ:
                break
        return found

    def _attributes(self, text: str) -> list[Place | None]:
        """`x="10" y="20"`, or `x1="10" y1="20" x2="30" y2="40"`."""
        held: dict[str, dict[str, str]] = {}
        for axis, place, value in _ATTRIBUTE.findall(text):
            held.setdefault(place, {})[axis.lower()] = value
        return [self.place([pair["x"], pair["y"]]) if len(pair) == 2 else None for pair in held.values()]

    def _prose(self, text: str) -> list[Place | None]:
        found: list[Place | None] = []
        for match in _GROUP.finditer(text):
            found.append(self.place(numbers_in(match.group(1))))
            if len(found) >= MAX_READ:
                break
        if found:
            return found
        named = [self.place(match.groups()) for match in _NAMED.finditer(text)][:MAX_READ]
        return named or [self.place(numbers_in(match.group(1))) for match in _AFTER_WORD.finditer(text)][:MAX_READ]


def place_keys(fields: Mapping[str, Any]) -> list[str]:
    """The keys of an object that give a position. Next to a point, the object's box is ignored, and words describe the
    point: `{"target": "the OK button", "point": [1, 2]}`.
    """
    keys = [key for key in fields if key in POINT_KEYS or key in BOX_KEYS]
    if any(isinstance(fields[key], (Mapping, list, tuple)) for key in keys):
        keys = [key for key in keys if not isinstance(fields[key], str) or numbers_in(fields[key][:200])]
    points = [key for key in keys if key in POINT_KEYS and fields[key] is not None]
    return points or keys
