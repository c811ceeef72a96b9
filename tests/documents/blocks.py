"""The blocks of code of README.md and docs/, and the commands in them.

A block holds commands if it is marked `sh`, `bash` or `console`, or has no mark and begins with a prompt or a program.
After a prompt (`$ `, `gpu1$ `) stands a command, and what follows it is its output, in which `…` stands for any text.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

ROOT = Path(__file__).parents[2]
PAGES = tuple(
    path.relative_to(ROOT).as_posix()
    for pages in ("README.md", "docs/*.md", "docs/trainers/*.md")
    for path in sorted(ROOT.glob(pages))
)
PROGRAMS = ("rewarden", "python", "python3", "pip", "make", "docker", "curl", "export")

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_PROMPT = re.compile(r"^(?:\w+)?\$ ")
_OPERATORS = "();<>|&\n"


@dataclass(frozen=True)
class Step:
    """A command of a page, and what the page shows of its output: nothing, or text with `…`."""

    command: str
    output: str = ""

    @property
    def first(self) -> str:
        """Its first line without prompt and comment, by which tables name it."""
        return re.sub(r"\s+#.*", "", self.command.split("\n")[0]).strip()

    def simple(self) -> list[list[str]]:
        """The words of each simple command, without assignments and redirections before and in it."""
        lexer = shlex.shlex(
            self.command.replace("\\\n", " ").replace("$'", "'"), posix=True, punctuation_chars=_OPERATORS
        )
        lexer.whitespace, lexer.whitespace_split = " \t", True
        found: list[list[str]] = [[]]
        for word in lexer:
            if set(word) <= set(_OPERATORS):
                found.append([] if not set(word) & set("<>") else ["<>"])
            elif found[-1] or not re.match(r"\w+=", word):
                found[-1].append(word)
        return [words for words in found if words and words[0] != "<>"]


@dataclass(frozen=True)
class Block:
    """A block: its page, the line of its fence, its mark, and what is in it."""

    page: str
    line: int
    mark: str
    text: str

    @property
    def session(self) -> bool:
        """Returns whether commands stand after prompts, with their output."""
        return self.mark in ("console", "") and _PROMPT.match(self.text) is not None

    @property
    def settings(self) -> bool:
        """Returns whether it is the file `.env`."""
        return self.mark == "sh" and self.text.startswith("# .env")

    def steps(self) -> list[Step]:
        """The commands, in order. One goes on while a quotation is open or its line ends with a backslash."""
        if self.session:
            return list(_steps(self.text))
        if self.settings:
            return []
        if self.mark in ("sh", "bash") or (self.mark == "" and self.text.split(maxsplit=1)[0] in PROGRAMS):
            return list(_lines(self.text))
        assert self.mark != "console", f"{self.page}:{self.line}: a session begins with a prompt"
        return []

    def __str__(self) -> str:
        return f"{self.page}:{self.line}"


@lru_cache(maxsize=1)
def blocks() -> tuple[Block, ...]:
    """Every block of every page."""
    found = []
    for page in PAGES:
        text = (ROOT / page).read_text(encoding="utf-8")
        for match in _FENCE.finditer(text):
            found.append(Block(page, text.count("\n", 0, match.start()) + 1, match[1], match[2]))
    return tuple(found)


def _steps(text: str) -> Iterator[Step]:
    command, output = "", ""
    for line in text.splitlines(keepends=True):
        if _unfinished(command):
            command += line
        elif (prompt := _PROMPT.match(line)) is not None:
            if command:
                yield Step(command, output)
            command, output = line[prompt.end() :], ""
        else:
            output += line
    yield Step(command, output)


def _lines(text: str) -> Iterator[Step]:
    command = ""
    for line in text.splitlines(keepends=True):
        command += line
        if not _unfinished(command):
            if command.strip():
                yield Step(command)
            command = ""
    assert not command, f"unfinished: {command}"


def _unfinished(command: str) -> bool:
    """Returns whether a shell asks for another line."""
    if command.endswith("\\\n"):
        return True
    try:
        shlex.split(command, comments=True)
    except ValueError:
        return True
    return False
