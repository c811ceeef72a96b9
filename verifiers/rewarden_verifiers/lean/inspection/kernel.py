"""Gives a module's declarations to Lean's kernel, in a process that never elaborated anything.

The content of a compiled module was written by a process in which foreign code ran, so only that process vouches that
its declarations were checked. Here each is given to the kernel again, in an environment that contains the imported
modules and nothing else. The constants that the kernel makes itself (constructors, recursors, quotients) are compared
with the module's constants of the same names.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeVar

from rewarden_verifiers.lean.inspection import leanchecker, names, selftest
from rewarden_verifiers.lean.inspection.environment import Kernel, Refused
from rewarden_verifiers.lean.inspection.objects import Objects, Unavailable
from rewarden_verifiers.lean.inspection.same import TooLarge
from rewarden_verifiers.lean.inspection.terms import Module, Name

Result = TypeVar("Result")

# The kernel walks deep terms recursively. This is address space, and not memory: untouched pages cost nothing.
_STACKS = (512 << 20, 128 << 20, 32 << 20)

_SHOWN = 500  # characters of a name

# The kernel itself computes and types literals by these names, whatever a module declares under them: a module that
# declares `Nat` without constructors, or another `Nat.add`, has a proof of everything.
BUILTIN: frozenset[Name] = frozenset(
    {
        *((name,) for name in ("Bool", "Nat", "Char", "List", "String")),
        *(("Bool", name) for name in ("true", "false")),
        *(("Nat", name) for name in ("zero", "succ", "add", "sub", "mul", "div", "mod", "gcd", "beq", "ble", "pow")),
        *(("Nat", name) for name in ("land", "lor", "xor", "shiftLeft", "shiftRight", "log2")),
        *(("List", name) for name in ("nil", "cons")),
        *(("String", name) for name in ("mk", "ofList")),
        ("Char", "ofNat"),
        *(("Lean", name) for name in ("reduceBool", "reduceNat")),
        ("Quot",),
        *(("Quot", name) for name in ("mk", "lift", "ind")),
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Replayed:
    """The kernel's answer. by: how it was called, `kernel` (in this process) or `leanchecker`; empty if neither could
    be called. name: the rejected constant, if known. message: the reason of a rejection, or why the kernel could not be
    called. behind: for each imported constant in question, the constants with a source name on which it depends."""

    status: Literal["accepted", "rejected", "unavailable"]
    by: Literal["", "kernel", "leanchecker"] = ""
    name: Name = ()
    message: str = ""
    behind: Mapping[Name, frozenset[Name]] = field(default_factory=dict)


def replay(
    module: Module,
    data: bytes,
    *,
    toolchain: Path,
    path: Sequence[str] = (),
    granted: Collection[Name] = (),
    asked: Collection[Name] = (),
    control: bytes | None = None,
    loaded: Callable[[], None] = lambda: None,
) -> Replayed:
    """Gives every declaration of a module to the kernel, including those that no theorem reaches.

    data: the module's file, for `leanchecker`, which is used if the kernel cannot be called in this process. toolchain:
    its folder. path: the folders of the imported modules, as in LEAN_PATH. granted: the names of BUILTIN that the
    module may declare, because the task's own text declares the same. asked: imported constants whose dependencies are
    requested. control: a correct file with the same imports. loaded: called when the imports are loaded. Raises
    TooLarge if `leanchecker` can check only the control.
    """
    for name in module.constants:
        # Without imports, the kernel makes the quotients itself, and computes by no other names; with imports, it
        # assumes that it has made them.
        if name in BUILTIN and name not in granted and (module.imports or name[0] != "Quot"):
            return _refused(name, "the kernel itself computes by this name")
    if module.is_module:
        return _refused((), "a file of the module system, which keeps its proofs in another file")
    try:
        # Here and not on the thread: the library takes the thread that initialises it for the process's first one.
        kernel = _kernel(toolchain / "lib" / "lean")
        behind = _deep(lambda stack: kernel.replay(module, path, stack, asked, loaded))
    except Refused as refused:
        return _refused(refused.name, refused.message)
    except Unavailable as unavailable:
        if not (toolchain / "bin" / "leanchecker").is_file():
            return Replayed(status="unavailable", message=str(unavailable))
        accepted, words = leanchecker.check(data, toolchain=toolchain, path=path)
        if accepted is None:
            # Attack: terms that make it crash, so that nothing is replayed.
            if control is not None and leanchecker.check(control, toolchain=toolchain, path=path)[0]:
                raise TooLarge(words) from None
            return Replayed(status="unavailable", message=f"{unavailable}; {words}")
        return Replayed(status="accepted" if accepted else "rejected", by="leanchecker", message=words)
    return Replayed(status="accepted", by="kernel", behind=behind)


def _refused(name: Name, message: str) -> Replayed:
    said = f"{names.text(name)[:_SHOWN]}: {message}" if name else message
    return Replayed(status="rejected", by="kernel", name=name, message=said)


@functools.cache
def _kernel(library: Path) -> Kernel:
    """Returns the process's kernel, after a self-test. Raises Unavailable."""
    kernel = Kernel(Objects(library))
    selftest.run(kernel)
    return kernel


def _deep(work: Callable[[int], Result]) -> Result:
    """Runs work on a thread with a large stack; the work receives the stack's size. Raises its exceptions, and
    Unavailable if there is no such thread."""
    for stack in _STACKS:
        before = threading.stack_size(stack)
        with ThreadPoolExecutor(max_workers=1) as threads:
            try:
                working = threads.submit(work, stack)
            except RuntimeError:  # A room may not have that much address space.
                continue
            finally:
                threading.stack_size(before)
            return working.result()
    raise Unavailable("no thread can be had with the stack that the kernel needs")
