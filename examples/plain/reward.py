"""A reward function for any trainer that calls one: `python reward.py` shows it on three completions.

rewarden serve                        # elsewhere
python examples/plain/reward.py [TARGET]
"""

from __future__ import annotations

import sys

from rewarden.adapters.plain import reward

PROMPTS = ["What is 1/4 + 1/4?"] * 3
COMPLETIONS = ["It is \\boxed{0.5}.", "It is \\boxed{1/8}.", "I do not know."]


def main() -> None:
    """Print each completion's reward, and what stands behind it."""
    target = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080"
    score = reward("math", target=target, patience_s=10)
    verdicts = score.verdicts(PROMPTS, COMPLETIONS, answer="\\frac{1}{2}")
    for completion, verdict in zip(COMPLETIONS, verdicts, strict=True):
        print(verdict.score, verdict.reason or "", completion)
    print(score(PROMPTS, COMPLETIONS, answer="\\frac{1}{2}"))


if __name__ == "__main__":
    main()
