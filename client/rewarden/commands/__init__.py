"""The commands of the `rewarden` script, one module each: `HELP`, `configure(parser)` and `run(args) -> int`.

Packages add commands by entry points in the group `rewarden.commands` that name such a module.
"""
