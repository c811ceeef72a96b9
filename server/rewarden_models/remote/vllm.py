"""vLLM's server: `/classify`, `/score`, `/pooling`, `/v1/embeddings`, and `/v1/completions` with log-probabilities.

Written for the protocol files of version 0.33.0 (vllm/entrypoints). Prompts are sent as token ids, so the model reads
exactly what was prepared. Pooled outputs are requested without activation (`use_activation`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from rewarden_models.failure import Failure
from rewarden_models.remote.connection import Connection
from rewarden_models.remote.protocol import Served, check_raw, first, in_order, logprob, numbers
from rewarden_models.row import Row
from rewarden_verifiers.inference import Written

_MOST_PROMPTS = 1024
"""Prompts per request: vLLM's `VLLM_MAX_COMPLETION_PROMPTS`, above which it answers 400."""
_MOST_TOKENS = 128
"""Tokens in `logprob_token_ids`: vLLM's `MAX_LOGPROB_TOKEN_IDS`, above which it answers 400."""

_PROBED = 32
"""Tokens between which marks are placed to check that the server pools at the mark and that its outputs are raw."""


class Vllm:
    """An `Engine`. model: the name under which it is served."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model
        self._tags: set[int] = set()

    async def about(self) -> Served:
        """See `Engine.about`. The context is the server's less one token, which is always generated."""
        reply = await self._connection.get("/v1/models")
        models = [one for one in reply.get("data") or [] if isinstance(one, Mapping)]
        mine = next((one for one in models if one.get("id") == self._model), None)
        if mine is None:
            known = ", ".join(str(one.get("id")) for one in models) or "none"
            raise Failure("loading", f"the server has no model {self._model!r}; it has: {known}")
        context = mine.get("max_model_len")
        version = str(mine.get("root") or "")
        return Served(self._model, context - 1 if isinstance(context, int) else None, version)

    async def classified(self, ids: Sequence[int]) -> list[float]:
        """See `Engine.classified`."""
        body = {"model": self._model, "input": list(ids), "add_special_tokens": False, "use_activation": False}
        return numbers(first(await self._connection.post("/classify", body), "data").get("probs", ()), "an output")

    async def paired(self, text: str, other: str) -> list[float]:
        """See `Engine.paired`."""
        body = {"model": self._model, "text_1": text, "text_2": other, "use_activation": False}
        return numbers(first(await self._connection.post("/score", body), "data").get("score", ()), "an output")

    async def embedded(self, ids: Sequence[int]) -> list[float]:
        """See `Engine.embedded`."""
        body = {"model": self._model, "input": list(ids), "add_special_tokens": False}
        return numbers(
            first(await self._connection.post("/v1/embeddings", body), "data").get("embedding", ()), "a vector"
        )

    async def outputs(self, ids: Sequence[int]) -> list[list[float]]:
        """See `Engine.outputs`."""
        body = {
            "model": self._model,
            "input": list(ids),
            "task": "token_classify",
            "add_special_tokens": False,
            "use_activation": False,
        }
        rows = first(await self._connection.post("/pooling", body), "data").get("data")
        if not isinstance(rows, list) or len(rows) > len(ids):
            raise Failure("failed", f"the model's server says no outputs of the {len(ids)} tokens")
        return [numbers(row, "an output") for row in rows]

    async def labelled(self, ids: Sequence[int], reads: Sequence[int]) -> list[list[float]]:
        """See `Engine.labelled`. A model pooled by STEP has outputs only at one token, its `step_tag_id`. They are used
        only if that is certain to be the token at `reads`."""
        rows = await self.outputs(ids)
        if len(rows) == len(ids):
            return [rows[read] for read in reads]
        marks = {ids[read] for read in reads}
        (mark, *others) = sorted(marks)
        places = [place for place, token in enumerate(ids) if token == mark]
        if others or len(places) != len(rows) or not await self._tagged(mark, ids):
            said = f"the tokens {sorted(marks)}" if others else f"the token {mark}"
            raise Failure(
                "unsupported",
                f"the model's server pools by STEP, at another token than params.mark ends with, which is {said}: set "
                "params.mark to the text of its step_tag_id, or start vLLM with --pooler-config "
                f"""'{{"pooling_type": "STEP", "step_tag_id": {mark}}}' or '{{"pooling_type": "ALL"}}'""",
            )
        found = dict(zip(places, rows, strict=True))
        return [found[read] for read in reads]

    async def _tagged(self, mark: int, ids: Sequence[int]) -> bool:
        """Returns whether the server has an output at each `mark` and nowhere else; it is asked once. Raises Failure if
        the outputs are not raw, which could not be seen at loading."""
        if mark not in self._tags:
            # No other token occurs as often, so the number of outputs tells which token has them.
            between = [token for token in ids if token != mark][:_PROBED]
            probe = [mark, *(token for other in between for token in (mark, other))]
            rows = await self.outputs(probe)
            if len(rows) != len(between) + 1:
                return False
            check_raw(rows)
            self._tags.add(mark)
        return True

    async def predicted(self, row: Row) -> list[list[float]]:
        """See `Engine.predicted`. Targets that are in the row are read from one pass over it. Others are read as the
        next token after the prefix up to there, in two requests however many there are."""
        assert row.targets is not None
        ids = row.ids
        if row.reads[-1] == len(ids) - 1 and len(row.reads) > 1 and len(row.targets[-1]) == 1:
            ids = [*ids, row.targets[-1][0]]  # a likelihood's last token, after which nothing is read
        found: list[list[float] | None] = [None] * len(row.reads)
        own = [
            place
            for place, (read, targets) in enumerate(zip(row.reads, row.targets, strict=True))
            if read + 1 < len(ids) and targets == [ids[read + 1]]
        ]
        if own:
            given = await self._given(ids)
            for place in own:
                found[place] = [given[row.reads[place] + 1]]
        open_places = [place for place, known in enumerate(found) if known is None]
        if open_places:
            # The longest first, which the server caches; the others are prefixes of it and go in one request.
            longest = max(open_places, key=lambda place: row.reads[place])
            for places in ([longest], [place for place in open_places if place != longest]):
                prompts = [ids[: row.reads[place] + 1] for place in places]
                made = await self._next(prompts, [row.targets[place] for place in places])
                for place, known in zip(places, made, strict=True):
                    found[place] = known
        return [known for known in found if known is not None]

    async def written(
        self, ids: Sequence[int], *, max_tokens: int, temperature: float, top_p: float, seed: int, stop: Sequence[str]
    ) -> Written:
        """See `Engine.written`."""
        body = {
            "model": self._model,
            "prompt": list(ids),
            "max_tokens": max_tokens,
            "temperature": temperature,
            "top_p": top_p,
            "seed": seed,
            "stop": list(stop),
        }
        reply = await self._connection.post("/v1/completions", body)
        choice = first(reply, "choices")
        text, finish = choice.get("text"), choice.get("finish_reason")
        if not isinstance(text, str) or finish not in ("stop", "length"):
            raise Failure("failed", f"the model's server ended a text with {finish!r}")
        usage = reply.get("usage")
        tokens = usage.get("completion_tokens", 0) if isinstance(usage, Mapping) else 0
        return Written(text=text, finish="stop" if finish == "stop" else "length", tokens=int(tokens or 0))

    async def _given(self, ids: Sequence[int]) -> list[float]:
        """The log-probability of each token of a prompt; 0 for the first, which nothing predicts."""
        body = {"model": self._model, "prompt": list(ids), "max_tokens": 1, "temperature": 0, "prompt_logprobs": 0}
        rows = first(await self._connection.post("/v1/completions", body), "choices").get("prompt_logprobs")
        if not isinstance(rows, list) or len(rows) != len(ids):
            raise Failure("failed", "the model's server returned no log-probabilities of the prompt")
        made = [0.0]
        for token, row in zip(ids[1:], rows[1:], strict=True):
            entry = row.get(str(token)) if isinstance(row, Mapping) else None
            if not isinstance(entry, Mapping):
                raise Failure("failed", "the model's server returned log-probabilities of a different prompt")
            made.append(logprob(entry.get("logprob")))
        return made

    async def _next(self, prompts: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        """The log-probabilities of each prompt's targets after it, in one request or as few as the server allows."""
        made: list[list[float]] = []
        for start in range(0, len(prompts), _MOST_PROMPTS):
            some, wanted = prompts[start : start + _MOST_PROMPTS], targets[start : start + _MOST_PROMPTS]
            tokens = sorted({target for one in wanted for target in one})
            known: list[dict[int, float]] = [{} for _ in some]
            for place in range(0, len(tokens), _MOST_TOKENS):
                told = await self._behind(some, tokens[place : place + _MOST_TOKENS])
                for mine, one in zip(known, told, strict=True):
                    mine.update(one)
            for ids, mine, asked in zip(some, known, wanted, strict=True):
                # A version that does not support requests for certain tokens names only the likeliest.
                made.append(
                    [mine[token] if token in mine else (await self._given([*ids, token]))[-1] for token in asked]
                )
        return made

    async def _behind(self, prompts: Sequence[Sequence[int]], tokens: Sequence[int]) -> list[dict[int, float]]:
        """The log-probabilities of `tokens` after each prompt, as far as the server names them."""
        body = {
            "model": self._model,
            "prompt": [list(ids) for ids in prompts],
            "max_tokens": 1,
            "temperature": 1.0,  # any other temperature would change what some versions report
            "logprobs": 1,
            "logprob_token_ids": list(tokens),
            "return_tokens_as_token_ids": True,
        }
        made: list[dict[int, float]] = []
        for choice in in_order(await self._connection.post("/v1/completions", body), "choices", len(prompts)):
            told = choice.get("logprobs")
            rows = told.get("top_logprobs") if isinstance(told, Mapping) else None
            row = rows[0] if isinstance(rows, list) and rows and isinstance(rows[0], Mapping) else {}
            named = {token: row.get(f"token_id:{token}") for token in tokens}
            made.append({token: logprob(value) for token, value in named.items() if value is not None})
        return made
