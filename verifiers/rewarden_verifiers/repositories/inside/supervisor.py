"""Runs the command of a repository's tests, and prints what they report. It is the parent of all that runs in the box.

Nothing that the tests start can reach its output: the command has pipes of its own, and the process cannot be looked
into. Usage: supervisor.py JSON, an object of `command`, `framework`, `cwd`, `python`: the folder of sitecustomize.py.
"""

import binascii
import contextlib
import ctypes
import json
import os
import select
import subprocess
import sys

_MOST = 1 << 26
"""Bytes of a report."""
_KEPT = 1 << 16
"""Bytes of what the command printed last."""


def _run(plan: dict) -> dict:  # type: ignore[type-arg]
    secret = binascii.hexlify(os.urandom(16)).decode()
    ask, give = os.pipe()
    os.write(give, secret.encode())
    os.close(give)
    told, tell = os.pipe()
    printed, write = os.pipe()
    env = dict(os.environ, REWARDEN_TESTS="{},{},{}".format(plan["framework"], ask, tell))
    env["PYTHONPATH"] = os.pathsep.join(filter(None, (plan["python"], env.get("PYTHONPATH"))))
    process = subprocess.Popen(
        ["/bin/bash", "--noprofile", "--norc", "-c", plan["command"]],
        cwd=plan["cwd"],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=write,
        stderr=write,
        pass_fds=(ask, tell),
        start_new_session=True,
    )
    for number in (ask, tell, write):
        os.close(number)
    report, output, size = [], b"", 0
    open_, ended = {told, printed}, False
    while open_:
        ended = ended or process.poll() is not None
        ready = select.select(list(open_), [], [], 0 if ended else 0.05)[0]
        if ended and not ready:
            break  # whatever still holds the pipes was left behind by the command
        for number in ready:
            data = os.read(number, 1 << 16)
            if not data:
                open_.discard(number)
            elif number == printed:
                output = (output + data)[-_KEPT:]
            else:
                size += len(data)
                if size <= _MOST:
                    report.append(data)
    exit_code = process.wait()
    return dict(_read(b"".join(report), secret), exit=exit_code, output=output.decode("utf-8", "replace"))


def _read(report: bytes, secret: str) -> dict:  # type: ignore[type-arg]
    """Returns the tests by id: status and digest of the code; those of which a second report was not like the first;
    and what else was told."""
    tests, alarms, states, changed, errors = {}, set(), set(), set(), []  # type: ignore[var-annotated]
    twice = set()  # type: ignore[var-annotated]
    ended, expected, python, refusal = False, 0, "", None
    for line in report.split(b"\n")[:-1]:
        expected += 1
        try:
            key, number, record = json.loads(line.decode())
        except (ValueError, TypeError):
            alarms.add("forged report")
            continue
        if key != secret or number != expected or ended:
            # Attack: somebody else writes into the pipe, or goes on after the end.
            alarms.add("forged report")
            continue
        if "test" in record:
            _note(tests, record, twice)
            changed.update(record["changed"])
        elif "hello" in record:
            python = record["python"]
        elif "refusal" in record:
            refusal = record["refusal"]
        elif "alarm" in record:
            alarms.add(record["alarm"])
        elif "state" in record:
            states.update(record["state"])
            changed.update(record["changed"])
        elif "error" in record:
            errors.append([record["error"], record["said"]])
        elif "end" in record:
            ended = True
            changed.update(record["end"])
    return {
        "tests": {name: [_status(found["phases"]), found["print"]] for name, found in tests.items()},
        "alarms": sorted(alarms),
        "twice": sorted(twice),
        "states": sorted(states),
        "changed": sorted(changed),
        "errors": errors[:20],
        "ended": ended,
        "python": python,
        "refusal": refusal,
    }


def _note(tests: dict, record: dict, twice: set) -> None:  # type: ignore[type-arg]
    found = tests.setdefault(record["test"], {"phases": {}, "print": record["print"]})
    phases = found["phases"]
    phase, status = record["phase"], record["status"]
    if found["print"] != record["print"]:
        twice.add(("a test's code changed", record["test"]))
    if phase in phases:
        twice.add(("a test was reported twice", record["test"]))
        status = status if phases[phase] == "passed" else phases[phase]
    phases[phase] = status


def _status(phases: dict) -> str:  # type: ignore[type-arg]
    """Returns the status of a test: the call's, if setup and teardown passed."""
    told = set(phases.values())
    if "call" not in phases:
        return "skipped" if "skipped" in told else "xfailed" if told == {"xfailed", "passed"} else "failed"
    others = {status for phase, status in phases.items() if phase != "call"}
    return phases["call"] if others <= {"passed"} else "failed"


if __name__ == "__main__":
    with contextlib.suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(4, 0, 0, 0, 0)
    json.dump(_run(json.loads(sys.argv[1])), sys.stdout)
