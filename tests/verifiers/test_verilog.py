"""`verilog`: its cases and attacks in real rooms, its references, and whose fault a failed step is."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from typing import Any

import pytest
import pytest_asyncio

from rewarden.errors import InvalidParams, SampleError
from rewarden.types import Batch, Sample, Use, Verdict
from rewarden_sandboxes.job import CaseResult, Job, JobEvent, Report
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.plan import Planner
from rewarden_verifiers.registry import Registry
from rewarden_verifiers.verilog import outputs, source
from rewarden_verifiers.verilog.reference import Reset, VerilogReference
from rewarden_verifiers.verilog.verilog import verilog
from tests.programs import lacking
from tests.verifiers.host_rooms import failed_cases, host_engine, sandbox_settings, started

PLANNER = Planner(Registry())
TOOLS = ("iverilog", "vvp", "yosys", "yosys-abc")

MUX = "module mux(input a, b, s, output y); assign y = s ? b : a; endmodule"
COUNT = (
    "module count(input clk, rst, en, output [3:0] q); reg [3:0] r;"
    " always @(posedge clk) if (rst) r <= 0; else if (en) r <= r + 1; assign q = r; endmodule"
)
PICK = (
    "module pick(input clk, rst, input [9:0] d, input [3:0] at, output q); reg [9:0] m; reg [3:0] i;"
    " always @(posedge clk) begin m <= rst ? 0 : d; i <= rst ? 0 : at; end assign q = i < 10 ? m[i] : 1'b0; endmodule"
)
UNCHECKED = PICK.replace("i < 10 ? m[i] : 1'b0", "m[i]")
"""Undefined where the index is out of range."""
PROVEN = {"solution": MUX}
SEQUENTIAL = {"solution": COUNT, "reset": {"signal": "rst"}}
BENCH = """
`timescale 1ns/1ps
module golden(input a, b, s, output y); assign y = s ? b : a; endmodule
module tb;
  reg [2:0] k; wire a, b, s, y, want; integer i, bad; string told = "Mismatches";
  assign {a, b, s} = k;
  golden gold(a, b, s, want);
  mux dut(.a(a), .b(b), .s(s), .y(y));
  initial begin
    bad = 0;
    for (i = 0; i < 8; i = i + 1) begin k = i; #1; if (want !== (want ^ y ^ want)) bad = bad + 1; end
    $display("%s: %0d", told, bad); $finish;
  end
endmodule"""
BENCHED = {"solution": MUX, "testbench": BENCH, "passes": "Mismatches: 0"}
LENIENT = {**BENCHED, "testbench": BENCH.replace("want !== (want ^ y ^ want)", "y != want")}
"""A bench that takes an undefined output for a right one."""
FLOATING = {
    "solution": MUX.replace("s ? b : a", "s ? b : 1'bz"),
    "testbench": BENCH.replace("s ? b : a", "s ? b : 1'bz").replace("want !== (want ^ y ^ want)", "y !== want"),
    "passes": "Mismatches: 0",
}
HALF = "input clk, rst, en, output [3:0] q); reg [3:0] r; always @(posedge clk) if (rst) r <= 0; else r <= r - en;"


def mux(body: str, before: str = "", after: str = "") -> str:
    return f"```verilog\n{before}\nmodule mux(input a, b, s, output y);\n{body}\nendmodule\n{after}\n```"


def count(body: str, after: str = "") -> str:
    return f"```verilog\nmodule count({HALF}\n{body}\nendmodule\n{after}\n```"


# --- in real rooms -------------------------------------------------------------------------------------------------


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def engine() -> AsyncIterator[Engine]:
    """An engine whose sandbox has the tools: the image of scripts, or those of this machine under bubblewrap."""
    problem = lacking("designs")
    says = f"Verilog is not judged here: {problem}; or install bubblewrap, iverilog and yosys"
    async with started(sandbox_settings()) if problem is None else host_engine(*TOOLS, says=says) as made:
        yield made


async def judged(engine: Engine, rows: Sequence[tuple[str, Any]], **params: Any) -> Sequence[Verdict]:
    samples = [Sample(response=response, reference=reference) for response, reference in rows]
    return (await engine.verify(Batch(samples=samples, use=Use(name="verilog", params=params)))).verdicts


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_the_cases_hold(engine: Engine) -> None:
    assert await failed_cases(engine, "verilog") == []


ATTACKS = {
    # Into the test bench
    "print the mark": (mux('initial $display("Mismatches: 0");'), BENCHED),
    "print it on a change": (mux('always @(a) $write("Mismatches: 0\\n"); assign y = a;'), BENCHED),
    "end early": (mux("initial $finish(0); assign y = a;"), BENCHED),
    "stop": (mux("initial $stop; assign y = a;"), BENCHED),
    "run a program": (mux('initial $system("id"); assign y = a;'), BENCHED),
    "open a file": (mux('integer f; initial f = $fopen("x"); assign y = a;'), BENCHED),
    "read a memory file": (mux('reg m[0:7]; initial $readmemb("main.v", m); assign y = m[0];'), BENCHED),
    "a task by a macro": (mux("initial `T; assign y = a;", "`define T $finish"), BENCHED),
    "include the bench": (mux("assign y = a;", '`include "main.v"'), BENCHED),
    "name the bench's value": (mux("assign y = tb.want;"), BENCHED),
    "name it from the root": (mux("assign y = $root.tb.want;"), BENCHED),
    "force the bench": (mux("initial force tb.bad = 0; assign y = a;"), BENCHED),
    "assign in the bench": (mux("initial tb.bad = -4; always @* tb.bad = 0; assign y = a;"), BENCHED),
    "bind to the bench": (mux("assign y = a;", after="bind tb mux m(.a(a), .b(b), .s(s), .y(want));"), BENCHED),
    "parameters of the bench": (mux("defparam tb.gold.x = 1; assign y = a;"), BENCHED),
    "instantiate the bench's reference": (mux("golden g(a, b, s, y);"), BENCHED),
    "as a black box": (
        mux("golden g(a, b, s, y);", "(* blackbox *) module golden(input a, b, s, output y); endmodule"),
        BENCHED,
    ),
    "as a white box": (
        mux("golden g(a, b, s, y);", "(* whitebox *) module golden(input a, b, s, output y); endmodule"),
        BENCHED,
    ),
    "define the reference": (
        mux("golden g(a, b, s, y);", "module golden(input a, b, s, output y); assign y = a; endmodule"),
        BENCHED,
    ),
    "keep the definition": (
        mux(
            "golden g(a, b, s, y);",
            "(* keep_hierarchy *) module golden(input a, b, s, output y); assign y = a; endmodule",
        ),
        BENCHED,
    ),
    "define the bench": (
        mux("assign y = a;", after='module tb; initial $display("Mismatches: 0"); endmodule'),
        BENCHED,
    ),
    "a package of the bench's names": (mux("assign y = a;", "package p; int bad = 0; endpackage"), BENCHED),
    "foreign code": (mux("assign y = f(a);", 'import "DPI-C" function int f(input int k);'), BENCHED),
    "an undefined input of the reference": (mux("assign s = 1'bx; assign y = a;"), BENCHED),
    "a contradicted input": (mux("assign s = ~s; assign y = a;"), BENCHED),
    "an input by a buffer": (mux("assign s = a ? 1'bz : 1'b0; assign y = a;"), BENCHED),
    "an undefined output": (mux("assign y = 1'bx;"), BENCHED),
    "no driver": (mux(""), BENCHED),
    "high impedance": (mux("assign y = 1'bz;"), BENCHED),
    "undefined, for a lenient bench": (mux("assign y = 1'bx;"), LENIENT),
    "undefined in part, for a lenient bench": (mux("assign y = s ? b : 1'bx;"), LENIENT),
    "floating, for a lenient bench": (mux("assign y = 1'bz;"), LENIENT),
    "a register that is never set, for a lenient bench": (
        mux("reg r; always @(posedge s) r <= ~r; assign y = r;"),
        LENIENT,
    ),
    "undefined where it must float": (mux("assign y = s ? b : 1'bx;"), FLOATING),
    "a directive that spills": (mux("assign y = a;", after="`define want y\n`celldefine"), BENCHED),
    # Against a proof
    "two drivers": (mux("assign y = a; assign y = b;"), PROVEN),
    "an undefined half": (mux("assign y = s ? b : 1'bx;"), PROVEN),
    "a loop": (mux("wire k; assign k = ~k; assign y = k;"), PROVEN),
    "a kept loop": (mux("(* keep *) wire k; assign k = ~(k & a); assign y = a;"), PROVEN),
    "an assumption": (mux("assign y = a; always @* assume(!s);"), PROVEN),
    "a restriction": (mux("assign y = a; restrict property (!s);"), PROVEN),
    "an assertion": (mux("assign y = a; always @* assert(!s);"), PROVEN),
    "a free value": (mux("(* anyconst *) wire k; assign y = k;"), PROVEN),
    "a latch": (mux("reg k; always @* if (s) k = b; assign y = k;"), PROVEN),
    "registers where there are none": (mux("reg k; always @(posedge s) k <= a; assign y = s ? b : k;"), PROVEN),
    "the module itself": (mux("mux m(a, b, s, y);"), PROVEN),
    "a name with a command": (mux("wire \\;sat ; assign \\;sat = a; assign y = \\;sat ;"), PROVEN),
    "an input without its values": (count("assign en = 1'b0; assign q = r;"), SEQUENTIAL),
    "a lasting reset": (count("assign rst = 1'b1; assign q = r;"), SEQUENTIAL),
    "a lasting reset by a module": (
        count("one i(rst); assign q = r;", "module one(output y); assign y = 1; endmodule"),
        SEQUENTIAL,
    ),
    "one input for another": (count("assign en = rst; assign q = r;"), SEQUENTIAL),
    "an input by a register": (count("reg k; always @(posedge clk) k <= 0; assign en = k; assign q = r;"), SEQUENTIAL),
    "a loop of two": (count("wire k, m; assign k = ~(m & r[0]); assign m = k; assign q = r ^ {3'b0, k};"), SEQUENTIAL),
    "a sum of itself": (count("wire [3:0] k; assign k = k + 1; assign q = r ^ k;"), SEQUENTIAL),
    "two registers": (
        count("reg [3:0] m; always @(posedge clk) m <= 1; always @(posedge clk) m <= 2; assign q = m;"),
        SEQUENTIAL,
    ),
    "another clock": (f"```verilog\n{COUNT.replace('posedge clk', 'posedge en')}\n```", SEQUENTIAL),
    "the other edge": (f"```verilog\n{COUNT.replace('posedge clk', 'negedge clk')}\n```", SEQUENTIAL),
    "a gated clock": (f"```verilog\n{COUNT.replace('posedge clk', 'posedge (clk & en)')}\n```", SEQUENTIAL),
    "an undefined reset": (f"```verilog\n{COUNT.replace('r <= 0', 'r <= 4' + chr(39) + 'bx')}\n```", SEQUENTIAL),
    "no reset": (f"```verilog\n{COUNT.replace('if (rst) r <= 0; else ', '')}\n```", SEQUENTIAL),
    "an element out of range": (f"```verilog\n{UNCHECKED}\n```", {**SEQUENTIAL, "solution": PICK}),
    # Against the machine
    "wide": (mux("wire [9999999:0] k = {10000000{a}}; assign y = ^(k * k);"), PROVEN),
    "comments that never close": (f"```verilog\n{'/*' * 90_000}\n```", PROVEN),
    "long": (mux(f"assign y = a{' & a' * 60_000};"), PROVEN),
}


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_attacks_earn_nothing_and_are_scored(engine: Engine) -> None:
    verdicts = await judged(engine, list(ATTACKS.values()))
    found = {title: (verdict.status, verdict.score) for title, verdict in zip(ATTACKS, verdicts, strict=True)}
    assert {title: what for title, what in found.items() if what != ("scored", 0.0)} == {}


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_their_twins_earn_everything(engine: Engine) -> None:
    rows = [
        (f"```verilog\n{MUX}\n```", PROVEN),
        (f"```verilog\n{MUX}\n```", BENCHED),
        (f"```verilog\n{COUNT}\n```", SEQUENTIAL),
        (f"```verilog\n{PICK}\n```", {**SEQUENTIAL, "solution": PICK}),
        (f"```verilog\n{PICK}\n```", {**SEQUENTIAL, "solution": UNCHECKED}),
        (f"```verilog\n{PICK}\n```", {**SEQUENTIAL, "solution": PICK.replace(": 1'b0", ": 1'bx")}),
        (mux("assign y = s ? b : a; // $finish, tb.bad"), BENCHED),
        (f"```verilog\n{MUX}\n```", LENIENT),
        (mux("reg r; always @* case (s) 0: r = a; 1: r = b; default: r = 1'bx; endcase assign y = r;"), LENIENT),
        (mux("wire k; assign k = s ? b : 1'bz; assign y = k;"), FLOATING),
        (mux("golden g(a, b, s, y);", f"{MUX.replace('module mux', 'module golden')}"), BENCHED),
        (mux("wire \\$display ; assign \\$display = s; assign y = \\$display ? b : a;"), BENCHED),
    ]
    assert [(verdict.status, verdict.score) for verdict in await judged(engine, rows)] == [("scored", 1.0)] * len(rows)


