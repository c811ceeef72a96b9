/-
A library in the place of Lean's own: what small statements need, under the names by which Lean's kernel, its
elaborator and its axioms are known. It stands in for Init where only Lean's shared libraries are at hand.
-/
prelude

set_option autoImplicit false
set_option genSizeOf false

universe u v w

/-! What Lean's compiler asks for by name. -/

unsafe axiom lcErased : Type
unsafe axiom lcAny : Type
unsafe axiom lcVoid : Type
unsafe axiom lcProof {α : Prop} : α
unsafe axiom lcUnreachable {α : Sort u} : α

/-! Logic. -/

abbrev outParam (α : Sort u) : Sort u := α

@[inline] def Function.const {α : Sort u} (β : Sort v) (a : α) : β → α := fun _ => a

@[inline] def id {α : Sort u} (a : α) : α := a

set_option bootstrap.inductiveCheckResultingUniverse false in
inductive PUnit : Sort u where
  | unit : PUnit

abbrev Unit : Type := PUnit

abbrev Unit.unit : Unit := PUnit.unit

inductive True : Prop where
  | intro : True

inductive False : Prop

inductive Empty : Type

def Not (a : Prop) : Prop := a → False

def False.elim {α : Sort u} (h : False) : α :=
  False.rec (fun _ => α) h

def absurd {a : Prop} {b : Sort v} (h : a) (no : Not a) : b :=
  False.rec (fun _ => b) (no h)

inductive Eq {α : Sort u} : α → α → Prop where
  | refl (a : α) : Eq a a

abbrev Eq.ndrec.{u1, u2} {α : Sort u2} {a : α} {motive : α → Sort u1} (m : motive a) {b : α} (h : Eq a b) : motive b :=
  Eq.rec (motive := fun b _ => motive b) m h

theorem rfl {α : Sort u} {a : α} : Eq a a := Eq.refl a

theorem Eq.subst {α : Sort u} {motive : α → Prop} {a b : α} (h : Eq a b) (m : motive a) : motive b :=
  Eq.ndrec m h

theorem Eq.symm {α : Sort u} {a b : α} (h : Eq a b) : Eq b a :=
  Eq.subst (motive := fun x => Eq x a) h rfl

theorem Eq.trans {α : Sort u} {a b c : α} (h : Eq a b) (k : Eq b c) : Eq a c :=
  Eq.subst k h

theorem congrArg {α : Sort u} {β : Sort v} {a b : α} (f : α → β) (h : Eq a b) : Eq (f a) (f b) :=
  Eq.subst (motive := fun x => Eq (f a) (f x)) h rfl

inductive HEq : {α : Sort u} → α → {β : Sort u} → β → Prop where
  | refl {α : Sort u} (a : α) : HEq a a

theorem eq_of_heq {α : Sort u} {a b : α} (h : HEq a b) : Eq a b :=
  have cast (α β : Sort u) (a : α) (b : β) (h : HEq a b) : (e : Eq α β) → Eq (Eq.ndrec (motive := id) a e) b :=
    HEq.rec (fun _ => rfl) h
  cast α α a b h rfl

theorem heq_of_eq {α : Sort u} {a b : α} (h : Eq a b) : HEq a b :=
  Eq.subst h (HEq.refl a)

structure And (a b : Prop) : Prop where
  intro ::
  left : a
  right : b

inductive Or (a b : Prop) : Prop where
  | inl (h : a) : Or a b
  | inr (h : b) : Or a b

structure Iff (a b : Prop) : Prop where
  intro ::
  mp : a → b
  mpr : b → a

inductive Exists {α : Sort u} (p : α → Prop) : Prop where
  | intro (w : α) (h : p w) : Exists p

inductive Nonempty (α : Sort u) : Prop where
  | intro (val : α) : Nonempty α

/-! Data. -/

structure Prod (α : Type u) (β : Type v) where
  mk ::
  fst : α
  snd : β

structure PProd (α : Sort u) (β : Sort v) where
  mk ::
  fst : α
  snd : β

structure PULift.{r, s} (α : Sort s) : Sort (max s r 1) where
  up ::
  down : α

inductive Bool : Type where
  | false : Bool
  | true : Bool

export Bool (false true)

@[macro_inline] def cond {α : Sort u} : Bool → α → α → α
  | true, a, _ => a
  | false, _, b => b

class Inhabited (α : Sort u) where
  default : α

class inductive Decidable (p : Prop) where
  | isFalse (h : Not p) : Decidable p
  | isTrue (h : p) : Decidable p

@[inline_if_reduce, nospecialize] def Decidable.decide (p : Prop) [h : Decidable p] : Bool :=
  h.casesOn (fun _ => false) (fun _ => true)

export Decidable (decide)

set_option genCtorIdx false in
inductive Nat where
  | zero : Nat
  | succ (n : Nat) : Nat

class OfNat (α : Type u) (_ : Nat) where
  ofNat : α

instance instOfNatNat (n : Nat) : OfNat Nat n where
  ofNat := n

@[extern "lean_nat_dec_eq"]
protected def Nat.decEq : (n m : Nat) → Decidable (Eq n m)
  | .zero, .zero => .isTrue rfl
  | .zero, .succ _ => .isFalse fun h => Nat.noConfusion h
  | .succ _, .zero => .isFalse fun h => Nat.noConfusion h
  | .succ n, .succ m =>
    match Nat.decEq n m with
    | .isTrue h => .isTrue (congrArg Nat.succ h)
    | .isFalse no => .isFalse fun h => Nat.noConfusion h no

