"""The code that runs inside a slot: supervisor, zygotes, rooms. Standard library only, Python 3.10 and later.

The host sends these sources over the slot's socket when it starts, so that agent and host always have the same version
and an image needs no file of ours. A run takes this path through the files:

    host → supervisor (frames) → zygote (descriptors only) → room's init → the program
                                                                ↓ wait status
    host ← supervisor ← counters, pipes, status ←───────────────┘
"""
