"""`POST /v1/verify`: responses, and the status of each rejection."""

from __future__ import annotations

import asyncio
import gzip
import json
from typing import Any

import httpx
import pytest
import zstandard

from tests.server.conftest import Gates, Running, Start

JSON = {"Content-Type": "application/json"}
RIGHT = {"response": "A", "reference": "A"}


def code(response: httpx.Response) -> str:
    """The code of an error, its form checked."""
    body = response.json()
    assert body.keys() == {"error"}
    assert body["error"].keys() == {"code", "message", "details"}
    return str(body["error"]["code"])


async def test_verdicts_come_in_the_order_of_the_request(server: Running) -> None:
    samples = [{"response": str(n % 3), "reference": "0", "id": f"s{n}"} for n in range(10)]
    answer = (await server.verify(*samples, use="same")).json()
    assert [v["id"] for v in answer["verdicts"]] == [s["id"] for s in samples]
    assert [v["score"] for v in answer["verdicts"]] == [1.0 if n % 3 == 0 else 0.0 for n in range(10)]


async def test_an_answer_in_pieces_equals_an_answer_at_once(server: Running) -> None:
    samples = [{"response": str(n % 3), "reference": "0", "group": str(n // 8)} for n in range(2500)]
    answer = (await server.verify(*samples, use="same")).json()
    assert [v["index"] for v in answer["verdicts"]] == list(range(2500))
    assert [g["group"] for g in answer["groups"]] == [str(n) for n in range(313)]


async def test_a_worker_process_judges_what_is_not_inline(server: Running) -> None:
    answer = (await server.verify(RIGHT, {"response": "B", "reference": "A"}, use="worked")).json()
    assert [v["score"] for v in answer["verdicts"]] == [1.0, 0.0]


async def test_one_bad_row_costs_no_other(server: Running) -> None:
    answer = await server.verify(RIGHT, {"respons": "A"}, 7, {"response": 3}, RIGHT, use="same")
    assert answer.status_code == 200
    verdicts = answer.json()["verdicts"]
    assert [v["status"] for v in verdicts] == ["scored", "error", "error", "error", "scored"]
    assert {v["fault"] for v in verdicts if v["status"] == "error"} == {"caller"}
    assert verdicts[3]["evidence"]["path"] == "response"


async def test_a_batch_without_samples_checks_its_use(server: Running) -> None:
    assert (await server.verify(use="same")).json() == {"verdicts": [], "groups": []}
    assert (await server.verify()).json() == {"verdicts": [], "groups": []}
    for use, reason, path in (
        ("sane", "unknown_verifier", "use.name"),
        ({"name": "choice", "params": {"labels": 7, "lables": 3}}, "invalid_params", "params"),
    ):
        answer = await server.verify(use=use)
        assert answer.status_code == 400
        details = answer.json()["error"]["details"]
        assert details["reason"] == reason
        assert details["path"].startswith(path)
    assert (await server.verify(use="same", expect={"same": "same@0"})).status_code == 409


async def test_only_the_fields_that_were_asked_for_come_back(server: Running) -> None:
    answer = (await server.verify({**RIGHT, "id": "x"}, use="same", fields=["score"])).json()
    assert answer["verdicts"] == [{"index": 0, "id": "x", "status": "scored", "score": 1.0}]


@pytest.mark.parametrize(
    ("body", "path"),
    [
        (b"", None),
        (b"{", None),
        (b"[]", None),
        (b'{"use": "same"}', "samples"),
        (b'{"samples": {}}', "samples"),
        (b'{"samples": [], "usee": "same"}', "usee"),
        (b'{"samples": [], "deadline_s": -1}', "deadline_s"),
        (b'{"samples": [], "use": {"params": {}}}', "use"),
        (b'{"samples": [], "fields": ["scor"]}', "fields[0]"),
    ],
)
async def test_a_faulty_envelope_is_400_and_names_the_field(server: Running, body: bytes, path: str | None) -> None:
    answer = await server.http.post("/v1/verify", content=body, headers=JSON)
    assert (answer.status_code, code(answer)) == (400, "invalid_request")
    if path is not None:
        assert answer.json()["error"]["details"]["path"] == path


async def test_no_such_route_is_404(server: Running) -> None:
    answer = await server.http.get("/v1/verifies")
    assert (answer.status_code, code(answer)) == (404, "not_found")


async def test_the_wrong_method_is_405_and_names_the_right_one(server: Running) -> None:
    answer = await server.http.get("/v1/verify")
    assert (answer.status_code, code(answer)) == (405, "method_not_allowed")
    assert answer.headers["Allow"] == "POST"


async def test_a_fingerprint_that_moved_is_409(server: Running) -> None:
    answer = await server.verify(RIGHT, use="same", expect={"same": "000000000000000000000000"})
    assert (answer.status_code, code(answer)) == (409, "fingerprint_moved")
    in_force = answer.json()["error"]["details"]["fingerprint"]
    assert (await server.verify(RIGHT, use="same", expect={"same": in_force})).status_code == 200


async def test_a_version_that_moved_is_409(server: Running) -> None:
    assert (await server.verify(RIGHT, use="same", expect={"same": "same@1"})).status_code == 200
    answer = await server.verify(RIGHT, use="same", expect={"same": "same@2"})
    assert (answer.status_code, code(answer)) == (409, "fingerprint_moved")
    assert answer.json()["error"]["message"] == "verifier 'same' is same@1, not the expected same@2"


@pytest.mark.parametrize(
    "kind", ["text/plain", "application/x-www-form-urlencoded", "application/json; charset=latin-1"]
)
async def test_another_content_type_is_415(server: Running, kind: str) -> None:
    answer = await server.http.post("/v1/verify", content=b'{"samples": []}', headers={"Content-Type": kind})
    assert (answer.status_code, code(answer)) == (415, "unsupported_media_type")


async def test_another_content_encoding_is_415(server: Running) -> None:
    answer = await server.http.post("/v1/verify", content=b"x", headers={**JSON, "Content-Encoding": "br"})
    assert (answer.status_code, code(answer)) == (415, "unsupported_media_type")


@pytest.mark.parametrize(
    ("encoding", "pack"),
    [
        ("gzip", gzip.compress),
        ("gzip", lambda data: gzip.compress(data[:9]) + gzip.compress(data[9:])),
        ("zstd", zstandard.ZstdCompressor().compress),
    ],
)
async def test_packed_bodies_are_read(server: Running, encoding: str, pack: Any) -> None:
    body = pack(json.dumps({"use": "same", "samples": [RIGHT]}).encode())
    answer = await server.http.post("/v1/verify", content=body, headers={**JSON, "Content-Encoding": encoding})
    assert answer.json()["verdicts"][0]["score"] == 1.0


@pytest.mark.parametrize("encoding", ["gzip", "zstd"])
@pytest.mark.parametrize("body", [b"nonsense", b"", gzip.compress(b'{"samples": []}', mtime=0)[:-9]])
async def test_a_body_that_is_not_packed_as_it_says_is_400(server: Running, encoding: str, body: bytes) -> None:
    answer = await server.http.post("/v1/verify", content=body, headers={**JSON, "Content-Encoding": encoding})
    assert answer.status_code == 400


@pytest.mark.parametrize(("encoding", "pack"), [("gzip", gzip.compress), ("zstd", zstandard.ZstdCompressor().compress)])
async def test_a_small_body_that_unpacks_to_too_much_is_413(start: Start, encoding: str, pack: Any) -> None:
    server = await start({"limits.max_body_bytes": 100_000})
    bomb = pack(b" " * 10_000_000)
    assert len(bomb) < 100_000
    answer = await server.http.post("/v1/verify", content=bomb, headers={**JSON, "Content-Encoding": encoding})
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_body_bytes")


async def test_a_body_that_announces_too_much_is_refused_before_it_is_sent(start: Start) -> None:
    server = await start({"limits.max_body_bytes": 1000})
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n")
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_a_body_without_announced_length_is_refused_at_the_limit(start: Start) -> None:
    server = await start({"limits.max_body_bytes": 1000})
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    writer.write(b"3e9\r\n" + b" " * 1001 + b"\r\n")  # the end of the body is never sent
    assert (await reader.readline()).startswith(b"HTTP/1.1 413")
    writer.close()


async def test_too_many_samples_are_413(start: Start) -> None:
    server = await start({"limits.max_samples": 3})
    assert (await server.verify(*[RIGHT] * 3, use="same")).status_code == 200
    answer = await server.verify(*[RIGHT] * 4, use="same")
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_samples")


def nested(depth: int) -> Any:
    """A value of so many levels."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


async def test_a_row_that_nests_too_deep_is_that_rows_error(start: Start) -> None:
    server = await start({"limits.max_depth": 8})
    rows = [{**RIGHT, "metadata": {"x": nested(depth)}} for depth in (7, 8)]
    verdicts = (await server.verify(*rows, use="same")).json()["verdicts"]
    assert [v["status"] for v in verdicts] == ["scored", "error"]
    assert (verdicts[1]["fault"], verdicts[1]["evidence"]["path"]) == ("caller", "metadata")


async def test_an_envelope_that_nests_too_deep_is_413(start: Start) -> None:
    server = await start({"limits.max_depth": 8})
    assert (await server.verify(use="same", shared={"x": nested(7)})).status_code == 200
    answer = await server.verify(use="same", shared={"x": nested(8)})
    assert (answer.status_code, answer.json()["error"]["details"]["limit"]) == (413, "max_depth")


async def test_nesting_without_end_is_413(server: Running) -> None:
    body = b'{"samples": [' + b"[" * 1_000_000
    answer = await server.http.post("/v1/verify", content=body, headers=JSON)
    assert (answer.status_code, code(answer)) == (413, "too_large")


async def test_a_row_over_its_limit_is_that_rows_error(start: Start) -> None:
    server = await start({"limits.max_sample_bytes": 1000})
    verdicts = (await server.verify({"response": "A" * 1001, "reference": "A"}, RIGHT, use="same")).json()["verdicts"]
    assert [v["status"] for v in verdicts] == ["error", "scored"]
    assert verdicts[0]["fault"] == "caller"


async def test_what_does_not_fit_beside_what_runs_is_429_with_retry_after(start: Start, gate: Gates) -> None:
    server = await start({"engine.max_samples": 2})
    waiting = asyncio.ensure_future(server.verify(RIGHT, RIGHT, use=gate.use))
    await gate.entered()
    answer = await server.verify(RIGHT, use="same")
    assert (answer.status_code, code(answer)) == (429, "overloaded")
    assert int(answer.headers["Retry-After"]) >= 1
    gate.open()
    assert (await waiting).status_code == 200
    assert (await server.verify(RIGHT, use="same")).status_code == 200


async def test_bodies_that_are_read_at_once_are_bounded_together(start: Start) -> None:
    server = await start({"limits.max_open_bytes": 1000})
    reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 2000\r\n\r\n" + b" " * 1001)
    assert (await reader.readline()).startswith(b"HTTP/1.1 429")
    writer.close()
    assert (await server.verify(RIGHT, use="same")).status_code == 200


async def test_a_client_that_leaves_cancels_its_work(server: Running, gate: Gates) -> None:
    body = json.dumps({"use": gate.use, "samples": [RIGHT]}).encode()
    _, writer = await asyncio.open_connection("127.0.0.1", server.port)
    writer.write(b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
    await gate.entered()
    writer.close()
    await gate.left()


@pytest.mark.parametrize("expect", [{}, {"same": "0"}])
async def test_an_unknown_verifier_is_a_rows_error(server: Running, expect: dict[str, str]) -> None:
    (verdict,) = (await server.verify(RIGHT, use="samee", expect=expect)).json()["verdicts"]
    assert (verdict["status"], verdict["reason"], verdict["fault"]) == ("error", "unknown_verifier", "caller")
    assert "'same'" in verdict["feedback"]


async def test_the_deadline_ends_in_verdicts(server: Running, gate: Gates) -> None:
    answer = await server.verify({**RIGHT, "use": gate.use}, RIGHT, use="same", deadline_s=0.2)
    verdicts = answer.json()["verdicts"]
    assert [(v["status"], v["reason"]) for v in verdicts] == [("error", "deadline"), ("scored", None)]


async def test_the_callers_request_id_is_echoed_and_a_missing_one_made(server: Running) -> None:
    assert (await server.http.get("/healthz", headers={"X-Request-Id": "abc-1"})).headers["X-Request-Id"] == "abc-1"
    made = {(await server.http.get("/healthz")).headers["X-Request-Id"] for _ in range(2)}
    assert len(made) == 2
    unfit = await server.http.get("/healthz", headers={"X-Request-Id": "a b"})
    assert unfit.headers["X-Request-Id"] != "a b"


async def test_a_defect_is_500_without_its_text(server: Running, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail() -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(server.serving.service.metrics, "page", fail)
    answer = await server.http.get("/metrics")
    assert (answer.status_code, code(answer)) == (500, "internal")
    assert "secret" not in answer.text
