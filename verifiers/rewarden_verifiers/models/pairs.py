"""One comparison of two texts by a hosted model: by the probability of a letter, by a written verdict, by separate
rewards, or by a head that reads both texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import InvalidParams, InvalidSample
from rewarden.types import Media, Text
from rewarden_verifiers.chat import Reply
from rewarden_verifiers.contract import Context
from rewarden_verifiers.inference import Classify, Input, Pair
from rewarden_verifiers.judges.gather import gather
from rewarden_verifiers.judges.opinions import Inquiry, Opinion
from rewarden_verifiers.judges.preference import Inquire, Margin, Preference, PreferenceParams, agreed
from rewarden_verifiers.judges.prompts import Material
from rewarden_verifiers.judges.replies import UnreadableError
from rewarden_verifiers.models.generative_params import GenerativeParams, words
from rewarden_verifiers.models.hosted import share
from rewarden_verifiers.models.model_tasks import LONGEST, ask, chat_of, sees
from rewarden_verifiers.models.outputs import Output, place_of, sigmoid
from rewarden_verifiers.models.params import within
from rewarden_verifiers.models.seen import Seen
from rewarden_verifiers.models.verdicts import verdict_in
from rewarden_verifiers.view import transcript

_MOST = 3
"""The highest strength of a preference."""


@dataclass(frozen=True, kw_only=True)
class PairParams(GenerativeParams):
    """Options of every comparison of two texts by a hosted model.

    by: `token`: the probability of A's letter, as a share of that of both letters, as the first thing that the model
        says; `written`: the model writes a comparison and a verdict (A, B or tie); `scalar`: the probability 1 / (1 +
        exp(-alpha × (r_a - r_b))) from separate rewards for the two texts (Bradley and Terry), which does not depend on
        their order; `pair`: the probability 1 / (1 + exp(-alpha × logit)) from a head that reads the prompt and both
        texts at once, such as PairRM's.
    first, second: For `by: token`: the words that name A and B. List each spelling; their probabilities add up.
    strength: For `by: written`: whether the verdict also says how much better a text is, from 1 to 3. A win is then
        2/3, 5/6 or 1.
    disagree: What to do if the two orders name different texts: a `tie`, or `undecided`, which does not count.
    alpha: For `by: scalar` and `by: pair`: the factor in the formula.
    output: For `by: scalar`: the output that is the reward, by index or name, if the head has several.
    system: For `by: scalar`: the system message before the prompt.
    """

    by: Literal["token", "written", "scalar", "pair"] = "token"
    first: tuple[str, ...] = ("A",)
    second: tuple[str, ...] = ("B",)
    strength: bool = False
    disagree: Literal["tie", "undecided"] = "tie"
    alpha: float = 1.0
    output: Output | None = None
    system: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        words((("first", self.first), ("second", self.second)))
        if not 0 < self.alpha <= 1e6:
            raise InvalidParams("params.alpha must be above 0 and at most 1000000", path="params.alpha")
        within("samples", self.samples, 1, 64 if self.by == "written" else 1)
        for name, given in (("turns", bool(self.turns)), ("strength", self.strength)):
            if given and self.by != "written":
                raise InvalidParams(f"params.{name} is for written verdicts; set by: written", path=f"params.{name}")
        if not self.prompted and self.media:
            raise InvalidParams("params.media is for verdicts by token or written", path="params.media")

        for name, text in (("instructions", self.instructions), ("system", self.system)):
            if text and self.by == "pair":
                said = f"params.{name}: by: pair reads the prompt and the two texts, and nothing else"
                raise InvalidParams(said, path=f"params.{name}")

    @property
    def prompted(self) -> bool:
        """Returns whether the texts are inserted into a prompt for a generative model."""
        return self.by in ("token", "written")

    @property
    def choices(self) -> tuple[str, ...]:
        """The words whose probabilities are requested, those for the first text first."""
        return (*self.first, *self.second) if self.by == "token" else ()

    @property
    def said(self) -> str:
        """Returns the instruction on the form of the verdict."""
        if self.by == "token":
            return f"Reply with one letter and nothing else: {self.first[0].strip()} or {self.second[0].strip()}."
        what = "A, B or tie"
        if self.strength:
            what = "A or B with how much better it is (1 slightly, 2 clearly, 3 far), such as `A 2`, or tie"
        return self.form.words("Verdict", what, {"type": "string"})

    def shared(self) -> dict[str, Any]:
        """The options that judges have too, under the judges' names."""
        return {
            "judge": self.model,
            "instructions": self.instructions,
            "prompt": self.prompt,
            "samples": self.samples,
            "temperature": self.temperature,
            "hollow": self.hollow,
            "shown": self.shown,
            "disagree": self.disagree,
            "longest": LONGEST if self.prompted else 10**7,
            "media": self.media,
        }


