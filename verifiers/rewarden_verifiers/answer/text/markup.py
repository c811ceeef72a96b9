r"""Removes markup around an answer: `\text{Paris}`, `**Paris**`, `$Paris$`, quotation marks."""

from __future__ import annotations

import re

_COMMAND = re.compile(
    r"\\(?:text|textbf|textit|textrm|textsf|texttt|mathrm|mathbf|mathsf|mathit|boldsymbol|emph|underline|mbox|boxed|"
    r"operatorname|textsc|tiny|small|normalsize|large|Large|LARGE|huge|Huge|bf|it|rm|displaystyle|textstyle)"
    r"(?![A-Za-z])\*?[ ]?"
)
_SPACING = re.compile(r"\\(?:quad|qquad|[,;:! ])|\\\\|~")
_TIE = re.compile(r"(?<=[^\W\d_])~(?=[^\W\d_])")
_BRACE = re.compile(r"\\([%$&#_{}])|[{}]")
_DELIMITER = re.compile(r"\\[()\[\]]")


def undressed(text: str) -> str:
    """The text without LaTeX commands that only format; other commands stay, because they have a meaning."""
    if "\\" not in text:
        return _TIE.sub(" ", text) if "~" in text else text
    text = _SPACING.sub(" ", _DELIMITER.sub(" ", _COMMAND.sub("", text)))
    return _BRACE.sub(lambda match: match.group(1) or "", text)
