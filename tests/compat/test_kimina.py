"""Kimina's routes, as PyPI's `kimina-client` and plain POSTs ask them.

What processes only do when they break comes from a scripted prover; what Lean says, from a real one.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import logging
import typing
from collections.abc import Awaitable, Callable
from types import ModuleType
from typing import Any

import httpx
import pytest
import pytest_asyncio
import typing_extensions

from rewarden.errors import InvalidSample, ProviderError, SandboxError
from rewarden.retry import Retry
from rewarden_sandboxes.job import Limits
from rewarden_server.access.key_record import new_key
from rewarden_server.compat import kimina
from rewarden_server.lean import remote
from rewarden_server.lean.remote import Kimina
from rewarden_verifiers.provers import Checked, Goal, Message, Position, Snippet
from tests.compat.conftest import Running, Start
from tests.compat.provers import Answer, ScriptedProver, fine
from tests.lean.conftest import library as library
from tests.lean.toolchain import Library

AT = "/compat/kimina"

pytestmark = pytest.mark.needs_server


def place(line: int, column: int) -> Position:
    """A place."""
    return Position(line=line, column=column)


def says(severity: Any, text: str, line: int = 1) -> Message:
    """A message on the first five characters of a line."""
    return Message(severity=severity, text=text, start=place(line, 0), end=place(line, 5))


ERROR = says("error", "unsolved goals")
SORRY = Goal(text="sorry", start=place(2, 4), end=place(2, 9), goals=("⊢ False",))

ENDS: dict[str, Checked] = {
    "valid": Checked(status="ok", messages=(says("info", "Nat : Type"),), cpu_s=0.5, wall_s=0.25),
    "sorry": Checked(status="ok", messages=(says("warning", "declaration uses 'sorry'"),), sorries=(SORRY,)),
    # No place of it is known.
    "hidden sorry": Checked(status="ok", messages=(says("warning", "declaration uses `sorry`"),)),
    "wrong": Checked(status="ok", messages=(ERROR,), sorries=(SORRY,)),
    "flood and wrong": Checked(status="ok", messages=(ERROR,), truncated=True),
    # What was cut off may have been the error.
    "flood": Checked(status="ok", messages=(says("info", "1"),), truncated=True),
    "slow": Checked(status="time_limit", limit="cpu_s"),
    "large": Checked(status="memory_limit", limit="memory_mb"),
    "loud": Checked(status="output_limit", limit="output_bytes"),
    "crash": Checked(status="crashed"),
}
STATUS = {
    "valid": "valid",
    "sorry": "sorry",
    "hidden sorry": "sorry",
    "wrong": "lean_error",
    "flood and wrong": "lean_error",
    "flood": "repl_error",
    "slow": "timeout_error",
    "large": "repl_error",
    "loud": "repl_error",
    "crash": "repl_error",
}
"""The status that kimina-client gives to each."""


async def by_text(snippet: Snippet) -> Checked:
    """A snippet ends as its text says; what breaks by our fault raises."""
    if snippet.text == "room":
        raise SandboxError("no room could be had")
    if snippet.text == "remote":
        raise ProviderError("the other server is down")
    if snippet.text == "header":
        raise ProviderError("Lean REPL header command timed out in 30.0 seconds")
    return ENDS[snippet.text]


def scripted(server: Running, answer: Answer = fine) -> ScriptedProver:
    """Put a scripted prover in the place of the server's."""
    prover = ScriptedProver(answer)
    server.serving.service.engine.lean = prover  # type: ignore[assignment]
    return prover


@pytest_asyncio.fixture
async def server(start: Start) -> Running:
    """A server; its prover is the scripted one where `prover` is asked for."""
    return await start()


@pytest.fixture
def prover(server: Running, monkeypatch: pytest.MonkeyPatch) -> ScriptedProver:
    """Returns the scripted prover of the server."""
    monkeypatch.setattr(kimina, "_PAUSE_S", 0.0)
    return scripted(server, by_text)


async def post(server: Running, path: str, body: Any) -> httpx.Response:
    """A request, written as Python's `json` writes it."""
    return await server.http.post(AT + path, content=json.dumps(body), headers={"Content-Type": "application/json"})


