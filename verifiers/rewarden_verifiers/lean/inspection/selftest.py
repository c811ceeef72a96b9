"""Checks that the library called is the kernel: that it accepts correct declarations and rejects wrong ones.

A library of another layout than the expected one could accept anything.
"""

from __future__ import annotations

import ctypes
from dataclasses import replace

from rewarden_verifiers.lean.inspection.environment import Kernel, Refused
from rewarden_verifiers.lean.inspection.objects import BYTE, WORD, Unavailable
from rewarden_verifiers.lean.inspection.terms import Constant, Expr, Level, Module, Rule

# Prop and Sort u.
_LEVELS: tuple[Level, ...] = (("zero",), ("param", ("u",)))

_EXPRS: tuple[Expr, ...] = (
    ("sort", 0),
    ("bvar", 0),
    ("bvar", 1),
    ("pi", ("h",), 1, 2, 0),
    ("pi", ("p",), 0, 3, 0),  # 4: ∀ p : Prop, p → p
    ("lam", ("h",), 1, 1, 0),
    ("lam", ("p",), 0, 5, 0),  # 6: fun (p : Prop) (h : p) => h
    ("const", ("T",), ()),
    ("const", ("T", "intro"), ()),
    ("sort", 1),
    ("pi", ("t",), 7, 9, 0),  # 10: T → Sort u
    ("app", 1, 8),
    ("app", 2, 8),
    ("bvar", 2),
    ("app", 13, 1),
    ("pi", ("t",), 7, 14, 0),
    ("pi", ("intro",), 11, 15, 0),
    ("pi", ("motive",), 10, 16, 1),  # 17: the type of T.rec
    ("lam", ("intro",), 11, 1, 0),
    ("lam", ("motive",), 10, 18, 0),  # 19: its rule for T.intro
    ("pi", ("p",), 0, 1, 0),  # 20: ∀ p : Prop, p
)

_TRUE = (
    Constant(name=("T",), kind="inductive", level_params=(), type=0, all=(("T",),), ctors=(("T", "intro"),)),
    Constant(name=("T", "intro"), kind="constructor", level_params=(), type=7, induct=("T",)),
    Constant(
        name=("T", "rec"),
        kind="recursor",
        level_params=(("u",),),
        type=17,
        all=(("T",),),
        num_motives=1,
        num_minors=1,
        rules=(Rule(constructor=("T", "intro"), fields=0, value=19),),
        k=True,
    ),
)

_GOOD = Constant(name=("good",), kind="theorem", level_params=(), type=4, value=6, all=(("good",),))


def run(kernel: Kernel) -> None:
    """Raises Unavailable if an answer differs from the known one."""
    large = 3**500
    objects = kernel.objects
    if not objects.call("lean_nat_big_eq", *[WORD] * 2, result=BYTE)(
        objects.natural(large), objects.call("lean_cstr_to_nat", ctypes.c_char_p)(str(large).encode())
    ):
        raise Unavailable("the kernel's self-test failed: a large number is not itself")
    _expect(kernel, None, _GOOD, *_TRUE)
    _expect(kernel, _GOOD, replace(_GOOD, type=20))
    _expect(kernel, _TRUE[2], *_TRUE[:2], replace(_TRUE[2], k=False))


def _expect(kernel: Kernel, refused: Constant | None, *constants: Constant) -> None:
    module = Module(levels=_LEVELS, exprs=_EXPRS, constants={constant.name: constant for constant in constants})
    try:
        kernel.given(module, kernel.empty())
    except Refused as said:
        if refused is None or said.name != refused.name:
            raise Unavailable(f"the kernel's self-test failed: it refuses {said.name}: {said.message}") from said
    else:
        if refused is not None:
            raise Unavailable("the kernel's self-test failed: it accepts what is wrong")
