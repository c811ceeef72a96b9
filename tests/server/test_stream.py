"""`POST /v1/verify/stream`: lines in, lines out, both at once."""

from __future__ import annotations

import asyncio
import gzip
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from rewarden.__main__ import main
from rewarden_server.http.stream import Lines
from rewarden_server.intake.settings import LimitSettings
from rewarden_server.studies.rescore.read import Line
from rewarden_server.studies.rescore.units import parse
from tests.server.conftest import Gates, Running, Start

NDJSON = {"Content-Type": "application/x-ndjson"}
RIGHT = {"response": "A", "reference": "A"}


async def stream(server: Running, *lines: Any, headers: dict[str, str] | None = None) -> httpx.Response:
    """Send lines, raw where they are bytes."""
    body = b"\n".join(line if isinstance(line, bytes) else json.dumps(line).encode() for line in lines)
    return await server.http.post("/v1/verify/stream", content=body, headers=headers or NDJSON)


def read(response: httpx.Response) -> list[dict[str, Any]]:
    """The lines of an answer."""
    assert response.status_code == 200
    assert response.headers["Content-Type"].startswith("application/x-ndjson")
    return [json.loads(line) for line in response.text.splitlines()]


def header(**fields: Any) -> dict[str, Any]:
    """A first line."""
    return {"batch": {"use": "same", **fields}}


async def test_every_line_gets_a_verdict_and_done_comes_last(server: Running) -> None:
    lines = read(await stream(server, header(), *[{**RIGHT, "id": str(n)} for n in range(5)]))
    assert sorted(line["verdict"]["id"] for line in lines[:-1]) == list("01234")
    assert lines[-1] == {"done": {"verdicts": 5}}


async def test_an_empty_stream_is_done_at_once(server: Running) -> None:
    assert read(await stream(server, header())) == [{"done": {"verdicts": 0}}]


async def test_empty_lines_are_left_out_but_not_without_end(server: Running) -> None:
    some = read(await stream(server, header(), *[b""] * 9000, RIGHT, *[b" "] * 900))
    assert some[-1] == {"done": {"verdicts": 1}}
    many = read(await stream(server, header(), RIGHT, *[b""] * 20_000, RIGHT))
    assert many[-1]["error"]["code"] == "invalid_request"
    assert "empty lines" in many[-1]["error"]["message"]
    first = await stream(server, *[b""] * 20_000, header())
    assert (first.status_code, first.json()["error"]["code"]) == (400, "invalid_request")


async def test_others_are_served_while_lines_are_cut() -> None:
    turns = 0

    async def others() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async def pieces() -> AsyncIterator[bytes]:
        yield b"\n" * 9_000

    asked = asyncio.ensure_future(others())
    assert [line async for line in Lines(LimitSettings()).of(pieces())] == []
    asked.cancel()
    assert turns >= 8


async def test_a_verdict_comes_before_the_next_line_is_sent(server: Running) -> None:
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)

    def send(value: Any) -> None:
        data = json.dumps(value).encode() + b"\n"
        writer.write(b"%x\r\n" % len(data) + data + b"\r\n")

    writer.write(b"POST /v1/verify/stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    send(header())
    for number in range(3):
        send({**RIGHT, "id": str(number)})
        found = b""
        while b'"verdict"' not in found:
            found = await reader.readline()
        assert json.loads(found)["verdict"]["id"] == str(number)
    writer.write(b"0\r\n\r\n")
    rest = await reader.readuntil(b"0\r\n\r\n")
    assert b'{"done":{"verdicts":3}}' in rest
    writer.close()


async def test_groups_are_told_when_they_are_whole(server: Running) -> None:
    rows = [{**RIGHT, "group": f"g{n // 2}", "group_size": 2} for n in range(4)]
    lines = read(await stream(server, header(), *rows))
    groups = [line["group"] for line in lines if "group" in line]
    assert sorted((g["group"], g["size"], g["passed"]) for g in groups) == [("g0", 2, 2), ("g1", 2, 2)]


async def test_shared_values_and_fields_of_the_header_hold_for_all(server: Running) -> None:
    first = header(shared={"k": "A"}, fields=["score"])
    lines = read(await stream(server, first, {"response": "A", "reference_key": "k"}))
    assert lines[0] == {"verdict": {"index": 0, "status": "scored", "score": 1.0}}


async def test_a_bad_line_costs_no_other(start: Start) -> None:
    server = await start({"limits.max_sample_bytes": 200, "limits.max_depth": 8})
    long = {"response": "x" * 300, "reference": "A"}
    deep = b'{"response": "A", "metadata": {"x": ' + b"[" * 9 + b"]" * 9 + b"}}"
    lines = read(await stream(server, header(), RIGHT, b"{nonsense", b"", {"respons": 1}, long, deep, b"\xff", RIGHT))
    verdicts = sorted((line["verdict"] for line in lines[:-1]), key=lambda v: v["index"])
    assert [v["status"] for v in verdicts] == ["scored", "error", "error", "error", "error", "error", "scored"]
    assert {(v["fault"], v["reason"]) for v in verdicts[1:6]} == {("caller", "invalid_sample")}
    assert lines[-1] == {"done": {"verdicts": 7}}


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        ((), 400),
        ((b"{",), 400),
        ((RIGHT,), 400),
        (({"batch": {"usee": "same"}},), 400),
        (({"batch": {"samples": []}},), 400),
        (({"batch": {"use": "same", "expect": {"same": "0"}}},), 409),
        (({"batch": {"shared": {"k": {"$blob": "0" * 64}}}},), 404),
        ((b'{"batch": ' + b"[" * 100_000,), 413),
    ],
)
async def test_a_faulty_first_line_refuses_the_stream_with_a_status(
    server: Running, lines: tuple[Any, ...], status: int
) -> None:
    answer = await stream(server, *lines)
    assert answer.status_code == status
    assert answer.json()["error"]["message"]


