"""The declarations of a compiled module, as data: names, universe levels, expressions, constants.

Levels and expressions are in two lists, shared ones once, children before their parents: an entry refers to another by
its index, which is smaller than its own. Therefore readers loop over a list, and never recurse, however deep a hostile
file nests its terms.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple, TypeAlias

Name: TypeAlias = tuple[str | int, ...]
"""A hierarchical name by its components; () is the anonymous one. Never compare names as printed text: a component can
contain dots and line ends, so that another name looks the same."""

Level: TypeAlias = tuple[Any, ...]
"""("zero",) · ("succ", level) · ("max", level, level) · ("imax", level, level) · ("param", Name)"""

Expr: TypeAlias = tuple[Any, ...]
"""("bvar", index: int) · ("sort", level) · ("const", Name, (level, …)) · ("app", function, argument)
· ("lam" | "pi", binder: Name, type, body, info) · ("let", binder: Name, type, value, body, nondep: bool)
· ("nat", int) · ("str", str) · ("proj", structure: Name, field: int, e) · ("mdata", e)

`level` is an index into Module.levels; function, argument, type, body, value and e are indices into Module.exprs.
info: 0 default, 1 implicit, 2 strict implicit, 3 instance implicit."""

Kind = Literal["axiom", "definition", "theorem", "opaque", "quot", "inductive", "constructor", "recursor"]
"""In the order of the constructors of Lean's `ConstantInfo`."""

Safety = Literal["safe", "unsafe", "partial"]

Hints: TypeAlias = Literal["opaque", "abbrev"] | int

Quot = Literal["type", "ctor", "lift", "ind"]
"""In the order of Lean's `QuotKind`."""


class Rule(NamedTuple):
    """A recursor's computation rule. fields: the constructor's number of fields. value: index into Module.exprs."""

    constructor: Name
    fields: int
    value: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Constant:
    """A constant of a module, with every field that Lean's `ConstantInfo` has for its kind; other fields have their
    defaults.

    type, value: indices into Module.exprs; value: only for definitions, theorems and opaque constants, otherwise None.
    safety: `partial` only for definitions. hints (definitions): `opaque`, `abbrev`, or the height of a regular one.
    all: the mutual block (definitions, theorems, opaque constants, inductives and recursors).
    """

    name: Name
    kind: Kind
    level_params: tuple[Name, ...]
    type: int
    value: int | None = None
    safety: Safety = "safe"
    hints: Hints | None = None
    all: tuple[Name, ...] = ()
    # quot
    quot: Quot | None = None
    # inductive, constructor, recursor
    num_params: int = 0
    num_indices: int = 0  # inductive, recursor
    ctors: tuple[Name, ...] = ()  # inductive
    num_nested: int = 0  # inductive
    is_rec: bool = False  # inductive
    is_reflexive: bool = False  # inductive
    induct: Name = ()  # constructor
    cidx: int = 0  # constructor
    num_fields: int = 0  # constructor
    num_motives: int = 0  # recursor
    num_minors: int = 0  # recursor
    rules: tuple[Rule, ...] = ()  # recursor
    k: bool = False  # recursor


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """A compiled module, read and checked.

    version: Lean's, from the file's header (empty for the old header). imports: module names in order. is_module: a
    file of the module system, whose private part is in another file. constants: in the file's order. extra_names:
    constants that only the old code generator made, without a type. entries: the number of entries of each environment
    extension that has any.
    """

    version: str = ""
    is_module: bool = False
    imports: tuple[Name, ...] = ()
    levels: tuple[Level, ...]
    exprs: tuple[Expr, ...]
    constants: dict[Name, Constant]
    extra_names: tuple[Name, ...] = ()
    entries: dict[Name, int] = field(default_factory=dict)
