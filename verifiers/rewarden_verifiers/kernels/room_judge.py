"""The program of the judge's room: makes inputs, computes expected outputs, and compares a kernel's with them.

The kernel runs in the other room, which sends a JSON header and bytes of a known size. Before the first message, the
reference's work is finished and announced by the line `prepared`: an earlier failure is not the kernel's fault.
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from rewarden_verifiers.kernels.room_arrays import (
    Gone,
    Line,
    Packed,
    callable_of,
    made,
    numbers,
    seeded,
    unpacked,
)
from rewarden_verifiers.kernels.room_words import LONGEST, Wrong, check, error_text

MAX_BYTES = 256 * 1024**2
"""The maximum size in bytes of the inputs and outputs of all calls together."""

_WARM = 3
_TOLERANCES = {"float16": 1e-2, "bfloat16": 1e-2, "float64": 1e-7, "complex128": 1e-7}
_USUAL = 1e-4


class ReferenceFault(Exception):
    """The reference cannot be used. field: the field of the reference at fault."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


@dataclass
class Call:
    """A call: its arguments and their layout, the reference's output, and the arguments as the reference leaves
    them.
    """

    place: str
    dtype: str | None
    layout: str
    args: tuple[Any, Packed]
    expected: tuple[Any, Packed]
    left: tuple[Any, Packed]


class Reference:
    """The loaded reference. Raises ReferenceFault."""

    def __init__(self, order: Mapping[str, Any]) -> None:
        self.order, self.framework = order, order["framework"]
        self.bytes = 0
        self._called: dict[str, Any] = {}
        if self.framework == "torch":
            import torch

            torch.set_grad_enabled(False)
        whole: Any = type(sys)("reference")
        sys.modules["reference"] = whole
        self.module: dict[str, Any] = whole.__dict__
        try:
            exec(compile(order["source"], "reference.py", "exec"), self.module)  # noqa: S102 - this is the room for it
        except Exception as error:  # noqa: BLE001 - the reference can raise anything
            raise ReferenceFault("source", f"it cannot be loaded: {error_text(error)}") from None
        for name in (order["entry"], "get_inputs"):
            if not callable(self.module.get(name)):
                raise ReferenceFault("entry" if name == order["entry"] else "source", f"it defines no {name}")
        seeded(order["weights"], self.framework)
        try:
            made_init = self.module["get_init_inputs"]() if "get_init_inputs" in self.module else []
            self.init = Packed()
            self.init_tree = self.init.add(list(made_init))
        except Exception as error:  # noqa: BLE001 - the reference can raise anything
            raise ReferenceFault("source", f"get_init_inputs: {error_text(error)}") from None

    def call(self, case: int, dtype: str | None, layout: str, seed: int) -> Call | None:
        """Returns a call with its expected output; None if no two inputs can share memory."""
        place = f"case {case}, {dtype or 'own dtype'}, {layout}"
        try:
            seeded(seed, self.framework)
            given = list(self.module["get_inputs"](**self.order["cases"][case]))
        except Exception as error:  # noqa: BLE001 - the reference can raise anything
            raise ReferenceFault("cases", f"get_inputs, {place}: {error_text(error)}") from None
        try:
            if dtype is not None:
                given = [self._cast(one, dtype) for one in given]
            if layout == "shared" and not _shared(given):
                return None
            packed = Packed()
            tree = packed.add(given)
            expected, left = self._run(tree, packed, dtype, layout)
        except ReferenceFault:
            raise
        except Exception as error:  # noqa: BLE001 - the reference can raise anything
            raise ReferenceFault("source", f"it fails, {place}: {error_text(error)}") from None
        if expected[0] == {"v": None} or (not expected[1].heads and "f" not in expected[0] and "v" not in expected[0]):
            raise ReferenceFault("source", f"it returns neither an array nor a number, {place}")
        self.bytes += sum(len(blob) for one in (packed, expected[1], left[1]) for blob in one.blobs)
        if self.bytes > MAX_BYTES:
            raise ReferenceFault("cases", f"inputs and outputs of all calls are more than {MAX_BYTES} bytes")
        return Call(place, dtype, layout, (tree, packed), expected, left)

    def again(self, call: Call) -> tuple[Any, Packed]:
        """Computes the output for the same arguments again."""
        return self._run(*call.args, call.dtype, call.layout)[0]

    def _run(
        self, tree: Any, packed: Packed, dtype: str | None, layout: str
    ) -> tuple[tuple[Any, Packed], tuple[Any, Packed]]:
        if str(dtype) not in self._called:
            seeded(self.order["weights"], self.framework)
            arrays = [made(*one, self.framework, "contiguous") for one in _both(self.init)]
            init = unpacked(self.init_tree, arrays)
            self._called[str(dtype)] = callable_of(self.module, self.order["entry"], init, dtype)
        arrays = [made(*one, self.framework, layout) for one in _both(packed)]
        args = unpacked(tree, arrays)
        output = self._called[str(dtype)](*args)
        value, left = Packed(), Packed()
        return (value.add(output), value), (left.add(args), left)

    def _cast(self, value: Any, dtype: str) -> Any:
        if self.framework == "torch":
            import torch

            floating = isinstance(value, torch.Tensor) and value.is_floating_point()
            return value.to(getattr(torch, dtype)) if floating else value
        return value.astype(dtype) if isinstance(value, np.ndarray) and value.dtype.kind == "f" else value


