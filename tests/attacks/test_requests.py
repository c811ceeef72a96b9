"""Attacks on a real server, over HTTP and gRPC: each gets a clear answer, and the next caller is served as usual.

`tests/server` covers the size and packing of requests, keys and cancellation.
"""

from __future__ import annotations

import errno
import json
import random
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import grpc
import httpx
import pytest

from rewarden.v1 import rewarden_pb2 as pb
from rewarden.v1 import rewarden_pb2_grpc as stubs
from tests.server.process import ServerProcess

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

JSON = {"Content-Type": "application/json"}
RIGHT = {"response": r"\boxed{12}", "reference": "12", "id": "right"}
CODE = 'def f(x):\n    return eval(\'__import__("os").system("true")\')  # {}[]()\\\\\n'


class Target:
    """The server under attack, and clients connected to it."""

    def __init__(self, server: ServerProcess, blobs: Path) -> None:
        self.http = httpx.Client(base_url=server.http, timeout=120)
        self.address = ("127.0.0.1", int(server.http.rpartition(":")[2]))
        self.grpc_address = ("127.0.0.1", int(server.grpc.rpartition(":")[2]))
        self.channel = grpc.insecure_channel(
            server.grpc.removeprefix("grpc://"),
            options=[("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)],
        )
        self.stub = stubs.RewardServiceStub(self.channel)
        self.blobs = blobs

    def verify(self, *samples: Any, **envelope: Any) -> httpx.Response:
        """Sends `POST /v1/verify`, by default with `math`."""
        return self.raw(json.dumps({"use": "math", "samples": samples, **envelope}).encode())

    def raw(self, body: bytes) -> httpx.Response:
        """Sends `POST /v1/verify` with any bytes."""
        return self.http.post("/v1/verify", content=body, headers=JSON)

    def verdicts(self, *samples: Any, **envelope: Any) -> list[dict[str, Any]]:
        """Returns the verdicts of an accepted request."""
        answer = self.verify(*samples, **envelope)
        assert answer.status_code == 200, answer.text[:500]
        found: list[dict[str, Any]] = answer.json()["verdicts"]
        return found

    def told(self, data: bytes, address: tuple[str, int] | None = None, *, leaves: bool = False) -> bytes:
        """Returns what a connection is told that sends these bytes and no more, and perhaps says so (`leaves`)."""
        with socket.create_connection(address or self.address, timeout=60) as connection:
            try:
                connection.sendall(data)
                if leaves:
                    connection.shutdown(socket.SHUT_WR)
                return b"".join(iter(lambda: connection.recv(65536), b""))
            except OSError as error:  # it had hung up already: ENOTCONN is none of the ConnectionErrors
                if not isinstance(error, ConnectionError) and error.errno != errno.ENOTCONN:
                    raise
                return b""

    def serves(self) -> None:
        """Asserts that the next callers get correct verdicts."""
        assert [verdict["score"] for verdict in self.verdicts(RIGHT, {**RIGHT, "response": "13"})] == [1.0, 0.0]
        assert self.stub.Verify(message(RIGHT)).verdicts[0].score == 1.0
        assert self.http.get("/readyz").status_code == 200


def message(*samples: dict[str, Any]) -> pb.VerifyRequest:
    """A gRPC request."""
    return pb.VerifyRequest(
        header=pb.Header(use=pb.Use(name="math")),
        samples=[
            pb.Sample(
                id=sample.get("id", ""),
                response=pb.Text(text=sample["response"]),
                reference_json=json.dumps(sample["reference"]),
            )
            for sample in samples
        ],
    )


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Target]:
    """A server that keeps blobs in a folder."""
    folder = tmp_path_factory.mktemp("attacked")
    blobs = folder / "blobs"
    with ServerProcess(folder, "--set", f"limits.blob_dir={blobs}") as process:
        target = Target(process, blobs)
        yield target
        target.http.close()
        target.channel.close()
        assert process.process.poll() is None, "the server ended"


@pytest.fixture(autouse=True)
def the_next_caller_is_served(server: Target) -> Iterator[None]:
    """Checks after each attack that the next caller is served."""
    yield
    server.serves()


def is_refused(answer: httpx.Response, *statuses: int) -> None:
    """Asserts that a response is a clear refusal, in the format of all errors."""
    assert answer.status_code in statuses, (answer.status_code, answer.text[:300])
    error = answer.json()["error"]
    assert error["code"]
    assert error["message"]
    assert "Traceback" not in answer.text


# --- what a row can contain


def test_ten_megabytes_of_code_are_judged_like_any_text(server: Target) -> None:
    code = CODE * (10_000_000 // len(CODE))
    verdicts = server.verdicts({**RIGHT, "response": code}, {**RIGHT, "response": code + r"\boxed{12}"}, RIGHT)
    assert [(verdict["status"], verdict["score"]) for verdict in verdicts] == [("scored", score) for score in (0, 1, 1)]


def test_a_row_beyond_the_limit_does_not_affect_others(server: Target) -> None:
    verdicts = server.verdicts({**RIGHT, "response": "x" * 17 * 1024**2}, RIGHT)
    assert [(verdict["status"], verdict["fault"]) for verdict in verdicts] == [("error", "caller"), ("scored", None)]


@pytest.mark.parametrize("field", ["response", "prompt", "reference", "id", "data_source", "group"])
def test_a_nul_is_a_character(server: Target, field: str) -> None:
    verdict, right = server.verdicts({**RIGHT, field: "a\x00b"}, {**RIGHT, "group": "other"})
    assert verdict["status"] in ("scored", "undecided")
    assert verdict["id"] == ("a\x00b" if field == "id" else "right")
    assert right["score"] == 1.0


@pytest.mark.parametrize(
    ("row", "path"),
    [
        ({**RIGHT, "token_count": -1}, "token_count"),
        ({**RIGHT, "token_count": 10**30}, "token_count"),
        ({**RIGHT, "group": "g", "group_size": 0}, "group_size"),
        ({**RIGHT, "group": "g", "group_size": -5}, "group_size"),
        ({**RIGHT, "use": {"name": "math", "params": {"rel_tol": -1}}}, "params"),
        ({**RIGHT, "use": {"name": "math", "params": {"significant_digits": 10**9}}}, "params"),
        ({**RIGHT, "media": [{"blob": "../../x"}]}, "media[0].blob"),
        ({**RIGHT, "media": [{"blob": "/etc/passwd"}]}, "media[0].blob"),
        ({**RIGHT, "media": [{"blob": "x", "base64": "eA=="}]}, "media[0]"),
        ({**RIGHT, "reference_key": "../x"}, "reference"),
        ({**RIGHT, "finish_reason": "\x00"}, "finish_reason"),
    ],
)
def test_a_bad_row_is_that_rows_error(server: Target, row: dict[str, Any], path: str) -> None:
    bad, right = server.verdicts(row, {**RIGHT, "group": "other"})
    assert (bad["status"], bad["score"], bad["fault"]) == ("error", None, "caller")
    assert bad["feedback"]
    assert bad["evidence"]["path"].startswith(path), bad["evidence"]
    assert right["score"] == 1.0


@pytest.mark.parametrize(
    "text", ["NaN", "Infinity", "-Infinity", "1e999", '"\\ud800"', "1" * 5000], ids=lambda text: text[:12]
)
def test_an_invalid_json_value_is_refused_or_is_that_rows_error(server: Target, text: str) -> None:
    row = f'{{"response": "a", "reference": "b", "metadata": {{"x": {text}}}}}'
    answer = server.raw(f'{{"use": "math", "samples": [{row}, {json.dumps(RIGHT)}]}}'.encode())
    if answer.status_code == 200:
        bad, right = answer.json()["verdicts"]
        assert right["score"] == 1.0
        assert (bad["status"], bad["fault"]) == ("error", "caller")
    else:
        is_refused(answer, 400)


@pytest.mark.parametrize(
    "name", ["../math", "/etc/passwd", "os:system", "rewarden_verifiers.view:plain", "math\x00", "", "x" * 10**6]
)
def test_a_name_finds_verifiers_and_nothing_else(server: Target, name: str) -> None:
    answer = server.verify({**RIGHT, "use": name}, RIGHT)
    bad, right = answer.json()["verdicts"]
    assert (bad["status"], bad["fault"]) == ("error", "caller")
    assert right["score"] == 1.0


# --- what an envelope can contain


@pytest.mark.parametrize("field", ["deadline_s", "group_deadline_s"])
@pytest.mark.parametrize("value", ["NaN", "Infinity", "-1", "0", "-0.0", "1e999", '"1"', "true", "[1]"])
def test_an_invalid_deadline_is_refused(server: Target, field: str, value: str) -> None:
    is_refused(server.raw(f'{{"use": "math", "samples": [], "{field}": {value}}}'.encode()), 400)


@pytest.mark.parametrize("value", [1e10, 1e18, 1.7e308, 10**15])
def test_an_excessive_deadline_is_refused(server: Target, value: float) -> None:
    is_refused(server.verify(RIGHT, deadline_s=value), 400)


@pytest.mark.parametrize("value", [1e-300, 1e-9, 1.0, 1e9])
def test_a_deadline_of_any_size_is_kept_or_missed(server: Target, value: float) -> None:
    (verdict,) = server.verdicts(RIGHT, deadline_s=value, group_deadline_s=value)
    assert verdict["score"] == 1.0 or (verdict["fault"], verdict["reason"]) == ("infra", "deadline")


def test_samples_with_equal_ids_are_each_answered(server: Target) -> None:
    rows = [{**RIGHT, "id": "same", "response": rf"\boxed{{{n}}}"} for n in (12, 13, 12)]
    assert [(verdict["id"], verdict["score"]) for verdict in server.verdicts(*rows)] == [
        ("same", 1.0),
        ("same", 0.0),
        ("same", 1.0),
    ]


def test_a_hundred_thousand_tiny_samples_are_answered_in_order(server: Target) -> None:
    rows = [{"response": "AB"[n % 2], "reference": "A"} for n in range(100_000)]
    verdicts = server.verdicts(*rows, use="choice", fields=["score"])
    assert [verdict["score"] for verdict in verdicts] == [1.0, 0.0] * 50_000
    assert [verdict["index"] for verdict in verdicts] == list(range(100_000))


def test_a_hundred_thousand_groups_are_answered(server: Target) -> None:
    rows = [{"response": "A", "reference": "A", "group": f"g{n}", "group_size": 1} for n in range(100_000)]
    answer = server.verify(*rows, use="choice", fields=["score"]).json()
    assert len(answer["verdicts"]) == len(answer["groups"]) == 100_000


@pytest.mark.parametrize(
    "body",
    [
        b'{"use": "math", "samples": [{"response": "\xff\xfe"}]}',
        b"\xff\xfe{\x00}\x00",
        b"\x00",
        b'{"samples": []}\x00',
        b'{"samples": []}{"samples": []}',
        b'{"samples": [' + b'{"a":' * 100_000,
        b'{"use": ' + b"[" * 100_000 + b"]" * 100_000 + b', "samples": []}',
        b'{"' + b"x" * 10**6 + b'": 1, "samples": []}',
        b'{"use": {"name": "math", "params": {"view": "\\u0000"}, "x": 1}, "samples": []}',
    ],
    ids=lambda body: repr(body[:24]),
)
def test_a_body_that_is_not_a_request_is_refused(server: Target, body: bytes) -> None:
    is_refused(server.raw(body), 400, 413)


def test_noise_is_refused(server: Target) -> None:
    noise = random.Random(7)
    for size in (1, 10, 1000, 100_000):
        is_refused(server.raw(noise.randbytes(size)), 400)


# --- names that could be paths


@pytest.mark.parametrize(
    "name",
    [
        "../x",
        "..%2f..%2fx",
        "%2e%2e%2fx",
        "{quoted}",
        "/{path}",
        "%00",
        "x" * 64,
        "..%5cx",
        "." * 64,
        "A" * 64,
        "0" * 63 + "%0a",
        "0" * 100_000,
    ],
    ids=lambda name: name[:16],
)
def test_a_blob_name_that_could_be_a_path_is_refused_and_nothing_written(
    server: Target, tmp_path: Path, name: str
) -> None:
    outside = tmp_path / "x"
    name = name.format(path=outside, quoted=quote(str(outside), safe=""))

    def files() -> set[str]:
        return {str(path) for path in server.blobs.parent.rglob("*")}

    before = files()
    head = f"PUT /v1/blobs/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 4\r\n\r\ndata"
    answer = server.told(head.encode())
    assert answer.startswith((b"HTTP/1.1 400", b"HTTP/1.1 404", b"HTTP/1.1 414")), answer[:200]
    assert files() == before
    assert not outside.exists()


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "", "\x00", "0" * 65, 7, None, ["0" * 64]])
def test_an_invalid_name_of_a_shared_blob_is_refused(server: Target, name: Any) -> None:
    is_refused(server.verify(RIGHT, shared={"k": {"$blob": name}}), 400, 404)


