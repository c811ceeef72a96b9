"""`format`: checks that a response has the required form."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar, Literal

from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import boxes, encodable
from rewarden_verifiers.outcome import no_answer, right, scored
from rewarden_verifiers.structure.lines import Echo, Repeats, compiled
from rewarden_verifiers.structure.tags import Element, Scanner, Tag, Tree, scanner
from rewarden_verifiers.structure.templates import TEMPLATES, Outside

_MOST_MATCHES = 10_000
_LIST_ITEM = re.compile(r"^[ \t]{0,16}(?:[-*+•]|\d{1,4}[.)])[ \t]+\S", re.MULTILINE)
_STEP = re.compile(r"[A-Za-z][\w-]*")
_SEQUENCE = re.compile(r"[\w\s()|*+?,{}-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Count:
    """The number of occurrences in the response, or in each of the tags named `within`."""

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    min: int = 1
    max: int | None = None
    within: str | None = None

    def __post_init__(self) -> None:
        if self.min < 0 or (self.max is not None and self.max < self.min):
            raise ValueError("min must be at least 0, and max at least min")

    def holds(self, number: int) -> bool:
        """Returns whether this number is within the bounds."""
        return self.min <= number and (self.max is None or number <= self.max)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pattern(Count):
    """A regular expression in RE2's syntax, which has no look-around and no back-references, and cannot backtrack.

    Begin it with `(?s)` if a dot must also match a line break. match: `full`: the whole text matches (without
    whitespace at its ends); `search`: it occurs at least `min` and at most `max` times. within: searches each tag of
    this name instead of the response.
    """

    regex: str
    match: Literal["full", "search"] = "search"

    def __post_init__(self) -> None:
        compiled(self.regex)
        Count.__post_init__(self)  # `super()` does not work in a dataclass with slots


@dataclass(frozen=True, kw_only=True)
class FormatParams:
    r"""Options of `format`. At least one requirement must be given.

    template: A named format in place of `tags` and `sequence`: `think_answer`, `think`, `think_or_not`,
        `reasoning_answer`, `caption_reason_answer`, `guess_think_answer`, `reasoning_observing_decision`,
        `think_class_extension`, `search`, `thinking_tool_call_response`, `think_tool_call_response`,
        `principle_critique_score`.
    tags: The expected tags, in order. A plain name means exactly once and not blank; otherwise `{name, min, max, empty,
        children, text, open, close}`.
    outside: Text outside the tags: `forbid`, `allow`, or `after` (required after the last tag, forbidden elsewhere).
    ordered: The tags must come in the order in which they are listed.
    sequence: A regular expression over the names of the outermost tags, in place of the listed order, such as `think
        (search information think)* answer`.
    boxed: Number of `\boxed{}` in the response: exact, or bounds.
    patterns: Regular expressions that must match, or must occur a number of times.
    contains: Texts that must occur.
    lacks: Texts that must not occur.
    items: Total number of list items (lines with a bullet or a number).
    echoes: Blocks whose lines other blocks must contain, such as a final program that the reasoning prepares.
    repeats: Lines that may not be repeated.
    mode: `all`: 1 if every constraint is met, else 0; `fraction`: the share of constraints met.
    """

    template: str | None = None
    tags: tuple[str | Tag, ...] = ()
    outside: Outside | None = None
    ordered: bool = True
    sequence: str | None = None
    boxed: int | Count | None = None
    patterns: tuple[Pattern, ...] = ()
    contains: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    items: Count | None = None
    echoes: tuple[Echo, ...] = ()
    repeats: Repeats | None = None
    mode: Literal["all", "fraction"] = "all"

    def __post_init__(self) -> None:
        if self.template is not None:
            if self.template not in TEMPLATES:
                raise ValueError(f"there is no template {self.template!r}; there is {', '.join(TEMPLATES)}")
            if self.tags or self.sequence is not None:
                raise ValueError("give either a template, or tags and sequence")
        if any(not text for text in (*self.contains, *self.lacks)):
            raise ValueError("contains and lacks must not hold empty texts")
        self.checks  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @cached_property
    def checks(self) -> Checks:
        """Returns the checks, compiled once for all samples with these parameters."""
        return Checks(self)


class Checks:
    """The parameters as compiled constraints."""

    def __init__(self, params: FormatParams) -> None:
        template = TEMPLATES[params.template] if params.template is not None else None
        listed = tuple(Tag(name=tag) if isinstance(tag, str) else tag for tag in params.tags)
        self.tags = template.tags if template is not None else listed
        self.scanner: Scanner = scanner(self.tags)
        self.outside: Outside = params.outside or (template.outside if template is not None else "forbid")
        sequence = params.sequence if template is None else template.sequence
        self.sequence = _sequence(sequence, self.tags) if sequence is not None else None
        self.places = {tag.name: place for place, tag in enumerate(self.tags)} if params.ordered else None
        self.boxed = Count(min=params.boxed, max=params.boxed) if isinstance(params.boxed, int) else params.boxed
        self.params = params
        self.needed = {tag.name for tag in self.tags if tag.min}
        within = {
            count.within for count in (self.boxed, params.items, params.repeats, *params.patterns) if count is not None
        }
        for name in within - {None}:
            if name not in self.scanner.allowed:
                raise ValueError(f"within: {name!r} is none of the tags")
        singles = len(params.patterns) + len(params.contains) + len(params.lacks) + len(params.echoes)
        singles += (self.boxed is not None) + (params.items is not None) + (params.repeats is not None)
        if not (self.tags or singles):
            raise ValueError(
                "nothing is required: give a template, tags, boxed, patterns, contains, lacks, items, echoes or repeats"
            )
        self.number = singles + (len(self.tags) + (2 if self.outside == "allow" else 3) if self.tags else 0)
        # Shared by all responses: it is always the same, and creating it costs more than most checks.
        self.full_marks = right(evidence={"constraints": self.number, "met": self.number})

    def judge(self, text: str) -> dict[str, str]:
        """Returns the constraints that are not met, each with the reason."""
        failed: dict[str, str] = {}
        elements: dict[str, list[Element]] = {}
        if self.tags:
            tree = self.scanner.scan(text)
            self._tags(tree, failed)
            elements = _by_name(tree.root)

        def within(name: str | None) -> list[str]:
            if name is None:
                return [text]
            return [text[element.start : element.end] for element in elements.get(name, []) if element.closed]

        if self.boxed is not None:
            self._count("boxed", self.boxed, [len(boxes(part)) for part in within(self.boxed.within)], failed)
        for place, pattern in enumerate(self.params.patterns):
            self._pattern(f"pattern:{place}", pattern, within(pattern.within), failed)
        for wanted in self.params.contains:
            if wanted not in text:
                failed[f"contains:{wanted}"] = "is not there"
        for unwanted in self.params.lacks:
            if unwanted in text:
                failed[f"lacks:{unwanted}"] = "is there"
        items = self.params.items
        if items is not None:
            found = [sum(1 for _ in _LIST_ITEM.finditer(part)) for part in within(items.within)]
            self._count("items", items, found, failed)
        for place, echo in enumerate(self.params.echoes):
            if (problem := echo.problem(encodable(text))) is not None:
                failed[f"echo:{place}"] = problem
        repeats = self.params.repeats
        if repeats is not None:
            parts = [encodable(part) for part in within(repeats.within)]
            if (problem := repeats.problem(parts)) is not None:
                failed["repeats"] = problem
        return failed

    def _tags(self, tree: Tree, failed: dict[str, str]) -> None:
        """Checks the constraints on tags. A missing tag fails every constraint that depends on its presence."""
        root = tree.root
        for tag in self.tags:
            problem = _problem(tag, [child for child in root.children if child.name == tag.name])
            if problem is not None:
                failed[f"tag:{tag.name}"] = problem
        present = {child.name for child in root.children}
        missing = self.needed - present
        if tree.stray:
            failed["nesting"] = f"{', '.join(tree.stray[:3])} where it may not be"
        elif missing:
            failed["nesting"] = f"<{min(missing)}> is missing"
        names = [child.name for child in root.children]
        if missing:
            failed["order"] = f"<{min(missing)}> is missing"
        elif self.sequence is not None:
            if not self.sequence("".join(f"{name}/" for name in names)):
                failed["order"] = f"the tags come as {' '.join(names[:12])}"
        elif self.places is not None:
            order = [self.places[name] for name in names]
            if order != sorted(order):
                failed["order"] = f"the tags come as {' '.join(names[:12])}"
        if self.outside == "allow":
            return
        if not present:
            failed["outside"] = "there are no tags"
        elif tree.before or tree.between or (tree.after and self.outside == "forbid"):
            where = "before" if tree.before else "between" if tree.between else "after"
            failed["outside"] = f"there is text {where} the tags"
        elif self.outside == "after" and not tree.after:
            failed["outside"] = "there is no text after the tags"

    @staticmethod
    def _count(name: str, count: Count, found: list[int], failed: dict[str, str]) -> None:
        if not found:
            failed[name] = f"there is no <{count.within}>"
        elif wrong := [number for number in found if not count.holds(number)]:
            most = "any number" if count.max is None else count.max
            failed[name] = f"found {wrong[0]}, not {count.min} to {most}"

    @staticmethod
    def _pattern(name: str, pattern: Pattern, parts: list[str], failed: dict[str, str]) -> None:
        regex = compiled(pattern.regex)
        if not parts:
            failed[name] = f"there is no <{pattern.within}>"
        for part in parts:
            readable = encodable(part)
            if pattern.match == "full":
                if regex.fullmatch(readable.strip()) is None:
                    failed[name] = "does not match"
                continue
            # Stop at the number of matches that decides, so that a pattern that matches everywhere stays cheap.
            enough = min(_MOST_MATCHES, pattern.max + 1 if pattern.max is not None else max(pattern.min, 1))
            found = 0
            for _ in regex.finditer(readable):
                found += 1
                if found >= enough:
                    break
            if not pattern.holds(found):
                failed[name] = f"found {found} times"


def _problem(tag: Tag, found: list[Element]) -> str | None:
    """Returns the problem with the tags of this name within one parent, or None."""
    if len(found) < tag.min:
        return "is missing" if not found else f"occurs {len(found)} times, not at least {tag.min}"
    if tag.max is not None and len(found) > tag.max:
        return f"occurs {len(found)} times, not at most {tag.max}"
    for element in found:
        if not element.closed:
            return "never closes"
        if element.blank and not element.children and not tag.empty:
            return "is empty"
        if not element.blank and not tag.text:
            return "has text besides its tags"
        for child in tag.children:
            inner = _problem(child, [part for part in element.children if part.name == child.name])
            if inner is not None:
                return f"<{child.name}> {inner}"
    return None


def _by_name(root: Element) -> dict[str, list[Element]]:
    found: dict[str, list[Element]] = {}
    waiting = list(root.children)
    while waiting:
        element = waiting.pop()
        found.setdefault(element.name, []).append(element)
        waiting.extend(element.children)
    return found


def _sequence(sequence: str, tags: tuple[Tag, ...]) -> Callable[[str], bool]:
    """Compiles a test of the tag names, each followed by a slash. Raises ValueError."""
    names = {tag.name for tag in tags}
    if not _SEQUENCE.fullmatch(sequence):
        raise ValueError("sequence may hold names of tags, spaces, and ( ) | * + ? { } ,")
    if unknown := set(_STEP.findall(sequence)) - names:
        raise ValueError(f"sequence: {min(unknown)!r} is none of the tags")
    # Each name becomes a group that ends in a slash, which no name holds; then spaces mean nothing any more.
    regex = compiled(re.sub(r"\s+", "", _STEP.sub(lambda match: f"(?:{match.group()}/)", sequence)))
    return lambda path: regex.fullmatch(path) is not None


@verifier(version="2", graded=True, inline=True, view="full")
def format(response: str, params: FormatParams) -> Outcome:
    """Checks that the response has the required form: tags in order, nested and counted; boxes, patterns, lists, words.

    `format` reads the *full* response, reasoning included, because the reasoning tags are part of the form. Reasoning
    that is never closed fails here instead of being "no answer". If the chat template writes the opening tag, set the
    view to `{"part": "full", "starts_open": true}`, and the tag is restored.

    Each requirement is a constraint: one per expected tag (its count, closed, not blank), `nesting`, `order`,
    `outside`, and one per box count, pattern, list length, required or forbidden word, echo, and for repeats. `mode:
    all` scores 1 or 0; `mode: fraction` scores the share of constraints met. A blank response, and one with none of the
    required tags, scores 0, even if it meets prohibitions by saying nothing.
    """
    if not response.strip():
        return no_answer()
    checks = params.checks
    failed = checks.judge(response)
    if not failed:
        return checks.full_marks
    number = checks.number
    evidence = {"constraints": number, "met": number - len(failed), "failed": failed}
    share = 1 - len(failed) / number
    absent = bool(checks.needed) and all(failed.get(f"tag:{name}") == "is missing" for name in checks.needed)
    if params.mode == "all" or absent:
        share = 0.0
    return scored(share, passed=False, reason="malformed", feedback=_told(failed), evidence=evidence)


def _told(failed: dict[str, str]) -> str:
    return "; ".join(f"{name.removeprefix('tag:')} {why}" for name, why in list(failed.items())[:5])
