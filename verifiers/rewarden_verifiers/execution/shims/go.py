"""The shim of Go: our package calls the program's functions by reflection, with their declared types."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims.braces import Declared, bare, closed, declared
from rewarden_verifiers.execution.shims.heads import SLASHES, TEXT, Heads
from rewarden_verifiers.execution.shims.written import Entry, Written, after_brace, read

NAMES = frozenset({"go", "golang"})
INIT = False
TEXTS = False

IGNORED = re.compile(r"`[^`]*`?|\"(?:\\.|[^\"\\\n])*\"?|'(?:\\.|[^'\\\n])*'?|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
_HEAD = r"func[ \t]+"
PACKAGE = re.compile(r"^[ \t]*package[ \t]+\w+[ \t]*;?", re.MULTILINE)
_IMPORT = re.compile(r'^([ \t]*(?:import[ \t]+)?)(?:(\w+|\.)[ \t]+)?"([\w./-]+)"[ \t]*;?[ \t]*$', re.MULTILINE)
_MAIN = re.compile(r"^func[ \t]+main[ \t]*\(", re.MULTILINE)
_TEST = re.compile(r"^func[ \t]+(Test\w*)[ \t]*\(\s*\w+\s+\*\s*testing\.T\s*\)", re.MULTILINE)
_OWN_TYPE = re.compile(r"^type[ \t]+(\w+)", re.MULTILINE)
_LINK = re.compile(r"//go:linkname\b")
_IMPORTS = re.compile(r"\bimport\b\s*(?:\([^)]*\)|[^\n;]*)")
_FROM_C = re.compile(r'["`]C["`]|\\')
_NO_C = 'package solution\n\nimport _ "a program that runs with tests cannot import C"\n'
_WORDS = (
    "append len make new panic nil true false any bool byte comparable error float32 float64 int int8 int16 int32 "
    "int64 rune string uint uint8 uint16 uint32 uint64"
)
_NODES = {
    "ListNode": "type ListNode struct {\n\tVal  int\n\tNext *ListNode\n}\n",
    "TreeNode": "type TreeNode struct {\n\tVal         int\n\tLeft, Right *TreeNode\n}\n",
}
"""LeetCode's types, for programs that use them without defining them."""
_HEADS = Heads(
    ignored=f"{SLASHES}|{TEXT}",
    head=r"func[ \t]+NAME[ \t]*[(\[]",
    also=r"func[ \t]+\([^)\n]*\)[ \t]*NAME[ \t]*[(\[]",
)


def _declared(entry: Entry) -> Declared | None:
    """Returns the entry point's declaration, if only its body can follow."""
    for text in (entry.signature or "", entry.prefix):
        found = declared(text, entry.name, IGNORED, _HEAD) if entry.name else None
        if found is not None:
            return found
    return None


def _function(found: Declared) -> str:
    """Returns the parameters and results of a function's type."""
    return f"({found.listed}) {found.tail.rstrip().removesuffix('{').strip()}"


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    if not entry.name:
        return "there is no entry_point, so no function can be declared for the test code"
    found = _declared(entry)
    if found is None or "\n" in _function(found).strip():
        return "neither signature nor prefix ends in the declaration of the entry_point"
    own = _OWN_TYPE.search(bare(entry.prefix, IGNORED))
    return None if own is None else f"the prompt's code defines the type {own[1]!r}, whose values cannot cross"


def unit(entry: Entry, code: str) -> str:
    """Returns code as a file of the package `main`; unused imports of the prompt are made harmless. A program without a
    package clause gets the prompt's imports that it uses.
    """
    if entry.prefix and code.startswith(entry.prefix):
        code = closed(code, IGNORED)
    imports = {match[3]: match for match in _IMPORT.finditer(entry.prefix)}
    own = {match[3] for match in _IMPORT.finditer(code)}
    used = {".", *re.findall(r"\b(\w+)\.", bare(code, IGNORED))}
    lacking = "".join(
        f"import {match[0].strip().removeprefix('import ')}\n"
        for path, match in imports.items()
        if path not in own and _name(match) in used
    )
    code = _IMPORT.sub(
        lambda spec: spec[0] if spec[3] not in imports or _name(spec) in used else f'{spec[1]}_ "{spec[3]}"', code
    )
    code = _MAIN.sub("func rewardenProgramMain(", code)
    if not PACKAGE.search(bare(code, IGNORED)):
        return f"package main\n{lacking}{code}"
    return PACKAGE.sub("package main", code, count=1)


def _name(spec: re.Match[str]) -> str:
    """Returns the name by which a file refers to an import."""
    return spec[2] or spec[3].rpartition("/")[2]


def _nodes(code: str) -> dict[str, bytes]:
    lacking = [
        text
        for name, text in _NODES.items()
        if re.search(rf"\b{name}\b", code) and not re.search(rf"\btype\s+{name}\b", code)
    ]
    return {"nodes.go": source("\n".join(["package main\n", *lacking]))} if lacking else {}


