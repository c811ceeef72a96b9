"""verl: a tool with which a policy runs Python in a notebook that lives for its rollout.

    tools:                                   # the file of actor_rollout_ref.rollout.multi_turn.tool_config_path
      - class_name: rewarden.boxes.verl_tool.NotebookTool
        config: {type: native, target: "http://127.0.0.1:8080"}

verl creates and releases a tool around every call, and passes the rollout's own object (`agent_data`) with it. The
notebook belongs to that object: all calls of a rollout find the variables and files of the earlier ones, and the box is
closed when verl has forgotten the rollout. Without that object, as in older versions, each call has a notebook of its
own. A box that nobody closes, because its worker died, ends by its idle time.

Settings of `config`: `target`, `api_key` (none: as for `AsyncClient`), `image`, `limits` (of the box), `timeout_s` (of
a cell), `idle_s`, `ttl_s`. `tool_schema` is that of `NOTEBOOK_TOOL` unless the file has one with a parameter `code`.

**Failures**: what the policy causes is in the text that it gets back. If the server or its sandbox fails, `execute`
raises, verl writes the error into the text that the model gets, and the rollout goes on. If it matters to you, leave
out rollouts with such a text.

Read in verl 0.9.1.
"""

from __future__ import annotations

import asyncio
import contextlib
import uuid
import weakref
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from rewarden.boxes.box import AsyncBox
from rewarden.boxes.notebook import AsyncNotebook
from rewarden.boxes.notebook_tool import NOTEBOOK_TOOL
from rewarden.client import AsyncClient
from rewarden.errors import BoxEnded, InvalidRequest, NotebookEnded, RewardenError

_OF_BOX = ("image", "limits", "idle_s", "ttl_s")
_GONE = "The interpreter has ended; all variables are lost. The next call starts a new one."
_EXPIRED = "The sandbox's time was over: variables and files are lost. The next call opens a new one."
_SETTINGS = frozenset({"type", "target", "api_key", "timeout_s", *_OF_BOX})


class _Rollout:
    """The notebook of a rollout, once a call needed it."""

    def __init__(self, number: str | None) -> None:
        self.id = number
        self.opening = asyncio.Lock()  # verl runs the calls of a turn at once
        self.box: AsyncBox | None = None
        self.notebook: AsyncNotebook | None = None

    def forget(self, notebook: AsyncNotebook, *, box: bool) -> None:
        """Has the next call open another notebook, or another box, unless a call beside this one did so."""
        if self.notebook is notebook:
            self.notebook = None
            if box:
                self.box = None


class _Call:
    """Stands for the rollout, where verl does not say which it is."""


class NotebookTool:
    """See the module. verl makes one for each of its workers, and uses it on one event loop."""

    def __init__(self, config: Mapping[str, Any], tool_schema: Any = None) -> None:
        unknown = sorted(set(config) - _SETTINGS)
        if unknown:
            raise InvalidRequest(f"config: unknown {', '.join(unknown)}; known: {', '.join(sorted(_SETTINGS))}")
        if not config.get("target"):
            raise InvalidRequest("config: target is missing, such as http://127.0.0.1:8080")
        self._schemas = import_module("verl.tools.schemas")
        self.config = config
        self.tool_schema = tool_schema or self._schemas.OpenAIFunctionToolSchema.model_validate(dict(NOTEBOOK_TOOL))
        self.name: str = self.tool_schema.function.name
        self._client: AsyncClient | None = None
        self._calls: dict[str, _Call] = {}
        self._rollouts: weakref.WeakKeyDictionary[Any, _Rollout] = weakref.WeakKeyDictionary()
        self._closing: set[asyncio.Task[None]] = set()

    def get_openai_tool_schema(self) -> Any:
        """Returns the schema of the tool, for chat templates."""
        return self.tool_schema

    async def create(self, instance_id: str | None = None, **_: Any) -> tuple[str, Any]:
        """Begins a call. Returns its id."""
        number = instance_id or uuid.uuid4().hex
        self._calls[number] = _Call()
        return number, self._schemas.ToolResponse()

    async def execute(
        self, instance_id: str, parameters: Mapping[str, Any], *, agent_data: Any = None, **_: Any
    ) -> tuple[Any, float, dict[str, Any]]:
        """Runs a cell in the rollout's notebook. Returns the text for the model, a reward of 0, and no metrics. Raises
        RequestError."""
        rollout = self._rollout(self._calls[instance_id] if agent_data is None else agent_data)
        notebook = await self._notebook(rollout)
        try:
            text = await notebook.call(parameters, self.config.get("timeout_s"))
        except (NotebookEnded, BoxEnded) as error:
            rollout.forget(notebook, box=isinstance(error, BoxEnded))
            if error.details.get("fault") != "policy" and error.details.get("reason") not in ("idle", "expired"):
                raise
            text = _GONE if isinstance(error, NotebookEnded) else _EXPIRED
        return self._schemas.ToolResponse(text=text), 0.0, {}

    async def calc_reward(self, instance_id: str, **_: Any) -> float:
        """Returns 0: verdicts come from the reward function."""
        return 0.0

    async def release(self, instance_id: str, **_: Any) -> None:
        """Ends a call."""
        self._calls.pop(instance_id, None)

    def _rollout(self, owner: Any) -> _Rollout:
        rollout = self._rollouts.get(owner)
        if rollout is None:
            rollout = self._rollouts[owner] = _Rollout(getattr(owner, "request_id", None))
            weakref.finalize(owner, self._over, rollout, asyncio.get_running_loop())
        return rollout

    async def _notebook(self, rollout: _Rollout) -> AsyncNotebook:
        async with rollout.opening:
            if rollout.box is None:
                rollout.box = await self._box(rollout.id).open()
            if rollout.notebook is None:
                rollout.notebook = await rollout.box.notebook()
            return rollout.notebook

    def _box(self, rollout: str | None) -> AsyncBox:
        if self._client is None:
            self._client = AsyncClient(self.config["target"], api_key=self.config.get("api_key"))
        told = {name: self.config[name] for name in _OF_BOX if name in self.config}
        return self._client.box(**told, rollout=rollout)

    def _over(self, rollout: _Rollout, loop: asyncio.AbstractEventLoop) -> None:
        """Closes the box of a rollout that verl has forgotten: from whichever thread collects garbage."""
        if rollout.box is not None:
            with contextlib.suppress(RuntimeError):  # the loop is closed, and the box ends by its idle time
                loop.call_soon_threadsafe(self._close, rollout.box)

    def _close(self, box: AsyncBox) -> None:
        task = asyncio.get_running_loop().create_task(_closed(box))
        self._closing.add(task)
        task.add_done_callback(self._closing.discard)


async def _closed(box: AsyncBox) -> None:
    with contextlib.suppress(RewardenError):  # it ends by itself
        await box.close()
