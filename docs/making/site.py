"""MkDocs' hook: one set of pages for a repository's page and for the site.

Pages link to files outside docs/ (examples, protocols, sources) by their paths in the repository. Here each such file
becomes one of the site's, under `files/`, and the links follow: nothing points out of the site, and nothing is fetched
from elsewhere. The pages of verifiers and recipes are filled into the navigation, after their contents.
"""

from __future__ import annotations

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[2]
ASIDE = "files/"
CONTENTS = ("verifiers/README.md", "gallery.md")
"""Generated contents; the navigation lists the pages that they link to."""
_LINK = re.compile(r"(?P<before>\]\()(?P<path>[^)\s#:]+)(?P<after>(?:#[^)\s]*)?\))")
_FENCE = re.compile(r"(^|\n)(```|~~~).*?\n\2", re.DOTALL)


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """The navigation's lines for contents become all of their pages, heading by heading."""
    config.nav = [_filled(item) for item in config.nav or []]
    return config


def on_files(files: Files, *, config: MkDocsConfig) -> Files:
    """Add every file of the repository that a page links to, and what these link to themselves."""
    waiting = [page.src_uri for page in files.documentation_pages()]
    seen: set[str] = set()
    while waiting:
        for target in _outside(waiting.pop()):
            if target in seen:
                continue
            seen.add(target)
            source = _file(target)
            if source is None:
                continue  # MkDocs names it as a broken link
            added = File.generated(config, ASIDE + source, abs_src_path=str(ROOT / source))
            files.append(added)
            if added.is_documentation_page():
                waiting.append(added.src_uri)
    return files


def on_page_markdown(markdown: str, *, page: Any, config: MkDocsConfig, files: Files) -> str:
    """Links that leave docs/ lead to the site's copies; those of a copy back into docs/, to the site's pages."""
    uri = page.file.src_uri

    def moved(found: re.Match[str]) -> str:
        target = _target(uri, found["path"])
        if not uri.startswith(ASIDE) and target.startswith("docs/"):
            return found[0]
        there = target.removeprefix("docs/") if target.startswith("docs/") else ASIDE + (_file(target) or target)
        return found["before"] + posixpath.relpath(there, posixpath.dirname(uri) or ".") + found["after"]

    return _LINK.sub(moved, markdown)


def _place(uri: str) -> str:
    """Returns where a page of the site lies in the repository."""
    return uri.removeprefix(ASIDE) if uri.startswith(ASIDE) else f"docs/{uri}"


def _target(uri: str, link: str) -> str:
    """Returns which file of the repository a page's link names."""
    return posixpath.normpath(posixpath.join(posixpath.dirname(_place(uri)), link))


def _file(target: str) -> str | None:
    """The file that stands for a target: itself, or a folder's README; None where there is none."""
    path = ROOT / target
    if path.is_dir():
        path = path / "README.md"
    return path.relative_to(ROOT).as_posix() if path.is_file() and ROOT in path.resolve().parents else None


def _outside(uri: str) -> list[str]:
    """The files of the repository, outside docs/, that a page links to."""
    text = _FENCE.sub("", (ROOT / _place(uri)).read_text(encoding="utf-8"))
    targets = [_target(uri, found["path"]) for found in _LINK.finditer(text)]
    return [target for target in targets if not target.startswith("docs/")]


def _filled(item: Any) -> Any:
    if isinstance(item, dict):
        return {title: _filled(value) for title, value in item.items()}
    if isinstance(item, list):
        return [one for part in item for one in (_listed(part) if part in CONTENTS else [_filled(part)])]
    return item


def _listed(contents: str) -> list[Any]:
    """The contents page and its sections: `## Heading` and the links in its tables; headings without any are left
    out."""
    sections: dict[str, list[Any]] = {}
    for line in (ROOT / "docs" / contents).read_text(encoding="utf-8").split("\n"):
        if line.startswith("## "):
            pages = sections.setdefault(line.removeprefix("## "), [])
        elif row := re.match(r"\| \[`(\w+)`\]\(([\w/]+\.md)\)", line):
            pages.append({row[1]: posixpath.join(posixpath.dirname(contents), row[2])})
    return [contents, *({title: found} for title, found in sections.items() if found)]
