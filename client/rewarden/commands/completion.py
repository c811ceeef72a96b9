"""`rewarden completion`: prints a script that makes a shell complete the command line.

The script calls this command for every completion, so it must be fast: it imports no command. Options come from
`arguments.json` beside a command's module, which `make docs` writes; names come from the verifiers' `summaries.json`.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from rewarden.__main__ import known_commands
from rewarden.commands.terminal import add_examples, say

HELP = "print a script that completes commands, options and names in bash, zsh or fish"

# Where there is nothing to complete, the shell completes file paths.
_SCRIPTS = {
    "bash": """\
_rewarden() {
    local IFS=$'\\n'
    COMPREPLY=($("$1" completion bash "${COMP_WORDS[@]:0:COMP_CWORD+1}" 2>/dev/null))
}
complete -o default -F _rewarden rewarden""",
    "zsh": """\
#compdef rewarden
_rewarden() {
    local -a found
    found=(${(f)"$("${words[1]}" completion zsh "${(@)words[1,CURRENT]}" 2>/dev/null)"})
    if (( $#found )); then compadd -a found; else _files; fi
}
compdef _rewarden rewarden""",
    "fish": """\
function __rewarden_complete
    set -l before (commandline -opc)
    set -l current (commandline -ct)
    set -l found ($before[1] completion fish $before "$current" 2>/dev/null)
    if test (count $found) -gt 0
        printf '%s\\n' $found
    else
        __fish_complete_path "$current"
    end
end
complete -c rewarden -f -a '(__rewarden_complete)'""",
}

_NOTHING: Mapping[str, Any] = {"options": {}, "commands": {}, "values": []}


def configure(parser: argparse.ArgumentParser) -> None:
    """Adds the command's arguments."""
    parser.add_argument("shell", choices=tuple(_SCRIPTS), help="the shell that will run the script")
    parser.add_argument("words", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)  # the script's own call
    add_examples(
        parser,
        """eval "$(rewarden completion bash)"            # in ~/.bashrc""",
        """eval "$(rewarden completion zsh)"             # in ~/.zshrc, after compinit""",
        """rewarden completion fish > ~/.config/fish/completions/rewarden.fish""",
    )


def run(args: argparse.Namespace) -> int:
    """Returns exit status 0."""
    if not args.words:
        say(_SCRIPTS[args.shell])
        return 0
    words = _joined(args.words) if args.shell == "bash" else args.words
    # bash replaces only the part of a word that follows its last `=`.
    replaced = words[-1].rpartition("=")[1:2] if args.shell == "bash" else ()
    for found in candidates(words):
        say(found.rpartition("=")[2] if "=" in replaced else found)
    return 0


def candidates(words: Sequence[str]) -> list[str]:
    """Returns the words that can stand in the place of the last one; none where only a file path or free text can."""
    before, current = words[1:-1], words[-1]
    if not before:
        return _matching(["--help", "--version"] if current.startswith("-") else known_commands(), current)
    arguments = _arguments(before[0])
    value: Any = None  # the values of the option that the word before takes
    for word in before[1:]:
        if value is not None:
            value = None
        elif word in arguments["options"]:
            value = arguments["options"][word]
        else:
            arguments = arguments["commands"].get(word, arguments)
    if value is not None:
        return _values(value, current)
    option, equals, rest = current.partition("=")
    if equals and option in arguments["options"]:
        return [f"{option}={found}" for found in _values(arguments["options"][option] or [], rest)]
    if current.startswith("-"):
        return _matching([*arguments["options"], "--help"], current)
    return [*_matching(arguments["commands"], current), *_values(arguments["values"], current)]


def _arguments(command: str) -> Mapping[str, Any]:
    """The arguments of a command, by the file next to its module; packages that have no such file get no completion."""
    module = known_commands().get(command)
    try:
        spec = None if module is None else find_spec(module)
        if spec is None or spec.origin is None:
            return _NOTHING
        found = json.loads(Path(spec.origin).with_name("arguments.json").read_text(encoding="utf-8"))
    except (ImportError, ValueError, OSError):
        return _NOTHING
    arguments: Mapping[str, Any] = found.get(command, _NOTHING)
    return arguments


def _values(known: Any, current: str) -> list[str]:
    if isinstance(known, list):
        return _matching(known, current)
    pattern, equals, start = current.rpartition("=")  # rescore --use PATTERN=NAME
    return [f"{pattern}{equals}{name}" for name in _matching(_names(known), start)]


def _names(kind: str) -> list[str]:
    """The names of verifiers, of recipes, or (as a use) of both, if the verifiers are installed."""
    spec = find_spec("rewarden_verifiers")
    if spec is None or spec.origin is None:
        return []
    summaries = json.loads(Path(spec.origin).with_name("summaries.json").read_text(encoding="utf-8"))
    return [name for name, item in summaries.items() if kind in ("use", item["kind"])]


def _matching(known: Iterable[str], start: str) -> list[str]:
    return sorted(each for each in known if each.startswith(start))


def _joined(words: Sequence[str]) -> list[str]:
    """The words with their `=`, at which bash splits them."""
    joined: list[str] = []
    for number, word in enumerate(words):
        if joined and "=" in (word, words[number - 1]):
            joined[-1] += word
        else:
            joined.append(word)
    return joined
