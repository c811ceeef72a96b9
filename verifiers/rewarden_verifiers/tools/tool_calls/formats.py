"""The formats in which model families write calls: one row each, tried in this order if their openings are alike.

They are gathered from the families' published chat templates and from the parsers of inference engines. A new format is
a row here, its marks in `turn_markers.py`, and a text in `tests/verifiers/native_calls.py`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from rewarden_verifiers.tools.tool_calls.bodies import (
    Body,
    action_input,
    braces_until,
    calls_until,
    channel_elements,
    function_element,
    keyed_until,
    message,
    object_until,
    pairs_until,
    parameters_until,
    spaced_elements,
    text_until,
    tool_call_element,
)

Shape = Literal["json", "python", "xml", "native"]
"""The shape of calls: whole ones as JSON or in Python's syntax, within marks or not; in tags; a name apart from its
arguments, in a family's own marks."""

SHAPES: tuple[Shape, ...] = ("json", "python", "xml", "native")

_NAME = r"(?P<name>[\w.:/-]{1,256})"
_QUOTED_NAME = r"name=\"(?P<name>[^\"<>\n]{1,300})\""


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """A format. opening: a pattern of the mark that begins a call. head: a pattern of all that comes before the body,
    the tool's name (`name`) in it where that stands apart; None: the opening. around: patterns of marks that stand
    around calls and say nothing themselves. called: the tool's name, where the format has no other. certain: False if
    the opening is also an ordinary word, so that without a head after it there is no call."""

    name: str
    families: str
    shape: Shape
    written: str
    opening: str
    body: Body
    head: str | None = None
    around: tuple[str, ...] = ()
    called: str = ""
    certain: bool = True


def _invoke(space: str) -> Body:
    return parameters_until(
        rf"<{space}parameter\s{{1,8}}name=\"([^\"<>\n]{{1,300}})\"[^<>\n]{{0,80}}>",
        f"</{space}parameter>",
        f"</{space}invoke>",
    )