def snippets(*codes: str, **more: Any) -> dict[str, Any]:
    """A body of `/api/check`; the ids are the places."""
    return {"snippets": [{"id": str(number), "code": code} for number, code in enumerate(codes)], **more}


async def results(server: Running, *codes: str, **more: Any) -> list[dict[str, Any]]:
    """The entries of `/api/check`."""
    answer = await post(server, "/api/check", snippets(*codes, **more))
    assert answer.status_code == 200, answer.text
    found: list[dict[str, Any]] = answer.json()["results"]
    assert [each["id"] for each in found] == [str(number) for number in range(len(codes))]
    return found


# --- bodies


async def test_the_reply_has_their_fields(server: Running, prover: ScriptedProver) -> None:
    message = {"severity": "info", "pos": {"line": 1, "column": 0}, "endPos": {"line": 1, "column": 5}}
    valid = {"id": "0", "time": 0.25, "response": {"env": 0, "messages": [{**message, "data": "Nat : Type"}]}}
    assert await results(server, "valid") == [valid]
    (sorry,) = await results(server, "sorry")
    assert sorry["response"]["sorries"] == [
        {"pos": {"line": 2, "column": 4}, "endPos": {"line": 2, "column": 9}, "goal": "⊢ False"}
    ]
    assert await results(server, "slow", timeout=7) == [
        {"id": "0", "time": 7.0, "error": "Lean REPL command timed out in 7.0 seconds"}
    ]
    (large,) = await results(server, "large")
    assert large["response"] == {"message": "the Lean process stopped early: memory_limit, memory_mb"}


async def test_the_older_form_has_its_fields(server: Running, prover: ScriptedProver) -> None:
    for path in ("/verify", "/one_pass_verify_batch", "/verify/"):
        codes = [{"custom_id": 7, "proof": "valid"}, {"custom_id": "a", "code": "slow", "proof": None}]
        answer = await post(server, path, {"codes": [*codes, {"custom_id": "a", "proof": "crash", "code": "valid"}]})
        valid, slow, crash = answer.json()["results"]
        assert (valid["custom_id"], valid["error"], valid["response"]["time"]) == ("7", None, 0.25)
        assert valid["response"]["messages"][0]["data"] == "Nat : Type"
        assert slow == {"custom_id": "a", "error": "Lean REPL command timed out in 300.0 seconds"}
        assert (crash["error"], crash["response"]["message"]) == (None, "the Lean process stopped early: crashed")
    assert (await post(server, "/verify", {"codes": []})).json() == {"results": []}


async def test_each_field_of_the_request_reaches_the_prover(server: Running, prover: ScriptedProver) -> None:
    await results(server, "valid")
    await results(server, "valid", timeout=5, reuse=False, infotree="tactics")
    await post(server, "/verify", {"codes": [{"custom_id": "1", "proof": "valid"}]})
    body = {"codes": [{"custom_id": "1", "proof": "valid"}], "timeout": 9, "disable_cache": True}
    await post(server, "/other/verify", {**body, "infotree_type": "original"})
    told = [
        (each.project, each.limits.cpu_s, each.limits.wall_s, each.alone, each.tactics, each.sorries)
        for each in prover.asked
    ]
    assert told == [
        ("main", 30, 30, False, False, True),
        ("main", 5, 5, True, True, True),
        ("main", 300, 300, False, False, True),
        ("other", 9, 9, True, True, True),
    ]


async def test_debug_adds_what_was_used(server: Running, prover: ScriptedProver) -> None:
    assert (await results(server, "valid", debug=True))[0]["diagnostics"] == {"cpu_max": 200.0}
    assert "diagnostics" not in (await results(server, "valid"))[0]


