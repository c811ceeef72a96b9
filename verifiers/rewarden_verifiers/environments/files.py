"""A file system in memory: files are read, written, moved and deleted until the tree is as requested."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from rewarden_verifiers.environments.contract import (
    MOST_CHARACTERS,
    BadOptions,
    Environment,
    Illegal,
    Observation,
    Tool,
    Turn,
    read_action,
)
from rewarden_verifiers.games.rules import shown

_TOOLS = (
    Tool(name="list", argument="folder", meaning="List a folder; the root is /."),
    Tool(name="read", argument="path", meaning="Read a file."),
    Tool(name="write", argument="path", more=("text",), meaning="Write a file; what it held is gone."),
    Tool(name="move", argument="path", more=("target",), meaning="Move a file or a folder to a new path."),
    Tool(name="delete", argument="path", meaning="Delete a file or a folder."),
    Tool(name="find", argument="text", meaning="Find files by a part of their path or of their text."),
    Tool(name="done", meaning="Say that the task is done, which ends the episode."),
)
_MOST_FILES = 1000
_MOST_HELD = 1_000_000
"""The maximum size of all files together, in characters, which bounds the work of a step."""
_MOST_DEPTH, _MOST_NAME = 20, 100
_MOST_READ, _MOST_LISTED = 10_000, 200

Tree = dict[str, str]
"""Maps the paths of files to their texts. A folder exists as long as it has a file."""


@dataclass(frozen=True, kw_only=True)
class FilesOptions:
    """Options of `files`.

    task: the instruction; by default a task of three parts generated from the seed. files: the tree, which maps paths
    such as `/notes/a.txt` to texts. goal: the expected text of each file that the task changes; null if it must be
    deleted. others: files that the goal does not name must be unchanged (`kept`), or do not matter (`any`).
    """

    task: str | None = None
    files: dict[str, str] = field(default_factory=dict)
    goal: dict[str, str | None] = field(default_factory=dict)
    others: Literal["kept", "any"] = "kept"

    def __post_init__(self) -> None:
        if len({self.task is None, not self.goal}) == 2 or (self.task is None and self.files):
            raise ValueError("give task, files and goal, or none of them")


class Files(Environment):
    """A task on files in memory."""

    options = FilesOptions
    tools = _TOOLS
    max_steps = 60

    def reset(self, seed: int, options: FilesOptions) -> Observation:
        """See `Environment`."""
        if options.task is None:
            task, files, goal = _made(random.Random(seed))
        else:
            task, files, goal = options.task, dict(options.files), options.goal
        self._files: Tree = _tree(files, "files")
        self._goal = goal
        self._kept = (
            {path: text for path, text in files.items() if path not in goal} if options.others == "kept" else None
        )
        _check_goal(self._files, goal, self._kept or {})
        if self._reached():
            raise BadOptions("the tree is so already", "goal")
        actions = ", ".join(tool.form().replace("\n", "⏎") for tool in _TOOLS)
        return Observation(f"{task}\nActions: {actions}. ⏎ is the end of a line.")

    def step(self, action: str) -> Turn:
        """See `Environment`."""
        name, arguments = read_action(_TOOLS, action)
        if name == "done":
            success = self._reached()
            return Turn(
                observation=Observation("Done."),
                reward=float(success),
                done=True,
                success=success,
                why=None if success else "wrong",
                cost=0.0,
            )
        if name == "find":
            return _told(self._found(arguments[0]))
        path = _path(arguments[0])
        if name == "list":
            return _told(self._listed(path))
        if name == "read":
            return _told(self._read(path))
        if name == "write":
            return _told(self._write(path, arguments[1]))
        if name == "move":
            return _told(self._move(path, _path(arguments[1])))
        inner = self._under(path)
        for one in inner:
            del self._files[one]
        return _told(f"Deleted {len(inner)}." if inner else _none(path))

    def _reached(self) -> bool:
        wanted = {path: text for path, text in self._goal.items() if text is not None}
        if any(path in self._files for path, text in self._goal.items() if text is None):
            return False
        if any(path not in self._files or not _same(self._files[path], text) for path, text in wanted.items()):
            return False
        # Attack: deleting or overwriting files that the task does not name.
        return (
            self._kept is None or {path: text for path, text in self._files.items() if path not in wanted} == self._kept
        )

    def _under(self, path: str) -> list[str]:
        """The file at a path, or all files in that folder."""
        if path in self._files:
            return [path]
        return [one for one in self._files if one.startswith(path.rstrip("/") + "/")]

    def _listed(self, path: str) -> str:
        if path in self._files:
            return f"{path} ({len(self._files[path])} characters)"
        start = len(path.rstrip("/")) + 1
        names = {"".join(one[start:].partition("/")[:2]) for one in self._under(path)}
        return _lines(sorted(names)) if names or path == "/" else _none(path)

    def _read(self, path: str) -> str:
        text = self._files.get(path)
        if text is None:
            return _none(path)
        more = len(text) - _MOST_READ
        return text[:_MOST_READ] + (f"\n({more} more characters)" if more > 0 else "")

    def _write(self, path: str, text: str) -> str:
        if (conflict := self._conflict(path)) is not None:
            return conflict
        if len(self._files) >= _MOST_FILES or sum(map(len, self._files.values())) + len(text) > _MOST_HELD:
            raise Illegal("there is no room for it")
        self._files[path] = text
        return f"Wrote {path}."

    def _move(self, path: str, target: str) -> str:
        inner = self._under(path)
        if not inner:
            return _none(path)
        if path == "/" or target == path or target.startswith(path + "/"):
            raise Illegal("it cannot be moved into itself")
        moved = {target + one[len(path) :]: self._files[one] for one in inner}
        left = {one: text for one, text in self._files.items() if one not in inner}
        # Attack: moving folders into each other until their paths are too long to compare.
        for one in moved:
            _path(one)
        if (conflict := self._conflict(target)) is not None or any(one in left for one in moved):
            return conflict or f"There is something at {target} already."
        if self._under(target):
            return f"There is something at {target} already."
        self._files = {**left, **moved}
        return f"Moved {len(inner)} to {target}."

    def _conflict(self, path: str) -> str | None:
        """The reason why no file can be written at a path, or None."""
        return _conflict(self._files, path)

    def _found(self, text: str) -> str:
        paths = sorted(path for path, inner in self._files.items() if text in path or text in inner)
        return _lines(paths) if paths else "No file has it."


def _told(text: str) -> Turn:
    return Turn(observation=Observation(text))


def _none(path: str) -> str:
    return f"There is nothing at {path}."


def _lines(lines: list[str]) -> str:
    more = len(lines) - _MOST_LISTED
    return "\n".join([*lines[:_MOST_LISTED], *([f"({more} more)"] if more > 0 else [])]) or "It is empty."


def _same(text: str, wanted: str) -> bool:
    """Returns whether texts are equal apart from trailing white space, which tags around actions do not preserve."""
    return text.rstrip() == wanted.rstrip()


def _path(text: str) -> str:
    """A path in canonical form. Raises Illegal for relative paths, and for paths above the root."""
    if text == "/":
        return text
    names = text.rstrip("/").split("/")
    if names[0] or not 2 <= len(names) <= _MOST_DEPTH + 1:
        raise Illegal(f"{shown(text)} is not a path: it begins with /, and is at most {_MOST_DEPTH} deep")
    for name in names[1:]:
        if name in ("", ".", "..") or len(name) > _MOST_NAME or not name.isprintable() or name != name.strip():
            raise Illegal(f"{shown(name)} is not a name")
    return "/".join(names)


def _conflict(files: Mapping[str, Any], path: str) -> str | None:
    if path == "/" or any(one.startswith(path + "/") for one in files):
        return f"{path} is a folder."
    names = path.split("/")
    above = next((part for end in range(2, len(names)) if (part := "/".join(names[:end])) in files), None)
    return None if above is None else f"{above} is a file."


def _tree(files: Mapping[str, Any], option: str) -> dict[str, Any]:
    """Checks that all paths are well formed, and that none is also a folder. Raises BadOptions."""
    if len(files) > _MOST_FILES // 2 or sum(len(text or "") for text in files.values()) > _MOST_HELD // 2:
        raise BadOptions(f"has more than {_MOST_FILES // 2} files or {_MOST_HELD // 2} characters", option)
    for path in files:
        try:
            if _path(path) != path:
                raise BadOptions(f"{shown(path)} is not a path of a file", option)
        except Illegal as error:
            raise BadOptions(str(error), option) from None
        if (conflict := _conflict(files, path)) is not None:
            raise BadOptions(conflict, option)
    return dict(files)


def _check_goal(files: Tree, goal: Mapping[str, str | None], kept: Tree) -> None:
    """Raises BadOptions if no actions can produce the goal."""
    wanted = {path: text for path, text in goal.items() if text is not None}
    _tree({**kept, **wanted}, "goal")
    for path in goal.keys() - wanted:
        _tree({path: ""}, "goal")
    held = Counter(text.rstrip() for text in files.values())
    held -= Counter(text.rstrip() for text in kept.values())
    for path, text in wanted.items():
        if len(f"write: {path}\n{text.rstrip()}") <= MOST_CHARACTERS:
            continue
        if not held[text.rstrip()]:
            raise BadOptions(f"the text of {shown(path)} is longer than an action, and no file has it", "goal")
        held[text.rstrip()] -= 1


_FOLDERS = ("notes", "letters", "reports", "drafts", "plans", "recipes", "lists")
_NAMES = ("harbour", "garden", "winter", "market", "bridge", "orchard", "railway", "kitchen", "library", "museum")
_BIRDS = ("heron", "curlew", "wren", "plover", "siskin", "dunlin")
_ENDINGS = ("txt", "md", "log", "tmp")


def _made(choose: random.Random) -> tuple[str, Tree, dict[str, str | None]]:
    """A generated task of three parts: move files by suffix, delete files by a word, and count files."""
    folders = choose.sample(_FOLDERS, 3)
    moved, doomed, counted = choose.choice(_ENDINGS), *choose.sample(_BIRDS, 2)
    files: Tree = {}
    for name in choose.sample(_NAMES, 9):
        ending = moved if len(files) < 2 else choose.choice(_ENDINGS)
        words = [choose.choice(_NAMES) for _ in range(choose.randint(4, 12))]
        for bird in _BIRDS:
            if bird != doomed and choose.random() < 0.3:
                words.insert(choose.randrange(len(words)), bird)
        if 2 <= len(files) < 4:
            words.insert(choose.randrange(len(words)), doomed)
        files[f"/{choose.choice(folders)}/{name}.{ending}"] = " ".join(words)
    goal: dict[str, str | None] = {}
    for path, text in files.items():
        if doomed in text:
            goal[path] = None
        elif path.endswith(f".{moved}"):
            goal[path] = None
            goal["/archive/" + path.rpartition("/")[2]] = text
    left = sum(counted in text for text in files.values() if doomed not in text)
    goal["/count.txt"] = str(left)
    task = (
        f"Delete every file whose text has the word {doomed}. Of the others, move those that end in .{moved} to the "
        "folder /archive, under their own names. Write to /count.txt how many of the files that are left have the "
        f"word {counted}, as a number alone. Change nothing else."
    )
    return task, files, goal
