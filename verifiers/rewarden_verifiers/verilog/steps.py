"""The steps of a check, each in a locked room: a design's netlist, its simulation, comparison, and cost.

A design never meets the test bench. In a room with nothing else, Yosys turns it into a netlist: gates, registers and
memories under new names, without modules, system tasks or initial blocks. Only the netlist goes on.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rewarden.errors import SandboxError
from rewarden_sandboxes.job import Case, CaseResult, CompileResult, Job, Limits, Program, Report, source
from rewarden_verifiers.sandbox import Sandbox
from rewarden_verifiers.verilog.reference import Reset

YOSYS, SIMULATOR = "yosys", "verilog"
"""The entries in the sandbox's languages."""

_LIMITS = frozenset(("time_limit", "memory_limit", "output_limit"))

_NETLIST = """
read_verilog -sv -nodpi -noassert -noassume -norestrict design.v
setattr -mod -unset keep_hierarchy *
setattr -mod -unset blackbox -unset whitebox -unset lib_whitebox *
hierarchy -check -top {top}
proc
logger -werror "multiple conflicting drivers"
check
flatten
chformal -remove
opt_clean
memory -nomap
opt_clean -purge
rename -hide
select -assert-none t:* t:$* %d
select -assert-none t:$any* t:$all* t:$initstate
tee -q -o ports.txt portlist {top}
select {top}
write_verilog -noattr -selected netlist.v
select -clear
{before}
write_json cells.json
{after}
"""
"""`blackbox`, `keep_hierarchy`. Attack: an instance of the test bench's own reference. `$anyseq` and similar cells:
values that a proof can choose.
"""

_REGISTERS = """
memory_map
opt_clean
"""

_LOOPS = """
techmap
opt_clean
logger -werror "found logic loop"
check
"""
"""Attack: a loop of gates that contradicts itself, so that anything follows from it."""

_MITER = """
read_verilog gold.v
proc
rename {top} gold
read_verilog gate.v
proc
rename {top} gate
memory
async2sync
dffunmap
opt_clean
{undefined}
miter -equiv -flatten -make_outputs -ignore_gold_x gold gate miter
hierarchy -top miter
opt_clean
sat -verify -enable_undef -set-def-inputs {options} -prove trigger 0 miter
"""
"""Attack: an undefined value, such as an element out of range, which `sat` treats as 0 unless it models undefined
values. Only the solution's undefined values are unconstrained.
"""

_COST = """
read_verilog netlist.v
synth -flatten -top {top}
tee -q -o cost.txt stat
tee -q -a cost.txt ltp -noff
"""

_AREA = re.compile(r"Number of cells:\s+(\d+)")
_DEPTH = re.compile(r"Longest topological path in \S+ \(length=(\d+)\)")


@dataclass(frozen=True, slots=True)
class Netlist:
    """A design after the first step. failed: why there is no netlist: `not_synthesizable`, or a limit; message: the
    tool's output. clocks: for sequential designs, the registers' clock ports with their edges; empty for others.
    latches: whether it has latches, or registers whose clock is not a port.
    """

    failed: str | None = None
    message: str = ""
    text: str = ""
    ports: frozenset[str] = frozenset()
    clocks: frozenset[tuple[str, str]] = frozenset()
    latches: bool = False


@dataclass(frozen=True, slots=True)
class Simulated:
    """A simulation. status: `ok`, `compile_error`, or how it ended. output: what the test bench printed."""

    status: str
    output: str


@dataclass(frozen=True, slots=True)
class Cost:
    """area: the number of gates and flip-flops. depth: the number of gates on the longest path."""

    area: int
    depth: int


async def netlists(sandbox: Sandbox, top: str, designs: Sequence[str], limits: Limits, *, cells: bool) -> list[Netlist]:
    """The netlists of designs, each made in its own room. cells: whether to inspect the registers as well."""
    script = _NETLIST.format(top=top, before=_REGISTERS if cells else "", after=_LOOPS if cells else "")
    collect = ("netlist.v", "ports.txt", "cells.json")
    reports = await _run(sandbox, script, [{"design.v": source(text)} for text in designs], limits, collect)
    return [_netlist(report, top) for report in reports]


def _netlist(report: Report, top: str) -> Netlist:
    if report.status != "ok":
        failed = report.status if report.status in _LIMITS else "crashed" if report.signal else "not_synthesizable"
        return Netlist(failed=failed, message=_error(report))
    ports = report.files["ports.txt"].decode("utf-8", "replace").splitlines()[1:]
    text = report.files["netlist.v"].decode("utf-8", "replace")
    module = json.loads(report.files["cells.json"])["modules"][top]
    if _drives_inputs(module):
        # Attack: a proof that only covers the inputs which the design leaves alone, or an undefined input of the
        # bench's reference.
        return Netlist(failed="drives_input", message="an input is driven within the design, or joined to another")
    clocks, latches = _clocks(module)
    return Netlist(text=text, ports=frozenset(filter(None, ports)), clocks=clocks, latches=latches)


def _drives_inputs(module: Mapping[str, Any]) -> bool:
    """Returns whether an input is a constant, another input, or the output of a cell."""
    inputs = [bit for port in module["ports"].values() if port["direction"] == "input" for bit in port["bits"]]
    distinct = set(inputs)
    if len(distinct) < len(inputs) or any(isinstance(bit, str) for bit in inputs):
        return True
    return any(
        not distinct.isdisjoint(cell["connections"][port])
        for cell in module["cells"].values()
        for port, direction in cell["port_directions"].items()
        if direction == "output"
    )


