"""Models with random weights, small enough to be made for a test: what they say is nonsense, and always the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

TEMPLATE = (
    "{% for message in messages %}<s>{{ message['role'] }}\n{% if message['content'] is string %}"
    "{{ message['content'] }}{% else %}{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %}{% endif %}</s>\n{% endfor %}{% if add_generation_prompt %}<s>assistant\n{% endif %}"
)


def tokenizer(**marks: str) -> Any:
    """One token a byte, `<s>`, `</s>`, and special ones by the names that a processor knows them by."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    special = ["<s>", "</s>", *marks.values()]
    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    backend = Tokenizer(models.BPE({letter: at for at, letter in enumerate(letters)}, []))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.add_special_tokens(special)
    made = PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token="<s>",
        eos_token="</s>",
        pad_token="</s>",
        extra_special_tokens=marks or None,
    )
    made.chat_template = TEMPLATE
    return made


def causal(**more: Any) -> Any:
    """A Llama of two layers for `tokenizer()`; `more`: of its configuration."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    config = LlamaConfig(**{**_SIZE, "max_position_embeddings": 512, **more})
    torch.manual_seed(0)
    return LlamaForCausalLM(config).eval()


def sliding() -> Any:
    """A model each of whose layers but the last sees the 6 latest tokens alone."""
    import torch
    from transformers import Gemma3ForCausalLM, Gemma3TextConfig

    kinds = ["sliding_attention", "full_attention"]
    config = Gemma3TextConfig(**_SIZE, head_dim=16, sliding_window=6, layer_types=kinds)
    torch.manual_seed(0)
    return Gemma3ForCausalLM(config).eval()


_SIZE = {
    "vocab_size": 264,
    "hidden_size": 48,
    "intermediate_size": 64,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "initializer_range": 0.3,
    "bos_token_id": 256,
    "eos_token_id": 257,
    "pad_token_id": 257,
}


def seeing(folder: Path) -> Path:
    """A model that reads images and text (Idefics3's architecture), saved there."""
    import torch
    from transformers import Idefics3Config, Idefics3ForConditionalGeneration, Idefics3Processor
    from transformers.models.idefics3.image_processing_pil_idefics3 import Idefics3ImageProcessorPil

    images = Idefics3ImageProcessorPil(size={"longest_edge": 64}, max_image_size={"longest_edge": 32})
    processor = Idefics3Processor(images, tokenizer(), image_seq_len=4, chat_template=TEMPLATE)
    config = Idefics3Config(
        text_config={**_SIZE, "model_type": "llama", "max_position_embeddings": 2048},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
            "initializer_range": 0.3,
        },
        scale_factor=2,
        image_token_id=processor.image_token_id,
    )
    torch.manual_seed(0)
    Idefics3ForConditionalGeneration(config).eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def seeing_head(folder: Path) -> Path:
    """A sequence-classification head of two labels over a model that reads images and text (Gemma 3's architecture),
    saved there."""
    import torch
    from transformers import Gemma3Config, Gemma3ForSequenceClassification, Gemma3Processor
    from transformers.models.gemma3.image_processing_pil_gemma3 import Gemma3ImageProcessorPil

    marks = {"boi_token": "<image>", "eoi_token": "<end_of_image>", "image_token": "<soft>"}
    words = tokenizer(**marks)
    ids = {f"{name}_index": words.convert_tokens_to_ids(mark) for name, mark in marks.items()}
    images = Gemma3ImageProcessorPil(size={"height": 32, "width": 32})
    processor = Gemma3Processor(images, words, chat_template=TEMPLATE, image_seq_length=4)
    config = Gemma3Config(
        text_config={**_SIZE, "head_dim": 16, "max_position_embeddings": 2048},
        vision_config={
            "hidden_size": 32,
            "intermediate_size": 48,
            "num_hidden_layers": 1,
            "num_attention_heads": 2,
            "image_size": 32,
            "patch_size": 8,
        },
        mm_tokens_per_image=4,
        num_labels=2,
        **ids,
    )
    torch.manual_seed(0)
    Gemma3ForSequenceClassification(config).eval().save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder
