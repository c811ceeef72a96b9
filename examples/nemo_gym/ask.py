"""Asks a running Rewarden for a verdict as NeMo Gym's agents do: `python ask.py [ADDRESS]`; it needs httpx alone."""

from __future__ import annotations

import sys

import httpx

ADDRESS = sys.argv[1] if len(sys.argv) > 1 else "http://127.0.0.1:8080/compat/gym/math"


def verify(text: str, **task: object) -> None:
    """Print what is said of a response."""
    part = {"type": "output_text", "text": text, "annotations": []}
    item = {"id": "msg", "type": "message", "role": "assistant", "status": "completed", "content": [part]}
    body = {
        "responses_create_params": {"input": [{"role": "user", "content": "What is 6 times 7?"}]},
        "response": {"id": "resp", "created_at": 0, "model": "m", "object": "response", "output": [item]},
        **task,
    }
    reply = httpx.post(f"{ADDRESS}/verify", json=body, timeout=60).raise_for_status().json()
    print({name: reply[name] for name in ("reward", "mask_sample", "failure_kind", "failure_reason")})


if __name__ == "__main__":
    verify("\\boxed{42}", expected_answer="42")
    verify("\\boxed{41}", expected_answer="42")
    verify("\\boxed{42}")  # nothing to judge by: masked, and no zero
