"""The record of what was run in a box, as a trajectory in ATIF."""

from __future__ import annotations

import json
from typing import Any

from rewarden.boxes.types import ExecOutput, ExecRequest, ExecResult
from rewarden_server.boxes.trajectory import MOST_BYTES, Trajectory

BEGIN = 1_700_000_000.0


def told(trajectory: Trajectory) -> dict[str, Any]:
    """Returns the file's content."""
    found: dict[str, Any] = json.loads(trajectory.to_json("box-1", "Do it."))
    return found


def run(trajectory: Trajectory, number: int, shell: str, output: bytes = b"") -> None:
    """Notes a program that ended well."""
    call = trajectory.begin(number, ExecRequest(shell=shell))
    if call is not None:
        call.add(ExecOutput(stream="stdout", data=output))
        call.end(ExecResult(exec=number, status="ok", exit_code=0))


def test_each_program_is_a_step_with_its_call_and_what_it_wrote() -> None:
    trajectory = Trajectory(lambda: BEGIN)
    call = trajectory.begin(4, ExecRequest(argv=["ls", "x"], cwd="/app", background=True))
    assert call is not None
    call.add(ExecOutput(stream="stderr", data=b"no \xff\n"))
    call.add(ExecOutput(stream="stdout", data=b"more\n"))
    call.end(ExecResult(exec=4, status="runtime_error", exit_code=2))
    assert told(trajectory) == {
        "schema_version": "ATIF-v1.4",
        "session_id": "box-1",
        "agent": {"name": "rewarden-box", "version": told(trajectory)["agent"]["version"]},
        "steps": [
            {"step_id": 1, "source": "user", "message": "Do it."},
            {
                "step_id": 2,
                "timestamp": "2023-11-14T22:13:20+00:00",
                "source": "agent",
                "message": "",
                "tool_calls": [
                    {
                        "tool_call_id": "exec-4",
                        "function_name": "exec",
                        "arguments": {"argv": ["ls", "x"], "cwd": "/app", "background": True},
                    }
                ],
                "observation": {"results": [{"source_call_id": "exec-4", "content": "no \ufffd\nmore\n"}]},
                "extra": {"status": "runtime_error", "exit_code": 2},
            },
        ],
    }


def test_a_program_that_runs_says_so() -> None:
    trajectory = Trajectory(lambda: BEGIN)
    assert trajectory.begin(1, ExecRequest(shell="sleep 9")) is not None
    assert told(trajectory)["steps"][1]["extra"] == {"status": "running"}


def test_the_beginning_of_a_long_output_is_kept_with_its_size() -> None:
    trajectory = Trajectory(lambda: BEGIN)
    run(trajectory, 1, "yes", b"ab" * 100_000)
    step = told(trajectory)["steps"][1]
    assert step["observation"]["results"][0]["content"] == "ab" * 8192
    assert step["extra"]["output_bytes"] == 200_000


def test_the_record_is_bounded_and_names_how_many_programs_it_leaves_out() -> None:
    trajectory = Trajectory(lambda: BEGIN)
    for number in range(100):
        run(trajectory, number, "yes", b"x" * 20_000)
    run(trajectory, 100, "a" * MOST_BYTES)
    run(trajectory, 101, "true")
    found = told(trajectory)
    assert len(json.dumps(found)) < 2 * MOST_BYTES
    assert len(found["steps"]) + found["extra"]["omitted"] == 103
    assert found["steps"][-1]["tool_calls"][0]["arguments"] == {"shell": "yes"}


def test_a_copy_begins_with_what_came_before_it_alone() -> None:
    trajectory = Trajectory(lambda: BEGIN)
    call = trajectory.begin(1, ExecRequest(shell="make"))
    assert call is not None
    copy = trajectory.copied()
    call.add(ExecOutput(stream="stdout", data=b"later"))
    run(copy, 2, "of the copy")
    assert [step["observation"]["results"][0]["content"] for step in told(copy)["steps"][1:]] == ["", ""]
    assert len(told(trajectory)["steps"]) == 2
