"""`kernel`: attacks in real rooms, each with an honest twin; timing; and the fault of each failure."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_sandboxes.rootfs import default_folder
from rewarden_server.config import load_config
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings
from rewarden_verifiers.kernels.room_words import Wrong, check
from tests.programs import problem_of
from tests.verifiers.kernel_tasks import ANSWER, ATTACKS, HONEST, LINEAR, LINEAR_TASK, SQUARE_TASK, linear


async def _engine(rootfs: str) -> Engine:
    if (problem := await problem_of("bwrap")) is not None:
        pytest.skip(problem)
    sandbox = replace(load_config(environ=os.environ).sandbox, launcher="bwrap", rootfs=rootfs)
    made = Engine(settings=EngineSettings(workers=1), sandbox=sandbox)
    await made.start()
    return made


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """An engine whose sandbox has this machine's NumPy, under bubblewrap."""
    made = await _engine("host")
    yield made
    await made.close()


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def torch_engine() -> AsyncIterator[Engine]:
    """An engine whose sandbox has torch: the image `python-science` as a root file system."""
    folder = Path(os.environ.get("REWARDEN_TEST_ROOTFS") or default_folder())
    if not any((folder / "python-science/usr/local/lib").glob("python3*/dist-packages/torch")):
        pytest.skip("kernels of torch are not judged here: the image python-science is not built")
    made = await _engine(str(folder))
    yield made
    await made.close()


async def judged(engine: Engine, code: str, reference: Mapping[str, Any] = LINEAR_TASK, **params: Any) -> Verdict:
    sample = Sample(response=f"```python\n{code}\n```", reference=reference)
    return (await engine.verify(Batch(samples=[sample], use=Use(name="kernel", params=params)))).verdicts[0]


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_an_attack_earns_nothing_and_its_twin_all(engine: Engine) -> None:
    async def pair(name: str) -> tuple[str, Any, Any, Any]:
        attack, reason, twin = ATTACKS[name]
        first = await judged(engine, attack)
        return name, first.score, first.reason == reason, (await judged(engine, twin)).score

    found = await asyncio.gather(*map(pair, ATTACKS))
    assert [one for one in found if one[1:] != (0.0, True, 1.0)] == []


FORBIDDEN = {
    # name: a kernel that calls the product of matrices all the same
    "the operator": linear(ANSWER),
    "in place": linear("x = x.copy()\nw = w + 0\nx @= w\nreturn np.maximum(x, 0)"),
    "an attribute": linear("return np.maximum(np.matmul(x, w), 0)"),
    "an import": linear("return np.maximum(m(x, w), 0)", "from numpy import matmul as m"),
    "a method": linear("return np.maximum(x.dot(w), 0)"),
    "a name from a text": linear("return np.maximum(getattr(np, 'matmul')(x, w), 0)"),
    "a name put together": linear("return np.maximum(getattr(np, 'mat' + 'mul')(x, w), 0)"),
    "evaluated": linear("return np.maximum(eval('x' + chr(64) + 'w'), 0)"),
    "a name in a pattern": linear("match np:\n    case object(matmul=m):\n        return np.maximum(m(x, w), 0)"),
    "a name in a class's pattern": linear(
        "match np:\n    case Any(m):\n        return np.maximum(m(x, w), 0)",
        "class Every(type):\n    def __instancecheck__(cls, one): return True\n"
        "class Any(metaclass=Every):\n    __match_args__ = ('mat' + 'mul',)",
    ),
    "a name in a format": linear(
        "return np.maximum(Formatter().get_field('0.mat' + 'mul', [np], {})[0](x, w), 0)",
        "from string import Formatter",
    ),
    "a module that it writes": linear(
        "return np.maximum(own.m(x, w), 0)",
        "open('own.py', 'w').write('import numpy as np; m = np.mat' + 'mul')\nimport own",
    ),
    "its reflected method's name": linear("return np.maximum(np.ndarray.__rmatmul__(w, x), 0)"),
    "its own method's name": linear("return np.maximum(np.ndarray.__matmul__(x, w), 0)"),
    "a dictionary of names": linear("return np.maximum(vars(np)['mat' 'mul'](x, w), 0)"),
    "a module by name": linear("return np.maximum(sys.modules['numpy'].linalg.multi_dot([x, w]), 0)", "import sys"),
}


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize("name", FORBIDDEN)
async def test_a_forbidden_operation_is_refused_and_written_out_it_is_right(engine: Engine, name: str) -> None:
    forbidden = ["matmul", "dot", "einsum", "multi_dot"]
    verdict = await judged(engine, FORBIDDEN[name], SQUARE_TASK, forbidden=forbidden)
    assert (verdict.score, verdict.reason) in [(0.0, "forbidden_operation"), (0.0, "forbidden_construct")]
    written = '"""Not by matmul."""\n' + linear(
        "if x.ndim != 2:\n    raise ValueError('unsupported ops: cannot open or compile this operator')\n"
        "return np.maximum((x[:, :, None] * w).sum(1), 0)  # no @, no matmul"
    )
    assert (await judged(engine, written, SQUARE_TASK, forbidden=forbidden)).score == 1.0


