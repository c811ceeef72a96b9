"""OpenRLHF: a file with an agent executor, for its `--train.agent_func_path`: several turns, judged as they come.

    export REWARDEN_TARGET=http://127.0.0.1:8080 REWARDEN_USE=math REWARDEN_MAX_TURNS=3
    python -m openrlhf.cli.train_ppo_ray … --data.label_key answer \\
        --train.agent_func_path "$(python -m rewarden.adapters openrlhf_agent)"

A response that does not pass gets the verdict's feedback as the user's next turn, and the model tries again, up to
`max_turns`. OpenRLHF adds up the rewards of the turns; the adapter returns differences, so that the sum is the last
turn's reward, also if the context is full before the last turn.

**No score**: OpenRLHF cannot express it. A turn retries transient errors for `patience_s` and then raises `NoScore`,
which stops the run; `unscored=NUMBER` returns a number instead. A recipe's `exclude` has no effect: the metric
`rewarden_excluded` counts it. **Groups**: not supported, because an agent sees only one rollout.

Checked against openrlhf 0.11.2 (`MultiTurnAgentExecutor` in openrlhf/utils/agent.py).
"""

from __future__ import annotations

import os
from functools import lru_cache
from importlib import import_module
from typing import Any

from rewarden.adapters.openrlhf import answer_of, row_sample, settings_of
from rewarden.adapters.rows import label_fields, sample_of
from rewarden.adapters.scoring import NoScore, Scorer, number_of, passed_of
from rewarden.adapters.settings import Settings
from rewarden.errors import InvalidRequest

_AGAIN = "This is not right yet. Try again."
_MARK = "\N{SNOWMAN}"
"""Stands for the feedback while the chat template is rendered; no template contains it."""


class Episode:
    """One rollout: the base of the agent instance, next to OpenRLHF's own base class."""

    def __init__(self, scorer: Scorer, max_turns: int, turn: str) -> None:
        """`turn`: the text of a user's turn after the model's, with `_MARK` for the feedback."""
        self._scorer = scorer
        self._max_turns = max_turns
        self._turn = turn
        self._turns = 0
        self._earned = 0.0
        self._prompt: Any = None

    async def reset(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Returns the first observation: the prompt, unchanged."""
        self._prompt = states["observation"]
        return {"observation": self._prompt}

    async def step(self, states: dict[str, Any], **_: Any) -> dict[str, Any]:
        """Judges a turn. Raises NoScore, RequestError."""
        torch = import_module("torch")  # OpenRLHF has it; the client needs none

        self._turns += 1
        settings = self._scorer.settings
        fields = label_fields(states["label"])
        verdict = await self._scorer.verdict(
            sample_of(states["action_text"], {}, settings, prompt=self._prompt, **fields)
        )
        number = number_of(verdict, settings)
        answer = answer_of([verdict], [number])
        done = self._turns >= self._max_turns or verdict.status != "scored" or passed_of(verdict)
        gained, self._earned = number - self._earned, number
        return {
            "rewards": torch.tensor(gained, dtype=torch.float64),
            "scores": answer["scores"][0],
            "environment_feedback": "" if done else self._turn.replace(_MARK, verdict.feedback or _AGAIN),
            "done": done,
            "extra_logs": {
                **{name: values[0] for name, values in answer["extra_logs"].items()},
                "rewarden_turns": float(self._turns),
            },
        }


def executor(use: Any = None, *, max_turns: int = 1, **settings: Any) -> type[Any]:
    """Returns the class `AgentExecutor` for your own file. `use` and the settings are those of `Settings`.

    Raises InvalidRequest for settings that name columns, because OpenRLHF passes only a label.
    """
    if max_turns < 1:
        raise InvalidRequest(f"max_turns: must be at least 1, not {max_turns}")
    return _class_of(settings_of(use, **settings), max_turns)


def __getattr__(name: str) -> Any:
    """Creates `AgentExecutor`, with settings from the environment, when OpenRLHF looks for it in this file."""
    if name != "AgentExecutor":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # OpenRLHF loads this file under another name, so the state is in the module.
    from rewarden.adapters import openrlhf_agent

    return openrlhf_agent.from_environment()


@lru_cache(maxsize=1)
def from_environment() -> type[Any]:
    """Returns the process's executor class, with settings from the environment. Raises InvalidRequest."""
    told = os.environ.get("REWARDEN_MAX_TURNS") or "1"
    if not told.isdecimal():
        raise InvalidRequest(f"REWARDEN_MAX_TURNS: must be a whole number, not {told!r}")
    return executor(max_turns=int(told))


def _class_of(settings: Settings, max_turns: int) -> type[Any]:
    agent: Any = import_module("openrlhf.utils.agent")
    scorer = Scorer(settings)

    class AgentExecutor(agent.MultiTurnAgentExecutor):  # type: ignore[misc]
        """OpenRLHF's own loop over turns, with Rewarden's verdict after each."""

        agent_instance_cls: Any

        def __init__(self) -> None:
            super().__init__(agent.AgentInstanceBase)  # until the tokenizer is known, whose template writes feedback

        async def execute(
            self,
            prompt: Any,
            label: Any,
            sampling_params: Any,
            max_length: int,
            hf_tokenizer: Any,
            *args: Any,
            **kw: Any,
        ) -> Any:
            """Runs one rollout, and returns OpenRLHF's response of it."""
            if self.agent_instance_cls is agent.AgentInstanceBase:
                self.agent_instance_cls = _instance_class(agent, scorer, max_turns, user_turn(hf_tokenizer))
            return await super().execute(prompt, label, sampling_params, max_length, hf_tokenizer, *args, **kw)

    return AgentExecutor


def _instance_class(agent: Any, scorer: Scorer, max_turns: int, turn: str) -> type[Any]:
    """Returns the class of rollouts: OpenRLHF makes one without arguments for each."""

    def __init__(self: Episode) -> None:
        Episode.__init__(self, scorer, max_turns, turn)

    return type("AgentInstance", (Episode, agent.AgentInstanceBase), {"__init__": __init__})


def user_turn(tokenizer: Any) -> str:
    """Returns the text between the end of a response and the next one, with `_MARK` for what the user says.

    The chat template of the model decides; without one, it is a line of its own.
    """
    if getattr(tokenizer, "chat_template", None) is None:
        return f"\n{_MARK}\n"
    chat = [
        {"role": "user", "content": "?"},
        {"role": "assistant", "content": _MARK * 2},
        {"role": "user", "content": _MARK},
    ]
    rendered: str = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    turn = rendered.partition(_MARK * 2)[2]
    # The response's tokens already contain the token that ended it.
    return turn.removeprefix(getattr(tokenizer, "eos_token", None) or "")


__all__ = ["Episode", "NoScore", "executor", "from_environment", "row_sample", "user_turn"]
