"""Test files of Go's package `testing`, run by our own `main` as `go test` runs them. The candidate and the test file
are in another package, so the candidate cannot call the reporting code.
"""

from __future__ import annotations

import re

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import go
from rewarden_verifiers.execution.shims.braces import bare
from rewarden_verifiers.execution.shims.written import Entry, Written

LANGUAGES = go.NAMES
TITLE = "go test"
FILE = re.compile(r"(?:[\w-]+/)*\w[\w-]*_test\.go", re.ASCII)

_TEST = re.compile(r"^func[ \t]+(Test(?![a-z])\w*)[ \t]*\(\s*(?:\w+\s+)?\*\s*testing\.T\s*\)", re.MULTILINE)
_MAIN = re.compile(r"^func[ \t]+TestMain[ \t]*\(", re.MULTILINE)
_FOREIGN = re.compile(
    r'^([ \t]*(?:import[ \t]+)?)(?:(\w+)[ \t]+)?"((?:[\w-]+\.)+[a-z]+/[\w./-]+)"[ \t]*;?[ \t]*$', re.MULTILINE
)
_LIBRARIES = re.compile(
    r"github\.com/(?:stretchr|google|onsi|smartystreets|davecgh|golang)/|golang\.org/|gopkg\.in/|gotest\.tools/"
)


def unfit(content: str) -> str | None:
    """Returns why no program can pass a test file, judging by its text, or None."""
    if _MAIN.search(bare(content, go.IGNORED)):
        return "the runner of test files has no 'TestMain'"
    foreign = [match[3] for match in _FOREIGN.finditer(content)]
    library = next((path for path in foreign if _LIBRARIES.match(path)), None)
    if library is not None:
        return f"the image has no package {library!r}"
    return f"it imports {foreign[1]!r}, and only one package can be the candidate's" if len(foreign) > 1 else None


def listed(content: str) -> tuple[str, ...] | None:
    """Returns the names of the tests that the file's text declares."""
    return tuple(_TEST.findall(bare(content, go.IGNORED)))


def declares(content: str, name: str) -> bool:
    """Returns whether the file has a test of that name. A subtest is part of its test."""
    return name in (listed(content) or ())


def running(entry: Entry, code: str, name: str, content: str) -> Written:
    """Returns the candidate and a test file as one program, which runs the tests and reports."""
    foreign = _FOREIGN.search(content)
    # An external test package imports the candidate's package; any other test file belongs to it.
    folder = "solution" if foreign is None else "tests"
    tests = _FOREIGN.sub(lambda spec: f'{spec[1]}{spec[2] or _base(spec[3])} "main/solution"', content)
    rows = "".join(f'{{Name: "{each}", F: {each}}}, ' for each in listed(content) or ())
    main = (
        f'package main\n\nimport (\n\t"main/rewarden"\n\t_ "main/solution"\n\ttested "main/{folder}"\n)\n\n'
        "func main() { rewarden.File(tested.RewardenTests()) }\n"
    )
    files = {
        **go.confined(entry, code),
        f"{folder}/tests.go": go.packaged(tests, folder),
        f"{folder}/listed.go": f'package {folder}\n\nimport "testing"\n\n'
        f"func RewardenTests() []testing.InternalTest {{ return []testing.InternalTest{{{rows}}} }}\n",
    }
    return Written(main, {**{path: source(text) for path, text in files.items()}, **go.package("room", "file")})


def _base(path: str) -> str:
    return path.rpartition("/")[2]