async def test_another_content_type_is_415(server: Running) -> None:
    assert (await stream(server, header(), headers={"Content-Type": "text/csv"})).status_code == 415


async def test_packed_streams_are_read(server: Running) -> None:
    body = gzip.compress(b"\n".join(json.dumps(line).encode() for line in (header(), RIGHT, RIGHT)))
    answer = await server.http.post("/v1/verify/stream", content=body, headers={**NDJSON, "Content-Encoding": "gzip"})
    assert read(answer)[-1] == {"done": {"verdicts": 2}}


async def test_a_stream_that_is_not_packed_as_it_says_ends_in_an_error(server: Running) -> None:
    packed = gzip.compress(json.dumps(header()).encode() + b"\n")

    async def body() -> AsyncIterator[bytes]:
        yield packed
        yield b"nonsense"

    answer = await server.http.post("/v1/verify/stream", content=body(), headers={**NDJSON, "Content-Encoding": "gzip"})
    assert read(answer)[-1]["error"]["code"] == "invalid_request"


async def test_a_client_may_send_all_before_it_reads(start: Start) -> None:
    server = await start({"engine.window_samples": 16})
    rows = [{**RIGHT, "metadata": {"pad": "x" * 2000}} for _ in range(5000)]  # far more than socket buffers hold
    lines = read(await stream(server, header(), *rows))
    assert lines[-1] == {"done": {"verdicts": 5000}}


async def test_a_client_that_leaves_cancels_its_stream(server: Running, gate: Gates) -> None:
    lines = [{"batch": {"use": gate.use}}, RIGHT]
    body = b"".join(json.dumps(line).encode() + b"\n" for line in lines)
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/verify/stream HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await gate.entered()
    writer.close()
    await gate.left()


async def test_of_a_key_that_comes_twice_the_last_value_counts_everywhere(
    server: Running, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    row = b'{"response": "B", "reference": "B", "response": "A", "reference": "A", "id": "1", "id": "2"}'
    body = b'{"use": "none", "samples": [' + row + b'], "use": "same"}'
    answer = await server.http.post("/v1/verify", content=body, headers={"Content-Type": "application/json"})
    assert [(verdict["id"], verdict["score"]) for verdict in answer.json()["verdicts"]] == [("2", 1.0)]
    lines = read(await stream(server, b'{"batch": {"use": "none", "use": "same"}}', row))
    assert [(line["verdict"]["id"], line["verdict"]["score"]) for line in lines if "verdict" in line] == [("2", 1.0)]
    # Jobs and `rewarden rescore` read their lines here, `rewarden verify FILE` there.
    known = parse(Line(data=row, file=0, number=1, row=0))
    assert isinstance(known, dict)
    assert (known["id"], known["response"]) == ("2", "A")
    file = tmp_path / "rows.jsonl"
    file.write_bytes(row)
    assert await asyncio.to_thread(main, ["verify", str(file), "--use", "same", "--target", server.serving.http]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["id"], told["score"]) == ("2", 1.0)
