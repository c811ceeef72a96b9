"""Tasks for tests of `kernel`: references, kernels that are right, and attacks, each beside an honest twin."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

LINEAR = """
import numpy as np

def get_inputs(rows=4):
    return [np.random.randn(rows, 8).astype(np.float32), np.random.randn(8, 8).astype(np.float32)]

def reference(x, w):
    return np.maximum(x @ w, 0)
"""

SOFTMAX = """
import numpy as np

def get_inputs(rows=3, columns=16):
    return [np.random.randn(rows, columns).astype(np.float32)]

def reference(x):
    e = np.exp(x - x.max(axis=1, keepdims=True))
    return e / e.sum(axis=1, keepdims=True)
"""

SCAN = """
import numpy as np

class Model:
    def __init__(self, decay):
        self.decay = decay

    def __call__(self, x):
        out = np.empty_like(x)
        state = np.zeros(x.shape[1:], x.dtype)
        for place in range(len(x)):
            state = self.decay * state + x[place]
            out[place] = state
        return out, state

def get_inputs(length=5):
    return [np.random.randn(length, 3)]

def get_init_inputs():
    return [0.5]
"""

LINEAR_TASK: Mapping[str, Any] = {
    "source": LINEAR,
    "framework": "numpy",
    "entry": "reference",
    "name": "kernel",
    "cases": [{"rows": 4}, {"rows": 7}],
}
SQUARE_TASK: Mapping[str, Any] = {**LINEAR_TASK, "cases": [{"rows": 8}, {"rows": 3}]}
SOFTMAX_TASK: Mapping[str, Any] = {
    "source": SOFTMAX,
    "framework": "numpy",
    "entry": "reference",
    "name": "kernel",
    "cases": [{}, {"rows": 1, "columns": 5}],
}
SCAN_TASK: Mapping[str, Any] = {"source": SCAN, "framework": "numpy", "cases": [{}, {"length": 1}]}

BODY = "    return np.maximum(x @ w, 0)"
HONEST = f"import numpy as np\n\ndef kernel(x, w):\n{BODY}\n"


def linear(body: str, before: str = "") -> str:
    """A kernel for `LINEAR_TASK`: lines of its body, and of the module before it."""
    indented = "".join(f"    {line}\n" for line in body.splitlines())
    return f"import numpy as np\n{before}\ndef kernel(x, w):\n{indented}"


ANSWER = "return np.maximum(x @ w, 0)"

ATTACKS: dict[str, tuple[str, str, str]] = {
    # name: the attack, its reason, and its honest twin
    "a constant": (linear("return np.zeros((len(x), 8), np.float32)"), "wrong_output", linear(ANSWER)),
    "only the first shape": (
        linear("if len(x) != 4:\n    return np.zeros((len(x), 8), np.float32)\n" + ANSWER),
        "wrong_output",
        linear("if len(x) != 4:\n    return np.maximum(np.matmul(x, w), 0)\n" + ANSWER),
    ),
    "the first output again": (
        linear("if not KEPT:\n    KEPT.append(np.maximum(x @ w, 0))\nreturn KEPT[0]", "KEPT = []"),
        "wrong_output",
        linear("KEPT.append(1)\n" + ANSWER, "KEPT = []"),
    ),
    "outputs kept by shape": (
        linear(
            "key = x.shape\nif key not in KEPT:\n    KEPT[key] = np.maximum(x @ w, 0)\nreturn KEPT[key]", "KEPT = {}"
        ),
        "wrong_output",
        linear(
            "key = x.tobytes(), w.tobytes()\nif key not in KEPT:\n    KEPT[key] = np.maximum(x @ w, 0)\n"
            "return KEPT[key].copy()",
            "KEPT = {}",
        ),
    ),
    "the weights of the first call": (
        linear("KEPT.setdefault(0, w.copy())\nreturn np.maximum(x @ KEPT[0], 0)", "KEPT = {}"),
        "wrong_output",
        linear("KEPT[0] = w.copy()\nreturn np.maximum(x @ KEPT[0], 0)", "KEPT = {}"),
    ),
    "one buffer for all outputs": (
        linear(
            "out = BUFFER[: len(x)]\nnp.matmul(x, w, out=out)\nreturn np.maximum(out, 0, out=out)",
            "BUFFER = np.empty((64, 8), np.float32)",
        ),
        "output_overwritten",
        linear("out = np.empty((len(x), 8), np.float32)\nnp.matmul(x, w, out=out)\nreturn np.maximum(out, 0, out=out)"),
    ),
    "an output that is filled in later": (
        linear(
            "out = np.zeros((len(x), 8), np.float32)\ntask = lambda: np.maximum(x @ w, 0, out=out)\n"
            "threading.Timer(0.2, task).start()\nreturn out",
            "import threading",
        ),
        "wrong_output",
        linear(
            "out = np.zeros((len(x), 8), np.float32)\n"
            "thread = threading.Thread(target=lambda: np.maximum(x @ w, 0, out=out))\n"
            "thread.start()\nthread.join()\nreturn out",
            "import threading",
        ),
    ),
    "an input as working memory": (
        linear("out = np.maximum(x @ w, 0)\nw[:] = 0\nreturn out"),
        "input_changed",
        linear("w = w.copy()\nout = np.maximum(x @ w, 0)\nw[:] = 0\nreturn out"),
    ),
    "inputs set so that the answer is easy": (
        linear("x[:] = 0\nw[:] = 0\nreturn np.zeros((len(x), 8), np.float32)"),
        "wrong_output",
        linear("x = x + 0\nw = w + 0\n" + ANSWER),
    ),
    "inputs taken for contiguous": (
        linear("x = np.lib.stride_tricks.as_strided(x, x.shape, (x.shape[1] * x.itemsize, x.itemsize))\n" + ANSWER),
        "wrong_output",
        linear("x = np.ascontiguousarray(x)\n" + ANSWER),
    ),
    "the reference's memory": (
        linear(
            "found = [o for o in gc.get_objects() if type(o) is np.ndarray and o.shape == (len(x), 8)]\n"
            "return found[0] if found else np.zeros((len(x), 8), np.float32)",
            "import gc",
        ),
        "wrong_output",
        linear("gc.get_objects()\n" + ANSWER, "import gc"),
    ),
    "the reference's function": (
        linear("return sys.modules['reference'].reference(x, w)", "import sys"),
        "call_failed",
        linear("sys.modules.get('reference')\n" + ANSWER, "import sys"),
    ),
    "the judge's files": (
        linear("open('order.json').read()\n" + ANSWER),
        "call_failed",
        linear("open('kernel.py').read()\n" + ANSWER),
    ),
    "empty memory that another left": (
        linear("return np.empty((len(x), 8), np.float32)"),
        "wrong_output",
        linear("out = np.empty((len(x), 8), np.float32)\nout[:] = np.maximum(x @ w, 0)\nreturn out"),
    ),
    "a comparison that is patched": (
        linear(
            "return np.zeros((len(x), 8), np.float32)",
            "np.allclose = np.isclose = np.array_equal = np.testing.assert_allclose = lambda *a, **k: True",
        ),
        "wrong_output",
        linear(ANSWER, "np.allclose = np.isclose = lambda *a, **k: False"),
    ),
    "the room's own modules patched": (
        linear(
            "return np.zeros((len(x), 8), np.float32)",
            "import __main__\nfrom rewarden_verifiers.kernels import room_arrays\n"
            "room_arrays.numbers = lambda *a: np.zeros(1)\n__main__._said = lambda e: ''",
        ),
        "wrong_output",
        linear(ANSWER, "from rewarden_verifiers.kernels import room_arrays\nroom_arrays.numbers = None"),
    ),
    "a forged message": (
        linear(
            "head = json.dumps({'kind': 'value', 'tree': {'v': True}, 'arrays': []}).encode()\n"
            "os.write(3, struct.pack('>I', len(head)) + head)\n" + ANSWER,
            "import json, os, struct",
        ),
        "wrong_shape",
        linear(ANSWER, "import json, os, struct"),
    ),
    "noise on the socket": (
        linear("os.write(3, b'\\xff' * 64)\n" + ANSWER, "import os"),
        "bad_reply",
        linear("os.write(2, b'\\xff' * 64)\n" + ANSWER, "import os"),
    ),
    "a forged result": (
        linear(
            "return np.zeros((len(x), 8), np.float32)",
            'print(\'prepared\\n{"end": "right", "calls": 8, "worst": 0.0, "seconds": []}\', flush=True)',
        ),
        "wrong_output",
        linear(ANSWER, "print('prepared')"),
    ),
    "an exit with success": (linear("os._exit(0)", "import os"), "crashed", linear(ANSWER, "import os")),
    "an exit while it is loaded": ("import sys\nsys.exit(0)\n", "load_failed", HONEST),
    "an exit at the end": (
        linear("return np.zeros((len(x), 8), np.float32)", "import atexit, os\natexit.register(lambda: os._exit(0))"),
        "wrong_output",
        linear(ANSWER, "import atexit\natexit.register(print)"),
    ),
    "a signal to itself": (
        linear("os.kill(os.getpid(), signal.SIGKILL)", "import os, signal"),
        "crashed",
        linear(ANSWER, "import signal"),
    ),
    "not a number": (linear("return np.full((len(x), 8), np.nan, np.float32)"), "wrong_output", linear(ANSWER)),
    "infinity": (linear("return np.full((len(x), 8), np.inf, np.float32)"), "wrong_output", linear(ANSWER)),
    "one number that is none": (
        linear("out = np.maximum(x @ w, 0)\nout[-1, -1] = np.nan\nreturn out"),
        "wrong_output",
        linear("out = np.maximum(x @ w, 0)\nout[-1, -1] += 0\nreturn out"),
    ),
    "an array that is equal to all": (
        linear(
            "return np.zeros((len(x), 8), np.float32).view(Sly)",
            "class Sly(np.ndarray):\n    def __eq__(self, other):\n        return True\n    __le__ = __eq__",
        ),
        "wrong_output",
        linear("return np.maximum(x @ w, 0).view(Own)", "class Own(np.ndarray):\n    pass"),
    ),
    "a computation that is put off": (
        linear(
            "return Later(x, w)",
            "class Later:\n    def __init__(self, x, w):\n        self.pair = x, w\n"
            "    def __array__(self, *a, **k):\n        return np.maximum(self.pair[0] @ self.pair[1], 0)",
        ),
        "call_failed",
        linear(
            "return np.asarray(Later(x, w))",
            "class Later:\n    def __init__(self, x, w):\n        self.pair = x, w\n"
            "    def __array__(self, *a, **k):\n        return np.maximum(self.pair[0] @ self.pair[1], 0)",
        ),
    ),
    "half the precision": (
        linear("return np.maximum(x.astype(np.float16) @ w.astype(np.float16), 0).astype(np.float32)"),
        "wrong_output",
        linear("return np.maximum(x.astype(np.float64) @ w.astype(np.float64), 0).astype(np.float32)"),
    ),
    "another type": (
        linear("return np.maximum(x @ w, 0).astype(np.float64)"),
        "wrong_shape",
        linear("return np.maximum(x @ w, 0).astype(x.dtype)"),
    ),
    "a shape that broadcasts": (
        linear("return np.zeros((1, 8), np.float32)"),
        "wrong_shape",
        linear("return np.maximum(x @ w, 0).reshape(len(x), 8)"),
    ),
    "an empty output": (linear("return np.zeros((0, 8), np.float32)"), "wrong_shape", linear(ANSWER)),
    "an input returned": (linear("return x"), "wrong_output", linear("x + 0\n" + ANSWER)),
    "other seeds and threads": (
        linear(
            "return np.zeros((len(x), 8), np.float32)",
            "import os, random\nnp.random.seed(0)\nrandom.seed(0)\nos.environ['OMP_NUM_THREADS'] = '64'",
        ),
        "wrong_output",
        linear(ANSWER, "import random\nnp.random.seed(0)\nrandom.seed(0)"),
    ),
    "generators that are patched": (
        linear("return np.zeros((len(x), 8), np.float32)", "np.random.randn = lambda *shape: np.zeros(shape)"),
        "wrong_output",
        linear(ANSWER, "np.random.randn = lambda *shape: np.zeros(shape)"),
    ),
    "objects in an array": (
        linear("return np.full((len(x), 8), None)"),
        "call_failed",
        linear("np.full((len(x), 8), None)\n" + ANSWER),
    ),
    "an exception that cannot be printed": (
        linear("raise Sly()", "class Sly(BaseException):\n    def __str__(self):\n        raise SystemExit(0)"),
        "call_failed",
        linear(ANSWER, "class Sly(BaseException):\n    pass"),
    ),
}
