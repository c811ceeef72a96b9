"""Lean: a proof is right when the kernel accepts it, for the statement that was asked, on permitted axioms alone.

The way of a response:

    reference.py    the statement, read: its imports, what stands before its theorem, the theorem without its proof
    gate.py         what no submission may contain, by its words (source.py)
    assembly.py     the whole file: the reference's imports, and its statement before a bare proof
    verifier.py     the screen (`ctx.prover.check`, a warm process), then the strict tier (`ctx.prover.compile`, fresh
                    rooms; inspecting.py), and the verdict
    inspection/     a program of its own, which runs in a room and elaborates nothing: reads both compiled files
                    (olean.py, terms.py), compares them (same.py), collects axioms (axioms.py), and gives every
                    declaration to the kernel (kernel.py)

What keeps a false proof from scoring is the last of these. Gate and screen make refusals early, cheap and plain.
"""
