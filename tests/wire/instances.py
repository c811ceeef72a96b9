"""One bare and one whole instance of everything that crosses the public wire: what the golden bytes are made of.

Whole means that every field holds something other than its default, in every form that it may have. A test holds it.
"""

from __future__ import annotations

from rewarden.errors import REQUEST_ERRORS, RewardenError
from rewarden.types import (
    Batch,
    BatchResult,
    Component,
    Group,
    Limits,
    Media,
    Outcome,
    Progress,
    Run,
    RunResult,
    Sample,
    Step,
    StepScore,
    Use,
    Verdict,
    VerifierRef,
)

BIG = 2**53 + 1
"""An integer that a double would change."""

USES = {
    "a name": Use(name="math"),
    "parameters": Use(name="math", params={"strict": True, "digits": BIG}),
    "a recipe": Use(recipe={"uses": {"answer": "math"}, "score": "answer.score"}),
}

SAMPLES = {
    "bare": Sample(response="\\boxed{4}"),
    "whole": Sample(
        response=[{"role": "assistant", "content": [{"type": "text", "text": "π ≈ 3 😀"}]}],
        id="row-1",
        prompt="What is 2 + 2?",
        reference={"answer": "4", "tolerance": 0.25, "n": BIG},
        use=USES["parameters"],
        group="g",
        group_size=2,
        data_source="gsm8k",
        finish_reason="stop",
        token_count=17,
        steps=(Step(message=1, start=2, end=5, kind="claim"), Step()),
        media=(
            Media(id="m", mime="image/png", base64="AAE="),
            Media(url="https://example.org/a.png"),
            Media(blob="0" * 8),
        ),
        signals={"entropy": 0.5},
        metadata={"epoch": 3, "tags": ["a", None]},
    ),
    "shared values": Sample(response="x", prompt_key="p", reference_key="r", use=USES["a recipe"]),
    "a chat as its prompt": Sample(response="", prompt=[{"role": "user", "content": "?"}]),
}

HEADERS = {
    "bare": Batch(),
    "whole": Batch(
        use=USES["a name"],
        shared={"p": "What is 2 + 2?"},
        progress=Progress(step=7, total_steps=100),
        deadline_s=30.0,
        group_deadline_s=45.5,
        expect={"math": "math@1"},
        fields=("score", "reason"),
    ),
}

BATCHES = {
    "bare": Batch(samples=(SAMPLES["bare"],)),
    "whole": Batch(
        samples=(SAMPLES["whole"], SAMPLES["shared values"]), use=USES["a recipe"], shared={"p": "?", "r": [4]}
    ),
}

OUTCOMES = {
    "bare": Outcome(status="scored", score=1.0),
    "whole": Outcome(
        status="scored",
        score=-0.5,
        range=(-1.0, 1.0),
        passed=False,
        raw={"distance": BIG},
        reason="wrong",
        fault="policy",
        components={
            "answer": Component(status="error", reason="timeout", fault="infra", verifier="math"),
            "form": Component(status="scored", score=0.25),
        },
        steps=(StepScore(index=1, score=0.75, label="good", feedback="Go on."), StepScore(index=0)),
        feedback="Close.",
        extracted="\\frac{1}{2}",
        evidence={"rule": "boxed"},
        flags=("hedged", "truncated"),
        effective={"weight": 0.1},
        exclude=True,
        exclude_reason="over_long",
    ),
    "undecided": Outcome(status="undecided", reason="bad_reference", fault="reference"),
}

VERDICTS = {
    "bare": Verdict(status="scored", score=1.0, passed=True),
    "whole": Verdict(
        **{name: getattr(OUTCOMES["whole"], name) for name in Outcome.__dataclass_fields__},
        index=3,
        id="row-1",
        group="g",
        data_source="gsm8k",
        metadata={"epoch": 3},
        verifier=VerifierRef(name="math", version="1", fingerprint="850c1f0d7c0e6f3a2b9d4e51"),
        retryable=True,
        cached=True,
        queue_s=0.125,
        run_s=1.5,
    ),
}

GROUPS = {
    "bare": Group(group="g", size=0, scored=0, unscored=0, passed=0),
    "whole": Group(
        group="g",
        size=4,
        scored=3,
        unscored=1,
        passed=2,
        mean=0.5,
        std=0.25,
        ddof=1,
        best=1.0,
        all_pass=True,
        all_fail=True,
        pass_at={1: 0.5},
    ),
}

RESULTS = {
    "bare": BatchResult(verdicts=()),
    "whole": BatchResult(verdicts=(VERDICTS["bare"],), groups=(GROUPS["whole"],)),
}

RUNS = {
    "bare": Run(language="python", code="print(1)"),
    "whole": Run(
        language="cpp",
        code="int main() {}",
        stdin={"base64": "AP8="},
        files={"data/in.txt": "1\n"},
        args=("-v", "é"),
        limits=Limits(
            cpu_s=1.5, wall_s=10.0, memory_mb=256, processes=8, output_bytes=65536, disk_mb=64, open_files=32
        ),
    ),
    "files to return": Run(language="python", code="", collect=("plot.png", "out/")),
    "bytes in a file": Run(language="python", code="", stdin="1\n", files={"in.bin": {"base64": "AP8="}}),
}

RUN_RESULTS = {
    "bare": RunResult(status="ok", exit_code=0),
    "files": RunResult(status="ok", exit_code=0, files={"out/é.txt": "é", "plot.png": {"base64": "/w=="}}),
    "whole": RunResult(
        status="memory_limit",
        limit="memory_mb",
        exit_code=137,
        signal=9,
        stdout="\ufffd",
        stderr="\ufffd!",
        stdout_base64="/w==",
        stderr_base64="/yE=",
        cpu_time=0.5,
        wall_time=0.75,
        peak_memory=BIG,
        truncated=True,
        enforced={"memory_mb": "cgroup"},
        flags=("left_processes",),
        message="The room ended.",
        compile=RunResult(status="ok", exit_code=0),
    ),
}


def _error(code: str) -> RewardenError:
    return REQUEST_ERRORS[code](f"What was wrong: {code}.", path="samples[0].response")


ERRORS = {code: _error(code) for code in sorted(REQUEST_ERRORS)}
