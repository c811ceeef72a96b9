"""The audit log: who had what scored, without texts and without keys."""

from __future__ import annotations

import json
import signal
import stat
from pathlib import Path
from typing import Any

import grpc
import pytest

from rewarden.types import Batch, Sample, Use
from rewarden.v1 import rewarden_pb2 as pb
from rewarden.wire.protobuf import batch_to_message, header_to_message, sample_to_message
from rewarden_server.access.audit import Audit
from rewarden_server.access.key_record import new_key
from rewarden_server.access.settings import AuditSettings
from rewarden_server.config import ConfigError
from tests.server.conftest import Running, Start
from tests.server.process import ServerProcess

TEXT = "a text that stands nowhere"


def lines_of(file: Path) -> list[dict[str, Any]]:
    """Returns what a closed log holds."""
    return [json.loads(line) for line in file.read_text().splitlines()]


async def ended(server: Running, file: Path) -> list[dict[str, Any]]:
    """Returns the lines of the log once the server has ended. A call's line is written when the call has ended, which
    over gRPC may be after its caller has the answer: lines of both surfaces have no order.
    """
    await server.http.aclose()
    await server.serving.drain(0.0)
    return lines_of(file)


async def test_a_batch_is_a_line_of_ids_and_fingerprints(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}", "audit.file": str(file), "audit.ids": 2})
    server.http.headers.update({"Authorization": f"Bearer {key}", "X-Request-Id": "request-1"})
    samples = [{"id": f"row-{n}", "response": f"{TEXT} (B)", "reference": "B"} for n in range(3)]
    answer = await server.verify(*samples, {"response": TEXT, "use": "nobody"}, use="choice")
    fingerprint = answer.json()["verdicts"][0]["verifier"]["fingerprint"]
    (line,) = await ended(server, file)
    assert line.pop("time").endswith("+00:00")
    assert line.pop("seconds") > 0
    counts = line.pop("verdicts")
    assert {"verifier": "choice", "fingerprint": fingerprint, "status": "scored", "count": 3} in counts
    assert sum(each["count"] for each in counts) == 4
    assert line == {
        "request_id": "request-1",
        "surface": "http",
        "peer": "127.0.0.1",
        "method": "POST",
        "route": "/v1/verify",
        "key": "trainer",
        "status": "200",
        "samples": 4,
        "ids": ["row-0", "row-1"],
        "ids_left_out": 1,
    }
    assert TEXT not in file.read_text()
    assert key not in file.read_text()
    assert digest not in file.read_text()
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


