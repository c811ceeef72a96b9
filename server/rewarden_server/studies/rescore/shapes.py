"""The shapes of the files that trainers and evaluators write: known by their columns, and read without an option.

A shape says which column holds what, where the trainer's own score stands, and how to make of a row what no column
holds as it is (a conversation of a graph of messages, a group's name of a rollout's). The columns made so begin with
`@`. A column that the user names takes precedence.

Sources: verl 0.9.1 (`ppo/ray_trainer.py`, `ppo/v1/trainer_base.py`), TRL 1.16.0 (`grpo_trainer.py`), lm-eval 0.4.13
(`result_schema.py`), verifiers 0.4.0 (`v1/trace.py`), OpenRLHF 0.10 (`cli/batch_inference.py`), NeMo Gym of August 2026
(`base_resources_server.py`).
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from rewarden_server import responses_api

Row = Mapping[str, Any]
Rows = Sequence[Row]

OURS = frozenset(("score", "scores", "verdict", "verdicts", "rewarden_score", "rewarden_scores"))
"""The columns that a rescore adds: a row that has been rescored keeps its shape."""


def _nothing(_: Row) -> dict[str, Any]:
    return {}


def _no_baseline(_: Rows) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class Shape:
    """A shape of rows.

    fits: whether a row has it. columns: field to column, `-` for a field that is not to be guessed. under: where the
    reference is looked for, under its usual names, if `columns` does not name it; "" is the row itself. derive: the
    columns made of a row, whose names begin with `@`; it never raises. baselines: the columns of these rows where the
    trainer's own score may stand; it is known only if there is one.
    """

    name: str
    fits: Callable[[Row], bool]
    columns: Mapping[str, str]
    under: tuple[str, ...] = ("",)
    derive: Callable[[Row], dict[str, Any]] = field(default=_nothing)
    baselines: Callable[[Rows], list[str]] = field(default=_no_baseline)

    def widened(self, row: Row) -> Row:
        """The row with the columns that are made of it."""
        return row if self.derive is _nothing else {**row, **self.derive(row)}


def recognised(rows: Rows) -> Shape | None:
    """The shape that all rows have; None if they have none, or several."""
    return next((shape for shape in SHAPES if rows and all(map(shape.fits, rows))), None)


# --- verl --------------------------------------------------------------------------------------------------------


def _is_verl(row: Row) -> bool:
    return row.keys() >= {"input", "output", "gts", "score", "step"} and isinstance(row["output"], str)


def _is_verl_v1(row: Row) -> bool:
    return _is_verl(row) and isinstance(row.get("uid"), str) and _prompt_of_uid(row["uid"]) is not None


def _prompt_of_uid(uid: str) -> str | None:
    """The prompt's part of `PROMPT_ROLLOUT_OUTPUT`, as v1 names each rollout; None for a name of another form."""
    prompt, *numbers = uid.rsplit("_", 2)
    return prompt if len(numbers) == 2 and all(map(str.isdecimal, numbers)) else None


def _verl_v1(row: Row) -> dict[str, Any]:
    uid = row.get("uid")
    return {"@uid.prompt": (_prompt_of_uid(uid) or uid) if isinstance(uid, str) else None}


def _verl(row: Row) -> dict[str, Any]:
    return {"@step.input": _step_and(row.get("step"), row.get("input"))}


_VERL = {"prompt": "input", "response": "output", "reference": "gts"}


# --- TRL ---------------------------------------------------------------------------------------------------------


def _is_trl(row: Row) -> bool:
    return row.keys() >= {"step", "prompt", "completion", "advantage"} and _is_number(row["advantage"])


def _trl(row: Row) -> dict[str, Any]:
    return {"@step.prompt": _step_and(row.get("step"), row.get("prompt"))}


def _trl_rewards(rows: Rows) -> list[str]:
    """The reward functions' columns come after the completion; what `log_extra` adds is before the advantage too."""
    names = list(rows[0])
    between = names[names.index("completion") + 1 : names.index("advantage")]
    return [name for name in between if all(_is_number(row.get(name)) or row.get(name) is None for row in rows)]


# --- OpenRLHF ----------------------------------------------------------------------------------------------------


