"""Makes a data set's tests readable without pickle: JSON lines in, JSON lines out.

    python unpickle.py [column] < train.jsonl > readable.jsonl

A column (`ground_truth`) that holds base64 of zlib of a pickle becomes base64 of zlib of JSON; whatever else is there
stays. Only plain data is read: a pickle that wants a class or a function is refused, and nothing of it is run.
"""

from __future__ import annotations

import base64
import io
import json
import pickle
import sys
import zlib
from typing import Any


class PlainData(pickle.Unpickler):
    """Reads lists, dicts, texts and numbers, and nothing that has a name to look up."""

    def find_class(self, module: str, name: str) -> Any:
        """Always raises: plain data names no class."""
        raise pickle.UnpicklingError(f"the pickle wants {module}.{name}, which is not plain data")


def readable(value: Any) -> Any:
    """The same tests as JSON, packed. Lists, and texts that are no such pickle, stay as they are."""
    if isinstance(value, list):
        return [readable(item) for item in value]
    try:
        data = zlib.decompress(base64.b64decode(value, validate=True))
    except (TypeError, ValueError, zlib.error):
        return value
    try:
        json.loads(data)
        return value
    except ValueError:
        tests = PlainData(io.BytesIO(data)).load()
    return base64.b64encode(zlib.compress(json.dumps(tests).encode())).decode()


def main(column: str = "ground_truth") -> None:
    """Rewrites the column of each line."""
    for line in sys.stdin:
        row = json.loads(line)
        row[column] = readable(row[column])
        print(json.dumps(row, ensure_ascii=False))


if __name__ == "__main__":
    main(*sys.argv[1:])
