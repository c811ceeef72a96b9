"""From a task to the rows that a model reads, and from their outputs to the task's result. Pure; runs on any thread."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from rewarden_models.failure import Failure
from rewarden_models.heads import turn_at
from rewarden_models.loading import Loaded
from rewarden_models.rendering import DENSE, Read
from rewarden_models.row import Output, Row
from rewarden_models.wire import kind_of
from rewarden_verifiers.inference import (
    Choices,
    Choose,
    Classify,
    Embed,
    Facts,
    Input,
    Likelihood,
    Likelihoods,
    Logits,
    Margin,
    Pair,
    Rate,
    StepValues,
    Task,
    Texts,
    Vector,
    Write,
    Written,
)


@dataclass(slots=True)
class Prepared:
    """A task that is ready to run.

    rows: the rows to compute; for a Write task, the one row that it continues. facts: of its result. finish: the
    result, from the rows' outputs in order, or from a Write task's texts. It raises Failure (`not_finite`) for an
    output that is not a finite number: such a number never leaves this process.
    """

    rows: list[Row]
    facts: Facts
    finish: Callable[[Sequence[Any]], Any]


def prepare(loaded: Loaded, task: Task[Any]) -> Prepared:
    """The rows of a task. Raises Failure: `unsupported` for a kind that the model cannot do, `invalid`, `too_long`."""
    kind = kind_of(task)
    if kind not in loaded.kinds:
        can = ", ".join(loaded.kinds)
        instead = ""
        if loaded.head == "pair":
            instead = ": it compares two responses. Use rm_pairwise or rm_listwise with by: pair"
        elif kind == "pair":
            instead = ". The task pair is for a head that reads two responses at once, such as PairRM's"
        said = f"model {loaded.name!r} cannot {kind}; it can {can}{instead}"
        raise Failure("unsupported", said, kinds=list(loaded.kinds))
    ready = _PREPARERS[type(task)](loaded, task)
    for row in ready.rows:
        _check_tokens(loaded, row)
    return ready


def _check_tokens(loaded: Loaded, row: Row) -> None:
    """Raises Failure for a token that the tokenizer has and the model lacks. Attack: looking up its embedding breaks
    the GPU for good, and the process dies. With images this is not checked: models replace the image placeholders
    themselves."""
    if loaded.embeddings is None or row.pixels is not None:
        return
    highest = max(max(ids) for ids in (row.ids, *(row.targets or ())) if ids)
    if highest >= loaded.embeddings:
        said = f"the tokenizer has a token {highest}, and model {loaded.name!r} has only {loaded.embeddings} embeddings"
        raise Failure("invalid", f"{said}: the text cannot be read")


def _facts(loaded: Loaded, read: Read, tokens: int, neutralised: bool = False) -> Facts:
    return Facts(
        model=loaded.name,
        version=loaded.version,
        tokens=tokens,
        truncated=read.truncated,
        neutralised=read.neutralised or neutralised,
    )


def _row(loaded: Loaded, read: Read, reads: list[int], targets: list[list[int]] | None = None) -> Row:
    return Row(
        ids=read.ids,
        reads=reads,
        targets=targets,
        types=read.types if loaded.types else None,
        pixels=_pixels(read, len(read.ids)),
    )


def _pixels(read: Read, length: int) -> dict[str, Any] | None:
    return read.pixels.row(length) if read.pixels is not None else None


def _finite(values: Sequence[float]) -> list[float]:
    if not all(map(math.isfinite, values)):
        raise Failure("not_finite", "the model's output is not a finite number")
    return list(values)


def _classify(loaded: Loaded, task: Classify) -> Prepared:
    ending = [] if loaded.ending is None else [loaded.ending]
    read = loaded.reader.read(task.input, loaded.context, room=len(ending))
    read.ids += ending
    facts = _facts(loaded, read, len(read.ids))
    if loaded.turn:
        _check_turn(loaded, read)

    def finish(outputs: Sequence[Output]) -> Logits:
        return Logits(values=_finite(outputs[0][0]), labels=loaded.labels, multi=loaded.multi, facts=facts)

    return Prepared([_row(loaded, read, [])], facts, finish)


def _pair(loaded: Loaded, task: Pair) -> Prepared:
    given = (task.prompt, task.first, task.second)
    texts = [(mark, number, text) for (mark, number), text in zip(loaded.marks, given, strict=True)]
    read = loaded.reader.read_marked(texts, Input(candidate=task.candidate, fit=task.fit), loaded.context)
    reads = [read.ids.index(number) for _, number in loaded.marks]
    facts = _facts(loaded, read, len(read.ids))

    def finish(outputs: Sequence[Output]) -> Margin:
        (logit,) = _finite(outputs[0][0])
        return Margin(logit=logit, facts=facts)

    return Prepared([_row(loaded, read, reads)], facts, finish)


def _check_turn(loaded: Loaded, read: Read) -> None:
    """Raises Failure if a text lacks what a gated head reads. If it was cut because it is too long for the model, the
    failure is `too_long`, so that a long response is no way to go unscored."""
    if turn_at(loaded.turn, read.ids) is None:
        if read.truncated:
            said = "the input was cut to fit the model, and lacks the beginning of the turn that its head reads"
            tokens = loaded.context + 1
            raise Failure("too_long", said, tokens=tokens, context=loaded.context, candidate=loaded.context)
        raise Failure(
            "invalid",
            "the text has no turn of the assistant in the form that this model's head reads; give messages, and use "
            "the chat template of the model",
        )


def _choose(loaded: Loaded, task: Choose) -> Prepared:
    """All choices of a single token are read in one row, after the input's last token. Each longer choice has a row of
    its own, with the same prefix."""
    if not task.choices or not all(task.choices) or len(set(task.choices)) < len(task.choices):
        raise Failure("invalid", "choices must be given, differ, and not be empty")
    choices = [loaded.reader.appended(choice)[0] for choice in task.choices]
    read = loaded.reader.read(task.input, loaded.context, room=max(map(len, choices)) - 1)
    last = len(read.ids) - 1
    short = [place for place, ids in enumerate(choices) if len(ids) == 1]
    rows = [_row(loaded, read, [last], [[choices[place][0] for place in short]])] if short else []
    long = [place for place, ids in enumerate(choices) if len(ids) > 1]
    rows += [_continued(read, choices[place]) for place in long]
    facts = _facts(loaded, read, sum(len(row.ids) for row in rows))

    def finish(outputs: Sequence[Output]) -> Choices:
        logprobs = [0.0] * len(choices)
        left = list(outputs)
        if short:
            for place, value in zip(short, left.pop(0)[0], strict=True):
                logprobs[place] = value
        for place, output in zip(long, left, strict=True):
            logprobs[place] = math.fsum(values[0] for values in output)
        return Choices(logprobs=_finite(logprobs), facts=facts)

    return Prepared(rows, facts, finish)


def _continued(read: Read, more: list[int]) -> Row:
    """A row that reads the log-probability of each of these tokens after all tokens before it. The last one is not fed
    to the model."""
    first = len(read.ids) - 1
    ids = read.ids + more[:-1]
    return Row(
        ids=ids,
        reads=[first + place for place in range(len(more))],
        targets=[[one] for one in more],
        pixels=_pixels(read, len(ids)),
    )


def _likelihood(loaded: Loaded, task: Likelihood) -> Prepared:
    if not task.continuation:
        raise Failure("invalid", "a continuation must not be empty")
    text = loaded.reader.controls.harmless(task.continuation)
    more: list[int] = []
    pieces: list[str] = []
    if len(text) > loaded.context * DENSE:  # it cannot fit however it is tokenised; `read` raises
        room = loaded.reader.count(text, loaded.context)
    else:
        more, pieces = loaded.reader.appended(text)
        room = len(more) - 1
    read = loaded.reader.read(task.input, loaded.context, room=room, follows=text)
    row = _continued(read, more)
    facts = _facts(loaded, read, len(row.ids), text != task.continuation)

    def finish(outputs: Sequence[Output]) -> Likelihoods:
        return Likelihoods(tokens=pieces, logprobs=_finite([values[0] for values in outputs[0]]), facts=facts)

    return Prepared([row], facts, finish)


def _rate(loaded: Loaded, task: Rate) -> Prepared:
    """Steps and marks are tokenised with the input as one text, as they are when such models are trained. A mark comes
    from the caller and may be a control token; a step's text cannot contain any."""
    headed = loaded.head == "token"
    if not task.steps or not task.mark:
        raise Failure("invalid", "steps and their mark must be given")
    if headed == bool(task.choices):
        wrong = "has a head for tokens and cannot compare choices" if headed else "has no head for tokens; give choices"
        raise Failure("unsupported", f"model {loaded.name!r} {wrong}")
    choices = [loaded.reader.appended(choice)[0] for choice in task.choices]
    for choice, ids in zip(task.choices, choices, strict=True):
        if len(ids) > 1:
            raise Failure(
                "invalid", f"{choice!r} is more than one token of this model; steps are rated by single tokens"
            )
    steps = [loaded.reader.controls.harmless(step) for step in task.steps]
    loaded.reader.appended(task.mark)  # raises if the tokenizer drops it
    read = loaded.reader.read(task.input, loaded.context, tail=[text for step in steps for text in (step, task.mark)])
    end = read.length - sum(map(len, read.tail))
    begins, ends = [], []
    for step, mark in zip(read.tail[::2], read.tail[1::2], strict=True):
        end += len(step) + len(mark)
        begins.append(end - len(task.mark))
        ends.append(end - 1)
    if headed or task.at == "next":
        reads = [last for _, last in read.positions(ends)]
    else:
        reads = [first - 1 for first, _ in read.positions(begins)]
    if min(reads) < 0:
        raise Failure("invalid", "there is no text before the first mark")
    targets = None if headed else [[ids[0] for ids in choices]] * len(reads)
    facts = _facts(loaded, read, len(read.ids), steps != list(task.steps))
    labels = loaded.labels if headed else tuple(task.choices)

    def finish(outputs: Sequence[Output]) -> StepValues:
        return StepValues(values=[_finite(values) for values in outputs[0]], labels=labels, facts=facts)

    return Prepared([_row(loaded, read, reads, targets)], facts, finish)