async def test_an_infotree_holds_the_tactics_within_each_other(server: Running, prover: ScriptedProver) -> None:
    def tactic(text: str, start: int, end: int) -> Goal:
        return Goal(text=text, start=place(1, start), end=place(1, end), goals=(f"⊢ {text}",))

    async def two(snippet: Snippet) -> Checked:
        return Checked(status="ok", tactics=(tactic("b", 12, 14), tactic("a; b", 9, 14), tactic("c", 20, 21)))

    prover.answer = two
    first, second = (await results(server, "x", infotree="original"))[0]["response"]["infotree"]
    assert [first["node"]["stx"]["pp"], second["node"]["stx"]["pp"]] == ["a; b", "c"]
    (inner,) = first["children"]
    assert inner["kind"] == "TacticInfo"
    assert inner["node"]["goalsBefore"] == ["⊢ b"]
    assert inner["node"]["stx"]["range"] == {
        "synthetic": False,
        "start": {"line": 1, "column": 12},
        "finish": {"line": 1, "column": 14},
    }
    assert "infotree" not in (await results(server, "x"))[0]["response"]

    async def deep(snippet: Snippet) -> Checked:
        return Checked(status="ok", tactics=tuple(tactic("x", level, 3000 - level) for level in range(1000)))

    prover.answer = deep  # JSON that nests for ever would be refused on its way out
    assert (await results(server, "x", infotree="full"))[0]["response"]["infotree"]


WRONG: list[tuple[str, Any, list[str | int]]] = [
    ("/api/check", [], []),
    ("/api/check", {}, ["snippets"]),
    ("/api/check", {"snippets": []}, ["snippets"]),
    ("/api/check", {"snippets": {"id": "1", "code": "x"}}, ["snippets"]),
    ("/api/check", {"snippets": ["x"]}, ["snippets", 0]),
    ("/api/check", {"snippets": [{"id": "1", "code": "x"}, {"code": "x"}]}, ["snippets", 1, "id"]),
    ("/api/check", {"snippets": [{"custom_id": "1", "code": "x"}]}, ["snippets", 0, "id"]),
    ("/api/check", {"snippets": [{"id": 1, "code": "x"}]}, ["snippets", 0, "id"]),
    ("/api/check", {"snippets": [{"id": "1"}]}, ["snippets", 0, "code"]),
    ("/api/check", {"snippets": [{"id": "1", "code": "x"}, {"id": "1", "code": "y"}]}, ["snippets"]),
    ("/api/check", snippets("x", timeout=0), ["timeout"]),
    ("/api/check", snippets("x", timeout=float("nan")), ["timeout"]),
    ("/api/check", snippets("x", timeout=10**400), ["timeout"]),
    ("/api/check", snippets("x", timeout="30"), ["timeout"]),
    ("/api/check", snippets("x", reuse=1), ["reuse"]),
    ("/api/check", snippets("x", debug=None), ["debug"]),
    ("/api/check", snippets("x", infotree="all"), ["infotree"]),
    ("/verify", {"snippets": []}, ["codes"]),
    ("/verify", {"codes": [{"proof": "x"}]}, ["codes", 0, "custom_id"]),
    ("/verify", {"codes": [{"custom_id": True, "proof": "x"}]}, ["codes", 0, "custom_id"]),
    ("/verify", {"codes": [{"custom_id": "1"}]}, ["codes", 0, "code"]),
    ("/verify", {"codes": [{"custom_id": "1", "proof": 7}]}, ["codes", 0, "proof"]),
    ("/verify", {"codes": [{"custom_id": "1", "proof": "x"}], "infotree_type": 1}, ["infotree_type"]),
    ("/verify", {"codes": [{"custom_id": "1", "proof": "x"}], "disable_cache": "no"}, ["disable_cache"]),
]


async def test_a_wrong_field_is_named_as_fastapi_does(server: Running, prover: ScriptedProver) -> None:
    for path, body, where in WRONG:
        answer = await post(server, path, body)
        assert answer.status_code == 422, body
        (entry,) = answer.json()["detail"]
        assert entry["loc"] == ["body", *where], body
        assert entry["msg"]
    assert prover.asked == []


async def test_a_body_that_is_no_json_is_422_and_a_large_one_413(start: Start) -> None:
    server = await start({"limits.max_body_bytes": 1000, "limits.max_samples": 2})
    scripted(server)
    for body in (b"", b"{", b"\xff"):
        answer = await server.http.post(f"{AT}/verify", content=body)
        assert (answer.status_code, answer.json()["detail"][0]["loc"]) == (422, ["body"])
    assert (await post(server, "/api/check", snippets("x" * 2000))).status_code == 413
    assert (await post(server, "/api/check", snippets("x", "y", "z"))).status_code == 413


