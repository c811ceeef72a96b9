"""The inspection's program: reads two compiled modules and a question, and prints findings as JSON.

It reads from its folder `submission.olean`, `reference.olean` if there is a reference, and `question.json`:

    theorems          names, as Lean prints them; null: all theorems that the reference (or, without one, the
                      submission) states, without those that the elaborator made; of a reference's, those with an open
                      proof, if there are any
    definitions       names of the reference's constants that the submission must declare likewise
    lemmas            names of a plan's lemmas, declared by the reference or by the submission
    permitted_axioms  names
    replay            whether to call Lean's kernel; toolchain: its folder, path: the folders of the imported modules
                      (default: LEAN_PATH)

It prints

    malformed, reference_malformed   why Lean cannot have written a file, or null
    too_large         why a file is too large to compare, or null
    theorems          [{name, found, reason, feedback, difference, axioms, imported, uses, steps, holes, unsafe}].
                      reason: null, or one of same.Reason, `module_header`, `unsafe_code`, `sorry`, `native_decide`,
                      `axiom_added`, or `not_in_reference`: there is nothing to compare it with; axioms: those that
                      the submission declares and the proof depends on; imported: constants of imported modules that
                      it uses; uses: the lemmas that it uses, steps: those of them that it only states as a step;
                      holes: definitions that the reference leaves open
    definitions       [{name, reason, feedback, difference}]
    imports_differ    whether the submission imports other modules than the reference
    overrides         attributes by which compiled code of the submission differs from its definitions
    replay            {status, by, name, message}; status: `accepted`, `rejected`, `unavailable`, or `off`, also if no
                      theorem was left to check, or imports differ

It writes LOADING to stderr when it begins to load the imports of both files, and LOADED when that is done: the
submission is not to blame for a failure between them.
"""

from __future__ import annotations

import contextlib
import json
import os
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rewarden_verifiers.lean.inspection import axioms, names
from rewarden_verifiers.lean.inspection.olean import Malformed, read
from rewarden_verifiers.lean.inspection.pretty import pretty, statement
from rewarden_verifiers.lean.inspection.same import Comparison, Difference, TooLarge
from rewarden_verifiers.lean.inspection.subgoals import Steps, telescope
from rewarden_verifiers.lean.inspection.terms import Module, Name

LOADING, LOADED = "imports: loading", "imports: loaded"

_SHOWN = 1500  # characters of a statement in the feedback

_MODULE_SYSTEM = "a file that begins with `module` keeps its proofs in another file: leave that word out"

_OVERRIDES: dict[Name, str] = {
    ("Lean", "Compiler", "implementedByAttr"): "implemented_by",
    ("Lean", "externAttr"): "extern",
    ("Lean", "exportAttr"): "export",
    ("Lean", "regularInitAttr"): "init",
    ("Lean", "builtinInitAttr"): "builtin_init",
    ("Lean", "Compiler", "CSimp", "ext"): "csimp",
}

# Theorems that are generated with an inductive type or a definition, below its name.
_COMES_WITH = {"inj", "injEq", "sizeOf_spec", "eq", "eq_def", "induct", "induct_unfolding", "mutual_induct"} | {
    *("fun_cases", "fun_cases_unfolding", "partial_correctness", "fixpoint_induct", "splitter"),
}


