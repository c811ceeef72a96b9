"""The check of an adapter's settings when it is made: every usual mistake is named with its fix, before training."""

from __future__ import annotations

import json
import logging
import os
import pickle
import shutil
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import grpc
import pytest

from rewarden.adapters import areal, easyr1, openrlhf, plain, preflight, skyrl, slime, swift, trl, verifiers, verl
from rewarden.adapters.settings import Settings
from rewarden.errors import FingerprintMoved, Forbidden, InvalidRequest, RequestError, Unauthorized, Unavailable
from rewarden_server.access.key_record import new_key
from tests.certificates import Authority
from tests.server.process import ServerProcess

pytestmark = pytest.mark.needs_server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A server with default settings."""
    with ServerProcess(tmp_path_factory.mktemp("server")) as running:
        yield running


class Secure:
    """A server that speaks TLS and wants a key; the key, one that may only read, and its authority."""

    def __init__(self, folder: Path) -> None:
        authority = Authority(folder)
        shown = authority.made("server")
        for file, name in ((shown.cert, "tls.pem"), (shown.key, "tls.key")):
            shutil.copy(file, folder / name)
        self.ca = str(authority.ca)
        self.key, digest = new_key()
        self.reading, reading = new_key()
        (folder / "keys").write_text(f"trainer {digest}\nviewer {reading} scopes=read\n")
        settings = {"tls_cert": "tls.pem", "tls_key": "tls.key"}
        flags = [word for name, value in settings.items() for word in ("--set", f"server.{name}={folder / value}")]
        self.process = ServerProcess(folder, *flags, "--set", f"keys.file={folder / 'keys'}")


@pytest.fixture(scope="module")
def secure(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secure]:
    """A server that speaks TLS and wants a key."""
    made = Secure(tmp_path_factory.mktemp("secure"))
    with made.process:
        yield made


@pytest.fixture(autouse=True)
def unchecked(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process has checked nothing yet."""
    monkeypatch.setattr(preflight, "_passed", set())


def place_of(target: str) -> str:
    return target.partition("://")[2]


Answer = Callable[[str], tuple[int, bytes, str]]


