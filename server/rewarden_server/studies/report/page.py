"""The page: one file that needs no network, holds its data packed, and lets nothing run but its own script.

What models wrote reaches the page only as data (base64 of gzip, which cannot close a tag) and is shown only as text.
The content security policy names the hash of the one script and forbids turning strings into markup, so that even a
mistake in the script would execute nothing.
"""

from __future__ import annotations

import base64
import gzip
import hashlib
import html
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import Any

from rewarden_server.studies.report.rows import Collected, ReportOptions, Shown, collect
from rewarden_server.studies.rescore.options import RescoreError

SIGN = "<!-- a report by Rewarden -->"
"""Its second line, by which a report is known: a new one may replace it."""

MODULES = (
    "data.js",
    "dom.js",
    "charts.js",
    "filters.js",
    "scroller.js",
    "formulas.js",
    "code.js",
    "texts.js",
    "sample.js",
    "frame.js",
)
"""The modules that pages share, each after those that it needs when it is loaded."""

_JOIN = re.compile(r"^(?:import \{[^}]*\} from '\./[\w.]+';\n|export (?=\w))", re.MULTILINE)
_FORMULA = re.compile(r"\\[(\[]|\\f?box(?:ed)?\s*\{|\\begin\{|\$\$|\$[^\s$][^$\n]*\$")
_CODE = re.compile(r"```|~~~|<tool_(?:call|response)>")
_SLOT = re.compile(r"\{\{(\w+)\}\}")
_COLUMNS = (
    *("id", "source", "verifier", "status", "score", "range", "passed", "reason", "fault", "flags", "group", "prompt"),
    *("reference", "extracted", "response", "details", "tests", "theirs", "versus"),
)
"""The columns of the rows."""

_STATUSES = ("scored", "undecided", "error", "missing")


def check_output(path: Path, *, force: bool = False) -> None:
    """Raises RescoreError if something else than a report is in the report's place."""
    if force or not path.exists():
        return
    if path.is_file():
        with path.open("rb") as file:
            if SIGN.encode() in file.read(200):
                return
    raise RescoreError(
        f"{str(path)!r} already exists and is not a report; name another file, or replace it with --force"
    )


def make_report(options: ReportOptions) -> int:
    """Write a report; its size in bytes. The same files make the same bytes. Raises as `collect` does."""
    return write(options.output, render(collect(options), options))


def write(output: Path, page: str) -> int:
    """Put a page in its place, whole or not at all; its size in bytes."""
    data = page.encode("utf-8", "replace")
    fresh = output.with_name(output.name + ".new")
    output.parent.mkdir(parents=True, exist_ok=True)
    fresh.write_bytes(data)
    fresh.replace(output)
    return len(data)


def render(found: Collected, options: ReportOptions) -> str:
    """The page as text."""
    title = options.title if options.title is not None else _title(found)
    data = data_of(found, title, options.chars, listed=options.unjudged)
    return assemble(title, found.summary.table(), data, found.rows, (*MODULES, "views.js", "main.js"))


