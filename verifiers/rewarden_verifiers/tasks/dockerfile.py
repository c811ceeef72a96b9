"""A Dockerfile that describes a box's initial state: one of our tiers, files, and shell commands.

No container engine is needed, because commands run in a box. Only instructions that a box can follow are accepted; any
other is rejected with its line instead of being ignored.
"""

from __future__ import annotations

import fnmatch
import json
import posixpath
import re
import shlex
from collections.abc import Mapping
from dataclasses import replace

from rewarden_verifiers.tasks.task import (
    PATH,
    Action,
    Command,
    Copy,
    Environment,
    File,
    Files,
    TaskFault,
    absolute,
    below,
)

TIERS = ("base", "python", "toolchains", "scripts", "native", "jvm")
"""The images that every sandbox host can build."""

PREFIX = "rewarden-sandbox-"

_INERT = frozenset({"LABEL", "MAINTAINER", "EXPOSE", "CMD", "ENTRYPOINT", "STOPSIGNAL", "HEALTHCHECK"})
"""Instructions that do not affect the policy's work."""

_VARIABLE = re.compile(r"\\\$|\$(?:\{(\w+)(?::([-+])([^}]*))?\}|(\w+))")

_CONTINUED = re.compile(r"(?<!\\)\\[ \t]*$")
"""The end of a line that continues on the next one."""

_ESCAPE = re.compile(r"#\s*escape\s*=\s*(.)", re.IGNORECASE)


def tier_of(image: str) -> str | None:
    """Returns the tier that an image name stands for, or None."""
    name = image.partition(":")[0].removeprefix(PREFIX)
    tagged = ":" in image and not image.startswith(PREFIX)
    return name if name in TIERS and not tagged and "@" not in image else None


def is_own(image: str) -> bool:
    """Returns whether a name is that of an image other than a tier: an image id, or a name with a digest."""
    return image.startswith("sha256:") or "@sha256:" in image


def read_dockerfile(text: str, context: Files, name: str) -> Environment:
    """Returns the environment that a Dockerfile describes. context: the files next to it. name: the file's name, for
    errors. Raises TaskFault.
    """
    return _Reader(context, name).read(text)


