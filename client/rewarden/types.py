"""Everything that crosses a boundary of Rewarden, as frozen dataclasses.

This module is the source: the JSON form (`rewarden.wire.json`), the protobuf form (`rewarden.wire.protobuf`) and the
OpenAPI schema are derived from it, or tests keep them equal to it. It imports only the standard library. Treat lists
and mappings in these objects as immutable.

Terms: a *sample* or *rollout* is one response of a model with everything that is needed to judge it; a *verdict* is
the answer for it; a *use* names the verifier or recipe that judges.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Union

from rewarden.quick_init import quick_init

Status = Literal["scored", "undecided", "error"]
"""`scored`: there is a score. `undecided`: the verifier cannot tell. `error`: Rewarden or the caller made an
error."""

Fault = Literal["policy", "reference", "verifier", "caller", "infra"]
"""The party at fault if an outcome falls short of full marks."""

FinishReason = Literal["stop", "length", "abort"]

Text = Union[str, Sequence[Mapping[str, Any]]]
"""Plain text, or chat messages `{"role", "content"}` (content: text, or OpenAI-style parts)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Use:
    """The verifier or recipe that judges, and its parameters.

    Exactly one of `name` (verifiers and recipes share one namespace) and `recipe` (a recipe inline) is set.
    """

    name: str | None = None
    params: Mapping[str, Any] = field(default_factory=dict)
    recipe: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """A part of the response that is judged separately: a message's index and a span of characters in it."""

    message: int = 0
    start: int = 0
    end: int | None = None
    kind: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Media:
    """An image, sound or video that belongs to the sample: by URL, by blob hash, or inline in base64."""

    id: str | None = None
    mime: str = "application/octet-stream"
    url: str | None = None
    blob: str | None = None
    base64: str | None = None


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """One rollout to be judged.

    `prompt_key` and `reference_key` name entries of `Batch.shared` to use instead of a value, so that siblings share
    long prompts and tests; a field of a reference can be `{"$shared": key}`. `group` joins siblings; `group_size` says
    when a group is complete in a stream. `token_count` is the response's length in tokens of the policy.
    """

    response: Text
    id: str | None = None
    prompt: Text | None = None
    prompt_key: str | None = None
    reference: Any = None
    reference_key: str | None = None
    use: Use | None = None
    group: str | None = None
    group_size: int | None = None
    data_source: str | None = None
    finish_reason: FinishReason | None = None
    token_count: int | None = None
    steps: Sequence[Step] | None = None
    media: Sequence[Media] | None = None
    signals: Mapping[str, Any] | None = None
    metadata: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BadSample:
    """A row of a request that is not a valid sample. It gets an `error` verdict with fault `caller`.

    `path` is the JSON path of the field at fault within the row (`response`, `steps[2].start`).
    """

    message: str
    path: str = ""
    id: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """The progress of training, for scheduled parameters."""

    step: int = 0
    total_steps: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Batch:
    """A request: samples, and the settings that they share.

    `use` is the default for samples without one. `deadline_s` and `group_deadline_s` are seconds from admission.
    `expect` maps a verifier's name to the fingerprint that it must have, or to `NAME@VERSION`, such as `math@1`
    (otherwise 409). `fields` names the verdict fields to return (`None`: all).
    """

    samples: Sequence[Sample | BadSample] = ()
    use: Use | None = None
    shared: Mapping[str, Any] = field(default_factory=dict)
    progress: Progress | None = None
    deadline_s: float | None = None
    group_deadline_s: float | None = None
    expect: Mapping[str, str] = field(default_factory=dict)
    fields: Sequence[str] | None = None


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One named part of a composite score."""

    status: Status
    score: float | None = None
    reason: str | None = None
    fault: Fault | None = None
    verifier: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class StepScore:
    """The score of one step, turn, rank or item of a response."""

    index: int
    score: float | None = None
    label: str | None = None
    feedback: str | None = None


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """A verifier's outcome for one sample, as it is cached. Make one with `rewarden_verifiers.outcome`.

    `score` is a number if and only if `status` is `scored`, and is within `range`. `passed` is None if the verifier
    does not set it. `reason` is snake_case and stable enough to count by. `effective` holds the values of
    scheduled parameters. `exclude` asks the trainer to drop the sample (recipes set it, for example for over-long
    responses); it does not depend on `status`.
    """

    status: Status
    score: float | None = None
    range: tuple[float, float] = (0.0, 1.0)
    passed: bool | None = None
    raw: Any = None
    reason: str | None = None
    fault: Fault | None = None
    components: Mapping[str, Component] = field(default_factory=dict)
    steps: Sequence[StepScore] = ()
    feedback: str | None = None
    extracted: Any = None
    evidence: Mapping[str, Any] = field(default_factory=dict)
    flags: tuple[str, ...] = ()
    effective: Mapping[str, Any] = field(default_factory=dict)
    exclude: bool = False
    exclude_reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class VerifierRef:
    """The verifier that judged. `fingerprint` covers everything that can change its verdicts, including parameters."""

    name: str
    version: str
    fingerprint: str


@quick_init
@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict(Outcome):
    """An outcome, tied to its sample. `index` is the sample's place in the request; `queue_s` and `run_s` are seconds.

    `retryable` says that a retry of the same request can succeed. `group` repeats the sample's group.
    """

    index: int = 0
    id: str | None = None
    group: str | None = None
    data_source: str | None = None
    metadata: Mapping[str, Any] | None = None
    verifier: VerifierRef | None = None
    retryable: bool = False
    cached: bool = False
    queue_s: float = 0.0
    run_s: float = 0.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    """Statistics of a group's verdicts. Means are over the scored members; `std` is computed with `ddof`.

    `pass_at` maps k to the unbiased estimate of pass@k (Chen et al. 2021, arXiv 2107.03374) over the scored members.
    """

    group: str
    size: int
    scored: int
    unscored: int
    passed: int
    mean: float | None = None
    std: float | None = None
    ddof: int = 0
    best: float | None = None
    all_pass: bool = False
    all_fail: bool = False
    pass_at: Mapping[int, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class BatchResult:
    """The response to a batch: verdicts in the request's order, and one entry per group in order of appearance."""

    verdicts: Sequence[Verdict]
    groups: Sequence[Group] = ()


