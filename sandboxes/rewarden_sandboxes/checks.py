"""Validation of jobs from all callers. The host refuses an invalid one before it takes a room, and names the field.

The set of languages, and this host's own limits, are checked elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from rewarden_sandboxes.box import BoxSpec, Exec, Work, is_own
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.job import WHOLE_LIMITS, Case, Job, Join, Limits, Mode, Program

MOST: Mapping[str, float] = {
    "cpu_s": 86_400,
    "wall_s": 86_400,
    "memory_mb": 1 << 20,
    "processes": 1 << 15,
    "output_bytes": 1 << 27,
    "disk_mb": 1 << 20,
    "open_files": 1 << 20,
}
"""The largest value of each limit: anything beyond is a mistake or an attack. Output must fit into one message."""

MOST_CASES = 100_000
MOST_FILES = 10_000

_MOST_PATH = 1024
_MOST_NAME = 255  # Linux's NAME_MAX
_MOST_ARGUMENT = 131_071  # Linux's MAX_ARG_STRLEN, less the NUL at the end
_MOST_ARGUMENTS = 1 << 20

_MODES = frozenset(get_args(Mode))
_WORKS = frozenset(get_args(Work))
_MOST_PLACE = 4000  # Linux's PATH_MAX is 4096
_JOINS = frozenset(get_args(Join))
_IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_OWN_IMAGE = re.compile(r"(?:[A-Za-z0-9][A-Za-z0-9._:/-]{0,255}@)?sha256:[0-9a-f]{64}")


def check_job(job: Job) -> None:
    """Raises BadJob for the first field that is wrong, with its path from the job."""
    _check_program(job.program, "program")
    if job.join not in _JOINS:
        raise BadJob("join", f"must be one of {_words(_JOINS)}")
    if job.partner is not None:
        _check_program(job.partner, "partner")
    if (job.partner is None) != (job.join == ""):
        raise BadJob("join", "only a job with a partner sets how the two are joined")
    check_limits(job.compile_limits, "compile_limits")
    if len(job.cases) > MOST_CASES:
        raise BadJob("cases", f"a job has at most {MOST_CASES} cases")
    for index, case in enumerate(job.cases):
        _check_case(case, f"cases[{index}]")
    _check_paths((path.removesuffix("/") for path in job.collect), "collect")
    if job.patience_s is not None and not job.patience_s > 0:  # NaN included
        raise BadJob("patience_s", "must be a number of seconds above 0")


def _check_program(program: Program, where: str) -> None:
    if program.mode not in _MODES:
        raise BadJob(f"{where}.mode", f"must be one of {_words(_MODES)}")
    if not program.language:
        raise BadJob(f"{where}.language", "must name a language; it is empty")
    _check_files(program.files, f"{where}.files")
    _check_arguments(program.args, f"{where}.args")
    check_limits(program.limits, f"{where}.limits")


def _check_case(case: Case, where: str) -> None:
    _check_files(case.files, f"{where}.files")
    _check_files(case.partner_files, f"{where}.partner_files")
    _check_arguments(case.args, f"{where}.args")
    _check_arguments(case.partner_args, f"{where}.partner_args")
    check_limits(case.limits, f"{where}.limits")


def check_limits(limits: Limits, where: str) -> None:
    """Raises BadJob for a limit that is not a number above 0, or is absurdly large: either disables the limit."""
    for name, value in limits.given().items():
        whole = name in WHOLE_LIMITS
        if isinstance(value, bool) or not isinstance(value, int if whole else (int, float)):
            raise BadJob(f"{where}.{name}", f"must be a {'whole number' if whole else 'number'}")
        if not 0 < value <= MOST[name]:  # NaN included
            raise BadJob(f"{where}.{name}", f"must be above 0 and at most {MOST[name]:g}")


def check_box(spec: BoxSpec, patience_s: float | None) -> None:
    """Raises BadJob for the first field that is wrong."""
    # Attack: a path, such as `/` or `../..`, to get a box with the machine's own files.
    if not (_OWN_IMAGE if is_own(spec.image) else _IMAGE).fullmatch(spec.image):
        raise BadJob(
            "image",
            "must name a tier in letters, digits, '.', '_' and '-', or an own image by its id (sha256:…) or its name "
            f"and digest (NAME@sha256:…); it is {spec.image[:100]!r}",
        )
    check_limits(spec.limits, "limits")
    _check_env(spec.env)
    if patience_s is not None and not patience_s > 0:
        raise BadJob("patience_s", "must be a number of seconds above 0")


def check_exec(what: Exec) -> None:
    """Raises BadJob for the first field that is wrong."""
    if (bool(what.argv), what.program is not None, what.files is not None).count(True) != 1:
        raise BadJob("argv", "an exec must have a command line, a program or work on files")
    _check_arguments(what.argv, "argv")
    if what.argv and not what.argv[0]:
        raise BadJob("argv[0]", "must not be empty")
    if what.program is not None:
        _check_program(what.program, "program")
    if what.files is not None:
        if what.files.work not in _WORKS:
            raise BadJob("files.work", f"must be one of {_words(_WORKS)}")
        _check_place(what.files.path, "files.path", empty=what.files.work in ("snapshot", "restore"))
    _check_place(what.cwd, "cwd", empty=True)
    _check_env(what.env)
    check_limits(what.limits, "limits")


def _check_place(path: str, where: str, *, empty: bool = False) -> None:
    encoded = _encoded(path)
    if b"\0" in encoded or len(encoded) > _MOST_PLACE or not (path or empty):
        raise BadJob(where, "must be a path without NUL and lone surrogates, and not too long")


def _check_env(env: Mapping[str, str]) -> None:
    for name, value in env.items():
        if not name or "=" in name or any(b"\0" in _encoded(text) for text in (name, value)):
            raise BadJob(f"env[{name[:80]!r}]", "must have a name without '=', and contain no NUL or lone surrogate")
    _check_arguments([f"{name}={value}" for name, value in env.items()], "env")


def _check_files(files: Mapping[str, bytes], where: str) -> None:
    if len(files) > MOST_FILES:
        raise BadJob(where, f"at most {MOST_FILES} files can accompany a program")
    _check_paths(files, where)
    for path in files:
        # A file cannot be the folder of another one.
        parts = path.split("/")
        for length in range(1, len(parts)):
            if "/".join(parts[:length]) in files:
                raise BadJob(f"{where}[{path[:80]!r}]", f"{'/'.join(parts[:length])[:80]!r} is a file next to it")


def _check_paths(paths: Iterable[str], where: str) -> None:
    """Raises BadJob for a bad path. Attacks: `../x`, an absolute path, NUL (which ends a path early for the kernel),
    names that no file can have.
    """
    for path in paths:
        parts, encoded = path.split("/"), _encoded(path)
        wrong = (
            "must not be empty"
            if not path
            else "must be relative to the working folder"
            if path.startswith("/")
            else "must contain no NUL or lone surrogate"
            if b"\0" in encoded
            else "must not leave the working folder, and have no empty part"
            if any(part in ("", ".", "..") for part in parts)
            else "is too long"
            if len(encoded) > _MOST_PATH or any(len(part.encode()) > _MOST_NAME for part in parts)
            else None
        )
        if wrong is not None:
            raise BadJob(f"{where}[{path[:80]!r}]", wrong)


def _check_arguments(arguments: Sequence[str], where: str) -> None:
    """Raises BadJob for arguments with which the kernel starts no program, which looks like a failure of ours."""
    total = 0
    for index, argument in enumerate(arguments):
        encoded = _encoded(argument)
        if b"\0" in encoded:
            raise BadJob(f"{where}[{index}]", "must contain no NUL or lone surrogate")
        if len(encoded) > _MOST_ARGUMENT:
            raise BadJob(f"{where}[{index}]", f"has more than {_MOST_ARGUMENT} bytes; use stdin or a file")
        total += len(encoded) + 1
    if total > _MOST_ARGUMENTS:
        raise BadJob(where, f"all together have more than {_MOST_ARGUMENTS} bytes; use stdin or a file")


def _encoded(text: str) -> bytes:
    """Returns the text as the kernel sees it; a NUL for invalid text, which is refused with the same message."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return b"\0"


def _words(words: Iterable[str]) -> str:
    return ", ".join(sorted(repr(word) for word in words))
