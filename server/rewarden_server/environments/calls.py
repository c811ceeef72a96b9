"""Tool calls in environments: the tools' schemas, and the action that a call stands for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rewarden.errors import SampleError, Unavailable
from rewarden_server.environments import boxed
from rewarden_verifiers.environments.actions import text_of_call, tool_of
from rewarden_verifiers.environments.contract import Environment
from rewarden_verifiers.environments.table import environment_of


class UnknownTool(LookupError):
    """A call of a tool that the environment does not have."""


def kind_of(name: str) -> type[Environment]:
    """The class of a replayed environment. Raises Unavailable."""
    try:
        return environment_of(name)
    except SampleError as error:
        raise Unavailable(error.message, reason=error.reason) from None


def tools_of(name: str) -> list[dict[str, Any]]:
    """The tools of an environment, in the form that chat templates take. Raises Unavailable."""
    if name in boxed.NAMES:
        return [tool.schema() for tool in boxed.TOOLS]
    return [tool.schema() for tool in kind_of(name).tools]


def action_of_call(name: str, tool: Any, arguments: Any) -> Mapping[str, Any]:
    """The action that a policy's call stands for, in the environment's form. None as its text: a malformed action.
    Raises UnknownTool, Unavailable."""
    if name in boxed.NAMES:
        return {"tool": tool if isinstance(tool, str) else "", "arguments": arguments}
    tools = kind_of(name).tools
    found = tool_of(tools, tool)
    if found is None:
        names = ", ".join(each.name for each in tools)
        raise UnknownTool(f"There is no tool {str(tool)[:40]!r}; the tools are {names}.")
    return {"text": text_of_call(found, arguments, tool)}
