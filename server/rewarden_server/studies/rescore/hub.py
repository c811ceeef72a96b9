"""Data sets on Hugging Face's hub, `hf:owner/name`, as folders of files on this machine."""

from __future__ import annotations

import re
from pathlib import Path

from rewarden_server.studies.rescore.options import RescoreError

_ADDRESS = re.compile(r"hf:(?P<name>[\w.-]+/[\w.-]+?)(?:@(?P<revision>[\w.-]+))?(?:/(?P<path>.+))?")

_READ = tuple(
    f"*{suffix}{packed}"
    for suffix in (".jsonl", ".ndjson", ".json", ".csv", ".tsv", ".parquet", ".arrow", ".eval")
    for packed in ("", ".gz", ".zst")
)
"""The files that are downloaded: those that can be read."""


def is_hub_name(path: Path) -> bool:
    """Returns whether a path is the name of a data set on the hub."""
    return str(path).startswith("hf:")


def download(path: Path) -> Path:
    """The folder or file on this machine that holds the data set; what is there already is not downloaded again.

    Raises RescoreError for a name that is none, and where the hub cannot be reached.
    """
    found = _ADDRESS.fullmatch(str(path))
    if found is None:
        raise RescoreError(f"{str(path)!r} names no data set of the hub: write hf:OWNER/NAME[@REVISION][/PATH]")
    try:
        from huggingface_hub import snapshot_download
    except ImportError:
        raise RescoreError(f"{str(path)!r} needs the hub's client: pip install huggingface_hub") from None
    inside = found["path"]
    patterns = list(_READ) if inside is None else [inside, *(f"{inside.rstrip('/')}/{one}" for one in _READ)]
    try:
        folder = Path(
            snapshot_download(found["name"], repo_type="dataset", revision=found["revision"], allow_patterns=patterns)
        )
    except (OSError, ValueError) as error:
        told = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise RescoreError(
            f"{str(path)!r} cannot be downloaded from the hub, and is not in the cache: {told}; without a network, "
            "download the files elsewhere and name their folder"
        ) from None
    chosen = folder if inside is None else folder / inside
    if not chosen.exists():
        raise RescoreError(f"the data set {found['name']!r} of the hub has no {inside!r}")
    return chosen
