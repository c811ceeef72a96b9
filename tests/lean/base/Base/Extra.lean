prelude
import Base

/-! What a library that one should not trust would have: an axiom, and a theorem that rests on it. -/

namespace Base

axiom cheat : ∀ (p : Prop), p

theorem everything (p : Prop) : p := cheat p

theorem honest (p : Prop) (h : p) : p := h

/-- Found by everyone, named by nobody. -/
class Given (p : Prop) : Prop where
  proof : p

private instance (p : Prop) : Given p := ⟨cheat p⟩

private theorem sound : True := True.intro

private instance : Given True := ⟨sound⟩

end Base

/-! A name that means two constants, and one that means another's. -/

theorem twin (p : Prop) : p := Base.cheat p

theorem Base.twin : True := True.intro

export Base (twin honest)
