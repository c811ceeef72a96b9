"""A checkout of tau2-bench, of which only the domains' code and data are used. The imports are light, because a server
reads the checkout when it starts.
"""

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
    """Raises ValueError if a folder is not a checkout."""
    if not domains(root):
        raise ValueError(f"{root}: not a checkout of tau2-bench: it has no domain in src/tau2 and data/tau2")


def domains(root: Path) -> list[str]:
    """The domains whose code and data are present."""
    code, data = root / "src/tau2/domains", root / "data/tau2/domains"
    found = sorted(path.parent.name for path in code.glob("*/environment.py"))
    return [name for name in found if (data / name).is_dir()]


def digest(root: Path) -> str:
    """A digest of the code and data that determine an episode's score. Raises OSError."""
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
        # Domains also read folders of their own, such as documents that answers are drawn from.
        for path in sorted((root / "data/tau2/domains").rglob(f"*{suffix}")):
            if "voice" not in path.name and "audio" not in path.name:
                yield path


def module(root: Path, name: str) -> Any:
    """Returns a module of the checkout's package. It skips the package's own `__init__`, which imports every agent and
    the clients of their models. Raises MissingDependency.
    """
    place, package = [str(root / "src/tau2")], sys.modules.get("tau2")
    if package is None or list(getattr(package, "__path__", [])) != place:
        # PyPI has another package of this name, and the process may have loaded another checkout.
        for loaded in [each for each in sys.modules if each == "tau2" or each.startswith("tau2.")]:
            del sys.modules[loaded]
        package = ModuleType("tau2")
        package.__path__ = place
        sys.modules["tau2"] = package
        os.environ["TAU2_DATA_DIR"] = str(root / "data")
        # The package reads the `.env` file above it, which holds API keys for models.
        os.environ.setdefault("PYTHON_DOTENV_DISABLED", "1")
    try:
        if importlib.util.find_spec("loguru") is not None:
            importlib.import_module("loguru").logger.disable("tau2")
        return importlib.import_module(f"tau2.{name}")
    except ModuleNotFoundError as error:
        raise MissingDependency(
            f"the environment 'tau2' needs the package {error.name!r}: pip install 'rewarden-server[tau2]'"
        ) from error
