"""Wraps a netlist so that its outputs are never undefined: undefined bits become 0, or 1 if the simulation has the
argument `ONES`.

A bench that compares with `!=` or `==` accepts an undefined output, because the comparison itself is undefined. A
design whose verdict depends on that fails with one of the two values.
"""

from __future__ import annotations

import re

ONES = "+rewarden_ones"
"""The argument of a simulation that sets undefined bits to 1."""

_HEADER = re.compile(r"^module .*?;$", re.MULTILINE | re.DOTALL)
_PORT = re.compile(r"^  (input|output|inout) (\[(-?\d+):(-?\d+)\] )?(\\\S+ |[A-Za-z_]\w*);$", re.MULTILINE)


def defined(netlist: str, *, floating: bool) -> str:
    """Returns the netlist inside a module of the same name and ports. floating: whether high impedance also counts as
    undefined.
    """
    header = _HEADER.search(netlist)
    assert header is not None
    ports = header[0].partition("(")[2]
    lines = [header[0], "  reg rewarden_fill;", '  initial rewarden_fill = $test$plusargs("rewarden_ones") != 0;']
    joined: list[str] = []
    for place, port in enumerate(_PORT.finditer(netlist)):
        direction, span, left, right, signal = port.groups()
        lines.append(f"  {direction} {span or ''}{signal};")
        if direction != "output":
            joined.append(f".{signal}({signal})")
            continue
        own, made, each = (f"rewarden_{kind}{place}" for kind in ("own", "made", "bit"))
        width = abs(int(left) - int(right)) + 1 if span else 1
        bit = f"{own}[{each}]"
        undefined = f"{bit} === 1'bx" + f" || {bit} === 1'bz" * floating
        joined.append(f".{signal}({own})")
        lines += [
            f"  wire [{width - 1}:0] {own}, {made};",
            f"  genvar {each};",
            f"  generate for ({each} = 0; {each} < {width}; {each} = {each} + 1) begin : rewarden_bits{place}",
            f"    assign {made}[{each}] = ({undefined}) ? rewarden_fill : {bit};",
            "  end endgenerate",
            f"  assign {signal} = {made};",
        ]
    lines += [f"  rewarden_netlist rewarden_inner({', '.join(joined)});", "endmodule", ""]
    return "\n".join(lines) + _HEADER.sub(lambda _: f"module rewarden_netlist({ports}", netlist, count=1)