async def test_streams_and_grpc_are_lines_too(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    server = await start({"audit.file": str(file)})
    rows = [{"batch": {"use": "choice"}}, {"id": "a", "response": "B", "reference": "B"}]
    body = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    await server.http.post("/v1/verify/stream", content=body, headers={"Content-Type": "application/x-ndjson"})
    sample = Sample(id="b", response="B", reference="B")
    await server.stub.Verify(batch_to_message(Batch(samples=[sample], use=Use(name="choice"))))

    def messages() -> Any:
        yield pb.VerifyStreamRequest(header=header_to_message(Batch(samples=[], use=Use(name="choice"))))
        yield pb.VerifyStreamRequest(sample=sample_to_message(sample))

    assert [item async for item in server.stub.VerifyStream(messages())]
    lines = await ended(server, file)
    told = [(line["surface"], line["route"], line["status"], line["samples"], line["ids"]) for line in lines]
    assert sorted(told) == [
        ("grpc", "Verify", "OK", 1, ["b"]),
        ("grpc", "VerifyStream", "OK", 1, ["b"]),
        ("http", "/v1/verify/stream", "200", 1, ["a"]),
    ]
    assert {line["peer"] for line in lines} == {"127.0.0.1"}


async def test_refused_keys_reloads_and_programs_are_lines(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    key, digest = new_key()
    server = await start({"keys.named": f"trainer={digest}", "audit.file": str(file), "sandbox.launcher": "none"})
    wrong = {"Authorization": "Bearer rwd_wrong"}
    mine = {"Authorization": f"Bearer {key}"}
    await server.http.get("/v1/info", headers=wrong)
    with pytest.raises(grpc.aio.AioRpcError):
        await server.stub.Info(pb.InfoRequest(), metadata=(("authorization", "Bearer rwd_wrong"),))
    await server.http.post("/v1/models/m/reload", json={"model": "/srv/new"}, headers=mine)
    await server.http.post("/v1/run", json={"language": "python", "code": TEXT}, headers=mine)
    await server.http.get("/readyz")
    lines = await ended(server, file)
    told = [(line["route"], line["key"], line["status"], line.get("samples")) for line in lines]
    assert sorted(told) == [
        ("/v1/models/{name}/reload", "trainer", "403", None),
        ("/v1/run", "trainer", "503", 1),
        ("Info", "", "unauthorized", None),
        ("unmatched", "", "401", None),
    ]
    assert "rwd_wrong" not in file.read_text()
    assert TEXT not in file.read_text()


async def test_a_reload_says_of_what_and_to_what(start: Start, tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    server = await start({"audit.file": str(file)})
    await server.http.post("/v1/models/m/reload", json={"model": "/srv/new"})
    (line,) = await ended(server, file)
    assert (line["model"], line["to"]) == ("m", {"model": "/srv/new"})


def entry_line(audit: Audit, **more: str) -> dict[str, Any]:
    """One line of a request."""
    said = {"route": "/v1/verify", "method": "POST", "key": "k", "status": "200", **more}
    return audit.entry("id", "http", "127.0.0.1").line(seconds=0.1, **said)  # type: ignore[arg-type]


@pytest.mark.parametrize("status", ["400", "401", "403", "431", "unauthorized"])
def test_a_flood_of_callers_without_a_key_is_counted_and_does_not_fill_the_log(tmp_path: Path, status: str) -> None:
    file = tmp_path / "audit.jsonl"
    audit = Audit(AuditSettings(file=file))
    for _ in range(5000):
        audit.write(entry_line(audit, key="", status=status))
    audit.write(entry_line(audit))
    audit.close()
    lines = lines_of(file)
    assert len(lines) < 100
    assert lines[-1]["status"] == "200"


def test_a_long_id_is_cut(tmp_path: Path) -> None:
    audit = Audit(AuditSettings(file=tmp_path / "a"))
    from rewarden.types import Verdict

    entry = audit.entry("id", "http", "")
    entry.note([Verdict(status="scored", score=1.0, id="x" * 5000)])
    line = entry.line(route="r", method="m", key="k", status="200", seconds=0.0)
    audit.close()
    assert len(line["ids"][0]) == 128


def test_a_log_that_has_grown_is_put_aside_and_so_many_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    audit = Audit(AuditSettings(file=file, max_bytes=1, keep=2))
    for number in range(5):
        audit.write(entry_line(audit, key=str(number)))
        audit.wait_written()
    audit.close()
    found = {path.name: [line["key"] for line in lines_of(path)] for path in tmp_path.iterdir()}
    assert found == {"audit.jsonl": ["4"], "audit.jsonl.1": ["3"], "audit.jsonl.2": ["2"]}


def test_a_log_that_was_moved_away_is_begun_anew_at_sighup(tmp_path: Path) -> None:
    file = tmp_path / "audit.jsonl"
    with ServerProcess(tmp_path, "--set", f"audit.file={file}") as server:
        ask(server, "before")
        file.rename(tmp_path / "moved")
        server.process.send_signal(signal.SIGHUP)
        ask(server, "after")
        server.process.send_signal(signal.SIGTERM)
        server.end()
    written = [line["request_id"] for path in (tmp_path / "moved", file) for line in lines_of(path)]
    assert written == ["before", "after"]
    assert file.exists()


def ask(server: ServerProcess, request_id: str) -> None:
    """One request that is written down."""
    import httpx

    assert httpx.get(f"{server.http}/v1/info", headers={"X-Request-Id": request_id}).status_code == 200


def full(file: Path) -> None:
    """Have every write to a log fail from here on, as on a full disk."""
    file.unlink()
    file.symlink_to("/dev/full")


async def test_a_log_that_cannot_be_written_is_told_and_refuses_work_only_where_it_is_required(
    start: Start, tmp_path: Path
) -> None:
    for required, status in ((False, 200), (True, 503)):
        file = tmp_path / f"audit-{required}"
        server = await start({"audit.file": str(file), "audit.required": required})
        assert (await server.http.get("/v1/info")).status_code == 200
        audit = server.serving.service.audit
        assert audit is not None
        audit.wait_written()
        full(file)
        audit.reopen()
        await server.http.get("/v1/info")
        audit.wait_written()
        assert audit.broken is not None
        assert audit.lost == 1
        answer = await server.http.get("/v1/info")
        assert answer.status_code == status
        assert (await server.http.get("/healthz")).status_code == 200
        file.unlink()
        audit.reopen()
        audit.wait_written()
        await server.http.get("/v1/info")
        audit.wait_written()
        assert audit.broken is None
        assert (await server.http.get("/v1/info")).status_code == 200


def test_a_log_that_cannot_be_opened_keeps_the_server_from_starting(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"audit\.file"):
        Audit(AuditSettings(file=tmp_path / "missing" / "audit.jsonl"))
