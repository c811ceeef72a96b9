"""A plugin of one's own for ms-swift: settings in Python, and groups judged whole (a majority vote).

Use it with `--external_plugins examples/swift/groups.py --reward_funcs rewarden`.
"""

from __future__ import annotations

from rewarden.adapters.swift import register

register(use="consensus", group="prompt_id", target="http://127.0.0.1:8080")
