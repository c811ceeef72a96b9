"""Generated samples, batches, verdicts and groups: every field, every kind of value that may cross the wire."""

from __future__ import annotations

import base64
from typing import Any

from hypothesis import strategies as st

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
from rewarden.wire.json import FAULTS, FINISH_REASONS, STATUSES, VERDICT_FIELDS

# Unicode text without halves of surrogate pairs; NUL, U+2028, astral characters and combining marks included.
texts = st.text(st.characters(exclude_categories=("Cs",)), max_size=20)
names = st.text(st.characters(exclude_categories=("Cs",)), min_size=1, max_size=12)
numbers = st.floats(allow_nan=False, allow_infinity=False)
# Integers beyond 2**53 and beyond 64 bits, which a double or a careless codec would change.
integers = st.one_of(
    st.integers(), st.integers(-(2**64), 2**64), st.sampled_from([2**53 + 1, -(2**63) - 1, 10**40, -(10**40)])
)
counts = st.integers(0, 2**63 - 1)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(st.none(), st.booleans(), integers, numbers, texts),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(texts, inner, max_size=3)),
    max_leaves=8,
)
objects = st.dictionaries(texts, json_values, max_size=3)


def maybe(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """The strategy's values, or None."""
    return st.none() | strategy


def tuples_of(strategy: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    """Short tuples."""
    return st.lists(strategy, max_size=3).map(tuple)


messages = st.lists(
    st.fixed_dictionaries({"role": st.sampled_from(["system", "user", "assistant", "tool"]), "content": json_values}),
    max_size=3,
)
free_texts = texts | messages

uses = st.one_of(st.builds(Use, name=names, params=objects), st.builds(Use, recipe=objects), st.builds(Use, name=names))


@st.composite
def _steps(draw: st.DrawFn) -> Step:
    start = draw(counts)
    end = draw(maybe(st.integers(start, 2**63 - 1)))
    return Step(message=draw(counts), start=start, end=end, kind=draw(maybe(texts)))


media = st.builds(
    lambda where, value, **rest: Media(**{where: value}, **rest),
    where=st.sampled_from(["url", "blob", "base64"]),
    value=texts,
    id=maybe(texts),
    mime=texts,
)

samples = st.builds(
    Sample,
    response=free_texts,
    id=maybe(texts),
    prompt=maybe(free_texts),
    prompt_key=maybe(texts),
    reference=json_values,
    reference_key=maybe(texts),
    use=maybe(uses),
    group=maybe(texts),
    group_size=maybe(st.integers(1, 2**63 - 1)),
    data_source=maybe(texts),
    finish_reason=maybe(st.sampled_from(FINISH_REASONS)),
    token_count=maybe(counts),
    steps=maybe(tuples_of(_steps())),
    media=maybe(tuples_of(media)),
    signals=maybe(objects),
    metadata=maybe(objects),
)

seconds = st.floats(min_value=1e-9, max_value=1e9)

batches = st.builds(
    Batch,
    samples=tuples_of(samples),
    use=maybe(uses),
    shared=objects,
    progress=maybe(st.builds(Progress, step=counts, total_steps=maybe(st.integers(1, 2**63 - 1)))),
    deadline_s=maybe(seconds),
    group_deadline_s=maybe(seconds),
    expect=st.dictionaries(texts, texts, max_size=2),
    fields=maybe(tuples_of(st.sampled_from(VERDICT_FIELDS))),
)

statuses = st.sampled_from(STATUSES)
faults = st.sampled_from(FAULTS)

_outcome_fields: dict[str, st.SearchStrategy[Any]] = {
    "status": statuses,
    "score": maybe(numbers),
    "range": st.tuples(numbers, numbers),
    "passed": maybe(st.booleans()),
    "raw": json_values,
    "reason": maybe(texts),
    "fault": maybe(faults),
    "components": st.dictionaries(
        texts,
        st.builds(
            Component,
            status=statuses,
            score=maybe(numbers),
            reason=maybe(texts),
            fault=maybe(faults),
            verifier=maybe(texts),
        ),
        max_size=2,
    ),
    "steps": tuples_of(
        st.builds(
            StepScore,
            index=st.integers(-(2**63) + 1, 2**63 - 1),
            score=maybe(numbers),
            label=maybe(texts),
            feedback=maybe(texts),
        )
    ),
    "feedback": maybe(texts),
    "extracted": json_values,
    "evidence": objects,
    "flags": tuples_of(texts),
    "effective": objects,
    "exclude": st.booleans(),
    "exclude_reason": maybe(texts),
}

outcomes = st.builds(Outcome, **_outcome_fields)

verdicts = st.builds(
    Verdict,
    **_outcome_fields,
    index=counts,
    id=maybe(texts),
    group=maybe(texts),
    data_source=maybe(texts),
    metadata=maybe(objects),
    verifier=maybe(st.builds(VerifierRef, name=texts, version=texts, fingerprint=texts)),
    retryable=st.booleans(),
    cached=st.booleans(),
    queue_s=st.floats(0, 1e9),
    run_s=st.floats(0, 1e9),
)

groups = st.builds(
    Group,
    group=texts,
    size=counts,
    scored=counts,
    unscored=counts,
    passed=counts,
    mean=maybe(numbers),
    std=maybe(numbers),
    ddof=counts,
    best=maybe(numbers),
    all_pass=st.booleans(),
    all_fail=st.booleans(),
    pass_at=st.dictionaries(counts, numbers, max_size=3),
)

codes = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="\0"), max_size=20)
base64s = st.binary(max_size=12).map(lambda data: base64.b64encode(data).decode())
contents = st.one_of(texts, base64s.map(lambda data: {"base64": data}))
positives = st.integers(1, 2**63 - 1)

runs = st.builds(
    Run,
    language=texts,
    code=codes,
    stdin=contents,
    files=st.dictionaries(texts, contents, max_size=3),
    args=tuples_of(texts),
    collect=tuples_of(texts),
    limits=st.builds(
        Limits,
        cpu_s=maybe(seconds),
        wall_s=maybe(seconds),
        memory_mb=maybe(positives),
        processes=maybe(positives),
        output_bytes=maybe(positives),
        disk_mb=maybe(positives),
        open_files=maybe(positives),
    ),
)

_run_result_fields: dict[str, st.SearchStrategy[Any]] = {
    "status": texts,
    "limit": maybe(texts),
    "exit_code": maybe(st.integers(-(2**31), 2**31 - 1)),
    "signal": maybe(st.integers(0, 2**31 - 1)),
    "stdout": texts,
    "stderr": texts,
    "stdout_base64": maybe(base64s),
    "stderr_base64": maybe(base64s),
    "cpu_time": numbers,
    "wall_time": numbers,
    "peak_memory": maybe(counts),
    "truncated": st.booleans(),
    "files": st.dictionaries(texts, contents, max_size=3),
    "enforced": st.dictionaries(texts, texts, max_size=3),
    "flags": tuples_of(texts),
    "message": maybe(texts),
}
run_results = st.builds(RunResult, **_run_result_fields, compile=maybe(st.builds(RunResult, **_run_result_fields)))

results = st.builds(BatchResult, verdicts=tuples_of(verdicts), groups=tuples_of(groups))