def _write(loaded: Loaded, task: Write) -> Prepared:
    """At most half of the context is reserved for the generated text."""
    if task.samples < 1 or task.max_tokens < 1:
        raise Failure("invalid", "a request must be for at least one sample of at least one token")
    read = loaded.reader.read(task.input, loaded.context, room=min(task.max_tokens, loaded.context // 2))
    facts = _facts(loaded, read, len(read.ids))

    def finish(outputs: Sequence[Written]) -> Texts:
        written = sum(text.tokens for text in outputs)
        return Texts(texts=list(outputs), facts=replace(facts, written=written))

    return Prepared([_row(loaded, read, [])], facts, finish)


def _embed(loaded: Loaded, task: Embed) -> Prepared:
    read = loaded.reader.read(task.input, loaded.context)
    facts = _facts(loaded, read, len(read.ids))

    def finish(outputs: Sequence[Output]) -> Vector:
        values = _finite(outputs[0][0])
        if task.normalise:
            length = math.sqrt(math.fsum(value * value for value in values))
            if length == 0.0:
                raise Failure("not_finite", "the model's vector is 0 and has no direction")
            values = [value / length for value in values]
        return Vector(values=values, facts=facts)

    return Prepared([_row(loaded, read, [])], facts, finish)


_PREPARERS: Mapping[type[Task[Any]], Callable[[Loaded, Any], Prepared]] = {
    Classify: _classify,
    Pair: _pair,
    Choose: _choose,
    Likelihood: _likelihood,
    Rate: _rate,
    Write: _write,
    Embed: _embed,
}