def package(*parts: str) -> dict[str, bytes]:
    """Returns the parts of our package `main/rewarden`."""
    return {f"rewarden/{part}.go": source(read(f"go/{part}.go")) for part in ("values", "channel", *parts)}


def _answering(code: str, how: str, targets: Iterable[str]) -> Written:
    rows = "".join(f'"{target}": {_expression(code, target)}, ' for target in dict.fromkeys(targets))
    main = f'package main\n\nimport "main/rewarden"\n\nfunc main() {{ rewarden.{how}(map[string]any{{{rows}}}) }}\n'
    return Written(main, {"solution.go": source(code), **package("candidate"), **_nodes(code)})


def _expression(code: str, target: str) -> str:
    """Returns the expression of a function, or of a method of a new object. In Go, LeetCode uses functions where other
    languages have a class.
    """
    kind, _, name = target.rpartition(".")
    return f"new({kind}).{name}" if kind and re.search(rf"\btype\s+{re.escape(kind)}\b", code) else name


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _answering(unit(entry, code), "Call", targets)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _answering(unit(entry, code), "Serve", [entry.name or ""])


def _running(tests: str) -> tuple[str, str, str, str]:
    """Returns test code as declarations, and how to run it: our function, and the type and the value that it takes. Its
    tests run if it has any, else its `main`, else all of it.
    """
    named = _TEST.findall(bare(tests, IGNORED))
    if named:
        rows = "".join(f'{{Name: "{name}", F: {name}}}, ' for name in named)
        return tests, "Tests", "[]testing.InternalTest", f"[]testing.InternalTest{{{rows}}}"
    if not _MAIN.search(tests):
        tests = f"func main() {{\n{tests}\n}}\n"
    return _MAIN.sub("func rewardenTestsMain(", tests), "Main", "func()", "rewardenTestsMain"


def _typed(kind: str) -> str:
    """Returns the import that a type requires."""
    return 'import "testing"\n' if kind.startswith("[]testing.") else ""


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room: the prompt's code, with a stub that asks the other room."""
    found = _declared(entry)
    kind = f"func{_function(found)}" if found is not None else ""
    prompt = declared(entry.prefix, entry.name or "", IGNORED, _HEAD)
    before = prompt.before if prompt is not None else ""
    rest, how, listed, value = _running(after_brace(tests))
    code = f'{before}\nvar {entry.name} {kind} = rewarden.Bind[{kind}]("{entry.name}")\n{rest}'
    text = unit(entry, code).replace("package main", 'package main\nimport "main/rewarden"', 1)
    main = f'package main\n\nimport "main/rewarden"\n{_typed(listed)}\nfunc main() {{ rewarden.{how}({value}) }}\n'
    return Written(main, {"tests.go": source(text), **package("room"), **_nodes(text)})


def confined(entry: Entry, code: str) -> dict[str, str]:
    """Returns a program as the package `main/solution`, next to which another part of that package can run.

    The program cannot redeclare the language's predeclared names or import C, and reaches only exported names of other
    packages.
    """
    program = packaged(_LINK.sub("//", unit(entry, code)), "solution")
    if any(_FROM_C.search(match[0]) for match in _IMPORTS.finditer(program)):
        program = _NO_C
    words = "".join(f'import {word} "main/rewarden"\n' for word in _WORDS.split())
    used = " + ".join(f"{word}.Word" for word in _WORDS.split())
    return {
        "solution/solution.go": program,
        "solution/rewarden.go": f"package solution\n\n{words}\nconst _ = {used}\n",
    }


def packaged(code: str, package: str) -> str:
    """Returns a file with another package name."""
    return PACKAGE.sub(f"package {package}", code, count=1)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program. Neither is in the package of the main function, so the
    candidate cannot call the reporting code.
    """
    rest, how, listed, value = _running(after_brace(tests))
    main = (
        'package main\n\nimport (\n\t"main/rewarden"\n\t"main/solution"\n)\n\n'
        f"func main() {{ rewarden.{how}(solution.RewardenTests()) }}\n"
    )
    files = {
        **confined(entry, code),
        "solution/tests.go": packaged(unit(entry, rest), "solution"),
        "solution/listed.go": f"package solution\n\n{_typed(listed)}\n"
        f"func RewardenTests() {listed} {{ return {value} }}\n",
    }
    nodes = {
        f"solution/{path}": packaged(text.decode(), "solution") for path, text in _nodes(f"{code}\n{rest}").items()
    }
    return Written(main, {**{path: source(text) for path, text in (files | nodes).items()}, **package("room")})


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return _HEADS.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return _HEADS.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function: none,
    because unused imports are errors in Go. A program gets those that it uses.
    """
    return ""
