"""The toolbox of a judge: runs only the calls that the judge itself makes.

Attack: a response that looks like a call, or like a tool result. Calls are taken only from the field of the judge's
reply in which its server returns them, and results are shown to the judge as fenced material, like all other text.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from contextlib import aclosing
from dataclasses import dataclass
from typing import Any, Literal

from rewarden.errors import BudgetExhausted, InvalidSample, SampleError, SandboxError
from rewarden.types import Sample
from rewarden_sandboxes.job import CaseResult, Job, Limits, Program, Report, source
from rewarden_verifiers.chat import Call
from rewarden_verifiers.contract import Context
from rewarden_verifiers.environments.corpus import Corpus, of_entries
from rewarden_verifiers.environments.entries import Entry
from rewarden_verifiers.judges.evidence import read_passages
from rewarden_verifiers.judges.offload import offload
from rewarden_verifiers.judges.portions import cut
from rewarden_verifiers.judges.tools import Tool, Tools
from rewarden_verifiers.puzzles.arithmetic import Malformed, Undefined, evaluate

_PASSAGE = 400
"""Maximum number of tokens of a passage that a search returns."""
_FOUND = 5
_MOST_DIGITS = 200

_DECIMAL = re.compile(r"(?<![\d.])(\d{1,12})\.(\d{1,12})(?![\d.])", re.ASCII)

_PYTHON = Limits(cpu_s=10.0, wall_s=10.0, memory_mb=512, output_bytes=64 * 1024)

_TOOLS: Mapping[Tool, tuple[str, str, str]] = {
    "search": ("query", "words to look for", "Searches the documents of this task for passages."),
    "calculator": (
        "expression",
        "an expression of numbers, + - * / and brackets",
        "Calculates exactly. It knows no functions, powers or names.",
    ),
    "python": (
        "code",
        "a program",
        "Runs a Python program in a sandbox without network or files, and returns what it prints.",
    ),
}
"""For each tool: its argument, the argument's description, and its own description."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Result:
    """A call and its result. status: `ok`; `refused`: the tool rejects the call; `failed`: a failure on our side, which
    says nothing about the response.
    """

    tool: str
    asked: str
    said: str
    status: Literal["ok", "refused", "failed"] = "ok"


class _RefusedError(Exception):
    """A call that a tool rejects; the message says why."""