@pytest.mark.parametrize("kind", ["verifiers", "recipes", "jobs"])
@pytest.mark.parametrize("name", ["..%2f..%2fpyproject.toml", "%2fetc%2fpasswd", "%00", "x" * 10_000, "../../info"])
def test_a_path_in_an_address_finds_nothing(server: Target, kind: str, name: str) -> None:
    answer = server.told(f"GET /v1/{kind}/{name} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n".encode())
    assert answer.startswith(b"HTTP/1.1 40"), answer[:200]
    assert b"root:" not in answer


# --- connections


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n" + b'{"samples": [',
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nff\r\n{",
        b"POST /v1/verify/stream HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
        b'1d\r\n{"batch": {"use": "math"}}\n\n\r\n10\r\n{"response',
        b"PUT /v1/blobs/" + b"0" * 64 + b" HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nhalf",
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Le",
        b"",
    ],
    ids=["a body", "a chunk", "a stream", "a blob", "headers", "nothing"],
)
def test_a_client_that_disconnects_midway_affects_no_other(server: Target, sent: bytes) -> None:
    for _ in range(20):
        answer = server.told(sent, leaves=True)
        assert b" 200 " not in answer.partition(b"\r\n")[0] or b"/stream" in sent
        assert b" 500 " not in answer.partition(b"\r\n")[0]


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: -1\r\n\r\n",
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999999\r\n\r\n",
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 1, 2\r\n\r\n{}",
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        b"POST /v1/verify HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}",
        b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\n" + b"X-A: b\r\n" * 20_000 + b"\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 500,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"\x00" * 10_000,
    ],
    ids=[
        "a negative length",
        "a length beyond all numbers",
        "two lengths",
        "a length and chunks",
        "a chunk that is no chunk",
        "an address without end",
        "headers without end",
        "TLS",
        "HTTP/2",
        "NULs",
    ],
)
def test_data_that_is_not_http_is_refused_or_disconnected(server: Target, sent: bytes) -> None:
    status = server.told(sent, leaves=True).partition(b"\r\n")[0]
    assert not status or status.startswith(b"HTTP/1.1 4"), status


