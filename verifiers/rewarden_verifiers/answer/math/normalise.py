"""Text clean-up before tokens: linear passes that change spelling and never meaning.

Unicode signs become their LaTeX commands, HTML exponents become `^{}`, math delimiters go, LaTeX that a JSON decoder
damaged ("\\f" + "rac", "\\t" + "ext") is repaired, and thousands separators are removed where only that reading is
possible. Everything here is a `str.translate`, a `replace`, or a regular expression without nested repetition.
"""

from __future__ import annotations

import re

from rewarden_verifiers.answer.math.limits import MAX_TEXT, TooExpensive

_SIGNS = {
    "−": "-", "–": "-", "—": "-", "‒": "-", "﹣": "-", "－": "-",
    "＋": "+", "×": r"\times ", "✕": r"\times ", "·": r"\cdot ", "⋅": r"\cdot ", "∙": r"\cdot ", "÷": r"\div ",
    "∗": "*", "⁄": "/", "∕": "/", "／": "/", "≤": r"\le ", "⩽": r"\le ", "≦": r"\le ", "≥": r"\ge ", "⩾": r"\ge ",
    "≧": r"\ge ", "≠": r"\ne ", "≈": r"\approx ", "≃": r"\approx ", "＝": "=", "＜": "<", "＞": ">", "∞": r"\infty ",
    "π": r"\pi ", "√": r"\sqrt ", "∛": r"\sqrt[3]", "∜": r"\sqrt[4]", "°": r"^\circ ", "º": r"^\circ ", "˚": r"^\circ ",
    "∘": r"\circ ", "∪": r"\cup ", "∩": r"\cap ", "∈": r"\in ", "∅": r"\emptyset ", "Ø": r"\emptyset ", "±": r"\pm ",
    "∓": r"\mp ", "≡": r"\equiv ", "∧": r"\wedge ",
    "∨": r"\vee ", "¬": r"\neg ", "∀": r"\forall ", "∃": r"\exists ", "∖": r"\setminus ", "⌈": r"\lceil ",
    "⌉": r"\rceil ",
    "⌊": r"\lfloor ", "⌋": r"\rfloor ", "⟨": "(", "⟩": ")", "（": "(", "）": ")", "［": "[", "］": "]", "｛": r"\{",
    "｝": r"\}", "，": ",", "、": ",", "；": ";", "：": ":", "．": ".", "。": ".", "％": "%", "∶": ":", "′": "'",
    "’": "'",
    "″": "''", "”": "''", "…": r"\ldots ", "⋯": r"\ldots ", "∠": r"\angle ", "△": r"\triangle ",
    "∑": r"\sum ",
    "∏": r"\prod ", "∫": r"\int ", "→": r"\to ", "⇒": r"\Rightarrow ", "ℝ": r"\mathbb{R}", "ℤ": r"\mathbb{Z}",
    "ℕ": r"\mathbb{N}", "ℚ": r"\mathbb{Q}", "ℂ": r"\mathbb{C}", "α": r"\alpha ", "β": r"\beta ", "γ": r"\gamma ",
    "δ": r"\delta ", "ε": r"\epsilon ", "ζ": r"\zeta ", "η": r"\eta ", "θ": r"\theta ", "κ": r"\kappa ",
    "λ": r"\lambda ", "μ": r"\mu ", "µ": r"\mu ", "ν": r"\nu ", "ξ": r"\xi ", "ρ": r"\rho ", "σ": r"\sigma ",
    "τ": r"\tau ", "φ": r"\phi ", "ϕ": r"\phi ", "χ": r"\chi ", "ψ": r"\psi ", "ω": r"\omega ", "Γ": r"\Gamma ",
    "Δ": r"\Delta ", "Θ": r"\Theta ", "Λ": r"\Lambda ", "Σ": r"\Sigma ", "Φ": r"\Phi ", "Ψ": r"\Psi ", "Ω": r"\Omega ",
    "½": r"\frac{1}{2}", "⅓": r"\frac{1}{3}", "⅔": r"\frac{2}{3}", "¼": r"\frac{1}{4}", "¾": r"\frac{3}{4}",
    "⅕": r"\frac{1}{5}", "⅙": r"\frac{1}{6}", "⅛": r"\frac{1}{8}", "€": r"\text{euro}", "£": r"\text{pound}",
    "\u00a0": " ", "\u2009": " ", "\u202f": " ", "\u3000": " ", "\u200b": "", "\u200c": "", "\u200d": "", "\ufeff": "",
    "\u2061": "", "\u2062": "", "\x00": "",
}  # fmt: skip
_SUPERSCRIPTS = dict(zip("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻ⁿ", "0123456789+-n", strict=True))
_SUBSCRIPTS = dict(zip("₀₁₂₃₄₅₆₇₈₉₊₋ₙ", "0123456789+-n", strict=True))
_FULLWIDTH_DIGITS = dict(zip("０１２３４５６７８９", "0123456789", strict=True))
_TABLE = str.maketrans({**_SIGNS, **_FULLWIDTH_DIGITS})
_RAISED = re.compile("[" + "".join(_SUPERSCRIPTS) + "]+")
_LOWERED = re.compile("[" + "".join(_SUBSCRIPTS) + "]+")

