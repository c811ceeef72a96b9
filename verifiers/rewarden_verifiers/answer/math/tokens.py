"""Tokens of an answer: one pass of one regular expression, with text commands unwrapped into words.

A token is `(kind, text, spaced)`: `n` a number, `c` a command (with its backslash), `v` one variable letter or name,
`f` a function name, `w` a word, `o` anything else; `spaced` tells whether white space preceded it.
"""

# ruff: noqa: SIM905 (long word lists read better as text)
from __future__ import annotations

import re
from typing import TypeAlias

from rewarden_verifiers.answer.math.limits import MAX_DIGITS, TooExpensive, Unreadable
from rewarden_verifiers.answer.math.units import is_unit
from rewarden_verifiers.answer.math.words import (
    AND_WORDS,
    CONDITION_WORDS,
    CONJUNCTION,
    CURRENCIES,
    DISJUNCTION,
    ENGLISH,
    NUMBER_WORDS,
    OR_WORDS,
    ORDINALS,
)

Token: TypeAlias = tuple[str, str, bool]

_PIECE = re.compile(
    r"(?P<space>(?:\s|\\[ ,;:!>/]|~|\{\})+)"
    r"|(?P<n>(?:\d+(?:\.\d+)?|\.\d+)[eE][-+]?\d+(?![\w^])|\d+\.(?=\\(?:overline|bar|dot)\b)|\d+(?:\.\d+)?|\.\d+)"
    r"|(?P<c>\\[A-Za-z]+\*?|\\.)"
    r"|(?P<letters>[A-Za-z]+)"
    r"|(?P<word>[^\W\d_]+)"
    r"|(?P<o><=|>=|!=|==|\*\*|=>|->|.)",
    re.DOTALL | re.UNICODE,
)

