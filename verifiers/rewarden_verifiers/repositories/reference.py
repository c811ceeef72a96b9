"""The references and the parameters of `swe`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, Literal

from rewarden_verifiers.patches.reading import FORMS, Form

Framework = Literal["pytest", "unittest", "jest", "go", "cargo", "junit"]


@dataclass(frozen=True, slots=True, kw_only=True)
class SweReference:
    """A repository, and the tests that judge a patch to it.

    image: The tier, or own image, of the box. root: the repository's folder in it; relative paths begin there.
    files: The repository, as path to text. folder: alternatively, a folder, a git repository or a tar archive below the
        setting `tasks.repositories`. Without both, the image has it.
    commit: The commit that the patch is for. A git repository is read at this commit. An image must stand at it or
        after it, or is checked out.
    keep_git: Leaves `.git` in the box while tests run. Later commits in it can hold the answer.
    setup: A shell command that runs once the repository is there, before any patch.
    command: The shell command that runs the tests. framework: the one whose report is read. report: the path of the
        file with the report, for `junit`, and for `jest` if it does not go to stdout.
    fail_to_pass, pass_to_pass: Ids of tests. flaky: ids that do not count.
    test_patch: The diff that adds or changes tests. patch: the reference's solution, a diff.
    test_files: Patterns of further paths that belong to the tests (`spec/*`).
    env: Variables of the commands. python: the interpreter of ours in the box; any from 3.6.
    timeout_s: Limit of the CPU time of the tests, and of their idle time. memory_mb, disk_mb: of the box.
    """

    __pydantic_config__: ClassVar[dict[str, str]] = {"extra": "forbid"}

    command: str
    framework: Framework
    fail_to_pass: Sequence[str]
    pass_to_pass: Sequence[str] = ()
    flaky: Sequence[str] = ()
    test_patch: str = ""
    patch: str | None = None
    image: str = "python"
    root: str = "/testbed"
    files: Mapping[str, str] | None = None
    folder: str | None = None
    commit: str | None = None
    keep_git: bool = False
    setup: str | None = None
    report: str | None = None
    test_files: Sequence[str] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    python: str = "python3"
    timeout_s: float = 600.0
    memory_mb: int | None = None
    disk_mb: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class SweParams:
    """forms: The forms that a patch can have: `search_replace` blocks, unified `diff`, whole `files`.
    scoring: `all` gives 1 if every test passes. `fraction` multiplies the share of `fail_to_pass` by that of
        `pass_to_pass`, so that a patch that changes nothing gets 0.
    """

    forms: tuple[Form, ...] = FORMS
    scoring: Literal["all", "fraction"] = "all"

    def __post_init__(self) -> None:
        if not self.forms or len(set(self.forms)) < len(self.forms):
            raise ValueError("forms must name at least one, each once")