def _is_openrlhf(row: Row) -> bool:
    return row.keys() - OURS == {"input", "output", "reward"} and _is_number(row["reward"])


# --- lm-eval -----------------------------------------------------------------------------------------------------


def _is_lm_eval(row: Row) -> bool:
    return row.keys() >= {"doc_id", "doc", "target", "resps", "filtered_resps"} and isinstance(row["resps"], list)


def _lm_eval(row: Row) -> dict[str, Any]:
    """The texts of the first request; what is left of tasks that compare likelihoods is not text of the model."""
    asked: Any = row.get("arguments")
    first = asked.get("gen_args_0") if isinstance(asked, Mapping) else _first(asked)
    prompt = first.get("arg_0") if isinstance(first, Mapping) else _first(first)
    texts = _first(row.get("resps"))
    generated = isinstance(texts, list) and bool(texts) and all(isinstance(text, str) for text in texts)
    response = (texts[0] if len(texts) == 1 else texts) if generated else None
    return {"@prompt": prompt, "@response": response}


def _lm_eval_metrics(rows: Rows) -> list[str]:
    named = rows[0].get("metrics")
    if not isinstance(named, list):
        return []
    return [name for name in named if isinstance(name, str) and any(_is_number(row.get(name)) for row in rows)][:1]


# --- Inspect -----------------------------------------------------------------------------------------------------


def _is_inspect(row: Row) -> bool:
    told = row.get("inspect")
    return isinstance(told, Mapping) and told.keys() >= {"scorer", "score", "answer", "explanation"}


def _inspect_score(rows: Rows) -> list[str]:
    return ["inspect.score"]


# --- NeMo Gym ----------------------------------------------------------------------------------------------------


def _is_gym(row: Row) -> bool:
    response = row.get("response")
    return (
        row.keys() >= {"responses_create_params", "response", "reward"}
        and isinstance(row["responses_create_params"], Mapping)
        and isinstance(response, Mapping)
        and isinstance(response.get("output"), list)
    )


def _gym(row: Row) -> dict[str, Any]:
    params, response = row.get("responses_create_params"), row.get("response")
    if not isinstance(params, Mapping) or not isinstance(response, Mapping):
        return {}
    output = response.get("output")
    if not isinstance(output, list):
        return {}
    return {
        "@prompt": responses_api.prompt_of(params),
        "@response": responses_api.messages_of(output),
        "@finish_reason": responses_api.finish_reason_of(response),
        "@token_count": responses_api.token_count_of(response),
    }


# --- prime-rl and verifiers --------------------------------------------------------------------------------------


def _is_trace(row: Row) -> bool:
    nodes, task = row.get("nodes"), row.get("task")
    return (
        isinstance(row.get("rewards"), Mapping)
        and isinstance(task, Mapping)
        and isinstance(nodes, list)
        and all(isinstance(node, Mapping) and isinstance(node.get("message"), Mapping) for node in nodes)
    )


def _trace(row: Row) -> dict[str, Any]:
    """The branch that ends with the model's last message: what comes before its first one is the prompt."""
    given = row.get("nodes")
    nodes = given if isinstance(given, list) else []
    path = _path(nodes)
    begin = next((at for at, node in enumerate(path) if node.get("sampled")), len(path))
    messages = [_message(node["message"]) for node in path]
    return {
        "@prompt": messages[:begin] or None,
        "@response": messages[begin:] or None,
        "@reward": _total(row.get("rewards")),
        "@task": _task_name(row.get("task")),
    }


def _path(nodes: Sequence[Any]) -> list[Mapping[str, Any]]:
    each = [node for node in nodes if isinstance(node, Mapping) and isinstance(node.get("message"), Mapping)]
    if len(each) < len(nodes):
        return []
    at: Any = next((place for place in reversed(range(len(each))) if each[place].get("sampled")), None)
    found: list[Mapping[str, Any]] = []
    while type(at) is int and 0 <= at < len(each) and len(found) < len(each):
        found.append(each[at])
        at = each[at].get("parent")
    return found[::-1]


