"""Reads boxes from JSON, lists, tags, tokens and prose, with their labels and scores.

Invalid boxes (too few numbers, NaN, infinity) are kept together with their problem, and count as predictions. Otherwise
junk would cost nothing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from itertools import islice
from typing import Any, NamedTuple

from rewarden_verifiers.vision.box_format import FORMS, BoxFormat, Form
from rewarden_verifiers.vision.documents import denies, fenced, hollow, placed_values, says_nothing
from rewarden_verifiers.vision.numerals import GAP, NUMBER, number, numbers_in, only_numbers
from rewarden_verifiers.vision.reading import MAX_DEPTH, MAX_READ, Reading, read_twice


class Detection(NamedTuple):
    """A box as it was written. `numbers` is None if it is invalid, and `problem` says why."""

    numbers: tuple[float, ...] | None
    label: str | None = None
    score: float | None = None
    problem: str | None = None
    crowd: bool = False
    area: float | None = None
    named: BoxFormat | None = None
    """The format given by its keys (`x1`, `width` …), which takes precedence over the requested format."""


Boxes = Reading[Detection]

_BOX_KEYS = frozenset(
    {
        *("box", "bbox", "box_2d", "bbox_2d", "box2d", "bbox2d", "box_3d", "bbox_3d", "bounding_box", "boundingbox"),
        *("quad", "polygon", "poly", "rbox", "obb", "segmentation", "region", "points", "coordinates", "coords"),
    }
)
_LIST_KEYS = frozenset(
    ["boxes", "bboxes", "objects", "detections", "annotations", "answer", "result", "results", "predictions", "items"]
)
_LABEL_KEYS = ("label", "class", "name", "category", "class_name", "object", "type", "text_content", "description")
_SCORE_KEYS = ("score", "confidence", "conf", "probability", "prob")
_NAMED: tuple[tuple[BoxFormat, tuple[str, ...]], ...] = (
    ("xyxy", ("x1", "y1", "x2", "y2")),
    ("xyxy", ("x0", "y0", "x1", "y1")),
    ("xyxy", ("xmin", "ymin", "xmax", "ymax")),
    ("xyxy", ("x_min", "y_min", "x_max", "y_max")),
    ("xyxy", ("left", "top", "right", "bottom")),
    ("cxcywh", ("cx", "cy", "w", "h")),
    ("cxcywh", ("cx", "cy", "width", "height")),
    ("xywh", ("x", "y", "w", "h")),
    ("xywh", ("x", "y", "width", "height")),
    ("xywh", ("left", "top", "width", "height")),
)
_COORDINATE_NAMES = sorted({name for _, names in _NAMED for name in names}, key=len, reverse=True)

_OPEN = r"[\[(]\s{0,8}"
_CLOSE = r"\s{0,8}[\])]"
_GROUP = re.compile(rf"{_OPEN}({NUMBER}(?:{GAP}{NUMBER}){{1,63}})\s{{0,4}},?{_CLOSE}")
_LONE = re.compile(rf"\[?({NUMBER}(?:{GAP}{NUMBER}){{3,63}})\]?")
_AFTER_WORD = re.compile(
    rf"\b(?:box|bbox|coordinates?|answer)\s?[:=]\s{{0,3}}({NUMBER}(?:{GAP}{NUMBER}){{3,63}})\.?[ \t\r]{{0,4}}$",
    re.IGNORECASE | re.MULTILINE,
)
"""Plain numbers between a word and the end of the line: `Box: 10, 20, 110, 220`."""
_FOUR = re.compile(r"\[?(" + r"),\s?(".join([r"-?\d{1,8}(?:\.\d{1,9})?"] * 4) + r")\]?")
"""The most common form of an answer, whose numbers need no further checks."""
_JOINT = re.compile(
    r"\s{0,4}(?:[,;]|to|and|-|–|->|→)?\s{0,4}"
    r"|[^\d\[\](){}]{0,24}(?:\b(?:bottom|lower)[ _-]?right\b|右下角?)[^\d\[\](){}]{0,24}",
    re.IGNORECASE,
)
_TAGGED = re.compile(
    r"<(?:box|bbox|rbox|quad|poly|polygon|region|bounding_box|bbox_2d)>([^<>]{0,2000})</"
    r"|<\|(?:box|quad|rbox|poly)_start\|>([^<>]{0,2000})<\|",
    re.IGNORECASE,
)
_TAG_LABEL = re.compile(r"<(?:ref|\|object_ref_start\||p|label)>([^<>]{1,100})</?[|\w]{1,24}>\s{0,8}\Z", re.IGNORECASE)
_PROSE_LABEL = re.compile(r"([A-Za-z][\w '-]{0,40})[\"'*`]{0,3}\s{0,3}(?::|=|->|[–—]|is at|at)[\"'*`]{0,3}\s{0,3}\Z")
_KEYED = re.compile(
    rf"(?<![\w])[\"']?({'|'.join(_COORDINATE_NAMES)})[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?({NUMBER})", re.IGNORECASE
)


class BoxReader:
    """Reads boxes of one format."""

    def __init__(self, format: BoxFormat) -> None:
        self._form: Form = FORMS[format]

    def read(self, text: str) -> Boxes:
        """The boxes of an answer, in the most explicit form that it contains: tags, fenced JSON, JSON in the text,
        lists of numbers in prose, named coordinates. Takes time linear in the text, and never raises.
        """
        return read_twice(text, self._read)

    def _read(self, text: str) -> Boxes:
        if self._form.counts == (4,) and (four := _FOUR.fullmatch(text)) is not None:
            return Reading((Detection(tuple(map(float, four.groups()))),), "numbers")
        if (lone := _LONE.fullmatch(text)) is not None and "\n" not in text:
            return Reading((self._flat(numbers_in(lone.group(1))),), "numbers")
        if "<" in text and (tagged := self._tagged(text)):
            return Reading(tuple(tagged), "tags")
        empty = False
        malformed: list[Detection] = []
        # Every fenced block counts: a second block with another answer is a hedge.
        for parts, form in ((fenced(text), "fenced_json"), ([text], "json")):
            found: list[Detection] = []
            for part in parts:
                for start, value in placed_values(part):
                    empty = empty or says_nothing(value)
                    if hollow(value):
                        continue
                    self.walk(value, found, _label_before(part, start) if isinstance(value, list) else None)
            if found and not _misread(found, text):
                return Reading(tuple(found), form)
            malformed = malformed or found
        found = self._groups(text) or self._keyed(text) or self._named(text)
        if found:
            return Reading(tuple(found), "prose")
        if malformed:
            return Reading(tuple(malformed), "json")
        return Reading((), "none", denied=empty or denies(text))

    def walk(self, value: Any, found: list[Detection], label: str | None = None, depth: int = 0) -> None:
        """Collects all boxes in a JSON value, in order."""
        if depth > MAX_DEPTH or len(found) >= MAX_READ:
            return
        if isinstance(value, Mapping):
            self._object(value, found, label, depth)
        elif isinstance(value, (list, tuple)):
            self._list(value, found, Detection(None, label), depth)

    def _object(self, value: Mapping[str, Any], found: list[Detection], label: str | None, depth: int) -> None:
        fields = {str(key).casefold(): item for key, item in value.items()}
        label = next((fields[key] for key in _LABEL_KEYS if isinstance(fields.get(key), str)), label)
        score = next((number(fields[key]) for key in _SCORE_KEYS if key in fields), None)
        crowd = bool(fields.get("iscrowd") or fields.get("crowd") or fields.get("ignore"))
        like = Detection(None, label, score, None, crowd, number(fields.get("area")))
        if self._columns(fields, found):
            return
        own = [item for key, item in fields.items() if key in _BOX_KEYS]
        if own:
            if any(isinstance(item, (Mapping, list, tuple)) for item in own):
                # Next to a box of numbers, words are a description: {"bbox": […], "region": "left"}.
                own = [item for item in own if not isinstance(item, str) or numbers_in(item[:2000])]
            for item in own:
                if isinstance(item, Mapping):
                    self._object({**_beside(fields), **item}, found, label, depth + 1)
                elif isinstance(item, str):
                    found.append(self._flat(numbers_in(item[:2000]), like))
                elif isinstance(item, (list, tuple)):
                    self._list(item, found, like, depth + 1)
            return
        for format, names in _NAMED:
            if all(name in fields for name in names):
                found.append(self._flat([fields[name] for name in names], like, format))
                return
        for key, item in fields.items():
            if isinstance(item, (list, tuple)) and only_numbers(item) and not self._form.takes(len(item)):
                continue  # an image size or a colour
            if isinstance(item, (Mapping, list, tuple)):
                self.walk(item, found, label if key in _LIST_KEYS else label or key, depth + 1)

    def _columns(self, fields: Mapping[str, Any], found: list[Detection]) -> bool:
        """Reads parallel lists of boxes and labels, as in data sets: `{"boxes": […], "labels": […]}`."""
        boxes = next((fields[key] for key in ("boxes", "bboxes", "bbox") if key in fields), None)
        labels = next((fields[key] for key in ("labels", "classes", "categories", "names") if key in fields), None)
        scores = fields.get("scores")
        if not isinstance(boxes, (list, tuple)) or not (isinstance(labels, (list, tuple)) or isinstance(scores, list)):
            return False
        for place, item in enumerate(boxes):
            label = labels[place] if isinstance(labels, (list, tuple)) and place < len(labels) else None
            score = scores[place] if isinstance(scores, (list, tuple)) and place < len(scores) else None
            like = Detection(None, label if isinstance(label, str) else None, number(score))
            if isinstance(item, (list, tuple)):
                self._list(item, found, like, MAX_DEPTH - 1)
            else:
                found.append(like._replace(problem="malformed"))
        return True

    def _list(self, value: Sequence[Any], found: list[Detection], like: Detection, depth: int) -> None:
        """Reads a list that is a box, a list of points, or a list of boxes."""
        if depth > MAX_DEPTH or len(found) >= MAX_READ or not value:
            return
        if only_numbers(value):
            if len(value) > 1 or depth:  # "[1]" is a footnote
                found.append(self._flat(value, like))
        elif all(isinstance(item, (list, tuple)) and len(item) == 2 and only_numbers(item) for item in value):
            flat = [part for item in value for part in item]
            if self._form.takes_points(len(value)):
                found.append(self._flat(flat, like))
            else:
                found.append(like._replace(problem="malformed"))
        else:
            for item in value:
                if isinstance(item, Mapping):
                    self._object(item, found, like.label, depth + 1)
                elif isinstance(item, (list, tuple)):
                    self._list(item, found, like, depth + 1)

    def _flat(self, values: Sequence[Any], like: Detection | None = None, named: BoxFormat | None = None) -> Detection:
        like = like or Detection(None)
        form = self._form if named is None else FORMS[named]
        if not form.takes(len(values)) or form.family != self._form.family:
            return like._replace(problem="malformed")
        numbers = tuple(number(value) for value in values)
        if None in numbers:
            return like._replace(problem="not_finite")
        return Detection(numbers, like.label, like.score, None, like.crowd, like.area, named)  # type: ignore[arg-type]

    def _tagged(self, text: str) -> list[Detection]:
        found: list[Detection] = []
        label, end = None, 0
        for match in _TAGGED.finditer(text):
            named = _TAG_LABEL.search(text, max(end, match.start() - 200), match.start())
            if named is not None:
                label = named.group(1).strip()
            elif text[end : match.start()].strip(" ,;\n\t|") and end:
                label = None
            inner = match.group(1) if match.group(1) is not None else match.group(2)
            boxes = self._groups(inner) or [self._flat(numbers_in(inner))]
            found += [box._replace(label=box.label or label) for box in boxes]
            closed = text.find(">", match.end())
            end = closed + 1 if closed >= 0 else match.end()
            if len(found) >= MAX_READ:
                break
        return found

    def _groups(self, text: str) -> list[Detection]:
        """Lists of numbers in brackets. Adjacent lists of two numbers are the points of one box."""
        found: list[Detection] = []
        points: list[str] = []
        begin = end = 0

        def close() -> None:
            if points:
                found.append(self._flat(points, Detection(None, _label_before(text, begin))))
                points.clear()

        whole = self._form.points[-1] * 2 if self._form.points else 0
        for match in _GROUP.finditer(text):
            values = numbers_in(match.group(1))
            if len(found) >= MAX_READ:
                break
            if len(values) == 2 and (self._form.points or self._form.counts is None):
                joined = points and len(points) != whole and _JOINT.fullmatch(text, end, match.start())
                if not joined:
                    close()
                    begin = match.start()
                points += values
            else:
                close()
                begin = match.start()
                if self._form.takes(len(values)):
                    points += values
                    close()
            end = match.end()
        close()
        return [item for item in found if item.problem != "malformed"] or found

    def _named(self, text: str) -> list[Detection]:
        """Plain numbers after a word that announces them."""
        matches = islice(_AFTER_WORD.finditer(text), MAX_READ)
        return [self._flat(numbers_in(match.group(1))) for match in matches]

    def _keyed(self, text: str) -> list[Detection]:
        """Coordinates by name: `x1=10, y1=20, x2=30, y2=40`."""
        found: list[Detection] = []
        held: dict[str, str] = {}
        for match in _KEYED.finditer(text):
            key = match.group(1).casefold()
            if key in held:
                held.clear()
            held[key] = match.group(2)
            for format, names in _NAMED:
                if len(held) >= 4 and all(name in held for name in names):
                    found.append(self._flat([held[name] for name in names], named=format))
                    held.clear()
                    break
            if len(found) >= MAX_READ:
                break
        return found


def _misread(found: Sequence[Detection], text: str) -> bool:
    """Returns whether supposed JSON is only brackets in prose: adjacent corners such as `[1, 2], [3, 4]`."""
    return all(item.problem == "malformed" for item in found) and "{" not in text and "[[" not in text


def _label_before(text: str, at: int) -> str | None:
    """The label in front of a box in a sentence or a list: `dog: [1, 2, 3, 4]`."""
    label = _PROSE_LABEL.search(text, max(0, at - 60), at)
    return label.group(1).strip() if label else None


def _beside(fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of an object that describe its box."""
    return {key: fields[key] for key in (*_LABEL_KEYS, *_SCORE_KEYS, "iscrowd", "crowd", "area") if key in fields}
