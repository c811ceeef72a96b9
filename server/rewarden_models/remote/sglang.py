"""SGLang's server: `/classify`, `/v1/embeddings`, and `/generate` with log-probabilities.

Written for version 0.5.23 (sglang/api/v1, srt/managers/io_struct.py and the scheduler's output). In a reply's
`meta_info`, `input_token_logprobs` and `input_token_ids_logprobs` have one entry per token from `logprob_start_len` on,
the first of which is empty; entries are [log-probability, token, text].
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rewarden_models.failure import Failure
from rewarden_models.remote.connection import Connection
from rewarden_models.remote.protocol import Served, first, logprob, numbers
from rewarden_models.row import Row
from rewarden_verifiers.inference import Written


class Sglang:
    """An `Engine`. model: the name under which it is served."""

    def __init__(self, connection: Connection, model: str) -> None:
        self._connection = connection
        self._model = model

    async def about(self) -> Served:
        """See `Engine.about`."""
        try:
            info = await self._connection.get("/model_info")
        except Failure as failure:
            if failure.kind != "unsupported":
                raise
            info = await self._connection.get("/get_model_info")  # its name in older versions
        path, version = info.get("model_path"), info.get("weight_version")
        models = await self._connection.get("/v1/models")
        lengths = [
            one["max_model_len"]
            for one in models.get("data") or []
            if isinstance(one, Mapping) and isinstance(one.get("max_model_len"), int)
        ]
        told = ":".join(str(part) for part in (path, version) if part)
        # One token is always generated, so the input has one less.
        return Served(str(path or self._model), lengths[0] - 1 if lengths else None, told)

    async def classified(self, ids: Sequence[int]) -> list[float]:
        """See `Engine.classified`."""
        reply = await self._connection.post("/classify", {"input_ids": list(ids)})
        return numbers(reply.get("embedding", ()), "an output")

    async def paired(self, text: str, other: str) -> list[float]:
        """See `Engine.paired`."""
        raise Failure("unsupported", "SGLang does not support pairs of texts; use vLLM or our own process")

    async def embedded(self, ids: Sequence[int]) -> list[float]:
        """See `Engine.embedded`."""
        reply = await self._connection.post("/v1/embeddings", {"model": self._model, "input": list(ids)})
        return numbers(first(reply, "data").get("embedding", ()), "a vector")

    async def outputs(self, ids: Sequence[int]) -> list[list[float]]:
        """See `Engine.outputs`."""
        raise Failure("unsupported", "SGLang's server gives no outputs for single tokens; use vLLM or our own process")

    async def labelled(self, ids: Sequence[int], reads: Sequence[int]) -> list[list[float]]:
        """See `Engine.labelled`."""
        return await self.outputs(ids)

    async def predicted(self, row: Row) -> list[list[float]]:
        """See `Engine.predicted`. A single request, whatever is read where."""
        assert row.targets is not None
        start = min(row.reads)
        reply = await self._connection.post(
            "/generate",
            {
                "input_ids": list(row.ids),
                # At temperature 0 the log-probabilities would be those of another distribution.
                "sampling_params": {"max_new_tokens": 1, "temperature": 1.0},
                "return_logprob": True,
                "logprob_start_len": start,
                "token_ids_logprob": sorted({target for targets in row.targets for target in targets}),
            },
        )
        meta = reply.get("meta_info")
        meta = meta if isinstance(meta, Mapping) else {}
        inside, behind = meta.get("input_token_ids_logprobs"), meta.get("output_token_ids_logprobs")
        if not isinstance(inside, list) or len(inside) != len(row.ids) - start or not isinstance(behind, list):
            raise Failure("failed", "the model's server returned no log-probabilities for the requested tokens")
        made: list[list[float]] = []
        for read, targets in zip(row.reads, row.targets, strict=True):
            entries = inside[read + 1 - start] if read + 1 < len(row.ids) else behind[0] if behind else None
            known = _by_token(entries)
            if any(target not in known for target in targets):
                raise Failure("failed", "the model's server left out a requested token")
            made.append([logprob(known[target]) for target in targets])
        return made

    async def written(
        self, ids: Sequence[int], *, max_tokens: int, temperature: float, top_p: float, seed: int, stop: Sequence[str]
    ) -> Written:
        """See `Engine.written`. The seed is SGLang's `sampling_seed`, which only has an effect if the server runs with
        deterministic inference."""
        sampling: dict[str, Any] = {"max_new_tokens": max_tokens, "temperature": temperature, "top_p": top_p}
        if temperature > 0:
            sampling["sampling_seed"] = seed
        if stop:
            sampling["stop"] = list(stop)
        reply = await self._connection.post("/generate", {"input_ids": list(ids), "sampling_params": sampling})
        text, meta = reply.get("text"), reply.get("meta_info")
        meta = meta if isinstance(meta, Mapping) else {}
        reason = meta.get("finish_reason")
        kind = reason.get("type") if isinstance(reason, Mapping) else reason
        if not isinstance(text, str) or kind not in ("stop", "length"):
            raise Failure("failed", f"the model's server ended a text with {kind!r}")
        tokens = meta.get("completion_tokens")
        return Written(
            text=text,
            finish="stop" if kind == "stop" else "length",
            tokens=tokens if isinstance(tokens, int) else 0,
        )


def _by_token(entries: Any) -> dict[int, Any]:
    made: dict[int, Any] = {}
    for entry in entries if isinstance(entries, list) else ():
        if isinstance(entry, list) and len(entry) >= 2 and isinstance(entry[1], int):
            made[entry[1]] = entry[0]
    return made
