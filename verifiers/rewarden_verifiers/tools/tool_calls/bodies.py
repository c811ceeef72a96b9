"""The bodies of calls: the text after a format's opening mark, and its end.

A body reads from a position on, adds the calls that it finds and returns where it ended. It raises Malformed if a call
is incomplete. Each reads its text once. The content of a value is text, whatever marks it contains.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from html import unescape
from typing import Any

from rewarden_verifiers.structure.json.strict import BLANKS, MAX_DEPTH, Malformed, decode, parse
from rewarden_verifiers.tools.tool_calls.calls import MAX_NAME, Call, Untyped, calls_of
from rewarden_verifiers.tools.tool_calls.python import bare, begins_as_python, python_calls

Body = Callable[[str, int, str, list[Call]], int]
"""Called with the text, where the body begins, the name that the mark had (else nothing), and the calls so far."""

_BLANK = re.compile(r"\s*")
_FURTHER = re.compile(r"\s*[,;]?\s*(?=\{|\[\s{0,8}\{)")
_FENCE = re.compile(r"```\w{0,20}\n")
_FUNCTION = re.compile(r"<function=([^<>\n]{1,300})>")
_PARAMETER = re.compile(r"<parameter=([^<>\n]{1,300})>")
_TYPED = re.compile(r"\sstring=\"(true|false)\"")
_KEY = re.compile(r"[^:,{}\[\]<>\n\"']{1,300}")
_SCALAR = re.compile(r"[^,{}\[\]<>\n]{1,300}")
_ENDED = re.compile(r"\s*(?:\Z|[<\[>✿])")
_SIGNATURE = re.compile(r"\s*(?:Observation|Thought|Action|Final Answer)\b[^\n:]{0,20}:|\s*\Z")
_INPUT_END = re.compile(r"\n\s{0,8}(?:Observation|Thought|Action|Final Answer)\b[^\n:]{0,20}:")
_CDATA = ("<![CDATA[", "]]>")
_SPACE = "]<]minimax[>["
_SPACE_TAG = re.compile(re.escape(_SPACE) + r"\s{0,8}<([^<>/\s]{1,300})>")


def skip(text: str, position: int) -> int:
    """Returns where the blanks end that begin here."""
    match = _BLANK.match(text, position)
    return position if match is None else match.end()


def named(text: str) -> str:
    """A name without blanks and quotes around it. Raises Malformed."""
    name = text.strip(BLANKS + "\"'")
    if not name or len(name) > MAX_NAME:
        raise Malformed("malformed_call", "a name is blank or too long")
    return name


def after(text: str, position: int, closing: str) -> int:
    """Returns where a closing mark ends that must stand here, blanks before it aside. Raises Malformed."""
    position = skip(text, position)
    if not text.startswith(closing, position):
        raise Malformed("unclosed_tag", f"{closing} is missing")
    return position + len(closing)


def ended(text: str, position: int) -> int:
    """Returns the position, behind which nothing but another mark may follow. Raises Malformed."""
    if _ENDED.match(text, position) is None:
        raise Malformed("trailing_text", f"after the calls comes {text[position : position + 40].lstrip()!r}")
    return position


def _object(text: str, position: int, what: str) -> tuple[dict[str, Any], int]:
    """The JSON object that begins here, blanks aside."""
    value, position = decode(text, skip(text, position))
    if not isinstance(value, dict):
        raise Malformed("malformed_call", f"the arguments of {what[:40]!r} are not an object")
    return value, position


def json_calls(text: str, position: int, calls: list[Call]) -> int:
    """Read JSON calls and lists of them, one after the other; return where the last one ends. Raises Malformed."""
    while True:
        value, position = decode(text, position)
        found = calls_of(value, tagged=True)
        if found is None:
            raise Malformed("malformed_call", "JSON that is not a call is where a call should be")
        calls += found
        match = _FURTHER.match(text, position)
        if match is None:
            return position
        position = match.end()


def calls_until(closing: str = "", *, optional: bool = False) -> Body:
    """Whole calls, as JSON or in Python's syntax, within a code fence or not, up to a closing mark; without one, and
    where it is optional and missing, up to the end of the text or another mark."""

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        position = skip(text, position)
        fence = _FENCE.match(text, position)
        if fence is not None:
            position = skip(text, fence.end())
        before = len(calls)
        if begins_as_python(text, position):
            mark = "```" if fence is not None else closing
            end = text.find(mark, position) if mark else len(text)
            if end < 0:
                if not optional or fence is not None:
                    raise Malformed("unclosed_tag", f"{mark} is missing")
                end = len(text)
            calls += python_calls(text[position:end].strip())
            position = end
        elif text[position : position + 1] in ("{", "["):
            position = json_calls(text, position, calls)
        if len(calls) == before:
            raise Malformed("malformed_call", "a mark of calls is followed by none")
        if fence is not None:
            position = after(text, position, "```")
        if closing and text.startswith(closing, skip(text, position)):
            return skip(text, position) + len(closing)
        if closing and not optional:
            raise Malformed("unclosed_tag", f"{closing} is missing")
        return ended(text, position)

    return read


def keyed_until(closing: str) -> Body:
    """A JSON list of objects with one key each: the name, and the arguments as its value."""

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        value, position = decode(text, skip(text, position))
        for item in value if isinstance(value, list) and value else [None]:
            if not isinstance(item, dict) or len(item) != 1:
                raise Malformed("malformed_call", "a call must be an object with the tool's name as its one key")
            called, given = next(iter(item.items()))
            if not isinstance(given, dict):
                raise Malformed("malformed_call", f"the arguments of {called[:40]!r} are not an object")
            calls.append(Call(named(called), given))
        return after(text, position, closing)

    return read


def object_until(*closings: str) -> Body:
    """The arguments of a named call as a JSON object, up to a closing mark, or several; without one up to the end of
    the text or another mark."""

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        given, position = _object(text, position, name)
        calls.append(Call(named(name), given))
        for closing in closings:
            position = after(text, position, closing)
        return position if closings else ended(text, position)

    return read


def text_until(closing: str) -> Body:
    """The one argument of a named call as text, up to a closing mark."""

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        end = text.find(closing, position)
        if end < 0:
            raise Malformed("unclosed_tag", f"{closing} is missing")
        given = text[position:end].strip()
        if not given:
            raise Malformed("malformed_call", f"a call of {name[:40]!r} has no content")
        calls.append(Call(name, {}, (Untyped(given),)))
        return end + len(closing)

    return read


def pairs_until(
    key: tuple[str, str], value: tuple[str, str], closing: str, kind: tuple[str, str] = ("<arg_type>", "</arg_type>")
) -> Body:
    """The arguments of a named call as pairs of a key and a value, each between two marks; between them may stand the
    value's type (`kind`), which says no more than the value."""
    begin = re.compile(
        rf"{re.escape(key[0])}([^<>\n]{{1,300}}){re.escape(key[1])}\s*"
        rf"(?:{re.escape(kind[0])}[^<>\n]{{0,80}}{re.escape(kind[1])}\s*)?{re.escape(value[0])}",
    )

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        arguments: dict[str, Any] = {}
        position = skip(text, position)
        while (match := begin.match(text, position)) is not None:
            given, position = _between(text, match.end(), value[1])
            _add(arguments, named(match.group(1)), Untyped(_unpadded(given)))
            position = skip(text, position)
        position = after(text, position, closing)
        calls.append(Call(named(name), arguments))
        return position

    return read


