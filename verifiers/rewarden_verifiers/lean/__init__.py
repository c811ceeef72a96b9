"""Lean: a proof is right if the kernel accepts it for the given statement, with only permitted axioms.

The files, in the order in which a response passes through them:

    reference.py    reads the statement: its imports, the text before its theorem, the theorem without its proof
    gate.py         rejects forbidden content, by its words (source.py)
    assembly.py     makes the whole file: the reference's imports, and its statement before a bare proof
    verifier.py     the screen (`ctx.prover.check`, a warm process), then the strict tier (`ctx.prover.compile`, fresh
                    rooms; inspecting.py), and the verdict
    inspection/     a separate program, which runs in a room and elaborates nothing: it reads both compiled files
                    (olean.py, terms.py), compares them (same.py), collects axioms (axioms.py), and gives every
                    declaration to the kernel (kernel.py)

Only the last one keeps a false proof from scoring. Gate and screen make rejections early, cheap and plain.
"""
