"""Published rewards that recipes are compared with: where the code is, how it is called, and on which rows.

`call` is an expression over the published file's names and a row's fields (`response`, `reference` and its others).
The commits are those that were compared; the code is never part of this project.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from random import Random
from typing import Any

from benchmarks.parity_calls import tool_calls
from benchmarks.parity_dates import completions, differences, months, timelines
from benchmarks.parity_designs import designs
from benchmarks.parity_executions import executions
from benchmarks.parity_formulas import formulas
from benchmarks.parity_games import (
    answers_in_order,
    bare_forms,
    boxed_forms,
    brackets,
    cents,
    ciphers,
    counts,
    equations,
    errors,
    expressions,
    fenced_forms,
    games,
    inequalities,
    loose_forms,
    meetings,
    mistakes,
    places,
    sets,
    sorted_words,
    tables,
    wrong_steps,
)
from benchmarks.parity_instructions import instructions
from benchmarks.parity_judged import (
    asked,
    checklists,
    concluded,
    diagnoses,
    episodes,
    evidence,
    grades,
    numbered,
    rubrics,
    stated,
)
from benchmarks.parity_lakes import lakes, rooms
from benchmarks.parity_laws import laws
from benchmarks.parity_molecules import attributes
from benchmarks.parity_proofs import reasoned_proofs, trajectories
from benchmarks.parity_questions import proposed
from benchmarks.parity_rows import (
    Forms,
    Row,
    agreeing,
    batched,
    boards,
    cards,
    cells,
    combinations,
    conclusions,
    confident,
    conversations,
    countdown,
    counted,
    critiques,
    distributions,
    functions,
    graded,
    grouped,
    houses,
    intervals,
    knights,
    lengths,
    letters,
    likely,
    marks,
    mathematics,
    named,
    noted,
    numbers,
    orders,
    patches,
    posed,
    predicted,
    preferred,
    programs,
    queries,
    query,
    rankings,
    reasoned,
    recommendations,
    searching,
    sequences,
    spelled,
    standing,
    sudokus,
    think_answer,
    thought,
    turns_with_tools,
    values,
    verdicts,
    votes,
    words,
)
from rewarden_verifiers.recipes.load import load_recipe
from rewarden_verifiers.registry import GALLERY
from tests.judges.scripted import Rule


@dataclass(frozen=True, slots=True)
class Deviation:
    """Rows on which a recipe deliberately differs: a known way to earn the published reward without the task.

    labels: patterns of rows' labels, such as `several, *`.
    """

    labels: tuple[str, ...]
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Published:
    """A system's published reward, with the recipe that covers the system.

    file: the published file that `call` uses. beside: further paths to export. roots: folders to import from. stubs:
    modules that the file imports and the reward does not need. names: functions and constants to take out of a file
    that does more than define them. env: environment variables. reference: makes our reference of a row's. groups:
    makes the rows of a group in place of `rows`; they have the fields `responses` and `references` (those of the group)
    and `place`. replies: makes a judge's reply of a row's opinion, or rules for several. sandbox: programs run in a
    sandbox; installed: with the tools of this machine. told: Lean's verdict is the row's reference. note: what else a
    reader must know.
    """

    recipe: str
    repository: str
    commit: str
    file: str
    call: str
    rows: Callable[[Random], Row] | None = None
    groups: Callable[[Random], list[Row]] | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    deviations: tuple[Deviation, ...] = ()
    beside: tuple[str, ...] = ()
    roots: tuple[str, ...] = ()
    stubs: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    reference: Callable[[Any], Any] = lambda reference: reference
    system: str = ""
    results: str = ""
    characters: bool = False
    sandbox: bool = False
    installed: bool = False
    told: bool = False
    replies: Callable[[Any], Any] | None = None
    note: str = ""

    def deviation(self, label: str) -> Deviation | None:
        """Returns the listed deviation of rows with this label."""
        for deviation in self.deviations:
            if any(fnmatchcase(label, pattern) for pattern in deviation.labels):
                return deviation
        return None


_TAGS = think_answer()
_MESSAGES = "[[{'content': response}]]"
_LOOKED_UP = searching(lambda rng: rng.randint(0, 3), query)
_STRUCTURE = {"tags": [{"name": "think", "empty": True}, {"name": "answer", "empty": True}], "outside": "allow"}
_WHOLE = {"patterns": [{"regex": r"(?s)\A<think>.*?</think>\s*<answer>.*?</answer>\z"}]}
_START = {"patterns": [{"regex": r"(?s)\A<think>.*?</think>\s*<answer>.*?</answer>"}]}
_EXACT = {"mode": "exact", "extraction": ["answer_tag", "short_response"]}

_FIRST = {"regex": r"(?s)\A.*?<answer>(.*?)</answer>"}
"""The first of several answers."""

_PLAIN = {
    "extraction": [_FIRST, "short_response"],
    "punctuation": False,
    "articles": [],
    "unicode": False,
    "markup": False,
}
"""Texts that are compared as they stand."""

_LAST_LINE = {"regex": r"(?:\A|\n)[^\n]*<answer>([^\n]*?)</answer>[^\n]*\z"}
"""The last answer of the last line."""

_WORD = {"regex": r"(?s)\A.*<answer>\s*([A-Za-z]+)\s*</answer>"}
"""The last answer that is a word."""

_LAST = Deviation(("several, *", "first, *"), "The last of several answers counts, so additional guesses cost nothing.")
_PARTS = Deviation(("either, *", "denied, *"), "F1 rewards `A or B` and `not A`.")
_DOUBLED = Deviation(
    ("doubled, *",), "F1 over sets of words gives full reward to an answer that is repeated any number of times."
)
_THOUGHT = Deviation(("thought, *",), "A box in the reasoning counts even if the answer has none.")
_BOXES = Deviation(
    ("corrected, before", "corrected, thought twice", "corrected, reversed", "corrected, no tags"),
    "The last of several different boxes counts, so additional guesses cost nothing.",
)
_BEGUN = Deviation(("first, cut",), "A complete answer counts even if another one begins after it.")


def _think(twice: bool = True) -> Forms:
    """Returns the forms of a thought and of text with a box."""
    return {
        "plain": (12, lambda rng, why, what: f"<think>\n{why}\n</think>\n{what}"),
        "one line": (2, lambda rng, why, what: f"<think>{why}</think> {what}"),
        "no thought": (3, lambda rng, why, what: what),
        "opened": (1, lambda rng, why, what: f"{why}\n</think>\n{what}"),
        **(
            {"twice": (1, lambda rng, why, what: f"<think>\n{why}\n</think>\n<think>\n{why}\n</think>\n{what}")}
            if twice
            else {}
        ),
        "cut": (2, lambda rng, why, what: f"<think>\n{why}"),
        "empty": (1, lambda rng, why, what: ""),
    }


def _tested(known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns our reference of a program's inputs and outputs."""
    pairs = zip(known["inputs"], known["outputs"], strict=True)
    return {
        "language": "python",
        "tests": [{"type": "stdio", "stdin": given, "stdout": told} for given, told in pairs],
    }


def _read(opinion: Mapping[str, Any]) -> list[Rule]:
    """Returns the replies of a judge of an answer, and of a reader of documents."""
    said = {"answers": [{"number": 1, "evidence": "", "answer": opinion["answer"]}]}
    match = {"reason": "", "verdict": "correct" if opinion["match"] else "incorrect"}
    return [Rule(("<answer>",), [match]), Rule((), [said])]


def _evidence(opinion: Mapping[str, Any]) -> list[Rule]:
    """Returns the replies of a judge of an answer, and of a judge of the rubrics."""
    met = [
        {"number": number, "evidence": "", "reason": "", "verdict": "met" if yes else "not_met"}
        for number, yes in enumerate(opinion["support"], 1)
    ]
    return [
        Rule(("Lake Orrin",), [{"reason": "", "verdict": "correct" if opinion["outcome"] else "incorrect"}]),
        Rule((), [{"criteria": met}]),
    ]


def _combining(known: Any) -> dict[str, Any]:
    """Returns our tests of a function of two numbers."""
    return {
        "language": "python",
        "tests": [{"type": "call", "target": "combine", "args": [a, b], "returns": value} for a, b, value in known],
    }


def _with_tests(rows: Callable[[Random], Row]) -> Callable[[Random], Row]:
    """Returns a maker of the same rows, with the tests of a function next to the sample's reference."""

    def make(rng: Random) -> Row:
        row = rows(rng)
        return replace(row, fields={**row.fields, "metadata": {"tests": _combining(row.reference)}})

    return make


def _choosing() -> Forms:
    """Returns the same forms but for a second thought, and forms without a thought."""
    return {
        **_think(twice=False),
        "dots": (8, lambda rng, why, what: f"<think>\n...\n</think>\n\n{what}"),
        "closed": (2, lambda rng, why, what: f"</think>\n\n{what}"),
    }


_NO_THOUGHT = Deviation(
    ("none, dots", "none, closed", "thought, dots", "thought, closed", "bare, dots", "bare, closed"),
    "Without reasoning, a missing answer earns more than a wrong one.",
)

_AUTOTHINK: Mapping[str, Any] = {
    "repository": "TU2021/AutoThink",
    "commit": "be0bcb09b58eaeed9be99df2de2a4d7010a5a150",
    "file": "verl/verl/trainer/main_ppo.py",
    "beside": ("deepscaler/rewards", "deepscaler/globals.py", "deepscaler/system_prompts.py"),
    "roots": ("",),
    "stubs": (
        *("deepscaler.utils", "hydra", "ray", "torch", "verl", "verl.trainer", "verl.trainer.ppo"),
        *("verl.trainer.ppo.ray_trainer", "verl.utils", "verl.utils.reward_score"),
    ),
}

_ARRAYS = (
    "RewardManager._reweight_rewards.__globals__.update(torch=type('Arrays', (), {'float32': None, 'tensor': "
    "staticmethod(lambda values, dtype: __import__('numpy').array(values, dtype='float64').view(type('Array', "
    "(__import__('numpy').ndarray,), {'std': lambda self, unbiased: type('Deviation', (), {'clamp_min': lambda "
    "_, least: max(__import__('statistics').stdev(self.tolist()), least)})()})))}))"
)
"""Gives AutoThink's reward arrays with the deviation of a sample, in double precision, in place of tensors."""


_UNROUNDED = (
    "(lambda metrics: vars(metrics).update(round=lambda value, digits: value) or metrics.QATCHEvaluator())("
    "__import__('importlib').import_module('NL2SQLEvaluator.evaluator_nodes.qatch_metrics'))"
)
"""QATCH's metrics without rounding to three places."""

_THINKS_ONCE = {"tags": ["think", {"name": "answer", "empty": True}], "outside": "allow"}
_GRID = {"regex": r"<answer>\s*(\d(?:[ \t]+\d)*(?:\s*\n\s*\d(?:[ \t]+\d)*)+)\s*</answer>"}

_CODETREE: Mapping[str, Any] = {
    "repository": "SalesforceAIResearch/CodeTree",
    "commit": "72c9c874f831e1b4f8b4c449ac8ffeb141dc8fbd",
}

_ADA_GRPO = "compute_ada_grpo_w_length_penalty_outcome_advantage"


def _thinks(response: str) -> bool:
    """Returns true unless a thought is left out, as AutoThink's policy does it."""
    return not response.startswith(("<think>\n...\n</think>", "</think>"))


def _looping() -> Forms:
    """Returns the same forms, and some whose thought repeats a sentence a number of times."""
    said = "So I count the squares of the third row once more. "
    return {
        **_think(),
        "looping": (2, lambda rng, why, what: f"<think>\n{said * rng.randint(25, 40)}\n</think>\n{what}"),
        "repeating": (2, lambda rng, why, what: f"<think>\n{said * rng.randint(2, 15)}\n</think>\n{what}"),
    }


def _math_verify_reward(repository: str, commit: str, folder: str, package: str) -> Published:
    """The reward of `math_verify_reward.py`, which several repositories have, in a package of `folder`/verl/verl."""
    return Published(
        recipe="accuracy_format",
        params={"format": {"contains": ["<think>"], "patterns": [{"regex": "</think>", "max": 1}]}},
        repository=repository,
        commit=commit,
        file=f"{folder}/verl/verl/{package}/math_verify_reward.py",
        call="reward_fn_math_verify(response, reference)",
        beside=(f"{folder}/deepscaler",),
        roots=(folder,),
        rows=mathematics(_think()),
        deviations=(Deviation(("thought, twice",), "A box in a second block of reasoning counts."),),
    )


_RANGES = {one.part: one.params["ranges"] for one in load_recipe(GALLERY / "attrilens_mol.yaml").systems if one.params}
_BACE, _CLINTOX = _RANGES["BACE"], _RANGES["ClinTox"]

_AS_WRITTEN = {"extraction": ["boxed"], "form": "as_written"}
"""Options of `math` for graders that compare texts."""

_SEVERAL = Deviation(
    ("several, *",),
    "Several different answers count as one readable answer; here they earn no more than a missing one.",
)

_BOTH = Deviation(("both, *",), "A critique that gives both verdicts counts as right.")
_UNCLOSED = Deviation(
    ("corrected, cut",), "A box in unclosed reasoning is an answer, and a wrong answer earns more than none."
)

_CODEV: Mapping[str, Any] = {
    "verifier": "verilog",
    "options": {"extraction": ["answer_tag"]},
    "format": {
        "tags": [{"name": "think", "empty": True}, {"name": "answer", "empty": True}],
        "outside": "allow",
        "patterns": [{"regex": r"(?s)```verilog\s.*?```"}],
    },
}


