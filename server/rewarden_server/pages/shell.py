"""The frame of every page: the head, the way to the other pages, the policy that lets nothing foreign run."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Sequence
from functools import lru_cache
from html import escape

from starlette.responses import HTMLResponse

from rewarden_server.pages.asset import digest, imports, style


@lru_cache(maxsize=8)
def _headers(sheet: str) -> dict[str, str]:
    """No script but our files, and none of them may turn a string into markup: what a model wrote stays text even where
    one of them is mistaken. No style but the one in the page, known by its digest.
    """
    known = base64.b64encode(hashlib.sha256(sheet.encode()).digest()).decode("ascii")
    policy = (
        f"default-src 'none'; script-src 'self'; style-src 'sha256-{known}'; connect-src 'self'; img-src 'self' data:; "
        "base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; "
        "trusted-types 'none'"
    )
    return {"Content-Security-Policy": policy, "Cache-Control": "no-cache"}


_PLACES = (
    ("runs", "Runs"),
    ("playground", "Playground"),
    ("docs", "Verifiers"),
    ("gallery", "Gallery"),
    ("health", "Health"),
)


def page(
    title: str,
    body: str,
    *,
    depth: int = 0,
    place: str = "",
    script: str = "",
    library: str = "",
    styles: Sequence[str] = (),
    wide: bool = False,
    status: int = 200,
) -> HTMLResponse:
    """A page. `body` is markup; `depth` how many folders below the root its address lies (`/docs/math`: 1); `place` the
    part of the site it belongs to; `script` a module among the assets, which runs after `library`, a classic script of
    others; `styles` names style sheets beside that of all pages.
    """
    sheet = style(*styles)
    root = "../" * depth or "./"
    static = f"{root}static/{digest()}"
    head = "".join(
        (
            f"<title>{escape(title)}</title>",
            f"<style>{sheet}</style>",
            f'<link rel="icon" type="image/svg+xml" href="{static}/icon.svg">',
            f'<script defer fetchpriority="low" src="{static}/{library}"></script>' if library else "",
            f'<script type="module" fetchpriority="low" src="{static}/{script}"></script>' if script else "",
            _preloads(static, script),
        )
    )
    links = "".join(f'<li><a href="{root}{path}"{_current(path == place)}>{label}</a></li>' for path, label in _PLACES)
    return HTMLResponse(
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta name="color-scheme" content="light dark">{head}</head><body>'
        '<a class="skip" href="#main">Skip to the content</a>'
        f'<header><a class="home" href="{root}"{_current(not place and not depth)}>'
        '<span class="sign" aria-hidden="true">◆</span> <span class="word">Rewarden</span></a>'
        f'<nav aria-label="Pages"><ul>{links}</ul></nav></header>'
        f'<main id="main" tabindex="-1" data-root="{root}"{" class=wide" if wide else ""}>{body}</main></body></html>',
        status_code=status,
        headers=_headers(sheet),
    )


def key_field() -> str:
    """Returns the input field for a caller's API key. It has no name, so that no form sends it; scripts keep the key in
    memory only.
    """
    return (
        '<label class="key"><span class="label">API key <span class="muted">kept only in this page, until you leave it'
        '</span></span><input type="password" id="key" autocomplete="off" spellcheck="false"></label>'
    )


def _preloads(static: str, script: str) -> str:
    names = imports(script) if script else ()
    return "".join(f'<link rel="modulepreload" fetchpriority="low" href="{static}/{name}">' for name in names)


def _current(here: bool) -> str:
    return ' aria-current="page"' if here else ""
