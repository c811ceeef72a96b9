"""NeMo RL's GRPO with Rewarden as its environment. Run it in a checkout of NeMo RL, with its options:

    uv run /path/to/run_grpo.py --config /path/to/config.yaml

`rewarden-client` must be installed in NeMo RL's environment (`uv pip install …/client`). Checked with NeMo RL of
2026-08-22 (7ea279a).
"""

from __future__ import annotations

import runpy

from rewarden.adapters.nemo_rl import register

if __name__ == "__main__":
    register()
    runpy.run_path("examples/run_grpo.py", run_name="__main__")
