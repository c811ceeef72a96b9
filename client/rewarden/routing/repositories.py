"""References for `swe`: rows of SWE-bench and of the sets that follow its columns."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from typing import Any

from rewarden.columns import only
from rewarden.routing.texts import read_json
from rewarden.types import Sample

BESIDE = ("image", "folder", "command", "framework", "root", "setup", "env", "python", "timeout_s", "flaky", "keep_git")
"""The keys of the sample's metadata that `swe_bench` looks at: what the columns do not say."""

_IMAGES = ("image", "docker_image", "image_name")
_COMMANDS = ("test_cmds", "test_cmd")


def swe_bench(sample: Sample) -> dict[str, Any]:
    """A row with `FAIL_TO_PASS`, `PASS_TO_PASS`, `patch`, `test_patch` and `base_commit`, as an object or JSON of one;
    lists can be JSON in a text. What it does not say stands in the metadata, by the names of `swe`. Without a command,
    pytest runs the files that the ids name. Raises ValueError where the row does not suffice.
    """
    found = only(sample.reference)
    if isinstance(found, str) and found.lstrip().startswith("{"):
        found = read_json(found)
    if not isinstance(found, Mapping):
        raise ValueError("is not a row with the columns of SWE-bench")
    must_pass, must_stay = _ids(found, "FAIL_TO_PASS"), _ids(found, "PASS_TO_PASS")
    beside = {name: value for name in BESIDE if (value := (sample.metadata or {}).get(name)) is not None}
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
            raise ValueError("says no command that runs the tests: add metadata.command, and metadata.framework")
        made["command"] = "python -m pytest -q " + " ".join(map(shlex.quote, files))
    return made


def _ids(row: Mapping[str, Any], name: str) -> list[str]:
    told = row.get(name, [])
    if isinstance(told, str):
        told = read_json(told)
    if not isinstance(told, list) or not all(isinstance(id, str) for id in told):
        raise ValueError(f"has no list of ids in {name}")
    return told
