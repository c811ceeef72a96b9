"""The names and shapes of a checkpoint's weights, from the headers of its safetensors files; no weight is read."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from rewarden_models.failure import Failure
from rewarden_models.folder import INDEX, Folder

_HEADER_BYTES = 100_000_000
"""The largest header that the format allows."""

_BITS = {"F64": 64, "I64": 64, "U64": 64, "F32": 32, "I32": 32, "U32": 32, "F16": 16, "BF16": 16, "I16": 16, "U16": 16}
_EIGHT = ("BOOL", "I8", "U8")


@dataclass(frozen=True, slots=True)
class Weight:
    """A tensor in a file. dtype: as the file names it."""

    dtype: str
    shape: tuple[int, ...]


def read_weights(folder: Folder) -> Mapping[str, Weight]:
    """The weights of all files that loading reads. Raises Failure (`loading`) for a file that is damaged or truncated,
    a weight that is in two files, and one that the index lists but its file lacks."""
    found: dict[str, Weight] = {}
    places: dict[str, Path] = {}
    for file in folder.weights:
        for name, weight in weights_in(file).items():
            if name in places:
                # Otherwise the file that is read last would win.
                raise _failed(file, f"has the weight {name}, which {places[name].name} has as well; keep one of them")
            found[name], places[name] = weight, file
    index = folder.path / INDEX
    if folder.weights != (folder.path / "model.safetensors",):
        for name, shard in folder.read(INDEX)["weight_map"].items():
            if name not in places or places[name].name != shard:
                raise _failed(index, f"promises the weight {name} in {shard}, which lacks it; copy both again")
    return found


def weights_in(file: Path) -> Mapping[str, Weight]:
    """The weights of one file. Raises Failure (`loading`) if it is damaged or truncated."""
    try:
        with file.open("rb") as opened:
            length = int.from_bytes(opened.read(8), "little")
            size = file.stat().st_size
            if not 2 <= length <= min(_HEADER_BYTES, size - 8):
                raise _failed(file, "is not a safetensors file, or is cut off; copy it again")
            told = json.loads(opened.read(length), object_pairs_hook=_once)
    except OSError as error:
        raise _failed(file, str(error)) from None
    except (ValueError, RecursionError) as error:
        raise _failed(file, f"its header cannot be read: {error}; copy it again") from None
    if not isinstance(told, dict):
        raise _failed(file, "its header is not a JSON object; copy it again")
    found: dict[str, Weight] = {}
    end = 0
    for name, tensor in told.items():
        if name == "__metadata__":
            continue
        try:
            shape = tuple(int(side) for side in tensor["shape"])
            found[name] = Weight(str(tensor["dtype"]), shape)
            begins, ends = (int(offset) for offset in tensor["data_offsets"])
        except (KeyError, TypeError, ValueError):
            raise _failed(file, f"its header does not state the weight {name}; copy it again") from None
        bits = 8 if found[name].dtype in _EIGHT else _BITS.get(found[name].dtype)
        if bits is not None and math.prod(shape) * bits != (ends - begins) * 8:
            raise _failed(file, f"its weight {name} is not as long as its shape; copy it again")
        end = max(end, ends)
    if size != 8 + length + end:
        raise _failed(file, f"is {size} bytes long, and its weights need {8 + length + end}; copy it again")
    return found


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        raise ValueError("it has a name twice")
    return made


def _failed(file: Path, said: str) -> Failure:
    return Failure("loading", f"{file}: {said}")