def _unpadded(text: str) -> str:
    """A bare text without the ends of lines around it. One at one end alone is the text's own, as that of a file."""
    return text[1:-1] if len(text) > 1 and text[0] == "\n" == text[-1] else text


def _stripped(text: str) -> str:
    """The same where the form has a line's end at both ends: a missing one is the model's slip, which servers allow."""
    return text.removeprefix("\n").removesuffix("\n")


def parameters_until(opening: str, ending: str, closing: str) -> Body:
    """The arguments of a named call as elements that hold bare text; `opening` is a pattern whose first group is the
    parameter's name. An attribute `string` says whether the text is one."""
    begin = re.compile(opening)

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        arguments, position = _parameters(text, skip(text, position), begin, ending)
        position = after(text, position, closing)
        calls.append(Call(named(name), arguments))
        return position

    return read


def _parameters(
    text: str, position: int, begin: re.Pattern[str], ending: str, unpadded: Callable[[str], str] = _unpadded
) -> tuple[dict[str, Any], int]:
    arguments: dict[str, Any] = {}
    while (match := begin.match(text, position)) is not None:
        given, position = _between(text, match.end(), ending)
        typed = _TYPED.search(match.group())
        value: Any = Untyped(unpadded(given))
        if typed is not None:
            value = given if typed.group(1) == "true" else parse(given)
        _add(arguments, named(match.group(1)), value)
        position = skip(text, position)
    return arguments, position


def _between(text: str, position: int, ending: str) -> tuple[str, int]:
    """The text up to a mark, CDATA around it taken off, and where the mark ends."""
    if text.startswith(_CDATA[0], position):
        ending = _CDATA[1] + ending
        position += len(_CDATA[0])
    end = text.find(ending, position)
    if end < 0:
        raise Malformed("unclosed_tag", "a parameter never closes")
    return text[position:end], end + len(ending)


