"""The verifier `verilog`: checks a hardware design by a hidden test bench, or by its equivalence to a solution."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from rewarden.errors import InvalidReference, SandboxError
from rewarden.types import Outcome
from rewarden_sandboxes.job import Limits
from rewarden_verifiers.contract import Context, verifier
from rewarden_verifiers.execution.candidate import Missing, find
from rewarden_verifiers.outcome import no_answer, scored, wrong
from rewarden_verifiers.verilog import steps
from rewarden_verifiers.verilog.outputs import ONES, defined
from rewarden_verifiers.verilog.params import VerilogParams
from rewarden_verifiers.verilog.reference import VerilogReference
from rewarden_verifiers.verilog.source import MAX_CHARACTERS, Refused, check
from rewarden_verifiers.verilog.steps import Cost, Netlist, Simulated

LABELS = frozenset({"verilog", "systemverilog", "sv", "v"})
"""Fence labels for Verilog."""

_EXTRACTED = 20_000
_SHOWN = 1_000


@verifier(version="1", graded=True)
async def verilog(response: str, reference: VerilogReference, *, params: VerilogParams, ctx: Context) -> Outcome:
    """The response is a hardware design that passes a hidden test bench, or is equivalent to the solution.

    Yosys compiles the design to a netlist, alone in a locked room: gates, registers and memories, without modules,
    system tasks or initial blocks. Only the netlist reaches the test bench, in another room, so a design cannot print
    the result, end the simulation or inspect the bench. The design must therefore be synthesizable, and have the same
    ports as the solution.

    - With `testbench`, Icarus Verilog simulates the bench with the netlist. The output must contain `passes` and must
      not contain `fails`. A design that passes must also pass with every undefined output bit at 0, and at 1, if the
      solution does: a bench that compares with `!=` mistakes an undefined output for a correct one.
    - Without it, the netlist must be equivalent to the solution's. Combinational designs are compared for all inputs;
      undefined values in the solution are don't-cares. Sequential designs are compared for `cycles` clock cycles from
      `reset`, and then by unbounded induction; they must use the solution's clock and edge.

    If a design fails, the solution goes through the same steps; if it fails too, the reference is at fault.

    Reasons with score 0: `module_missing`, `system_task`, `forbidden_construct`, `not_synthesizable`, `drives_input`,
    `ports_differ`, `clock_differs`, `not_equivalent`, `unproven` (equal for `cycles`, but the induction fails),
    `test_failed`, `undefined_output`, `time_limit`, `memory_limit`, `output_limit`, `crashed`, `too_expensive`,
    `no_answer`.

    Proofs do not scale to multipliers, memories and designs with much hidden state; use a test bench for those. A bench
    must not print the design's outputs as text (`%s`), because a design could then print the pass mark.
    """
    top = reference.checked()
    found = find(response, params.rules, LABELS, params.unclosed)
    if isinstance(found, Missing):
        return no_answer(found.reason, flags=found.flags)
    judgement = _Judgement(reference, params, ctx, top, found.code.strip(), {"rule": found.rule, "top": top})
    return await judgement.outcome()


@dataclass
class _Judgement:
    """The judgement of one response."""

    reference: VerilogReference
    params: VerilogParams
    ctx: Context
    top: str
    text: str
    evidence: dict[str, Any] = field(default_factory=dict)
    flags: list[str] = field(default_factory=list)

    async def outcome(self) -> Outcome:
        """The verdict."""
        if len(self.text) > MAX_CHARACTERS:
            return self._zero("too_expensive", f"more than {MAX_CHARACTERS} characters", flags=("too_expensive",))
        try:
            check(self.text, self.top)
        except Refused as error:
            return self._zero(error.reason, str(error))
        lacking = await self.ctx.sandbox.lacking([steps.YOSYS, steps.SIMULATOR])
        if lacking is not None:
            raise SandboxError(f"this sandbox cannot judge Verilog: {lacking}")
        proves = self.reference.testbench is None
        designs = (self.text, self.reference.solution)
        own, gold = await steps.netlists(self.ctx.sandbox, self.top, designs, self.params.limits, cells=proves)
        if gold.failed is not None:
            raise _invalid("solution", f"{gold.failed}: {gold.message}")
        if own.failed is not None:
            limit = own.failed not in ("not_synthesizable", "drives_input")
            return self._zero(own.failed, own.message, flags=("too_expensive", own.failed) if limit else ())
        if own.ports != gold.ports:
            # The ports are no secret: the task states them.
            expected = ", ".join(sorted(gold.ports))
            return self._zero("ports_differ", f"the ports must be: {expected}")
        failed = await (self._compared(own, gold) if proves else self._simulated(own, gold))
        return failed if failed is not None else await self._right(own, gold)

    async def _simulated(self, own: Netlist, gold: Netlist) -> Outcome | None:
        ((reason, words),) = await self._bench(own.text)
        if reason is None:
            if not await self._undefined(own, gold):
                return None
            return self._zero("undefined_output", "the bench compares an output that is undefined")
        ((control, message),) = await self._bench(gold.text)
        if control is not None:
            raise _invalid("testbench", f"the solution does not pass it ({control}): {message}")
        limits = () if reason == "test_failed" else ("too_expensive", reason)
        return self._zero(reason, words if reason != "test_failed" else None, flags=limits)

    async def _undefined(self, own: Netlist, gold: Netlist) -> bool:
        """Returns whether a design passes only because some output is undefined, unlike the solution."""
        # Attack: `1'bx`, or a register that is never set, against a bench that compares with `!=`.
        for floating in (True, False):
            ends = await self._filled(defined(own.text, floating=floating))
            if not any(reason for reason, _ in ends):
                return False
            # A bench may expect an output that floats, or is undefined before the reset; the solution then fails as
            # well.
            controls = await self._filled(defined(gold.text, floating=floating))
            if not any(reason for reason, _ in controls):
                return True
        return False

    async def _filled(self, netlist: str) -> list[tuple[str | None, str]]:
        # The module around the netlist takes additional time.
        longer = replace(self.params, cpu_s=min(600.0, 2 * self.params.cpu_s))
        return await self._bench(netlist, ((), (ONES,)), longer.limits)

    async def _bench(
        self, netlist: str, runs: Sequence[Sequence[str]] = ((),), limits: Limits | None = None
    ) -> list[tuple[str | None, str]]:
        """Returns, for each run, why a netlist fails the test bench, or None, and the bench's output."""
        bench, given = self.reference.testbench, self.reference.files
        assert bench is not None
        done = await steps.simulate(self.ctx.sandbox, bench, netlist, given, limits or self.params.limits, runs)
        return [self._read(one) for one in done]

    def _read(self, done: Simulated) -> tuple[str | None, str]:
        shown = done.output[-_SHOWN:]
        if done.status in ("time_limit", "memory_limit", "output_limit"):
            return done.status, shown
        fails = self.reference.fails
        if done.status == "ok" and str(self.reference.passes) in done.output and not (fails and fails in done.output):
            return None, shown
        return "test_failed", shown

    async def _compared(self, own: Netlist, gold: Netlist) -> Outcome | None:
        if gold.latches or len(gold.clocks) > 1:
            raise _invalid("solution", "equivalence needs a single clock that is a port, and no latches; give a bench")
        reset = self.reference.reset
        if reset is not None and f"input [0:0] {reset.signal}" not in gold.ports:
            raise _invalid("reset", f"the solution has no input {reset.signal} of one bit")
        if own.latches or own.clocks != gold.clocks:
            # Attack: a proof counts steps and not edges, so it cannot distinguish another clock, or the other edge.
            clocks = ", ".join(f"{edge} edge of {name}" for name, edge in sorted(gold.clocks)) or "none"
            return self._zero("clock_differs", f"latches, or another clock than: {clocks}")
        (said,) = await self._agree(gold, [own])
        if all(one == "ok" for one in said):
            return None
        (control,) = await self._agree(gold, [gold])
        if any(one != "ok" for one in control):
            raise _invalid("solution", f"it is not proven equivalent to itself ({', '.join(control)}); give a reset")
        if said[0] == "differs":
            return self._zero("not_equivalent", None)
        if said[0] == "runtime_error":
            return self._zero("not_synthesizable", "a proof cannot deal with it, such as with tri-state buffers")
        if said[0] != "ok":
            return self._zero("too_expensive", f"the comparison: {said[0]}", flags=("too_expensive",))
        if self.params.bounded:
            self.flags.append("bounded")
            return None
        return self._zero("unproven", f"it agrees for {self.params.cycles} cycles; the proof by induction fails")

    async def _agree(self, gold: Netlist, gates: list[Netlist]) -> list[tuple[str, ...]]:
        params = self.params
        return await steps.agree(
            self.ctx.sandbox, self.top, gold, gates, self.reference.reset, params.cycles, params.limits
        )

    async def _right(self, own: Netlist, gold: Netlist) -> Outcome:
        params, score = self.params, 1.0
        if params.cost != "none" or params.costs:
            made, best = await steps.costs(self.ctx.sandbox, self.top, [own, gold], params.limits)
            if not isinstance(best, Cost):
                raise _invalid("solution", f"its synthesis failed: {best}")
            if not isinstance(made, Cost):
                return self._zero("too_expensive", f"its synthesis failed: {made}", flags=("too_expensive",))
            self.evidence["cost"] = {"area": made.area, "depth": made.depth}
            self.evidence["reference_cost"] = {"area": best.area, "depth": best.depth}
            if params.cost != "none":
                score = min(1.0, (getattr(best, params.cost) + 1) / (getattr(made, params.cost) + 1))
        return scored(
            score,
            passed=True,
            extracted=self.text[:_EXTRACTED],
            evidence=self.evidence,
            flags=tuple(self.flags),
        )

    def _zero(self, reason: str, words: str | None, *, flags: Iterable[str] = ()) -> Outcome:
        return wrong(
            reason,
            feedback=words,
            extracted=self.text[:_EXTRACTED],
            evidence=self.evidence,
            flags=tuple(dict.fromkeys((*self.flags, *flags))),
        )


def _invalid(name: str, message: str) -> InvalidReference:
    return InvalidReference(f"reference.{name}: {message}", path=f"reference.{name}")
