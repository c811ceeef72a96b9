"""Logs: ids, never texts."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator
from typing import Any

import pytest
import structlog

from rewarden_server.observe.logs import MOST_LINES, set_up_logs
from rewarden_server.observe.settings import LogSettings
from tests.server.conftest import Running

SECRET = "the model wrote this"


@pytest.fixture(autouse=True)
def as_before() -> Iterator[None]:
    """Logs go where they went: what a later test prints on standard output must not have a library's line in it."""
    config, handlers, level = structlog.get_config(), logging.getLogger().handlers[:], logging.getLogger().level
    yield
    structlog.configure(**config)
    logging.getLogger().handlers[:] = handlers
    logging.getLogger().setLevel(level)


@pytest.fixture
def written() -> io.StringIO:
    """Returns the stream of what is logged, in JSON, at level info."""
    stream = io.StringIO()
    set_up_logs(LogSettings(level="info", json=True), stream)
    return stream


def lines(stream: io.StringIO) -> list[dict[str, Any]]:
    """The lines so far."""
    return [json.loads(line) for line in stream.getvalue().splitlines()]


async def test_a_request_has_one_line_with_its_id_and_status(server: Running, written: io.StringIO) -> None:
    await server.http.post("/v1/verify", json={"samples": []}, headers={"X-Request-Id": "r1"})
    (line,) = [line for line in lines(written) if line["event"] == "request"]
    assert (line["request_id"], line["route"], line["status"], line["key"]) == ("r1", "/v1/verify", 200, "anonymous")


async def test_a_defect_of_a_verifier_is_told_with_ids_and_without_text(server: Running, written: io.StringIO) -> None:
    sample = {"id": "s1", "response": SECRET, "prompt": SECRET, "reference": SECRET, "metadata": {"m": SECRET}}
    answer = await server.http.post(
        "/v1/verify", json={"use": "broken", "samples": [sample]}, headers={"X-Request-Id": "r1"}
    )
    assert SECRET in answer.json()["verdicts"][0]["feedback"]  # the caller may see it
    (line,) = [line for line in lines(written) if line["event"] == "unscored"]
    assert (line["request_id"], line["sample_id"], line["verifier"]) == ("r1", "s1", "broken")
    assert (line["reason"], line["fault"]) == ("verifier_raised", "verifier")
    assert SECRET not in written.getvalue()


@pytest.mark.parametrize("json_lines", [True, False])
async def test_an_id_is_logged_in_short_and_without_signs_that_a_terminal_obeys(
    server: Running, json_lines: bool
) -> None:
    stream = io.StringIO()
    set_up_logs(LogSettings(level="debug", json=json_lines), stream)
    ids = ["a\x1b[2J\r\n\x9b\u202eb", "x" * 100_000]
    await server.verify(*[{"id": id, "response": "A"} for id in ids], use="broken")
    told = [line for line in stream.getvalue().splitlines() if "unscored" in line]
    assert len(told) == 4
    assert [line for line in told if "x" * 128 in line and "x" * 129 not in line] == told[2:]
    assert all(line.replace("\\\\", "\\").count(r"a\x1b[2J\r\n\x9b\u202eb") == 1 for line in told[:2])
    assert not set("\x1b\r\x9b\u202e") & set(stream.getvalue())


@pytest.mark.parametrize("path", ["/v1/verify", "/v1/verify/stream"])
async def test_no_texts_are_logged_whatever_the_request(server: Running, written: io.StringIO, path: str) -> None:
    for body in (
        json.dumps({"use": "same", "samples": [{"response": SECRET, "reference": SECRET}, {SECRET: 1}, SECRET]}),
        json.dumps({"batch": {"use": "broken"}}) + "\n" + json.dumps({"response": SECRET}) + "\n" + SECRET,
        json.dumps({SECRET: 1}),
        '{"samples": "' + SECRET,
    ):
        await server.http.post(path, content=body.encode(), headers={"Content-Type": "application/json"})
    assert [line["event"] for line in lines(written)].count("request") == 4
    assert SECRET not in written.getvalue()


async def test_an_exception_nobody_expected_is_told_without_its_message(
    server: Running, written: io.StringIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise ZeroDivisionError(SECRET)

    monkeypatch.setattr(server.serving.service.engine, "verify", fail)
    assert (await server.verify(use="same")).status_code == 500
    (line,) = [line for line in lines(written) if line["event"] == "defect"]
    assert line["error"] == "ZeroDivisionError"
    assert "in fail" in line["traceback"]
    assert SECRET not in written.getvalue()


async def test_a_broken_verifier_does_not_write_a_line_a_sample(server: Running, written: io.StringIO) -> None:
    await server.verify(*[{"response": "A"}] * (MOST_LINES + 5), use="broken")
    events = [line["event"] for line in lines(written)]
    assert events.count("unscored") == MOST_LINES
    assert [line["verdicts"] for line in lines(written) if line["event"] == "more unscored"] == [5]


async def test_what_the_policy_or_the_caller_did_is_not_logged(server: Running, written: io.StringIO) -> None:
    await server.verify({"response": "B", "reference": "A"}, {}, use="same")
    assert {line["event"] for line in lines(written)} == {"request"}


def test_logs_for_a_person_are_no_json() -> None:
    stream = io.StringIO()
    set_up_logs(LogSettings(level="warning"), stream)
    structlog.get_logger().info("left out")
    structlog.get_logger().warning("told", number=1)
    assert "left out" not in stream.getvalue()
    assert "told" in stream.getvalue()
    assert not stream.getvalue().startswith("{")
