"""Test files of Rust's `#[test]`, run by our own `main` as `cargo test` runs them.

The file becomes a submodule of the candidate's module, as unit tests are, and sees its private items.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import rust
from rewarden_verifiers.execution.shims.braces import bare
from rewarden_verifiers.execution.shims.written import Entry, Written

LANGUAGES = rust.NAMES
TITLE = "cargo test"
FILE = re.compile(r"(?:[\w-]+/)*\w[\w-]*\.rs", re.ASCII)

_PLACE = re.compile(
    r"\b(?:pub(?:\([^)]*\))?\s+)?mod\s+(?P<module>\w+)\s*\{|(?P<brace>[{}])"
    r"|(?P<attributes>(?:#\s*\[[^\]]*\]\s*)+)(?:pub(?:\([^)]*\))?\s+)?fn\s+(?P<test>\w+)\s*\(\s*\)"
)
_ATTRIBUTE = re.compile(r"#\s*\[\s*(test|ignore|should_panic)\b[^\]]*\]")
_EXPECTED = re.compile(r'\bexpected\s*=\s*("(?:\\.|[^"\\])*")', re.DOTALL)
_CONDITION = re.compile(r"#\s*\[\s*cfg\s*\(\s*test\s*\)\s*\]")
_CRATE = re.compile(r"(?<![$\w])crate(?=\s*::)")
_USED = re.compile(r"\buse\s+(?:::)?(\w+)\s*(?:::|;)")
_KNOWN = frozenset({"std", "core", "alloc", "crate", "self", "super"})
_LIBRARIES = re.compile(
    r"\b(?:proptest|quickcheck|rand|rstest|tokio|async_std|serde\w*|criterion|pretty_assertions|assert_approx_eq|approx"
    r"|mockall|test_case)\b(?=\s*(?:::|;|!))|#\s*\[\s*(?:tokio::test|rstest|case|test_case|quickcheck)\b"
)


@dataclass(frozen=True, slots=True)
class _Test:
    """A test function. path: its modules and its name. panics: the expected panic message, as in Rust's source."""

    path: tuple[str, ...]
    panics: str | None
    ignored: bool

    @property
    def name(self) -> str:
        return "::".join(self.path)

    def made(self) -> str:
        panics = "None" if self.panics is None else f"Some({self.panics})"
        given = f'"{self.name}", {self.path[-1]}, ::std::option::Option::{panics}, {str(self.ignored).lower()}'
        return f"crate::rewarden::file::test({given})"


@dataclass(frozen=True, slots=True)
class _Edit:
    """A part of a file, and its replacement."""

    start: int
    end: int
    text: str


def _read(content: str) -> Iterator[_Test | _Edit]:
    """Yields the tests of a file, and the edits that turn them into plain functions, listed in each module."""
    text = bare(content, rust.IGNORED)
    modules: list[tuple[str, int, list[_Test]]] = []
    outermost: list[_Test] = []
    depth = 0
    for found in _PLACE.finditer(text):
        if found["module"]:
            depth += 1
            modules.append((found["module"], depth, []))
            yield _Edit(found.start(), found.start("module"), "pub mod ")
        elif found["brace"] == "{":
            depth += 1
        elif found["brace"]:
            if modules and modules[-1][1] == depth:
                yield _Edit(found.start(), found.start(), _list_of(modules.pop()[2]))
            depth -= 1
        else:
            kinds = {kind[1]: kind for kind in _ATTRIBUTE.finditer(text, found.start(), found.end("attributes"))}
            if "test" not in kinds:
                continue
            panics = None
            if "should_panic" in kinds:
                place = kinds["should_panic"]
                part = _EXPECTED.search(content, place.start(), place.end())
                panics = part[1] if part is not None else '""'
            path = (*(name for name, _, _ in modules), found["test"])
            test = _Test(path, panics, "ignore" in kinds)
            (modules[-1][2] if modules else outermost).append(test)
            yield test
            for kind in kinds.values():
                yield _Edit(kind.start(), kind.end(), "")
    for pattern, instead in ((_CONDITION, ""), (_CRATE, "crate::solution")):
        for found in pattern.finditer(text):
            yield _Edit(found.start(), found.end(), instead)
    yield _Edit(len(content), len(content), _list_of(outermost))


def _list_of(tests: list[_Test]) -> str:
    rows = ", ".join(test.made() for test in tests)
    made = f"::std::vec::Vec<crate::rewarden::file::Test> {{ ::std::vec![{rows}] }}"
    return f"\npub fn rewarden_tests() -> {made}\n"


def unfit(content: str) -> str | None:
    """Returns why no program can pass a test file, judging by its text, or None."""
    found = _LIBRARIES.search(bare(content, rust.IGNORED))
    return None if found is None else f"the image has no crates such as {found[0].strip('#[ ')!r}"


def listed(content: str) -> tuple[str, ...] | None:
    """Returns the names of the tests that the file's text declares and does not ignore."""
    return tuple(part.name for part in _read(content) if isinstance(part, _Test) and not part.ignored)


def declares(content: str, name: str) -> bool:
    """Returns whether a test of that name is in the file."""
    return any(isinstance(part, _Test) and part.name == name for part in _read(content))


def running(entry: Entry, code: str, name: str, content: str) -> Written:
    """Returns the candidate and a test file as one program, which runs the tests and reports."""
    parts = list(_read(content))
    edits = sorted((part for part in parts if isinstance(part, _Edit)), key=lambda edit: edit.start)
    for edit in reversed(edits):
        content = content[: edit.start] + edit.text + content[edit.end :]
    program = rust.unit(entry, code)
    own = {*_KNOWN, *re.findall(r"\bmod\s+(\w+)", f"{program}\n{content}")}
    crates = sorted(set(_USED.findall(bare(content, rust.IGNORED))) - own)
    lists = {part.path[:-1] for part in parts if isinstance(part, _Test)}
    calls = "".join(
        f"tests.extend({'::'.join(('solution', 'rewarden_tests', 'file', *path, 'rewarden_tests'))}());\n"
        for path in sorted(lists)
    )
    main = (
        "#![allow(warnings)]\nmod rewarden { pub mod values; pub mod channel; pub mod room; pub mod file; }\n"
        f"mod solution;\nfn main() {{\nlet mut tests = ::std::vec::Vec::new();\n{calls}rewarden::file::run(tests)\n}}\n"
    )
    aliases = "".join(f"use crate::solution as {crate};\n" for crate in crates)
    files = rust.confined(program, content, aliases)
    return Written(main, {**{path: source(text) for path, text in files.items()}, **rust.modules("room", "file")})
