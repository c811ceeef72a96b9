"""Preparation of jobs for a slot: looks up language rows, resolves limits, and chooses the image and the tier."""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from pathlib import PurePosixPath
from typing import Any, Literal

from rewarden_sandboxes.agent import frames
from rewarden_sandboxes.box import OF_BOX, OF_EXEC, BoxSpec, Exec, is_own
from rewarden_sandboxes.errors import BadJob
from rewarden_sandboxes.flags import refused
from rewarden_sandboxes.images import read_images
from rewarden_sandboxes.job import LIMITS, Job, Limits, Program
from rewarden_sandboxes.languages import Language, Registry, UnknownLanguage, nested_mount
from rewarden_sandboxes.settings import HostSettings

_INCLUDED = re.compile(rb'#[ \t]*include[ \t]*"(?:[^"\n]*/)?([^"/\n]+)"')
_UNBUFFERED = ("stdbuf", "-o0")
_SCIENTIFIC = (b"scipy", b"pandas", b"sympy", b"networkx")


@dataclass(frozen=True, slots=True, kw_only=True)
class Compilation:
    """A compilation for a slot. `pace_s`: seconds within which it must end. `digest`: of everything that it depends on,
    except the image; None if it depends on more, such as a mounted folder.
    """

    who: Literal["program", "partner"]
    header: dict[str, Any]
    body: frames.Body
    pace_s: float
    digest: str | None

    def key(self, image: str) -> bytes | None:
        """Returns its cache key, given the identity of the image; None if it cannot be cached."""
        if self.digest is None or not image:
            return None
        return hashlib.sha256(json.dumps([self.digest, image]).encode()).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The work for a slot. `compilations`: run in this order, before the job. `pace_s`: seconds within which each
    result must arrive; `memory_mb`: of the largest run; `mounts`: (inside, outside), sorted.
    """

    header: dict[str, Any]
    body: frames.Body
    compilations: tuple[Compilation, ...]
    image: str
    tiers: frozenset[str]
    pace_s: float
    memory_mb: int
    mounts: tuple[tuple[str, str], ...]
    languages: tuple[str, ...]


class Resolver:
    """See the module."""

    def __init__(self, registry: Registry, settings: HostSettings) -> None:
        self._registry = registry
        self._settings = settings

    def ready(self, job: Job, first: int = 0) -> Ready:
        """Prepare a job, from case number `first` on. Raises BadJob."""
        body = frames.Body()
        program = self._language(job.program, "program")
        partner = self._language(job.partner, "partner") if job.partner is not None else None
        image = _image(program, partner)
        header: dict[str, Any] = {
            "op": "job",
            "join": job.join,
            "rejecting": list(job.rejecting),
            "once": job.once,
            "collect": list(job.collect) or None,
        }
        header["program"] = _part(job.program, program, body)
        if job.join == "stdio_unbuffered":
            header["program"] |= {"unbuffered": True, "run": [*_UNBUFFERED, *program.run]}
        if job.partner is not None and partner is not None:
            header["partner"] = _part(job.partner, partner, body)
            request = job.cases[0].partner_request if job.cases else b""
            if partner.python:
                header["partner"]["tier"] = _tier(job.partner, request)
        cases: list[dict[str, Any]] = []
        most_s = memory = 0.0
        for index, case in enumerate(job.cases[first:], first):
            limits = self._limits(f"cases[{index}].limits", program.limits, case.limits, job.program.limits)
            told = _case(case.stdin, case.request, case.files, case.args, limits, body)
            seconds = limits["cpu_s"] + limits["wall_s"]
            memory = max(memory, limits["memory_mb"])
            if job.partner is not None and partner is not None:
                others = self._limits("partner.limits", partner.limits, job.partner.limits)
                told["partner"] = _case(
                    case.partner_stdin, case.partner_request, case.partner_files, case.partner_args, others, body
                )
                seconds += others["cpu_s"]
                memory = max(memory, limits["memory_mb"] + others["memory_mb"])
            cases.append(told)
            most_s = max(most_s, seconds)
        header["cases"] = cases
        compilations = self._compilations(job, program, partner)
        memory = max(memory, *(each.header["limits"]["memory_mb"] for each in compilations), 0)
        tiers = frozenset(part["tier"] for part in (header["program"], header.get("partner")) if part is not None)
        return Ready(
            header=header,
            body=body,
            compilations=compilations,
            image=image,
            tiers=tiers,
            pace_s=_pace(most_s),
            memory_mb=int(memory),
            mounts=_mounts(program, partner),
            languages=tuple(language.name for language in (program, partner) if language is not None),
        )

    def version(self, language: Language) -> Ready:
        """Prepare the command that prints the version of a language's toolchain, as a program without source text."""
        ready = self.ready(Job(program=Program(language=language.name, code=b"")))
        program = {**ready.header["program"], "run": list(language.version), "python": False}
        return replace(ready, header={**ready.header, "program": program})

    def session(self, program: Program) -> Ready:
        """Prepare a program whose stdin and stdout the caller streams while it runs. Raises BadJob."""
        ready = self.ready(Job(program=program))
        if program.mode != "script":
            raise BadJob("program.mode", "a session must have the mode 'script'")
        part, [case] = ready.header["program"], ready.header["cases"]
        if ready.compilations:
            raise BadJob("program.language", f"{ready.languages[0]!r} is compiled: it has no sessions")
        # The caller decides when it has used enough.
        limits = {**case["limits"], "cpu_s": math.inf, "wall_s": math.inf}
        return replace(ready, header={"op": "session", "program": part, "case": {**case, "limits": limits}})

    def box(self, spec: BoxSpec) -> dict[str, float]:
        """Returns the limits of a box. Raises BadJob."""
        self._check_image(spec.image)
        _only(spec.limits, OF_BOX, "limits", "of an exec")
        settled = self._limits("limits", Limits(), spec.limits)
        return {name: settled[name] for name in OF_BOX}

    def _check_image(self, image: str) -> None:
        if is_own(image):
            if not any(fnmatchcase(image, pattern) for pattern in self._settings.own_images):
                tiers = self._settings.launcher == "bwrap"
                raise BadJob(
                    "image",
                    f"{image} is not allowed on this host; add it to the patterns of sandbox.own_images"
                    + (", and set sandbox.launcher to docker: bwrap knows the tiers of images only" if tiers else ""),
                )
            return
        known = {*read_images(), *(name for language in self._registry for name in language.images)}
        if image not in known:
            raise BadJob(
                "image",
                f"unknown image {image!r}; known: {', '.join(sorted(known))}. Name an own image by its id "
                "(sha256:…) or its name and digest (NAME@sha256:…)",
            )

    def exec(self, what: Exec, *, own_image: bool = False) -> tuple[dict[str, Any], frames.Body]:
        """Returns the program of an exec, and the bytes that it refers to. own_image: the box has an interpreter only
        if its image brings one. Raises BadJob.
        """
        _only(what.limits, OF_EXEC, "limits", "of the box")
        self._limits("limits", Limits(), what.limits)
        if what.program is not None:
            _only(what.program.limits, frozenset(), "program.limits", "of the exec")
            language = self._language(what.program, "program")
            if language.compile:
                return _compiled(what.program, language)
            ready = self.session(what.program)
            program = ready.header["program"]
            return program | ({"python": False} if own_image else {}), ready.body
        return {"python": False, "run": list(what.argv), "tier": "bare"}, frames.Body()

    def _language(self, program: Program, where: str) -> Language:
        try:
            language = self._registry.get(program.language)
        except UnknownLanguage as error:
            raise BadJob(f"{where}.language", str(error)) from None
        problem = refused(language.name, program.flags, language.flags)
        if problem is not None:
            place, reason = problem
            raise BadJob(f"{where}.flags[{place}]", reason)
        return language

    def _compilations(self, job: Job, program: Language, partner: Language | None) -> tuple[Compilation, ...]:
        found = []
        whos: tuple[tuple[Literal["program", "partner"], Program | None, Language | None], ...] = (
            ("program", job.program, program),
            ("partner", job.partner, partner),
        )
        for who, source, language in whos:
            if source is not None and language is not None and language.compile:
                limits = self._limits("compile_limits", language.compile_limits, job.compile_limits)
                found.append(_compilation(who, source, language, limits, once=job.once))
        return tuple(found)

    def _limits(self, where: str, row: Limits, *asked: Limits) -> dict[str, float]:
        """Resolve each limit: the first of the job's, the row's and the host's that is set wins. Raises BadJob for more
        than this host allows. A row may allow more, because the machine's owner wrote it.
        """
        settled: dict[str, float] = {}
        layers = (*asked, row, self._settings.limits)
        for name in LIMITS:
            value = next((got for layer in layers if (got := getattr(layer, name)) is not None), None)
            most, given = getattr(self._settings.max_limits, name), getattr(row, name)
            assert value is not None
            if most is not None and value > (most := max(most, given or 0)):
                raise BadJob(
                    f"{where}.{name}", f"{value:g} is more than this host gives, {most:g} (sandbox.max_limits)"
                )
            settled[name] = value
        return settled


