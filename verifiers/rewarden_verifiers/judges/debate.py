"""The verifier `debate`: asks in both orders which side of a debate made the better case."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from rewarden.errors import InvalidReference
from rewarden.types import Media, Outcome
from rewarden_verifiers.archives.folding import folded
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, refused
from rewarden_verifiers.judges.pairwise import decided, ended, same
from rewarden_verifiers.judges.panel import PanelParams, seated
from rewarden_verifiers.judges.panel_contests import Contests
from rewarden_verifiers.judges.preference import ContestParams, Margin, PreferenceParams, inquiry, preferences
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.unified import unified
from rewarden_verifiers.outcome import no_answer, wrong
from rewarden_verifiers.view import SHOWN_TO_MODELS

_PROMPT = "debate.verdict"
_LONGEST_POSITION = 2_000
_MOST_TURNS = 64

_SIDE = r"(?:i|we|my side|our side|(?:side|debater|speaker|team) [a-z0-9]|my opponent|the (?:other|opposing) side|they)"
_DECLARATION = re.compile(
    rf"(?:therefore |thus |so |clearly |as (?:you|everyone) can see |it is clear that )*(?:"
    rf"{_SIDE} (?:have |has |had )?(?:clearly |already |obviously )*"
    r"(?:won|wins?|lost|loses?|conceded?s?|gave up|given up)"
    r"(?: (?:the |this )?(?:debate|argument|round|point))?"
    rf"|{_SIDE} (?:am|are|is) (?:clearly |obviously )*(?:right|wrong|the winners?|the losers?|better|stronger)"
    r"|(?:the )?(?:winner|verdict|judge'?s? (?:verdict|decision|ruling))(?: is)?:? .{1,20}"
    r"|the judge (?:has |must |will |should )*(?:already )?"
    r"(?:ruled?|decided?|chosen?|chooses?|votes?|voted|favou?rs?|sides?|sided)"
    r"(?: (?:for|with|in favou?r of|against))? .{1,20}"
    r"|victory (?:is|goes to) .{1,20}|(?:there is )?nothing (?:more|left) to (?:say|add)"
    r")",
    re.IGNORECASE,
)
"""A sentence that only declares a winner, without an argument."""
_AROUND = " \t\r\n.!?,;:*_\"'“”‘’()"
_DECLARING = 2_000
"""Maximum number of characters of a case that is checked for being nothing but declarations."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DebateReference:
    """The other side of the debate.

    argument: The other side's case: its statement, or its statements in order.
    before: Earlier statements by the response's own side.
    position: The position of the response's side; against: that of the other side.
    correct: Whether the position of the response's side is known to be right. See `truth`.
    """

    argument: str | list[str]
    before: list[str] = field(default_factory=list)
    position: str | None = None
    against: str | None = None
    correct: bool | None = None


@dataclass(frozen=True, kw_only=True)
class DebateParams(ContestParams, PanelParams):
    """Options of `debate`.

    truth: Whether a side must be right to score. `required`: a side whose position is known to be wrong scores 0
        however well it argues (`wrong_side`), and the reference must contain `correct`. `ignored`: the better case
        scores, as needed for training both sides.
    """

    truth: Literal["ignored", "required"] = "ignored"


