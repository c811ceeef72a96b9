"""The version of a model: a digest of everything that determines its numbers."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path

_ASIDE = (".json", ".jinja", ".txt", ".model", ".tiktoken")
"""Files next to the weights that determine how a model computes or how its tokenizer reads."""

_BLOCK = 8 * 1024 * 1024


_PLACES = ("*", "*_*/*.json", "additional_chat_templates/*")
_PLACES_OF_GGUF = ("tokenizer*", "special_tokens_map.json", "chat_template.jinja")
"""A GGUF file is nearly self-contained and may lie among unrelated files."""


def files_of(folder: Path, weights: Sequence[Path]) -> list[Path]:
    """The weights and the files next to them: configuration, tokenizer, chat templates, pooling settings."""
    quantised = any(path.suffix == ".gguf" for path in weights)
    beside = (
        path
        for pattern in (_PLACES_OF_GGUF if quantised else _PLACES)
        for path in folder.glob(pattern)
        if path.suffix in _ASIDE and not path.name.endswith(".index.json")  # an index follows from the weights' names
    )
    return sorted({*weights, *beside})


def version_of(folder: Path, files: Iterable[Path], *settings: str) -> str:
    """Sixteen hexadecimal digits: the same for files with the same names and contents under the same settings, wherever
    they lie; different as soon as a byte differs."""
    with ThreadPoolExecutor(4) as pool:  # hashing releases the interpreter's lock
        digests = list(pool.map(lambda path: (path.relative_to(folder).as_posix(), _digest(path)), files))
    whole = hashlib.blake2b(digest_size=8)
    for part in (*settings, *(text for pair in sorted(digests) for text in pair)):
        data = part.encode()
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()


def software(*packages: str) -> str:
    """The software that computes: the installed versions of these packages, and this process's own code."""
    return repr([(name, version(name)) for name in packages] + [code_of(Path(__file__).parent)])


@cache
def code_of(folder: Path) -> str:
    """A digest of all Python code below a folder, computed once."""
    return version_of(folder, folder.rglob("*.py"))


def _digest(path: Path) -> str:
    found = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