CPP = """
from torch.utils.cpp_extension import load_inline
HEAD = "#include <torch/extension.h>"
WIDTH = 8
own = load_inline(name="own", cpp_sources=[HEAD + "#define SIZE 8\\n" + CALL], functions=["own"], verbose=False)
""".replace("CALL", "'at::Tensor own(at::Tensor x, at::Tensor w) { return BODY; }'")
LITERAL = CPP.replace("BODY", "x.mul(w).sum({-1}) % SIZE")
COMPILED = {
    # name: C++ that calls the product of matrices all the same
    "the operation": CPP.replace("BODY", "at::matmul(x, w)"),
    "two tokens": CPP.replace("BODY", "at::CAT(mat, mul)(x, w)").replace("#define SIZE 8", "#define CAT(a, b) a##b"),
    "two tokens by a digraph": CPP.replace("BODY", "CAT(mat, mul)(x, w)").replace(
        "#define SIZE 8", "#define CAT(a, b) a%:%:b"
    ),
    "two lines": CPP.replace("BODY", "at::mat\\\\\\nmul(x, w)"),
    "a letter by its number": CPP.replace("BODY", "at::mat\\\\u006dul(x, w)"),
    "two texts": CPP.replace("BODY", 'call("aten::mat" "mul", x, w)'),
    "a text of two": CPP.replace("HEAD +", "'at::mat' 'mul;' +"),
    "a sum of two": CPP.replace("HEAD +", "'at::mat' + 'mul;' +"),
    "a text that is filled in": CPP.replace("HEAD +", "f'at::mat{PART};' +").replace("WIDTH = 8", "PART = 'mul'"),
    "a text that is joined": CPP.replace("HEAD +", "'mul'.join(['at::mat', ';']) +"),
    "a text that changes": CPP.replace("WIDTH = 8", "HEAD += 'zzz'"),
    "a text that arrives": CPP.replace("own = ", "def f(HEAD):\n  return "),
    "its name by Python": CPP.replace("BODY", 'py::module_::import("torch").attr(name)(x, w)'),
    "its name by the loader": CPP.replace("BODY", "((F)dlsym(0, name))(x, w)"),
    "its name by the dispatcher": CPP.replace("BODY", "c10::Dispatcher::singleton().call(name, x, w)"),
    "its linked name": CPP.replace("BODY", "_ZN2at6matmulERKNS_6TensorES2_(x, w)"),
    "an included file": CPP.replace("#include <torch/extension.h>", '#include \\"own.h\\"'),
    "a file": CPP.replace("load_inline(", "load(").replace("load_inline", "load"),
    "the compiler by another name": CPP.replace("import load_inline", "import load_inline as own_load"),
    "the compiler in a variable": CPP.replace("own = load_inline(", "compiler = load_inline\nown = compiler("),
    "the compiler's inner part": "from torch.utils import cpp_extension\ncpp_extension._jit_compile('own', [])",
}


@pytest.mark.parametrize("name", COMPILED)
def test_cpp_cannot_put_a_forbidden_name_together(name: str) -> None:
    with pytest.raises(Wrong) as caught:
        check(COMPILED[name], ["matmul"], [])
    assert caught.value.reason in ("forbidden_operation", "forbidden_construct")


def test_cpp_that_stands_in_the_kernel_is_accepted() -> None:
    for code in (
        LITERAL,
        LITERAL.replace("HEAD + ", "f'{HEAD} // {WIDTH}' + "),
        LITERAL.replace("own = load_inline", "import torch\nown = torch.utils.cpp_extension.load_inline"),
        LITERAL.replace("SIZE 8", "SIZE(a) ((a) \\\\\\n + 8)"),
    ):
        check(code, ["matmul"], [])
    check(COMPILED["two tokens"], [], ["load_inline"])


