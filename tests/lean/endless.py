"""Texts that never end, each behind its imports (`prelude`, `import Base`)."""

from __future__ import annotations

HANGING = """class C (n : Nat) : Type where
  x : Nat
instance a (n : Nat) [C (Nat.succ n)] : C n := C.mk 1
instance b (n : Nat) [C (Nat.succ n)] [C n] : C n := C.mk 1
set_option maxRecDepth 1000000
set_option maxHeartbeats 0
set_option synthInstance.maxHeartbeats 0
set_option synthInstance.maxSize 100000000
def z [C 0] : Nat := 1
def y : Nat := z
"""
"""Each step of a search asks for two of the next, without end."""

HUNGRY = """set_option maxRecDepth 1000000
set_option maxHeartbeats 0
theorem x : Eq (Nat.rec (motive := fun _ => Nat) Nat.zero (fun _ m => Nat.rec (motive := fun _ => Nat)
  (Nat.succ Nat.zero) (fun _ k => Nat.succ (Nat.succ k)) (Nat.succ m)) 40) Nat.zero := Eq.refl Nat.zero
"""
"""A term that doubles with each of forty steps."""
