"""The shim of TypeScript: JavaScript's shim, with the program and the test code compiled to JavaScript by the image's
compiler.

The program is compiled as a module and type-checked, as is every TypeScript program. Test code is not checked: it uses
the program's functions without declaring them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from rewarden_sandboxes.job import source
from rewarden_verifiers.execution.shims import javascript
from rewarden_verifiers.execution.shims.written import Entry, Written

NAMES = frozenset({"typescript", "ts"})
INIT = True
TEXTS = False

UNCHECKED = "// @ts-nocheck\n"
MODULE = "\nexport {};\n"
"""Makes a program a module, so that it can use names that the libraries declare, such as `close`."""


def compiled(script: Written, texts: Mapping[str, str]) -> Written:
    """Returns a JavaScript script that the compiler processes with TypeScript files, which replace the JavaScript files
    of the same name.
    """
    files = dict(script.files)
    code = UNCHECKED
    for name, text in texts.items():
        stem = name.rpartition(".")[0]
        files.pop(name, None)
        files[f"{stem}.ts"] = source(text)
        code += f'/// <reference path="{stem}.ts" />\n'
    return Written(code + script.code, files)


def unfit(entry: Entry) -> str | None:
    """Returns why test code cannot run in a separate room, or None."""
    return None


def calling(entry: Entry, code: str, targets: Iterable[str]) -> Written:
    """Returns the program that makes one call to one of the targets."""
    return compiled(javascript.calling(entry, code, targets), {"solution.js": code + MODULE})


def serving(entry: Entry, code: str) -> Written:
    """Returns the program that answers calls from the tests' room."""
    return compiled(javascript.serving(entry, code), {"solution.js": code + MODULE})


def testing(entry: Entry, tests: str) -> Written:
    """Returns the program of the tests' room."""
    return compiled(javascript.testing(entry, tests), {"tests_code.js": UNCHECKED + tests})


def sharing(entry: Entry, code: str, tests: str) -> Written:
    """Returns the candidate and the test code as one program."""
    script = javascript.sharing(entry, code, tests)
    return compiled(script, {"solution.js": code + MODULE, "tests_code.js": UNCHECKED + tests})


def functions(prompt: str) -> list[str]:
    """Returns the names of the functions that a prompt declares, in order."""
    return javascript.functions(prompt)


def defines(code: str, name: str) -> bool:
    """Returns whether code defines a function of that name, at its outermost level."""
    return javascript.defines(code, name)


def preamble(prefix: str) -> str:
    """Returns the lines of the prompt's code that a program still needs if it replaces the prompt's function."""
    return ""
