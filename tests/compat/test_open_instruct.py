"""open-instruct's code server, as `CodeVerifier` asks it: one POST, and 0.0 for whatever is not an answer in time."""

from __future__ import annotations

import asyncio
import base64
import json
import os
import pickle
import runpy
import zlib
from collections.abc import AsyncGenerator, AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import pytest_asyncio

from rewarden_sandboxes import job as host
from rewarden_sandboxes.errors import NoRoom
from rewarden_server.compat import open_instruct
from tests.compat.conftest import Running, Start
from tests.documents.blocks import blocks
from tests.server.hosts import ScriptedHost, serving

AT = "/compat/open_instruct"
ADD = "def add(a, b):\n    return a + b\n"
TESTS = ["assert add(1, 2) == 3", "assert add(-1, 1) == 0", "assert add(0, 0) == 1"]

pytestmark = pytest.mark.needs_server


def packed(data: bytes) -> str:
    """base64 of zlib, as their data sets hold tests."""
    return base64.b64encode(zlib.compress(data)).decode()


PASSED = {"outcome": "passed"}
FAULTY = {"outcome": "error", "who": "tests", "kind": "test_code"}


def said(job: host.Job, report: dict[str, str]) -> bytes:
    """Returns what the room of the tests reports: with the nonce that it was given."""
    nonce = json.loads(job.cases[0].partner_request)["nonce"]
    return json.dumps({"done": True, "nonce": nonce, "provenance": {}, **report}).encode()


