"""`tool_calls`: checks that a response calls the right tools with the right arguments, or rightly calls none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from rewarden.types import Outcome
from rewarden_verifiers.contract import verifier
from rewarden_verifiers.extraction import encodable
from rewarden_verifiers.outcome import no_answer, right, scored, too_expensive, wrong
from rewarden_verifiers.preset import Preset
from rewarden_verifiers.structure.json.comparing import Field, ListRule, Rules, TextRule, TooExpensive
from rewarden_verifiers.structure.json.expected import Scheme
from rewarden_verifiers.structure.json.strict import Malformed
from rewarden_verifiers.tools.tool_calls import bfcl
from rewarden_verifiers.tools.tool_calls.calls import Call, Untyped
from rewarden_verifiers.tools.tool_calls.definitions import Tool, tools_of
from rewarden_verifiers.tools.tool_calls.formats import NAMES, SHAPES
from rewarden_verifiers.tools.tool_calls.golden import MAX_CALLS, Gilder, Golden, named, plain_name
from rewarden_verifiers.tools.tool_calls.matching import Candidate, Extra, Match, Order, Weights, candidate, match
from rewarden_verifiers.tools.tool_calls.reading import Reading, Unread, mere_code, read, told
from rewarden_verifiers.turn_markers import call_marker
from rewarden_verifiers.view import View

_SHOWN_CALLS = 8
_SHOWN = 2000
"""Characters of a call's arguments that an outcome shows."""

Reference = list[Any] | dict[str, Any] | str


@dataclass(frozen=True, kw_only=True)
class ToolCallsParams:
    """Options of `tool_calls`.

    preset: `bfcl`: the official verdict of the Berkeley function-calling leaderboard on its Python entries. The
        response must be a list of calls in Python syntax and nothing else, or calls in the format of a model family.
    shapes: Accepted shapes of calls: `json`, `python`, `xml`, `native`; or formats by name, so that the policy earns
        only with calls that its own server can parse: `["kimi_k2"]`.
    credit: `all`: 1 if every call is right and there are no others, else 0 (as on the function-calling leaderboard);
        `calls`: the share of calls that are entirely right; `levels`: points for names, argument names and values, as a
        share of all points (ToolRL).
    weights: Points of each level.
    order: `set`: any order, with the best possible pairing; `ordered`: the reference's order.
    extra: Calls beyond the right ones: `penalise` (at every level), `names` (lowers only the share of names, as in
        ToolRL), `ignore`.
    values: Credit for an argument's value: all or nothing (`exact`), or F1 over its leaves (`partial`).
    tools: Definitions of the tools, in the format of OpenAI, Anthropic or MCP. A call of another tool, or with invalid
        arguments, is not right. The definitions also name positional arguments and give the types of arguments in tags.
    dots: Treats `math.sqrt` and `math_sqrt` as one name, for interfaces that forbid dots.
    text, threshold, rel_tol, abs_tol, coerce, lists: Comparison of values, as in `json`.
    fields: Rules for the values at some paths, as in `json`. A path begins with the tool's name: `search.query`,
        `*.city`.
    pass_at: Lowest score that passes.
    """

    presets: ClassVar[Mapping[str, Preset]] = {"bfcl": Preset(free=("shapes", "tools", "dots"))}

    preset: Literal["bfcl"] | None = None
    shapes: tuple[str, ...] = ("json", "python", "xml", "native")
    credit: Literal["all", "calls", "levels"] = "all"
    weights: Weights = field(default_factory=Weights)
    order: Order = "set"
    extra: Extra = "penalise"
    values: Literal["exact", "partial"] = "exact"
    tools: tuple[dict[str, Any], ...] | None = None
    dots: bool = False
    text: TextRule = "exact"
    threshold: float = 0.9
    rel_tol: float = 0.0
    abs_tol: float = 0.0
    coerce: bool = False
    lists: ListRule = "ordered"
    fields: tuple[Field, ...] = ()
    pass_at: float = 1.0

    def __post_init__(self) -> None:
        if not self.shapes:
            raise ValueError(f"shapes must name at least one of {', '.join(SHAPES)}, or a format")
        for name in self.shapes:
            if name not in SHAPES and name not in NAMES:
                raise ValueError(f"shapes: {name!r} is none of {', '.join((*SHAPES, *sorted(NAMES)))}")
        if not 0 < self.pass_at <= 1:
            raise ValueError("pass_at must lie above 0 and at most at 1")
        if len(self.fields) > 256:
            raise ValueError("fields must be at most 256")
        self.scheme  # noqa: B018 - worked out now, so that a mistake is told once and not for each sample
        self.own_tools  # noqa: B018 - likewise

    @cached_property
    def scheme(self) -> Scheme:
        """Returns how values are compared."""
        rules = Rules(
            text=self.text,
            threshold=self.threshold,
            rel_tol=self.rel_tol,
            abs_tol=self.abs_tol,
            coerce=self.coerce,
            lists=self.lists,
        )
        return Scheme(rules, self.fields, "value", "punish")

    @cached_property
    def own_tools(self) -> dict[str, Tool] | None:
        """The tools that the parameters define."""
        return None if self.tools is None else named(tools_of(self.tools), self.dots)