def _lake(known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns our reference of a lake and the seed of its ice."""
    options = {"map": known["map"], "slippery": known["slippery"]}
    return {"environment": "frozen_lake", "options": options, "seed": known["seed"], "illegal": "again"}


def _solution(known: Mapping[str, Any]) -> dict[str, Any]:
    """Returns our reference of a golden design and its ports."""
    resets = [{"signal": name, "active": active} for name, active, _ in known["reset_port_polarity_sync"]]
    return {"solution": known["code"], **({"reset": resets[0]} if resets else {})}


_BOXED = {"options": {"extraction": ["boxed"]}}
"""The parameters of a recipe that reads the last box."""

_REDUCED = {"options": {"extraction": ["boxed"], "form": "lowest_terms"}}
"""The same, where a fraction must be in lowest terms."""


def _concluded() -> Forms:
    """Returns the forms of a thought that ends with its answer in ReFT's words."""
    therefore = "\nTherefore, the answer is: "
    return {
        "plain": (12, lambda rng, why, what: f"{why}{therefore}{what}"),
        "twice": (1, lambda rng, why, what: f"{why}{therefore}3{therefore}{what}"),
        "after": (1, lambda rng, why, what: f"{why}{therefore}{what}\nI hope this helps."),
        "other words": (1, lambda rng, why, what: f"{why} The answer is {what}"),
        "alone": (1, lambda rng, why, what: what),
        "cut": (1, lambda rng, why, what: why),
        "empty": (1, lambda rng, why, what: ""),
    }


_THEREFORE = {"regex": r"(?s)\A.*\nTherefore, the answer is: (.*)\z"}
_REFT: Mapping[str, Any] = {
    "beside": ("src/utils.py",),
    "roots": ("",),
    "stubs": (
        *("accelerate", "accelerate.utils", "datasets", "src.python_engine", "torch", "torch.distributed"),
        *("torch.utils", "torch.utils.data", "deepspeed", "transformers", "trl", "trl.core", "wandb", "prettytable"),
    ),
}

_OPEN_INSTRUCT = (
    *("open_instruct.context_window_checker", "open_instruct.logger_utils", "open_instruct.if_functions"),
    *("open_instruct.IFEvalG", "open_instruct.judge_utils", "open_instruct.rubrics.prompts", "open_instruct.utils"),
    *("open_instruct.rubrics", "open_instruct.rubrics.run_utils"),
)
"""Modules of open-instruct that its rewards by rule do not need."""


_STEPS = {
    "patterns": [
        {"regex": r"Step \d+:|\A\d+\.|\n-|\n\*|First,|Second,|Next,|Finally,", "min": number} for number in (1, 2, 3)
    ],
    "mode": "fraction",
    "view": "full",
}
"""Options of `format` that count steps as Open-R1 does."""


_VERL_TOOL = ("torch", "tqdm", "verl", "verl.workers", "verl.workers.reward_manager.registry", "published.reward_score")
"""Modules of verl-tool that its rewards do not need."""


def _answering() -> Forms:
    """Returns forms of a thought and an answer, among them answers that are not closed or not alone, and loops."""
    said = "The two parts add up, and so I count them all once more today. "
    return {
        **think_answer(),
        "unclosed": (2, lambda rng, why, what: f"<think>{why}</think>\n<answer>{what}"),
        "answer twice": (
            2,
            lambda rng, why, what: f"<think>{why}</think>\n<answer>no</answer>\n<answer>{what}</answer>",
        ),
        "looping": (2, lambda rng, why, what: f"<think>{said * rng.randint(12, 30)}</think>\n<answer>{what}</answer>"),
        "repeating": (2, lambda rng, why, what: f"<think>{said * rng.randint(2, 8)}</think>\n<answer>{what}</answer>"),
        "looping, unclosed": (1, lambda rng, why, what: f"<think>{said * rng.randint(12, 30)}"),
    }


def _answered() -> Forms:
    """Returns forms of an explanation of some length that ends with its answer in SUPERNOVA's words."""
    said = "The answer is:"

    def long(rng: Random, why: str) -> str:
        return " ".join([why] * rng.randint(1, 8))

    return {
        "plain": (10, lambda rng, why, what: f"{long(rng, why)}\n{said} {what}"),
        "stopped": (3, lambda rng, why, what: f"{long(rng, why)} {said} {what}."),
        "no colon": (2, lambda rng, why, what: f"{long(rng, why)} The answer is {what}."),
        "final": (2, lambda rng, why, what: f"{long(rng, why)}\nThe final answer is {what}"),
        "boxed": (2, lambda rng, why, what: f"{long(rng, why)}\n{said} $\\boxed{{{what}}}$"),
        "thought": (2, lambda rng, why, what: f"<think>{long(rng, why)}</think>\n{said} {what}"),
        "twice": (2, lambda rng, why, what: f"{said} nothing. {long(rng, why)}\n{said} {what}"),
        "after": (2, lambda rng, why, what: f"{long(rng, why)}\n{said} {what}\nI hope this helps."),
        "other words": (1, lambda rng, why, what: f"{long(rng, why)} It must be {what}."),
        "alone": (2, lambda rng, why, what: what),
        "cut": (1, lambda rng, why, what: long(rng, why)),
        "empty": (1, lambda rng, why, what: ""),
    }


_CRITIQUE_CODER = (
    *("torch", "published.reward_score", "verl", "verl.utils", "verl.utils.reward_score"),
    *("verl.utils.reward_score.prime_code", "verl.workers", "verl.workers.reward_manager"),
    "verl.workers.reward_manager.prime",
)
"""Modules of Critique-Coder that its rewards do not need."""


_AGENT_RL = (
    *("datasets", "verl", "verl.tools", "verl.tools.base_tool", "verl.tools.sandbox_fusion_tools", "verl.utils"),
    *("verl.utils.dataset", "verl.utils.reward_score", "verl.utils.reward_score.livecodebench"),
    "verl.utils.rollout_trace",
)
"""Modules of Open-AgentRL that its rewards do not need."""

_RUNNER = "verl.utils.reward_score.livecodebench.lcb_runner"
_AGENT_RL_CODE = (
    *("requests", "verl.utils.reward_score.sandbox_fusion", "verl.utils.reward_score.sandbox_fusion.utils"),
    *(_RUNNER, f"{_RUNNER}.benchmarks", f"{_RUNNER}.benchmarks.code_generation", f"{_RUNNER}.evaluation"),
    *(f"{_RUNNER}.evaluation.compute_code_generation_metrics", f"{_RUNNER}.evaluation.pass_k_utils"),
)
"""Those that its reward of programs does not need."""


def _asked(rng: Random) -> str:
    """Returns what a router asks of which model; some questions are malformed."""
    good = f"{rng.choice(('small-7b', 'large-70b'))}: {query(rng)}"
    kinds = (good, query(rng), "large-70b: ", f"{good}: now", "LLM-Name: Your-Query")
    return rng.choices(kinds, weights=(16, 1, 1, 1, 1))[0]


_KNOWRL_JUDGE = (
    "setattr(llm_eval_reward_func.__globals__['RewardEvaluator'], '__init__', lambda self, **_: vars(self).update("
    "use_api_manager=False, model_name='', client=(lambda space: space(chat=space(completions=space(create=lambda **_: "
    "space(choices=[space(message=space(content=opinion['grade']))])))))(__import__('types').SimpleNamespace)))"
)
"""Gives KnowRL's judge the row's grade as its reply."""

_KNOWRL_FACTS = (
    "[setattr(FactualityScorer.factuality_count_reward_func.__globals__['FactScorer'], name, value) for name, value in "
    "{'__init__': lambda self, **_: vars(self).update(af_model_name='', retrieval={'index': None}, "
    "abstain_detection_type=None, af_generator=type('Generator', (), {'run': lambda self, texts: [[str(place) for "
    "place, _ in enumerate(opinion['claims']) if text] for text in texts], 'save_cache': lambda self: None})()), "
    "'register_knowledge_source': lambda self, **_: None, '_optimize_nli_model': lambda self: None, 'save_cache': "
    "lambda self: None, '_get_score': lambda self, topic, text, claims, source: ([{'atom': claim, 'is_supported': "
    "known} for claim, known in zip(claims, opinion['claims'])], {})}.items()] * 0"
)
"""Gives KnowRL's scorer of facts the row's claims, and the opinions on them, in place of an index and a model."""


def _stated(opinion: Mapping[str, Any]) -> list[Rule]:
    """Returns the replies of a judge that lists claims, checks them, and grades an answer."""
    checked = [
        {"number": number, "quote": "lit in 1871" if known else "", "reason": "", "verdict": word}
        for number, known in enumerate(opinion["claims"], 1)
        for word in (("unknown", "supported")[known],)
    ]
    claims = [f"The claim {number} holds." for number, _ in enumerate(checked)]
    return [
        Rule(("List the claims of the text",), [{"reason": "", "refuses": False, "claims": claims}]),
        Rule(("Hold each claim against the evidence",), [{"claims": checked}]),
        Rule((), [{"reason": "", "verdict": "correct" if opinion["grade"] == "A" else "incorrect"}]),
    ]


_DEMYSTIFY: Mapping[str, Any] = {
    "repository": "eddycmu/demystify-long-cot",
    "commit": "e90cf9b30203bb74b1ea4ba008fa54bf731ad1a4",
    "file": "openrlhf/openrlhf/reward/cosine.py",
    "beside": ("openrlhf/openrlhf/reward",),
    "roots": ("openrlhf",),
    "stubs": ("ray", "torch", "vllm"),
}
_HENDRYCKS = {"extraction": ["boxed", {"regex": r"\$([^$]+)\$"}], "form": "as_written"}
_JUDGEMENTS = (
    "Both give the same number.\nJudgement: correct",
    "The last line has another number.\nJudgement: wrong",
    "It stops before it has an answer.\nJudgement: not_found",
)


def _cosine(repetition: str, run: int, limit: int, right: str) -> str:
    """Returns the call of Demystifying Long CoT's reward with the values of its scripts."""
    return (
        f"CosineScaledSparseReward(-10, 0, 1, 2, {limit}, -10, {repetition}, {run}, None).reward([response], "
        f"[token_count], [reference], [(lambda score_hendrycks: {right})(__import__('openrlhf.reward.common', "
        "fromlist=['score_hendrycks']).score_hendrycks)], [], 0)[0]"
    )


def _table(known: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a table that an answer has in full, whatever more it has."""
    row = {"type": "array", "minItems": len(known["header"])}
    rows = {"type": "array", "minItems": len(known["rows"]), "items": row}
    return {"expected": known, "schema": {"type": "object", "required": ["rows"], "properties": {"rows": rows}}}


_TIME_R1: Mapping[str, Any] = {
    "repository": "ulab-uiuc/Time-R1",
    "commit": "407888608bae06ecf3f12d5479206b0ea1b68a4b",
}


def _synlogic(
    task: str,
    name: str,
    rows: Callable[[Random], Row],
    verifier: str,
    options: Mapping[str, Any],
    *,
    data: str = "'', reference",
    deviations: tuple[Deviation, ...] = (),
    reference: Callable[[Any], Any] = lambda reference: reference,
    note: str = "",
) -> Published:
    """Returns the comparison of a game. data: the arguments of the question that its verifier reads."""
    file = {"buggy_tables": "game_of_buggy_tables"}.get(task, task)
    return Published(
        system="synlogic",
        recipe="accuracy",
        params={"verifier": verifier, "options": options},
        repository="MiniMax-AI/SynLogic",
        commit="6794f97330ef19dbecc33fd5d23b8e2b0bea0e05",
        file=f"games/tasks/{task}/scripts/{file}_verifier.py",
        beside=("base",),
        roots=("",),
        call=f"{name}Verifier().verify(Data({data}), response)",
        rows=rows,
        reference=reference,
        deviations=deviations,
        note=note,
    )


SYSTEMS: Mapping[str, Published] = {
    "med-r1-short": Published(
        system="med-r1",
        recipe="accuracy_plus_format",
        params={
            "verifier": "text",
            "options": {"mode": "exact", "extraction": [_FIRST, "short_response"]},
            "format": _WHOLE,
        },
        repository="Yuxiang-Lai117/Med-R1",
        commit="88d76c73e7d21cd958a2b2dc32eca038be766f8f",
        file="src/r1-v/src/open_r1/grpo.py",
        call=f"accuracy_reward({_MESSAGES}, ['<answer>' + reference + '</answer>'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("datasets", "transformers", "open_r1", "open_r1.trainer", "trl"),
        rows=words(_TAGS, single=True, years=False),
    ),
    "limr": Published(
        recipe="three_outcomes",
        params={"readable": "any", "wrong": -0.5, "unreadable": -1, "options": {"extraction": ["boxed"]}},
        repository="GAIR-NLP/LIMR",
        commit="98ebf1bd54cc4539a9ac2332327ab0200bc2a88f",
        file="openrlhf/cli/serve_rm.py",
        call="RuleBasedRMProxy.get_reward.__globals__.update(load_from_disk=lambda path: {'train': [{'context': 'q', "
        "'answer': reference}], 'test': []}, args=type('Arguments', (), {'template_type': 'qwen'})) or "
        "RuleBasedRMProxy(type('Arguments', (), {'data_path': '', 'tokenizer_path': ''})).get_reward(["
        "'<|im_end|>\\n<|im_start|>user\\nq<|im_end|>\\n<|im_start|>assistant\\n' + response + '<|im_end|>'])[0]",
        stubs=(
            "jsonlines",
            "datasets",
            "torch",
            "uvicorn",
            "fastapi",
            "fastapi.responses",
            "transformers",
            "openrlhf",
            "openrlhf.models",
            "openrlhf.utils",
            "openrlhf.utils.logging_utils",
            "openrlhf.utils.check",
            "openrlhf.utils.check.qwen_equal",
        ),
        rows=mathematics(_think(), display=False),
        deviations=(_THOUGHT, _SEVERAL, _UNCLOSED),
        note="The published parser does not read `\\dfrac`, so the rows do not use it.",
    ),
    "mopps-mathematics": Published(
        system="mopps",
        recipe="accuracy",
        params={"options": _AS_WRITTEN},
        repository="thu-rllab/MoPPS",
        commit="a883f519bb2ec9e6bea3cb586639ee9c4f4cf146",
        file="recipe/ours/reward_func/math_reward.py",
        call="compute_score(response, reference)['score']",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "mopps-countdown": Published(
        system="mopps",
        recipe="accuracy",
        params={
            "verifier": "puzzle",
            "options": {
                "task": "countdown",
                "extraction": ["answer_tag"],
                "outcomes": {"wrong": 0.1, "illegal": 0.1, "malformed": 0.1},
            },
        },
        repository="thu-rllab/MoPPS",
        commit="a883f519bb2ec9e6bea3cb586639ee9c4f4cf146",
        file="recipe/ours/reward_func/countdown_reward.py",
        call="compute_score(response, reference)['score']",
        rows=countdown(_TAGS),
        deviations=(Deviation(("blank, *",), "An empty answer earns 0.1, like a wrong expression."),),
        note="The rows have no equations, because the published code counts the target in `3 * 4 = 12` among the "
        "numbers used.",
    ),
    "deeptheorem": Published(
        recipe="accuracy_format",
        params={
            "format": {"patterns": [{"regex": "(?s)</answer>.*</think>", "min": 0, "max": 0}]},
            "verifier": "label",
            "options": {
                "labels": ["proved", "disproved"],
                "extraction": [{"regex": r"(?s)<answer>.*?\\boxed\{(?:\\text\{)?(\w*)\}.*?</answer>"}],
            },
        },
        repository="Jiahao004/DeepTheorem",
        commit="7a841fd421b34b05f387766893b70773c2c65d4a",
        file="scripts/reward_func_proof.py",
        call="reward_func('', response, reference, None)",
        rows=verdicts({name: form for name, form in _TAGS.items() if name != "no thought"}),
        note="The published code also gives 0 to responses with hardly any white space; the rows have none.",
    ),
    "critique-rl": Published(
        recipe="critique_rl",
        repository="WooooDyy/Critique-RL",
        commit="06283864a725c41f964eaccf2f170b09f9e4d21b",
        file="RL/Critique-RL/reward/reward_func.py",
        call="DiscriminationRewardFunc(None).get_reward([], [response], {'correctness-origin': [reference == "
        "'Correct'], 'dataset_type': []})['scores'][0]",
        stubs=("torch", "vllm", "data", "data.build_data", "process_ans", "process_ans.utils"),
        rows=critiques(),
        deviations=(_BOTH,),
    ),
    "critique-rl-refinement": Published(
        system="critique-rl",
        recipe="critique_rl",
        params={"stage": "refinement"},
        repository="WooooDyy/Critique-RL",
        commit="06283864a725c41f964eaccf2f170b09f9e4d21b",
        file="RL/Critique-RL/reward/reward_func.py",
        call="(lambda verdict: verdict if verdict == -1.0 else verdict + RefineRewardFunc.reward_score_func(None, "
        "float(reference == 'Correct'), signals['refined']))(DiscriminationRewardFunc(None, 0.2).get_reward([], "
        "[response], {'correctness-origin': [reference == 'Correct'], 'dataset_type': []})['scores'][0])",
        stubs=("torch", "vllm", "data", "data.build_data", "process_ans", "process_ans.utils"),
        rows=critiques(),
        deviations=(_BOTH,),
        note="The published sum of both rewards is inside the code that also runs the actor; the call repeats it.",
    ),
    "ampo": Published(
        recipe="accuracy",
        params={"options": {"form": "lowest_terms"}},
        repository="SII-Enigma/AMPO",
        commit="b88d365654e03b94d8316226a5a67e0f7b64048f",
        file="ampo/verl/verl/utils/reward_score/prime_math_train/__init__.py",
        beside=("ampo/verl/verl/utils/reward_score/prime_math_train",),
        call="compute_score(response, reference)[0]",
        rows=mathematics(_think(), reduced=True),
        deviations=(_THOUGHT,),
    ),
    "rise-solutions": Published(
        system="rise",
        recipe="three_outcomes",
        params={"readable": "any", "wrong": -0.5, "unreadable": -1, "options": {"extraction": ["boxed"]}},
        repository="xyliu-cs/RISE",
        commit="3837783eba9ab17c6ee2f3d5c6e37da013b4c5c6",
        file="verl_utils/reward/reward_func.py",
        beside=("verl_utils/reward",),
        call="reward_func('', response, reference, None)",
        stubs=("published.data_utils", "verl_utils.reward.data_utils"),
        rows=mathematics(_think()),
        deviations=(_THOUGHT, _SEVERAL, _UNCLOSED),
    ),
    "rise-verifications": Published(
        system="rise",
        recipe="three_outcomes",
        params={
            "verifier": "number",
            "readable": "any",
            "wrong": -0.5,
            "unreadable": -1,
            "options": {"extraction": ["boxed"]},
        },
        repository="xyliu-cs/RISE",
        commit="3837783eba9ab17c6ee2f3d5c6e37da013b4c5c6",
        file="verl_utils/reward/reward_func_verification.py",
        beside=("verl_utils/reward",),
        call="ver_reward_func('', response, reference, None)",
        rows=marks(_think()),
        deviations=(
            _THOUGHT,
            _SEVERAL,
            _UNCLOSED,
            Deviation(("word, *",), "Any word in the box earns as much as a wrong mark."),
        ),
    ),
    "feedback-tool-envs": Published(
        recipe="ftrl",
        repository="bytedance/FTRL",
        commit="3ea979b4a941e3055d7c48ca45882f4b310a7c41",
        file="Code/verl/utils/reward_score/tool.py",
        beside=("Code/utils",),
        roots=("Code",),
        stubs=("transformers", "func_timeout", "requests", "json_repair"),
        call="compute_solve_f1.__globals__.update(get_feedback=lambda calls, codes: [{'tool_call_id': call['id'], "
        "'content': call['function']['arguments']} for call in calls]) or compute_solve_f1(response, {}, unsolved, "
        "float(not any(unsolved.values())), 'train', reference)",
        rows=turns_with_tools(),
        deviations=(Deviation(("long, *",), "An answer of any length counts if it contains the expected one."),),
        note="Each call returns its arguments, and so solves the question that they answer.",
    ),
    "router-r1": Published(
        recipe="router_r1",
        repository="ulab-uiuc/Router-R1",
        commit="801a240e37701577907c32de27a548af4e6c4430",
        file="verl/trainer/main_ppo.py",
        beside=("verl/utils/reward_score/qa_em.py",),
        roots=("verl/utils/reward_score",),
        call="format_reward.__globals__.update(check_llm_name=lambda target_llm: (target_llm, 1)) or "
        "__import__('qa_em').compute_score_em(response, {'target': reference}, format_score=format_reward(response), "
        "reward_metric='em')[2]",
        stubs=(
            "verl",
            "verl.utils",
            "verl.utils.reward_score",
            "verl.trainer",
            "verl.trainer.ppo",
            "verl.trainer.ppo.ray_trainer",
            "torch",
            "router_r1",
            "router_r1.llm_agent",
            "router_r1.llm_agent.route_service",
            "ray",
            "hydra",
        ),
        rows=words(searching(lambda rng: rng.randint(0, 3), _asked)),
        note="Here, every model name is known.",
    ),
    "sws": Published(
        recipe="accuracy",
        repository="MasterVito/SwS",
        commit="84cb58e19d3a8f144e749078a37fd1db5f14e49c",
        file="verl/utils/reward_score/__init__.py",
        beside=("verl/utils/reward_score", "verl/utils/py_functional.py", "verl/utils/import_utils.py"),
        roots=("",),
        call="default_compute_score('sws', response, reference)",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "empo": Published(
        recipe="empo",
        repository="QingyangZhang/EMPO",
        commit="c5eccd400ba7a7a1685dedf25eab03780aad855f",
        file="trl/src/open_r1/rewards.py",
        call="get_empo_math_reward(len(responses))([[{'content': each}] for each in responses], None)[place]",
        beside=("trl/src/open_r1/semantic_uncertainty.py",),
        roots=("trl/src/open_r1",),
        stubs=("rouge", "wandb", "torch", "torch.nn", "torch.nn.functional", "transformers"),
        groups=agreeing(_think(), 8),
        deviations=(Deviation(("thoughts, *",), "A box in the reasoning counts even if the answer has none."),),
    ),
    "ead": Published(
        recipe="accuracy",
        params={"options": _AS_WRITTEN},
        repository="yangalan123/EAD-RLVR",
        commit="1d7e156e99add3f9199345654417ac292f4cd231",
        file="verl/utils/reward_score/math.py",
        call="compute_score(response, reference)",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "deepsearch": Published(
        recipe="three_outcomes",
        params={"readable": "any", "wrong": -1, "unreadable": -1, "options": _AS_WRITTEN},
        repository="smiles724/DeepSearch",
        commit="daf9067b87cf4229f364bd1ccd9136a6e8b68072",
        file="verl/utils/reward_score/math_dapo.py",
        call="compute_score_boxed(response, reference)['score']",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "boundary-paradox": Published(
        recipe="three_outcomes",
        params={
            "readable": "any",
            "wrong": -0.5,
            "unreadable": -1,
            "options": {"extraction": ["boxed"], "form": "lowest_terms"},
        },
        repository="mail-research/SELF-llm-interference",
        commit="d17634bc058634549b2b5652fa1ca52099b7f4ae",
        file="verl/verl/utils/reward_score/deepscaler.py",
        call="rllm_reward_fn_math('math', response, reference)",
        rows=mathematics(_think(), reduced=True),
        deviations=(
            _THOUGHT,
            _SEVERAL,
            _UNCLOSED,
        ),
    ),
    "knowrl-hasuer": Published(
        recipe="accuracy_format",
        params={"format": {"contains": ["</think>"]}},
        repository="Hasuer/KnowRL",
        commit="bed9a053b6a40f5e1e44c3a21fdbe6cc9091fd32",
        file="verl/verl/utils/reward_score/math_verify.py",
        call="compute_score(response.split('</think>')[-1].strip(), reference) if '</think>' in response else 0",
        rows=mathematics(_think()),
        note="`default_compute_score` splits the response as the call does.",
    ),
    "deepmath-103k": Published(
        recipe="accuracy_format",
        params={"format": {"contains": ["</think>"]}, "format_reward": -1, "bad_format": -1},
        repository="zwhe99/DeepMath",
        commit="0d97187a17b0e1b54ecef109c43a904b50c99506",
        file="utils/reward_utils/reward_func.py",
        call="reward_func('math', response, reference, None)['score']",
        beside=("utils",),
        roots=("",),
        stubs=("ray", "ray.exceptions", "utils.data_utils"),
        rows=mathematics(_think()),
    ),
    "genome-bench": Published(
        recipe="accuracy_plus_format",
        params={
            "verifier": "text",
            "options": {"mode": "exact", "extraction": ["answer_tag"]},
            "format": {
                "patterns": [
                    {"regex": r"\A<explanation>.*?</explanation>\n<answer>.*?</answer>\n?\z"},
                    {"regex": "</explanation>", "max": 1},
                    {"regex": "</answer>", "max": 1},
                ]
            },
            "format_weight": 0.5,
        },
        repository="mingyin0312/RL4GenomeBench",
        commit="28be0ce65ce2159ad5468e2b62fda2414c275094",
        file="training/rl_training.py",
        call=f"(correctness_reward_func([[{{'content': ''}}]], {_MESSAGES}, [reference])[0] + "
        f"format_reward_func({_MESSAGES})[0]) / 2",
        stubs=("torch", "datasets", "transformers", "trl", "trl.trainer", "wandb"),
        rows=letters(named(_TAGS, "explanation")),
        note="The published reward is twice as high: 2 for the answer and 1 for the format.",
    ),
    "lite-ppo": Published(
        recipe="accuracy_format",
        params={
            "format": {
                "patterns": [
                    {"regex": "</think>|\n\n"},
                    {"regex": "</think>", "min": 0, "max": 1},
                    {"regex": r"(?s)\A.+<think>", "min": 0, "max": 0},
                ]
            }
        },
        repository="alibaba/ROLL",
        commit="8eb27cc2dc34c4d1310b169d9b86d339004d811a",
        file="roll/pipeline/rlvr/rewards/math_rule_reward_worker.py",
        call="(lambda found: _hf_verify_math_sample(response, '$' + reference + '$', found, '') or found[0][0])([])",
        stubs=(
            "torch",
            "codetiming",
            "roll",
            "roll.configs",
            "roll.configs.worker_config",
            "roll.distributed",
            "roll.distributed.executor",
            "roll.distributed.executor.worker",
            "roll.distributed.scheduler",
            "roll.distributed.scheduler.decorator",
            "roll.distributed.scheduler.protocol",
            "roll.models",
            "roll.models.model_providers",
            "ray",
        ),
        rows=mathematics(
            {**_think(), "paragraphs": (2, lambda rng, why, what: f"{thought(rng)}\n\n{what}")},
        ),
        note="Without closed reasoning, the published code reads the text after the last blank line.",
    ),
    "clpo": Published(
        recipe="three_outcomes",
        params={
            "readable": "any",
            "wrong": -1,
            "unreadable": -1,
            "options": {"extraction": [{"regex": r"(?i)answer\s*:\s*([^\n]+)"}], "form": "as_written"},
        },
        repository="csuking/CLPO",
        commit="cb77b569b14c374e3981ec26f71ca792b1622298",
        file="verl/utils/reward_score/math_dapo.py",
        call="compute_score(response, reference)['score']",
        rows=mathematics(_think(), box="Answer: {}\n"),
        deviations=(Deviation(("thought, *",), "An answer in the reasoning counts even if none follows it."),),
        note="The published script does not name its data; the reward is the one for DAPO-Math-17k.",
    ),
    "rl-with-cold-start": Published(
        recipe="accuracy",
        params=_REDUCED,
        repository="waltonfuture/RL-with-Cold-Start",
        commit="6ca97b4a26dc153d0fbadb5312bf4aad0b44a238",
        file="GRPO/examples/score_function/math.py",
        call="compute_score(response, reference)['overall']",
        rows=mathematics(_think(), reduced=True),
        deviations=(_THOUGHT,),
    ),
    "simplerl-zoo": Published(
        recipe="accuracy",
        params={"options": {"extraction": ["boxed", "last_number"]}},
        repository="hkust-nlp/simpleRL-reason",
        commit="cf1c7858bfc145a27aa733e75d930d34f0d318a6",
        file="verl/utils/reward_score/hf_math_verify.py",
        call="compute_score(response, reference)['score']",
        beside=("verl/utils/reward_score/qwen_math_eval_toolkit",),
        stubs=("latex2sympy2",),
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "lmm-r1": Published(
        recipe="accuracy_plus_format",
        params={
            "format_weight": 0.5,
            "options": {"extraction": ["boxed", {"regex": r"\$([^$]+)\$\.?</answer>"}]},
            "format": {
                "patterns": [
                    {"regex": r"(?s)\A<think>.*?</think><answer>.*?</answer>\z"},
                    *({"regex": tag, "max": 1} for tag in ("<think>", "</think>", "<answer>", "</answer>")),
                ]
            },
        },
        repository="TideDra/lmm-r1",
        commit="f917f186dc327fb2dadfe54f56c0bf409f9414e2",
        file="openrlhf/models/remote_rm/math_verifier.py",
        call="verify_math(response, '$' + reference + '$') + 0.5 * (verify_format.__globals__.update(format_pattern="
        "'^<think>(?:(?!</think>).)*</think><answer>(?:(?!</answer>).)*</answer>\\\\Z') or verify_format(response))",
        stubs=("flask", "loguru"),
        rows=mathematics(think_answer(between="")),
        deviations=(
            _THOUGHT,
            _BOXES,
        ),
    ),
    "ghpo": Published(
        recipe="accuracy",
        params=_BOXED,
        repository="hkgc-1/GHPO",
        commit="af0a7dd859eafca17531bd7b01c76ccb3e36e0c0",
        file="src/open_r1/rewards.py",
        call=f"accuracy_reward({_MESSAGES}, ['$' + reference + '$'])[0]",
        stubs=(
            "published.utils",
            "published.utils.ioi",
            "published.utils.routed_sandbox",
            "dotenv",
            "e2b_code_interpreter",
        ),
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "nft": Published(
        recipe="accuracy",
        repository="NVlabs/NFT",
        commit="b358faeb691391b500bfdabe667f9450aab6e70f",
        file="verifier.py",
        call="math_verify_compute_score(response, reference)['acc']",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "rover": Published(
        recipe="accuracy_format",
        params={**_REDUCED, "format": {"patterns": [{"regex": "</think>", "min": 0, "max": 1}]}},
        repository="tinnerhrhe/ROVER",
        commit="b0fa5878a0c7a29a9d18205b19d024b779b0609c",
        file="Math/rllm/rewards/math_reward.py",
        call="rllm_reward_fn_math('math', response, reference)",
        beside=("Math/rllm",),
        roots=("Math",),
        env={"MODEL_PATH": "qwen3"},
        stubs=("rllm.utils", "rllm.rewards.code_reward"),
        rows=mathematics(_think(), reduced=True),
        deviations=(_THOUGHT,),
    ),
    "rex-rag": Published(
        recipe="accuracy",
        params={"verifier": "text", "options": {"extraction": ["answer_tag"]}},
        repository="MiliLab/REX-RAG",
        commit="d9dbbb428e39b23b5424c05abbda90c68e2096db",
        file="verl/utils/reward_score/qa_em_format.py",
        call="compute_score_em_custom('<answer>Beijing</answer>' + response, {'target': reference})[0]",
        beside=("search_r1",),
        roots=("",),
        rows=words(_LOOKED_UP),
        deviations=(_BEGUN,),
        note="The first answer is the one in the published prompt. The published weight of the format is 0.",
    ),
    "openvlthinker": Published(
        recipe="openvlthinker",
        repository="yihedeng9/OpenVLThinker",
        commit="6997b477510ba4417a2da3f15634fa05547f857b",
        file="train/easyr1/examples/reward_function/r1v.py",
        call="compute_score(response, reference)['overall']",
        rows=values(_TAGS),
    ),
    "reft-numbers": Published(
        system="reft",
        recipe="three_outcomes",
        params={"verifier": "number", "options": {"abs_tol": 0.01, "extraction": [_THEREFORE, "whole"]}},
        repository="lqtrung1998/mwp_ReFT",
        commit="bdc844e02e5c783d4361d7777f4ad486e7e116da",
        file="train_rl_reft.py",
        call="setup_cot('gsm8k') or (lambda got: 0 if got is None else 1 if compare_answer_fn_mapper['gsm8k'](got, "
        "post_process_final_answer_fn_mapper['gsm8k'](reference)) else 0.1)"
        "(post_process_answer_cot_fn_mapper['nl', 'gsm8k']([response.strip()])[0])",
        rows=numbers(_concluded()),
        note="The three values are in the published `rollout`; the call repeats them.",
        **_REFT,
    ),
    "reft-options": Published(
        system="reft",
        recipe="three_outcomes",
        params={
            "verifier": "text",
            "readable": "any",
            "options": {
                "extraction": [_THEREFORE, "whole"],
                "punctuation": False,
                "articles": [],
                "unicode": False,
                "markup": False,
            },
        },
        repository="lqtrung1998/mwp_ReFT",
        commit="bdc844e02e5c783d4361d7777f4ad486e7e116da",
        file="train_rl_reft.py",
        call="setup_cot('mathqa') or (lambda got: 0 if got is None else 1 if compare_answer_fn_mapper['mathqa'](got, "
        "post_process_final_answer_fn_mapper['mathqa'](reference)) else 0.1)"
        "(post_process_answer_cot_fn_mapper['nl', 'mathqa']([response.strip()])[0])",
        rows=letters(_concluded()),
        deviations=(
            Deviation(
                ("*, empty", "listed, *", "blank, *"), "A missing answer or several answers earn 0.1, like a wrong one."
            ),
        ),
        note="The three values are in the published `rollout`; the call repeats them.",
        **_REFT,
    ),
    "rlcr-math": Published(
        system="rlcr",
        recipe="rlcr",
        params={
            "analysis": 1,
            "options": {
                "extraction": [{"regex": r"<answer>\s*\\boxed\{([^<]*)\}\s*</answer>"}, "answer_tag"],
                "form": "as_written",
            },
        },
        repository="damanimehul/RLCR",
        commit="8904bedf1af827e0a1bcc3c907bf505d88540bd2",
        file="reward_fns.py",
        call=f"accuracy_reward('tabc', {_MESSAGES}, [reference], ['math'])[0] + "
        f"brier_reward('tabc', {_MESSAGES}, [reference], ['math'])[0] - 1",
        rows=values(confident(), dollars=True),
        deviations=(_LAST,),
        note="The published Brier term is 1 too high for every response in the right format; the call corrects this.",
    ),
    "sparkle": Published(
        recipe="sparkle",
        repository="sparkle-reasoning/sparkle",
        commit="c3581c9d5cd47559439b04d1a6aa3efd8a41dfeb",
        file="verl/verl/utils/reward_score/sparkle_score.py",
        call="MathScorer().compute_score(response, reference, scoring_mode='hierarchical')",
        rows=mathematics(_TAGS, bare=False, unsure=True),
        deviations=(_THOUGHT, _BOXES),
    ),
    "klear-reasoner": Published(
        recipe="klear_reasoner",
        repository="suu990901/KlearReasoner",
        commit="5d2d0b8c5cde8527bfcd681333527562408c961e",
        file="verl/utils/reward_score/math_dapo.py",
        call="compute_score(response, reference, is_longcot=True, is_use_math_verify=True)",
        beside=("verl/utils/reward_score/reward_config.py",),
        rows=mathematics(_think()),
    ),
    "ruscarl": Published(
        recipe="ruscarl",
        repository="IANNXANG/RuscaRL",
        commit="18e2b0122fd1914b1a40365486a19b31b460814d",
        file="health_bench/healthbench_reward_fn.py",
        call="grade_single_example([{'role': 'user', 'content': 'What now?'}], response, [RubricItem(one['text'], "
        "one['points'], []) for one in reference], lambda messages: SamplerResponse(json.dumps({'criteria_met': "
        "next(met for text, met in opinion.items() if text in messages[0]['content'])}), {}, []))[0]",
        stubs=(
            "openai",
            "dotenv",
            "verl",
            "verl.utils",
            "verl.utils.reward_score",
            "verl.utils.reward_score.math_verify",
        ),
        rows=rubrics(),
        replies=lambda opinion: {
            "criteria": [
                {"number": number, "evidence": "", "reason": "", "verdict": "met" if met else "not_met"}
                for number, met in enumerate(opinion.values(), 1)
            ]
        },
        deviations=(Deviation(("*, cut", "*, empty"), "The judge is called for a response without content."),),
        note="Each row has a random judge's verdict on each criterion, which both sides use.",
    ),
    "timemaster": Published(
        recipe="timemaster",
        params={"labels": ["healthy", "myopathy", "neuropathy"], "format": {"contains": ["<class>"]}},
        repository="langfengQ/TimeMaster",
        commit="12bed0a2dd307467d4f7956306389267875a79a5",
        file="verl/utils/reward_score/emg_soft.py",
        call="compute_score.__globals__.update(score_extension_with_qwen=lambda text, *_: penalize_if_generic(text, "
        "opinion)) or compute_score(response, reference)[0]",
        stubs=("openai",),
        rows=diagnoses(),
        replies=lambda grade: {
            aspect: {"reason": "", "score": grade}
            for aspect in ("specificity", "appropriateness", "relevance", "depth")
        },
        deviations=(Deviation(("several, *",), "The first of several classes counts."),),
        note="Each row has a random judge's grade, which both sides use.",
    ),
    "qwenlong-l1": Published(
        recipe="qwenlong_l1",
        params={
            "thought": 1,
            "options": {"mode": "two_way", "extraction": [{"regex": r"(?s)\A.*the answer is(.*)\z"}]},
        },
        repository="Tongyi-Zhiwen/QwenLong-L1",
        commit="38d080661ea86972a3e788a240971fca47405fc9",
        file="verl/verl/utils/reward_score/docqa.py",
        call="compute_score.__globals__.update(call_reward_model=lambda *_: float(opinion)) or "
        "compute_score(response, 'the answer is ' + reference, '')['score']",
        env={"LLM_JUDGE": "Y"},
        stubs=("openai", "jsonlines"),
        rows=asked(words(concluded(), several=False, single=True), (True, False)),
        replies=lambda right: {"reason": "", "verdict": "correct" if right else "incorrect"},
        deviations=(
            Deviation(("either, *", "denied, *"), "`A or B` and `not A` contain the reference's words."),
            Deviation(("part, *",), "Any part of the reference counts as right, even one word of four."),
            Deviation(("refused, *",), "The judge is called for a response that declines to answer."),
        ),
        note="Each row has a random judge's verdict, which both sides use.",
    ),
    "rlkv": Published(
        recipe="accuracy",
        params=_BOXED,
        repository="Kurt232/rlkv-areal-v0.3.4.post1",
        commit="6f9933dfb5288693acf331c6ac893c1c175cb4ff",
        file="areal/reward/math_parser.py",
        call="process_results(response, '\\\\boxed{' + reference + '}')[0]",
        stubs=("pebble", "areal", "areal.utils", "areal.utils.logging"),
        rows=mathematics(_think(), bare=False),
        deviations=(_THOUGHT,),
        note="The file is in the submodule of Kurt232/RLKV; its references are boxed.",
    ),
    "ttrl": Published(
        recipe="ttrl",
        params={"ties": "first"},
        repository="PRIME-RL/TTRL",
        commit="3e2cc9376dc7486256f6021b37c4353d0e1abe2b",
        file="verl/verl/utils/reward_score/ttrl/ttt_metrics.py",
        call="test_time_train_metrics(responses, [reference] * len(responses))[0][place]",
        beside=("verl/verl/utils/reward_score/ttrl",),
        roots=("verl",),
        stubs=("latex2sympy2",),
        groups=votes(_think()),
        deviations=(
            Deviation(
                ("none, 1 silent", "*, 2 silent", "*, 3 silent", "*, 4 silent"),
                "A missing answer counts as an answer to agree on, so a group without answers earns full reward.",
            ),
        ),
        note="The published code counts two spellings of a value as two answers when it looks for the majority; in "
        "the rows, each value has one spelling.",
    ),
    "toolrl": Published(
        recipe="toolrl",
        repository="qiancheng0/ToolRL",
        commit="8cee13ec0ca72f0461da372a93a6fd8140dbb840",
        file="verl/utils/reward_score/rlla.py",
        call="compute_score(response, '<think></think>\\n' + ('<tool_call>\\n' + '\\n'.join(json.dumps(one) for one "
        "in reference) + '\\n</tool_call>' if reference else '<response></response>'))[0]",
        env={"EXPERIMENT_NAME": "qwen"},
        reference=lambda calls: [{"name": call["name"], "arguments": call["parameters"]} for call in calls],
        rows=tool_calls(),
        deviations=(
            Deviation(
                ("needless, *", "silent, cut", "silent, empty"),
                "If no call is expected, an unnecessary call or an empty reply costs only the format reward.",
            ),
        ),
        note="The published code pairs calls of one tool greedily; the recipe finds the best pairing. No reference "
        "in the rows calls a tool twice.",
    ),
    "tulu-3-instructions": Published(
        system="tulu-3",
        recipe="accuracy",
        params={"verifier": "instructions"},
        repository="allenai/open-instruct",
        commit="e6c3044aa6201c8bfa4573c1b03142af599e730d",
        file="open_instruct/ground_truth_utils.py",
        call="IFEvalVerifierOld()([], response, reference).score",
        beside=("open_instruct/math_utils.py", "open_instruct/if_functions.py"),
        roots=("",),
        stubs=tuple(name for name in _OPEN_INSTRUCT if name != "open_instruct.if_functions"),
        rows=instructions(),
        deviations=(
            Deviation(("*, cut",), "Unclosed reasoning counts as the answer."),
            Deviation(("*, empty",), "An empty response follows every instruction that forbids something."),
        ),
    ),
    "tulu-3-math": Published(
        system="tulu-3",
        recipe="accuracy",
        repository="allenai/open-instruct",
        commit="e6c3044aa6201c8bfa4573c1b03142af599e730d",
        file="open_instruct/ground_truth_utils.py",
        call="MathVerifier()([], response, reference).score",
        beside=("open_instruct/math_utils.py",),
        roots=("",),
        stubs=_OPEN_INSTRUCT,
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "logic-rl": Published(
        recipe="logic_rl",
        params={"verifier": "puzzle", "options": {"task": "knights_knaves"}, "format": _STRUCTURE},
        repository="Unakar/Logic-RL",
        commit="9d2c457525ec14639e85afa12d49bb16efb053a4",
        file="verl/utils/reward_score/kk.py",
        call="compute_score('Assistant:' + response, {'solution_text_format': "
        "'\\n'.join(f'({i}) {name} is a {role}' for i, (name, role) in enumerate(reference.items(), 1))})",
        rows=knights(_TAGS),
        reference=lambda people: {"solution": people},
        deviations=(Deviation(("denied, *",), "Every `NAME is a ROLE` counts, even in a sentence that denies it."),),
    ),
    "zerosearch": Published(
        recipe="accuracy",
        params={"verifier": "text", "options": {"mode": "f1", "extraction": ["answer_tag"]}},
        repository="Alibaba-NLP/ZeroSearch",
        commit="2d4cdca033ee2c11b1fcfc7fc448b902d7cf8bf5",
        file="verl/utils/reward_score/qa_em.py",
        call="compute_score('<answer>and</answer>' + response, {'target': reference})[1]",
        rows=words(_LOOKED_UP),
        deviations=(_BEGUN, _PARTS),
        note="The first answer is the one in the published prompt.",
    ),
    "ssrl": Published(
        recipe="ssrl",
        params={"format_reward": 0},
        repository="TsinghuaC3I/SSRL",
        commit="3009f2163497ec3f14508bb5e0c60e82536c13f6",
        file="verl/utils/reward_score/search_r1_like_qa_em.py",
        call="compute_score(response, {'target': reference})",
        rows=words(_LOOKED_UP),
        deviations=(_BEGUN,),
        note="The published code has no format reward.",
    ),
    "parallelsearch": Published(
        recipe="parallelsearch",
        repository="Tree-Shu-Zhao/ParallelSearch",
        commit="5da97f4be643cb7333adb0c198598c7a3cffbe24",
        file="verl/utils/reward_score/qa_em_format.py",
        call="compute_score_em('<search>a</search><search>a ## b</search><answer>Beijing</answer><|im_start|>"
        "assistant\\n' + response, {'target': reference}, int(metadata['comparison']), structure_format_score=0.1, "
        "comp_score=0.15, count_score=0.35)",
        rows=noted(
            words(
                searching(
                    lambda rng: rng.randint(0, 4),
                    lambda rng: rng.choice(("{}", "{} ## {}")).format(query(rng), query(rng)),
                )
            ),
            {"comparison": (True, False)},
        ),
        results="information",
        deviations=(_BEGUN,),
        note="The searches before the response are those in the published prompt.",
    ),
    "deepresearcher": Published(
        recipe="deepresearcher",
        repository="GAIR-NLP/DeepResearcher",
        commit="c93be8fd8637c1ac4a438ce730d118afd308f832",
        file="verl/utils/reward_score/format_and_f1.py",
        call="compute_score(response, '<|answer_split|>'.join(reference))",
        rows=words(_TAGS),
        stubs=("openai",),
        deviations=(
            _PARTS,
            _DOUBLED,
            Deviation(
                ("several, *", "first, *"), "Only the first answer is read; here, several answers are a format error."
            ),
        ),
    ),
    "asearcher": Published(
        recipe="asearcher",
        repository="inclusionAI/ASearcher",
        commit="813e804fc3b24b661b4f5625c77343d5daa14a03",
        file="AReaL/ASearcher/utils/rewards.py",
        call="compute_score_f1(response, reference)[1] * all(correct_format_fn(0, turn) for turn in "
        "re.split('(?<=</search>)', response))",
        rows=words(_LOOKED_UP),
        deviations=(_PARTS, _DOUBLED),
        note="The published trainer checks the format of each turn, which ends with its search.",
    ),
    "rlcr": Published(
        recipe="rlcr",
        params={"verifier": "text", "analysis": 1},
        repository="damanimehul/RLCR",
        commit="8904bedf1af827e0a1bcc3c907bf505d88540bd2",
        file="reward_fns.py",
        call=f"accuracy_reward('tabc', {_MESSAGES}, [reference], ['hotpot'])[0] + "
        f"brier_reward('tabc', {_MESSAGES}, [reference], ['hotpot'])[0] - 1",
        rows=words(confident(), single=True),
        deviations=(_LAST,),
        note="The published Brier term is 1 too high for every response in the right format; the call corrects this.",
    ),
    "open-rs": Published(
        recipe="accuracy_plus_format",
        params={"format": {"patterns": [{"regex": "\n</think>\n", "max": 1}]}, "options": {"extraction": ["boxed"]}},
        repository="knoveleng/open-rs",
        commit="2889c474949be4b3b778117a9026c919e517db0a",
        file="src/open_r1/rewards.py",
        call=f"accuracy_reward({_MESSAGES}, ['$' + reference + '$'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("published.utils", "dotenv", "e2b_code_interpreter"),
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "open-rs-cosine": Published(
        system="open-rs",
        recipe="cosine_plus_format",
        params={"format": {"patterns": [{"regex": "\n</think>\n", "max": 1}]}, "options": {"extraction": ["boxed"]}},
        repository="knoveleng/open-rs",
        commit="2889c474949be4b3b778117a9026c919e517db0a",
        file="src/open_r1/rewards.py",
        call="2 * get_cosine_scaled_reward(max_len=3584)("
        f"[[{{'content': response}}]], ['$' + reference + '$'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("published.utils", "dotenv", "e2b_code_interpreter"),
        rows=mathematics(_think()),
        characters=True,
        deviations=(_THOUGHT,),
    ),
    "relift": _math_verify_reward("TheRoadQaQ/ReLIFT", "eb95454f45eb84bf8f8efa3728f4839548426f5f", "relift", "relift"),
    "cls-rl": Published(
        recipe="accuracy_plus_format",
        params={
            "verifier": "text",
            "options": _PLAIN,
            "format": _WHOLE,
        },
        repository="minglllli/CLS-RL",
        commit="0dc42e030af71c47c0c810894eb03585d1833799",
        file="src/cls-rl/src/open_r1/grpo.py",
        call=f"accuracy_reward({_MESSAGES}, [reference])[0] + format_reward({_MESSAGES})[0]",
        stubs=("datasets", "transformers", "trainer", "trl"),
        rows=words(_TAGS, single=True, years=False),
    ),
    "cls-rl-direct": Published(
        system="cls-rl",
        recipe="accuracy",
        params={"verifier": "text", "options": {"mode": "exact", "extraction": ["whole"]}},
        repository="minglllli/CLS-RL",
        commit="0dc42e030af71c47c0c810894eb03585d1833799",
        file="src/cls-rl/src/open_r1/grpo_direct.py",
        call=f"accuracy_reward({_MESSAGES}, [reference])[0]",
        stubs=("datasets", "transformers", "trainer", "trl"),
        rows=words(
            {
                "alone": (6, lambda rng, why, what: what),
                "empty": (1, lambda rng, why, what: ""),
                "reasoned": (2, lambda rng, why, what: f"{why} {what}"),
            },
            skip=("spaced",),
            several=False,
            single=True,
        ),
        note="Here, spaces around the response are ignored.",
    ),
    "med-r1": Published(
        recipe="accuracy_plus_format",
        params={"verifier": "text", "options": _EXACT, "format": _WHOLE},
        repository="Yuxiang-Lai117/Med-R1",
        commit="88d76c73e7d21cd958a2b2dc32eca038be766f8f",
        file="src/r1-v/src/open_r1/grpo_vqa.py",
        call=f"accuracy_reward({_MESSAGES}, ['<answer>' + reference + '</answer>'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("datasets", "transformers", "open_r1", "open_r1.trainer", "trl"),
        rows=letters(_TAGS),
    ),
    "video-rts": Published(
        recipe="accuracy_plus_format",
        params={"verifier": "choice", "format": _START},
        repository="Ziyang412/Video-RTS",
        commit="432fb5e96d436e934b6bff4d9a6b4a8d74657e59",
        file="src/training_files/grpo.py",
        call=f"accuracy_reward({_MESSAGES}, ['<answer>' + reference + '</answer>'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("datasets", "transformers", "open_r1_video", "open_r1_video.trainer", "trl"),
        rows=letters(_TAGS),
        deviations=(
            Deviation(("listed, *",), "The first of several options counts."),
            Deviation(
                ("*, no tags",),
                "Without tags, the first letter of a word is read as an option, such as the C of `Comparing`.",
            ),
        ),
    ),
    "seed-bench-r1": Published(
        recipe="accuracy",
        params={"verifier": "choice"},
        repository="TencentARC/SEED-Bench-R1",
        commit="12e8fccbd9de626a4c1c617c4a48cf2927b77c6e",
        file="src/open_r1_egoplan/grpo.py",
        call=f"accuracy_reward({_MESSAGES}, ['<answer>' + reference + '</answer>'], "
        "[[{'content': [{'text': ''}]}]], "
        "sample_id=[0])[0]",
        stubs=("datasets", "transformers", "open_r1_egoplan", "open_r1_egoplan.trainer", "trl"),
        rows=letters(_TAGS, skip=("small",)),
        deviations=(Deviation(("listed, *",), "The first of several options counts."),),
    ),
    "rl-plus": _math_verify_reward(
        "YihongDong/RL-PLUS", "eb4aa4d4e2d7ce206056f9d7740138bfc94fad8f", "rl_plus", "recipe"
    ),
    "dump": Published(
        recipe="logic_rl",
        params={
            "verifier": "puzzle",
            "options": {"task": "knights_knaves"},
            "format": {**_STRUCTURE, "patterns": [{"regex": r"</answer>\s*(<\|im_end\|>)?\s*\z"}]},
        },
        repository="ZhentingWang/DUMP",
        commit="235e85d46141367c307a47bad085f7417aa41f85",
        file="verl/utils/reward_score/kk.py",
        call="compute_score('Assistant:' + response, {'solution_text_format': "
        "'\\n'.join(f'({i}) {name} is a {role}' for i, (name, role) in enumerate(reference.items(), 1))})['score']",
        rows=knights(_TAGS),
        reference=lambda people: {"solution": people},
        deviations=(Deviation(("denied, *",), "Every `NAME is a ROLE` counts, even in a sentence that denies it."),),
    ),
    "ton": Published(
        recipe="accuracy_plus_format",
        params={"verifier": "text", "options": _EXACT, "format": _WHOLE},
        repository="kokolerk/TON",
        commit="22102c281b004cd1c286c368c578ced5b37c4572",
        file="src/r1-v/src/open_r1/grpo.py",
        call=f"accuracy_reward({_MESSAGES}, ['<answer>' + reference + '</answer>'])[0] + format_reward({_MESSAGES})[0]",
        stubs=("datasets", "transformers", "open_r1", "open_r1.trainer", "trl"),
        rows=letters(_TAGS),
    ),
    "swe-rl": Published(
        recipe="swe_rl",
        repository="facebookresearch/swe-rl",
        commit="5aa10d67f1db07ecd3a20483d63fe2d5029ac9c9",
        file="src/swerl/core/reward.py",
        call="calculate_search_replace_reward(reference['files'], reference['after'], response)[0]",
        rows=patches(),
    ),
    "tina-accuracy": Published(
        system="tina",
        recipe="cosine_plus_format",
        params={
            "options": {"extraction": ["boxed"]},
            "format": {"patterns": [{"regex": "\n</think>\n", "max": 1}]},
            "correct_start": 1,
            "correct_end": 1,
            "wrong_start": 0,
            "wrong_end": 0,
        },
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call=f"2 * accuracy_reward({_MESSAGES}, ['$' + reference + '$'])[0] + format_reward({_MESSAGES})[0]",
        rows=mathematics(_think()),
        characters=True,
        deviations=(_THOUGHT,),
    ),
    "tina-cosine": Published(
        system="tina",
        recipe="cosine_plus_format",
        params={
            "options": {"extraction": ["boxed"]},
            "format": {"patterns": [{"regex": "\n</think>\n", "max": 1}]},
            "max_tokens": 1000,
            "wrong_start": 0,
        },
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call=f"2 * get_cosine_scaled_reward(min_value_wrong=0.0)({_MESSAGES}, ['$' + reference + '$'])[0] + "
        f"format_reward({_MESSAGES})[0]",
        rows=mathematics(_think()),
        characters=True,
        deviations=(_THOUGHT,),
    ),
    "multi-domain-rlvr-knights": Published(
        system="multi-domain-rlvr",
        recipe="accuracy",
        params={"verifier": "puzzle", "options": {"task": "knights_knaves"}},
        repository="Leey21/A-Data-Centric-Study",
        commit="4d6713e70a1498e42548364dec7bec5c1c3c445d",
        file="verl/utils/reward_score/kk.py",
        call="compute_score('Assistant:' + response, {'solution_text_format': "
        "'\\n'.join(f'({i}) {name} is a {role}' for i, (name, role) in enumerate(reference.items(), 1))}, 0.0)",
        rows=knights(_TAGS),
        reference=lambda people: {"solution": people},
        deviations=(Deviation(("denied, *",), "Every `NAME is a ROLE` counts, even in a sentence that denies it."),),
    ),
    "miromind-m1": Published(
        recipe="accuracy_format",
        params={"options": {"extraction": ["boxed"]}, "format": {"patterns": [{"regex": "</think>"}]}},
        repository="MiroMindAsia/MiroMind-M1",
        commit="3ace1ab4810bc617b8be07a9f8c601e57e233861",
        file="verl/utils/reward_score/mathv3.py",
        call="compute_score(response, reference)['score']",
        rows=mathematics(_think()),
    ),
    "echo-chamber": Published(
        recipe="accuracy",
        repository="rosieyzh/openrlhf-pretrain",
        commit="34d239dabd076363b2f666dc6f0d351ec0f5be0b",
        file="openrlhf/utils/math_verifier.py",
        stubs=("jsonlines", "torch"),
        call="verify_llm_answer(response, '$' + reference + '$')",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "light-r1": Published(
        recipe="accuracy_format",
        params={
            "options": {"extraction": ["boxed"], "form": "lowest_terms"},
            "format": {"contains": ["<think>"], "patterns": [{"regex": "</think>", "max": 1}]},
        },
        repository="Qihoo360/Light-R1",
        commit="48c9083b9ca5ae3cecc2a3b7fb82572045447eb0",
        file="deepscaler-release/deepscaler/rewards/math_reward.py",
        beside=(
            "deepscaler-release/deepscaler/rewards",
            "deepscaler-release/deepscaler/globals.py",
            "deepscaler-release/deepscaler/system_prompts.py",
        ),
        roots=("deepscaler-release",),
        stubs=("deepscaler.utils",),
        call="deepscaler_reward_fn(response, reference)",
        rows=mathematics(_think(), reduced=True),
        deviations=(Deviation(("thought, twice",), "A box in a second block of reasoning counts."),),
    ),
    "tina-length": Published(
        system="tina",
        recipe="group_length",
        params={
            "verifier": "open_r1",
            "options": {"format": 0, "accuracy": 2, "options": {"extraction": ["boxed"]}},
            "unit": "characters",
        },
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call="(lambda texts, right: 2 * accuracy_reward(texts, right)[place] + len_reward(texts, right)[place])("
        "[[{'content': each}] for each in responses], ['$' + reference + '$'] * len(responses))",
        groups=agreeing(_think(), 4),
        deviations=(Deviation(("thoughts, *",), "A box in the reasoning counts even if the answer has none."),),
    ),
    "fast-math-r1": Published(
        recipe="group_length",
        params={
            "verifier": "open_r1",
            "options": {
                "options": {"extraction": ["boxed"], "view": "full"},
                "form": {"patterns": [{"regex": r"(?s)oxed\{.*?\}.*?</think>"}]},
                "accuracy": 0,
                "cosine": 1,
                "longest": 48000,
                "correct_end": 0.1,
                "wrong_end": -0.1,
            },
            "unit": "characters",
        },
        repository="analokmaus/kaggle-aimo2-fast-math-r1",
        commit="09bf8ff6c71928da3ca4cca35d0643fc68f1b5e7",
        file="finetune/grpo_rewards.py",
        stubs=("Levenshtein",),
        call="(lambda right: format_reward2([response])[0] + get_cosine_scaled_reward(-1.0, -0.1, 0.1, 1.0, 48000, "
        "True)([response], right)[0] + len_reward(responses, right)[place])([reference] * len(responses))",
        groups=agreeing(_think(), 4),
    ),
    **{
        name: Published(
            system="mt-r1-zero",
            recipe="mt_r1_zero",
            params=params,
            repository="fzp0424/MT-R1-Zero",
            commit="a2e38c47bcc1954be8781ea4fbf85d45db699f1c",
            file="verl/utils/reward_score/mt_score.py",
            call="compute_score.__globals__.update(compute_bleu=lambda pair, right, said: sacrebleu.corpus_bleu("
            f"[said], [[right]], tokenize='13a').score) or compute_score('{metric}', 'continuous', "
            "100 * signals['quality'], 'de-en', 40, 90, 'Assistant:' + response, reference)",
            rows=graded(words(think_answer("<translate>{}</translate>"), several=False, single=True), "quality"),
            note="The published code rounds BLEU to hundredths of a point, which the call omits. Each row has a "
            "random score of the learned metric, which both sides use.",
        )
        for name, metric, params in (
            ("mt-r1-zero-lexical", "BLEU", {}),
            ("mt-r1-zero-semantic", "Model", {"metric": "quality"}),
            ("mt-r1-zero-mixed", "Merge", {"metric": "both"}),
        )
    },
    "multi-domain-rlvr-countdown": Published(
        system="multi-domain-rlvr",
        recipe="accuracy",
        params={"verifier": "puzzle", "options": {"task": "countdown", "extraction": [_LAST_LINE]}},
        repository="Leey21/A-Data-Centric-Study",
        commit="4d6713e70a1498e42548364dec7bec5c1c3c445d",
        file="verl/utils/reward_score/countdown.py",
        call="compute_score('Assistant:' + response, reference, format_score=0.0)",
        rows=countdown(_TAGS),
    ),
    "guru-programs": Published(
        system="guru",
        recipe="code_all",
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/coder1/__init__.py",
        beside=("verl/utils/reward_score/coder1",),
        call="remote_check_stdio.__globals__.update(code_exec=lambda code, stdin: (lambda ended: "
        "(ended.returncode == 0, ended.stdout))(__import__('subprocess').run([__import__('sys').executable, '-c', "
        "code], input=stdin, capture_output=True, text=True))) or compute_score(response, json.dumps(reference), "
        "{})['score']",
        reference=_tested,
        rows=programs(),
        sandbox=True,
        deviations=(Deviation(("right, cut", "spaced, cut"), "A program in a thought that never ends counts."),),
        note="The call runs programs without the published isolation.",
    ),
    "guru-science": Published(
        system="guru",
        recipe="accuracy_format",
        params={"verifier": "judge", "format": {"contains": ["\\boxed{"]}},
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/stem_llm_judge/__init__.py",
        call="compute_score.__globals__.update(_llm_judge=lambda *_, **__: opinion) or "
        "compute_score('', response, reference, {'question': prompt})",
        rows=asked(numbered(mathematics(_think(), reduced=True)), (True, False)),
        replies=lambda told: {"reason": "", "verdict": "correct" if told else "incorrect"},
        note="A judge's opinion is drawn for each row and given to both.",
    ),
    "guru-tables": Published(
        system="guru",
        recipe="accuracy",
        params={"verifier": "answer"},
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/tablereason.py",
        beside=("verl/utils/reward_score/math.py", "verl/utils/reward_score/prime_math", "verl/utils/py_functional.py"),
        roots=("",),
        call="compute_score(response, reference)['score']",
        rows=cells(_think()),
        deviations=(_THOUGHT,),
    ),
    "guru-simulation": Published(
        system="guru",
        recipe="accuracy",
        params={"verifier": "json", "options": {"extraction": "lax", "reference_as": "value"}},
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/codeio.py",
        call="compute_score(response, json.dumps(reference))['score']",
        rows=predicted(),
        deviations=(
            Deviation(("several, *",), "The last of several outputs counts, so that more guesses cost nothing."),
        ),
        note="The published code also takes a value without its key, and one beside further keys, which the rows lack.",
    ),
    "guru-orders": Published(
        system="guru",
        recipe="accuracy",
        params={
            "verifier": "json",
            "options": {"extraction": ["answer_tag"], "reference_as": "value", "text": "normal"},
        },
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/puzzles_dataset.py",
        call="compute_score(response, reference)['score']",
        rows=orders(_TAGS),
        note="The published code also reads lists in other quotes or in none, which the rows do not have.",
    ),
    "guru-zebra": Published(
        system="guru",
        recipe="accuracy",
        params={
            "verifier": "json",
            "options": {
                "extraction": [{"regex": r"<answer>([^\n]*?)</answer>"}],
                "content": "f_beta",
                "extra": "ignore",
                "fields": [{"path": "header", "ignore": True}],
            },
        },
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/zebra_puzzle.py",
        call="compute_score(response, reference)['score']",
        reference=_table,
        rows=games(_TAGS, tables),
        deviations=(
            Deviation(("further row, *",), "Rows beyond the puzzle's cost nothing, and neither do more guesses."),
        ),
        note="The published code also reads Python's quotes, which the rows do not have.",
    ),
    "guru-graphs": Published(
        system="guru",
        recipe="accuracy",
        params={"verifier": "label", "options": {"extraction": [_WORD]}},
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/graph_dataset.py",
        call="compute_score(response, reference)['score']",
        rows=letters(_TAGS),
    ),
    "guru-mathematics": Published(
        system="guru",
        recipe="accuracy",
        params=_REDUCED,
        repository="LLM360/Reasoning360",
        commit="13158341d2a0dfe5f3bb80e7126ff21de0d16676",
        file="verl/utils/reward_score/naive_dapo.py",
        beside=("verl/utils/reward_score/prime_math", "verl/utils/py_functional.py"),
        roots=("",),
        call="compute_score(response, reference, {})['score']",
        rows=mathematics(_think(), reduced=True),
        deviations=(_THOUGHT,),
    ),
    "thor": Published(
        recipe="thor",
        repository="JingMog/THOR",
        commit="eeabad026970a96fb20851a1e89d3a1509590ac2",
        file="verl/utils/reward_score/math_verifier.py",
        beside=("verl/utils/reward_score/eval.py",),
        roots=("",),
        stubs=("jsonlines", "pandas"),
        call="compute_score(response, reference, 'default')",
        rows=mathematics(_looping(), skip=("equal",)),
        note="The published grader recognizes few other spellings of a value, so the rows have none.",
        deviations=(_THOUGHT,),
    ),
    "rose": Published(
        recipe="accuracy",
        params={"options": _AS_WRITTEN},
        repository="ZiqiZhao1/ROSE-rl",
        commit="2142dc79ceabea43e195dc64b54e150c7b228a4b",
        file="verl/utils/reward_score/math.py",
        call="compute_score(response, reference)",
        rows=mathematics(_think()),
        deviations=(_THOUGHT,),
    ),
    "tina-l1-exact": Published(
        system="tina",
        recipe="target_length",
        params={"options": {"extraction": ["boxed"]}},
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call="len_reward_l1_exact([[{'content': response}], [{'content': response + '.'}]], "
        "['$' + reference + '$'] * 2, metadata['target_length'])[0]",
        rows=noted(mathematics(_think()), {"target_length": (100, 400, 1000, 2400, 3600)}),
        characters=True,
        deviations=(_THOUGHT,),
        note="The published function gives a group of equal lengths nothing, so the call adds a second response.",
    ),
    "tina-l1-max": Published(
        system="tina",
        recipe="target_length",
        params={"mode": "max", "options": {"extraction": ["boxed"]}},
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call="len_reward_l1_max([[{'content': response}], [{'content': response + '.'}]], "
        "['$' + reference + '$'] * 2, metadata['target_length'])[0]",
        rows=noted(mathematics(_think()), {"target_length": (100, 400, 1000, 2400, 3600)}),
        characters=True,
        deviations=(_THOUGHT,),
        note="The published function gives a group of equal lengths nothing, so the call adds a second response.",
    ),
    "tina-menu": Published(
        system="tina",
        recipe="group_length",
        params={
            "verifier": "open_r1",
            "options": {
                "options": {"extraction": ["boxed"]},
                "form": {"patterns": [{"regex": "\n</think>\n", "max": 1}]},
                "tags": 1,
                "tag_form": {
                    "patterns": [{"regex": "<think>\n", "max": 1}, {"regex": "\n</think>\n", "max": 1}],
                    "mode": "fraction",
                },
                "steps": 1,
                "step_verifier": "format",
                "step_options": _STEPS,
                "cosine": 1,
                "wrong_start": 0,
                "repetition": 1,
                "loop_options": {"unit": "spaces", "measures": [{"kind": "ngrams", "n": 3}], "view": "full"},
            },
            "unit": "characters",
        },
        repository="shangshang-wang/Tina",
        commit="c6274cd7bd9393f7c20696ffec418d16b19514d9",
        file="tina/post_train_hf/rewards.py",
        call="(lambda texts, right: accuracy_reward(texts, right)[place] + format_reward(texts)[place] + "
        "tag_count_reward(texts)[place] + reasoning_steps_reward(texts)[place] + "
        "get_cosine_scaled_reward(min_value_wrong=0.0)(texts, right)[place] + "
        "get_repetition_penalty_reward(3, -1.0)(texts)[place] + len_reward(texts, right)[place])("
        "[[{'content': each}] for each in responses], ['$' + reference + '$'] * len(responses))",
        groups=agreeing(_think(), 4),
        deviations=(
            Deviation(("thoughts, *",), "A box in the reasoning counts even if the answer has none."),
            Deviation(("*, empty",), "An empty response has no repetition."),
        ),
    ),
    "reasonmaxxer": Published(
        recipe="accuracy",
        params=_BOXED,
        repository="ansz42/ReasonMaxxer",
        commit="dae2a3ac131ecc9fb6aa848de4fc2d3afbac5948",
        file="reasonmaxxer/answer_verification.py",
        beside=("reasonmaxxer/answer_extraction.py",),
        roots=("",),
        call="answers_match(__import__('reasonmaxxer.answer_extraction').answer_extraction.extract_boxed_answer("
        "response), reference)",
        rows=mathematics(_think(), skip=("equal",)),
        deviations=(_THOUGHT,),
        note="The published grader cannot read `74x + x^2`, so each value in the rows has one spelling.",
    ),
    "agentfly-questions": Published(
        system="agentfly",
        recipe="accuracy",
        params={"verifier": "text", "options": {"mode": "f1", "extraction": ["whole"]}},
        repository="Agent-One-Lab/AgentFly",
        commit="1256586b1109ba8e0dc0f179f8515b4567d09df4",
        file="src/agentfly/rewards/qa_reward.py",
        stubs=("published.reward_base",),
        call="qa_f1_reward(response, reference, [])['reward']",
        rows=words(
            {
                "alone": (8, lambda rng, why, what: what),
                "reasoned": (2, lambda rng, why, what: f"{why} {what}"),
                "empty": (1, lambda rng, why, what: ""),
            },
            several=False,
            single=True,
        ),
        deviations=(_PARTS,),
    ),
    "agentfly-mathematics": Published(
        system="agentfly",
        recipe="accuracy",
        params={"options": {"extraction": ["boxed", "whole"]}},
        repository="Agent-One-Lab/AgentFly",
        commit="1256586b1109ba8e0dc0f179f8515b4567d09df4",
        file="src/agentfly/rewards/math_reward.py",
        stubs=("published.reward_base",),
        call="math_equal_reward(response, reference)",
        rows=mathematics(_think(), bare=False),
        deviations=(_THOUGHT,),
    ),
    "verltool-search": Published(
        system="verltool",
        recipe="accuracy",
        params={"verifier": "text", "options": {"extraction": ["answer_tag"]}},
        repository="TIGER-AI-Lab/verl-tool",
        commit="980962b4b8af660eb96421df9ecf603a2f790570",
        file="verl_tool/workers/reward_manager/search_r1_qa_em.py",
        stubs=_VERL_TOOL,
        call="compute_score(response, {'target': reference})",
        rows=words(_LOOKED_UP),
        deviations=(_BEGUN,),
    ),
    "verltool-mathematics": Published(
        system="verltool",
        recipe="three_outcomes",
        params={"readable": "any", "wrong": -1, "unreadable": -1, "options": {"extraction": ["boxed"]}},
        repository="TIGER-AI-Lab/verl-tool",
        commit="980962b4b8af660eb96421df9ecf603a2f790570",
        file="verl_tool/workers/reward_manager/reward_score/torl_math.py",
        beside=("verl_tool/workers/reward_manager/reward_score/torl_eval.py",),
        stubs=("jsonlines", "pandas"),
        call="compute_score(response, reference)",
        rows=mathematics(_think(), skip=("equal",)),
        deviations=(_THOUGHT,),
        note="The published grader recognizes few other spellings of a value, so the rows have none.",
    ),
    "think2sql": Published(
        recipe="think2sql",
        params={"order": "no"},
        repository="spapicchio/Think2SQL",
        commit="e099208fe6cd1371ddf43429aa0c3e340181ff38",
        file="src/think2sql/grpo/rewards/rewards_answer_content.py",
        beside=("src/think2sql/grpo/rewards", "src/think2sql/logger.py"),
        roots=("src",),
        call="(__import__('os').path.exists('cities') or vars(__import__('importlib').import_module("
        "'think2sql.grpo.rewards.utils')).update(SqliteCache=lambda: None) or __import__('os').mkdir('cities') or "
        "__import__('sqlite3').connect('cities/cities.sqlite').executescript(reference['database'])) and "
        "0.95 * reward_small_update([[{'content': response}]], [reference['sql']], ['cities'], [5.0], "
        f"evaluator={_UNROUNDED}, relative_db_base_path='.', metric='cp_cr_tc')[0] "
        "+ 0.05 * format_reward([[{'content': response}]])[0]",
        reference=lambda known: {"database": {"script": known["database"]}, "sql": known["sql"]},
        rows=queries(),
        deviations=(
            Deviation(("doubled, *",), "Sets of cells reward a right value that is returned any number of times."),
            Deviation(("*, several",), "The last of several answers counts, and the format is accepted."),
            Deviation(("*, empty", "no query, *"), "A response without a query earns the reward of a query that runs."),
        ),
        note="The metrics are from the package nl2sqlevaluator 1.3.4, which rounds them to three places; here they "
        "are compared without rounding. The two parts have the weights in scripts/grpo.sh.",
    ),
    "verltool-databases": Published(
        system="verltool",
        recipe="skyrl_sql",
        params={"order": "no"},
        repository="TIGER-AI-Lab/verl-tool",
        commit="980962b4b8af660eb96421df9ecf603a2f790570",
        file="verl_tool/workers/reward_manager/sqlcoder.py",
        beside=("verl_tool/servers/tools/utils/sql_executor.py",),
        roots=("",),
        stubs=(*_VERL_TOOL, "pandas", "verl.workers.reward_manager", "verl.protocol"),
        call="(os.path.exists('cities') or __import__('sqlite3').connect('cities').executescript("
        "reference['database'])) and (lambda query, form: -1.0 if not form else sql_score_func(query, {'db_path': "
        "'cities', 'gold_sql': reference['sql']})[0] if query else 0.0)(*verify_format_and_extract(response, "
        "re.split('(?<=</observation>)\\\\n', response)))",
        reference=lambda known: {"database": {"script": known["database"]}, "sql": known["sql"]},
        rows=conversations(),
    ),
    **{
        name: Published(
            system="format-length-surrogate",
            recipe="format_length",
            params=params,
            repository="insightLLM/rl-without-gt",
            commit="c1e2077c6b1003f1b9e0e998fc34b2edf74d4218",
            file="rl/verl/lib/src/rewards/math_reward.py",
            beside=("rl/verl/lib/src/rewards", "rl/verl/lib/src/eval/evaluator.py"),
            roots=("rl/verl/lib",),
            stubs=("math_evaluation",),
            call=call,
            rows=mathematics(_think(), length=True),
            deviations=(
                Deviation(
                    ("repeated, *", "several, *"), "The last of several boxes counts, so additional ones cost nothing."
                ),
                Deviation(("corrected, cut", "thought, cut"), "A box in unclosed reasoning is an answer."),
            ),
        )
        for name, params, call in (
            (
                "format-length",
                {"thought": 0.5},
                "(lambda box, length: (0.5 * soft_format_reward_func_v2(response) + 0.5 * box + length) if box > 0 "
                "else min(0.0, length))(answer_format_reward_func(response), "
                "length_reward_func_v3(min(token_count, 3072), 0.5, 3072))",
            ),
            (
                "format-alone",
                {"thought": 0.5, "format_steps": 1000000000},
                "0.5 * (soft_format_reward_func_v2(response) + answer_format_reward_func(response))",
            ),
        )
    },
    "rlvr-causal": Published(
        recipe="rlvr_causal",
        repository="zhichul/rlcausal",
        commit="d9d613246e3b3b4f459870f476703af9b4b0426a",
        file="training/rlvr/score_strict.py",
        call="compute_score('', response, reference)['reward']",
        rows=distributions(),
    ),
    "klear-reasoner-programs": Published(
        system="klear-reasoner",
        recipe="klear_reasoner",
        params={"verifier": "code", "options": {"scoring": "fraction"}},
        repository="suu990901/KlearReasoner",
        commit="5d2d0b8c5cde8527bfcd681333527562408c961e",
        file="verl/utils/reward_score/code_r1_compute.py",
        beside=("verl/utils/reward_score/code_r1_reward", "verl/utils/reward_score/reward_config.py"),
        call="execute_code.__globals__.update(code_executor=lambda code, stdin, timeout: (lambda ended: "
        "(ended.returncode == 0, ended.stdout))(__import__('subprocess').run([__import__('sys').executable, '-c', "
        "code], input=stdin, capture_output=True, text=True))) or compute_score(response, reference, is_longcot=True)",
        reference=_tested,
        rows=programs(),
        sandbox=True,
        note="The call runs programs without the published isolation.",
    ),
    "multi-domain-rlvr-programs": Published(
        system="multi-domain-rlvr",
        recipe="code_format",
        params={"format": {"patterns": [{"regex": r"(?s)<think>.*</think>.*<answer>.*</answer>\s*\z"}]}},
        repository="Leey21/A-Data-Centric-Study",
        commit="4d6713e70a1498e42548364dec7bec5c1c3c445d",
        file="verl/utils/reward_score/coder1/__init__.py",
        beside=("verl/utils/reward_score/coder1",),
        call="remote_check_stdio.__globals__.update(code_exec=lambda code, stdin: (lambda ended: "
        "(ended.returncode == 0, ended.stdout))(__import__('subprocess').run([__import__('sys').executable, '-c', "
        "code], input=stdin, capture_output=True, text=True))) or compute_score(response, json.dumps(reference), "
        "{'prompt': ''})",
        reference=_tested,
        rows=programs(tags=True),
        sandbox=True,
        note="The call runs programs without the published isolation.",
    ),
    "critique-coder": Published(
        recipe="accuracy",
        params={
            "verifier": "label",
            "options": {
                "labels": [{"name": "T", "aliases": ["True"]}, {"name": "F", "aliases": ["False"]}],
                "extraction": [{"regex": r"\\conclusion\{(.*?)\}"}],
            },
        },
        repository="TIGER-AI-Lab/Critique-Coder",
        commit="662e89f4eec4b479ebd604bc9609e5fd7aa02ab2",
        file="verl_tool/workers/reward_manager/crl.py",
        stubs=_CRITIQUE_CODER,
        call="CRLRewardManager.get_cft_data_score(None, [0], [response], [''], [''], [reference == 'T'])[0]['score']",
        rows=conclusions(),
    ),
    "open-agentrl": Published(
        recipe="soft_overlong",
        params={"verifier": "text", "options": {**_PLAIN, "extraction": ["boxed"]}, "call_bonus": 0.1},
        repository="Gen-Verse/Open-AgentRL",
        commit="1fe5dbd29c63aa822f5f02fd1b7d943d346fb15e",
        file="recipe/demystify/reward.py",
        beside=("verl/utils/reward_score/math_dapo.py",),
        roots=("verl/utils/reward_score",),
        stubs=_AGENT_RL,
        call="compute_score.__globals__.update(math_dapo=__import__('math_dapo')) or compute_score('math', response, "
        "reference, {'num_turns': 2 + 2 * metadata['calls']})['score'] + min(-(token_count - 16384) / 4096, 0)",
        rows=counted(noted(mathematics(_think(), display=False), {"calls": (0, 0, 1, 2, 3, 4, 5, 9)}), 20480),
        deviations=(_THOUGHT,),
        note="The length penalty is in another file of the repository; the call repeats its formula.",
    ),
    **{
        name: Published(
            system="autothink",
            recipe="autothink",
            params=params,
            **_AUTOTHINK,
            call="RewardManager._reweight_rewards.__globals__.update(torch=type('Arrays', (), {'float32': None, "
            "'tensor': staticmethod(lambda values, dtype: __import__('numpy').array(values, dtype='float64'))})) or "
            f"(lambda rewards, right, thought: RewardManager(None, 0, False, 0, 0, {balance})._reweight_rewards("
            "rewards, [0] * len(rewards), range(len(rewards)), thought, right)[place])(*map(list, zip(*("
            "deepscaler_reward_fn(text, known) for text, known in zip(responses, references)))))",
            groups=batched(mathematics(_choosing(), reduced=True), _thinks, "think_rate", 8),
            deviations=(_NO_THOUGHT,),
            note="The call computes in double precision.",
        )
        for name, params, balance in (
            ("autothink-balanced", {"balance": 0.5}, 0.5),
            ("autothink-free", {}, 1.0),
        )
    },
    "rlpr": Published(
        recipe="rlpr",
        params={"source": "signals"},
        repository="OpenBMB/RLPR",
        commit="8490fca326c625a1697a09ac1a1476a4f6f76325",
        file="verl/workers/reward_manager/prob.py",
        beside=("verl/utils/reward_score/repetition.py",),
        roots=("verl/utils/reward_score",),
        stubs=("torch", "verl", "verl.utils", "verl.utils.reward_score"),
        call="ProbRewardManager.compute_scoreB.__globals__.update(torch=type('Arrays', (), {'float32': None, "
        "'bfloat16': None, 'mean': np.mean, 'exp': np.exp, 'tensor': staticmethod(lambda value, dtype: "
        "np.float64(value))})) or (lambda manager, array, begun: (lambda reward: reward + (reward != 0) * "
        "__import__('repetition').detect_repetition_with_hash(response, 10, 10))(0.9 * manager.shaping_function("
        "manager.compute_scoreB(np.array(signals['reference_logprobs']).view(array), "
        "np.full(len(signals['reference_logprobs']), begun).view(array)) - manager.compute_scoreB("
        "np.array(signals['baseline_logprobs']).view(array), "
        "np.full(len(signals['baseline_logprobs']), True).view(array))) + 0.1 * format_reward(response)))("
        "ProbRewardManager(None, 0, 'mean_exp_log_softmax', 'threshold_0'), "
        "type('Array', (np.ndarray,), {'to': lambda self, dtype: self, 'bool': lambda self: self.astype(bool)}), "
        "[response.count(tag) for tag in ('<think>', '</think>', '<answer>')] == [1, 1, 1] and "
        "bool(re.search('(?s)<think>.*</think>.*<answer>', response)))",
        groups=likely(words(_answering(), several=False), 4),
        deviations=(
            Deviation(("*, looping, unclosed",), "A loop has no penalty if the response earns nothing without it."),
        ),
        note="Each row has random log-probabilities, which both sides use; the call computes in double precision. "
        "The trainer looks for an answer that the reference can replace, and penalizes loops; the call repeats "
        "both.",
    ),
    "generalpoints-virl": Published(
        recipe="general_points",
        repository="LeslieTrue/SFTvsRL",
        commit="5a6ea5509d4abe8fba855386f370860bc408c798",
        file="utils_rl.py",
        beside=("utils_general.py",),
        roots=("",),
        stubs=("box", "numpy", "torch", "tqdm", "yaml"),
        call="step_rewards(reference, re_match(response, 'formula').split('=')[0], [], 24).reward",
        reference=lambda numbers: {"numbers": numbers},
        rows=cards(),
        deviations=(
            Deviation(
                ("broken off, *", "blank, *"),
                "An empty or truncated formula costs less than a mistake in its form; one that is the start of a "
                "solution earns 1.",
            ),
        ),
        note="The published penalties for several mistakes in the form of a formula add up; the rows have at most "
        "one. They have no division, because the published code computes in floating point.",
    ),
    "reasonrank": Published(
        recipe="reasonrank",
        repository="8421BCD/ReasonRank",
        commit="06721fd6ef3766c0e00d59a87d2696a0b4b0c17a",
        file="verl/verl/utils/reward_score/ranking.py",
        beside=("listwise_prompt_r1.toml",),
        stubs=("toml",),
        call="compute_score.__globals__.update(pattern=__import__('tomllib').load(open('listwise_prompt_r1.toml', "
        "'rb'))['pattern']) or compute_score(response, str(reference['order']), [str(number) for number in "
        "sorted(reference['order'])], None, [str(number) for number in reference['relevant']])",
        reference=lambda known: {**known, "catalogue": sorted(known["order"])},
        rows=rankings(_TAGS),
        deviations=(
            Deviation(("foreign, *",), "A number that belongs to no passage makes room for the passages below it."),
            Deviation(("several, *", "first, *"), "The first of several lists counts."),
        ),
    ),
    "urial-just-eval": Published(
        recipe="urial_just_eval",
        repository="Re-Align/just-eval",
        commit="3e1a1265e210be1d6ad71624c91da3efc36493ca",
        file="just_eval/evaluate.py",
        beside=("just_eval",),
        stubs=("openai", "published.utils"),
        call="(lambda told: (sum(value for key, value in told.items() if key.endswith('_mean')) / 5 - 1) / 4)(report(["
        "{'parsed_result': {aspect: {'reason': '', 'score': str(grade)} for aspect, grade in opinion.items()}, "
        "'output_cand': response}], 'score_multi', type('Arguments', (), {'eval_output_file': ''})))",
        rows=grades(("helpfulness", "clarity", "factuality", "depth", "engagement")),
        replies=lambda opinion: {aspect: {"reason": "", "score": grade} for aspect, grade in opinion.items()},
        deviations=(Deviation(("*, cut", "*, empty"), "The judge is called for a response without content."),),
        note="Each row has random judge's grades from 1 to 5, which both sides use. The published code averages "
        "each aspect; the call averages the aspects and maps 1 to 5 to 0 to 1.",
    ),
    "supernova": Published(
        recipe="supernova",
        repository="asuvarna31/supernova",
        commit="bb0d6c4c46195edbfabd09931b6fc6d6d7b55f99",
        file="trl_scripts/accuracy_reward_gr.py",
        call=f"accuracy_reward_gr_with_length({_MESSAGES}, [reference])[0]",
        rows=words(_answered(), skip=("spaced",), several=False, single=True),
        note="The published code also equates two spellings of a number, which the rows do not have, and is "
        "sensitive to spaces in a box.",
    ),
    "rank-grpo": Published(
        recipe="accuracy",
        params={"verifier": "retrieval", "options": {"metrics": "ndcg@20"}},
        repository="yaochenzhu/Rank-GRPO",
        commit="0808d82c0807396c07b4f4815a6f9bd9c4f03ae8",
        file="libs/reward_funcs.py",
        beside=("libs/utils.py", "libs/metrics_align.py"),
        roots=("",),
        stubs=("regex", "editdistance", "transformers"),
        call="(lambda film: reward_func_log_decay([[{'content': response}]], [[film(each) for each in "
        "reference['right']]], [[]], 20, {film(each) for each in reference['films']})[0][0])(lambda text: "
        "(text[:-7], int(text[-5:-1]))) / _discounts(20)[:len(reference['right'])].sum()",
        reference=lambda known: known["right"],
        rows=recommendations(),
        note="The published reward of the first rank is the discounted gain of the list. The call divides it by "
        "the best possible gain, which is the same for a whole group. The other ranks are the verdict's steps. The "
        "published code also accepts a year that is off by up to two; the rows have none.",
    ),
    "rlcf-checklists": Published(
        recipe="rlcf_checklists",
        repository="viswavi/RLCF",
        commit="cd87ddee286633f96f8185fcedb0a99065fce4d8",
        file="data/construct_offline_preference_data.py",
        stubs=(
            *("datasets", "jsonlines", "litellm", "numpy", "prompt", "requests", "sglang", "torch", "tqdm"),
            *("transformers", "vllm"),
        ),
        call="(lambda space, prompts: sum(item['weight'] * score for item, score in zip(reference, query_model("
        "prompts, [('', response, response, '')] * len(prompts), type('Judge', (LLM,), {'generate': lambda self, "
        "asked, _: [space(outputs=[space(text=str(number)) for number in next(numbers for text, numbers in "
        "opinion.items() if text in prompt)]) for prompt in asked]})(), lambda prompt, truncation: "
        "{'input_ids': []}))) / sum(item['weight'] for item in reference) / 100)(__import__('types').SimpleNamespace, "
        "[create_judgment_prompt(response, 'What now?', item['text'], False) for item in reference])",
        rows=checklists(25),
        replies=lambda opinion: [
            Rule((text,), [{"items": [{"number": 1, "reason": "", "score": number}]} for number in numbers])
            for text, numbers in opinion.items()
        ],
        deviations=(Deviation(("*, cut", "*, empty"), "The judge is called for a response without content."),),
        note="Each row has random judge's verdicts, which both sides use. The rows have no items for programs; "
        "another published file averages the scores of those with the judge's.",
    ),
    "behavior-priming": Published(
        recipe="behavior_priming",
        repository="cxcscmu/verl-agent-deepresearch",
        commit="f00f9c0d5ee3e07e38dc1f9b84d21f2687ca43e6",
        file="agent_system/environments/env_package/deepresearch/deepresearch/reward/evaluation/afm_eval.py",
        beside=("agent_system/environments/env_package/deepresearch/projection.py",),
        roots=("agent_system/environments/env_package/deepresearch",),
        stubs=("dotenv", "openai", "torch"),
        call="evaluate_afm_answer.__globals__.update(retry_predict=lambda *_, **__: json.dumps({'judgement': 'correct' "
        "if opinion else 'incorrect'})) or (lambda action: evaluate_afm_answer('Who built it?', action[8:-9], "
        "reference) if action and action.startswith('<answer>') else 0)(__import__('projection')._split_response("
        "response)[0])",
        rows=numbered(
            asked(words(_TAGS, single=True, years=False), (True, False), sure=("right", "spelled", "spaced"))
        ),
        replies=lambda right: {"reason": "", "verdict": "correct" if right else "incorrect"},
        deviations=(
            Deviation(("refused, *", "blank, *"), "The judge is called for an answer without content."),
            Deviation(("either, *",), "The judge is called for `A or B`."),
        ),
        note="Each row has a random judge's verdict, which both sides use. For the reference's own words it is "
        "right; here, no judge is called for them. The published code rewards the last turn of a trajectory; each "
        "row is such a turn.",
    ),
    "autothink-length": Published(
        system="autothink",
        recipe="autothink",
        params={"rate": 0.05},
        **_AUTOTHINK,
        call=f"{_ARRAYS} or (lambda rewards, right, thought: RewardManager(None, 0, False, 0.05, 0.05, 1.0)."
        "_reweight_rewards(rewards, list(map(len, responses)), [0] * len(rewards), thought, right)[place])("
        "*map(list, zip(*(deepscaler_reward_fn(text, known) for text, known in zip(responses, references)))))",
        groups=standing(
            mathematics(_choosing(), skip=("equal", "several", "thought", "bare", "corrected"), reduced=True),
            lambda row: row.label.startswith(("right", "repeated")) and "</think>" in row.response,
            "length_z",
            8,
        ),
        deviations=(_NO_THOUGHT,),
        note="The call computes in double precision, and measures lengths in characters.",
    ),
    **{
        name: Published(
            system="temporal-r1",
            recipe="temporal_r1",
            params=params,
            repository="appletea233/Temporal-R1",
            commit="f364f6c837db5b07c6cad17dbfb99a888bb4d151",
            file=f"verl/utils/reward_score/{file}.py",
            call=call,
            rows=rows,
            deviations=deviations,
        )
        for name, params, file, call, rows, deviations in (
            (
                "temporal-r1-grounding",
                {},
                "tvg",
                "tvg_compute_score(response, [each / length for each in reference], length)",
                intervals(_TAGS, 60.0),
                (),
            ),
            (
                "temporal-r1-questions",
                {
                    "verifier": "math",
                    "options": {
                        "extraction": [{"regex": r"(?s)\A.*?<answer>([^\n]*?)</answer>"}, "whole"],
                        "form": "lowest_terms",
                        "view": "full",
                    },
                    "form": {"patterns": [{"regex": r"(?s)\A<think>.*?</think>\s*<answer>.*?</answer>\z"}]},
                },
                "r1v",
                "r1v_compute_score(response, reference)",
                values(_TAGS),
                (),
            ),
        )
    },
    **{
        name: Published(
            system="rlsp",
            recipe="rlsp",
            params=params,
            repository="GuanghaoYe/Emergence-of-Thinking",
            commit="e7feea7d39e2a8ec8cdee396f9ee73d6502e5017",
            file="openrlhf/cli/orm_server.py",
            beside=("evaluation/grader.py", "evaluation/parser.py", "evaluation/utils.py", "evaluation/examples.py"),
            roots=("",),
            stubs=("datasets", "fastapi", "pydantic", "tqdm", "openrlhf", "openrlhf.cli", "openrlhf.cli.gpt_reward"),
            call="_compute_single_reward.__globals__.update(math_equal=lambda known, told, timeout: "
            "__import__('evaluation.grader').grader.math_equal(known, told), args=type('Arguments', (), {"
            f"'model_name': 'qwen', 'length_penalty': 20.0, 'use_gpt': {bool(params.get('effort', 1))}}}), "
            "ground_truth_dict={'q': reference}, tokenizer=lambda text: {'input_ids': range(token_count)}, "
            "grade_cot=lambda *_, **__: opinion) or _compute_single_reward('<|im_start|>user\\nProblem: q<|im_end|>\\n"
            "<|im_start|>assistant\\n' + response)",
            rows=asked(posed(counted(mathematics(_think()), 4000, least=20), "q"), (0.0, 0.2, 0.5, 0.75, 1.0)),
            replies=lambda grade: {"reason": "", "score": grade},
            deviations=deviations,
            note="Each row has a random number of tokens before the box and a random judge's grade, which both "
            "sides use. No count is below 20, where our brevity penalty ends.",
        )
        for name, params, deviations in (
            ("rlsp-length", {"effort": 0}, (_THOUGHT,)),
            (
                "rlsp-effort",
                {},
                (
                    _THOUGHT,
                    Deviation(
                        ("none, *", "*, cut", "*, empty"), "The judge grades the effort even if there is no answer."
                    ),
                ),
            ),
        )
    },
    "critique-coder-programs": Published(
        system="critique-coder",
        recipe="code_fraction",
        repository="TIGER-AI-Lab/Critique-Coder",
        commit="662e89f4eec4b479ebd604bc9609e5fd7aa02ab2",
        file="verl_tool/workers/reward_manager/crl.py",
        beside=("verl/verl/utils/reward_score/prime_code",),
        roots=("verl/verl/utils/reward_score",),
        stubs=(*_CRITIQUE_CODER, "pyext"),
        call="(lambda prime: prime.compute_score.__globals__.update(apps_check_correctness=lambda in_outs, generation, "
        "timeout, debug: (lambda told: (told[0], [told[1]]))(prime.utils.run_test(json.loads(json.dumps("
        "in_outs)), generation, debug, "
        "timeout))) or prime.testing_util.run_test.__globals__.update(reliability_guard=lambda: None, "
        "RuntimeModule=type('RuntimeModule', (), {'from_string': staticmethod(lambda name, _, code: (lambda made: exec("
        "code, vars(made)) or made)("
        "type(json)(name)))})) or prime_code_compute_score_async.__globals__.update(prime_code_compute_score="
        "prime.compute_score))(__import__('prime_code')) or prime_code_compute_score_async('taco', parse_code("
        "re.sub('<think>(.|\\n)*?</think>', '', response), 'all_in_last_turn'), json.dumps(reference))",
        reference=_tested,
        rows=programs(),
        sandbox=True,
        deviations=(
            Deviation(("crash, *",), "A program that fails passes if it printed the expected output."),
            Deviation(("right, cut", "some, cut", "spaced, cut"), "A program in unclosed reasoning counts."),
        ),
        note="The call runs programs without the published isolation.",
    ),
    "echo-chamber-programs": Published(
        system="echo-chamber",
        recipe="code_all",
        params={"extraction": "lax"},
        repository="rosieyzh/openrlhf-pretrain",
        commit="34d239dabd076363b2f666dc6f0d351ec0f5be0b",
        file="openrlhf/utils/math_verifier.py",
        stubs=("jsonlines", "torch", "tqdm"),
        call="float(verify_llm_answer(response, str(reference)))",
        reference=lambda value: {
            "language": "python",
            "tests": [{"type": "call", "target": "simple_math_problem", "args": [], "returns": value}],
        },
        rows=functions(),
        sandbox=True,
        note="The published code finds no function in the first line; the rows have none there. It also runs code "
        "in `llm-code` tags, which the recipe does not read.",
    ),
    "multi-domain-rlvr-mathematics": Published(
        system="multi-domain-rlvr",
        recipe="accuracy",
        params={"options": {"extraction": [{"regex": r"<answer>[^\n]*(\\boxed\{[^\n]*\})[^\n]*?</answer>"}]}},
        repository="Leey21/A-Data-Centric-Study",
        commit="4d6713e70a1498e42548364dec7bec5c1c3c445d",
        file="verl/utils/reward_score/hf_math_verify.py",
        beside=("verl/utils/reward_score/qwen_math_eval_toolkit",),
        stubs=("latex2sympy2",),
        call="compute_score.__globals__.update(hf_math_equal_subprocess=hf_verify_with_try) or "
        "compute_score(response, reference)",
        rows=values(think_answer(r"<answer> \boxed{{{}}} </answer>"), skip=("boxed", "several", "first")),
        note="The call grades without the published processes. The rows' answers are boxed; without a box, the "
        "published code takes the last number of the answer.",
    ),
    "multi-domain-rlvr-zebra": Published(
        system="multi-domain-rlvr",
        recipe="accuracy",
        params={
            "verifier": "puzzle",
            "options": {
                "task": "zebra",
                "credit": "partial",
                "extraction": [{"regex": r'(\{\s*"solution":\s*\{(?:[^{}]|\{[^{}]*\})*\}\s*\})'}],
            },
        },
        repository="Leey21/A-Data-Centric-Study",
        commit="4d6713e70a1498e42548364dec7bec5c1c3c445d",
        file="verl/utils/reward_score/zebra.py",
        call="compute_score(response, json.dumps(reference), format_score=0.0)",
        reference=lambda solution: {"solution": solution},
        rows=houses(_TAGS),
        deviations=(
            Deviation(("turned, *",), "Houses are matched by their first value, so their order does not matter."),
            Deviation(
                ("some, *", "same, *", "left out, *"),
                "A table that says the same about every house earns partial credit.",
            ),
        ),
    ),
    "open-agentrl-programs": Published(
        system="open-agentrl",
        recipe="soft_overlong",
        params={
            "verifier": "code",
            "options": {"scoring": "fraction", "syntax_errors": "compile_error"},
            "call_bonus": 0.1,
            "graded": True,
        },
        repository="Gen-Verse/Open-AgentRL",
        commit="1fe5dbd29c63aa822f5f02fd1b7d943d346fb15e",
        file="recipe/demystify/reward.py",
        beside=("verl/utils/reward_score/livecodebench/code_math.py", "verl/utils/reward_score/sandbox_fusion"),
        roots=("verl/utils/reward_score", "verl/utils/reward_score/livecodebench"),
        stubs=(*_AGENT_RL, *_AGENT_RL_CODE),
        call="(lambda code, sandbox: sandbox._process_single_case.__globals__.update(call_sandbox_api=lambda code, "
        "stdin, **_: (lambda ended: ({'status': 'Failed' if ended.returncode else 'Success', 'run_result': {'status': "
        "'Finished', 'return_code': ended.returncode, 'stdout': ended.stdout}}, None))(__import__('subprocess').run(["
        "__import__('sys').executable, '-c', code], input=stdin, capture_output=True, text=True))) or "
        "code.compute_score.__globals__.update(check_correctness=sandbox.check_correctness) or "
        "compute_score.__globals__.update(code_math=code))(__import__('code_math'), "
        "__import__('sandbox_fusion.utils').utils) or compute_score('code', response, json.dumps(reference), "
        "{'num_turns': 2 + 2 * metadata['calls']})['score'] + min(-(token_count - 16384) / 4096, 0)",
        reference=_tested,
        rows=counted(noted(programs(spaces=False), {"calls": (0, 0, 1, 2, 3, 4, 5, 9)}), 20480),
        sandbox=True,
        deviations=(Deviation(("*, cut",), "A program in unclosed reasoning counts, or earns more than no program."),),
        note="The call runs programs without the published sandbox. Its comparison of outputs is sensitive to "
        "white space at the ends of lines; the rows have none.",
    ),
    **{
        name: Published(
            system="arm2",
            recipe="arm2",
            params=params,
            repository="TEAM-ARM/arm2",
            commit="5634999dc30cc890dbf552a35e210726da68c084",
            file="verl/verl/trainer/ppo/core_algos.py",
            beside=tuple(f"verl/verl/utils/reward_score/{each}.py" for each in ("code_exec_utils", "csqa", "gsm8k")),
            roots=("verl/verl/utils",),
            stubs=("torch", "verl", "verl.utils", "verl.utils.torch_functional"),
            call=f"{_ADA_GRPO}.__globals__.update(torch=type('Arrays', (), {{"
            "'no_grad': __import__('contextlib').nullcontext, 'exp': staticmethod(math.exp), 'tensor': staticmethod("
            "lambda value, **_: value), 'mean': staticmethod(lambda _: 0.0), 'std': staticmethod(lambda _: 1.0)})) or "
            f"(lambda score: {_ADA_GRPO}(np.array([score(text, known, True, './samples/rows.jsonl') for text, known in "
            "zip(responses, references)], dtype='float64').view(type('Array', (np.ndarray,), {'sum': lambda self, dim: "
            "self, 'unsqueeze': lambda self, _: self, 'tile': lambda self, _: self, 'device': None})), 1, [0] * "
            "len(responses), responses, np.array(list(map(len, responses))), 0, 1, len(responses), 0.0)[0][place])("
            f"__import__('reward_score.{file}').{file}.compute_score)",
            groups=grouped(rows, 8),
            characters=True,
            deviations=deviations,
            note="The call computes in double precision, measures lengths in characters, and omits the trainer's "
            "comparison of a reward with the group's.",
        )
        for name, params, file, rows, deviations in (
            (
                "arm2-mathematics",
                {},
                "gsm8k",
                numbers(reasoned()),
                (
                    Deviation(
                        ("*, twice",), "Several answers count as one text, and the last number in it is the answer."
                    ),
                    Deviation(("signed, *",), "The published grader does not read numbers with a plus sign."),
                ),
            ),
            (
                "arm2-choices",
                {"verifier": "text", "options": {"mode": "exact", "extraction": [{"tag": "ANSWER"}]}},
                "csqa",
                letters(reasoned()),
                (),
            ),
        )
    },
    **{
        f"backtracking-study-{name}": Published(
            system="backtracking-study",
            recipe="accuracy_format",
            params={"verifier": verifier, "options": options, "format": _THINKS_ONCE, "format_reward": 0.1},
            repository="jchy20/how-much-backtrack",
            commit="df310b4fe7e55a49f2221992117f09466e11a886",
            file=f"verl/utils/reward_score/{file}.py",
            call=f"compute_score('Assistant:' + response, {known})",
            reference=(lambda known: " ".join(map(str, known))) if name == "arc" else (lambda known: known),
            rows=rows,
            deviations=deviations,
            note=note,
        )
        for name, verifier, options, file, known, rows, deviations, note in (
            (
                "countdown",
                "puzzle",
                {"task": "countdown", "extraction": ["answer_tag"]},
                "countdown",
                "reference",
                countdown(_TAGS),
                (),
                "",
            ),
            (
                "sudoku",
                "puzzle",
                {"task": "sudoku", "extraction": [_GRID]},
                "sudoku",
                "reference",
                sudokus(_TAGS),
                (),
                "The published code compares with the stored solution; its puzzles have only one.",
            ),
            (
                "words",
                "text",
                {**_PLAIN, "extraction": ["answer_tag"]},
                "zebra_puzzles",
                "reference",
                spelled(_TAGS),
                (),
                "The published code is the same for cubes, and for angles and radii, whose answers have no "
                "letters. It reads an orthocentre's coordinates one by one, so spaces between them do not matter.",
            ),
            (
                "self-reference",
                "number",
                {"extraction": [{"regex": r"<answer>\s*([-+]?\d+)\s*</answer>"}]},
                "self_reference",
                "reference",
                numbers(_TAGS),
                (),
                "The published code fails on references that are not whole numbers.",
            ),
            (
                "lists",
                "json",
                {"extraction": ["answer_tag"], "reference_as": "value"},
                "list_functions",
                "str(reference)",
                sequences(_TAGS, brackets=True),
                (),
                "The published code also reads lists without commas; the rows have none.",
            ),
            (
                "arc",
                "text",
                {**_PLAIN, "extraction": [{"regex": r"<answer>\s*(\d+(?:\s+\d+)*)\s*</answer>"}]},
                "arc_1d",
                "{'test_example': {'output': reference}}",
                sequences(_TAGS, brackets=False),
                (),
                "",
            ),
        )
    },
    "codetree-tests": Published(
        system="codetree",
        recipe="code_fraction",
        **_CODETREE,
        file="common.py",
        beside=("executors", "generators/parse.py"),
        roots=("", "generators"),
        stubs=("astunparse",),
        call="(lambda executor: executor.PyExecutor.execute.__globals__.update(subprocess=type('Here', (), {"
        "'TimeoutExpired': TimeoutError, 'run': staticmethod(lambda command, timeout, **rest: __import__('subprocess')."
        "run([__import__('sys').executable, command[1]], **rest))})) or __import__('os').makedirs('temp_files', "
        "exist_ok=True) or gen_test_eval(executor.PyExecutor(), __import__('parse').parse_code_block(response, "
        "'python'), [f'assert combine({a}, {b}) == {value}' for a, b, value in reference])[2])("
        "__import__('executors.py_executor').py_executor)",
        reference=_combining,
        rows=combinations(),
        sandbox=True,
        deviations=(Deviation(("exits, *",), "A program that exits before the assertions passes them."),),
        note="The call runs programs without the published limit of one second.",
    ),
    "codetree-critic": Published(
        system="codetree",
        recipe="accuracy",
        params={"verifier": "judge", "options": {"mode": "accept", "instructions": "The program solves the task."}},
        **_CODETREE,
        file="generators/py_generate.py",
        beside=("generators/generator_utils.py", "generators/parse.py"),
        stubs=("config", "published.model", "published.generator_types"),
        call="float(PyGenerator.agent_eval(None, prompt, type('Model', (), {'generate_chat': staticmethod("
        "lambda **_: f'It was checked.\\n{opinion}')}), prev_func_impl=response, feedback='')[0])",
        reference=lambda known: "\n".join(f"combine({a}, {b}) == {value}" for a, b, value in known),
        rows=asked(numbered(combinations()), (True, False)),
        replies=lambda accepted: {"reason": "", "verdict": "yes" if accepted else "no"},
        deviations=(Deviation(("*, empty",), "The judge is called for an empty response."),),
        note="Each row has a random judge's verdict, which both sides use. The published search asks for it if the "
        "visible tests pass; if they fail, it asks how far off the outputs are, which the recipe does not.",
    ),
    "logicllama": Published(
        system="logicllama",
        recipe="logicllama",
        params={"guards": False, "pairings": 1000},
        repository="gblackout/LogicLLaMA",
        commit="785a2c08e8fe964c8b2a10bb183ce5a08867aa3b",
        file="metrics.py",
        beside=("fol_parser.py",),
        roots=("",),
        stubs=("evaluate", "utils"),
        call="Metrics.compute_LE(None, response, reference)[0]",
        rows=formulas(),
        note="The rows put their connectives in brackets, because the published grammar has no precedence. They "
        "have at most six literals, so both sides try every pairing.",
    ),
    "knowrl-zjunlp": Published(
        system="knowrl-zjunlp",
        recipe="knowrl_factuality",
        params={"form": {"template": "think_answer", "view": {"part": "full", "starts_open": True}}},
        repository="zjunlp/KnowRL",
        commit="f75b0bb0c316668b2108bf97c96efbb5c8c4083b",
        file="train/reward_function/combined_reward.py",
        beside=("train/reward_function",),
        stubs=(
            *("api_client_manager", "nltk", "nltk.tokenize", "openai", "published.reward_utils", "rank_bm25", "torch"),
            *("tqdm", "transformers", "zhipuai"),
        ),
        env={"FACTSCORE_DB_PATH": "."},
        call=f"{_KNOWRL_JUDGE} or {_KNOWRL_FACTS} or CombinedScorer().combined_reward_func(*([each] * 2 for each in ("
        "prompt, response, reference, prompt, prompt)))[0] + __import__('published.format_reward', fromlist=['*'])"
        ".format_reward_func([response])[0]",
        rows=stated(numbered(words(_TAGS, single=True, years=False))),
        replies=_stated,
        deviations=(
            Deviation(("*, cut", "*, no tags", "blank, *"), "Claims are rewarded even without an answer."),
            Deviation(
                ("[!r]*, no thought", "[!r]*, reversed", "[!r]*, before"),
                "Claims outside the reasoning at the beginning are rewarded, such as those of a wrong answer.",
            ),
        ),
        note="Each row has random claims from the reasoning, verdicts on them and a grade of the answer, which "
        "both sides use instead of a Wikipedia index and two models. The published code supplies facts only to "
        "batches of several responses.",
    ),
    "rsrm": Published(
        recipe="rsrm",
        repository="intell-sci-comput/RSRM",
        commit="90ae46215504cc0cf3ad19974a6bdc23f8f02bbe",
        file="model/rl/agent.py",
        beside=("model",),
        roots=("",),
        call="(lambda config, tree, points: config.set_input(x=points, t=reference['values'], x_=points, "
        "t_=reference['values']) or vars(config).update(reward_end_threshold=-1.0, const_optimize=True) or "
        "[tree.add_exp({each.type_name: each for each in config.exp_dict.values()}[token]) for token in tokens] and "
        "Agent.reward(__import__('types').SimpleNamespace(discount=0.99, exp_last='', expressions=[], config_s=config"
        "), tree))(Config(), LevelTree(), __import__('numpy').array(reference['points']).T)",
        rows=laws(),
        note="The rows have no constants; the published search fits them before it scores a formula.",
    ),
    **{
        f"attrilens-mol-{task.lower()}": Published(
            system="attrilens-mol",
            recipe="attrilens_mol",
            params={"ranges": ranges} if ranges else {},
            repository="szu-tera/AttriLens-Mol",
            commit="fcbd638bff39ae5f81d8692f95d87224acf39f9a",
            file="AttriLens_train.py",
            stubs=("peft", "requests", "transformers", "trl", "pandas"),
            names=(
                *("PROPERTY_ALIASES", "ADVANTAGE_RANGES", "RDKIT_FUNCTIONS", "extract_xml_answer"),
                *("correctness_reward_func", "fuzzy_match_advantage_key", "fuzzy_match_property"),
                *("parse_name_and_status", "extract_task_from_prompt", "normalize_property_name"),
                *("extract_smiles_from_prompt", "advantage_reward_func", "soft_format_reward_func"),
                "choice_number_reward_func",
            ),
            call="(lambda prompts, told: soft_format_reward_func(told)[0] + correctness_reward_func(prompts, told, "
            "[reference])[0] + choice_number_reward_func(told)[0] + advantage_reward_func(prompts, told)[0])([[{'role'"
            f": 'system', 'content': 'Predict {word}.'}}, {{'role': 'user', 'content': metadata['smiles']}}]], "
            "[[{'content': response}]])",
            rows=attributes(),
            deviations=(
                Deviation(("*, unfavourable",), "`not improve` is read as `improve`, so the effect is never checked."),
                Deviation(("*, invented",), "Any word is read as the property with the most similar name."),
                Deviation(("*, repeated",), "An attribute earns again each time it is repeated."),
                Deviation(("both, *",), "The answer can be anywhere in the tag, so naming all of them is right."),
            ),
            note="The functions and tables are extracted from a script that also trains.",
        )
        for task, word, ranges in (
            ("BBBP", "BBBP", None),
            ("BACE", "BACE", _BACE),
            ("ClinTox", "whether it is toxic", _CLINTOX),
        )
    },
    "ragen-frozen-lake": Published(
        system="ragen",
        recipe="accuracy",
        params={"verifier": "environment"},
        repository="RAGEN-AI/RAGEN",
        commit="5eb79b82cecc31db5662ba3c96b752405692410b",
        file="ragen/env/frozen_lake/env.py",
        beside=("ragen/env/frozen_lake", "ragen/env/base.py"),
        roots=("",),
        stubs=("ragen.utils",),
        call="(lambda lake, reduce: lake.reset(seed=seed) and reduce(lambda so_far, move: so_far if so_far[1] else ("
        "lambda seen: (so_far[0] + seen[1], seen[2]))(lake.step(move)), moves, (0.0, False))[0])("
        "FrozenLakeEnv.__init__.__globals__.update(generate_random_map=lambda **_: reference['map']) or "
        "FrozenLakeEnv(FrozenLakeEnvConfig(is_slippery=reference['slippery'])), __import__('functools').reduce)",
        reference=_lake,
        rows=lakes(),
        note="The lakes are ours instead of random ones. The published agent drops words that are no actions before "
        "the environment sees them.",
    ),
    "ragen-sokoban": Published(
        system="ragen",
        recipe="episode_return",
        repository="RAGEN-AI/RAGEN",
        commit="5eb79b82cecc31db5662ba3c96b752405692410b",
        file="ragen/env/sokoban/env.py",
        beside=("ragen/env/sokoban", "ragen/env/base.py"),
        roots=("",),
        stubs=("ragen.utils", "matplotlib", "matplotlib.pyplot", "matplotlib.animation"),
        call="(lambda numpy, reduce: (lambda room: reduce(lambda so_far, move: so_far if so_far[1] else (lambda seen: "
        "(so_far[0] + seen[1], seen[2]))(room.step(move)), moves, (0.0, False))[0])(SokobanEnv.reset.__globals__."
        "update(generate_room=lambda **_: (numpy.array(fixed), numpy.array(state), {}, [])) or setattr(SokobanEnv, "
        "'get_image', lambda *_, **__: None) or SokobanEnv(SokobanEnvConfig(dim_room=numpy.array(fixed).shape, "
        "num_boxes=''.join(reference).count('$')))))(__import__('numpy'), __import__('functools').reduce)",
        reference=lambda grid: {
            "environment": "sokoban",
            "options": {"grid": grid, "rewards": "boxes"},
            "seed": 0,
            "illegal": "again",
        },
        rows=rooms(),
        note="The rooms are ours instead of random ones, and are not drawn. The interpreter needs gym-sokoban, which "
        "has the rewards. The published agent drops words that are no actions before the environment sees them.",
    ),
    "ragen-countdown": Published(
        system="ragen",
        recipe="accuracy_format",
        params={
            "verifier": "puzzle",
            "options": {
                "task": "countdown",
                "extraction": [{"regex": r"(?s)\A.*?<answer>(.*?)</answer>"}],
                "outcomes": {"wrong": 0.1},
            },
            "format": {"patterns": [{"regex": r"(?s)<think>.*?</think>\s*<answer>.*?</answer>"}]},
        },
        repository="RAGEN-AI/RAGEN",
        commit="5eb79b82cecc31db5662ba3c96b752405692410b",
        file="ragen/env/countdown/env.py",
        beside=("ragen/env/countdown", "ragen/env/base.py"),
        roots=("",),
        stubs=("datasets",),
        call="(lambda found: CountdownEnv.compute_reward(__import__('types').SimpleNamespace(config="
        "CountdownEnvConfig()), found[1].strip(), {'target': reference['target'], 'nums': reference['numbers']}) if "
        "found else 0.0)(re.search(r'<think>.*?</think>\\s*<answer>(.*?)</answer>', response, re.DOTALL))",
        rows=countdown(_TAGS),
        note="The call reads the answer as the published agent does.",
    ),
    "proof-flow": Published(
        recipe="proof_flow",
        repository="matt-seb-ho/gfn_ntp",
        commit="12c513eebb65c0ab1dbbcdac9dff999dd4071ae4",
        file="proof_flow/src/gfn_tuning/reward.py",
        beside=("proof_flow/src/constants.py",),
        roots=("",),
        stubs=("torch", "peft", "transformers", "loguru", "proof_flow.src.utils", "proof_flow.src.prompts"),
        call="(lambda numpy, space: NTPReward.compute_binary_log_reward.__globals__.update(torch=space(zeros=lambda siz"
        "e, device: numpy.zeros(size), clamp=lambda values, min: numpy.maximum(values, min))) or "
        "NTPReward.compute_binary_log_reward((lambda made: vars(made).update(error_length_penalty_alpha=8.0, "
        "error_length_penalty_c=88 + 4, tokenizer=space(encode=lambda tactic: [*tactic.encode(), 1])) or made)("
        "NTPReward.__new__(NTPReward)), [states], [tactics], None, None)[0])(__import__('numpy'), "
        "__import__('types').SimpleNamespace)",
        rows=trajectories(),
        told=True,
        note="Lean does not run: whether a proof is finished is drawn for each row and given to both. The reward is "
        "the one without a model, with its array in double precision. A token is a byte, as in the policy's "
        "tokenizer.",
    ),
    "codev-r1": Published(
        recipe="accuracy_format",
        params=_CODEV,
        repository="IPRC-DIP/CodeV-R1",
        commit="277ac46e3b193aa238e7d9af5a150659e482c5e7",
        file="verl/verl/utils/reward_score/codev.py",
        beside=("verl/verl/utils/reward_score/codev_eval_toolkit",),
        roots=("verl",),
        call="(lambda tools: setattr(tools.__init__, '__defaults__', (*tools.__init__.__defaults__[:3], 50, 20, True)) "
        "or compute_score(response, pickle.dumps({'answer': reference})))(__import__("
        "'verl.utils.reward_score.codev_eval_toolkit.verify', fromlist=['eda_tools']).eda_tools)",
        reference=_solution,
        rows=designs(),
        sandbox=True,
        installed=True,
        deviations=(
            Deviation(
                ("prints, *",), "A design that prints that all tests passed and ends the simulation counts as right."
            ),
            Deviation(("*, thought",), "A design in the reasoning counts even if the answer has none."),
            Deviation(("rare, *",), "A design counts as right if it differs only on inputs that are not drawn."),
        ),
        note="The published code simulates random inputs; the recipe proves equivalence. To save time, the call "
        "has 20 sequences of 50 steps instead of 100 of 1,000.",
    ),
    "reward-design-lms": Published(
        recipe="reward_design_lms",
        params={"behaviour": "Alice is a stubborn negotiator.", "reward": 10},
        repository="minaek/reward_design_with_llms",
        commit="3114a1f85ecfd6e594fa81b9273f25a729831f4d",
        file="negotiation/utils/dialog.py",
        stubs=(
            *("base_prompts", "ground_truth_rewards", "language_models", "sl_baseline", "transformers", "utils"),
            *("utils.data", "utils.domain", "utils.metric", "utils.utils"),
        ),
        call="Dialog.gpt3_reward.__globals__.update(OpenAIModel=lambda _: type('Model', (), {'predict_token': "
        "staticmethod(lambda _: opinion)})) or Dialog.gpt3_reward(type('Episode', (), {'test_prompt': response, "
        "'question': '', 'base_prompt': '', 'gpt3_answers': []})())[0]",
        rows=episodes(),
        replies=lambda told: {"reason": told, "verdict": "yes" if "yes" in told.lower()[:6] else "no"},
        deviations=(Deviation(("cut", "empty"), "The judge is called for an episode without content."),),
        note="Each row has a random language model's reply, which both sides use. The published trainer subtracts "
        "the mean of all rewards so far, and divides by their deviation.",
    ),
    "demystify-long-cot-rule": Published(
        system="demystify-long-cot",
        recipe="demystify_long_cot",
        params={"options": _HENDRYCKS},
        **_DEMYSTIFY,
        call=_cosine("0.0", 20, 14336, "score_hendrycks(response, reference)"),
        rows=lengths(mathematics(_think()), 14336),
        deviations=(_THOUGHT,),
    ),
    "demystify-long-cot-repetition": Published(
        system="demystify-long-cot",
        recipe="demystify_long_cot",
        params={"options": _HENDRYCKS, "repeated": 1, "run": 5, "max_tokens": 4096},
        **_DEMYSTIFY,
        call=_cosine("-1.0", 5, 4096, "score_hendrycks(response, reference)"),
        rows=lengths(mathematics(_looping()), 4096),
        deviations=(_THOUGHT,),
    ),
    "demystify-long-cot-judge": Published(
        system="demystify-long-cot",
        recipe="demystify_long_cot",
        params={"verifier": "judge"},
        **_DEMYSTIFY,
        call=_cosine("0.0", 20, 14336, "__import__('openrlhf.reward.judge', fromlist=['Judge']).Judge._parse(opinion)"),
        rows=lengths(asked(numbered(mathematics(_think())), _JUDGEMENTS), 14336),
        replies=lambda told: {"reason": "", "verdict": "correct" if told == _JUDGEMENTS[0] else "incorrect"},
        deviations=(Deviation(("*, cut", "*, empty"), "The judge is called for a response without content."),),
        note="Each row has a random judge's verdict, which both sides use.",
    ),
    "rest-rl": Published(
        recipe="code_fraction",
        repository="THUDM/ReST-RL",
        commit="b86959b4981601ecfa6e31b7cac7f004e9cef014",
        file="verifiers/execution.py",
        beside=("verifiers",),
        roots=("",),
        stubs=("pyext",),
        call="run_test.__globals__.update(reliability_guard=lambda **_: None, RuntimeModule=type('RuntimeModule', (), "
        "{'from_string': staticmethod(lambda name, _, code: (lambda made: exec(code, vars(made)) or made)("
        "type(os)(name)))})) or check_apps_correctness(reference, response.split('```python\\n')[-1].split('```')[0], "
        "10)['score']",
        reference=_tested,
        rows=programs(),
        sandbox=True,
        deviations=(
            Deviation(("crash, *",), "A program that fails passes if it printed the expected output."),
            Deviation(("right, cut", "some, cut", "spaced, cut"), "A program in unclosed reasoning counts."),
        ),
        note="The tasks are those of APPS. The published prompt opens the code block, and the response continues "
        "it; the rows contain the whole block. The call runs programs without the published isolation.",
    ),
    "rethinkmcts": Published(
        recipe="rethinkmcts",
        repository="SIMONLQY/RethinkMCTS",
        commit="3908cacd94feed849f671f6de39f0baec00ed72c",
        file="models/RethinkMCTS.py",
        beside=("executors/HumanevalExecutor.py",),
        stubs=(
            *("torch", "torch.utils", "torch.utils.data", "utils", "models", "torcheval", "torcheval.metrics"),
            *("torchmetrics", "dataSet", "tqdm", "executors", "ChatModels", "published.ldb", "pyext", "astunparse"),
        ),
        call="(lambda space, spec, load, tests: (lambda executor: spec.loader.exec_module(executor) or (lambda rate: "
        "0.8 * rate + 0.2 * RethinkMCTS.get_evaluation(space(tokenizer=space(decode=str), "
        "args=space(json_save_all=False), generator=space(generate_response_api=lambda *_, **__: (opinion, "
        "None))), response, response) if rate == 1 else rate)(RethinkMCTS.get_reward.__globals__.update(np=__impo"
        "rt__('numpy')) or RethinkMCTS.get_reward(space(cached_reward={}, convert_state_to_program=lambda state: "
        "state, cur_prob_instance={'given_tests': tests}, executor=executor.HumanevalExecutor(space(debug=True)))"
        ", response)))(load.module_from_spec(spec)))(__import__('types').SimpleNamespace, "
        "__import__('importlib.util').util.spec_from_file_location('executor', "
        "'executors/HumanevalExecutor.py'), __import__('importlib.util').util, [f'assert combine({a}, {b}) == "
        "{value}' for a, b, value in reference])",
        reference=lambda known: None,
        rows=asked(
            _with_tests(numbered(combinations(unlabelled=False))), ("0.85, most tests", "-0.5", "1.0", "I say 0", "0.1")
        ),
        replies=lambda told: {"reason": "", "score": float(re.findall(r"-?[\d.]+", told)[0])},
        sandbox=True,
        note="The published search computes the weighted sum of the two, which the call repeats. Each row has a "
        "random model's opinion, which both sides use.",
    ),
    "time-r1-prediction": Published(
        system="time-r1",
        recipe="time_r1",
        **_TIME_R1,
        file="verl/utils/reward_score/time_prediction.py",
        call="compute_score(response and response + '<|im_end|>', {'event_pub_date': reference})[0]",
        rows=months(),
    ),
    "time-r1-inference": Published(
        system="time-r1",
        recipe="time_r1",
        params={"silent": 0.2, "no_event": 0.1},
        **_TIME_R1,
        file="verl/utils/reward_score/time_reasoning.py",
        call="compute_score(response and response + '<|im_end|>', {'event_pub_date': reference})[0]",
        rows=months(),
    ),
    "time-r1-difference": Published(
        system="time-r1",
        recipe="time_r1",
        params={"task": "difference", "silent": 0.2},
        **_TIME_R1,
        file="verl/utils/reward_score/time_reasoning.py",
        call="compute_score(response and response + '<|im_end|>', {'event1_pub_date': reference['Event 1'], "
        "'event2_pub_date': reference['Event 2'], 'month_difference': reference['Month difference'], 'difficulty': "
        "{'events_difficulty': easy}, 'current_alpha': hard})[0]",
        reference=lambda known: {**known, "Month difference": f"{known['Month difference']} months"},
        rows=differences(),
    ),
    "time-r1-order": Published(
        system="time-r1",
        recipe="time_r1",
        params={"task": "order", "silent": 0.2},
        **_TIME_R1,
        file="verl/utils/reward_score/time_reasoning.py",
        call="compute_score(response and response + '<|im_end|>', {**{f'event{place}_pub_date': "
        "reference[f'Event {place}'] for place in (1, 2, 3)}, 'event_order': '-'.join(reference['Event order']), "
        "'difficulty': {'events_difficulty': easy}, 'current_alpha': hard})[0]",
        rows=timelines(),
    ),
    "time-r1-completion": Published(
        system="time-r1",
        recipe="time_r1",
        params={"task": "completion", "silent": 0.2},
        **_TIME_R1,
        file="verl/utils/reward_score/time_reasoning.py",
        call="compute_score(response and response + '<|im_end|>', {'event_pub_date': reference['Event'], 'mask_type': "
        "mask, 'masked_entity': reference['Missing entity'], 'difficulty': {'alpha': 0.1 if easy[0] else 0.07}, "
        "'current_alpha': hard})[0]",
        rows=completions(),
    ),
    "carr": Published(
        recipe="carr",
        repository="THUDM/CaRR",
        commit="c97e7e892b4dbd0f7ba4b5f2fb052b9af0f3a592",
        file="slime/slime/rollout/sglang_rollout.py",
        beside=("slime/slime/__init__.py", "slime/slime/utils"),
        roots=("slime",),
        stubs=(
            *("pybase64", "sglang_router", "packaging", "packaging.version", "tqdm", "published.rm_hub", "ray"),
            *("slime.rollout", "slime.rollout.base_types", "slime.rollout.filter_hub", "slime.utils.async_utils"),
            *("slime.rollout.filter_hub.base_types", "slime.utils.data", "slime.utils.eval_config"),
            *("slime.utils.http_utils", "slime.utils.processing_utils", "slime.utils.types", "torch", "httpx"),
        ),
        call="(lambda space, told: generate_and_rm_group.__globals__.update(GenerateState=lambda _: "
        "space(aborted=False), generate_and_rm=lambda _, sample, *__, **___: asyncio.sleep(0, sample)) or "
        "asyncio.run(generate_and_rm_group(space(normalize_rubric_reward=True, rubric_only_positive=True, "
        "rubric_reward_ratio=0.3, group_rm=False), [space(session_id='1', metadata=told), space(session_id='2', "
        "metadata={'outcome_reward': 1.0, 'rubric_reward': 1.0})], {}))[0].reward)(__import__('types').SimpleName"
        "space, {'outcome_reward': float(opinion['outcome']), 'rubric_reward': sum(opinion['support']) / "
        "len(opinion['support'])})",
        rows=evidence(),
        replies=_evidence,
        deviations=(Deviation(("*, cut", "*, empty"), "The judge is called for a response without content."),),
        note="Each row has random verdicts on the answer and on each rubric, which both sides use. In the "
        "published code, a rubric is supported if the judge finds it in the cited pages and it is linked to the "
        "answer; the rows contain the outcome of this check.",
    ),
    "think-rm-rules": Published(
        system="think-rm",
        recipe="accuracy_plus_format",
        params={
            "verifier": "label",
            "options": {"labels": ["A", "B"], "extraction": [{"regex": "<answer>[^<]*?([AB])[^AB<]*</answer>"}]},
            "format": {
                "patterns": [
                    {"regex": r"(?s)\A<think>.*?</think>\s*<rationale>.*?</rationale>\s*<answer>.*?</answer>(?:\n|\z)"}
                ]
            },
        },
        repository="IlgeeHong/Think-RM",
        commit="2976ace75afac0573cdf38967f733c007f3062be",
        file="VERL/verl/utils/reward_score/binary_genrm.py",
        call="compute_score_batched([], [response.removeprefix('<think>\\n')], [reference], [])[0] if response[:8] in ("
        "'<think>\\n', '') else None",
        rows=preferred(),
        note="The published prompt opens the reasoning, so all rows do too.",
    ),
    "synlogic-sudoku": Published(
        system="synlogic",
        recipe="accuracy",
        params={
            "verifier": "puzzle",
            "options": {"task": "sudoku", "extraction": [{"regex": r"(?s)```python\s*(.*?)\s*```"}]},
        },
        repository="MiniMax-AI/SynLogic",
        commit="6794f97330ef19dbecc33fd5d23b8e2b0bea0e05",
        file="games/tasks/sudoku/scripts/sudoku_verifier.py",
        beside=("base",),
        roots=("",),
        call="SudokuVerifier().verify(Data('', '', metadata={'original_sudoku': reference['puzzle']}), response)",
        rows=boards(),
    ),
    "synlogic-counting": _synlogic(
        "object_counting", "ObjectCounting", games(boxed_forms(), counts), "text", {"extraction": ["boxed"]}
    ),
    "synlogic-properties": _synlogic(
        "object_properties", "ObjectProperties", games(boxed_forms(), counts), "text", {"extraction": ["boxed"]}
    ),
    "synlogic-operation": _synlogic(
        "operation", "Operation", games(boxed_forms(), counts), "math_verify", {"preset": "math_verify"}
    ),
    "synlogic-space": _synlogic(
        "space_reasoning",
        "SpaceReasoning",
        games(boxed_forms(), places),
        "text",
        {"extraction": ["boxed"], "articles": []},
    ),
    "synlogic-space-tree": _synlogic(
        "space_reasoning_tree",
        "SpaceReasoningTree",
        games(boxed_forms(), sets(("museum", "harbour", "garden", "bakery", "library"))),
        "label",
        {"extraction": ["boxed"], "mode": "multi", "metric": "exact"},
        data="'', ','.join(reference)",
    ),
    "synlogic-booleans": _synlogic(
        "boolean_expressions",
        "BooleanExpressions",
        games(boxed_forms(), sets(("A", "B", "C", "D", "E"))),
        "label",
        {"extraction": ["boxed"], "mode": "multi", "metric": "exact"},
        data="'', ','.join(reference)",
    ),
    "synlogic-sorting": _synlogic(
        "word_sorting",
        "WordSorting",
        games(boxed_forms(), sorted_words),
        "label",
        {"extraction": ["boxed"], "mode": "vector", "aggregate": "all"},
        data="'', ','.join(reference)",
    ),
    "synlogic-sorting-mistakes": _synlogic(
        "word_sorting_mistake", "WordSortingMistake", games(boxed_forms(), mistakes), "text", {"extraction": ["boxed"]}
    ),
    "synlogic-lies": _synlogic(
        "web_of_lies",
        "WebOfLies",
        games(loose_forms(), answers_in_order),
        "label",
        {
            "extraction": [{"regex": r"\*\*([^*\n]+)\*\*[.。]*\z"}],
            "labels": ["yes", "no"],
            "mode": "vector",
            "aggregate": "all",
        },
        data="'', ', '.join(reference)",
    ),
    "synlogic-tables": _synlogic(
        "buggy_tables",
        "BuggyTable",
        games(loose_forms(), cents),
        "text",
        {"extraction": [{"regex": r"-?\d+\.\d{2}\b"}], "mode": "exact"},
    ),
    "synlogic-cryptarithm": _synlogic(
        "cryptarithm",
        "Cryptarithm",
        games(loose_forms(), equations),
        "text",
        {"extraction": [{"regex": r"(\d+(?:\s*[+*-]\s*\d+)+\s*=\s*-?\d+)"}], "mode": "regex"},
        reference=lambda known: re.escape(known).replace("\\ ", r"\s*"),
    ),
    "synlogic-cipher": _synlogic(
        "cipher",
        "Cipher",
        games(fenced_forms(), ciphers),
        "json",
        {"extraction": [{"regex": r"(?s)```python\s*(.*?)\s*(?:```|\z)"}], "reference_as": "value"},
        data="'', f'[[{reference}]]'",
        reference=lambda known: [[known]],
    ),
    "synlogic-times": _synlogic(
        "time_sequence",
        "TimeSequence",
        games(loose_forms(), meetings),
        "json",
        {"extraction": [{"regex": r"(?s)(\[.*?\])"}], "reference_as": "value"},
        data="'', '', metadata={'records': {'answers': {'answer_maxLen': reference[0], 'answer_nums': reference[1]}}}",
    ),
    "synlogic-brackets": _synlogic(
        "dyck_language",
        "DyckLanguage",
        games(bare_forms(), brackets),
        "text",
        {"extraction": ["whole"], "view": "full", "mode": "exact"},
        data="'', '', metadata={'full_sequence': reference}",
    ),
    "synlogic-bracket-errors": _synlogic(
        "dyck_language_errors",
        "DyckLanguageErrors",
        games(bare_forms(), errors),
        "text",
        {"extraction": ["whole"], "view": "full"},
        data="'', '', metadata={'is_valid': reference < 0, 'first_error_pos': reference}",
        reference=str,
        deviations=(Deviation(("said valid, *",), "Any text with the word valid says -1, and so does `invalid`."),),
    ),
    "synlogic-wrong-steps": _synlogic(
        "dyck_language_reasoning_errors",
        "DyckLanguageReasoningErrors",
        games(bare_forms(explained=False), wrong_steps),
        "label",
        {
            "extraction": ["whole"],
            "mode": "multi",
            "metric": "exact",
            "empty": ["no", "no error", "no errors"],
            "view": "full",
        },
        data="'', '', metadata={'error_indices': reference}",
        deviations=(
            Deviation(
                ("*, empty", "*, cut", "words, *"),
                "A text without digits says that no step is wrong, and so does an empty one.",
            ),
        ),
        note="The published code takes numbers from the whole response; the rows have none beside the answer.",
    ),
    "synlogic-24": _synlogic(
        "game_of_24",
        "GameOf24",
        games(fenced_forms(), expressions),
        "puzzle",
        {"task": "countdown", "extraction": [{"regex": r"(?s)```python\s*(.*?)\s*```"}]},
        data="'', '', metadata={**reference, 'operators': ['+', '-', '*', '/'], 'result': reference['target']}",
        deviations=(
            Deviation(("wrong, *",), "The value is compared with itself, so any expression over the numbers is paid."),
        ),
    ),
    "synlogic-futoshiki": _synlogic(
        "futoshiki",
        "Futoshiki",
        games(loose_forms(), inequalities),
        "puzzle",
        {"task": "futoshiki", "extraction": [{"regex": r"\[\[([^\]]+)\]\]"}]},
        data="'Current puzzle:\\n' + '\\n'.join(' '.join(str(cell or 'X') for cell in line) for line in "
        "reference['puzzle']), '', metadata={'grid_size': len(reference['puzzle']), 'prefilled_coords': [(line, "
        "column) for line, cells in enumerate(reference['puzzle']) for column, cell in enumerate(cells) if cell], "
        "'constraints': [((a, b), (c, d), sign) for a, b, c, d, sign in reference['constraints']]}",
    ),
    "ssp-proposer": Published(
        system="ssp",
        recipe="ssp_proposer",
        repository="Alibaba-Quark/SSP",
        commit="b4797e1854379ed74bcd9b56bcdcdcbcb4feeeec",
        file="quarl/trainer/ppo/ssp_ray_trainer.py",
        beside=("quarl/reward/score",),
        roots=("quarl/reward/score",),
        stubs=(
            *("ray", "verl", "verl.utils", "verl.utils.torch_functional", "omegaconf", "tqdm", "verl.protocol"),
            *("verl.trainer", "verl.trainer.ppo", "verl.trainer.ppo.core_algos", "verl.trainer.ppo.metric_utils"),
            *("verl.trainer.ppo.ray_trainer", "verl.trainer.ppo.reward", "verl.utils.checkpoint"),
            *("verl.utils.checkpoint.checkpoint_manager", "verl.utils.debug", "verl.utils.metric"),
            *("verl.utils.model", "verl.utils.tracking", "quarl", "quarl.utils", "quarl.utils.ssp_data_manager"),
            *("quarl.utils.problem_extraction", "quarl.utils.llm_as_a_judge"),
        ),
        env={"QUARK_BASE_URL": "none", "QUARK_MODEL": "none"},
        call="(lambda solver, space, batch: solver.update(get_global_judge=lambda **_: type('Judge', (), "
        "{'model_based_match': staticmethod(lambda **_: False)})) or SSPRayPPOTrainer._compute_proposer_rewards(space("
        "rollout_n=len(responses), sp_config=batch(proposer=batch(reward_type='1-acc', format_penalty=0))), space(batch"
        "=batch(responses=torch.zeros(1, 1))), torch.tensor([[solver['compute_score'](solution_str=each, ground_truth="
        "{'target': right}, prompt_str='')] for each, right in zip(responses, references)], dtype=torch.float64), "
        "{})[0, 0])(vars(__import__('importlib').import_module('quark_score')), "
        "__import__('types').SimpleNamespace, type('Batch', (dict,), {'__getattr__': dict.get, '__len__': "
        "lambda _: 1}))",
        groups=grouped(asked(words(_TAGS, skip=("either",), several=False), (False,)), 4),
        replies=lambda told: {"reason": "", "verdict": "correct" if told else "incorrect"},
        note="A judge, which is asked where the words differ, says that the answer is wrong.",
    ),
    "ssp-solver": Published(
        system="ssp",
        recipe="ssp_solver",
        repository="Alibaba-Quark/SSP",
        commit="b4797e1854379ed74bcd9b56bcdcdcbcb4feeeec",
        file="quarl/reward/score/quark_score.py",
        stubs=("quarl", "quarl.utils", "quarl.utils.llm_as_a_judge"),
        env={"QUARK_BASE_URL": "none", "QUARK_MODEL": "none"},
        call="compute_score.__globals__.update(get_global_judge=lambda **_: type('Judge', (), {'model_based_match': "
        "staticmethod(lambda **_: opinion)})) or compute_score(solution_str=response, ground_truth={'target': "
        "reference}, prompt_str=prompt)",
        rows=asked(numbered(words(_TAGS)), (True, False)),
        replies=lambda told: {"reason": "", "verdict": "correct" if told else "incorrect"},
        deviations=(
            Deviation(("refused, *", "blank, *"), "The judge is called for an empty answer or a refusal."),
            Deviation(("either, *",), "The judge is called for `A or B`."),
            _LAST,
        ),
        note="Each row has a random judge's verdict, which both sides use if the words differ.",
    ),
    "coderl-plus-execution": Published(
        system="coderl-plus",
        recipe="coderl_plus",
        repository="jiangxxxue/CODERLPLUS",
        commit="c574a90229001956dfa8b2db22b84ae3b3db556c",
        file="recipe/reward/reward_function_coderlplus.py",
        stubs=(
            *("verl", "verl.utils", "verl.utils.reward_score", "verl.utils.reward_score.livecodebench"),
            "verl.utils.reward_score.livecodebench.compute_score",
        ),
        call="compute_score('exec_semantics_align', response, {'expected_output': reference['final_output'], "
        "'expected_local_variable': reference['variables']})",
        rows=executions(),
        deviations=(
            Deviation(("large, *",), "Different integers that are equal as floats count as equal."),
            Deviation(("*, repeated",), "A key that is given twice counts with its last value."),
            Deviation(("list, *",), "Variables that are no object count as a valid format."),
        ),
    ),
    "coderl-plus-programs": Published(
        system="coderl-plus",
        recipe="code_all",
        repository="jiangxxxue/CODERLPLUS",
        commit="c574a90229001956dfa8b2db22b84ae3b3db556c",
        file="recipe/reward/reward_function_coderlplus.py",
        beside=("verl/utils/reward_score/livecodebench",),
        roots=(".",),
        stubs=("datasets", "verl.utils.reward_score.livecodebench.unit_test"),
        call="compute_score('codecontests', response, json.dumps(reference))",
        reference=_tested,
        rows=programs(),
        sandbox=True,
        deviations=(
            Deviation(("right, cut", "spaced, cut", "crash, cut"), "A program in a thought that never ends counts."),
            Deviation(("crash, *",), "A program that prints the right output and then exits with an error counts."),
        ),
    ),
    "ssp-question": Published(
        system="ssp",
        recipe="ssp_question",
        repository="Alibaba-Quark/SSP",
        commit="b4797e1854379ed74bcd9b56bcdcdcbcb4feeeec",
        file="quarl/utils/problem_extraction.py",
        beside=("quarl/reward/score/quark_score.py",),
        roots=(".",),
        stubs=("quarl.utils.llm_as_a_judge",),
        call="(lambda extractor: vars(extractor).update(llm_judge=type('Judge', (), {'model_based_answer': "
        "staticmethod(lambda *_: opinion['answer'] and 'Answer: ' + opinion['answer']), 'model_based_match': "
        "staticmethod(lambda **_: opinion['match'])})) or len(extractor.extract_problems_from_trajectory_with_stats("
        "'', response, {'reward_model': {'ground_truth': {'target': reference['answer']}}})[0]))(ProblemExtractor("
        "use_rag_filter=True, answer_pattern='question'))",
        rows=proposed(),
        results="information",
        replies=_read,
        deviations=(
            Deviation(("padded, *",), "Blanks count as words."),
            Deviation(("*, several, *",), "The first of several questions counts."),
            Deviation(("*, thought, *",), "A question in the reasoning counts."),
        ),
        note="Each row has a random reader's answer and a random judge's verdict, which both sides use. The published "
        "configuration adds four unrelated documents to those that the reader sees.",
    ),
    "kimina-prover": Published(
        recipe="kimina_prover",
        repository="project-numina/kimina-prover-rl",
        commit="e16b605e8186614c685875c9b57eb19e841b521a",
        file="recipe/kimina_prover_rl/kimina_prover_rl/reward/format_reward.py",
        beside=("recipe/kimina_prover_rl/kimina_prover_rl",),
        roots=("recipe/kimina_prover_rl",),
        call="(reference == 'proved') * (FormatReward().check_format_error([{'role': 'assistant', 'content': "
        "response}], statement)[0] == FormatError.NONE)",
        rows=reasoned_proofs(),
        told=True,
        deviations=(Deviation(("*, vague loop, *",), "A line of frequent words can be repeated any number of times."),),
        note="Lean's verdict on the proof is drawn for each row and given to both sides.",
    ),
}