FORMATS: tuple[Format, ...] = (
    Format(
        name="glm_4_5",
        families="GLM 4.5 and later, Hunyuan 3, Laguna, Ling 3, Spark 2.5",
        shape="native",
        written="`<tool_call>name`, `<arg_key>`, `<arg_value>`",
        opening="<tool_call>",
        head=rf"<tool_call>\s*{_NAME}\s*(?:<tool_sep>\s*)?(?=<arg_key>|</tool_call>)",
        body=pairs_until(("<arg_key>", "</arg_key>"), ("<arg_value>", "</arg_value>"), "</tool_call>"),
        around=(r"</?tool_calls>",),
    ),
    Format(
        name="hunyuan_3_open",
        families="Hunyuan 3, open weights",
        shape="native",
        written="`<tool_call:opensource>name<tool_sep:opensource>`, `<arg_key:opensource>` …",
        opening="<tool_call:opensource>",
        head=rf"<tool_call:opensource>\s*{_NAME}\s*<tool_sep:opensource>",
        body=pairs_until(
            ("<arg_key:opensource>", "</arg_key:opensource>"),
            ("<arg_value:opensource>", "</arg_value:opensource>"),
            "</tool_call:opensource>",
        ),
        around=(r"</?tool_calls:opensource>",),
    ),
    Format(
        name="k2_horizon",
        families="K2 Horizon",
        shape="native",
        written="`<ifm|tool_call>name`, `<ifm|arg_key>`, `<ifm|arg_value>`",
        opening=r"<ifm\|tool_call>",
        head=rf"<ifm\|tool_call>\s*{_NAME}\s*(?=<ifm\|arg_key>|</ifm\|tool_call>)",
        body=pairs_until(
            ("<ifm|arg_key>", "</ifm|arg_key>"),
            ("<ifm|arg_value>", "</ifm|arg_value>"),
            "</ifm|tool_call>",
            ("<ifm|arg_type>", "</ifm|arg_type>"),
        ),
        around=(r"</?ifm\|tool_calls>",),
    ),
    Format(
        name="k2_horizon_json",
        families="K2 Horizon",
        shape="json",
        written="`<ifm|tool_call>{JSON}</ifm|tool_call>`",
        opening=r"<ifm\|tool_call>",
        body=calls_until("</ifm|tool_call>"),
    ),
    Format(
        name="qwen_3_coder",
        families="Qwen 3 Coder and later, MiMo, Nemotron 3, Step 3.5, Seed-OSS",
        shape="xml",
        written="`<tool_call><function=name><parameter=x>`",
        opening="<tool_call>",
        head=r"<tool_call>\s*(?=<function=)",
        body=tool_call_element,
    ),
    Format(
        name="hermes",
        families="Hermes, Qwen 2.5 and 3, Granite 4, ERNIE 4.5, EXAONE 4, Ling, Trinity, xLAM, Bielik, Reka Edge",
        shape="xml",
        written="`<tool_call>{JSON}</tool_call>`",
        opening="<tool_call>",
        body=tool_call_element,
    ),
    Format(
        name="function_tags",
        families="Llama 3.1 with tools of one's own, Functionary 3.1, Seed-OSS",
        shape="xml",
        written="`<function=name>{JSON}</function>`, or with `<parameter=x>`",
        opening="<function=",
        head=r"(?=<function=)",
        body=function_element,
        around=(r"</?seed:tool_call>",),
    ),
    Format(
        name="minicpm_5",
        families="MiniCPM 5",
        shape="xml",
        written='`<function name="…"><param name="x">`',
        opening=r"<function\s{1,8}name=",
        head=rf"<function\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=parameters_until(r"<param\s{1,8}name=\"([^\"<>\n]{1,300})\"[^<>\n]{0,80}>", "</param>", "</function>"),
    ),
    Format(
        name="invoke",
        families="Claude, MiniMax M2, dots",
        shape="xml",
        written='`<invoke name="…"><parameter name="x">`',
        opening=r"<invoke\s",
        head=rf"<invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=_invoke(""),
        around=(r"</?minimax:tool_call>", r"</?function_calls>", r"</?dots_function_call>"),
    ),
    Format(
        name="deepseek_v3_2",
        families="DeepSeek V3.2 and V4",
        shape="native",
        written='`<｜DSML｜invoke name="…"><｜DSML｜parameter name="x" string="true">`',
        opening="<｜DSML｜invoke",
        head=rf"<｜DSML｜invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=_invoke("｜DSML｜"),
        around=("</?｜DSML｜(?:function|tool)_calls>",),
    ),
    Format(
        name="deepseek_v4_1",
        families="DeepSeek V4.1",
        shape="native",
        written='`<｜DSML｜ invoke name="…"><｜DSML｜ parameter name="x" string="true">`',
        opening="<｜DSML｜ invoke",
        head=rf"<｜DSML｜ invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=_invoke("｜DSML｜ "),
        around=("</?｜DSML｜ calls>",),
    ),
    Format(
        name="muse_glimmer",
        families="Muse Glimmer",
        shape="native",
        written='`<atem:invoke name="…"><atem:parameter name="x">`',
        opening=r"<atem:invoke",
        head=rf"<atem:invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=_invoke("atem:"),
        around=("</?atem:function_calls>",),
    ),
    Format(
        name="step_3",
        families="Step 3",
        shape="native",
        written='`<steptml:invoke name="…"><steptml:parameter name="x">`',
        opening=r"<steptml:invoke",
        head=rf"<steptml:invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=_invoke("steptml:"),
        around=("<｜tool_calls?_(?:begin|end)｜>", "<｜tool_sep｜>"),
    ),
    Format(
        name="minimax_m3",
        families="MiniMax M3",
        shape="native",
        written='`]<]minimax[>[<invoke name="…">]<]minimax[>[<x>`',
        opening=r"\]<\]minimax\[>\[\s{0,8}<(?:tool_call>|invoke)",
        head=r"(?:\]<\]minimax\[>\[\s{0,8}<tool_call>\s{0,8})?"
        rf"\]<\]minimax\[>\[\s{{0,8}}<invoke\s{{1,8}}{_QUOTED_NAME}\s{{0,8}}>",
        body=spaced_elements,
        around=(r"\]<\]minimax\[>\[(?:\s{0,8}</tool_call>)?",),
    ),
    Format(
        name="deepseek_v3",
        families="DeepSeek V3 and R1",
        shape="native",
        written="`<｜tool▁call▁begin｜>function<｜tool▁sep｜>name`, JSON in a code fence",
        opening="<｜tool▁call▁begin｜>",
        head=rf"<｜tool▁call▁begin｜>function<｜tool▁sep｜>{_NAME}\n```json\n",
        body=object_until("```", "<｜tool▁call▁end｜>"),
        around=("<｜tool▁calls▁(?:begin|end)｜>",),
    ),
    Format(
        name="deepseek_v3_1",
        families="DeepSeek V3.1",
        shape="native",
        written="`<｜tool▁call▁begin｜>name<｜tool▁sep｜>{JSON}<｜tool▁call▁end｜>`",
        opening="<｜tool▁call▁begin｜>",
        head=rf"<｜tool▁call▁begin｜>\s*{_NAME}\s*<｜tool▁sep｜>",
        body=object_until("<｜tool▁call▁end｜>"),
        around=("<｜tool▁calls▁(?:begin|end)｜>",),
    ),
    Format(
        name="kimi_k2",
        families="Kimi K2",
        shape="native",
        written="`<|tool_call_begin|>functions.name:0<|tool_call_argument_begin|>{JSON}<|tool_call_end|>`",
        opening=r"<\|tool_call_begin\|>",
        head=r"<\|tool_call_begin\|>\s*(?:functions\.)?(?P<name>[\w./-]{1,256})(?::\d{1,9})?\s*"
        r"<\|tool_call_argument_begin\|>",
        body=object_until("<|tool_call_end|>"),
        around=(r"<\|tool_calls_section_(?:begin|end)\|>",),
    ),
    Format(
        name="kimi_k3",
        families="Kimi K3",
        shape="native",
        written='`<|open|>call tool="…"<|sep|><|open|>argument key="x" type="string"<|sep|>`',
        opening=r"<\|open\|>call\b",
        head=r"<\|open\|>call\s{1,8}tool=\"(?P<name>[^\"\n]{1,300})\"[^<>\n]{0,80}<\|sep\|>",
        body=channel_elements,
        around=(r"<\|open\|>(?:tools|response)",),
    ),
    Format(
        name="gpt_oss",
        families="gpt-oss (harmony)",
        shape="native",
        written="`<|channel|>commentary to=functions.name <|constrain|>json<|message|>{JSON}<|call|>`",
        opening=r"<\|channel\|>\w{1,32}\s{1,8}to=",
        head=r"<\|channel\|>\w{1,32}\s{1,8}to=(?:functions\.)?(?P<name>[\w./-]{1,256})\s{0,8}"
        r"(?:<\|constrain\|>\s{0,8})?\w{0,32}\s{0,8}<\|message\|>",
        body=message,
    ),
    Format(
        name="gpt_oss_recipient",
        families="gpt-oss (harmony), the recipient first",
        shape="native",
        written="`<|start|>assistant to=functions.name<|channel|>commentary json<|message|>{JSON}<|call|>`",
        opening=r"(?:<\|start\|>assistant\s{0,8}|\A\s{0,8})to=[\w./-]{1,256}\s{0,8}<\|channel\|>",
        head=r"(?:<\|start\|>assistant)?\s{0,8}to=(?:functions\.)?(?P<name>[\w./-]{1,256})\s{0,8}<\|channel\|>"
        r"\w{1,32}\s{0,8}(?:<\|constrain\|>\s{0,8})?\w{0,32}\s{0,8}<\|message\|>",
        body=message,
    ),
    Format(
        name="llama_3",
        families="Llama 3.1 to 3.3",
        shape="json",
        written='`<|python_tag|>{"name": …, "parameters": …}`, several parted by `;` or lines',
        opening=r"<\|python_tag\|>",
        body=calls_until(),
    ),
    Format(
        name="llama_4",
        families="Llama 4",
        shape="python",
        written="`<|python_start|>[name(x=…)]<|python_end|>`",
        opening=r"<\|python_start\|>",
        body=calls_until("<|python_end|>", optional=True),
    ),
    Format(
        name="mistral_v11",
        families="Mistral v11 and later",
        shape="native",
        written="`[TOOL_CALLS]name[ARGS]{JSON}`, or with `[CALL_ID]`",
        opening=r"\[TOOL_CALLS\]",
        head=rf"\[TOOL_CALLS\]\s{{0,8}}{_NAME}\s{{0,8}}(?:\[CALL_ID\][\w-]{{1,64}}\s{{0,8}})?\[ARGS\]",
        body=object_until(),
    ),
    Format(
        name="mistral_v3",
        families="Mistral v3 to v7, xLAM",
        shape="json",
        written="`[TOOL_CALLS] [{JSON}]`",
        opening=r"\[TOOL_CALLS\]",
        body=calls_until(),
    ),
    Format(
        name="granite_3",
        families="Granite 3, Phi 4 mini",
        shape="json",
        written="`<|tool_call|>[{JSON}]`, with `<|/tool_call|>` or without",
        opening=r"<\|tool_call\|>",
        body=calls_until("<|/tool_call|>", optional=True),
    ),
    Format(
        name="minimax_text",
        families="MiniMax Text 01",
        shape="native",
        written="`<function_call>`, `functions.name({JSON})` in a code fence",
        opening="<function_call>",
        head=r"<function_call>\s{0,8}```\w{0,20}\n\s{0,8}functions\.(?P<name>[\w./-]{1,256})\(",
        body=object_until(")", "```"),
    ),
    Format(
        name="granite_20b",
        families="Granite 20B FC",
        shape="json",
        written="`<function_call> {JSON}`",
        opening="<function_call>",
        body=calls_until("</function_call>", optional=True),
    ),
    Format(
        name="functools",
        families="Phi 4 mini, FireFunction",
        shape="json",
        written="`functools[{JSON}]`",
        opening=r"\bfunctools\[",
        head=r"functools(?=\[\s{0,8}\{)",
        body=calls_until(),
        certain=False,
    ),
    Format(
        name="internlm",
        families="InternLM 2 and 3, Intern-S1",
        shape="json",
        written="`<|action_start|><|plugin|>{JSON}<|action_end|>`",
        opening=r"<\|action_start\|>",
        head=r"<\|action_start\|>\s{0,8}<\|plugin\|>",
        body=calls_until("<|action_end|>"),
    ),
    Format(
        name="nemotron",
        families="Nemotron",
        shape="json",
        written="`<TOOLCALL>[{JSON}]</TOOLCALL>`",
        opening="<TOOLCALL>",
        body=calls_until("</TOOLCALL>"),
    ),
    Format(
        name="command_a",
        families="Command R7B and Command A",
        shape="json",
        written='`<|START_ACTION|>[{"tool_name": …, "parameters": …}]<|END_ACTION|>`',
        opening=r"<\|START_ACTION\|>",
        body=calls_until("<|END_ACTION|>"),
    ),
    Format(
        name="hunyuan",
        families="Hunyuan A13B, Jamba, MiniMax M1, Apriel",
        shape="json",
        written="`<tool_calls>[{JSON}]</tool_calls>`, or a call a line",
        opening="<tool_calls>",
        head=r"<tool_calls>\s*(?=[{\[])",
        body=calls_until("</tool_calls>"),
        certain=False,
    ),
    Format(
        name="olmo_3",
        families="OLMo 3",
        shape="python",
        written="`<function_calls>name(x=…)</function_calls>`",
        opening="<function_calls>",
        head=r"<function_calls>\s*(?=[\w{\[])",
        body=calls_until("</function_calls>"),
        certain=False,
    ),
    Format(
        name="qwen_2_5_coder",
        families="Qwen 2.5 Coder",
        shape="json",
        written="`<tools>{JSON}</tools>`",
        opening="<tools>",
        head=r"<tools>\s*(?=[{\[])",
        body=calls_until("</tools>"),
        certain=False,
    ),
    Format(
        name="apertus",
        families="Apertus",
        shape="json",
        written='`<|tools_prefix|>[{"name": {…}}]<|tools_suffix|>`',
        opening=r"<\|tools_prefix\|>",
        body=keyed_until("<|tools_suffix|>"),
    ),
    Format(
        name="lfm_2",
        families="LFM 2, MiniCPM 3",
        shape="python",
        written="`<|tool_call_start|>[name(x=…)]<|tool_call_end|>`, in a code fence or not",
        opening=r"<\|tool_call_start\|>",
        body=calls_until("<|tool_call_end|>"),
    ),
    Format(
        name="functiongemma",
        families="FunctionGemma",
        shape="native",
        written="`<start_function_call>call:name{x:<escape>text<escape>}<end_function_call>`",
        opening="<start_function_call>",
        head=rf"<start_function_call>\s{{0,8}}call:{_NAME}(?=\{{)",
        body=braces_until("<escape>", "<end_function_call>"),
    ),
    Format(
        name="gemma_4",
        families="Gemma 4",
        shape="native",
        written='`<|tool_call>call:name{x:<|"|>text<|"|>}<tool_call|>`',
        opening=r"<\|tool_call>",
        head=rf"<\|tool_call>\s{{0,8}}call:{_NAME}(?=\{{)",
        body=braces_until('<|"|>', "<tool_call|>"),
    ),
    Format(
        name="qwen_agent",
        families="Qwen 2 with Qwen-Agent",
        shape="native",
        written="`✿FUNCTION✿: name`, `✿ARGS✿: {JSON}`",
        opening="✿FUNCTION✿",
        head=rf"✿FUNCTION✿:\s{{0,8}}{_NAME}\s{{0,8}}✿ARGS✿:",
        body=object_until(),
        around=("✿RESULT✿:?", "✿RETURN✿:?"),
    ),
    Format(
        name="longcat",
        families="LongCat",
        shape="native",
        written="`<longcat_tool_call>name`, `<longcat_arg_key>`, `<longcat_arg_value>`",
        opening="<longcat_tool_call>",
        head=rf"<longcat_tool_call>\s*{_NAME}\s*(?=<longcat_arg_key>|</longcat_tool_call>)",
        body=pairs_until(
            ("<longcat_arg_key>", "</longcat_arg_key>"),
            ("<longcat_arg_value>", "</longcat_arg_value>"),
            "</longcat_tool_call>",
        ),
    ),
    Format(
        name="longcat_json",
        families="LongCat Flash",
        shape="json",
        written="`<longcat_tool_call>{JSON}</longcat_tool_call>`",
        opening="<longcat_tool_call>",
        body=calls_until("</longcat_tool_call>"),
    ),
    Format(
        name="gigachat",
        families="GigaChat 3",
        shape="json",
        written="`<|function_call|>{JSON}`, or a turn `function call<|role_sep|>`",
        opening=r"<\|function_call\|>|\bfunction call<\|role_sep\|>",
        body=calls_until(),
    ),
    Format(
        name="pangu",
        families="Pangu",
        shape="json",
        written="`[unused11][{JSON}][unused12]`",
        opening=r"\[unused11\]",
        body=calls_until("[unused12]"),
    ),
    Format(
        name="hyperclova_x",
        families="HyperCLOVA X SEED",
        shape="json",
        written="`-> tool/function_call`, `[{JSON}]`",
        opening=r"-> tool/function_call\n",
        body=calls_until(),
    ),
    Format(
        name="solar_open",
        families="Solar Open",
        shape="native",
        written="`<|tool_call:begin|>id<|tool_call:name|>name<|tool_call:args|>{JSON}<|tool_call:end|>`",
        opening=r"<\|tool_call:begin\|>",
        head=rf"<\|tool_call:begin\|>[\w-]{{1,64}}<\|tool_call:name\|>{_NAME}<\|tool_call:args\|>",
        body=object_until("<|tool_call:end|>"),
        around=(r"<\|tool_calls\|>",),
    ),
    Format(
        name="plamo_3",
        families="PLaMo 3",
        shape="native",
        written="`<|plamo:begin_tool_name:plamo|>name<|plamo:end_tool_name:plamo|>`, marks, `{JSON}`",
        opening=r"<\|plamo:begin_tool_request:plamo\|>",
        head=rf"<\|plamo:begin_tool_request:plamo\|>\s*<\|plamo:begin_tool_name:plamo\|>\s*{_NAME}\s*"
        r"<\|plamo:end_tool_name:plamo\|>\s*"
        r"<\|plamo:begin_tool_arguments:plamo\|>\s*(?:<\|plamo:constrain\|>json\s*)?(?:<\|plamo:msg\|>)?",
        body=object_until("<|plamo:end_tool_arguments:plamo|>", "<|plamo:end_tool_request:plamo|>"),
        around=(r"<\|plamo:(?:begin|end)_tool_requests:plamo\|>",),
    ),
    Format(
        name="inkling",
        families="Inkling",
        shape="json",
        written='`<|content_invoke_tool_json|>{"name": …, "args": …}<|end_message|>`',
        opening=r"(?:<\|message_model\|>[\w./-]{0,256})?<\|content_invoke_tool_json\|>",
        body=calls_until("<|end_message|>"),
    ),
    Format(
        name="functionary_2",
        families="Functionary 2",
        shape="native",
        written="`<|recipient|>name`, `<|content|>{JSON}`",
        opening=r"<\|recipient\|>\s{0,8}(?!\s|all\b)",
        head=rf"<\|recipient\|>\s{{0,8}}{_NAME}\s{{0,8}}<\|content\|>",
        body=object_until(),
        around=(r"<\|recipient\|>\s{0,8}all\s{0,8}<\|content\|>",),
    ),
    Format(
        name="functionary_3",
        families="Functionary 3",
        shape="native",
        written="`>>>name`, `{JSON}`",
        # No line begins there: the template ends none before it. The first name's `>>>` belongs to the prompt.
        opening=r">>>(?=[\w./-]{1,256}\n\{\s{0,8}[\"}])",
        head=rf">>>{_NAME}\n(?=\{{)",
        body=object_until(),
    ),
    Format(
        name="mcp",
        families="agents with MCP (Cline, MiroThinker)",
        shape="xml",
        written="`<use_mcp_tool>`, `<tool_name>`, `<arguments>{JSON}`",
        opening="<use_mcp_tool>",
        head=r"<use_mcp_tool>\s*(?:<server_name>[^<>]{0,256}</server_name>\s*)?"
        rf"<tool_name>\s*{_NAME}\s*</tool_name>\s*<arguments>",
        body=object_until("</arguments>", "</use_mcp_tool>"),
    ),
    Format(
        name="react",
        families="agents with ReAct prompts (ToolLLaMA, LangChain, Qwen)",
        shape="native",
        written="`Action: name`, `Action Input: {JSON}`, or text",
        opening=r"^Action(?: \d{1,3})?:",
        # Attack: "Action: None" with an input is not a call; what looks like one elsewhere is found when abstaining.
        head=r"Action(?: \d{1,3})?:[ \t]{0,8}(?!(?i:none|n/a|null)\b)"
        r"(?P<name>[^\s\[\](){}`:][^\n\[\](){}`:]{0,255})\n\s{0,8}Action Input(?: \d{1,3})?:",
        body=action_input,
        certain=False,
    ),
    Format(
        name="react_paper",
        families="agents as in the paper on ReAct",
        shape="native",
        written="`Action 1: name[text]`",
        opening=r"^Action(?: \d{1,3})?:",
        head=r"Action(?: \d{1,3})?:[ \t]{0,8}(?P<name>[\w./-]{1,256})\[(?=[^\n]{1,2000}\][ \t]{0,8}$)",
        body=text_until("]"),
        certain=False,
    ),
    Format(
        name="search_r1",
        families="search agents (Search-R1, ReSearch, ZeroSearch)",
        shape="xml",
        written="`<search>text</search>`",
        opening="<search>",
        body=text_until("</search>"),
        called="search",
    ),
    Format(
        name="r1_searcher",
        families="search agents (R1-Searcher)",
        shape="native",
        written="`<|begin_of_query|>text<|end_of_query|>`",
        opening=r"<\|begin_of_query\|>",
        body=text_until("<|end_of_query|>"),
        called="search",
    ),
    Format(
        name="search_o1",
        families="search agents (Search-o1, WebThinker)",
        shape="native",
        written="`<|begin_search_query|>text<|end_search_query|>`",
        opening=r"<\|begin_search_query\|>",
        body=text_until("<|end_search_query|>"),
        called="search",
    ),
)

