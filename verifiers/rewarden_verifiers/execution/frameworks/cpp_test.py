"""Test files of Catch2 and doctest, run by our own `main`.

The candidate comes before the framework in the translation unit, so it cannot alter the framework's code. The
framework's namespace has a different name in each program (`compile-tests` in the sandbox's image `toolchains`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from rewarden_verifiers.execution.shims import cpp
from rewarden_verifiers.execution.shims.braces import bare, ends
from rewarden_verifiers.execution.shims.written import Entry, Written

_IGNORED = re.compile(
    r'R"([^()\\\s]{0,16})\(.*?(?:\)\1"|\Z)|"(?:\\.|[^"\\\n])*"?|\'(?:\\.|[^\'\\\n])*\'?|//[^\n]*|/\*.*?(?:\*/|\Z)',
    re.DOTALL,
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:<([^>\n]+)>|"([^"\n]+)")[^\n]*$', re.MULTILINE)
_FRAMEWORK = re.compile(r"(?:.*/)?(?:(catch\.hpp|catch2/(?:\w+/)*catch_\w+\.hpp)|doctest\.h)")
_LIBRARIES = re.compile(r"(?:gtest|gmock|boost|absl|fmt|Eigen|nlohmann|range|spdlog|rapidcheck)/")
_RUNNING = re.compile(
    r"^[ \t]*#[ \t]*define[ \t]+(?:CATCH_CONFIG_(?:MAIN|RUNNER|FAST_COMPILE)|DOCTEST_CONFIG_IMPLEMENT(?:_WITH_MAIN)?)\b"
    r"[^\n]*$",
    re.MULTILINE,
)
_MAIN = re.compile(r"\bmain[ \t]*\(")
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|ifndef|define)\b.*(?:\\\n.*)*", re.MULTILINE)
_TEST = re.compile(
    r"\b(?:CATCH_|DOCTEST_)?(?:(TEST_CASE|SCENARIO)|(TEST_CASE_METHOD|TEST_CASE_FIXTURE|SCENARIO_METHOD)"
    r"|(\w*TEMPLATE\w*|METHOD_AS_TEST_CASE|REGISTER_TEST_CASE|TEST_CASE_CLASS|TEST_SUITE))[ \t]*\("
)
_NAME = re.compile(r'\s*((?:"(?:\\[^xu0-7]|[^"\\\n])*"\s*)+)(?=[,)*])')
_TEXT = re.compile(r'"((?:\\.|[^"\\])*)"')
_ESCAPES = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}
_HIDDEN = re.compile(r"\[(?:\.|!hide\])")
_SKIPPING = re.compile(r"\bskip\s*\(\s*([^()]*?)\s*\)")
_CATCH, _DOCTEST = "catch2", "doctest"
_VERSIONS = {_CATCH: "2", _DOCTEST: "2"}


def _framework(content: str) -> str | None:
    """Returns the framework whose header a test file includes, or None."""
    found = {_CATCH if match[1] else _DOCTEST for name in _included(content) if (match := _FRAMEWORK.fullmatch(name))}
    return found.pop() if len(found) == 1 else None


def _included(content: str) -> Iterator[str]:
    return (match[1] or match[2] for match in _INCLUDE.finditer(_without_comments(content)))


def _without_comments(content: str) -> str:
    """Returns code of the same length with comments blanked out."""
    return _IGNORED.sub(lambda match: re.sub(r"[^\n]", " ", match[0]) if match[0][0] == "/" else match[0], content)


def _read(content: str) -> tuple[list[str], list[str], bool]:
    """Returns the names of a test file's tests, the names of those that it skips, and whether its text shows
    all tests.
    """
    text = bare(content, _IGNORED)
    shown = not any(
        re.match(r"[ \t]*#[ \t]*if", directive[0]) or _TEST.search(directive[0])
        for directive in _DIRECTIVE.finditer(text)
    )
    closing = ends(text)
    names: list[str] = []
    skipped: list[str] = []
    for test in _TEST.finditer(text):
        end = closing.get(test.end() - 1)
        if test[3] == "TEST_SUITE":
            shown = shown and end is not None and "skip" not in text[test.end() : end]
            continue
        comma = text.find(",", test.end())
        name = _NAME.match(content, comma + 1 if test[2] else test.end())
        if test[3] or end is None or name is None or (test[2] and comma < 0):
            shown = False
            continue
        title = "".join(re.sub(r"\\(.)", _meant, part[1]) for part in _TEXT.finditer(name[1]))
        if "SCENARIO" in test[0]:
            title = ("  " if _framework(content) == _DOCTEST else "") + f"Scenario: {title}"
        decorated = _SKIPPING.search(text, name.end(), end)
        if decorated is not None and decorated[1] not in ("", "true", "false"):
            shown = False
        left_out = decorated[1] != "false" if decorated is not None else bool(_HIDDEN.search(content, name.end(), end))
        (skipped if left_out else names).append(title)
    return names, skipped, shown


def _meant(escape: re.Match[str]) -> str:
    return _ESCAPES.get(escape[1], escape[1])


def _placed(content: str) -> str:
    """Returns a test file without its main and without the framework's header, which is included earlier. Headers that
    do not exist are skipped: the candidate stands in for them.
    """

    def placed(include: re.Match[str]) -> str:
        path = include[1] or include[2]
        if _FRAMEWORK.fullmatch(path) or path.rpartition("/")[2] == "main.cpp":
            return ""
        return include[0] if include[1] else f'\n#if __has_include("{path}")\n{include[0]}\n#endif\n'

    lines = []
    for number, line in enumerate(_RUNNING.sub("", content).split("\n"), 1):
        edited = _INCLUDE.sub(placed, line)
        lines.append(edited if "\n" not in edited else f"{edited}#line {number + 1}")
    return "\n".join(lines)


@dataclass(frozen=True, slots=True)
class CppTest:
    """Catch2 and doctest in one standard of C++. flags: select the standard."""

    LANGUAGES: frozenset[str]
    flags: tuple[str, ...] = ()
    TITLE: str = "Catch2 or doctest"
    FILE: re.Pattern[str] = re.compile(r"(?:[\w-]+/)*\w[\w.-]*\.(?:cpp|cc|cxx|h|hpp)", re.ASCII)

    def unfit(self, content: str) -> str | None:
        """Returns why no program can pass a test file, judging by its text, or None."""
        library = next((name for name in _included(content) if _LIBRARIES.match(name)), None)
        if library is not None:
            return f"the image has no header {library!r}"
        if _framework(content) is None:
            return "it does not include 'catch2/catch.hpp' or 'doctest/doctest.h', one of the two"
        return "the runner of test files has no 'main'" if _MAIN.search(bare(content, _IGNORED)) else None

    def listed(self, content: str) -> tuple[str, ...] | None:
        """Returns the names of the tests that the file's text declares and does not skip; None if its text does not
        show all of them."""
        names, _, shown = _read(content)
        return tuple(names) if shown else None

    def declares(self, content: str, name: str) -> bool:
        """Returns whether a test of that name can be in the file."""
        names, skipped, shown = _read(content)
        return not shown or name in (*names, *skipped)

    def running(self, entry: Entry, code: str, name: str, content: str) -> Written:
        """Returns the candidate and a test file as one program, which runs the tests and reports."""
        framework = _framework(content) or _CATCH
        if framework == _CATCH:
            # Attack: a function `Approx`, which would hide Catch2's class of that name from the test file.
            before = (
                "namespace rewarden_names { struct Approx; }\n"
                "namespace rewarden_check { using namespace rewarden_names; using Own = Approx; }\n"
                "#define Catch Catch_0000000000000000\n#include <catch2/catch.hpp>\n"
                "namespace Catch { using Detail::Approx; }"
            )
        else:
            before = "#define doctest doctest_0000000000000000\n#include <doctest/doctest.h>"
        tests = [cpp.beside(entry, code), before, f'#line 1 "{name}"', _placed(content)]
        made = cpp.reported("file", code, {"rewarden/tests.cpp": "\n".join(tests)})
        return replace(made, language=f"cpp-{framework}", min_version=_VERSIONS[framework], flags=self.flags)


_OLD, _NEW = frozenset({"cpp11", "cpp14", "cpp17"}), frozenset({"cpp23"})
STANDARDS = (
    CppTest(cpp.NAMES - _OLD - _NEW),
    CppTest(_OLD, ("-std=c++17",)),
    CppTest(_NEW, ("-std=c++23",)),
)
