"""A checkout of tau2-bench: only its domains' code and data. Nothing heavy is imported, because a server reads it when
it starts."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

from rewarden.errors import MissingDependency

_CODE = ("config.py", "voice_config.py", "data_model", "domains", "environment", "utils")
"""The parts of the package that its domains import."""


def check_checkout(root: Path) -> None:
    """Raises ValueError if a folder is no checkout."""
    if not domains(root):
        raise ValueError(f"{root}: not a checkout of tau2-bench: it has no domain in src/tau2 and data/tau2")


def domains(root: Path) -> list[str]:
    """The domains whose code and data are there."""
    code, data = root / "src/tau2/domains", root / "data/tau2/domains"
    found = sorted(path.parent.name for path in code.glob("*/environment.py"))
    return [name for name in found if (data / name).is_dir()]


def digest(root: Path) -> str:
    """A digest of the code and data by which its episodes are judged. Raises OSError."""
    found = hashlib.sha256()
    for path in _files(root):
        with path.open("rb") as file:
            found.update(f"{path.relative_to(root)}\n{hashlib.file_digest(file, 'sha256').hexdigest()}\n".encode())
    return found.hexdigest()


def _files(root: Path) -> Iterator[Path]:
    for part in _CODE:
        at = root / "src/tau2" / part
        yield from sorted(at.rglob("*.py")) if at.is_dir() else [at] if at.is_file() else []
    for suffix in (".json", ".toml", ".md", ".txt"):
        # Domains read folders of their own as well, such as the documents of one that answers from them.
        for path in sorted((root / "data/tau2/domains").rglob(f"*{suffix}")):
            if "voice" not in path.name and "audio" not in path.name:
                yield path


def module(root: Path, name: str) -> Any:
    """A module of the checkout's package, without the package's own `__init__`, which imports each of its agents and
    the clients of their models. Raises MissingDependency."""
    place, package = [str(root / "src/tau2")], sys.modules.get("tau2")
    if package is None or list(getattr(package, "__path__", [])) != place:
        # The index has another package by this name, and a process may have read another checkout.
        for loaded in [each for each in sys.modules if each == "tau2" or each.startswith("tau2.")]:
            del sys.modules[loaded]
        package = ModuleType("tau2")
        package.__path__ = place
        sys.modules["tau2"] = package
        os.environ["TAU2_DATA_DIR"] = str(root / "data")
        # The package reads the `.env` above it, which holds keys of models.
        os.environ.setdefault("PYTHON_DOTENV_DISABLED", "1")
    try:
        if importlib.util.find_spec("loguru") is not None:
            importlib.import_module("loguru").logger.disable("tau2")
        return importlib.import_module(f"tau2.{name}")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"the environment 'tau2' needs the package {error.name!r}: pip install 'rewarden-server[tau2]'"
        ) from error
