"""Attacks on `answer`: a policy must not choose who judges it."""

from __future__ import annotations

from tests.attacks.pairs import Pair, boxed

PAIRS: list[Pair] = [
    Pair(title="a type in the response", use="answer", reference="12", attack='{"type": "text", "value": "12"}', twin=boxed("12")),
    Pair(title="a type in the box", use="answer", reference="12", attack=boxed('{"type": "text", "value": "13"}'), twin=boxed("12")),
    Pair(title="two numbers", use="answer", reference=12, attack=boxed("12, 13"), twin=boxed("12")),
    Pair(title="two letters", use="answer", reference="B", attack="The answer is B or C.", twin="The answer is B."),
    Pair(title="two texts", use="answer", reference="Paris", attack="<answer>Paris or London</answer>", twin="<answer>Paris</answer>"),
    Pair(title="a word around the answer", use="answer", reference="no", attack="<answer>not sure, unknown</answer>", twin="<answer>No.</answer>"),
    Pair(title="two dates", use="answer", reference="2024-03-05", attack="<answer>2024-03-05 or 2024-05-03</answer>", twin="<answer>5 March 2024</answer>"),
    Pair(title="both truth values", use="answer", reference=True, attack="<answer>True or False</answer>", twin="<answer>True</answer>"),
    Pair(title="two boxes for one", use="answer", reference={"bbox": [0, 0, 10, 10]}, attack="<answer>[[0, 0, 10, 10], [50, 50, 60, 60]]</answer>", twin="<answer>[0, 0, 10, 10]</answer>"),
    Pair(title="a wrong answer that a soft fallback would like", use="answer", reference="12",
         params={"fallback": {"name": "format", "params": {"contains": ["think"]}}}, attack="I think it is " + boxed("13"), twin="I think it is " + boxed("12")),
    *(Pair(title=title, use="answer", reference=reference, attack=boxed(attack), twin=boxed(twin))
      for title, reference, attack, twin in [
          ("a sign that punctuation hides", "y = mx + b", "y = mx - b", "y = b + mx"),
          ("a factorial without its sign", "n!", "n", "n!"),
          ("a derivative without its stroke", "f'(2)", "f(2)", "f'(2)"),
          ("the opposite of a word", "yes", "-(Yes)", "Yes."),
          ("an order read backwards", "b, a, d, c", "c < d < a < b", "b < a < d < c"),
          ("another modulus", r"x \equiv 3 \pmod 6", r"x \equiv 3 \pmod 7", r"3 \pmod 6"),
          ("exists, for all", r"\forall x, x^2 \ge 0", r"\exists x, x^2 \ge 0", r"x^2 \ge 0 \text{ for all } x"),
          ("or, and", r"p \vee q", r"p \wedge q", r"q \lor p"),
          ("a wider condition", r"f(x)=cx \text{ where } |c| \le 1", r"f(x)=cx \text{ where } |c| \le 2", "f(x)=cx"),
          ("another argument of a function", "f(-8.5)=-0.5", "f(1)=7", "f(-8.5)=-1/2"),
          ("an equation that is still to be solved", "7", "2x=7", "x=7"),
          ("the task's own side of an identity", r"\log_6(216)=3", r"\log_6 216", r"\log_6 216 = 3"),
          ("another index", "y1 > y2", "y1 > y3", "y_2 < y_1"),
          ("a maximum for a minimum", r"\text{max: } 3, \text{ min: } 1", r"\text{max: } 1, \text{ min: } 3", r"\text{min: } 1, \text{ max: } 3"),
          ("a domain and a range, merged", r"\text{Domain: } (-\infty,4], \text{ Range: } [0,\infty)", r"\mathbb{R}", r"(-\infty,4], [0,\infty)"),
          ("other things counted", "495 cookies", "495 cakes", "495"),
          ("an approximation that is none", r"\frac{40}{3} \approx 13.33", r"\frac{40}{3} \approx 13.34", r"\frac{40}{3} \approx 13.3"),
          ("a letter and a number", "B", "2B", "B"),
      ]),
]  # fmt: skip