def _clocks(module: Mapping[str, Any]) -> tuple[frozenset[tuple[str, str]], bool]:
    """The clock ports of a module's registers, with their edges, and whether it has latches or other clocks."""
    inputs = {
        bit: name for name, port in module["ports"].items() for bit in port["bits"] if port["direction"] == "input"
    }
    found: set[tuple[str, str]] = set()
    others = False
    for cell in module["cells"].values():
        kind, connections = cell["type"], cell["connections"]
        if "latch" in kind or kind.startswith(("$sr", "$mem", "$ff", "$fsm")):
            others = True
        elif "CLK" in connections:
            (bit,) = connections["CLK"]
            edge = "rising" if int(cell["parameters"]["CLK_POLARITY"], 2) else "falling"
            others |= bit not in inputs
            found.add((inputs.get(bit, ""), edge))
    return frozenset(found), others


async def simulate(
    sandbox: Sandbox,
    testbench: str,
    netlist: str,
    files: Mapping[str, str],
    limits: Limits,
    runs: Sequence[Sequence[str]] = ((),),
) -> list[Simulated]:
    """Runs the test bench with a netlist in place of the design, once for each set of arguments."""
    text = f"{testbench}\n`resetall\n{netlist}\n"
    given = {name: source(content) for name, content in files.items()}
    program = Program(language=SIMULATOR, code=source(text), files=given, limits=limits)
    job = Job(program=program, cases=[Case(args=args) for args in runs], compile_limits=limits)
    done: dict[int, Simulated] = {}
    async for event in sandbox.run(job):
        if isinstance(event, CompileResult) and event.report.status != "ok":
            _ours(event.report)
            return [Simulated("compile_error", _error(event.report))] * len(runs)
        if isinstance(event, CaseResult):
            _ours(event.program)
            done[event.index] = Simulated(event.program.status, event.program.stdout.decode("utf-8", "replace"))
    if len(done) != len(runs):
        raise SandboxError("the simulation reported nothing")
    return [done[place] for place in range(len(runs))]


async def agree(
    sandbox: Sandbox,
    top: str,
    gold: Netlist,
    gates: Sequence[Netlist],
    reset: Reset | None,
    cycles: int,
    limits: Limits,
) -> list[tuple[str, ...]]:
    """Returns, for each netlist, the results of its comparisons with `gold`: one for combinational designs; for
    sequential ones, the comparison over `cycles` clock cycles and the proof by induction. Each is `ok` if they agree,
    `differs`, or a limit.
    """
    scripts = _scripts(top, gold, gates[0], reset, cycles)
    cases = [
        {"gold.v": source(gold.text), "gate.v": source(gate.text), "miter.ys": source(script)}
        for gate in gates
        for script in scripts
    ]
    reports = await _run(sandbox, "script miter.ys\n", cases, limits, ())
    said = [
        "ok"
        if report.status == "ok"
        else "differs"
        if report.exit_code == 1 and b"proof did fail" in report.stderr + report.stdout
        else report.status
        for report in reports
    ]
    return [tuple(said[place : place + len(scripts)]) for place in range(0, len(said), len(scripts))]


def _scripts(top: str, gold: Netlist, gate: Netlist, reset: Reset | None, cycles: int) -> list[str]:
    if not gold.clocks and not gate.clocks:
        return [_MITER.format(top=top, undefined="", options="")]
    start = ""
    if reset is not None:
        held = " ".join(f"-set-at {step} in_{reset.signal} {reset.active}" for step in range(1, reset.cycles + 1))
        start = f"-seq {reset.cycles} {held}"
    return [
        # Attack: a wire without a driver, which a proof would assume to have the right value.
        _MITER.format(top=top, undefined="setundef -undriven -anyseq gate", options=f"{options} {start}")
        for options in (f"-tempinduct-baseonly -maxsteps {cycles}", f"-tempinduct -maxsteps {cycles}")
    ]


async def costs(sandbox: Sandbox, top: str, netlists: Sequence[Netlist], limits: Limits) -> list[Cost | str]:
    """The costs of netlists, or the reason why a synthesis failed."""
    cases = [{"netlist.v": source(one.text)} for one in netlists]
    made: list[Cost | str] = []
    for report in await _run(sandbox, _COST.format(top=top), cases, limits, ("cost.txt",)):
        text = report.files["cost.txt"].decode("utf-8", "replace") if report.status == "ok" else ""
        area, depth = _AREA.search(text), _DEPTH.search(text)
        made.append(Cost(int(area[1]), int(depth[1])) if area and depth else report.status)
    return made


async def _run(
    sandbox: Sandbox, script: str, cases: Sequence[Mapping[str, bytes]], limits: Limits, collect: Sequence[str]
) -> list[Report]:
    program = Program(language=YOSYS, code=source(script), limits=limits)
    job = Job(program=program, cases=[Case(files=files) for files in cases], collect=collect)
    reports: dict[int, Report] = {}
    async for event in sandbox.run(job):
        if isinstance(event, CaseResult):
            _ours(event.program)
            reports[event.index] = event.program
    if len(reports) != len(cases):
        raise SandboxError("yosys reported nothing")
    return [reports[place] for place in range(len(cases))]


def _ours(report: Report) -> None:
    """Raises SandboxError if the failure is ours."""
    if report.status == "internal_error":
        raise SandboxError(f"a step of the check did not run: {report.message or 'no report'}")


def _error(report: Report) -> str:
    """The tool's error message."""
    text = (report.stderr + b"\n" + report.stdout).decode("utf-8", "replace")
    lines = [line for line in text.splitlines() if "ERROR" in line or "error" in line]
    return (lines[0] if lines else text.strip().rpartition("\n")[2])[:500]
