"""One batch through a model: the numbers of transformers alone, whatever shares the batch or the beginning."""

from __future__ import annotations

import random
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch", reason="models need torch")
pytest.importorskip("transformers", reason="models need transformers")

import torch
import transformers

from rewarden_models.forward import TOLERANCE, Forward, pooled_at
from rewarden_models.prefix import plan
from rewarden_models.row import Output, Row
from tests.models.real import loaded, needs_models, plain

pytestmark = pytest.mark.needs_server

PAD = 0
_SIZE = {
    "vocab_size": 300,
    "hidden_size": 32,
    "intermediate_size": 64,
    "num_hidden_layers": 3,
    "num_attention_heads": 4,
    "pad_token_id": PAD,
    "initializer_range": 0.2,
}
_LLAMA = {**_SIZE, "num_key_value_heads": 2, "max_position_embeddings": 4096}
_KINDS = ["sliding_attention", "full_attention", "sliding_attention"]
MODELS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "causal": ("LlamaForCausalLM", "LlamaConfig", _LLAMA),
    "soft caps, sliding windows": (
        "Gemma3ForCausalLM",
        "Gemma3TextConfig",
        {**_LLAMA, "head_dim": 8, "sliding_window": 48, "final_logit_softcapping": 2.0, "layer_types": _KINDS},
    ),
    "scaled logits": ("CohereForCausalLM", "CohereConfig", {**_LLAMA, "logit_scale": 0.3}),
    "learned positions": ("GPT2LMHeadModel", "GPT2Config", {**_SIZE, "n_embd": 32, "n_head": 4, "n_layer": 3}),
    "sequence": ("LlamaForSequenceClassification", "LlamaConfig", {**_LLAMA, "num_labels": 3}),
    "token": ("LlamaForTokenClassification", "LlamaConfig", {**_LLAMA, "num_labels": 2}),
    "encoder, sequence": ("BertForSequenceClassification", "BertConfig", {**_SIZE, "num_labels": 2}),
    "encoder, token": ("BertForTokenClassification", "BertConfig", {**_SIZE, "num_labels": 2}),
}


def made(name: str, **more: Any) -> Any:
    """A model with random weights, and what `Forward` needs of a loaded one."""
    torch.set_num_threads(1)
    torch.manual_seed(0)
    model, config, options = MODELS[name]
    built = getattr(transformers, model)(getattr(transformers, config)(**{**options, **more})).eval()
    return SimpleNamespace(model=built, pad=PAD, pooling="mean")


def texts(*lengths: int, seed: int = 0) -> list[list[int]]:
    """Rows of ordinary tokens."""
    draw = random.Random(seed)
    return [[draw.randrange(1, 300) for _ in range(length)] for length in lengths]


