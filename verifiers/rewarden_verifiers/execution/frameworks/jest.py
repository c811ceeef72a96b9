"""Test files of Jest, Vitest and node:test in JavaScript: our runner implements their functions."""

from __future__ import annotations

import re

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import javascript
from rewarden_verifiers.execution.shims.braces import bare, ends
from rewarden_verifiers.execution.shims.written import Entry, Written, read

LANGUAGES = javascript.NAMES
TITLE = "Jest"
FILE = re.compile(r"(?!rewarden/|(?:main|solution)\.)(?:[\w-]+/)*\w[\w.-]*\.c?js", re.ASCII)

_IGNORED = re.compile(
    r"//[^\n]*|/\*.*?(?:\*/|\Z)|'(?:\\.|[^'\\\n])*'?|\"(?:\\.|[^\"\\\n])*\"?|`(?:\\.|[^`\\])*`?"
    r"|(?<=[(,=:\[!&|?{};\n])[ \t]*/(?![/*])(?:\\.|\[(?:\\.|[^\]\\\n])*\]|[^/\\\[\n])+/[a-z]*",
    re.DOTALL,
)
_CALL = re.compile(r"(?<![\w$.])([xf]?(?:describe|test|it)|suite|context)((?:\.\w+)*)[ \t]*\(")
_NAME = re.compile(r"""\s*(['"`])((?:\\['"`\\]|(?!\1)[^\\\n])*)\1\s*[,)]""")
_MISSING = re.compile(
    r"\b(?:jest|vi)\.(?:mock|doMock|unmock|useFakeTimers|advanceTimersByTime|runAllTimers|requireActual|isolateModules)\b"
    r"|\.toMatch(?:Inline)?Snapshot\b|\.toThrowErrorMatching\w+|\.to\.(?:be|equal|deep|have|throw|include)\b"
)


def unfit(content: str) -> str | None:
    """Returns why no program can pass a test file, judging by its text, or None."""
    found = _MISSING.search(bare(content, _IGNORED))
    return None if found is None else f"the runner of test files has no {found[0]!r}"


def listed(content: str) -> tuple[str, ...] | None:
    """Returns the names of the tests that the file's text declares and does not skip; None if its text does not show
    all of them."""
    text = bare(content, _IGNORED)
    closing = ends(text)
    names: list[str] = []
    above: list[tuple[int, str, bool]] = []
    for call in _CALL.finditer(text):
        while above and above[-1][0] < call.start():
            above.pop()
        name = _NAME.match(content, call.end())
        end = closing.get(call.end() - 1)
        if name is None or end is None or ".each" in call[2] or (name[1] == "`" and "${" in name[2]):
            return None
        skipped = call[1].startswith("x") or ".skip" in call[2] or ".todo" in call[2] or any(one[2] for one in above)
        title = re.sub(r"\\(.)", r"\1", name[2])
        if call[1].lstrip("xf") in ("test", "it"):
            if not skipped:
                names.append(" > ".join([*(one[1] for one in above), title]))
        else:
            above.append((end, title, skipped))
    return tuple(names)


def declares(content: str, name: str) -> bool:
    """Returns whether a test of that name can be in the file: names can be computed."""
    return True


def running(entry: Entry, code: str, name: str, content: str) -> Written:
    """Returns the candidate and a test file as one program, which runs the tests and reports."""
    files = {f"rewarden/{part}.js": read(f"javascript/{part}.js") for part in ("expect", "machinery")}
    files |= {"solution.js": code, name: content}
    return Written(read("javascript/jest.js"), {path: source(text) for path, text in files.items()})
