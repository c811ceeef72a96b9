"""A model that another engine runs: each task is prepared here like all others, and computed there."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

from rewarden_models.failure import Failure
from rewarden_models.loading import Loaded
from rewarden_models.remote.loading import Remote, engine_of
from rewarden_models.remote.protocol import Engine, named
from rewarden_models.row import Output, Row
from rewarden_models.tasks import Prepared, prepare
from rewarden_verifiers.inference import About, Classify, Facts, Logits, StepValues, Task, Write, Written
from rewarden_verifiers.judges.gather import gather


class _Served:
    """A model as its server described it at one time, and the connection to it. tasks: in progress with it."""

    def __init__(self, name: str, remote: Remote) -> None:
        self.remote = remote
        self.engine, self.connection = engine_of(name, remote.settings)
        self.tasks = 0


class RemoteEngine:
    """Like `ModelEngine`, for a model elsewhere. Created and used on one event loop."""

    def __init__(self, name: str, remote: Remote) -> None:
        self._name = name
        self._served = _Served(name, remote)
        self._old: set[_Served] = set()
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="prepare")
        self._places = asyncio.Semaphore(remote.settings.concurrency)
        self._under_way = 0
        self._done = 0

    async def run(self, task: Task[Any]) -> Any:
        """A task's result. Raises Failure."""
        self._under_way += 1
        try:
            async with self._places:
                # Read here, after the wait: queued tasks use the model that the server has now.
                served = self._served
                served.tasks += 1
                try:
                    return await self._run(task, served.remote, served.engine)
                finally:
                    served.tasks -= 1
                    await self._let_go(served)
        finally:
            self._under_way -= 1
            self._done += 1

    def about(self) -> About:
        """The facts about the model."""
        remote = self._served.remote
        loaded = remote.loaded
        return About(
            model=self._name,
            version=loaded.version,
            kinds=tuple(kind for kind in loaded.kinds if kind != "embed" or loaded.head == "encoder"),
            context=loaded.context,
            labels=loaded.labels,
            device=remote.settings.backend,
            source=loaded.source,
        )

    async def swap(self, remote: Remote) -> None:
        """Use the server's new description from now on. Tasks in progress finish with the old one, whose connection is
        then closed."""
        old = self._served
        self._served = _Served(self._name, remote)
        self._old.add(old)
        await self._let_go(old)

    def status(self) -> dict[str, Any]:
        """JSON-ready: the numbers of tasks in progress and done."""
        return {"under_way": self._under_way, "done": self._done}

    async def close(self) -> None:
        """Close connections and threads."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        await asyncio.gather(*(served.connection.close() for served in (*self._old, self._served)))

    async def _let_go(self, served: _Served) -> None:
        """Close a swapped-out connection once no task needs it. Otherwise each reload would leak up to `concurrency`
        sockets."""
        if served in self._old and not served.tasks:
            await served.connection.close()
            self._old.discard(served)

    async def _run(self, task: Task[Any], remote: Remote, engine: Engine) -> Any:
        loaded = remote.loaded
        if isinstance(task, Classify) and (task.input.pair is not None or remote.settings.task == "score"):
            return await _paired(remote, task, engine)
        prepared: Prepared = await asyncio.get_running_loop().run_in_executor(self._threads, prepare, loaded, task)
        if any(row.pixels is not None for row in prepared.rows):
            raise Failure("unsupported", f"model {self._name!r}: images are not sent to {remote.settings.backend}")
        if isinstance(task, Write):
            outputs: list[Any] = await gather(
                *(_written(loaded, task, prepared.rows[0].ids, engine, number) for number in range(task.samples))
            )
        else:
            outputs = await gather(*(_output(loaded, row, engine) for row in prepared.rows))
        made = prepared.finish(outputs)
        # For a head pooled by STEP, the number of outputs was not known at loading.
        return replace(made, labels=named(made.labels, len(made.values[0]))) if isinstance(made, StepValues) else made


async def _output(loaded: Loaded, row: Row, engine: Engine) -> Output:
    if row.targets is not None:
        return await engine.predicted(row)
    if row.reads:
        return await engine.labelled(row.ids, row.reads)
    return [await (engine.classified(row.ids) if loaded.head == "sequence" else engine.embedded(row.ids))]


async def _paired(remote: Remote, task: Classify, engine: Engine) -> Logits:
    loaded = remote.loaded
    if task.input.text is None or task.input.pair is None:
        raise Failure("unsupported", f"model {loaded.name!r} reads two texts (form: pair)")
    if remote.settings.task != "score":
        raise Failure(
            "unsupported",
            f"model {loaded.name!r} reads one text (task = 'classify'); two texts take task = 'score' and a head of "
            "one output, or our own process (backend = 'own')",
        )
    controls = loaded.reader.controls
    texts = [controls.harmless(task.input.text), controls.harmless(task.input.pair)]
    tokens = sum(loaded.reader.count(text, loaded.context) for text in texts) + 4  # [CLS] and the like
    if tokens > loaded.context:
        said = f"{tokens} tokens are more than the model's {loaded.context}"
        if task.input.fit != "error":  # not a bottom score: it was to be cut, which we cannot do for that server
            raise Failure(
                "unsupported",
                f"model {loaded.name!r}: {said}, and two texts go to its server whole (fit {task.input.fit!r}); take "
                "fit 'error', or our own process",
            )
        candidate = loaded.reader.count(controls.harmless(task.input.candidate), loaded.context)
        raise Failure("too_long", said, tokens=tokens, context=loaded.context, candidate=candidate)
    values = await engine.paired(*texts)
    neutralised = texts != [task.input.text, task.input.pair]
    facts = Facts(model=loaded.name, version=loaded.version, tokens=tokens, neutralised=neutralised)
    return Logits(values=values, labels=loaded.labels, multi=loaded.multi, facts=facts)


async def _written(loaded: Loaded, task: Write, ids: list[int], engine: Engine, number: int) -> Written:
    """One sample. A thought that exceeds its budget is closed here, and the text continues after it."""
    most = min(task.max_tokens, loaded.context - len(ids))
    more: dict[str, Any] = {
        "temperature": task.temperature,
        "top_p": task.top_p,
        "seed": task.seed + number,
        "stop": task.stop,
    }
    budget = task.thinking_tokens
    if budget is None or budget >= most:
        return await engine.written(ids, max_tokens=most, **more)
    thought = await engine.written(ids, max_tokens=max(budget, 1), **more)
    if thought.finish == "stop":
        return thought
    text = thought.text if task.close in thought.text else thought.text + task.close
    behind = loaded.reader.appended(text)[0]
    left = most - len(behind)
    if left < 1:
        return Written(text=text, finish="length", tokens=len(behind))
    rest = await engine.written([*ids, *behind], max_tokens=left, **more)
    return replace(rest, text=text + rest.text, tokens=len(behind) + rest.tokens)
