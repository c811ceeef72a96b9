"""Asks a server what a client of Kimina's would: five snippets, and what Lean says of each.

pip install kimina-client
python check.py http://127.0.0.1:8080 [PROJECT]
"""

from __future__ import annotations

import sys

from kimina_client import KiminaClient, Snippet

SNIPPETS = {
    "proved": "theorem t (p q : Prop) (h : p ∧ q) : q ∧ p := ⟨h.2, h.1⟩",
    "open": "theorem t : 1 + 1 = 3 := by sorry",
    "wrong": "theorem t : 1 + 1 = 3 := by decide",
    "no Lean": "theorem",
    "hangs": "set_option maxHeartbeats 0\n"
    "theorem t : Nat.rec (motive := fun _ => Bool) true (fun _ h => h) 1000000000000 = false := rfl",
}


def main(server: str, *project: str) -> None:
    """Prints a line for each."""
    client = KiminaClient("/".join((f"{server}/compat/kimina", *project)))
    asked = [Snippet(id=name, code=code) for name, code in SNIPPETS.items()]
    for result in client.check(asked, timeout=10, show_progress=False).results:
        said = [message["data"] for message in (result.response or {}).get("messages", ())]
        print(result.id, result.analyze().status.value, f"{result.time:.2f} s", *said, sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
