"""Runs three rollouts through prime-rl, from its configuration to GRPO's advantages, without a GPU and without a model.

    PYTHONPATH=prime-rl/src:prime-rl/packages/prime-rl-configs/src python check_prime_rl.py http://127.0.0.1:8080

`prime-rl` is a checkout of it; install verifiers and torch. Needs a server (`rewarden serve`). prime-rl's configuration
reads `prime-rl.toml`, its environment server runs the task set `sums.py`, its client requests the rollouts, and its
algorithm computes the advantages. A small HTTP server takes the place of vLLM. Ran with prime-rl of 2026-08-21
(559b447) and verifiers 0.4.0.
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import tomllib
import verifiers.v1 as vf
from aiohttp import web
from prime_rl.configs.algorithm import GRPOAlgoConfig
from prime_rl.configs.orchestrator import OrchestratorConfig
from prime_rl.orchestrator.algo.grpo import GRPOAlgorithm
from prime_rl.orchestrator.envs import Env

HERE = Path(__file__).resolve().parent
ANSWERS = ["So it is \\boxed{7}.", "So it is \\boxed{8}.", "So it is \\boxed{7}."]
"""Responses to 0 + 7: right, wrong, and right for a row with an unreadable reference."""


def free_port() -> int:
    """Returns a port that nothing listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


async def chat(request: web.Request) -> web.StreamResponse:
    """Answers as vLLM's chat completions do, in a stream: the next of `ANSWERS`."""
    delta = {"role": "assistant", "content": next(request.app["answers"])}
    head = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "m"}
    usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
    stream = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
    await stream.prepare(request)
    for more in (
        {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]},
        {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
    ):
        await stream.write(b"data: " + json.dumps({**head, **more}).encode() + b"\n\n")
    await stream.write(b"data: [DONE]\n\n")
    await stream.write_eof()
    return stream


async def model(port: int) -> web.AppRunner:
    """Serves `chat`."""
    app = web.Application()
    app["answers"] = iter(ANSWERS)
    app.router.add_post("/v1/chat/completions", chat)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    return runner


async def main(target: str) -> None:
    """Print prime-rl's reward and advantage of each rollout."""
    told = tomllib.loads((HERE / "prime-rl.toml").read_text(encoding="utf-8"))["orchestrator"]
    told["train"]["source"][0]["env"]["taskset"]["id"] = "sums"  # gsm8k itself is downloaded
    told["train"]["source"][0]["env"]["agent"] = {"harness": {"id": "null"}, "runtime": {"type": "subprocess"}}
    source = OrchestratorConfig.model_validate(told).train.source[0]

    os.environ.update(REWARDEN_TARGET=target, REWARDEN_USE="math", REWARDEN_PATIENCE_S="0")
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    address, port = f"tcp://127.0.0.1:{free_port()}", free_port()
    config = {
        "env": source.env.model_dump(mode="json"),
        "serve": {"address": address, "pool": {"type": "static", "num_workers": 1}},
    }
    served = await model(port)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "env.json"
        file.write_text(json.dumps(config), encoding="utf-8")
        command = [sys.executable, "-m", "prime_rl.entrypoints.env_server", "@", str(file)]
        environments = subprocess.Popen(command, cwd=folder)
        try:
            await rollouts(source, address, port)
        finally:
            environments.terminate()
            environments.wait()
            await served.cleanup()


async def rollouts(source: Any, address: str, port: int) -> None:
    """Requests the rollouts as prime-rl's orchestrator does, and has its algorithm judge the group."""
    env = Env(source, address)
    await env.start()
    assert env.tasks is not None
    row = next(env.tasks).data.model_dump(mode="json")
    client = vf.EvalClientConfig(base_url=f"http://127.0.0.1:{port}/v1", api_key_var="NONE")
    episodes = [await env.run(client, "m", None, {**row, "answer": reference}) for reference in ("7", "7", "\\frac{?}")]
    for episode in episodes:
        for node in (node for trace in episode.traces for node in trace.nodes if node.sampled):
            node.token_ids, node.mask = [0], [True]  # as vLLM's tokens
    await GRPOAlgorithm(GRPOAlgoConfig(), None).score_group(episodes)
    for trace in (trace for episode in episodes for trace in episode.traces):
        advantages = [advantage for node in trace.nodes for advantage in node.advantages or ()]
        rewards = {name: reward.value if reward else None for name, reward in trace.rewards.items()}
        told = trace.info["rewarden"]["reason"] if "rewarden" in trace.info else trace.last_error
        print(f"ok={trace.ok} rewards={rewards} advantages={advantages} {told or ''}")


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
