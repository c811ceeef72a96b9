"""The broker of a room whose interpreter has no JSON: what it makes of frames that the other room forged."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rewarden_verifiers.execution.shims import bash
from rewarden_verifiers.execution.shims.written import Entry

TESTS = "set -e\n[[ $(answer 'a\\b') = yes ]] || echo 'no\\n' >&2\nanswer x > /dev/null"
LOADED = b'{"is":"loaded"}'
RIGHT = b'{"is":"value","value":{"t":[{"i":"0"},"yes"]},"id":%d}'


def reported(folder: Path, *frames: bytes) -> dict[str, Any]:
    """The report of a tests' room that received these frames."""
    written = bash.testing(Entry("answer"), TESTS)
    for name, content in {"main.sh": written.code.encode(), **written.files}.items():
        path = folder / name
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(content)
    ours, theirs = socket.socketpair()
    reads, writes = os.pipe()
    with ours, os.fdopen(reads, "rb") as reply:
        command = f"exec bash main.sh 3<&{theirs.fileno()} 4>&{writes}"
        with subprocess.Popen(
            ["bash", "-c", command], cwd=folder, stdin=subprocess.PIPE, pass_fds=(theirs.fileno(), writes)
        ) as run:
            theirs.close()
            os.close(writes)
            assert run.stdin is not None
            run.stdin.write(json.dumps({"nonce": "n", "entry_point": "answer"}).encode())
            run.stdin.close()
            with contextlib.suppress(OSError):  # it ends at the first bad one
                for frame in frames:
                    ours.sendall(len(frame).to_bytes(4, "big") + frame)
                ours.shutdown(socket.SHUT_WR)
            said: dict[str, Any] = json.loads(reply.read())
    assert said["nonce"] == "n"
    assert (run.returncode == 0) == (said["outcome"] == "passed")
    return said


def test_answers_that_the_tests_accept_pass(tmp_path: Path) -> None:
    said = reported(tmp_path, LOADED, RIGHT % 1, RIGHT % 2)
    assert (said["outcome"], said["calls"], said["provenance"]) == ("passed", 2, {})


def deep(depth: int) -> bytes:
    return b'{"is":"value","id":1,"value":' + b'{"l":[' * depth + b"true" + b"]}" * depth + b"}"


@pytest.mark.parametrize(
    "frame",
    [
        RIGHT % 2,
        b'{"is":"value","value":true,"id":1}',
        b'{"is":"value","value":{"t":[{"i":"0"}]},"id":1}',
        b'{"is":"value","value":{"t":[{"i":"0"},{"l":[]}]},"id":1}',
        b'{"is":"value","value":{"t":["0; touch x","yes"]},"id":1}',
        b'{"is":"value","value":{"f":"0x1p+9999"},"id":1}',
        b'{"is":"value","value":{"i":"' + b"f" * 3001 + b'"},"id":1}',
        b'{"is":"value","value":{"l":[1]},"id":1}',
        b'{"is":"value","value":{"d":[[true]]},"id":1}',
        b'{"is":"value","value":"\\ud800","id":1}',
        b'{"is":"value","value":NaN,"id":1}',
        b'{"is":"value","id":' + b"1" * 9999 + b"}",
        b'{"is":"value","value":"\xff","id":1}',
        deep(101),
        deep(99_999),
        b'{"is":"raised","type":"exit","message":"0","id":1}',
        b'{"is":"thing","id":1}',
        b"[]",
        b"",
    ],
    ids=lambda frame: frame[:50].decode("latin-1"),
)
def test_a_frame_of_another_shape_is_the_candidates_fault_and_ends_the_tests(tmp_path: Path, frame: bytes) -> None:
    said = reported(tmp_path, LOADED, frame, RIGHT % 2)
    assert (said["outcome"], said["kind"], said["who"]) == ("failed", "bad_frame", "candidate")


@pytest.mark.parametrize(
    ("frames", "kind"),
    [
        ((), "candidate_lost"),
        ((LOADED, RIGHT % 1), "candidate_lost"),
        ((LOADED, b'{"is":"absent","id":1}'), "missing_name"),
        ((LOADED, b'{"is":"uncrossable","type":"x","id":1}'), "uncrossable_value"),
        ((b'{"is":"unloaded","type":"error","message":"no"}',), "candidate_load"),
        ((b'{"is":"value"}',), "bad_frame"),
    ],
)
def test_a_candidate_that_cannot_answer_ends_the_tests(tmp_path: Path, frames: tuple[bytes, ...], kind: str) -> None:
    said = reported(tmp_path, *frames)
    assert (said["outcome"], said["kind"], said["who"]) == ("failed", kind, "candidate")
