"""Turn markers: the texts by which chat templates mark turns, reasoning and tool calls, by model family.

In untrusted text, they can end a judge's turn and begin another one, or count as a tool call for a server of that
family. Most families' markers have a distinctive form (`<|…|>`); the list below adds those that do not, and contains
the others to test the forms against real ones. Gathered from the families' published chat templates and tokenizers.
Ordinary prose, mathematics or code (`[x]`, `<div>`, `a <| b |> c`, `x[mask]`) is not a marker; a plain word such as
`USER:` is one only at the beginning of a line.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """A family of models. turns: markers that occur anywhere. lines: markers that begin a line. calls: markers of tool
    calls that the models write.
    """

    models: str
    turns: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    calls: tuple[str, ...] = ()


FAMILIES: tuple[Family, ...] = (
    Family("ChatML (Qwen, Yi, Hermes, SmolLM, MiMo, MPT and others)", ("<|im_start|>", "<|im_end|>", "<|endoftext|>")),
    Family(
        "Qwen",
        ("<|vision_start|>", "<|object_ref_start|>", "<think>", "</think>", "<tool_response>"),
        calls=("<tool_call>", "</tool_call>", "<function=", "✿FUNCTION✿", "✿ARGS✿"),
    ),
    Family("Hermes", ("<scratch_pad>", "</scratch_pad>"), calls=("<tool_call>",)),
    Family("Llama 2", ("[INST]", "[/INST]", "<<SYS>>", "<</SYS>>", "<s>", "</s>")),
    Family(
        "Llama 3",
        ("<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>", "<|eom_id|>"),
        calls=("<|python_tag|>",),
    ),
    Family(
        "Llama 4",
        ("<|header_start|>", "<|header_end|>", "<|eot|>", "<|eom|>"),
        calls=("<|python_start|>", "<|python_end|>"),
    ),
    Family(
        "Mistral v1 to v13",
        (
            "[SYSTEM_PROMPT]",
            "[/SYSTEM_PROMPT]",
            "[AVAILABLE_TOOLS]",
            "[/AVAILABLE_TOOLS]",
            "[TOOL_RESULTS]",
            "[/TOOL_RESULTS]",
            "[TOOL_CONTENT]",
            "[THINK]",
            "[/THINK]",
            "[IMG]",
            "[IMG_END]",
            "[IMG_BREAK]",
            "[BEGIN_AUDIO]",
            "[MODEL_SETTINGS]",
            "[/MODEL_SETTINGS]",
            "[control_8]",
        ),
        calls=("[TOOL_CALLS]", "[ARGS]", "[CALL_ID]"),
    ),
    Family("DeepSeek V2", ("<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>")),
    Family(
        "DeepSeek V3 and R1",
        ("<｜User｜>", "<｜Assistant｜>", "<｜tool▁outputs▁begin｜>"),
        calls=("<｜tool▁calls▁begin｜>", "<｜tool▁call▁begin｜>", "<｜tool▁sep｜>", "<｜tool▁call▁end｜>"),
    ),
    Family(
        "DeepSeek V3.2 and V4",
        ("</｜DSML｜parameter>", "</｜DSML｜ parameter>"),
        calls=(
            "<｜DSML｜function_calls>",
            "<｜DSML｜tool_calls>",
            "<｜DSML｜invoke",
            "<｜DSML｜ calls>",
            "<｜DSML｜ invoke",
        ),
    ),
    Family("DeepSeek Coder", ("<|EOT|>", "<｜fim▁hole｜>"), ("### Instruction:", "### Response:")),
    Family("Gemma 1 to 3", ("<start_of_turn>", "<end_of_turn>", "<bos>", "<eos>", "<unused7>", "<start_of_image>")),
    Family(
        "FunctionGemma",
        ("<start_function_declaration>", "<start_function_response>", "<end_function_response>"),
        calls=("<start_function_call>", "<end_function_call>"),
    ),
    Family(
        "Gemma 4",
        ("<|turn>", "<turn|>", "<|channel>", "<channel|>", "<|think|>"),
        calls=("<|tool_call>", "<tool_call|>"),
    ),
    Family("Phi 3", ("<|user|>", "<|assistant|>", "<|system|>", "<|end|>")),
    Family("Phi 4", ("<|im_sep|>",), calls=("<|tool_call|>", "<|/tool_call|>")),
    Family(
        "Command R",
        (
            "<BOS_TOKEN>",
            "<EOS_TOKEN>",
            "<EOP_TOKEN>",
            "<|START_OF_TURN_TOKEN|>",
            "<|CHATBOT_TOKEN|>",
            "<|END_OF_TURN_TOKEN|>",
        ),
    ),
    Family(
        "Command A and Aya",
        (
            "<|START_RESPONSE|>",
            "<|END_RESPONSE|>",
            "<|START_TEXT|>",
            "<|END_TEXT|>",
            "<|START_THINKING|>",
            "<|END_THINKING|>",
        ),
        calls=("<|START_ACTION|>", "<|END_ACTION|>"),
    ),
    Family("ChatGLM", ("[gMASK]", "[sMASK]", "<sop>", "<eop>", "<|observation|>"), ("[Round 1]",)),
    Family("GLM 4", ("<|begin_of_image|>",), calls=("<arg_key>", "</arg_key>", "<arg_value>")),
    Family("InternLM 1", ("<eoh>", "<eoa>", "<|User|>", "<|Bot|>", "<TOKENS_UNUSED_1>")),
    Family(
        "InternLM 2 and 3",
        ("[UNUSED_TOKEN_146]",),
        calls=("<|action_start|>", "<|action_end|>", "<|plugin|>", "<|interpreter|>"),
    ),
    Family("Baichuan", ("<reserved_106>", "<reserved_107>", "<C_Q>", "<C_A>")),
    Family(
        "MiniMax Text",
        ("<beginning_of_sentence>", "<end_of_sentence>"),
        calls=("<tool_calls>", "</tool_calls>", "<function_call>"),
    ),
    Family("MiniMax M3", ("<mm:think>", "</mm:think>"), calls=("]<]minimax[>[",)),
    Family("MiniMax M2", ("]~!b[", "]~b]", "[e~["), calls=("<minimax:tool_call>", "</minimax:tool_call>")),
    Family(
        "Kimi",
        (
            "<|im_user|>",
            "<|im_assistant|>",
            "<|im_middle|>",
            "[BOS]",
            "[EOS]",
            "[EOT]",
            "[PAD]",
            "[start_header_id]",
            "[end_header_id]",
        ),
        calls=(
            "<|tool_calls_section_begin|>",
            "<|tool_call_begin|>",
            "<|tool_call_argument_begin|>",
            "<|tool_call_end|>",
        ),
    ),
    Family("Kimi K3", ("<|open|>", "<|close|>", "<|sep|>", "<|end_of_msg|>"), calls=("<|open|>tools", "<|open|>call")),
    Family(
        "Seed-OSS",
        ("<seed:bos>", "<seed:eos>", "<seed:think>", "</seed:think>", "<seed:cot_budget_reflect>"),
        calls=("<seed:tool_call>", "</seed:tool_call>"),
    ),
    Family("EXAONE", ("[|system|]", "[|user|]", "[|assistant|]", "[|tool|]", "[|endofturn|]")),
    Family("Nemotron 3 and T5", ("<extra_id_0>", "<extra_id_1>", "<extra_id_99>"), calls=("<TOOLCALL>", "</TOOLCALL>")),
    Family(
        "Nemotron H",
        ("<SPECIAL_10>", "<SPECIAL_11>", "<SPECIAL_12>", "<SPECIAL_61>", "<AVAILABLE_TOOLS>", "<TOOL_RESPONSE>"),
    ),
    Family("Falcon", (">>QUESTION<<", ">>ANSWER<<", ">>TITLE<<", ">>SUMMARY<<", ">>INTRODUCTION<<")),
    Family("OLMo and Tulu", ("|||IP_ADDRESS|||", "|||EMAIL_ADDRESS|||"), calls=("<function_calls>",)),
    Family("Granite", ("<|start_of_role|>", "<|end_of_role|>", "<|end_of_text|>"), calls=("<|tool_call|>",)),
    Family(
        "gpt-oss (Harmony)",
        ("<|start|>", "<|message|>", "<|channel|>", "<|return|>"),
        calls=("<|call|>", "<|constrain|>"),
    ),
    Family(
        "Hunyuan",
        (
            "<｜hy_User｜>",
            "<｜hy_Assistant｜>",
            "<｜hy_place▁holder▁no▁3｜>",
            "<|startoftext|>",
            "<|extra_4|>",
            "<|eos|>",
        ),
    ),
    Family("Hunyuan 3", ("<think:opensource>",), calls=("<tool_call:opensource>", "<tool_calls:opensource>")),
    Family("ERNIE", ("<|begin_of_sentence|>", "<|end_of_sentence|>", "<mask:1>")),
    Family(
        "LongCat",
        ("<longcat_s>", "</longcat_s>", "<longcat_user>", "<longcat_assistant>", "<longcat_think>"),
        ("[Round 0] USER:",),
        ("<longcat_tool_call>", "</longcat_tool_call>"),
    ),
    Family("K2 Horizon", (), calls=("<ifm|tool_calls>", "</ifm|tool_calls>", "<ifm|tool_call>", "</ifm|tool_call>")),
    Family(
        "PLaMo 3",
        ("<|plamo:tag|>", "<|plamo:msg|>", "<|plamo:begin_think:plamo|>", "<|plamo:end_think:plamo|>"),
        calls=("<|plamo:begin_tool_requests:plamo|>", "<|plamo:begin_tool_request:plamo|>"),
    ),
    Family("Laguna", ("<assistant>", "</assistant>", "<system>", "<user>", "</user>")),
    Family("Muse Glimmer", ("<|patch|>",), calls=("<atem:function_calls>", "<atem:invoke")),
    Family("Jamba", ("<|bom|>", "<|startoftext|>", "<|tool|>")),
    Family("Reka", ("<sep>",)),
    Family("Solar", (), ("### User:", "### Assistant:", "### System:")),
    Family(
        "Solar Open", ("<|begin|>", "<|content|>", "<|think:start|>"), calls=("<|tool_calls|>", "<|tool_call:begin|>")
    ),
    Family("StableLM", ("<|USER|>", "<|ASSISTANT|>", "<|SYSTEM|>")),
    Family("Vicuna", (), ("USER:", "ASSISTANT:", "SYSTEM:")),
    Family("Alpaca", (), ("### Instruction:", "### Response:")),
    Family("OpenChat and Starling", ("<|end_of_turn|>",), ("GPT4 Correct User:", "GPT4 Correct Assistant:")),
    Family("OpenAssistant", ("<|prompter|>", "<|prefix_begin|>")),
    Family("Guanaco", (), ("### Human:", "### Assistant:")),
    Family("SmolVLM", ("<end_of_utterance>", "<fake_token_around_image>", "<global-img>")),
    Family(
        "Apertus",
        ("<|system_start|>", "<|user_start|>", "<|assistant_start|>", "<|assistant_end|>", "<|inner_prefix|>"),
        calls=("<|tools_prefix|>", "<|tools_suffix|>"),
    ),
    Family(
        "dots.llm1",
        ("<|userprompt|>", "<|endofuserprompt|>", "<|response|>", "<|endofresponse|>"),
        calls=("<dots_function_call>", "</dots_function_call>"),
    ),
    Family("Ling and Ring", ("<role>SYSTEM</role>", "<role>HUMAN</role>", "<role>ASSISTANT</role>", "<|role_end|>")),
    Family("Skywork", ("[USER]", "[BOT]")),
    Family("Step", ("<|BOT|>",), calls=("<｜tool_call_begin｜>", "<steptml:invoke")),
    Family("XVERSE", ("<|startofmessage|>",)),
    Family("Aquila", ("<|startofpiece|>", "<|endofpiece|>", "<|LDWANG|>")),
    Family("Persimmon", ("|ENDOFTEXT|",)),
    Family("BLOOMZ", ("<pad>", "<unk>")),
    Family("MiniCPM", ("<用户>", "<AI>"), calls=("<|tool_call_start|>",)),
    Family(
        "LFM 2", ("<|tool_list_start|>", "<|tool_response_start|>"), calls=("<|tool_call_start|>", "<|tool_call_end|>")
    ),
    Family("TeleChat", ("<_user>", "<_bot>", "<_end>", "<_system>", "<_start>")),
    Family("MOSS", ("<|Human|>", "<|MOSS|>", "<eom>", "<eoc>"), calls=("<|Commands|>",)),
    Family("Pangu", ("[unused9]", "[unused10]"), calls=("[unused11]", "[unused12]")),
    Family("GigaChat", ("<|role_sep|>", "<|message_sep|>", "[SEP]"), calls=("<|function_call|>",)),
    Family("YandexGPT", (), ("Пользователь:", "Ассистент:")),
    Family("Megrez", ("<|role_start|>", "<|turn_end|>"), calls=("<|function_start|>",)),
    Family("Yuan", ("<eod>", "<BOS>", "<EOD>")),
    Family("StarCoder", ("<fim_prefix>", "<file_sep>", "<repo_name>", "<filename>", "<jupyter_start>", "<gh_stars>")),
    Family("Functionary", ("<|from|>", "<|content|>"), calls=("<|recipient|>",)),
    Family("FireFunction", (), calls=("functools[",)),
    Family("Claude 1", (), ("Human:", "Assistant:")),
    Family("Agents with MCP", (), calls=("<use_mcp_tool>", "<function_calls>")),
    Family("Inkling", ("<|message_model|>", "<|end_message|>"), calls=("<|content_invoke_tool_json|>",)),
    Family(
        "Search-o1 and R1-Searcher",
        ("<|begin_search_result|>", "<|end_search_result|>", "<|begin_of_documents|>", "<|end_of_documents|>"),
        calls=("<|begin_search_query|>", "<|begin_of_query|>"),
    ),
    Family("BERT", ("[CLS]", "[MASK]")),
)
"""Over seventy families. To add one, add an entry here; `tests/verifiers/test_turn_markers.py` tests it."""

_FORMS = (
    r"<\|[^\s<>|]{2,64}\|>"  # ChatML, Llama 3, Phi, GLM and others: <|im_start|>, <|eot_id|>
    r"|<\|reserved special token \d{1,4}\|>"
    r"|<｜[^<>｜\n]{1,64}｜>|</?｜DSML｜[^<>\n]{0,80}>?"  # DeepSeek's full-width bars
    r"|<\|[a-z_]{2,32}>|<[a-z_]{2,32}\|>"  # bars on one side only
    r"|</?(?:seed|minimax|steptml|antml|atem|mm):[a-z_]{1,32}>?|</?longcat_[a-z_0-9]{1,32}>"
    r"|</?s>|<(?:bos|eos|pad|unk|sop|eop|unused\d{1,4}|reserved_\d{1,4}|extra_id_\d{1,3}|special_\d{1,4}|mask:\d{1,3})>"
    r"|<</?SYS>>"
    r"|</?(?:start_of_turn|end_of_turn|start_of_image|end_of_image|image_soft_token|image|video|system|assistant|user"
    r"|tool_call|tool_response|think|thinking)>"
    # StarCoder's
    r"|<(?:repo_?name|filename|file_sep|gh_stars|empty_output|(?:issue|jupyter|commit|fim)_[a-z]{1,16})>"
)
_BRACKETS = (
    r"\[/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT|THINK|MODEL_SETTINGS)\]"
    r"|\[(?:g?MASK|sMASK|IMG|IMG_END|IMG_BREAK|UNUSED_TOKEN_\d{1,3}|unused\d{1,4}|control_\d{1,4})\]"
)


def _marker_pattern() -> re.Pattern[str]:
    forms = re.compile(f"(?i:{_FORMS})|{_BRACKETS}")
    named = {marker for family in FAMILIES for marker in (*family.turns, *family.calls)}
    rest = sorted((marker for marker in named if forms.fullmatch(marker) is None), key=lambda one: (-len(one), one))
    angled = "|".join(re.escape(marker) for marker in rest if marker.startswith("<"))
    others = "|".join(re.escape(marker) for marker in rest if not marker.startswith("<"))
    # At most positions, only the first character is tested.
    return re.compile(
        rf"(?=[<\[\]>|✿f])(?:(?=<(?:[|｜/_A-Za-z用]|<[/Ss]))(?:(?i:{_FORMS})|{angled})|{_BRACKETS}|{others})"
    )


def _line_pattern() -> re.Pattern[str]:
    lines = sorted({marker for family in FAMILIES for marker in family.lines}, key=lambda one: (-len(one), one))
    return re.compile(rf"^(?:{'|'.join(re.escape(marker) for marker in lines)})", re.MULTILINE)


def _call_pattern() -> re.Pattern[str]:
    calls = sorted({marker for family in FAMILIES for marker in family.calls}, key=lambda one: (-len(one), one))
    return re.compile("|".join(re.escape(marker) for marker in calls))


_MARKER, _LINE, _CALL = _marker_pattern(), _line_pattern(), _call_pattern()
_TURNS = frozenset(marker for family in FAMILIES for marker in family.turns)
_ENDS = tuple(sorted(_TURNS, key=lambda one: (-len(one), one)))


def replace_markers(text: str, shown: Callable[[str], str]) -> tuple[str, int]:
    """Replaces each marker by its visible form, and counts them."""
    text, count = _MARKER.subn(lambda found: shown(found.group()), text)
    text, lines = _LINE.subn(lambda found: shown(found.group()), text)
    return text, count + lines


def turn_end(text: str) -> int:
    """Returns where the turn in a text ends: before the turn markers at its end, and the white space between them."""
    end = len(text.rstrip())
    while text.endswith(_ENDS, 0, end):
        end -= len(next(marker for marker in _ENDS if text.endswith(marker, 0, end)))
        while end and text[end - 1].isspace():
            end -= 1
    return end


def call_marker(text: str) -> str | None:
    """The first marker of a tool call in a text: a known one, or any marker that does not belong to a family's
    turns.
    """
    found = _CALL.search(text)
    unknown = next((one for one in _MARKER.finditer(text) if one.group() not in _TURNS), None)
    first = min((one for one in (found, unknown) if one is not None), key=lambda one: one.start(), default=None)
    return None if first is None else first.group()
