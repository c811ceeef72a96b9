"""Loaded by every Python that starts in a verifier's box with PYTHONSAFEPATH set, before anything else.

Attack: `python -m pytest` first looks into the working folder, which the policy controls, so a `pytest.py` or a `re.py`
there would decide the reward. Therefore the working folder is searched last. A script still searches its own folder
first.

Attack: package metadata in that folder, through which pytest finds plug-ins. Therefore the folder is not in `sys.path`;
a finder that only finds modules covers it.
"""

import os
import sys
from collections.abc import Sequence
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType


class _Folder:
    """Finds modules in a folder."""

    def __init__(self, folder: str) -> None:
        self._places = [folder]

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Returns the specification of a top-level module, or None."""
        return PathFinder.find_spec(name, self._places, target) if path is None else None


_script = sys.argv[0] if sys.argv else ""
if _script in ("", "-", "-c", "-m"):
    sys.meta_path.append(_Folder(os.getcwd()))
elif os.path.isfile(_script):
    sys.path.insert(0, os.path.dirname(os.path.realpath(_script)))
