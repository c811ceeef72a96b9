"""InternLM2's body, which transformers has no class for, as the Llama that computes the same numbers.

The two differ in names, and InternLM2 packs queries, keys and values into one matrix: for each key head in turn, the
rows of its queries, then its key, then its value. The weights that must exist follow from the configuration.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rewarden_models.config_fields import ConfigFields
from rewarden_models.failure import Failure

_LAYERS = 1024
"""The most layers that a configuration may ask for."""

_PLAIN: Mapping[str, str] = {
    "attention.wo": "self_attn.o_proj",
    "feed_forward.w1": "mlp.gate_proj",
    "feed_forward.w3": "mlp.up_proj",
    "feed_forward.w2": "mlp.down_proj",
    "attention_norm": "input_layernorm",
    "ffn_norm": "post_attention_layernorm",
}
"""The weights of a layer that differ only in name."""

_PACKED = "attention.wqkv"


@dataclass(frozen=True, slots=True, kw_only=True)
class PackedBody:
    """The sizes of a body. heads: query heads; keys: key and value heads; bias: whether the attention layers have
    biases."""

    vocabulary: int
    hidden: int
    inner: int
    layers: int
    heads: int
    keys: int
    bias: bool
    context: int
    epsilon: float
    theta: float
    tokens: Mapping[str, int]

    @property
    def wide(self) -> int:
        """The width of one head."""
        return self.hidden // self.heads

    @property
    def shapes(self) -> Mapping[str, tuple[int, ...]]:
        """The names and shapes of all weights in a checkpoint."""
        hidden, inner = self.hidden, self.inner
        packed = (self.heads + 2 * self.keys) * self.wide
        layer: dict[str, tuple[int, ...]] = {
            f"{_PACKED}.weight": (packed, hidden),
            "attention.wo.weight": (hidden, hidden),
            "feed_forward.w1.weight": (inner, hidden),
            "feed_forward.w3.weight": (inner, hidden),
            "feed_forward.w2.weight": (hidden, inner),
            "attention_norm.weight": (hidden,),
            "ffn_norm.weight": (hidden,),
        }
        if self.bias:
            layer |= {f"{_PACKED}.bias": (packed,), "attention.wo.bias": (hidden,)}
        return {
            "model.tok_embeddings.weight": (self.vocabulary, hidden),
            "model.norm.weight": (hidden,),
            **{f"model.layers.{at}.{name}": shape for at in range(self.layers) for name, shape in layer.items()},
        }

    def configuration(self) -> Any:
        """The transformers configuration of the equivalent Llama."""
        from transformers import LlamaConfig

        return LlamaConfig(
            vocab_size=self.vocabulary,
            hidden_size=self.hidden,
            intermediate_size=self.inner,
            num_hidden_layers=self.layers,
            num_attention_heads=self.heads,
            num_key_value_heads=self.keys,
            max_position_embeddings=self.context,
            rms_norm_eps=self.epsilon,
            rope_parameters={"rope_type": "default", "rope_theta": self.theta},
            attention_bias=self.bias,
            tie_word_embeddings=False,
            **self.tokens,
        )

    def unpacked(self, read: Callable[[str], Any]) -> dict[str, Any]:
        """The weights under Llama's names. read: returns the checkpoint's tensor of a name."""
        made = {"embed_tokens.weight": read("model.tok_embeddings.weight"), "norm.weight": read("model.norm.weight")}
        for name in self.shapes:
            if not name.startswith("model.layers."):
                continue
            _, _, at, inside = name.split(".", 3)
            module, part = inside.rsplit(".", 1)
            if module == _PACKED:
                for letter, rows in zip("qkv", self._apart(read(name)), strict=True):
                    made[f"layers.{at}.self_attn.{letter}_proj.{part}"] = rows
            else:
                made[f"layers.{at}.{_PLAIN[module]}.{part}"] = read(name)
        return made

    def _apart(self, packed: Any) -> list[Any]:
        """The rows of the queries, keys and values."""
        shared = self.heads // self.keys
        rows = packed.reshape(self.keys, shared + 2, self.wide, *packed.shape[1:])
        parts = (rows[:, :shared], rows[:, shared], rows[:, shared + 1])
        return [part.reshape(-1, *packed.shape[1:]).contiguous() for part in parts]


def packed_body(fields: ConfigFields) -> PackedBody:
    """The body that an InternLM2 config.json describes. Raises Failure (`loading`) for one that a Llama would compute
    differently, and for sizes that are not whole numbers or do not fit together."""
    where, config = fields.where, fields.config
    hidden, heads = fields.hidden, fields.whole("num_attention_heads")
    keys = heads if config.get("num_key_value_heads") is None else fields.whole("num_key_value_heads")
    if hidden % heads or heads % keys or (hidden // heads) % 2:
        raise Failure("loading", f"{where}: {hidden} wide, {heads} heads and {keys} key heads do not fit together")
    if config.get("quantization_config"):
        raise Failure("loading", f"{where}: is quantised, and its packed weights cannot be read then")
    if config.get("hidden_act", "silu") != "silu":
        raise Failure("loading", f"{where}: hidden_act {config['hidden_act']!r} is unknown; known: silu")
    if not isinstance(config.get("bias"), bool):
        raise Failure("loading", f"{where}: {fields.name} needs bias in config.json, true or false")
    layers = fields.whole("num_hidden_layers")
    if layers > _LAYERS:
        raise Failure("loading", f"{where}: num_hidden_layers {layers} is more than {_LAYERS}")
    _check_positions(fields)
    tokens = {
        key: config[key]
        for key in ("bos_token_id", "eos_token_id", "pad_token_id")
        if isinstance(config.get(key), int) and config[key] >= 0
    }
    return PackedBody(
        vocabulary=fields.whole("vocab_size"),
        hidden=hidden,
        inner=fields.whole("intermediate_size"),
        layers=layers,
        heads=heads,
        keys=keys,
        bias=bool(config["bias"]),
        context=fields.whole("max_position_embeddings"),
        epsilon=fields.number("rms_norm_eps", 1e-6),
        theta=fields.number("rope_theta", 10000),
        tokens=tokens,
    )


def _check_positions(fields: ConfigFields) -> None:
    """Raises Failure for any scaling of positions but the dynamic one, which begins after `max_position_embeddings`. No
    text is read that far: its number would depend on the longest text of its batch."""
    scaling = fields.config.get("rope_scaling")
    if scaling is None and "rope_parameters" not in fields.config:
        return
    kind = scaling.get("type", scaling.get("rope_type")) if isinstance(scaling, Mapping) else scaling
    if kind != "dynamic" or "rope_parameters" in fields.config:
        raise Failure("loading", f"{fields.where}: scales positions by {kind!r}, which is unknown; known: dynamic")
