"""One text while it is being generated: its tokens so far, what ends it, and what is forced into it."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rewarden_models.failure import Failure
from rewarden_models.sampling import uniform
from rewarden_verifiers.inference import Write, Written


class Vocabulary:
    """The meaning of a model's tokens in generation. ends: tokens that end a text, from the model's configurations and
    its tokenizer."""

    def __init__(self, model: Any, tokenizer: Any) -> None:
        self.tokenizer = tokenizer
        self.ends: frozenset[int] = frozenset(
            _ids(getattr(model.generation_config, "eos_token_id", None))
            + _ids(getattr(model.config, "eos_token_id", None))
            + _ids(tokenizer.eos_token_id)
        )
        self.special: frozenset[int] = frozenset(tokenizer.all_special_ids)

    def ids(self, text: str) -> list[int]:
        """The tokens of a text that is inserted into the output."""
        return list(self.tokenizer(text, add_special_tokens=False)["input_ids"])

    def text(self, ids: Sequence[int], shown: frozenset[int] = frozenset()) -> str:
        """The text of these tokens. Special tokens are left out, except those in `shown`."""
        told = [token for token in ids if token not in self.special or token in shown]
        return str(self.tokenizer.decode(told, skip_special_tokens=False, clean_up_tokenization_spaces=False))


def _ids(found: int | Sequence[int] | None) -> list[int]:
    return [] if found is None else [found] if isinstance(found, int) else list(found)


class Sample:
    """One of a task's texts. `number`: its index. `prompt`: the tokens that it continues, fewer than `context`;
    `pixels`: of its images, see `Row`.

    `tokens`: the output so far, including forced tokens and the one that ended it. `finish` is None until it ends.
    `problem`: why it has no text. Special tokens are left out of the text, except those that close a thought: readers
    must see where the thought ends.
    """

    def __init__(
        self,
        task: Write,
        number: int,
        prompt: list[int],
        context: int,
        vocabulary: Vocabulary,
        pixels: Mapping[str, Any] | None = None,
    ) -> None:
        self.task = task
        self.number = number
        self.prompt = prompt
        self.pixels = pixels
        self.tokens: list[int] = []
        self.finish: Literal["stop", "length"] | None = None
        self.problem: Failure | None = None
        self._vocabulary = vocabulary
        self._limit = min(task.max_tokens, context - len(prompt))
        if self._limit < 1:
            raise Failure(
                "too_long",
                f"{len(prompt)} tokens leave no room to write; the model has room for {context}",
                tokens=len(prompt),
                context=context,
            )
        self._close = vocabulary.ids(task.close) if task.thinking_tokens is not None else []
        self._shown = frozenset(vocabulary.ids(task.close)) & vocabulary.special
        self._open = task.thinking_tokens is not None
        self._forced: deque[int] = deque()
        self._stops = tuple(text for text in task.stop if text)
        told = [vocabulary.ids(text) for text in self._stops]
        # A stop text that is a special token never shows in the decoded text.
        self._ends = vocabulary.ends | {ids[0] for ids in told if len(ids) == 1 and ids[0] in vocabulary.special}
        self._said = ""  # recent text that may be part of a stop text or of the end of the thought
        self._least = 0  # tokens from here on are decoded together: one alone may be half a character
        self._heard = 0  # tokens up to here are in `_said`
        self._think()

    @property
    def read(self) -> list[int]:
        """The tokens before the next one."""
        return self.prompt + self.tokens

    @property
    def reach(self) -> int:
        """The most tokens that it can have, including the prompt."""
        return len(self.prompt) + self._limit

    @property
    def forced(self) -> int | None:
        """The next token, if the model does not choose it."""
        return self._forced[0] if self._forced else None

    @property
    def draw(self) -> float:
        """The number that decides the next token, see `sampling.uniform`."""
        return uniform(self.task.seed, self.number, len(self.tokens))

    def accept(self, token: int) -> None:
        """Add the next token, or the forced one in its place."""
        if self._forced:
            token = self._forced.popleft()
        self.tokens.append(token)
        if token in self._ends and token not in self._shown:
            self.finish = "stop"
            return
        if self._stops or self._open:
            self._hear()
        if self.finish is None and len(self.tokens) >= self._limit:
            self.finish = "length"
        self._think()

    def fail(self, problem: Failure) -> None:
        """End without a text."""
        self.problem = problem
        self.finish = "length"

    def written(self) -> Written:
        """The output, without the stop text that ended it."""
        text = self._vocabulary.text(self.tokens, self._shown)
        cut = [at for at in (text.find(stop) for stop in self._stops) if at >= 0]
        if self._stops and cut:
            return Written(text=text[: min(cut)], finish="stop", tokens=len(self.tokens))
        return Written(text=text, finish=self.finish or "length", tokens=len(self.tokens))

    def _think(self) -> None:
        """Force the end of a thought whose budget is spent."""
        budget = self.task.thinking_tokens
        if self._open and budget is not None and len(self.tokens) >= budget and self.finish is None:
            self._open = False
            self._forced.extend(self._close)

    def _hear(self) -> None:
        """Add the text of the newest tokens to `_said` once they form whole characters, and look for a stop text or the
        end of the thought."""
        text = self._vocabulary.text(self.tokens[self._least :], self._shown)
        known = self._vocabulary.text(self.tokens[self._least : self._heard], self._shown)
        if len(text) <= len(known) or text.endswith("�"):
            return
        self._said += text[len(known) :]
        self._least, self._heard = self._heard, len(self.tokens)
        if self._open and self.task.close in self._said:
            self._open = False
        if any(stop in self._said for stop in self._stops):
            self.finish = "stop"
            return
        longest = max(map(len, (*self._stops, self.task.close)))
        self._said = self._said[-longest:]
