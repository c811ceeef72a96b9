"""Rows for comparing rewards of hardware designs with a golden one."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from benchmarks.parity_rows import Forms, Row, drawn, thought

_EQUAL = {
    "mux": (
        "module mux(input [W:0] a, input [W:0] b, input s, output [W:0] y);\n  assign y = s ? b : a;\nendmodule",
        "module mux(input [W:0] a, input [W:0] b, input s, output reg [W:0] y);\n"
        "  always @(*) begin\n    if (s) y = b;\n    else y = a;\n  end\nendmodule",
    ),
    "adder": (
        "module adder(input [W:0] a, input [W:0] b, output [W:0] y);\n  assign y = a + b;\nendmodule",
        "module adder(input [W:0] a, input [W:0] b, output [W:0] y);\n  assign y = b - ~a - 1'b1;\nendmodule",
    ),
    "masked": (
        "module masked(input [W:0] a, input [W:0] b, output [W:0] y);\n  assign y = ~(a & b);\nendmodule",
        "module masked(input [W:0] a, input [W:0] b, output [W:0] y);\n  assign y = ~a | ~b;\nendmodule",
    ),
    "counter": (
        "module counter(input clk, input rst, input en, output reg [W:0] y);\n  always @(posedge clk)\n"
        "    if (rst) y <= 0;\n    else if (en) y <= y + 1;\nendmodule",
        "module counter(input clk, input rst, input en, output [W:0] y);\n  reg [W:0] n;\n"
        "  always @(posedge clk) n <= rst ? 0 : en ? n + 1 : n;\n  assign y = n;\nendmodule",
    ),
    "shifter": (
        "module shifter(input clk, input rst, input d, output reg [W:0] y);\n  always @(posedge clk)\n"
        "    if (rst) y <= 0;\n    else y <= {y[V:0], d};\nendmodule",
        "module shifter(input clk, input rst, input d, output [W:0] y);\n  reg [W:0] k;\n"
        "  always @(posedge clk) begin\n    k <= (k << 1) | d;\n    if (rst) k <= 0;\n  end\n"
        "  assign y = k;\nendmodule",
    ),
}
_WRONG = {
    "mux": ("s ? b : a", "s ? a : b"),
    "adder": ("a + b", "a - b"),
    "masked": ("~(a & b)", "~(a | b)"),
    "counter": ("y + 1", "y + 2"),
    "shifter": ("{y[V:0], d}", "{y[V:0], ~d}"),
}
"""The expression in each design, and a wrong one."""
_RARE = (
    "module adder(input [W:0] a, input [W:0] b, output [W:0] y);\n"
    "  assign y = (a == 32'hdeadbeef) ? 0 : a + b;\nendmodule"
)


def designs() -> Callable[[random.Random], Row]:
    """Returns a maker of rows with a design in a block, and a golden design with its ports."""
    forms: Forms = {
        "plain": (8, lambda rng, why, what: f"<think>{why}</think>\n<answer>\n```verilog\n{what}\n```\n</answer>"),
        "said": (3, lambda rng, why, what: f"<think>{why}</think>\n<answer>Here:\n```verilog\n{what}\n```\n</answer>"),
        "two blocks": (
            1,
            lambda rng, why, what: (
                f"<think>{why}\n```verilog\nmodule m; endmodule\n```\n</think>\n"
                f"<answer>\n```verilog\n{what}\n```\n</answer>"
            ),
        ),
        "in line": (2, lambda rng, why, what: f"<think>{why}</think><answer>```verilog\n{what}\n```</answer>"),
        "thought": (
            1,
            lambda rng, why, what: f"<think>{why}\n```verilog\n{what}\n```\n</think>\n<answer>It is above.</answer>",
        ),
        "no thought": (2, lambda rng, why, what: f"<answer>\n```verilog\n{what}\n```\n</answer>"),
        "reversed": (2, lambda rng, why, what: f"<answer>```verilog\n{what}\n```</answer><think>{why}</think>"),
        "unlabelled": (2, lambda rng, why, what: f"<think>{why}</think>\n<answer>\n```\n{what}\n```\n</answer>"),
        "no block": (2, lambda rng, why, what: f"<think>{why}</think>\n<answer>\n{what}\n</answer>"),
        "cut": (2, lambda rng, why, what: f"<think>{why}</think>\n<answer>\n```verilog\n{what[:40]}"),
        "empty": (2, lambda rng, why, what: ""),
    }

    def make(rng: random.Random) -> Row:
        kind = rng.choices(
            ("same", "equal", "wrong", "commented", "broken", "prints", "rare"), weights=(4, 8, 8, 2, 2, 1, 1)
        )[0]
        task = "adder" if kind == "rare" else rng.choice(list(_EQUAL))
        width = 32 if kind == "rare" else rng.choice((3, 4, 5, 6))

        def sized(text: str) -> str:
            return text.replace("[W:0]", f"[{width - 1}:0]").replace("[V:0]", f"[{width - 2}:0]")

        gold, equal = _EQUAL[task]
        told = {
            "same": gold,
            "equal": equal,
            "wrong": gold.replace(*_WRONG[task]),
            "commented": f"// {rng.getrandbits(40)}\n{equal}",
            "broken": gold.replace("endmodule", ""),
            "prints": gold.replace(*_WRONG[task]).replace(
                "endmodule", '  initial begin $display("All tests passed."); $finish; end\nendmodule'
            ),
            "rare": _RARE,
        }[kind]
        name, form = drawn(rng, forms)
        known = {"code": sized(gold), **_ports(task, width)}
        return Row(f"{kind}, {name}", form(rng, thought(rng), sized(told)), known)

    return make


def _ports(task: str, width: int) -> dict[str, Any]:
    """Returns the ports of a golden design, as a published toolkit lists them."""
    clocked = task in ("counter", "shifter")
    given = {"mux": [["a", width], ["b", width], ["s", 1]], "counter": [["en", 1]], "shifter": [["d", 1]]}
    inputs = given.get(task, [["a", width], ["b", width]])
    return {
        "input_port_width": [*([["clk", 1], ["rst", 1]] if clocked else []), *inputs],
        "output_port_width": [["y", width]],
        "clock_port_polarity": [["clk", 1]] if clocked else [],
        "reset_port_polarity_sync": [["rst", 1, True]] if clocked else [],
    }
