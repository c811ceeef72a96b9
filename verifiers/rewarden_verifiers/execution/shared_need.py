"""Finds signs that Python test code must run in the candidate's process, because correct programs would fail
otherwise.
"""

from __future__ import annotations

import ast
import re

_FOLDER = re.compile(
    r"^[ \t]*(?:async[ \t]+)?def[ \t]+test\w*\([^)]*\b(tmp_path(?:_factory)?|tmpdir(?:_factory)?)\b", re.MULTILINE
)
_PANDAS = re.compile(r"\b(?:pd|pandas)\.(?:DataFrame|Series)\b|\bassert_(?:frame|series|index)_equal\b")
_RECORD = re.compile(r"^@(?:dataclasses\.)?dataclass\b[^\n]*\n(?:@[^\n]*\n)*class[ \t]+(\w+)", re.MULTILINE)


def shared_need(code: str, prefix: str) -> str | None:
    """Returns why test code needs the candidate's process, judging by its text, or None.

    prefix: the prompt's code.
    """
    folder = _FOLDER.search(code)
    if folder is not None:
        return f"two rooms share no files, and a test has the fixture {folder[1]!r}"
    pandas = _PANDAS.search(code)
    if pandas is not None:
        return f"objects of pandas do not cross, and the test code uses {pandas[0]!r}"
    # These classes are the candidate's: their objects can be made and passed back, but not compared.
    compared = _compared(code, set(_RECORD.findall(prefix)))
    return None if compared is None else f"it compares objects of {compared!r}, a class of the prompt"


def _compared(code: str, classes: set[str]) -> str | None:
    """Returns the first of these classes whose objects test code compares."""
    if not classes:
        return None
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None  # the tests' room will report it
    for node in ast.walk(tree):
        sides: list[ast.expr] = []
        if isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr.endswith("Equal"):
            sides = list(node.args)
        while sides:
            side = sides.pop()
            if isinstance(side, (ast.List, ast.Tuple, ast.Set)):
                sides += side.elts
            elif isinstance(side, ast.Call) and isinstance(side.func, ast.Name) and side.func.id in classes:
                return side.func.id
    return None
