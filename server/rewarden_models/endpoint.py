"""A model as the operator configures it; both the server and the model process use these settings."""

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
    """One model: what it is, what runs it, and how.

    backend: `own`: Rewarden's model process, which the server starts unless there is an address; `vllm`, `sglang`: that
    engine at `address`. model: a local folder, a GGUF file, or a name on the hub; for another engine, its name there.
    address: `unix:PATH` or `http://HOST:PORT`. api_key_env: the environment variable that holds the key; api_key: the
    key itself.

    For Rewarden's own process: revision: of a model on the hub. dtype: `auto`: bfloat16 on a GPU, float32 on a CPU.
    device: `auto`: the first GPU, or the CPU; models on one device share a process. threads: of the CPU; none: all
    cores. context: the longest input in tokens; none: the model's own maximum. batch_tokens: tokens of a batch,
    including padding. latency_ms: how long an incomplete batch waits for more. attention: its name in transformers.
    compile: torch.compile. prefix: whether the shared prefix of siblings is encoded once. pooling: of an embedding,
    unless the model's folder sets it. head: of a causal checkpoint whose config.json does not mention it: `value` and
    `step_value` (TRL's `v_head` for the whole and for steps), `logit` (the logit of token 0). reload_from: folders from
    which weights can be reloaded, besides `model` itself. base: the model into which the LoRA adapter `model` is added.

    concurrency: tasks in flight at once. timeout_s: a task times out if no task of any model on the device, or of the
    other engine's model, had a result for this long. task: what another engine's model does, if the engine cannot tell:
    `classify`, `score`, `rate`, `embed` or `generate`. weak: whether verdicts by it are flagged as those of a model
    that is too small to judge.
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
    head: Literal["auto", "value", "step_value", "logit"] = "auto"
    base: Text | None = None
    reload_from: tuple[str, ...] = ()
    concurrency: Annotated[Whole, Le(100_000)] = 1024
    timeout_s: Positive = 600.0
    task: Literal["classify", "score", "rate", "embed", "generate"] | None = None
    tokenizer: Text | None = None
    weak: bool = False

    @property
    def key(self) -> str | None:
        """The key for its address, wherever it is configured."""
        return self.api_key or (os.environ.get(self.api_key_env) if self.api_key_env else None)


def is_local(model: str) -> bool:
    """Returns whether `model` is a path and not a name on the hub."""
    return model.startswith(("/", "./", "../", "~")) or model.lower().endswith(".gguf") or model.count("/") > 1
