"""Test files of JUnit 5 and JUnit 4, run on JUnit's own platform by our `main`."""

from __future__ import annotations

import re
from dataclasses import replace

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import java
from rewarden_verifiers.execution.shims.braces import bare, outermost
from rewarden_verifiers.execution.shims.written import Entry, Written

LANGUAGES = java.NAMES
TITLE = "JUnit"
FILE = re.compile(r"(?:[\w-]+/)*[A-Za-z]\w*\.java", re.ASCII)

_LANGUAGE = "java-junit"
_VERSION = "5"
_ARGUMENTS = r"(?:\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\))?"
_PLACE = re.compile(
    rf"(?P<annotations>(?:@(?!interface\b)[\w.]+{_ARGUMENTS}\s*)*)"
    r"(?P<modifiers>(?:\b(?:public|protected|private|static|final|abstract|sealed|strictfp|synchronized|default)\s+)*)"
    r"(?:\b(?:class|interface|enum|record)\s+(?P<type>\w+)(?P<head>[^{;]*)\{"
    r"|(?:<[^<>]*>\s*)?[\w.$]+(?:<[^;(){}]*>)?(?:\[\])*\s+(?P<method>\w+)\s*\()"
    r"|(?P<brace>[{}])"
)
_TEST = re.compile(r"@(?:[\w.]+\.)?(?:Test|ParameterizedTest|RepeatedTest|TestFactory|TestTemplate|Theory)\b")
_SKIPPED = re.compile(r"@(?:[\w.]+\.)?(?:Disabled|Ignore)\b")
_CONDITIONAL = re.compile(r"@(?:[\w.]+\.)?(?:Disabled|Enabled)[A-Z]\w*")
_IMPORT = re.compile(r"^[ \t]*import\s+(?:static\s+)?([a-z]\w*(?:\.[a-z]\w*)*)\.[\w.*]+\s*;", re.MULTILINE)
_KNOWN = re.compile(r"(?:java|javax|org\.junit|org\.hamcrest|org\.opentest4j|junit)(?:\.|\Z)")
_LIBRARIES = re.compile(
    r"(?:org\.(?:mockito|assertj|springframework|testng|easymock|powermock|apache|jetbrains)|com\.google|net\.jqwik|io"
    r"|lombok|com\.fasterxml)(?:\.|\Z)"
)


def unfit(content: str) -> str | None:
    """Returns why no program can pass a test file, judging by its text, or None."""
    foreign = list(dict.fromkeys(_foreign(content)))
    library = next((path for path in foreign if _LIBRARIES.match(path)), None)
    if library is not None:
        return f"the image has no package {library!r}"
    return f"it imports {foreign[1]!r}, and only one package can be the candidate's" if len(foreign) > 1 else None


def _foreign(content: str) -> list[str]:
    """Returns the imported packages of a test file that are neither Java's nor JUnit's."""
    return [found[1] for found in _IMPORT.finditer(bare(content, java.IGNORED)) if not _KNOWN.match(found[1])]


def _read(content: str) -> tuple[list[str], list[str], bool]:
    """Returns the names of a test file's tests, the names of those that it skips, and whether its text shows
    all tests.
    """
    text = bare(content, java.IGNORED)
    names: list[str] = []
    skipped: list[str] = []
    shown = not _CONDITIONAL.search(text)
    above: list[tuple[int, str, bool, bool]] = []
    depth = 0
    for place in _PLACE.finditer(text):
        marks = place["annotations"] or ""
        if place["type"]:
            depth += 1
            left_out = bool(_SKIPPED.search(marks)) or bool(above and above[-1][2])
            inherits = re.search(r"\bextends\s+(?!(?:[\w.]+\.)?TestCase\b)", place["head"]) is not None
            shown = shown and not (inherits or re.search(r"\babstract\b", place["modifiers"]) or "@RunWith" in marks)
            above.append((depth, place["type"], left_out, "TestCase" in place["head"]))
        elif place["brace"] == "{":
            depth += 1
        elif place["brace"]:
            if above and above[-1][0] == depth:
                above.pop()
            depth -= 1
        elif (
            above
            and above[-1][0] == depth
            and (_TEST.search(marks) or (above[-1][3] and place["method"].startswith("test")))
        ):
            name = ".".join([*(one[1] for one in above), place["method"]])
            (skipped if above[-1][2] or _SKIPPED.search(marks) else names).append(name)
    return list(dict.fromkeys(names)), skipped, shown


def listed(content: str) -> tuple[str, ...] | None:
    """Returns the names of the tests that the file's text declares and does not skip; None if its text does not show
    all of them."""
    names, _, shown = _read(content)
    return tuple(names) if shown else None


def declares(content: str, name: str) -> bool:
    """Returns whether a test of that name can be in the file."""
    names, skipped, shown = _read(content)
    return not shown or name in (*names, *skipped)


def running(entry: Entry, code: str, name: str, content: str) -> Written:
    """Returns the candidate and a test file as one program, which runs the tests and reports. The candidate is put into
    the package that the test file imports, or else into the test file's own.
    """
    own = java.PACKAGE.search(bare(content, java.IGNORED))
    package = own[1] if own is not None else ""
    foreign = _foreign(content)
    program = java.placed(java.unit(entry, code), foreign[0] if foreign else package)
    types = java.TYPE.findall(outermost(content, java.IGNORED))
    classes = ", ".join(f'"{package}{"." if package else ""}{each}"' for each in types)
    made = java.started(f"JUnit.run({classes})", ("Channel", "Classes", "JUnit", "Values"), program, content)
    file = {f"tests/{java.file_of(content, types[0] if types else 'Tests')}": source(content)}
    return replace(made, files={**made.files, **file}, language=_LANGUAGE, min_version=_VERSION)
