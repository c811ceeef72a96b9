"""The feedback on tests that the policy may see, and the evidence in a verdict.

Nothing of a hidden test is ever shown: not its input, not the expected output, and no output of the program either (it
could print its input to stderr and read it back from the feedback). The policy learns only how many hidden tests
passed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, Literal

from rewarden_sandboxes.job import Report
from rewarden_verifiers.execution.results import REASONS, Result
from rewarden_verifiers.execution.scoring import earnings, groups_passed

Reveal = Literal["none", "verdicts", "diffs"]

MAX_LISTED = 100
"""The maximum number of tests that a verdict lists and feedback names."""
MAX_SHOWN = 3
"""The maximum number of failed tests that feedback shows in full."""
_NO_PROGRAM = "The program does not compile."
_TEXT = 600
_LINES = 20


def feedback(
    reveal: Reveal, results: Sequence[Result], compiler: Report | None, missing: Sequence[str] = ()
) -> str | None:
    """Returns the feedback in words, or None if nothing may be shown. missing: modules that the sandbox lacks."""
    if reveal == "none":
        return None
    if compiler is not None and compiler.status != "ok":
        words = f"The program does not compile ({compiler.message})." if compiler.message else _NO_PROGRAM
        return f"{words}\n{excerpt(compiler.stderr or compiler.stdout)}"
    public = [result for result in results if not result.trial.hidden]
    hidden = [result for result in results if result.trial.hidden]
    lines = [f"The sandbox does not have the module {name!r}." for name in missing]
    for what, some in (("public", public), ("hidden", hidden)):
        if some:
            passed = sum(result.verdict == "AC" for result in some)
            lines.append(f"{passed} of {len(some)} {what} tests passed.")
    failed = [result for result in public if result.verdict not in ("AC", "SK", "IE")]
    lines += [f"Test {result.trial.id}: {_words(result)}." for result in failed[:MAX_LISTED]]
    if reveal == "diffs":
        for result in failed[:MAX_SHOWN]:
            lines += ["", *_shown(result)]
    return "\n".join(lines)


def _words(result: Result) -> str:
    reason = REASONS.get(result.verdict, "").replace("_", " ")
    return f"{result.verdict} ({reason})"


def _shown(result: Result) -> list[str]:
    test, report = result.trial.test, result.report
    lines = [f"Test {result.trial.id}:"]
    if test.type == "stdio":
        lines += ["Input:", excerpt(result.trial.stdin)]
        if test.stdout is not None:
            lines += ["Expected output:", excerpt(result.trial.expected)]
        if report is not None:
            lines += ["Output:", excerpt(report.stdout)]
    elif test.type == "call":
        given = [repr(item) for item in test.args] + [f"{name}={item!r}" for name, item in test.kwargs.items()]
        lines += ["Call:", excerpt(f"{test.target}({', '.join(given)})".encode("utf-8", "replace"))]
    elif test.type == "assert":
        lines += ["Test code:", excerpt((test.code or "").encode("utf-8", "replace"))]
    if result.message:
        lines.append(result.message[:_TEXT])
    if report is not None and report.stderr.strip():
        lines += ["Errors:", excerpt(report.stderr, end=True)]
    return lines


def excerpt(data: bytes, *, end: bool = False) -> str:
    """Returns the beginning of a text, or its end, where errors are; limited in characters and lines."""
    cut = data[-_TEXT:] if end else data[:_TEXT]
    lines = cut.decode("utf-8", "replace").replace("\0", "\ufffd").strip("\n").split("\n")
    kept = lines[-_LINES:] if end else lines[:_LINES]
    text = "\n".join(kept)
    if len(cut) == len(data) and len(kept) == len(lines):
        return text
    return f"…{text}" if end else f"{text}…"


# --- evidence ----------------------------------------------------------------------------------------------------


def evidence(results: Sequence[Result], compiler: Report | None) -> dict[str, Any]:
    """Returns the evidence: counts over all tests, the first tests individually, and the first failed one wherever it
    is.
    """
    counts = Counter(result.verdict for result in results)
    listed = list(results[:MAX_LISTED])
    first = next((result for result in results if result.verdict not in ("AC", "SK")), None)
    if first is not None and first not in listed:
        listed.append(first)
    reports = [result.report for result in results if result.report is not None]
    made: dict[str, Any] = {
        "total": len(results),
        "passed": counts["AC"],
        "counts": dict(sorted(counts.items())),
        "tests": [_entry(result) for result in listed],
        "cpu_time": round(sum(report.cpu_time for report in reports), 4),
    }
    if len(listed) < len(results):
        made["omitted"] = len(results) - len(listed)
    if any(result.trial.test.group is not None for result in results):
        passed = groups_passed(results)
        named = {name: won for (name, _), won in passed.items() if name is not None}
        made["groups"] = dict(list(named.items())[:MAX_LISTED])
        if any(result.trial.rules.points is not None for result in results):
            points = {name: earned for (name, _), (earned, _) in earnings(results).items() if name is not None}
            made["points"] = dict(list(points.items())[:MAX_LISTED])
    enforced: Mapping[str, str] = reports[0].enforced if reports else compiler.enforced if compiler else {}
    if enforced:
        made["enforced"] = dict(enforced)
    if compiler is not None:
        made["compile"] = _compile(compiler)
    return made


def _entry(result: Result) -> dict[str, Any]:
    test, report = result.trial.test, result.report
    made: dict[str, Any] = {"id": result.trial.id, "verdict": result.verdict}
    if test.group is not None:
        made["group"] = test.group
    if test.weight != 1.0:
        made["weight"] = test.weight
    if 0.0 < result.credit < 1.0:
        made["credit"] = result.credit
    if report is not None:
        made["cpu_time"] = round(report.cpu_time, 4)
        made["wall_time"] = round(report.wall_time, 4)
        made["peak_memory"] = report.peak_memory
        for name in ("exit_code", "signal", "limit", "truncated"):
            value = getattr(report, name)
            if value:
                made[name] = value
    if result.flags:
        made["flags"] = list(result.flags)
    if result.error is not None:
        made["error"] = result.error.message[:_TEXT]
    if result.trial.hidden:
        made["hidden"] = True
        return made
    if result.message:
        made["message"] = result.message[:_TEXT]
    if report is not None and result.verdict != "AC":
        for name, text in (("stdout", report.stdout), ("stderr", report.stderr)):
            if text:
                made[name] = excerpt(text, end=name == "stderr")
    return made


def _compile(report: Report) -> dict[str, Any]:
    made: dict[str, Any] = {"status": report.status, "cpu_time": round(report.cpu_time, 4)}
    if report.limit:
        made["limit"] = report.limit
    if report.status != "ok":
        made["message"] = excerpt(report.stderr or report.stdout)
    if report.message:
        made["toolchain"] = report.message
    return made
