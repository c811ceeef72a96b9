"""A page without scripts: one file that needs no network, whose body the server has written."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from rewarden_server.studies.report.page import asset, digest, filled


def still(package: str, body: Iterable[str], *, title: str, kind: str, heading: str) -> str:
    """Returns the page as text.

    package: holds `page.css`, which adds to the report's styles. body: HTML. title: of the window, before `kind`, which
    names the kind of page. heading: its first line. These three are plain text.
    """
    style = asset(__package__, "page.css") + asset(package, "page.css")
    return filled(
        asset(__package__, "still.html"),
        policy=f"default-src 'none'; style-src 'sha256-{digest(style)}'; base-uri 'none'; form-action 'none'",
        title=escape(title),
        kind=escape(kind),
        heading=escape(heading),
        style=style,
        body="\n".join(body),
    )