SLOW = "total = 0\nfor number in range(300_000):\n    total += number\n"


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    "patch",
    [
        "",
        "import time\ntime.perf_counter = time.monotonic = time.time = time.process_time = lambda: 0.0",
        "import time\ntime.perf_counter_ns = lambda c=iter(range(10**9)): next(c)",
        "from rewarden_verifiers.kernels import room_arrays\nroom_arrays.Line.send.__defaults__ = ((),)",
    ],
)
async def test_a_slow_kernel_is_slow_whatever_clock_it_patches(engine: Engine, patch: str) -> None:
    # The loop takes hundreds of times as long as the reference, so that the order of the two is certain.
    verdict = await judged(engine, linear(SLOW + ANSWER, patch), speed="score", target=1.0, calls=3, steady=1e6)
    assert verdict.passed is True
    assert verdict.raw == verdict.score
    assert verdict.raw < 0.5


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kernel_is_faster_than_a_slow_reference(engine: Engine) -> None:
    slow = {
        **LINEAR_TASK,
        "source": LINEAR.replace(
            "    return np.maximum", f"    {SLOW.replace(chr(10), chr(10) + '    ')}return np.maximum"
        ),
    }
    measured = await judged(engine, HONEST, slow, speed="measure", calls=3, steady=1e6)
    assert (measured.score, measured.passed) == (1.0, True)
    assert measured.raw > 2
    assert (await judged(engine, HONEST, slow, speed="score", target=1.5, calls=3, steady=1e6)).score == 1.0


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_noise_is_not_the_kernels(engine: Engine) -> None:
    # No two times are that close, as on a machine that is busy.
    verdict = await judged(engine, HONEST, speed="score", calls=3, steady=1.0 + 1e-12)
    assert (verdict.status, verdict.fault, verdict.score) == ("error", "infra", None)


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_a_kernel_that_is_wrong_only_when_it_is_timed_is_unsteady(engine: Engine) -> None:
    # 2 cases × 2 layouts × 2 seeds are compared; inputs of other sizes have no shared layout.
    late = linear(
        "COUNT.append(1)\nif len(COUNT) > 8:\n    return np.zeros((len(x), 8), np.float32)\n" + ANSWER, "COUNT = []"
    )
    verdict = await judged(engine, late, speed="measure", calls=3, steady=1e6)
    assert (verdict.score, verdict.reason) == (0.0, "unsteady")
    assert (await judged(engine, late)).score == 1.0


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("while True:\n    pass", "time_limit"),
        ("import time\ntime.sleep(1000)", "time_limit"),
        ("return np.ones((2000, 1000, 1000))", "memory_limit"),
    ],
)
async def test_a_limit_is_the_kernels_where_the_reference_keeps_it(engine: Engine, body: str, reason: str) -> None:
    verdict = await judged(engine, linear(body), cpu_s=2, memory_mb=256)
    assert verdict.score == 0.0
    assert verdict.reason in (reason, "call_failed")
    assert verdict.fault == "policy"


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
@pytest.mark.parametrize(
    ("old", "new", "says"),
    [
        ("x @ w, 0)", "x @ w, 1e9)", "a constant"),
        ("np.maximum(x @ w, 0)", "x", "an input returned"),
        ("np.maximum(x @ w, 0)", "np.random.randn(len(x), 8)", "varies"),
        ("np.maximum(x @ w, 0)", "x @ x", "fails"),
        ("np.maximum(x @ w, 0)", "None", "returns neither an array"),
        ("def get_inputs", "def inputs", "no get_inputs"),
        ("def reference", "def other", "no reference"),
        ("import numpy", "import no_such_module, numpy", "cannot be loaded"),
        ("np.random.randn(rows, 8)", "np.zeros((rows, 8))", "a constant"),
        ("    return np.maximum", "    while True: pass\n    return np.maximum", "time_limit"),
    ],
)
async def test_a_reference_that_measures_nothing_is_at_fault(engine: Engine, old: str, new: str, says: str) -> None:
    reference = {**LINEAR_TASK, "source": LINEAR.replace(old, new)}
    for code in (HONEST, ATTACKS["a constant"][0], "import os\nos._exit(0)"):
        verdict = await judged(engine, code, reference, cpu_s=2)
        assert (verdict.score, verdict.reason, verdict.fault) == (None, "invalid_reference", "reference")
        assert verdict.feedback is None or says in verdict.feedback


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_layouts_are_those_asked_for(engine: Engine) -> None:
    careless = ATTACKS["inputs taken for contiguous"][0]
    assert (await judged(engine, careless)).reason == "wrong_output"
    assert (await judged(engine, careless, layouts=["contiguous"])).score == 1.0
    # It takes two inputs for different arrays: with one array for both, the second step reads what the first wrote.
    own = linear("y = w.copy()\nx = x if x.shape != w.shape else x\nz = x @ y\nreturn np.maximum(z, 0)")
    assert (await judged(engine, own, SQUARE_TASK)).score == 1.0
    scratch = linear("keep = w.copy()\nw *= 2\nout = np.maximum(x @ w, 0) / 2\nw[:] = keep\nreturn out")
    assert (await judged(engine, scratch, SQUARE_TASK)).reason == "wrong_output"
    assert (await judged(engine, scratch, SQUARE_TASK, layouts=["contiguous"])).score == 1.0


