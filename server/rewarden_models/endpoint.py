"""A model as the operator configures it: both the server and the model process go by these settings."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Annotated, Literal

from annotated_types import Ge, Gt, Le, Lt, MinLen, doc

Text = Annotated[str, MinLen(1)]
Whole = Annotated[int, Gt(0)]
Positive = Annotated[float, Gt(0), Lt(float("inf"))]


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelEndpoint:
    """One model that gives numbers: what it is, who runs it, and how.

    backend: `own`: our model process, which the server starts, unless there is an address; `vllm`, `sglang`: such an
    engine at `address`. model: a local folder, a GGUF file, or a hub's name; for another engine the name by which it
    serves it. address: `unix:PATH` or `http://HOST:PORT`. api_key_env: the environment variable that holds the key;
    api_key: the key itself.

    What follows is for our own process. revision: of a hub's name. dtype: `auto`: bfloat16 on a GPU, float32 on a CPU.
    device: `auto`: the first GPU, or the CPU; models of one device share a process. threads: of the CPU; none: all
    cores. context: tokens of the longest input; none: what the model says. batch_tokens: tokens of a batch, padding
    included. latency_ms: how long an incomplete batch waits for more. attention: as transformers calls it. compile:
    torch.compile. prefix: whether what siblings share is encoded once. pooling: of an embedding, where the model's
    folder does not say. reload_from: folders from which weights may be swapped in, besides the place of `model` itself.

    concurrency: tasks in flight at once. timeout_s: a task is given up when there was no result for so long, for any
    task of any model of the device, or of another engine's model. task: what another engine's model does, where it
    cannot be asked: `classify`, `score`, `rate`, `embed` or `generate`.
    """

    model: Annotated[Text, doc("a folder, a GGUF file, or the name by which it is served")]
    backend: Literal["own", "vllm", "sglang"] = "own"
    address: Text | None = None
    api_key_env: Text | None = None
    api_key: Text | None = field(default=None, repr=False)
    revision: Text | None = None
    dtype: Literal["auto", "float32", "bfloat16", "float16"] = "auto"
    device: Text = "auto"
    threads: Whole | None = None
    context: Annotated[int, Ge(16)] | None = None
    batch_tokens: Whole = 16_384
    latency_ms: Annotated[float, Ge(0), Lt(float("inf"))] = 5.0
    attention: Literal["auto", "sdpa", "eager", "flash_attention_2", "flash_attention_3"] = "auto"
    compile: bool = False
    prefix: bool = True
    pooling: Literal["mean", "cls", "last"] | None = None
    reload_from: tuple[str, ...] = ()
    concurrency: Annotated[Whole, Le(100_000)] = 1024
    timeout_s: Positive = 600.0
    task: Literal["classify", "score", "rate", "embed", "generate"] | None = None
    tokenizer: Text | None = None

    @property
    def key(self) -> str | None:
        """The key of its address, wherever that stands now."""
        return self.api_key or (os.environ.get(self.api_key_env) if self.api_key_env else None)


def is_local(model: str) -> bool:
    """Returns whether a `model` is a path, and no hub's name."""
    return model.startswith(("/", "./", "../", "~")) or model.lower().endswith(".gguf") or model.count("/") > 1
