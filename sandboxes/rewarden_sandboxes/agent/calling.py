"""One call of a function or method of the candidate's: tagged JSON in, one tagged JSON reply out.

The expected value is not in this process. A candidate that takes it over can only change the value that is sent.
"""

from __future__ import annotations

import os
import re
import types
from collections import deque
from typing import Any

from rewarden_sandboxes.agent import candidate_room, tagged_codec

MAX_NODES = 100_000


class ListNode:
    """LeetCode's singly linked list; given to a candidate that does not define its own."""

    def __init__(self, val: Any = 0, next: Any = None) -> None:
        self.val = val
        self.next = next


class TreeNode:
    """LeetCode's binary tree; given to a candidate that does not define its own."""

    def __init__(self, val: Any = 0, left: Any = None, right: Any = None) -> None:
        self.val = val
        self.left = left
        self.right = right


class Shapes:
    """Converts lists to nodes and back, by the request's `types`, for instance `List[ListNode]`."""

    def __init__(self, module: types.ModuleType) -> None:
        self.module = module

    def build(self, hint: str | None, value: Any) -> Any:
        """Returns an argument in the shape of its hint; without a hint, unchanged."""
        inner = re.fullmatch(r"[Ll]ist\[(.+)\]", hint or "")
        if inner:
            return [self.build(inner[1], part) for part in value]
        return {"ListNode": self.chain, "TreeNode": self.tree}.get(hint or "", lambda same: same)(value)

    def flatten(self, hint: str | None, value: Any) -> Any:
        """Returns a result, flattened by its hint. Raises Uncrossable if it has another shape, or is endless."""
        inner = re.fullmatch(r"[Ll]ist\[(.+)\]", hint or "")
        if inner and isinstance(value, list):
            return [self.flatten(inner[1], part) for part in value]
        if hint == "ListNode":
            return self.unchain(value)
        return self.untree(value) if hint == "TreeNode" else value

    def chain(self, values: Any) -> Any:
        first = None
        for value in reversed(values or []):
            node = self.module.ListNode(value)
            node.next, first = first, node
        return first

    def unchain(self, node: Any) -> list[Any]:
        values: list[Any] = []
        while node is not None:
            if len(values) >= MAX_NODES or not hasattr(node, "next"):
                raise tagged_codec.Uncrossable(type(node).__name__, "not a linked list with an end")
            values.append(node.val)
            node = node.next
        return values

    def tree(self, values: Any) -> Any:
        """Returns a tree from its values, level by level; null is a missing child, whose own children are omitted."""
        rest = iter(values or [])
        first = next(rest, None)
        root = None if first is None else self.module.TreeNode(first)
        waiting = deque([root] if root is not None else [])
        while waiting:
            node = waiting.popleft()
            for side in ("left", "right"):
                value = next(rest, None)
                child = None if value is None else self.module.TreeNode(value)
                setattr(node, side, child)
                if child is not None:
                    waiting.append(child)
        return root

    def untree(self, root: Any) -> list[Any]:
        values: list[Any] = []
        waiting = deque([root])
        while waiting:
            node = waiting.popleft()
            if len(values) >= MAX_NODES or not (node is None or hasattr(node, "left")):
                raise tagged_codec.Uncrossable(type(node).__name__, "not a tree with an end")
            values.append(None if node is None else node.val)
            if node is not None:
                waiting.extend((node.left, node.right))
        while values and values[-1] is None:
            values.pop()
        return values


def find(module: types.ModuleType, target: str, init: list[Any]) -> Any:
    """Returns `f`, or for `Solution.f` the method of a new `Solution(*init)`. Raises LookupError if there is none."""
    name, _, method = target.partition(".")
    if not hasattr(module, name):
        raise LookupError(name)
    found = getattr(module, name)
    if not method:
        return found
    if not hasattr(found, method):
        raise LookupError(target)
    return getattr(found(*init) if isinstance(found, type) else found, method)


def answer(code: bytes, request: dict[str, Any]) -> dict[str, Any]:
    """Returns the reply to a request: `value` and `args`, or `error` (a type's name; with `message`, `traceback`, and
    `loading` if the code failed to load), `uncrossable` (a type's name) or `missing` (the target).
    """
    hints = request.get("types") or {}
    arg_hints = hints.get("args") or {}
    given: dict[str, Any] = {"ListNode": ListNode, "TreeNode": TreeNode} if hints else {}
    try:
        module = candidate_room.load(code, given)
    except BaseException as fault:  # noqa: BLE001 - SystemExit included
        return {**_error(fault), "loading": True}
    shapes = Shapes(module)
    try:
        args = [
            shapes.build(arg_hints.get(str(at)), tagged_codec.decode(arg))
            for at, arg in enumerate(request.get("args", []))
        ]
        kwargs = {
            key: shapes.build(arg_hints.get(key), tagged_codec.decode(arg))
            for key, arg in (request.get("kwargs") or {}).items()
        }
        try:
            function = find(module, request["target"], [tagged_codec.decode(arg) for arg in request.get("init", [])])
        except LookupError:
            return {"missing": request["target"]}
        value = candidate_room.awaited(function(*args, **kwargs))
    except BaseException as fault:  # noqa: BLE001 - SystemExit included
        return _error(fault)
    try:
        after = [_after(shapes, arg_hints.get(str(at)), arg) for at, arg in enumerate(args)]
        return {"value": tagged_codec.encode(shapes.flatten(hints.get("returns"), value)), "args": after}
    except tagged_codec.Uncrossable as fault:
        return {"uncrossable": fault.type_name[:100]}


def _error(fault: BaseException) -> dict[str, Any]:
    said = candidate_room.failure(fault)
    return {"error": said["type"], "message": said["message"], "traceback": said["traceback"]}


def _after(shapes: Shapes, hint: str | None, arg: Any) -> Any:
    """Returns an argument after the call; null if it can no longer cross."""
    try:
        return tagged_codec.encode(shapes.flatten(hint, arg))
    except tagged_codec.Uncrossable:
        return None


def main(code: bytes, request: bytes, channel: int, reply: int) -> int:
    """Runs the mode `call`. Returns exit code 0 if and only if a value is sent."""
    said = answer(code, tagged_codec.from_json(request))
    try:
        body = tagged_codec.to_json(said)
    except tagged_codec.Uncrossable as fault:
        said = {"uncrossable": fault.type_name}
        body = tagged_codec.to_json(said)
    rest = memoryview(body)
    while rest:
        rest = rest[os.write(reply, rest) :]
    return 0 if "value" in said else 1
