"""Parameters of `label`, and the values derived from them once."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden_verifiers.answer.label.hierarchy import Hierarchy
from rewarden_verifiers.answer.label.names import MAX_ENTRIES, MAX_LABELS, Names
from rewarden_verifiers.answer.sentence import opening_clause
from rewarden_verifiers.extraction import Extracted, Ladder, Rule

Mode = Literal["single", "multi", "vector"]
Metric = Literal["exact", "depth", "precision", "recall", "f1", "fbeta", "jaccard"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label of the set: its name, aliases, numeric code and weight.

    definition: its meaning, for people; the verifier ignores it.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    name: str
    aliases: tuple[str, ...] = ()
    code: int | str | None = None
    definition: str | None = None
    weight: float = 1.0


VERDICTS = (
    Label(name="true", aliases=(
        "yes", "correct", "right", "valid", "proved", "proven", "provable", "holds", "supported", "entailed",
        "not false", "not incorrect", "not wrong", "not disproved", "是", "对", "正确",
    )),
    Label(name="false", aliases=(
        "no", "incorrect", "wrong", "invalid", "disproved", "disproven", "disprovable", "refuted", "contradicted",
        "not true", "not correct", "not right", "not valid", "not supported", "not entailed", "does not hold",
        "unsupported", "否", "错", "错误", "不正确",
    )),
)  # fmt: skip
"""The label set of verdicts. "Not proved" is not one of them: something not proved may still be true."""

_OPENERS = frozenset(("yes", "no", "true", "false", "是", "否"))
"""Labels that can open a sentence without a verdict: "Right, let us check" and "Correct me if" commit to nothing."""
_SHORT_LINE = 200
_LINES = 20_000
"""Number of characters at the end of a response that are searched for lines of labels."""


@dataclass(frozen=True, kw_only=True)
class LabelParams:
    """Options of `label`.

    labels: The label set: names, or objects with `name`, `aliases`, `code`, `definition` (ignored) and `weight`;
        `verdicts` for true and false under their many names (yes, proved, incorrect …). Without a set, any text is a
        label, and a reference that is true or false implies `verdicts`.
    mode: `single`: one label; `multi`: a set; `vector`: a list of labels in order, one per question.
    metric: The score: `exact`: 1 for the same label or set (subset accuracy), else 0; `precision`, `recall`, `f1`,
        `fbeta`, `jaccard`: over the sets of labels; `depth`: the shared part of the path from the root. The default is
        `exact`, but `f1` for `multi` and for labels in a hierarchy.
    beta: For `fbeta`: weight of recall relative to precision.
    aggregate: For `vector`: the `mean` over its labels, or 1 if `all` are right.
    match: `normalised`: ignores case, markup, quotes and introductions ("The label is …"), and accepts a remark after
        the label; `exact`: the answer is exactly the name of a label; `mention`: also accepts a sentence that mentions
        one label and neither negates nor doubts it.
    extraction: Rules that find the answer: `auto` (any marked answer, else a last line that holds only labels, or a
        label before a comma in the first or last sentence; if the prompt asks for a box or a tag, only that counts),
        `lax` (as `auto` but regardless of the prompt), `strict` (a box or a tag), `whole` (the response is the label),
        or an ordered list of rules, which can include `label_line`.
    separator: Labels are paths, and this separates their parts ("/" for "animal/dog"). A label then implies all labels
        above it, which count like it.
    parents: The same hierarchy as an object from each label to the one above it.
    weights: Weights of labels, 1 by default. In `multi` they weigh every count; in `single` a right label earns its
        weight divided by the largest.
    uncertain: Labels that mean "I do not know"; as references they are ordinary labels.
    uncertain_score: Score for an uncertain answer.
    empty: Names of the empty set, for `multi`.
    most: For `multi`: the most labels that an answer can name. By default twice the reference's for `recall`, because
        naming every label would otherwise pay, and any number for other metrics.
    """

    labels: Literal["verdicts"] | tuple[str | Label, ...] = ()
    mode: Mode = "single"
    metric: Metric | None = None
    beta: float = 1.0
    aggregate: Literal["mean", "all"] = "mean"
    match: Literal["normalised", "exact", "mention"] = "normalised"
    extraction: str | tuple[str | dict[str, str], ...] = "auto"
    separator: str | None = None
    parents: dict[str, str] = field(default_factory=dict)
    weights: dict[str, float] = field(default_factory=dict)
    uncertain: tuple[str, ...] = ()
    uncertain_score: float = 0.0
    empty: tuple[str, ...] = ("none", "no label", "no labels", "nothing", "[]", "{}")
    most: int | None = None

    def __post_init__(self) -> None:
        if not 0.0 <= self.uncertain_score <= 1.0:
            raise ValueError("uncertain_score must lie between 0 and 1")
        if not 0.0 < self.beta <= 1000.0:
            raise ValueError("beta must be more than 0 and at most 1000")
        if self.separator is not None and (not self.separator.strip() or self.parents):
            raise ValueError("separator must not be blank, and cannot be combined with parents")
        if self.metric == "depth" and ((self.separator is None and not self.parents) or self.mode == "multi"):
            raise ValueError("the metric depth is for single labels in a hierarchy: give separator or parents")
        if self.most is not None and (self.most < 1 or self.mode != "multi"):
            raise ValueError("most must be at least 1, and needs mode 'multi'")
        self.reader  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample

    @property
    def hierarchical(self) -> bool:
        """Returns whether the labels form a hierarchy."""
        return self.separator is not None or bool(self.parents)

    @cached_property
    def reader(self) -> Reader:
        """Returns the precomputed data shared by all samples with these parameters."""
        return Reader(self)


def _ladder(extraction: Any) -> Ladder:
    # This rule needs the labels, which a sample can supply.
    own = {"label_line": None, "opening_label": None}
    return Ladder(extraction, own, loose=("label_line", "opening_label"))


class Reader:
    """Prepared parameters: rules of extraction, names of labels, the hierarchy and weights."""

    def __init__(self, params: LabelParams) -> None:
        self.params = params
        # None stands for `label_line`, which needs the labels.
        self.ladder = _ladder(params.extraction)
        labels = _listed(params)
        if len(labels) == 1 or len(labels) > MAX_LABELS:
            raise ValueError(f"labels must be none, or between 2 and {MAX_LABELS}")
        exact = params.match == "exact"
        self.names = _names(labels, exact, params.separator)
        self.verdicts = self.names if labels else _names(list(VERDICTS), exact, None)
        weights = {label.name: label.weight for label in labels if label.weight != 1.0} | params.weights
        if any(not (math.isfinite(weight) and 0 < weight <= 1e9) for weight in weights.values()):
            raise ValueError("weights must be more than 0, and at most 1e9")
        self.uncertain = frozenset(self._named(params.uncertain, "uncertain"))
        self.weights = dict(zip(self._named(tuple(weights), "weights"), weights.values(), strict=True))
        sure = [name for name in self.names.names if name not in self.uncertain]
        self.largest = max(map(self.weight, sure)) if sure else max((1.0, *self.weights.values()))
        below = self._named(tuple(params.parents), "parents")
        above = self._named(tuple(params.parents.values()), "parents")
        self.hierarchy = Hierarchy(params.separator, dict(zip(below, above, strict=True)), self.names.names)
        self.metric: Metric = params.metric or ("f1" if params.mode == "multi" or params.hierarchical else "exact")

    def _named(self, given: tuple[str, ...], parameter: str) -> list[str]:
        """The canonical names of the labels given in a parameter."""
        made = []
        for text in given:
            name = self.names.find(text)
            if name is None:
                raise ValueError(f"{parameter}: {text!r} is none of the labels")
            made.append(name)
        return made

    def weight(self, label: str) -> float:
        """Returns the weight of a label."""
        return self.weights.get(label, 1.0)

    def extract(
        self, response: str, names: Names, prompt: str | None = None, finish_reason: str | None = None
    ) -> Extracted | None:
        """The answer of a response, from the first rule that matches."""
        return self.ladder.find(
            response, prompt=prompt, finish_reason=finish_reason, own=lambda name: self._own(name, names)
        )

    def missed(
        self, response: str, names: Names, prompt: str | None = None, finish_reason: str | None = None
    ) -> str | None:
        """Feedback on a response without an answer; see `Ladder.missed`."""
        return self.ladder.missed(
            response, prompt=prompt, finish_reason=finish_reason, own=lambda name: self._own(name, names)
        )

    def _own(self, name: str, names: Names) -> Rule:
        if name == "opening_label":
            return lambda text: self._opening(text, names)
        return lambda text: label_line(text, names, self.params)

    def _opening(self, text: str, names: Names) -> Extracted | None:
        if not names.closed or self.params.mode != "single":
            return None
        return opening_clause(text, lambda word: word.casefold() in _OPENERS and names.find(word), "opening_label")


def _listed(params: LabelParams) -> list[Label]:
    """The label set, including all ancestors and the labels for "I do not know"."""
    given = VERDICTS if params.labels == "verdicts" else params.labels
    labels = [Label(name=item) if isinstance(item, str) else item for item in given]
    names = [label.name for label in labels]
    spelled = {spelling for label in labels for spelling in (label.name, *label.aliases)}
    above = [*params.parents, *params.parents.values()]
    if params.separator is not None:
        for name in names:
            parts = name.split(params.separator)
            above += [params.separator.join(parts[:depth]) for depth in range(1, len(parts))]
    further = [*above, *params.uncertain] if labels or above else []
    return labels + [Label(name=name) for name in dict.fromkeys(further) if name not in spelled]


def _names(labels: list[Label], exact: bool, separator: str | None) -> Names:
    spelled: dict[str, tuple[str, ...]] = {}
    for label in labels:
        if label.name in spelled:
            raise ValueError(f"the label {label.name!r} is listed twice")
        codes = () if label.code is None else (str(label.code),)
        spelled[label.name] = (label.name, *label.aliases, *codes)
    return Names(spelled, exact, separator)


def label_line(text: str, names: Names, params: LabelParams) -> Extracted | None:
    """The last line of a response if it consists of labels, with the preceding lines of labels if several are expected.
    Without a label set, any line if it is the only one.
    """
    end = len(text.rstrip())
    start = end
    for line in reversed(text[max(0, end - _LINES) : end].split("\n")[-MAX_ENTRIES:]):
        if not line.strip() or len(line) > _SHORT_LINE or not _is_labels(line, names, params):
            break
        start = start - len(line) - (start < end)
        if params.mode == "single":
            break
    start += len(text[start:end]) - len(text[start:end].lstrip())
    if start == end or (not names.closed and text[:start].strip()):
        return None
    return Extracted((text[start:end],), "label_line", (start, end))


def _is_labels(line: str, names: Names, params: LabelParams) -> bool:
    if not names.closed or is_empty(line, names, params):
        return True
    read = names.read(line, several=True)
    return bool(read.labels) and not read.unknown


def is_empty(text: str, names: Names, params: LabelParams) -> bool:
    """Returns whether an answer names the empty set. A label with that name takes precedence."""
    if params.mode != "multi":
        return False
    form = names.normal(text)
    return any(form == names.normal(name) for name in params.empty) and (not names.closed or names.find(text) is None)
