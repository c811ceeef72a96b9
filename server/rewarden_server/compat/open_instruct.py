"""open-instruct's code server: `POST /test_program` and `/test_program_stdio`, a program and its tests.

    {"program": "def add(a, b): return a + b", "tests": ["assert add(1, 2) == 3"], "max_execution_time": 1.0}
    → {"results": [1], "runtimes": [0.004]}

Read in allenai/open-instruct (2026-08-20): open_instruct/code_utils is the server, `CodeVerifier` in
open_instruct/ground_truth_utils.py the client. That client asks once, and takes 0.0 if there is no answer in time. So a
test that failed because of us is retried for as long as the client waits, and only then the answer is a 503.

Each test is a sample of the verifier `code`: assertions run in another room than the program, and expected outputs
never enter the program's room. Faulty tests are left out of both lists, so that the client computes the pass rate of
the others, and are named in `unjudged`.
"""

from __future__ import annotations

import base64
import math
import time
import zlib
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from rewarden.errors import InvalidRequest, Overloaded, TooLarge, Unavailable
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden.wire.json import loads
from rewarden_server.compat.peer_requests import Asked, asked_of, body_of, number_of, pause
from rewarden_server.http.body import unless_gone
from rewarden_server.http.replies import json_reply
from rewarden_server.service import Service, run_beside

PEER = "open_instruct"

_MODULES = (
    *(
        "string",
        "re",
        "datetime",
        "collections",
        "heapq",
        "bisect",
        "copy",
        "math",
        "random",
        "statistics",
        "itertools",
    ),
    *("functools", "operator", "io", "sys", "json"),
)
PRELUDE = "\n".join(
    (
        *(f"from {name} import *" for name in (*_MODULES, "builtins", "typing")),
        *(f"import {name}" for name in _MODULES),
        "sys.setrecursionlimit(50000)\n",
    )
)
"""The imports prepended to a program that reads stdin (`import_string`, as in LiveCodeBench): some programs rely on
them."""

JUDGE = """
import sys
from decimal import Decimal


def lines(name):
    with open(name, encoding="utf-8", errors="replace", newline="") as file:
        return [line.strip() for line in file.read().strip().split("\\n")]


def same(one, other):
    if one == other:
        return True
    one, other = one.split(), other.split()
    return len(one) == len(other) and all(Decimal(a) == Decimal(b) for a, b in zip(one, other))


try:
    got, wanted = lines(sys.argv[2]), lines(sys.argv[3])
    sys.exit(0 if len(got) == len(wanted) and all(map(same, got, wanted)) else 1)
except ArithmeticError:  # not a number, so the lines differ
    sys.exit(1)
"""
"""LiveCodeBench's comparison: by stripped lines, or as exact decimal numbers."""

_OUTPUT_BYTES = 1024**2
"""The output that a program may write beyond four times the expected output: more would only waste time."""
_MOST_OUTPUT_BYTES = 64 * 1024**2
_PAUSE_S = 1.0
_SPARE_S = 2.0
"""The time reserved for sending the answer before the client gives up, in seconds."""
_FAILED_S = -1.0
"""The time of a failed test."""

_USE = Use(name="code", params={"extraction": "whole", "completion": "always", "view": "full"})


def routes(service: Service) -> list[Route]:
    """The routes of both kinds of test, and of the probe."""

    async def test_program(request: Request) -> Response:
        return await _answer(request, service, _assertion)

    async def test_program_stdio(request: Request) -> Response:
        return await _answer(request, service, _stdio)

    async def health(request: Request) -> Response:
        return json_reply({"status": "healthy"})

    return [
        Route(f"/compat/{PEER}/test_program", test_program, methods=["POST"]),
        Route(f"/compat/{PEER}/test_program_stdio", test_program_stdio, methods=["POST"]),
        Route(f"/compat/{PEER}/health", health, methods=["GET"]),
    ]


async def _answer(request: Request, service: Service, reference_of: Callable[[Any, float, str], Any]) -> Response:
    asked = asked_of(request)
    if asked.use is not None:
        raise InvalidRequest("use: this endpoint always judges with the verifier code", path="use")
    async with body_of(request, service) as body:
        program, limit_s = body.get("program"), body.get("max_execution_time", 1.0)
        if type(program) is not str:
            raise InvalidRequest("program: must be a string", path="program")
        if type(limit_s) not in (int, float) or not 0 < limit_s < math.inf:
            raise InvalidRequest("max_execution_time: must be a number of seconds above 0", path="max_execution_time")
        tests = await _tests(body.get("tests"), service.limits.max_body_bytes)
        samples = [
            Sample(response=program, reference=reference_of(test, limit_s, f"tests[{place}]"))
            for place, test in enumerate(tests)
        ]
        verdicts = await _judged(request, service, samples, patience_s(limit_s))
        return json_reply(_summary(verdicts, asked, limit_s))


def patience_s(limit_s: float) -> float:
    """Returns the seconds that the client waits for its answer (`http_timeout`), less the time for sending it."""
    return max(30.0, min(300.0, limit_s * 10)) - _SPARE_S


# --- tests -------------------------------------------------------------------------------------------------------


async def _tests(given: Any, most: int) -> list[Any]:
    """The list of tests: as it is, as JSON text, or compressed (base64 of zlib). Raises InvalidRequest, TooLarge."""
    if not given:
        return []
    tests = await run_beside(partial(_unpacked, given, most), len(given)) if type(given) is str else given
    if type(tests) is not list:
        raise InvalidRequest("tests: must be a list, or its JSON, plain or as base64 of zlib", path="tests")
    return tests


