"""The verifier `reader`: checks whether a frozen model can answer questions from a single artefact."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidReference
from rewarden.types import Media, Outcome, StepScore, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.opinions import Inquiry, opinions, readings, refused
from rewarden_verifiers.judges.params import JudgeParams, positive_share
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.questions import Quiz, quiz_of
from rewarden_verifiers.judges.replies import by_number, numbered
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.outcome import no_answer, scored, undecided, wrong
from rewarden_verifiers.uses import UseLike, parse_use
from rewarden_verifiers.view import SHOWN_TO_MODELS

_SHOWN = 200
"""Maximum number of characters of an answer in a step's label."""


@dataclass(frozen=True, kw_only=True)
class Params(JudgeParams):
    """Options of `reader`.

    artefact: The source of the answers: the `response`; the `reference`'s artefact, with a question that the response
        asks; or the sample's `media`, such as an image that its program drew.
    tag: Use the content of the response's last `<tag>…</tag>` instead of the whole response.
    use: The verifier that compares an answer with the expected one, for questions that name none.
    tagged: Whether that verifier gets the answer within `<answer>…</answer>`, where all verifiers of answers look. Set
        it to false for verifiers of texts.
    score: How several questions are combined: the `mean`, or `all` (1 only if all are answered correctly).
    threshold: The lowest score that passes.
    without: Whether to ask the questions without the artefact too: `skip` (no); `flag` questions that can be answered
        without it; or `drop` them, so that they do not count (a response that asks such a question scores 0).
    leaks: Whether a question that the response asks can contain the expected answer: `allow` it, or `refuse` it (such a
        response scores 0, and no model is called).
    """

    artefact: Literal["response", "reference", "media"] = "response"
    tag: str | None = None
    use: UseLike = "answer"
    tagged: bool = True
    score: Literal["mean", "all"] = "mean"
    threshold: float = 1.0
    without: Literal["skip", "flag", "drop"] = "skip"
    leaks: Literal["allow", "refuse"] = "allow"

    def __post_init__(self) -> None:
        super().__post_init__()
        positive_share("threshold", self.threshold)
        if self.tag is not None and not self.tag.replace("-", "").replace("_", "").isalnum():
            raise InvalidParams("params.tag must be a name, without brackets", path="params.tag")


_Answers = tuple[tuple[str | None, str], ...]
"""The answer to each question, and the evidence for it."""

_PROPERTIES = {"evidence": {"type": "string"}, "answer": {"type": ["string", "null"]}}


def _children(params: Params) -> list[Use]:
    return [parse_use(params.use)]


@verifier(
    version="2",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    children=_children,
    view=SHOWN_TO_MODELS,
)
async def reader(
    response: str,
    prompt: str | None,
    reference: Any,
    media: Sequence[Media] | None,
    params: Params,
    ctx: Context,
) -> Outcome:
    """A frozen model answers questions from a single artefact; a verifier compares its answers with the expected ones.

    The reference is `{"question", "answer"}` or `{"questions": [{"question", "answer", "use"?}, …]}`; any other
    reference is the expected answer to the prompt. The artefact is the response or the content of one of its tags, such
    as a caption (Visionary-R1, arXiv 2505.14677) or extracted evidence (EviOmni), or the sample's images, such as a
    chart that its program drew (CharTide). Alternatively the response asks the question and the reference has the
    documents: `{"artefact", "answer"}` (SSP).

    The model sees the artefact and the questions, never the expected answers. It answers null if the artefact does not
    contain the answer, which counts as wrong (`not_in_artefact`). Each question is a step. If an answer cannot be
    compared, the whole verdict is undecided or an error, as the comparing verifier reports.
    """
    text = _part(response, params.tag)
    if text is None:
        return no_answer("no_artefact", feedback=f"The response has no <{params.tag}>…</{params.tag}>.")
    early = refused(text, params)
    if early is not None:
        return early
    own = params.artefact == "reference"
    quiz = quiz_of(reference, prompt, text.strip() if own else None)
    if own and quiz.artefact is None:
        raise InvalidReference(
            "reference.artefact is missing: the text that the question is about", path="reference.artefact"
        )
    if own and params.leaks == "refuse" and any(_leaks(one.question, one.answer) for one in quiz.asked):
        return wrong("leaked_answer", feedback="The question contains the expected answer.")
    artefact: Material | None = None
    if params.artefact == "response":
        artefact = Material(text, candidate=True)
    elif own:
        artefact = Material(quiz.artefact or "")
    shown = images(media) if params.artefact == "media" else ()
    questions = [Material(one.question, candidate=own) for one in quiz.asked]
    ledger = Ledger()
    lowest: _Answers = ((None, ""),) * len(questions)
    variables = {"artefact": artefact, "questions": questions}
    inquiry = _inquiry("reader.answers", variables, len(questions), shown)
    votes, early = readings(await opinions(ctx, params, inquiry, ledger), lowest, ledger)
    if early is not None:
        return early
    table = await gather(*(_compared(ctx, params, quiz, vote) for vote in votes))
    unaided: list[list[Outcome]] = []
    if params.without != "skip":
        inquiry = _inquiry("reader.without", {"questions": questions}, len(questions), ())
        blind, early = readings(await opinions(ctx, params, inquiry, ledger), lowest, ledger)
        if early is not None:
            return early
        unaided = await gather(*(_compared(ctx, params, quiz, vote) for vote in blind))
    broken = next((one for row in [*table, *unaided] for one in row if one.score is None), None)
    if broken is not None:
        return broken
    known = {
        place
        for place in range(len(questions))
        if unaided and 2 * sum(_right(row[place]) for row in unaided) >= len(unaided)
    }
    return _ended(votes, table, known, ledger, params)


