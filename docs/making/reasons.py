"""The page of reasons: of refused requests, of samples without a score, and of verifiers; and of flags."""

from __future__ import annotations

import inspect
from collections.abc import Iterator

from making.contents import FILTER
from making.markdown import cell, table
from making.verifier import flags_of
from rewarden.errors import REQUEST_ERRORS, SampleError
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.registry import BUILT_IN, Registry

_HEAD = (
    "# Reasons and errors",
    "",
    "Every reason that a verdict, a refused request or a log line can have.",
    "",
    "- A **refused request** has no verdicts. The client raises the error with that `code`.",
    "- A **sample without a score** is `undecided` or `error`; `fault` says who caused it.",
    "- A **scored** sample without full marks has a reason from its verifier.",
    "",
    FILTER,
    "",
)

_ENGINE = (
    ("`internal`", "error", "infra", "yes", "A bug in the server. The log has the traceback."),
    ("`group_deadline`", "error", "infra", "yes", "The members of a streamed group did not arrive in time."),
    ("`group_incomplete`", "error", "caller", "no", "A stream ended before all members of a group arrived."),
    (
        "`reference_too_expensive`",
        "undecided",
        "reference",
        "no",
        "Reading the reference took more CPU time or memory than the verifier has.",
    ),
    ("`reference_kills_worker`", "undecided", "reference", "no", "Reading the reference killed its worker twice."),
)


def page(registry: Registry) -> str:
    """The page: errors from their classes, reasons and flags from the verifiers' cases."""
    requests = [
        (f"`{error.code}`", str(error.http_status), "yes" if error.retryable else "no", _meaning(error))
        for error in REQUEST_ERRORS.values()
    ]
    samples = [
        (f"`{error.reason}`", error.status, error.fault, "yes" if error.retryable else "no", _meaning(error))
        for error in _descendants(SampleError)
    ]
    reasons, flags = _said(registry)
    return "\n".join(
        [
            *_HEAD,
            "## Refused requests",
            "",
            *table(("`code`", "HTTP status", "retryable", "meaning"), requests),
            "## Samples without a score, for any verifier",
            "",
            *table(("`reason`", "`status`", "`fault`", "retryable", "meaning"), sorted([*samples, *_ENGINE])),
            "## Reasons of verifiers",
            "",
            "These occur in the verifiers' cases. Each verifier's page explains its own.",
            "",
            *table(("`reason`", "`status`", "verifiers"), reasons),
            "## Flags",
            "",
            "A flag marks a verdict that deserves a closer look, regardless of its score.",
            "",
            *table(("flag", "verifiers"), flags),
        ]
    )


def _meaning(error: type) -> str:
    return cell(" ".join((inspect.getdoc(error) or "").split()))


def _descendants(of: type[SampleError]) -> Iterator[type[SampleError]]:
    """Yields the classes of the error model only. Those of verifiers depend on the imports, and cases cover them."""
    for child in of.__subclasses__():
        if child.__module__ == of.__module__:
            yield child
        yield from _descendants(child)


def _said(registry: Registry) -> tuple[list[tuple[str, str, str]], list[tuple[str, str]]]:
    """Rows of the reasons, and of the flags, that the cases of the verifiers expect."""
    reasons: dict[str, dict[str, list[str]]] = {}
    flags: dict[str, list[str]] = {}
    for name in BUILT_IN:
        for expect in (expect for case in load_cases(registry.get(name)) for expect in case.expects):
            if reason := expect.get("reason"):
                reasons.setdefault(reason, {}).setdefault(expect.get("status", "scored"), []).append(name)
            for flag in flags_of(expect):
                flags.setdefault(flag, []).append(name)
    rows = [
        (f"`{reason}`", ", ".join(sorted(found)), _linked([name for names in found.values() for name in names]))
        for reason, found in sorted(reasons.items())
    ]
    return rows, [(f"`{flag}`", _linked(names)) for flag, names in sorted(flags.items())]


def _linked(names: list[str]) -> str:
    return ", ".join(f"[{name}](verifiers/{name}.md)" for name in dict.fromkeys(names))
