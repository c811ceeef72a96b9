"""Every case of every verifier: what its documentation shows is what it does."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rewarden.types import Use
from rewarden.wire.json import sample_from_json
from rewarden_verifiers.cases import KINDS, Case, cases_path, load_cases, mismatches
from rewarden_verifiers.contract import VerifierSpec, spec_of, verifier
from rewarden_verifiers.outcome import right
from rewarden_verifiers.registry import BUILT_IN, Registry
from tests.programs import HARDWARE, LEAN, SANDBOXED
from tests.verifiers.direct import Judge, direct_judge

REGISTRY = Registry()
JUDGE = direct_judge(REGISTRY)


def exists(name: str) -> bool:
    """Returns whether a verifier's module is there."""
    try:
        REGISTRY.get(name)
    except Exception as error:  # noqa: BLE001 - told as the reason of the skip
        return not isinstance(error.__cause__, ModuleNotFoundError)
    return True


NAMES = [name for name in BUILT_IN if exists(name)]
# Cases that run programs go over the transports only, where there is a sandbox; so do those that run Lean, and those
# that ask a judge.
CASES = [
    case
    for name in NAMES
    if name not in SANDBOXED | HARDWARE | LEAN
    for case in load_cases(REGISTRY.get(name))
    if not case.script
]


async def check(case: Case, judge: Judge) -> list[str]:
    """Returns how the verdicts of a case's samples differ from what it expects; for any way of judging."""
    use = Use(name=case.verifier, params=case.params)
    verdicts = await judge(use, [sample_from_json(sample) for sample in case.samples])
    return [
        f"sample {place}: {difference}"
        for place, (expect, verdict) in enumerate(zip(case.expects, verdicts, strict=True))
        for difference in mismatches(expect, verdict)
    ]


@pytest.mark.parametrize("case", CASES, ids=[f"{case.verifier}: {case.title}" for case in CASES])
async def test_the_case_holds(case: Case) -> None:
    assert await check(case, JUDGE) == []


@pytest.mark.parametrize("name", BUILT_IN)
def test_every_kind_of_case_is_there(name: str) -> None:
    if name not in NAMES:
        pytest.skip(f"{name} is not there yet")
    spec = REGISTRY.get(name)
    cases = load_cases(spec)
    kinds = {case.kind for case in cases}
    assert kinds >= set(KINDS) - (set() if spec.graded else {"partial"})
    assert len(cases) >= 20


@verifier(version="1")
def nothing(response: str):  # type: ignore[no-untyped-def]
    """Finds every response right."""
    return right()


GOOD = {"kind": "full", "title": "a", "sample": {"response": "x"}, "expect": {"score": 1}, "why": "it is"}


def spec() -> VerifierSpec:
    found = spec_of(nothing)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"kind": "good"}, "kind must be one of"),
        ({"expect": {"scor": 1}}, "expect must name fields of a verdict"),
        ({"expect": {}}, "expect must name fields of a verdict"),
        ({"expect": [{"score": 1}, {"score": 1}]}, "1 samples but 2 expectations"),
        ({"samples": []}, "either sample or samples"),
        ({"reason": "x"}, "unknown keys"),
        ({"why": None, "title": "b"}, None),
    ],
)
def test_a_case_that_is_not_of_the_form_is_told_by_file_and_line(
    tmp_path: Path, change: dict[str, object], message: str | None
) -> None:
    path = tmp_path / "nothing.cases.jsonl"
    path.write_text(json.dumps(GOOD) + "\n\n" + json.dumps({**GOOD, "title": "b", **change}) + "\n")
    if message is None:
        assert len(load_cases(spec(), tmp_path)) == 2
        return
    with pytest.raises(ValueError, match=rf"^nothing\.cases\.jsonl:3: .*{message}"):
        load_cases(spec(), tmp_path)


def test_titles_tell_cases_apart(tmp_path: Path) -> None:
    (tmp_path / "nothing.cases.jsonl").write_text(2 * (json.dumps(GOOD) + "\n"))
    with pytest.raises(ValueError, match=r":2: the title 'a' is taken"):
        load_cases(spec(), tmp_path)


def test_cases_lie_beside_the_verifier() -> None:
    assert cases_path(REGISTRY.get("choice")) == Path(REGISTRY.get("choice").function.__code__.co_filename).parent / (
        "choice.cases.jsonl"
    )


@pytest.mark.parametrize(
    ("expect", "verdict", "differs"),
    [
        ({"score": 0.3}, {"score": 0.1 + 0.2}, False),
        ({"score": 1}, {"score": True}, True),
        ({"passed": True}, {"passed": 1}, True),
        ({"score": {"min": 0.2, "max": 0.4}}, {"score": 0.3}, False),
        ({"score": {"min": 0.4}}, {"score": 0.3}, True),
        ({"score": {"min": 0}}, {"score": None}, True),
        ({"flags": {"has": "hedged"}}, {"flags": ["hedged", "x"]}, False),
        ({"reason": {"has": "edge"}}, {"reason": "hedged"}, True),
        ({"evidence": {"rule": "boxed"}}, {"evidence": {"rule": "boxed", "more": 1}}, False),
        ({"evidence": {"rule": "boxed"}}, {"evidence": {"rule": "hash"}}, True),
        ({"score": None}, {"status": "error"}, False),
    ],
)
def test_expectations(expect: dict[str, object], verdict: dict[str, object], differs: bool) -> None:
    assert bool(mismatches(expect, verdict)) is differs
