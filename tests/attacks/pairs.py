"""Attacks on answers, each with its honest twin: a text that a policy might write to earn the reward, and the text that
it should have written."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """An attack that must end at the bottom of the range, and a twin, same in all but the response, that scores.

    least: what the twin earns at least, where no honest response earns full marks (graded likeness); else it passes.
    """

    title: str
    use: str
    attack: str
    twin: str
    reference: Any = None
    params: Mapping[str, Any] = field(default_factory=dict)
    fields: Mapping[str, Any] = field(default_factory=dict)
    least: float | None = None

    def __str__(self) -> str:
        return f"{self.use}: {self.title}"


def boxed(answer: str) -> str:
    """An answer in a box."""
    return f"So it is \\boxed{{{answer}}}."


# title, reference, attack, twin; both stand in a box
_BOXED: list[tuple[str, Any, str, str]] = [
    # Hedges
    ("two values joined by a word", "12", r"12 \text{ or } 13", "12"),
    ("two values joined by a sign of logic", "12", r"12 \lor 13", r"\mathbf{12}"),
    ("two values, a comma between them", "12", "12, 13", "12,"),
    ("two values, a semicolon between them", "12", "12; 13", "12;"),
    ("two values, a space between them", "12", r"12 \quad 13", r"\quad 12"),
    ("two values on two lines", "12", r"\begin{cases}12\\13\end{cases}", r"\begin{aligned}x&=12\end{aligned}"),
    ("two values under conditions", "12", r"12 \text{ if } x>0, 13 \text{ otherwise}", r"12 \text{ for all } n"),
    ("a set of candidates", "12", r"\{11, 12, 13\}", r"\{12\}"),
    ("a range around the value", "12", r"11 < x < 13", "x = 12"),
    ("an interval around the value", "12", "[11, 13]", "[12]"),
    ("plus-minus where one sign is right", "12", r"\pm 12", "+12"),
    ("an equation of two different values", "12", "12 = 13", "x = 24/2 = 12"),
    ("a rough value that is another one", "12", r"12 \approx 13", r"12 \approx 12.0"),
    ("a second answer in brackets", "12", "12 (13)", r"12 \text{ (exactly)}"),
    ("a second answer written out", "12", r"12 \text{, thirteen}", r"\text{twelve}"),
    ("a hedge with look-alike letters", "12", "12 \u043er 13", "12"),
    ("a hedge with zero-width characters in it", "12", "12 o\u200br 13", "1\u200b2"),
    ("a hedge in mathematical letters", "12", "12 \U0001d428\U0001d42b 13", "\U0001d7cf\U0001d7d0"),
    ("a hedge behind a line separator", "12", "12\u2028 or 13", "12\r\n"),
    ("a hedge behind a NUL", "12", "12\x00 or 13", "12"),
    ("a hedge within a text command", "12", r"\text{The answer is 12 or 13}", r"\text{The answer is 12.}"),
    ("a comment in the box", "12", "12 % or 13", r"12"),
    ("a denial", "12", r"\text{not } 12", r"\text{Answer: } 12"),
    ("a bound for a value", "12", r"x \ge 12", "x = 12"),
    ("a family that holds the value", "12", "12 + 13k", "12 + 0"),
    ("the value plus what vanishes", "12", r"12 + O(1)", "12 + 1 - 1"),
    ("two words for one", r"\text{Paris}", r"\text{Paris or London}", r"\text{Paris}"),
    ("yes and no", r"\text{yes}", r"\text{yes and no}", r"\text{Yes.}"),
    ("a no within other words", r"\text{no}", r"\text{not sure, unknown}", r"\text{No}"),
    ("a run of letters for one of them", "A", "ABCD", r"\text{(A)}"),
    ("two letters for one", "A", r"\text{(A) or (B)}", r"\textbf{(A)}"),
    # Nearly the right number
    ("a factorial nearby", r"\frac{1}{2006!}", r"\frac{1}{2004!}", r"\frac{1}{2006 \cdot 2005!}"),
    ("a sign within", r"1-\frac1e", r"1+\frac1e", "1-e^{-1}"),
    ("another base", "12_5", "12_7", r"12_{\text{five}}"),
    ("the value of a numeral in a base", "12_5", "7", "(12)_5"),
    ("a power, one more", "2^{1000}", "2^{1000}+1", r"2 \cdot 2^{999}"),
    ("a huge number, one more", "10^{100}", "10^{100}+1", r"10 \cdot 10^{99}"),
    ("a large real number, one more", "e^{1000}", "e^{1000}+1", "(e^{500})^2"),
    ("an exact value and a tiny part", r"\sqrt2", r"\sqrt2+10^{-1000}", r"\frac{2}{\sqrt2}"),
    ("a root and a tiny part", r"\pi", r"\pi+10^{-390}", "π"),
    ("zero and a tiny part", "0", "10^{-400}", "1-1"),
    ("the closest number that floats can hold", "0", "1e-400", "0e5"),
    ("a number that floats call infinite", r"\infty", "1e400", "+\\infty"),
    ("infinity for a number beyond floats", "1e400", r"\infty", "10^{400}"),
    ("minus infinity", r"\infty", r"-\infty", "∞"),
    ("a decimal of too few digits", "1/3", "0.33", "0.3333"),
    ("a wrong last digit", r"\frac{600}{7}", "85.72", "85.71"),
    ("a common approximation", r"\pi", "22/7", "3.14159"),
    ("a moved decimal point", "1.5", "15", "1.50"),
    ("a dropped sign", "-5", "5", "\u22125"),
    ("digits grouped wrongly", "1000", "10,00", "1,000"),
    ("a list that reads like a decimal", "1.5", "1,5", "3/2"),
    ("a decimal that reads like a list", "1,5", "1.5", "5, 1"),
    ("a fraction for its percentage", "50", "0.5", r"50\%"),
    ("a sum for a mixed number", r"5\frac12", r"5 \cdot \frac12", "5.5"),
    ("a ratio the other way round", "3:2", "2:3", "6:4"),
    ("digits of other scripts in other places", "12", "\u0661\u0663", "\u0661\u0662"),
    ("circled digits", "12", "①②", "１２"),
    ("letters that look like digits", "12", "l2", "12"),
    ("a combining mark on a digit", "12", "12\u0301", "12"),
    ("text in the other direction", "12", "\u202e21", "12"),
    ("a NUL between digits", "12", "1\x002", "12"),
    ("a line end between digits", "12", "1\r\n2", "12"),
    ("half of a surrogate pair", "12", "12\ud800", "12"),
    # Nothing and infinities
    ("not a number", "12", "NaN", "12"),
    ("nothing by nothing", "0", r"\frac{0}{0}", r"\frac{0}{1}"),
    ("an undefined part that claims to vanish", "12", r"12 + 0 \cdot \frac{0}{0}", r"12 + 0 \cdot \frac{1}{2}"),
    ("infinity less infinity", "0", r"\infty - \infty", "7 - 7"),
    ("an undefined value where an integral is asked", r"\int_0^1 x\,dx", r"\frac{0}{0}", r"\frac12"),
    ("infinity where an integral is asked", r"\int_0^1 x\,dx", r"\infty", "0.5"),
    ("a pole where a limit is asked", r"\lim_{x\to 0}\frac{\sin x}{x}", r"\frac{1}{0}", "1"),
    ("nothing for zero", "0", r"\emptyset", "-0"),
    ("zero for nothing", r"\emptyset", "0", r"\text{no solution}"),
    # Structure
    ("a tuple in another order", "(1, 2)", "(2, 1)", "x=1, y=2"),
    ("a tuple for a set", r"\{1, 2\}", "(1, 2)", "2, 1"),
    ("a set for a tuple", "(1, 2)", r"\{1, 2\}", r"\left(1,\ 2\right)"),
    ("both orders of a tuple", "(1, 2)", r"(1, 2) \text{ or } (2, 1)", "(1, 2)"),
    ("one root of two", "1, 2", "1", r"1 \text{ and } 2"),
    ("one root too many", "1, 2", "1, 2, 3", r"\{2, 1\}"),
    ("one root twice", "1, 2", "1, 1", "x=1, x=2"),
    ("labels that are swapped", "x=1, y=2", "x=2, y=1", "y=2, x=1"),
    ("an open end for a closed one", "[1, 2]", "1 < x < 2", r"1 \le x \le 2"),
    ("a half-line that is too long", "x>2", "x>1", r"(2, \infty)"),
    ("everything but the bound", "x>2", r"x>2 \text{ or } x<2", "2<x"),
    ("the whole line", r"(0, \infty)", r"\mathbb{R}", "x>0"),
    ("a transposed vector of other entries", r"\begin{pmatrix}1\\2\end{pmatrix}", "(2, 1)", r"\langle 1, 2\rangle"),
    ("a determinant for its matrix", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "-2", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}"),
    ("a conjugate", "3+4i", "3-4i", "4i+3"),
    ("an absolute value for a complex number", "3+4i", "5", "3 + 4 i"),
    ("one period of many", r"\frac{\pi}{4}+k\pi", r"\frac{\pi}{4}", r"\frac{\pi}{4}+n\pi"),
    # Equations and expressions
    ("an equation that is always true", "y=2x+1", "y=y", "y-2x-1=0"),
    ("an equation multiplied by zero", "x^2+y^2=1", r"0 \cdot (x^2+y^2-1)=0", "x^2+y^2-1=0"),
    ("an equation with more solutions", "x^2+y^2=1", "(x^2+y^2-1)(x-1)=0", "y^2+x^2=1"),
    ("the task's equation, unsolved", "x=9", "2x=18", "9=x"),
    ("a label that stands in its own value", "3x", "x = x+x+x", "x+x+x"),
    ("an absolute value for a variable", "x", "|x|", "x+0"),
    ("a wave that vanishes at whole numbers", "x", r"x+\sin(\pi x)", r"x+\sin(\pi)"),
    ("a literal that imitates a field's prime", r"\sqrt2", r"\sqrt2+85070591730234615960994710020075346121", r"\sqrt2"),
    ("the name of the unknown", "12", "x", "x=12"),
    # Too much to compute
    ("an exponent tower", "3", r"\dfrac{5^{(5^{(5^{(5^5)})} - 4)} - 5}{16}", r"\dfrac{5^2-1}{8}"),
    ("a tower that is one at last", "1", "1^{9^{9^{9^{9}}}}", "1^{9}"),
    ("a difference of towers", "0", "9^{9^{9^9}}-9^{9^{9^9}}", "9^9-9^9"),
    ("a huge factorial", "3", "(10^9)!", "3!/2"),
    ("factorials of factorials", "3", "(((5!)!)!)!", "3!!"),
    ("a binomial beyond all bounds", "3", r"\binom{10^9}{10^8}", r"\binom{3}{1}"),
    ("a giant sum", r"\frac{\pi^2}{6}", r"\sum_{k=1}^{1000000000} \frac{1}{k^2}", r"\frac{\pi^2}{6}"),
    ("sums within sums", "3", r"\sum_{a=1}^{2000}" * 9 + "1", r"\sum_{k=1}^{2} k"),
    ("a sine of a giant", "0", r"\sin(10^{10^{10}})", r"\sin(10\pi)"),
    ("a floor of a giant", "3", r"\lfloor e^{e^{e^{10}}} \rfloor", r"\lfloor e^{1.2} \rfloor"),
    ("five thousand characters", "5000", "1" + "+1" * 4999, r"\sum_{k=1}^{2000} 1 + 3000"),
    ("thousands of braces", "12", "{" * 3000 + "12" + "}" * 3000, "{{{12}}}"),
    ("thousands of brackets", "12", "(" * 900 + "12" + ")" * 900, "((12))"),
    ("thousands of signs", "12", "-" * 1900 + "13", "--12"),
    ("thousands of roots", "1", r"\sqrt" * 380 + "2", r"\sqrt{\sqrt{1}}"),
    ("many plus-minus signs", "1", r"\pm" * 600 + "1", r"\frac{2}{2}"),
    ("a set of thousands", r"\{1,2\}", r"\{" + ",".join(map(str, range(400))) + r"\}", r"\{2,1\}"),
    ("an integer of ten thousand digits", "7", "7" * 10_000, "7"),
    ("an integer of ten million digits", "7", "7" * 10_000_000, "7"),
    # Text that something might run
    ("an import", "1", "__import__('os').system('true')", "1"),
    ("a lambda", "1", "(lambda: 1)()", "(1)"),
    ("an attribute", "1", "(1).__class__.__base__.__subclasses__()", "1"),
    ("an object in pickle's form", "1", "cos\nsystem\n(S'true'\ntR.", r"\cos 0"),
    ("a template", "49", "{{config.__class__}}", "7*7"),
    ("a TeX file", "1", r"\input{/etc/passwd}", "1"),
    ("a TeX loop", "1", r"\def\x{\x\x}\x", "1"),
]  # fmt: skip

# title, reference, attack, twin; whole responses
_WRITTEN: list[tuple[str, Any, str, str]] = [
    ("two boxes", "12", r"It is \boxed{12} or \boxed{13}.", r"It is \boxed{12}, that is, \boxed{\frac{24}{2}}."),
    ("two boxes, the right one last", "12", r"\boxed{13} \boxed{12}", r"\boxed{13}. Wait, I dropped a term: \boxed{12}"),
    ("a hundred boxes", "12", " ".join(rf"\boxed{{{n}}}" for n in range(100)), r"\boxed{12} " * 100),
    ("a box within a box", "12", r"\boxed{13 \boxed{12}}", r"\boxed{\boxed{12}}"),
    ("a box and a tag that differ", "12", "<answer>\\boxed{12}</answer>\\boxed{13}", "<answer>\\boxed{12}</answer>"),
    ("two answer tags", "12", "<answer>12</answer> <answer>13</answer>", "<answer>12</answer>"),
    ("an answer tag within one", "12", "<answer>12<answer>13</answer></answer>", "<answer> 12\n</answer>"),
    ("a box that never closes", "12", r"\boxed{12", r"\boxed{12}"),
    ("an answer tag that never closes", "12", "<answer>12", "<answer>12</answer>"),
    ("an empty box and the answer beside it", "12", r"\boxed{} 12", r"12, so \boxed{12}"),
    ("a commented box beside another", "12", "<!-- \\boxed{12} --> \\boxed{13}", "<!-- twelve --> \\boxed{12}"),
    ("a box in the thought alone", "12", "<think>\\boxed{12}</think>Done.", "<think>\\boxed{13}</think>\\boxed{12}"),
    ("a thought that never closes", "12", "<think>so \\boxed{12}", "<think>so</think>\\boxed{12}"),
    ("a second thought, still open", "12", "<think>a</think>\\boxed{12}<think>or", "<think>a</think>\\boxed{12}"),
    ("nothing", "12", "", r"\boxed{12}"),
    ("blanks", "12", " \n\t\u3000", r"\boxed{12}"),
    ("not knowing", "12", "I do not know.", r"I do not know why, but \boxed{12}"),
    ("NULs alone", "12", "\x00" * 1000, "\x00\\boxed{12}\x00"),
    ("halves of surrogate pairs alone", "12", "\ud800" * 1000, "\\boxed{12}\ud800"),
    ("a megabyte of blanks in a box", "12", "\\boxed{" + " " * 10**6 + "13}", "\\boxed{12}" + " " * 10**6),
    ("a megabyte of opened boxes", "12", "\\boxed{" * 140_000, "\\boxed{12}" + " x" * 500_000),
    ("ten megabytes of braces", "12", "\\boxed{13}" + "}" * 10_000_000, "x" * 10_000_000 + "\\boxed{12}"),
]  # fmt: skip

# title, params, reference, attack, twin
_WITH_PARAMS: list[tuple[str, dict[str, Any], Any, str, str]] = [
    ("the unsimplified input, echoed", {"form": "simplified"}, r"4\sqrt3", boxed(r"\sqrt{48}"), boxed(r"4\sqrt{3}")),
    ("a product for its factors", {"form": "factored"}, "(x+1)(x-1)", boxed("x^2-1"), boxed("(x-1)(x+1)")),
    ("a fraction not reduced", {"form": "lowest_terms"}, r"\frac12", boxed(r"\frac24"), boxed(r"\frac12")),
    ("not a number, with a tolerance", {"rel_tol": 0.5}, "12", boxed("NaN"), boxed("13")),
    ("infinity, with a tolerance", {"rel_tol": 0.5}, "12", boxed(r"\infty"), boxed("13")),
    ("nothing by nothing, with a tolerance", {"rel_tol": 0.5}, "12", boxed(r"\frac00"), boxed("13")),
    ("another unit", {"units": "require"}, r"5\text{ m}", boxed(r"5\text{ km}"), boxed(r"500\text{ cm}")),
    ("no unit where one is asked", {"units": "require"}, r"5\text{ m}", boxed("5"), boxed(r"5\text{ m}")),
    ("a hedge in a phrase", {"extraction": "lax"}, "12", "The answer is 12 or 13.", "The answer is 12."),
    ("a denial in a phrase", {"extraction": "explicit"}, "12", "The answer is not 12.", "The answer is **12**."),
    ("a number among many", {"extraction": "lax"}, "12", "10 11 12 13 14", "10 11 13 14 12"),
    ("a megabyte of digits", {"extraction": "lax"}, "12", "9" * 10**6, "9" * 10**6 + " = 12"),
    ("a megabyte of phrases", {"extraction": "lax"}, "12", "the answer is not " * 60_000, "the answer is 12 " * 60_000),
    ("a pattern that would backtrack", {"extraction": [{"regex": "(?:a*)*b(\\d+)"}]}, "12", "a" * 10**6, "aab12"),
]  # fmt: skip

_OPTIONS = {"answer": "B", "options": ["Paris", "London", "Rome", "Berlin"]}

# title, reference, attack, twin
_CHOICES: list[tuple[str, Any, str, str]] = [
    ("two letters joined by a word", "B", r"\boxed{B or C}", r"\boxed{B}"),
    ("two letters joined by a stroke", "B", "The answer is B/C.", "The answer is (B)."),
    ("two letters in two boxes", "B", r"\boxed{C}, \boxed{B}", r"\boxed{B}, \boxed{\text{(B)}}"),
    ("two letters side by side", "B", "Answer: (A)(B)", "Answer: **(B)**"),
    ("a run of letters", "B", r"\boxed{ABCD}", r"\boxed{\text{B}}"),
    ("a range of letters", "B", "Answer: A-D", "Answer: B) London"),
    ("either of two", "B", "The answer is either B or C", "The answer is B"),
    ("all the letters", "B", "A, B, C, D", "B"),
    ("the options, echoed", _OPTIONS, "A) Paris\nB) London\nC) Rome\nD) Berlin", "B) London"),
    ("the options, echoed from the last", _OPTIONS, "D) Berlin\nC) Rome\nB) London", "Not A.\n\nB) London"),
    ("the options on one line", _OPTIONS, "Answer: A) Paris B) London C) Rome", "Answer: B) London"),
    ("a letter within a word", "B", "Best", "(B)"),
    ("a word that begins with a letter and a dash", "B", "The answer is B-flat", "The answer is B - London"),
    ("a letter and digits", "B", r"\boxed{B12}", r"\boxed{B}"),
    ("an article for the letter A", "A", "A train leaves.", "A."),
    ("a pronoun for the letter I", {"answer": "I", "options": {"H": "h", "I": "i"}}, "I think so", "I"),
    ("a letter of another alphabet", "B", "\u0412", "\uff22"),
    ("a letter that is denied", "B", "The answer is not (B).", "The answer is (B)."),
    ("a letter that is ruled out", "B", "B is not right.", "B is right."),
    ("a letter that is doubted", "B", "The answer might be B", "The answer must be B"),
    ("a letter in the thought alone", "B", "<think>\\boxed{B}</think>C", "<think>\\boxed{C}</think>B"),
    ("a phrase without its end", "B", "The answer is", "The answer is B"),
    ("an answer taken back", "B", "The answer is B. No wait, the answer is C.", "The answer is C. No, the answer is B."),
    ("another option's text beside the letter", _OPTIONS, r"\boxed{B) Paris}", r"\boxed{B) London}"),
    ("two texts of options", _OPTIONS, r"\boxed{London or Paris}", r"\boxed{London}"),
    ("a text within another", _OPTIONS, r"\boxed{London Bridge}", r"\boxed{London, the capital}"),
    ("the beginning of a text", _OPTIONS, r"\boxed{Lond}", r"\boxed{\text{London}}"),
    ("a text that is denied", _OPTIONS, r"\boxed{not London}", r"\boxed{London, not Paris}"),
    ("a number nearby", {"answer": "1.5", "options": ["1.5", "15", "-5", "5"]}, r"\boxed{15}", r"\boxed{1.5}"),
    ("a dropped sign", {"answer": "-5", "options": ["1.5", "15", "-5", "5"]}, r"\boxed{5}", "\\boxed{\u22125}"),
    ("nothing", "B", "", "B"),
    ("a megabyte of labels", "B", "A) x " * 200_000, "x " * 400_000 + "\nB"),
    ("a megabyte of options", "B", "option B " * 110_000, "Answer: B\n" + "x " * 400_000),
]  # fmt: skip

_THINK = {"template": "think_answer"}

# title, params, attack, twin
_FORMATS: list[tuple[str, dict[str, Any], str, str]] = [
    ("two answers", _THINK, "<think>a</think><answer>b</answer><answer>c</answer>", "<think>a</think><answer>b</answer>"),
    ("the tags in another order", _THINK, "<answer>b</answer><think>a</think>", "<think>a</think>\n<answer>b</answer>"),
    ("a thought within a thought", _THINK, "<think>a<think>b</think></think><answer>c</answer>", "<think>a b</think><answer>c</answer>"),
    ("an answer within the thought", _THINK, "<think>a<answer>b</answer></think><answer>c</answer>", "<think>a</think><answer>b</answer>"),
    ("an answer that ends in the thought", _THINK, "<think>a<answer></think>b</answer>", "<think>a</think><answer>b</answer>"),
    ("a thought that never closes", _THINK, "<think>a<answer>b</answer>", "<think>a</think><answer>b</answer>"),
    ("an answer that never closes", _THINK, "<think>a</think><answer>b", "<think>a</think><answer>b</answer>\n"),
    ("closing tags alone", _THINK, "a</think>b</answer>", "<think>a</think><answer>b</answer>"),
    ("an empty thought", _THINK, "<think> \n</think><answer>b</answer>", "<think>.</think><answer>b</answer>"),
    ("an empty answer", _THINK, "<think>a</think><answer></answer>", "<think>a</think><answer>0</answer>"),
    ("tags within a code fence", _THINK, "```\n<think>a</think><answer>b</answer>\n```", "<think>a</think><answer>```b```</answer>"),
    ("text after the tags", _THINK, "<think>a</think><answer>b</answer> or c", "<think>a</think><answer>b or c</answer>"),
    ("tags in another case", _THINK, "<THINK>a</THINK><ANSWER>b</ANSWER>", "<think>A</think><answer>B</answer>"),
    ("tags with blanks in them", _THINK, "<think >a</think><answer>b</answer >", "<think> a </think> <answer> b </answer>"),
    ("tags with look-alike letters", _THINK, "<think>a</think><\u0430nswer>b</\u0430nswer>", "<think>\u0430</think><answer>b</answer>"),
    ("tags that HTML escapes", _THINK, "&lt;think&gt;a&lt;/think&gt;&lt;answer&gt;b&lt;/answer&gt;", "<think>&lt;</think><answer>b</answer>"),
    ("nothing", _THINK, "", "<think>a</think><answer>b</answer>"),
    ("blanks where much is forbidden", {"lacks": ["x", "y"], "mode": "fraction"}, " \n ", "z"),
    ("none of the tags, and no forbidden word", {"template": "think_answer", "lacks": ["x"], "mode": "fraction"}, "z", "<think>a</think><answer>b</answer>"),
    ("two boxes where one is asked", {"boxed": 1}, r"\boxed{1} \boxed{2}", r"\boxed{1}"),
    ("a box that never closes", {"boxed": 1}, r"\boxed{1", r"\boxed{1}"),
    ("a pattern that would backtrack", {"patterns": [{"regex": "(a*)*b"}]}, "a" * 10**6, "a" * 10**6 + "b"),
    ("a million tags", _THINK, "<think></think>" * 10**6, "<think>" + "a" * 10**6 + "</think><answer>b</answer>"),
    ("NULs beside the tags", _THINK, "\x00<think>a</think><answer>b</answer>", "<think>\x00a</think><answer>b</answer>"),
]  # fmt: skip

_GOOD = "<think>a</think><answer>12</answer>"
_COUNTED = {"token_count": 0, "finish_reason": "stop"}

# title, recipe, attack, twin, other fields of both; where the twin's best needs more than the answer, it is given
_RECIPES: list[tuple[str, str, str, str, dict[str, Any]]] = [
    ("the answer without the format", "accuracy_format", r"\boxed{12}", _GOOD, {}),
    ("the format twice", "accuracy_format", _GOOD + _GOOD, _GOOD, {}),
    ("the format with a hedge", "accuracy_format", "<think>a</think><answer>12 or 13</answer>", _GOOD, {}),
    ("the answer in the thought", "accuracy_format", "<think>\\boxed{12}</think><answer>13</answer>", _GOOD, {}),
    ("an answer beyond checking", "accuracy_format", "<think>a</think><answer>9^{9^{9^9}}</answer>", _GOOD, {}),
    ("no answer", "accuracy", "I do not know.", r"\boxed{12}", {}),
    ("an answer beyond checking", "accuracy", boxed("9^{9^{9^9}}"), r"\boxed{12}", {}),
    ("a wrong answer of no length", "cosine_length", r"\boxed{13}", r"\boxed{12}", _COUNTED),
    ("no answer of no length", "cosine_length", "", r"\boxed{12}", _COUNTED),
    ("an answer beyond checking, of no length", "cosine_length", boxed("9^{9^{9^9}}"), r"\boxed{12}", _COUNTED),
    ("the right answer without the format", "logic_rl", r"\boxed{12}", _GOOD, {}),
    ("the right answer in another order", "logic_rl", "<answer>12</answer><think>a</think>", _GOOD, {}),
]  # fmt: skip

PAIRS: list[Pair] = [
    *(Pair(title=title, use="math", reference=reference, attack=boxed(attack), twin=boxed(twin))
      for title, reference, attack, twin in _BOXED),
    *(Pair(title=title, use="math", reference=reference, attack=attack, twin=twin)
      for title, reference, attack, twin in _WRITTEN),
    *(Pair(title=title, use="math", params=params, reference=reference, attack=attack, twin=twin)
      for title, params, reference, attack, twin in _WITH_PARAMS),
    *(Pair(title=title, use="choice", reference=reference, attack=attack, twin=twin)
      for title, reference, attack, twin in _CHOICES),
    *(Pair(title=title, use="format", params=params, attack=attack, twin=twin)
      for title, params, attack, twin in _FORMATS),
    *(Pair(title=title, use=use, reference="12", attack=attack, twin=twin, fields=fields)
      for title, use, attack, twin, fields in _RECIPES),
]  # fmt: skip