def _add(arguments: dict[str, Any], name: str, value: Any) -> None:
    if name in arguments:
        raise Malformed("duplicate_key", f"the parameter {name[:80]!r} occurs twice in a call")
    arguments[name] = value


def function_element(text: str, position: int, name: str, calls: list[Call]) -> int:
    """`<function=name>`, with a JSON object or parameters in it."""
    match = _FUNCTION.match(text, position)
    if match is None:
        raise Malformed("malformed_call", "a <function=…> without a name")
    position = skip(text, match.end())
    arguments: dict[str, Any]
    if text.startswith("{", position):
        arguments, position = decode(text, position)
    else:
        arguments, position = _parameters(text, position, _PARAMETER, "</parameter>", _stripped)
    calls.append(Call(named(match.group(1)), arguments))
    return after(text, position, "</function>")


def tool_call_element(text: str, position: int, name: str, calls: list[Call]) -> int:
    """The content of a `<tool_call>`: JSON calls, lists of them, `<function=name>`, one or more."""
    position = skip(text, position)
    before = len(calls)
    while not text.startswith("</tool_call>", position):
        if text.startswith("<function=", position):
            position = function_element(text, position, "", calls)
        elif text[position : position + 1] in ("{", "["):
            position = json_calls(text, position, calls)
        else:
            reason = "unclosed_tag" if position >= len(text) else "malformed_call"
            raise Malformed(reason, "a <tool_call> holds something that is not a call, or never closes")
        position = skip(text, position)
        if text.startswith(",", position):
            position = skip(text, position + 1)
    if len(calls) == before:
        raise Malformed("malformed_call", "a <tool_call> is empty")
    return position + len("</tool_call>")


def braces_until(quote: str, closing: str) -> Body:
    """The arguments of a named call in Gemma's notation: an object whose texts stand between two `quote` marks."""

    def read(text: str, position: int, name: str, calls: list[Call]) -> int:
        value, position = _braced(text, position, quote, 1)
        calls.append(Call(named(name), value))
        return after(text, position, closing)

    return read


def _braced(text: str, position: int, quote: str, depth: int) -> tuple[Any, int]:
    """A value of Gemma's notation, and where it ends. Raises Malformed."""
    if depth > MAX_DEPTH:
        raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}")
    sign = text[position : position + 1]
    if text.startswith(quote, position):
        return _quoted(text, position, quote)
    if sign == "{":
        made: dict[str, Any] = {}
        position = skip(text, position + 1)
        while not text.startswith("}", position):
            key, position = _brace_key(text, position, quote)
            value, position = _braced(text, skip(text, position), quote, depth + 1)
            _add(made, key, value)
            position = _comma(text, position, "}")
        return made, position + 1
    if sign == "[":
        items: list[Any] = []
        position = skip(text, position + 1)
        while not text.startswith("]", position):
            value, position = _braced(text, position, quote, depth + 1)
            items.append(value)
            position = _comma(text, position, "]")
        return items, position + 1
    scalar = _SCALAR.match(text, position)
    if scalar is None:
        raise Malformed("malformed", f"a value is missing at character {position}")
    return bare(scalar.group()), scalar.end()


def _brace_key(text: str, position: int, quote: str) -> tuple[str, int]:
    if text.startswith(quote, position):
        key, position = _quoted(text, position, quote)
    else:
        match = _KEY.match(text, position)
        if match is None:
            raise Malformed("malformed", f"a key is missing at character {position}")
        key, position = match.group(), match.end()
    if not text.startswith(":", position):
        raise Malformed("malformed", f"a colon is missing at character {position}")
    return named(key), position + 1


def _quoted(text: str, position: int, quote: str) -> tuple[str, int]:
    end = text.find(quote, position + len(quote))
    if end < 0:
        raise Malformed("malformed", f"a text that begins at character {position} never ends")
    return text[position + len(quote) : end], end + len(quote)


def _comma(text: str, position: int, closing: str) -> int:
    position = skip(text, position)
    if text.startswith(",", position):
        return skip(text, position + 1)
    if not text.startswith(closing, position):
        raise Malformed("malformed", f"{closing} is missing at character {position}")
    return position


def spaced_elements(text: str, position: int, name: str, calls: list[Call]) -> int:
    """MiniMax M3's arguments: an element for each, every tag after the family's mark, objects and lists nested."""
    value, position = _spaced(text, position, 1)
    if not isinstance(value, dict):
        value = {}
    position = after(text, position, _SPACE)
    position = after(text, position, "</invoke>")
    calls.append(Call(named(name), value))
    return position