def rows_of(kind: str, lists: list[list[int]]) -> list[Row]:
    """Returns what the tasks of such a model read."""
    if kind == "sequence":
        return [Row(ids, []) for ids in lists]
    targets = [[7, 8, 9], [5]] if kind == "language" else None
    return [Row(ids, [len(ids) // 3, len(ids) - 1], targets) for ids in lists]


def alone(model: Any, row: Row) -> Output:
    """Of transformers' own forward, one row at a time."""
    with torch.inference_mode():
        logits = model(input_ids=torch.tensor([row.ids])).logits[0]
    if not row.reads:
        return [logits.tolist()]
    if row.targets is None:
        return logits[row.reads].tolist()
    near = logits[row.reads].log_softmax(-1)
    return [near[place, ids].tolist() for place, ids in enumerate(row.targets)]


def apart(ours: list[Output], theirs: list[Output]) -> float:
    """The largest difference."""
    both = [(p, q) for x, y in zip(ours, theirs, strict=True) for p, q in zip(x, y, strict=True)]
    pairs = [(a, b) for p, q in both for a, b in zip(p, q, strict=True)]
    return max(abs(a - b) for a, b in pairs)


@pytest.mark.parametrize("name", MODELS)
def test_a_batch_of_all_lengths_gives_what_each_row_gives_alone(name: str) -> None:
    model = made(name)
    forward = Forward(model)
    rows = rows_of(forward.architecture.kind, [*texts(3, 40, 17, 90), [5, 9, PAD, 8, 7]])
    assert apart(forward.run(rows), [alone(model.model, row) for row in rows]) < TOLERANCE


@pytest.mark.parametrize("name", [name for name in MODELS if "encoder" not in name])
def test_a_shared_beginning_changes_no_number_and_is_computed_once(name: str) -> None:
    model = made(name)
    forward = Forward(model)
    (start, one, other), ends = texts(120, 50, 50), texts(*range(1, 9), 40, seed=1)
    lists = [start + end for end in ends] + [start + (one, other)[at % 2] + end for at, end in enumerate(ends)]
    rows = rows_of(forward.architecture.kind, [*lists, *texts(30)])
    outputs = forward.run(rows, plan([row.ids for row in rows]))
    assert apart(outputs, [alone(model.model, row) for row in rows]) < TOLERANCE
    # 18 rows share 120 tokens, and of them 5 and 4 share 50 more.
    assert forward.tally.shared == 17 * 120 + 4 * 50 + 3 * 50
    assert forward.tally.tokens == sum(len(row.ids) for row in rows) - forward.tally.shared


def test_an_encoder_shares_nothing() -> None:
    forward = Forward(made("encoder, token"))
    rows = rows_of("token", [texts(100)[0] + end for end in texts(4, 5, 6, seed=1)])
    assert apart(forward.run(rows, plan([row.ids for row in rows])), forward.run(rows)) == 0
    assert forward.tally.shared == 0


def test_a_row_may_end_where_the_others_go_on() -> None:
    model = made("causal")
    start = texts(80)[0]
    rows = rows_of("language", [start, *(start + end for end in texts(9, 8, 7, seed=1))])
    outputs = Forward(model).run(rows, plan([row.ids for row in rows]))
    assert apart(outputs, [alone(model.model, row) for row in rows]) < TOLERANCE


def test_few_rows_at_once_give_the_same() -> None:
    model = made("causal")
    start = texts(80)[0]
    rows = rows_of("language", [start + end for end in texts(*range(1, 20), seed=1)])
    forward = Forward(model)
    outputs = forward.run(rows, plan([row.ids for row in rows]), 300)
    assert forward.tally.passes > 5
    assert apart(outputs, [alone(model.model, row) for row in rows]) < TOLERANCE


def test_a_head_reads_no_more_than_what_is_asked_for() -> None:
    model = made("causal")
    forward = Forward(model)
    rows = rows_of("language", texts(90, 80))
    assert forward.architecture.apart
    seen: list[int] = []
    model.model.lm_head.register_forward_pre_hook(lambda _, given: seen.append(given[0].shape[-2]))
    forward.run(rows)
    assert seen == [4]


@pytest.mark.parametrize(
    ("ids", "place"), [([5, 6, 7], 2), ([5, PAD, 7], 2), ([5, 6, PAD, PAD], 1), ([PAD, PAD], 1), ([PAD], 0)]
)
def test_where_a_sequence_head_reads_is_a_matter_of_the_row_alone(ids: list[int], place: int) -> None:
    model = made("sequence")
    assert pooled_at(model.model, ids) == place
    if ids.count(PAD) < len(ids):
        rows = [Row(ids, []), *rows_of("sequence", texts(60))]
        assert apart(Forward(model).run(rows)[:1], [alone(model.model, rows[0])]) < TOLERANCE


def test_vectors_are_pooled_over_real_tokens() -> None:
    torch.manual_seed(0)
    model = transformers.BertModel(transformers.BertConfig(**_SIZE)).eval()
    lists = texts(3, 50, 20)
    with torch.inference_mode():
        states = [model(input_ids=torch.tensor([ids])).last_hidden_state[0] for ids in lists]
    for pooling, wanted in {"mean": lambda s: s.mean(0), "cls": lambda s: s[0], "last": lambda s: s[-1]}.items():
        found = Forward(SimpleNamespace(model=model, pad=PAD, pooling=pooling)).run([Row(ids, []) for ids in lists])
        assert apart(found, [[wanted(state).tolist()] for state in states]) < TOLERANCE


def test_a_compiled_base_is_not_asked_when_a_head_runs_alone() -> None:
    model = made("causal")
    model.model.base_model._compiled_call_impl = model.model.base_model._call_impl  # as `compile` sets it
    rows = rows_of("language", texts(20, 30))
    forward = Forward(model)
    assert apart(forward.run(rows), [alone(model.model, row) for row in rows]) < TOLERANCE
    assert forward.architecture.apart
    assert model.model.base_model._compiled_call_impl is not None


@needs_models
@pytest.mark.parametrize("name", ["smollm2", "smollm2-reward"])
def test_a_real_models_scores_do_not_depend_on_what_shares_the_batch(name: str) -> None:
    model, tokenizer = plain(name)
    start = "The engine of the little boat had been taken apart on the kitchen table, piece by piece. " * 4
    said = [start + end for end in ("It ran.", "It never ran again, whatever she tried with it.", "No.")]
    lists = [*map(tokenizer.encode, said), tokenizer.encode("Yes.")]
    forward = Forward(loaded(name))
    last = name == "smollm2"
    rows = [Row(ids, [len(ids) - 1], [[11, 12, 13]]) if last else Row(ids, []) for ids in lists]
    single = [alone(model, row) for row in rows]
    assert apart(forward.run(rows), single) < TOLERANCE
    assert apart(forward.run(rows, plan(lists)), single) < TOLERANCE
    assert forward.tally.shared > 0
