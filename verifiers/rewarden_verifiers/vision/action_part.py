"""Finds the part of an agent's turn that acts: `Thought: …` and then `Action: …`, as in UI-TARS and similar models."""

from __future__ import annotations

import re

_THOUGHT = re.compile(r"[\s*_#]{0,8}(?:thoughts?|reflection|observation|思考)[\s*_]{0,4}[:：]", re.IGNORECASE)
_ACTION = re.compile(
    r"^[ \t*_#]{0,8}(?:actions?|动作)[ \t*_]{0,4}[:：][*_]{0,2}|\baction:[ \t*_`]{0,4}(?=[a-z_.]{1,40}\()",
    re.IGNORECASE | re.MULTILINE,
)
"""The mark at the beginning of a line, or anywhere before a call."""
_CALL = re.compile(r"\b[a-z_]{1,40}\(\s{0,4}(?:start_box|start_point|point)\s{0,4}=", re.IGNORECASE)


def action_part(text: str) -> str | None:
    """The text from the first action on, if a thought precedes it; None if the text is not such a turn.

    Points mentioned in the thought do not count as answers, but a second action does.
    """
    thought = _THOUGHT.match(text)
    if thought is None:
        return None
    action = _ACTION.search(text, thought.end())
    if action is not None:
        return text[action.end() :]
    call = _CALL.search(text, thought.end())
    return None if call is None else text[call.start() :]
