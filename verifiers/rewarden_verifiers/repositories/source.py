"""The files of a reference's repository: given in the request, or read by the server."""

from __future__ import annotations

import io
import os
import tarfile

from rewarden.errors import InvalidReference
from rewarden_verifiers.patches.patch import PatchError, safe
from rewarden_verifiers.repositories.reference import SweReference
from rewarden_verifiers.repositories.tree import Blob, Repositories, Tree


def tree_of(told: SweReference, repositories: Repositories | None) -> Tree | None:
    """Returns the files of a reference, or None if they are in its image. Blocks. Raises InvalidReference."""
    if told.files is not None:
        try:
            return {safe(name): Blob(text.encode("utf-8", "surrogatepass")) for name, text in told.files.items()}
        except PatchError as error:
            raise InvalidReference(error.detail, path="reference.files") from error
    if told.folder is None:
        return None
    if repositories is None:
        raise InvalidReference("the setting tasks.repositories is not set", path="reference.folder")
    return repositories.read(told.folder, told.commit)


def archive(tree: Tree) -> bytes:
    """Returns a tar archive of files."""
    out = io.BytesIO()
    with tarfile.open(fileobj=out, mode="w", format=tarfile.PAX_FORMAT) as made:
        for name, blob in tree.items():
            info = tarfile.TarInfo(name)
            if blob.link:
                info.type, info.linkname = tarfile.SYMTYPE, os.fsdecode(blob.data)
                made.addfile(info)
                continue
            info.size = len(blob.data)
            info.mode = blob.mode if blob.mode is not None else 0o755 if blob.executable else 0o644
            made.addfile(info, io.BytesIO(blob.data))
    return out.getvalue()
