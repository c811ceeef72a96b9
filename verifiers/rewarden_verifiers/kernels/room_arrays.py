"""Arrays as plain bytes, and messages over the socket between the two rooms. Both rooms have a copy of this file.

A message is a JSON header, followed by the bytes of its arrays. No objects cross: neither side unpickles or evaluates
anything.
"""

from __future__ import annotations

import json
import os
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

MAX_HEADER = 1 << 20
BFLOAT16 = "bfloat16"
"""NumPy has no such type: its arrays are stored as `uint16` with the same bits."""

_KINDS = "biufc"


class Unplain(Exception):
    """The value is not an array of numbers, a number, or a list, tuple or dictionary of these."""


class Gone(Exception):
    """The other room closed the socket."""


class Packed:
    """Values as a JSON tree, and their arrays."""

    def __init__(self) -> None:
        self.heads: list[dict[str, Any]] = []
        self.blobs: list[bytes] = []
        self._seen: dict[int, int] = {}

    def add(self, value: Any, depth: int = 0) -> Any:
        """Adds a value and returns its tree. An array that occurs twice is stored once. Raises Unplain."""
        if depth > 8:
            raise Unplain("it is nested too deep")
        if value is None or isinstance(value, (bool, str)):
            return {"v": value}
        if isinstance(value, int):
            return {"v": int(value)}
        if isinstance(value, float) and not isinstance(value, np.generic):
            return {"f": float(value).hex()}
        if isinstance(value, (list, tuple)):
            return {"l" if isinstance(value, list) else "t": [self.add(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            return {"d": [[str(key), self.add(item, depth + 1)] for key, item in value.items()]}
        if id(value) not in self._seen:
            dtype, shape, blob = plain(value)
            self._seen[id(value)] = len(self.heads)
            self.heads.append({"dtype": dtype, "shape": list(shape)})
            self.blobs.append(blob)
        return {"a": self._seen[id(value)]}


def plain(value: Any) -> tuple[str, tuple[int, ...], bytes]:
    """Returns the type, the shape and the bytes of an array. Raises Unplain."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(value, torch.Tensor):
        value = value.detach().cpu().resolve_conj().resolve_neg().contiguous()
        shape = tuple(value.shape)
        if value.dtype == torch.bfloat16:
            return BFLOAT16, shape, value.view(torch.int16).numpy().tobytes()
        value = value.numpy()
    if not isinstance(value, (np.ndarray, np.generic)):
        raise Unplain(f"{type(value).__name__[:80]} is neither an array nor a number")
    value = np.asarray(value)
    if value.dtype.kind not in _KINDS:
        raise Unplain(f"an array of {value.dtype.name[:40]}")
    value = value.astype(value.dtype.newbyteorder("="), copy=False)
    return value.dtype.name, value.shape, value.tobytes()


def numbers(head: Mapping[str, Any], blob: bytes) -> np.ndarray[Any, Any]:
    """Returns an array for comparison; bfloat16 is widened to float32, which is exact."""
    shape = tuple(head["shape"])
    if head["dtype"] == BFLOAT16:
        wide = np.frombuffer(blob, dtype=np.uint16).astype(np.uint32) << 16
        return wide.view(np.float32).reshape(shape)
    return np.frombuffer(blob, dtype=np.dtype(head["dtype"])).reshape(shape)


def size_of(head: Mapping[str, Any]) -> int:
    """Returns the number of bytes of an array."""
    item = 2 if head["dtype"] == BFLOAT16 else np.dtype(head["dtype"]).itemsize
    return int(np.prod(head["shape"], dtype=np.int64)) * item


def made(head: Mapping[str, Any], blob: bytes, framework: str, layout: str) -> Any:
    """Returns a writable array of the framework, in the given layout."""
    if framework == "torch":
        import torch  # only if the task needs it

        kind = getattr(torch, head["dtype"])
        flat = torch.frombuffer(bytearray(blob), dtype=kind) if blob else torch.empty(0, dtype=kind)
        whole = flat.reshape(tuple(head["shape"]))
        if layout != "strided" or not head["shape"]:
            return whole
        wide = torch.empty((*whole.shape[:-1], 2 * whole.shape[-1]), dtype=kind)
        wide.fill_(float("nan") if kind.is_floating_point or kind.is_complex else 1)
        wide[..., ::2] = whole
        return wide[..., ::2]
    own = np.frombuffer(blob, dtype=np.dtype(head["dtype"])).reshape(tuple(head["shape"])).copy()
    if layout != "strided" or not head["shape"]:
        return own
    gaps = np.empty((*own.shape[:-1], 2 * own.shape[-1]), dtype=own.dtype)
    gaps.fill(np.nan if own.dtype.kind in "fc" else 1)
    gaps[..., ::2] = own
    return gaps[..., ::2]


def unpacked(tree: Any, arrays: Sequence[Any]) -> Any:
    """Rebuilds a value from its tree."""
    ((kind, value),) = tree.items()
    if kind == "a":
        return arrays[value]
    if kind == "f":
        return float.fromhex(value)
    if kind == "l":
        return [unpacked(item, arrays) for item in value]
    if kind == "t":
        return tuple(unpacked(item, arrays) for item in value)
    if kind == "d":
        return {key: unpacked(item, arrays) for key, item in value}
    return value


class Line:
    """One end of the socket."""

    def __init__(self, number: int = 3) -> None:
        self._number = number
        os.set_blocking(number, True)

    def send(self, header: Mapping[str, Any], blobs: Sequence[bytes] = ()) -> None:
        """Sends a message. Raises Gone."""
        text = json.dumps(header).encode()
        view = memoryview(b"".join((struct.pack(">I", len(text)), text, *blobs)))
        while view:
            try:
                view = view[os.write(self._number, view) :]
            except OSError:
                raise Gone from None

    def header(self) -> dict[str, Any]:
        """Receives a header. Raises Gone, and ValueError if it is not a JSON object or too long."""
        (length,) = struct.unpack(">I", self._receive(4))
        if length > MAX_HEADER:
            raise ValueError("the header is too long")
        found = json.loads(self._receive(length))
        if not isinstance(found, dict):
            raise ValueError("the header is not an object")
        return found

    def blobs(self, heads: Sequence[Mapping[str, Any]]) -> list[bytes]:
        """Receives the bytes of the arrays. Raises Gone."""
        return [self._receive(size_of(head)) for head in heads]

    def _receive(self, count: int) -> bytes:
        parts: list[bytes] = []
        while count:
            try:
                part = os.read(self._number, min(count, 1 << 20))
            except OSError:
                raise Gone from None
            if not part:
                raise Gone
            parts.append(part)
            count -= len(part)
        return b"".join(parts)


def callable_of(module: Mapping[str, Any], name: str, init: Sequence[Any], dtype: str | None) -> Callable[..., Any]:
    """Returns the function of that name, or an instance of the class of that name with weights of the given type.
    Raises KeyError.
    """
    found = module[name]
    if isinstance(found, type):
        found = found(*init)
        if dtype is not None and hasattr(found, "to"):
            torch = sys.modules.get("torch")
            found = found.to(getattr(torch, dtype)) if torch is not None else found
    called: Callable[..., Any] = found
    return called


def seeded(seed: int, framework: str) -> None:
    """Seeds the random generators."""
    import random

    random.seed(seed)
    np.random.seed(seed % 2**32)
    if framework == "torch":
        import torch

        torch.manual_seed(seed)
