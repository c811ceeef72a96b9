"""Writes a part for each rule that the program keeps."""

import json
import subprocess

CASES = {
    "counts": ("a b a", "a 2\nb 1\n"),
    "order": ("b a c c", "c 2\na 1\nb 1\n"),
    "words": ("Don't stop, DON'T!", "don 2\nt 2\nstop 1\n"),
    "empty": ("", ""),
}


def printed(text: str) -> str:
    """Returns what the program prints for a text; nothing if it fails."""
    done = subprocess.run(["python3", "/app/count.py"], input=text, capture_output=True, text=True)
    return done.stdout if done.returncode == 0 else "failed"


parts = {name: float(printed(text) == wanted) for name, (text, wanted) in CASES.items()}
parts["reward"] = sum(parts.values()) / len(parts)
with open("/logs/verifier/reward.json", "w") as file:
    json.dump(parts, file)