def _spaced(text: str, position: int, depth: int) -> tuple[Any, int]:
    """The elements that begin here as an object, or as a list where each is an item; without any, the text."""
    if depth > MAX_DEPTH:
        raise Malformed("too_deep", f"nested deeper than {MAX_DEPTH}")
    match = _SPACE_TAG.match(text, skip(text, position))
    if match is None:
        end = text.find(_SPACE, position)
        if end < 0:
            raise Malformed("unclosed_tag", "a parameter never closes")
        return Untyped(text[position:end]), end
    made: dict[str, Any] = {}
    items: list[Any] = []
    while match is not None:
        name = match.group(1)
        value, position = _spaced(text, match.end(), depth + 1)
        position = after(text, after(text, position, _SPACE), f"</{name}>")
        # Within an object or a list no definition says what a text is: it is what it reads as.
        value = _settled(value) if depth > 1 else value
        if name == "item":
            items.append(value)
        else:
            _add(made, name, value)
        match = _SPACE_TAG.match(text, skip(text, position))
    if made and items:
        raise Malformed("malformed_call", "an element holds items and other elements")
    return items or made, position


def _settled(value: Any) -> Any:
    if isinstance(value, Untyped):
        try:
            return bare(value)
        except Malformed:
            return str(value)
    return value


_ARGUMENT = re.compile(r"<\|open\|>argument key=\"([^\"\n]{1,300})\"(?: type=\"(\w{1,20})\")?<\|sep\|>")
_WHOLE = re.compile(r"<\|open\|>json[^<\n]{0,80}<\|sep\|>")


def channel_elements(text: str, position: int, name: str, calls: list[Call]) -> int:
    """Kimi K3's arguments: an element with key and type for each, or one JSON object."""
    arguments: dict[str, Any] = {}
    if (match := _WHOLE.match(text, position)) is not None:
        arguments, position = _object(text, match.end(), name)
        position = after(text, position, "<|close|>json<|sep|>")
    else:
        while (match := _ARGUMENT.match(text, skip(text, position))) is not None:
            ending = "<|close|>argument<|sep|>"
            end = text.find(ending, match.end())
            if end < 0:
                raise Malformed("unclosed_tag", "an argument never closes")
            given = text[match.end() : end]
            value = Untyped(given) if match.group(2) is None else given if match.group(2) == "string" else parse(given)
            _add(arguments, named(unescape(match.group(1))), value)
            position = end + len(ending)
    position = after(text, position, "<|close|>call<|sep|>")
    calls.append(Call(named(unescape(name)), arguments))
    return position


_MESSAGE_END = re.compile(r"<\|(?:call|end|return|start|channel)\|>|\Z")


def message(text: str, position: int, name: str, calls: list[Call]) -> int:
    """The content of a harmony message to a tool: a JSON object, or text for a tool that takes nothing else. The mark
    `<|call|>` is a stop token, which servers drop."""
    begin = skip(text, position)
    if text.startswith("{", begin):
        arguments, end = _object(text, begin, name)
        calls.append(Call(named(name), arguments))
    else:
        match = _MESSAGE_END.search(text, position)
        end = len(text) if match is None else match.start()
        if name.count(".") == 0 and not text[position:end].strip():
            raise Malformed("malformed_call", f"a call of {name[:40]!r} has no content")
        calls.append(Call(named(name), {}, (Untyped(text[position:end].strip()),)))
    end = skip(text, end)
    match = _MESSAGE_END.match(text, end)
    if match is None:
        raise Malformed("trailing_text", f"after the arguments comes {text[end : end + 40]!r}")
    return match.end() if match.group() == "<|call|>" else match.start()


def action_input(text: str, position: int, name: str, calls: list[Call]) -> int:
    """The input of a ReAct action: a JSON object, or text, up to the next word of the form that begins a line."""
    begin = skip(text, position)
    if text.startswith("{", begin):
        arguments, end = _object(text, begin, name)
        calls.append(Call(named(name), arguments))
        if _SIGNATURE.match(text, end) is None:
            raise Malformed("trailing_text", f"after the input comes {text[end : end + 40].lstrip()!r}")
        return end
    match = _INPUT_END.search(text, position)
    end = len(text) if match is None else match.start()
    given = text[position:end].strip()
    if given[:1] == '"' == given[-1:] and len(given) > 1:
        value = parse(given)
        given = value if isinstance(value, str) else given
    nothing = given.lower() in ("", "none", "null", "n/a")
    calls.append(Call(named(name), {}, () if nothing else (Untyped(given),)))
    return end