async def test_a_long_snippet_costs_its_neighbours_nothing(start: Start) -> None:
    server = await start({"limits.max_sample_bytes": 10})
    scripted(server)
    long, short, half = await results(server, "é" * 6, "fine", "\ud800")
    assert "max_sample_bytes" in long["response"]["message"]
    assert (short["response"], half["response"]) == ({"env": 0}, {"env": 0})


async def test_probes_projects_and_slashes(server: Running, prover: ScriptedProver) -> None:
    for path in ("/health", "/health/", "", "/", "/other/health", "/other/", "/other"):
        answer = await server.http.get(AT + path)
        assert (answer.status_code, answer.json()) == (200, {"status": "ok"}), path
    for path in ("/api/check/", "/other/api/check", "/other/api/check/"):
        assert (await post(server, path, snippets("valid"))).status_code == 200
    assert (await server.http.get(f"{AT}/none/health")).status_code == 404
    answer = await post(server, "/none/api/check", snippets("valid"))
    assert (answer.status_code, "'none'" in answer.text) == (404, True)
    assert (await post(server, "/broken/api/check", snippets("valid"))).status_code == 503
    prover.projects = []
    assert (await post(server, "/api/check", snippets("valid"))).status_code == 404
    assert (await server.http.get(f"{AT}/health")).status_code == 404


async def test_keys_are_asked_for_as_everywhere(start: Start) -> None:
    key, digest = new_key()
    server = await start({"keys.named": {"trainer": digest}})
    scripted(server)
    theirs = client_package()
    with pytest.raises(Exception, match="failed"):
        await checked(theirs, server, ["x"], api_key="wrong")
    assert [each.response for each in await checked(theirs, server, ["x"], api_key=key)] == [{"env": 0}]


# --- what is not the snippet's fault is never what Lean said


async def test_a_failure_of_ours_is_an_error_beside_the_others_answers(server: Running, prover: ScriptedProver) -> None:
    room, valid, remote = await results(server, "room", "valid", "remote")
    assert (room["error"], remote["error"]) == ("no room could be had", "the other server is down")
    assert "response" not in room
    assert valid["response"]["env"] == 0
    answer = await post(server, "/verify", {"codes": [{"custom_id": "1", "proof": text} for text in ("room", "slow")]})
    assert [each["error"][:6] for each in answer.json()["results"]] == ["no roo", "Lean R"]


async def test_no_answer_at_all_is_503(server: Running, prover: ScriptedProver) -> None:
    answer = await post(server, "/api/check", snippets("room", "remote"))
    assert (answer.status_code, answer.headers["Retry-After"]) == (503, "1")
    assert len(prover.asked) == 6  # each was tried three times before


async def test_a_failure_of_ours_is_tried_again(server: Running, prover: ScriptedProver) -> None:
    async def second(snippet: Snippet) -> Checked:
        if len(prover.asked) < 2:
            raise SandboxError("no room could be had")
        return ENDS["valid"]

    prover.answer = second
    assert (await results(server, "x"))[0]["response"]["messages"]


async def test_what_the_project_refuses_is_422(server: Running, prover: ScriptedProver) -> None:
    async def refused(snippet: Snippet) -> Checked:
        raise InvalidSample("limits.cpu_s: at most 60 here", path="limits")

    prover.answer = refused
    answer = await post(server, "/api/check", snippets("x", "y", timeout=900))
    assert (answer.status_code, answer.json()["detail"][0]["msg"]) == (422, "limits.cpu_s: at most 60 here")


def never(begun: asyncio.Event, left: asyncio.Event) -> Callable[[Snippet], Awaitable[Checked]]:
    """A script: `valid` is checked, all else waits forever."""

    async def wait(snippet: Snippet) -> Checked:
        if snippet.text == "valid":
            return ENDS["valid"]
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()
        raise AssertionError

    return wait