@pytest.mark.needs_server
@pytest.mark.asyncio(loop_scope="module")
async def test_an_unproven_design_is_accepted_and_flagged_where_asked(engine: Engine) -> None:
    wide = "reg [15:0] n; always @(posedge clk) n <= rst ? 0 : n + 1; assign q = r ^ {3'b0, &n};"
    late = f"```verilog\n{COUNT.replace('assign q = r;', wide)}\n```"
    for bounded, score, flags in ((False, 0.0, ()), (True, 1.0, ("bounded",))):
        (verdict,) = await judged(engine, [(late, SEQUENTIAL)], cycles=6, bounded=bounded)
        assert (verdict.score, tuple(verdict.flags)) == (score, flags)


# --- references, parameters, source --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("reference", "field"),
    [
        (VerilogReference(solution="wire a;"), "solution"),
        (VerilogReference(solution=MUX, top="max"), "top"),
        (VerilogReference(solution=MUX, top="mux; shell id"), "top"),
        (VerilogReference(solution=MUX, testbench=BENCH), "passes"),
        (VerilogReference(solution=MUX, testbench=MUX, passes="x"), "testbench"),
        (VerilogReference(solution=MUX, passes="x"), "passes"),
        (VerilogReference(solution=MUX, testbench=BENCH, passes="x", reset=Reset(signal="a")), "reset"),
        (VerilogReference(solution=MUX, reset=Reset(signal="a b")), "reset"),
        (VerilogReference(solution=MUX, reset=Reset(signal="a", cycles=0)), "reset"),
        (VerilogReference(solution=MUX, testbench=BENCH, passes="x", files={"../x": ""}), "files"),
        (VerilogReference(solution=MUX, testbench=BENCH, passes="x", files={"main.v": ""}), "files"),
    ],
)
def test_a_reference_that_cannot_be_used_names_the_field(reference: VerilogReference, field: str) -> None:
    with pytest.raises(SampleError, match=rf"^reference\.{field}: "):
        reference.checked()


