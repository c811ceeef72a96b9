"""A server of Kimina's protocol in the place of processes of our own: what is made of its answers and its failures."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from rewarden.errors import ProviderError
from rewarden.retry import Retry
from rewarden_sandboxes.job import Limits
from rewarden_server.lean import remote
from rewarden_server.lean.remote import Kimina
from rewarden_verifiers.provers import Checked, Goal, Message, Position, Snippet

pytestmark = pytest.mark.needs_server

TEXT = "theorem a : True := by trivial"

Reply = tuple[int, Any]


class Canned:
    """A server that gives these answers, one after the other and the last one forever; None: it hangs up. `asked`: the
    requests' bodies, `heads` their heads."""

    def __init__(self, replies: Sequence[Reply | None]) -> None:
        self.replies = list(replies)
        self.asked: list[Any] = []
        self.heads: list[str] = []
        self.at_once = self.most_at_once = 0
        self.held: asyncio.Event | None = None

    def answer(self, *replies: Reply | None) -> None:
        """From now on these."""
        self.replies = list(replies)
        self.asked.clear()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """One connection, one request."""
        self.at_once += 1
        self.most_at_once = max(self.at_once, self.most_at_once)
        try:
            head = (await reader.readuntil(b"\r\n\r\n")).decode().lower()
            length = int(head.partition("content-length: ")[2].partition("\r\n")[0])
            self.asked.append(json.loads(await reader.readexactly(length)))
            self.heads.append(head)
            if self.held is not None:
                await self.held.wait()
            reply = self.replies.pop(0) if len(self.replies) > 1 else self.replies[0]
            if reply is not None:
                status, value = reply
                body = value if isinstance(value, bytes) else json.dumps(value).encode()
                writer.write(
                    f"HTTP/1.1 {status} So\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n".encode()
                )
                writer.write(body)
                await writer.drain()
        except ConnectionError:  # who asked has read enough
            pass
        finally:
            self.at_once -= 1
            writer.close()


