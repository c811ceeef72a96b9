"""A module's digest moves with what it does, and with nothing else; and it is the same on every Python."""

from __future__ import annotations

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from rewarden_verifiers.fingerprint import tree

FOLDER = Path(__file__).parent
CORPUS = FOLDER / "corpus.txt"
"""Every kind of syntax that 3.11 has, and f-strings, whose trees differ most between versions."""

SOURCE = '''
"""What it is for."""
import json
from typing import Any

LIMIT = 10


class Reader:
    """Reads."""

    size: int = 3
    """In bytes."""

    def read(self, text: str, *, deep: bool = False) -> Any:
        """Read it."""
        # a comment
        return json.loads(text[:LIMIT])
'''


def digest(source: str, *, docstrings: bool = False) -> str:
    return tree.digest(ast.parse(source), docstrings=docstrings).hex()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("# a comment", "# another, and longer"),
        ('"""What it is for."""', '"""Something else."""'),
        ('"""Reads."""', '"""Writes."""'),
        ('    """In bytes."""\n', ""),
        ('        """Read it."""\n', "\n\n"),
        ("text[:LIMIT]", "(text[ : LIMIT ])"),
        ("LIMIT = 10", "LIMIT = 0xa"),
    ],
)
def test_words_for_people_and_layout_move_nothing(old: str, new: str) -> None:
    assert old in SOURCE
    assert digest(SOURCE.replace(old, new)) == digest(SOURCE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("LIMIT = 10", "LIMIT = 11"),
        ("LIMIT = 10", "LIMIT = 10.0"),
        ("LIMIT = 10", "LIMIT = '10'"),
        ("LIMIT = 10", "LIMIT = True"),
        ("LIMIT = 10", "LIMIT = None"),
        ("LIMIT = 10", "LIMIT: int = 10"),
        ("text[:LIMIT]", "text[LIMIT:]"),
        ("text[:LIMIT]", "text"),
        ("deep: bool = False", "deep: bool = True"),
        ("deep: bool = False", "deep: int = False"),
        ("text: str, *,", "text: str,"),
        ("class Reader:", "class Reader(dict):"),
        ("import json", "import json as json_"),
        ("from typing import Any", "from .typing import Any"),
        ("return json", "json"),
        ("size: int = 3", "size: int"),
    ],
)
def test_what_it_does_moves_it(old: str, new: str) -> None:
    assert old in SOURCE
    assert digest(SOURCE.replace(old, new)) != digest(SOURCE)


def test_docstrings_count_where_code_reads_them() -> None:
    other = SOURCE.replace("Reads.", "Writes.")
    assert digest(other, docstrings=True) != digest(SOURCE, docstrings=True)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("f(a, b)", "f(a)(b)"),
        ("f(a, *b)", "f(*a, b)"),
        ("{**a, 'b': 1}", "{'b': 1, **a}"),
        ("{**a}", "{None: a}"),
        ("f'{a}b'", "f'{a}' + 'b'"),
        ("f'{a}'", "f'{a!s}'"),
        ("f'{a:{b}}'", "f'{a:b}'"),
        ("f'a{b}'", "f'{b}a'"),
        ("'a,b'", "'a', 'b'"),
        ("b'a'", "'a'"),
        ("1", "1j"),
        ("-0.0", "0.0"),
        ("x[1:2]", "x[1, 2]"),
        ("lambda a, b=1: a", "lambda a=1, *, b: a"),
        ("a < b < c", "(a < b) < c"),
        ("'\\ud800'", "'\\ud801'"),
    ],
)
def test_unlike_expressions_are_unlike(one: str, other: str) -> None:
    assert digest(f"x = {one}") != digest(f"x = {other}")


def test_what_is_deep_or_huge_is_read() -> None:
    assert digest("x = " + "+".join(["a"] * 900)) != digest("x = " + "+".join(["a"] * 901))
    assert digest(f"x = 0x{'f' * 5000}") != digest(f"x = 0x{'f' * 5001}")


def test_it_is_the_same_on_every_python() -> None:
    """The digest was made on Python 3.11.7, and found again on 3.12.1 and 3.13.0."""
    assert digest(CORPUS.read_text(encoding="utf-8"), docstrings=True) == "697b0db7fff2bc3999738bec566dfd87"


@pytest.mark.parametrize("version", ["3.11", "3.12", "3.13", "3.14"])
def test_it_is_the_same_on_the_pythons_that_are_installed(version: str) -> None:
    python = shutil.which(f"python{version}")
    if python is None or subprocess.run([python, "-c", ""], capture_output=True).returncode:
        pytest.skip(f"Python {version} is not installed")
    command = "import ast, sys, tree; print(tree.digest(ast.parse(open(sys.argv[1]).read()), docstrings=True).hex())"
    place = Path(tree.__file__)
    said = subprocess.run(
        [python, "-c", command, str(CORPUS)], cwd=place.parent, capture_output=True, text=True, check=True
    )
    assert said.stdout.strip() == digest(CORPUS.read_text(encoding="utf-8"), docstrings=True), sys.version
