"""Whatever of ours a verdict's path loads or opens is in its fingerprint: measured, not read."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rewarden.errors import RewardenError, SampleError
from rewarden.types import Use
from rewarden.wire.json import use_from_json
from rewarden_verifiers.cases import load_cases
from rewarden_verifiers.contract import VerifierSpec
from rewarden_verifiers.fingerprint import closure as closures
from rewarden_verifiers.fingerprint import sources
from rewarden_verifiers.fingerprint.closure import SHARED, closure
from rewarden_verifiers.fingerprint.imports import Asked, asked
from rewarden_verifiers.fingerprint.modules import find
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.schema import parse_params
from tests.fingerprint.recorder import units
from tests.judges.scripted import ScriptedJudge
from tests.models.scripted import NAME, ScriptedModel
from tests.programs import LEAN_PROJECTS, no_lean

pytestmark = [pytest.mark.needs_server, pytest.mark.slow]

ROOT = Path(__file__).parents[2]
REGISTRY = Registry()
UNITS = units(REGISTRY)

APART = {
    "rewarden_verifiers.canonical": "writes parameters as text, for fingerprints and keys",
    "rewarden_verifiers.cases": "reads the cases",
    "rewarden_verifiers.fingerprint": "makes fingerprints",
    "rewarden_verifiers.environments": "holds what is configured, and knows plug-ins, which have fingerprints there",
    "rewarden_verifiers.games.rules": "comes with what is configured of environments",
    "rewarden_verifiers.function_file": "finds a function that a command names",
    "rewarden_verifiers.registry": "finds a verifier by its name",
    "rewarden_verifiers.group.statistics": "describes groups, beside their verdicts",
    "rewarden_verifiers.judges.resources": "holds what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.judges.tokens": "also estimates for the server; who judges by it has it in its fingerprint",
    "rewarden_verifiers.lean.resources": "holds what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.models.resources": "holds what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.sql.catalogue": "reads what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.sql.databases": "holds what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.lean.source": "also read by the server, for its own routes",
    "rewarden_verifiers.repositories.resources": "holds what is configured, which has a fingerprint of its own",
    "rewarden_verifiers.repositories.tree": "holds files that the server reads",
    "rewarden_verifiers.state_folder": "says where files are kept",
    "rewarden_verifiers.tasks": "also read by the server, which opens the boxes of tasks and checks them",
}
"""Modules that are loaded before any verifier and take no part in judging, with what they do instead."""


@pytest.fixture(scope="module")
def records(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """The records that `recorder` writes."""
    output = tmp_path_factory.mktemp("recorder") / "records.json"
    with ScriptedJudge() as judge, ScriptedModel() as model:
        for case in (case for name in REGISTRY for case in load_cases(REGISTRY.get(name))):
            judge.script(*case.script)
            model.script(*case.script)
        environment = {
            **os.environ,
            # Flake: several engines start their sandboxes at once here, beside other tests.
            "REWARDEN_SANDBOX_START_S": "300",
            "REWARDEN_SANDBOX_QUEUE_TIMEOUT_S": "300",
            "REWARDEN_JUDGES_NAMED": json.dumps({"main": judge.settings(retries=0)}),
            "REWARDEN_MODELS_NAMED": json.dumps({NAME: model.settings()}),
            **({"REWARDEN_LEAN_PROJECTS": LEAN_PROJECTS} if no_lean() is None else {}),
        }
        command = [sys.executable, "-m", "tests.fingerprint.recorder", str(output)]
        subprocess.run(command, cwd=ROOT, env=environment, check=True)
    found: Mapping[str, Any] = json.loads(output.read_text(encoding="utf-8"))
    return found


def specs_of(spec: VerifierSpec, params: Mapping[str, Any]) -> Iterator[VerifierSpec]:
    """A verifier, and all those whose fingerprints are part of its own."""
    yield spec
    given = {name: value for name, value in params.items() if name != "view"}
    try:
        children = spec.children(parse_params(spec, given)) if spec.children is not None else ()
        found = [(REGISTRY.resolve(child), child.params) for child in children]
    except SampleError:
        return  # a case of wrong parameters
    for child, its_params in found:
        yield from specs_of(child, its_params)


def named_in(value: Any) -> Iterator[Use]:
    """The uses that a sample itself names: its own, and those of a reference, such as a rubric's programs."""
    if isinstance(value, Mapping):
        for key, item in value.items():
            if key == "use":
                with suppress(RewardenError):  # a word of the sample's own, or a case of a wrong use
                    use = use_from_json(item)
                    REGISTRY.resolve(use)
                    yield use
            else:
                yield from named_in(item)
    elif isinstance(value, list):
        for item in value:
            yield from named_in(item)


