"""`patch_similarity`: compares the change that a patch makes with the expected one, without running anything."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.types import Component, Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.outcome import no_answer, scored, too_expensive, wrong
from rewarden_verifiers.patches.applying import apply_patch
from rewarden_verifiers.patches.gestalt import Budget, TooMuchWork, ratio
from rewarden_verifiers.patches.patch import PatchError
from rewarden_verifiers.patches.reading import FORMS, Form, read_patch
from rewarden_verifiers.patches.similarity_reference import (
    MOST_DIFF,
    ExpectedChange,
    PatchReference,
    blanks_alone,
    diffs_of,
    expected_change,
)

MOST_STEPS = 3_000_000
"""Steps of all comparisons of a verdict: about a second. Diffs of real programs with MOST_DIFF characters take two
thirds of them."""
_TAG = re.compile(r"[A-Za-z][\w-]{0,63}")
_SHOWN = 50
"""Files whose similarity is shown."""


@dataclass(frozen=True, kw_only=True)
class PatchSimilarityParams:
    """Options of `patch_similarity`.

    forms: The forms that a patch can have: `search_replace` blocks, unified `diff`, whole `files`.
    mode: `strict`: search texts are whole lines that occur once, and a diff is compared with and without the lines
        around its changes; the lower similarity counts. `swe_rl`: as in SWE-RL's code: search texts begin with a line
        but may end within one, all their occurrences are replaced, and diffs are compared with three lines around each
        change. These are equal wherever the place is right: an empty line there earns most of the score.
    malformed: Score without a usable patch: none at all, a malformed one, or one that does not apply or changes
        nothing. SWE-RL: -1.
    tag: The tag that holds the patch (`solution`), exactly once. If unset, the whole response is read.
    threshold: Lowest score that passes.
    graded: Gives intermediate scores; if false, 1 from the threshold up, and 0 below it.
    """

    forms: tuple[Form, ...] = FORMS
    mode: Literal["strict", "swe_rl"] = "strict"
    malformed: float = 0.0
    tag: str | None = None
    threshold: float = 1.0
    graded: bool = True

    def __post_init__(self) -> None:
        if self.tag is not None and not _TAG.fullmatch(self.tag):
            raise ValueError("tag must be a name of letters, digits, _ and -")
        if not self.forms or len(set(self.forms)) < len(self.forms):
            raise ValueError("forms must name at least one, each once")
        if not -1 <= self.malformed <= 0:
            raise ValueError("malformed must lie between -1 and 0")
        if not 0 < self.threshold <= 1:
            raise ValueError("threshold must be above 0 and at most 1")

    @property
    def range(self) -> tuple[float, float]:
        """The lowest and the highest score."""
        return self.malformed, 1.0


def expect(reference: PatchReference, params: PatchSimilarityParams) -> ExpectedChange:
    """The reference, read. Raises InvalidReference."""
    return expected_change(reference)


@verifier(version="1", graded=True, prepare=expect, bounds=lambda params: params.range)
def patch_similarity(response: str, prepared: ExpectedChange, params: PatchSimilarityParams) -> Outcome:
    """Compares a patch with the expected one: the mean similarity of the diffs of all files that either changes.

    The reference is `{files, patch}` or `{files, after}`: the files before the change, and the expected patch or the
    new contents. The response's patch is read in one of three forms, the first that it contains: search/replace blocks
    (`<<<<<<< SEARCH`, `=======`, `>>>>>>> REPLACE`) with the path before them, unified diffs (git's or plain), or
    fences with a path that hold whole files. It is applied to the files in memory. Nothing runs.

    The similarity of a file is that of SWE-RL (Wei et al. 2025, arXiv 2502.18449; facebookresearch/swe-rl,
    `src/swerl/core/reward.py`): the unified diff of the file before and after the response's change, against that of
    the expected change, as `difflib.SequenceMatcher.ratio`; 0 if only one of them changes the file. By default it is at
    most the similarity of the changed lines alone. The score is the mean, and the components hold each file's. A patch
    that leads to the expected files passes, in whichever form and order. With `{mode: swe_rl, malformed: -1}` the score
    of a patch in SWE-RL's form equals that of its code, except for patches that change nothing in the end (there 0) and
    the limits below. The recipe `swe_rl` sets these, and checks the tags.

    These responses score `malformed`, 0 by default:

    - no patch (`no_patch`), an incomplete one (`malformed_patch`), two versions of a file, or the tag twice (`hedged`)
    - a path that is absolute, contains `..` or leads into `.git`, or a symbolic link (`unsafe_path`)
    - a patch that does not apply: `search_not_found`, `search_repeated`, `hunk_mismatch`, `file_not_found`,
      `file_exists`, `path_conflict`. Hunks apply without fuzz, at the nearest place where all their lines match. Wrong
      counts in their headers are corrected.
    - a patch that leaves every line unchanged (`no_change`); in mode `strict`, also one that only changes blanks,
      unless that is expected
    - a patch whose diffs have more than 50,000 characters or take too much work to compare (`too_expensive`)

    In mode `strict`, a file in which the response only changes blanks has similarity 0, unless that is expected.
    Similarity says little about whether a program works; if you can run tests, run them.
    """
    evidence: dict[str, Any] = {}
    try:
        patch = read_patch(_tagged(response, params.tag), params.forms)
        evidence["form"] = patch.form
        after = apply_patch(patch, prepared.files, lenient=params.mode == "swe_rl").files
    except PatchError as error:
        return _unusable(error, params, evidence)
    budget = Budget(MOST_STEPS)
    try:
        diffs = diffs_of(prepared.files, after, budget)
        idle = _idle(diffs, after, prepared) if params.mode == "strict" else set()
        if idle >= diffs.keys():
            return _unusable(PatchError("no_change", "the patch changes nothing, or only blanks"), params, evidence)
        if (size := sum(map(len, diffs.values()))) > MOST_DIFF:
            return too_expensive(range=params.range, evidence={**evidence, "characters": size, "most": MOST_DIFF})
        similarities = dict.fromkeys(sorted({*diffs, *prepared.diffs}), 0.0)
        for path in diffs.keys() & prepared.diffs.keys() - idle:
            similarities[path] = _similarity(diffs[path], prepared.diffs[path], params, budget)
    except TooMuchWork:
        return too_expensive(range=params.range, evidence={**evidence, "most_steps": MOST_STEPS})
    return _judged(similarities, params, evidence)


def _tagged(response: str, tag: str | None) -> str:
    """Returns the text within a tag. Raises PatchError."""
    if tag is None:
        return response
    opening, closing = f"<{tag}>", f"</{tag}>"
    if opening not in response or closing not in response:
        raise PatchError("no_patch", f"the response has no {opening}")
    if response.count(opening) > 1 or response.count(closing) > 1:
        raise PatchError("hedged", f"the response has {opening} more than once")
    return response.partition(opening)[2].partition(closing)[0]


def _idle(diffs: Mapping[str, str], after: Mapping[str, str | None], prepared: ExpectedChange) -> set[str]:
    """Returns the files in which blanks alone change, and are not expected to: with the lines around it, a blank in the
    right place is much like the expected diff.
    """
    changed = diffs.keys() - prepared.blank
    return {path for path in changed if blanks_alone(prepared.files.get(path), after[path])}


def _similarity(diff: str, expected: str, params: PatchSimilarityParams, budget: Budget) -> float:
    whole = ratio(diff, expected, budget)
    if params.mode == "swe_rl" or whole == 1.0:
        return whole
    # The lines around a change, indentation and line numbers are right wherever the place is: a comment there must not
    # earn them.
    return min(whole, ratio(_changed(diff), _changed(expected), budget))


def _changed(diff: str) -> str:
    """Returns the removed and added lines of a diff, without blanks around them."""
    lines = ((line[0], line[1:].strip()) for line in diff.split("\n") if line[:1] in ("+", "-"))
    return "\n".join(mark + content for mark, content in lines if content)


def _unusable(error: PatchError, params: PatchSimilarityParams, evidence: Mapping[str, Any]) -> Outcome:
    told: dict[str, Any] = {"range": params.range, "feedback": error.detail, "evidence": evidence}
    if error.reason == "no_patch":
        return no_answer("no_patch", **told)
    if error.reason == "too_expensive":
        return too_expensive(**told)
    return wrong(error.reason, flags=("hedged",) if error.reason == "hedged" else (), **told)


def _judged(similarities: Mapping[str, float], params: PatchSimilarityParams, evidence: Mapping[str, Any]) -> Outcome:
    raw = sum(similarities.values()) / len(similarities)
    passed = raw >= params.threshold
    return scored(
        raw if params.graded else float(passed),
        range=params.range,
        passed=passed,
        reason=None if passed else "different" if raw else "wrong",
        raw=raw,
        components={
            path: Component(status="scored", score=value) for path, value in list(similarities.items())[:_SHOWN]
        },
        evidence={**evidence, "files": len(similarities)},
    )
