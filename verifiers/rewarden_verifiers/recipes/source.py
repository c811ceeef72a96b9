"""Positions in a recipe: maps a path in the data to a line of the file, for errors that say where the mistake is."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import yaml

from rewarden.errors import InvalidParams, PluginError, SampleError

Path = tuple[str | int, ...]

_Loader: type[yaml.SafeLoader] = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader, if PyYAML was built with it: five times as fast over all recipes."""

MAX_BYTES = 256 * 1024
MAX_DEPTH = 32


class RecipeError(PluginError):
    """A recipe file that cannot be used; the message begins with the file and the line.

    The fault is `verifier`, because a caller who uses the recipe by name made no mistake. An inline recipe is the
    caller's, and raises InvalidParams instead.
    """

    reason = "invalid_recipe"


class Place(NamedTuple):
    """A line, counted from 1. `block`: the text begins on the next line (YAML's `|`), and keeps its lines."""

    line: int
    block: bool = False


@dataclass(frozen=True, slots=True)
class Source:
    """The source of a recipe. `file` is None for an inline recipe; `places` is empty if it was not text."""

    file: str | None = None
    places: Mapping[Path, Place] = field(default_factory=dict)

    def problem(self, path: Path, message: str, text: str = "", offset: int = 0) -> SampleError:
        """Returns the error to raise: with file and line, or with the JSON path for an inline recipe.

        text, offset: an expression, and the position of the mistake in it.
        """
        place = self._place(path)
        line = None
        if place is not None:
            line = place.line + 1 + text[:offset].count("\n") if place.block and text else place.line
        where = dotted(path)
        said = f"{where}: {message}" if where else message
        if text:
            said += f" (at character {offset + 1} of {text if len(text) <= 80 else text[:79] + '…'!r})"
        if self.file is not None:
            return RecipeError(f"{self.file}:{line or 1}: {said}", file=self.file, path=where, line=line or 1)
        if line is not None:
            said = f"line {line}: {said}"
        return InvalidParams(f"recipe: {said}", path=f"use.recipe.{where}" if where else "use.recipe")

    def _place(self, path: Path) -> Place | None:
        for end in range(len(path), -1, -1):
            if (found := self.places.get(path[:end])) is not None:
                return found if end == len(path) else found._replace(block=False)
        return None


def dotted(path: Path) -> str:
    """`("table", 1, "when")` as `table[1].when`."""
    text = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in path)
    return text.removeprefix(".")


def read_yaml(text: str, file: str | None) -> tuple[Any, Source]:
    """Returns the data of a YAML text, and the position of each part.

    Accepts only what JSON can express: no anchors (they can grow a small file without bound), no tags, no dates, and no
    duplicate keys (YAML would silently drop the first). Raises the source's error for the first mistake.
    """
    bare = Source(file, {(): Place(1)})
    if len(text) > MAX_BYTES:
        raise bare.problem((), f"a recipe is at most {MAX_BYTES // 1024} KiB long")
    depth = 0
    try:
        for event in yaml.parse(text, Loader=_Loader):
            # PyYAML takes quadratic time in the nesting: stop before it does.
            depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
            if depth > MAX_DEPTH + 1:
                place = Source(file, {(): _mark(event.start_mark)})
                raise place.problem((), f"nested more than {MAX_DEPTH} deep")
            if getattr(event, "anchor", None) is not None:
                place = Source(file, {(): _mark(event.start_mark)})
                raise place.problem((), "anchors and aliases are not allowed: write the value out")
        root = yaml.compose(text, Loader=_Loader)
    except RecursionError:
        raise bare.problem((), f"nested more than {MAX_DEPTH} deep") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        place = Source(file, {(): _mark(mark) if mark is not None else Place(1)})
        raise place.problem((), f"not YAML: {error.problem or error.context}") from None
    except yaml.YAMLError as error:
        raise bare.problem((), f"not YAML: {error}") from None
    if root is None:
        raise bare.problem((), "the recipe is empty")
    places: dict[Path, Place] = {}
    source = Source(file, places)
    return _data(root, (), source, places), source


def _mark(mark: Any) -> Place:
    return Place(mark.line + 1)


def _data(node: yaml.Node, path: Path, source: Source, places: dict[Path, Place]) -> Any:
    places[path] = Place(node.start_mark.line + 1, getattr(node, "style", None) == "|")
    if len(path) > MAX_DEPTH:
        raise source.problem(path, f"nested more than {MAX_DEPTH} deep")
    if isinstance(node, yaml.MappingNode):
        found: dict[str, Any] = {}
        for key_node, value_node in node.value:
            key = _scalar(key_node, path, source)
            if not isinstance(key, str):
                raise source.problem(path, f"keys must be strings: quote {key_node.value!r}")
            places[(*path, key)] = _mark(key_node.start_mark)
            if key in found:
                raise source.problem((*path, key), "this key is given twice")
            found[key] = _data(value_node, (*path, key), source, places)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [_data(item, (*path, index), source, places) for index, item in enumerate(node.value)]
    return _scalar(node, path, source)


_TAGS = {f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str")}


def _scalar(node: yaml.Node, path: Path, source: Source) -> Any:
    if not isinstance(node, yaml.ScalarNode) or node.tag not in _TAGS:
        raise source.problem(
            path, "only strings, numbers, true, false, null, lists and mappings: quote it if it is a string"
        )
    constructor = yaml.constructor.SafeConstructor()
    try:
        return constructor.construct_object(node)
    except (ValueError, yaml.YAMLError) as error:
        raise source.problem(path, f"{node.value!r} cannot be read: {error}") from None
