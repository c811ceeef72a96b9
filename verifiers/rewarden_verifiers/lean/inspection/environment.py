"""Lean's kernel: environments, and the declarations that are added to them, each checked."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence

from rewarden_verifiers.lean.inspection import names
from rewarden_verifiers.lean.inspection.objects import BYTE, WORD, Objects, Terms, Unavailable, Values
from rewarden_verifiers.lean.inspection.order import ordered, units
from rewarden_verifiers.lean.inspection.terms import Constant, Module, Name

# `Lean.Kernel.Exception` by its constructors (release 4.35). In the first _NAMED, field 1 is the name in question.
_REFUSALS = (
    "unknown constant",
    "already declared:",
    "the value's type is not the declared one",
    "metavariables",
    "free variables",
    "a function is expected",
    "a type is expected",
    "the value of a `let` has not the declared type",
    "a term has not the type that is expected of it",
    "an argument has not the type that the function takes",
    "no such projection",
    "the theorem's type is not a proposition",
)
_NAMED = 2

# The constructors after those and after `other`, which has its own message.
_ENDS = ("out of time", "out of memory", "the term is too deep", "interrupted")

_SHOWN = 500  # characters of a name, or of the kernel's own message

# `Lean.ConstantInfo` by its constructors, and the fields that list the names of a family's members.
_AXIOM, _WITH_VALUES, _CONSTRUCTOR = 0, (1, 2, 3), 6
_MEMBERS = {5: (3, 4), 7: (1,)}

_PRIVATE = 2  # Lean.OLeanLevel: the whole content of a module of the module system.


class Refused(Exception):
    """A declaration that the kernel rejects, or a constant that differs from the one that the kernel made."""

    def __init__(self, name: Name, message: str) -> None:
        super().__init__(message)
        self.name = name
        self.message = message


class Kernel:
    """The kernel's functions. An environment is an address and is immutable: adding to it returns another."""

    def __init__(self, objects: Objects) -> None:
        self.objects = objects
        self._add = objects.call("lean_add_decl", WORD, WORD, WORD, WORD, WORD)
        self._find = objects.call("lean_environment_find", WORD, WORD)
        self._inductive = objects.call("lean_mk_inductive_decl", WORD, WORD, WORD, BYTE)
        self._same = {
            kind: (tag, objects.call(f"l_Lean_instBEq{record}_beq", WORD, WORD, result=BYTE))
            for kind, tag, record in (
                ("quot", 4, "QuotVal"),
                ("inductive", 5, "InductiveVal"),
                ("constructor", 6, "ConstructorVal"),
                ("recursor", 7, "RecursorVal"),
            )
        }

    def replay(
        self, module: Module, path: Sequence[str], stack: int, asked: Iterable[Name], loaded: Callable[[], None]
    ) -> dict[Name, frozenset[Name]]:
        """Checks everything that a module declares, on a thread that is new to the library; returns the constants
        `behind` each of the imported constants `asked`.

        path: the folders of the imported modules. stack: the thread's stack size in bytes. loaded: called when the
        imports are loaded. Raises Refused, and Unavailable if the imports cannot be loaded.
        """
        objects = self.objects
        objects.call("lean_initialize_thread", result=None)()
        # The rest is for frames that are already on the stack, and for the library's use between two of its checks.
        objects.stack(stack // 8 * 7)
        try:
            environment = self.imported(module.imports, path) if module.imports else self.empty()
            loaded()
            self.given(module, environment)
            return {name: self.behind(environment, name) for name in asked}
        finally:
            objects.call("lean_finalize_thread", result=None)()

    def behind(self, environment: int, name: Name) -> frozenset[Name]:
        """Returns the constants on which an environment's constant depends and which a source can name, looking through
        those that no source can name. An axiom without such a name stands for itself, as does a missing constant."""
        found: set[Name] = set()
        passed = {name}
        todo = [name]
        while todo:
            at = todo.pop()
            others = self._mentioned(environment, at)
            if others is None:
                found.add(at)
                continue
            for other in others - passed:
                passed.add(other)
                if names.sayable(other):
                    found.add(other)
                else:
                    todo.append(other)
        return frozenset(found)

    def _mentioned(self, environment: int, name: Name) -> set[Name] | None:
        """Returns the constants that a constant mentions; None for an axiom, or a missing constant."""
        objects = self.objects
        option = self._find(environment, objects.name(name))
        if option == objects.box(0) or objects.tag(objects.field(option, 0)) == _AXIOM:
            return None
        kind = objects.tag(objects.field(option, 0))
        value = objects.field(objects.field(option, 0), 0)
        start = [objects.field(objects.field(value, 0), 2)]
        found: set[Name] = set()
        if kind in _WITH_VALUES:
            start.append(objects.field(value, 1))
        for place in _MEMBERS.get(kind, ()):
            found.update(map(objects.read, objects.items(objects.field(value, place))))
        if kind == _CONSTRUCTOR:
            found.add(objects.read(objects.field(value, 1)))
        return found | objects.constants(start)

    def empty(self) -> int:
        """Returns an environment without constants."""
        return self._base(self._done(self.objects.call("l_Lean_mkEmptyEnvironment", WORD)(0)))

    def imported(self, imports: Sequence[Name], path: Sequence[str]) -> int:
        """Returns the environment of the modules, found in the folders of `path`. None of their content is run: no
        extension reads its entries, no initialiser is called. Raises Unavailable if Lean cannot load them, Refused for
        names that no module has."""
        objects = self.objects
        for name in imports:
            # They become parts of a file's path: an import must not lead out of the library's folders, to files of the
            # submission.
            if not name or not all(isinstance(part, str) and part and not set(part) & set("./\\\0") for part in name):
                raise Refused((), f"imports what is not a module's name: {names.text(name)[:_SHOWN]}")
        os.environ.pop("LEAN_PATH", None)  # Lean looks there first.
        folders = objects.list(map(objects.string, path))
        root = objects.string(str(objects.folder.parent.parent))
        self._done(objects.call("l_Lean_initSearchPath", WORD, WORD)(root, folders))
        whole = objects.array([objects.make(0, (objects.name(name),), bytes((False, True, False))) for name in imports])
        options = objects.data("l_Lean_Options_empty")
        plugins, artifacts = objects.array(()), objects.box(1)
        load = objects.call("l_Lean_importModules", WORD, WORD, WORD, WORD, BYTE, BYTE, BYTE, WORD)
        return self._base(self._done(load(whole, options, 0, plugins, False, False, _PRIVATE, artifacts)))

    def _base(self, environment: int) -> int:
        """Returns the kernel's part of an elaborator's environment."""
        part = self.objects.call("lean_elab_environment_to_kernel_env", WORD)
        return self.objects.keep(part(self.objects.keep(environment)))

    def _done(self, result: int) -> int:
        """Returns the result of an `IO` function. Raises Unavailable with the function's error."""
        objects = self.objects
        value = objects.field(result, 0)
        if objects.tag(result) != 0:
            error = objects.call("lean_io_error_to_string", WORD)(objects.keep(value))
            raise Unavailable(objects.text(error))
        return value

    def given(self, module: Module, environment: int) -> int:
        """Returns the environment with everything that a module declares. Raises Refused."""
        try:
            values = Values(Terms(self.objects, module))
        except ValueError as error:
            raise Refused((), str(error)) from error
        found = units(module)
        for name in ordered(module, found):
            environment = self.add(environment, name, self._declaration(module, values, name, found[name]))
        for constant in module.constants.values():
            if constant.kind in self._same:
                self._compare(environment, values, constant)
        return environment

    def add(self, environment: int, name: Name, declaration: int) -> int:
        """Returns the environment with a declaration, which the kernel checks. Raises Refused, naming `name`."""
        objects = self.objects
        # Without limits on heartbeats and depth (the room has its own), and without a cancellation token.
        result = self._add(environment, 0, 0, declaration, objects.box(0))
        value = objects.field(result, 0)
        if objects.tag(result) == 1:
            return objects.keep(value)
        kind = objects.tag(value)
        if kind < len(_REFUSALS):
            of = f" {names.text(objects.read(objects.field(value, 1)))[:_SHOWN]}" if kind < _NAMED else ""
            raise Refused(name, _REFUSALS[kind] + of)
        if kind == len(_REFUSALS):
            raise Refused(name, objects.text(objects.field(value, 0))[:_SHOWN])
        raise Refused(name, _ENDS[kind - len(_REFUSALS) - 1])

    def _declaration(self, module: Module, values: Values, name: Name, members: Sequence[Constant]) -> int:
        objects = self.objects
        first = module.constants.get(name)
        if first is None or first not in members:
            raise Refused(members[0].name, f"is said to belong to {names.text(name)}, which does not say so")
        match first.kind:
            case "axiom":
                return objects.make(0, (values.of(first),))
            case "definition" if first.safety == "safe":
                return objects.make(1, (values.of(first),))
            case "theorem":
                return objects.make(2, (values.of(first),))
            case "opaque":
                return objects.make(3, (values.of(first),))
            case "quot":
                return objects.box(4)
            case "definition":
                return objects.make(5, (objects.list(map(values.of, members)),))
            case "inductive":
                return self._family(values, first, {member.name: member for member in members})
        raise Refused(name, f"a {first.kind} that belongs to nothing")

    def _family(self, values: Values, first: Constant, members: Mapping[Name, Constant]) -> int:
        """Returns an inductive family, from the module's constants."""
        objects, exprs = self.objects, values.terms.exprs

        def member(name: Name, kind: str) -> Constant:
            found = members.get(name)
            if found is None or found.kind != kind:
                raise Refused(first.name, f"an inductive family without its {kind} {names.text(name)}")
            return found

        types = []
        for family in (member(name, "inductive") for name in first.all):
            constructors = [
                objects.make(0, (objects.name(name), exprs[member(name, "constructor").type])) for name in family.ctors
            ]
            types.append(objects.make(0, (objects.name(family.name), exprs[family.type], objects.list(constructors))))
        return objects.keep(
            self._inductive(
                objects.names(first.level_params),
                objects.natural(first.num_params),
                objects.list(types),
                first.safety == "unsafe",
            )
        )

    def _compare(self, environment: int, values: Values, constant: Constant) -> None:
        """Raises Refused if the kernel made a different constant of that name, or none."""
        objects = self.objects
        tag, same = self._same[constant.kind]
        found = self._find(environment, objects.name(constant.name))
        if found == objects.box(0) or objects.tag(objects.field(found, 0)) != tag:
            raise Refused(constant.name, f"the kernel makes no {constant.kind} of that name")
        if not same(objects.field(objects.field(found, 0), 0), values.of(constant)):
            raise Refused(constant.name, f"not the {constant.kind} that the kernel makes")