# A JSON decoder turns "\frac" into form feed + "rac", "\text" into tab + "ext"; if that character is lost too, "rac{"
# remains.
_DAMAGED = {
    "\x0crac": r"\frac", "\x0corall": r"\forall", "\text": r"\text", "\times": r"\times", "\theta": r"\theta",
    "\tan": r"\tan", "\tfrac": r"\tfrac", "\triangle": r"\triangle", "\tau": r"\tau", "\tbinom": r"\tbinom",
    "\beta": r"\beta", "\begin": r"\begin", "\binom": r"\binom", "\bmod": r"\bmod", "\boxed": r"\boxed",
    "\bar": r"\bar", "\rho": r"\rho", "\right": r"\right", "\rangle": r"\rangle", "\alpha": r"\alpha",
    "\approx": r"\approx", "\angle": r"\angle", "\arc": r"\arc", "\vec": r"\vec", "\varphi": r"\varphi",
    "\neq": r"\neq", "\nu": r"\nu",
}  # fmt: skip
_LOST_FRACTION = re.compile(r"(?<![A-Za-z\\])rac\{")
_DOUBLED = re.compile(r"\\\\(?=[A-Za-z]{2,})")
_PRICE = re.compile(r"([€£]) ?(\d[\d,]*(?:\.\d+)?)")
_HTML_RAISED = re.compile(r"<sup>([^<]{0,200})</sup>", re.IGNORECASE)
_HTML_LOWERED = re.compile(r"<sub>([^<]{0,200})</sub>", re.IGNORECASE)
_DELIMITERS = re.compile(r"(?<!\\)\$|\\\(|\\\)|\\\[(?!\d+(?:pt|em|ex|mm)\])|\\\](?!\w)")
_BRACED_COMMA = re.compile(r"(?<=\d)\{,\}(?=\d{3})|(?<=\d)\\[,!](?=\d{3}(?!\d))")
_SET_COMMA = re.compile(r"(?:\{,\}|,)\\!\s?")
# "1 000", "12 345 678.9": spaces between groups of three, which do not multiply.
_SPACED = re.compile(r"(?<![\d.,^_{/] )(?<![\d.,^_/])[1-9]\d{0,2}(?: \d{3})+(?! ?\d)")
# "1.000,99", "1.000.000": points that separate groups of three, before a decimal comma or another group.
_POINTED = re.compile(r"(?<![\d.,])[1-9]\d{0,2}(?:\.\d{3}){1,12}(?:,\d{1,40}|(?<=\.\d{3}\.\d{3}))(?![\d.,])")
_COMMA = re.compile(r"([-+]?\$?)(\d{1,12}),(\d{1,12})(?!\d|,)([^\d,;=]*)")
_COUNTED = re.compile(r"\$?\s?(?:\\?%|\^|°|\\(?:text|mathrm)\b|[A-Za-z]{1,6}\b)")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+(?:\.\d+)?")
# "5!=120", "7!/2!=2520": without a variable, an apparent "is not" is a factorial followed by "equals".
_FACTORIAL = re.compile(r"(?<=[\d)}])!=(?!=)")
_COMMAND = re.compile(r"\\[A-Za-z]+")
_PLAIN = re.compile(r"[0-9A-Za-z+\-*/^=().,\\{} ]*")


