"""Files that are one list in JSON, to rows: each item as the line that it would be, in constant memory."""

from __future__ import annotations

import codecs
import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from rewarden_server.studies.rescore.file_row import FileRow
from rewarden_server.studies.rescore.unpacked import DAMAGES, unpacked

_LINES = re.compile(r"\.(jsonl|ndjson)(\.gz|\.zst|\.zstd)?$")
_HEAD = 4096
_PIECE = 1024**2
_BLANK = " \t\r\n"
_BREAK = re.compile(r"[\r\n]\s*")
"""Between the lines of an item: texts in JSON hold no line breaks, so what this matches is layout."""


def is_list(path: Path) -> bool:
    """Returns whether a file begins as a list in JSON. Files named as JSON lines never do."""
    if _LINES.search(path.name):
        return False
    try:
        with path.open("rb") as raw, contextlib.closing(unpacked(raw)) as stream:
            head = stream.read(_HEAD)
    except DAMAGES:
        return False
    return head.removeprefix(codecs.BOM_UTF8).lstrip(_BLANK.encode()).startswith(b"[")


def list_rows(path: Path, first: int, limit: int) -> Iterator[FileRow]:
    """The items from the item `first` on. What cannot be read, and what follows it, is one fault."""
    size = path.stat().st_size
    with path.open("rb") as raw, contextlib.closing(unpacked(raw)) as stream:
        items = _Items(stream, limit)
        row = 0
        try:
            for text in items:
                if row >= first:
                    data = _BREAK.sub(" ", text).encode("utf-8", "surrogateescape")
                    yield FileRow(row, row + 1, raw.tell() / size, data)
                row += 1
        except DAMAGES as error:
            fault = f"the compressed file is truncated or damaged after item {row}: {error}"
        except ValueError as error:
            fault = f"the list cannot be read after item {row}: {error}"
        else:
            return
        if row >= first:
            yield FileRow(row, row + 1, 1.0, b"", fault)


class _Items:
    """The texts of a list's items. Raises ValueError for what is not a list."""

    def __init__(self, stream: BinaryIO, limit: int) -> None:
        self._stream = stream
        self._limit = limit
        self._decode = codecs.getincrementaldecoder("utf-8-sig")("surrogateescape").decode
        self._text = ""
        self._at = 0
        self._ended = False

    def __iter__(self) -> Iterator[str]:
        scan = json.JSONDecoder().raw_decode
        if self._next() != "[":
            raise ValueError("it does not begin with '['")
        self._at += 1
        mark = self._next()
        while mark != "]":
            end = self._end_of_item(scan)
            yield self._text[self._at : end]
            self._at = end
            mark = self._next()
            if mark == ",":
                self._at += 1
                self._next()
            elif mark != "]":
                raise ValueError("an item is not followed by ',' or ']'" if mark else "the file ends within the list")

    def _end_of_item(self, scan: object) -> int:
        while True:
            try:
                _, end = scan(self._text, self._at)  # type: ignore[operator]
            except RecursionError:
                raise ValueError("an item is nested too deeply") from None
            except ValueError as error:
                if self._ended:
                    raise ValueError(f"{getattr(error, 'msg', error)}") from None
            else:
                if end < len(self._text) or self._ended:  # a number may go on
                    return int(end)
            if len(self._text) - self._at > self._limit:
                raise ValueError(f"an item has more than {self._limit} bytes, or is not JSON")
            self._more(len(self._text) - self._at)

    def _next(self) -> str:
        """The next character that is not blank, where `_at` then is; empty at the end of the file."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _BLANK:
                    return self._text[self._at]
                self._at += 1
            if self._ended:
                return ""
            self._more(0)

    def _more(self, held: int) -> None:
        """Read on; twice as far if much is held already, so that a long item is not scanned again and again."""
        data = self._stream.read(max(_PIECE, held))
        self._ended = not data
        self._text = self._text[self._at :] + self._decode(data, not data)
        self._at = 0
