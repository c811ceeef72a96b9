"""Work measured in steps of the interpreter, so that a test can tell linear from quadratic without a clock."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def steps(call: Callable[[], object]) -> int:
    """Returns how many bytecode instructions of Python `call` executes, those of what it calls included."""
    count = 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal count
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        if event == "opcode":
            count += 1
        return trace

    before, collecting = sys.gettrace(), gc.isenabled()
    gc.disable()  # what other tests hook into the collector is not the call's work
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
        if collecting:
            gc.enable()
    return count


HOSTILE = (
    "\\boxed{",
    "{",
    "}",
    "\\boxed{1} ",
    "\\boxed 7 ",
    "\\boxed   ",
    "<answer>",
    "</answer>",
    "<answer>A</answer>",
    "<answer",
    "answer is ",
    "answer is not ",
    "the best option ",
    "#### ",
    "#### 1\n",
    "1,",
    "1.",
    "-",
    "\\text{",
    "A or ",
    "A, ",
    "(A) ",
    "A) x\n",
    "the answer ",
    "**",
    "<think>",
    "</think>",
    "<think></think>",
    "<|im_end|>",
    "<|im_",
    " ",
    "\n",
    "\\",
    "$",
    "İ",
    "答案",
    "\ud800",
)
"""The fragments that a text is filled with to make a careless scan go over it again and again."""
