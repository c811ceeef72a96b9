"""A module's declarations, given to Lean's kernel by a process that never elaborated anything.

What a compiled module holds was put there by a process in which foreign code ran: that its declarations were ever
checked is that process's word. Here each is given to the kernel again, in an environment that holds the imported
modules and nothing else. What the kernel makes by itself (constructors, recursors, quotients) is compared with what the
module has under those names.
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

# The kernel walks deep terms by recursion. Address space, not memory: what is not touched costs nothing.
_STACKS = (512 << 20, 128 << 20, 32 << 20)

_SHOWN = 500  # characters of a name

# By these names the kernel itself computes and types literals, whatever a module declares by them: one that declares
# `Nat` without constructors, or another `Nat.add`, has a proof of everything.
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
    """The kernel's answer. by: who asked it, `kernel` (it was called here) or `leanchecker`; empty where nobody could.
    name: of what was refused, where it is known. message: why it was refused, or why the kernel could not be asked.
    behind: of the imported constants that were asked about, which ones that have a source they rest on."""

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
    """Give every declaration of a module to the kernel, those too that no theorem reaches.

    data: the file that the module was read from, for `leanchecker`, which is asked where the kernel cannot be called
    here. toolchain: its folder. path: the folders of the imported modules, as LEAN_PATH has them. granted: those of
    BUILTIN that the module may declare, since the task's own text declares the same. asked: imported constants of which
    it is asked what stands behind them. control: a right file with the same imports. loaded: called when the imports
    are there. Raises TooLarge where `leanchecker` can tell of the control alone.
    """
    for name in module.constants:
        # Without imports the kernel makes the quotients itself, and computes by no others; with them it believes that
        # it has made them.
        if name in BUILTIN and name not in granted and (module.imports or name[0] != "Quot"):
            return _refused(name, "the kernel itself computes by this name")
    if module.is_module:
        return _refused((), "a file of the module system, which keeps its proofs in another file")
    try:
        # Here and not on the thread: the library takes the thread that it is initialised on for the process's first.
        kernel = _kernel(toolchain / "lib" / "lean")
        behind = _deep(lambda stack: kernel.replay(module, path, stack, asked, loaded))
    except Refused as refused:
        return _refused(refused.name, refused.message)
    except Unavailable as unavailable:
        if not (toolchain / "bin" / "leanchecker").is_file():
            return Replayed(status="unavailable", message=str(unavailable))
        accepted, words = leanchecker.check(data, toolchain=toolchain, path=path)
        if accepted is None:
            # Attack: terms that bring it down, so that nobody replays.
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
    """The process's kernel, tried. Raises Unavailable."""
    kernel = Kernel(Objects(library))
    selftest.run(kernel)
    return kernel


def _deep(work: Callable[[int], Result]) -> Result:
    """Work on a thread with a large stack, whose size the work is given. Raises what the work raises, and Unavailable
    where there is no such thread."""
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
