"""The pages that a person sees in a browser: an index, the playground, the server's health, the verifiers'
documentation.

Made here as text, without a template language and without a build step; scripts and the style sheet lie in `static/`
and come from nowhere else. Every address in a page is relative, so that a proxy may put them below a prefix.
"""

from __future__ import annotations

from starlette.routing import Route

from rewarden_server.pages import asset, contents, entry, health, index, playground
from rewarden_server.service import Service

PARTS = (index, playground, health, contents, entry, asset)


def routes(service: Service) -> list[Route]:
    """The routes of the pages."""
    return [route for part in PARTS for route in part.routes(service)]