@pytest.mark.parametrize(
    "params", [{"cpu_s": 0}, {"memory_mb": 1}, {"cycles": 0}, {"cost": "power"}, {"extraction": "x"}]
)
def test_parameters_are_checked(params: dict[str, Any]) -> None:
    with pytest.raises(InvalidParams):
        PLANNER.bind(Use(name="verilog", params=params))


def test_modules_are_found_beside_comments_and_strings() -> None:
    text = '// module a(\n/* module b; */ wire k = "module c"; \\module d; module automatic e; macromodule f (x);'
    assert source.modules(text) == ["e", "f"]


# --- blame ---------------------------------------------------------------------------------------------------------


class Scripted:
    """A sandbox that ends the steps of a design, and of the solution, as it is told, alike for all runs of a job."""

    def __init__(self, *said: str, lacks: str | None = None) -> None:
        self._said = said
        self._lacks = lacks
        self.simulated = 0

    async def lacking(self, languages: Sequence[str]) -> str | None:
        return self._lacks

    async def refused_flag(self, language: str, flags: Sequence[str]) -> tuple[int, str] | None:
        return None

    async def run(self, job: Job) -> AsyncGenerator[JobEvent, None]:
        if job.program.language == "yosys":
            module = b'{"modules": {"mux": {"ports": {}, "cells": {}}}}'
            files = {"netlist.v": MUX.replace("; ", ";\n").encode(), "ports.txt": b"module mux\n", "cells.json": module}
            for index in range(len(job.cases)):
                yield CaseResult(index=index, program=Report(status="ok", files=files))
            return
        said = self._said[self.simulated]
        self.simulated += 1
        report = Report(status="ok", stdout=said.encode()) if said.startswith("M") else Report(status=said)  # type: ignore[arg-type]
        for index in range(len(job.cases)):
            yield CaseResult(index=index, program=report)


