"""The verifier `fact`: checks a response's claims against given evidence."""

from __future__ import annotations

import math
import statistics
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import zip_longest
from typing import Any, Literal

from rewarden.errors import InvalidParams
from rewarden.types import Outcome, Sample, StepScore, Use
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.judges.entailment import Entailment, Word, entailed
from rewarden_verifiers.judges.evidence import MOST_CLAIMS, Evidence, Given, read_evidence
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.opinions import Inquiry, opinions, readings, refused
from rewarden_verifiers.judges.params import JudgeParams, Prompt, check_portions
from rewarden_verifiers.judges.portions import portions, told
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.quotes import quoted, readable
from rewarden_verifiers.judges.replies import by_number, numbered, object_of
from rewarden_verifiers.judges.resources import JudgeResources
from rewarden_verifiers.judges.showing import Subject
from rewarden_verifiers.judges.votes import combine
from rewarden_verifiers.models.segments import segments_of
from rewarden_verifiers.outcome import no_answer, scored, undecided
from rewarden_verifiers.view import SHOWN_TO_MODELS

_WORDS: tuple[Word, ...] = ("supported", "refuted", "unknown")

_CLAIMS = object_of(
    {
        "reason": {"type": "string"},
        "refuses": {"type": "boolean"},
        "claims": {"type": "array", "items": {"type": "string"}, "maxItems": 1000},
    }
)

_CHECK = {
    "quote": {"type": "string"},
    "reason": {"type": "string"},
    "verdict": {"type": "string", "enum": list(_WORDS)},
}

_SHOWN = 400


@dataclass(frozen=True, kw_only=True)
class FactParams(JudgeParams):
    """Options of `fact`, in addition to those of every verifier that asks a judge. `samples`, `aggregate` and `tie`
    apply to the opinions on a claim; claims are extracted once. `view` selects the text they are extracted from:
    `final`, `thinking` or `full`.

    most: How many claims to extract from the response; further claims are not judged (flag `claims_cut`).
    calls: `together`: all claims in one call; `each`: one call for each claim.
    quotes: `require`: a claim is supported only with a word-for-word quote from the evidence; otherwise it counts as
        unknown. `free`: no quote is needed.
    unknown: What a claim that the evidence does not cover counts, from 0 to 1.
    penalty: What a refuted claim subtracts, from 0 to 1. The score never falls below 0.
    refusal: The score of a response that says it does not know, or declines, and claims nothing.
    no_claims: What to do with a response without claims: `zero` (making no claims must not pay), `one`, or `undecided`.
    threshold: The lowest score that passes.
    extract_prompt: Templates that replace the built-in prompt for extracting claims; `prompt` replaces the one for
        checking them.
    by: Who checks the claims: a `judge`; or the model of `entailment`, a small classifier, which needs no judge. Its
        verdicts are flagged `entailment`, because it is weaker than a judge.
    entailment: The classifier of `by: entailment`. Claims are those of the reference, or the response's sentences.
    portions: The maximum number of portions from which claims are extracted if the response is longer than the judge's
        context; a response that needs more gets the lowest score (`too_long`).
    """

    most: int = 30
    calls: Literal["together", "each"] = "together"
    quotes: Literal["require", "free"] = "require"
    unknown: float = 0.0
    penalty: float = 0.0
    refusal: float = 0.0
    no_claims: Literal["zero", "one", "undecided"] = "zero"
    threshold: float = 1.0
    extract_prompt: Prompt = field(default_factory=Prompt)
    by: Literal["judge", "entailment"] = "judge"
    entailment: Entailment = field(default_factory=Entailment)
    portions: int = 8

    def __post_init__(self) -> None:
        super().__post_init__()
        self.entailment.check("params.entailment")
        if not 1 <= self.most <= MOST_CLAIMS:
            raise InvalidParams(f"params.most must be from 1 to {MOST_CLAIMS}", path="params.most")
        for name in ("unknown", "penalty", "refusal", "threshold"):
            if not 0 <= getattr(self, name) <= 1:
                raise InvalidParams(f"params.{name} must be from 0 to 1", path=f"params.{name}")
        check_portions(self.portions)

    def worth(self, word: Word) -> float:
        """Returns the value of a claim."""
        return {"supported": 1.0, "unknown": self.unknown, "refuted": -self.penalty}[word]


