"""OpenRLHF: a file with a reward function, for its `--reward.remote_url`.

    export REWARDEN_TARGET=http://127.0.0.1:8080 REWARDEN_USE=math        # in the environment of Ray's workers
    python -m openrlhf.cli.train_ppo_ray … --data.label_key answer \\
        --reward.remote_url "$(python -m rewarden.adapters openrlhf)"

**No score**: OpenRLHF cannot express it. By default the call retries transient errors for `patience_s` and then raises.
OpenRLHF catches the error, logs it at level info, has no reward for that sample, and stops with another error when it
builds the batch (`'NoneType' object has no attribute 'size'`, or `reward_model_group is required`). The adapter
therefore logs the reason as an error first. `unscored=NUMBER` returns a number instead. A recipe's `exclude` has no
effect: the sample keeps its score, and the metric `rewarden_excluded` counts it. **Groups**: not supported, because
OpenRLHF passes one sample at a time.

Checked against openrlhf 0.11.2 (openrlhf/utils/agent.py), and releases since 0.8.5, which pass micro-batches.
"""

from __future__ import annotations

import logging
import math
import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.example import label_of, prompt_of, text_of_prompt, unnamed
from rewarden.adapters.preflight import checked
from rewarden.adapters.rows import label_fields, sample_of, tell_passed
from rewarden.adapters.scoring import NoScore, Scorer, number_of
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest, RewardenError
from rewarden.types import BadSample, Sample, Verdict

_log = logging.getLogger("rewarden.adapters")


def reward_func(queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **kwargs: Any) -> dict[str, Any]:
    """Returns `rewards`, `scores` and `extra_logs`, tensors with one number per sample; settings from the environment.

    Raises NoScore, RequestError.
    """
    # OpenRLHF loads this file under another name, and Ray can copy the function, so the state is in the module.
    from rewarden.adapters import openrlhf

    return openrlhf.from_environment()(queries, prompts, labels, **kwargs)


class Reward:
    """A picklable `reward_func(queries, prompts, labels)`.

    `queries` are the prompt followed by the response, decoded with special tokens. `labels` are references, or what
    `rewarden.adapters.rows.label_fields` reads.
    """

    def __init__(self, settings: Settings) -> None:
        self._scorer = Scorer(settings)

    def __call__(
        self, queries: Sequence[str], prompts: Sequence[str], labels: Sequence[Any], **kwargs: Any
    ) -> dict[str, Any]:
        """Returns float32 tensors, as OpenRLHF's own examples do. Raises NoScore, RequestError."""
        torch = import_module("torch")  # OpenRLHF has it; the client needs none

        settings = self._scorer.settings
        try:
            verdicts = self._scorer.score(
                [_sample(*row, settings) for row in zip(queries, prompts, labels, strict=True)]
            )
            answer = answer_of(verdicts, [number_of(verdict, settings) for verdict in verdicts])
        except RewardenError as error:
            _log.error("no reward; OpenRLHF cannot skip a sample, so it will stop: %s", error)
            raise

        def tensor(values: list[float]) -> Any:
            return torch.tensor(values, dtype=torch.float32)

        return {
            "rewards": tensor(answer["rewards"]),
            "scores": tensor(answer["scores"]),
            "extra_logs": {name: tensor(values) for name, values in answer["extra_logs"].items()},
        }


def reward(use: Any = None, **settings: Any) -> Reward:
    """Returns a reward function for your own file. `use` and the settings are those of `rewarden.adapters.Settings`.

    Raises InvalidRequest for settings that name columns, because OpenRLHF passes only a label.
    """
    return Reward(settings_of(use, **settings))


def settings_of(use: Any = None, **settings: Any) -> Settings:
    """Returns the checked settings of a reward function or an agent. Raises RequestError."""
    read = Settings.read(use=use, **settings).refuse(
        *("reference", "group", "id", "metadata"),
        why="OpenRLHF passes only the label of a sample, and no other column",
    )
    return checked(read)


@lru_cache(maxsize=1)
def from_environment() -> Reward:
    """Returns the process's reward function, with settings from the environment. Raises InvalidRequest."""
    try:
        return reward()
    except RewardenError as error:
        _log.error("no reward, because the settings in the environment are invalid: %s", error)
        raise


def row_sample(row: Mapping[str, Any], response: str, settings: Settings) -> Sample:
    """Returns the sample of a row of a data set, whose label `--data.label_key` names. See `rewarden.adapters.example`.

    Raises InvalidRequest.
    """
    prompt = text_of_prompt(prompt_of(row))
    made = _sample(prompt + response, prompt, label_of(row, settings), unnamed(settings))
    if isinstance(made, BadSample):
        raise InvalidRequest(made.message)
    return made


