"""The lean lane: sends texts to warm Lean processes, and compilations to separate rooms.

Other code decides what to trust: after a process has run a submission, its output may be the submission's. This lane
prevents one text from affecting the next: a process is not used again after a text that may have run code, nor after
any limit or death, nor for an unlimited number of texts. A text that brings down a process which others had used is
tried once more in a process of its own.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any

from rewarden.errors import InvalidSample, SampleError, SandboxError
from rewarden_sandboxes.job import Case, CaseResult, Job, Limits, Program, Report, source
from rewarden_sandboxes.lean import compile_language, worker_language
from rewarden_server.engine.lanes.sandbox import SandboxLane
from rewarden_server.engine.observer import Observer
from rewarden_server.lean import printed
from rewarden_server.lean.goals import Places, places
from rewarden_server.lean.kept import Kept
from rewarden_server.lean.pool import Held, Key, Pool
from rewarden_server.lean.process import Bounds, Ended, Process
from rewarden_server.lean.projects import Projects
from rewarden_server.lean.protocol import Diagnostic
from rewarden_server.lean.remote import Kimina
from rewarden_server.lean.settings import LeanSettings
from rewarden_server.lean.source_map import INFOTREE, SourceMap
from rewarden_server.observe.logs import get_logger
from rewarden_verifiers.lean.source import Header, runs_code, split_header
from rewarden_verifiers.provers import Checked, CheckStatus, Compiled, Message, Project, Snippet

_log = get_logger("lean")

_OUTPUT_BYTES = 8 * 1024**2
"""The default limit on the bytes of one text's messages."""

_LOADING = Bounds(cpu_s=600.0, wall_s=300.0, output_bytes=_OUTPUT_BYTES)
"""The limits for loading a header. That time counts for no text, and a cold disk can be slow."""

_WORN = 0.75
"""A process that holds this share of its memory limit after a text is replaced by a new one."""

_LARGE = 1 << 14
"""Texts of at least this many characters are read on a thread, because each of their words is examined."""

_REFUSED_HEADERS = 256
_KNOWN_AXIOMS = 100_000
_ASKED_AT_ONCE = 25
"""Constants whose axioms are requested in one text: for each, Lean walks through all its dependencies, in Mathlib for
up to a second, and a text has a limit."""

_COMPILED: Mapping[str, CheckStatus] = {
    "ok": "ok",
    "time_limit": "time_limit",
    "memory_limit": "memory_limit",
    "output_limit": "output_limit",
}


class _NoHeader(Exception):
    """The imports cannot be loaded. The text is to blame, and Lean has given the reason."""

    def __init__(self, messages: tuple[Message, ...]) -> None:
        super().__init__()
        self.messages = messages


@dataclass(frozen=True, slots=True, kw_only=True)
class _Words:
    """The facts that are read from a snippet's text before it reaches a process. header: its import lines,
    canonical."""

    header: str
    places: Places
    runs_code: bool

    @classmethod
    def of(cls, snippet: Snippet) -> _Words:
        header = split_header(snippet.text)
        sheet = SourceMap(snippet.text, header, INFOTREE if snippet.infotree else "")
        asked = places(sheet, header.body, sorries=snippet.sorries, tactics=snippet.tactics)
        return cls(header=header.text, places=asked, runs_code=runs_code(snippet.text))