# --- programs ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """The resources that a program may use in its room. None: the language's default, then the sandbox host's.

    cpu_s: CPU seconds of all its processes together. wall_s: seconds that it may spend idle (neither running nor
    runnable). memory_mb: of all its processes and files together, MiB. processes: processes and threads.
    output_bytes: stdout and stderr together. disk_mb: files, MiB. open_files: descriptors of one process.
    """

    cpu_s: float | None = None
    wall_s: float | None = None
    memory_mb: int | None = None
    processes: int | None = None
    output_bytes: int | None = None
    disk_mb: int | None = None
    open_files: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
    """A program to run in the sandbox (`POST /v1/run`). `files`: relative path to content, text or base64. `collect`:
    files of its working folder to return, `name/` for all files of a folder.

    `stdin` and the values of `files` are text; give bytes that are not UTF-8 as `{"base64": "…"}`.
    """

    language: str
    code: str
    stdin: str | Mapping[str, str] = ""
    files: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
    args: Sequence[str] = ()
    limits: Limits = Limits()
    collect: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunResult:
    """The result of running a program.

    status: `ok` (exit code 0), `runtime_error` (another exit code, or a signal), `time_limit`, `memory_limit`,
    `output_limit`, `compile_error`, `internal_error` (the sandbox failed, see `message`; this says nothing about the
    program). limit: the name of the limit that was reached. exit_code: None if a signal or a limit ended the program.
    stdout, stderr: text, with bytes that are not UTF-8 replaced; stdout_base64 and stderr_base64 then hold the original
    bytes. Times are in seconds; peak_memory is in bytes, or None if it is not measured.
    truncated: output was cut at `output_bytes`. enforced: maps each limit to the mechanism that enforces it (`cgroup`,
    `rlimit`, `tmpfs`, `supervisor`, `polled`, `per_process`, or `no`). compile: the result of the compiler.
    files: those of `collect` that are there, if the program ended by itself: text, or `{"base64": "…"}`.
    """

    status: str
    limit: str | None = None
    exit_code: int | None = None
    signal: int | None = None
    stdout: str = ""
    stderr: str = ""
    stdout_base64: str | None = None
    stderr_base64: str | None = None
    cpu_time: float = 0.0
    wall_time: float = 0.0
    peak_memory: int | None = None
    truncated: bool = False
    enforced: Mapping[str, str] = field(default_factory=dict)
    flags: Sequence[str] = ()
    message: str | None = None
    compile: RunResult | None = None
    files: Mapping[str, str | Mapping[str, str]] = field(default_factory=dict)
