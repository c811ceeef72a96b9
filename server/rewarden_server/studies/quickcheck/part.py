"""A part of a target that `rewarden quickcheck` tries, and the parts that `/v1/info` and the configuration list."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from rewarden_sandboxes.launchers.launcher import build_command
from rewarden_server.studies.quickcheck import question
from rewarden_server.studies.quickcheck.question import Question
from rewarden_server.verifier_resources import EMBEDDED
from rewarden_verifiers.sql.databases import Databases

Kind = Literal["judge", "model", "language", "database", "lean"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """One part.

    questions: it is asked the first that it is able to answer. unused: why it is not asked anything. optional: it is
    part of an extra that nobody has to install.
    """

    kind: Kind
    name: str = ""
    questions: tuple[Question, ...] = ()
    unused: str = ""
    optional: bool = False


def judges(named: Iterable[str], number: int) -> Iterator[Part]:
    """Yields the judges. number: a part of each question, here and below."""
    if not named:
        yield Part(kind="judge", unused="none (no judges.named)")
    for name in named:
        yield Part(kind="judge", name=name, questions=(question.of_judge(name, number),))


def models(named: Iterable[str], number: int) -> Iterator[Part]:
    """Yields the models."""
    if not named:
        yield Part(kind="model", unused="none (no models.named)")
    for name in named:
        yield Part(kind="model", name=name, questions=question.of_model(name, number))


def python(number: int) -> Part:
    """Returns the language that every sandbox host has."""
    return Part(kind="language", name="python", questions=(question.of_language("python", number),))


def languages(host: Mapping[str, Any], number: int) -> Iterator[Part]:
    """Yields the languages besides Python, from a sandbox host's own status."""
    images = host.get("images") or {}
    for name, row in host["languages"].items():
        if name == "python":
            continue
        image = row["images"][0]
        if not any(map(images.get, row["images"])):
            yield Part(kind="language", name=name, unused=f"no image ({image}); {build_command(image, 'images')}")
        elif name not in question.LANGUAGES:
            yield Part(kind="language", name=name, unused="no sample program for this language")
        else:
            yield Part(kind="language", name=name, questions=(question.of_language(name, number),))


def databases(engines: Iterable[str], registered: Databases | None, number: int) -> Iterator[Part]:
    """Yields the engines on which a request's databases can be made, and one registered database of each engine: a
    catalogue can list hundreds."""
    for engine in engines:
        asked = (question.of_engine(engine, number),)
        yield Part(kind="database", name=engine, questions=asked, optional=engine in EMBEDDED)
    chosen: dict[str, str] = {}
    for name, variants in registered.known.items() if registered is not None else ():
        chosen.setdefault(variants[0].engine, name)
    for name in sorted(chosen.values()):
        yield Part(kind="database", name=name, questions=(question.of_database(name, number),))


def lean_projects(projects: Mapping[str, Any], number: int, *, sandbox: bool) -> Iterator[Part]:
    """Yields the Lean projects. sandbox: whether programs can run."""
    if not projects:
        yield Part(kind="lean", unused="none (no lean.projects, no toolchain)")
    for name, project in projects.items():
        remote = project.get("kind") == "remote"
        if not sandbox and not remote:
            yield Part(kind="lean", name=name, unused="not tried without a sandbox")
        else:
            yield Part(kind="lean", name=name, questions=(question.of_lean(name, number, remote=remote),))