@verifier(
    version="1",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    view=SHOWN_TO_MODELS,
)
async def debate(
    response: str, prompt: str | None, reference: DebateReference | str, params: DebateParams, ctx: Context
) -> Outcome:
    """A language model decides which side of a debate argues better: 1 the response, 0.5 neither, 0 the other side.

    The response is one side's statement, or its last one if the reference has earlier ones in `before`. The reference
    is the other side's case: a text, or `{argument, before, position, against, correct}`. The prompt is the question.
    The judge is asked in both orders, and an opinion counts only if both orders agree: a judge that favours one
    position produces ties (flag `order_flipped`), never a win. The judge's reason is the feedback, and the evidence
    contains every opinion.

    Each side is fenced separately, and nothing inside a fence can instruct the judge or speak for the other side. A
    case without substance scores 0 without a call (`blank`, `opener_only`, `claim_only`), and so does a case that only
    declares who has won (`declared_victory`). Identical cases tie.

    With `panel`, several judges decide, and each votes win, tie or loss; the evidence contains their votes and their
    agreement. A win requires more than half of the votes (`majority`, `mean`) or all of them (`veto`).

    A better argument is not necessarily a true one: judges can be persuaded of falsehoods. If you know the right
    position, use `truth: required`, or gate the score in a recipe. The sources are the debates of Irving et al. 2018
    (arXiv 1805.00899) and Khan et al. 2024 (arXiv 2402.06782), which ask once and shuffle the order.

    Raises InvalidReference for a blank case, a position of more than 2,000 characters, more than 64 statements a side,
    and, with `truth: required`, without `correct`.
    """
    given = DebateReference(argument=reference) if isinstance(reference, str) else reference
    theirs, before = _checked(given, params)
    early = refused(response, params) or _declared(response, params)
    if early is not None:
        return early
    if params.truth == "required" and not given.correct:
        return wrong("wrong_side")
    mine = _case([*before, response])
    if len(mine) > params.most_shown:
        return wrong("too_long", flags=("too_long",))
    if same(mine, theirs):
        return ended(0.5, [{"by": "judge", "score": 0.5, "same_text": True}], None, params)
    positions = (_position(given.position), _position(given.against))

    def inquire(
        params: PreferenceParams, texts: tuple[Material, Material], shown: Mapping[str, Any], media: Sequence[Media]
    ) -> Inquiry[Margin]:
        a, b = positions if texts[0].candidate else positions[::-1]
        return inquiry(params, texts, {**shown, "position_a": a, "position_b": b}, media, _PROMPT)

    shown = {"prompt": Material(prompt) if prompt else None}
    pair = (Material(mine, candidate=True), Material(theirs))

    async def judging(params: DebateParams) -> Outcome:
        ledger = Ledger()
        return decided(await preferences(ctx, params, pair, shown, ledger, inquire=inquire), params, ledger)

    judged = await seated(params, judging, Contests(params))
    if judged.score is None or judged.reason == "unreadable_reply":
        return judged
    outcome = ended(judged.score, [{"by": "judge", "score": judged.score}], judged, params)
    return replace(outcome, evidence={**outcome.evidence, "statements": [len(before) + 1, _count(given.argument)]})


def _checked(reference: DebateReference, params: DebateParams) -> tuple[str, Sequence[str]]:
    """Returns the other side's case, and this side's statements before the response. Raises InvalidReference."""
    statements = [reference.argument] if isinstance(reference.argument, str) else reference.argument
    if not statements or not all(text.strip() for text in (*statements, *reference.before)):
        raise InvalidReference("a side of the debate says nothing", path="reference.argument")
    if len(statements) > _MOST_TURNS or len(reference.before) > _MOST_TURNS:
        raise InvalidReference(f"a side may have {_MOST_TURNS} statements at most", path="reference.argument")
    theirs = _case(statements)
    if max(len(theirs), sum(map(len, reference.before))) > params.most_shown:
        raise InvalidReference(f"a side has more than {params.most_shown} characters", path="reference.argument")
    for name, position in (("position", reference.position), ("against", reference.against)):
        if position is not None and not 0 < len(position.strip()) <= _LONGEST_POSITION:
            message = f"a position must be a string of at most {_LONGEST_POSITION} characters"
            raise InvalidReference(message, path=f"reference.{name}")
    if params.truth == "required" and reference.correct is None:
        raise InvalidReference("with truth: required, the reference must say correct", path="reference.correct")
    return theirs, reference.before


def _declared(response: str, params: DebateParams) -> Outcome | None:
    """The outcome of a case that only declares who has won. Attack: judges believe such declarations."""
    if params.hollow != "refuse" or len(response) > _DECLARING:
        return None
    sentences = [part.strip(_AROUND) for part in re.split(r"[.!?\n]+", folded(unified(response)))]
    kept = [sentence for sentence in sentences if sentence]
    if kept and all(_DECLARATION.fullmatch(sentence) for sentence in kept):
        return no_answer("declared_victory", feedback="The case says who wins, and argues nothing.")
    return None


def _case(statements: Sequence[str]) -> str:
    """Returns a side's statements as one text. A side can forge statement numbers only within its own case, since
    each side has its own fence.
    """
    if len(statements) == 1:
        return statements[0]
    return "\n\n".join(f"[statement {number}]\n{text}" for number, text in enumerate(statements, start=1))


def _position(text: str | None) -> Material | None:
    return Material(text) if text else None


def _count(argument: str | list[str]) -> int:
    return 1 if isinstance(argument, str) else len(argument)
