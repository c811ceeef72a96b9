"""A page without scripts: one file that needs no network, whose body the server has written."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rewarden_server.studies.report.page import asset, digest, filled


def still(package: str | None, body: Iterable[str], *, title: str, kind: str, heading: str) -> str:
    """Returns the page as text.

    package: holds `page.css`, which adds to the styles of all such pages; None: nothing does. body: HTML. title: of
    the window, before `kind`, which names the kind of page. heading: its first line. These three are plain text.
    """
    style = asset(__package__, "page.css") + asset(__package__, "still.css")
    if package is not None:
        style += asset(package, "page.css")
    return filled(
        asset(__package__, "still.html"),
        policy=f"default-src 'none'; style-src 'sha256-{digest(style)}'; base-uri 'none'; form-action 'none'",
        title=escape(title),
        kind=escape(kind),
        heading=escape(heading),
        style=style,
        body="\n".join(body),
    )


def tile(name: str, value: str, note: str) -> str:
    """Returns a figure with its name and a note, for a list of the class `tiles`. All plain text."""
    return f"<div class='tile'><dt>{escape(name)}</dt><dd>{escape(value)}<small>{escape(note)}</small></dd></div>"


def check(level: str, says: str, more: Iterable[tuple[str, str]] = ()) -> str:
    """Returns one check with its mark. level: error, warning, note or ok. more: names and texts below it; a text that
    is empty is left out. All plain text."""
    below = "".join(f"<dt>{escape(name)}</dt><dd>{escape(text)}</dd>" for name, text in more if text)
    return f"<div class='check level-{level}'>{escape(says)}{f'<dl>{below}</dl>' if below else ''}</div>"
