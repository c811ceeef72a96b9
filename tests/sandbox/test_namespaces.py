"""Namespaces that the machine does not give: a failure of ours, which no program may be blamed for."""

from __future__ import annotations

import ctypes
import errno

import pytest

from rewarden_sandboxes.agent import room


class Refusing:
    """A C library whose `unshare` fails."""

    def __init__(self, code: int) -> None:
        self._code = code

    def unshare(self, _flags: int) -> int:
        """See unshare(2)."""
        ctypes.set_errno(self._code)
        return -1


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EPERM, errno.ENOMEM, errno.EINVAL])
def test_a_machine_without_namespaces_is_no_full_room(code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that has no namespaces left says ENOSPC, as does a file system that a program has filled."""
    monkeypatch.setattr(room, "LIBC", Refusing(code))
    with pytest.raises(OSError, match="unshare") as refused:
        room.unshare(room.NEW_NET)
    assert not room.is_full(refused.value)


def test_a_full_file_system_is_a_full_room() -> None:
    assert room.is_full(OSError(errno.ENOSPC, "write"))