def assemble(title: str, table: str, data: Mapping[str, Any], rows: Iterable[Shown], scripts: Sequence[str]) -> str:
    """A page of these rows. table: a text for browsers that run no scripts. scripts: its modules, each after those that
    it needs when it is loaded; they read the data.
    """
    script = _libraries(rows) + bundle(scripts)
    style = asset(__package__, "page.css")
    # Escapes make halves of surrogate pairs sayable, and keep the size of what is packed small enough not to matter.
    packed = gzip.compress(json.dumps(data, separators=(",", ":")).encode(), compresslevel=6, mtime=0)
    policy = (
        f"default-src 'none'; script-src 'sha256-{digest(script)}'; style-src 'sha256-{digest(style)}'; "
        "base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    )
    return filled(
        asset(__package__, "page.html"),
        policy=policy,
        title=html.escape(title),
        table=html.escape(table),
        style=style,
        script=script,
        data=base64.b64encode(packed).decode(),
    )


def bundle(names: Sequence[str]) -> str:
    """Modules as one script: in their order, without the lines that join them."""
    parts = (_JOIN.sub("", asset(__package__, f"js/{name}")) for name in names)
    return "(() => {\n'use strict';\n" + "\n".join(parts) + "\n})();\n"


def _libraries(rows: Iterable[Shown]) -> str:
    """The packages for formulas and code, if there are some: they are much larger than all scripts of ours."""
    texts = list(_texts(list(rows)))
    needed = [(_FORMULA, "katex/katex.min.js"), (_CODE, "prismjs/prism.js")]
    return "".join(
        asset("rewarden_server", f"pages/vendor/{name}") + "\n"
        for pattern, name in needed
        if any(map(pattern.search, texts))
    )


def _texts(rows: Sequence[Shown]) -> Iterator[str]:
    """The texts that the page may typeset, each prompt once."""
    prompts = {row.prompt.key: row.prompt.messages for row in rows}
    for messages in (*prompts.values(), *(row.response for row in rows)):
        for _, pieces in messages:
            yield "".join(
                piece if isinstance(piece, str) else piece[0] for piece in pieces if not isinstance(piece, int)
            )
    for row in rows:
        yield from (text for name, text in row.details if name == "feedback")


def asset(package: str, name: str) -> str:
    """The text of a file that lies in a package."""
    return resources.files(package).joinpath(name).read_text(encoding="utf-8")


def digest(text: str) -> str:
    """The hash by which a page's policy lets a script or a style in."""
    return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()


def filled(template: str, **parts: str) -> str:
    """A page's template with the sign and these parts in its slots, `{{name}}`."""
    parts["sign"] = SIGN
    # In one pass: what is put in can contain anything, names in braces too.
    return _SLOT.sub(lambda slot: parts[slot.group(1)], template)


def _title(found: Collected) -> str:
    return ", ".join(found.names[:3]) + (f" and {len(found.names) - 3} more" if len(found.names) > 3 else "")


class Table:
    """Values that many rows share, by number."""

    def __init__(self) -> None:
        self.values: list[Any] = []
        self._places: dict[Any, int] = {}

    def place(self, key: Any, value: Any) -> int:
        """The value's number; the key tells it from others."""
        at = self._places.get(key)
        if at is None:
            at = self._places[key] = len(self.values)
            self.values.append(value)
        return at


def data_of(found: Collected, title: str, chars: int, *, listed: bool = False) -> dict[str, Any]:
    """Returns the data that the page's scripts read.

    chars: see `ReportOptions`. listed: responses without a verdict are among the rows.
    """
    tables = new_tables()
    rows = columns_of(found.rows, tables)
    return {
        "title": title,
        "columns": found.columns.describe(),
        "summary": found.summary.to_json(),
        "total": found.total,
        "unjudged": found.unjudged,
        "listed": listed,
        "unread": found.unread,
        "chars": chars,
        "tables": {name: table.values for name, table in tables.items()},
        "rows": rows,
    }


def new_tables() -> dict[str, Table]:
    """Returns the tables of values that the columns of rows name by number."""
    return {name: Table() for name in ("source", "verifier", "reason", "flag", "group", "prompt", "reference")}


def columns_of(rows: Iterable[Shown], tables: Mapping[str, Table]) -> dict[str, list[Any]]:
    """Returns rows as columns: one list for each property, also if there is no row."""
    made = [_row(row, tables) for row in rows]
    return {name: [row[name] for row in made] for name in _COLUMNS}


def _row(row: Shown, tables: Mapping[str, Table]) -> dict[str, Any]:
    verdict = row.verdict
    ref = verdict.get("verifier") or {}
    judge = (str(ref.get("name", "")), str(ref.get("version", "")), str(ref.get("fingerprint", "")))
    reason = verdict.get("reason")
    return {
        "id": row.id,
        "source": tables["source"].place(row.source, row.source),
        "verifier": tables["verifier"].place(judge, judge),
        "status": _STATUSES.index(verdict["status"]),
        "score": verdict.get("score"),
        "range": verdict.get("range"),
        "passed": verdict.get("passed"),
        "reason": -1 if reason is None else tables["reason"].place(reason, reason),
        "fault": verdict.get("fault"),
        "flags": _places(tables["flag"], verdict.get("flags") or ()),
        "group": -1 if row.group is None else tables["group"].place((row.source, row.group), row.group),
        "prompt": tables["prompt"].place(row.prompt.key, row.prompt.messages),
        "reference": -1 if row.reference is None else tables["reference"].place(repr(row.reference), row.reference),
        "extracted": row.extracted,
        "response": row.response,
        "details": row.details,
        "tests": None if row.tests is None else row.tests.to_json(),
        "theirs": row.theirs,
        "versus": row.versus,
    }


def _places(table: Table, names: Iterable[str]) -> list[int]:
    return [table.place(name, name) for name in names]