class Reaching:
    """A context with nothing but a sandbox."""

    def __init__(self, sandbox: Scripted) -> None:
        self.sandbox = sandbox


@pytest.mark.parametrize(
    ("own", "gold", "status", "reason"),
    [
        ("Mismatches: 1", "Mismatches: 0", "scored", "test_failed"),
        ("time_limit", "Mismatches: 0", "scored", "time_limit"),
        ("memory_limit", "Mismatches: 0", "scored", "memory_limit"),
        ("runtime_error", "Mismatches: 0", "scored", "test_failed"),
        ("Mismatches: 1", "Mismatches: 1", "undecided", "invalid_reference"),
        ("time_limit", "time_limit", "undecided", "invalid_reference"),
        ("internal_error", "Mismatches: 0", "error", "sandbox_failed"),
        ("Mismatches: 1", "internal_error", "error", "sandbox_failed"),
    ],
)
async def test_the_solution_s_own_run_shows_whose_fault_it_is(
    own: str, gold: str, status: str, reason: str | None
) -> None:
    params = PLANNER.bind(Use(name="verilog")).params
    reference = VerilogReference(solution=MUX, testbench=BENCH, passes="Mismatches: 0")
    sandbox = Scripted(own, gold)
    response = f"```verilog\n{MUX}\n```"
    if status != "scored":
        with pytest.raises(SampleError) as caught:
            await verilog(response, reference, params=params, ctx=Reaching(sandbox))
        assert (caught.value.status, caught.value.reason) == (status, reason)
        return
    outcome = await verilog(response, reference, params=params, ctx=Reaching(sandbox))
    assert (outcome.status, outcome.reason) == (status, reason)
    assert sandbox.simulated == 2


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        (["Mismatches: 0", "Mismatches: 0"], None),
        (["Mismatches: 0", "Mismatches: 1", "Mismatches: 0"], "undefined_output"),
        (["Mismatches: 0", "time_limit", "Mismatches: 0"], "undefined_output"),
        (["Mismatches: 0", "Mismatches: 1", "Mismatches: 1", "Mismatches: 0"], None),
        (["Mismatches: 0", "Mismatches: 1", "Mismatches: 1", "Mismatches: 1", "Mismatches: 0"], "undefined_output"),
        (["Mismatches: 0", "Mismatches: 1", "Mismatches: 1", "Mismatches: 1", "Mismatches: 1"], None),
    ],
)
async def test_undefined_outputs_count_only_where_those_of_the_solution_do_not(
    said: list[str], reason: str | None
) -> None:
    """The design as it is; then, with undefined outputs at 0 and at 1, the design and the solution, twice: where high
    impedance counts as undefined, and where it does not."""
    sandbox = Scripted(*said)
    reference = VerilogReference(solution=MUX, testbench=BENCH, passes="Mismatches: 0")
    params = PLANNER.bind(Use(name="verilog")).params
    outcome = await verilog(f"```verilog\n{MUX}\n```", reference, params=params, ctx=Reaching(sandbox))
    assert (outcome.reason, sandbox.simulated) == (reason, len(said))


def test_outputs_keep_their_names_and_ranges() -> None:
    netlist = (
        "/* made */\n\nmodule m(a, \\q.x , r);\n  wire _0_;\n  input [0:3] a;\n  wire [0:3] a;\n"
        "  output [4:2] \\q.x ;\n  output r;\n  reg r;\nendmodule\n"
    )
    made = outputs.defined(netlist, floating=False)
    assert made.startswith("module m(a, \\q.x , r);")
    for line in ("input [0:3] a;", "output [4:2] \\q.x ;", "wire [2:0] rewarden_own1,", "output r;"):
        assert line in made
    assert "1'bz" not in made
    assert "module rewarden_netlist(a, \\q.x , r);" in made


async def test_a_sandbox_without_the_tools_is_nobody_s_zero() -> None:
    params = PLANNER.bind(Use(name="verilog")).params
    reaching = Reaching(Scripted(lacks="the image scripts is not built"))
    with pytest.raises(SampleError, match="the image scripts is not built") as caught:
        await verilog(f"```verilog\n{MUX}\n```", VerilogReference(solution=MUX), params=params, ctx=reaching)
    assert (caught.value.status, caught.value.fault) == ("error", "infra")
