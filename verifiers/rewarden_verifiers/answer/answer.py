"""`answer`: selects the verifier for each answer, for data that mixes kinds of answers."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from typing import Any, Literal, NamedTuple

from rewarden.errors import InvalidReference, InvalidSample
from rewarden.types import Outcome, Sample, Use
from rewarden_verifiers.answer.branches import BRANCHES, Branch, branch_named, branch_of, is_value
from rewarden_verifiers.answer.loose import within
from rewarden_verifiers.answer.options import listed_in
from rewarden_verifiers.answer.worked import answer_in, reduced, spellings_in
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.outcome import undecided, wrong
from rewarden_verifiers.uses import UseLike, parse_use
from rewarden_verifiers.view import transcript

_PLACED = frozenset(("boxed", "answer_tag"))
_TYPED = {"type", "value"}
# A LaTeX command, or a sign that expects something before or after it; but "Na^+" is complete, and so is "18+".
_BROKEN = re.compile(r"\\[A-Za-z$%]|[*/^=]\s*$|\s[-+]\s*$|^\s*[*/^]")
_UNSURE = re.compile(r"\d.*\b(?:maybe|perhaps|possibly)\b|\b(?:maybe|perhaps|possibly)\b.*\d", re.IGNORECASE)
_BRACKETS = (("{", "}"), ("([", ")]"))
# A sign between or next to values, but not a hyphen, an apostrophe or a slash within words.
_SIGN = re.compile(r"[+*=<>^±≤≥≠∧∨∀∃√]|(?<![^\W\d_]{2})[-−/](?=[\s\d(]|[^\W_](?![^\W_]))|(?<![^\W\d_]{2})['!]")
_WORD = re.compile(r"[^\W\d_]{2,}|(?<!\S)[^\W\d_](?!\S)")
_LONGEST_NAME = 4
"""Number of words from which a text is prose, so that an answer to it may be an echo."""
_SHORT = 80
"""Maximum number of characters of a reference that is a single answer, not a text that contains numbers."""
_TRUE, _FALSE = frozenset(("true", "yes")), frozenset(("false", "no"))


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerParams:
    """Options of `answer`.

    type: Kind of every answer; `auto`: taken from each reference's type or form.
    types: Kinds by data source: an object that maps file-name patterns (`*`, `?`, `[a-z]`) to kinds. The first match
        counts.
    type_key: Key of a sample's `metadata` that holds its kind.
    params: Parameters of the branches: `{"math": {"extraction": "lax"}, "number": {"rel_tol": 0.01}}`.
    fallback: A use, such as a judge, that judges in place of a branch.
    fallback_on: When to use the fallback: `undecided` (the rules cannot tell), or `wrong` (also if they find the answer
        wrong, for rules that know too few spellings). With `wrong`, every answer that the fallback accepts earns its
        score.
    """

    type: str = "auto"
    types: Mapping[str, str] = field(default_factory=dict)
    type_key: str = "answer_type"
    params: Mapping[str, dict[str, Any]] = field(default_factory=dict)
    fallback: UseLike | None = None
    fallback_on: Literal["undecided", "wrong"] = "undecided"

    def __post_init__(self) -> None:
        for name in (self.type, *self.types.values()):
            if name != "auto" and branch_named(name) is None:
                raise ValueError(f"type: unknown kind of answer {name!r}; known: auto, {', '.join(BRANCHES)}")
        for name, given in self.params.items():
            if name not in BRANCHES:
                raise ValueError(f"params: unknown branch {name!r}; known: {', '.join(BRANCHES)}")
            if "view" in given:
                raise ValueError(f"params.{name}.view: give the view to `answer` itself; its branches see what it sees")


def _children(params: AnswerParams) -> list[Use]:
    """All verifiers that can be called: a reference or metadata can name any branch, whatever the parameters say."""
    uses = [_use(name, params) for name in BRANCHES]
    return uses if params.fallback is None else [*uses, parse_use(params.fallback, "params.fallback")]


def _use(name: str, params: AnswerParams) -> Use:
    return Use(name=name, params={**params.params.get(name, {}), "view": {"part": "full"}})


@verifier(version="2", graded=True, children=_children)
async def answer(response: str, sample: Sample, params: AnswerParams, ctx: Context) -> Outcome:
    """Judges an answer with the verifier for its kind: math, choice, number, label, text, time or box.

    The first of these that names a kind selects the verifier (the branch):

    1. the reference's own type: `{"type": "number", "value": 3.5}`
    2. the sample's metadata (`answer_type`)
    3. the data source (`types`)
    4. the parameter `type`
    5. the form of the reference. A number, vector or range is a `number`; true or false, a `label`; one letter, or an
       object with options, a `choice`; a date or duration, a `time`. Anything that `math` can parse is `math` ("2xy",
       "495 cookies", "2 or -2"). The rest is `text`; a sign in the reference must then also be in the answer.

    The evidence names the branch and what selected it (`branch`, `by`). The outcome is that verifier's own, with its
    reasons and flags. Names that data sets use for kinds (`mcq`, `numeric`, `boolean`, `bbox`, `free_form` …) also
    work.

    The response never influences the branch; otherwise a policy could choose the verifier that is easiest to please. An
    unknown kind is an error. If the reference is a broken formula or hedges between numbers ("12 or maybe 13"), a
    response that differs from it is undecided (`unreadable_reference`). If the reference is a letter, the response
    boxes a value, and the options are unknown, the outcome is undecided too (`option_unknown`).

    A text that is a JSON list of texts (`["34"]`, as in Skywork-OR1) is a list of acceptable answers, except for a list
    of several words. A worked solution is reduced to the answer that it marks (`#### 42`, a last box, "the answer is
    …"), and the evidence names the mark (`reference_reduced`). A reference that remains prose of four words or more is
    compared as text, or by the one number or formula in it. A different answer can still be right, so it is undecided
    (`free_text_reference`) and goes to `fallback`. Responses that have no answer, refuse, hedge, echo the prompt or
    were cut off still score 0.
    """
    branch, reference, by, rule = route(sample, params)
    reference = _formed(reference, branch, by, params)
    outcome = await ctx.verify(_use(branch, params), response=response, reference=reference, reference_key=None)
    unreadable = by == "form" and branch == "math" and outcome.reason == "unreadable_reference"
    # A truncated formula stays undecided: a right answer need not equal its text.
    if unreadable and not _is_broken(reference):
        branch = "text"  # it looked like a formula ("Fe^{2+}", "x^2 is even"), but is not one
        outcome = await ctx.verify(_use(branch, params), response=response, reference=reference, reference_key=None)
    if by == "form" and branch == "text" and _is_unsure(reference) and outcome.passed is False:
        outcome = undecided(
            "unreadable_reference", fault="reference", extracted=outcome.extracted, evidence=outcome.evidence
        )
    if by == "form" and branch == "text" and outcome.passed and _differs_in_signs(reference, outcome.extracted):
        outcome = wrong(extracted=outcome.extracted, evidence=outcome.evidence)
    if by == "form" and branch == "text" and outcome.reason == "wrong" and _is_prose(reference):
        outcome = await _beside_prose(response, reference, outcome, sample, params, ctx)
    if by == "form" and branch == "choice" and outcome.reason == "unparseable_answer":
        given = isinstance(reference, Mapping) or "options" in params.params.get("choice", {})
        # Attack: box a value that belongs to no option, to be undecided instead of wrong.
        given = given or (sample.prompt is not None and listed_in(transcript(sample.prompt)) is not None)
        if not given and outcome.evidence.get("rule") in _PLACED and is_value(outcome.extracted):
            outcome = undecided(
                "option_unknown", fault="reference", extracted=outcome.extracted, evidence=outcome.evidence
            )
    asked = outcome.status == "undecided" or (
        params.fallback_on == "wrong" and outcome.status == "scored" and outcome.passed is False
    )
    if params.fallback is not None and asked:
        use = parse_use(params.fallback, "params.fallback")
        second = await ctx.verify(use, response=response, reference=reference, reference_key=None)
        if second.status == "scored" or outcome.status != "scored":
            told = {"branch": use.name or "recipe", "by": "fallback", "before": outcome.reason}
            return replace(second, evidence={**second.evidence, **told, **_reduction(rule)})
    return replace(outcome, evidence={**outcome.evidence, "branch": branch, "by": by, **_reduction(rule)})


def _reduction(rule: str | None) -> dict[str, str]:
    return {} if rule is None else {"reference_reduced": rule}


async def _beside_prose(
    response: str, reference: str, outcome: Outcome, sample: Sample, params: AnswerParams, ctx: Context
) -> Outcome:
    """The outcome for an answer that is not literally the prose of a reference.

    Attack: give no answer at all, to be undecided instead of wrong. A response that was cut off or repeats the prompt
    stays wrong.
    """
    inner = within(reference)
    if inner is not None:
        second = await ctx.verify(_use("math", params), response=response, reference=inner, reference_key=None)
        if second.passed or second.reason in ("wrong", "wrong_unit", "missing_unit"):
            return replace(second, evidence={**second.evidence, "read": inner})
    said = outcome.extracted if isinstance(outcome.extracted, str) else ""
    plain = _plain(said)
    echoed = plain.count(" ") > 1 and sample.prompt is not None and plain in _plain(transcript(sample.prompt))
    if sample.finish_reason in ("length", "abort") or echoed or not plain:
        return outcome
    return undecided("free_text_reference", fault="reference", extracted=said, evidence=outcome.evidence)


def _plain(text: str) -> str:
    """The words and numbers of a text, and nothing else."""
    return " ".join(re.findall(r"\w+", text.casefold()))


def _is_prose(reference: Any) -> bool:
    """Returns whether a text says something in words, which other texts could say too; a name has fewer words."""
    return isinstance(reference, str) and len(_WORD.findall(reference)) >= _LONGEST_NAME


def _is_broken(reference: Any) -> bool:
    """Returns whether a text is an incomplete formula: it has a LaTeX command, unbalanced brackets, or a sign with a
    missing operand.
    """
    if not isinstance(reference, str):
        return False
    unmatched = any(
        sum(map(reference.count, opening)) != sum(map(reference.count, closing)) for opening, closing in _BRACKETS
    )
    return unmatched or _BROKEN.search(reference) is not None


def _differs_in_signs(reference: Any, answer: Any) -> bool:
    """Returns whether two texts found to be equal differ in signs: punctuation means nothing in words, but C++ is not
    C, and -(yes) is not yes.
    """
    if not isinstance(reference, str) or not isinstance(answer, str):
        return False
    signs, others = [_SIGN.findall(text) for text in (reference, answer)]
    return sorted(signs) != sorted(others) if signs else answer.lstrip().startswith("-(")


def _is_unsure(reference: Any) -> bool:
    """Returns whether a text offers a number and retracts it: "12 or maybe 13"."""
    return isinstance(reference, str) and len(reference) <= _SHORT and _UNSURE.search(reference) is not None


class Route(NamedTuple):
    """The branch that judges, the reference to give it, what selected the branch, and the rule that reduced the
    reference if it was a worked solution.
    """

    branch: Branch
    reference: Any
    by: str
    reduced: str | None = None


def route(sample: Sample, params: AnswerParams) -> Route:
    """Selects the branch of a sample from its reference, metadata and data source. Raises InvalidReference,
    InvalidSample.
    """
    reference = sample.reference
    if reference is None:
        raise InvalidReference("verifier 'answer' needs a reference", path="reference")
    spellings = spellings_in(reference) if isinstance(reference, str) else None
    # Several words can be a list that the task asks for; a single word, and other forms, are unambiguous.
    if spellings is not None and (len(spellings) == 1 or branch_of(spellings) != "text"):
        reference = spellings
    if isinstance(reference, Mapping) and set(reference) >= _TYPED:
        typed = _known(reference["type"], "reference.type")
        more = {name: value for name, value in reference.items() if name != "type"}
        return Route(typed, reference["value"] if len(more) == 1 else _with_more(more, typed), "reference")
    if sample.metadata is not None and params.type_key in sample.metadata:
        return Route(_known(sample.metadata[params.type_key], f"metadata.{params.type_key}"), reference, "metadata")
    source = sample.data_source or ""
    for pattern, name in params.types.items():
        if fnmatchcase(source, pattern) and (branch := branch_named(name)) is not None:
            return Route(branch, reference, "data_source")
    branch = branch_named(params.type)
    if branch is not None:
        return Route(branch, reference, "params")
    found = reduced(reference) if isinstance(reference, str) else None
    if found is not None:
        reference = answer_in(reference)
    return Route(branch_of(reference), reference, "form", None if found is None else found.rule)


def _with_more(given: Mapping[str, Any], branch: Branch) -> Any:
    """A typed reference with more fields than its value, in the form of its branch."""
    if branch == "number":
        return dict(given)
    return {("answer" if name == "value" else name): value for name, value in given.items()}


def _formed(reference: Any, branch: Branch, by: str, params: AnswerParams) -> Any:
    """The reference in the form that its branch reads, if it was given as text."""
    said = reference.strip().lower() if isinstance(reference, str) else None
    if branch == "label" and said in _TRUE | _FALSE and "labels" not in params.params.get("label", {}):
        return said in _TRUE
    listed = isinstance(reference, (list, tuple)) and all(isinstance(item, str) for item in reference)
    if listed and by == "form" and branch in ("number", "time"):
        return {"any": list(reference)}  # lists of texts are alternative spellings of one answer
    return reference


def _known(name: Any, path: str) -> Branch:
    branch = branch_named(name) if isinstance(name, str) else None
    if branch is not None:
        return branch
    message = f"{path}: unknown kind of answer {name!r}; known: {', '.join(BRANCHES)}"
    raise (InvalidReference if path.startswith("reference") else InvalidSample)(message, path=path)