FUNCTIONS = frozenset(
    """sin cos tan cot sec csc cosec arcsin arccos arctan arccot arcsec arccsc asin acos atan sinh cosh tanh coth sech
    csch arcsinh arccosh arctanh arsinh arcosh artanh asinh acosh atanh log ln lg exp det gcd lcm max min sgn sign arg
    sqrt abs floor ceil binom Re Im tg ctg arctg arcctg cis deg dim ker tr rank Arg""".split()
)
_TEXT = frozenset(
    r"\text \textrm \textnormal \textbf \textit \textup \textsf \mbox \hbox \mathrm \operatorname \operatorname* \rm "
    r"\mathsf \mathtt \texttt \emph \textsc".split()
)
# Commands that only change spacing or the typeface.
_IGNORED = frozenset(
    r"""\left \right \mleft \mright \displaystyle \textstyle \scriptstyle \limits \nolimits \big \Big \bigg \Bigg \bigl
    \bigr \Bigl \Bigr \biggl \biggr \Biggl \Biggr \bigm \Bigm \middle \mathbf \boldsymbol \mathit \mathcal \mathfrak
    \bm \mathnormal \quad \qquad \thinspace \enspace \negthinspace \hspace \nonumber \notag \boxed \fbox \hfill
    \mathscr \pmb \rm \it \bf \cal \vphantom \strut \mathstrut \mathopen \mathclose \mathord \small \large \Large
    \normalsize \unit \ensuremath \underbrace""".split()
)
_ALIASES = {
    r"\dfrac": r"\frac", r"\tfrac": r"\frac", r"\cfrac": r"\frac", r"\leq": r"\le", r"\leqslant": r"\le",
    r"\leqq": r"\le", r"\geq": r"\ge", r"\geqslant": r"\ge", r"\geqq": r"\ge", r"\neq": r"\ne", r"\lt": "<",
    r"\gt": ">", r"\times": "*", r"\cdot": "*", r"\bullet": "*", r"\ast": "*", r"\div": "/", r"\lbrace": r"\{",
    r"\rbrace": r"\}", r"\lbrack": "[", r"\rbrack": "]", r"\langle": "(", r"\rangle": ")", r"\lvert": "|",
    r"\rvert": "|", r"\vert": "|", r"\mid": "|", r"\bigcup": r"\cup", r"\bigcap": r"\cap", r"\varnothing": r"\emptyset",
    r"\backslash": r"\setminus", r"\textcirc": r"\circ", r"\degree": r"\degree", r"\approxeq": r"\approx",
    r"\simeq": r"\approx", r"\thickapprox": r"\approx", r"\doteq": r"\approx", r"\varepsilon": r"\epsilon",
    r"\varphi": r"\phi", r"\vartheta": r"\theta", r"\varrho": r"\rho", r"\dbinom": r"\binom", r"\tbinom": r"\binom",
    r"\colon": ":", r"\prime": "'", r"\dots": r"\ldots", r"\cdots": r"\ldots", r"\dotsb": r"\ldots",
    r"\dotsc": r"\ldots", r"\dotsm": r"\ldots", r"\lor": DISJUNCTION, r"\land": CONJUNCTION, r"\lnot": r"\neg",
    r"\colonequals": "=", r"\equiv": "=", r"\coloneqq": "=", r"\iff": r"\Leftrightarrow",
    r"\implies": r"\Rightarrow", r"\notin": r"\notin", r"\lparen": "(", r"\rparen": ")", r"\infin": r"\infty",
    r"\And": r"\and", r"\tg": r"\tan", r"\ctg": r"\cot", r"\arctg": r"\arctan", r"\arcctg": r"\arccot", r"\imath": "i",
    r"\jmath": "j", r"\cosec": r"\csc", r"\%": "%", r"\$": r"\$", r"\&": r"\and", r"\#": "#", r"\_": "_",
    r"\cupdot": r"\cup", r"\sqcup": r"\cup", r"\dag": "'", r"\R": r"\reals", r"\mod": r"\bmod", r"\pmod": r"\pmod",
}  # fmt: skip
_NAMES = {"pi": r"\pi", "infinity": r"\infty", "infty": r"\infty", "inf": r"\infty", "oo": r"\infty", "union": r"\cup",
          "theta": r"\theta", "alpha": r"\alpha", "beta": r"\beta", "gamma": r"\gamma", "lambda": r"\lambda",
          "phi": r"\phi", "omega": r"\omega", "sigma": r"\sigma", "delta": r"\delta", "degrees": r"\degree",
          "degree": r"\degree", "deg": r"\degree", "percent": "%", "intersect": r"\cap", "cdot": "*", "times": "*",
          "frac": r"\frac", "dfrac": r"\frac", "infinite": r"\infty", "dot": "*", "mod": r"\bmod"}  # fmt: skip
_SETS = {"R": r"\reals", "N": r"\naturals", "Z": r"\integers", "Q": r"\rationals", "C": r"\complexes"}
_CURRENCIES = frozenset({"Rs", *(name.upper() for name in CURRENCIES if name != "rs")})  # RS is a line segment
_ALPHABETS = frozenset({r"\mathbb", r"\Bbb", r"\mathds"})


def tokenize(text: str, in_words: bool = False) -> list[Token]:
    """Tokens of the text; `in_words`: the text is the content of a text command."""
    tokens: list[Token] = []
    spaced = False
    position = 0
    end = len(text)
    while position < end:
        piece = _PIECE.match(text, position)
        if piece is None:
            raise Unreadable("no token")
        kind, found, position = piece.lastgroup, piece[0], piece.end()
        if kind == "space":
            spaced = True
            continue
        if kind == "n":
            if len(found) > MAX_DIGITS:
                raise TooExpensive("too many digits")
            tokens.append(("n", found, spaced))
        elif kind == "o":
            if found == ".":
                continue  # a stray full stop, as in "2.]" or "\right."
            tokens.append(("o", found, spaced))
        elif kind == "c":
            position = _command(found, text, position, spaced, tokens)
            spaced = found in _IGNORED and spaced
            continue
        elif kind == "letters":
            if found.lower() in CURRENCIES and text.startswith(".", position):
                position += 1  # "Rs.930" is not a decimal
            _letters(found, spaced, in_words, tokens)
        else:
            tokens.append(("w", found.lower(), spaced))
        spaced = False
    return tokens