def _both(packed: Packed) -> Iterator[tuple[dict[str, Any], bytes]]:
    return zip(packed.heads, packed.blobs, strict=True)


def _shared(given: list[Any]) -> bool:
    """Replaces arrays of equal shape and type by the same array. Returns whether there were any."""
    first: dict[tuple[str, tuple[int, ...]], Any] = {}
    found = False
    for place, value in enumerate(given):
        if not hasattr(value, "shape") or not hasattr(value, "dtype"):
            continue
        key = str(value.dtype), tuple(value.shape)
        if key in first:
            given[place], found = first[key], True
        else:
            first[key] = value
    return found


class Comparison:
    """Compares outputs, with the tolerances of the parameters, or else those of the type."""

    def __init__(self, atol: float | None, rtol: float | None) -> None:
        self.atol, self.rtol = atol, rtol
        self.worst = 0.0

    def differs(self, got: Any, blobs: Sequence[bytes], wanted: Any, expected: Packed) -> str | None:
        """Returns how a value differs from the expected one, or None. Both are trees whose headers are already known to
        be equal.
        """
        if got != wanted:
            if set(got) == {"f"} == set(wanted):
                one, other = float.fromhex(str(got["f"])), float.fromhex(wanted["f"])
                return self._array(np.asarray(one), np.asarray(other), "float64")
            return "it has a different value or structure"
        for place, (head, own, blob) in enumerate(zip(expected.heads, blobs, expected.blobs, strict=True)):
            if own != blob:
                said = self._array(numbers(head, own), numbers(head, blob), head["dtype"])
                if said is not None:
                    return said if len(blobs) == 1 else f"output {place}: {said}"
        return None

    def _array(self, got: np.ndarray[Any, Any], wanted: np.ndarray[Any, Any], dtype: str) -> str | None:
        if wanted.dtype.kind not in "fc":
            wrong = got != wanted
            return f"{int(wrong.sum())} of {wrong.size} numbers differ" if wrong.any() else None
        usual = _TOLERANCES.get(dtype, _USUAL)
        atol, rtol = (usual if given is None else given for given in (self.atol, self.rtol))
        wide = np.complex128 if wanted.dtype.kind == "c" else np.float64
        with np.errstate(all="ignore"):
            one, other = got.astype(wide), wanted.astype(wide)
            same = (one == other) | (np.isnan(one) & np.isnan(other))
            finite = np.isfinite(one) & np.isfinite(other)
            apart = np.abs(one - other)
            # Attack: NaN and infinities, whose differences cannot be compared; they equal only themselves.
            close = same | (finite & (apart <= atol + rtol * np.abs(other)))
        if finite.any():
            self.worst = max(self.worst, float(np.max(apart[finite])))
        if close.all():
            return None
        return f"{int((~close).sum())} of {close.size} numbers differ"


