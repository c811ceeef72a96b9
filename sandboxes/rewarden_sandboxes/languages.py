"""The languages that the sandbox runs: rows of `languages.yaml`, and of an optional file of the user's.

A row defines which images have the language, the name under which the program is saved, and how it is compiled and run.
Rows are validated strictly: a typo is reported with its row and field when the host starts, not when the first program
fails.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Container, Hashable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field, fields, replace
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

try:
    from yaml import CSafeLoader as Loader  # libyaml's takes a fifth of the time
except ImportError:
    from yaml import SafeLoader as Loader  # type: ignore[assignment]

from rewarden_sandboxes.job import LIMITS, WHOLE_LIMITS, Limits

BUILT_IN = Path(__file__).with_name("languages.yaml")
"""The rows that come with the project."""

_NAME = re.compile(r"[a-z][a-z0-9+#._-]*")
_IMAGE = re.compile(r"[a-z0-9]+(?:[._-][a-z0-9]+)*")
_ENDING = re.compile(r"\.[A-Za-z0-9+_.-]+")
_MOUNTS = PurePosixPath("/mnt")
"""An empty folder in every image, below which rows mount folders."""


class LanguageError(ValueError):
    """A file of languages is invalid. The message names the file, the row and the field."""


class UnknownLanguage(KeyError):
    """No row has this language. `name`: as requested. `near`: similar names, nearest first."""

    def __init__(self, name: str, near: tuple[str, ...], known: tuple[str, ...]) -> None:
        super().__init__(name)
        self.name = name
        self.near = near
        self.known = known

    def __str__(self) -> str:
        hint = f"did you mean {' or '.join(self.near)}?" if self.near else f"known: {', '.join(self.known)}"
        return f"unknown language {self.name!r}: {hint}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Language:
    """A row of the registry.

    images: names of the images that have it, preferred first. file: the name under which the program is saved, below
    the room's working folder. compile: the command that builds the program that `run` starts, empty if nothing is
    compiled; each run gets the files that it leaves in the working folder. sources: suffixes of the other files that
    are compiled with the program, if the compiler does not find them itself. flags: patterns of the flags that a
    program may add to `compile`, before `file`: only flags that read no files, write nowhere else, and load and start
    nothing. run: the command, to which a case's arguments are added. version: the command that prints the version of
    its toolchain. aliases: other names of the language. fences: the words after ``` that mark a block of it. python: it
    runs in a fork of a warm interpreter and supports the modes other than `script`. late_network: its runs begin
    without a network, as in Python; only for languages whose run time by itself handles no signal and opens no socket.
    limits, compile_limits: the limits of a run or a compilation for which the job sets none; they can exceed the most
    that a job may ask for. mounts: folders of this machine that its programs can read but not write, by their path
    inside, below /mnt.
    """

    name: str
    images: tuple[str, ...]
    file: str
    run: tuple[str, ...]
    compile: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()
    version: tuple[str, ...] = ()
    aliases: tuple[str, ...] = ()
    fences: tuple[str, ...] = ()
    python: bool = False
    late_network: bool = False
    limits: Limits = field(default_factory=Limits)
    compile_limits: Limits = field(default_factory=Limits)
    mounts: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """Returns the row, ready for JSON: only the limits that are set, and only the paths inside of the mounts,
        because callers must not learn the machine's folders.
        """
        row = {key: list(value) if isinstance(value, tuple) else value for key, value in asdict(self).items()}
        return row | {
            "limits": self.limits.given(),
            "compile_limits": self.compile_limits.given(),
            "mounts": sorted(self.mounts),
        }


class Registry:
    """The languages by name and alias."""

    def __init__(self, languages: Mapping[str, Language]) -> None:
        """Raises LanguageError if two rows claim the same name, alias or fence."""
        self._languages = dict(languages)
        self._by_name = _claimed(self._languages, "aliases", own_name=True)
        self.by_fence: Mapping[str, Language] = _claimed(self._languages, "fences", own_name=False)

    @classmethod
    def load(cls, extra: Path | None = None, rows: Iterable[Language] = ()) -> Registry:
        """Load the built-in rows, then `rows`, then those of `extra`, a file in the same format: each is added, or
        replaces the row of its name. Built-in rows lose aliases and fences that are names in `extra`; generated `rows`
        lose every word that a row of `extra` claims.

        Raises LanguageError for a file that cannot be read or a row that is wrong.
        """
        own = _read(extra) if extra is not None else {}
        built_in = {name: _without(row, own.keys(), own.keys()) for name, row in _read(BUILT_IN).items()}
        names = {word for row in own.values() for word in (row.name, *row.aliases)}
        fences = {word for row in own.values() for word in row.fences}
        return cls(built_in | {row.name: _without(row, names, fences) for row in rows} | own)

    def get(self, name: str) -> Language:
        """Returns the language of that name or alias, ignoring case. Raises UnknownLanguage."""
        try:
            return self._by_name[name.lower()]
        except KeyError:
            near = tuple(difflib.get_close_matches(name.lower(), self._by_name, n=3, cutoff=0.5))
            raise UnknownLanguage(name, near, self.names()) from None

    def names(self) -> tuple[str, ...]:
        """Returns the languages' names, in the order of the files."""
        return tuple(self._languages)

    def as_dict(self) -> dict[str, dict[str, Any]]:
        """Returns every row, ready for JSON, by name."""
        return {name: language.as_dict() for name, language in self._languages.items()}

    def __iter__(self) -> Iterator[Language]:
        return iter(self._languages.values())


def _without(row: Language, names: Container[str], fences: Container[str]) -> Language:
    """Returns the row without words that others claim."""
    return replace(
        row,
        aliases=tuple(word for word in row.aliases if word not in names),
        fences=tuple(word for word in row.fences if word not in fences or word == row.name),
    )


def _claimed(languages: Mapping[str, Language], column: str, *, own_name: bool) -> dict[str, Language]:
    """Returns each word of the column with the row that claims it."""
    owners = dict(languages) if own_name else {}
    for language in languages.values():
        for word in getattr(language, column):
            owner = owners.setdefault(word, language)
            if owner is not language:
                raise LanguageError(f"{language.name}.{column}: {word!r} is claimed by {owner.name!r} too")
    return owners


def version_line(said: bytes) -> str:
    """Returns the line of a toolchain's output with its version: the first with a number such as 1.19, otherwise with
    any number.
    """
    lines = [line.strip() for line in said.decode("utf-8", "replace").splitlines() if line.strip()]
    numbered = [line for line in lines if re.search(r"\d+\.\d+", line)] or [line for line in lines if version_of(line)]
    return numbered[0][:200] if numbered else ""


def version_of(text: str) -> tuple[int, ...] | None:
    """Returns the version in a text as comparable numbers: 1.19.8 for `go version go1.19.8 linux/amd64`; None if there
    is none.
    """
    found = re.search(r"\d+(?:\.\d+)+", text) or re.search(r"\d+", text)
    if found is None:
        return None
    numbers = [int(part) for part in found[0].split(".")]
    while len(numbers) > 1 and numbers[-1] == 0:  # 2.0 is 2
        numbers.pop()
    return tuple(numbers)


class _StrictLoader(Loader):
    """A YAML loader that refuses duplicate keys, of which the second otherwise wins silently."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:
        keys = [self.construct_object(key, deep=True) for key, _ in node.value]
        for key in keys:
            if keys.count(key) > 1:
                raise LanguageError(f"{key}: given twice (line {node.start_mark.line + 1} and below)")
        return super().construct_mapping(node, deep)


def _read(path: Path) -> dict[str, Language]:
    try:
        # _StrictLoader is a SafeLoader: it makes only plain values.
        rows = yaml.load(path.read_text(encoding="utf-8"), _StrictLoader)
        if not isinstance(rows, dict):
            raise LanguageError("must be a mapping of language names to rows")
        return {name: _language(name, row) for name, row in rows.items()}
    except (OSError, UnicodeDecodeError, yaml.YAMLError) as error:
        raise LanguageError(f"{path}: cannot be read: {error}") from error
    except LanguageError as error:
        raise LanguageError(f"{path}: {error}") from None


def _language(name: object, row: object) -> Language:
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        raise LanguageError(f"{name!r}: a language's name is lower-case letters, digits and + # . _ - (quote it)")
    if not isinstance(row, dict):
        raise LanguageError(f"{name}: must be a mapping")
    known = {column.name for column in fields(Language)} - {"name"}
    for key in row:
        if key not in known:
            raise LanguageError(f"{name}.{key}: no such field; known: {', '.join(sorted(known))}")
    for key in ("images", "file", "run"):
        if key not in row:
            raise LanguageError(f"{name}.{key}: is missing")
    for key in ("compile_limits", "sources", "flags"):
        if key in row and "compile" not in row:
            raise LanguageError(f"{name}.{key}: the language has no compile command")
    for key, side in (("sources", "behind"), ("flags", "before")):
        if key in row and row["file"] not in row["compile"]:
            raise LanguageError(f"{name}.{key}: {row['file']!r} is not a word of compile; the flags are put {side} it")
    aliases = _words(f"{name}.aliases", row.get("aliases", []), _NAME)
    return Language(
        name=name,
        images=_words(f"{name}.images", row["images"], _IMAGE, empty=False),
        file=_file(f"{name}.file", row["file"]),
        compile=_command(f"{name}.compile", row["compile"]) if "compile" in row else (),
        run=_command(f"{name}.run", row["run"]),
        sources=_words(f"{name}.sources", row.get("sources", []), _ENDING),
        flags=_patterns(f"{name}.flags", row.get("flags", [])),
        version=_command(f"{name}.version", row["version"]) if "version" in row else (),
        aliases=aliases,
        fences=_words(f"{name}.fences", row["fences"], _NAME) if "fences" in row else (name, *aliases),
        python=_flag(f"{name}.python", row.get("python", False)),
        late_network=_flag(f"{name}.late_network", row.get("late_network", False)),
        limits=_limits(f"{name}.limits", row.get("limits", {})),
        compile_limits=_limits(f"{name}.compile_limits", row.get("compile_limits", {})),
        mounts=_mounts(f"{name}.mounts", row.get("mounts", {})),
    )


def _words(where: str, words: object, pattern: re.Pattern[str], *, empty: bool = True) -> tuple[str, ...]:
    if not isinstance(words, list) or not (words or empty):
        raise LanguageError(f"{where}: must be a list{'' if empty else ' of at least one'}")
    for word in words:
        if not isinstance(word, str) or not pattern.fullmatch(word):
            raise LanguageError(f"{where}: {word!r} does not fit {pattern.pattern}")
        if words.count(word) > 1:
            raise LanguageError(f"{where}: {word!r} is given twice")
    return tuple(words)


def _patterns(where: str, patterns: object) -> tuple[str, ...]:
    if not isinstance(patterns, list) or not all(isinstance(pattern, str) and pattern for pattern in patterns):
        raise LanguageError(f"{where}: must be a list of regular expressions, such as ['-O[0-3]'] (quote them)")
    for pattern in patterns:
        try:
            re.compile(pattern, re.ASCII)
        except re.error as error:
            raise LanguageError(f"{where}: {pattern!r} is not a regular expression: {error}") from None
    return tuple(patterns)


def _command(where: str, words: object) -> tuple[str, ...]:
    if not isinstance(words, list) or not words or not all(isinstance(word, str) and word for word in words):
        raise LanguageError(f"{where}: must be a list of words, such as [prog, -x, main] (quote numbers)")
    if any("\0" in word for word in words):
        raise LanguageError(f"{where}: a word contains a NUL character")
    return tuple(words)


def _file(where: str, file: object) -> str:
    if not isinstance(file, str) or not _is_plain(file, absolute=False):
        raise LanguageError(f"{where}: {file!r} is not a plain path below the working folder")
    return file


def _flag(where: str, flag: object) -> bool:
    if not isinstance(flag, bool):
        raise LanguageError(f"{where}: must be true or false")
    return flag


def _mounts(where: str, mounts: object) -> dict[str, str]:
    if not isinstance(mounts, dict):
        raise LanguageError(f"{where}: must be a mapping of paths inside to paths of this machine")
    for inside, outside in mounts.items():
        for path in (inside, outside):
            if not isinstance(path, str) or not _is_plain(path, absolute=True):
                raise LanguageError(f"{where}: {path!r} is not a plain absolute path")
        if _MOUNTS not in PurePosixPath(inside).parents:
            raise LanguageError(f"{where}: {inside!r} is not below {_MOUNTS}")
    nested = nested_mount(mounts)
    if nested is not None:
        raise LanguageError(f"{where}: {nested[0]!r} lies in {nested[1]!r}, which is mounted too")
    return dict(mounts)


def nested_mount(mounts: Iterable[str]) -> tuple[str, str] | None:
    """Returns a path and another that contains it, or None. Mounted folders are read-only, so nothing can be mounted in
    them.
    """
    paths = [PurePosixPath(inside) for inside in mounts]
    return next(((str(path), str(other)) for path in paths for other in paths if other in path.parents), None)


def _is_plain(path: str, *, absolute: bool) -> bool:
    plain = PurePosixPath(path)
    # `str(plain) == path` refuses parts that a path silently drops: an empty name, "./x", "a//b", a trailing slash.
    same = str(plain) == path != "."
    return same and plain.is_absolute() == absolute and ".." not in plain.parts and "\0" not in path


def _limits(where: str, limits: object) -> Limits:
    if not isinstance(limits, dict):
        raise LanguageError(f"{where}: must be a mapping")
    for key, value in limits.items():
        if key not in LIMITS:
            raise LanguageError(f"{where}.{key}: no such limit; known: {', '.join(LIMITS)}")
        kind, words = (int, "a whole number") if key in WHOLE_LIMITS else ((int, float), "a number")
        # `not value < inf` refuses nan and inf, which YAML can express and no clock reaches.
        if isinstance(value, bool) or not isinstance(value, kind) or not 0 < value < float("inf"):
            raise LanguageError(f"{where}.{key}: must be {words} above 0, not {value!r}")
    return Limits(**limits)
