"""The output while it is made: rows in the run's folder, cut back to the last checkpoint on resume, renamed at the end.

Rows are staged plain; an output named `.gz`, `.zst` or `.parquet` is packed at the end, so that its bytes do not
depend on where a run was broken off.
"""

from __future__ import annotations

import gzip
import os
import shutil
import struct
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

import zstandard

from rewarden_server.folder_sync import sync_folder
from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet_output import ParquetPacker, is_parquet_target
from rewarden_server.studies.rescore.sort import ExternalSort

_BUFFER = 1024**2
_FRAME = struct.Struct("<QII")
_ROW = struct.Struct(">Q")
_FILE = struct.Struct("<I")


class Tail:
    """A file that only grows, and can be cut back to where a checkpoint saw it."""

    def __init__(self, path: Path, offset: int = 0) -> None:
        path.touch()
        if path.stat().st_size < offset:
            raise RescoreError(f"{str(path)!r} is shorter than the journal says; start over with --force")
        os.truncate(path, offset)
        self.path = path
        self.offset = offset
        self._file: BinaryIO = path.open("ab", buffering=_BUFFER)

    def write(self, data: bytes) -> None:
        """Add bytes."""
        self._file.write(data)
        self.offset += len(data)

    def flush(self) -> int:
        """Hand all to the kernel; how many bytes the file has now."""
        self._file.flush()
        return self.offset

    def sync(self) -> None:
        """Wait until what was flushed is on disk. May run on another thread than the rest."""
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Hand all to the kernel and let go."""
        self._file.close()


class Stage(ABC):
    """The place where rows wait for the end."""

    def __init__(self, outputs: Outputs, tail: Tail) -> None:
        self._outputs = outputs
        self._tail = tail

    @abstractmethod
    def write(self, file: int, row: int, line: bytes) -> None:
        """A row of an input file; `row` is its place in the whole input."""

    def flush(self) -> Mapping[str, Any]:
        """Hand all to the kernel; the state to come back to."""
        return {"offset": self._tail.flush()}

    def sync(self) -> None:
        """Wait until what was flushed is on disk."""
        self._tail.sync()

    @abstractmethod
    def complete(self) -> None:
        """No more rows: make the outputs whole, under their staged names."""

    def close(self) -> None:
        """Let go of files; what is there stays."""
        self._tail.close()


class Outputs:
    """The finished files: for each input file one, or one for all. Staged as `rows-N` in the run's folder."""

    def __init__(self, folder: Path, targets: tuple[Path, ...], packer: ParquetPacker) -> None:
        self._folder = folder
        self._packer = packer
        self.targets = targets

    def target_of(self, file: int) -> int:
        """Returns the index of the output for the rows of an input file."""
        return 0 if len(self.targets) == 1 else file

    def by_place(self, file: int) -> bool:
        """Returns whether the rows of an input file are staged by their place, without their own columns."""
        return is_parquet_target(self.targets[self.target_of(file)])

    def staged(self, target: int) -> Path:
        """Returns the file in which the rows of an output wait."""
        return self._folder / f"rows-{target:06d}"

    def publish(self) -> None:
        """Give each output its name, packed as its suffix says. Goes on where an earlier run was broken off."""
        for index, target in enumerate(self.targets):
            staged = self.staged(index)
            if not staged.exists():
                continue  # an earlier run has published it
            target.parent.mkdir(parents=True, exist_ok=True)
            packed = self._packed(staged, target, index)
            packed.replace(target)
            staged.unlink(missing_ok=True)
        for folder in {target.parent for target in self.targets}:
            sync_folder(folder)

    def _packed(self, staged: Path, target: Path, index: int) -> Path:
        suffix = target.suffix
        packed = staged.with_name(staged.name + suffix)
        if is_parquet_target(target):
            self._packer.pack(staged, packed, index)
            return packed
        if suffix not in (".gz", ".zst", ".zstd"):
            return staged
        with staged.open("rb") as source, packed.open("wb") as file:
            if suffix == ".gz":
                # Without name and time, the same rows make the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=file, mtime=0) as packer:
                    shutil.copyfileobj(source, packer, _BUFFER)
            else:
                zstandard.ZstdCompressor().copy_stream(source, file, size=staged.stat().st_size)
            file.flush()
            os.fsync(file.fileno())
        return packed


class PlainStage(Stage):
    """Rows come in the input's order."""

    def __init__(self, outputs: Outputs, state: Mapping[str, Any] | None) -> None:
        self._target: int = state["target"] if state is not None else 0
        super().__init__(outputs, Tail(outputs.staged(self._target), state["offset"] if state is not None else 0))
        self._retired: list[Tail] = []

    def write(self, file: int, row: int, line: bytes) -> None:
        """See `Stage`."""
        target = self._outputs.target_of(file)
        if target != self._target:
            self._tail.flush()
            self._retired.append(self._tail)
            self._target = target
            self._tail = Tail(self._outputs.staged(target))
        self._tail.write(line)

    def flush(self) -> Mapping[str, Any]:
        """See `Stage`."""
        return {"target": self._target, **super().flush()}

    def sync(self) -> None:
        """See `Stage`."""
        # The present one is looked up first: if the loop retires it meanwhile, it is synced all the same.
        present = self._tail
        retired, self._retired = self._retired, []
        for tail in retired:
            tail.sync()
            tail.close()
        if present not in retired:
            present.sync()

    def complete(self) -> None:
        """See `Stage`."""
        self.flush()
        self.sync()
        for target in range(len(self._outputs.targets)):
            self._outputs.staged(target).touch()

    def close(self) -> None:
        """See `Stage`."""
        for tail in (*self._retired, self._tail):
            tail.close()


class SortedStage(Stage):
    """Rows come in another order, and are sorted back at the end."""

    def __init__(self, outputs: Outputs, folder: Path, memory_mb: int, state: Mapping[str, Any] | None) -> None:
        super().__init__(outputs, Tail(folder / "scored", state["offset"] if state is not None else 0))
        self._folder = folder
        self._memory_mb = memory_mb

    def write(self, file: int, row: int, line: bytes) -> None:
        """See `Stage`."""
        self._tail.write(_FRAME.pack(row, file, len(line)) + line)

    def complete(self) -> None:
        """See `Stage`."""
        self._tail.close()
        folder = self._folder / "back"
        shutil.rmtree(folder, ignore_errors=True)
        back = ExternalSort(folder, _ROW.size, self._memory_mb)
        with self._tail.path.open("rb", buffering=_BUFFER) as frames:
            while head := frames.read(_FRAME.size):
                row, file, length = _FRAME.unpack(head)
                back.add(_ROW.pack(row), _FILE.pack(file) + frames.read(length))
        back.close()
        for target in range(len(self._outputs.targets)):
            self._outputs.staged(target).write_bytes(b"")
        plain = PlainStage(self._outputs, None)
        for _, payload in back:
            (file,) = _FILE.unpack_from(payload)
            plain.write(file, 0, payload[_FILE.size :])
        plain.complete()
        plain.close()
