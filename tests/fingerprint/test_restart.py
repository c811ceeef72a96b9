"""A plug-in that changes is judged anew after a restart, although verdicts of before lie in the cache on disk."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

pytestmark = pytest.mark.needs_server

FILES = {
    "plug/__init__.py": "",
    "plug/verifier.py": (
        "from rewarden_verifiers.contract import verifier\n"
        "from rewarden_verifiers.outcome import scored\n"
        "from .rules import rule\n\n\n"
        '@verifier(version="1")\n'
        "def plugged(response: str):\n"
        '    """The rule decides."""\n'
        "    return scored(rule(response))\n"
    ),
    "plug/rules.py": (
        "from pathlib import Path\n\n"
        "import plug.words\n\n"
        'BAD = Path(__file__).with_name("bad.txt").read_text().split()\n\n\n'
        "def rule(text):\n"
        "    return float(text in plug.words.GOOD and text not in BAD)\n"
    ),
    "plug/words.py": 'GOOD = ("yes",)\n',
    "plug/bad.txt": "never\n",
    "plug-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: plug\nVersion: 1.0\n",
    "plug-1.0.dist-info/entry_points.txt": "[rewarden.verifiers]\nplugged = plug.verifier:plugged\n",
}

JUDGE = """\
import asyncio, json, sys
from pathlib import Path
from rewarden.types import Batch, Sample, Use
from rewarden_server.engine.engine import Engine
from rewarden_server.engine.settings import EngineSettings


async def judged():
    engine = Engine(settings=EngineSettings(workers=1, cache_dir=Path(sys.argv[1])))
    await engine.start()
    result = await engine.verify(Batch(samples=[Sample(response="maybe")], use=Use(name="plugged")))
    await engine.close()
    return result.verdicts[0]


verdict = asyncio.run(judged())
print(json.dumps([verdict.score, verdict.verifier.fingerprint, verdict.cached]))
"""


@dataclass
class Plugin:
    """A plug-in of three modules in a folder on the path."""

    folder: Path

    def write(self, name: str, text: str) -> None:
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def judged(self) -> tuple[float, str, bool]:
        """Judge the same response in a fresh process: score, fingerprint, and whether it came from the cache."""
        # Byte code is told from its source by time and size, which quick edits leave as they were.
        variables = {**os.environ, "PYTHONPATH": str(self.folder), "PYTHONDONTWRITEBYTECODE": "1"}
        command = [sys.executable, "-c", JUDGE, str(self.folder / "cache")]
        done = subprocess.run(command, env=variables, capture_output=True, text=True, check=True)
        score, fingerprint, cached = json.loads(done.stdout)
        return score, fingerprint, cached


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    made = Plugin(tmp_path)
    for name, text in FILES.items():
        made.write(name, text)
    return made


def test_a_change_in_a_helper_or_in_data_is_judged_anew_and_a_comment_is_not(plugin: Plugin) -> None:
    score, before, cached = plugin.judged()
    assert (score, cached) == (0.0, False)
    assert plugin.judged() == (0.0, before, True)

    plugin.write("plug/words.py", '"""Words."""\n\nGOOD = ("yes",)  # for now\n')
    assert plugin.judged() == (0.0, before, True)

    plugin.write("plug/words.py", 'GOOD = ("yes", "maybe")\n')
    score, helped, cached = plugin.judged()
    assert (score, cached) == (1.0, False)
    assert helped != before

    plugin.write("plug/bad.txt", "never maybe\n")
    score, data, cached = plugin.judged()
    assert (score, cached) == (0.0, False)
    assert data not in (before, helped)
