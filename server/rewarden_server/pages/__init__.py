"""The pages that a person sees in a browser: an index, the runs, the playground, the server's health, the verifiers'
documentation.

Made here as text, without a template language and without a build step; scripts and the style sheet lie in `static/`
and come from nowhere else. Every address in a page is relative, so that a proxy may put them below a prefix.
"""

from __future__ import annotations

from rewarden_server.pages import asset, contents, entry, gallery, health, index, playground, runs

PARTS = (index, runs, playground, health, contents, gallery, entry, asset)
"""The parts, each with its `router`."""