def prepare(reference: Reference, params: ToolCallsParams) -> Golden | bfcl.Entry:
    """The reference, computed once for all its candidates."""
    if params.preset is not None:
        return bfcl.entry(reference, params.tools)
    return Gilder(params.scheme, params.dots, params.own_tools).read(reference)


@verifier(version="2", graded=True, prepare=prepare, per_python=True, view=View(calls=True))
def tool_calls(response: str, prepared: Golden | bfcl.Entry, params: ToolCallsParams) -> Outcome:
    """Checks that the response calls the right tools with the right arguments, or rightly calls none.

    **Shapes.** The table below lists all formats. Each has one of four shapes:

    - `json`: as the whole text or in a code fence: `{"name", "arguments"}`, `{"tool", "parameters"}`, `{"function":
      {…}}`, a list of these, several separated by `;` or line breaks, or a message with `tool_calls` (arguments as an
      object or as JSON text).
    - `python`: Python's call syntax, `[f(a=1), g("x")]`, with literals only; parsed and never evaluated.
    - `xml`: tags such as `<tool_call>` with one or more JSON calls, `<function=name><parameter=x>`, `<invoke
      name="…">`.
    - `native`: the name separate from its arguments, in the marks of a model family. Text as the only argument
      (`<search>`, ReAct) is the tool's first argument. Bare text between marks is text, or its value as JSON or, for
      objects, lists and `None`, as Python.

    Calls within the reasoning are ignored. All others count together, whatever their formats. Calls in inline code,
    quoted lines or, for formats with marks, code fences are quotations; a complete one counts only if there is also a
    call outside quotations. If tools are defined, an unlabelled Python code fence within prose that calls none of them
    is an example of code.

    **Reference.** One of these; an empty list means that no call is right:

    - a call or a list of calls in any of these shapes, also as text
    - the leaderboard's `{"f": {"x": [right values, "" if optional]}}`
    - calls with `"allowed": {"x": [further values]}` and `"optional": ["x", "x.y"]`, a path within an object
    - `{"calls" | "alternatives": [list of lists], "tools"}`

    A listed value is right even if the tool's definition gives another type.

    **Score.** Calls are paired with right calls of the same name. `levels` gives points for the names (Jaccard index
    over the calls, repetitions included), for each right call's argument names (Jaccard index), and for each argument's
    value. The score is the share of all points, including those of superfluous calls. ToolRL scales this share to -3…3;
    a recipe can do so with `6 * tool_calls.score - 3`.

    **Abstaining** is right if the reference is empty. The response must then contain a word of text, or an empty list,
    and no call in any format, not even a quoted or truncated one (a serving layer may not recognise quotations).
    Outside code, tags named after calls (`<action>…</action>`) and `Action:` with a tool's name count as calls too.
    Tool definitions, and JSON or code that names no tool, do not. A blank response scores 0. So does a response with a
    special token that a model family uses for calls, or that belongs to no known family's turns (`unread_call`, also a
    flag): an unsupported native call is still a call.

    **A score of 0** has the reason `no_call`, `unwanted_call`, `wrong_shape`, `too_many_calls` (over 64) or
    `too_expensive`, or names the defect of a malformed call (`malformed`, `malformed_call`, `duplicate_key`,
    `unclosed_tag`, …). One malformed call invalidates the response, because no serving layer would run it.

    `preset: bfcl` gives the leaderboard's own verdict instead, for a reference in its form with the tools' definitions,
    and without these guards. Use it to compare results, not to train.
    """
    if isinstance(prepared, bfcl.Entry):
        return _official(response, prepared, params)
    try:
        reading = read(response)
        if mere_code(reading, prepared.tools):
            reading = Reading([], None, reading.quoted, text=reading.text)
        if not reading.calls and not reading.quoted and prepared.abstaining:
            reading.quoted = told(reading, prepared.tools)
    except Unread as unread_one:
        return _unread(unread_one.marker, unread_one.message)
    except Malformed as malformed:
        return malformed.outcome()
    if not reading.calls:
        return _silent(reading, prepared)
    if not all(name in params.shapes or shape in params.shapes for name, shape in reading.formats):
        return wrong("wrong_shape", evidence={"shape": reading.shape, "formats": _names(reading)})
    if len(reading.calls) > MAX_CALLS:
        return wrong("too_many_calls", evidence={"shape": reading.shape, "calls": len(reading.calls)})
    candidates = [candidate(call, plain_name(call.name, params.dots), prepared.tools) for call in reading.calls]
    try:
        return _judged(reading, candidates, prepared, params)
    except TooExpensive:
        return too_expensive(evidence={"shape": reading.shape})


