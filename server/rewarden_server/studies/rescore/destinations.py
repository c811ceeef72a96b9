"""The names of the output's files, and of what is next to them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rewarden_server.studies.rescore.options import RescoreError
from rewarden_server.studies.rescore.parquet_output import is_parquet_target
from rewarden_server.studies.rescore.read import Inputs, holds_lines, is_parquet

_NO_OUTPUT = (".csv", ".tsv", ".arrow", ".feather", ".eval")
"""The names of files that are read and never written."""


def destinations(paths: Sequence[Path], output: Path, inputs: Inputs) -> tuple[Path, ...]:
    """The output's files: one, or one for each file of the input. paths: the input, as it was given.

    Raises RescoreError when they would lie in the input.
    """
    place = output.resolve()
    folders = [path for path in paths if path.is_dir()]
    single = len(paths) == 1 and not inputs.root.is_dir()
    one = single or is_parquet_target(output) or ".jsonl" in output.suffixes or ".ndjson" in output.suffixes
    if place in {path.resolve() for path in paths}:
        raise RescoreError("the output is the input; write to another file")
    if any(place.is_relative_to(folder.resolve()) for folder in folders):
        raise RescoreError("the output is inside the input directory, so the next run would read it; put it elsewhere")
    if output.suffix in _NO_OUTPUT:
        raise RescoreError(
            f"the output {str(output)!r} has the name of a kind that is not written; name a *.jsonl or *.parquet file"
        )
    if one and output.is_dir():
        raise RescoreError(f"the output {str(output)!r} is a directory; name a file")
    if not one and output.is_file():
        raise RescoreError(
            f"the output {str(output)!r} is a file; for several files name a directory, or a *.jsonl or *.parquet file"
        )
    targets = (output,) if one else tuple(map(output.joinpath, _output_names(inputs)))
    taken = {target.resolve() for target in targets} & {path.resolve() for path in inputs.files}
    if taken:
        raise RescoreError(f"the output would replace the input {str(taken.pop())!r}; name another directory")
    return targets


def _output_names(inputs: Inputs) -> list[str]:
    """The files' names in an output directory: their own, with `.jsonl` after them where the output is lines and the
    input is not."""
    return [
        name if is_parquet(file) or holds_lines(file) else f"{name}.jsonl"
        for name, file in zip(inputs.names, inputs.files, strict=True)
    ]


def beside(output: Path, suffix: str) -> Path:
    """Returns the path of a file or folder that belongs to an output."""
    return output.with_name(output.name + suffix)
