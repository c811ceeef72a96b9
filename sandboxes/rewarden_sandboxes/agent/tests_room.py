"""The tests' room: runs test code in which the candidate's names are proxies that send questions to the other room.

The candidate is hostile, and does not run here: none of its objects, classes or methods reaches this process, only
frames with values in tagged form. Misbehaviour of a proxy ends the run: a `Fault` is not an Exception, so no `except`
or `assertRaises` of a test mistakes it for the expected one, and after a fault the run cannot pass.
"""

from __future__ import annotations

import json
import os
import re
import traceback
from collections.abc import Callable
from typing import Any

from rewarden_sandboxes.agent import candidate_room, tagged_codec
from rewarden_sandboxes.agent.candidate_client import CandidateClient
from rewarden_sandboxes.agent.faults import Fault
from rewarden_sandboxes.agent.names import Names, Source, install
from rewarden_sandboxes.agent.test_runners import Outcomes, run_assert, run_file, short, wanted


def explain(fault: BaseException, source: Source, client: CandidateClient | None) -> dict[str, Any]:
    """Returns outcome, kind, who, message and place of the failure of test code.

    Until the test code has used the candidate, every failure is a defect of the test code, because no candidate can
    cause it. Later failures count as the candidate's, because it may have caused them.
    """
    frames = traceback.walk_tb(fault.__traceback__)
    line = next((at for frame, at in reversed(list(frames)) if frame.f_code.co_filename == source.path), 0)
    if isinstance(fault, SyntaxError) and fault.filename == source.path and not line:
        line = fault.lineno or 0
    kind, who = "exception", "candidate"
    if isinstance(fault, Fault):
        kind, who = fault.kind, fault.who
    elif client is not None and _lacks(fault, client):
        kind = "missing_name"
    elif client is not None and not client.uses:
        kind, who = "test_code", "tests"
    elif isinstance(fault, AssertionError) or type(fault).__name__ == "Failed":  # pytest.fail, DID NOT RAISE
        kind = "assertion"
    text = candidate_room.message_of(fault)
    if not isinstance(fault, (Fault, AssertionError)):
        text = f"{type(fault).__name__}: {text}"
    return {
        "outcome": "failed" if who == "candidate" else "error",
        "kind": kind,
        "who": who,
        "message": text[: candidate_room.MESSAGE_CHARS],
        "line": line or None,
        "source": source.lines[line - 1].strip()[:500] if 0 < line <= len(source.lines) else None,
    }


def _lacks(fault: BaseException, client: CandidateClient) -> bool:
    """Returns whether the test code failed over a name that it requested and the candidate lacks."""
    quoted = re.findall(r"'([^']+)'", str(fault)) if isinstance(fault, (NameError, ImportError, AttributeError)) else []
    return any(name in client.missing for name in quoted)


def report(found: dict[str, Any]) -> dict[str, Any]:
    """Returns a whole report: the findings, with defaults for the rest."""
    blank: dict[str, Any] = {
        "kind": None,
        "who": None,
        "message": "",
        "line": None,
        "source": None,
        "tests": {},
        "calls": 0,
        "provenance": {},
    }
    return {"done": True, **blank, **found}


def judge_file(found: Outcomes, expect: list[str], source: Source, client: CandidateClient | None) -> dict[str, Any]:
    """Returns the report of a file: passed if every expected test ran and passed."""
    lacking = [name for name in expect if not any(wanted(test, [name]) for test in found.tests)]
    bad = [test for test, outcome in found.tests.items() if outcome != "passed"]
    if found.tests and not lacking and not bad and found.why is None:
        return {"outcome": "passed", "tests": found.tests}
    if found.why is not None:
        return {**explain(found.why, source, client), "tests": found.tests}
    ours = client is not None and not client.uses
    what = f"{bad[0]}: {found.tests[bad[0]]}" if bad else f"no such test was run: {(lacking or ['any'])[0]}"
    return {
        "outcome": "error" if ours else "failed",
        "kind": "test_code" if ours else "no_pass",
        "who": "tests" if ours else "candidate",
        "message": what[: candidate_room.MESSAGE_CHARS],
        "tests": found.tests,
    }


