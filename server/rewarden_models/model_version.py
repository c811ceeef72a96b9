"""The version of a model: a digest of all that its numbers come from."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib.metadata import version
from pathlib import Path

_ASIDE = (".json", ".jinja", ".txt", ".model", ".tiktoken")
"""Files beside the weights that say how a model computes, or how its tokenizer reads."""

_BLOCK = 8 * 1024 * 1024


_PLACES = ("*", "*_*/*.json", "additional_chat_templates/*")
_PLACES_OF_GGUF = ("tokenizer*", "special_tokens_map.json", "chat_template.jinja")
"""Such a file says nearly all itself, and may lie among others that have nothing to do with it."""


def files_of(folder: Path, weights: Sequence[Path]) -> list[Path]:
    """The weights, and what is next to them: configuration, tokenizer, chat templates, the settings of pooling."""
    quantised = any(path.suffix == ".gguf" for path in weights)
    beside = (
        path
        for pattern in (_PLACES_OF_GGUF if quantised else _PLACES)
        for path in folder.glob(pattern)
        if path.suffix in _ASIDE and not path.name.endswith(".index.json")  # an index follows from the weights' names
    )
    return sorted({*weights, *beside})


def version_of(folder: Path, files: Iterable[Path], *settings: str) -> str:
    """Sixteen hexadecimal digits: the same for files of the same names and contents under the same settings, wherever
    they lie, and others as soon as a byte differs."""
    with ThreadPoolExecutor(4) as pool:  # hashing lets go of the interpreter's lock
        digests = list(pool.map(lambda path: (path.relative_to(folder).as_posix(), _digest(path)), files))
    whole = hashlib.blake2b(digest_size=8)
    for part in (*settings, *(text for pair in sorted(digests) for text in pair)):
        data = part.encode()
        whole.update(len(data).to_bytes(8, "big") + data)
    return whole.hexdigest()


def software(*packages: str) -> str:
    """Returns what computes: the installed versions of these packages, and the code of this process itself."""
    return repr([(name, version(name)) for name in packages] + [code_of(Path(__file__).parent)])


@cache
def code_of(folder: Path) -> str:
    """A digest of all Python below a folder, computed once."""
    return version_of(folder, folder.rglob("*.py"))


def _digest(path: Path) -> str:
    found = hashlib.blake2b(digest_size=32)
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            found.update(block)
    return found.hexdigest()