# --- gRPC


def failure(call: Any) -> grpc.StatusCode:
    """Returns the status of a call that must fail."""
    with pytest.raises(grpc.RpcError) as raised:
        call()
    code: grpc.StatusCode = raised.value.code()
    return code


def test_ten_megabytes_of_code_and_nuls_are_judged_over_grpc(server: Target) -> None:
    code = CODE * (10_000_000 // len(CODE))
    reply = server.stub.Verify(message({**RIGHT, "response": code}, {**RIGHT, "response": "\x00" * 10**6}, RIGHT))
    assert [verdict.score for verdict in reply.verdicts] == [0.0, 0.0, 1.0]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), -1.0, 0.0])
def test_an_invalid_deadline_is_refused_over_grpc(server: Target, value: float) -> None:
    wrong = pb.VerifyRequest(header=pb.Header(deadline_s=value))
    assert failure(lambda: server.stub.Verify(wrong)) is grpc.StatusCode.INVALID_ARGUMENT


@pytest.mark.parametrize(
    "text", ["", "{", "NaN", "\x00", "[" * 100_000, "1" * 5000, '"\\ud800"'], ids=lambda text: text[:8]
)
def test_a_reference_that_is_not_json_is_that_rows_error(server: Target, text: str) -> None:
    request = message(RIGHT, RIGHT)
    request.samples[0].reference_json = text
    bad, right = server.stub.Verify(request).verdicts
    assert bad.score == 0.0
    assert right.score == 1.0
    assert bad.fault in ("caller", "reference") or not text