def covered(unit: str) -> set[str]:
    """The files that the fingerprints of a unit's cases cover."""
    used: list[VerifierSpec] = []
    for spec in map(REGISTRY.get, UNITS[unit]):
        used += specs_of(spec, {})
        for case in load_cases(spec):
            used += specs_of(spec, case.params)
            for use in named_in(list(case.samples)):
                used += specs_of(REGISTRY.resolve(use), use.params)
    reached = [closure(module) for module in {each.module for each in used}]
    return {str(path) for each in reached for path in [*each.code.values(), *each.data.values()]}


def outside(unit: str, records: Mapping[str, Any]) -> set[str]:
    """The files that the cases of a unit loaded or opened and that are not in the fingerprints."""
    record = records[unit]
    if "skipped" in record:
        pytest.skip(record["skipped"])
    found = {*record["loaded"], *record["opened"]} - covered(unit) - set(records[""])
    return {
        file
        for file in found
        if not file.startswith(str(ROOT / "client"))  # a transport to this very process
        and not file.endswith((".cases.jsonl", ".yaml"))  # a recipe's text is part of its fingerprint
    }


@pytest.mark.parametrize("unit", UNITS)
def test_what_the_cases_load_is_in_the_fingerprint(unit: str, records: Mapping[str, Any]) -> None:
    assert outside(unit, records) == set()


@pytest.mark.parametrize(
    ("unit", "hidden"),
    [
        ("label", "rewarden_verifiers.answer.text.folding"),
        ("math", "rewarden_verifiers.answer.math.words"),
        ("json", "rewarden_verifiers.structure.json.reading"),
        ("recipes of texts", "rewarden_verifiers.recipes.shaping"),
    ],
)
def test_a_single_import_that_is_overlooked_is_found(
    unit: str, hidden: str, records: Mapping[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def overlooking(tree: ast.Module, package: str) -> Asked:
        found = asked(tree, package)
        return replace(found, modules=frozenset(each for each in found.modules if not each.startswith(hidden)))

    try:
        with monkeypatch.context() as patch:
            patch.setattr(sources, "asked", overlooking)
            patch.setattr(sources, "TABLE", Path("no table"))
            forget()
            found = outside(unit, records)
    finally:
        forget()
    assert str(ROOT / "verifiers" / hidden.replace(".", "/")) + ".py" in found


def forget() -> None:
    """Clear what was remembered of sources."""
    for cache in (closures.closure, closures._read, sources._table):
        cache.cache_clear()


def test_the_record_is_of_verdicts_as_expected(records: Mapping[str, Any]) -> None:
    wrong = {name: record["differences"] for name, record in records.items() if name and record.get("differences")}
    assert wrong == {}
    assert all(record["loaded"] for name, record in records.items() if name and "skipped" not in record)


def test_what_is_loaded_before_is_in_every_fingerprint_or_judges_nothing(records: Mapping[str, Any]) -> None:
    files = {str(path) for path in closure(SHARED[0]).code.values()}
    for name in APART:
        place = find(name)
        assert place is not None
        files |= {str(place.file), *(str(path) for folder in place.folders for path in folder.glob("*.py"))}
        files |= {str(Path(str(place.file)).parent / "__init__.py")}
    verifiers = {file for file in records[""] if file.startswith(str(ROOT / "verifiers"))}
    assert verifiers - files == set()