def _official(response: str, prepared: bfcl.Entry, params: ToolCallsParams) -> Outcome:
    """The leaderboard's verdict. Where nothing is to be called, whatever does not read as a call is right."""
    calls, formats = bfcl.decoded(response), [("python", "python")]
    if calls is None:
        try:
            reading = read(response)
        except Malformed as malformed:
            return malformed.outcome() if prepared.calls or malformed.reason == "too_long" else right(extracted=[])
        # Python within prose or after a fence's label is none to the leaderboard.
        formats = [one for one in reading.formats if one[1] != "python"]
        calls = reading.calls if formats and len(formats) == len(reading.formats) else []
    evidence = {"formats": [name for name, _ in formats] if calls else [], "calls": len(calls)}
    # As text: the decoder's values may be none of JSON's.
    extracted = [encodable(f"{call.name}: {call.arguments}"[:_SHOWN]) for call in calls[:_SHOWN_CALLS]]
    if not prepared.calls:
        if calls:
            return wrong("unwanted_call", extracted=extracted, evidence=evidence)
        return right(extracted=[], evidence=evidence)
    if not calls:
        return no_answer("no_call", evidence=evidence)
    if not all(name in params.shapes or shape in params.shapes for name, shape in formats):
        return wrong("wrong_shape", extracted=extracted, evidence=evidence)
    if len(calls) > MAX_CALLS:
        return wrong("too_many_calls", evidence=evidence)
    if bfcl.agrees(prepared, calls, params.dots):
        return right(extracted=extracted, evidence=evidence)
    return wrong(extracted=extracted, evidence=evidence)


def _names(reading: Reading) -> list[str]:
    return [name for name, _ in reading.formats]


def _unread(marker: str, message: str) -> Outcome:
    return wrong("unread_call", feedback=message, flags=("unread_call",), evidence={"marker": marker})


def _silent(reading: Reading, prepared: Golden) -> Outcome:
    """The outcome if there is no call."""
    if prepared.abstaining and reading.quoted:
        return wrong("quoted_call", feedback="a call is inside a quotation")
    # Attack: a native call of a family that nobody reads here, which whoever serves the family would run.
    if prepared.abstaining and (marker := call_marker(reading.text)) is not None:
        return _unread(marker, f"it holds {marker!r}, which some models write for a call")
    if not reading.words:
        return no_answer()
    if prepared.abstaining:
        return right(extracted=[], evidence={"calls": 0})
    return no_answer("no_call", evidence={"quoted": reading.quoted})


def _judged(reading: Reading, candidates: Sequence[Candidate], prepared: Golden, params: ToolCallsParams) -> Outcome:
    best: Match | None = None
    score = 0.0
    partial = params.values == "partial"
    for golds in prepared.alternatives:
        if not golds:
            continue
        found = match(golds, candidates, params.weights, params.order, params.extra, partial)
        earned = _score(found, params)
        if best is None or (earned, found.points) > (score, best.points):
            best, score = found, earned
        if found.whole:
            break
    evidence: dict[str, Any] = {"shape": reading.shape, "formats": _names(reading), "calls": len(candidates)}
    extracted = [_shown(call) for call in reading.calls[:_SHOWN_CALLS]]
    if best is None:
        return wrong("unwanted_call", extracted=extracted, evidence=evidence)
    evidence |= {"right": best.right, "names": best.names, "arguments": best.arguments, "values": best.values}
    for name, listed in (("missing", best.missing), ("extra", best.extra), ("differs", best.differs)):
        if listed:
            evidence[name] = listed
    if score == 1.0:
        return right(extracted=extracted, evidence=evidence)
    if invalid := [f"{one.name[:80]}: {one.invalid}" for one in candidates if one.invalid][:_SHOWN_CALLS]:
        evidence["invalid"] = invalid
    return scored(
        score,
        passed=score >= params.pass_at,
        reason="partly_right" if score else "wrong",
        feedback=_told(best),
        extracted=extracted,
        evidence=evidence,
    )


def _score(found: Match, params: ToolCallsParams) -> float:
    if found.whole:
        return 1.0
    if params.credit == "all":
        return 0.0
    return found.calls if params.credit == "calls" else found.points


def _shown(call: Call) -> dict[str, Any]:
    arguments: Any = {key: str(value) if type(value) is Untyped else value for key, value in call.arguments.items()}
    if len(written := str(arguments)) > _SHOWN:
        arguments = written[:_SHOWN]
    shown: dict[str, Any] = {"name": call.name, "arguments": arguments}
    if call.positional:
        shown["positional"] = str(list(call.positional))[:_SHOWN]
    return shown


def _told(found: Match) -> str | None:
    told = [
        f"{words}: {', '.join(listed[:5])}"
        for words, listed in (("missing", found.missing), ("too many", found.extra), ("differs", found.differs))
        if listed
    ]
    return "; ".join(told) or None
