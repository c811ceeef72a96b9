"""Episodes in a box: the actions run programs, use a notebook, and read and write files; a verdict is the reward.

`box` is a box of any image; the verifier that the caller chose at the start judges its `submit`. `task` is the box of a
task folder; its instruction is the first observation, and its tests judge each `submit`. The box belongs to the key
(`rewarden_server.boxes`), with the usual quota, lifetimes and audit entries; this module only maps actions to calls on
boxes. Whatever a program writes is read as text only. Rewards come from verdicts and from nothing else.
"""

from __future__ import annotations

import contextlib
import json
import posixpath
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from rewarden.boxes.call import BoxCall
from rewarden.boxes.notebook_tool import reply_of
from rewarden.boxes.types import BoxRequest, CellResult, ScoreRequest
from rewarden.boxes.wire import answer, to_json
from rewarden.errors import (
    BoxEnded,
    Forbidden,
    InternalError,
    InvalidRequest,
    NotebookEnded,
    NotFound,
    RequestError,
    TooLarge,
)
from rewarden.types import Verdict
from rewarden.wire.json import verdict_from_json, verdict_to_json
from rewarden_server.access.caller import charged
from rewarden_server.boxes.box import Box
from rewarden_server.boxes.requests import request_of
from rewarden_server.boxes.scoring import check_use, judges_boxes
from rewarden_server.environments.live import Ended, Place, Seen, error_of
from rewarden_verifiers.environments.contract import MOST_OBSERVED, MOST_STEPS, function_schema

if TYPE_CHECKING:
    from rewarden_server.boxes.desk import Desk
    from rewarden_server.service import Service

NAMES: Mapping[str, str] = {
    "box": "A sandbox in which the policy works; a verifier that the caller chooses judges the result.",
    "task": "A task folder: the policy works in its environment, and its tests judge the result.",
}
"""The names of these environments, with their descriptions."""

_OWN = ("max_steps", "timeout_s", "score")
_MAX_STEPS = 100
EXPIRED = "box_expired"
"""The verdict's reason, and the observation's error, if the policy used up the lifetime of its box."""

_MARGIN_S, _LEAST_S = 5.0, 0.01
"""The part of a box's lifetime that stays reserved for a submission after the last program, and the minimum for that
program, in seconds."""

