"""The shim of TypeScript: JavaScript's, with a program and test code that the image's compiler turns into JavaScript.

The program is compiled as a module and with its types checked, as every program of the language is. Test code is not
checked: it uses the program's functions without declaring them.
"""

from __future__ import annotations

from collections.abc import Iterable

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import javascript
from rewarden_verifiers.execution.shims.written import Entry, Written

NAMES = frozenset({"typescript", "ts"})
INIT = True
TEXTS = False

_UNCHECKED = "// @ts-nocheck\n"
_MODULE = "\nexport {};\n"
"""Makes a program a module, so that its names may be those of the libraries' declarations, such as `close`."""


def _compiled(script: Written, *, solution: str | None = None, tests: str | None = None) -> Written:
    """Returns a script of JavaScript's shim that the compiler reads together with the program and the test code."""
    files = dict(script.files)
    code = _UNCHECKED
    for name, text in (("solution", solution and solution + _MODULE), ("tests_code", tests and _UNCHECKED + tests)):
        files.pop(f"{name}.js", None)
        if text is not None:
            files[f"{name}.ts"] = source(text)
            code += f'/// <reference path="{name}.ts" />\n'
    return Written(code + script.code, files)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call of those targets."""
    return _compiled(javascript.calling(entry, code, targets), solution=code)


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers the tests' room."""
    return _compiled(javascript.serving(entry, code), solution=code)


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return _compiled(javascript.testing(entry, tests), tests=tests)


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    return _compiled(javascript.sharing(entry, code, tests), solution=code, tests=tests)


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return javascript.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return javascript.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program needs that replaces the prompt's function."""
    return ""
