"""AReaL's single-turn workflow, with rewards that are awaited: no process pool, no 15 s, and no 0 for a time-out.

A sample without a score, or that a recipe excludes, is left out by itself: its siblings stay.

    trainer.train(workflow="workflow.Workflow", workflow_kwargs={"use": "math", "target": "http://127.0.0.1:8080", …})
"""

from typing import Any

from areal.workflow.rlvr import RLVRWorkflow

from rewarden.adapters.areal import reward
from rewarden.adapters.scoring import score_or_none


class LeftOut(Exception):
    """The sample has no score, or is not to be trained on."""


class Workflow(RLVRWorkflow):
    """`use`, `target` and other settings of `rewarden.adapters.Settings`, before RLVRWorkflow's own arguments."""

    def __init__(
        self, use: Any = None, target: str = "http://127.0.0.1:8080", settings: Any = None, **own: Any
    ) -> None:
        self.reward = reward(use, target=target, **(settings or {}))
        super().__init__(reward_fn=self.reward, **own)

    async def _compute_rewards(self, resp: Any, prompt_str: str, task_data: dict[str, Any]) -> float:
        completion = self.tokenizer.decode(resp.output_tokens)
        verdict = await self.reward.verdict(prompt_str, completion, resp.input_tokens, resp.output_tokens, **task_data)
        score = score_or_none(verdict, self.reward.settings)
        if score is None:
            raise LeftOut(verdict.exclude_reason or verdict.reason)
        return score

    async def arun_episode(self, engine: Any, data: dict[str, Any]) -> Any:
        """As RLVRWorkflow's; None, which AReaL rejects, for a sample that is left out."""
        try:
            return await super().arun_episode(engine, data)
        except LeftOut:
            return None
