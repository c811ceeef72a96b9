"""A hosted generative model, called like a judge.

The rules for judges apply to such a model too: fenced prompts, retries of unreadable opinions, and tests of who is at
fault. It therefore answers the same questions (`chat.py`). Several samples of one prompt are one task, so the prompt is
processed once.
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden.errors import InputTooLong
from rewarden.types import Media, Sample
from rewarden_verifiers.chat import Alternative, Message, Question, Reply
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Choose, Input, Texts, Write, Written
from rewarden_verifiers.judges.fencing import harmless
from rewarden_verifiers.judges.ledger import Ledger
from rewarden_verifiers.judges.pictures import images
from rewarden_verifiers.judges.replies import CutOffError, UnreadableError
from rewarden_verifiers.models.generative_params import GenerativeParams
from rewarden_verifiers.models.model_tasks import ask
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.verdicts import after_thought

_TURN = 1009
"""The distance between the seeds of two turns or attempts: larger than the number of samples."""


@dataclass
class ModelLedger(Ledger):
    """A ledger for opinions of a hosted model."""

    seen: Seen = field(default_factory=Seen)

    def enter(self, reply: Reply) -> None:
        """Does nothing: results are counted as they arrive."""

    def evidence(self) -> dict[str, Any]:
        """See `Seen.evidence`; `unreadable`: the number of unreadable texts; `neutralised`: see `Ledger.evidence`."""
        more = {"unreadable": self.unreadable, "neutralised": self.neutralised}
        return {**self.seen.evidence(), **{name: count for name, count in more.items() if count}}

    def flags(self) -> list[str]:
        """See `Seen.flags` and `Ledger.flags`."""
        return list(dict.fromkeys([*self.seen.flags(), *super().flags()]))


@dataclass
class Hosted:
    """A `rewarden_verifiers.chat.Judge` backed by `ctx.model`, and also the `Asked` that holds it, for the texts of one
    outcome.

    candidate: the policy's part of the questions. choices: the words whose probabilities are requested; empty: texts
    are written instead. form: describes the form of the verdict, added to the last of several turns.
    """

    ctx: Context
    params: GenerativeParams
    seen: Seen
    candidate: str
    choices: Sequence[str] = ()
    form: str = ""
    _first: dict[str, asyncio.Task[Texts]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        # As it appears in the questions: neutralising a text adds tokens, and those are the policy's doing.
        self.shown = harmless(self.candidate).text

    @property
    def judge(self) -> Hosted:
        """Returns itself."""
        return self

    async def ask(self, question: Question, judge: str | None = None) -> Reply:
        """Returns the reply of the named model: the probabilities of the choices, or a written text. Raises what
        `ctx.model.run` raises.
        """
        try:
            return await self._said(question, judge)
        except InputTooLong as error:
            if not question.attempt:
                raise
            # The same input fitted at the first attempt, so only the tokens to be written are too many.
            raise CutOffError("cut off, and the context has no room for more tokens") from error

    async def spare(self, question: Question, judge: str | None = None) -> None:
        """Returns None: the model counts its own input tokens."""

    async def _said(self, question: Question, judge: str | None) -> Reply:
        if self.choices:
            task = Choose(input=self._input(question.messages), choices=tuple(self.choices))
            found = await ask(self.ctx, task, judge, self.seen)
            pairs = zip(self.choices, found.logprobs, strict=True)
            told = tuple(Alternative(text=text, logprob=logprob) for text, logprob in pairs)
            return Reply(text="", judge="", model="", alternatives=told)
        written = await self._written(question, judge)
        # The lead may open the reasoning that the text then closes.
        return Reply(text=self.params.lead + written.text, judge="", model="", finish=written.finish)

    async def _written(self, question: Question, judge: str | None) -> Written:
        number, seed = question.sample, self.params.seed + question.attempt * _TURN + question.sample
        messages = list(question.messages)
        if question.attempt:
            written = (await self._write(messages, judge, question, seed)).texts[0]
        else:
            key = json.dumps(messages, sort_keys=True)
            if key not in self._first:
                first = self._write(messages, judge, question, self.params.seed, self.params.samples)
                self._first[key] = asyncio.ensure_future(first)
            written = (await self._first[key]).texts[number]
        for place, turn in enumerate(self.params.turns, start=1):
            if written.finish == "length":
                return written
            said = after_thought(self.params.lead + written.text, self.params.opened).strip()
            last = place == len(self.params.turns)
            asked = f"{turn}\n\n{self.form}" if last and self.form else turn
            messages += [{"role": "assistant", "content": said}, {"role": "user", "content": asked}]
            try:
                written = (await self._write(messages, judge, question, seed + place * 64 * _TURN)).texts[0]
            except InputTooLong as error:
                # The chat without further turns fitted, so the model's own text is too long.
                raise CutOffError("a turn was too long") from error
        return written

    async def _write(
        self, messages: Sequence[Message], judge: str | None, question: Question, seed: int, samples: int = 1
    ) -> Texts:
        thinking = self.params.thinking_tokens
        task = Write(
            input=self._input(messages),
            samples=samples,
            max_tokens=self.params.max_tokens * question.more,
            temperature=question.temperature or 0.0,
            top_p=self.params.top_p,
            seed=seed,
            thinking_tokens=None if thinking is None else thinking * question.more,
        )
        return await ask(self.ctx, task, judge, self.seen)

    def _input(self, messages: Sequence[Message]) -> Input:
        lead: list[Message] = [{"role": "assistant", "content": self.params.lead}] if self.params.lead else []
        return Input(
            messages=[*messages, *lead],
            begin=not lead,
            open=bool(lead),
            candidate=self.shown,
            fit=self.params.fit,
        )


def share(reply: Reply, accepting: int, least: float) -> float:
    """Returns the probability of the accepting words, as a share of that of all requested words. accepting: the number
    of accepting words, which come first. Raises UnreadableError if all words together have less than `least`: the model
    was then about to say something else.
    """
    masses = [math.exp(min(one.logprob, 0.0)) for one in reply.alternatives]
    yes, total = math.fsum(masses[:accepting]), math.fsum(masses)
    if total < least or total <= 0:
        raise UnreadableError(f"the words have {total:.2g} of the probability")
    return min(yes / total, 1.0)


def pictures(sample: Sample, media: Sequence[Media] | None) -> Sequence[Media]:
    """The images of a sample: its media, and those in its prompt. Raises InvalidSample if there are none."""
    found: list[Media] = []
    for message in sample.prompt if sample.prompt is not None and not isinstance(sample.prompt, str) else ():
        content = message.get("content") if isinstance(message, Mapping) else None
        for part in content if isinstance(content, (list, tuple)) else ():
            if isinstance(part, Mapping) and part.get("type") == "image_url":
                image = part.get("image_url")
                address = image.get("url") if isinstance(image, Mapping) else image
                if isinstance(address, str):
                    found.append(Media(mime="image/*", url=address))
    return images([*(media or ()), *found])