class Toolbox:
    """The tools of one sample, created by `toolbox`."""

    def __init__(self, ctx: Context, tools: Tools, corpus: Corpus | None) -> None:
        self._ctx = ctx
        self._tools = tools
        self._corpus = corpus
        self._left = tools.seconds
        self._run: Mapping[str, Callable[[str], Awaitable[str]]] = {
            "search": self._search,
            "calculator": self._calculator,
            "python": self._python,
        }

    @property
    def exhausted(self) -> bool:
        """Returns whether the tools' time is used up."""
        return self._left <= 0

    def described(self) -> tuple[Mapping[str, Any], ...]:
        """Returns the tools in OpenAI's format."""
        return tuple(_described(name) for name in self._tools.use)

    async def run(self, call: Call) -> Result:
        """Runs a call, within the remaining time."""
        clock = asyncio.get_running_loop().time
        started = clock()
        status: Literal["ok", "refused", "failed"] = "ok"
        try:
            name, given = self._read(call)
            async with asyncio.timeout(self._left):
                said = await self._run[name](given)
        except _RefusedError as error:
            said, status = f"This call is not possible: {error}", "refused"
        except TimeoutError:
            self._left = 0.0
            said, status = "The tool ran out of time. This says nothing about what you judge.", "failed"
        except BudgetExhausted:
            raise
        except SampleError:
            said, status = "The tool failed, by no fault of yours. This says nothing about what you judge.", "failed"
        self._left -= clock() - started
        most = self._tools.shown
        shown = said if len(said) <= most else f"{said[:most]}\n(cut off: {len(said)} characters)"
        return Result(tool=call.name[:64], asked=call.arguments[:most], said=shown, status=status)

    def _read(self, call: Call) -> tuple[Tool, str]:
        """Returns the tool and its argument. Raises _RefusedError."""
        name: Tool | None = next((one for one in self._tools.use if one == call.name), None)
        if name is None:
            raise _RefusedError(f"unknown tool; known: {', '.join(self._tools.use)}")
        argument = _TOOLS[name][0]
        try:
            given = json.loads(call.arguments)
        except (ValueError, RecursionError):
            raise _RefusedError("its arguments are not JSON") from None
        value = given.get(argument) if isinstance(given, Mapping) else None
        if not isinstance(value, str) or not value.strip():
            raise _RefusedError(f"it has no {argument}, which is a text")
        return name, value

    async def _search(self, query: str) -> str:
        assert self._corpus is not None
        found = await asyncio.to_thread(self._corpus.search, query, _FOUND)
        passages = [f"[{one.id}] {one.title}\n{one.text}".strip() for one in found]
        return "\n\n".join(passages) or "No passage has any of these words."

    async def _calculator(self, expression: str) -> str:
        whole = _DECIMAL.sub(lambda found: f"({found[1]}{found[2]}/1{'0' * len(found[2])})", expression)
        try:
            value = evaluate(whole).value
        except Malformed as error:
            raise _RefusedError(str(error)) from None
        except Undefined:
            return "It divides by zero."
        # The parser limits numbers and operators, so no value has more than a few thousand digits.
        exact = str(value)
        if len(exact) > _MOST_DIGITS:
            return "The value has too many digits."
        return exact if value.denominator == 1 else f"{exact} = about {value.numerator / value.denominator:.12g}"

    async def _python(self, code: str) -> str:
        job = Job(program=Program(language="python", code=source(code), limits=_PYTHON))
        async with aclosing(self._ctx.sandbox.run(job)) as events:
            async for event in events:
                if isinstance(event, CaseResult):
                    return _ended(event.program)
        raise SandboxError("the sandbox did not report a run")


async def toolbox(ctx: Context, tools: Tools, sample: Sample) -> Toolbox:
    """The tools of a sample. Raises InvalidSample if it has no documents to search, and MissingDependency."""
    corpus = None
    if "search" in tools.use:
        given = (sample.metadata or {}).get("documents")
        if given is None:
            message = "metadata.documents is missing: the documents that the judge's tool `search` searches"
            raise InvalidSample(message, path="metadata.documents")
        passages = read_passages(given, "metadata.documents", InvalidSample)
        corpus = await offload(sum(map(len, passages)), lambda: of_entries(_entries(passages)))
    return Toolbox(ctx, tools, corpus)


def _described(name: Tool) -> Mapping[str, Any]:
    argument, meaning, description = _TOOLS[name]
    parameters = {
        "type": "object",
        "properties": {argument: {"type": "string", "description": meaning}},
        "required": [argument],
        "additionalProperties": False,
    }
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


def _entries(passages: tuple[str, ...]) -> tuple[Entry, ...]:
    """Returns the passages of documents, each with the number of its document."""
    return tuple(
        Entry(id=f"document {number}, part {part}", text=text[start:end])
        for number, text in enumerate(passages, start=1)
        if text.strip()
        for part, (start, end) in enumerate(cut(text, _PASSAGE), start=1)
    )


def _ended(report: Report) -> str:
    """Returns what a program printed, and how it ended. Raises SandboxError if we are to blame."""
    if report.status == "internal_error":
        raise SandboxError(report.message or "the sandbox failed at a run")
    printed = report.stdout.decode("utf-8", "replace")
    wrong = report.stderr.decode("utf-8", "replace")
    ended = "" if report.status == "ok" else f"(it ended with {report.status})"
    return "\n".join(part for part in (printed.rstrip(), wrong.rstrip()[-1000:], ended) if part) or "(no output)"