def answer_of(verdicts: Sequence[Verdict], numbers: Sequence[float]) -> dict[str, Any]:
    """Returns OpenRLHF's result as lists. `numbers` are the rewards; the keys of `extra_logs` are always the same.

    `scores`, which dynamic filtering uses, are within 0…1: the rewards, scaled by the ranges of the verdicts.
    """
    return {
        "rewards": list(numbers),
        "scores": [_scaled(number, verdict) for number, verdict in zip(numbers, verdicts, strict=True)],
        "extra_logs": {
            "rewarden_passed": [float(verdict.passed is True) for verdict in verdicts],
            "rewarden_no_answer": [float(verdict.reason == "no_answer") for verdict in verdicts],
            "rewarden_excluded": [float(verdict.exclude) for verdict in verdicts],
            "rewarden_unscored": [float(verdict.status != "scored") for verdict in verdicts],
        },
    }


def _scaled(number: float, verdict: Verdict) -> float:
    low, high = verdict.range
    if verdict.status != "scored" or not math.isfinite(high - low) or high <= low:
        return number
    return (number - low) / (high - low)


def _sample(query: str, prompt: str, label: Any, settings: Settings) -> Sample | BadSample:
    try:
        response = response_of(query, prompt)
    except InvalidRequest as error:
        return BadSample(message=error.message, path="response")
    fields = label_fields(label)
    tell_passed("label", fields["reference"], settings, "OpenRLHF")
    return sample_of(response, {}, settings, prompt=prompt, **fields)


# --- where the response begins ---------------------------------------------------------------------------------

_SPECIAL = r"<\|[^<>|\s]{1,40}\|>|</?[A-Za-z_]{1,20}>|\[[A-Z_]{2,20}\]"
_PADDING = re.compile(rf"(?:{_SPECIAL}|\s)*")
_PIECES = re.compile(rf"({_SPECIAL})|[^\s<\[]+|[<\[]")
_LEAST_OVERLAP = 32
"""The number of characters of a prompt's end that identify it."""
_MOST_BEGINNINGS = 64
"""The number of positions to try; repetitive texts have more, which would take long."""


def response_of(query: str, prompt: str) -> str:
    """Returns the text after the prompt, with which the query starts.

    Some changes that tokenizers make to a prompt are tolerated: padding before it, white space, several image tokens
    instead of one, and a prompt whose beginning was cut off. Raises InvalidRequest for any other change: the end of a
    prompt is never guessed, because an answer must not be read from a prompt.
    """
    if query.startswith(prompt):
        return query[len(prompt) :]
    place = query.find(prompt)
    if place > 0 and _PADDING.fullmatch(query, 0, place):
        return query[place + len(prompt) :]
    end = _end_apart_from_spaces(query, prompt)
    if end is None:
        end = _end_of_cut(query, prompt)
    if end is None:
        raise InvalidRequest(
            "the query does not start with its prompt, so the response cannot be separated from it; does the "
            "tokenizer change the prompt (openrlhf's query is the decoded prompt and response)?"
        )
    return query[end:]


def _end_apart_from_spaces(query: str, prompt: str) -> int | None:
    """Returns the end of the prompt in the query, up to white space and repeated special tokens."""
    place = _PADDING.match(query).end() if _PADDING.match(prompt).end() == 0 else 0  # type: ignore[union-attr]
    last = len(prompt.rstrip())
    for piece in _PIECES.finditer(prompt):
        text = piece.group()
        while place < len(query) and query[place].isspace():
            place += 1
        if not query.startswith(text, place):
            return None
        place += len(text)
        # A placeholder became as many as the image needs. One at the prompt's end may be the response's own.
        while piece.group(1) and piece.end() < last and query.startswith(text, place):
            place += len(text)
    return place


def _end_of_cut(query: str, prompt: str) -> int | None:
    """Returns the end of the prompt in a query that begins inside it: of the longest suffix of the prompt that is a
    prefix of the query."""
    start = len(query) - len(query.lstrip("\N{REPLACEMENT CHARACTER}"))  # a character that was cut in two
    head = query[start : start + _LEAST_OVERLAP]
    if len(head) < _LEAST_OVERLAP:
        return None
    place = -1
    for _ in range(_MOST_BEGINNINGS):
        place = prompt.find(head, place + 1)
        if place < 0:
            return None
        if query.startswith(prompt[place:], start):
            return start + len(prompt) - place
    return None


__all__ = [
    "NoScore",
    "Reward",
    "answer_of",
    "from_environment",
    "response_of",
    "reward",
    "reward_func",
    "row_sample",
    "settings_of",
]
