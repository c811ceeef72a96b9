"""References for `swe`: rows of SWE-bench and of the sets that follow its columns, of R2E-Gym, and of NeMo Gym."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from rewarden.columns import only
from rewarden.routing.texts import read_json
from rewarden.types import Sample

BESIDE = ("image", "folder", "command", "framework", "root", "setup", "env", "python", "timeout_s", "flaky", "keep_git")
"""The keys of the sample's metadata that these forms look at: what the columns do not say."""

_IMAGES = ("image", "docker_image", "image_name")
_COMMANDS = ("test_cmds", "test_cmd")

_R2E_COMMAND = (
    "PYTHONWARNINGS='ignore::UserWarning,ignore::SyntaxWarning' .venv/bin/python -W ignore -m pytest r2e_tests"
)
_R2E_SUMMARY = "short test summary info"
_R2E_RESULT = re.compile(r"(PASSED|FAILED|ERROR) (\S+?::.+)")
_COLOUR = re.compile(r"\x1b\[[\d;]*m")
_MARKS = {"context": " ", "added": "+", "deleted": "-", "note": "\\ "}
"""The first characters of a diff's lines, by the names that R2E-Gym gives to the kinds of lines."""


def swe_bench(sample: Sample) -> dict[str, Any]:
    """A row with `FAIL_TO_PASS`, `PASS_TO_PASS`, `patch`, `test_patch` and `base_commit`, as an object or JSON of one;
    lists can be JSON in a text. What it does not say is in the metadata, by the names of `swe`. Without a command,
    pytest runs the files that the ids name. Raises ValueError if the row does not suffice.
    """
    found = _row(sample, "SWE-bench")
    must_pass, must_stay = _ids(found, "FAIL_TO_PASS"), _ids(found, "PASS_TO_PASS")
    beside = _beside(sample)
    made: dict[str, Any] = {"framework": "pytest", "fail_to_pass": must_pass, "pass_to_pass": must_stay}
    if isinstance(test_patch := found.get("test_patch"), str):
        made["test_patch"] = test_patch
    if isinstance(commit := found.get("base_commit"), str):
        made["commit"] = commit
        # SWE-smith's rows have no commit, and their patch is the one that breaks the repository.
        if isinstance(patch := found.get("patch"), str):
            made["patch"] = patch
    image = next((found[name] for name in _IMAGES if isinstance(found.get(name), str)), None)
    if image is not None:
        made["image"] = image
    command = next((found[name] for name in _COMMANDS if found.get(name)), None)
    if command is not None:
        made["command"] = command if isinstance(command, str) else "\n".join(map(str, command))
    made |= beside
    if "command" not in made:
        files = dict.fromkeys(id.partition("::")[0] for id in (*must_pass, *must_stay) if "::" in id)
        if not files or made["framework"] != "pytest":
            raise ValueError(
                "does not name the command that runs the tests: add metadata.command, and metadata.framework"
            )
        made["command"] = "python -m pytest -q " + " ".join(map(shlex.quote, files))
    return made


def r2e_gym(sample: Sample) -> dict[str, Any]:
    """A row of R2E-Gym with `parsed_commit_content`, `execution_result_content` and `expected_output_json`, as an
    object or JSON of one. What is expected to pass must pass; the logs of the row say the tests' files, and which of
    them failed before the commit. The tests lie in `r2e_tests`, and run by pytest with the repository's own `.venv`;
    metadata as for `swe_bench`. Raises ValueError if the row does not suffice.
    """
    row = _row(sample, "R2E-Gym")
    commit, ran, expected = (
        _object(row, name) for name in ("parsed_commit_content", "execution_result_content", "expected_output_json")
    )
    before, after = (_results(str(ran.get(f"{age}_commit_res_stdout") or "")) for age in ("old", "new"))
    must: list[str] = []
    for name in (_plain(name) for name, status in expected.items() if status == "PASSED"):
        meant = [id for id in {**after, **before} if _short(id) == name]
        if not meant:
            raise ValueError(f"expects {name[:200]!r} to pass, which its logs do not name")
        # Two files can have a test of the same name, and the row says one status for both.
        must += [id for id in meant if after.get(id) == "PASSED"] or meant
    failed = [id for id in must if before.get(id) != "PASSED"]
    if not failed:
        raise ValueError("names no test that its commit makes pass")
    return {
        "framework": "pytest",
        "command": _R2E_COMMAND,
        "python": ".venv/bin/python",
        "setup": "rm -rf r2e_tests",
        "commit": commit.get("old_commit_hash"),
        "fail_to_pass": failed,
        "pass_to_pass": [id for id in must if before.get(id) == "PASSED"],
        "test_patch": _test_patch(ran),
        "patch": _solution(commit),
        **_beside(sample),
    }