@asynccontextmanager
async def serving(*replies: Reply | None, key: str | None = None) -> AsyncIterator[tuple[Kimina, Canned]]:
    """A client of a canned server."""
    canned = Canned(replies)
    server = await asyncio.start_server(canned.serve, "127.0.0.1", 0)
    client = Kimina(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/", key)
    try:
        yield client, canned
    finally:
        await client.close()
        server.close()


@pytest.fixture(autouse=True)
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is waited for between tries, of which there are three."""
    monkeypatch.setattr(remote, "RETRY", Retry(attempts=3, first_s=0.0, most_s=0.0))


def snippet(text: str = TEXT, **fields: Any) -> Snippet:
    """A snippet."""
    return Snippet(project="far", text=text, **fields)


def said(**response: Any) -> Reply:
    """Returns what the REPL says."""
    return 200, {"results": [{"id": "snippet", "time": 1.5, "response": {"env": 0, **response}}]}


FINE = said()


def place(line: int, column: int) -> dict[str, int]:
    """A position as it is written there."""
    return {"line": line, "column": column}


async def test_what_lean_said_comes_back() -> None:
    message = {"severity": "error", "pos": place(1, 2), "endPos": place(3, 4), "data": "unsolved goals"}
    open_end = {"severity": "info", "pos": place(5, 6), "endPos": None, "data": "x"}
    sorry = {"pos": place(2, 3), "endPos": place(2, 8), "goal": "⊢ False", "proofState": 0}
    async with serving(said(messages=[message, open_end], sorries=[sorry])) as (client, _):
        assert await client.check(snippet(sorries=True)) == Checked(
            status="ok",
            messages=(
                Message(
                    severity="error",
                    text="unsolved goals",
                    start=Position(line=1, column=2),
                    end=Position(line=3, column=4),
                ),
                Message(severity="info", text="x", start=Position(line=5, column=6)),
            ),
            sorries=(
                Goal(
                    text="sorry",
                    start=Position(line=2, column=3),
                    end=Position(line=2, column=8),
                    goals=("⊢ False",),
                ),
            ),
            cpu_s=1.5,
            wall_s=1.5,
        )


async def test_what_is_asked_for_is_sent() -> None:
    async with serving(FINE, key="secret") as (client, canned):
        await client.check(snippet("a\ud800b", limits=Limits(cpu_s=2.5, wall_s=1.0)))
        await client.check(snippet(alone=True, tactics=True))
        await client.check(snippet(infotree=True, tactics=True))
        first, second, third = canned.asked
        assert first == {
            "snippets": [{"id": "snippet", "code": "a\ufffdb"}],
            "timeout": 3,
            "debug": False,
            "reuse": True,
            "infotree": None,
        }
        assert (second["timeout"], second["reuse"], second["infotree"]) == (60, False, "tactics")
        assert third["infotree"] == "original"
        assert canned.heads[0].startswith("post /api/check http")
        assert "authorization: bearer secret\r\n" in canned.heads[0]


async def test_tactics_and_the_infotree_are_read_from_its_nodes() -> None:
    def node(text: str, kind: str, *children: Any, synthetic: bool = False) -> dict[str, Any]:
        stretch = {"synthetic": synthetic, "start": place(1, 23), "finish": place(1, 30)}
        told = {"stx": {"pp": text, "range": stretch}, "goalsBefore": [f"⊢ {text}"], "goalsAfter": []}
        return {"kind": kind, "node": told, "children": list(children)}

    tree = [node("by a; b", "TermInfo", node("a", "TacticInfo"), node("b", "TacticInfo", node("c", "TacticInfo")))]
    tree += [node("made", "TacticInfo", synthetic=True)]
    async with serving(said(infotree=tree)) as (client, _):
        found = await client.check(snippet(tactics=True, infotree=True))
        assert [(tactic.text, tactic.goals) for tactic in found.tactics] == [(t, (f"⊢ {t}",)) for t in "abc"]
        assert (found.tactics[0].start, found.tactics[0].end) == (
            Position(line=1, column=23),
            Position(line=1, column=30),
        )
        assert json.loads(found.infotree or "") == tree
        bare = await client.check(snippet())
        assert (bare.tactics, bare.infotree) == ((), None)


async def test_a_time_out_and_a_refused_import_are_the_texts_own() -> None:
    late = {"id": "snippet", "time": 3.0, "error": "Lean REPL command timed out in 3.0 seconds"}
    async with serving((200, {"results": [late]}), said(message="unknown module prefix 'No'")) as (client, canned):
        assert await client.check(snippet()) == Checked(status="time_limit", limit="wall_s", wall_s=3.0)
        wrong = await client.check(snippet())
        assert (wrong.status, [(each.severity, each.text) for each in wrong.messages]) == (
            "ok",
            [("error", "unknown module prefix 'No'")],
        )
        assert len(canned.asked) == 2


HEADER = (200, {"results": [{"id": "snippet", "error": "Lean REPL header command timed out in 3.0 seconds"}]})


async def test_what_may_pass_is_tried_again() -> None:
    async with serving() as (client, canned):
        for failure in (
            (429, {"detail": "No available REPLs"}),
            (500, {"detail": "Failed to start REPL"}),
            (502, b"bad gateway"),
            (503, b""),
            HEADER,
            None,
        ):
            canned.answer(failure, failure, FINE)
            assert (await client.check(snippet())).status == "ok"
            assert len(canned.asked) == 3


async def test_what_does_not_pass_is_never_a_result() -> None:
    async with serving() as (client, canned):
        for failure, tries, words in (
            ((429, {"detail": "No available REPLs"}), 3, "No available REPLs"),
            (HEADER, 3, "header"),
            (None, 3, "cannot be reached"),
            ((401, {"detail": "Invalid API key"}), 1, "Invalid API key"),
            ((404, {"detail": "Not Found"}), 1, "Not Found"),
            ((422, {"detail": []}), 1, "422"),
            ((200, b"<html>"), 1, "cannot be read"),
            ((200, []), 1, "cannot be read"),
            ((200, {"results": []}), 1, "cannot be read"),
            ((200, {"results": [{"id": "snippet"}]}), 1, "cannot be read"),
            ((200, {"results": [{"id": "snippet", "response": {"messages": [{"data": "x"}]}}]}), 1, "cannot be read"),
            (said(messages=[{"severity": "odd", "pos": place(1, 0), "data": "x"}]), 1, "cannot be read"),
            (
                said(messages=[{"severity": "error", "pos": {"line": 1e999, "column": 0}, "data": "x"}]),
                1,
                "cannot be read",
            ),
            (said(sorries=7), 1, "cannot be read"),
        ):
            canned.answer(failure)
            with pytest.raises(ProviderError, match=words):
                await client.check(snippet())
            assert len(canned.asked) == tries, failure


async def test_nobody_at_the_address_is_no_result() -> None:
    client = Kimina("http://127.0.0.1:9", None)
    with pytest.raises(ProviderError, match="cannot be reached"):
        await client.check(snippet())
    await client.close()


async def test_silence_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "WAIT_S", -1.9)  # the snippet's own two seconds are in it
    async with serving(FINE) as (client, canned):
        canned.held = asyncio.Event()
        with pytest.raises(ProviderError, match="no answer within"):
            await client.check(snippet(limits=Limits(wall_s=0.5)))
        canned.held.set()


async def test_a_text_that_kills_its_process_is_tried_once_more_alone() -> None:
    died = (500, {"detail": "JSON decode error"})
    async with serving(died, FINE) as (client, canned):
        assert (await client.check(snippet())).status == "ok"
        assert [each["reuse"] for each in canned.asked] == [True, False]
    async with serving(died) as (client, canned):
        assert (await client.check(snippet())).status == "crashed"
        assert len(canned.asked) == 2


async def test_an_answer_without_end_is_the_texts_own_doing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "MOST_BYTES", 10_000)
    async with serving(said(messages=[{"severity": "info", "pos": place(1, 0), "data": "x" * 20_000}])) as (client, _):
        assert await client.check(snippet()) == Checked(status="output_limit", limit="output_bytes")


async def test_an_infotree_that_nests_without_end_is_the_texts_own_doing() -> None:
    for depth in (300, 700, 100_000):
        tree = b'[{"children":' * depth + b"[]" + b"}]" * depth
        body = b'{"results":[{"response":{"infotree":' + tree + b"}}]}"
        async with serving((200, body)) as (client, _):
            found = await client.check(snippet(infotree=True))
            assert (found.status == "ok") == (found.infotree is not None)
    assert found.status == "output_limit"


async def test_a_large_answer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    long = "x" * 2 * 1024**2
    async with serving(said(messages=[{"severity": "info", "pos": place(1, 0), "data": long}])) as (client, _):
        assert (await client.check(snippet())).messages[0].text == long


async def test_so_many_at_once_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote, "AT_ONCE", 3)
    async with serving(FINE) as (client, canned):
        canned.held = asyncio.Event()
        checks = [asyncio.create_task(client.check(snippet())) for _ in range(10)]
        async with asyncio.timeout(30):
            while len(canned.asked) < 3:
                await asyncio.sleep(0.001)
        canned.held.set()
        assert {check.status for check in await asyncio.gather(*checks)} == {"ok"}
        assert (len(canned.asked), canned.most_at_once <= 3) == (10, True)
