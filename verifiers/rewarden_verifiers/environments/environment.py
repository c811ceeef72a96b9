"""`environment`: replays an episode, and scores its success or its return."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from rewarden.errors import InvalidReference
from rewarden.types import Component, Outcome, Step, StepScore, Text
from rewarden_verifiers.contract import Watch, verifier
from rewarden_verifiers.environments.actions import Action, actions_of
from rewarden_verifiers.environments.contract import Corpora
from rewarden_verifiers.environments.episode import Episode, Start, fields_of, returned
from rewarden_verifiers.environments.params import EnvironmentParams
from rewarden_verifiers.environments.resources import EnvironmentResources
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.retrieval.trajectory import pieces_of

MOST_RESPONSE = 2_000_000
"""The maximum length of a response, in characters; a longer one is too expensive."""

_KEPT, _KEPT_SIZE = 16, 200_000
_LABEL, _FEEDBACK = 200, 500


class Prepared:
    """The start of an episode and some of its continuations, so that a new action does not require a full replay."""

    def __init__(self, start: Start, corpora: Corpora, watch: Watch) -> None:
        """Raises InvalidReference or MissingDependency."""
        self._start, self._corpora = start, corpora
        self._kept = [start.begin(corpora, watch)]
        self.tools = self._kept[0].kind.tools

    def after(self, actions: Sequence[str | None]) -> Episode:
        """The episode after these actions. Actions after its end, or while it waits for a judge, are not taken."""
        fitting = [at for at, one in enumerate(self._kept) if one.holds(actions)]
        # Remove the episode while it is stepped: interrupted work must not leave half a step in the cache.
        best = max(fitting, key=lambda at: len(self._kept[at].steps), default=None)
        episode = self._start.begin(self._corpora) if best is None else self._kept.pop(best)
        for action in actions[len(episode.steps) :]:
            if episode.ended is not None or episode.asked is not None:
                break
            episode.act(action)
        if episode.size <= _KEPT_SIZE:
            self._kept = [*self._kept[-_KEPT + 1 :], episode]
        return episode


def prepare(reference: Start, params: EnvironmentParams, resources: EnvironmentResources, watch: Watch) -> Prepared:
    """The start of the episode. Raises InvalidReference or MissingDependency."""
    return Prepared(reference, resources.corpora, watch)


@verifier(
    version="1",
    graded=True,
    prepare=prepare,
    resources=EnvironmentResources,
    libraries=(
        "apsw",
        "bm25s",
        "chess",
        "duckdb",
        "gymnasium",
        "minigrid",
        "numpy",
        "reasoning-gym",
        "sqlglot",
        "textarena",
        "textworld",
    ),
    optional={
        "chess": "games of chess",
        "environments": "the environments `search`, `frozen_lake`, `taxi`, `cliff_walking` and `blackjack`",
        "minigrid": "Minigrid's rooms",
        "puzzles": "items of `reasoning_gym`",
        "tau2": "the domains of tau2-bench",
        "textarena": "TextArena's games",
        "textworld": "TextWorld's games",
        "sql": "questions about a database (`sql`)",
    },
)
def environment(
    messages: Text, prepared: Prepared, params: EnvironmentParams, steps: Sequence[Step] | None = None
) -> Outcome:
    """Replays an episode from its environment, options, seed and actions, and scores its success or its return.

    The reference is an object.

    | field | meaning |
    |---|---|
    | `environment` | its name, see [docs/environments.md](../environments.md) |
    | `options` | an object with the environment's own options |
    | `seed` | a whole number from 0; equal seeds make equal episodes |
    | `max_steps` | limit on the steps of the episode, at most 1000; the environment sets the default |
    | `illegal` | an action that cannot be done ends the episode (`end`, the default), or only costs a step (`again`) |

    The response contains the policy's actions: tool calls in its messages, `<action>…</action>` in its text, its whole
    turns or a JSON list (`actions`). Nothing else in it counts: rewards and observations are those of the replay,
    whatever the response claims. If the tool messages do not show what the replay observes, the verdict has the flag
    `replay_differs`: the episode was played with another seed, other options or another version.

    Each action is a step of the verdict, with its reward. The evidence contains `steps`, `return`, `cost`, `success`,
    the last `observation` and `ended` (`rules`, `illegal`, `malformed`, `too_many_steps`, or null while the episode
    goes on).

    The reasons are `illegal`, `malformed`, `unfinished`, `too_many_steps`, `no_answer` (no action), `too_expensive`,
    and those of the environments: `loss`, `draw`, `wrong`, `no_evidence`, `not_agreed`, `not_told`, `not_met`,
    `not_called`, and those of the verifier `sql`. Actions after the end do nothing, and set the flag `after_end`.

    To judge lines, best moves or recorded replies of the same games, use `game`; here the opponent chooses its own
    moves.
    """
    size = len(messages) if isinstance(messages, str) else sum(len(one.text) for one in pieces_of(messages, (), ()))
    if size > MOST_RESPONSE:
        return too_expensive(evidence={"characters": size})
    actions = actions_of(messages, steps, prepared.tools, params.actions)
    episode = prepared.after([action.text for action in actions])
    if episode.asked is not None and not (params.waits and len(episode.steps) == len(actions)):
        raise InvalidReference(
            f"reference.options.script: has no words of the user's after {len(episode.steps)} actions. A judge is "
            "asked for them only where the episode is lived on a server, whose state has the whole script",
            path="reference.options.script",
        )
    return _outcome(episode, actions, params)


def _outcome(episode: Episode, actions: Sequence[Action], params: EnvironmentParams) -> Outcome:
    low, high = (params.low, params.high) if params.low is not None else episode.kind.returns
    assert low is not None
    assert high is not None
    share, done = returned(episode.total, (low, high)), len(episode.steps)
    flags = ["after_end"] if len(actions) > done else []
    if any(_differs(action, step.turn.observation.text) for action, step in zip(actions, episode.steps, strict=False)):
        flags.append("replay_differs")
    details: dict[str, Any] = {
        "raw": episode.total,
        "components": {
            "success": Component(status="scored", score=float(episode.success)),
            "return": Component(status="scored", score=share),
            **{name: Component(status="scored", score=value) for name, value in episode.parts.items()},
        },
        "steps": tuple(
            StepScore(
                index=index,
                score=step.turn.reward,
                label=None if step.action is None else step.action[:_LABEL],
                feedback=None if step.why is None else step.why[:_FEEDBACK],
            )
            for index, step in enumerate(episode.steps)
        ),
        "extracted": [action.text and action.text[:_LABEL] for action in actions[:done]][:100],
        "evidence": {
            "environment": episode.start.environment,
            "seed": episode.start.seed,
            "steps": len(episode.steps),
            "return": episode.total,
            "cost": episode.cost,
            "success": episode.success,
            "ended": episode.ended,
            "observation": fields_of(episode.observation),
            **({} if episode.asked is None else {"asked": asdict(episode.asked)}),
        },
        "flags": flags,
        "feedback": episode.steps[-1].why if episode.steps else None,
    }
    if not actions:
        return no_answer(**details)
    if params.score == "success":
        value = float(episode.success)
    elif episode.ended in ("illegal", "malformed") or (episode.ended != "rules" and params.unfinished == "zero"):
        # Attack: stopping, or getting stopped, before the penalties in the rest of the episode.
        value = 0.0
    else:
        value = share
    value = max(0.0, value - params.cost * episode.cost) if math.isfinite(episode.cost) else 0.0
    reason = _reason(episode)
    if reason is None:
        return right(**details) if value == 1.0 else scored(value, passed=True, **details)
    return scored(value, passed=False, reason=reason, fault="policy", **details) if value else wrong(reason, **details)


def _reason(episode: Episode) -> str | None:
    if episode.success:
        return None
    if episode.ended is None:
        return "unfinished"
    if episode.ended != "rules":
        return episode.ended
    return episode.steps[-1].turn.why or "wrong"


def _differs(action: Action, observed: str) -> bool:
    """Returns whether the policy was shown something other than what the replay observes. A tool may add its
    own words.
    """
    return action.told is not None and observed.strip() not in action.told
