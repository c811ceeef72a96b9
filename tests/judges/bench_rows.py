"""Rows in the shapes of published sets, with contents of our own."""

from __future__ import annotations

from typing import Any


def reward_bench(number: int, subset: str, chosen: str, rejected: str) -> dict[str, Any]:
    """A row of RewardBench."""
    return {
        "prompt": f"Where does the Quillfen rise? ({number})",
        "chosen": chosen,
        "chosen_model": "gannet-7b",
        "rejected": rejected,
        "rejected_model": "dotterel-2b",
        "subset": subset,
        "id": number,
    }


def reward_bench_2(name: str, subset: str, chosen: list[str], rejected: list[str]) -> dict[str, Any]:
    """A row of RewardBench 2."""
    return {
        "id": name,
        "prompt": f"Name a colour of the Quillfen flag. ({name})",
        "chosen": chosen,
        "rejected": rejected,
        "num_correct": len(chosen),
        "num_incorrect": len(rejected),
        "total_completions": len(chosen) + len(rejected),
        "models": ["gannet-7b"],
        "subset": subset,
        "additional_metadata": None,
    }


def judge_bench(name: str, source: str, first: str, second: str, label: str) -> dict[str, Any]:
    """A row of JudgeBench."""
    return {
        "pair_id": name,
        "original_id": 7,
        "source": source,
        "question": f"Which ferry crosses to Ormsay? ({name})",
        "response_model": "gannet-7b",
        "response_A": first,
        "response_B": second,
        "label": label,
    }


def rmb_pair(number: int, path: str, chosen: str, reject: str) -> dict[str, Any]:
    """A row of RMB's pairs."""
    return {
        "pair_uid": str(number),
        "conversation_input": _asked(number),
        "chosen": {"llm_name": "gannet-7b", "answer": chosen},
        "reject": {"llm_name": "dotterel-2b", "answer": reject},
        "category_path": path,
    }


def rmb_best(number: int, path: str, best: str, *losers: str) -> dict[str, Any]:
    """A row of RMB's best of n."""
    return {
        "conversation_input": _asked(number),
        "bon_best": {"llm_name": "gannet-7b", "answer": best},
        "loser_list": [{"llm_name": "dotterel-2b", "answer": text} for text in losers],
        "bon_uid": str(number),
        "category_path": path,
    }


def _asked(number: int) -> list[dict[str, Any]]:
    return [{"content": f"How do I dry kelp? ({number})", "language": "English", "role": "user"}]


def process_bench(name: str, steps: list[str], label: int) -> dict[str, Any]:
    """A row of ProcessBench."""
    return {
        "id": name,
        "generator": "gannet-7b",
        "problem": f"Tansy has three eggs and finds two. How many has she? ({name})",
        "steps": steps,
        "final_answer_correct": label < 0,
        "label": label,
    }


def prm_bench(name: str, kind: str, steps: list[str], errors: list[int]) -> dict[str, Any]:
    """A row of PRMBench."""
    return {
        "original_question": "How many sides have two squares?",
        "modified_question": f"How many sides have two squares? ({name})",
        "original_process": ["Four.", "Twice four is eight."],
        "modified_process": steps,
        "modified_steps": errors,
        "error_steps": errors,
        "reason": "made so",
        "idx": name,
        "question": "How many sides have two squares?",
        "classification": kind,
    }


def healthbench(category: str, completion: str, rubric: str, labels: list[bool]) -> dict[str, Any]:
    """A row of HealthBench's meta-evaluation."""
    return {
        "prompt": [{"role": "user", "content": "My ankle is swollen."}],
        "completion": completion,
        "rubric": rubric,
        "category": category,
        "binary_labels": labels,
        "anonymized_physician_ids": [f"physician-{place}" for place in range(len(labels))],
        "prompt_id": "p1",
        "completion_id": "c1",
    }


def verify_bench(kind: str, subtype: str, completion: str, right: bool) -> dict[str, Any]:
    """A row of VerifyBench."""
    return {
        "question": "The capital of Peru?",
        "answer": "Lima",
        "completion": completion,
        "gold_correct": right,
        "answer_type": kind,
        "answer_subtype": subtype,
        "completion_model": "gannet-7b",
    }


def long_judge(dataset: str, name: str, texts: list[str], truth: dict[str, Any], **meta: Any) -> dict[str, Any]:
    """A row of LongJudgeBench; the models are m0, m1 …"""
    return {
        "dataset": dataset,
        "id": name,
        "instruction": "Report on the harbour of Ormsay.",
        "responses": [{"model": f"m{place}", "content": text} for place, text in enumerate(texts)],
        "ground_truth": {"type": "any", **truth},
        "meta": {"language": "en", "task_type": "any", "source": "us", **meta},
    }