class Inspection:
    """The inspection of one submission. reference: None if there is none. All methods raise TooLarge."""

    def __init__(self, reference: Module | None, submission: Module, question: dict[str, Any]) -> None:
        self.reference = reference
        self.submission = submission
        self.comparison = None if reference is None else Comparison(reference, submission)
        self._own = names.owned(submission)
        self.permitted = {found for found in map(_parsed, question.get("permitted_axioms") or ()) if found}
        self.lemmas: list[str] = question.get("lemmas") or []
        self._theorems: list[str] | None = question.get("theorems")
        self._definitions: list[str] = question.get("definitions") or []

    def findings(self) -> dict[str, Any]:
        """Returns all findings but the kernel's answer."""
        asked = self._theorems
        reference = self.reference
        if asked is None:
            found = stated(self.submission) if reference is None else wanted(reference)
            asked = [names.text(name) for name in found]
        return {
            "theorems": [self.theorem(name) for name in asked],
            "definitions": [self.definition(name) for name in self._definitions],
            "imports_differ": reference is not None and set(reference.imports) != set(self.submission.imports),
            "overrides": [
                word
                for name, word in _OVERRIDES.items()
                if self.submission.entries.get(name, 0) > (reference.entries.get(name, 0) if reference else 0)
            ],
        }

    def theorem(self, asked: str) -> dict[str, Any]:
        """Returns the findings on one theorem, by its name as Lean prints it."""
        name = _parsed(asked)
        said: dict[str, Any] = {"name": asked, "found": False, "reason": "theorem_missing", "feedback": None}
        said |= {"difference": None, "axioms": [], "imported": [], "uses": [], "steps": [], "holes": [], "unsafe": []}
        module = self.submission
        if self.comparison is not None and name not in self.comparison.reference.module.constants:
            # For example, a name without its namespace. Without a statement to compare, any theorem of that name would
            # do.
            return said | {"reason": "not_in_reference"}
        if module.is_module:
            return said | {"reason": "module_header", "feedback": _MODULE_SYSTEM}
        difference = None
        if self.comparison is not None:
            difference = self.comparison.theorem(name)
            said["holes"] = _texts(self.comparison.holes(name))
        found = self._own.get(names.bare(name), name)
        if found not in module.constants:
            return said | {"feedback": f"the submission declares no `{asked}`"}
        if difference is None and module.constants[found].kind not in ("theorem", "definition"):
            difference = Difference(
                reason="kind_changed", name=name, message=f"it is a(n) {module.constants[found].kind}"
            )
        rests = axioms.rests(module, found)
        uses, steps = self._lemmas(found, rests)
        said |= {
            "found": True,
            "axioms": _texts(rests.axioms),
            "imported": _texts(rests.imported),
            "uses": uses,
            "steps": steps,
            "unsafe": _texts(rests.unsafe(module)),
        }
        if difference is not None:
            return said | self._told(difference, found)
        reason, words = self._unsound(rests)
        return said | {"reason": reason, "feedback": words}

    def definition(self, asked: str) -> dict[str, Any]:
        """Returns the findings on a constant of the reference that the submission must declare likewise."""
        name = _parsed(asked)
        if self.comparison is None or name not in self.comparison.reference.module.constants:
            return {"name": asked, "reason": "not_in_reference", "feedback": None, "difference": None}
        difference = self.comparison.definition(name)
        said = {"name": asked, "reason": None, "feedback": None, "difference": None}
        return said if difference is None else said | self._told(difference, None)

    def granted(self, candidates: frozenset[Name]) -> set[Name]:
        """Returns those of these constants that reference and submission both declare, and alike."""
        if self.comparison is None:
            return set()
        both = candidates & self.comparison.reference.module.constants.keys() & self.submission.constants.keys()
        return {name for name in both if self.comparison.definition(name) is None}

    def _unsound(self, rests: axioms.Rests) -> tuple[str | None, str | None]:
        """Returns why a proof of the right statement proves nothing, as far as its own module shows, or None."""
        unsafe = rests.unsafe(self.submission)
        if unsafe:
            return "unsafe_code", f"it rests on what is outside the logic: {_listed(unsafe)}"
        reached = {*rests.axioms, *rests.imported}
        if axioms.SORRY in reached - self.permitted:
            return "sorry", "it rests on `sorry`"
        native = [name for name in axioms.sorted_names(reached - self.permitted) if axioms.native(name)]
        if native:
            return "native_decide", f"it rests on what compiled code computed: {_listed(native)}"
        added = [name for name in rests.axioms if not self._premise(name)]
        if added:
            return "axiom_added", f"it rests on axioms that the submission adds: {_listed(added)}"
        return None, None

    def _premise(self, name: Name) -> bool:
        """Returns whether an axiom that the submission declares is the reference's own. The name alone does not show
        that: a file without imports can declare any `propext`."""
        comparison = self.comparison
        if comparison is None:
            return False
        ours = comparison.reference.owned.get(names.bare(name))
        return (
            ours is not None
            and comparison.reference.module.constants[ours].kind == "axiom"
            and comparison.definition(ours) is None
        )

    def _lemmas(self, found: Name, rests: axioms.Rests) -> tuple[list[str], list[str]]:
        """Returns the plan's lemmas that the proof uses, and those of them that it only states."""
        if not self.lemmas:
            return [], []
        taken, steps = [], []
        plan = self.comparison
        made = None
        for asked in self.lemmas:
            name = _parsed(asked)
            declared = plan is not None and name in plan.reference.module.constants
            reached = self._own.get(names.bare(name), name) in rests.own - {found}
            if reached and (plan is None or not declared or plan.theorem(name) is None):
                taken.append(asked)
            elif plan is not None and declared:
                if made is None:
                    ours = plan.reference.owned.get(names.bare(found))
                    variables = telescope(plan.reference.module, ours) if ours else []
                    made = Steps(plan.submission, found, axioms.sorted_names(rests.own), variables)
                with contextlib.suppress(TooLarge):  # a step that takes this long to compare does not count
                    if made.states(plan.reference, name):
                        taken.append(asked)
                        steps.append(asked)
        return taken, steps

    def _told(self, difference: Difference, found: Name | None) -> dict[str, Any]:
        """Returns a difference, with both sides in words."""
        words = [difference.message]
        reference, submission = self.reference, self.submission
        if found is not None and difference.reason == "statement_changed" and reference is not None:
            words += [
                f"asked for: {statement(reference, difference.name, length=_SHOWN)}",
                f"submitted: {statement(submission, found, length=_SHOWN)}",
            ]
        elif difference.reason != "theorem_missing":
            words.insert(0, names.text(difference.name)[:200])
        if difference.reference is not None and reference is not None:
            words.append(f"there: {pretty(reference, difference.reference, length=500)}")
        if difference.submission is not None:
            words.append(f"here: {pretty(submission, difference.submission, length=500)}")
        return {"reason": difference.reason, "feedback": "\n".join(words), "difference": names.text(difference.name)}


