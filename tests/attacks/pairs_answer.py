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
]  # fmt: skip