def _part(response: str, tag: str | None) -> str | None:
    """The content of the last tag of that name, or the whole response if no tag is configured."""
    if tag is None:
        return response
    end = response.rfind(f"</{tag}>")
    start = response.rfind(f"<{tag}>", 0, max(end, 0))
    return None if start < 0 else response[start + len(tag) + 2 : end]


def _leaks(question: str, expected: Any) -> bool:
    """Returns whether a question contains an expected answer, or one of several."""
    if isinstance(expected, (list, tuple)):
        return any(_leaks(question, one) for one in expected)
    text = " ".join(str(expected).casefold().split())
    return bool(text) and text in " ".join(question.casefold().split())


def _inquiry(prompt: str, variables: Mapping[str, Any], count: int, media: Sequence[Media]) -> Inquiry[_Answers]:
    def read(found: Mapping[str, Any]) -> _Answers:
        return tuple((row["answer"], row["evidence"]) for row in by_number(found, "answers", count))

    schema = numbered("answers", count, _PROPERTIES)
    return Inquiry(prompt=prompt, variables=variables, schema=schema, read=read, verdicts=count, media=media)


async def _compared(ctx: Context, params: Params, quiz: Quiz, answers: _Answers) -> list[Outcome]:
    """Returns the results of the comparing verifiers for the answers in one opinion."""
    return await gather(
        *(
            _verified(ctx, params, one.use or parse_use(params.use), answer, one.answer)
            for one, (answer, _) in zip(quiz.asked, answers, strict=True)
        )
    )


async def _verified(ctx: Context, params: Params, use: Use, answer: str | None, expected: Any) -> Outcome:
    if answer is None or not answer.strip():
        return wrong("not_in_artefact")
    if params.tagged:
        answer = f"<answer>{answer.replace('<answer>', '').replace('</answer>', '')}</answer>"
    return await ctx.verify(use, response=answer, reference=expected, reference_key=None)


def _right(outcome: Outcome) -> bool:
    return outcome.passed if outcome.passed is not None else outcome.score == outcome.range[1]


def _share(outcome: Outcome) -> float:
    """Returns the score as a share of its range."""
    assert outcome.score is not None
    low, high = outcome.range
    return (outcome.score - low) / (high - low) if high > low else float(outcome.score >= high)


def _ended(
    votes: Sequence[_Answers], table: Sequence[Sequence[Outcome]], known: set[int], ledger: Ledger, params: Params
) -> Outcome:
    flags = [*ledger.flags(), *["answerable_without"] * bool(known)]
    count = len(votes[0])
    counted = [place for place in range(count) if params.without != "drop" or place not in known]
    evidence: dict[str, Any] = {**ledger.evidence(), "questions": count, "without": sorted(known)}
    steps = [
        StepScore(
            index=place,
            score=sum(_share(row[place]) for row in table) / len(table) if place in counted else None,
            label=(votes[0][place][0] or "")[:_SHOWN] or None,
            feedback=votes[0][place][1][: params.shown] or None,
        )
        for place in range(count)
    ]
    if not counted:
        message = "the questions are also answered without the artefact, so it is not what answers them"
        if params.artefact == "reference":
            return wrong("answerable_without", feedback=message, evidence=evidence, flags=flags, steps=steps)
        return undecided(
            "answerable_without",
            fault="reference",
            feedback=message,
            evidence=evidence,
            flags=tuple(flags),
            steps=steps,
        )
    scores: list[float] = []
    for row in table:
        shares = [_share(row[place]) for place in counted]
        alike = all(_right(row[place]) for place in counted)
        scores.append(float(alike) if params.score == "all" else sum(shares) / len(shares))
    # Rounding can leave a sum of shares just below the threshold.
    passing = params.threshold - 1e-9
    verdict = combine(scores, passing, params)
    evidence |= verdict.evidence(scores)
    if verdict.score is None:
        return undecided("tie", evidence=evidence, flags=tuple(flags), steps=steps)
    passed = verdict.score >= passing
    missing = all(row[place].reason == "not_in_artefact" for row in table for place in counted)
    return scored(
        verdict.score,
        passed=passed,
        reason=None if passed else "not_in_artefact" if missing else "answered_wrong",
        extracted=[answer for answer, _ in votes[0]],
        evidence=evidence,
        flags=flags,
        steps=steps,
    )
