"""The file for swift's `--external_plugins`; its reward functions are `rewarden` and `async_rewarden`.

It has a folder of its own, because swift puts the folder of a plugin before all others on the path, where `trl.py`
would stand for TRL.
"""

from __future__ import annotations

from rewarden.adapters.swift import register

register()