def _unpacked(text: str, most: int) -> Any:
    if text.lstrip()[:1] in ("[", "{"):
        return loads(text)
    try:
        reader = zlib.decompressobj()
        data = reader.decompress(base64.b64decode(text, validate=True), most + 1)
    except (ValueError, zlib.error):
        raise InvalidRequest(
            "tests: the text is neither JSON nor base64 of zlib-compressed JSON", path="tests"
        ) from None
    if len(data) > most:
        raise TooLarge(f"tests: more than {most} bytes after decompression", limit="max_body_bytes", most=most)
    try:
        return loads(data)
    except InvalidRequest:
        raise InvalidRequest(
            "tests: the compressed data is not JSON. A pickle is never read, because loading it can run code; "
            "convert the column once (docs/trainers/open-instruct.md)",
            path="tests",
        ) from None


def _assertion(test: Any, limit_s: float, path: str) -> dict[str, Any]:
    """The reference of an assertion. Raises InvalidRequest."""
    if type(test) is not str:
        raise InvalidRequest(f"{path}: must be a string, an assertion", path=path)
    return _reference({"type": "assert", "code": test}, {"cpu_s": limit_s, "wall_s": limit_s})


def _stdio(test: Any, limit_s: float, path: str) -> dict[str, Any]:
    """The reference of an input and its output. Raises InvalidRequest."""
    given, expected = (test.get("input"), test.get("output")) if type(test) is dict else (None, None)
    if type(given) is list and all(type(line) is str for line in given):
        given = "\n".join(given)
    if type(given) is not str or type(expected) is not str:
        raise InvalidRequest(f'{path}: must be {{"input": text, "output": text}}', path=path)
    seconds = math.ceil(limit_s)  # an alarm there, in whole seconds
    output = min(_MOST_OUTPUT_BYTES, _OUTPUT_BYTES + 4 * len(expected))
    reference = _reference(
        {"type": "stdio", "stdin": given, "stdout": expected},
        {"cpu_s": seconds, "wall_s": seconds, "output_bytes": output},
    )
    checker = {"type": "program", "language": "python", "code": JUDGE, "protocol": "exit"}
    return {**reference, "prefix": PRELUDE, "checker": checker}


def _reference(test: Mapping[str, Any], limits: Mapping[str, float]) -> dict[str, Any]:
    return {"language": "python", "tests": [test], "limits": limits}


# --- verdicts ----------------------------------------------------------------------------------------------------


async def _judged(request: Request, service: Service, samples: Sequence[Sample], wait_s: float) -> list[Verdict]:
    """A verdict for each test; those that failed because of us are retried while there is time. Raises Overloaded or
    Unavailable when the time is up.
    """
    found: dict[int, Verdict] = {}
    end = time.monotonic() + wait_s
    while True:
        left = [place for place in range(len(samples)) if place not in found]
        if not left:
            return [found[place] for place in range(len(samples))]
        batch = Batch(samples=[samples[place] for place in left], use=_USE, deadline_s=max(0.1, end - time.monotonic()))
        try:
            work = service.verify(service.take_batch(batch), f"compat-{PEER}")
            verdicts = (await unless_gone(request.receive, work)).verdicts
            found |= {place: verdict for place, verdict in zip(left, verdicts, strict=True) if not verdict.retryable}
            open_still = next((verdict for verdict in verdicts if verdict.retryable), None)
            error: Overloaded | Unavailable = Unavailable(
                f"{len(samples) - len(found)} of {len(samples)} tests have no verdict: "
                f"{open_still.reason if open_still else None}"
            )
        except (Overloaded, Unavailable) as raised:
            if not service.engine.ready:
                raise
            error = raised
        if len(found) < len(samples):
            if time.monotonic() + _PAUSE_S > end:
                raise error
            await pause(request, service, _PAUSE_S)


def _summary(verdicts: Sequence[Verdict], asked: Asked, limit_s: float) -> dict[str, Any]:
    """The answer. Raises InvalidRequest if no test can be judged, Unavailable for a failure of ours."""
    results: list[float] = []
    runtimes: list[float] = []
    unjudged: list[dict[str, Any]] = []
    for place, verdict in enumerate(verdicts):
        at_fault = verdict.status != "scored" and verdict.fault in ("reference", "caller")
        if at_fault and asked.unscored is None:
            why = (verdict.feedback or "").removeprefix("reference.tests[0]: ")
            unjudged.append({"test": place, "reason": verdict.reason, "why": why})
            continue
        number = number_of(verdict, asked)
        results.append(int(number) if number.is_integer() else number)
        runtimes.append(_seconds(verdict, limit_s))
    if unjudged and not results:
        raise InvalidRequest(
            f"none of the {len(verdicts)} tests can be judged; the first: {unjudged[0]['why']}", path="tests"
        )
    return {"results": results, "runtimes": runtimes, **({"unjudged": unjudged} if unjudged else {})}


def _seconds(verdict: Verdict, limit_s: float) -> float:
    """The CPU time of a passed test in seconds, at most the limit: a penalty for slowness must not become negative."""
    if verdict.score != 1.0:
        return _FAILED_S
    tests = (verdict.evidence or {}).get("tests", ())
    return min(limit_s, float(tests[0]["cpu_time"])) if tests else _FAILED_S
