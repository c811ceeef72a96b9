"""A server's host of boxes, for tests of repositories."""

from __future__ import annotations

from tests.server.box_host import host as host
from tests.server.launchers import launcher as launcher