def stated(module: Module) -> list[Name]:
    """Returns the theorems that the source of a module states, without those that the elaborator made."""
    return [
        name
        for name, constant in module.constants.items()
        if constant.kind == "theorem"
        and not names.made_up(name)
        and not (
            name[:-1] in module.constants
            and isinstance(name[-1], str)
            and (name[-1] in _COMES_WITH or name[-1].removeprefix("eq_").isdigit())
        )
    ]


def wanted(module: Module) -> list[Name]:
    """Returns the theorems of a module that must be proved: those with open proofs or, if there are none, all."""
    found = stated(module)
    return [name for name in found if _left_open(module, name)] or found


def _left_open(module: Module, name: Name) -> bool:
    """Returns whether a theorem's own proof contains a `sorry`, possibly in a part that the elaborator gave another
    name."""
    seen: set[int] = set()
    known, todo = {name}, [name]
    while todo:
        value = module.constants[todo.pop()].value
        for at in axioms.reached(module, [] if value is None else [value], seen):
            other = axioms.mentioned(module, at)
            if other == axioms.SORRY:
                return True
            if other in module.constants and other not in known and names.made_up(other):
                known.add(other)
                todo.append(other)
    return False


def inspect(reference: bytes | None, submission: bytes, question: dict[str, Any]) -> dict[str, Any]:
    """Returns the findings, as they are printed."""
    said: dict[str, Any] = {"malformed": None, "reference_malformed": None, "theorems": [], "definitions": []}
    said |= {"too_large": None, "imports_differ": False, "overrides": []}
    said |= {"replay": {"status": "off", "by": "", "name": None, "message": ""}}
    plan = None
    if reference is not None:
        try:
            plan = read(reference)
            if plan.is_module:
                raise Malformed(_MODULE_SYSTEM)
        except Malformed as error:
            return said | {"reference_malformed": str(error)}
    try:
        given = read(submission)
        inspection = Inspection(plan, given, question)
        said |= inspection.findings()
        stand = [theorem for theorem in said["theorems"] if theorem["reason"] is None]
        # Attack: a forged file with its own imports, which take so long to load.
        if question.get("replay") and stand and not said["imports_differ"]:
            said["replay"] = _replayed(inspection, submission, reference, question, stand)
    except TooLarge as error:
        return said | {"too_large": str(error)}
    except MemoryError:  # if the room limits address space, exceeding it does not end the process
        return said | {"too_large": "more than the memory holds"}
    except Malformed as error:
        return said | {"malformed": str(error)}
    return said


def _replayed(
    inspection: Inspection,
    data: bytes,
    reference: bytes | None,
    question: dict[str, Any],
    stand: list[dict[str, Any]],
) -> dict[str, Any]:
    """Returns the kernel's answer. Imported constants that no source can name are replaced by the constants behind
    them."""
    from rewarden_verifiers.lean.inspection.kernel import (  # its modules exist only if there is a toolchain
        BUILTIN,
        replay,
    )

    asked = {text: _parsed(text) for theorem in stand for text in theorem["imported"]}
    _tell(LOADING)
    said = replay(
        inspection.submission,
        data,
        toolchain=Path(question.get("toolchain") or ""),
        path=question.get("path") or [folder for folder in os.environ.get("LEAN_PATH", "").split(":") if folder],
        granted=inspection.granted(BUILTIN),
        asked=[name for name in asked.values() if not names.sayable(name)],
        control=reference,
        loaded=lambda: _tell(LOADED),
    )
    for theorem in stand:
        known = [said.behind.get(asked[text], {asked[text]}) for text in theorem["imported"]]
        theorem["imported"] = _texts(axioms.sorted_names(frozenset().union(*known)))
    name = names.text(said.name) if said.name else None
    return {"status": said.status, "by": said.by, "name": name, "message": said.message}


def _tell(stage: str) -> None:
    sys.stderr.write(f"{stage}\n")
    sys.stderr.flush()


def _parsed(text: str) -> Name:
    """Returns the name in that text; for an invalid text, a name that no constant has."""
    try:
        return names.parse(text)
    except ValueError:
        return ()


def _texts(found: Iterable[Name]) -> list[str]:
    return [names.text(name) for name in found]


def _listed(found: tuple[Name, ...] | list[Name]) -> str:
    return ", ".join(names.text(name)[:200] for name in found[:10])


def main() -> None:
    """Reads the files, and prints the findings."""
    reference = Path("reference.olean")
    said = inspect(
        reference.read_bytes() if reference.exists() else None,
        Path("submission.olean").read_bytes(),
        json.loads(Path("question.json").read_text("utf-8")),
    )
    json.dump(said, sys.stdout)
    sys.stdout.write("\n")