def told_apart(comparison: Comparison, calls: Sequence[Call]) -> bool:
    """Returns whether the expected outputs differ from those for another seed, from a constant, and from an input.

    Attack: zeros, the mean of a few outputs, or an input itself, if all of the reference's outputs are within the
    tolerance of it. Such a reference measures nothing.
    """
    first = calls[0]
    tree, expected = first.expected
    for other in calls[1:]:
        tree_2, packed = other.expected
        if packed.heads == expected.heads and comparison.differs(tree_2, packed.blobs, tree, expected) is None:
            return False
    if not expected.heads:
        return len(calls) > 1
    arrays = [numbers(head, blob) for head, blob in _both(expected)]
    constants: list[list[np.ndarray[Any, Any]]] = [[np.zeros_like(one) for one in arrays]]
    with np.errstate(all="ignore"):
        for pick in (np.mean, np.median, np.nanmean, lambda one: one.flat[0]):
            constants.append([np.full_like(one, pick(one) if one.size else 0) for one in arrays])
    for constant in constants:
        if _close(comparison, expected, constant):
            return False
    for head, blob in _both(first.args[1]):
        if all(head == own for own in expected.heads) and _close(
            comparison, expected, [numbers(head, blob)] * len(arrays)
        ):
            return False
    return True


def _close(comparison: Comparison, expected: Packed, guess: Sequence[np.ndarray[Any, Any]]) -> bool:
    return all(
        comparison._array(own, numbers(head, blob), head["dtype"]) is None
        for own, (head, blob) in zip(guess, _both(expected), strict=True)
    )


def prepare(order: Mapping[str, Any], comparison: Comparison) -> tuple[Reference, list[Call], list[list[Call]]]:
    """Returns the reference, the calls to compare, and the calls to time, by case. Raises ReferenceFault."""
    reference = Reference(order)
    cases = range(len(order["cases"]))
    dtypes: list[str | None] = list(order["dtypes"]) or [None]
    # Controls use seeds derived from the reference alone, so that no response can influence whether they fail.
    controls = [
        [call for seed in (1, 2) if (call := reference.call(case, dtypes[0], "contiguous", seed)) is not None]
        for case in cases
    ]
    for calls in controls:
        tree, packed = calls[0].expected
        tree_2, again = reference.again(calls[0])
        if packed.heads != again.heads or comparison.differs(tree_2, again.blobs, tree, packed) is not None:
            raise ReferenceFault("source", f"its output for the same input varies, {calls[0].place}")
    if not any(told_apart(comparison, calls) for calls in controls):
        raise ReferenceFault("source", "a constant, or an input returned, is within the tolerance of its outputs")
    comparison.worst = 0.0
    made_calls = [
        reference.call(case, dtype, layout, order["seed"] + number)
        for case, dtype, layout, number in itertools.product(cases, dtypes, order["layouts"], range(order["seeds"]))
    ]
    timed: list[list[Call]] = []
    if order["calls"]:
        chance = int.from_bytes(os.urandom(5), "big")
        for case in cases:
            some = [
                reference.call(case, dtypes[0], "contiguous", chance + 1000 * case + number)
                for number in range(_WARM + order["calls"])
            ]
            timed.append([call for call in some if call is not None])
    return reference, [call for call in made_calls if call is not None], timed