_MOST_READ = 4 * MOST_OBSERVED
"""The number of bytes to read of a file: enough to show as many characters as of an output."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BoxTool:
    """A kind of action. arguments: maps names to meanings; all are required strings."""

    name: str
    meaning: str
    arguments: Mapping[str, str] = field(default_factory=dict)

    def schema(self) -> dict[str, Any]:
        """The tool in the form that chat templates take."""
        return function_schema(self.name, self.meaning, self.arguments)


TOOLS: tuple[BoxTool, ...] = (
    BoxTool(name="exec", meaning="Run a shell command.", arguments={"command": "The command line."}),
    BoxTool(
        name="python",
        meaning="Run a cell in a Python notebook. Variables stay between cells.",
        arguments={"code": "The cell."},
    ),
    BoxTool(name="read", meaning="Read a file.", arguments={"path": "The file."}),
    BoxTool(
        name="write",
        meaning="Write a file, in place of the one before it.",
        arguments={"path": "The file.", "text": "Its whole content."},
    ),
    BoxTool(name="submit", meaning="Say that the work is done."),
)
_TOOLS = {tool.name: tool for tool in TOOLS}


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """A caller's request for an episode. timeout_s: limit for each program and cell, in seconds of CPU time and in
    seconds of idle time. instructions, scores and steps: one entry for each submission, in order; a score of None asks
    for no verdict, and an empty step has no files of its own."""

    box: BoxRequest
    seed: int | None
    max_steps: int
    timeout_s: float
    cwd: str | None
    instructions: tuple[str, ...]
    scores: tuple[ScoreRequest | None, ...]
    steps: tuple[str, ...] = ("",)


@dataclass(eq=False, slots=True)
class BoxedEpisode(Place):
    """A place for one episode in a box at a time. notebook: its number in the box, once the policy has used it.
    verdicts: those of the submissions so far. judging: the work was submitted and has no verdict yet. laid: the number
    of submissions whose step's files are in the box. life_s: seconds from the first observation to the end of the box.
    Of these, spent_s: the policy's programs and cells ran or were idle, as measured by the host; waited_s: there was no
    call; until_s: had passed at the last answer."""

    start: Start | None = None
    box: Box | None = None
    notebook: int | None = None
    step_count: int = 0
    verdicts: list[Verdict] = field(default_factory=list)
    submitted: int = 0
    judging: bool = False
    laid: int = 1
    life_s: float = 0.0
    spent_s: float = 0.0
    waited_s: float = 0.0
    until_s: float = 0.0

    @property
    def begun(self) -> bool:
        """True once an episode has started in it."""
        return self.start is not None

    @property
    def kept(self) -> bool:
        """True while it must not be forgotten. An open box ends when its own times are up."""
        return self.in_use or (self.box is not None and self.box.reason is None)

    @property
    def done(self) -> bool:
        """True if the episode has ended."""
        return self.start is not None and self.submitted == len(self.start.scores)

    def state(self) -> dict[str, Any]:
        """The state that a trainer sees. `box` is the id for using the box alongside the episode."""
        start, box = self.start, self.box
        return {
            "episode_id": self.id,
            "step_count": self.step_count,
            "environment": self.environment,
            "done": self.done,
            "return": sum(_reward_of(each) or 0.0 for each in self.verdicts),
            "seed": start.seed if start is not None else None,
            "task": start.box.task if start is not None else None,
            "box": box.id if box is not None else None,
            "ended": box.reason if box is not None else None,
            "submissions": len(start.scores) if start is not None else 0,
            "verdicts": [verdict_to_json(each) for each in self.verdicts],
        }

    async def reset(self, service: Service, desk: Desk, seed: int | None, options: Mapping[str, Any]) -> Seen:
        """Starts an episode in a new box, and closes the previous one. Raises RequestError."""
        async with self.busy:
            start = _start_of(service, self.environment, seed, options)
            await self.leave(desk)
            self.start, self.notebook, self.step_count = None, None, 0
            self.verdicts, self.submitted, self.judging, self.laid = [], 0, False, 1
            told = await desk.open(BoxCall(operation="open", value=to_json(start.box)))
            self.box, self.start = desk.box(told["id"], "read"), start
            self.life_s, self.spent_s, self.waited_s, self.until_s = desk.left_s(self.box), 0.0, 0.0, 0.0
            return Seen({"text": start.instructions[0]}, None, False)

    async def step(self, desk: Desk, action: Mapping[str, Any]) -> Seen:
        """Takes an action. After an error the step does not count, but its effects may have happened. Raises
        RequestError, Ended."""
        async with self.busy:
            start, box = self.start, self.box
            if start is None or box is None or self.done:
                raise Ended("the episode has ended: reset" if start else "there is no episode: reset first")
            self.waited_s += self._passed(desk, box) - self.until_s
            try:
                return await self._act(desk, start, box, action)
            except BoxEnded as error:
                ended = error
            finally:
                self.spent_s += desk.counted_s
                self.until_s = self._passed(desk, box)
            return self._expired(start, ended)

    async def _act(self, desk: Desk, start: Start, box: Box, action: Mapping[str, Any]) -> Seen:
        desk.box(box.id, "exec")  # attack: a lost box, whose errors would be taken for the policy's
        await self._begin(desk, start, box)
        try:
            tool, arguments = _read(action)
        except _Malformed as mistake:
            self._check_work()
            with charged(1):
                seen = _mistake("malformed", str(mistake))
        else:
            if tool == "submit":
                seen = await self._submit(desk, start, box)
            elif self.step_count >= start.max_steps:
                self._check_work()
                with charged(1):
                    return _mistake("no_steps_left", "No steps are left: submit.")
            else:
                self._check_work()
                seen = Seen(await self._observed(desk, start, box, tool, arguments), None, False)
        self.step_count += 1
        return seen

    async def _begin(self, desk: Desk, start: Start, box: Box) -> None:
        """Copies the files of a new step into the box, before its first action: an action that fails here can be sent
        again, but a submission with a verdict cannot. Raises RequestError."""
        if self.laid <= self.submitted:
            if step := start.steps[self.submitted]:
                await desk.step(BoxCall(operation="step", box=box.id, value={"step": step}))
            self.laid = self.submitted + 1

    def _passed(self, desk: Desk, box: Box) -> float:
        """Returns the part of the box's lifetime that has passed, in seconds."""
        return min(self.life_s, self.life_s - desk.left_s(box))

    def _expired(self, start: Start, ended: BoxEnded) -> Seen:
        """Ends an episode whose policy used up its box. Raises BoxEnded if the policy did not cause the end, with the
        fault of whoever used most of the time.

        Attack: a policy that sees no way to a reward sleeps until its box expires, which leaves no verdict. Only time
        that the host measured in its programs counts against it: neither a pause of the trainer's nor a host that
        stands still. No program runs to the end of the box (`_patience`), so that the last one is measured as well.
        """
        if ended.details.get("reason") != "expired":
            raise ended
        ours_s = self.life_s - self.spent_s - self.waited_s
        took = (
            f"of its {self.life_s:.0f} s the policy's programs took {self.spent_s:.0f}, waiting for calls "
            f"{max(0.0, self.waited_s):.0f}, and this server {max(0.0, ours_s):.0f}"
        )
        if self.judging:  # the work had been submitted in time
            raise BoxEnded(
                f"the box expired before a submission had a verdict: {took}", reason="expired", fault="infra"
            )
        if self.spent_s <= self.life_s / 2:
            fault = "infra" if ours_s > self.waited_s else "caller"
            raise BoxEnded(f"the box expired: {took}; ask for a longer ttl_s", reason="expired", fault=fault)
        verdict = Verdict(
            status="scored",
            score=0.0,
            passed=False,
            reason=EXPIRED,
            fault="policy",
            feedback=f"the box expired: {took}",
        )
        left = start.scores[self.submitted :]
        self.verdicts += [verdict for asked in left if asked is not None]
        self.submitted = len(start.scores)
        reward = 0.0 if any(asked is not None for asked in left) else None
        return Seen({"text": "The time of the box is over.", "error": EXPIRED}, reward, True)

    def _patience(self, desk: Desk, start: Start, box: Box) -> float:
        """Returns the time limit of a program or a cell, in seconds, such that it ends before its box does."""
        left_s = max(0.0, desk.left_s(box))
        return max(_LEAST_S, min(start.timeout_s, left_s - min(_MARGIN_S, left_s / 4)))

    async def leave(self, desk: Desk) -> None:
        """Closes the box, if there is one."""
        box, self.box = self.box, None
        if box is not None:
            with contextlib.suppress(NotFound):
                await desk.close(BoxCall(operation="close", box=box.id))

    def _check_work(self) -> None:
        """Raises Ended while a submission has no verdict. Attack: a policy learns why its submission failed, and goes
        on working."""
        if self.judging:
            raise Ended("the submission has no verdict yet: submit again, or reset")

    async def _submit(self, desk: Desk, start: Start, box: Box) -> Seen:
        """Judges the contents of the box. If the verdict cannot be trusted, the same work can be submitted again."""
        asked = start.scores[self.submitted]
        reward = None
        if asked is not None:
            self.judging = True
            verdict = verdict_from_json(await desk.score(BoxCall(operation="score", box=box.id, value=to_json(asked))))
            if verdict.status != "scored":
                raise error_of(verdict)
            self.verdicts.append(verdict)
            reward = _reward_of(verdict)
        self.submitted, self.judging = self.submitted + 1, False
        if not self.done:
            return Seen({"text": start.instructions[self.submitted]}, reward, False)
        with contextlib.suppress(RequestError):  # an error while closing does not change the verdict
            await desk.close(BoxCall(operation="close", box=box.id))
        return Seen({"text": "Submitted."}, reward, True)

    async def _observed(
        self, desk: Desk, start: Start, box: Box, tool: str, arguments: Mapping[str, str]
    ) -> dict[str, Any]:
        """The observation of an action in the box. Refusals by the box are the policy's mistakes. Raises RequestError
        for everything else."""
        try:
            match tool:
                case "exec":
                    return await self._exec(desk, start, box, arguments["command"])
                case "python":
                    return await self._cell(desk, start, box, arguments["code"])
                case "read":
                    with charged(1):
                        return await _content(desk, box, _placed(start, arguments["path"]))
                case _:
                    path = _placed(start, arguments["path"])
                    call = BoxCall(operation="write", box=box.id, path=path, content=arguments["text"].encode())
                    with charged(1):
                        await desk.write(call)
                    return {"text": "Written."}
        except (InvalidRequest, NotFound, Forbidden, TooLarge) as error:
            if str(error.details.get("path", "")).startswith("limits."):  # the caller's fault, as for all limits
                raise InvalidRequest(f"timeout_s: {error.message}", path="timeout_s") from None
            return {"text": _cut(error.message), "error": "refused"}

    async def _exec(self, desk: Desk, start: Start, box: Box, command: str) -> dict[str, Any]:
        limits = dict.fromkeys(("cpu_s", "wall_s"), self._patience(desk, start, box))
        value = {"shell": command, "limits": limits, **({"cwd": start.cwd} if start.cwd else {})}
        told = await desk.exec(BoxCall(operation="exec", box=box.id, value=value))
        if told["status"] == "internal_error":
            raise InternalError(told.get("message") or "the sandbox failed", fault="infra")
        stdout, stderr = told.get("stdout", ""), told.get("stderr", "")
        apart = "\n" if stdout and stderr and not stdout.endswith("\n") else ""
        seen = {"text": _cut(f"{stdout}{apart}{stderr}"), "status": told["status"]}
        return {**seen, **{name: told[name] for name in ("exit_code", "signal", "limit") if told.get(name) is not None}}

    async def _cell(self, desk: Desk, start: Start, box: Box, code: str) -> dict[str, Any]:
        if self.notebook is None:
            given = {"cwd": start.cwd} if start.cwd else {}
            try:
                told = await desk.notebook(BoxCall(operation="notebook", box=box.id, value=given))
            except NotebookEnded as error:
                return _lost(error)
            self.notebook = told["notebook"]
        value = {"code": code, "timeout_s": self._patience(desk, start, box)}
        try:
            call = BoxCall(operation="cell", box=box.id, number=self.notebook, value=value)
            result = answer(CellResult, await desk.cell(call))
        except NotebookEnded as error:
            self.notebook = None
            return _lost(error)
        except NotFound:  # ended by another call with this key
            self.notebook = None
            raise
        if result.over:
            self.notebook = None
        return {"text": reply_of(result), "status": result.status}


