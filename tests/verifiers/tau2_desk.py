"""A small checkout in the form of tau2-bench's: what `tau2` uses of its package, and a domain of two lists."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

_MESSAGE = """
from pydantic import BaseModel


class ToolCall(BaseModel):
    id: str = ""
    name: str
    arguments: dict
    requestor: str = "assistant"
"""

_ENVIRONMENT = """
import json
import os
from enum import Enum
from pathlib import Path
from types import SimpleNamespace

from tau2.data_model.message import ToolCall

DATA = Path(os.environ["TAU2_DATA_DIR"]) / "tau2" / "domains" / "desk"


class Part(str, Enum):
    DB = "DB"
    ENV_ASSERTION = "ENV_ASSERTION"
    COMMUNICATE = "COMMUNICATE"
    ACTION = "ACTION"
    NL_ASSERTION = "NL_ASSERTION"


class Toolkit:
    def __init__(self, things, names):
        self.things, self.names = things, names

    def add(self, thing):
        self.things.append(thing)
        return self.things

    def see(self):
        return self.things

    def calculate(self, expression):
        return str(eval(expression))

    def holds(self, thing):
        if not self.things:
            raise ValueError("there is nothing")
        return thing in self.things


class Desk:
    def __init__(self, solo_mode):
        data = json.loads((DATA / "db.json").read_text())
        self.tools = Toolkit(data["desk"], ("add", "see", "calculate"))
        self.user_tools = Toolkit(data["user"], ("add_own",))
        self.user_tools.add_own = self.user_tools.add
        self.solo = solo_mode

    def get_policy(self):
        return (DATA / "policy.md").read_text()

    def get_tools(self):
        return [tool(name) for name in self.tools.names]

    def get_user_tools(self, include=None):
        return [tool(name) for name in self.user_tools.names]

    def set_state(self, initialization_data, initialization_actions, message_history):
        if initialization_data is not None:
            self.tools.things[:] = initialization_data

    def make_tool_call(self, tool_name, requestor="assistant", **arguments):
        own = self.user_tools if tool_name in self.user_tools.names else self.tools
        if own is self.user_tools and requestor == "assistant" and not self.solo:
            raise ValueError(f"Tool '{tool_name}' not found.")
        if tool_name not in own.names:
            raise ValueError(f"Tool '{tool_name}' not found.")
        return getattr(own, tool_name)(**arguments)

    def get_response(self, call):
        try:
            content, failed = json.dumps(self.make_tool_call(call.name, call.requestor, **call.arguments)), False
        except Exception as error:
            content, failed = f"Error: {error}", True
        return SimpleNamespace(content=content, error=failed)

    def run_env_assertion(self, assertion, raise_assertion_error):
        return self.tools.holds(assertion) and not raise_assertion_error

    def get_db_hash(self):
        return json.dumps(sorted(self.tools.things))

    def get_user_db_hash(self):
        return json.dumps(sorted(self.user_tools.things))


def tool(name):
    return SimpleNamespace(name=name, openai_schema={"type": "function", "function": {"name": name}})


class Action(SimpleNamespace):
    def compare_with_tool_call(self, call):
        return self.name == call.name and call.arguments.items() <= self.arguments.items()


def get_environment(solo_mode=False):
    if solo_mode and not (DATA / "policy_solo.md").exists():
        raise ValueError("the domain has no solo mode")
    return Desk(solo_mode)


def get_tasks(split=None):
    rows = json.loads((DATA / "tasks.json").read_text())
    if split not in (None, "train"):
        raise ValueError(f"no split {split}")
    return [task(row) for row in rows if split is None or row.get("split") == split]


def task(row):
    wanted = row.get("actions")
    criteria = SimpleNamespace(
        actions=None if wanted is None else [Action(**{"requestor": "assistant", **one}) for one in wanted],
        env_assertions=row.get("assertions"),
        communicate_info=row.get("told"),
        reward_basis=[Part(one) for one in row.get("basis", ["DB", "COMMUNICATE"])],
    )
    state = SimpleNamespace(initialization_data=row["state"], initialization_actions=None, message_history=None)
    told = row["user"] if isinstance(row["user"], str) else SimpleNamespace(**row["user"])
    return SimpleNamespace(
        id=row["id"],
        ticket=row.get("ticket"),
        user_tools=None,
        initial_state=state if row["state"] is not None else None,
        evaluation_criteria=criteria,
        user_scenario=SimpleNamespace(instructions=told),
    )
"""

_ASKS = {"reason_for_call": "I want milk.", "known_info": "I am Ada.", "task_instructions": "Be brief."}
TASKS: list[dict[str, Any]] = [
    {
        "id": "milk",
        "split": "train",
        "user": _ASKS,
        "ticket": "Ada wants milk.",
        "actions": [{"name": "add", "arguments": {"thing": "milk"}}],
        "told": ["1250"],
    },
    {
        "id": "parts",
        "split": "train",
        "user": "Ask for tea.",
        "ticket": "Tea, please.",
        "state": ["bread"],
        "actions": [{"name": "add", "arguments": {"thing": "tea"}}],
        "assertions": ["tea"],
        "told": ["thanks"],
        "basis": ["DB", "ENV_ASSERTION", "ACTION", "COMMUNICATE"],
    },
    {
        "id": "both",
        "user": "Add it on your side as well.",
        "ticket": "Add it on both sides.",
        "actions": [
            {"name": "add", "arguments": {"thing": "salt"}},
            {"name": "add_own", "arguments": {"thing": "salt"}, "requestor": "user"},
        ],
    },
    {"id": "excluded", "user": "Add.", "actions": [], "assertions": ["tea"], "basis": ["DB", "ENV_ASSERTION"]},
    {
        "id": "called",
        "user": "Try tea.",
        "actions": [{"name": "add", "arguments": {"thing": "tea"}}],
        "basis": ["ACTION"],
    },
    {"id": "nothing", "user": "Ask for what is forbidden.", "actions": []},
    {"id": "refused", "user": "Add.", "actions": [{"name": "gone", "arguments": {}}]},
    {"id": "uncallable", "user": "Add.", "actions": [{"name": "gone", "arguments": {}}], "basis": ["ACTION"]},
    {"id": "free", "user": "Chat."},
    {"id": "judged", "user": "Chat.", "actions": [], "basis": ["DB", "NL_ASSERTION"]},
]


def write_desk(root: Path) -> Path:
    """Writes the checkout."""
    code, data = root / "src/tau2", root / "data/tau2/domains/desk"
    for folder in (code / "data_model", code / "domains/desk", data):
        folder.mkdir(parents=True)
    (code / "__init__.py").write_text("raise ImportError('agents and clients of models')\n")
    for folder in (code / "data_model", code / "domains", code / "domains/desk"):
        (folder / "__init__.py").touch()
    (code / "data_model/message.py").write_text(_MESSAGE)
    (code / "domains/desk/environment.py").write_text(_ENVIRONMENT)
    (data / "policy.md").write_text("Help the user.")
    (data / "policy_solo.md").write_text("Work on the ticket.")
    (data / "db.json").write_text(json.dumps({"desk": [], "user": []}))
    (data / "tasks.json").write_text(json.dumps([{"state": None, **task} for task in TASKS]))
    return root
