"""Removes details without meaning from an answer: LaTeX, Markdown, look-alike characters, spaces within numerals.

Nothing that could change a value is dropped: signs, points, exponents, subscripts of bases and operators stay.
"""

from __future__ import annotations

import re
import unicodedata

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_RAISED = re.compile("[⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻]{1,40}")
_LOWERED = re.compile("[₀-₉]{1,40}")
_VULGAR = re.compile("[¼-¾⅐-⅞↉]")
_CHARS = {
    ord(char): to
    for chars, to in (
        ("\u2010\u2011\u2012\u2212\ufe63\uff0d", "-"),
        ("\u2013\u2014\u2015", "–"),
        ("\u2018\u2019\u02bc", "'"),
        ("\u201c\u201d", '"'),
        ("\u00d7\u2715\u2a2f", "×"),
        ("\u22c5\u2219\u2022", "·"),
        ("\u2215\u2044\u00f7", "/"),
        ("\u2264\u2a7d", "≤"),
        ("\u2265\u2a7e", "≥"),
        ("\u2248\u2243\u2245", "≈"),
        ("\u223c", "~"),
        ("\u2103", "°C"),
        ("\u2109", "°F"),
        ("\u00ba\u02da", "°"),
        ("\u00b5", "μ"),
        ("\u2126", "Ω"),
    )
    for char in chars
}
_GROUPING = re.compile("(?<=[0-9])(?:[\u00a0\u202f\u2009\u2007'’]|\\\\[,!;:]|\\{[ ,]\\}|,\\\\!)(?=[0-9]{3}(?![0-9]))")
# A non-breaking space between a number and its unit. "~" before a number means "about".
_TIE = re.compile(r"(?<=[0-9)}\]$])\s?~\s?(?=\$?[\\A-Za-z°µμΩ])")
_SUBSCRIPT = re.compile(r"(?<=[A-Za-z])_\{(\w{1,6})\}")
_TEXT = re.compile(r"\\(?:text|mathrm|textrm)\s?\{([^{}]{1,40})\}")
_MICRO = re.compile(r"(?:\$\s?\\mu\s?\$|\\mu(?![A-Za-z])\s{0,3}\{?)\s{0,3}(?=[A-Za-z])")
_OHMS = re.compile(r"(?<![A-Za-z\\])([kMGm])\s{0,2}(?:\\[,;:]\s{0,2})?\\(?:Omega|ohm)(?![A-Za-z])")
_FRACTION = re.compile(r"\\[dtc]?frac\s?\{([^{}]{1,200})\}\s?\{([^{}]{1,200})\}")
_SHORT_FRACTION = re.compile(r"\\[dtc]?frac\s?([0-9])\s?([0-9])")
_DEGREE = re.compile(r"\^\s?(?:\{\s?\\(?:circ|degree)\s?\}|\\(?:circ|degree)(?![A-Za-z]))")
_DASH = re.compile(r"\\(?:text|mathrm|mbox)\{([-–:/])\}")
_EXPONENT = re.compile(r"\^\s?\{([^{}]{1,40})\}")
_ENVIRONMENT = re.compile(r"\\(begin|end)\s?\{[^{}]{0,40}\}(?:\{[^{}]{0,40}\})?")
_COMMAND = re.compile(r"\\([A-Za-z]+|.)", re.DOTALL)
_COMMANDS = {
    **dict.fromkeys(("left", "right", "big", "Big", "displaystyle", "textstyle", "limits"), ""),
    **dict.fromkeys((",", ";", ":", "!", " ", "quad", "qquad", "space", "hspace", "thinspace", "~"), " "),
    **dict.fromkeys(
        (
            "text", "textbf", "textit", "textrm", "mathrm", "mathbf", "mathit", "mathsf", "mbox", "operatorname", "rm",
            "bf", "emph", "unit", "si", "SI", "qty", "num", "boldsymbol", "bm", "vec", "boxed", "fbox", "textsf",
        ),
        " ",
    ),
    **dict.fromkeys(("(", ")", "[", "]"), " "),
    "{": "{", "}": "}", "%": "%", "#": "#", "_": "_", "&": "&", "$": " $ ", "\\": ";", "times": "×", "cdot": "·",
    "div": "/", "pm": "±", "approx": "≈", "simeq": "≈", "cong": "≈", "sim": "~", "le": "≤", "leq": "≤", "ge": "≥",
    "geq": "≥", "leqslant": "≤", "geqslant": "≥", "lt": "<", "gt": ">", "ne": "≠", "neq": "≠", "lor": " or ",
    "vee": " or ", "to": " to ", "circ": "°", "degree": "°", "mu": "μ", "Omega": "Ω", "ohm": "Ω", "infty": "∞",
    "pi": "π", "pounds": "£", "euro": "€", "EUR": "€", "textdollar": " $ ", "percent": "%", "ldots": "...",
    "dots": "...", "cdots": "...", "langle": "(", "rangle": ")", "lbrack": "[", "rbrack": "]", "in": " in ",
}  # fmt: skip
_MATHEMATICS = re.compile(r"\$\$?([^$]*)\$\$?(?![0-9.])")
_POWER_OF_TEN = re.compile(r"(?<=[0-9.)])\s?[xX×*·]\s?10\s?(?=\^)")
_HYPHENATED = re.compile(r"(?<=[A-Za-z])-(?=[A-Za-z])")
_ADORNED = re.compile(r"\*\*|__|`+")