TORCH = """
import torch
from torch import nn

class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x):
        return torch.relu(self.linear(x))

def get_inputs(rows=4):
    return [torch.randn(rows, 16)]

def get_init_inputs():
    return [16]
"""
TORCH_TASK = {"source": TORCH, "cases": [{}, {"rows": 1}]}
MODULE = TORCH.replace("Model", "ModelNew")
TORCH_ATTACKS: dict[str, tuple[str, str]] = {
    # name: the attack, and its honest twin
    "another activation": (MODULE.replace("relu", "sigmoid"), MODULE.replace("torch.relu", "nn.functional.relu")),
    "weights of its own": (MODULE.replace("super().__init__()", "super().__init__(); torch.manual_seed(7)"), MODULE),
    "the comparison patched": (
        MODULE.replace("torch.relu(self.linear(x))", "torch.zeros_like(x)")
        + "\ntorch.allclose = torch.equal = lambda *a, **k: True\ntorch.testing.assert_close = lambda *a, **k: None\n",
        MODULE + "\ntorch.allclose = lambda *a, **k: False\n",
    ),
    "the synchronisation patched": (
        MODULE.replace("torch.relu(self.linear(x))", "torch.zeros_like(x)")
        + "\ntorch.cuda.synchronize = lambda *a: None\ntorch.cuda.Event = None\n",
        MODULE + "\ntorch.cuda.synchronize = lambda *a: None\n",
    ),
    "the global type": (
        MODULE.replace("self.linear = ", "torch.set_default_dtype(torch.float64); self.linear = "),
        MODULE.replace("self.linear = ", "torch.set_default_dtype(torch.float32); self.linear = "),
    ),
    "half the precision": (
        MODULE.replace("self.linear(x)", "(x.bfloat16() @ self.linear.weight.T.bfloat16() + self.linear.bias)")
        .replace("torch.relu(", "torch.relu(")
        .replace("self.linear.bias)))", "self.linear.bias)).float())"),
        MODULE.replace("self.linear(x)", "x @ self.linear.weight.T + self.linear.bias"),
    ),
    "a tensor that computes later": (
        MODULE.replace("torch.relu(self.linear(x))", "Later(x)")
        + "\nclass Later:\n    def __init__(self, x):\n        self.x = x\n    def cpu(self):\n        return self.x\n",
        MODULE.replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x)).view_as(x)"),
    ),
    "a meta tensor": (
        MODULE.replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x)).to('meta')"),
        MODULE.replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x)).to('cpu')"),
    ),
    "a tensor without elements": (
        MODULE.replace("torch.relu(self.linear(x))", "torch.empty(0)"),
        MODULE,
    ),
    "in place": (
        MODULE.replace("torch.relu(self.linear(x))", "torch.relu(self.linear(x.mul_(2)))"),
        MODULE.replace("torch.relu(self.linear(x))", "torch.relu_(self.linear(x))"),
    ),
    "the storage of the last call": (
        MODULE.replace("torch.relu(self.linear(x))", "self.kept(x)")
        + "\ndef kept(self, x):\n    if not hasattr(self, 'out'):\n        self.out = torch.empty(64, 16)\n"
        "    return torch.relu_(torch.addmm(self.linear.bias, x, self.linear.weight.T, out=self.out[: len(x)]))\n"
        "ModelNew.kept = kept\n",
        MODULE,
    ),
}


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_modules_of_torch_are_judged_likewise(torch_engine: Engine) -> None:
    async def pair(name: str) -> tuple[str, Any, Any]:
        attack, twin = TORCH_ATTACKS[name]
        first, second = await judged(torch_engine, attack, TORCH_TASK), await judged(torch_engine, twin, TORCH_TASK)
        return name, first.score, second.score

    found = [await pair(name) for name in TORCH_ATTACKS]
    assert [one for one in found if one[1:] != (0.0, 1.0)] == []


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_torch_is_judged_in_each_type_and_without_its_own_operations(torch_engine: Engine) -> None:
    types = ["float32", "float64", "bfloat16"]
    assert (await judged(torch_engine, MODULE, TORCH_TASK, dtypes=types)).score == 1.0
    narrow = MODULE.replace("self.linear(x)", "self.linear(x).float()")
    assert (await judged(torch_engine, narrow, TORCH_TASK, dtypes=types)).reason == "wrong_shape"
    forbidden = ["Linear", "functional", "matmul", "mm", "addmm", "linear", "einsum"]
    assert (await judged(torch_engine, MODULE, TORCH_TASK, forbidden=forbidden)).reason == "forbidden_operation"