def inquire_of(params: PairParams) -> Inquire:
    """Returns a function that makes the model's question about two texts."""
    direct: Callable[[Reply], Margin]
    if params.by == "token":

        def direct(reply: Reply) -> Margin:
            return 2 * share(reply, len(params.first), params.least_mass) - 1, ""

    else:

        def direct(reply: Reply) -> Margin:
            read = _reader(params.strength)
            return verdict_in(reply, params.form, "Verdict", {"type": "string"}, read, params.opened)

    def inquire(
        _: PreferenceParams, texts: tuple[Material, Material], shown: Mapping[str, Any], media: Sequence[Media]
    ) -> Inquiry[Margin]:
        return Inquiry(
            prompt=f"rm_pairwise.{params.by}",
            variables={**shown, "response_a": texts[0], "response_b": texts[1], "turns": len(params.turns)},
            schema=None,
            direct=direct,
            form="" if params.turns else params.said,  # if there are several turns, the last one states it
            media=media,
            plain=params.plain,
        )

    return inquire


async def reward(ctx: Context, prompt: Text | None, text: str, params: PairParams, seen: Seen) -> float:
    """The reward of one text. Raises what `ctx.model.run` raises."""
    given = Input(messages=chat_of(prompt, text, params.system), candidate=text, fit=params.fit)
    logits = await ask(ctx, Classify(input=given), params.model, seen)
    return float(logits.values[place_of(logits, params.output, "params.output")])


async def compared(
    ctx: Context, prompt: Text | None, texts: tuple[str, str], own: str, params: PairParams, seen: Seen, orders: int = 2
) -> tuple[Opinion[Preference], Sequence[float]]:
    """The preference of a head that reads both texts, and its logits of the first text over the second, for each order.

    own: the policy's part of the texts. orders: 1: only the given order. Raises what `ctx.model.run` raises, and
    InvalidSample for a prompt with images, which such a head would ignore.
    """
    if sees(prompt):
        raise InvalidSample("by: pair reads only text, and the prompt has images", path="prompt")
    asked = transcript(prompt) if prompt is not None else ""
    tasks = [
        Pair(prompt=asked, first=first, second=second, candidate=own, fit=params.fit)
        for first, second in (texts, texts[::-1])[:orders]
    ]
    found = await gather(*(ask(ctx, task, params.model, seen) for task in tasks))
    said: list[Opinion[Margin]] = [Opinion((2 * sigmoid(params.alpha * one.logit) - 1, "")) for one in found]
    return agreed(said), [one.logit if place == 0 else -one.logit for place, one in enumerate(found)]


_VERDICT = re.compile(r"\[{0,2}(a|b|tie)\]{0,2}(?:[ ,:(]{1,3}([1-3])\)?)?", re.IGNORECASE)


def _reader(strength: bool) -> Callable[[str], float]:
    def read(text: str) -> float:
        match = _VERDICT.fullmatch(text.strip("'\". "))
        if match is None:
            raise UnreadableError("neither A, B nor tie")
        name, number = match.group(1).lower(), match.group(2)
        if name != "tie" and strength != (number is not None):
            raise UnreadableError("how much better is not said" if strength else "more than a letter")
        return {"a": 1.0, "b": -1.0, "tie": 0.0}[name] * (int(number) / _MOST if number else 1.0)

    return read