class LeanLane:
    """A `rewarden_verifiers.provers.Prover`. Used on one loop."""

    def __init__(self, settings: LeanSettings, sandbox: SandboxLane, observer: Observer) -> None:
        self.settings = settings
        self._sandbox = sandbox
        self._observer = observer
        self.projects = Projects(settings)
        self._remotes: dict[str, Kimina] = {}
        self._pool = Pool(settings.processes, self._start, self._tell)
        self._kept = Kept(settings.kept_mb * 1024**2)
        self._refused: OrderedDict[Key, tuple[Message, ...]] = OrderedDict()
        self._axioms: OrderedDict[tuple[str, str, str], tuple[str, ...] | None] = OrderedDict()
        self._warm: set[Key] = set()
        self._warming: set[asyncio.Task[None]] = set()
        self._closed = False

    def start(self) -> None:
        """Begins to load the headers of `settings.warm`; returns at once. Failures are logged."""
        for project, imports in self.settings.warm.items():
            key = Key(project=project, header=split_header(imports).text)
            self._warm.add(key)
            self._heat(key)

    async def close(self) -> None:
        """Ends all processes. Callers that wait for one get SandboxError. Closing twice has no effect."""
        self._closed = True
        for task in list(self._warming):
            task.cancel()
        await asyncio.gather(*self._warming, return_exceptions=True)
        await self._pool.close()
        for remote in self._remotes.values():
            await remote.close()

    async def status(self) -> dict[str, Any]:
        """Returns the projects, with their problems, and the processes; ready for JSON. Never raises."""
        headers = [{"project": key.project, "header": key.header} for key in self._pool.idle]
        return {
            "projects": await asyncio.to_thread(self.projects.told),
            "processes": {
                "most": self._pool.most,
                "alive": self._pool.alive,
                "idle": len(headers),
                "waiting": self._pool.waiting,
            },
            "headers": headers,
        }

    # --- projects -----------------------------------------------------------------------------------------------

    def project(self, name: str | None) -> Project:
        """See `Prover.project`."""
        return self.projects.find(name)

    def _local(self, name: str) -> Project:
        project = self.project(name)
        if project.kind != "local":
            raise InvalidSample(
                f"params.project: the project {project.name!r} is a remote server, which can only check",
                path="params.project",
            )
        return project

    # --- the fast tier ------------------------------------------------------------------------------------------

    async def check(self, snippet: Snippet) -> Checked:
        """See `Prover.check`."""
        project = self.project(snippet.project)
        if project.kind == "remote":
            checked = await self._remote(project).check(snippet)
        else:
            checked = await self._check(project, snippet)
        self._observer.program_ended(worker_language(project.name), checked.status, checked.wall_s)
        return checked

    async def _check(self, project: Project, snippet: Snippet) -> Checked:
        if len(snippet.text) < _LARGE:
            words = _Words.of(snippet)
        else:
            words = await asyncio.to_thread(_Words.of, snippet)
        key = Key(project=project.name, header=words.header)
        try:
            if key in self._refused:
                raise _NoHeader(self._refused[key])
            for last in (False, True):
                checked = await self._tried(key, snippet, words, last=last)
                if checked is not None:
                    return checked
            raise SandboxError("a text was tried twice without a result")
        except _NoHeader as refusal:
            return Checked(status="ok", messages=refusal.messages)

    async def _tried(self, key: Key, snippet: Snippet, words: _Words, *, last: bool) -> Checked | None:
        """Returns the result of one process; None if a failure may be the process's fault, unless this was the last
        try."""
        sheet = words.places.sheet
        try:
            async with self._pool.process(key, alone=snippet.alone or last) as held:
                process, used = held.process, held.process.texts > 0
                try:
                    goals = await process.elaborate(sheet.sent, self._bounds(snippet.limits), words.places.asks())
                except Ended as end:
                    held.spent = True
                    if used and not last and end.status in ("crashed", "memory_limit"):
                        return None
                    return _checked(sheet, snippet, held, end)
                except SandboxError:  # its room was lost: with its host, as all that idled there, or alone
                    if last or (held.new and not process.host_lost):
                        raise
                    held.spent = True
                    return None
                held.spent = snippet.alone or words.runs_code or self._worn(process)
                sorries, tactics = words.places.read(goals)
                return replace(_checked(sheet, snippet, held, None), sorries=sorries, tactics=tactics)
        finally:
            self._replace(key)

    def _worn(self, process: Process) -> bool:
        held = process.memory or 0
        return process.texts >= self.settings.snippets or held > _WORN * self.settings.memory_mb * 1024**2

    def _bounds(self, limits: Limits) -> Bounds:
        return Bounds(
            cpu_s=limits.cpu_s if limits.cpu_s is not None else self.settings.cpu_s,
            wall_s=limits.wall_s if limits.wall_s is not None else self.settings.wall_s,
            output_bytes=limits.output_bytes if limits.output_bytes is not None else _OUTPUT_BYTES,
        )

    def _remote(self, project: Project) -> Kimina:
        found = self._remotes.get(project.name)
        if found is None:
            address = self.projects.address(project.name) or project.identity
            found = self._remotes[project.name] = Kimina(address, self.settings.kimina_key)
        return found

    # --- processes ----------------------------------------------------------------------------------------------

    async def _start(self, key: Key) -> Process:
        """Returns a process that has loaded a header; tries once more if its host is lost. Raises _NoHeader and
        SandboxError."""
        process = await self._begun(key)
        try:
            return await self._loaded(key, process)
        except SandboxError:
            if not process.host_lost:
                raise
        return await self._loaded(key, await self._begun(key))

    async def _begun(self, key: Key) -> Process:
        return Process(await self._sandbox.session(Program(language=worker_language(key.project), code=b"")))

    async def _loaded(self, key: Key, process: Process) -> Process:
        """Returns the process with its header; closes it if the header fails. Raises _NoHeader, SandboxError."""
        whole = False
        try:
            await process.open(key.header, _LOADING)
            if process.fatal:
                sheet = SourceMap(key.header, Header((), 0))
                messages = _sorted(diagnostic.placed(sheet) for diagnostic in process.diagnostics)
                self._refused[key] = messages
                while len(self._refused) > _REFUSED_HEADERS:
                    self._refused.popitem(last=False)
                raise _NoHeader(messages)
            whole = True
        except Ended as end:
            raise SandboxError(f"the imports of a text of project {key.project!r} were not loaded: {end}") from None
        finally:
            if not whole:
                await process.close()
        return process

    def _replace(self, key: Key) -> None:
        """Keeps the configured headers loaded, whatever texts did to their processes."""
        if key in self._warm and key not in self._pool.idle and not self._pool.waiting:
            self._heat(key)

    def _heat(self, key: Key) -> None:
        if not self._closed:
            task = asyncio.ensure_future(self._heated(key))
            self._warming.add(task)
            task.add_done_callback(self._warming.discard)

    async def _heated(self, key: Key) -> None:
        try:
            self._local(key.project)
            async with self._pool.process(key):
                pass
        except SampleError as error:
            _log.warning("header_not_loaded", project=key.project, header=key.header, problem=error.message)
        except _NoHeader as refusal:
            problem = "; ".join(message.text for message in refusal.messages)
            _log.warning("header_not_loaded", project=key.project, header=key.header, problem=problem)

    def _tell(self) -> None:
        self._observer.lean(self._pool.alive, len(self._pool.idle), self._pool.waiting)

    # --- axioms -------------------------------------------------------------------------------------------------

    async def axioms(self, project: str, header: str, names: Sequence[str]) -> Mapping[str, tuple[str, ...] | None]:
        """See `Prover.axioms`."""
        found = self._local(project)
        key = Key(project=found.name, header=split_header(header).text, trusted=True)
        told: dict[str, tuple[str, ...] | None] = {}
        missing: dict[str, str] = {}
        for name in dict.fromkeys(names):
            kept = (found.identity, key.header, name)
            source = printed.as_source(name)
            if kept in self._axioms:
                self._axioms.move_to_end(kept)
                told[name] = self._axioms[kept]
            elif source is None:
                told[name] = None
            else:
                missing[name] = source
        for begin in range(0, len(missing), _ASKED_AT_ONCE):
            part = dict(list(missing.items())[begin : begin + _ASKED_AT_ONCE])
            for name, axioms in (await self._asked(key, part)).items():
                told[name] = self._axioms[found.identity, key.header, name] = axioms
        while len(self._axioms) > _KNOWN_AXIOMS:
            self._axioms.popitem(last=False)
        return told

    async def _asked(self, key: Key, names: Mapping[str, str]) -> dict[str, tuple[str, ...] | None]:
        """Returns the axioms of constants, by name; names: their sources."""
        # `_root_`: otherwise a short name that the imports gave to another constant would match too.
        text = key.header + "".join(f"#print axioms _root_.{source}\n" for source in names.values())
        header = split_header(text)
        sheet = SourceMap(text, header)
        try:
            said = await self._said_of(key, sheet, last=False)
            if said is None:
                said = await self._said_of(key, sheet, last=True)
        except Ended as end:
            raise SandboxError(f"Lean did not print which axioms the constants depend on: {end}") from None
        except _NoHeader:
            return dict.fromkeys(names)
        first = len(header.imports) + 1
        by_line = {message.start.line - first: message.text for message in said or () if message.severity == "info"}
        return {name: printed.axioms(by_line.get(line, "")) for line, name in enumerate(names)}

    async def _said_of(self, key: Key, sheet: SourceMap, *, last: bool) -> list[Message] | None:
        """Returns Lean's messages on a text of ours; None if its host may have been lost, unless this was the last
        try."""
        async with self._pool.process(key, alone=last) as held:
            try:
                await held.process.elaborate(sheet.sent, self._bounds(Limits()))
            except SandboxError:
                if last or (held.new and not held.process.host_lost):
                    raise
                held.spent = True
                return None
            held.spent = self._worn(held.process)
            return [diagnostic.placed(sheet) for diagnostic in held.process.diagnostics]

    # --- the strict tier's compilations -------------------------------------------------------------------------

    async def compile(self, project: str, text: str, limits: Limits, *, keep: bool = False) -> Compiled:
        """See `Prover.compile`."""
        found = self._local(project)
        bounds = self._bounds(limits)
        limits = replace(limits, cpu_s=bounds.cpu_s, wall_s=bounds.wall_s)
        if not keep:
            return await self._compiled(found, text, limits)
        words = (found.identity, repr(limits), text)
        key = hashlib.blake2b("\0".join(words).encode("utf-8", "surrogatepass"), digest_size=32).digest()
        return await self._kept.get(key, lambda: self._compiled(found, text, limits))

    async def _compiled(self, project: Project, text: str, limits: Limits) -> Compiled:
        job = Job(
            program=Program(language=compile_language(project.name), code=source(text), limits=limits),
            cases=(Case(),),
            collect=(_MODULE,),
        )
        report: Report | None = None
        async with aclosing(self._sandbox.run(job)) as events:
            async for event in events:
                report = event.program if isinstance(event, CaseResult) else event.report
        if report is None or report.status == "internal_error":
            why = report.message if report is not None else None
            raise SandboxError(f"a text could not be compiled: {why or 'the host returned no result'}")
        status = _COMPILED.get(report.status)
        if status is None:  # Lean exits with 1 if it has reported errors
            status = "ok" if report.exit_code == 1 and report.signal is None else "crashed"
        return Compiled(
            status=status,
            limit=report.limit,
            messages=tuple(printed.messages(report.stdout)),
            module=report.files.get(_MODULE) if status == "ok" else None,
            cpu_s=report.cpu_time,
            wall_s=report.wall_time,
        )