def _command(command: str, text: str, position: int, spaced: bool, tokens: list[Token]) -> int:
    """Appends the tokens for the command, and returns where reading continues."""
    if command in _TEXT:
        content, after = _argument(text, position)
        if content is not None:
            _words(content, spaced, tokens)
            return after
        return position
    if command in _ALPHABETS:
        content, after = _argument(text, position)
        if content is None:
            content, after = text[position : position + 1], position + 1
        letter = content.strip().rstrip("+-")
        tokens.append(("c", _SETS.get(letter, "\\" + letter if letter.isalpha() else r"\reals"), spaced))
        return after
    if command in _IGNORED:
        return position
    command = _ALIASES.get(command, command)
    name = command[1:]
    if name in FUNCTIONS and name != "binom":
        tokens.append(("f", name, spaced))
    elif command in (CONJUNCTION, DISJUNCTION):
        tokens.append(("w", command, spaced))
    elif command in (r"\or", r"\and"):
        tokens.append(("w", name, spaced))
    elif command[0] == "\\":
        tokens.append(("c", command, spaced))
    else:
        tokens.append(("v" if command.isalpha() else "o", command, spaced))
    return position


def _argument(text: str, position: int) -> tuple[str | None, int]:
    """The braced argument that begins at or after white space at `position`, without its braces."""
    while position < len(text) and text[position] == " ":
        position += 1
    if position >= len(text) or text[position] != "{":
        return None, position
    depth = 0
    for index in range(position, len(text)):
        if text[index] == "{" and text[index - 1] != "\\":
            depth += 1
        elif text[index] == "}" and text[index - 1] != "\\":
            depth -= 1
            if depth == 0:
                return text[position + 1 : index], index + 1
    raise Unreadable("unbalanced braces")


def _words(content: str, spaced: bool, tokens: list[Token]) -> None:
    """Tokens of a text command's content: a function's name, a letter, or words with mathematics between them."""
    stripped = content.strip().strip("~")
    if not stripped:
        return
    if stripped in FUNCTIONS:
        tokens.append(("f", stripped, spaced))
    elif len(stripped) == 1 and stripped.isalpha():
        tokens.append(("t", stripped, spaced))
    else:
        start = len(tokens)
        tokens.extend(tokenize(content, in_words=True))
        if len(tokens) > start:
            kind, found, _ = tokens[start]
            tokens[start] = (kind, found, True)


def _letters(run: str, spaced: bool, in_words: bool, tokens: list[Token]) -> None:
    """One run of ASCII letters: a function, a name, a word, a unit, or a product of variables."""
    lower = run.lower()
    if not spaced and lower in ORDINALS and tokens and tokens[-1][0] == "n" and tokens[-1][1].isdecimal():
        return  # "15th" is 15
    if len(run) == 1:
        tokens.append(("t" if in_words else "v", run, spaced))
    elif run in FUNCTIONS or (lower in FUNCTIONS and len(run) > 2):
        tokens.append(("f", run if run in FUNCTIONS else lower, spaced))
    elif lower in _NAMES:
        name = _NAMES[lower]
        tokens.append(("c" if name[0] == "\\" else "o", name, spaced))
    elif (
        lower in OR_WORDS
        or lower in AND_WORDS
        or lower in CONDITION_WORDS
        or in_words
        or len(run) > 3
        or lower in ENGLISH
        or lower in NUMBER_WORDS
        or (tokens and is_unit(run))
        or run in _CURRENCIES
    ):
        tokens.append(("w", lower, spaced))
    elif lower.startswith("pi") and len(run) == 3:
        tokens.append(("c", r"\pi", spaced))
        tokens.append(("v", run[2], False))
    else:
        for index, letter in enumerate(run):
            tokens.append(("v", letter, spaced and index == 0))