class _Malformed(ValueError):
    """An action that does not have the form of any tool."""


def _read(action: Mapping[str, Any]) -> tuple[str, Mapping[str, str]]:
    """The tool and the arguments of an action. The caller makes the object, and the policy its contents. Raises
    InvalidRequest, _Malformed."""
    unknown = next((name for name in action if name not in ("tool", "arguments", "metadata")), None)
    name, arguments = action.get("tool"), action.get("arguments", {})
    if unknown is not None or not isinstance(name, str):
        raise InvalidRequest("action: must be an object with tool, a string, and arguments", path="action.tool")
    tool = _TOOLS.get(name)
    if tool is None:
        raise _Malformed(f"There is no tool {name[:40]!r}; the tools are {', '.join(_TOOLS)}.")
    if isinstance(arguments, str):
        try:
            arguments = json.loads(arguments)
        except (ValueError, RecursionError):
            raise _Malformed("The arguments are not JSON.") from None
    if arguments is None and not tool.arguments:
        arguments = {}
    if not isinstance(arguments, dict) or arguments.keys() != tool.arguments.keys():
        raise _Malformed(f"The arguments of {name} are {', '.join(tool.arguments) or 'none'}.")
    for argument, value in arguments.items():
        if not isinstance(value, str) or "\0" in value or not _encodes(value):
            raise _Malformed(f"The argument {argument} must be a string.")
    return name, arguments