def _only(limits: Limits, known: frozenset[str], where: str, whose: str) -> None:
    """Raises BadJob for a limit that belongs elsewhere."""
    for name in limits.given():
        if name not in known:
            raise BadJob(f"{where}.{name}", f"is a limit {whose}")


def _case(
    stdin: bytes, request: bytes, files: Mapping[str, bytes], args: Any, limits: dict[str, float], body: frames.Body
) -> dict[str, Any]:
    return {
        "stdin": body.add(stdin),
        "request": body.add(request),
        "files": {path: body.add(data) for path, data in files.items()},
        "args": list(args),
        "limits": limits,
    }


def _part(program: Program, language: Language, body: frames.Body) -> dict[str, Any]:
    return {
        "file": language.file,
        "code": body.add(program.code),
        "files": {path: body.add(data) for path, data in program.files.items()},
        "args": list(program.args),
        "mode": program.mode,
        "python": language.python,
        "late_network": language.python or language.late_network,
        "run": list(language.run),
        "made": None,
        "tier": _tier(program, b"") if language.python else "bare",
    }


def _compilation(
    who: Literal["program", "partner"], program: Program, language: Language, limits: dict[str, float], *, once: bool
) -> Compilation:
    body = frames.Body()
    command = _compile(program, language)
    part = _part(program, language, body) | {"run": command}
    return Compilation(
        who=who,
        header={"op": "compile", "program": part, "limits": limits, "once": once},
        body=body,
        pace_s=_pace(limits["cpu_s"] + limits["wall_s"]),
        # The machine's owner can change a mounted folder.
        digest=None if language.mounts else _digest(program, language, command, limits),
    )