def clean(text: str, limit: int = MAX_TEXT) -> str:
    """The text in the parser's spelling. Rejects text longer than `limit`."""
    if len(text) > limit:
        raise TooExpensive("too long")
    if "\\" in text or "{,}" in text or not _PLAIN.fullmatch(text):
        text = _mend(text)
    if " " in text:
        text = _SPACED.sub(lambda grouped: grouped[0].replace(" ", ""), text)
    if "." in text:
        text = _POINTED.sub(lambda grouped: grouped[0].replace(".", "").replace(",", "."), text)
    if "!=" in text and not any(map(str.isalpha, _COMMAND.sub("", text))):
        text = _FACTORIAL.sub("! =", text)
    text = text.strip()
    while text and text[-1] in ".,;:" and not text.endswith(("\\,", "\\;", "\\:")):
        text = text[:-1].rstrip()
    return text


def _mend(text: str) -> str:
    if not text.isascii():
        text = _PRICE.sub(r"\2\1", text)  # the unit after its number
        text = _RAISED.sub(lambda run: "^{" + "".join(_SUPERSCRIPTS[sign] for sign in run[0]) + "}", text)
        text = _LOWERED.sub(lambda run: "_{" + "".join(_SUBSCRIPTS[sign] for sign in run[0]) + "}", text)
        text = text.translate(_TABLE)
    if not text.isprintable():
        for damaged, whole in _DAMAGED.items():
            if damaged in text:
                text = text.replace(damaged, whole)
    if "<s" in text or "<S" in text:
        text = _HTML_RAISED.sub(r"^{\1}", text)
        text = _HTML_LOWERED.sub(r"_{\1}", text)
    if "rac{" in text:
        text = _LOST_FRACTION.sub(r"\\frac{", text)
    if "\\\\" in text and "\\begin" not in text:
        text = _DOUBLED.sub(r"\\", text)
    if "$" in text or "\\(" in text or "\\[" in text:
        text = _DELIMITERS.sub("", text)
    if ",\\!" in text or "}\\!" in text:
        text = _SET_COMMA.sub(",", text)  # as in MATH's thousands: 10,\!080
    if "{,}" in text or "\\," in text or "\\!" in text:
        text = _BRACED_COMMA.sub("", text)
    return text


def decimal_comma(text: str, surely: bool = False) -> str | None:
    """A number with a decimal comma, rewritten with a point; None for any other text.

    "2,74", "0,5" and "3,5 cm" are such numbers unless they are a list without spaces; "3,5" is a list, and "1,234" has
    groups of thousands. surely: the commas are known to be decimal commas, so that these are numbers as well.
    """
    match = _COMMA.fullmatch(text.strip())
    if match is None:
        return None
    sign, whole, part, rest = match.groups()
    counted = len(part) == 1 and _COUNTED.match(rest) is not None
    if not (surely or whole == "0" or len(part) == 2 or len(part) > 3 or counted):
        return None
    return f"{sign}{whole}.{part}{rest}"


def join_thousands(text: str) -> str:
    """Removes commas that group digits in threes, unless brackets make them separators.

    `12,345` is a number; in `(12,345)` and `1,2,345` the commas are separators.
    """
    parts: list[str] = []
    depth = start = 0
    for run in re.finditer(r"[(\[]|\\\{|[)\]]|\\\}|\d[\d,]*(?:\.\d+)?", text):
        piece = run[0]
        if piece in ("(", "[", "\\{"):
            depth += 1
        elif piece in (")", "]", "\\}"):
            depth = max(0, depth - 1)
        elif depth == 0 and "," in piece and _THOUSANDS.fullmatch(piece):
            parts.append(text[start : run.start()])
            parts.append(piece.replace(",", ""))
            start = run.end()
    if not parts:
        return text
    parts.append(text[start:])
    return "".join(parts)
