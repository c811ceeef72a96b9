"""Writes a working verifier, recipe, adapter or sandbox language to start from, with passing tests: `rewarden new`."""

from __future__ import annotations

import importlib.util
import keyword
import re
from pathlib import Path
from string import Template

from rewarden.errors import InvalidRequest
from rewarden_sandboxes.languages import Registry as Languages
from rewarden_verifiers.registry import Registry

PACKAGES = ("verifier", "recipe", "adapter")
"""The kinds that are installable Python packages."""

KINDS = (*PACKAGES, "language")

_TEMPLATES = Path(__file__).parent / "scaffolds"
_NAME = re.compile(r"[a-z][a-z0-9_]{0,59}")


def write(kind: str, name: str, folder: Path) -> list[Path]:
    """Writes the files of this kind into a folder, which must be missing or empty, and returns their paths.

    Raises InvalidRequest for a name that is invalid or taken, and for a folder that is not empty.
    """
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise InvalidRequest(
            f"{name!r} is not a valid name: use lowercase letters, digits and _, starting with a letter"
        )
    _check_free(kind, name)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidRequest(f"{folder} already exists and is not empty; choose another folder with --folder")
    found = []
    for template in sorted((_TEMPLATES / kind).rglob("*.txt")):
        place = folder / _placed(template.relative_to(_TEMPLATES / kind), name)
        place.parent.mkdir(parents=True, exist_ok=True)
        text = template.read_text(encoding="utf-8")
        # Cases are JSON, whose texts can contain dollar signs.
        if place.suffix != ".jsonl":
            text = Template(text).substitute(name=name, dashed=name.replace("_", "-"))
        place.write_text(text, encoding="utf-8")
        found.append(place)
    return found


def _check_free(kind: str, name: str) -> None:
    if kind == "language" and name in {word for row in Languages.load() for word in (row.name, *row.aliases)}:
        raise InvalidRequest(f"the name {name!r} is taken: docs/languages.md lists the sandbox's languages")
    if kind in ("verifier", "recipe") and name in Registry():
        raise InvalidRequest(f"the name {name!r} is taken: `rewarden verifiers {name}` describes it")
    if kind == "adapter" and importlib.util.find_spec(f"rewarden.adapters.{name}") is not None:
        raise InvalidRequest(f"the name {name!r} is taken: `python -m rewarden.adapters {name}` prints its path")
    if (
        kind in PACKAGES and importlib.util.find_spec(f"rewarden_{name}") is not None
    ):  # ours among them, such as rewarden_server
        raise InvalidRequest(f"the name {name!r} is taken: a package rewarden_{name} is installed")


def _placed(path: Path, name: str) -> Path:
    """Returns the path for a template's file, with the new name in the place of `package` and in the names of cases,
    recipe and tests."""
    own = {
        "package": f"rewarden_{name}",
        "cases.jsonl": f"{name}.cases.jsonl",
        "recipe.yaml": f"{name}.yaml",
        "test_package.py": f"test_{name}.py",
    }
    parts = path.with_suffix("").parts
    return Path(*(own.get(part, part) for part in parts))