def write(descriptor: int, said: dict[str, Any]) -> None:
    """Writes a report."""
    rest = memoryview(json.dumps(said).encode("ascii"))
    while descriptor >= 0 and rest:
        rest = rest[os.write(descriptor, rest) :]


def place(options: dict[str, Any]) -> str:
    """Returns the path of the test code, below the working folder. Raises ValueError for a path elsewhere, or an
    unknown kind of tests.
    """
    name = options.get("name", "tests.py")
    if options["kind"] not in ("assert", "file"):
        raise ValueError("not a kind of tests")
    if type(name) is not str or not re.fullmatch(r"[A-Za-z0-9_][\w./-]*\.py", name) or ".." in name:
        raise ValueError("not a name of a test file")
    return os.path.join(os.getcwd(), name)


def run(
    source: Source,
    options: dict[str, Any],
    given: dict[str, Any],
    entry: Callable[[], Any] | None,
    client: CandidateClient | None = None,
) -> dict[str, Any]:
    """Runs test code of either kind. Returns how it ended."""
    if options["kind"] == "assert":
        try:
            run_assert(source, given, entry, shared=client is None)
        except BaseException as fault:  # noqa: BLE001 - a Fault included
            return explain((client.fault if client is not None else None) or fault, source, client)
        return {"outcome": "passed"}
    os.makedirs(os.path.dirname(source.path), exist_ok=True)
    with open(source.path, "wb") as file:
        file.write(source.code)
    expect = [short(name) for name in options.get("expect", [])]
    return judge_file(run_file(source, given, expect, client), expect, source, client)


def judge(code: bytes, options: dict[str, Any], client: CandidateClient) -> dict[str, Any]:
    """Runs test code against the other room. Returns the report."""
    path = place(options)
    try:
        source = Source(code, path)
    except (SyntaxError, ValueError) as fault:
        line = getattr(fault, "lineno", None)
        return {"outcome": "error", "kind": "test_code", "who": "tests", "message": str(fault), "line": line}
    try:
        trouble = client.greet()
    except Fault as fault:
        return explain(fault, source, client)
    if trouble is not None:
        message = f"{trouble['type']}: {trouble['message']}\n{trouble['traceback']}"
        return {"outcome": "failed", "kind": "candidate_load", "who": "candidate", "message": message}
    client.provenance.read(source.code)
    names = Names(client, source, options.get("entry_point"), options.get("prompt", ""))
    install(names, options.get("modules", [candidate_room.NAME]))
    given = {"__builtins__": names}
    said = run(source, options, given, names.entry if names.entry_point else None, client)
    if said["outcome"] == "passed" and client.fault is not None:  # a test caught the fault
        said = {**said, **explain(client.fault, source, client)}
    if said["outcome"] == "passed" and not client.uses:
        message = "the test code never used the candidate"
        return {**said, "outcome": "error", "kind": "test_code", "who": "tests", "message": message}
    return said


def main(code: bytes, request: bytes, channel: int, reply: int) -> int:
    """Runs the mode `tests`. Returns exit code 0 if and only if the tests passed; the report carries the request's
    nonce, so that nothing else written to `reply` can pass for it.
    """
    options = json.loads(request)
    nonce = options.pop("nonce")
    del request
    client = CandidateClient(tagged_codec.Channel(channel), writes_back=options.get("writes_back", True))
    try:
        said = report(judge(code, options, client))
    except BaseException as fault:  # noqa: BLE001 - no candidate may end this room without a report
        outcome, who = ("failed", "candidate") if client.uses else ("error", "tests")
        message = f"{type(fault).__name__}: {candidate_room.message_of(fault)}"
        said = report({"outcome": outcome, "kind": "exception", "who": who, "message": message})
    said |= {"calls": client.uses, "provenance": client.provenance.told(), "nonce": nonce}
    write(reply, said)
    return 0 if said["outcome"] == "passed" else 1
