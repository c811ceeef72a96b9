"""The page of the `rewarden` script: every command with its arguments, from its own parser."""

from __future__ import annotations

import argparse
import importlib
from importlib.metadata import entry_points

from making.markdown import cell, code, table
from rewarden.__main__ import _OWN, COMMAND_GROUP

_CONVENIENCES = """\
**In a CI job**, `rewarden verify samples.jsonl --use answer --fail-on wrong,unscored` exits with 1 unless every
response passes. `rewarden compare … --check` does so if anything differs.

**In scripts**, `--json` prints JSON and `-q` leaves only results and errors. Progress goes to standard error.

**On a terminal**, status and score are coloured, unless `NO_COLOR` is set or `TERM` is `dumb`. For completion of
commands, options, the names of verifiers and recipes, and file paths, add one of these lines:

```
eval "$(rewarden completion bash)"        # to ~/.bashrc
eval "$(rewarden completion zsh)"         # to ~/.zshrc, after compinit
rewarden completion fish | source         # to ~/.config/fish/config.fish
```
"""


def modules() -> dict[str, str]:
    """Our commands and their modules, without those of other packages."""
    ours = {point.name: point.value for point in entry_points(group=COMMAND_GROUP)}
    return {**{name: path for name, path in ours.items() if path.startswith("rewarden_server.")}, **_OWN}


def page() -> str:
    """The page. Commands of packages other than ours are not on it."""
    lines = [
        "# Commands",
        "",
        "`rewarden COMMAND --help` prints the same. Exit status: 0 success; 1 something failed; 2 the arguments or the",
        "request are wrong; 130 interrupted. `completion`, `ready`, `verifiers` and `verify` come with the client; the",
        "others need `rewarden-server`.",
        "",
        _CONVENIENCES,
    ]
    for name, module in sorted(modules().items()):
        command = importlib.import_module(module)
        parser = argparse.ArgumentParser(prog=f"rewarden {name}", description=command.HELP)
        command.configure(parser)
        lines += _command(parser, "##")
    return "\n".join(lines)


def _command(parser: argparse.ArgumentParser, heading: str) -> list[str]:
    summary = parser.description or ""
    lines = [f"{heading} {parser.prog}", ""]
    if summary:
        lines += [f"{cell(summary[:1].upper() + summary[1:]).rstrip('.')}.", ""]
    rows, below = [], []
    for action in parser._actions:  # argparse has no other way to list them
        if isinstance(action, argparse._SubParsersAction):
            helps = {choice.dest: choice.help or "" for choice in action._choices_actions}
            for name, child in action.choices.items():
                child.description = child.description or helps.get(name)
                below += _command(child, heading + "#")
        elif action.dest != "help" and action.help is not argparse.SUPPRESS:
            rows.append((_signature(action), cell(_meaning(parser, action))))
    return [*lines, *table(("argument", "meaning"), rows), *below]


def _signature(action: argparse.Action) -> str:
    value = action.metavar or ("|".join(map(str, action.choices)) if action.choices else action.dest)
    value = " ".join(value) if isinstance(value, tuple) else str(value)
    if not action.option_strings:
        return code(value if action.nargs not in ("?", "*") else f"[{value}]")
    names = ", ".join(action.option_strings)
    return code(names if action.nargs == 0 else f"{names} {value.upper() if not action.choices else value}")


def _meaning(parser: argparse.ArgumentParser, action: argparse.Action) -> str:
    if not action.help:
        return ""
    return action.help % {**vars(action), "prog": parser.prog}
