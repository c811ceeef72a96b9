"""The shim of C++: our headers, the program, and a table of its functions, whose types the compiler deduces."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims.braces import split
from rewarden_verifiers.execution.shims.heads import before_braces
from rewarden_verifiers.execution.shims.written import Entry, Written, after_brace, read

NAMES = frozenset({"cpp", "c++", "cxx", "cc", "cpp11", "cpp14", "cpp17", "cpp20", "cpp23"})
INIT = False
TEXTS = False

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_OWN_TYPES = re.compile(r"\b(?:struct|class|union|template|std::any|std::function|std::variant)\b")
_PREAMBLE = re.compile(r"^[ \t]*(?:#[ \t]*include\b|using[ \t])[^\n]*$", re.MULTILINE)
_PARAMETER = re.compile(r"([A-Za-z_]\w*)\s*(?:=[^=].*)?$", re.DOTALL)
_DEFINING = re.compile(r"(?:#|%:|\?\?=)(?:\s|/\*.*?\*/)*define(?:\s|/\*.*?\*/)+(\w+)", re.DOTALL)
_SPLICE = re.compile(r"(?:\\|\?\?/)[ \t]*\n")


def _named(entry: Entry) -> tuple[str, str] | None:
    """Returns the declaration of the entry point without its body, and its parameter list; None if no declaration can
    be parsed.
    """
    text = entry.signature or entry.prefix
    name = entry.name
    if not name:
        return None
    bare = _COMMENT.sub(lambda match: " " * len(match[0]), text).rstrip().rstrip("{;").rstrip()
    starts = list(re.finditer(rf"\b{re.escape(name)}\s*\(", bare))
    if not starts or not bare.endswith(")"):
        return None
    return bare, bare[starts[-1].end() : -1]


def _listed(parameters: str) -> Iterator[str]:
    """Yields the parameters in a parameter list: none for `void`."""
    return split("" if parameters.strip() == "void" else parameters)


def _parameters(listed: str) -> list[str] | None:
    """Returns the names of parameters, or None if one has no name, or is an array or a function."""
    names: list[str] = []
    for part in _listed(listed):
        found = _PARAMETER.search(part.strip())
        if found is None or part.rstrip().endswith("]") or "(" in part or found.start() == 0:
            return None
        names.append(found[1])
    return names


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    if not entry.name:
        return "there is no entry_point, so no function can be declared for the test code"
    known = _OWN_TYPES.search(_COMMENT.sub(" ", entry.prefix))
    if known is not None:
        return f"the prompt's code uses {known[0]!r}, whose values cannot cross"
    named = _named(entry)
    if named is None:
        return "neither signature nor prefix declares the entry_point"
    if _parameters(named[1]) is None:
        return "a parameter of the entry_point has no name, or is an array or a function"
    return None


def _undefined(code: str, prompt: str = "") -> str:
    """Returns directives that undefine a program's macros, which would change the code after it. The prompt's macros
    stay, unless the program redefines them.
    """
    found = Counter(_DEFINING.findall(_SPLICE.sub("", code)))
    kept = {name for name in _DEFINING.findall(prompt) if found[name] == 1}
    return "\n".join(f"#undef {name}" for name in sorted({"main", *found} - kept))


def _candidate(code: str, body: str) -> Written:
    parts = [
        read("cpp/values.hpp"),
        read("cpp/candidate.hpp"),
        '#define main rewarden_program_main\n#line 1 "solution.cpp"',
        code,
        f'{_undefined(code)}\n#line 1 "rewarden.cpp"',
        f"int main() {{ {body} }}\n",
    ]
    return Written("\n".join(parts))


def _table(entry: Entry, targets: Iterable[str]) -> str:
    rows = []
    for target in dict.fromkeys(targets):
        value = f"&{target.replace('.', '::')}"
        if entry.signature and target == (entry.name or target) and "." not in target:
            value = _typed(entry.signature, target) or value
        rows.append(f'{{"{target}", ::rewarden::wrap({value})}}')
    return "{" + ", ".join(rows) + "}"


def _typed(signature: str, name: str) -> str | None:
    """Returns a function cast to its declared type, for a name that is overloaded or a template."""
    bare = signature.strip().rstrip("{;").strip()
    found = re.fullmatch(rf"(.*?)\b{re.escape(name)}\s*\((.*)\)", bare, re.DOTALL)
    names = _parameters(found[2]) if found is not None else None
    if found is None or names is None:
        return None
    given = ", ".join(re.sub(r"=[^=].*$", "", part, flags=re.DOTALL) for part in _listed(found[2]))
    return f"+[]({given}) -> {found[1].strip()} {{ return {name}({', '.join(names)}); }}"


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return _candidate(code, f"return ::rewarden::call({_table(entry, targets)});")


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return _candidate(code, f"return ::rewarden::serve({_table(entry, [entry.name or ''])});")


def _with_main(tests: str) -> str:
    return tests if re.search(r"\bmain\s*\(", tests) else f"int main() {{\n{tests}\n}}\n"


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room: the prompt's code, with a stub that asks the other room."""
    named = _named(entry)
    names = (_parameters(named[1]) if named is not None else None) or []
    name = entry.name or ""
    given = ", ".join(names)
    more = f", {given}" if given else ""
    parts = [
        read("cpp/values.hpp"),
        read("cpp/tests.hpp"),
        "__attribute__((constructor(101))) static void rewarden_begin() { ::rewarden::Room::here().greet(); }",
        _preamble_for(entry),
        f"{named[0] if named is not None else ''} {{",
        f'return ::rewarden::ask<decltype({name}({given}))>("{name}"{more});',
        "}\n",
        '#line 1 "tests.cpp"',
        _with_main(after_brace(tests)),
    ]
    return Written("\n".join(parts))


def _preamble_for(entry: Entry) -> str:
    return preamble(entry.prefix) if entry.signature else ""


def beside(entry: Entry, code: str) -> str:
    """Returns the beginning of a translation unit with a candidate: everything but the tests.

    The candidate's code is a separate file, `rewarden/solution.hpp`, so a comment or a conditional that it opens ends
    with that file.
    """
    return "\n".join(
        [
            read("cpp/shared.hpp"),
            '#define main rewarden_program_main\n#include "rewarden/solution.hpp"',
            f"{_undefined(code, entry.prefix)}\n#include <cassert>",
        ]
    )


def reported(main: str, code: str, more: Mapping[str, str]) -> Written:
    """Returns a program with our own main and the reporting code. more: the text of further files."""
    files = {"rewarden/solution.hpp": f'#line 1 "solution.cpp"\n{code}\n', **more}
    return Written(
        read("cpp/report.cpp") + read(f"cpp/{main}.cpp"), {path: source(text) for path, text in files.items()}
    )


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program. `main` is ours, in a separate translation unit."""
    parts = [
        beside(entry, code),
        'signed main() __asm__("rewarden_tests_main");',
        '#line 1 "tests.cpp"',
        _with_main(after_brace(tests)),
    ]
    return reported("shared", code, {"tests.cpp": "\n".join(parts)})


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return list(before_braces(prompt))


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    found = rf"^(?!return\b|else\b|[ \t]|//|#)[^\n;={{}}]*\b{re.escape(name)}\s*\("
    return re.search(found, code, re.MULTILINE) is not None


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return "\n".join(match[0] for match in _PREAMBLE.finditer(prefix))