def _compiled(program: Program, language: Language) -> tuple[dict[str, Any], frames.Body]:
    """Returns the program of an exec that is compiled and then run. Raises BadJob."""
    if program.mode != "script":
        raise BadJob("program.mode", "an exec must have the mode 'script'")
    if program.files:
        raise BadJob(
            "program.files", "a compiled program in a box has one file; write others into the box, and run make"
        )
    stem = PurePosixPath(language.file).stem
    run = [f"./{word}" if word.partition(".")[0] == stem else word for word in language.run]
    if not any(word.startswith("./") for word in run):
        raise BadJob(
            "program.language",
            f"{language.name!r} runs only where it was compiled: write the program into the box, and run its compiler",
        )
    body = frames.Body()
    part = _part(program, language, body) | {"run": run, "compile": _compile(program, language)}
    return part, body


def _digest(program: Program, language: Language, command: list[str], limits: dict[str, float]) -> str:
    """Returns the digest of a compilation: of the command with its flags, the source, its files, and the limits."""
    files = sorted((path, hashlib.sha256(data).hexdigest()) for path, data in program.files.items())
    source = hashlib.sha256(program.code).hexdigest()
    about = [language.name, command, language.file, program.mode, source, files, sorted(limits.items())]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()


def _pace(seconds: float) -> float:
    """Returns the seconds within which a slot must answer, for runs with limits of `seconds`: the time after which the
    supervisor abandons a run, for each of three runs and one more with a network, and 60 s for its own work.
    """
    return 4 * (4 * seconds + 10) + 60


def _compile(program: Program, language: Language) -> list[str]:
    """Returns the row's command, with the program's flags before its file, where they override the row's, and its other
    sources after it. A file that another one includes is compiled with that one.
    """
    texts = [program.code, *program.files.values()] if language.sources else []
    included = {name for text in texts for name in _INCLUDED.findall(text)}
    others = [
        f"./{path}"
        for path in sorted(program.files)
        if path.endswith(language.sources) and path != language.file and os.path.basename(path).encode() not in included
    ]
    words = list(language.compile)
    if others:
        place = words.index(language.file) + 1
        words[place:place] = others
    if program.flags:
        place = words.index(language.file)
        words[place:place] = program.flags
    return words


def _image(program: Language, partner: Language | None) -> str:
    """Returns the first image that has both languages."""
    images = [name for name in program.images if partner is None or name in partner.images]
    if not images:
        assert partner is not None
        raise BadJob("partner.language", f"no image has both {program.name!r} and {partner.name!r}")
    return images[0]


def _mounts(program: Language, partner: Language | None) -> tuple[tuple[str, str], ...]:
    """Returns the mounts of both programs, which share a slot."""
    mounts = dict(program.mounts)
    for inside, outside in (partner.mounts if partner is not None else {}).items():
        if mounts.setdefault(inside, outside) != outside:
            raise BadJob("partner.language", f"both mount something at {inside}, but not the same thing")
    nested = nested_mount(mounts)
    if nested is not None:
        raise BadJob("partner.language", f"one mounts something at {nested[1]}, and the other at {nested[0]} in it")
    return tuple(sorted(mounts.items()))


def _tier(program: Program, request: bytes) -> str:
    """Returns the tier that has probably imported the program's modules. A wrong guess costs only an import."""
    if program.mode == "tests" and b'"file"' in request:
        return "pytest"
    code = program.code
    bare = "bare" if program.mode == "script" else "modes"
    if b"import" not in code:
        return bare
    if any(name in code for name in _SCIENTIFIC):
        return "scientific"
    return "numpy" if b"numpy" in code else bare
