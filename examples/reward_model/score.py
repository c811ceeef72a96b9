"""Ask a verifier as if it were a reward model, with OpenAI's client or with nothing but the standard library.

rewarden serve
python examples/reward_model/score.py http://127.0.0.1:8080
"""

from __future__ import annotations

import json
import sys
import urllib.request
from typing import Any


def post(url: str, body: dict[str, Any]) -> Any:
    """The answer to a JSON body. Raises urllib.error.HTTPError where there is no score."""
    request = urllib.request.Request(url, json.dumps(body).encode(), {"content-type": "application/json"})
    with urllib.request.urlopen(request) as answer:
        return json.load(answer)


def main(server: str) -> None:
    """Print the scores of two responses, asked for as vLLM's and SGLang's clients ask."""
    at = f"{server}/compat/reward_model"
    responses = ["So it is \\boxed{0.5}.", "So it is \\boxed{2}."]

    classified = post(f"{at}/math/classify", {"input": responses, "reference": "1/2"})
    print("classify  ", [item["probs"][-1] for item in classified["data"]])

    scored = post(f"{at}/score", {"model": "math", "text_1": "1/2", "text_2": responses})
    print("score     ", [item["score"] for item in scored["data"]])

    embedded = post(f"{at}/v1/embeddings", {"model": "math", "input": responses, "reference": "1/2"})
    print("embeddings", [item["embedding"][-1] for item in embedded["data"]])


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080")
