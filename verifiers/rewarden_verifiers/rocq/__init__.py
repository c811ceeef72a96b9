"""Proofs in Rocq (Coq): compiled in one room, and checked again by the independent checker in another."""