def clean(text: str) -> str:
    """The text in canonical spelling. Linear: every pattern is bounded, so no character is examined often."""
    text = _GROUPING.sub("", text)
    if "~" in text:
        text = _TIE.sub(" ", text)
    if "_{" in text:
        text = _SUBSCRIPT.sub(r"_\1", text)
    if not text.isascii():
        text = _plain(text)
    text = re.sub(r"(?<=[0-9)])\s?\*\*\s?(?=[-+0-9({])", "^", text)
    if "\\" in text or "^{" in text:
        text = _without_tex(text)
    if "$" in text:
        text = _MATHEMATICS.sub(r" \1 ", text)
    if "*" in text or "_" in text or "`" in text:
        text = _ADORNED.sub(" ", text)
    text = _POWER_OF_TEN.sub(" ×10", text)
    text = _HYPHENATED.sub(" ", text)
    return " ".join(text.split())


def _plain(text: str) -> str:
    text = _RAISED.sub(lambda match: f"^({match.group().translate(_SUPERSCRIPTS)})", text)
    text = _LOWERED.sub(lambda match: "_" + unicodedata.normalize("NFKC", match.group()), text)
    text = _VULGAR.sub(lambda match: " " + unicodedata.normalize("NFKC", match.group()) + " ", text)
    text = unicodedata.normalize("NFKC", text.translate(_CHARS)).translate(_CHARS)
    return "".join(_one(char) for char in text)


def _one(char: str) -> str:
    if char.isascii():
        return char
    if char.isdecimal():
        return str(unicodedata.decimal(char))
    # Attack: invisible characters that hide a second number, or split the first.
    return "" if unicodedata.category(char) in ("Cf", "Mn", "Cs") else char


def _without_tex(text: str) -> str:
    text = _DEGREE.sub("°", text)
    text = _DASH.sub(r"\1", text)
    # Units as typeset, "\text{k}\Omega" and "\frac{\text{m}}{\text{s}^{2}}", in one piece, without inner braces.
    text = _TEXT.sub(r" \1 ", text)
    text = _MICRO.sub("μ", text)
    text = _OHMS.sub(r" \1Ω ", text)
    text = _EXPONENT.sub(_raised, text)
    text = _SHORT_FRACTION.sub(r" \1/\2 ", text)
    for _ in range(2):
        text = _FRACTION.sub(_slashed, text)
    text = _EXPONENT.sub(_raised, text)
    text = _ENVIRONMENT.sub(lambda match: " [ " if match.group(1) == "begin" else " ] ", text)
    escaped = text.replace("\\{", "[").replace("\\}", "]").replace("&", ",")
    spelled = _COMMAND.sub(_spelled, escaped)
    return spelled.replace("{", " ").replace("}", " ")


def _raised(match: re.Match[str]) -> str:
    return f"^({match.group(1).strip()})"


def _slashed(match: re.Match[str]) -> str:
    above, below = match.group(1).strip(), match.group(2).strip()
    if all(char in "0123456789.,-+" for char in above + below):
        return f" {above}/{below} "
    return f" ({above})/({below}) "


def _spelled(match: re.Match[str]) -> str:
    # Unknown commands stay, including the backslash, so that \sqrt{5} is not read as 5.
    return _COMMANDS.get(match.group(1), f" \\{match.group(1)} ")