def _message(message: Mapping[str, Any]) -> dict[str, Any]:
    """A message as OpenAI's protocol has it: its calls have their names in a `function`."""
    calls = message.get("tool_calls")
    kept = {name: value for name, value in message.items() if value is not None and name != "provider_state"}
    if isinstance(calls, list):
        kept["tool_calls"] = [
            {
                "id": call.get("id"),
                "type": "function",
                "function": {"name": call["name"], "arguments": call.get("arguments")},
            }
            if isinstance(call, Mapping) and "name" in call
            else call
            for call in calls
        ]
    return kept


def _total(rewards: Any) -> float | None:
    """The weighted sum; None where nothing was scored."""
    values = []
    for reward in rewards.values() if isinstance(rewards, Mapping) else ():
        score: Any = reward.get("score") if isinstance(reward, Mapping) else reward
        weight: Any = reward.get("weight", 1.0) if isinstance(reward, Mapping) else 1.0
        if _is_number(score) and _is_number(weight):
            values.append(float(score * weight))
    return sum(values) if values else None


def _task_name(task: Any) -> str | None:
    if not isinstance(task, Mapping):
        return None
    known = task.get("key") or task.get("hash")
    return known if isinstance(known, str) else None


def _is_rollout_output(row: Row) -> bool:
    return row.keys() >= {"example_id", "task", "prompt", "completion", "reward"} and _is_number(row["reward"])


# -----------------------------------------------------------------------------------------------------------------


def _step_and(step: Any, prompt: Any) -> str | None:
    """A short name of the group of responses to one prompt in one step."""
    if prompt is None:
        return None
    text = prompt if isinstance(prompt, str) else json.dumps(prompt, sort_keys=True)
    return f"{step}:{hashlib.blake2b(text.encode('utf-8', 'surrogatepass'), digest_size=6).hexdigest()}"


def _first(value: Any) -> Any:
    return value[0] if isinstance(value, list) and value else None


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _at(*columns: str) -> Callable[[Rows], list[str]]:
    return lambda _: list(columns)


SHAPES = (
    Shape(
        "rollouts of verl (v1)",
        _is_verl_v1,
        {**_VERL, "group": "@uid.prompt", "id": "uid"},
        derive=_verl_v1,
        baselines=_at("score"),
    ),
    Shape("rollouts of verl", _is_verl, {**_VERL, "group": "@step.input"}, derive=_verl, baselines=_at("score")),
    Shape(
        "completions of TRL",
        _is_trl,
        {"prompt": "prompt", "response": "completion", "group": "@step.prompt"},
        derive=_trl,
        baselines=_trl_rewards,
    ),
    Shape(
        "samples of lm-eval",
        _is_lm_eval,
        {"prompt": "@prompt", "response": "@response", "reference": "target", "group": "-", "id": "-"},
        derive=_lm_eval,
        baselines=_lm_eval_metrics,
    ),
    Shape(
        "rollouts of NeMo Gym",
        _is_gym,
        {
            "prompt": "@prompt",
            "response": "@response",
            "finish_reason": "@finish_reason",
            "token_count": "@token_count",
            "group": "_ng_task_index",
            "data_source": "agent_ref.name",
        },
        under=("", "verifier_metadata."),
        derive=_gym,
        baselines=_at("reward"),
    ),
    Shape(
        "traces of verifiers, as prime-rl keeps them",
        _is_trace,
        {
            "prompt": "@prompt",
            "response": "@response",
            "group": "@file,@task",
            "data_source": "info.prime_rl.env_name",
            "id": "id",
        },
        under=("task.data.", "info."),
        derive=_trace,
        baselines=_at("@reward"),
    ),
    Shape(
        "rollouts of verifiers, as prime-rl keeps them",
        _is_rollout_output,
        {
            "prompt": "prompt",
            "response": "completion",
            "group": "@file,task,example_id",
            "data_source": "task",
            "id": "-",
        },
        under=("", "info."),
        baselines=_at("reward"),
    ),
    Shape(
        "rewarded outputs of OpenRLHF", _is_openrlhf, {"prompt": "input", "response": "output"}, baselines=_at("reward")
    ),
    Shape(
        "log of Inspect",
        _is_inspect,
        {"prompt": "prompt", "response": "response", "reference": "reference", "group": "group"},
        baselines=_inspect_score,
    ),
)
"""The shapes that are known. Their rules exclude each other, but for verl's: v1 is the more special one."""