@dataclass(frozen=True, slots=True)
class _Found:
    """The claims found in a response."""

    claims: tuple[str, ...]
    refuses: bool = False
    reason: str = ""
    portions: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _Vote:
    """An opinion on one claim."""

    word: Word
    quote: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class _Held:
    """The result for a claim. words: one per opinion."""

    claim: str
    word: Word
    worth: float
    said: _Vote
    words: tuple[Word, ...]


def _children(params: FactParams) -> list[Use]:
    return [params.entailment.use()] if params.by == "entailment" else []


@verifier(
    version="3",
    graded=True,
    determinism="sampled",
    requires=("judge",),
    resources=JudgeResources,
    children=_children,
    view=SHOWN_TO_MODELS,
)
async def fact(
    response: str, prompt: str | None, sample: Sample, reference: Given, params: FactParams, ctx: Context
) -> Outcome:
    """The share of the response's claims that the evidence supports.

    A language model lists the response's claims, each phrased to be understood on its own. Then, without seeing the
    response, it checks each claim against the evidence: supported (with a quote that is verified), refuted, or unknown.
    The reference is the evidence, or `{"evidence", "claims"}` with claims that were already extracted from the
    response. The model's own knowledge does not count. If a response is longer than the judge's context, claims are
    extracted from each portion and taken from the portions in turn; `evidence.portions` lists the portions.

    With `by: entailment`, an entailment classifier (a cross-encoder for natural language inference) checks the claims
    that the reference gives, or else the response's sentences, against each passage. The passage that entails a claim
    most strongly supports it; otherwise, a passage that contradicts it refutes it. No judge is called.

    Each claim is a step; `extracted` contains the claims. Reasons: `refusal`, `no_claims`, `refuted_claims`,
    `unsupported_claims`; with score 0: `unreadable_reply`, `too_long`, `blank`, `opener_only`, `claim_only`. Source:
    KnowRL (arXiv 2506.19807).
    """
    evidence = read_evidence(reference)
    early = refused(response, params, in_portions=params.portions > 1)
    if early is not None:
        return early
    if params.by == "entailment":
        return await _by_entailment(ctx, params, response, evidence)
    ledger = Ledger()
    flags: list[str] = []
    if evidence.claims is not None:
        found = _Found(evidence.claims)
    else:
        made = await _extract(
            ctx, params, Subject(response=response, prompt=prompt, sample=sample, show="response"), ledger
        )
        if isinstance(made, Outcome):
            return made
        found = made
        if found.refuses and found.claims:
            flags.append("refusal")
        if len(found.claims) > params.most:
            found = replace(found, claims=found.claims[: params.most])
            flags.append("claims_cut")
    if not found.claims:
        return _nothing(found, params, ledger)
    held = await _check(ctx, params, prompt, found.claims, evidence, ledger)
    if isinstance(held, Outcome):
        return held
    outcome = _outcome(held, params, ledger, flags)
    return replace(outcome, evidence={**outcome.evidence, **found.portions})