class Dialogue:
    """The conversation with the kernel's room."""

    def __init__(self, line: Line, comparison: Comparison) -> None:
        self._line, self._comparison = line, comparison

    def load(self, order: Mapping[str, Any], reference: Reference) -> None:
        """Asks the room to load the kernel. Raises Wrong, Gone."""
        header = {
            "framework": order["framework"],
            "name": order["name"],
            "seed": order["weights"],
            "init": reference.init_tree,
            "arrays": reference.init.heads,
        }
        self._line.send(header, reference.init.blobs)
        self._said(self._line.header(), "")

    def call(self, call: Call, before: Call | None) -> float:
        """Asks the room to call the kernel, and compares its output. Returns the seconds from the first byte to the
        last. before: the previous call, whose output must still be intact. Raises Wrong, Gone.
        """
        tree, packed = call.args
        header = {
            "kind": "call", "args": tree, "arrays": packed.heads, "dtype": call.dtype, "layout": call.layout
        }  # fmt: skip
        start = time.perf_counter()
        self._line.send(header, packed.blobs)
        value = self._value(call.expected[1], call.place, "it has a different type or shape")
        took = time.perf_counter() - start
        self._compare(value, call.expected, call.place, "wrong_output")
        self._line.send({"kind": "args"})
        changed = self._value(call.left[1], call.place, "the arguments have a different type or shape")
        self._compare(changed, call.left, call.place, "input_changed")
        if before is not None:
            # Attack: one buffer for all outputs, or an output that is only filled in later.
            self._line.send({"kind": "previous"})
            kept = self._value(before.expected[1], call.place, "the previous output has a different type or shape")
            self._compare(kept, before.expected, call.place, "output_overwritten")
        return took

    def _value(self, expected: Packed, place: str, words: str) -> tuple[Any, list[bytes]]:
        header = self._said(self._line.header(), place)
        if header.get("arrays") != expected.heads:
            # The expected header is no secret, and bytes are read only after an equal one.
            said = json.dumps(header.get("arrays"))[:300]
            raise Wrong("wrong_shape", f"{words}: {said}, expected {json.dumps(expected.heads)[:300]}", place)
        return header.get("tree"), self._line.blobs(expected.heads)

    def _compare(self, value: tuple[Any, list[bytes]], wanted: tuple[Any, Packed], place: str, reason: str) -> None:
        tree, blobs = value
        try:
            said = self._comparison.differs(tree, blobs, *wanted)
        except (ValueError, TypeError, KeyError, AttributeError, RecursionError, OverflowError) as error:
            raise Wrong("bad_reply", error_text(error), place) from None
        if said is not None:
            raise Wrong(reason, said, place)

    def _said(self, header: dict[str, Any], place: str) -> dict[str, Any]:
        if header.get("kind") == "failed":
            reason = {"load": "load_failed", "name": "kernel_missing"}.get(str(header.get("stage")), "call_failed")
            raise Wrong(reason, str(header.get("error"))[:LONGEST], place)
        return header


def judge(order: Mapping[str, Any], announce: Any) -> dict[str, Any]:
    """Returns the result of the comparison."""
    comparison = Comparison(order["atol"], order["rtol"])
    try:
        reference, calls, timed = prepare(order, comparison)
    except ReferenceFault as error:
        return {"end": "reference", "field": error.field, "message": str(error)[:LONGEST]}
    announce()
    seconds: list[float] = []
    try:
        check(order["text"], order["forbidden"], order["required"])
        dialogue = Dialogue(Line(), comparison)
        dialogue.load(order, reference)
        before: Call | None = None
        for call in calls:
            dialogue.call(call, before)
            before = call
        for some in timed:
            took = sorted([dialogue.call(call, None) for call in some][_WARM:])
            seconds.append(took[len(took) // 4])
    except Wrong as error:
        return {"end": "wrong", "reason": error.reason, "message": str(error)[:LONGEST], "place": error.place}
    except Gone:
        return {"end": "gone"}
    except (ValueError, RecursionError, OverflowError, UnicodeError) as error:
        return {"end": "wrong", "reason": "bad_reply", "message": error_text(error), "place": ""}
    return {"end": "right", "calls": len(calls), "worst": comparison.worst, "seconds": seconds}


def main() -> None:
    """Judges, and prints the result. Output of the reference itself goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    with open("order.json", encoding="utf-8") as file:
        order = json.load(file)
    os.set_inheritable(3, False)

    def announce() -> None:
        os.write(out, b"prepared\n")

    result = json.dumps(judge(order, announce)).encode()
    os.write(out, result + b"\n")


if __name__ == "__main__":
    main()
