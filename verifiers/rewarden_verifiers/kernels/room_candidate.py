"""The program of the kernel's room: loads the kernel, and calls it on the arrays that arrive.

A kernel can alter anything here, but gains nothing: the expected outputs, the clock and the comparison are in the other
room.
"""

from __future__ import annotations

import contextlib
import sys
from typing import Any

from rewarden_verifiers.kernels.room_arrays import (
    Gone,
    Line,
    Packed,
    callable_of,
    made,
    seeded,
    unpacked,
)

_LONGEST = 1_500


def main() -> None:
    """Answers messages until the other side closes the socket."""
    line = Line()
    try:
        order = line.header()
        blobs = line.blobs(order["arrays"])
        framework = order["framework"]
        if framework == "torch":
            import torch

            torch.set_grad_enabled(False)
        try:
            with open("kernel.py", encoding="utf-8", errors="surrogatepass") as file:
                text = file.read()
            module: dict[str, Any] = {"__name__": "kernel", "__file__": "kernel.py"}
            kernels: Any = type(sys)("kernel")
            kernels.__dict__.update(module)
            sys.modules["kernel"] = kernels
            exec(compile(text, "kernel.py", "exec"), kernels.__dict__)  # noqa: S102 - this is the room for it
        except BaseException as error:  # noqa: BLE001 - a kernel can raise anything
            line.send({"kind": "failed", "stage": "load", "error": _said(error)})
            return
        if order["name"] not in kernels.__dict__:
            line.send({"kind": "failed", "stage": "name", "error": f"it defines no {order['name']}"})
            return
        arrays = [made(head, blob, framework, "contiguous") for head, blob in zip(order["arrays"], blobs, strict=True)]
        init = unpacked(order["init"], arrays)
        called: dict[str, Any] = {}
        line.send({"kind": "loaded"})
        outputs: list[Any] = []
        args: Any = ()
        while True:
            asked = line.header()
            try:
                if asked["kind"] == "call":
                    dtype = asked["dtype"]
                    given = line.blobs(asked["arrays"])
                    arrays = [
                        made(head, blob, framework, asked["layout"])
                        for head, blob in zip(asked["arrays"], given, strict=True)
                    ]
                    if str(dtype) not in called:
                        seeded(order["seed"], framework)
                        called[str(dtype)] = callable_of(kernels.__dict__, order["name"], init, dtype)
                    args = unpacked(asked["args"], arrays)
                    value = called[str(dtype)](*args)
                    outputs = [*outputs[-1:], value]
                elif asked["kind"] == "args":
                    value = args
                else:
                    value = outputs[0]
                packed = Packed()
                tree = packed.add(value)
            except BaseException as error:  # noqa: BLE001 - a kernel can raise anything
                line.send({"kind": "failed", "stage": "call", "error": _said(error)})
                return
            line.send({"kind": "value", "tree": tree, "arrays": packed.heads}, packed.blobs)
    except Gone:
        return


def _said(error: BaseException) -> str:
    text = ""
    with contextlib.suppress(BaseException):  # printing a kernel's own exception can fail
        text = f"{type(error).__name__}: {error}"[:_LONGEST]
    return text.encode("utf-8", "replace").decode()


if __name__ == "__main__":
    main()