async def _by_entailment(ctx: Context, params: FactParams, response: str, evidence: Evidence) -> Outcome:
    sentences = await offload(len(response), segments_of, response, "sentences")
    claims = list({_key(claim): claim for claim in evidence.claims or sentences}.values())
    flags = ["entailment"]
    if evidence.claims is None and len(claims) > params.most:
        # Attack: many harmless sentences at the beginning, so that the others are cut off.
        claims = [claims[place * len(claims) // params.most] for place in range(params.most)]
        flags.append("claims_cut")
    if not claims:
        return _nothing(_Found(()), params, Ledger())
    checked = await entailed(ctx, params.entailment, claims, evidence.passages)
    if isinstance(checked, Outcome):
        return checked
    held = [
        _Held(one.claim, one.word, params.worth(one.word), _Vote(one.word, one.passage, one.reason), (one.word,))
        for one in checked
    ]
    shared = dict.fromkeys(flag for one in checked for flag in one.flags)
    outcome = _outcome(held, params, Ledger(), [*flags, *shared])
    models = {name: version for one in checked for name, version in one.models.items()}
    known = {name: value for name, value in outcome.evidence.items() if name not in ("judge", "model", "usage")}
    return replace(outcome, evidence={**known, "models": models})


async def _extract(ctx: Context, params: FactParams, subject: Subject, ledger: Ledger) -> _Found | Outcome:
    """Extracts the claims of the response, or of its portions. Portions take turns. Attack: many harmless claims at the
    beginning, so that the others are cut off.
    """
    asking = replace(params, samples=1, prompt=params.extract_prompt)
    shown = [subject]
    if params.portions > 1:
        cut = await portions(ctx, asking, subject, lambda one: _extraction(one, params), params.portions)
        if isinstance(cut, Outcome):
            return cut
        shown = cut
    found: list[_Found] = []
    asked = [opinions(ctx, asking, _extraction(one, params), ledger) for one in shown]
    for said in await gather(*asked):
        made, early = readings(said, _Found(()), ledger)
        if early is not None:
            return early
        found += made[:1]
    if len(found) == 1:
        return replace(found[0], portions=told(shown))
    turns = [claim for row in zip_longest(*(one.claims for one in found)) for claim in row if claim is not None]
    claims = {_key(claim): claim for claim in reversed(turns)}
    reasons = " ".join(one.reason for one in found if one.reason)
    # In order of first mention.
    first = tuple(dict.fromkeys(claims[_key(claim)] for claim in turns))
    return _Found(first, any(one.refuses for one in found), reasons, told(shown))


def _key(claim: str) -> str:
    """The key by which two claims count as one, for instance with and without a full stop."""
    return claim.casefold().rstrip(".!").rstrip()


def _extraction(subject: Subject, params: FactParams) -> Inquiry[_Found]:
    def read(found: Mapping[str, Any]) -> _Found:
        claims: dict[str, str] = {}
        for claim in (" ".join(claim.split()) for claim in found["claims"]):
            claims.setdefault(_key(claim), claim)
        return _Found(tuple(claim for claim in claims.values() if claim), found["refuses"], found["reason"])

    variables = {
        "response": Material(subject.response, candidate=True),
        "prompt": Material(subject.prompt) if subject.prompt else None,
        "most": params.most,
    }
    return Inquiry(prompt="fact.extract", variables=variables, schema=_CLAIMS, read=read, portion=subject.portion)


async def _check(
    ctx: Context, params: FactParams, prompt: str | None, claims: Sequence[str], evidence: Evidence, ledger: Ledger
) -> list[_Held] | Outcome:
    batches = [list(claims)] if params.calls == "together" else [[claim] for claim in claims]
    passages = [readable(passage) for passage in evidence.passages] if params.quotes == "require" else None

    def holds(quote: str) -> bool:
        return passages is None or any(quoted(quote, passage) for passage in passages)

    asked = [opinions(ctx, params, _inquiry(batch, prompt, evidence, holds), ledger) for batch in batches]
    held: list[_Held] = []
    refusals: list[Outcome] = []
    for batch, said in zip(batches, await gather(*asked), strict=True):
        lowest = [_Vote("refuted", reason="The claim makes the judge's reply unreadable.")] * len(batch)
        votes, early = readings(said, lowest, ledger)
        if early is not None and early.status != "scored":
            return early
        if early is not None:
            refusals.append(early)
        for place, claim in enumerate(batch):
            one = _held(claim, [row[place] for row in votes or [lowest]], params)
            if one is None:
                message = f"the opinions on a claim are divided: {claim}"
                return undecided("tie", feedback=message, evidence=ledger.evidence(), flags=tuple(ledger.flags()))
            held.append(one)
    return refusals[0] if len(refusals) == len(batches) else held


def _inquiry(
    batch: list[str], prompt: str | None, evidence: Evidence, holds: Callable[[str], bool]
) -> Inquiry[list[_Vote]]:
    """holds: returns whether the evidence contains the quote that support requires."""

    def read(found: Mapping[str, Any]) -> list[_Vote]:
        return [vote(row) for row in by_number(found, "claims", len(batch))]

    def vote(row: Mapping[str, Any]) -> _Vote:
        word, quote, reason = row["verdict"], row["quote"], row["reason"]
        if word == "supported" and not holds(quote):
            return _Vote("unknown", quote, f"{reason} (the evidence does not contain the quote)")
        return _Vote(word, quote, reason)

    variables = {
        "prompt": Material(prompt) if prompt else None,
        "passage": [Material(passage) for passage in evidence.passages],
        # The judge wrote the claims down, but in words chosen by the response.
        "claim": [Material(claim, candidate=True) for claim in batch],
    }
    schema = numbered("claims", len(batch), _CHECK)
    return Inquiry(prompt="fact.check", variables=variables, schema=schema, read=read, verdicts=len(batch))


def _held(claim: str, votes: list[_Vote], params: FactParams) -> _Held | None:
    """Combines k opinions on a claim; None for a tie that stays undecided."""
    words = tuple(vote.word for vote in votes)
    if params.aggregate in ("mean", "median"):
        worths = [params.worth(word) for word in words]
        worth = statistics.fmean(worths) if params.aggregate == "mean" else statistics.median(worths)
        word = min(_WORDS, key=lambda one: (-words.count(one), one == "supported"))
    else:
        verdict = combine([float(word == "supported") for word in words], 1.0, params)
        if verdict.score is None:
            return None
        # Without enough support, a tie between refuted and unknown counts as refuted.
        refuted = words.count("refuted") >= max(1, words.count("unknown"))
        word = "supported" if verdict.score else "refuted" if refuted else "unknown"
        worth = params.worth(word)
    said = next((vote for vote in votes if vote.word == word), votes[0])
    return _Held(claim, word, worth, said, words)


def _nothing(found: _Found, params: FactParams, ledger: Ledger) -> Outcome:
    feedback = found.reason[: params.shown] or None
    details: dict[str, Any] = {"feedback": feedback, "evidence": ledger.counted(), "extracted": []}
    if found.refuses:
        score, flags = params.refusal, (*ledger.flags(), "refusal")
        passed = score >= params.threshold
        return scored(score, passed=passed, reason="refusal", fault="policy", flags=flags, **details)
    if params.no_claims == "undecided":
        return undecided("no_claims", flags=tuple(ledger.flags()), **details)
    if params.no_claims == "one":
        return scored(1.0, passed=True, reason="no_claims", flags=(*ledger.flags(), "no_claims"), **details)
    return no_answer("no_claims", flags=tuple(ledger.flags()), **details)


def _outcome(held: list[_Held], params: FactParams, ledger: Ledger, flags: list[str]) -> Outcome:
    def share(worths: list[float]) -> float:
        return min(1.0, max(0.0, math.fsum(worths) / len(worths)))

    counts = Counter(one.word for one in held)
    evidence: dict[str, Any] = {word: counts[word] for word in _WORDS}
    evidence["claims"] = [{"claim": one.claim, "verdict": one.word, "quote": one.said.quote[:_SHOWN]} for one in held]
    places = range(max(len(one.words) for one in held))
    alone = [share([params.worth(one.words[min(place, len(one.words) - 1)]) for one in held]) for place in places]
    evidence |= combine(alone, params.threshold, replace(params, aggregate="mean")).evidence(alone)
    score = share([one.worth for one in held])
    passed = score >= params.threshold - 1e-9
    reason = None if passed else "refuted_claims" if counts["refuted"] else "unsupported_claims"
    lacking = [f"{one.word}: {one.claim} ({one.said.reason})" for one in held if one.word != "supported"]
    return scored(
        score,
        passed=passed,
        reason=reason,
        steps=[
            StepScore(index=place, score=one.worth, label=one.claim[:120], feedback=_told(one))
            for place, one in enumerate(held)
        ],
        feedback="\n".join(lacking)[: params.shown] or None,
        extracted=[one.claim for one in held],
        evidence={**evidence, **ledger.evidence()},
        flags=(*ledger.flags(), *flags),
    )


def _told(one: _Held) -> str:
    quote = f"“{one.said.quote[:_SHOWN]}” " if one.said.quote else ""
    return f"{one.word}: {quote}{one.said.reason[:_SHOWN]}"