@pytest.mark.parametrize("method", ["Verify", "VerifyStream", "ListVerifiers", "Info", "Nothing"])
def test_bytes_that_are_not_a_message_are_refused(server: Target, method: str) -> None:
    call = server.channel.unary_unary(f"/rewarden.v1.RewardService/{method}")
    refusals = {grpc.StatusCode.INTERNAL, grpc.StatusCode.INVALID_ARGUMENT, grpc.StatusCode.UNIMPLEMENTED}
    refusals.add(grpc.StatusCode.UNKNOWN)  # what gRPC's asyncio server says of a message that cannot be read
    assert failure(lambda: call(b"\xff" * 1000, timeout=60)) in refusals


def test_a_stream_that_is_abandoned_midway_affects_no_other(server: Target) -> None:
    def forever() -> Iterator[pb.VerifyStreamRequest]:
        yield pb.VerifyStreamRequest(header=pb.Header(use=pb.Use(name="math")))
        while True:
            yield pb.VerifyStreamRequest(sample=message(RIGHT).samples[0])

    for _ in range(5):
        call = server.stub.VerifyStream(forever())
        assert next(iter(call)).verdict.score == 1.0
        call.cancel()


def test_data_that_is_not_grpc_is_disconnected(server: Target) -> None:
    for sent in (
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b"\x00" * 10_000,
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 1000,
    ):
        assert b" 200 " not in server.told(sent, server.grpc_address, leaves=True).partition(b"\r\n")[0]
