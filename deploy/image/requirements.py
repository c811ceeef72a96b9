"""Prints the requirements of our distributions with some extras, without the distributions themselves.

    python requirements.py EXTRA,EXTRA PYPROJECT...

An image installs them before our own wheels. An unknown extra is an error; an extra that names other extras of its own
distribution includes them.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import tomllib

_NAME = re.compile(r"^([A-Za-z0-9._-]+)(?:\[([^\]]*)\])?")


def requirements(extras: Iterable[str], projects: Iterable[Mapping[str, Any]]) -> list[str]:
    """Returns sorted, unique requirements. Raises ValueError for an extra that the first project does not have."""
    known = {project["name"]: project for project in projects}
    first = next(iter(known))
    found: set[str] = set()
    asked = [(first, None), *((first, extra) for extra in extras)]
    done: set[tuple[str, str | None]] = set()
    while asked:
        item = asked.pop()
        if item in done:
            continue
        done.add(item)
        name, extra = item
        listed = known[name].get("optional-dependencies", {})
        if extra is not None and extra not in listed:
            raise ValueError(f"{name} has no extra {extra!r}; it has {', '.join(listed)}")
        for line in known[name]["dependencies"] if extra is None else listed[extra]:
            parts = _NAME.match(line)
            assert parts is not None, line
            if parts[1] in known:
                asked.append((parts[1], None))
                asked += [(parts[1], word.strip()) for word in (parts[2] or "").split(",") if word.strip()]
            else:
                found.add(line)
    return sorted(found)


def main(arguments: list[str]) -> int:
    """Returns 0, or 2 for an unknown extra."""
    wanted, *files = arguments
    projects = [tomllib.loads(Path(file).read_text(encoding="utf-8"))["project"] for file in files]
    try:
        lines = requirements(filter(None, wanted.split(",")), projects)
    except ValueError as error:
        print(error, file=sys.stderr)
        return 2
    print("\n".join(lines))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
