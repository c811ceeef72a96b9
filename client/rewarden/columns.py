"""The usual names of columns, and the usual words in them: the same for rescored files and for trainers' data sets."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

GUESSES: Mapping[str, tuple[str, ...]] = {
    "response": (
        "response",
        "completion",
        "output",
        "generation",
        "generated_text",
        "solution_str",
        "model_output",
        "prediction",
        "rollout",
        "responses",
        "completions",
        "outputs",
        "generations",
        "samples",
    ),
    "messages": ("messages", "conversation", "conversations"),
    "prompt": ("prompt", "question", "problem", "input", "instruction", "query", "messages"),
    "reference": (
        "reference",
        "reference_answer",
        "ground_truth",
        "gold",
        "gold_answer",
        "expected_answer",
        "expected",
        "answer",
        "label",
        "target",
        "gts",
        "final_answer",
        "solution",
        "reward_model.ground_truth",
        "extra.reward_model.ground_truth",
    ),
    "group": ("group", "group_id", "prompt_id", "problem_id", "question_id", "uid"),
    "data_source": ("data_source", "source", "dataset", "dataset_name"),
    "finish_reason": ("finish_reason", "stop_reason", "truncated", "is_truncated"),
    "token_count": ("token_count", "response_length", "completion_tokens", "num_tokens", "num_output_tokens"),
    "id": ("id", "sample_id", "rollout_id"),
}
"""The usual names, the likeliest first."""

_FINISH: Mapping[str, str] = {
    **dict.fromkeys(("stop", "eos", "eos_token", "end_turn", "stop_sequence", "stop_token", "tool_calls"), "stop"),
    **dict.fromkeys(("tool_use", "function_call", "matched_stop"), "stop"),
    **dict.fromkeys(("length", "max_tokens", "max_length", "max_new_tokens", "truncated", "incomplete"), "length"),
    **dict.fromkeys(("abort", "aborted", "cancelled", "content_filter", "error"), "abort"),
}
"""The names that samplers and providers give to the ends of a generation."""


def finish_reason(value: Any) -> Any:
    """Returns the reason why a generation ended, in our words. Unknown reasons are returned as they are."""
    if isinstance(value, dict):  # SGLang: {"type": "length", "length": 1024}
        value = value.get("type")
    if isinstance(value, bool):  # a column such as `truncated`
        return "length" if value else "stop"
    # A word that we do not know goes on as it is, so that the row is blamed for it rather than quietly misread.
    return _FINISH.get(value.lower(), value) if isinstance(value, str) else value


def only(value: Any) -> Any:
    """Returns the only item of a list of one, as open-instruct keeps its names; returns any other value unchanged."""
    return value[0] if isinstance(value, list) and len(value) == 1 else value


def token_count(value: Any) -> Any:
    """A count of tokens; whole floats, as data frames make them, become integers."""
    return int(value) if isinstance(value, float) and value.is_integer() else value