def nemo_gym_swe(sample: Sample) -> dict[str, Any]:
    """A row of NeMo Gym's SWE agents, as Nemotron's sets have them, or its `metadata`: `dataset_name` says of which set
    the row in `instance_dict` is, an object or JSON of one. Metadata as for `swe_bench`. Raises ValueError if the row
    does not suffice.
    """
    told = _row(sample, "NeMo Gym's SWE agents")
    asked = told.get("responses_create_params")
    of_request = asked.get("metadata") if isinstance(asked, Mapping) else None
    of_verifier = told.get("verifier_metadata")
    for more in (of_request, of_verifier):
        if isinstance(more, Mapping):
            told = {**told, **more}
    inner = dict(_object(told, "instance_dict"))
    if "R2E-Gym" in str(told.get("dataset_name")):
        return r2e_gym(replace(sample, reference=inner))
    for name in ("FAIL_TO_PASS", "PASS_TO_PASS"):
        # The tests of a row that its own set selects come before all that it lists.
        found = next((inner[key] for key in (f"{name.lower()}_select", name, name.lower()) if key in inner), None)
        if found is not None:
            inner[name] = found
    if isinstance(told.get("base_commit"), str):
        inner.setdefault("base_commit", told["base_commit"])
    return swe_bench(replace(sample, reference=inner))


def _row(sample: Sample, name: str) -> Mapping[str, Any]:
    found = only(sample.reference)
    if isinstance(found, str) and found.lstrip().startswith("{"):
        found = read_json(found)
    if not isinstance(found, Mapping):
        raise ValueError(f"is not a row with the columns of {name}")
    return found


def _beside(sample: Sample) -> dict[str, Any]:
    return {name: value for name in BESIDE if (value := (sample.metadata or {}).get(name)) is not None}


def _object(row: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    told = row.get(name)
    if isinstance(told, str):
        told = read_json(told)
    if not isinstance(told, Mapping):
        raise ValueError(f"has no object in {name}")
    return told


def _test_patch(ran: Mapping[str, Any]) -> str:
    names, texts = ran.get("test_file_names"), ran.get("test_file_codes")
    if not isinstance(names, list) or not isinstance(texts, list) or len(names) != len(texts):
        raise ValueError("has no test_file_names and as many test_file_codes in execution_result_content")
    return "".join(_new_file(f"r2e_tests/{name}", str(text)) for name, text in zip(names, texts, strict=True))


def _solution(commit: Mapping[str, Any]) -> str:
    try:
        return "".join(_diff(one) for one in commit["file_diffs"] if _is_source(one["header"]["file"]["path"]))
    except (KeyError, TypeError, AttributeError):
        raise ValueError("has no file_diffs of R2E-Gym's form in parsed_commit_content") from None


def _plain(name: str) -> str:
    """Returns a name of `expected_output_json` without the colours and the message of a failure that some have."""
    return _COLOUR.sub("", name).partition(" - ")[0]


def _short(id: str) -> str:
    """Returns the name that R2E-Gym gives to a test: its id without the file, with dots."""
    return ".".join(id.split("::")[1:])


def _results(log: str) -> dict[str, str]:
    """Returns id to status, from the summary at the end of a log of pytest."""
    lines = _COLOUR.sub("", log.partition(_R2E_SUMMARY)[2]).splitlines()
    found = [match for line in lines if (match := _R2E_RESULT.match(line.strip())) is not None]
    return {match[2] if match[1] == "PASSED" else _plain(match[2]): match[1] for match in found}


def _is_source(path: str) -> bool:
    """Returns whether a file of a commit is part of R2E-Gym's solution: Python that is no test."""
    *folders, name = path.split("/")
    test = name.startswith("test_") or name.endswith("_test.py") or {"test", "tests", "Test", "Tests"} & set(folders)
    return name.endswith(".py") and not test


def _diff(file: Mapping[str, Any]) -> str:
    """Returns the unified diff of one of a commit's files."""
    path = file["header"]["file"]["path"]
    made = [f"diff --git a/{path} b/{path}"]
    if (misc := file["header"].get("misc_line")) is not None:
        made.append(misc)
    if file.get("minus_file") and file.get("plus_file"):
        made += [f"--- {file['minus_file']['path']}", f"+++ {file['plus_file']['path']}"]
    for hunk in file.get("hunks", ()):
        old, new = (_range(hunk["descriptor"][f"{age}_range"]) for age in ("old", "new"))
        made.append(f"@@ -{old} +{new} @@")
        made += [_MARKS[line["type"]] + line["content"] for line in hunk["line_group"]["all_lines"]]
    return "\n".join(made) + "\n"


def _range(told: Mapping[str, Any]) -> str:
    return str(told["start"]) if told.get("length") is None else f"{told['start']},{told['length']}"


def _new_file(path: str, text: str) -> str:
    """Returns the unified diff that adds a file."""
    made = [f"diff --git a/{path} b/{path}", "new file mode 100644"]
    if text:
        lines = text.removesuffix("\n").split("\n")
        made += ["--- /dev/null", f"+++ b/{path}", f"@@ -0,0 +1,{len(lines)} @@", *(f"+{line}" for line in lines)]
        made += [] if text.endswith("\n") else ["\\ No newline at end of file"]
    return "\n".join(made) + "\n"


def _ids(row: Mapping[str, Any], name: str) -> list[str]:
    told = row.get(name, [])
    if isinstance(told, str):
        told = read_json(told)
    if not isinstance(told, list) or not all(isinstance(id, str) for id in told):
        raise ValueError(f"has no list of ids in {name}")
    return told