UNMARKED: tuple[tuple[str, Shape, str, str], ...] = (
    ("json", "json", "Llama 3, xLAM, OpenAI, Command R, any that is told so", "JSON as all of the text or in a fence"),
    (
        "python",
        "python",
        "Llama 3.2, ToolACE, Gemma 3, any that is told so",
        "`[name(x=…)]` as all of the text or in a fence",
    ),
    ("glm_4", "native", "GLM 4, and texts whose special tokens were dropped", "`name`, `{JSON}`, and nothing else"),
    ("chatglm_3", "native", "ChatGLM 3", "`name`, `tool_call(x=…)` in a code fence, and nothing else"),
)
"""Formats without a mark: name, shape, families, and what they look like. The whole text, or a fence, is the call."""

NAMES: frozenset[str] = frozenset((*(one.name for one in FORMATS), *(one[0] for one in UNMARKED)))

THOUGHTS: tuple[tuple[str, str], ...] = (
    ("<think>", "</think>"),
    ("<thinking>", "</thinking>"),
    ("[THINK]", "[/THINK]"),
    ("<seed:think>", "</seed:think>"),
    ("<longcat_think>", "</longcat_think>"),
    ("<mm:think>", "</mm:think>"),
    ("<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
    ("<think:opensource>", "</think:opensource>"),
    ("<|START_THINKING|>", "<|END_THINKING|>"),
    ("<|inner_prefix|>", "<|inner_suffix|>"),
    ("<|channel>thought", "<channel|>"),
    ("<|open|>think<|sep|>", "<|close|>think<|sep|>"),
)
"""The marks between which families think. A call in a thought is none."""
