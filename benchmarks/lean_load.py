"""Lean texts for the benchmark of `lean`, on the tests' library `Base`. A number makes each text unique, so that no
process and no cache knows it.
"""

from __future__ import annotations

from collections.abc import Sequence

HEADER = "prelude\nimport Base\n\n"


def computed(number: int, size: int = 40) -> str:
    """Returns a recursive function and its value at `size`, proved by `decide`: two commands, mostly whnf and the
    kernel.
    """
    return f"""def sum{number} : Nat → Nat
  | Nat.zero => Nat.zero
  | Nat.succ n => Nat.add (sum{number} n) (Nat.succ n)
set_option maxRecDepth 100000
theorem computed{number} : Eq (sum{number} {size}) {size * (size + 1) // 2} := by decide
"""


def searched(number: int, depth: int = 120) -> str:
    """Returns an instance that takes a search of so many steps."""
    place = "(Nat.succ " * depth + "Nat.zero" + ")" * depth
    return f"""class S{number} (n : Nat) : Type where
  x : Nat
instance first{number} : S{number} Nat.zero := S{number}.mk 1
instance next{number} (n : Nat) [S{number} n] : S{number} (Nat.succ n) := S{number}.mk 1
def found{number} (n : Nat) [S{number} n] : Nat := S{number}.x n
set_option maxRecDepth 100000
set_option synthInstance.maxSize 100000
set_option synthInstance.maxHeartbeats 0
theorem searched{number} : Eq (found{number} {place}) 1 := rfl
"""


def stepped(number: int, steps: int = 40) -> str:
    """Returns a proof of so many pairs of tiny tactics."""
    kept = "p"
    for step in range(steps):
        kept = f"And {'pq'[step % 2]} ({kept})"
    tactics = "".join(f"  constructor\n  exact {'ab'[step % 2]}\n" for step in reversed(range(steps)))
    return f"theorem stepped{number} (p q : Prop) (a : p) (b : q) : {kept} := by\n{tactics}  exact a\n"


def small(number: int, count: int) -> str:
    """Returns so many declarations of one to three lines, each of which takes Lean less than ten milliseconds."""
    forms = (
        "theorem {} (n : Nat) : Eq (Nat.add Nat.zero n) n := Nat.zero_add n\n",
        "theorem {} (p q r : Prop) (h : And p (And q r)) : And (And p q) r :=\n"
        "  And.intro (And.intro h.left h.right.left) h.right.right\n",
        "theorem {} : Eq (Nat.add 2 2) 4 := by decide\n",
        "def {0} : Nat → Nat\n  | Nat.zero => Nat.zero\n  | Nat.succ n => Nat.add ({0} n) 2\n",
        "theorem {} (p q : Prop) (a : p) (b : q) : And p q := by\n  constructor\n  exact a\n  exact b\n",
    )
    return "".join(forms[each % len(forms)].format(f"small{number}_{each}") for each in range(count))


PROOFS: Sequence[str] = (
    "  by\n  intro n\n  exact Nat.zero_add n\n",
    "  fun n => Nat.zero_add n\n",
    "  by\n  intro m\n  apply Nat.zero_add\n",
)
"""Proofs of `forall n, 0 + n = n`."""


def statement(number: int) -> str:
    """Returns a reference."""
    return f"{HEADER}theorem zero_add_{number} : (n : Nat) → Eq (Nat.add Nat.zero n) n := sorry\n"


def proof(number: int, variant: int, extra: str = "") -> str:
    """Returns a proof of the reference, after other declarations."""
    body = PROOFS[variant % len(PROOFS)]
    return f"{HEADER}{extra}theorem zero_add_{number} : (n : Nat) → Eq (Nat.add Nat.zero n) n :=\n{body}-- {variant}\n"