@contextmanager
def answering(answer: Answer) -> Iterator[str]:
    """Another program on a port: its address. `answer` returns the status, the body and its type for a path."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            status, body, kind = answer(self.path)
            self.send_response(status)
            self.send_header("Content-Type", kind)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_POST = do_GET

        def log_message(self, *args: Any) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.server_port}"
        finally:
            listening.shutdown()
            thread.join()


# --- the address -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_a_server_that_can_judge_passes_in_silence(
    server: ServerProcess, surface: str, caplog: pytest.LogCaptureFixture
) -> None:
    made = plain.reward("math", target=getattr(server, surface))
    assert not [record for record in caplog.records if record.name == "rewarden"]
    assert made(None, ["So it is \\boxed{7}."], answer="7") == [1.0]


@pytest.mark.parametrize(
    ("given", "surface", "fix"),
    [
        ("https", "http", "does not use TLS; use http://"),
        ("grpcs", "grpc", "does not use TLS; use grpc://"),
        ("http", "grpc", "is a gRPC port; use grpc://"),
        ("https", "grpc", "is a gRPC port; use grpc://"),
        ("grpc", "http", "is an HTTP port; use http://"),
        ("grpcs", "http", "is an HTTP port; use http://"),
    ],
)
def test_the_wrong_scheme_is_told_with_the_right_address(
    server: ServerProcess, given: str, surface: str, fix: str
) -> None:
    place = place_of(getattr(server, surface))
    with pytest.raises(InvalidRequest) as raised:
        plain.reward("math", target=f"{given}://{place}")
    assert f"'{given}://{place}'" in raised.value.message
    assert f"{fix}{place}" in raised.value.message


@pytest.mark.parametrize(("given", "surface"), [("http", "http"), ("grpc", "grpc"), ("grpc", "http"), ("http", "grpc")])
def test_a_server_with_tls_is_recognized_without(secure: Secure, given: str, surface: str) -> None:
    target = getattr(secure.process, surface)
    with pytest.raises(InvalidRequest, match=f"use {target}"):
        plain.reward("math", target=f"{given}://{place_of(target)}", api_key=secure.key)


@pytest.mark.parametrize("path", ["/v1/verify", "/v1", "/docs", "/compat/gym/verify"])
def test_a_pasted_path_is_told_with_the_address_without_it(server: ServerProcess, path: str) -> None:
    for target in (server.http, server.grpc):
        with pytest.raises(InvalidRequest, match=f"path.*; use {target}$"):
            plain.reward("math", target=target + path)


@pytest.mark.parametrize(
    ("status", "body", "kind"),
    [
        (200, b"<!doctype html><title>JupyterLab</title>", "text/html"),
        (404, b'{"detail": "Not Found"}', "application/json"),
        (404, b'{"error": {"message": "no such route", "type": "NotFoundError", "code": 404}}', "application/json"),
        (405, b"<h1>Method Not Allowed</h1>", "text/html"),
    ],
)
def test_another_program_on_the_port_is_told_with_its_answer(status: int, body: bytes, kind: str) -> None:
    with answering(lambda path: (status, body, kind)) as target, pytest.raises(InvalidRequest) as raised:
        plain.reward("math", target=target)
    assert f"{target!r} is not a Rewarden server: it answers {status}" in raised.value.message
    assert kind in raised.value.message
    assert body.decode() in raised.value.message


def test_another_grpc_server_is_told() -> None:
    other = grpc.server(ThreadPoolExecutor(1))
    port = other.add_insecure_port("127.0.0.1:0")
    other.start()
    try:
        with pytest.raises(InvalidRequest, match="not Rewarden"):
            plain.reward("math", target=f"grpc://127.0.0.1:{port}")
    finally:
        other.stop(None).wait()


def test_a_proxy_whose_server_is_down_may_recover(caplog: pytest.LogCaptureFixture) -> None:
    with answering(lambda path: (502, b"<h1>Bad Gateway</h1>", "text/html")) as target:
        plain.reward("math", target=target)
    assert "Bad Gateway" in caplog.text


@pytest.mark.parametrize("scheme", ["http", "grpc"])
@pytest.mark.parametrize(
    ("place", "why"),
    [("nothing", "nothing listens there"), ("no-such-host.invalid:8080", "'no-such-host.invalid' cannot be resolved")],
)
def test_a_server_that_is_not_up_yet_is_a_warning(
    scheme: str, place: str, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    with socket.socket() as bound:  # its port is taken, and nothing listens
        bound.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{bound.getsockname()[1]}" if place == "nothing" else place
        made = plain.reward("math", target=f"{scheme}://{place}", patience_s=0)
        assert why in caplog.text
        assert "retries for up to 0 s" in caplog.text
        with pytest.raises(Unavailable):
            made(None, ["7"], answer="7")


def test_a_server_that_never_answers_costs_no_more_than_the_limit(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(preflight, "WITHIN_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        plain.reward("math", target=f"http://127.0.0.1:{silent.getsockname()[1]}")
    assert "has not answered within 0.05 s" in caplog.text


@pytest.mark.parametrize(
    ("target", "why"),
    [("127.0.0.1:8080", "use http://HOST:PORT"), ("http://127.0.0.1:80800", "Port out of range")],
)
def test_what_is_no_address_is_told(target: str, why: str) -> None:
    with pytest.raises(InvalidRequest, match=why):
        plain.reward("math", target=target)


# --- keys and certificates ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_a_rejected_key_is_told_and_never_shown(secure: Secure, surface: str) -> None:
    target = getattr(secure.process, surface)
    plain.reward("math", target=target, ca=secure.ca, api_key=secure.key)
    for error, key, why in ((Unauthorized, "wrong", "rejects the API key"), (Forbidden, secure.reading, "verify")):
        with pytest.raises(error, match=why) as raised:
            plain.reward("math", target=target, ca=secure.ca, api_key=key)
        assert key not in str(raised.value)


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_what_only_this_process_lacks_is_a_warning(
    secure: Secure, surface: str, caplog: pytest.LogCaptureFixture, tmp_path: Path
) -> None:
    """The process that requests rewards has its own environment, with the key and the authority."""
    target = getattr(secure.process, surface)
    for settings, why in (
        ({"ca": secure.ca}, "set REWARDEN_API_KEY"),
        ({"api_key": secure.key}, "certificate is not trusted"),
        ({"ca": str(tmp_path / "none.pem")}, "cannot be read"),
    ):
        plain.reward("math", target=target, **settings)
        assert why in caplog.text


@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_a_certificate_of_another_authority_is_told(secure: Secure, surface: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidRequest, match="certificate is not trusted"):
        plain.reward("math", target=getattr(secure.process, surface), ca=str(Authority(tmp_path, "stranger").ca))


# --- the judge ---------------------------------------------------------------------------------------------------

MISTAKES: list[tuple[Any, str]] = [
    ("mth", "did you mean 'math'?"),
    ({"name": "math", "params": {"extracton": "lax"}}, "params.extracton.*did you mean 'extraction'"),
    ({"recipe": {"uses": {"a": "mth"}, "score": "a.score"}}, "did you mean 'math'"),
]


@pytest.mark.parametrize("surface", ["http", "grpc", "local"])
@pytest.mark.parametrize(("use", "why"), MISTAKES)
def test_a_judge_that_cannot_judge_is_told_as_its_samples_would_be(
    server: ServerProcess, surface: str, use: Any, why: str
) -> None:
    with pytest.raises(InvalidRequest, match=why):
        plain.reward(use, target="local" if surface == "local" else getattr(server, surface))


def test_every_use_of_a_routing_is_checked(server: ServerProcess, tmp_path: Path) -> None:
    file = tmp_path / "routing.toml"
    file.write_text('[[route]]\ndata_source = "a"\nuse = "math"\n[[route]]\ndata_source = "b"\nuse = "choise"\n')
    with pytest.raises(InvalidRequest, match=r"routing\.toml: route b → choise: .* did you mean 'choice'"):
        plain.reward(routing=str(file), target=server.http)
    plain.reward(routing="starter", target=server.http)


@pytest.mark.parametrize("surface", ["http", "grpc", "local"])
def test_an_expected_version_is_checked(server: ServerProcess, surface: str) -> None:
    target = "local" if surface == "local" else getattr(server, surface)
    with pytest.raises(FingerprintMoved, match="not the expected math@0"):
        plain.reward("math", target=target, expect={"math": "math@0"})


def test_a_server_that_does_not_understand_the_request_is_told_with_both_versions() -> None:
    refusal = {"error": {"code": "invalid_request", "message": "fields: unknown"}}
    replies = {"/v1/verify": (400, refusal), "/v1/info": (200, {"version": "0.0.1"})}

    def older(path: str) -> tuple[int, bytes, str]:
        status, value = replies[path]
        return status, json.dumps(value).encode(), "application/json"

    told = pytest.raises(InvalidRequest, match=r"unknown \(the server's version is 0\.0\.1, this client's is")
    with answering(older) as target, told:
        plain.reward("math", target=target)


# --- when it runs ------------------------------------------------------------------------------------------------


def made_by(name: str, **settings: Any) -> Any:
    """Makes an adapter as its trainer does; those that are functions are called once."""
    row = {"response": "7", "response_length": 1, "ground_truth": "7"}
    called: dict[str, Callable[[], Any]] = {
        "areal": lambda: areal.reward(**settings),
        "easyr1": lambda: easyr1.compute_score([row], **settings),
        "openrlhf": lambda: openrlhf.reward(**settings),
        "plain": lambda: plain.reward(**settings),
        "skyrl": lambda: skyrl.Episode({}, {}, **settings),
        "slime": lambda: slime.scorer_of(type("Args", (), {"rewarden": settings})()),
        "swift": lambda: swift.reward(**settings),
        "trl": lambda: trl.reward(**settings),
        "trl, asynchronous": lambda: trl.areward(**settings),
        "verifiers": lambda: verifiers.reward(**settings),
        "verl": lambda: verl.compute_score("d", "7", "7", **settings),
    }
    return called[name]()


ADAPTERS = (
    *("areal", "easyr1", "openrlhf", "plain", "skyrl", "slime", "swift", "trl", "trl, asynchronous", "verifiers"),
    "verl",
)


@pytest.mark.parametrize("name", ADAPTERS)
def test_every_adapter_checks_its_settings(server: ServerProcess, name: str) -> None:
    with pytest.raises(RequestError, match="did you mean 'math'"):
        made_by(name, use="mth", target=server.http, unscored=0)


async def test_it_works_in_a_running_loop(server: ServerProcess) -> None:
    with pytest.raises(InvalidRequest, match="did you mean 'math'"):
        plain.reward("mth", target=server.http)
    with pytest.raises(InvalidRequest, match="did you mean 'math'"):
        await verl.acompute_score("d", "7", "7", use="mth", target=server.http)
    made = trl.areward("math", target=server.http)
    assert await made(None, ["\\boxed{7}"], answer=["7"]) == [1.0]


def test_the_same_settings_are_checked_once_in_a_process_and_never_when_unpickled() -> None:
    asked = []

    def answer(path: str) -> tuple[int, bytes, str]:
        asked.append(path)
        return 200, b'{"verdicts": [], "groups": []}', "application/json"

    with answering(answer) as target:
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: plain.reward("math", target=target), range(8)))
        assert asked == ["/v1/verify"]
        preflight._passed.clear()
        pickle.loads(pickle.dumps(made[0]))  # noqa: S301
        assert asked == ["/v1/verify"]
        plain.reward("choice", target=target)
        assert len(asked) == 2


@pytest.mark.forks
@pytest.mark.parametrize("surface", ["http", "grpc"])
def test_a_child_that_is_forked_after_the_check_requests_rewards(server: ServerProcess, surface: str) -> None:
    made = plain.reward("math", target=getattr(server, surface))
    child = os.fork()
    if not child:
        right = made(None, ["\\boxed{7}"], answer="7") == [1.0]
        os._exit(0 if right else 1)
    assert os.waitpid(child, 0)[1] == 0


def test_the_check_leaves_nothing_of_grpc_in_the_process(server: ServerProcess) -> None:
    """A child that is forked beside gRPC's threads may wait for their locks forever."""
    code = (
        "import sys; from rewarden.adapters import plain; "
        "plain.reward('math', target=sys.argv[1]); sys.exit('grpc' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code, server.grpc], timeout=120).returncode == 0


def test_no_thread_and_no_loop_stay_behind(server: ServerProcess) -> None:
    before = threading.active_count()
    plain.reward("math", target=server.http)
    assert threading.active_count() == before


@pytest.mark.parametrize("value", ["0", "false", "off"])
def test_it_can_be_turned_off(value: str, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO)
    plain.reward("math", target="http://127.0.0.1:9", preflight=False)
    monkeypatch.setenv("REWARDEN_PREFLIGHT", value)
    plain.reward("math", target="http://127.0.0.1:9")
    assert not caplog.records
    monkeypatch.setenv("REWARDEN_PREFLIGHT", "maybe")
    with pytest.raises(InvalidRequest, match="preflight: must be true or false"):
        Settings.read()


def test_local_starts_no_engine(caplog: pytest.LogCaptureFixture) -> None:
    before = threading.active_count()
    plain.reward("math", target="local")
    assert not [record for record in caplog.records if record.name == "rewarden"]
    assert threading.active_count() == before
