"""Cross-encoders for entailment as people publish them, with tiny random weights: whatever the order and the case of
their labels, the numbers are transformers' own, and the right one is read."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import InvalidParams
from rewarden_models.endpoint import ModelEndpoint
from rewarden_verifiers.inference import Classify, Input, Logits
from rewarden_verifiers.models.outputs import place_of, shares
from tests.models import tiny
from tests.models.real import packages_lacking

pytestmark = pytest.mark.skipif(packages_lacking() is not None, reason=str(packages_lacking()))

PAIRS = [
    ("Ulm lies on the Danube.", "Ulm is on a river."),
    ("The Blau springs in Blaubeuren.", "The Blau springs in Ulm."),
    ("Short.", "A claim that is much longer than what it is held against, with \u00fcmlauts."),
]
ORDERS = {
    "cross-encoder/nli-*": ("contradiction", "entailment", "neutral"),
    "MoritzLaurer's": ("entailment", "neutral", "contradiction"),
    "MNLI's own": ("CONTRADICTION", "NEUTRAL", "ENTAILMENT"),
    "two labels": ("entailment", "not_entailment"),
}
"""By who publishes such models, their labels in the order of the outputs."""
SIZE: dict[str, Any] = {
    "vocab_size": 264,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 600,  # of which RoBERTa has only those behind the padding's id
    "initializer_range": 0.3,
    "pad_token_id": 257,
}
FAMILIES: dict[str, tuple[str, dict[str, Any]]] = {
    "bert": ("Bert", {"type_vocab_size": 2}),
    "roberta": ("Roberta", {"type_vocab_size": 1}),
    "deberta-v2": (
        "DebertaV2",
        {
            "type_vocab_size": 0,
            "relative_attention": True,
            "position_buckets": 16,
            "norm_rel_ebd": "layer_norm",
            "share_att_key": True,
            "pos_att_type": ["p2c", "c2p"],
            "position_biased_input": False,
        },
    ),
}


def save(folder: Path, family: str, labels: tuple[str, ...] | None) -> Any:
    """Write such a model. Returns it."""
    import torch
    import transformers
    from tokenizers.processors import TemplateProcessing

    words = tiny.tokenizer()
    second = 1 if family == "bert" else 0
    words.backend_tokenizer.post_processor = TemplateProcessing(
        single="<s> $A </s>",
        pair=f"<s> $A </s> $B:{second} </s>:{second}",
        special_tokens=[("<s>", words.bos_token_id), ("</s>", words.eos_token_id)],
    )
    if family == "bert":
        words.model_input_names = ["input_ids", "token_type_ids", "attention_mask"]
    words.save_pretrained(folder)
    name, more = FAMILIES[family]
    named = {"num_labels": 3} if labels is None else {"id2label": dict(enumerate(labels))}
    config = getattr(transformers, f"{name}Config")(**SIZE, **more, **named)
    torch.manual_seed(3)
    model = getattr(transformers, f"{name}ForSequenceClassification")(config).eval()
    model.save_pretrained(folder)
    return model


def classified(folder: Path) -> list[Logits]:
    """Returns what the model process makes of the pairs, together."""
    from rewarden_models.forward import forward
    from rewarden_models.loading import load
    from rewarden_models.tasks import prepare

    loaded = load("main", ModelEndpoint(model=str(folder), device="cpu", threads=1))
    prepared = [prepare(loaded, Classify(input=Input(text=text, pair=claim))) for text, claim in PAIRS]
    outputs = forward(loaded, [row for one in prepared for row in one.rows])
    return [one.finish([output]) for one, output in zip(prepared, outputs, strict=True)]


def expected(folder: Path, model: Any) -> list[list[float]]:
    """Returns what transformers makes of each of them alone."""
    import torch
    from transformers import AutoTokenizer

    words = AutoTokenizer.from_pretrained(folder)
    with torch.no_grad():
        return [model(**words(text, claim, return_tensors="pt")).logits[0].tolist() for text, claim in PAIRS]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("published", ORDERS)
def test_numbers_and_labels_are_the_model_s_own(published: str, family: str, tmp_path: Path) -> None:
    labels = ORDERS[published]
    model = save(tmp_path, family, labels)
    found = classified(tmp_path)
    for logits, values in zip(found, expected(tmp_path, model), strict=True):
        assert logits.values == pytest.approx(values, abs=1e-5)
        assert tuple(logits.labels) == labels
        place = place_of(logits, "entailment", "label")
        assert place == [label.lower() for label in labels].index("entailment")
        assert sum(shares(logits)) == pytest.approx(1)
    assert len({round(logits.values[0], 3) for logits in found}) == len(PAIRS), "random weights tell texts apart"


def test_placeholders_for_labels_are_refused_with_what_to_do(tmp_path: Path) -> None:
    save(tmp_path, "bert", None)
    logits = classified(tmp_path)[0]
    assert tuple(logits.labels) == ("LABEL_0", "LABEL_1", "LABEL_2")
    with pytest.raises(InvalidParams, match=r"placeholders.*id2label"):
        place_of(logits, "entailment", "label")
    assert place_of(logits, 1, "label") == 1


def test_labels_that_differ_in_case_alone_are_told_apart(tmp_path: Path) -> None:
    save(tmp_path, "bert", ("yes", "Yes", "no"))
    logits = classified(tmp_path)[0]
    assert [place_of(logits, label, "label") for label in ("yes", "Yes", "NO")] == [0, 1, 2]
    with pytest.raises(InvalidParams, match="there is no output 'YES'"):
        place_of(logits, "YES", "label")
