"""Pairs of the same answer, and the near miss beside each that is not. First the reference, then the candidate."""

from __future__ import annotations

import pytest

from tests.verifiers.math.judging import equal

SAME = {
    "numbers": [
        ("12", "12.0"),
        ("1,000", "1000"),
        ("32{,}348", "32348"),
        ("5,000,000", r"5 \times 10^6"),
        ("1.5e3", "1500"),
        (r"2 \times 10^{-3}", "0.002"),
        (r"\$5.50", "5.5"),
        (r"5\frac12", r"\frac{11}{2}"),
        ("3 1/2", "7/2"),
        (r"0.\overline{3}", r"\frac13"),
        (r"-\frac{1}{2}", r"\frac{1}{-2}"),
        ("1024", "2^{10}"),
        ("seven", "7"),
        ("\u2212\u00bd", "-0.5"),
    ],
    "percent": [
        (r"50\%", "0.5"),
        (r"50\%", "50"),
        (r"33\frac{1}{3}\%", r"\frac13"),
        ("6.67%", r"\frac{1}{15}"),
    ],
    "radicals": [
        (r"\sqrt{8}", r"2\sqrt2"),
        (r"\frac{1}{\sqrt2}", r"\frac{\sqrt2}{2}"),
        (r"\sqrt{3+2\sqrt2}", r"1+\sqrt2"),
        (r"5\sqrt[3]{4}", r"5 \cdot 2^{2/3}"),
        ("\u221a2", "sqrt(2)"),
    ],
    "constants and complex numbers": [
        (r"e^{i\pi}", "-1"),
        ("3+4i", "4i + 3"),
        (r"\sqrt{-4}", "2i"),
        (r"\log_2 3", r"\frac{\ln 3}{\ln 2}"),
        (r"\log 100", "2"),
        (r"\arctan 1", r"\frac{\pi}{4}"),
    ],
    "expressions": [
        ("(x+1)^2", "x^2+2x+1"),
        (r"\sin 2x", r"2\sin x\cos x"),
        (r"\frac{a}{b}+\frac{c}{d}", r"\frac{ad+bc}{bd}"),
        (r"\sqrt{x^3}", r"x\sqrt x"),
        (r"\sum_{k=1}^{n} k", r"\frac{n(n+1)}{2}"),
        (r"1.5+5.5(-1)^n", r"\frac{3+11(-1)^n}{2}"),
        (r"\lceil n/2\rceil+1", r"\left\lceil \dfrac{n}{2}\right\rceil+1"),
        (r"2\arcsin\sqrt a", r"\arccos(1-2a)"),
        ("a_1+a_2", "a_2+a_1"),
        ("6r^2-4r-24", "6r^{2} - 4r - 24"),
    ],
    "equations": [
        ("x=5", "5"),
        ("5", "x=5"),
        ("y=2x+1", "2x-y+1=0"),
        ("x^2+y^2=4", "x^2+y^2-4=0"),
        ("f(z)=z", "f(x)=x"),
        ("f(x)=2x", "2x"),
        (r"\rho\sin\theta=\sqrt3", r"\sqrt3\csc\theta"),
        ("y+1=-(2x-1)^2", "-4x^2+4x-2"),
        (r"\frac{1+\sqrt{97}}{8} \approx 1.36", r"\frac{1+\sqrt{97}}{8}"),
    ],
    "inequalities, intervals and unions": [
        ("x>2", r"(2,\infty)"),
        ("(3,4]", r"3 < \lambda \leq 4"),
        (r"x \in [-2,7]", "[-2, 7]"),
        (r"a \le -2 \text{ or } a = 1", r"(-\infty,-2]\cup\{1\}"),
        (r"\{x \mid x<\frac32\}-\{-6\}", r"(-\infty,-6)\cup(-6,1.5)"),
        (r"a \ne 2", r"(-\infty,2)\cup(2,\infty)"),
        (r"\mathbb{R}", r"(-\infty,\infty)"),
        (r"a+b \ge c", r"c \le a+b"),
        (r"[0,1)\cup[1,2]", "[0,2]"),
    ],
    "sets, lists and tuples": [
        (r"\{1,2,3\}", r"\{3,1,2\}"),
        (r"\{1,2,3\}", "1, 2, 3"),
        ("1,-1,7,-7", r"\pm 1, \pm 7"),
        (r"x=1\text{ or }x=2", r"\{1,2\}"),
        (r"(\sqrt2,0),(-\sqrt2,0)", r"(\pm\sqrt2, 0)"),
        (r"(x,y)=(1,2)", "x=1, y=2"),
        ("a=1, b=2", "b=2, a=1"),
        ("16,3,1,1", "w=16, d=3, a=1, b=1"),
        ("${1,3} \\cup {2,4}$", "${1,2,3,4}$"),
        ("1,3", r"\text{Minimum: } 1, \text{ Maximum: } 3"),
    ],
    "matrices and vectors": [
        (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{bmatrix}1&2\\3&4\end{bmatrix}"),
        (r"\begin{pmatrix}-7\\16\\5\end{pmatrix}", "(-7,16,5)"),
        (r"\left(\begin{array}{cc}1&2\\3&4\end{array}\right)", r"\begin{pmatrix}1&2\\3&4\end{pmatrix}"),
        (r"\begin{vmatrix}1&2\\3&4\end{vmatrix}", "-2"),
    ],
    "angles and units": [
        (r"90^\circ", r"\frac{\pi}{2}"),
        (r"\frac{\pi}{6}", r"30^\circ"),
        (r"60^\circ 42'", r"60.7^\circ"),
        ("5", r"5\text{ cm}"),
        (r"5\text{ m}", r"500\text{ cm}"),
        (r"6\text{ ft }2\text{ in}", r"74\text{ inches}"),
        (r"12\text{ square feet}", r"12\text{ ft}^2"),
        (r"3.0\times10^8\text{ m/s}", r"3\times10^8"),
    ],
    "remarks around the answer": [
        ("10", r"10 \text{ (approximately)}"),
        ("5", r"\approx 5"),
        ("5", "= 5"),
        ("1", r"1^{\text{st}}"),
        ("f(n)=n", r"f(n) = n \text{ for all } n \in \mathbb{N}"),
    ],
    "words": [
        ("A", r"\text{(A)}"),
        (r"\textbf{(B)}", "B"),
        (r"\text{infinitely many}", r"\infty"),
        (r"\text{No real solutions}", r"\varnothing"),
        (r"\text{Yes}", "true"),
        ("line segment, circle", r"\text{line segment and circle}"),
    ],
    "spelling that was damaged on the way": [
        ("\x0crac{1}{2}", "0.5"),
        ("60^\textcirc 42'", r"60^\circ 42'"),
        (r"\text{sin}\bigg(\\frac{\\pi}{2}x\bigg)", r"\sin\left(\frac{\pi}{2}x\right)"),
        ("3<sup>x</sup>", "3^x"),
    ],
    "bases and ratios": [
        ("1010_2", r"1010_{\text{two}}"),
        ("2516_8", "2516"),
        ("2:3:4", "4:6:8"),
        ("6.67", "20:3"),
    ],
}

DIFFERENT = [
    ("12", "13"),
    ("12", "1 2"),
    ("1.5", "15"),
    ("-5", "5"),
    ("123456789", "123456788"),
    ("10^{100}", "10^{100}+1"),
    (r"1-\frac1e", r"1+\frac1e"),
    ("1/2004!", "1/2006!"),
    ("12_5", "12_7"),
    ("12_5", "7"),
    (r"\sqrt{10^{200}+1}", "10^{100}"),
    ("3+4i", "3-4i"),
    (r"\infty", r"-\infty"),
    ("0", r"\infty"),
    ("x+1", "x-1"),
    ("2x", "2y"),
    (r"\sqrt{x^2}", "x"),
    (r"\sin x", r"\cos x"),
    ("n!", "n^n"),
    ("y=2x+1", "y=2x-1"),
    ("x=2", "y=2"),
    ("x^2=4", "2"),
    ("x^2+y^2=4", "x^2+y^2<4"),
    ("x>2", r"x \ge 2"),
    ("x>2", "y>2"),
    ("a<b", "b<a"),
    (r"[0,1]\cup[2,3]", "[0,3]"),
    (r"\mathbb{R}", r"\mathbb{Z}"),
    ("(1,2)", "(2,1)"),
    ("(1,2)", "[1,2]"),
    ("(1,2)", r"\{1,2\}"),
    (r"\{1,2\}", "(1,2)"),
    ("1,2,3", "1,2"),
    ("1,2,3", "1,2,2"),
    ("x=1, y=2", "x=2, y=1"),
    (r"(\pm1, 2)", "(1, 2)"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", "(1,2,3,4)"),
    (r"5\text{ m}", r"5\text{ cm}"),
    (r"5\text{ km}", r"5\text{ kg}"),
    (r"60^\circ 42'", r"60^\circ"),
    ("2:3:4", "2:3:5"),
    ("A", "B"),
    (r"\text{yes}", r"\text{no}"),
    (r"\text{Monday}", r"\text{Tuesday}"),
    (r"\emptyset", "0"),
    ("0", r"\emptyset"),
]


@pytest.mark.parametrize(
    ("reference", "answer"), [pytest.param(*pair, id=f"{name}: {pair}") for name in SAME for pair in SAME[name]]
)
def test_same(reference: str, answer: str) -> None:
    assert equal(reference, answer)


@pytest.mark.parametrize(("reference", "answer"), DIFFERENT)
def test_different(reference: str, answer: str) -> None:
    assert not equal(reference, answer)


@pytest.mark.parametrize("text", sorted({text for pairs in SAME.values() for pair in pairs for text in pair}))
def test_every_answer_equals_itself(text: str) -> None:
    assert equal(text, text)


def test_a_periodic_answer_may_name_its_integer_otherwise() -> None:
    assert equal(r"\frac{\pi}{6}+\pi k, \frac{\pi}{3}+\pi k", r"\frac{\pi}{6}+n\pi, \frac{\pi}{3}+n\pi")
    assert not equal("2k", "2n")