def _encodes(text: str) -> bool:
    """False for a text with a lone surrogate, which JSON can contain and UTF-8 cannot."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _start_of(service: Service, environment: str, seed: int | None, options: Mapping[str, Any]) -> Start:
    """Raises InvalidRequest, NotFound for an unknown task."""
    own = {name: options[name] for name in _OWN if options.get(name) is not None}
    given = {name: value for name, value in options.items() if name not in _OWN}
    max_steps, timeout_s = own.get("max_steps", _MAX_STEPS), own.get("timeout_s", service.boxes.settings.cell_s)
    if type(max_steps) is not int or not 1 <= max_steps <= MOST_STEPS:
        raise InvalidRequest(f"max_steps: must be a whole number from 1 to {MOST_STEPS}", path="max_steps")
    most = service.boxes.settings.ttl_s_max
    if type(timeout_s) not in (int, float) or not 0 < timeout_s <= most:
        raise InvalidRequest(f"timeout_s: must be above 0 and at most {most:g} (boxes.ttl_s_max)", path="timeout_s")
    box = request_of(BoxRequest, given)
    if environment == "box":
        if box.task is not None:
            raise InvalidRequest("task: use the environment task", path="task")
        score = None if own.get("score") is None else request_of(ScoreRequest, own["score"])
        if score is not None:
            judges_boxes(service, check_use(service, score))  # refuse an unknown verifier now rather than at the end
        return Start(
            box=box,
            seed=seed,
            max_steps=max_steps,
            timeout_s=timeout_s,
            cwd=None,
            instructions=("",),
            scores=(score,),
        )
    if box.task is None:
        raise InvalidRequest("task: is missing; give the id of a task of this server", path="task")
    if "score" in own:
        raise InvalidRequest("score: a task is judged by its tests; leave it out", path="score")
    try:
        task = service.boxes.task(box.task)
    except NotFound as error:
        raise InvalidRequest(f"task: {error.message}", path="task") from None
    return Start(
        box=box,
        seed=seed,
        max_steps=max_steps,
        timeout_s=timeout_s,
        cwd=task.environment.workdir,
        instructions=tuple(step.instruction for step in task.steps),
        scores=tuple(_judged(step.name) for step in task.steps),
        steps=tuple(step.name if step.laid else "" for step in task.steps),
    )


def _reward_of(verdict: Verdict) -> float | None:
    return None if verdict.exclude else verdict.score


def _judged(step: str) -> ScoreRequest:
    return ScoreRequest(use={"name": "task", "params": {"step": step}} if step else "task")


def _placed(start: Start, path: str) -> str:
    return posixpath.join(start.cwd, path) if start.cwd else path


async def _content(desk: Desk, box: Box, path: str) -> dict[str, Any]:
    data = bytearray()
    async with contextlib.aclosing(desk.read(BoxCall(operation="read", box=box.id, path=path))) as pieces:
        async for piece in pieces:
            data += piece
            if len(data) > _MOST_READ:
                break
    return {"text": _cut(data.decode(errors="replace"))}


def _mistake(kind: str, text: str) -> Seen:
    return Seen({"text": text, "error": kind}, None, False)


def _lost(error: NotebookEnded) -> dict[str, Any]:
    """The observation if the policy ended its notebook. Raises NotebookEnded if we lost it."""
    if error.details.get("fault") == "infra":
        raise error
    return {"text": _cut(error.message), "error": "notebook_ended"}


def _cut(text: str) -> str:
    if len(text) <= MOST_OBSERVED:
        return text
    half = MOST_OBSERVED // 2
    return f"{text[:half]}\n[{len(text) - 2 * half} characters left out]\n{text[-half:]}"