class _Reader:
    def __init__(self, context: Files, name: str) -> None:
        self._context = {path: file for path, file in context.items() if path != "Dockerfile"}
        self._name = name
        self._line = 0
        self._image: str | None = None
        self._workdir = "/"
        self._moved = False
        self._env: dict[str, str] = {}
        self._args: dict[str, str] = {}
        self._actions: list[Action] = []

    def read(self, text: str) -> Environment:
        self._line = 1
        if "\0" in text:
            raise self._fault("has a zero byte")
        escape = _ESCAPE.match(text)
        if escape is not None and escape[1] != "\\":
            raise self._fault("another escape character than the backslash is not supported")
        for self._line, line in _lines(text):
            word, _, rest = line.partition(" ")
            self._instruction(word.upper(), rest.strip())
        if self._image is None:
            raise self._fault("has no FROM")
        made = Environment(image=self._image, actions=tuple(self._actions), env=self._env)
        return replace(made, workdir=self._workdir) if self._moved else made

    def _instruction(self, word: str, rest: str) -> None:
        if word in _INERT:
            return
        if word == "ARG":
            name, given, value = rest.partition("=")
            self._args[self._name_of(name.strip())] = self._filled(self._unquoted(value)) if given else ""
        elif word == "FROM":
            self._from(rest)
        elif self._image is None:
            raise self._fault(f"{word} before FROM")
        elif word == "WORKDIR":
            self._workdir = absolute(self._filled(self._unquoted(rest)), self._workdir)
            self._moved = True
            self._actions.append(self._command(f"mkdir -p {shlex.quote(self._workdir)}", cwd="/"))
        elif word == "ENV":
            self._set(rest)
        elif word == "COPY":
            self._copy(rest)
        elif word == "RUN":
            self._run(rest)
        elif word == "USER" and rest in ("root", "0", "0:0", "root:root"):
            return
        else:
            raise self._fault(f"{word} cannot be followed in a box")

    def _from(self, rest: str) -> None:
        words = self._filled(rest).split()
        if self._image is not None:
            raise self._fault("a second FROM: stages cannot be built in a box")
        tier = tier_of(words[0]) if words and (len(words) == 1 or words[1].upper() == "AS") else None
        if tier is None:
            raise self._fault(f"FROM {rest}: must name an image tier: {', '.join(PREFIX + each for each in TIERS)}")
        self._image = tier

    def _set(self, rest: str) -> None:
        if "=" not in rest.split(" ", 1)[0]:
            name, _, value = rest.partition(" ")
            self._env[self._name_of(name)] = self._filled(value.strip())
            return
        made = {}
        for part in self._words(rest):
            name, given, value = part.partition("=")
            if not given:
                raise self._fault(f"ENV {rest}: must be NAME=value")
            made[self._name_of(name)] = self._filled(value)
        self._env.update(made)

    def _copy(self, rest: str) -> None:
        words = self._listed(rest)
        while words and words[0].startswith("--"):
            if words[0].split("=")[0] not in ("--chown", "--chmod", "--link"):
                raise self._fault(f"COPY {words[0]} cannot be followed in a box")
            words = words[1:]
        words = [self._filled(word) for word in words]
        if len(words) < 2 or any(word.startswith("<<") for word in words):
            raise self._fault("COPY needs sources and a target, and no here-document")
        *sources, target = words
        place = absolute(target, self._workdir)
        into = target.endswith("/") or target in (".", "..") or len(sources) > 1
        files: dict[str, File] = {}
        for source in sources:
            files |= self._found(source, place, into=into)
        self._actions.append(Copy(files=files, line=self._line))

    def _found(self, source: str, place: str, *, into: bool) -> dict[str, File]:
        """Returns the files of one source, by absolute path."""
        path = posixpath.normpath(source.lstrip("/") or ".")
        if path.startswith(".."):
            raise self._fault(f"COPY {source}: lies outside the environment folder")
        if path == ".":
            return {absolute(name, place): file for name, file in self._context.items()}
        tops = {"/".join(name.split("/")[: path.count("/") + 1]) for name in self._context}
        matched = [path] if path in tops else sorted(top for top in tops if fnmatch.fnmatchcase(top, path))
        if not matched:
            raise self._fault(f"COPY {source}: there is no such file in the environment folder")
        made: dict[str, File] = {}
        for name in matched:
            if name in self._context:
                inside = into or len(matched) > 1
                made[absolute(posixpath.basename(name), place) if inside else place] = self._context[name]
            else:  # a folder's content is copied, not the folder
                made |= {absolute(inner, place): file for inner, file in below(self._context, name).items()}
        return made

    def _run(self, rest: str) -> None:
        while rest.startswith("--"):
            flag, _, rest = rest.partition(" ")
            if flag.split("=")[0] not in ("--mount", "--network", "--security"):
                raise self._fault(f"RUN {flag} cannot be followed in a box")
            if flag.startswith("--mount") and "type=cache" not in flag:
                raise self._fault(f"RUN {flag} cannot be followed in a box")
            rest = rest.strip()
        if rest.startswith("<<"):
            raise self._fault("RUN with a here-document cannot be followed in a box")
        if rest.startswith("["):
            rest = shlex.join(self._listed(rest))
        self._actions.append(self._command(rest))

    def _command(self, shell: str, cwd: str | None = None) -> Command:
        env = {**self._args, **self._env}
        return Command(shell=shell, cwd=self._workdir if cwd is None else cwd, env=env, line=self._line)

    def _listed(self, rest: str) -> list[str]:
        if rest.startswith("["):
            try:
                made = json.loads(rest)
            except (ValueError, RecursionError):
                made = None
            if not isinstance(made, list) or not all(isinstance(word, str) for word in made):
                raise self._fault(f"{rest}: is not a JSON list of words")
            return made
        return self._words(rest)

    def _words(self, text: str) -> list[str]:
        try:
            return shlex.split(text)
        except ValueError as error:
            raise self._fault(str(error)) from None

    def _filled(self, text: str) -> str:
        known: Mapping[str, str] = {"PATH": PATH, **self._args, **self._env}

        def value(match: re.Match[str]) -> str:
            if match[0] == "\\$":
                return "$"
            found = known.get(match[1] or match[4], "")
            if match[2] == "-":
                return found or match[3]
            return (match[3] if found else "") if match[2] == "+" else found

        return _VARIABLE.sub(value, text)

    def _unquoted(self, text: str) -> str:
        words = self._words(text)
        return words[0] if len(words) == 1 else text

    def _name_of(self, name: str) -> str:
        if not re.fullmatch(r"[A-Za-z_][\w.-]*", name, re.ASCII):
            raise self._fault(f"{name!r} is not a valid variable name")
        return name

    def _fault(self, message: str) -> TaskFault:
        return TaskFault(f"{self._name}, line {self._line}: {message}")


def _lines(text: str) -> list[tuple[int, str]]:
    """Returns the instructions, one per line, each with the number of its first line. Leading blanks of a continuation
    line are kept: they may be part of a quoted text.
    """
    found: list[tuple[int, str]] = []
    begun, before = 0, ""
    for number, line in enumerate(text.split("\n"), 1):
        line = line.rstrip("\r")
        if line.lstrip().startswith("#") or (begun and not line.strip()):
            continue
        begun = begun or number
        before += _CONTINUED.sub("", line)
        if _CONTINUED.search(line):
            continue
        if before.strip():
            found.append((begun, before.strip()))
        begun, before = 0, ""
    if before.strip():
        found.append((begun, before.strip()))
    return found