@[extern "lean_nat_dec_le"]
protected def Nat.ble : Nat → Nat → Bool
  | .zero, _ => true
  | .succ _, .zero => false
  | .succ n, .succ m => Nat.ble n m

@[extern "lean_nat_sub"]
protected def Nat.sub : Nat → Nat → Nat
  | n, .zero => n
  | .zero, .succ _ => .zero
  | .succ n, .succ m => Nat.sub n m

@[macro_inline] def dite {α : Sort u} (c : Prop) [h : Decidable c] (t : c → α) (e : Not c → α) : α :=
  match h with
  | .isTrue h => t h
  | .isFalse h => e h

@[macro_inline] def ite {α : Sort u} (c : Prop) [h : Decidable c] (t e : α) : α :=
  match h with
  | .isTrue _ => t
  | .isFalse _ => e

inductive List (α : Type u) where
  | nil : List α
  | cons (head : α) (tail : List α) : List α

structure Char where
  val : Nat

structure String where
  data : List Char

inductive Lean.Name where
  | anonymous : Name
  | str (pre : Name) (str : String)
  | num (pre : Name) (i : Nat)

/-! Lean keeps a hash beside each name: those that its parser reads must be made by its own functions, which stand
behind `extern` here. -/

@[extern "l_Lean_Name_mkSimple"] def Lean.Name.mkSimple (s : String) : Name := .str .anonymous s
@[extern "l_Lean_Name_mkStr1"] def Lean.Name.mkStr1 (a : String) : Name := .str .anonymous a
@[extern "l_Lean_Name_mkStr2"] def Lean.Name.mkStr2 (a b : String) : Name := .str (.mkStr1 a) b
@[extern "l_Lean_Name_mkStr3"] def Lean.Name.mkStr3 (a b c : String) : Name := .str (.mkStr2 a b) c
@[extern "l_Lean_Name_mkStr4"] def Lean.Name.mkStr4 (a b c d : String) : Name := .str (.mkStr3 a b c) d

/-! Axioms by the names by which Lean knows them. -/

axiom propext {a b : Prop} : Iff a b → Eq a b

init_quot

axiom Quot.sound {α : Sort u} {r : α → α → Prop} {a b : α} : r a b → Eq (Quot.mk r a) (Quot.mk r b)

axiom Classical.choice {α : Sort u} : Nonempty α → α

axiom sorryAx (α : Sort u) (synthetic : Bool) : α

/-! Arithmetic. -/

@[extern "lean_nat_add"]
protected def Nat.add : Nat → Nat → Nat
  | n, .zero => n
  | n, .succ m => .succ (Nat.add n m)

@[extern "lean_nat_mul"]
protected def Nat.mul : Nat → Nat → Nat
  | _, .zero => .zero
  | n, .succ m => Nat.add (Nat.mul n m) n

theorem Nat.add_zero (n : Nat) : Eq (Nat.add n .zero) n := rfl

theorem Nat.add_succ (n m : Nat) : Eq (Nat.add n (.succ m)) (.succ (Nat.add n m)) := rfl

theorem Nat.zero_add (n : Nat) : Eq (Nat.add .zero n) n :=
  Nat.rec rfl (fun _ ih => congrArg Nat.succ ih) n

/-! Lemmas that proofs use. -/

theorem And.swap {a b : Prop} (h : And a b) : And b a := ⟨h.right, h.left⟩

theorem Or.swap {a b : Prop} : Or a b → Or b a
  | .inl h => .inr h
  | .inr h => .inl h

theorem not_not_intro {a : Prop} (h : a) : Not (Not a) := fun no => no h

/-! Tactics: their elaborators are Lean's own, their syntax is declared where they are used, as in Lean's library. -/

instance (n m : Nat) : Decidable (Eq n m) := Nat.decEq n m

theorem of_decide_eq_true {p : Prop} [inst : Decidable p] : Eq (decide p) true → p :=
  match inst with
  | .isTrue h => fun _ => h
  | .isFalse _ => fun h => Bool.noConfusion h

namespace Lean

abbrev SyntaxNodeKind : Type := Name

inductive ParserDescr where
  | const (name : Name)
  | unary (name : Name) (p : ParserDescr)
  | binary (name : Name) (p₁ p₂ : ParserDescr)
  | node (kind : SyntaxNodeKind) (prec : Nat) (p : ParserDescr)
  | trailingNode (kind : SyntaxNodeKind) (prec lhsPrec : Nat) (p : ParserDescr)
  | symbol (val : String)
  | nonReservedSymbol (val : String) (includeIdent : Bool)
  | cat (catName : Name) (rbp : Nat)

syntax (name := cdot) "· " withPosition(tacticSeq) : tactic

namespace Parser.Tactic

syntax (name := intro) "intro" notFollowedBy("|") many(ppSpace colGt term:1024) : tactic
syntax (name := exact) "exact " term : tactic
syntax (name := refine) "refine " term : tactic
syntax (name := apply) "apply " term : tactic
syntax (name := assumption) "assumption" : tactic
syntax (name := constructor) "constructor" : tactic
syntax (name := decide) "decide" : tactic

end Parser.Tactic

end Lean