async def by_their_words(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
    """Assertions hold; those that say `faulty` never use the program."""
    assert job.partner is not None
    reply = said(job, FAULTY if b"faulty" in job.partner.code else PASSED)
    program = host.Report(status="ok", exit_code=0, cpu_time=0.25)
    yield host.CaseResult(index=0, program=program, partner=host.Report(status="ok", exit_code=0, reply=reply))


@pytest.fixture
def script() -> ScriptedHost:
    """Returns the scripted host of the sandbox."""
    return ScriptedHost(by_their_words)


@pytest_asyncio.fixture
async def server(start: Start, script: ScriptedHost, tmp_path: Path) -> AsyncIterator[Running]:
    """A server whose sandbox is scripted."""
    async with serving(script, tmp_path) as address:
        yield await start({"sandbox.address": address})


async def post(
    server: Running, tests: Any, program: str = ADD, path: str = "/test_program", **more: Any
) -> httpx.Response:
    """Returns what `CodeVerifier` posts."""
    return await server.http.post(
        AT + path, json={"program": program, "tests": tests, "max_execution_time": 1.0, **more}
    )


async def results(server: Running, tests: Any, program: str = ADD, path: str = "/test_program") -> list[int]:
    """The numbers for each test."""
    answer = await post(server, tests, program, path)
    assert answer.status_code == 200, answer.text
    found: list[int] = answer.json()["results"]
    return found


# --- tests as they come


async def test_tests_come_as_a_list_as_json_and_packed(server: Running) -> None:
    for tests in (TESTS, json.dumps(TESTS), packed(json.dumps(TESTS).encode())):
        answer = await post(server, tests)
        assert answer.json() == {"results": [1, 1, 1], "runtimes": [0.25, 0.25, 0.25]}
    for nothing in ([], "", None, "[]"):
        assert (await post(server, nothing)).json() == {"results": [], "runtimes": []}
    assert (await server.http.get(AT + "/health")).json() == {"status": "healthy"}


class Harm:
    """The harm that a pickle may do to its reader."""

    def __reduce__(self) -> Any:
        return os.mkdir, ("read",)


@pytest.mark.parametrize("protocol", [0, 2, 5])
async def test_a_pickle_is_refused_and_not_read(server: Running, script: ScriptedHost, protocol: int) -> None:
    for value in (TESTS, Harm()):
        answer = await post(server, packed(pickle.dumps(value, protocol)))
        assert answer.status_code == 400
        assert "pickle" in answer.json()["error"]["message"]
    assert not Path("read").exists()
    assert script.jobs == []


async def test_the_example_makes_pickles_readable_and_runs_nothing(server: Running) -> None:
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples/open_instruct/unpickle.py"))
    readable = example["readable"](packed(pickle.dumps(TESTS)))
    assert await results(server, readable) == [1, 1, 1]
    for plain in (readable, "no base64!", TESTS, 7):
        assert example["readable"](plain) == plain
    with pytest.raises(pickle.UnpicklingError, match="not plain data"):
        example["readable"](packed(pickle.dumps(Harm())))
    assert not Path("read").exists()


async def test_a_small_text_that_unpacks_to_much_is_refused(start: Start) -> None:
    server = await start({"sandbox.launcher": "none", "limits.max_body_bytes": 10_000})
    answer = await post(server, packed(b" " * 1_000_000))
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_body_bytes")


async def test_a_wrong_field_is_named(server: Running, script: ScriptedHost) -> None:
    for body, path in (
        ({"program": 1}, "program"),
        ({"tests": {"a": 1}}, "tests"),
        ({"tests": 7}, "tests"),
        ({"tests": "no base64!"}, "tests"),
        ({"tests": packed(b'{"a": 1}')}, "tests"),
        ({"tests": ["assert 1", 2]}, "tests[1]"),
        ({"tests": TESTS, "max_execution_time": 0}, "max_execution_time"),
        ({"tests": TESTS, "max_execution_time": "1"}, "max_execution_time"),
    ):
        answer = await server.http.post(AT + "/test_program", json={"program": ADD, "tests": [], **body})
        assert (answer.status_code, answer.json()["error"]["details"].get("path")) == (400, path), body
    for test in ("1", {"input": "1"}, {"input": [1], "output": "1"}, {"input": "1", "output": 1}):
        answer = await post(server, [test], path="/test_program_stdio")
        assert (answer.status_code, answer.json()["error"]["details"]["path"]) == (400, "tests[0]")
    assert script.jobs == []


async def test_there_is_a_result_for_each_of_many_tests(server: Running) -> None:
    assert await results(server, [f"assert add({number}, 0) == {number}" for number in range(250)]) == [1] * 250


# --- tests that say nothing


async def test_a_faulty_test_is_left_out_and_named(server: Running) -> None:
    tests = ["assert add(1, 2) == 3", "faulty", "assert add(0, 0) == 0"]
    answer = (await post(server, tests)).json()
    assert (answer["results"], answer["runtimes"]) == ([1, 1], [0.25, 0.25])
    (left_out,) = answer["unjudged"]
    assert (left_out["test"], left_out["reason"]) == (1, "invalid_reference")
    answer = (await post(server, tests, path="/test_program?unscored=0")).json()
    assert answer == {"results": [1, 0, 1], "runtimes": [0.25, -1.0, 0.25]}
    refused = await post(server, ["faulty"])
    assert refused.status_code == 400  # an empty list would be a 0.0 there
    assert "none of the 1 tests can be judged" in refused.json()["error"]["message"]


async def test_what_failed_by_us_is_tried_again_while_the_client_waits(
    server: Running, script: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(open_instruct, "_PAUSE_S", 0.01)
    tries: dict[bytes, int] = {}

    async def third(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        assert job.partner is not None
        tries[job.partner.code] = tries.get(job.partner.code, 0) + 1
        if b"-1" in job.partner.code and tries[job.partner.code] < 3:
            raise NoRoom("all slots are busy")
        async for event in by_their_words(job):
            yield event

    script.answer = third
    assert await results(server, TESTS) == [1, 1, 1]
    assert tries == {test.encode(): 3 if "-1" in test else 1 for test in TESTS}  # nothing ran twice for its sibling


async def test_when_the_client_would_leave_it_is_503_and_never_a_number(
    server: Running, script: ScriptedHost, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def none(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        raise NoRoom("all slots are busy")
        yield

    async def forever(job: host.Job) -> AsyncGenerator[host.JobEvent, None]:
        await asyncio.Event().wait()
        yield host.CaseResult(index=0, program=host.Report(status="ok"))

    monkeypatch.setattr(open_instruct, "patience_s", lambda limit_s: 0.3)
    for answers in (none, forever):
        script.answer = answers
        answer = await post(server, TESTS)
        assert answer.status_code == 503
        assert "3 of 3 tests have no verdict" in answer.json()["error"]["message"]


async def test_what_is_over_admission_waits_and_is_then_429(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(open_instruct, "patience_s", lambda limit_s: 0.3)
    server = await start({"sandbox.launcher": "none", "engine.max_samples": 2})
    assert (await post(server, TESTS)).status_code == 429


def test_the_answer_goes_out_before_the_client_leaves() -> None:
    for limit_s, client_s in ((1.0, 30), (10, 100), (1000, 300)):  # max(30, min(300, limit * 10))
        assert 0 < open_instruct.patience_s(limit_s) < client_s


# --- programs that really run


RIGHT = {
    "a class": ("class S:\n    def push(self, v): return v\n", ["s = S()\nassert s.push(1) == 1"]),
    "an exception": (
        "def f(x): raise ValueError",
        ["try:\n    f(1)\n    assert False\nexcept ValueError:\n    pass"],
    ),
    "in place": ("def s(x): x.sort()", ["a = [2, 1]\ns(a)\nassert a == [1, 2]"]),
    "what their server refuses to run": ("import os, threading\n" + ADD, TESTS[:2]),
}
CHEATS = {
    "leaves": "import os; os._exit(0)",
    "leaves by name": "raise SystemExit(0)",
    "prints the answer's JSON": 'print({"results": [1, 1]}); raise SystemExit(0)',
    "is equal to everything": "class A:\n    __eq__ = lambda self, other: True\ndef add(a, b): return A()",
    "hides assertions": "import builtins\nbuiltins.AssertionError = None\ndef add(a, b): return 7",
    "leaves in the call": "import os\ndef add(a, b): os._exit(0)",
    "kills who judges": "import os\ndef add(a, b): os.kill(os.getppid(), 9)",
}


@pytest.mark.slow
async def test_assertions_are_judged_where_the_program_is_not(real: Running) -> None:
    answer = (await post(real, TESTS)).json()
    assert answer["results"] == [1, 1, 0]
    assert answer["runtimes"][2] == -1.0
    assert all(0 <= seconds <= 1.0 for seconds in answer["runtimes"][:2])
    for name, (program, tests) in RIGHT.items():
        assert await results(real, tests, program) == [1] * len(tests), name
    for name, program in CHEATS.items():
        assert await results(real, TESTS[:2], program) == [0, 0], name
    assert await results(real, TESTS[:1], "import time\ndef add(a, b): time.sleep(60)") == [0]
    assert await results(real, TESTS[:1], "def add(a, b") == [0]


@pytest.mark.slow
async def test_the_pages_program_is_judged_as_the_page_shows(real: Running) -> None:
    request, reply = (
        json.loads(block.text)
        for block in blocks()
        if block.page == "docs/trainers/open-instruct.md" and block.mark == "json"
    )
    answer = await real.http.post(AT + "/test_program", json=request)
    assert (answer.json()["results"], answer.json().keys()) == (reply["results"], reply.keys())
    wrong = request | {"program": request["program"].replace("+", "-")}
    assert (await real.http.post(AT + "/test_program", json=wrong)).json()["results"] == [0]


@pytest.mark.slow
async def test_output_is_compared_as_there(real: Running) -> None:
    async def stdio(program: str, *pairs: tuple[Any, str]) -> list[int]:
        tests = [{"input": given, "output": expected} for given, expected in pairs]
        return await results(real, tests, program, "/test_program_stdio")

    # Exact decimal numbers and white space around lines; modules that the program forgot; deep recursion.
    total = "print(sum(map(int, sys.stdin.read().split())))"
    assert await stdio(total, ("1 2\n", "3\n"), ("2 2", " 4.00 \n\n"), (["3", "4"], "7"), ("1 1", "3")) == [1, 1, 1, 0]
    assert await stdio("print(10 ** 18)", ("", "1e18"), ("", "1000000000000000001")) == [1, 0]
    assert await stdio("print('a  b')", ("", "a b"), ("", "a  b")) == [0, 1]
    assert await stdio("print('1 2 3')", ("", "1 2\n3")) == [0]
    deep = "def f(n): return n and 1 + f(n - 1)\nprint(f(20_000))"
    assert await stdio(deep, ("", "20000")) == [1]
    # Whatever a program prints is compared and judges nothing.
    for cheat in (
        "print('sNaN')",
        "print('NaN')",
        "import os; os._exit(0)",
        "print({'results': [1]})",
        "print('7' * 2**23)",
    ):
        assert await stdio(cheat, ("", "7"), ("1", "NaN1")) == [0, 0], cheat
