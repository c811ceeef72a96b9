"""The facts known here about a model that another engine runs: its tokenizer, and what its server reports."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from rewarden_models.checkpoint import Head, refuse_own_code
from rewarden_models.endpoint import ModelEndpoint
from rewarden_models.failure import Failure
from rewarden_models.folder import Folder, files_beside
from rewarden_models.loading import Loaded
from rewarden_models.model_version import files_of, software, version_of
from rewarden_models.remote.connection import Connection
from rewarden_models.remote.protocol import PROBES, Engine, check_raw, named
from rewarden_models.remote.sglang import Sglang
from rewarden_models.remote.vllm import Vllm
from rewarden_models.rendering import Reader
from rewarden_verifiers.inference import Input

HEADS: Mapping[str, Head] = {
    "classify": "sequence",
    "score": "sequence",
    "rate": "token",
    "embed": "encoder",
    "generate": "causal",
}


@dataclass(frozen=True, slots=True)
class Remote:
    """A model elsewhere. loaded: as for one of our own models, but without the model itself."""

    loaded: Loaded
    settings: ModelEndpoint


def load(name: str, settings: ModelEndpoint) -> Remote:
    """The facts about a model elsewhere. Blocks. Raises Failure if its server does not answer, lacks the model, or
    returns a head's outputs only after an activation, and if its tokenizer is code of its own.
    """
    folder = files_beside(
        settings.tokenizer or settings.model, settings.revision if settings.tokenizer is None else None
    )
    import transformers

    config = folder.read("config.json")
    refuse_own_code(folder, config, tokenizer_alone=True)
    tokenizer = transformers.AutoTokenizer.from_pretrained(folder.path, trust_remote_code=False, local_files_only=True)
    labels = config.get("id2label") or {}
    head = HEADS[settings.task or "generate"]
    if head == "token":
        _refuse_causal(name, config)
    loaded = Loaded(
        name=name,
        model=None,
        tokenizer=tokenizer,
        reader=Reader(tokenizer),
        head=head,
        labels=tuple(str(labels[place]) for place in sorted(labels, key=int)) if head in ("sequence", "token") else (),
        multi=config.get("problem_type") == "multi_label_classification",
        device=settings.backend,
        dtype="",
    )
    return Remote(asyncio.run(_served(loaded, folder, settings)), settings)


def _refuse_causal(name: str, config: Mapping[str, Any]) -> None:
    """Raises Failure for a causal model that is to rate steps with a head. vLLM makes such a head from rows of the
    vocabulary, in an order set by a server option: nothing tells which output means good, and the wrong one would
    reward every mistake."""
    architectures = config.get("architectures") or []
    if architectures and all(str(one).endswith("ForCausalLM") for one in architectures):
        raise Failure(
            "unsupported",
            f"model {name!r} is a causal model ({architectures[0]}), and task = 'rate' is for a head of its own. "
            "Such a model rates steps by tokens (Math-Shepherd's + and -): serve it for text (vLLM's --runner "
            "generate), and set task = 'generate' here, and by: token, good and bad in rm_process",
        )


def engine_of(name: str, settings: ModelEndpoint) -> tuple[Engine, Connection]:
    """The engine for a model's server and the connection that it uses. Created and used on one event loop."""
    connection = Connection(
        name, settings.address or "", settings.key, timeout_s=settings.timeout_s, concurrency=settings.concurrency
    )
    made: Engine = (Vllm if settings.backend == "vllm" else Sglang)(connection, settings.model)
    return made, connection


async def _served(loaded: Loaded, folder: Folder, settings: ModelEndpoint) -> Loaded:
    engine, connection = engine_of(loaded.name, settings)
    try:
        served = await engine.about()
        limits = [limit for limit in (served.context, settings.context, loaded.tokenizer.model_max_length) if limit]
        context = min(limit for limit in limits if isinstance(limit, int))
        labels = loaded.labels
        if loaded.head in ("sequence", "token"):
            labels = await _labels(loaded, settings, engine, context)
    finally:
        await connection.close()
    # The server says little about its weights: a revision in the configuration or the reload tells them apart. The
    # model's input is made here, by our code, from the tokenizer's files and the template, and cut to the context.
    told = [settings.backend, served.name, served.version, settings.revision, settings.task, context]
    version = version_of(folder.path, files_of(folder.path, ()), repr(told), software("transformers", "tokenizers"))
    return replace(loaded, context=context, labels=labels, version=version, source=Path(served.name).name)


async def _labels(loaded: Loaded, settings: ModelEndpoint, engine: Engine, context: int) -> tuple[str, ...]:
    """The head's labels, once its outputs are known to be raw. Raises Failure if they are not."""
    if settings.task == "score":
        return await _pair_labels(loaded, engine, context)
    reads = [loaded.reader.read(Input(text=text), context) for text in PROBES]
    if loaded.head == "sequence":
        outputs = [await engine.classified(read.ids) for read in reads]
    else:
        made = [await engine.outputs(read.ids) for read in reads]
        outputs = [row for rows in made for row in rows]
        if len(outputs) < sum(len(read.ids) for read in reads):
            return loaded.labels  # pooled by STEP: the first steps show at which token, and whether the outputs are raw
    check_raw(outputs)
    return named(loaded.labels, len(outputs[0]))


async def _pair_labels(loaded: Loaded, engine: Engine, context: int) -> tuple[str, ...]:
    """The label of a cross-encoder's output. Raises Failure if the server has no such head: at the same route vLLM
    compares an embedding model's vectors, and a cosine would pass for a raw output."""
    try:
        outputs = len(await engine.classified(loaded.reader.read(Input(text=PROBES[0]), context).ids))
    except Failure as failure:
        if failure.kind != "unsupported":
            raise
        raise Failure(
            "unsupported",
            f"task = 'score' is for a cross-encoder, and its server has no head ({failure.message}); of an embedding "
            "model take the vectors (task = 'embed')",
        ) from None
    if outputs != 1:
        raise Failure(
            "unsupported",
            f"its head has {outputs} outputs, and vLLM reads two texts for a head of one output alone; our own process "
            "reads them (backend = 'own')",
        )
    check_raw([await engine.paired(text, other) for text in PROBES for other in PROBES])
    return named(loaded.labels, 1)