_MODULE = "Main.olean"


def _checked(sheet: SourceMap, snippet: Snippet, held: Held, end: Ended | None) -> Checked:
    """Returns the messages of a process on a text, and how it ended, if it did."""
    said, known = _parted(sheet, held.process.diagnostics) if snippet.infotree else (held.process.diagnostics, None)
    spent, load = held.process.spent, held.process.loading
    return Checked(
        status=end.status if end is not None else "ok",
        limit=end.limit if end is not None else None,
        messages=_sorted(diagnostic.placed(sheet) for diagnostic in said),
        infotree=known,
        cpu_s=spent.cpu_s + (load.cpu_s if held.new else 0.0),
        wall_s=spent.wall_s + (load.wall_s if held.new else 0.0),
        warm=not held.new,
        truncated=end is not None and end.status == "output_limit",
    )


def _sorted(messages: Iterable[Message]) -> tuple[Message, ...]:
    """Returns messages in the text's order: Lean elaborates proofs in parallel, and reports each when it is
    finished."""
    return tuple(sorted(messages, key=lambda each: (each.start.line, each.start.column, each.severity, each.text)))


_TREE = "[Elab.info]"


def _parted(sheet: SourceMap, diagnostics: Sequence[Diagnostic]) -> tuple[list[Diagnostic], str]:
    """Returns the messages for people, and the traces of the commands in the text's order."""
    said = [each for each in diagnostics if not each.message.startswith(_TREE)]
    known = []
    for each in diagnostics:
        if each.message.startswith(_TREE):
            with contextlib.suppress(ValueError):  # from a line of ours
                known.append(sheet.known(each.message.removeprefix(_TREE).strip()))
    return said, "\n".join(text for _, text in sorted(known))