async def test_no_process_within_the_waiting_time_is_429(
    server: Running, prover: ScriptedProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    left = asyncio.Event()
    prover.answer = never(asyncio.Event(), left)
    monkeypatch.setattr(kimina, "WAIT_S", 0.0)
    answer = await post(server, "/api/check", snippets("x", timeout=0.05))
    assert (answer.status_code, "Retry-After" in answer.headers, left.is_set()) == (429, True, True)
    late, valid = await results(server, "x", "valid", timeout=1.0)
    assert "no Lean process became free" in late["error"]
    assert valid["response"]["env"] == 0


async def test_what_does_not_fit_is_429_at_once(start: Start) -> None:
    server = await start({"engine.max_samples": 2})
    prover = scripted(server)
    assert (await post(server, "/api/check", snippets("x", "y", "z"))).status_code == 429
    assert prover.asked == []
    assert (await post(server, "/api/check", snippets("x", "y"))).status_code == 200


async def test_a_client_that_leaves_takes_its_snippets_along(server: Running, prover: ScriptedProver) -> None:
    begun, left = asyncio.Event(), asyncio.Event()
    prover.answer = never(begun, left)
    asking = asyncio.create_task(post(server, "/api/check", snippets("x")))
    await begun.wait()
    asking.cancel()
    await asyncio.wait_for(left.wait(), 30)


async def test_a_server_that_ends_is_503_and_waits_for_what_runs(server: Running, prover: ScriptedProver) -> None:
    begun, let_go = asyncio.Event(), asyncio.Event()

    async def slow(snippet: Snippet) -> Checked:
        begun.set()
        await let_go.wait()
        return ENDS["valid"]

    prover.answer = slow
    running = asyncio.create_task(results(server, "x"))
    await begun.wait()
    draining = asyncio.create_task(server.serving.drain(30))
    async with asyncio.timeout(30):
        while (await server.http.get("/readyz")).status_code != 503:
            await asyncio.sleep(0.01)
    assert (await post(server, "/api/check", snippets("x"))).status_code == 503
    let_go.set()
    assert (await running)[0]["response"]["env"] == 0
    await draining


async def test_snippets_of_a_request_run_side_by_side(server: Running, prover: ScriptedProver) -> None:
    all_there = asyncio.Event()

    async def together(snippet: Snippet) -> Checked:
        if len(prover.asked) == 20:
            all_there.set()
        await asyncio.wait_for(all_there.wait(), 30)
        return Checked(status="ok", messages=(says("info", snippet.text),))

    prover.answer = together
    found = await results(server, *map(str, range(20)))
    assert [each["response"]["messages"][0]["data"] for each in found] == [str(number) for number in range(20)]


# --- the other way round


async def test_a_remote_project_may_be_this_route(server: Running, prover: ScriptedProver) -> None:
    far = Kimina(f"{server.serving.http}{AT}/other", None)
    limits = Limits(cpu_s=5.0, wall_s=5.0)

    async def back(text: str, **more: Any) -> Checked:
        return await far.check(Snippet(project="far", text=text, limits=limits, sorries=True, **more))

    try:
        for name in ("valid", "sorry", "wrong"):
            found, sent = await back(name), ENDS[name]
            assert (found.status, found.messages, found.sorries) == ("ok", sent.messages, sent.sorries)
        assert (await back("hidden sorry")).sorries
        assert (await back("slow")).status == "time_limit"
        for name in ("large", "loud", "crash", "flood"):
            found = await back(name)
            assert [message.severity for message in found.messages] == ["error"], name
        assert prover.asked[0].project == "other"
        tactic = Goal(text="rfl", start=place(1, 9), end=place(1, 12), goals=("⊢ True",))
        prover.answer = lambda _: asyncio.sleep(0, Checked(status="ok", tactics=(tactic,)))
        assert (await back("x", tactics=True, alone=True)).tactics == (tactic,)
        assert (prover.asked[-1].alone, prover.asked[-1].limits) == (True, limits)
    finally:
        await far.close()


async def test_a_failure_at_the_remote_end_is_no_result_here(
    server: Running, prover: ScriptedProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remote, "RETRY", Retry(attempts=1))
    far = Kimina(server.serving.http + AT, None)
    try:
        with pytest.raises(ProviderError, match="no room could be had"):
            await far.check(Snippet(project="far", text="room"))
    finally:
        await far.close()


# --- their client


def client_package() -> ModuleType:
    """PyPI's `kimina-client`, which says nothing on the tests' output."""
    pytest.importorskip("tenacity", reason="pip install kimina-client")
    with pytest.MonkeyPatch.context() as patched:
        # Its models are `typing`'s TypedDict, which pydantic takes from Python 3.12 on.
        patched.setattr(typing, "TypedDict", typing_extensions.TypedDict)
        try:
            package = importlib.import_module("kimina_client")
        except ModuleNotFoundError as error:
            pytest.skip(f"pip install kimina-client: {error}")
    importlib.import_module("colorama").deinit()  # it wraps stdout when it is imported
    logging.getLogger("kimina-client").setLevel(logging.CRITICAL + 1)
    return package


async def checked(theirs: ModuleType, server: Running, codes: list[str], **more: Any) -> list[Any]:
    """The results of their blocking client's request for these snippets; raises what it raises."""
    settings = {name: more.pop(name) for name in ("api_key",) if name in more}
    client = theirs.KiminaClient(server.serving.http + AT, n_retries=1, **settings)
    asked = [theirs.Snippet(id=str(number), code=code) for number, code in enumerate(codes)]
    return list((await asyncio.to_thread(client.api_check, asked, **more)).results)


async def test_their_client_calls_every_end_by_its_name(server: Running, prover: ScriptedProver) -> None:
    theirs = client_package()
    texts = [*STATUS, "room", "remote", "header"]
    found = await checked(theirs, server, texts, debug=True, infotree=theirs.Infotree.full)
    assert [each.analyze().status.value for each in found] == [*STATUS.values(), *["server_error"] * 3]
    assert found[0].diagnostics == {"cpu_max": 200.0}
    assert found[0].response["infotree"] == []


async def test_their_blocking_client_asks_again_after_503_and_429(
    server: Running, prover: ScriptedProver, monkeypatch: pytest.MonkeyPatch
) -> None:
    theirs = client_package()
    monkeypatch.setattr(kimina, "_TRIES", 1)
    tenacity = importlib.import_module("tenacity")
    blocking = importlib.import_module("kimina_client.sync_client")
    monkeypatch.setattr(blocking, "wait_exponential", lambda **_: tenacity.wait_none())
    client = theirs.KiminaClient(server.serving.http + AT)

    async def third(snippet: Snippet) -> Checked:
        if len(prover.asked) < 3:
            raise SandboxError("no room could be had")
        return ENDS["valid"]

    prover.answer = third
    (found,) = (await asyncio.to_thread(client.check, "x", show_progress=False)).results
    assert (found.analyze().status.value, len(prover.asked)) == ("valid", 3)
    prover.answer = by_text
    (found,) = (await asyncio.to_thread(client.check, "room", show_progress=False)).results
    assert (found.analyze().status.value, len(prover.asked)) == ("server_error", 6)


async def test_their_asynchronous_client_sends_batches(server: Running, prover: ScriptedProver) -> None:
    theirs = client_package()
    client = theirs.AsyncKiminaClient(f"{server.serving.http}{AT}/other", n_retries=1)
    try:
        found = (await client.check(["valid", "wrong", "sorry"] * 7, batch_size=4, show_progress=False)).results
        assert [each.analyze().status.value for each in found] == ["valid", "lean_error", "sorry"] * 7
        assert (await client.health())["status"] == "ok"
        assert {each.project for each in prover.asked} == {"other"}
    finally:
        await client.close()


async def test_their_models_write_and_read_the_older_form(server: Running, prover: ScriptedProver) -> None:
    theirs = client_package()
    codes = [theirs.Code(custom_id=text, proof=text) for text in STATUS]
    body = theirs.VerifyRequestBody(codes=codes, timeout=20).model_dump(mode="json")
    answer = theirs.VerifyResponse.model_validate((await post(server, "/verify", body)).json())
    read = importlib.import_module("kimina_client.models")
    again = [
        theirs.ReplResponse(id=each["custom_id"], error=each["error"], response=each.get("response")).analyze()
        for each in answer.results
    ]
    assert [each.status.value for each in again] == list(STATUS.values())
    assert read.is_valid(answer.results[0]["response"])


# --- what Lean really says

BASE = "prelude\nimport Base\n"
GOOD = BASE + "theorem good : Eq (Nat.add 2 2) 4 := by decide"
SAID = {
    GOOD + "\n#check good": "valid",
    BASE + "theorem good (p q : Prop) (h : And p q) : And q p := by\n  exact And.intro h.right h.left": "valid",
    BASE + "theorem open_ : False := sorry": "sorry",
    BASE + "theorem open_ : False := by\n  exact sorry": "sorry",
    BASE + "theorem hidden : False := sorryAx False true": "sorry",
    BASE + "theorem bad : False := True.intro": "lean_error",
    BASE + "theorem bad : False := by": "lean_error",
    "prelude\nimport Base.None\ntheorem good : True := True.intro": "lean_error",
    "prelude\n": "valid",
}
HANGS = (
    BASE + "set_option maxHeartbeats 0\n"
    "theorem slow : Eq (Nat.rec (motive := fun _ => Bool) true (fun _ h => h) 1000000000000) false := Eq.refl _"
)


@pytest_asyncio.fixture
async def real(start: Start, docker: None, library: Library, monkeypatch: pytest.MonkeyPatch) -> Running:
    """A server with Lean and the library `Base`."""
    monkeypatch.setenv("ELAN_HOME", str(library.elan))
    projects = {"base": str(library.folder)}
    return await start({"sandbox.launcher": "docker", "lean.projects": projects, "lean.processes": 2})


@pytest.mark.slow
async def test_their_client_hears_what_lean_says(real: Running) -> None:
    theirs = client_package()
    found = await checked(theirs, real, list(SAID), timeout=30)
    assert dict(zip(SAID, (each.analyze().status.value for each in found), strict=True)) == SAID
    first, _, open_, *_ = found
    assert first.response["messages"] == [
        {
            "severity": "info",
            "pos": {"line": 4, "column": 0},
            "endPos": {"line": 4, "column": 6},
            "data": "good : Eq (Nat.add 2 2) 4",
        }
    ]
    (sorry,) = open_.response["sorries"]
    assert (sorry["pos"], sorry["goal"]) == ({"line": 3, "column": 25}, "⊢ False")


@pytest.mark.slow
async def test_a_text_that_hangs_costs_its_neighbours_nothing(real: Running) -> None:
    theirs = client_package()
    texts = [GOOD, HANGS, BASE + "theorem bad : False := True.intro", GOOD]
    found = await checked(theirs, real, texts, timeout=1)
    assert [each.analyze().status.value for each in found] == ["valid", "timeout_error", "lean_error", "valid"]
    assert found[1].error == "Lean REPL command timed out in 1.0 seconds"
    # And a process of its own for each.
    told = {"reuse": False, "infotree": theirs.Infotree.tactics, "debug": True}
    found = await checked(theirs, real, [GOOD, HANGS], timeout=1, **told)
    assert [each.analyze().status.value for each in found] == ["valid", "timeout_error"]
    (tactic,) = found[0].response["infotree"]
    assert tactic["node"]["goalsBefore"] == ["⊢ Eq (Nat.add 2 2) 4"]
    assert tactic["node"]["stx"]["pp"] == "decide"
    assert found[0].diagnostics["cpu_max"] > 0


@pytest.mark.slow
async def test_lean_through_a_remote_project_says_the_same(real: Running, start: Start) -> None:
    theirs = client_package()
    address = f"http://any:word@{real.serving.http.removeprefix('http://')}{AT}/base"
    near = await start({"sandbox.launcher": "none", "lean.projects": {"far": address}})
    texts = [text for text in SAID if text.startswith(BASE)]
    there, here = [await checked(theirs, each, texts, timeout=30) for each in (real, near)]
    assert [each.response for each in here] == [each.response for each in there]
    (late,) = await checked(theirs, near, [HANGS], timeout=1)
    assert late.analyze().status.value == "timeout_error"
    body = {"codes": [{"custom_id": "1", "proof": GOOD}], "timeout": 30, "infotree_type": "original"}
    answers = [(await post(each, "/verify", body)).json()["results"][0]["response"] for each in (real, near)]
    assert answers[0]["infotree"] == answers[1]["infotree"] != []
